"""Methods that benchmarks/bench_implicit.py compares: coefficients, orders, and what they fold."""

import sys
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from bench_implicit import by_candidate, by_library
from implicit_methods import ROS34PW2, ROS34PW3, GeneralisedAlpha, WMethod
from implicit_robots import CASES, MovedRobot

W_METHODS = pytest.mark.parametrize("tableau", [ROS34PW2, ROS34PW3], ids=["ROS34PW2", "ROS34PW3"])


class DoublePendulum:
    """Point masses of 1 kg on rods of 1 m that a damper joins, with slopes that are no derivatives of it."""

    def __init__(self):
        self.passes, self.q_of_v = 0, np.arange(2)
        self.K, self.D = np.array([[5.0, 0.0], [2.0, 30.0]]), np.diag([3.0, 1.0])

    def mass_matrix(self, q):
        c = np.cos(q[0] - q[1])
        return np.array([[2.0, c], [c, 1.0]])

    def accelerate(self, q, v, h=0.0, force=None):
        self.passes += 1
        s, damping = np.sin(q[0] - q[1]), 0.5 * (v[0] - v[1])
        f = np.array([-s * v[1] ** 2 - 20.0 * np.sin(q[0]), s * v[0] ** 2 - 10.0 * np.sin(q[1])])
        f += np.array([-damping, damping]) - h * self.K @ v + (0.0 if force is None else force)
        return np.linalg.solve(self.mass_matrix(q) + h * self.D + h * h * self.K, f)

    def slopes(self, q, v):
        return self.mass_matrix(q), self.K, self.D

    def move(self, q, theta):
        return q + theta

    def rate(self, theta, v):
        return v


def end_of(method, steps):
    """State after a second by so many steps, which are longer and shorter by turns."""
    problem = DoublePendulum()
    at = method.begin(problem, np.array([1.0, -0.5]), np.array([0.5, 2.0]))
    for i in range(steps):
        done = method.step(problem, at, (1.3 if i % 2 == 0 else 0.7) / steps)
        at = method.begin(problem, at.q + done.theta, done.v, done.kept)
    return np.concatenate([at.q, at.v])


def order_of(method, steps=(200, 400, 800)):
    """Observed orders between three numbers of steps, against a solution by rk4 in float64."""

    def slope(y):
        return np.concatenate([y[2:], DoublePendulum().accelerate(y[:2], y[2:])])

    y, h = np.array([1.0, -0.5, 0.5, 2.0]), 1e-3
    for _ in range(1000):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(y + h * k3))
    errors = [np.abs(end_of(method, n) - y).max() for n in steps]
    return np.log2(errors[0] / errors[1]), np.log2(errors[1] / errors[2])


@W_METHODS
def test_w_methods_satisfy_the_conditions_of_order_three_with_any_derivative(tableau):
    # Hairer & Wanner (1996), section IV.7: those of W-methods, alpha and gamma apart
    A, G, b, one = tableau.alpha, tableau.gamma, tableau.b, np.ones(4)
    a, g = A @ one, G @ one
    values = [b @ one, b @ a, b @ g, b @ a**2, b @ A @ a, b @ A @ g, b @ G @ a, b @ G @ g]
    assert values == pytest.approx([1.0, 0.5, 0.0, 1 / 3, 1 / 6, 0.0, 0.0, 0.0], abs=1e-15)
    e = tableau.embedded
    assert [e @ one, e @ a, e @ g] == pytest.approx([1.0, 0.5, 0.0], abs=1e-15)
    assert np.ptp(np.diagonal(G)) == 0.0
    assert not np.triu(A).any()


def test_ros34pw3_is_of_order_four_with_the_derivative():
    A, b, one = ROS34PW3.alpha, ROS34PW3.b, np.ones(4)
    B, a = A + ROS34PW3.gamma, A @ one
    values = [b @ a**3, b @ (a * (A @ B @ one)), b @ B @ a**2, b @ B @ B @ B @ one]
    assert values == pytest.approx([1 / 4, 1 / 8, 1 / 12, 1 / 24], abs=1e-15)


