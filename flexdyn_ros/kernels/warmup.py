"""Load every entry of the kernels, compiling those that are not in the cache yet: `python -m
flexdyn_ros.kernels.warmup`.

After it, first calls cost milliseconds. Entries that are specialised lazily (kernels without a signature)
are not here.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import flexdyn_ros.kernels as package
from flexdyn_ros.kernels.cache import cache_folder
from flexdyn_ros.kernels.compiler import Entry
from flexdyn_ros.kernels.motion import Callback

__all__ = ["entries", "load_entry", "warm_up"]


def entries() -> Iterator[tuple[str, Entry | Callback]]:
    """Every Entry and Callback defined in a module of kernels/: its name MODULE.FUNCTION, and itself."""
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        if info.name in ("warmup", "__main__"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Entry | Callback) and value.function.__module__ == module.__name__:
                yield f"{info.name}.{name}", value


#: entries that take longest to compile: they go first, so that no process is left alone with one at the end
_LONGEST = ("advance", "accelerate", "derivatives", "loaded", "many")


def load_entry(name: str) -> float:
    """Load the entry MODULE.FUNCTION; returns the seconds it took."""
    module, function = name.split(".")
    begin = time.perf_counter()
    getattr(importlib.import_module(f"{package.__name__}.{module}"), function).load()
    return time.perf_counter() - begin


def warm_up(report: Callable[[str, float, int, int], None] | None = None, processes: int = 1) -> float:
    """Load all entries in so many processes; report(name, seconds, done, total) is called after each. Returns
    the seconds taken.
    """
    names = [name for name, _ in entries()]
    names.sort(key=lambda name: next((i for i, word in enumerate(_LONGEST) if word in name), len(_LONGEST)))
    start = time.perf_counter()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(load_entry, name): name for name in names}
        for done, future in enumerate(as_completed(running), 1):
            if report is not None:
                report(running[future], future.result(), done, len(names))
            future.result()
    return time.perf_counter() - start


def main() -> int:
    """Warm up and print what took how long; with --quiet only the sum."""
    quiet = "--quiet" in sys.argv[1:]

    def report(name: str, seconds: float, done: int, total: int) -> None:
        sys.stdout.write(f"[{done:3d}/{total}] {name:50s} {seconds:7.2f} s\n")
        sys.stdout.flush()

    seconds = warm_up(None if quiet else report, processes=min(os.cpu_count() or 1, 8))
    sys.stdout.write(f"kernels ready in {seconds:.1f} s, kept in {cache_folder()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
