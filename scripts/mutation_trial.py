"""The trial that `scripts/mutate` makes: which mutants of the package its tests notice.

A map says which tests run the statement of which mutant: modules call a function there when the map is made.
Each mutant then meets the quickest of these tests, in a child of this process, which has imported NumPy,
SciPy, Numba and pytest, but nothing of the package.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numba
import pytest
import scipy.integrate
import scipy.optimize  # noqa: F401
from mutants import TOUCHED, Mutant, marked, mutants_of

ROOT = Path(os.environ["FLEXDYN_ROOT"])
PACKAGE = os.environ.get("FLEXDYN_MUTATED", "flexdyn_ros")
# nodes and browsers need other processes, and tests of the repository's form notice no mutant
TESTS_LEFT_OUT = ("nodes", "launch", "architecture", "writing", "scripts")
NOT_MUTATED = (f"{PACKAGE}/nodes/", f"{PACKAGE}/cli/ros/")
ENOUGH = 0.95
# s of processor time: a test and a file when mapped; tests that a mutant meets, at home and elsewhere; all
A_TEST, A_FILE, HOME, ELSEWHERE, A_MUTANT = 3.5, 9, 25, 20, 90
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0",
           "--import-mode=importlib", f"--rootdir={ROOT}",
           "-m", "not slow and not cold and not realtime and not ros"]  # fmt: skip


def in_children(tasks: Iterable, work: Callable, seconds: int, jobs: int) -> Iterator[tuple]:
    """Every task with what `work` makes of it in a child; None if the child needs too long or dies."""
    running: dict[int, tuple] = {}
    waiting = list(reversed(list(tasks)))
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                if waiting and len(running) < jobs:
                    task = waiting.pop()
                    result = Path(folder) / str(len(waiting))
                    child = os.fork()
                    if child == 0:
                        _child(work, task, seconds, result)
                    running[child] = task, result, time.monotonic() + 15 * seconds
                    continue
                time.sleep(0.02)
                for child, (task, result, deadline) in list(running.items()):
                    if os.waitpid(child, os.WNOHANG)[0] == child or time.monotonic() > deadline:
                        _end(child)
                        del running[child]
                        yield task, json.loads(result.read_text()) if result.exists() else None
        finally:
            for child in running:
                _end(child)


def _child(work: Callable, task: object, seconds: int, result: Path) -> None:
    with contextlib.suppress(BaseException):
        os.setsid()
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, signal.SIG_DFL)
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        kept = result.with_suffix(".part")
        kept.write_text(json.dumps(work(task)))
        kept.rename(result)
    os._exit(0)


def _end(child: int) -> None:
    """End a child and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


class Notes:
    """Of a file of tests, for pytest: what each passed test took, and which statements it touched."""

    def __init__(self):
        self.seconds, self.fixtures, self.touched = {}, {}, defaultdict(set)
        self.context, self.began, self.passed = "", time.process_time(), set()
        self.test, self.failing = "", set()
        setattr(builtins, TOUCHED, lambda *sites: self.touched[self.context].update(sites))
        sys.unraisablehook = self.unraisable

    def unraisable(self, error):
        """Leave out a test whose callbacks fail interpreted, as tangents do: its numbers are chance."""
        self.failing.add(self.test)

    def switch(self, context: str) -> str:
        before, self.context = self.context, context
        return before

    def pytest_runtest_protocol(self, item):
        if time.process_time() - self.began > A_FILE:
            return True
        self.switch(item.nodeid)
        self.test = item.nodeid
        self.seconds[item.nodeid] = -time.process_time()
        self.fixtures[item.nodeid] = [f"@{name}" for name in getattr(item, "fixturenames", ())]
        signal.signal(signal.SIGPROF, lambda *_: pytest.fail("takes too long interpreted"))
        signal.setitimer(signal.ITIMER_PROF, A_TEST, 0.1)  # again and again: callbacks from C lose exceptions
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call):
        if call.when == "call" or call.excinfo:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logfinish(self, nodeid):
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.seconds[nodeid] += time.process_time()
        self.switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        before = self.switch(f"@{fixturedef.argname}")
        try:
            return (yield)
        finally:
            self.switch(before)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


def interpreted(module: str) -> bool:
    """Whether a mutant needs kernels as functions of Python; others meet compiled kernels."""
    return "/kernels/" in module or module.startswith(f"{PACKAGE}/numerics/")


