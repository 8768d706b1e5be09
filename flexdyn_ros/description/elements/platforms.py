"""Elements of a platform: its legs, their hydraulics, and what text alone shows of its mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import cos, dist, sin
from typing import Any, NamedTuple, NoReturn

from flexdyn_ros.description.elements.urdf import Context, UrdfJoint, Vec3
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import (
    boolean,
    child,
    children,
    choice,
    element,
    not_negative,
    number,
    positive,
    reference,
    vector,
)
from flexdyn_ros.description.places import suggestion

_ROUNDING = 1e-9
_CONDUCTANCE = "m3/(s Pa)"
_AIR, _LUGRE, _STRIBECK = ("model", ("air",)), ("model", ("lugre",)), ("model", ("stribeck",))


@element("cylinder", "Differential cylinder, bore > rod.")
class Cylinder:
    bore: float = positive("m", "diameter of the piston")
    rod_diameter: float = positive("m", "diameter of the rod")
    dead_volume_bore: float = positive("m3", "dead volume, bore side")
    dead_volume_rod: float = positive("m3", "dead volume, rod side")

    def check(self, statement: Statement, context: Context) -> None:
        if self.rod_diameter >= self.bore:
            statement.fail("the rod is not thinner than the bore", "rod_diameter", f"< {self.bore:g} m")


@element(
    "valve",
    "Servo valve.",
    one_of=(("natural_frequency_hz", "damping_ratio"), ("time_constant",)),
    one_of_needed=True,
)
class Valve:
    rated_flow: float = positive("m3/s", "flow at the rated pressure drop")
    rated_pressure_drop: float = positive("Pa", "pressure drop of the rating")
    rating: str = choice("edge valve", "drop per edge, or of the whole valve")
    flow_ratio: float = positive("-", "rod side over bore side", default=1.0)
    natural_frequency_hz: float | None = positive("Hz", "spool, second order", default=None)
    damping_ratio: float | None = positive("-", "spool, second order", default=None)
    time_constant: float | None = positive("s", "spool, first order", default=None)
    overlap: float = number("-", "dead zone; negative = underlap", above=-1.0, below=1.0, default=0.0)
    null_opening: float = number("-", "opening at zero command", above=-1.0, below=1.0, default=0.0)
    slew_rate: float | None = positive("1/s", "fastest change of the opening", shown="none", default=None)
    transition_pressure: float = positive("Pa", "below it the orifice is laminar", default=2e4)

    def check(self, statement: Statement, context: Context) -> None:
        second_order = statement.element.one_of[0]
        for name in second_order if self.time_constant is None else ():
            if getattr(self, name) is None:
                statement.fail(f"attribute '{name}' is missing", name, " and ".join(second_order))


@element("fluid", "The oil.")
class Fluid:
    bulk_modulus: float = positive("Pa", "of the oil without air")
    model: str = choice(
        "air constant", "effective bulk modulus with undissolved air, or constant", default="air"
    )
    air_fraction: float | None = not_negative(
        "-", "volume share at atmospheric pressure", below=1.0, needed=_AIR, default=None
    )
    polytropic_exponent: float = positive("-", "of the air", default=1.4)
    cavitation_pressure: float = positive("Pa", "absolute", default=3e4)


@element("supply", "Pressures, all absolute.")
class Supply:
    name: str = reference(
        "of a <supply> of the robot, with pressures, pump and oil; then nothing else",
        shown="none",
        default="",
    )
    pressure: float = positive("Pa", "supply", shown="required without name", default=0.0)
    tank_pressure: float = positive("Pa", "tank", shown="required without name", default=0.0)
    atmospheric_pressure: float = positive("Pa", "atmosphere", default=101325.0)
    relief_pressure: float | None = positive(
        "Pa", "relief valves of the chambers open", shown="none", default=None
    )
    relief_conductance: float = not_negative(_CONDUCTANCE, "of the relief valves", default=0.0)
    makeup_conductance: float = not_negative("m3/(s sqrt Pa)", "of the anti-cavitation valves", default=0.0)

    def check(self, statement: Statement, context: Context) -> None:
        if self.name:
            for other in statement.values:
                if other != "name":
                    message = f"the supply '{self.name}' of the robot has pressures of its own"
                    statement.fail(message, other, "<supply name> alone")
            return
        for needed in ("pressure", "tank_pressure"):
            if needed not in statement.values:
                statement.missing(needed)
        if self.tank_pressure >= self.pressure:
            message = "the tank pressure is not below the supply"
            statement.fail(message, "tank_pressure", f"< {self.pressure:g} Pa")


@element("leakage", "Laminar leakage.")
class Leakage:
    internal: float = not_negative(_CONDUCTANCE, "between the chambers", default=0.0)
    external_bore: float = not_negative(_CONDUCTANCE, "bore side to tank", default=0.0)
    external_rod: float = not_negative(_CONDUCTANCE, "rod side to tank", default=0.0)


@element("friction", "Friction of the seals; none without this element.")
class CylinderFriction:
    model: str = choice("stribeck lugre", "law")
    coulomb: float = not_negative("N", "Coulomb friction")
    static: float = not_negative("N", "static friction, at least coulomb")
    stribeck_velocity: float = positive("m/s", "scale of the fall from static to Coulomb")
    smoothing_velocity: float | None = positive(
        "m/s", "width of the smoothed step", needed=_STRIBECK, default=None
    )
    viscous: float = not_negative("N s/m", "viscous friction", default=0.0)
    bristle_stiffness: float | None = positive(
        "N/m", "of LuGre's bristles", only=_LUGRE, needed=_LUGRE, default=None
    )
    bristle_damping: float | None = not_negative(
        "N s/m", "of LuGre's bristles", only=_LUGRE, needed=_LUGRE, default=None
    )

    def check(self, statement: Statement, context: Context) -> None:
        if self.static < self.coulomb:
            statement.fail("static friction is below Coulomb's", "static", f">= {self.coulomb:g} N")


@element("end_stop", "Contact at both ends of the stroke.")
class EndStop:
    stiffness: float = positive("N/m", "stiffness")
    damping: float = not_negative("s/m", "damping, times stiffness times depth")


@element("cushion", "Throttling near the ends of the stroke.")
class Cushion:
    length: float = positive("m", "where it begins")
    minimum: float = positive("-", "least opening", most=1.0)


@element("control", "Force control.")
class ForceControl:
    law: str = choice("feedback_linearization pi", "control law", default="feedback_linearization")
    kp: float = not_negative("1/s", "proportional gain", default=100.0)
    ki: float = not_negative("1/s2", "integral gain", default=0.0)
    lead: bool = boolean("compensates the spool", default=True)


#: where the oil is that of a supply which has a name
OF_SUPPLY = Fluid(bulk_modulus=1.4e9, model="constant")


@element(
    "hydraulics",
    "Servo-hydraulic cylinders; in <platform> for all legs, in a <leg> for that one.",
    kw_only=True,
)
class Hydraulics:
    cylinder: Cylinder = child(Cylinder)
    valve: Valve = child(Valve)
    fluid: Fluid = child(Fluid, default=OF_SUPPLY)
    supply: Supply = child(Supply)
    leakage: Leakage = child(Leakage, default=Leakage())
    friction: CylinderFriction | None = child(CylinderFriction, default=None)
    end_stop: EndStop = child(EndStop)
    cushion: Cushion | None = child(Cushion, default=None)
    control: ForceControl = child(ForceControl, default=ForceControl())

    def check(self, statement: Statement, context: Context) -> None:
        own = statement.child("fluid")
        if own is not None and self.supply.name:
            own.fail(f"the oil is that of supply '{self.supply.name}'", None, "no <fluid> here")
        if own is None and not self.supply.name:
            statement.fail("<fluid> is missing", None, "<fluid>, or <supply name> of the robot")


@element("leg", "One of the six legs, in order.", key="name")
class Leg:
    """One leg; hydraulics is this leg's own, or the platform's where it has none."""

    name: str = reference("name of the leg")
    slider: str = reference("prismatic joint")
    anchor: Vec3 = vector("m", "upper joint in platform axes")
    ball_limit: float | None = positive("rad", "for workspace margins", shown="none", default=None)
    diameter: float | None = positive("m", "for workspace margins", shown="none", default=None)
    hydraulics: Hydraulics | None = child(Hydraulics, default=None)
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        if self.name in context.joints:
            statement.fail("a joint has the same name as the leg", "name", "a name of its own")
        if self.slider not in context.joints:
            prismatic = [joint.name for joint in context.joints.values() if joint.type == "prismatic"]
            message = f"there is no joint of that name{suggestion(self.slider, prismatic)}"
            statement.fail(message, "slider", "the name of a prismatic joint")


@element("platform", "A hexapod: URDF holds the open mechanism, this closes it.", more_by="link")
class Platform:
    link: str = reference("link whose pose is the coordinates; child of a floating joint")
    min_singular_value: float = positive("-", "acceptance in forward kinematics", default=0.1)
    legs: tuple[Leg, ...] = children(Leg, default=())
    hydraulics: Hydraulics | None = child(Hydraulics, default=None)
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        joint = _platform_joint(statement, self.link, context)
        if len(self.legs) != 6:
            statement.fail(f"the platform has {len(self.legs)} legs", None, "six <leg>")
        legs = statement.all("leg")
        for leg, at in zip(self.legs, legs, strict=True):
            _check_mechanism(at, context.joints[leg.slider], joint, leg.anchor, context)
        for i, leg in enumerate(self.legs):
            if leg.slider in [other.slider for other in self.legs[:i]]:
                message = "the joint is the slider of another leg"
                legs[i].fail(message, "slider", "a joint of its own")


class Mount(NamedTuple):
    """A platform in a tree: its floating joint, the names of the joints of its legs, and what its coordinates
    are called; feet: the first joint of each leg."""

    platform: Platform
    joint: Any
    leg_joints: frozenset[str]
    feet: tuple[Any, ...]
    prefix: str


def mounts_of(platforms: tuple[Platform, ...], joints: tuple[Any, ...]) -> tuple[Mount, ...]:
    """Platforms and where they stand."""
    to, named = {joint.child: joint for joint in joints}, {joint.name: joint for joint in joints}
    found = []
    for platform in platforms:
        legs = [joints_of_leg(named[leg.slider], joints) for leg in platform.legs]
        inner = frozenset(joint.name for leg in legs for joint in leg)
        feet = tuple(leg[-1] for leg in legs)
        found.append(Mount(platform, to[platform.link], inner, feet, prefix_of(platform, platforms)))
    return tuple(found)


def prefix_of(platform: Platform, platforms: tuple[Platform, ...]) -> str:
    """What its coordinates are called."""
    return "platform" if len(platforms) == 1 else platform.link


def joints_of_leg(slider: UrdfJoint, joints: Iterable[UrdfJoint]) -> list[UrdfJoint]:
    """The slider of a leg and the joints before it, three where the leg is one, from the slider on."""
    to, found = {joint.child: joint for joint in joints}, [slider]
    while len(found) < 3 and found[-1].parent in to:
        found.append(to[found[-1].parent])
    return found


def moves_nothing_else(statement: Statement, context: Context) -> bool:
    """Whether the joints that move are those of a platform and its legs."""
    joints = list(context.joints.values())
    sliders = (context.joints.get(leg.get("slider") or "") for leg in statement.all("leg"))
    own = {j.name for slider in sliders if slider is not None for j in joints_of_leg(slider, joints)}
    own |= {joint.name for joint in joints if joint.child == statement.get("link")}
    return all(joint.name in own for joint in joints if joint.type != "fixed")


def with_hydraulics_of_legs(platform: Platform) -> Platform:
    """The platform whose legs without hydraulics of their own have the platform's."""
    legs = (replace(leg, hydraulics=leg.hydraulics or platform.hydraulics) for leg in platform.legs)
    return replace(platform, legs=tuple(legs))


