"""`flexdyn check`: print what was understood of a description, with model checks and warnings."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf
from typing import Annotated, Any, NoReturn

import typer
from rich.text import Text

from flexdyn_ros.checking import Report
from flexdyn_ros.checking import check as report_on
from flexdyn_ros.cli import terminal
from flexdyn_ros.description.reader import find_mistakes
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.robot.coordinates import pose_name

#: of a mass beside the whole
ROUNDING = 1e-12


def check(
    robot: terminal.RobotName,
    config: terminal.Config = None,
    settings: terminal.Settings = None,
    xacro: terminal.Xacro = None,
    rigid: terminal.Rigid = False,
    strict: Annotated[bool, typer.Option("--strict", help="warnings make the command fail")] = False,
    modes: Annotated[int, typer.Option("--modes", min=0, help="number of modes to print")] = 8,
    as_json: terminal.Json = False,
) -> None:
    """Read a robot and print bodies, coordinates, masses, overrides, first modes and warnings."""
    options = terminal.options_of(settings, rigid)
    given: dict[str, Any] = {
        "config": config or None,
        "options": options or None,
        "xacro": terminal.xacro_of(xacro),
    }
    try:
        found = report_on(robot, **given, modes=modes)
    except DescriptionError as error:
        _tell_all(error, find_mistakes(robot, **given))
    if as_json:
        terminal.print_json(asdict(found))
    else:
        _print(found)
    if strict and found.warnings:
        raise typer.Exit(1)


def _tell_all(first: DescriptionError, mistakes: list[DescriptionError]) -> NoReturn:
    """Every mistake in a line of its own but the last, which ends the command as errors do."""
    if len(mistakes) < 2:
        raise first
    for mistake in mistakes[:-1]:
        terminal.complain(str(mistake))
    raise mistakes[-1]


def _print(found: Report) -> None:
    facts = (
        f": kind {found.kind}, {found.base} base, {found.nv} coordinates, {found.mass:.6g} kg, "
        f"gravity ({', '.join(f'{g:g}' for g in found.gravity)}) m/s²"
    )
    terminal.tables.print(Text.assemble((found.name, "bold"), facts))
    terminal.print_table(
        "Bodies",
        "link | parent | joint | type | mass [kg]",
        [
            (b.link, b.parent or "", b.joint or "", b.joint_type or "(root)", f"{b.mass:.6g}")
            for b in found.bodies
        ],
    )
    limits = ("lower", "upper", "velocity_limit", "effort_limit")
    terminal.print_table(
        "Coordinates",
        "name | kind | unit | lower | upper | velocity | effort | actuated",
        [
            (
                pose_name(c),
                c.kind,
                c.unit,
                *(_limit(getattr(c, x)) for x in limits),
                "yes" if c.actuated else "no",
            )
            for c in found.coordinates
        ],
    )
    driven = ", ".join(found.actuators) or "none"
    terminal.tables.print(f"driven by {len(found.actuators)} actuators: {driven}")
    _print_mobility(found)
    if found.overrides:
        rows = [(o.path, o.old, o.new, o.source) for o in found.overrides]
        terminal.print_table("Overrides", "path | was | is | source", rows)
    _print_links(found)
    _print_modes(found)
    _print_loads(found)
    for note in found.notes:
        terminal.tables.print(f"note: {note}")
    for warning in found.warnings:
        terminal.tables.print(Text("warning:", "yellow"), warning)


def _print_mobility(found: Report) -> None:
    """Of robots that have more to tell than that every joint has its actuator."""
    m = found.mobility
    if not (m.passive or m.held):
        return
    rows = [
        ("velocity coordinates", str(m.coordinates), f"{m.modes} of modes" if m.modes else ""),
        ("with an actuator of their own", str(m.actuated), ""),
        ("actuators between frames", str(len(m.between_frames)), ", ".join(m.between_frames)),
        ("passive joints", str(len(m.passive)), ", ".join(m.passive)),
        ("held by springs", str(len(m.held)), ", ".join(m.held)),
    ]
    terminal.print_table("Mobility", " | number | names", rows)


def _print_loads(found: Report) -> None:
    if not found.loads:
        return
    rows = [
        (x.link, f"{x.force:.4g}", f"{x.force_station:.3g}", f"{x.moment:.4g}", f"{x.moment_station:.3g}")
        for x in found.loads
    ]
    title = "Largest section loads at q = 0 under gravity"
    terminal.print_table(title, "link | force [N] | at | moment [N m] | at", rows)


def _print_links(found: Report) -> None:
    """The mass rule per flexible link: masses and first moments along the beam of T, B, P, R."""
    if not found.flexible:
        return
    rows = [(link.link, f"{link.length:g}", link.modes) for link in found.flexible]
    terminal.print_table("Flexible links", "link | length [m] | modes", rows)
    masses: list[tuple[str, ...]] = []
    for link in found.flexible:
        parts, whole = (link.whole, link.beam, link.bodies, link.remainder), link.mass
        moments = (_mass(part.first_moment[0], whole * link.length) for part in parts)
        masses.append((link.link, "m", *(_mass(part.mass, whole) for part in parts)))
        masses.append((link.link, "m x", *moments))
    terminal.print_table(
        "Mass m [kg] and first moment m x along the beam [kg m]",
        "link |  | <inertial> T | beam B | bodies P | remainder R",
        masses,
    )


def _print_modes(found: Report) -> None:
    """One table: with joints free and, of a robot that bends, locked beside them."""
    tables = {"free": found.modes_free, "locked": found.modes_locked}
    shown = {label: m for label, m in tables.items() if any(mode.frequency > 0.0 for mode in m)}
    if not shown:
        return
    names = {c.name: pose_name(c) for c in found.coordinates}
    columns, rows = [""], [[str(n + 1)] for n in range(max(map(len, shown.values())))]
    for label, modes in shown.items():
        columns += [label, "damping", "mostly"]
        for n, row in enumerate(rows):
            one = modes[n] if n < len(modes) else None
            row += (
                [f"{one.frequency:.5g}", _damping(one.damping_ratio), names.get(one.mostly, one.mostly)]
                if one
                else [""] * 3
            )
    terminal.print_table(
        f"Modes at q = 0 with joints {' and '.join(shown)}: frequency [Hz], damping ratio",
        " | ".join(columns),
        rows,
    )


def _damping(ratio: float) -> str:
    """A damping ratio; beyond 1 nothing swings."""
    if isinf(ratio):
        return ""
    return f"{ratio:.4g}" + (" (overdamped)" if ratio > 1.0 else "")


def _mass(part: float, whole: float) -> str:
    """A part of a mass or moment; what rounding left of it is 0."""
    return f"{part if abs(part) > ROUNDING * abs(whole) else 0.0:.6g}"


def _limit(value: float) -> str:
    return "" if isinf(value) else f"{value:.4g}"
