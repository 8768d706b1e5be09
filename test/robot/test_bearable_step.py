"""Bounds of steps as they are told."""

from __future__ import annotations

import numpy as np
import pytest
from pendulums import wheel

from flexdyn_ros.robot.analysis.validity import at_most, bearable_step


def test_a_bound_is_told_in_a_few_digits_and_never_rounded_up():
    assert at_most(0.0019999) == "0.0019"
    assert at_most(0.00065, 1) == "0.0006"
    assert [at_most(x, 1) for x in (0.001, 0.3, 7e-5, 1.0)] == ["0.001", "0.3", "7e-05", "1"]
    for x in 10.0 ** np.random.default_rng(0).uniform(-9, 3, 200):
        assert 0.9 * x < float(at_most(x)) <= x


@pytest.mark.parametrize("ratio", [0.0, 1.0, 3.0])
def test_beyond_a_bearable_step_rk4_grows(ratio):
    inertia, w = 0.01, 40.0
    spring = f'<flexdyn reference="axle"><joint_spring stiffness="{inertia * w**2}"/></flexdyn>'
    damping = f'<dynamics damping="{2.0 * ratio * w * inertia}"/>'
    robot = wheel(damping, inertia=inertia, extra=spring)
    step, name, frequency = bearable_step(robot, robot.neutral())
    assert name == "axle"
    assert frequency == pytest.approx(w / (2.0 * np.pi), rel=1e-9)
    rates = np.linalg.eigvals([[0.0, 1.0], [-(w**2), -2.0 * ratio * w]])
    z = step * rates[np.argmax(np.abs(rates))]
    grows = [np.abs(np.polyval([1 / 24, 1 / 6, 1 / 2, 1.0, 1.0], x)) for x in (z, 1.001 * z)]
    assert grows[0] <= 1.0 < grows[1]
