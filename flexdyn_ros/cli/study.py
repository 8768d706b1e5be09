"""`flexdyn study`: thousands of runs from one YAML file to a table and a picture."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from flexdyn_ros.cli.terminal import Json, complain, messages, print_json, print_table


def _complete_study(incomplete: str) -> list[str]:
    from flexdyn_ros.studies.engine import shipped_studies

    return [name for name in shipped_studies() if name.startswith(incomplete)]


def study(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="YAML file of the study, or the name of a shipped one",
            autocompletion=_complete_study,
        ),
    ],
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="processes of the local cluster; default: processors"),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="a running scheduler, tcp://HOST:PORT"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="compute only the points that are missing")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="with --resume: compute points that failed, too")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="folder of the results", show_default="studies/NAME")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="no progress, no table")] = False,
    as_json: Json = False,
) -> None:
    """Run a parameter study and write table.parquet, report.md and figures."""
    from flexdyn_ros.studies import read_study, run
    from flexdyn_ros.studies.engine import study_file

    if workers is not None and scheduler is not None:
        raise typer.BadParameter("a running scheduler has workers of its own", param_hint="--workers")
    if retry_failed and not resume:
        raise typer.BadParameter("goes with --resume", param_hint="--retry-failed")
    told = read_study(study_file(file))
    shown = not quiet and not as_json

    def tell(text: str) -> None:
        if shown:
            messages.print(text, soft_wrap=True)

    result = run(
        told, progress=shown, workers=workers, scheduler=scheduler, folder=output, resume=resume,
        retry_failed=retry_failed, dashboard=shown, tell=tell,
    )  # fmt: skip
    named = Path(sys.argv[0]).name == "flexdyn"
    command = shlex.join(["flexdyn", *(sys.argv[1:] if named else ("study", file))])
    report = result.report(command)
    summary = result.summary()
    if summary["failed"]:
        complain(
            f"{summary['failed']} of {summary['points']} points failed, see {result.folder / 'failures.csv'}"
        )
    if as_json:
        print_json(summary)
    elif shown:
        rows = [
            (name, result.units.get(name, ""), f"{low:.6g}", f"{high:.6g}")
            for name, (low, high) in summary["ranges"].items()
        ]
        print_table(
            f"{told.title}: {summary['points']} points, {summary['failed']} failed",
            "result | unit | smallest | largest", rows,
        )  # fmt: skip
        messages.print(f"wrote {report}")
    if summary["failed"] == summary["points"]:
        raise typer.Exit(1)
