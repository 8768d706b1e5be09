"""The first scene of a viewer: a robot at rest under gravity, or in a gentle motion about a held pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.control.feedback import computed_torque
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory

#: of the gentle motion: seconds until it begins anew, and natural frequency of the control [rad/s]
PERIOD, FREQUENCY = 8.0, 20.0
#: how far joints go, as a share of the way to their limits, and at most [rad, m]
SHARE, FARTHEST = 0.3, {"rad": 0.5, "m": 0.2}
#: joints begin at least so far from their limits [shares of their range]
CLEAR = 0.15
#: and are no faster than this share of their velocity limits
SLOWER = 0.8


def first_scene(viewer: Any) -> None:
    """Show something worth seeing, with the camera on all the room that it takes.

    A robot that gravity bends rests; one that bends but that gravity leaves alone vibrates in its first mode.
    A robot on wheels rests on its springs. A rigid arm moves gently under control, within its limits.
    Everything else is moved one coordinate after the other.

    Raises
    ------
    FlexdynError
        If there is no state of rest, or the equations of motion cannot be solved.
    """
    robot = viewer.robot
    if viewer.bends:
        if not viewer.rest():
            viewer.panels.highlight("moment", magnification=1.0)
            viewer.play_mode()
    elif robot.functions.contacts is not None:
        viewer.pose(robot.static_equilibrium(robot.neutral(), hold="joints").q)
    elif robot.nu == robot.nv == robot.nq and all(
        c.actuated and c.kind == "joint" for c in robot.coordinates
    ):
        viewer.play(gentle_run(robot))
    else:
        viewer.tour()
    viewer.cameras.frame_scene()


def gentle_run(robot: Robot, sample: float = 0.01) -> Trajectory:
    """Eight seconds of a driven arm under computed-torque control; it ends as it begins.

    Every joint swings by q_i + A_i (1 - cos(2 pi k t / T)) / 2, k 1 or 2, from where it is clear of its
    limits towards the side on which it has more room.
    """
    start, way = np.empty(robot.nq), np.empty(robot.nq)
    for i, c in enumerate(robot.coordinates):
        low, high = (x if np.isfinite(x) else s * np.inf for x, s in ((c.lower, -1.0), (c.upper, 1.0)))
        room = CLEAR * (high - low) if np.isfinite(high - low) else 0.0
        start[i] = np.clip(robot.neutral()[c.q_index], low + room, high - room)
        up, down = high - start[i], start[i] - low
        far = min(SHARE * max(up, down), FARTHEST[c.unit])
        way[i] = far if up >= down else -far
    turns = 2.0 * np.pi / PERIOD * np.where(np.arange(robot.nq) % 2, 2.0, 1.0)
    # the fastest that a joint moves is way turns / 2
    fastest = np.array([c.velocity_limit for c in robot.coordinates])
    way = np.clip(way, -SLOWER * 2.0 * fastest / turns, SLOWER * 2.0 * fastest / turns)

    def target(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            start + 0.5 * way * (1.0 - np.cos(turns * t)),
            0.5 * way * turns * np.sin(turns * t),
            0.5 * way * turns**2 * np.cos(turns * t),
        )

    law = computed_torque(robot, target, FREQUENCY)
    return simulate(robot, PERIOD, start, control=law, sample=sample)