@W_METHODS
def test_w_methods_are_stable_for_all_damped_oscillations(tableau):
    rays = np.exp(1j * np.linspace(0.5, 1.0, 11) * np.pi)
    radii = np.logspace(-2, 6, 200)
    assert max(abs(tableau.stability(z)) for z in np.outer(rays, radii).ravel()) <= 1.0 + 1e-12
    at_infinity = 0.0 if tableau is ROS34PW2 else 0.6304
    assert abs(tableau.stability(-1e12)) == pytest.approx(at_infinity, abs=1e-4)


@W_METHODS
def test_w_methods_keep_order_three_with_slopes_that_are_no_derivatives(tableau):
    assert order_of(WMethod(tableau)) == pytest.approx((3.0, 3.0), abs=0.2)


def test_the_mass_matrix_of_the_stage_costs_an_order():
    found = order_of(WMethod(ROS34PW3, follows=True), (400, 800, 1600))
    assert found == pytest.approx((2.0, 2.0), abs=0.2)


@pytest.mark.parametrize("newton", [1, 2])
def test_generalised_alpha_is_of_order_two_with_changing_steps(newton):
    assert order_of(GeneralisedAlpha(0.8, newton)) == pytest.approx((2.0, 2.0), abs=0.15)


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8, 1.0])
def test_generalised_alpha_damps_what_is_fast_as_it_is_told(radius):
    method = GeneralisedAlpha(radius)
    radii = [np.abs(np.linalg.eigvals(method.stability(x))).max() for x in np.logspace(-2, 5, 100)]
    # of a double or triple eigenvalue, which rounding spreads
    assert radii[-1] == pytest.approx(radius, abs=2e-3 if radius else 2e-2)
    assert max(radii) <= 1.0 + 1e-6


def test_the_step_is_that_of_its_matrix():
    method, h, w = GeneralisedAlpha(0.6), 0.3, 4.0

    class Oscillator(DoublePendulum):
        def mass_matrix(self, q):
            return np.eye(1)

        def slopes(self, q, v):
            return np.eye(1), np.array([[w * w]]), np.zeros((1, 1))

        def accelerate(self, q, v, h=0.0, force=None):
            return -w * w * q

    a, v, q = np.array([2.0]), np.array([0.7]), np.array([-0.4])
    done = method.step(Oscillator(), method.begin(Oscillator(), q, v, (a, 0.0 * a, h)), h)
    expected = method.stability(w * h) @ np.concatenate([h * h * a, h * v, q])
    found = [h * h * done.kept[0][0], h * done.v[0], q[0] + done.theta[0]]
    assert found == pytest.approx(expected, rel=1e-13)


def test_the_fold_is_read_as_the_description_has_it():
    moved = MovedRobot(CASES["bending arm"])
    motion = flexdyn_ros.load("flexible_two_link").motion
    _, K, D = moved.slopes(moved.q0, moved.v0)
    stiffness, damping = np.diag(motion.stiffness), np.diag(motion.damping)
    for v, k, d in motion.modal:
        stiffness[np.ix_(v, v)] += k
        damping[np.ix_(v, v)] += d
    # digits that the difference of two mass matrices leaves
    np.testing.assert_allclose(K, stiffness, rtol=1e-6, atol=1e-6 * stiffness.max())
    np.testing.assert_allclose(D, damping, rtol=1e-4, atol=1e-4 * damping.max())


@pytest.mark.parametrize("method", ["ROS34PW2", "generalised-alpha"])
def test_a_stiff_platform_moves_as_the_library_moves_it(method):
    moved = MovedRobot(CASES["platform, servo"])
    times = np.linspace(0.0, 0.1, 3)[1:]
    exact, explicit = by_library(moved, "dop853", 1e-10, times)
    found, passes = by_candidate(moved, method, 1e-7, times, 5000)
    assert passes < explicit
    # it moves by 0.02 m and 0.05 rad
    assert np.abs(found - exact).max() <= 1e-6
