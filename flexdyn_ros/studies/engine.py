"""`run`: the points of a study through a cluster, to the folder of the study."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

import yaml

from flexdyn_ros.errors import FlexdynError, StateError, needs
from flexdyn_ros.studies.definition import Study, read_study
from flexdyn_ros.studies.design import Design, fixed_design
from flexdyn_ros.studies.progress_bar import shown_progress
from flexdyn_ros.studies.worker import Chunk, Done, StudyRefused, compute_chunk, end_children, stop_studies

if TYPE_CHECKING:
    from flexdyn_ros.studies.result import StudyResult
    from flexdyn_ros.studies.store import Store

#: how long a chunk should take [s]: long beside the few milliseconds between two chunks
CHUNK_SECONDS = 1.0
#: a chunk has at most so many points, and at most so many times as many as the one before
MOST_IN_CHUNK, GROWTH = 2000, 16
#: the last chunks are short, so that no worker waits long for another, but no shorter than this [s]
LEAST_SECONDS = 0.06
#: chunks that each worker has: the one that it computes, and one that waits there, so that nothing is idle
#: while rows go to the client and the next chunk comes
AT_HAND = 2
#: how long to wait for a scheduler that does not answer, and for chunks in flight after Ctrl-C [s]
CONNECT, FLIGHT = 10.0, 5.0


def run(
    study: Any,
    client: Any = None,
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
        import distributed  # noqa: F401
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
            connected = _Lazy(
                lambda: ending.enter_context(_cluster(client, scheduler, workers, dashboard, tell))
            )
            computing = _Computing(study, store, connected, report)
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


def _design_of(study: Study) -> tuple[Design, Any]:
    """The design, and what asks for points if they depend on results."""
    if study.design["kind"] != "optuna":
        return fixed_design(study), None
    from flexdyn_ros.studies.optimisation import Optimisation

    return Design(study.names, []), Optimisation(study)


def _optimised(study: Study, store: Store, computing: _Computing, total: int) -> Design:
    """Batch after batch: what is done already is told from the store."""
    from flexdyn_ros.studies.optimisation import Optimisation

    search = Optimisation(study)
    rows: list[tuple[Any, ...]] = []
    size = study.design["batch"]
    design = Design(study.names, rows)
    known = store.rows()
    for start in range(0, total, size):
        batch = range(start, min(start + size, total))
        rows += search.ask(len(batch))
        for index, results, error, _ in computing.compute(design, batch):
            known[index] = (results or {}, error)
        search.tell([known[i][0] for i in batch])
    return design


def _units(study: Study, bench: Any) -> dict[str, str]:
    """Units of parameters and results by their names."""
    from flexdyn_ros.studies.units import unit_of_path

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


# ---- the cluster ----


class _Lazy:
    """A client that is made when it is first asked for: a study that is complete starts no processes."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def __call__(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


@contextmanager
def _cluster(
    client: Any, scheduler: str | None, workers: int | None, dashboard: bool, tell: Callable[[str], object]
) -> Iterator[Any]:
    """A client: the one given, of a scheduler that runs already, or of a cluster of processes made for it."""
    import dask
    from distributed import Client

    if client is not None:
        yield client
        return
    if scheduler is not None:
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT}s"}):
                made = Client(scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(
                f"no scheduler answers at {scheduler}: {str(error).splitlines()[0]}"
            ) from None
        with contextlib.closing(made):
            tell(f"dashboard of the cluster: {made.dashboard_link}")
            yield made
        return
    with local_cluster(workers or os.cpu_count() or 1, dashboard) as made:
        if dashboard:
            tell(f"dashboard: {made.dashboard_link}")
        yield made


@contextmanager
def local_cluster(workers: int, dashboard: bool) -> Iterator[Any]:
    """Processes of one thread each on this machine; nothing of it can be reached from elsewhere."""
    import dask
    from distributed import Client, LocalCluster

    # no limit of memory by dask: the robots live in the children, which it does not see
    # and it watches itself seldom: that would be time of the points' processors
    settings = {
        "distributed.worker.daemon": True,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.tick.limit": "30s",
        "distributed.admin.system-monitor.interval": "2s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.worker.preload": [],
        "distributed.admin.log-format": "%(message)s",
        "distributed.logging.distributed": "error",
    }
    with dask.config.set(settings), ExitStack() as ending:
        with _deaf_to_interrupts():
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", memory_limit=0,
                dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": dashboard}, silence_logs=50,
            )  # fmt: skip
        ending.callback(cluster.close, timeout=10)
        yield ending.enter_context(contextlib.closing(Client(cluster, set_as_default=False)))


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that are started here do not hear Ctrl-C of the terminal: the study ends them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ---- points through it ----


