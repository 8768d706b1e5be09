"""`run`: the points of a study through a cluster, to the folder of the study."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from flexdyn_ros.description.language.schema import JOINT, LINK, ROBOT
from flexdyn_ros.description.language.vocabulary import Element
from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import StateError, UnknownNameError, needs
from flexdyn_ros.studies.definition import Study, read_study
from flexdyn_ros.studies.design import Design, Optimisation, fixed_design
from flexdyn_ros.studies.processes.computing import Computing, cluster_for

if TYPE_CHECKING:
    from flexdyn_ros.studies.bench import Bench
    from flexdyn_ros.studies.result import StudyResult
    from flexdyn_ros.studies.store import Row, Store


def run(
    study: str | os.PathLike[str] | Mapping[str, Any] | Study,
    client: object = None,
    progress: bool | Callable[[int, int], object] = True,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    dashboard: bool = False,
    tell: Callable[[str], object] | None = None,
) -> StudyResult:
    """Run a study.

    Parameters
    ----------
    study : path of a YAML file, mapping of the same keys, or Study
    client : distributed.Client, optional
        Of a cluster that exists already, and is left as it is.
    progress : bool, or callable (points done, points in all)
    workers : int, optional
        Processes of the local cluster that is made otherwise; default: one for each processor.
    scheduler : str, optional
        Address of a scheduler that runs already, tcp://HOST:PORT.
    folder : path, optional
        Where table, failures, report and pictures go; default studies/NAME.
    resume : bool
        Go on with what the folder holds: only points that are missing are computed.
    retry_failed : bool
        With `resume`: points that failed are computed, too, for instance with a longer time limit.
    dashboard : bool
        Let the local cluster serve dask's dashboard, on 127.0.0.1.
    tell : callable (text), optional
        Gets the dashboard's address and what else is worth a line.

    Returns
    -------
    StudyResult
        The same table, bit for bit, whatever the workers and the order in which they computed.

    Raises
    ------
    DescriptionError, UnknownNameError
        If the study is wrong: a path that leads nowhere, a distribution that does not exist, an experiment
        that is unknown, a name that is none of its results. Nothing was computed then; the first points were
        if only they tell, as the experiment does not say what it gives (`experiment`), or says it wrongly.
    StateError
        If the folder holds a study already, or another one; if failed points of an optimisation are to be
        computed again.
    ConnectionError
        If the scheduler cannot be reached, or is gone; finished points are kept.
    OSError
        If the disk is full, or the folder cannot be written; finished points are kept.
    KeyboardInterrupt
        After Ctrl-C; finished points are kept.
    """
    with needs("distributed", "studies"):
        import distributed
    from flexdyn_ros.studies.bench import Bench
    from flexdyn_ros.studies.store import Store

    study = read_study(study)
    if retry_failed and not resume:
        raise StateError("failed points are computed again of a study that is resumed: resume, too")
    if retry_failed and study.design["kind"] == "optuna":
        raise StateError(
            "an optimisation asked for later points knowing which failed: those cannot be computed again; "
            "run it in another folder"
        )
    bench = Bench(study)
    design, search = _design_of(study)
    bench.check(design.point(0) if search is None else dict(zip(study.names, search.ask(1)[0], strict=True)))
    folder = Path(folder) if folder is not None else default_folder(study)
    base = bench.base
    text = base.description.text if base is not None else ""
    store = Store(folder, study, text, resume=resume)
    if retry_failed:
        store.forget_failures()
    total = study.design["samples"] if search is not None else len(design)
    tell = tell or (lambda text: None)
    if len(store.done) < total or search is not None:
        with ExitStack() as ending:
            report = ending.enter_context(shown_progress(progress, total))

            @cache  # a study that is complete starts no processes
            def connect() -> distributed.Client:
                return ending.enter_context(cluster_for(client, scheduler, workers, dashboard, tell))

            computing = Computing(study, store, connect, report)
            if search is None:
                computing.compute(design, range(total))
            else:
                design = _optimised(study, store, computing, total)
    units = _units(study, bench)
    store.finish(design, units)
    from flexdyn_ros.studies.result import StudyResult

    return StudyResult(study, folder)


def default_folder(study: Study) -> Path:
    """Where a study goes unless told otherwise."""
    return Path("studies") / study.name


def _design_of(study: Study) -> tuple[Design, Optimisation | None]:
    """The design, and what asks for points if they depend on results."""
    if study.design["kind"] != "optuna":
        return fixed_design(study), None
    return Design(study.names, []), Optimisation(study)


def _optimised(study: Study, store: Store, computing: Computing, total: int) -> Design:
    """Batch after batch: what is done already is told from the store."""
    search = Optimisation(study)
    rows: list[tuple[object, ...]] = []
    size = study.design["batch"]
    design = Design(study.names, rows)
    known = store.rows()
    for start in range(0, total, size):
        batch = range(start, min(start + size, total))
        rows += search.ask(len(batch))
        new: list[Row] = []
        computing.compute(design, batch, new)
        for index, results, error, _ in new:
            known[index] = (results or {}, error)
        search.tell([known[i][0] for i in batch])
    return design


def _units(study: Study, bench: Bench) -> dict[str, str]:
    """Units of parameters and results by their names."""
    units = dict(bench.units)
    for p in study.parameters:
        path = p.sets[0][0]
        if p.unit:
            units[p.name] = p.unit
        elif p.sets[0][1] is None and p.name not in units:
            found = units.get(path) or unit_of_path(path)
            if found:
                units[p.name] = found
    return units


_OF_PAYLOADS = {"mass": "kg", "com": "m", "inertia": "kg m2"}
_SCOPES = {"links": LINK, "joints": JOINT}


def unit_of_path(path: str) -> str:
    """The unit of what a dotted path of options or payloads sets; empty if none is declared."""
    words = path.split(".")
    if words[0] == "payload":
        return _OF_PAYLOADS.get(words[-1], "")
    if words[0] == "urdf":
        return ""
    element: Element = _SCOPES.get(words[0], ROBOT)
    for word in words if element is ROBOT else words[1:]:
        found = element.child(word)
        if found is not None:
            element = found
    last = element.setting(words[-1])
    return last.unit if last is not None and last.unit != "-" else ""


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


def shipped_studies() -> dict[str, Path]:
    """Files of the shipped studies by their names."""
    found: dict[str, Path] = {}
    for share in own_share():
        for path in sorted((share / "config" / "studies").glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def study_file(name: str) -> Path:
    """The file of that name, or of the shipped study of that name.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    if Path(name).exists() or name.endswith((".yaml", ".yml")) or "/" in name:
        return Path(name)
    shipped = shipped_studies()
    if name not in shipped:
        raise UnknownNameError("study", name, shipped)
    return shipped[name]
