"""A robot description as frozen records: the whole that `read` returns. Nothing here computes physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flexdyn_ros.description.elements.urdf import STANDARD_GRAVITY, Base, Link, UrdfJoint, Vec3
from flexdyn_ros.description.language.vocabulary import boolean, choice, element, integer, positive, vector
from flexdyn_ros.description.places import Place
from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.records import frozen

# imported when a description asks for them: making a frozen dataclass takes a millisecond
if TYPE_CHECKING:
    from flexdyn_ros.description.elements.joints import (
        DryFriction,
        JointElasticity,
        JointSpring,
        JointType,
        Rotor,
        Section,
    )
    from flexdyn_ros.description.elements.links import FlexibleLink
    from flexdyn_ros.description.elements.platforms import Mount, Platform
    from flexdyn_ros.description.elements.wheels import Drive, Road, Wheel


@frozen
class Joint(UrdfJoint):
    """A joint of URDF with what `<flexdyn>` states of it."""

    rotor: Rotor | None = None
    elasticity: JointElasticity | None = None
    spring: JointSpring | None = None
    dry_friction: DryFriction | None = None
    joint_type: JointType | None = None

    @property
    def is_free(self) -> bool:
        """True for a floating joint without `<joint_type>`."""
        return self.type == "floating" and self.joint_type is None


@element("gravity", "Acceleration of free fall, in world axes.")
class Gravity:
    gravity: Vec3 = vector(
        "m/s2", "acceleration of free fall in world axes", is_text=True, default=STANDARD_GRAVITY
    )


@element("formulation", "Which equations are used. Attributes of another kind of robot are refused.")
class Formulation:
    """None where the attribute has no meaning for the robot's kind; defaults are those of trees."""

    method: str | None = choice(
        "articulated lagrange floating_frame",
        "recursions, Lagrange's equations, or planar floating frames (robots on wheels)",
        shown="by kind",
        default="articulated",
    )
    flexible: bool | None = boolean("false: the rigid twin, masses unchanged", shown="true", default=True)
    rotary_inertia: str | None = choice(
        "consistent paper none",
        "rotary inertia of beam sections; none = line mass, without torsion modes",
        shown="consistent; none with floating_frame",
        default="consistent",
    )
    frame: str | None = choice(
        "so3 affine", "section frames; affine only with lagrange", shown="so3", default="so3"
    )
    stiffening: str | None = choice(
        "full geometric none",
        "foreshortening, centrifugal stiffness (floating_frame), or nothing",
        shown="full; none with floating_frame",
        default="full",
    )
    preset: str | None = choice(
        "paper",
        "sets lagrange, paper, affine and none, which may not be given beside it",
        default=None,
    )
    suspension: str | None = choice(
        "small_angle exact", "mobile: geometry of the suspension", shown="small_angle", default=None
    )
    kinematics: str | None = choice(
        "exact modal", "continuum: section kinematics", shown="exact", default=None
    )
    order: int | None = integer(
        "continuum: order of the modal series", within=(1, 30), shown="11", default=None
    )
    mass_model: str | None = choice(
        "distributed lumped lumped2", "continuum: mass model", shown="distributed", default=None
    )
    energy_ratio: float | None = positive(
        "-", "continuum: energy ratio of the lumped models", shown="0.56", default=None
    )
    leg_spin: str | None = choice(
        "universal none", "platform: spin of the legs about their axes", shown="universal", default=None
    )


@frozen
class Override:
    """A value that a later source (file, YAML, options) replaced."""

    path: str
    old: Any
    new: Any
    source: str


#: attributes of joints by what paths call them
_OF_JOINTS = {"joint_elasticity": "elasticity", "joint_spring": "spring", "friction": "dry_friction"}


