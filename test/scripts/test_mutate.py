"""Mistakes made on purpose: those that tests notice, and those that they do not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from mutants import mutants_of

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


def test_bytes_before_a_mistake_are_counted_and_not_letters():
    source = 'é = "é"; y = a + b'.encode()
    assert mutants_of("m.py", source)[0].source(source).decode() == 'é = "é"; y = (a - b)'


def test_a_toy_package_is_tried_by_some_tests(tmp_path):
    for name, text in {
        "toy/__init__.py": "",
        "toy/numbers.py": TOY.decode(),
        "toy/others.py": "x = 1 + 1",
        "test/test_toy.py": TESTS,
        "test/test_more.py": MORE_TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, SCRIPTS / "mutation_trial.py", "--count", "100",
         "--only", "toy/numbers.py", "toy/nothing", "--tests", "test/test_toy.py"],
        env={**os.environ, "FLEXDYN_ROOT": str(tmp_path), "FLEXDYN_MUTATED": "toy",
             "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    verdicts = {
        place: verdict
        for verdict, place in re.findall(r"^\d+/8 ([a-z ]+): toy/numbers.py:(.*)  \[", done.stdout, re.M)
    }
    assert len(verdicts) == 8, done.stdout + done.stderr
    assert verdicts["9: 2 * x -> (2 / x)"] == verdicts["13: x > LIMIT -> (not (x > LIMIT))"] == "killed"
    assert verdicts["4: 10 -> 11"] == verdicts["13: x > LIMIT -> (x >= LIMIT)"] == "survived"
    assert verdicts["19: 1 -> 2"] == "not run"
    assert "all rest: 60.0 % of those that a test runs are killed" in done.stdout
    assert done.returncode == 1
