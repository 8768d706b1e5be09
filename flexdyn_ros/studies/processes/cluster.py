"""A client of the cluster that computes a study: one that exists, or processes on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

#: how long to wait for a scheduler that does not answer [s]
CONNECT = 10.0


class LazyClient:
    """A client that is made when it is first asked for: a study that is complete starts no processes."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def __call__(self) -> Any:
        if self._made is None:
            self._made = self._make()
        return self._made


@contextmanager
def cluster_for(
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
