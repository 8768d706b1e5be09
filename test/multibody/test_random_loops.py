"""Random mixtures with loops: theorems on their accelerations, steps and reactions."""

import warnings
from functools import cache

import numpy as np
import pytest
from mixtures import random_closed_mixture

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning
from flexdyn_ros.simulation.steps.stepper import OK, Stepper

SEEDS = range(12)
EVERY = pytest.mark.parametrize(
    ("family", "seed"),
    [(family, seed) for family in ("rigid", "flexible", "elastic", "wheeled") for seed in SEEDS],
)


@cache
def closed(seed, family):
    """A robot with loops that leave it some motion; skipped where they do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        robot = flexdyn_ros.load(random_closed_mixture(seed, family))
    if not getattr(robot, "loops", ()) or robot.mobility == 0:
        pytest.skip("nothing moves")
    return robot


def state_of(robot, seed):
    rng = np.random.default_rng([11, seed])
    # modes little, the rest more
    size = np.array([1e-3 if c.kind not in ("joint", "base") else 0.3 for c in robot.coordinates])
    q, v = robot.project(robot.neutral(), size * rng.standard_normal(robot.nv))
    return q, v, 0.1 * rng.standard_normal(robot.nu)


@EVERY
def test_accelerations_power_and_steps(family, seed):
    robot = closed(seed, family)
    q, v, tau = state_of(robot, seed)
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    a = robot.forward_dynamics(q, v, tau)
    closure = robot.functions.layers[-1].closing.geometry.at(q[None], v[None])
    J, bias = closure.J[0], closure.bias[0]
    size = np.abs(J) @ np.abs(a) + np.abs(bias) + 1.0
    assert (np.abs(J @ a + bias) <= 1e-8 * size).all()
    # what is missing in the equations of the open tree is done by forces of the loops
    missing = robot.mass_matrix(q) @ a + robot.bias_forces(q, v) - robot.actuation_matrix(q) @ tau
    lam = np.linalg.lstsq(J.T, missing, rcond=1e-12)[0]
    assert np.abs(missing - J.T @ lam).max() <= 1e-8 * max(1.0, np.abs(missing).max())
    # energy: d(T + V)/dt = tau B v - dissipation, of suspensions too; the loops do no work
    terms, still = robot.bias_terms(q, v), robot.bias_terms(q, 0.0 * v)
    power = v @ robot.actuation_matrix(q) @ tau - v @ (terms.damping + terms.external - still.external)
    h = 1e-6
    ends = [robot.energy(robot.integrate(q, s * v + 0.5 * s * s * a, 1.0), v + s * a).total for s in (h, -h)]
    scale = max(1.0, np.abs(v).max() * np.abs(missing).max(), abs(power))
    assert abs((ends[0] - ends[1]) / (2.0 * h) - power) <= 2e-5 * scale
    # semi-implicit Euler steps are explicit in the stiffness of links and joints
    for method in ("rosenbrock", "semi_implicit_euler") if family == "rigid" else ("rosenbrock",):
        stepper = Stepper(robot, 1e-3, method, q0=q, v0=v)
        stepper.tau[:] = tau
        for _ in range(10):
            assert stepper.advance() == OK, stepper.message
            assert np.abs(robot.loop_residual(stepper.q.copy())).max() <= 1e-10
            speed = robot.loop_jacobian(stepper.q.copy()) @ stepper.v
            assert np.abs(speed).max() <= 1e-9 * max(1.0, np.abs(stepper.v).max())


@EVERY
def test_the_steps_accelerations_are_those_of_the_verb(family, seed):
    """By one pass a row over the tree, and by the mass matrix."""
    robot = closed(seed, family)
    q, v, tau = state_of(robot, seed)
    stepper = Stepper(robot, 1e-3, "rk4", q0=q, v0=v)
    stepper.tau[:] = tau
    stepper.look_again()
    expected = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(stepper.a, expected, rtol=0.0, atol=1e-7 * max(1.0, np.abs(expected).max()))
