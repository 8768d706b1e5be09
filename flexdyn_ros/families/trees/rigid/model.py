"""From a description to the arrays of a rigid tree.

Every moving joint becomes one body; links on fixed joints are lumped into the body that carries them and
stay known as frames. The frame of a body is turned so that its joint's axis is its z axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.multibody.joints.floating import free_model
from flexdyn_ros.multibody.joints.joint import JointCoordinate, JointModel, Screw
from flexdyn_ros.multibody.joints.registry import joint_model
from flexdyn_ros.multibody.links.registry import deforming_links
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW
from flexdyn_ros.numerics.algebra.placement import IDENTITY, Placement, RigidInertia, frame_with_z_along
from flexdyn_ros.records import frozen
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.coordinates import Coordinate

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.model import FlexibleLinks, FlexibleTables


class Frame(NamedTuple):
    """A named frame: the body that carries it (0 = world) and its placement in that body's frame."""

    name: str
    body: int
    placement: Placement


@frozen
class RigidTree:
    """A rigid tree, ready for the kernels: their arrays, and the names that go with them.

    model : TreeModel
        Read-only arrays.
    coordinates : tuple of Coordinate, one per velocity coordinate
    q_names : tuple of str, (nq,)
    frames : mapping from link name to Frame
    body_links : tuple of str, (nb,)
        The link that gives a body its name; the root link for body 0.
    neutral : (nq,) array
    has_mimic : bool
        Several joints share a coordinate.
    warnings : tuple of str
    flexible : FlexibleTables, optional
        What the kernels of flexible trees need beside the model, whose bodies then are nodes
        (flexible/kernels/views.py).
    loads : tuple of Load
        Links with mass at the ends, on fixed joints: tools, payloads.
    """

    model: views.TreeModel
    coordinates: tuple[Coordinate, ...]
    q_names: tuple[str, ...]
    frames: dict[str, Frame]
    body_links: tuple[str, ...]
    neutral: np.ndarray
    has_mimic: bool
    warnings: tuple[str, ...]
    flexible: FlexibleTables | None = None
    loads: tuple[Load, ...] = ()

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return float(self.model.inertia[0::10].sum()) + (self.flexible.mass if self.flexible else 0.0)


def build_tree(
    description: RobotDescription, sections: Iterable[str] = (), *, loose: bool = False
) -> RigidTree:
    """The tree of a description, with its flexible links.

    sections: names LINK@station of sections of flexible links that are wanted as frames. loose: put three
    sliding and three turning joints, coordinates JOINT/force_x to JOINT/moment_z of kind reaction, between
    every joint and its child link, along the axes of that, and base/force_x ... before the root link.

    Raises
    ------
    DescriptionError
        If the `<joint_type>` of a joint does not fit.
    """
    elastic = None
    if description.flexible_links or deforming_links(description):
        from flexdyn_ros.families.trees.flexible.model import FlexibleLinks

        elastic = FlexibleLinks(description, sections)
    draft = TreeDraft(description, elastic, loose=loose)
    draft.place_base()
    draft.grow()
    draft.place_motors()
    draft.place_hubs()
    return draft.finish()


class Load(NamedTuple):
    """A link on a fixed joint that no moving joint hangs on: its body, which has its inertia too, and its ten
    numbers (10,) in link axes about the link's origin."""

    link: str
    body: int
    numbers: np.ndarray


@dataclass
class _Body:
    """One row of the model while it is being built."""

    link: str
    parent: int
    kind: int
    placement: Placement
    q_index: int
    v_index: int
    screw: Screw | None = None
    ratio: float = 1.0
    offset: float = 0.0
    inertia: RigidInertia = field(default_factory=RigidInertia.zero)


