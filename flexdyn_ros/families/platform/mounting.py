"""Platforms that are part of a tree: what stands on the world alone is robot.py.

Platform and whatever it carries are bodies of the tree, on a free joint from the world; the legs are elements
(multibody/elements/leg.py) between the link that they stand on and the platform. Geometry, checks and what
legs are beside their dynamics come from the same platform alone, in the frame of that link: the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.oil import SharedSupply
from flexdyn_ros.description.elements.platforms import Mount
from flexdyn_ros.description.elements.urdf import Base
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.families.platform.robot import PlatformFunctions
from flexdyn_ros.families.trees.flexible.kernels.kinematics import place_flexible
from flexdyn_ros.families.trees.flexible.kernels.views import carve_flexible
from flexdyn_ros.families.trees.layers import Layer, layer_header
from flexdyn_ros.families.trees.rigid.kernels import views as tree_views
from flexdyn_ros.multibody.elements.cylinder.circuits import on_supply
from flexdyn_ros.multibody.elements.leg import MountedLeg
from flexdyn_ros.numerics.algebra.placement import (
    IDENTITY,
    Placement,
    quaternion_of,
    quaternions_of,
    rotation_of_quaternion,
)
from flexdyn_ros.robot.verbs import Robot

#: where records of legs and supplies are among the extras of a description
LEGS, SUPPLIES = "leg", "supply"
#: platforms alone, by the description that they are of, while that lives: robots with other parameters, as
#: each column of a regressor asks for one, share them
_MECHANISMS: dict[int, dict[str, Robot]] = {}


class Carrier(NamedTuple):
    """The frame that legs stand on, a link or a section LINK@s of one that bends; link_in_frame: where the
    axes of the link are in it while that is undeformed."""

    frame: str
    link_in_frame: Placement = IDENTITY


def carrier_of(description: RobotDescription, mount: Mount) -> Carrier:
    """What carries a platform.

    Raises
    ------
    DescriptionError
        If legs and platform stand on several sections of a link that bends, or on nodes of imported modes.
    """
    link = description.flexible_links.get(mount.joint.parent)
    if link is None or not description.formulation.flexible:
        return Carrier(mount.joint.parent)
    from flexdyn_ros.families.trees.flexible.model import settled_link

    beam = settled_link(description, link)
    station = beam.attach[mount.joint.name]
    place = description.place(mount.platform, f"platform '{mount.platform.link}'")
    if not isinstance(station, float):
        expected = "a beam, or legs on a rigid link that is fixed to the node"
        place.fail(f"legs stand on a node of the imported modes of '{link.link}'", None, None, expected)
    for leg, foot in zip(mount.platform.legs, mount.feet, strict=True):
        if beam.attach[foot.name] != station:
            place.fail(
                f"leg '{leg.name}' stands at station {beam.attach[foot.name]:g} of the flexible link "
                f"'{link.link}', the platform's joint at {station:g}",
                "link",
                mount.platform.link,
                f'one station for all: <attach joint="{foot.name}" station="{station:g}"/>',
            )
    if station == 0.0:
        return Carrier(link.link)
    section = Placement(beam.frame.R, beam.frame.p + beam.frame.R @ beam.centre(station))
    return Carrier(f"{link.link}@{station!r}", section.inverse())


def mechanism_of(description: RobotDescription, mount: Mount) -> RobotDescription:
    """A platform and its legs alone, as a description whose root is the link that they stand on."""
    joint = mount.joint
    kept = {joint.parent, joint.child}
    inner = [joint]
    for name in mount.leg_joints:
        inner.append(description.joint(name))
        kept.add(inner[-1].child)
    waiting = list(kept - {joint.parent})
    while waiting:
        for below in description.children_of(waiting.pop()):
            if below.type == "fixed":
                inner.append(below)
                kept.add(below.child)
                waiting.append(below.child)
    # oil of supplies with names is that of the tree
    dry = (
        replace(leg, hydraulics=None) if leg.hydraulics and leg.hydraulics.supply.name else leg
        for leg in mount.platform.legs
    )
    bending = {
        name: link
        for name, link in description.flexible_links.items()
        if name in kept and name != joint.parent
    }
    return replace(
        description,
        root=joint.parent,
        platforms=(replace(mount.platform, legs=tuple(dry)),),
        links=tuple(
            replace(link, inertial=None) if link.name == joint.parent else link
            for link in description.links
            if link.name in kept
        ),
        joints=tuple(each for each in description.joints if each in inner),
        base=Base(),
        formulation=replace(description.formulation, flexible=False),
        flexible_links=bending,
        wheels=(),
        road=None,
        drive=None,
        extras={},
        kind="platform",
    )


def mounted_legs(
    functions: PlatformFunctions, mount: Mount, carrier: Carrier, supplies: dict[Any, SharedSupply]
) -> Iterator[MountedLeg]:
    """The legs of a mechanism as elements between two links; adds their own supplies of oil to `supplies`."""
    records = functions.tables.leg_records(carrier.frame, mount.joint.child)
    at = carrier.link_in_frame
    for leg, record in zip(mount.platform.legs, records, strict=True):
        hydraulics = None if leg.hydraulics is None else on_supply(leg.hydraulics, supplies, mount.prefix)
        foot: Any = tuple((at.R @ record.base_xyz + at.p).tolist())
        axis: Any = tuple((at.R @ record.axis).tolist())
        # a leg's numbers begin with its spin and its axis
        numbers = (record.numbers[0], *axis, *record.numbers[4:])
        yield replace(record, hydraulics=hydraulics, line=leg.line, base_xyz=foot, axis=axis, numbers=numbers)


def with_legs(description: RobotDescription) -> RobotDescription:
    """A description with the legs of its platforms as elements.

    Raises
    ------
    DescriptionError, UnsupportedError
        For a platform that would be refused alone.
    """
    legs: list[MountedLeg] = []
    own: list[SharedSupply] = []
    for mount in description.mounts:
        supplies: dict[Any, SharedSupply] = {}
        carrier = carrier_of(description, mount)
        mechanism = PlatformFunctions(mechanism_of(description, mount))
        legs += mounted_legs(mechanism, mount, carrier, supplies)
        own += supplies.values()
    extras = {**description.extras, LEGS: tuple(legs)}
    if own:
        extras[SUPPLIES] = (*description.extras.get(SUPPLIES, ()), *own)
    return replace(description, extras=extras)


class Mounting(Layer):
    """Platforms that stand on links of a tree: their home poses, and their mechanisms."""

    offers = ("mechanism", "mechanisms", "carried_pose", "carried_motion")

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        self._header = layer_header(functions.packed, functions.tree)
        description, names = functions.description, functions.q_names
        stands = [
            _Stand(mount, carrier_of(description, mount), names.index(f"{mount.prefix}/x"))
            for mount in description.mounts
        ]
        self._by_link = {stand.mount.platform.link: stand for stand in stands}
        #: what carries another one comes first
        self._stands = sorted(stands, key=lambda stand: stand.at)
        for stand in stands if description.wheels and not functions.changes else ():
            _check_mass(functions, stand)
        functions.home = self.at_home(functions.home)

    @property
    def mechanisms(self) -> dict[str, Robot]:
        """By its link, each platform and its legs alone, standing on the world; its poses are those in the
        axes of the link that carries them. Of a description, not of values of parameters."""
        description = self.functions.description
        if (found := _MECHANISMS.get(id(description))) is None:
            found = _MECHANISMS[id(description)] = {
                link: Robot(PlatformFunctions(mechanism_of(description, stand.mount)))
                for link, stand in self._by_link.items()
            }
            finalize(description, _MECHANISMS.pop, id(description), None)
        return found

    @property
    def mechanism(self) -> Robot:
        """That of the first platform."""
        return next(iter(self.mechanisms.values()))

    def carried_pose(self, q: np.ndarray, platform: str | None = None) -> np.ndarray:
        """Poses (..., 7) of a platform, by default of the first, in the axes of the link that carries its
        legs, for q (..., nq).

        Raises
        ------
        UnknownNameError
            If there is no platform of that link.
        """
        stand, q = self._stand(platform), np.asarray(q, dtype=float)
        carrier, own = self._frames(stand, q)
        inverse = np.swapaxes(carrier[..., :3, :3], -1, -2)
        moved = np.einsum("...ij,...j->...i", inverse, own[..., :3, 3] - carrier[..., :3, 3])
        turned = inverse @ own[..., :3, :3]
        flat = quaternions_of(turned.reshape(-1, 3, 3)).reshape(*turned.shape[:-2], 4)
        return np.concatenate([moved, flat], axis=-1)

    def carried_motion(
        self, q: np.ndarray, v: np.ndarray, platform: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses (..., 7) and twists (..., 6) of a platform, by default of the first, against the link that
        carries its legs, in the axes of that link, for q (..., nq), v (..., nv).

        Raises
        ------
        UnknownNameError
            If there is no platform of that link.
        """
        stand, robot = self._stand(platform), self.functions.robot
        base, end = stand.carrier.frame, stand.mount.joint.child
        carrier, own = self._frames(stand, q)
        R, moving = carrier[..., :3, :3], robot.frame_velocity(q, v, base)
        twist = robot.frame_velocity(q, v, end) - moving
        arm = own[..., :3, 3] - robot.frames(q, base)[..., :3, 3]
        twist[..., 3:] -= np.cross(moving[..., :3], arm)
        angular, linear = (x[..., None, :] @ R for x in (twist[..., :3], twist[..., 3:]))
        seen = np.concatenate([angular[..., 0, :], linear[..., 0, :]], axis=-1)
        return np.broadcast_to(self.carried_pose(q, platform), (*seen.shape[:-1], 7)), seen

    def at_home(self, q: np.ndarray) -> np.ndarray:
        """q (nq,) with the platforms at home on the links that carry them."""
        return self._placed(q, [Placement.of(s.mount.joint.xyz, s.mount.joint.rpy) for s in self._stands])

    def random(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """q (nq,) with the platforms within their strokes."""
        drawn = [self.mechanisms[s.mount.platform.link].random(rng) for s in self._stands]
        return self._placed(q, [Placement(rotation_of_quaternion(*x[3:]), x[:3]) for x in drawn])

    def check_start(self, q: np.ndarray) -> str:
        texts = (
            mechanism.functions.check_start(self.carried_pose(q, link))
            for link, mechanism in self.mechanisms.items()
        )
        return "; ".join(filter(None, map(str, texts)))

    # ---- behind the verbs ----

    def _stand(self, platform: str | None) -> _Stand:
        if platform is None:
            return next(iter(self._by_link.values()))
        UnknownNameError.check("platform", platform, self._by_link)
        return self._by_link[platform]

    def _frames(self, stand: _Stand, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (..., 4, 4) of the link that carries a platform, rigid from where the legs stand, and of the
        platform."""
        names = stand.carrier.frame, stand.mount.joint.child
        carrier, own = (self.functions.robot.frames(q, name) for name in names)
        rigid = np.eye(4)
        rigid[:3, :3], rigid[:3, 3] = stand.carrier.link_in_frame.R, stand.carrier.link_in_frame.p
        return carrier @ rigid, own

    def _placed(self, q: np.ndarray, poses: list[Placement]) -> np.ndarray:
        """q (nq,) with the platforms at poses in the axes of the links that carry them."""
        q = q.copy()
        for stand, own in zip(self._stands, poses, strict=True):
            pose = self._pose(q, stand.carrier.frame) @ stand.carrier.link_in_frame @ own
            q[stand.at : stand.at + 7] = [*pose.p, *quaternion_of(pose.R)]
        return q

    def _pose(self, q: np.ndarray, link: str) -> Placement:
        """Pose of a frame in the world, by kernels that are interpreted."""
        frame, m = self.functions.tree.frames[link], self.functions.tree.model
        if frame.body == 0:
            return frame.placement
        memory = np.zeros(self.functions.packed.numbers)
        place_flexible(self._header.address, memory, q)
        bodies = carve_flexible(memory, m.nb, m.nq, m.nv).tree.bodies
        own = bodies[tree_views.BODY_ROWS * frame.body :]
        R = own[tree_views.WORLD_ROTATION :][:9].reshape(3, 3)
        return Placement(R.copy(), own[tree_views.WORLD_ORIGIN :][:3].copy()) @ frame.placement


class _Stand(NamedTuple):
    """A platform, what carries it, and where its pose begins in q."""

    mount: Mount
    carrier: Carrier
    at: int


def _check_mass(functions: Any, stand: _Stand) -> None:
    """DescriptionError if the link below legs has no mass of its own: steps on wheels solve without legs."""
    if functions.tree.frames[stand.carrier.frame].body in functions.weak_bodies:
        link = functions.description.link(stand.mount.joint.parent)
        functions.description.place(link, f"link '{link.name}'").fail(
            f"below the legs of '{stand.mount.platform.link}', on wheels, it moves no mass of its own",
            "inertial",
            None,
            "<inertial>, or a fixed joint to a link with one",
        )
