"""`flexdyn warm`: compile the kernels before anybody waits for them."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from flexdyn_ros.cli.terminal import messages


def warm(
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP]...", help="all (default), common, start, demo, or a pattern like 'continuum.*'"
        ),
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="processes that compile side by side")
    ] = os.cpu_count() or 1,
) -> None:
    """Compile the kernels that are not in the cache yet, so that first calls take milliseconds."""
    from flexdyn_ros.numerics.compiling.cache_folder import cache_folder
    from flexdyn_ros.numerics.compiling.warmup import WarmUpError, warm_up

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=messages, transient=True) as progress:
        task = progress.add_task("compiling kernels", total=None, last="")

        def report(name: str, seconds: float, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, last=f"{name} {seconds:.1f} s")

        try:
            seconds = warm_up(report, processes, groups or ("all",))
        except WarmUpError as error:
            messages.print(str(error), style="red", soft_wrap=True)
            raise typer.Exit(1) from None
    messages.print(f"kernels ready after {seconds:.1f} s, kept in {cache_folder()}", soft_wrap=True)
