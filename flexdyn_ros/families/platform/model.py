"""From a description to the numbers of a platform on six legs.

The open mechanism of the URDF is a tree: `build_tree` lumps what is fixed to its bodies, and payloads ride
along. From it come the numbers of kernels/views.py, each leg's inertias turned into leg axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atan2, hypot, inf, pi
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.description.elements.platforms import Leg
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.platform.kernels import views as at
from flexdyn_ros.families.platform.refusals import check_axis, check_mechanism
from flexdyn_ros.families.trees.rigid.model import Frame, RigidTree, build_tree
from flexdyn_ros.families.trees.rigid.parameters import body_parameters
from flexdyn_ros.multibody.elements.kernels import standing_legs as leg_at
from flexdyn_ros.multibody.elements.leg import MountedLeg, is_round
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia, cross, quaternion_of
from flexdyn_ros.robot.coordinates import POSE_NAMES, TWIST_NAMES, TWIST_UNITS, Coordinate
from flexdyn_ros.robot.parameters import Parameter


def mechanism_parameters(description: RobotDescription, tree: RigidTree) -> tuple[Parameter, ...]:
    """Those of the platform, then of cylinder and rod leg by leg."""
    platform = description.platform
    assert platform is not None
    crosses = {description.joint_to(description.joint(leg.slider).parent).parent for leg in platform.legs}
    return tuple(p for p in body_parameters(tree) if p.name.rpartition("/")[0] not in crosses)


#: angle by which home may be beyond a limit that it touches [rad]
ANGLE_ROUNDING = 1e-9


class LegFacts(NamedTuple):
    """What a leg is beside its dynamics.

    anchor (3,): its end on the platform [m], platform axes;
    stroke, shortest [m]: length = shortest + stroke used; effort_limit [N], velocity_limit [m/s];
    angle_limits (2, 2): lower and upper of both angles of the universal joint [rad]; home_direction (3,) of
    the leg in platform axes at home; ball_limit [rad], diameter [m]: infinity and 0 where none is given;
    sign and offset as in kernels/views.py.
    """

    name: str
    joints: tuple[str, str, str]
    anchor: np.ndarray
    shortest: float
    stroke: float
    effort_limit: float
    velocity_limit: float
    angle_limits: np.ndarray
    home_direction: np.ndarray
    ball_limit: float
    diameter: float
    sign: float
    offset: float


@dataclass(frozen=True)
class PlatformTables:
    """A platform, ready for the kernels, and the names that go with its numbers.

    numbers : (PLATFORM_NUMBERS,) read-only
    universal : bool, as in `PlatformModel`
    round_legs : (6,) tuple of bool, whether each leg is axisymmetric
    legs : tuple of LegFacts, in the order of the description
    feet, axes : (6, 3) centres and base-fixed axes of the universal joints, world [m, -]
    anchors : (6, 3) upper joints, platform axes [m]
    leg_axes : (6,) tuple of Placement, axes of each leg in the frame of its cylinder
    frames : mapping from link name to Frame, bodies as in kernels/kinematics.py
    neutral : (7,) pose at home, world
    reach : root-mean-square distance of the upper joints from the platform's origin [m]
    mass : of all links, those fixed to the world included [kg]
    """

    numbers: np.ndarray
    universal: bool
    round_legs: tuple[bool, ...]
    coordinates: tuple[Coordinate, ...]
    q_names: tuple[str, ...]
    legs: tuple[LegFacts, ...]
    feet: np.ndarray
    axes: np.ndarray
    anchors: np.ndarray
    leg_axes: tuple[Placement, ...]
    frames: dict[str, Frame]
    neutral: np.ndarray
    reach: float
    mass: float

    def leg_records(self, base: str = WORLD, end: str = "") -> tuple[MountedLeg, ...]:
        """The legs as elements between two links, told their forces."""
        blocks = self.numbers[at.FIRST_LEG :].reshape(at.LEGS, at.LEG_NUMBERS)
        return tuple(
            self._leg_record(leg, block, base, end) for leg, block in zip(self.legs, blocks, strict=True)
        )

    def _leg_record(self, leg: LegFacts, block: np.ndarray, base: str, end: str) -> MountedLeg:
        def numbers(place: int, count: int = 3) -> Any:
            return tuple(block[place : place + count].tolist())

        return MountedLeg(
            name=leg.name,
            slider=leg.joints[2],
            base=base,
            base_xyz=numbers(leg_at.BASE_JOINT),
            end=end,
            end_xyz=numbers(leg_at.UPPER_JOINT),
            minimum_length=leg.shortest,
            stroke=leg.stroke,
            axis=numbers(leg_at.AXIS),
            effort=leg.effort_limit if np.isfinite(leg.effort_limit) else 0.0,
            speed=leg.velocity_limit,
            numbers=(
                float(self.universal),
                *numbers(leg_at.AXIS),
                *numbers(leg_at.CYLINDER_MASS, 4),
                *numbers(leg_at.ROD_MASS, 4),
                *numbers(leg_at.LEG_INERTIA, 6),
            ),
        )

    @property
    def axisymmetric(self) -> bool:
        """Whether all legs are, as in `PlatformModel`."""
        return all(self.round_legs)

    @property
    def leg_of_wrong_spin(self) -> str | None:
        """A leg whose spin about its axis is neglected although it is not axisymmetric."""
        if self.universal or self.axisymmetric:
            return None
        return self.legs[self.round_legs.index(False)].name


class _LegParts(NamedTuple):
    """Joints and links of one leg, and where it stands."""

    leg: Leg
    u1: Joint
    u2: Joint
    slider: Joint
    foot: Placement


def build_mechanism(description: RobotDescription) -> RigidTree:
    """The open mechanism of a description of kind platform.

    Raises
    ------
    DescriptionError
        If the joints are no six legs on universal joints.
    UnsupportedError
        If the joints of the legs have friction, springs or the like.
    """
    check_mechanism(description)
    return build_tree(description)


def platform_tables(description: RobotDescription, tree: RigidTree) -> PlatformTables:
    """The numbers of a platform whose open mechanism is a tree.

    Raises
    ------
    DescriptionError
        If an axis can line up with its leg; says which leg.
    """
    platform = description.platform
    assert platform is not None
    joint = description.joint_to(platform.link)
    home = tree.frames[joint.parent].placement @ Placement.of(joint.xyz, joint.rpy)
    numbers = np.zeros(at.PLATFORM_NUMBERS)
    numbers[at.GRAVITY : at.GRAVITY + 3] = description.gravity
    frames = _links_of(tree, platform.link, 1, Placement(np.eye(3), np.zeros(3)))
    frames.update({name: f for name, f in tree.frames.items() if f.body == 0})
    anchors = np.array([leg.anchor for leg in platform.legs])
    reach = numbers[at.REACH] = float(np.sqrt((anchors**2).sum(axis=1).mean()))
    legs, leg_axes = [], []
    for i, leg in enumerate(platform.legs):
        parts = _parts(description, tree, leg)
        block = numbers[at.FIRST_LEG + i * at.LEG_NUMBERS :][: at.LEG_NUMBERS]
        facts, axes = _place_leg(description, parts, home, block)
        frames.update(_links_of(tree, parts.u1.child, 2 + 3 * i, _cross_axes(parts, facts.sign)))
        frames.update(_links_of(tree, parts.u2.child, 3 + 3 * i, axes))
        frames.update(_links_of(tree, parts.slider.child, 4 + 3 * i, axes))
        legs.append(facts)
        leg_axes.append(axes)
    numbers.setflags(write=False)
    blocks = numbers[at.FIRST_LEG :].reshape(at.LEGS, at.LEG_NUMBERS)
    geometry = PlatformTables(
        numbers=numbers,
        universal=description.formulation.leg_spin != "none",
        round_legs=(),
        coordinates=_coordinates(platform.link),
        q_names=tuple(f"platform/{name}" for name in POSE_NAMES),
        legs=tuple(legs),
        feet=blocks[:, leg_at.BASE_JOINT : leg_at.BASE_JOINT + 3],
        axes=blocks[:, leg_at.AXIS : leg_at.AXIS + 3],
        anchors=anchors,
        leg_axes=tuple(leg_axes),
        frames={name: frames[name] for name in tree.frames},
        neutral=np.concatenate([home.p, quaternion_of(home.R)]),
        reach=reach,
        mass=0.0,
    )
    return with_bodies(geometry, description, tree)


def with_bodies(tables: PlatformTables, description: RobotDescription, tree: RigidTree) -> PlatformTables:
    """The platform with the bodies of a tree whose frames are those of its own open mechanism."""
    assert description.platform is not None
    numbers = tables.numbers.copy()
    body = _inertia(tree, description.platform.link)
    numbers[at.MASS], numbers[at.MOMENT : at.MOMENT + 3] = body.mass, body.moment
    numbers[at.INERTIA : at.INERTIA + 6] = _six(body.inertia)
    blocks = numbers[at.FIRST_LEG :].reshape(at.LEGS, at.LEG_NUMBERS)
    round_legs = []
    for leg, axes, block in zip(tables.legs, tables.leg_axes, blocks, strict=True):
        cylinder, rod = (description.joint(name).child for name in leg.joints[1:])
        round_legs.append(_fill_inertias(_inertia(tree, cylinder, axes), _inertia(tree, rod, axes), block))
    numbers.setflags(write=False)
    return replace(tables, numbers=numbers, round_legs=tuple(round_legs), mass=tree.mass)


def _coordinates(link: str) -> tuple[Coordinate, ...]:
    """Six coordinates of the pose; the legs drive them all, none is driven by itself."""
    return tuple(
        Coordinate(
            f"platform/{name}",
            "platform",
            unit,
            i - 3 if i >= 3 else -1,
            i,
            link,
            actuated=False,
            turn_index=3 if i < 3 else -1,
        )
        for i, (name, unit) in enumerate(zip(TWIST_NAMES, TWIST_UNITS, strict=True))
    )


def _parts(description: RobotDescription, tree: RigidTree, leg: Leg) -> _LegParts:
    slider = description.joint(leg.slider)
    u2 = description.joint_to(slider.parent)
    u1 = description.joint_to(u2.parent)
    foot = tree.frames[u1.parent].placement @ Placement.of(u1.xyz, u1.rpy)
    return _LegParts(leg, u1, u2, slider, foot)


def _cross_axes(parts: _LegParts, sign: float) -> Placement:
    """Axes u, y, u x y of the cross in its link frame."""
    a = np.asarray(parts.u1.axis)
    b = sign * Placement.of((0, 0, 0), parts.u2.rpy).R @ np.asarray(parts.u2.axis)
    return Placement(np.column_stack([a, b, cross(a, b)]), np.zeros(3))


def _place_leg(
    description: RobotDescription, parts: _LegParts, home: Placement, block: np.ndarray
) -> tuple[LegFacts, Placement]:
    """Geometry of a leg; returns its facts and the leg axes in the frame of its cylinder."""
    leg, u1, u2, slider, foot = parts
    assert u1.axis is not None
    assert u2.axis is not None
    a, turned = np.asarray(u1.axis), Placement.of((0, 0, 0), u2.rpy).R
    b, along = turned @ np.asarray(u2.axis), turned[:, 2]
    u, y0 = foot.R @ a, foot.R @ b
    offset = atan2(along @ a, along @ cross(a, b))
    direction = home.R @ np.asarray(leg.anchor) + home.p - foot.p
    direction /= np.linalg.norm(direction)
    check_axis(description, leg, u1, float(u @ direction))
    limits = np.array([_limits(u1), _limits(u2)])
    sign = _legal_sign(description, parts, _postures(direction, u, y0, offset), limits)
    block[leg_at.BASE_JOINT : leg_at.BASE_JOINT + 3] = foot.p
    block[leg_at.UPPER_JOINT : leg_at.UPPER_JOINT + 3] = leg.anchor
    block[leg_at.AXIS : leg_at.AXIS + 3] = u
    block[at.ANGLE_Y : at.ANGLE_Y + 3], block[at.ANGLE_Z : at.ANGLE_Z + 3] = y0, cross(u, y0)
    block[at.SIGN], block[at.ANGLE_OFFSET], block[at.GUIDE] = sign, offset, slider.xyz[2]
    y = sign * np.asarray(u2.axis)
    z = np.array([0.0, 0.0, 1.0])
    axes = Placement(np.column_stack([cross(y, z), y, z]), np.zeros(3))
    facts = LegFacts(
        name=leg.name,
        joints=(u1.name, u2.name, slider.name),
        anchor=np.array(leg.anchor),
        shortest=slider.xyz[2],
        stroke=slider.limit.upper,
        effort_limit=slider.limit.effort,
        velocity_limit=slider.limit.velocity,
        angle_limits=limits,
        home_direction=home.R.T @ direction,
        ball_limit=inf if leg.ball_limit is None else leg.ball_limit,
        diameter=0.0 if leg.diameter is None else leg.diameter,
        sign=sign,
        offset=offset,
    )
    return facts, axes


def _limits(joint: Joint) -> tuple[float, float]:
    return (-inf, inf) if joint.type == "continuous" else (joint.limit.lower, joint.limit.upper)


def _postures(s: np.ndarray, u: np.ndarray, y0: np.ndarray, offset: float) -> dict[float, np.ndarray]:
    """Both angles of the universal joint at home [rad] in either attitude of the cross, by its sign; the one
    with the smaller angles first."""
    k = float(u @ s)
    y = cross(s, u)
    found = {}
    for sign in (1.0, -1.0):
        first = atan2(sign * (y @ cross(u, y0)), sign * (y @ y0))
        second = (atan2(k, sign * np.sqrt(1.0 - k * k)) - offset + pi) % (2.0 * pi) - pi
        found[sign] = np.array([first, second])
    return dict(sorted(found.items(), key=lambda item: hypot(*item[1])))


def _legal_sign(
    description: RobotDescription, parts: _LegParts, postures: dict[float, np.ndarray], limits: np.ndarray
) -> float:
    """The first attitude of the cross whose angles at home are within the limits (2, 2).

    Raises
    ------
    DescriptionError
        If both violate them: home is no pose of this mechanism.
    """
    # a limit that home touches to rounding holds
    beyond = {sign: beyond_limits(angles, limits) > ANGLE_ROUNDING for sign, angles in postures.items()}
    for sign, wrong in beyond.items():
        if not wrong.any():
            return sign
    leg, joints = parts.leg, (parts.u1, parts.u2)
    shown = " or ".join(
        ", ".join(f"{joint.name} = {angle:.4g}" for joint, angle in zip(joints, angles, strict=True))
        for angles in postures.values()
    )
    i = int(np.argmax(next(iter(beyond.values()))))
    raise DescriptionError(
        f"the home pose of leg '{leg.name}' violates the limits of its universal joint in both postures",
        file=description.file,
        line=joints[i].line,
        element=f"joint '{joints[i].name}'",
        attribute="limit",
        value=f"{shown} rad at home",
        expected=" and ".join(
            f"{joint.name} within {low:g}..{high:g} rad"
            for joint, (low, high) in zip(joints, limits.tolist(), strict=True)
        ),
    )


def beyond_limits(angles: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """How far angles (..., 2) of universal joints are outside limits (..., 2, 2) [rad]; negative inside."""
    near = near_limits(angles, limits)
    return np.maximum(limits[..., 0] - near, near - limits[..., 1])


def near_limits(angles: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Angles (..., 2) plus the whole turns that bring them nearest to the middle of limits (..., 2, 2)
    [rad]."""
    both = np.isfinite(limits).all(axis=-1)
    middle = np.where(both, np.where(both[..., None], limits, 0.0).mean(axis=-1), 0.0)
    return angles - 2.0 * np.pi * np.round((angles - middle) / (2.0 * np.pi))


