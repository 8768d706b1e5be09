"""Mistakes made on purpose: those that tests notice, and those that they do not."""

import os
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import blocks
from mutants import mutants_of
from other_texts import TOUCHED

SCRIPTS = Path(__file__).parents[2] / "scripts"

TOY = b'''"""A module."""
from __future__ import annotations

LIMIT: dict[int, int] = 10


def doubled(x: tuple[int, 3]) -> int:
    """Twice: 2 * x."""
    return 2 * x


def capped(x):
    if x > LIMIT:
        raise ValueError(f"{x + 1} > 10")
    return x


def unused(x):
    return x - 1
'''
TESTS = """
from toy.numbers import capped, doubled

def test_numbers():
    assert doubled(3) == 6 and capped(5) == 5
"""


MORE_TESTS = """
import pytest
from toy.numbers import capped, unused

def test_more_numbers():
    assert capped(10) == unused(11)
    with pytest.raises(ValueError):
        capped(11)
"""


def told(source: bytes) -> list[str]:
    return [mutant.told(source).removeprefix("m.py:") for mutant in mutants_of("m.py", source)]


def test_a_module_is_changed_where_it_computes_and_not_where_it_speaks():
    assert told(TOY) == [
        "4: 10 -> 11", "9: 2 * x -> (2 / x)", "9: 2 -> 3", "13: x > LIMIT -> (not (x > LIMIT))",
        "13: x > LIMIT -> (x >= LIMIT)", '14: raise ValueError(f"{x + 1} > 10") -> pass',
        "19: x - 1 -> (x + 1)", "19: 1 -> 2",
    ]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), [
    ("-x", ["x"]), ("a and not b", ["a or not b", "b"]), ("M[i, j]", ["M[j, i]"]),
    ("y = f(a, b)", ["f(b, a)"]),
    ("y = max(a, b)", []), ("1e-9", []), ("0.5", ["0.55"]), ("True", ["False"]), ("print(1)", []),
    ("y = smaller(larger(a, b), plus(c, mul(d, e)))", []),
    ("y = select(either(a, b), c, c)", ["select(c, either(a, b), c)"]),
    ("y = np.clip(x, a, b)", ["np.clip(x, b, a)"]), ("a + (x - x)", ["x + x"]), ("s = x - x", ["x + x"]),
    ("'a' + b", []), ("x.clear()", ["pass"]), ("x[k] += y", ["pass", "x[k] -= y"]), ("x.y = z", ["pass"]),
    ("@when_compiling\ndef f(): return a + b", []), ("@leaf\ndef f(): return a + b", ["a - b"]),
    ("assert x > 1", []), ("y = zip(x, strict=True)", []),
    ("y = column(A, k, j)", ["column(k, A, j)"]), ("t = Thread(f, daemon=True)", []),
    ("y = f(0.0, False)", ["1.0", "True"]), ("y = equal(a, b)", []),
    ("MOST_ROUNDS = 8", []), ("KEPT = 8", []), ("_KEPT = 0.5", ["0.55"]),
    ("y = 0.0 * x", ["1.0"]), ("1e30", []),
    ("y = window(x, 3, 2)", ["window(3, x, 2)", "window(x, 2, 3)", "4"]),
    ("y = window(x, i, 2 * n)", ["window(i, x, 2 * n)", "window(x, 2 * n, i)", "2 / n"]),
    ("y = window(x, i, n - 1)", ["window(i, x, n - 1)", "window(x, n - 1, i)", "n + 1", "2"]),
    ("_NEAR, _HALVINGS, y = 0.5, 30, -x", ["0.55", "x"]),
])  # fmt: skip
def test_a_mistake(before, after):
    texts = [mutant.text for mutant in mutants_of("m.py", before.encode())]
    assert [text[1:-1] if text.startswith("(") else text for text in texts] == after


def test_a_size_in_a_drawing_is_taste():
    for file, texts in {
        "p/view/m.py": ["3"],
        "p/simulation/plots/m.py": ["3"],
        "p/m.py": ["0.77", "3"],
    }.items():
        assert [mutant.text for mutant in mutants_of(file, b"width, count = 0.7, 2")] == texts
    assert mutants_of("p/view/m.py", b"half = 0.5")


def test_bytes_before_a_mistake_are_counted_and_not_letters():
    source = 'é = "é"; y = a + b'.encode()
    assert mutants_of("m.py", source)[0].source(source).decode() == 'é = "é"; y = (a - b)'


