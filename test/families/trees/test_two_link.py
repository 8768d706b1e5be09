"""The planar arm with two point masses against its closed form (serial specification, section 2.3)."""

import numpy as np
import pytest
from models import two_link_arm
from reference.two_link import closed_form

import flexdyn_ros

METHODS = ["articulated", "lagrange"]


@pytest.fixture(params=METHODS)
def arm(request):
    return flexdyn_ros.load(two_link_arm(), options={"formulation.method": request.param})


def test_closed_form(arm):
    rng = np.random.default_rng(1)
    for q, v, a in rng.uniform(-3, 3, (50, 3, 2)):
        M, c, g, kinetic, potential = closed_form(q, v)
        terms = arm.bias_terms(q, v)
        scale = max(np.abs(x).max() for x in (M, c, g))
        # two bodies: a few roundings of the largest term
        for ours, exact in ((arm.mass_matrix(q), M), (terms.velocity, c), (terms.gravity, g)):
            assert np.abs(ours - exact).max() <= 1e-13 * scale
        tau = M @ a + c + g
        assert np.abs(arm.inverse_dynamics(q, v, a) - tau).max() <= 1e-13 * np.abs(tau).max() + 1e-13 * scale
        energy = arm.energy(q, v)
        assert energy.kinetic == pytest.approx(kinetic, rel=1e-13)
        assert energy.gravity == pytest.approx(potential, abs=1e-13 * scale)


def test_worked_numbers(arm):
    """As printed in the specification, to their last digit."""
    q, v = np.array([0.3, -0.8]), np.array([1.1, -0.7])
    assert arm.mass_matrix(q) == pytest.approx(
        np.array([[2.5899546, 0.6249773], [0.6249773, 0.324]]), abs=5e-8
    )
    terms = arm.bias_terms(q, v)
    assert terms.velocity == pytest.approx([-0.32539272, -0.37497638], abs=5e-9)
    assert terms.gravity == pytest.approx([24.14235586, 4.64890586], abs=5e-9)
    assert arm.forward_dynamics(q, v) == pytest.approx([-11.24869504, 8.50694305], abs=5e-9)
    energy = arm.energy(q, v)
    assert (energy.kinetic, energy.gravity) == (
        pytest.approx(1.1650700113, abs=5e-11),
        pytest.approx(3.4903218647, abs=5e-11),
    )


def test_tip_and_its_jacobian(arm):
    q = np.array([0.4, -1.1])
    s1, c1, s12, c12 = np.sin(0.4), np.cos(0.4), np.sin(-0.7), np.cos(-0.7)
    tip = np.array([0.8 * c1 + 0.6 * c12, 0.8 * s1 + 0.6 * s12, 0.0])
    assert arm.frames(q, "tip")[:3, 3] == pytest.approx(tip, abs=1e-15)
    J = np.zeros((6, 2))
    J[2] = 1.0
    J[3:5] = [[-0.8 * s1 - 0.6 * s12, -0.6 * s12], [0.8 * c1 + 0.6 * c12, 0.6 * c12]]
    assert arm.jacobian(q, "tip") == pytest.approx(J, abs=1e-15)
