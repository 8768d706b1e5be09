"""The URDF part of a description as frozen records, and what the checks of flexdyn elements read of it.

Units are SI and rad; vectors are tuples in the frame that URDF gives them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from math import inf

from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import choice, element, vector
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.sources import find_file, find_reference
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.records import frozen

Vec3 = tuple[float, float, float]
Inertia = tuple[float, float, float, float, float, float]
ZERO: Vec3 = (0.0, 0.0, 0.0)
STANDARD_GRAVITY: Vec3 = (0.0, 0.0, -9.80665)


@frozen
class Inertial:
    """Mass [kg], centre of mass xyz [m] and axes rpy [rad] in the link frame.

    inertia holds (ixx, ixy, ixz, iyy, iyz, izz) [kg m2], tensor entries about the centre of mass in the
    axes of rpy.
    """

    mass: float
    xyz: Vec3
    rpy: Vec3
    inertia: Inertia


@frozen
class Link:
    """A body of the tree; inertial is None where the file states none."""

    name: str
    inertial: Inertial | None = None
    line: int | None = None


@frozen
class Limit:
    """Position [rad or m], effort [N m or N] and velocity limits; infinite where the file states none."""

    lower: float = -inf
    upper: float = inf
    effort: float = inf
    velocity: float = inf


@frozen
class Mimic:
    """This joint's position = multiplier * (position of `joint`) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@frozen
class UrdfJoint:
    """A joint of the tree: child frame = parent frame * (xyz, rpy) * motion along or about axis.

    axis is of unit length, in the joint frame; None for fixed and floating joints. damping [N m s/rad or N
    s/m] and friction [N m or N] are URDF's `<dynamics>`. unused: elements that a joint of several coordinates
    has and that mean one (limit, dynamics, mimic).
    """

    name: str
    type: str
    parent: str
    child: str
    xyz: Vec3 = ZERO
    rpy: Vec3 = ZERO
    axis: Vec3 | None = None
    limit: Limit = Limit()
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    unused: tuple[str, ...] = ()
    line: int | None = None


@element(
    "base",
    "How the root link stands in the world. A URDF `floating` joint under a link `world` means floating.",
)
class Base:
    """joint, world: names of the URDF joint and link that state `floating`."""

    type: str = choice("fixed floating planar", "planar = x, z and pitch only", default="fixed")
    xyz: Vec3 = vector(
        "m", "position of the root link (fixed), or of the zero of its coordinates (planar)", default=ZERO
    )
    rpy: Vec3 = vector("rad", "its orientation: roll, pitch, yaw", default=ZERO)
    joint: str | None = None
    world: str | None = None


@dataclass
class Context:
    """Links and joints by name, the file of the URDF, and the warnings so far; owner: the link or joint whose
    elements are read; base and flexible links, once they are known."""

    links: Mapping[str, Link]
    joints: Mapping[str, UrdfJoint]
    file: str | None
    warnings: list[str] = field(default_factory=list)
    owner: str = ""
    base: Base = field(default_factory=Base)
    flexible: Container[str] = ()

    def children(self, link: str) -> list[UrdfJoint]:
        return [joint for joint in self.joints.values() if joint.parent == link]

    def parent(self, link: str) -> UrdfJoint | None:
        return next((joint for joint in self.joints.values() if joint.child == link), None)

    def check_link(self, statement: Statement, attribute: str) -> None:
        """Refuse the name of a link that is not there."""
        name = statement.get(attribute)
        if name not in self.links:
            message = f"there is no link of that name{suggestion(name, self.links)}"
            statement.fail(message, attribute, "the name of a link")

    def find(self, statement: Statement, attribute: str) -> str:
        """Path of the file that an attribute names, relative to the file that names it; options name it for
        the caller, relative to the URDF."""
        place = statement.values[attribute].place
        try:
            if place.file == "options":
                return str(find_file(statement.get(attribute), beside=self.file))
            return str(find_reference(statement.get(attribute), place.file))
        except DescriptionError as error:
            statement.fail(error.message, attribute, error.expected)
