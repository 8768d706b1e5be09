"""Operations of inverse dynamics of a platform, counted by running the kernel on counting numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def counts():
    run = subprocess.run(
        [sys.executable, "benchmarks/count_platform.py", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=550,
        check=True,
    )
    return json.loads(run.stdout)


def test_full_generality_takes_at_most_1700_products_and_1300_sums(counts):
    products, sums, divisions, roots = counts["any inertia, masses off the axes"]
    assert products + divisions + roots <= 1700
    assert sums <= 1300


def test_axisymmetric_legs_without_spin_take_at_most_800_products_and_700_sums(counts):
    products, sums, divisions, roots = counts["axisymmetric legs, no spin"]
    assert products + divisions + roots <= 800
    assert sums <= 700


def test_the_counter_counts(counts):
    """Six legs have six lengths: that many square roots and divisions at least."""
    for _, _, divisions, roots in counts.values():
        assert divisions >= 12
        assert roots >= 6
