"""Reaction wrenches in joints: what a joint must transmit so that everything beyond it moves as it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.dynamics.loading import from_description
from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import UnknownNameError, UnsupportedError

__all__ = ["JointReactions"]

#: step of the difference along the motion that gives dJ/dt v [s]
_STEP = 1e-6


class JointReactions:
    """Wrenches that joints transmit to what lies beyond them.

    What lies beyond a joint is a robot of its own that floats: the wrench on its root link follows from its
    inverse dynamics (Newton-Euler). The spin of rotors is left out, as in the momentum.

    Parameters
    ----------
    robot : Robot
    joints : sequence of str
        URDF joints, or "base" for the whole robot: the reaction of the ground on the root link.

    Raises
    ------
    UnknownNameError
        If there is no such joint.
    UnsupportedError
        If a mimic joint beyond it follows a joint before it, or robots of this kind have no reactions yet.
    """

    def __init__(self, robot: Robot, joints: Sequence[str]) -> None:
        if robot.kind != "tree":
            raise UnsupportedError(
                f"robots of kind '{robot.kind}' have no joint reactions yet; kind 'tree' has"
            )
        self._robot = robot
        self.names = tuple(joints)
        self.links = tuple(self._link_beyond(name) for name in joints)
        self._parts = [from_description(_beyond(robot.description, link)) for link in self.links]
        self._columns = [
            np.array([robot.index(name) for name in part.v_names[6:]], dtype=np.int64) for part in self._parts
        ]
        q_columns = {name: i for i, name in enumerate(robot.q_names)}
        self._q_columns = [[q_columns[name] for name in part.q_names[7:]] for part in self._parts]

    def __call__(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        """Wrenches (k, 6) = (moment; force) on the child links at their origins, in the axes of the child
        links [N m, N].

        q (nq,), v, a (nv,) are one motion; wrenches are those of `inverse_dynamics`.
        """
        robot = self._robot
        ahead, behind = robot.integrate(q, v, _STEP), robot.integrate(q, v, -_STEP)
        out = np.empty((len(self.links), 6))
        for i, (link, part) in enumerate(zip(self.links, self._parts, strict=True)):
            pose = robot.frames(q, link)
            J = robot.jacobian(q, link)
            drift = (robot.jacobian(ahead, link) - robot.jacobian(behind, link)) @ v / (2.0 * _STEP)
            q_part = np.concatenate((pose[:3, 3], _quaternion(pose[:3, :3]), q[self._q_columns[i]]))
            v_part = np.concatenate((J @ v, v[self._columns[i]]))
            a_part = np.concatenate((J @ a + drift, a[self._columns[i]]))
            loads = {name: w for name, w in (wrenches or {}).items() if name in part.frame_names}
            w = part.inverse_dynamics(q_part, v_part, a_part, loads or None)[:6]
            out[i, :3], out[i, 3:] = pose[:3, :3].T @ w[:3], pose[:3, :3].T @ w[3:]
        return out

    def _link_beyond(self, name: str) -> str:
        description = self._robot.description
        if name == "base":
            return description.root
        if name not in {joint.name for joint in description.joints}:
            raise UnknownNameError("joint", name, ["base", *(joint.name for joint in description.joints)])
        return description.joint(name).child


def _beyond(description: RobotDescription, link: str) -> RobotDescription:
    """The part of a description from a link on, on a floating base."""
    links, joints, waiting = {link}, [], [link]
    while waiting:
        for joint in description.children_of(waiting.pop()):
            links.add(joint.child)
            joints.append(joint)
            waiting.append(joint.child)
    names = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            raise UnsupportedError(
                f"no reactions in the joint of link '{link}': the joint '{joint.name}' beyond it follows "
                f"'{joint.mimic.joint}' before it"
            )
    return replace(
        description,
        root=link,
        links=tuple(one for one in description.links if one.name in links),
        joints=tuple(one for one in description.joints if one.name in names),
        base=replace(
            description.base, type="floating", xyz=(0.0,) * 3, rpy=(0.0,) * 3, joint=None, world=None
        ),
        warnings=(),
    )


def _quaternion(R: np.ndarray) -> np.ndarray:
    """Unit quaternion x y z w of a rotation matrix: the dominant eigenvector of Bar-Itzhack's (2000)
    symmetric matrix."""
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = np.trace(R)
    return np.linalg.eigh(K)[1][:, 3]
