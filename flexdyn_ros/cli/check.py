"""`flexdyn check`: print what was understood of a description, and what a specialist would warn of."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from flexdyn_ros.cli.terminal import Config, Json, Rigid, RobotName, Settings, load_robot, print_json, tables
from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import SingularityError

__all__ = ["check", "report"]


def check(
    robot: RobotName,
    config: Config = None,
    settings: Settings = None,
    rigid: Rigid = False,
    strict: Annotated[bool, typer.Option("--strict", help="warnings make the command fail")] = False,
    modes: Annotated[int, typer.Option("--modes", min=0, help="number of frequencies to print")] = 8,
    as_json: Json = False,
) -> None:
    """Read a robot and print bodies, coordinates, masses, overrides, first frequencies and warnings."""
    loaded = load_robot(robot, config, settings, rigid)
    found = report(loaded, modes)
    if as_json:
        print_json(found)
    else:
        _print(found)
    if strict and found["warnings"]:
        raise typer.Exit(1)


def report(robot: Robot, modes: int = 8) -> dict[str, Any]:
    """All that `check` prints, as plain data."""
    description = robot.description
    free, locked = _frequencies(robot, ()), _frequencies(robot, "joints")
    return {
        "name": robot.name,
        "kind": robot.kind,
        "file": description.file,
        "root": description.root,
        "base": description.base.type,
        "gravity": robot.gravity,
        "mass": robot.mass,
        "nq": robot.nq,
        "nv": robot.nv,
        "bodies": [_body(robot, link.name) for link in description.links],
        "coordinates": [vars(c) for c in robot.coordinates],
        "overrides": [vars(o) for o in description.overrides],
        "frequencies_free": free[:modes],
        "frequencies_locked": locked[:modes],
        "warnings": list(robot.warnings),
    }


def _frequencies(robot: Robot, lock: str | tuple[str, ...]) -> np.ndarray:
    """Natural frequencies [Hz] at the neutral position; none where the mass matrix is singular (a warning
    says so)."""
    try:
        return robot.modes(robot.neutral(), lock=lock).frequency
    except SingularityError:
        return np.zeros(0)


def _body(robot: Robot, link: str) -> dict[str, Any]:
    inertial = robot.description.link(link).inertial
    joint = next((j for j in robot.description.joints if j.child == link), None)
    return {
        "link": link,
        "mass": inertial.mass if inertial else 0.0,
        "joint": joint.name if joint else None,
        "joint_type": joint.type if joint else None,
        "parent": joint.parent if joint else None,
    }


def _print(found: dict[str, Any]) -> None:
    tables.print(
        f"[bold]{found['name']}[/]: kind {found['kind']}, {found['base']} base, {found['nv']} coordinates, "
        f"{found['mass']:.6g} kg, gravity ({', '.join(f'{g:g}' for g in found['gravity'])}) m/s²",
        highlight=False,
    )
    bodies = Table("link", "parent", "joint", "type", "mass \\[kg]", title="Bodies", title_justify="left")
    for b in found["bodies"]:
        bodies.add_row(
            b["link"], b["parent"] or "", b["joint"] or "", b["joint_type"] or "(root)", f"{b['mass']:.6g}"
        )
    tables.print(bodies)
    coordinates = Table(
        "name",
        "kind",
        "unit",
        "lower",
        "upper",
        "velocity",
        "effort",
        "actuated",
        title="Coordinates",
        title_justify="left",
    )
    for c in found["coordinates"]:
        limits = [_limit(c[key]) for key in ("lower", "upper", "velocity_limit", "effort_limit")]
        coordinates.add_row(c["name"], c["kind"], c["unit"], *limits, "yes" if c["actuated"] else "no")
    tables.print(coordinates)
    if found["overrides"]:
        overrides = Table("path", "was", "is", "source", title="Overrides", title_justify="left")
        for o in found["overrides"]:
            overrides.add_row(o["path"], str(o["old"]), str(o["new"]), o["source"])
        tables.print(overrides)
    _print_frequencies(found)
    for warning in found["warnings"]:
        tables.print(f"[yellow]warning:[/] {warning}", highlight=False)


def _print_frequencies(found: dict[str, Any]) -> None:
    rows = [("joints free", found["frequencies_free"]), ("joints locked", found["frequencies_locked"])]
    if not any(np.any(f > 0.0) for _, f in rows):
        return
    table = Table("", "first frequencies at q = 0 \\[Hz]", title="Vibration", title_justify="left")
    for label, frequencies in rows:
        if len(frequencies):
            table.add_row(label, ", ".join(f"{f:.4g}" for f in frequencies))
    tables.print(table)


def _limit(value: float) -> str:
    return "" if np.isinf(value) else f"{value:.4g}"