def _platform_joint(statement: Statement, link: str, context: Context) -> UrdfJoint:
    context.check_link(statement, "link")
    joint = context.parent(link)
    if joint is None or joint.type != "floating":
        kind = "the root" if joint is None else f"on the {joint.type} joint '{joint.name}'"
        statement.fail(f"the platform is {kind}", "link", "the child link of a floating joint")
    return joint


def _check_mechanism(
    statement: Statement, slider: UrdfJoint, platform: UrdfJoint, anchor: Vec3, context: Context
) -> None:
    """Two revolute joints at one point, then the slider along z; home lies within the stroke."""

    def refuse(message: str, expected: str) -> NoReturn:
        statement.fail(message, "slider", expected)

    if slider.type != "prismatic":
        refuse(f"joint '{slider.name}' is {slider.type}", "a prismatic joint")
    x, y, shortest = slider.xyz
    turned = any(abs(angle) > _ROUNDING for angle in slider.rpy)
    if slider.axis != (0.0, 0.0, 1.0) or max(abs(x), abs(y)) > _ROUNDING or turned or shortest <= 0.0:
        refuse("the slider does not go along z", "axis 0 0 1 and origin 0 0 (shortest length)")
    if slider.limit.lower != 0.0 or not 0.0 < slider.limit.upper < float("inf"):
        refuse("the slider has no stroke", "limits lower = 0 and upper = stroke > 0")
    second = context.parent(slider.parent)
    first = None if second is None else context.parent(second.parent)
    turning = ("revolute", "continuous")
    if first is None or second is None or first.type not in turning or second.type not in turning:
        refuse("two revolute joints do not precede the slider", "a universal joint below the leg")
    if first.parent != platform.parent:
        refuse(f"the leg stands on '{first.parent}'", f"a leg that stands on '{platform.parent}'")
    if max(map(abs, second.xyz)) > _ROUNDING:
        refuse("the two revolute joints are not at one point", f"origin 0 0 0 of '{second.name}'")
    upper = _sum(platform.xyz, _rotated(platform.rpy, anchor))
    stroke = dist(upper, first.xyz) - shortest
    if not -_ROUNDING <= stroke <= slider.limit.upper + _ROUNDING:
        message = f"the home stroke of the leg is {stroke:.6g} m"
        statement.fail(message, "anchor", f"0 to {slider.limit.upper:g} m at the home pose")


def _rotated(rpy: Vec3, p: Vec3) -> Vec3:
    """Rz(yaw) Ry(pitch) Rx(roll) p."""
    (r, b, y), (px, py, pz) = rpy, p
    py, pz = cos(r) * py - sin(r) * pz, sin(r) * py + cos(r) * pz
    px, pz = cos(b) * px + sin(b) * pz, -sin(b) * px + cos(b) * pz
    return (cos(y) * px - sin(y) * py, sin(y) * px + cos(y) * py, pz)


def _sum(a: Iterable[float], b: Iterable[float]) -> Vec3:
    x, y, z = (i + j for i, j in zip(a, b, strict=True))
    return (x, y, z)