BRANCHES = b"""def sign(x):
    if x < 0:
        x = -x
        return -1
    for _ in range(2):
        x += 1
    return x


class Both:
    def twice(self):
        return 2
"""


@pytest.mark.parametrize(("call", "lines"), [
    ("sign(-1)", {2, 3}), ("sign(1)", {2, 5, 6, 7}), ("Both().twice()", {12}), ("None", set())
])  # fmt: skip
def test_marks_tell_the_blocks_that_run(call, lines):
    tree, found = blocks.marked(BRANCHES, 10)
    marks = bytearray(10 + len(found))
    names = {TOUCHED: marks}
    exec(compile(tree, "m.py", "exec"), names)
    assert not any(marks)
    eval(call, names)
    assert {found[index - 10] for index, mark in enumerate(marks) if mark} == {
        blocks.names(BRANCHES)[line] for line in lines
    }


def test_statements_of_a_block_share_its_name():
    names = blocks.names(BRANCHES)
    assert names[3] == names[4]
    assert len({names[line] for line in (2, 3, 5, 6, 7, 12)}) == 6
    assert names[1] == names[10] == names[11] == blocks.OUTSIDE


def test_a_block_keeps_its_name_while_its_function_does():
    before = blocks.names(BRANCHES)
    moved = blocks.names(b"import os\n\n" + BRANCHES.replace(b"return 2", b"return 3"))
    assert [moved[line + 2] for line in (2, 3, 5, 6, 7)] == [before[line] for line in (2, 3, 5, 6, 7)]
    assert moved[14] != before[12]


