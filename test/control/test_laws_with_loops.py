"""Control laws on closed mechanisms: efforts of the actuators that there are, errors by their closed form."""

from __future__ import annotations

import numpy as np
import pytest
from machines import Q, four_bar

import flexdyn_ros
from flexdyn_ros import control
from flexdyn_ros.errors import StateError

STILL = np.zeros(3)


def test_gravity_compensation_of_a_four_bar_is_the_published_torque():
    """The static torque of the crank in W3 of the specification; none on passive joints."""
    robot = four_bar()
    law = control.pd(robot, Q, 30.0, 5.0)
    np.testing.assert_allclose(law(0.0, Q, STILL), [-2.300349069209468, 0.0, 0.0], atol=1e-9)
    q = robot.assemble(Q + [0.1, 0.0, 0.0], lock=("crank_joint",))
    np.testing.assert_allclose(law(0.0, q, STILL) - law(0.0, Q, STILL), [-3.0, 0.0, 0.0], atol=1e-9)


def test_pd_brings_a_four_bar_to_its_target_and_holds_it():
    robot = four_bar()
    start = robot.assemble(Q + [0.1, 0.0, 0.0], lock=("crank_joint",))
    run = flexdyn_ros.simulate(robot, 8.0, start, STILL, control=control.pd(robot, Q, 30.0, 5.0), rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], Q, atol=1e-6)


def test_targets_that_are_open_are_refused():
    with pytest.raises(StateError, match="loop 'close' is open by"):
        control.pd(four_bar(), Q + [0.1, 0.0, 0.0], 1.0, 1.0)(0.0, Q, STILL)


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_errors_of_actuated_coordinates_obey_what_is_asked(name):
    """e'' = -w^2 e - 2 zeta w e' of all states on the loops; passive coordinates get nothing."""
    robot = four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    driven = np.array([c.actuated for c in robot.coordinates])
    target, w, rng = robot.neutral(), 6.0, np.random.default_rng(2)
    law = control.computed_torque(robot, target, w, 0.7)
    for size in rng.uniform(-0.05, 0.05, (5, robot.nv)):
        q, v = robot.project(robot.integrate(target, size, 1.0), rng.uniform(-1.0, 1.0, robot.nv))
        tau = law(0.0, q, v)
        assert np.abs(tau[~driven]).max() == 0.0
        a = robot.forward_dynamics(q, v, tau)
        asked = w * w * robot.difference(q, target) - 1.4 * w * v
        np.testing.assert_allclose(a[driven], asked[driven], atol=1e-8 * np.abs(asked).max())
