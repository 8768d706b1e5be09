"""Reactions in joints: what a joint must transmit so that everything beyond it moves as it does.

Behind every joint of a copy of the tree stand three sliding and three turning joints that do not move: the
efforts on them, by the recursive Newton-Euler algorithm of the tree, are the force and the moment there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.coordinates import Coordinate

if TYPE_CHECKING:
    from flexdyn_ros.robot.interface import RobotInterface


class JointReactions(NamedTuple):
    """What joints transmit to their child links, at the origins of these, world axes.

    names : tuple of str, nj
        "base" for what the root link is given (by the ground, or by the effort on a floating base), then
        joints by their names, those of free bodies left out.
    force, moment : (..., nj, 3) arrays [N, N m]
    """

    names: tuple[str, ...]
    force: np.ndarray
    moment: np.ndarray

    def of(self, name: str) -> np.ndarray:
        """Wrench (..., 6) = (moment; force) in a joint."""
        at = self.names.index(name)
        return np.concatenate([self.moment[..., at, :], self.force[..., at, :]], axis=-1)


class JointWrenches:
    """Reactions in chosen joints of a robot, in the axes of their child links.

    Parameters
    ----------
    robot : Robot
    joints : sequence of str
        URDF joints, or "base" for what the root link is given.

    Raises
    ------
    UnknownNameError
        If there is no such joint.
    """

    def __init__(self, robot: Any, joints: Sequence[str]) -> None:
        description = robot.description
        passing = (j for j in description.joints if not j.is_free and j.child in robot.frame_names)
        links = {joint.name: joint.child for joint in passing}
        links = {"base": description.root, **links}
        for name in joints:
            if name not in links:
                raise UnknownNameError("joint", name, tuple(links))
        self._robot, self.names = robot, tuple(joints)
        self.links = tuple(links[name] for name in joints)

    def __call__(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None = None
    ) -> np.ndarray:
        """Wrenches (k, 6) = (moment; force) on the child links at their origins [N m, N] of one motion."""
        found = self._robot.joint_reactions(q, v, a, wrenches)
        R = self._robot.frames(q, self.links)[:, :3, :3]
        world = np.array([found.of(name) for name in self.names]).reshape(len(self.names), 2, 3)
        return np.einsum("kij,kwi->kwj", R, world).reshape(len(self.names), 6)


class LooseJoints:
    """Reactions of a robot by its copy with the joints that do not move."""

    def __init__(self, robot: RobotInterface, loose: RobotInterface) -> None:
        held = [c for c in loose.coordinates if c.kind == "reaction"]
        self._robot, self._loose = robot, loose
        self._held = np.array([c.v_index for c in held], dtype=np.intp)
        self._q, self._v = _others(loose.q_names, held), _others(loose.v_names, held)
        self._links = tuple(c.body for c in held[::6])
        self._names = tuple(c.name.rpartition("/")[0] for c in held[::6])

    def reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None,
        tau: np.ndarray | None = None,
    ) -> JointReactions:
        """See `TreeFunctions.joint_reactions`."""
        robot, loose = self._robot, self._loose
        q, v, a = numbers(q, "q", robot.nq), numbers(v, "v", robot.nv), numbers(a, "a", robot.nv)
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], a.shape[:-1])
        whole = np.zeros((*batch, loose.nq)), np.zeros((*batch, loose.nv)), np.zeros((*batch, loose.nv))
        for x, own, target in zip((q, v, a), (self._q, self._v, self._v), whole, strict=True):
            target[..., own] = x
        rows = loose.inverse_dynamics(*whole, wrenches)[..., self._held]
        if tau is not None and robot.nu > robot.nv:
            # what cylinders exert is done already
            exerted = numbers(tau, "tau", robot.nu)[..., robot.nv :]
            lines = loose.actuation_matrix(whole[0])[..., self._held, loose.nv :]
            rows = rows - np.einsum("...ij,...j->...i", lines, exerted)
        local = rows.reshape(*rows.shape[:-1], len(self._links), 2, 3)
        R = robot.frames(q, self._links)[..., :3, :3]
        world = local @ np.swapaxes(R, -1, -2)
        return JointReactions(self._names, world[..., 0, :], world[..., 1, :])


def _others(names: tuple[str, ...], held: list[Coordinate]) -> np.ndarray:
    """Indices of the names that are not those of held coordinates, which come in the same order."""
    without = {c.name for c in held}
    return np.array([i for i, name in enumerate(names) if name not in without], dtype=np.intp)