class TreeDraft:
    """The tree while it grows; `finish` turns it into arrays."""

    def __init__(
        self, description: RobotDescription, elastic: FlexibleLinks | None = None, *, loose: bool = False
    ) -> None:
        self.description = description
        self.elastic = elastic
        self.loose = loose
        self.bends = elastic is not None and bool(description.formulation.flexible)
        self.elastic_inertia: dict[int, RigidInertia] = {}
        self.bodies = [_Body(description.root, 0, SCREW, IDENTITY, 0, 0)]
        self.coordinates: list[Coordinate] = []
        self.q_names: list[str] = []
        self.neutral: list[float] = []
        self.dof: list[np.ndarray] = []
        self.frames: dict[str, Frame] = {}
        self.leaders: dict[str, tuple[int, int]] = {}
        self.waiting: list[tuple[_Body, Joint]] = []
        self.shares_coordinates = False
        self.loads: list[Load] = []

    # ---- coordinates ----

    def add_axis(self, coordinate: Coordinate, dof: np.ndarray | None = None) -> tuple[int, int]:
        """A coordinate of one number in q and one in v, by default without armature and resistance; returns
        both indices."""
        iq, iv = len(self.q_names), len(self.coordinates)
        self.coordinates.append(replace(coordinate, q_index=iq, v_index=iv))
        self.q_names.append(coordinate.name)
        self.neutral.append(0.0)
        self.dof.append(_rigid_dof() if dof is None else dof)
        return iq, iv

    def add_joint_coordinates(
        self, model: JointModel, kind: str, body: str, joint: Joint | None = None
    ) -> tuple[int, int]:
        """The coordinates of a joint; returns where they begin in q and v.

        joint: gives the first one's rotor, spring and shape of dry friction.
        """
        iq, iv = len(self.q_names), len(self.coordinates)
        turn_index = iq + len(model.positions) - len(model.quaternion) if model.quaternion else -1
        positions = iter(range(iq, iq + len(model.positions)))
        for i, own in enumerate(model.coordinates):
            turns = own.position == ""
            self.coordinates.append(
                Coordinate(
                    own.name,
                    kind,
                    own.unit,
                    -1 if turns else next(positions),
                    iv + i,
                    body,
                    actuated=model.driven and own.effort != 0.0,
                    lower=own.lower,
                    upper=own.upper,
                    velocity_limit=own.velocity,
                    effort_limit=own.effort,
                    turn_index=turn_index if turns else -1,
                )
            )
            self.dof.append(_dof_of(own, joint))
            if self.is_elastic(joint):
                self.dof[-1][views.ARMATURE] = 0.0
        self.q_names += model.positions
        self.neutral += [0.0] * len(model.positions)
        if model.quaternion:
            self.neutral[-1] = 1.0
        return iq, iv

    # ---- nodes of flexible links ----

    def add_node(self, link: str, parent: int, kind: int, placement: Placement) -> int:
        """A node without coordinates of its own; returns its index."""
        self.bodies.append(_Body(link, parent, kind, placement, 0, 0))
        return len(self.bodies) - 1

    def add_frame(self, name: str, body: int, placement: Placement) -> None:
        """Name a frame fixed to a body."""
        self.frames[name] = Frame(name, body, placement)

    # ---- growth ----

    def place_base(self) -> None:
        """Put the root link into the world: fixed, on a free joint, or on three planar ones."""
        base, root = self.description.base, self.description.root
        stand = Placement.of(base.xyz, base.rpy)
        if base.world is not None:
            self.frames[base.world] = Frame(base.world, 0, IDENTITY)
        if base.type == "planar":
            drive = self.description.drive
            for axis_name, axis, unit in (
                ("x", (1.0, 0.0, 0.0), "m"),
                ("z", (0.0, 0.0, 1.0), "m"),
                ("pitch", (0.0, 1.0, 0.0), "rad"),
            ):
                of_drive = "" if drive is None or axis_name != "x" else drive.type
                coordinate = Coordinate(
                    f"base/{axis_name}",
                    "base",
                    unit,
                    0,
                    0,
                    root,
                    actuated=of_drive == "force",
                    prescribed=of_drive in ("speed", "profile"),
                )
                body, stand = self._add_joint(root, len(self.bodies) - 1, stand, axis, coordinate)
            self.attach(root, *self._loosen("base", root, body, stand))
        elif base.type == "floating":
            iq, iv = self.add_joint_coordinates(free_model("base"), "base", root)
            self.bodies.append(_Body(root, 0, FREE, IDENTITY, iq, iv))
            self.attach(root, *self._loosen("base", root, 1, IDENTITY))
        else:
            self.attach(root, *self._loosen("base", root, 0, stand))

    def place_hubs(self) -> None:
        """The heights of hubs between spring and tyre; nothing of the tree hangs on them, their mass is
        armature."""
        for wheel in self.description.wheels:
            if wheel.tyre is not None:
                dof = _rigid_dof()
                dof[views.ARMATURE], dof[views.MOTOR_OF] = wheel.tyre.mass, -1.0
                name = f"{wheel.name}/hub_z"
                self.add_axis(Coordinate(name, "hub", "m", 0, 0, wheel.link, actuated=False), dof)

    def place_motors(self) -> None:
        """Motors of elastic joints, JOINT/motor, on the joints' side of the gears; nothing of the tree hangs
        on them, and nothing else drives their joints."""
        joints = {j.name: j for j in self.description.joints if self.is_elastic(j)}
        for c in [c for c in self.coordinates if c.name in joints]:
            rotor, spring = joints[c.name].rotor, joints[c.name].elasticity
            assert rotor is not None
            assert spring is not None
            dof = _rigid_dof()
            dof[views.ARMATURE] = rotor.gear_ratio**2 * rotor.inertia
            dof[views.STIFFNESS], dof[views.DAMPING] = spring.stiffness, spring.damping
            dof[views.MOTOR_OF] = 1 + c.v_index
            motor = replace(c, name=f"{c.name}/motor", kind="motor", lower=-np.inf, upper=np.inf)
            self.add_axis(motor, dof)
            self.coordinates[c.v_index] = replace(c, actuated=False)

    def is_elastic(self, joint: Joint | None) -> bool:
        """Whether a joint has a motor of its own behind a spring."""
        return bool(joint is not None and joint.elasticity and self.description.formulation.flexible)

    def attach(self, link: str, body: int, placement: Placement) -> None:
        """Fix a link to a body: a frame, and its inertia in the body's; or give a flexible link its node."""
        if self.elastic is not None and link in self.description.flexible_links:
            if self.bends:
                self.elastic.attach(self, link, body, placement)
            else:
                self.add_frame(link, body, placement)
                self.add_frame(f"{link}/tip", body, placement @ self.elastic.undeformed(link, 1.0))
                for name in self.elastic.sections:
                    of, station = section_of(name)
                    if of == link and station is not None:
                        self.add_frame(name, body, placement @ self.elastic.undeformed(link, station))
                own = self.elastic.rigid_inertia(link).seen_from(placement)
                self.bodies[body].inertia = self.bodies[body].inertia + own
            return
        if self._deforms(link):
            assert self.elastic is not None
            if self.bends:
                body, placement = self.elastic.others.attach(self, link, body, placement), IDENTITY
            else:
                self.elastic.others.hold(self, link, body, placement)
        self.frames[link] = Frame(link, body, placement)
        inertial = self.description.link(link).inertial
        if inertial is not None:
            own = RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy)
            self.bodies[body].inertia = self.bodies[body].inertia + own.seen_from(placement)
            if self.bodies[body].link != link and body > 0 and inertial.mass > 0.0 and self._is_end(link):
                self.loads.append(Load(link, body, _frozen(own.flat())))

    def _deforms(self, link: str) -> bool:
        """Whether a link deforms and is no beam."""
        return self.elastic is not None and link in self.elastic.others

    def _is_end(self, link: str) -> bool:
        """Whether a link carries nothing that moves or bends."""
        hanging = [link]
        for name in hanging:
            if name in self.description.flexible_links or self._deforms(name):
                return False
            joints = self.description.children_of(name)
            if any(joint.type != "fixed" for joint in joints):
                return False
            hanging += [joint.child for joint in joints]
        return True

    def grow(self) -> None:
        """Depth first from the root, children in the order of the file."""
        for joint in self._depth_first():
            model = joint_model(self.description, joint)
            mounted = joint.name in self.description.platform_joints
            seat = (0, IDENTITY) if mounted else self._seat(joint)
            body, at = self._grow_joint(joint, model, *seat, "platform" if mounted else "joint")
            if model.kernel != FREE:
                body, at = self._loosen(joint.name, joint.child, body, at)
            self.attach(joint.child, body, at)
        for follower, joint in self.waiting:
            self._follow(follower, joint)

    def _seat(self, joint: Joint) -> tuple[int, Placement]:
        """The body that carries a joint, and the joint frame's placement in it."""
        bent = joint.parent in self.description.flexible_links or self._deforms(joint.parent)
        if self.elastic is not None and self.bends and bent:
            return self.elastic.seat(self, joint)
        carrier = self.frames[joint.parent]
        return carrier.body, carrier.placement @ Placement.of(joint.xyz, joint.rpy)

    def _depth_first(self) -> Iterator[Joint]:
        stack = list(reversed(self.description.children_of(self.description.root)))
        while stack:
            joint = stack.pop()
            if joint.name in self.description.leg_joints:
                continue  # legs are elements
            yield joint
            stack.extend(reversed(self.description.children_of(joint.child)))

    def _grow_joint(
        self, joint: Joint, model: JointModel, parent: int, at: Placement, kind: str
    ) -> tuple[int, Placement]:
        """The bodies of a joint that stands at a placement in its parent; returns the last one, and where
        the child link is in it."""
        if joint.mimic is None:
            iq, iv = self.add_joint_coordinates(model, kind, joint.child, joint)
            self.leaders[joint.name] = (iq, iv)
        else:
            iq, iv = 0, 0
        if model.kernel is not None:
            # kernels find the quaternion three numbers behind the index: behind the position of a free joint
            first = iq + len(model.positions) - len(model.quaternion) - 3
            self.bodies.append(_Body(joint.child, parent, model.kernel, at, first, iv))
            return len(self.bodies) - 1, IDENTITY
        moved: set[int] = set()
        for screw in model.chain:
            parent, at = self._add_screw(
                joint.child, parent, screw, at, iq + screw.coordinate, iv + screw.coordinate
            )
            if joint.mimic is not None:
                self.waiting.append((self.bodies[-1], joint))
            self.shares_coordinates |= joint.mimic is not None or screw.coordinate in moved
            moved.add(screw.coordinate)
        return parent, at

    def _loosen(self, joint: str, child: str, body: int, at: Placement) -> tuple[int, Placement]:
        """Where a child link sits on a body, after the joints for its reaction if these are asked for."""
        if not self.loose:
            return body, at
        for what, unit in (("force", "m"), ("moment", "rad")):
            for letter, axis in zip("xyz", np.eye(3), strict=True):
                name = f"{joint}/{what}_{letter}"
                coordinate = Coordinate(name, "reaction", unit, 0, 0, child, actuated=False)
                body, at = self._add_joint(child, body, at, axis.tolist(), coordinate)
        return body, at

    def _add_joint(
        self, link: str, parent: int, at: Placement, axis: Sequence[float], coordinate: Coordinate
    ) -> tuple[int, Placement]:
        """A body without inertia on a joint with a coordinate of its own, a turn or a displacement by its
        unit, and the placement in it of what the joint carries."""
        x, y, z = axis
        turns = coordinate.unit == "rad"
        screw = Screw(coordinate.name, (x, y, z), turns=turns, pitch=float(not turns))
        return self._add_screw(link, parent, screw, at, *self.add_axis(coordinate))

    def _add_screw(
        self, link: str, parent: int, screw: Screw, at: Placement, iq: int, iv: int
    ) -> tuple[int, Placement]:
        Z = frame_with_z_along(screw.axis)
        self.bodies.append(_Body(link, parent, SCREW, at @ Placement(Z, np.zeros(3)), iq, iv, screw))
        return len(self.bodies) - 1, Placement(Z.T, np.zeros(3))

    def _follow(self, body: _Body, joint: Joint) -> None:
        """Give a mimic joint the coordinate of its leader, at the end of the chain of mimics."""
        ratio, body.offset, leader = self.description.leader_of(joint)
        body.q_index, body.v_index = self.leaders[leader.name]
        body.ratio = ratio
        dof, own = self.dof[body.v_index], _dof_of(joint_model(self.description, joint).coordinates[0], joint)
        dof[views.ARMATURE] += ratio**2 * own[views.ARMATURE]
        dof[views.DAMPING] += ratio**2 * own[views.DAMPING]
        dof[views.COULOMB] += abs(ratio) * own[views.COULOMB]
        dof[views.STATIC] += abs(ratio) * own[views.STATIC]
        if own[views.STIFFNESS]:
            raise UnsupportedError(
                f"joint '{joint.name}': a mimic joint cannot have a <joint_spring> of its own"
            )

    # ---- arrays ----

    def finish(self) -> RigidTree:
        """Freeze everything into arrays."""
        bodies, nv = self.bodies, len(self.coordinates)
        model = views.TreeModel(
            nb=len(bodies),
            nq=len(self.q_names),
            nv=nv,
            parent=_frozen([b.parent for b in bodies], np.int64),
            joint_type=_frozen([b.kind for b in bodies], np.int64),
            q_index=_frozen([b.q_index for b in bodies], np.int64),
            v_index=_frozen([b.v_index for b in bodies], np.int64),
            q_of_v=_frozen([c.q_index for c in self.coordinates], np.int64),
            ratio=_frozen([b.ratio for b in bodies]),
            offset=_frozen([b.offset for b in bodies]),
            turn=_frozen([float(b.screw is not None and b.screw.turns) for b in bodies]),
            slide=_frozen([0.0 if b.screw is None else b.screw.pitch for b in bodies]),
            placement=_frozen(np.concatenate([b.placement.flat() for b in bodies])),
            inertia=_frozen(np.concatenate([b.inertia.flat() for b in bodies])),
            dof=_frozen(np.concatenate(self.dof) if nv else np.zeros(0)),
            gravity=_frozen(self.description.gravity),
        )
        return RigidTree(
            model=model,
            coordinates=tuple(self.coordinates),
            q_names=tuple(self.q_names),
            frames=self.frames,
            body_links=tuple(b.link for b in bodies),
            neutral=_frozen(self.neutral),
            has_mimic=self.shares_coordinates,
            warnings=self._warnings() + (self.elastic.warnings if self.elastic else ()),
            flexible=self.elastic.tables(len(bodies)) if self.elastic and self.bends else None,
            loads=tuple(self.loads),
        )

    def _warnings(self) -> tuple[str, ...]:
        return (*self._unread_numbers(), *self._idle_joints())

    def _unread_numbers(self) -> tuple[str, ...]:
        """URDF elements that mean one coordinate, of joints that have several."""
        found = []
        for joint in self.description.joints:
            tags = [f"<{tag}>" for tag in joint.unused if tag != "mimic"]
            if tags and not joint.is_free:
                found.append(
                    f"joint '{joint.name}': no effect of {' and '.join(tags)}; <joint_type> takes one number "
                    "for each coordinate"
                )
        return tuple(found)

    def _idle_joints(self) -> tuple[str, ...]:
        """Joints that move no mass: their acceleration is not determined by the efforts."""
        carried = [b.inertia for b in self.bodies]
        for i, inertia in self.elastic_inertia.items():
            carried[i] = carried[i] + inertia
        for mount in self.description.mounts:
            legs = (self.description.joint(name).child for name in mount.leg_joints)
            at = self.frames[mount.joint.parent].body
            for own in filter(None, (self.description.link(link).inertial for link in legs)):
                carried[at] = carried[at] + RigidInertia.of(own.mass, own.xyz, own.inertia, own.rpy)
        for i in range(len(carried) - 1, 0, -1):
            parent = self.bodies[i].parent
            carried[parent] = carried[parent] + carried[i].seen_from(self.bodies[i].placement)
        idle = []
        for body, load in zip(self.bodies[1:], carried[1:], strict=True):
            if body.kind not in (SCREW, FREE, BALL):
                continue
            felt = (
                load.mass
                + np.trace(load.inertia)
                + sum(d[views.ARMATURE] for d in self.dof[body.v_index : body.v_index + 1])
            )
            if felt == 0.0:
                idle.append(body.link)
        if not idle:
            return ()
        names = ", ".join(idle)
        return (
            f"the joints of these links move no mass and no rotor: {names}; forward dynamics is singular",
        )


