"""From statements about a platform to its record, and what text alone shows of its mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, dist, sin
from typing import Any

from flexdyn_ros.description.elements import platform_records as elements
from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.description import Joint, Vec3
from flexdyn_ros.description.elements.platform_records import Hydraulics, Leg, Platform
from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.values import suggestion

_PARTS: dict[str, Any] = {
    "cylinder": elements.Cylinder,
    "valve": elements.Valve,
    "fluid": elements.Fluid,
    "supply": elements.Supply,
    "leakage": elements.Leakage,
    "friction": elements.CylinderFriction,
    "end_stop": elements.EndStop,
    "cushion": elements.Cushion,
    "control": elements.ForceControl,
}
_NEEDED = ("cylinder", "valve", "fluid", "supply", "end_stop")
_ROUNDING = 1e-9


def build_platform(said: Statement, context: Context) -> Platform:
    """The platform with its legs and their hydraulics."""
    values = complete(said)
    joint = _platform_joint(said, values["link"], context)
    shared = said.child("hydraulics")
    hydraulics = None if shared is None else _hydraulics(shared)
    legs_said = said.all("leg")
    if len(legs_said) != 6:
        said.fail(f"the platform has {len(legs_said)} legs", None, "six <leg>")
    legs = tuple(_leg(leg, joint, hydraulics, context) for leg in legs_said)
    for at, leg in enumerate(legs):
        if leg.slider in [other.slider for other in legs[:at]]:
            legs_said[at].fail("the joint is the slider of another leg", "slider", "a joint of its own")
    return Platform(**values, legs=legs, hydraulics=hydraulics, line=said.place.line)


def _platform_joint(said: Statement, link: str, context: Context) -> Joint:
    if link not in context.links:
        said.fail(
            f"there is no link of that name{suggestion(link, context.links)}", "link", "the name of a link"
        )
    joint = context.parent(link)
    if joint is None or joint.type != "floating":
        kind = "the root" if joint is None else f"on the {joint.type} joint '{joint.name}'"
        said.fail(f"the platform is {kind}", "link", "the child link of a floating joint")
    return joint


def _leg(said: Statement, platform: Joint, shared: Hydraulics | None, context: Context) -> Leg:
    values = complete(said)
    if values["name"] in context.joints:
        said.fail("a joint has the same name as the leg", "name", "a name of its own")
    slider = context.joints.get(values["slider"])
    if slider is None:
        prismatic = [joint.name for joint in context.joints.values() if joint.type == "prismatic"]
        hint = suggestion(values["slider"], prismatic)
        said.fail(f"there is no joint of that name{hint}", "slider", "the name of a prismatic joint")
    _check_leg(said, slider, platform, values["anchor"], context)
    own = said.child("hydraulics")
    return Leg(**values, hydraulics=shared if own is None else _hydraulics(own), line=said.place.line)


def _check_leg(said: Statement, slider: Joint, platform: Joint, anchor: Vec3, context: Context) -> None:
    """Two revolute joints at one point, then the slider along z with a stroke; home lies within the
    stroke."""
    if slider.type != "prismatic":
        said.fail(f"joint '{slider.name}' is {slider.type}", "slider", "a prismatic joint")
    x, y, shortest = slider.xyz
    turned = any(abs(angle) > _ROUNDING for angle in slider.rpy)
    if slider.axis != (0.0, 0.0, 1.0) or max(abs(x), abs(y)) > _ROUNDING or turned or shortest <= 0.0:
        said.fail("the slider does not go along z", "slider", "axis 0 0 1 and origin 0 0 (shortest length)")
    if slider.limit.lower != 0.0 or not 0.0 < slider.limit.upper < float("inf"):
        said.fail("the slider has no stroke", "slider", "limits lower = 0 and upper = stroke > 0")
    second = context.parent(slider.parent)
    first = None if second is None else context.parent(second.parent)
    for joint in (second, first):
        if joint is None or joint.type not in ("revolute", "continuous"):
            said.fail(
                "two revolute joints do not precede the slider", "slider", "a universal joint below the leg"
            )
    assert first is not None
    assert second is not None
    if first.parent != platform.parent:
        said.fail(
            f"the leg stands on '{first.parent}'", "slider", f"a leg that stands on '{platform.parent}'"
        )
    if max(map(abs, second.xyz)) > _ROUNDING:
        said.fail(
            "the two revolute joints are not at one point", "slider", f"origin 0 0 0 of '{second.name}'"
        )
    upper = _sum(platform.xyz, _rotated(platform.rpy, anchor))
    stroke = dist(upper, first.xyz) - shortest
    if not -_ROUNDING <= stroke <= slider.limit.upper + _ROUNDING:
        message = f"the home stroke of the leg is {stroke:.6g} m"
        said.fail(message, "anchor", f"0 to {slider.limit.upper:g} m at the home pose")


def _rotated(rpy: Vec3, p: Vec3) -> Vec3:
    """Rz(yaw) Ry(pitch) Rx(roll) p."""
    (r, b, y), (px, py, pz) = rpy, p
    py, pz = cos(r) * py - sin(r) * pz, sin(r) * py + cos(r) * pz
    px, pz = cos(b) * px + sin(b) * pz, -sin(b) * px + cos(b) * pz
    return (cos(y) * px - sin(y) * py, sin(y) * px + cos(y) * py, pz)


def _sum(a: Iterable[float], b: Iterable[float]) -> Vec3:
    x, y, z = (i + j for i, j in zip(a, b, strict=True))
    return (x, y, z)


def _hydraulics(said: Statement) -> Hydraulics:
    parts = {}
    for tag, record in _PARTS.items():
        child = said.child(tag)
        if child is not None:
            parts[tag] = record(**complete(child))
        elif tag in _NEEDED:
            said.fail(f"<{tag}> is missing", None, f"<{tag}>")
    _check_hydraulics(said, Hydraulics(**parts))
    return Hydraulics(**parts)


def _check_hydraulics(said: Statement, h: Hydraulics) -> None:
    def fail(tag: str, message: str, attribute: str, expected: str) -> None:
        child = said.child(tag)
        assert child is not None
        child.fail(message, attribute, expected)

    if h.cylinder.rod_diameter >= h.cylinder.bore:
        fail("cylinder", "the rod is not thinner than the bore", "rod_diameter", f"< {h.cylinder.bore:g} m")
    if h.valve.time_constant is None:
        for name in ("natural_frequency_hz", "damping_ratio"):
            if getattr(h.valve, name) is None:
                fail(
                    "valve", f"attribute '{name}' is missing", name, "natural_frequency_hz and damping_ratio"
                )
    if h.supply.tank_pressure >= h.supply.pressure:
        fail(
            "supply",
            "the tank pressure is not below the supply",
            "tank_pressure",
            f"< {h.supply.pressure:g} Pa",
        )
    if h.friction is not None and h.friction.static < h.friction.coulomb:
        fail("friction", "static friction is below Coulomb's", "static", f">= {h.friction.coulomb:g} N")
