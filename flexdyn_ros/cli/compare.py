"""`flexdyn compare`: how far two saved trajectories are apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.cli.terminal import Json, Topics, messages, print_json, print_table
from flexdyn_ros.simulation.comparison import compare as compared
from flexdyn_ros.simulation.trajectory import Trajectory

_File = Annotated[Path, typer.Argument(help="trajectory: .npz, .mcap, .db3, or a folder", exists=True)]


def compare(
    first: _File,
    second: _File,
    rtol: Annotated[
        float, typer.Option("--rtol", min=0.0, help="largest difference relative to the largest value")
    ] = 1e-6,
    topic: Topics = None,
    as_json: Json = False,
) -> None:
    """Print the largest difference of each quantity of two trajectories; exit code 1 if one is too large.

    Coordinates that only one of them has, and times that only one of them covers, count as differences too.
    """
    a, b = (Trajectory.load(file, topics=topic or ()) for file in (first, second))
    found = compared(a, b)
    notes = _notes(a, b)
    beyond = [one for one in found if not one.relative <= rtol]
    if as_json:
        rows = [{**one._asdict(), "relative": one.relative} for one in found]
        print_json({"differences": rows, "notes": notes, "rtol": rtol, "equal": not (beyond or notes)})
    else:
        print_table(
            "Largest differences",
            "quantity | unit | difference | relative | where | at [s]",
            [
                (
                    one.quantity,
                    one.unit,
                    f"{one.largest:.3g}",
                    f"{one.relative:.2g}",
                    one.column,
                    f"{one.time:g}",
                )
                for one in found
            ],
        )
        for note in notes:
            messages.print(f"note: {note}", soft_wrap=True)
    if beyond or notes:
        raise typer.Exit(1)


def _notes(a: Trajectory, b: Trajectory) -> list[str]:
    """What cannot be compared."""
    notes = []
    for one, other, which in ((a, b, "first"), (b, a, "second")):
        missing = [name for name in one.q_names if name not in other.columns]
        missing += [
            name for name in one.effort_names if f"{name}.effort" not in other.columns and name not in missing
        ]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            notes.append(f"only the {which} has {', '.join(missing[:5])}{more}")
    if abs(a.t[-1] - b.t[-1]) > 1e-9 or abs(a.t[0] - b.t[0]) > 1e-9:
        notes.append(f"times differ: {a.t[0]:g} .. {a.t[-1]:g} s and {b.t[0]:g} .. {b.t[-1]:g} s")
    return notes