def _frozen(values: object, dtype: type = np.float64) -> np.ndarray:
    array: np.ndarray = np.ascontiguousarray(values, dtype=dtype)
    array.setflags(write=False)
    return array


def _rigid_dof() -> np.ndarray:
    """Numbers of a velocity coordinate that has neither armature nor resistance."""
    dof = np.zeros(views.DOF_NUMBERS)
    dof[[views.STRIBECK, views.SMOOTHING]] = 1.0
    return dof


def _dof_of(own: JointCoordinate, joint: Joint | None) -> np.ndarray:
    """Numbers of a joint's coordinate."""
    dof = _rigid_dof()
    dof[views.DAMPING] = own.damping
    dof[views.COULOMB] = dof[views.STATIC] = own.friction
    if joint is None:
        return dof
    dof[views.SMOOTHING] = 1e-3
    if joint.rotor is not None:
        dof[views.ARMATURE] = joint.rotor.gear_ratio**2 * joint.rotor.inertia
    if joint.dry_friction is not None:
        dry = joint.dry_friction
        dof[views.SMOOTHING] = dry.smoothing_velocity
        if dry.static is not None:
            dof[views.STATIC] = dry.static
            if dry.stribeck_velocity is not None:
                dof[views.STRIBECK] = dry.stribeck_velocity
    if joint.spring is not None:
        dof[views.STIFFNESS], dof[views.REFERENCE] = joint.spring.stiffness, joint.spring.reference
    return dof
