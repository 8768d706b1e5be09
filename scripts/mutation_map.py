"""Which tests run which blocks of the package: a map for each file of tests, made once for a text of it.

Maps outlive changes of the package: the block of a function that stays as it was is found by its name; one of
a function that changed may be run by each test that runs any block of its file.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import blocks
import numba
import numpy as np
import other_texts
import pytest
from forks import in_children

ROOT = Path(os.environ["FLEXDYN_ROOT"])
PACKAGE = os.environ.get("FLEXDYN_MUTATED", "flexdyn_ros")
# tests of the repository's form notice no mutant, and what starts nodes waits for them; messages alone do not
TESTS_LEFT_OUT = ("nodes", "launch", "architecture", "writing", "scripts")
STARTS_NODES = re.compile(r"node_process|^(from|import) rclpy(?!\.serialization)|^rclpy = ", re.MULTILINE)
# s: what a test may take, of its process and by the clock; a file, in whose second half few cases are run
A_TEST, A_LONG_TEST, A_FILE, CASES = 3.5, 15, {True: 30, False: 14}, 4
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0",
           "--import-mode=importlib", f"--rootdir={ROOT}"]  # fmt: skip
MARKS = "not slow and not cold and not realtime"


def files_of_tests() -> list[str]:
    """Those that a mutant may meet."""
    found = []
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        folder = path.relative_to(ROOT / "test").parts[0]
        text = path.read_text() if folder == "nodes" else ""
        of_messages = "flexdyn_ros.simulation" in text and not STARTS_NODES.search(text)
        if of_messages or folder not in TESTS_LEFT_OUT:
            found.append(str(path.relative_to(ROOT)))
    return found


def spent() -> float:
    """s of processors that this process took, and those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Notes:
    """Of a file of tests, for pytest: what each passed test took, and which marks it set."""

    def __init__(self, marks: np.ndarray, most: float):
        self.marks, self.most = marks, most
        self.seconds, self.fixtures, self.touched = {}, {}, defaultdict(set)
        self.context, self.began, self.passed = "", spent(), set()
        self.test, self.failing, self.cases = "", set(), Counter()
        sys.unraisablehook = self.unraisable

    def unraisable(self, error):
        """Leave out a test whose callbacks fail interpreted, as tangents do: its numbers are chance."""
        self.failing.add(self.test)

    def switch(self, context: str) -> str:
        self.touched[self.context].update(np.flatnonzero(self.marks).tolist())
        self.marks[:] = 0
        before, self.context = self.context, context
        return before

    def pytest_runtest_protocol(self, item):
        so_far = spent() - self.began
        name = item.nodeid.partition("[")[0]
        if so_far > self.most or (so_far > self.most / 2 and self.cases[name] >= CASES):
            return True
        self.cases[name] += 1
        self.switch(item.nodeid)
        self.test = item.nodeid
        self.seconds[item.nodeid] = -spent()
        self.fixtures[item.nodeid] = [f"@{name}" for name in getattr(item, "fixturenames", ())]
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, lambda *_: pytest.fail("takes too long"))
        signal.setitimer(signal.ITIMER_PROF, A_TEST, 0.1)  # again and again: callbacks from C lose exceptions
        signal.setitimer(signal.ITIMER_REAL, A_LONG_TEST, 0.1)
        return None

    @staticmethod
    def stop_clocks():
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call):
        if call.when == "call" or call.excinfo:
            self.stop_clocks()

    def pytest_runtest_logfinish(self, nodeid):
        self.stop_clocks()
        self.seconds[nodeid] += spent()
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


def have_compiled(kernels: bool) -> None:
    """Have kernels compiled in this fork and what it starts, or not."""
    numba.config.DISABLE_JIT = int(not kernels)
    os.environ["NUMBA_DISABLE_JIT"] = str(int(not kernels))


