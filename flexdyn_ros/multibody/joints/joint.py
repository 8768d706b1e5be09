"""What a joint type says of a joint: its coordinates, what moves in the kernels, what a picture shows.

A joint is a chain of screws with massless bodies between them, or one joint of the kernels that has a
quaternion. A module of this package holds one type; `registry.py` knows them by their words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot, inf
from typing import NamedTuple, NoReturn

from flexdyn_ros.description import Joint
from flexdyn_ros.description.elements.urdf import Vec3
from flexdyn_ros.records import frozen

#: attributes of <joint_type> that hold one number for each coordinate
LIMITS = ("lower", "upper")
RESISTANCE = ("velocity", "effort", "damping", "friction")
#: shortest axis that has a direction
_SHORTEST = 1e-12


class Shown(NamedTuple):
    """A joint of an expanded description: its name, its URDF type, its axis in the frame before it."""

    name: str
    type: str
    axis: Vec3


@frozen
class JointCoordinate:
    """One velocity coordinate of a joint.

    position: name of its number in q; "" where it is an angular rate of the joint's quaternion. unit: of the
    position (rad, m). Limits are infinite where there are none [rad or m, per s, N m or N]; damping [N m
    s/rad or N s/m] and Coulomb friction [N m or N] act on it alone.
    """

    name: str
    unit: str
    position: str
    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf
    damping: float = 0.0
    friction: float = 0.0


@frozen
class Screw:
    """A turn about an axis, a displacement along it, or both at once.

    name: of the joint that shows it. axis: unit vector in the frame before it, which has the axes of the
    joint frame while the chain is at zero. It turns by the joint's coordinate of number `coordinate` if
    `turns`, and slides by `pitch` times it: 1 where it only slides, m/rad where it turns too.
    """

    name: str
    axis: Vec3
    coordinate: int = 0
    turns: bool = True
    pitch: float = 0.0

    @property
    def parts(self) -> tuple[tuple[Shown, float], ...]:
        """Standard joints that show it, from the parent on, each with its ratio to the coordinate."""
        slides = f"{self.name}/displacement" if self.turns else self.name
        parts = []
        if self.turns:
            parts.append((Shown(self.name, "continuous", self.axis), 1.0))
        if self.pitch:
            parts.append((Shown(slides, "prismatic", self.axis), self.pitch))
        return tuple(parts)


@frozen
class JointModel:
    """A joint as trees and pictures use it.

    coordinates: in the order of v. chain: its screws from the parent on; none where the joint is a kernel of
    its own, `kernel` (FREE of numerics/algebra/manifold.py). quaternion: names of its numbers in q, which
    stand behind the positions. shown: standard joints that stand for that kernel. driven: whether actuators
    act on its coordinates, unless their effort limit is 0. wraps: whether positions that differ by a turn
    are the same.
    """

    coordinates: tuple[JointCoordinate, ...] = ()
    chain: tuple[Screw, ...] = ()
    kernel: int | None = None
    quaternion: tuple[str, ...] = ()
    shown: tuple[Shown, ...] = ()
    driven: bool = True
    wraps: bool = False

    @property
    def positions(self) -> tuple[str, ...]:
        """Names in q."""
        return (*(c.position for c in self.coordinates if c.position), *self.quaternion)

    @property
    def is_split(self) -> bool:
        """Whether a picture shows several joints in place of it."""
        return bool(self.shown) or len(self.picture) > 1

    @property
    def picture(self) -> tuple[Shown, ...]:
        """Joints of an expanded description, from the parent on; the last carries the child link."""
        return self.shown or tuple(shown for screw in self.chain for shown, _ in screw.parts)


@frozen
class JointType:
    """A joint type.

    model: from a joint of the description to its model; it refuses values that do not fit. takes: attributes
    of <joint_type> that it uses. urdf: the URDF type of such joints.
    """

    model: Callable[[Joint], JointModel]
    takes: tuple[str, ...] = ()
    urdf: str = "floating"


def refuse(joint: Joint, message: str, attribute: str, expected: str) -> NoReturn:
    """Refuse the value of an attribute of a joint's <joint_type>."""
    assert joint.joint_type is not None
    value = getattr(joint.joint_type, attribute)
    if isinstance(value, tuple):
        value = " ".join(f"{x:g}" for x in value)
    joint.joint_type.place.fail(message, attribute, value, expected)


def direction(joint: Joint, attribute: str, default: Vec3) -> Vec3:
    """The unit vector that an attribute of <joint_type> gives, `default` where it is not given."""
    given = None if joint.joint_type is None else getattr(joint.joint_type, attribute)
    if given is None:
        return default
    x, y, z = given
    length = hypot(x, y, z)
    if not length > _SHORTEST:
        refuse(joint, "the axis has no direction", attribute, "a vector that is not zero")
    return (x / length, y / length, z / length)


def stated_coordinates(
    joint: Joint, names: Sequence[tuple[str, str]], turns: bool = False
) -> tuple[JointCoordinate, ...]:
    """Coordinates with the numbers of <joint_type>; names: (what follows the joint's name, unit of each).

    turns: they are angular rates, and have no positions.

    Raises
    ------
    DescriptionError
        Unless <joint_type> gives one number a coordinate, and lower limits are below upper ones.
    """
    count = len(names)
    whole = [f"{joint.name}{suffix}" for suffix, _ in names]
    given: dict[str, tuple[float, ...]] = {}
    for attribute in (*LIMITS, *RESISTANCE):
        values = None if joint.joint_type is None else getattr(joint.joint_type, attribute)
        if values is None:
            continue
        if len(values) != count:
            message = f"joint '{joint.name}' has {count} coordinate{'s' * (count > 1)}"
            expected = f"{count} number{'s' * (count > 1)}, for {', '.join(whole)}"
            refuse(joint, message, attribute, expected)
        given[attribute] = values
    if "lower" in given and "upper" in given and any(a > b for a, b in zip(*map(given.get, LIMITS))):
        refuse(joint, "a lower limit is above the upper one", "lower", "lower <= upper, for each coordinate")
    return tuple(
        JointCoordinate(
            name,
            unit,
            "" if turns else name,
            **{attribute: values[i] for attribute, values in given.items()},
        )
        for i, (name, (_, unit)) in enumerate(zip(whole, names, strict=True))
    )
