"""Load the entries of the kernels, compiling those that are not in the cache yet.

    python -m flexdyn_ros.numerics.compiling.warmup [GROUP ...]

GROUP is `start` (the default: rigid and flexible trees, asked for one state and simulated), `demo` (what
scripts/demo uses), `common` (all families, without what few people call), `all`, or a pattern of names such
as `continuum.*`. After it, first calls cost milliseconds. Entries that are left out compile at their first
call. `flexdyn warm` does the same with a progress bar.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from multiprocessing import get_context

from flexdyn_ros.numerics.compiling.cache import cache_folder
from flexdyn_ros.numerics.compiling.warmup_names import WarmUpError, entries_of, names_of, shown

__all__ = ["WarmUpError", "load_entry", "warm_up"]


def load_entry(name: str) -> float:
    """Load the entry PACKAGE.MODULE.FUNCTION; returns the seconds it took."""
    module, _, function = name.rpartition(".")
    begin = time.perf_counter()
    entries_of(importlib.import_module(module))[function].load()
    return time.perf_counter() - begin


def _begin_worker() -> None:
    """In a process that compiles: the parent reports and is interrupted; when it is gone, so is this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("flexdyn_ros").setLevel(logging.ERROR)
    _end_with_parent()


def _end_with_parent() -> None:
    from threading import Thread

    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def warm_up(
    report: Callable[[str, float, int, int], None] | None = None,
    processes: int = 1,
    groups: Iterable[str] = ("all",),
) -> float:
    """Load the entries of groups in so many processes; returns the seconds taken.

    report(name, seconds, done, total) is called after each entry.

    Raises
    ------
    WarmUpError
        If a group is unknown or a kernel cannot be compiled.
    """
    names = names_of(groups)
    called = shown(names)
    start = time.perf_counter()
    shares = _Shares(names)
    with ExitStack() as ending:
        pools = [_one_process(ending) for _ in range(max(1, min(processes, len(names))))]
        running = {
            pool.submit(load_entry, name): (pool, name) for pool in pools if (name := shares.next(pool))
        }
        done = 0
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, name = running.pop(future)
                seconds, done = _result(called[name], future), done + 1
                if report is not None:
                    report(called[name], seconds, done, len(names))
                if following := shares.next(pool):
                    running[pool.submit(load_entry, following)] = pool, following
    return time.perf_counter() - start


def _one_process(ending: ExitStack) -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin_worker)
    ending.callback(pool.shutdown, wait=True, cancel_futures=True)
    return pool


class _Shares:
    """Which process compiles what.

    The entries of a module share their callees, so that one process takes them all; one that has nothing else
    to do helps another.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._waiting: dict[str, list[str]] = {}
        for name in names:
            self._waiting.setdefault(name.rpartition(".")[0], []).append(name)
        self._taken: dict[object, str] = {}

    def next(self, process: object) -> str | None:
        """The entry that a process compiles next; None when all are taken."""
        module = self._taken.get(process)
        if not self._waiting.get(module or ""):
            taken = set(self._taken.values())
            left = {name: len(entries) for name, entries in self._waiting.items() if entries}
            free = [name for name in left if name not in taken]
            module = free[0] if free else max(left, key=lambda name: left[name], default=None)
            if module is None:
                return None
            self._taken[process] = module
        return self._waiting[module or ""].pop(0)


def _result(name: str, future) -> float:
    try:
        return future.result()
    except BrokenProcessPool:
        raise WarmUpError(f"kernel {name} could not be compiled: a compiling process was ended") from None
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        cause = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
        raise WarmUpError(f"kernel {name} could not be compiled: {cause}") from error


def main() -> int:
    """Warm up and print what took how long; with --quiet only the sum."""
    groups = [word for word in sys.argv[1:] if not word.startswith("-")] or ["start"]
    quiet = "--quiet" in sys.argv[1:]
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def report(name: str, seconds: float, done: int, total: int) -> None:
        sys.stdout.write(f"[{done:3d}/{total}] {name:50s} {seconds:7.2f} s\n")
        sys.stdout.flush()

    try:
        seconds = warm_up(None if quiet else report, min(os.cpu_count() or 1, 8), groups)
    except WarmUpError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was compiled is kept\n")
        return 130
    sys.stdout.write(f"kernels ready in {seconds:.1f} s, kept in {cache_folder()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