@frozen
class RobotDescription:
    """All that a description states, checked as far as text can be checked.

    root is the name of the root link; links and joints keep the order of the file. extras: the records of
    elements between frames, and of those that `schema.add_element` has added, by the name of the
    element. unread: those of the warnings
    that only name words of other tools, which have no effect. kind is `tree`, `mobile`,
    `continuum` or `platform`. text is the expanded URDF that was read, file the path it came from (None for
    text).
    """

    name: str
    root: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Vec3 = STANDARD_GRAVITY
    base: Base = field(default_factory=Base)
    formulation: Formulation = field(default_factory=Formulation)
    flexible_links: Mapping[str, FlexibleLink] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    wheels: tuple[Wheel, ...] = ()
    road: Road | None = None
    drive: Drive | None = None
    platforms: tuple[Platform, ...] = ()
    extras: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    kind: str = "tree"
    overrides: tuple[Override, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    file: str | None = None
    text: str = ""

    def link(self, name: str) -> Link:
        """The link of that name; UnknownNameError if there is none."""
        try:
            return self._links_by_name[name]
        except KeyError:
            raise UnknownNameError("link", name, self._links_by_name) from None

    def joint(self, name: str) -> Joint:
        """The joint of that name; UnknownNameError if there is none."""
        try:
            return self._joints_by_name[name]
        except KeyError:
            raise UnknownNameError("joint", name, self._joints_by_name) from None

    def joint_to(self, link: str) -> Joint:
        """The joint whose child is this link, which is not the root."""
        return next(joint for joint in self.joints if joint.child == link)

    @property
    def platform(self) -> Platform | None:
        """The first platform."""
        return self.platforms[0] if self.platforms else None

    @cached_property
    def mounts(self) -> tuple[Mount, ...]:
        """The platforms that are part of a tree; () for a platform alone."""
        if not self.platforms or self.kind == "platform":
            return ()
        from flexdyn_ros.description.elements.platforms import mounts_of

        return mounts_of(self.platforms, self.joints)

    @cached_property
    def platform_joints(self) -> Mapping[str, str]:
        """What coordinates of platforms in a tree are called, `platform` or the link's name, by their
        floating joints: their poses are those in the world."""
        return {mount.joint.name: mount.prefix for mount in self.mounts}

    @property
    def legs(self) -> tuple[str, ...]:
        """Names of the legs of platforms in a tree."""
        return tuple(leg.name for mount in self.mounts for leg in mount.platform.legs)

    @cached_property
    def leg_joints(self) -> frozenset[str]:
        """Names of the joints of the legs of platforms in a tree; no joints of that tree."""
        return frozenset(name for mount in self.mounts for name in mount.leg_joints)

    def leader_of(self, joint: Joint) -> tuple[float, float, Joint]:
        """Ratio, offset and leader of a joint at the end of its chain of mimics: its position is ratio times
        that of the leader plus offset."""
        ratio, offset = 1.0, 0.0
        while joint.mimic is not None:
            offset += ratio * joint.mimic.offset
            ratio *= joint.mimic.multiplier
            joint = self.joint(joint.mimic.joint)
        return ratio, offset, joint

    def children_of(self, link: str) -> tuple[Joint, ...]:
        """Joints whose parent is this link, in file order."""
        self.link(link)
        return self._joints_by_parent.get(link, ())

    def record(self, words: Sequence[str]) -> Any:
        """What the words of a path as options have it lead to, links.NAME..., joints.NAME...,
        platform.hydraulics..., loop.NAME...; None where that is nothing."""
        room, name, *rest = [*words, "", "", ""]
        found: Any = None
        if room == "links":
            found = self.flexible_links.get(name)
        elif room == "joints" and rest[0] == "section":
            found = next((section for section in self.sections if section.joint == name), None)
            rest = rest[1:]
        elif room == "joints":
            found = self._joints_by_name.get(name)
            rest = [_OF_JOINTS.get(rest[0], rest[0]), *rest[1:]]
        elif room == "platform" and name == "hydraulics" and self.platform is not None:
            # those of all legs
            found = self.platform.legs[0].hydraulics
        else:
            named = self.extras.get(str(room), ())
            found = next((x for x in named if getattr(x, "name", None) == name), None)
        for word in rest:
            found = getattr(found, word, None) if word else found
        return found

    def place(self, record: Any, element: str) -> Place:
        """Where a record was read, for errors that name it as `element`."""
        return Place(self.file, record.line, element)

    @cached_property
    def _links_by_name(self) -> Mapping[str, Link]:
        return {link.name: link for link in self.links}

    @cached_property
    def _joints_by_name(self) -> Mapping[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def _joints_by_parent(self) -> Mapping[str, tuple[Joint, ...]]:
        children: dict[str, list[Joint]] = {}
        for joint in self.joints:
            children.setdefault(joint.parent, []).append(joint)
        return {parent: tuple(joints) for parent, joints in children.items()}

    def __post_init__(self) -> None:
        for name in ("flexible_links", "extras"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getstate__(self) -> dict[str, object]:
        """Read-only mappings do not pickle; plain ones do."""
        state = {key: value for key, value in self.__dict__.items() if not key.startswith("_")}
        return state | {"flexible_links": dict(self.flexible_links), "extras": dict(self.extras)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()
