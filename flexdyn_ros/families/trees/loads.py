"""Loads along the links of a tree by equilibrium: what lies outward of a section exerts on the rest.

By Newton and Euler, force and moment of the outward part are

    F = sum (forces that act on it) - int (a - g) dm,    M = the same about the section's centre,

over everything outward: strips of a deformed beam, bodies and payloads on its sections, external wrenches,
and what the joints there transmit to their child links. These, and the loads of rigid links, are the
reactions in joints (below), which the recursive Newton-Euler algorithm of the tree gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import UnknownNameError, UnsupportedError
from flexdyn_ros.multibody.joints.registry import joint_model
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia
from flexdyn_ros.robot.arguments import Rows, numbers
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.results import Loads

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
    from flexdyn_ros.families.trees.flexible.strips import LinkStrips
    from flexdyn_ros.families.trees.rigid.model import RigidTree
    from flexdyn_ros.robot.interface import RobotInterface

#: rows of states whose strips are computed at once, so that arrays over them stay small
_ROWS = 256


class _Body(NamedTuple):
    """A body, or payloads, on a section of a flexible link: the frame they are fixed to, their inertia
    there."""

    link: str
    station: float
    frame: str
    inertia: RigidInertia


class _Act(NamedTuple):
    """What acts on a link at a station: point (n, 3), moment about it and force (n, 3), world axes."""

    station: float
    point: np.ndarray
    moment: np.ndarray
    force: np.ndarray


class _Frames(NamedTuple):
    """Rows of frames by their names: R (n, 3, 3) and p (n, 3) in the world; w, alpha and acceleration less
    gravity (n, 3), own axes."""

    R: dict[str, np.ndarray]
    p: dict[str, np.ndarray]
    motion: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


class TreeLoads:
    """Loads of one tree; see `Robot.loads`.

    Parameters
    ----------
    robot : Robot
        It sees the frames on which wrenches act.
    links : sequence of FlexibleLinkModel
        Its flexible links.
    cut : RigidTree
        Its tree with all joints cut (`build_tree(loose=True)`): nodes of a flexible link carry what is fixed
        to it, no child.
    reactions : LooseJoints
        Its reactions in joints.
    """

    def __init__(
        self,
        robot: RobotInterface,
        links: Sequence[FlexibleLinkModel],
        cut: RigidTree,
        reactions: LooseJoints,
    ) -> None:
        for other in () if cut.flexible is None else cut.flexible.others:
            raise UnsupportedError(f"loads of a robot with <{rule_of(other.kind.record).name}> links")
        self._robot, self._cut, self._reactions = robot, cut, reactions
        description = robot.description
        self._joints = {joint.child: joint for joint in description.joints if joint.child in cut.frames}
        self._names = (description.root, *self._joints)
        self._links = {link.name: link for link in links}
        self._stations: dict[int, tuple[str, float]] = {}
        self._beams: dict[str, FlexibleLinkModel] = {}
        if cut.flexible is not None:
            self._beams = {link.name: link for link in cut.flexible.links}
            self._stations = {link.node: (link.name, 0.0) for link in cut.flexible.links}
            for node, (index, at) in cut.flexible.sections.items():
                link = cut.flexible.links[index]
                self._stations[node] = link.name, _station(link.beam, at)
        self._bodies = [body for node in self._stations for body in self._body(node)]
        self._strips: dict[tuple[str, bytes], LinkStrips] = {}

    def _body(self, node: int) -> Iterator[_Body]:
        mass, x, y, z, *tensor = self._cut.model.inertia[10 * node : 10 * node + 10].tolist()
        if not (mass or any(tensor)):
            return
        link, station = self._stations[node]
        xx, xy, xz, yy, yz, zz = tensor
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        frame = link if station == 0.0 else f"{link}@{station!r}"
        placement = self._cut.frames[link].placement
        if station > 0.0:
            # a section's frame has the axes of the beam, its node those of the link's node
            placement = Placement(self._beams[link].beam_in_node.R, np.zeros(3))
        body = RigidInertia(mass, np.array([x, y, z]), inertia)
        yield _Body(link, station, frame, body.seen_from(placement.inverse()))

    def rows(self, rows: Rows, wrenches: Mapping[str, np.ndarray], stations: np.ndarray) -> dict[str, Loads]:
        """Loads of every link at rows of q, v, a and wrenches (n, 6), force and moment (n, k, 3)."""
        frames = self._frames(rows, wrenches)
        joints = self._of_joints(rows, wrenches, frames)
        found = {}
        for name in self._names:
            if name in self._links:
                acting = [*self._acting(name, frames, joints, wrenches)]
                force, moment = self._along(name, rows, stations, frames, acting)
                found[name] = Loads(stations.copy(), force, moment)
            else:
                act = joints[name]
                force, moment = (_into(frames.R[name], x)[:, None] for x in (act.force, act.moment))
                found[name] = Loads(np.zeros(1), force, moment)
        return found

    def _frames(self, rows: Rows, wrenches: Mapping[str, np.ndarray]) -> _Frames:
        robot = self._robot
        q, v, a = _as_given(rows)
        moving = tuple(dict.fromkeys((*self._links, *(body.frame for body in self._bodies))))
        names = tuple(dict.fromkeys((*self._names, *wrenches, *moving)))
        T = robot.frames(q, names).reshape(rows.count, len(names), 4, 4)
        R, p = ({name: x[:, i] for i, name in enumerate(names)} for x in (T[..., :3, :3], T[..., :3, 3]))
        motion = {}
        if moving:
            size = rows.count, len(moving), 6
            velocity = robot.frame_velocity(q, v, moving).reshape(size)
            rate = robot.frame_acceleration(q, v, a, moving).reshape(size)
            for i, name in enumerate(moving):
                less_gravity = rate[:, i, 3:] - robot.gravity
                w, alpha, acceleration = (
                    _into(R[name], x) for x in (velocity[:, i, :3], rate[:, i, :3], less_gravity)
                )
                motion[name] = w, alpha, acceleration
        return _Frames(R, p, motion)

    def _of_joints(self, rows: Rows, wrenches: Mapping[str, np.ndarray], frames: _Frames) -> dict[str, _Act]:
        """What every link exerts on the one that it hangs on, or on the ground."""
        robot = self._robot
        q, v, a = _as_given(rows)
        loads = {name: w[0] if rows.shape == () else w for name, w in wrenches.items()}
        found = self._reactions.reactions(q, v, a, loads)
        wrench = {name: found.of(name).reshape(rows.count, 6) for name in found.names}
        for child, joint in self._joints.items():
            if joint.is_free:
                # the efforts on a free body, in the axes of its coordinates: J of these is orthogonal
                own = [robot.index(c.name) for c in joint_model(robot.description, joint).coordinates]
                tau = robot.inverse_dynamics(q, v, a, loads)[..., own]
                J = robot.jacobian(q, child)[..., own]
                wrench[joint.name] = np.einsum("...ij,...j->...i", J, tau).reshape(rows.count, 6)
        joints = {name: self._joints[name].name if name in self._joints else "base" for name in self._names}
        return {
            name: _Act(0.0, frames.p[name], -wrench[joint][:, :3], -wrench[joint][:, 3:])
            for name, joint in joints.items()
        }

    def _acting(
        self, name: str, frames: _Frames, joints: Mapping[str, _Act], wrenches: Mapping[str, np.ndarray]
    ) -> Iterator[_Act]:
        """What acts on a flexible link beside the inertia and weight of its strips and its own joint."""
        beam = self._links[name].beam
        for child, joint in self._joints.items():
            if joint.parent == name:
                yield joints[child]._replace(station=_station(beam, beam.attach[joint.name]))
        for frame, wrench in wrenches.items():
            link, station = self._stations.get(self._cut.frames[frame].body, ("", 0.0))
            if link == name:
                yield _Act(station, frames.p[frame], wrench[:, :3], wrench[:, 3:])
        for body in self._bodies:
            if body.link == name:
                moment, force = _of_body(body.inertia, *frames.motion[body.frame])
                R = np.swapaxes(frames.R[body.frame], 1, 2)
                yield _Act(body.station, frames.p[body.frame], _into(R, moment), _into(R, force))

    def _along(
        self,
        name: str,
        rows: Rows,
        stations: np.ndarray,
        frames: _Frames,
        acting: list[_Act],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Force and moment (n, k, 3) along a flexible link."""
        from flexdyn_ros.families.trees.flexible.strips import RootMotion, Wrenches

        link, strips = self._links[name], self._strips_of(name, stations)
        at = link.beam.frame
        w, alpha, acceleration = frames.motion[name]
        acceleration = acceleration + np.cross(alpha, at.p) + np.cross(w, np.cross(w, at.p))
        root = RootMotion(w @ at.R, alpha @ at.R, acceleration @ at.R)
        R, p = frames.R[name] @ at.R, frames.p[name] + frames.R[name] @ at.p
        others = np.zeros((2, 3, len(p), len(acting)))
        for i, act in enumerate(acting):
            force, arm = _into(R, act.force), _into(R, act.point - p)
            others[:, :, :, i] = (_into(R, act.moment) + np.cross(arm, force)).T, force.T
        where = np.array([act.station for act in acting])
        modal = rows.take("q")[:, link.q], rows.take("v")[:, link.v], rows.take("a")[:, link.v]
        found = np.empty((2, len(p), len(stations), 3))
        for first in range(0, len(p), _ROWS):
            part = slice(first, first + _ROWS)
            d = [x[part] for x in modal]
            own = strips.inertia(RootMotion(*(x[part] for x in root)), d)
            force, moment = strips.at_sections(d[0], (own, Wrenches(where, *others[:, :, part])))
            found[0, part], found[1, part] = np.moveaxis(force, 0, -1), np.moveaxis(moment, 0, -1)
        return found[0], found[1]

    def _strips_of(self, name: str, stations: np.ndarray) -> LinkStrips:
        from flexdyn_ros.families.trees.flexible.strips import LinkStrips

        key = name, stations.tobytes()
        strips = self._strips.get(key)
        if strips is None:
            if len(self._strips) > 8 * len(self._links):
                self._strips.clear()
            strips = self._strips[key] = LinkStrips(self._links[name], stations)
        return strips


def _as_given(rows: Rows) -> list[np.ndarray]:
    """q, v, a as the verbs take them: vectors of a single state, so that what is wrong with it is raised."""
    return [rows.take(name)[0] if rows.shape == () else rows.take(name) for name in "qva"]


def _of_body(
    body: RigidInertia, w: np.ndarray, alpha: np.ndarray, acceleration: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Moment about the origin and force (n, 3) of a body's inertia and weight, axes of its frame."""
    mass, c, I = body
    force = mass * acceleration + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    moment = alpha @ I + np.cross(w, w @ I) + np.cross(c, acceleration)
    return -moment, -force


def _into(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R^T x of rows (n, 3, 3) and (n, 3)."""
    return np.einsum("nji,nj->ni", R, x)


def _station(beam: Any, at: Any) -> float:
    """The station of a section, or of a node of imported modes."""
    return float(at) if isinstance(at, float) else float(np.clip(beam.centre(at)[0] / beam.beam.length, 0, 1))


# Reactions in joints: what a joint must transmit so that everything beyond it moves as it does.
#
# Behind every joint of a copy of the tree stand three sliding and three turning joints that do not move: the
# efforts on them, by the recursive Newton-Euler algorithm of the tree, are the force and the moment there.


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
