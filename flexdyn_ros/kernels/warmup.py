"""Load every entry of the kernels, compiling those that are not in the cache yet: `python -m
flexdyn_ros.kernels.warmup`.

After it, first calls cost milliseconds. Entries that are specialised lazily (kernels without a signature)
are not here.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from collections.abc import Iterator

import flexdyn_ros.kernels as package
from flexdyn_ros.kernels.compiler import Entry, cache_folder

__all__ = ["entries", "warm_up"]


def entries() -> Iterator[tuple[str, Entry]]:
    """Every Entry defined in a module of kernels/: its name MODULE.FUNCTION, and the entry."""
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        if info.name in ("warmup", "__main__"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Entry) and value.function.__module__ == module.__name__:
                yield f"{info.name}.{name}", value


def warm_up(report=None) -> float:
    """Load all entries; report(name, seconds, done, total) is called after each. Returns the seconds
    taken.
    """
    found = list(entries())
    start = time.perf_counter()
    for done, (name, entry) in enumerate(found, 1):
        begin = time.perf_counter()
        entry.load()
        if report is not None:
            report(name, time.perf_counter() - begin, done, len(found))
    return time.perf_counter() - start


def main() -> int:
    """Warm up and print what took how long; with --quiet only the sum."""
    quiet = "--quiet" in sys.argv[1:]

    def report(name: str, seconds: float, done: int, total: int) -> None:
        sys.stdout.write(f"[{done:3d}/{total}] {name:50s} {seconds:7.2f} s\n")
        sys.stdout.flush()

    seconds = warm_up(None if quiet else report)
    sys.stdout.write(f"kernels ready in {seconds:.1f} s, kept in {cache_folder()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