def dotted(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mark_all(folder: Path, compiled: bool) -> list[tuple[str, str, str]]:
    """Fill a folder with the marked modules of the package: for each mark its file, digest and block."""
    texts, found = {}, []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        module, source = str(path.relative_to(ROOT)), path.read_bytes()
        if interpreted(module) != compiled:
            tree, new = blocks.marked(source, len(found))
            texts[dotted(module)] = str(path), tree
            found += [(module, blocks.digest(source), name) for name in new]
    other_texts.write(folder, texts, max(1, len(found)))
    return found


def noted(task: tuple[str, bool, Path, list]) -> dict:
    """Tests of a file that pass, their seconds, and by file and name the tests that run a block."""
    file, compiled, folder, places = task
    have_compiled(compiled)
    other_texts.hand_on(folder)
    notes = Notes(np.frombuffer(other_texts.install(), dtype=np.uint8), A_FILE[compiled])
    marks = MARKS if file.startswith("test/nodes/") else f"{MARKS} and not ros"
    pytest.main([*OPTIONS, "-m", marks, "-p", "no:unraisableexception", file], plugins=[notes])
    tests = [test for test in notes.seconds if test in notes.passed - notes.failing]
    modules: dict[str, dict] = {}
    for index, test in enumerate(tests):
        contexts = (test, *notes.fixtures[test])
        for mark in set().union(*(notes.touched.get(context, ()) for context in contexts)):
            module, text, name = places[mark]
            known = modules.setdefault(module, {"text": text, "blocks": {}})
            known["blocks"].setdefault(name, []).append(index)
    return {"tests": tests, "seconds": [round(notes.seconds[test], 3) for test in tests], "modules": modules}


def mapped(files: list[str], compiled: bool, kept: Path, jobs: int) -> dict[str, dict]:
    """Maps of files of tests; those that are missing are made."""
    places = {file: kept / f"{blocks.digest((ROOT / file).read_bytes())}-{compiled}.json" for file in files}
    missing = [file for file, place in places.items() if not place.exists()]
    with tempfile.TemporaryDirectory() as parent:
        marks = mark_all(Path(parent), compiled) if missing else []
        tasks = []
        for count, file in enumerate(missing):
            # marks of its own for each file: several are run at once
            folder = Path(parent) / str(count)
            folder.mkdir()
            for text in Path(parent).glob("*.*"):
                os.link(text, folder / text.name)
            (folder / "marks").write_bytes((Path(parent) / "marks").read_bytes())
            tasks.append((file, compiled, folder, marks))
        made = in_children(tasks, noted, 4 * A_FILE[compiled], jobs)
        for count, ((file, *_), found) in enumerate(made, 1):
            result = found if isinstance(found, dict) else None
            places[file].write_text(json.dumps(result or {"tests": [], "seconds": [], "modules": {}}))
            print(
                f"map {count}/{len(missing)}: {file}: {len((result or {'tests': ()})['tests'])} tests",
                flush=True,
            )
    return {file: json.loads(place.read_text()) for file, place in places.items()}


class Use(NamedTuple):
    """A test that may run a block; `turn` counts the cases of its function, last are those of older maps."""

    turn: int
    seconds: float
    test: str


def users(known: dict, module: str, block: str, text: str) -> list[Use]:
    """Tests of a map that run a block of a module with this text, each function once before any twice."""
    seen = known["modules"].get(module)
    if seen is None:
        return []
    function = block.partition(":")[0]
    is_known = seen["text"] == text or any(name.startswith(f"{function}:") for name in seen["blocks"])
    wanted = [block] if is_known and block != blocks.OUTSIDE else seen["blocks"]
    tests = {index for name in wanted for index in seen["blocks"].get(name, ())}
    turns: Counter = Counter()
    found = []
    for index in sorted(tests, key=known["seconds"].__getitem__):
        test = known["tests"][index]
        turns[test.partition("[")[0]] += 1
        turn = turns[test.partition("[")[0]] + (0 if is_known else 1000)
        found.append(Use(turn, known["seconds"][index], test))
    return found
