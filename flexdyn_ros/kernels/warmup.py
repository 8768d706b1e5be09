"""Load the entries of the kernels, compiling those that are not in the cache yet.

    python -m flexdyn_ros.kernels.warmup [GROUP ...]

GROUP is `start` (the default: rigid and flexible trees, asked for one state and simulated), `demo` (what
scripts/demo uses), `common` (all families, without what few people call), `all`, or a pattern of names such
as `continuum.*`. After it, first calls cost milliseconds. Entries that are left out compile at their first
call. `flexdyn warm` does the same with a progress bar.
"""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path

from flexdyn_ros.kernels.cache_folder import cache_folder

__all__ = ["GROUPS", "WarmUpError", "entries", "load_entry", "names_of", "warm_up"]

#: what few people call and what takes long: second formulations, exact derivatives of soft, wheeled and
#: hydraulic robots, trees on wheels that are not planar, mass matrices of mimic joints
RARE = (
    "coriolis.*",
    "lagrange*",
    "tree_wheels*",
    "*.accelerate_densely",
    "*.partial_dynamics_many",
    "*.momenta_many",
    "continuum.inverse_dynamics_derivatives_many",
    "mobile.inverse_dynamics_derivatives_many",
    "mobile.joint_forces_many",
    "platform_verbs.balance_derivatives_many",
    "platform_verbs.reactions_many",
    "hydraulics_forces.report",
)

#: what scripts/demo calls: Canadarm2 with flexible and with rigid booms, simulated and slewed
DEMO = (
    "steppers.*",
    "flexible_steps.*",
    "rigid_steps.*",
    "expanded.bent_frames",
    "flexible.prepare_one",
    "flexible.inverse_dynamics_one",
    "flexible.forward_dynamics_one",
    "flexible.mass_matrix_one",
    "flexible.mass_matrix_many",
    "flexible.bias_terms_many",
    "flexible.energy_many",
    "flexible.inverse_dynamics_derivatives_many",
    "rigid.prepare_one",
    "rigid.inverse_dynamics_one",
    "rigid.forward_dynamics_one",
    "rigid.mass_matrix_one",
    "rigid.mass_matrix_many",
    "rigid.bias_terms_many",
    "rigid.energy_many",
    "rigid.difference_many",
    "rigid.integrate_many",
    "rigid.inverse_dynamics_derivatives_many",
)

#: what everybody waits for: at most five minutes of processor time. Batches, wrenches and the other families
#: compile when they are first called
START = (
    *DEMO,
    "steppers_controlled.*",
    "rigid.frames_many",
    "rigid.jacobian_many",
    "flexible.frames_many",
    "flexible.jacobian_many",
)

#: patterns of the names that a group takes, and of those that it leaves out
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "demo": (DEMO, RARE),
    "start": (START, RARE),
    "common": (("*",), RARE),
    "all": (("*",), ()),
}

#: entries that take longest to compile: they go first, so that no process is left alone with one at the end
_LONGEST = ("flexible_steps.accelerate", "advance", "accelerate", "derivatives", "loaded", "many")

_FOLDER = Path(__file__).parent


class WarmUpError(Exception):
    """A kernel that could not be compiled, with its cause in one line."""


def entries() -> Iterator[tuple[str, object]]:
    """Every Entry and Callback defined in a module of kernels/: its name MODULE.FUNCTION, and itself."""
    from flexdyn_ros.kernels.compiler import Entry
    from flexdyn_ros.kernels.motion import Callback

    for info in sorted(pkgutil.iter_modules([str(_FOLDER)]), key=lambda info: info.name):
        if info.name in ("warmup", "__main__"):
            continue
        module = importlib.import_module(f"flexdyn_ros.kernels.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Entry | Callback) and value.function.__module__ == module.__name__:
                yield f"{info.name}.{name}", value


def names_of(groups: Iterable[str]) -> list[str]:
    """Names of the entries in groups (or of patterns), those that take longest first.

    Raises
    ------
    WarmUpError
        If a group is unknown and no name fits it as a pattern.
    """
    every = [name for name, _ in entries()]
    chosen: set[str] = set()
    for group in groups:
        wanted, left_out = GROUPS.get(group, ((group,), ()))
        fitting = {name for name in every if _fits(name, wanted) and not _fits(name, left_out)}
        if not fitting:
            known = ", ".join(GROUPS)
            raise WarmUpError(f"no kernel fits {group!r}, expected {known} or a pattern such as 'rigid.*'")
        chosen |= fitting
    rank = {
        name: next((i for i, word in enumerate(_LONGEST) if word in name), len(_LONGEST)) for name in every
    }
    return sorted(chosen, key=lambda name: (rank[name], name))


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def load_entry(name: str) -> float:
    """Load the entry MODULE.FUNCTION; returns the seconds it took."""
    module, function = name.split(".")
    begin = time.perf_counter()
    getattr(importlib.import_module(f"flexdyn_ros.kernels.{module}"), function).load()
    return time.perf_counter() - begin


def _begin_worker() -> None:
    """In a process that compiles: the parent reports and is interrupted; when it is gone, so is this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("flexdyn_ros.kernels").setLevel(logging.ERROR)
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
                seconds, done = _result(name, future), done + 1
                if report is not None:
                    report(name, seconds, done, len(names))
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
            self._waiting.setdefault(name.partition(".")[0], []).append(name)
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
