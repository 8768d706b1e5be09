"""Our sine and cosine against the C library's, and quaternions against the rotations that they are of."""

import numpy as np
import pytest
from numba import njit

from flexdyn_ros.numerics.algebra.placement import quaternion_of, quaternions_of, rotation_of_quaternion
from flexdyn_ros.numerics.algebra.trigonometry import sincos


@njit
def both(x, s, c):
    for i in range(x.size):
        s[i], c[i] = sincos(x[i])


def values(x):
    s, c = np.empty_like(x), np.empty_like(x)
    both(x, s, c)
    return s, c


@pytest.mark.parametrize("reach", [0.8, 10.0, 1e4, 1e6])
def test_sine_and_cosine_are_right_to_two_units_in_the_last_place(reach):
    x = np.random.default_rng(1).uniform(-reach, reach, 200_000)
    s, c = values(x)
    # two units in the last place of one: the bound of the reduction in three parts
    assert np.max(np.abs(s - np.sin(x))) < 2 * np.finfo(float).eps
    assert np.max(np.abs(c - np.cos(x))) < 2 * np.finfo(float).eps


def test_multiples_of_a_right_angle_are_right_to_rounding():
    x = np.pi / 2 * np.arange(-40, 41)
    s, c = values(x)
    assert np.max(np.abs(s - np.sin(x))) < 1e-15
    assert np.max(np.abs(c - np.cos(x))) < 1e-15


def test_nan_goes_through_and_huge_angles_stay_bounded():
    s, c = values(np.array([np.nan, np.inf, 1e17, -1e300]))
    assert np.isnan(s[:2]).all()
    assert np.isnan(c[:2]).all()
    assert abs(s[2]) <= 1.0
    assert abs(c[2]) <= 1.0


def test_complex_angles_carry_the_derivative():
    x = np.linspace(-7.0, 7.0, 101)
    s, c = values(x + 1e-40j)
    assert np.max(np.abs(s.imag / 1e-40 - np.cos(x))) < 1e-15
    assert np.max(np.abs(c.imag / 1e-40 + np.sin(x))) < 1e-15


def test_quaternions_of_many_are_those_of_each_and_of_its_rotation():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((500, 3, 3))).Q
    Q[np.linalg.det(Q) < 0] *= -1.0
    half_turns = [np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1], [1.0, 1, 1])]
    matrices = np.concatenate((Q, half_turns))
    found = quaternions_of(matrices)
    np.testing.assert_allclose(found, [quaternion_of(M) for M in matrices], atol=1e-15)
    turned = [rotation_of_quaternion(*x) for x in found]
    np.testing.assert_allclose(turned, matrices, rtol=0, atol=1e-14)
