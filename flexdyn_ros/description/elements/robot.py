"""From statements about the whole robot to base, wheels, road and drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from flexdyn_ros.description.elements.beam_table import read_numbers
from flexdyn_ros.description.elements.context import Context
from flexdyn_ros.description.elements.description import STANDARD_GRAVITY, Base, Vec3
from flexdyn_ros.description.elements.records import (
    Drive,
    FlexibleLink,
    Road,
    Suspension,
    Tyre,
    Wave,
    Wheel,
)
from flexdyn_ros.description.language.statements import Statement, complete
from flexdyn_ros.description.language.values import suggestion

_ROAD_DEFAULTS: dict[str, dict[str, Any]] = {
    "sine": {"phase": 0.0, "offset": 0.0},
    "sines": {"offset": 0.0},
    "iso8608": {"seed": 0, "lines": 500, "n_min": 0.011, "n_max": 2.83},
}


def build_gravity(robot: Statement) -> Vec3:
    said = robot.child("gravity")
    return STANDARD_GRAVITY if said is None else complete(said)["gravity"]


def build_base(robot: Statement, floating: Base | None) -> Base:
    """The base as `<base>` says, or floating as the URDF says (floating: what its joint said)."""
    said = robot.child("base")
    base = Base() if said is None else Base(**complete(said))
    if floating is None:
        return base
    if said is not None and said.get("type") not in (None, "floating"):
        said.fail(f"the URDF's joint '{floating.joint}' makes the base floating", "type", "floating")
    if said is None:
        return floating
    return replace(base, type="floating", joint=floating.joint, world=floating.world)


def build_wheels(
    robot: Statement, base: Base, flexible_links: Mapping[str, FlexibleLink], context: Context
) -> tuple[Wheel, ...]:
    return tuple(_wheel(said, base, flexible_links, context) for said in robot.all("wheel"))


def _wheel(
    said: Statement, base: Base, flexible_links: Mapping[str, FlexibleLink], context: Context
) -> Wheel:
    values = complete(said)
    link = values["link"]
    if link not in context.links:
        said.fail(
            f"there is no link of that name{suggestion(link, context.links)}", "link", "the name of a link"
        )
    if link in flexible_links:
        said.fail("the wheel hangs on a flexible link", "link", "a rigid link")
    if base.type == "fixed":
        said.fail("a wheel under a fixed base", None, '<base type="planar"/> or floating')
    if base.type == "planar" and values["xyz"][1] != 0.0:
        said.fail("a wheel beside the plane of a planar base", "xyz", "y = 0")
    suspension, tyre = said.child("suspension"), said.child("tyre")
    if suspension is None:
        said.fail("<suspension> is missing", None, "<suspension stiffness damping free_length/>")
    return Wheel(
        **values,
        suspension=Suspension(**complete(suspension)),
        tyre=None if tyre is None else Tyre(**complete(tyre)),
        line=said.place.line,
    )


def build_road(robot: Statement, context: Context) -> Road | None:
    said = robot.child("road")
    if said is None:
        return None
    function = said.values.pop("callable", None)
    if function is not None:
        return Road("callable", contact=said.get("contact") or "monitor", function=function.value)
    values = complete(said, **_ROAD_DEFAULTS.get(said.get("kind") or "flat", {}))
    waves = tuple(Wave(**complete(wave)) for wave in said.all("wave"))
    if waves and values["kind"] != "sines":
        said.all("wave")[0].fail(f"waves with kind = {values['kind']}", None, "kind = sines")
    if values["kind"] == "sines" and not waves:
        said.fail("kind sines without <wave>", "kind", "at least one <wave amplitude wavelength phase/>")
    if values["kind"] == "table":
        values |= _points(said, values, "rising abscissae X", context)
    if values["kind"] == "iso8608" and values["n_min"] >= values["n_max"]:
        said.fail("n_min is not below n_max", "n_min", f"a number below {values['n_max']:g}")
    values["points"] = values["points"] or ()
    values["road_class"] = values.pop("class")
    return Road(**values, waves=waves)


def build_drive(robot: Statement, context: Context) -> Drive | None:
    said = robot.child("drive")
    if said is None:
        return None
    values = complete(said, start=0.0)
    if values["type"] == "profile":
        values |= _points(said, values, "rising times t", context)
    values["points"] = values["points"] or ()
    return Drive(**values)


def _points(said: Statement, values: dict[str, Any], rising: str, context: Context) -> dict[str, Any]:
    """Pairs from the text or the file of a road table or a drive profile."""
    file, numbers, what = None, values["points"], "points"
    if values["file"] is not None:
        what = "file"
        file = context.find(said, "file")
        numbers = read_numbers(said, Path(file))
    if not numbers:
        said.fail("no points are given", "file", "a file, or pairs of numbers as text")
    if len(numbers) % 2 or len(numbers) < 4:
        said.fail(f"{len(numbers)} numbers are no pairs", what, "two or more pairs of numbers")
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if any(after[0] <= before[0] for before, after in pairwise(points)):
        said.fail("the points do not rise", what, rising)
    return {"points": points, "file": file}
