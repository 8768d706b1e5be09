"""Points of a study through a cluster, chunk by chunk."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import yaml

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.studies.definition import Study
from flexdyn_ros.studies.design import Design
from flexdyn_ros.studies.processes.worker import Chunk, StudyRefused, compute_chunk, stop_study

if TYPE_CHECKING:
    from distributed import Client, Future

    from flexdyn_ros.studies.store import Row, Store

#: how long a chunk should take [s]: long beside the few milliseconds between two chunks
CHUNK_SECONDS = 1.0
#: a chunk has at most so many points, and at most so many times as many as the one before
MOST_IN_CHUNK, GROWTH = 2000, 16
#: the last chunks are short, so that no worker waits long for another, but no shorter than this [s]
LEAST_SECONDS = 0.06
#: chunks that each worker has: the one that it computes, and one that waits there, so that nothing is idle
#: while rows go to the client and the next chunk comes
AT_HAND = 2
#: how long to wait for a chunk in flight after Ctrl-C [s]
FLIGHT = 5.0


class Computing:
    """Points of one study through a cluster, chunk by chunk.

    Each worker computes one chunk while another waits for it, and gets the next when the rows of the last
    have arrived: what the scheduler and this process hold is bounded. A worker that dies takes at most these
    `AT_HAND` chunks with it: the one that it computes, and the one whose rows have not been fetched yet.
    """

    def __init__(
        self, study: Study, store: Store, connect: Callable[[], Client], report: Callable[[int], None]
    ) -> None:
        self.study, self.store, self.connect, self.report = study, store, connect, report
        self.told = {
            "key": uuid.uuid4().hex, "study": yaml.safe_load(study.as_text()), "folder": study.folder,
            "file": study.file, "trajectories": study.trajectories,
        }  # fmt: skip
        self.each: float | None = None
        self.size = 1

    def compute(self, design: Design, indices: Sequence[int], kept: list[Row] | None = None) -> None:
        """Compute and store the points of `indices` that are not done; `kept` gets their rows, too."""
        waiting = deque(i for i in indices if i not in self.store.done)
        self.report(len(self.store.done))
        if not waiting:
            return
        from distributed import as_completed

        client = self.connect()
        flying: set[Future] = set()
        landed = as_completed(loop=client.loop)

        def launch() -> None:
            """Give every worker chunks, as far as there are points."""
            workers = max(1, sum(client.nthreads().values())) if waiting else 0
            while waiting and len(flying) < AT_HAND * workers:
                count = min(self._chunk_size(len(waiting), workers), len(waiting))
                chosen = [waiting.popleft() for _ in range(count)]
                chunk = Chunk(self.told, chosen, [design.point(i) for i in chosen], self.study.time_limit)
                key = f"{self.told['key']}-{chosen[0]}"
                future = client.submit(compute_chunk, chunk, pure=False, key=key)
                flying.add(future)
                landed.add(future)

        try:
            launch()
            for future in landed:
                rows, seconds = self._result(future)
                flying.discard(future)
                launch()
                self._take(rows, seconds)
                if kept is not None:
                    kept += rows
        except BaseException as error:
            self._stop(client, flying, wait=isinstance(error, KeyboardInterrupt))
            raise

    def _chunk_size(self, left: int, workers: int) -> int:
        least = 1
        if self.each is not None:
            wanted, least = (int(x / max(self.each, 1e-6)) for x in (CHUNK_SECONDS, LEAST_SECONDS))
            self.size = max(1, min(wanted, self.size * GROWTH, MOST_IN_CHUNK))
        return max(1, min(self.size, max(2 * left // (3 * workers), least)))

    def _result(self, future: Future) -> tuple[list[Row], float]:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            found: tuple[list[Row], float] = future.result(timeout=60)
        except StudyRefused as error:
            raise FlexdynError(f"a worker cannot load the study: {error}") from None
        except KilledWorker:
            raise FlexdynError(
                "workers died again and again at the same points (is the memory of the machine enough?); "
                "finished points are kept, --resume goes on"
            ) from None
        except (FutureCancelledError, TimeoutError, OSError):
            raise ConnectionError(
                f"the scheduler is gone; {len(self.store.done)} finished points are kept in "
                f"{self.store.folder}, --resume goes on"
            ) from None
        future.release()
        return found

    def _take(self, rows: list[Row], seconds: float) -> None:
        self.store.keep(rows)
        if rows:
            each = seconds / len(rows)
            self.each = each if self.each is None else 0.5 * (self.each + each)
        self.report(len(self.store.done))

    def _stop(self, client: Client, flying: set[Future], *, wait: bool) -> None:
        """Let the workers return what they have, and keep it; then leave."""
        if client.status != "running":
            return
        with suppress(Exception):
            client.run(stop_study, self.told["key"])
            for future in flying if wait else ():
                self.store.keep(future.result(timeout=FLIGHT)[0])
        with suppress(Exception):
            client.cancel(list(flying), force=True)


# A client of the cluster that computes a study: one that exists, or processes on this machine.

#: how long to wait for a scheduler that does not answer [s]
CONNECT = 10.0


@contextmanager
def cluster_for(
    client: Client | None,
    scheduler: str | None,
    workers: int | None,
    dashboard: bool,
    tell: Callable[[str], object],
) -> Iterator[Client]:
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
        with closing(made):
            tell(f"dashboard of the cluster: {made.dashboard_link}")
            yield made
        return
    with local_cluster(workers or os.cpu_count() or 1, dashboard) as made:
        if dashboard:
            tell(f"dashboard: {made.dashboard_link}")
        yield made


@contextmanager
def local_cluster(workers: int, dashboard: bool) -> Iterator[Client]:
    """Processes of one thread each on this machine; nothing of it can be reached from elsewhere."""
    import dask
    from distributed import Client, LocalCluster, Nanny

    class PlainNanny(Nanny):
        """Starts workers without pages of their own: the scheduler's shows all, and bokeh takes each worker
        half a second to import."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options | {"dashboard": False})

    # dask watches itself seldom: that would be time of the points' processors
    settings = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.tick.limit": "30s",
        "distributed.admin.system-monitor.interval": "2s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.logging.distributed": "error",
    }
    with dask.config.set(settings):
        # processes that are started here do not hear Ctrl-C of the terminal: the study ends them in order
        in_main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
        try:
            # no limit of memory by dask: the robots live in the children, which it does not see
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", memory_limit=0,
                dashboard_address="127.0.0.1:0", worker_dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": dashboard}, silence_logs=50, worker_class=PlainNanny,
            )  # fmt: skip
        finally:
            if in_main:
                signal.signal(signal.SIGINT, before)
        with closing(cluster), closing(Client(cluster, set_as_default=False)) as client:
            yield client
