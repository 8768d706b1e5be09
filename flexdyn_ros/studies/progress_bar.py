"""How far a study is: points, rate and time left on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


@contextmanager
def shown_progress(
    progress: bool | Callable[[int, int], object], total: int
) -> Iterator[Callable[[int], None]]:
    """A function that is told how many of the points are done; shows a bar on stderr, or calls `progress`."""
    if callable(progress):

        def call(done: int) -> None:
            progress(done, total)

        yield call
        return
    if not progress:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("points", total=total, pace="")
        first: list[tuple[float, int]] = []

        def report(done: int) -> None:
            now = monotonic()
            first.append((now, done))
            # of the last reports, so that what was resumed and the first load do not count
            del first[1:-20]
            start, at = first[1] if len(first) > 2 else first[0]
            rate = (done - at) / (now - start) if now > start else 0.0
            pace = f"{rate:.3g} a second, {_words((total - done) / rate)} left" if rate > 0.0 else ""
            bar.update(task, completed=done, pace=pace)

        yield report


def _words(seconds: float) -> str:
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"
