"""Wrenches of elements on the frames that they act between, for section loads (`Robot.loads`).

An element exerts its force times LINE on both frames, and takes the wrenches that its own mass asks for
(docs/theory/elements.md). To what carries the frames these are external wrenches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.families.trees.elements.model import Element
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.interface import RobotInterface


class _Frames(NamedTuple):
    """Poses (n, k, 4, 4), velocities and accelerations less gravity (n, k, 6) of frames by their names, world
    axes; the world, which no robot need name, stands still."""

    names: tuple[str, ...]
    T: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    def arm(self, name: str, at: Placement) -> np.ndarray:
        """From the origin of a frame to that of one at a placement in it (n, 3), world axes."""
        return self.T[:, self.names.index(name), :3, :3] @ at.p

    def motion(self, name: str, at: Placement) -> tuple[np.ndarray, np.ndarray]:
        """Motion (n, FRAME) and acceleration (n, 6) of the frame at a placement in a named one, as laws take
        them."""
        i, r = self.names.index(name), self.arm(name, at)
        T, velocity, acceleration = self.T[:, i], self.velocity[:, i], self.acceleration[:, i].copy()
        w, alpha = velocity[:, :3], acceleration[:, :3]
        turning = np.cross(w, r)
        acceleration[:, 3:] += np.cross(alpha, r) + np.cross(w, turning)
        R = T[:, :3, :3] @ at.R
        parts = T[:, :3, 3] + r, R.reshape(-1, 9), velocity[:, 3:] + turning, w
        return np.concatenate(parts, axis=1), acceleration


def _frames_of(robot: RobotInterface, names: tuple[str, ...], rows: Rows) -> _Frames:
    q, v, a = (rows.take(name)[0] if rows.shape == () else rows.take(name) for name in "qva")
    known = tuple(name for name in names if name != WORLD or WORLD in robot.frame_names)
    n, k = rows.count, len(known)
    T = np.tile(np.eye(4), (n, len(names), 1, 1))
    velocity, acceleration = np.zeros((2, n, len(names), 6))
    at = [names.index(name) for name in known]
    if known:
        T[:, at] = robot.frames(q, known).reshape(n, k, 4, 4)
        velocity[:, at] = robot.frame_velocity(q, v, known).reshape(n, k, 6)
        acceleration[:, at] = robot.frame_acceleration(q, v, a, known).reshape(n, k, 6)
    acceleration[..., 3:] -= robot.gravity
    return _Frames(names, T, velocity, acceleration)


def element_wrenches(
    robot: RobotInterface, elements: Sequence[Element], driven: np.ndarray, rows: Rows
) -> dict[str, np.ndarray]:
    """(moment; force) (n, 6), world axes, of all elements on frames at their origins, by the names of these.

    driven (n, nc): efforts of the driven elements at rows of q, v, a.
    """
    names = tuple(dict.fromkeys(name for e in elements for name in (e.record.base, e.record.end)))
    frames = _frames_of(robot, names, rows)
    found: dict[str, np.ndarray] = {name: np.zeros((rows.count, 6)) for name in names}
    efforts = iter(driven.T)
    for element in elements:
        effort = next(efforts) if element.kind.driven else np.zeros(rows.count)
        ends = [(name, _placed(element, which)) for which, name in _ends(element)]
        motion, acceleration = (
            np.concatenate(parts, axis=1)
            for parts in zip(*(frames.motion(*end) for end in ends), strict=True)
        )
        both = _on_frames(element, motion, acceleration, effort).reshape(rows.count, 2, 6)
        for (name, at), wrench in zip(ends, np.moveaxis(both, 1, 0), strict=True):
            wrench[:, :3] += np.cross(frames.arm(name, at), wrench[:, 3:])
            found[name] += wrench
    if WORLD not in robot.frame_names:
        found.pop(WORLD, None)
    return found


def _ends(element: Element) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("base", element.record.base), ("end", element.record.end)


def _placed(element: Element, which: str) -> Placement:
    """An end of an element in the frame that its description names."""
    record = element.record
    return Placement.of(getattr(record, f"{which}_xyz"), getattr(record, f"{which}_rpy", (0.0, 0.0, 0.0)))


def _on_frames(
    element: Element, motion: np.ndarray, acceleration: np.ndarray, effort: np.ndarray
) -> np.ndarray:
    """Wrenches (n, 12) on base and end, at the origins of the element's own frames."""
    numbers, found = np.array(element.numbers), np.empty((len(motion), 12))
    results, weight, inertia = np.zeros(law.RESULTS), np.zeros(law.WEIGHT), element.inertia
    for i in range(len(motion)):
        element.kind.law.kernel(numbers, motion[i], results)
        found[i] = (results[law.EFFORT] + effort[i]) * results[law.LINE : law.LINE + 12]
        if inertia is not None:
            inertia.kernel(numbers, motion[i], acceleration[i], weight)
            found[i] -= weight[law.WRENCHES : law.WRENCHES + 12]
    return found