def _compile(kernels: bool) -> None:
    """Have kernels compiled in this child, or not."""
    numba.config.DISABLE_JIT = int(not kernels)
    os.environ["NUMBA_DISABLE_JIT"] = str(int(not kernels))


def touched(task: tuple[str, bool, dict]) -> dict:
    """Tests of a file that pass, their seconds, and for each statement of `sites` the tests that run it."""
    file, compiled, sites = task
    _compile(compiled)
    for module, lines in sites.items():
        source = marked((ROOT / module).read_bytes(), module, set(lines))
        sys.meta_path.insert(0, Other(module, source))
    notes = Notes()
    pytest.main([*OPTIONS, "-p", "no:unraisableexception", file], plugins=[notes])
    tests = [test for test in notes.seconds if test in notes.passed - notes.failing]
    users = defaultdict(list)
    for index, test in enumerate(tests):
        contexts = (test, *notes.fixtures[test])
        for site in set().union(*(notes.touched.get(context, ()) for context in contexts)):
            users[site].append(index)
    return {"tests": tests, "seconds": [round(notes.seconds[test], 3) for test in tests], "touched": users}


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:24]


def mapped(files: list[str], compiled: bool, sites: dict, folder: Path, jobs: int) -> dict[str, dict]:
    """Maps of files of tests, each made once for a text of the file and of the modules of `sites`."""
    texts = "".join(_hash(ROOT / module) for module in sites)
    asked = hashlib.sha256(f"{compiled}{sites}{texts}".encode()).hexdigest()[:24]
    kept = {file: folder / f"{_hash(ROOT / file)}-{asked}.json" for file in files}
    missing = [(file, compiled, sites) for file, place in kept.items() if not place.exists()]
    nothing = {"tests": [], "seconds": [], "touched": {}}
    for count, ((file, *_), result) in enumerate(in_children(missing, touched, 3 * A_FILE, jobs), 1):
        kept[file].write_text(json.dumps(result or nothing))
        print(f"map {count}/{len(missing)}: {file}: {len((result or nothing)['tests'])} tests", flush=True)
    return {file: json.loads(place.read_text()) for file, place in kept.items()}


def mirror(module: str) -> str:
    """The folder of tests that mirrors a module's folder, or its nearest parent."""
    folder = Path(module).parent.relative_to(PACKAGE)
    while folder.parts and not (ROOT / "test" / folder).is_dir():
        folder = folder.parent
    return str("test" / folder) + "/"


def chosen(mutant: Mutant, maps: dict[str, dict]) -> list[str]:
    """Tests that run the statement of a mutant, quickest first, each function once before any twice."""
    found: dict[bool, list] = {True: [], False: []}
    home = mirror(mutant.file)
    for file, known in maps.items():
        tests = known["touched"].get(f"{mutant.file}:{mutant.first}", ())
        turns: Counter = Counter()
        for index in sorted(tests, key=known["seconds"].__getitem__):
            name = known["tests"][index].partition("[")[0]
            found[file.startswith(home)].append((turns[name], known["seconds"][index], known["tests"][index]))
            turns[name] += 1
    tests = []
    for at_home, most in ((True, HOME), (False, ELSEWHERE)):
        spent = itertools.accumulate(seconds for _, seconds, _ in sorted(found[at_home]))
        ranked = zip(sorted(found[at_home]), spent)
        tests += [test for (_, _, test), total in ranked if total < most]
    return tests


class Other(importlib.machinery.SourceFileLoader):
    """Importer of one module of the package with another text."""

    def __init__(self, file: str, source: bytes | ast.Module):
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        super().__init__(name, str(ROOT / file))
        self.source = source

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec", dont_inherit=True)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = self
        return spec


class Failures:
    """The tests that fail, for pytest; so do those with an error in a callback, which C does not hand on."""

    def __init__(self):
        self.failed: list[str] = []
        self.test = ""
        sys.unraisablehook = self.unraisable

    def unraisable(self, error):
        self.failed.append(self.test)

    def pytest_runtest_logstart(self, nodeid):
        self.test = nodeid

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def met(task: tuple[Mutant, list[str], bool]) -> list:
    """Pytest's exit code and the tests that fail, with a mutant in place of its module."""
    mutant, tests, unchanged = task
    _compile(not interpreted(mutant.file))
    original = (ROOT / mutant.file).read_bytes()
    sys.meta_path.insert(0, Other(mutant.file, original if unchanged else mutant.source(original)))
    failures = Failures()
    code = pytest.main([*OPTIONS, "-p", "no:unraisableexception", "-x", *tests], plugins=[failures])
    return [int(code) or int(bool(failures.failed)), failures.failed]


