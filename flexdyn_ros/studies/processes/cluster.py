"""A client of the cluster that computes a study: one that exists, or processes on this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

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
    from distributed import Client, LocalCluster

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
                scheduler_kwargs={"dashboard": dashboard}, silence_logs=50,
            )  # fmt: skip
        finally:
            if in_main:
                signal.signal(signal.SIGINT, before)
        with closing(cluster), closing(Client(cluster, set_as_default=False)) as client:
            yield client
