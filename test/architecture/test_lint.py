"""ruff and mypy find nothing to say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def complaints(*command):
    """What a checker prints; nothing if it is content."""
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=550, check=False
    )
    return "" if run.returncode == 0 else run.stdout + run.stderr


def test_ruff_finds_nothing():
    pytest.importorskip("ruff")
    assert not complaints("ruff", "check", "--output-format=concise", "--no-cache", ".")


def test_files_are_formatted():
    pytest.importorskip("ruff")
    assert not complaints("ruff", "format", "--check", "--output-format=concise", "--no-cache", ".")


def test_mypy_finds_nothing():
    pytest.importorskip("mypy")
    assert not complaints("mypy", "--no-error-summary")
