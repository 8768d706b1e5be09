"""The expanded description: a plain URDF of rigid pieces that shows a robot as it is, and its joint states.

For a rigid tree the pieces are its links; links that bend are cut into segments (trees/flexible/expanded.py).
`<flexdyn>` blocks and `<inertial>` are left out, so that nobody simulates the picture by mistake; a floating
base leaves the URDF (it is an odometry transform), a floating joint becomes six one-axis ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanded.shown_tree import shown_tree, text_of
from flexdyn_ros.expanded.urdf_joints import Part
from flexdyn_ros.expanded.visuals import add_shapes
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.verbs import Robot


class Expanded:
    """A URDF that any tool can show, and the map from a robot's state to its joint states.

    Attributes
    ----------
    urdf : str
        XML text without our elements and without `<inertial>`.
    joint_names : tuple of str
        Every joint that moves, mimic joints included: those of the URDF in the order of the file, then those
        of the frames that were added.
    efforts : mapping
        Places among `Robot.effort_names` by the joint that each moves.
    """

    def __init__(self, urdf: str, parts: Sequence[Part], efforts: dict[str, int], nv: int) -> None:
        self.urdf, self._still, self.efforts = urdf, np.zeros(nv), MappingProxyType(efforts)
        self._parts = tuple(parts)
        self.joint_names = tuple(name for part in parts for name in part.names)
        columns = np.array([efforts.get(name, -1) for name in self.joint_names], dtype=np.int64)
        self._effort_columns, self._has_effort = columns, columns >= 0

    def joint_state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (..., k) of `joint_names`, computed together.

        q (..., nq) and v (..., nv), whose leading dimensions broadcast; [rad or m], [rad/s or m/s]. At a
        pitch of 90 degrees yaw and roll of a floating joint cannot be told apart; their rates are then
        limited.
        """
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        states = [part.state(q, v) for part in self._parts]
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        if len(states) == 1 and not batch:
            return states[0]
        return _joined(batch, [x for x, _ in states]), _joined(batch, [xd for _, xd in states])

    def joint_positions(self, q: np.ndarray) -> np.ndarray:
        """Positions (..., k) [rad or m] of `joint_names` for q (..., nq)."""
        return self.joint_state(q, self._still)[0]

    def joint_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities (..., k) [rad/s or m/s] of `joint_names` for q (..., nq) and v (..., nv); as those of
        `joint_state`."""
        return self.joint_state(q, v)[1]

    def joint_efforts(self, tau: np.ndarray) -> np.ndarray:
        """Efforts (..., k) [N m or N] of `joint_names` for tau (..., nu); 0 for joints that no actuator
        moves itself."""
        tau = np.asarray(tau, dtype=np.float64)
        if not self.joint_names:
            return np.zeros((*tau.shape[:-1], 0))
        return np.where(self._has_effort, tau[..., self._effort_columns], 0.0)


def _joined(batch: tuple[int, ...], values: Sequence[np.ndarray]) -> np.ndarray:
    if not batch:
        return np.concatenate(values) if values else np.zeros(0)
    full = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in values]
    return np.concatenate(full, axis=-1) if full else np.zeros((*batch, 0))


def expand(robot: Robot, segments: int | None = None) -> Expanded:
    """Return the expanded description of a robot, flexible links divided into rigid segments.

    Parameters
    ----------
    robot : Robot
    segments : int, optional
        Pieces per flexible link, in place of what `<display segments>` says; links that do not bend have
        none, so that it makes no difference there.
    """
    description, family = robot.description, family_of(robot.description)
    appearance = family.appearance(description)
    root = shown_tree(description, appearance.carried)
    bending = {c.body for c in robot.coordinates if c.kind in MODAL}
    shown = {element.get("name") for element in root.findall("link")} - bending
    add_shapes(root, description, appearance, [x.name for x in description.links if x.name in shown])
    parts, efforts = family.expand(root, robot, segments)
    return Expanded(text_of(root), parts, efforts, robot.nv)


def bending_frames(description: RobotDescription) -> dict[str, tuple[str, float]]:
    """Frame and undeformed length [m] by the name of the flexible link or of the soft section's joint.

    LINK/beam has its x axis along the link, SECTION/base its z axis along the section.
    """
    lines = appearance_of(description).centrelines
    return {name: (line.frame, line.length) for name, line in lines.items()}


def appearance_of(description: RobotDescription) -> Appearance:
    """What views draw a robot by, beside its links and joints."""
    return family_of(description).appearance(description)
