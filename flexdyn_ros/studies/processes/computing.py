"""Points of a study through a cluster, chunk by chunk."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

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