def tried(folder: Path, *options: str) -> tuple[int, dict[str, str], str]:
    """What a trial in a folder returns, the verdict of each mistake, all it says."""
    done = subprocess.run(
        [sys.executable, SCRIPTS / "mutation_trial.py", "--count", "100", *options],
        env={**os.environ, "FLEXDYN_ROOT": str(folder), "FLEXDYN_MUTATED": "toy",
             "XDG_CACHE_HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.findall(r"^\d+/\d+ ([a-z ]+): toy/numbers.py:(.*)  \[", done.stdout, re.M)
    return done.returncode, {place: word for word, place in found}, done.stdout + done.stderr


@pytest.fixture
def toy(tmp_path):
    """A folder with a package and its tests."""
    for name, text in {
        "toy/__init__.py": "",
        "toy/numbers.py": TOY.decode(),
        "toy/others.py": "x = 1 + 1",
        "test/test_toy.py": TESTS,
        "test/test_more.py": MORE_TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_toy_package_is_tried_by_some_tests(toy):
    code, verdicts, said = tried(
        toy, "--only", "toy/numbers.py", "toy/nothing", "--tests", "test/test_toy.py"
    )
    assert len(verdicts) == 8, said
    assert verdicts["9: 2 * x -> (2 / x)"] == verdicts["13: x > LIMIT -> (not (x > LIMIT))"] == "killed"
    assert verdicts["4: 10 -> 11"] == verdicts["13: x > LIMIT -> (x >= LIMIT)"] == "survived"
    assert verdicts["19: 1 -> 2"] == "not run"
    assert "all rest: 60.0 % of those that a test runs are killed" in said
    assert code == 1


def test_mistakes_that_were_looked_at_are_told_with_the_reason_and_do_not_count(toy):
    (toy / "scripts").mkdir()
    rows = [
        ("toy/numbers.py", "LIMIT: dict[int, int] = 10", "10 -> 11", "1", "a limit"),
        ("toy/numbers.py", "if x > LIMIT:", "x > LIMIT -> (x >= LIMIT)", "1", "at the limit, too"),
        ("toy/numbers.py", "return x - 1", "1 -> 2", "2", "there is one alone"),
        ("toy/gone.py", "x = 1", "1 -> 2", "1", "gone"),
    ]
    (toy / "scripts/mutants_explained.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    _, verdicts, said = tried(toy, "--only", "toy/numbers.py", "toy/nothing", "--tests", "test/test_toy.py")
    assert verdicts["4: 10 -> 11"] == verdicts["13: x > LIMIT -> (x >= LIMIT)"] == "explained"
    assert "x >= LIMIT)  [at the limit, too]" in said
    assert verdicts["19: 1 -> 2"] == "not run"
    assert "all rest: 100.0 % of those that a test runs are killed" in said


def test_every_explained_mistake_is_one_of_its_line():
    """Lines that change lose their explanations."""
    rows = [row.split("\t") for row in (SCRIPTS / "mutants_explained.tsv").read_text().splitlines()]
    assert all(len(row) == 5 and all(row) for row in rows)
    for file in {row[0] for row in rows}:
        source = (SCRIPTS.parent / file).read_bytes()
        lines = source.splitlines()
        found = Counter(
            (lines[mutant.line - 1].decode().strip(), mutant.change(source))
            for mutant in mutants_of(file, source)
        )
        for _, line, change, turn, _ in (row for row in rows if row[0] == file):
            assert 1 <= int(turn) <= found[line, change], (file, line, change)


def test_a_draw_stays_when_other_lines_change(toy):
    options = ("--seed", "3", "--count", "5", "--only", "toy/numbers.py", "--tests", "test/nothing")
    draws = []
    for text in (TOY, TOY.replace(b"LIMIT: dict", b"\nOTHER = 7\nLIMIT: dict")):
        (toy / "toy/numbers.py").write_bytes(text)
        _, places, said = tried(toy, *options)
        draws.append({place.partition(": ")[2] for place in places})
        assert len(draws[-1]) == 5, said
    assert len(draws[0] & draws[1]) >= 4


def test_a_mistake_in_a_program_that_a_test_starts_is_noticed(toy):
    (toy / "test/test_program.py").write_text(
        "import subprocess, sys\n"
        "def test_program():\n"
        "    text = 'from toy.numbers import unused; print(unused(1))'\n"
        "    done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True)\n"
        "    assert done.stdout == '0\\n'\n"
    )
    _, verdicts, said = tried(toy, "--tests", "test/test_program.py")
    assert verdicts["19: x - 1 -> (x + 1)"] == verdicts["19: 1 -> 2"] == "killed", said
    assert verdicts["9: 2 -> 3"] == "not run"


FORKS = """
import os, signal, time
from forks import WAITED, in_children

def work(task):
    if task == "waits":
        time.sleep(60)
    if task == "computes":
        while True:
            pass
    if task == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return [task]

tasks = ["ends", "waits", "computes", "dies"]
print(sorted((task, result) for task, result in in_children(tasks, work, 1, 4)))
"""


def test_what_waits_for_ever_is_told_from_what_computes_or_dies():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], cwd=SCRIPTS, capture_output=True, text=True, check=True
    )
    expected = [("computes", None), ("dies", None), ("ends", ["ends"]), ("waits", "waited")]
    assert done.stdout == f"{expected}\n"


def test_maps_stay_when_the_package_changes_and_go_when_their_tests_do(toy):
    changed = TOY.replace(b"return 2 * x", b"return 1 + 1 * x + x - 1").replace(
        b"return x - 1", b"return x - 2"
    )
    _, before, said = tried(toy)
    assert before["19: x - 1 -> (x + 1)"] == "killed"
    assert said.count("\nmap ") + said.startswith("map ") == 2
    (toy / "toy/numbers.py").write_bytes(changed)
    (toy / "test/test_more.py").write_text(MORE_TESTS.replace("unused(11)", "unused(12)"))
    _, after, said = tried(toy)
    assert [line for line in said.splitlines() if line.startswith("map ")] == [
        "map 1/1: test/test_more.py: 1 tests"
    ]
    assert after["9: 1 * x -> (1 / x)"] == after["19: x - 2 -> (x + 2)"] == "killed"


def test_tests_of_a_module_lie_in_the_folder_that_mirrors_its_own_or_in_that_of_its_subject(
    monkeypatch,
):
    monkeypatch.setenv("FLEXDYN_ROOT", str(SCRIPTS.parent))
    trial = import_module("mutation_trial")
    homes = trial.homes
    assert homes("flexdyn_ros/cli/main.py") == ("test/cli/",)
    assert homes("flexdyn_ros/loading.py") == ("test/",)
    assert homes("flexdyn_ros/multibody/elements/cylinder/kernels/oil.py") == (
        "test/multibody/",
        "test/hydraulics/",
    )
    for part, subject in trial.SUBJECTS.items():
        assert (SCRIPTS.parent / "flexdyn_ros" / part).is_dir()
        assert (SCRIPTS.parent / "test" / subject).is_dir()