# ---- bodies ----


def _inertia(tree: RigidTree, link: str, axes: Placement | None = None) -> RigidInertia:
    """Inertia of the body that carries a link, about the link's origin in its axes, or in `axes` of its
    frame."""
    frame = tree.frames[link]
    n = tree.model.inertia[10 * frame.body : 10 * frame.body + 10]
    xx, xy, xz, yy, yz, zz = n[4:]
    body = RigidInertia(float(n[0]), n[1:4].copy(), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    seen = body.seen_from(frame.placement.inverse())
    return seen if axes is None else seen.seen_from(axes.inverse())


def _links_of(tree: RigidTree, link: str, body: int, axes: Placement) -> dict[str, Frame]:
    """Frames of all links that ride with `link`, in the given axes of its frame."""
    own = tree.frames[link]
    to_axes = axes.inverse() @ own.placement.inverse()
    return {
        name: Frame(name, body, to_axes @ frame.placement)
        for name, frame in tree.frames.items()
        if frame.body == own.body
    }


def _six(I: np.ndarray) -> np.ndarray:
    return np.array([I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def _fill_inertias(cylinder: RigidInertia, rod: RigidInertia, block: np.ndarray) -> bool:
    """Write both bodies of a leg, in its axes; True if the leg is axisymmetric."""
    total = cylinder.inertia + rod.inertia
    block[leg_at.ROD_MASS], block[leg_at.ROD_MOMENT : leg_at.ROD_MOMENT + 3] = rod.mass, rod.moment
    block[leg_at.CYLINDER_MASS] = cylinder.mass
    block[leg_at.CYLINDER_MOMENT : leg_at.CYLINDER_MOMENT + 3] = cylinder.moment
    block[leg_at.LEG_INERTIA : leg_at.LEG_INERTIA + 6] = _six(total)
    block[at.ROD_INERTIA : at.ROD_INERTIA + 6] = _six(rod.inertia)
    return is_round(cylinder.moment, rod.moment, total)
