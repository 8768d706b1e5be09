"""Objects as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import isinf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flexdyn_ros.robot.results import Modes
    from flexdyn_ros.robot.verbs import Robot

__all__ = ["modes_html", "robot_html", "section", "table"]

#: rows of a table that are shown
MOST_ROWS = 20


def section(title: str, *parts: str) -> str:
    """A heading, escaped, with HTML below it."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts, escaped; of long ones the first rows and how many more there are."""
    rows = list(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS]
    )
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def robot_html(robot: Robot) -> str:
    """Facts and coordinates of a robot."""
    facts = f"{robot.kind}, nq = {robot.nq}, nv = {robot.nv}, nu = {robot.nu}, {robot.mass:.6g} kg"
    driven = set(robot.actuators)
    rows = [
        (c.name, c.kind, c.unit, _limits(c.lower, c.upper), "yes" if c.name in driven else "")
        for c in robot.coordinates
    ]
    legs = [name for name in robot.actuators if name not in robot.v_names]
    drive = f"<p>driven by {escape(', '.join(legs))}</p>" if legs else ""
    coordinates = table(("coordinate", "kind", "unit", "limits", "driven"), rows)
    return section(f"Robot {robot.name}", f"<p>{escape(facts)}</p>", coordinates, drive)


def _limits(lower: float, upper: float) -> str:
    return "" if isinf(lower) and isinf(upper) else f"{lower:.4g} … {upper:.4g}"


def modes_html(modes: Modes) -> str:
    """Frequencies and damping ratios; of a batch, its first state."""
    first = (0,) * (modes.frequency.ndim - 1)
    damping = modes.damping_ratio[first]
    rows = [
        (i, f"{f:.5g}", "" if np.isinf(z) else f"{z:.4g}")
        for i, (f, z) in enumerate(zip(modes.frequency[first], damping), 1)
    ]
    title = "Modes" if not first else f"Modes of the first of {modes.unstable.size} states"
    note = "<p>unstable</p>" if modes.unstable[first] else ""
    return section(title, table(("mode", "frequency [Hz]", "damping ratio"), rows), note)
