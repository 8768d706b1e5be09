"""Bounds of steps as they are told."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.analysis.validity import at_most


def test_a_bound_is_told_in_a_few_digits_and_never_rounded_up():
    assert at_most(0.0019999) == "0.0019"
    assert at_most(0.00065, 1) == "0.0006"
    assert [at_most(x, 1) for x in (0.001, 0.3, 7e-5, 1.0)] == ["0.001", "0.3", "7e-05", "1"]
    for x in 10.0 ** np.random.default_rng(0).uniform(-9, 3, 200):
        assert 0.9 * x < float(at_most(x)) <= x
