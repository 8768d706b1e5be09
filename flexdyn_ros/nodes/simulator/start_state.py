"""How a simulated robot begins: its state, and the gains of its servos, from parameters named after its
coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.ros.declaration import ParameterError, declare_family
from flexdyn_ros.nodes.simulator.extras.platform_topics import leg_gains
from flexdyn_ros.nodes.simulator.parameters import DAMPING, POSITIONS, STIFFNESS, VELOCITIES
from flexdyn_ros.robot.coordinates import has_legs
from flexdyn_ros.simulation.live.platform_drive import Legs
from flexdyn_ros.simulation.live.simulation import default_gains
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion


def initial_state(node: Any, robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and v (nv,): neutral and at rest, or as a prescribed drive begins, but for parameters
    initial.positions.NAME and initial.velocities.NAME.

    Raises ParameterError if they are no state of the robot.
    """
    still = initial_motion(robot, drive_of(robot, None), 0.0)
    neutral = dict(zip(robot.q_names, still[0].tolist(), strict=True))
    moving = dict(zip(robot.v_names, still[1].tolist(), strict=True))
    positions = declare_family(node, POSITIONS, neutral)
    velocities = declare_family(node, VELOCITIES, moving)
    q0, v0 = np.array(list(positions.values())), np.array(list(velocities.values()))
    try:
        robot.energy(q0, v0)
    except FlexdynError as error:
        raise ParameterError(f"parameters initial.positions: {error}") from None
    return q0, v0


def servo_gains(node: Any, robot: Any, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (nv,): parameters servo.stiffness.NAME and servo.damping.NAME, else derived from
    inertia and limits.

    Raises ParameterError if one is negative.
    """
    gains = []
    is_platform = has_legs(robot)
    rows = Legs.of(robot).coordinates if is_platform else [c for c in robot.coordinates if c.actuated]
    derive = leg_gains if is_platform else default_gains
    for family, derived in zip((STIFFNESS, DAMPING), derive(robot, q0), strict=True):
        found = declare_family(node, family, {c.name: float(derived[c.v_index]) for c in rows})
        gain = np.zeros(robot.nv)
        for c in rows:
            gain[c.v_index] = found[c.name]
        gains.append(gain)
    return gains[0], gains[1]
