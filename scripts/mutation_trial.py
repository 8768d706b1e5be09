"""The trial that `scripts/mutate` makes: which mutants of the package its tests notice.

A map says which tests run the statement of which mutant (`mutation_map.py`). Each mutant then meets the
quickest of these tests, in a fork of this process, which has imported NumPy, SciPy, Numba and pytest, but
nothing of the package; processes that tests start meet it too.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import blocks
import other_texts
import pytest
import scipy.integrate
import scipy.optimize  # noqa: F401
from forks import WAITED, in_children
from mutants import Mutant, mutants_of
from mutation_map import (
    MARKS,
    OPTIONS,
    PACKAGE,
    ROOT,
    Use,
    dotted,
    files_of_tests,
    have_compiled,
    interpreted,
    mapped,
    users,
)  # fmt: skip

NOT_MUTATED = (f"{PACKAGE}/nodes/", f"{PACKAGE}/cli/ros/")
ENOUGH = 0.95
# mistakes that were looked at and stay, with the reason: file, line, change, which of several alike
# modules whose tests lie in the folder of their subject
SUBJECTS = {
    "multibody/elements/cylinder": "hydraulics",
    "families/trees/elements": "multibody",
    "families/trees/loops": "multibody",
    "numerics/stepping": "simulation",
}
EXPLAINED = ROOT / "scripts" / "mutants_explained.tsv"
# s: tests that a mutant meets, at home and elsewhere; s of processor time that it may take
HOME, ELSEWHERE, A_MUTANT = 25, 20, 90


def homes(module: str) -> tuple[str, ...]:
    """Folders of a module's tests: the one that mirrors its own, or its nearest parent; its subject's."""
    own = Path(module).parent.relative_to(PACKAGE)
    folder = own
    while folder.parts and not (ROOT / "test" / folder).is_dir():
        folder = folder.parent
    subjects = {subject for part, subject in SUBJECTS.items() if own.is_relative_to(part)}
    return tuple(f"{Path('test') / name}/" for name in (folder, *sorted(subjects)))


def chosen(mutant: Mutant, maps: dict[str, dict]) -> list[str]:
    """Tests that run the statement of a mutant, quickest first, each function once before any twice."""
    source = (ROOT / mutant.file).read_bytes()
    block, text = blocks.names(source).get(mutant.first, blocks.OUTSIDE), blocks.digest(source)
    found: dict[bool, list[Use]] = {True: [], False: []}
    for file, known in maps.items():
        found[file.startswith(homes(mutant.file))] += users(known, mutant.file, block, text)
    tests = []
    for at_home, most in ((True, HOME), (False, ELSEWHERE)):
        ranked = sorted(found[at_home])
        spent = itertools.accumulate(use.seconds for use in ranked)
        tests += [use.test for use, total in zip(ranked, spent) if total < most]
    return tests


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
    have_compiled(not interpreted(mutant.file))
    original = (ROOT / mutant.file).read_bytes()
    text = original if unchanged else mutant.source(original)
    with tempfile.TemporaryDirectory() as folder:
        other_texts.write(Path(folder), {dotted(mutant.file): (str(ROOT / mutant.file), text)})
        other_texts.hand_on(Path(folder))
        other_texts.install()
        failures = Failures()
        code = pytest.main(
            [*OPTIONS, "-p", "no:unraisableexception", "-m", MARKS, "-x", *tests], plugins=[failures]
        )
    return [int(code) or int(bool(failures.failed)), failures.failed]


class Place(NamedTuple):
    """What names a mutant while other lines change; `turn` counts those that are alike otherwise, from 1."""

    file: str
    line: str
    change: str
    turn: str

    def drawn(self, seed: int) -> str:
        """A number that seems to be chance."""
        return blocks.digest(f"{seed} {self.file} {self.change} {self.line.encode()!r} {self.turn}".encode())


def placed(file: str) -> Iterator[tuple[Place, Mutant]]:
    """Every mutant of a module."""
    source = (ROOT / file).read_bytes()
    lines = source.splitlines()
    turns: Counter = Counter()
    for mutant in mutants_of(file, source):
        alike = file, lines[mutant.line - 1].decode().strip(), mutant.change(source)
        turns[alike] += 1
        yield Place(*alike, str(turns[alike])), mutant


def drawn(seed: int, count: int, only: list[str], kernels: bool) -> list[Mutant]:
    """Mutants of kernels, or of the rest of the package, each as likely as the others.

    Each is drawn by what names it: changes elsewhere leave a draw as it is.
    """
    every: list[tuple[str, Mutant]] = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        file = str(path.relative_to(ROOT))
        if not file.startswith(NOT_MUTATED) and kernels == ("/kernels/" in file):
            every += [(place.drawn(seed), mutant) for place, mutant in placed(file)]
    chosen = [mutant for _, mutant in sorted(every) if mutant.file.startswith(tuple(only))]
    return chosen[:count]


def explained() -> dict[Place, str]:
    """Why no test can notice a mutant, or none should: those that were looked at."""
    if not EXPLAINED.exists():
        return {}
    rows = [line.split("\t") for line in EXPLAINED.read_text().splitlines() if line]
    return {Place(*row[:4]): row[4] for row in rows}


COLUMNS = ("killed", "killed elsewhere", "survived", "explained", "waited", "not run")


def verdict(mutant: Mutant, tests: list[str], result: list | str | None) -> str:
    """The column of a mutant: `killed` by a test of its folder, the time limit, or when tests are read.

    One that was waited for in vain is neither killed nor not: a busy machine may be why.
    """
    if result == WAITED:
        return WAITED
    if not tests or (result and result[0] == pytest.ExitCode.NO_TESTS_COLLECTED):
        return "not run"
    if result and result[0] == pytest.ExitCode.OK:
        return "survived"
    at_home = not result or not result[1] or result[1][0].startswith(homes(mutant.file))
    return "killed" if at_home else "killed elsewhere"


def report(tasks: list[tuple], jobs: int) -> bool:
    """Try mutants, print each and a table by folder; whether enough of those that a test runs are killed."""
    table: dict[str, Counter] = defaultdict(Counter)
    survivors: list[str] = []
    why = explained()
    files = {place.file for place in why if (ROOT / place.file).exists()}
    known = {mutant: why[place] for file in files for place, mutant in placed(file) if place in why}
    unmet = [(task, None) for task in tasks if not task[1]]
    tried = in_children([task for task in tasks if task[1]], met, A_MUTANT, jobs)
    for count, ((mutant, tests, _), result) in enumerate(itertools.chain(unmet, tried), 1):
        word = verdict(mutant, tests, result)
        if word in ("survived", "waited", "not run") and mutant in known:
            word = "explained"
        part = "kernels" if "/kernels/" in mutant.file else "rest"
        for row in (f"all {part}", f"{part}: {'/'.join(mutant.file.split('/')[1:3])}"):
            table[row][word] += 1
        line = f"{word}: {mutant.told((ROOT / mutant.file).read_bytes())}"
        failed = result[1][:1] if isinstance(result, list) else []
        found = known[mutant] if word == "explained" else failed or len(tests)
        print(f"{count}/{len(tasks)} {line}  [{found}]", flush=True)
        if word in ("survived", "waited"):
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
    makers = b"".join(
        (Path(__file__).parent / name).read_bytes() for name in ("blocks.py", "mutation_map.py")
    )
    kept = cache / "mutate" / blocks.digest(makers)  # maps that others made are not read
    kept.mkdir(parents=True, exist_ok=True)
    files = [file for file in files_of_tests() if file.startswith(tuple(options.tests))]
    mutants = [mutant for kernels in (True, False)
               for mutant in drawn(options.seed, options.count, options.only, kernels)]  # fmt: skip
    kinds = {not interpreted(mutant.file) for mutant in mutants}
    maps = {compiled: mapped(files, compiled, kept, options.jobs) for compiled in sorted(kinds)}
    tasks = [
        (mutant, chosen(mutant, maps[not interpreted(mutant.file)]), options.unchanged) for mutant in mutants
    ]
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        # what is compiled from a mutant is kept for nobody
        if True in kinds and (cache / "kernels").exists():
            shutil.copytree(cache / "kernels", f"{folder}/flexdyn_ros/kernels", copy_function=os.link)
        os.environ["XDG_CACHE_HOME"] = folder
        return not report(tasks, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
