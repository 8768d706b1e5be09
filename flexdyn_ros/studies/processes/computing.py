"""Points of a study through a cluster, chunk by chunk."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

import yaml

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.studies.definition import Study
from flexdyn_ros.studies.design import Design
from flexdyn_ros.studies.processes.cluster import LazyClient
from flexdyn_ros.studies.processes.worker import (
    Chunk,
    Done,
    StudyRefused,
    compute_chunk,
    end_children,
    stop_studies,
)

if TYPE_CHECKING:
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
#: how long to wait for chunks in flight after Ctrl-C [s]
FLIGHT = 5.0


class Computing:
    """Points of one study through a cluster, chunk by chunk.

    Each worker computes one chunk while another waits for it, and gets the next when the rows of the last
    have arrived: what the scheduler and this process hold is bounded. A worker that dies takes at most these
    `AT_HAND` chunks with it: the one that it computes, and the one whose rows have not been fetched yet.
    """

    def __init__(self, study: Study, store: Store, client: LazyClient, report: Callable[[int], None]) -> None:
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

    def _result(self, future: Any, client: object) -> Done:
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

    def _stop(self, client: Any, flying: dict[object, int], done: SimpleQueue[Any], *, wait: bool) -> None:
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