class _Computing:
    """Points of one study through a cluster, chunk by chunk.

    Each worker computes one chunk while another waits for it, and gets the next when the rows of the last
    have arrived: what the scheduler and this process hold is bounded, and of what a worker that dies takes
    with it one chunk was begun.
    """

    def __init__(self, study: Study, store: Store, client: _Lazy, report: Callable[[int], None]) -> None:
        self.study, self.store, self.connect, self.report = study, store, client, report
        self.told = {
            "key": uuid.uuid4().hex, "study": yaml.safe_load(study.as_text()), "folder": study.folder,
            "file": study.file, "trajectories": study.trajectories,
        }  # fmt: skip
        self.each: float | None = None
        self.size, self.width, self.looked = 1, 1, float("-inf")

    def compute(self, design: Design, indices: Sequence[int]) -> list[Any]:
        """Compute and store the points of `indices` that are not done; their rows, if it is a short batch."""
        missing = [i for i in indices if i not in self.store.done]
        self.report(len(self.store.done))
        if not missing:
            return []
        client = self.connect()
        waiting = iter(missing)
        left = len(missing)
        flying: dict[Any, int] = {}
        done: SimpleQueue[Any] = SimpleQueue()
        kept: list[Any] = []
        remember = self.study.design["kind"] == "optuna"

        def launch() -> None:
            nonlocal left
            while left and len(flying) < AT_HAND * self._width(client):
                count = self._chunk_size(left, self._width(client))
                chosen = [next(waiting) for _ in range(min(count, left))]
                left -= len(chosen)
                points = [design.point(i) for i in chosen]
                chunk = Chunk(self.told, chosen, points, self.study.time_limit)
                future = client.submit(
                    compute_chunk, chunk, pure=False, key=f"{self.told['key']}-{chosen[0]}"
                )
                flying[future] = len(chosen)
                future.add_done_callback(done.put)

        try:
            launch()
            while flying:
                future = self._next(done, client)
                if future is None:
                    launch()  # workers may have joined
                    continue
                found = self._result(future, client)
                flying.pop(future)
                launch()
                self._take(found, kept if remember else None)
        except BaseException as error:
            self._stop(client, flying, done, wait=isinstance(error, KeyboardInterrupt))
            raise
        return kept

    def _width(self, client: Any) -> int:
        """Threads of the cluster, asked for once a second: workers come and go."""
        if monotonic() > self.looked + 1.0:
            self.width, self.looked = max(1, sum(client.nthreads().values())), monotonic()
        return self.width

    def _chunk_size(self, left: int, workers: int) -> int:
        least = 1
        if self.each is not None:
            wanted, least = (int(x / max(self.each, 1e-6)) for x in (CHUNK_SECONDS, LEAST_SECONDS))
            self.size = max(1, min(wanted, self.size * GROWTH, MOST_IN_CHUNK))
        return max(1, min(self.size, max(2 * left // (3 * workers), least)))

    def _next(self, done: SimpleQueue[Any], client: Any) -> Any:
        """The next future that is done; None if none was for a second."""
        try:
            return done.get(timeout=1.0)
        except Empty:
            if client.status != "running":
                raise self._gone() from None
            return None

    def _result(self, future: Any, client: Any) -> Done:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            found: Done = future.result(timeout=60)
        except StudyRefused as error:
            raise FlexdynError(f"a worker cannot load the study: {error}") from None
        except KilledWorker:
            raise FlexdynError(
                "workers died again and again at the same points (is the memory of the machine enough?); "
                "finished points are kept, --resume goes on"
            ) from None
        except (FutureCancelledError, TimeoutError, OSError):
            raise self._gone() from None
        future.release()
        return found

    def _gone(self) -> ConnectionError:
        return ConnectionError(
            f"the scheduler is gone; {len(self.store.done)} finished points are kept in {self.store.folder}, "
            "--resume goes on"
        )

    def _take(self, found: Done, kept: list[Any] | None) -> None:
        self.store.keep(found.rows)
        if kept is not None:
            kept += found.rows
        if found.rows:
            each = found.seconds / len(found.rows)
            self.each = each if self.each is None else 0.5 * (self.each + each)
        self.report(len(self.store.done))

    def _stop(self, client: Any, flying: dict[Any, int], done: SimpleQueue[Any], *, wait: bool) -> None:
        """Let the workers return what they have, and keep it; then leave."""
        if client.status != "running":
            return
        with contextlib.suppress(Exception):
            client.run(stop_studies, self.told["key"], wait=True)
        deadline = monotonic() + (FLIGHT if wait else 0.0)
        with contextlib.suppress(Exception):
            while wait and flying and monotonic() < deadline:
                with contextlib.suppress(Empty):
                    future = done.get(timeout=0.2)
                    flying.pop(future, None)
                    self._take(future.result(timeout=5), None)
        with contextlib.suppress(Exception):
            client.cancel(list(flying), force=True)
            client.run(end_children)
