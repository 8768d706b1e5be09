"""Every example runs, prints and leaves its picture."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("[0-9][0-9]_*.py"))


def run(arguments, timeout=550, **options):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )


def test_the_page_lists_every_example():
    page = (ROOT / "examples" / "README.md").read_text()
    assert EXAMPLES
    assert [name for name in EXAMPLES if name not in page] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs_and_draws(name):
    picture = ROOT / "out" / "examples" / (Path(name).stem + ".png")
    picture.unlink(missing_ok=True)
    done = run([f"examples/{name}"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert picture.stat().st_size > 10_000