def drawn(seed: int, count: int, only: list[str], kernels: bool) -> list[Mutant]:
    """Mutants of kernels, or of the rest of the package, each as likely as the others."""
    every: list[Mutant] = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        if (
            file.startswith(tuple(only))
            and not file.startswith(NOT_MUTATED)
            and kernels == ("/kernels/" in file)
        ):
            every += mutants_of(file, path.read_bytes())
    random.Random(seed).shuffle(every)
    return every[:count]


COLUMNS = ("killed", "killed elsewhere", "survived", "not run")


def verdict(mutant: Mutant, tests: list[str], result: list | None) -> str:
    """The column of a mutant: `killed` by a test of its folder, the time limit, or when tests are read."""
    if not tests or (result and result[0] == pytest.ExitCode.NO_TESTS_COLLECTED):
        return "not run"
    if result and result[0] == pytest.ExitCode.OK:
        return "survived"
    at_home = not result or not result[1] or result[1][0].startswith(mirror(mutant.file))
    return "killed" if at_home else "killed elsewhere"


def report(tasks: list[tuple], jobs: int) -> bool:
    """Try mutants, print each and a table by folder; whether enough of those that a test runs are killed."""
    table: dict[str, Counter] = defaultdict(Counter)
    survivors: list[str] = []
    unmet = [(task, None) for task in tasks if not task[1]]
    tried = in_children([task for task in tasks if task[1]], met, A_MUTANT, jobs)
    for count, ((mutant, tests, _), result) in enumerate(itertools.chain(unmet, tried), 1):
        word = verdict(mutant, tests, result)
        part = "kernels" if "/kernels/" in mutant.file else "rest"
        for row in (f"all {part}", f"{part}: {'/'.join(mutant.file.split('/')[1:3])}"):
            table[row][word] += 1
        line = f"{word}: {mutant.told((ROOT / mutant.file).read_bytes())}"
        print(f"{count}/{len(tasks)} {line}  [{(result or [0, []])[1][:1] or len(tests)}]", flush=True)
        if word == "survived":
            survivors.append(line)
    print("\n".join(sorted(survivors)))
    print(f"{'':44}" + "".join(f"{column:>18}" for column in COLUMNS))
    for row in sorted(table):
        print(f"{row:44}" + "".join(f"{table[row][column]:18}" for column in COLUMNS))
    shares = {}
    for row in sorted(row for row in table if row.startswith("all ")):
        killed = table[row]["killed"] + table[row]["killed elsewhere"]
        shares[row] = killed / max(1, killed + table[row]["survived"])
        print(f"{row}: {100 * shares[row]:.1f} % of those that a test runs are killed")
    return all(share >= ENOUGH for share in shares.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="mutants of kernels, and as many of the rest")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="PATH", help="mutants of these files or folders"
    )
    parser.add_argument(
        "--tests", nargs="+", default=[""], metavar="PATH", help="meet the tests of these alone"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--unchanged", action="store_true", help="leave the mistakes out: no test may fail")
    options = parser.parse_args()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: sys.exit(130))  # children are ended on the way out
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flexdyn_ros"
    kept = cache / "mutate" / _hash(Path(__file__))  # maps made by another text of this script are not read
    kept.mkdir(parents=True, exist_ok=True)
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "test").rglob("test_*.py"))
             if path.relative_to(ROOT / "test").parts[0] not in TESTS_LEFT_OUT]  # fmt: skip
    files = [file for file in files if file.startswith(tuple(options.tests))]
    mutants = [mutant for kernels in (True, False)
               for mutant in drawn(options.seed, options.count, options.only, kernels)]  # fmt: skip
    sites: dict[bool, dict] = {}
    for mutant in sorted(mutants):
        lines = sites.setdefault(not interpreted(mutant.file), {}).setdefault(mutant.file, [])
        lines.extend({mutant.first} - set(lines))
    maps = {kind: mapped(files, kind, sites[kind], kept, options.jobs) for kind in sites}
    tasks = [
        (mutant, chosen(mutant, maps[not interpreted(mutant.file)]), options.unchanged) for mutant in mutants
    ]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        # what is compiled from a mutant is kept for nobody
        if True in sites and (cache / "kernels").exists():
            shutil.copytree(cache / "kernels", f"{folder}/flexdyn_ros/kernels", copy_function=os.link)
        os.environ["XDG_CACHE_HOME"] = folder
        return not report(tasks, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
