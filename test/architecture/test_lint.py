"""ruff and mypy find nothing to say.

Files in UNTIDY were written before the checks ran and are still to be tidied.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

UNTIDY = {
    "flexdyn_ros/dynamics/threads.py",
    "flexdyn_ros/errors.py",
    "flexdyn_ros/kernels/compiler.py",
    "flexdyn_ros/model/coordinates.py",
    "flexdyn_ros/model/packed.py",
    "flexdyn_ros/model/placement.py",
    "flexdyn_ros/model/tree.py",
}


def complaints(*command):
    """Lines of a checker's output that name a file of ours which is not in UNTIDY."""
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert run.returncode in (0, 1), run.stderr or run.stdout
    named = [
        line for line in run.stdout.splitlines() if re.match(r"(Would reformat: )?[\w./]+\.pyi?\b", line)
    ]
    assert named or run.returncode == 0, run.stdout
    return [line for line in named if re.search(r"[\w./]+\.pyi?\b", line)[0] not in UNTIDY]


def test_ruff_finds_nothing():
    pytest.importorskip("ruff")
    assert not complaints("ruff", "check", "--output-format=concise", "--no-cache", ".")


def test_files_are_formatted():
    pytest.importorskip("ruff")
    assert not complaints("ruff", "format", "--check", "--output-format=concise", "--no-cache", ".")


def test_mypy_finds_nothing():
    pytest.importorskip("mypy")
    assert not complaints("mypy", "--no-error-summary")


def test_untidy_files_exist():
    assert not [name for name in UNTIDY if not (ROOT / name).is_file()]
