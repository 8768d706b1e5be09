"""Functions of a section's bending: integrals along it by quadrature, their rates by complex steps."""

import numpy as np
import pytest

from flexdyn_ros.numerics.algebra.series import bending_functions, inertia_functions

_nodes, _weights = np.polynomial.legendre.leggauss(60)
S, WEIGHTS = 0.5 * (_nodes + 1.0), 0.5 * _weights

#: angles of bending on both sides of where polynomials end, up to two turns
ANGLES = (0.5, 1.7, 2.9, 2.999, 3.001, 3.2, 5.0, 7.5, 12.5)


def rate(f, y):
    """2 df/dy, the rate of f by the angle over the angle."""
    return 2.0 * f(y + 1e-30j).imag / 1e-30


@pytest.mark.parametrize("angle", ANGLES)
def test_bending_is_that_of_integrals_over_an_arc(angle):
    def of(weight):
        def value(y):
            return WEIGHTS @ (weight * np.cos(np.sqrt(y) * S))

        def first(y):
            return -WEIGHTS @ (weight * S * np.sin(np.sqrt(y) * S) / np.sqrt(y))

        return value, first

    pairs = [of(weight) for weight in (1.0, 1.0 - S, 0.5 * (1.0 - S) ** 2)]
    y = angle**2
    values = [value(y) for value, _ in pairs]
    firsts = [first(y) for _, first in pairs]
    seconds = [rate(first, y) for _, first in pairs]
    np.testing.assert_allclose(firsts, [rate(value, y) for value, _ in pairs], rtol=1e-11, atol=1e-14)
    expected = values + firsts + seconds
    np.testing.assert_allclose(bending_functions(y), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_inertia_is_that_of_integrals_over_the_mass(angle):
    """An arc of length 1 lies 1 - cos across and x s - sin along, over x, from its base at the share s."""

    def across(y):
        return (1.0 - np.cos(np.sqrt(y) * S)) / y

    def along(y):
        return (np.sqrt(y) * S - np.sin(np.sqrt(y) * S)) / np.sqrt(y) ** 3

    def c(y):
        return WEIGHTS @ across(y) ** 2

    def d(y):
        return WEIGHTS @ along(y) ** 2

    def cw(y):
        return WEIGHTS @ (across(y) * (3.0 - np.cos(np.sqrt(y) * S)))

    def dw(y):
        return WEIGHTS @ (S**2 - across(y) * (3.0 - np.cos(np.sqrt(y) * S))) / y

    y = angle**2
    four = (c, d, cw, dw)
    expected = [f(y) for f in four] + [rate(f, y) for f in four]
    np.testing.assert_allclose(inertia_functions(y), expected, rtol=3e-11, atol=1e-14)


@pytest.mark.parametrize("functions", [bending_functions, inertia_functions])
def test_a_straight_section_is_the_limit_of_a_bent_one(functions):
    ahead = np.array([functions(y) for y in (0.0, 1e-3, 2e-3)])
    assert np.isfinite(ahead).all()
    np.testing.assert_allclose(ahead[0], 2.0 * ahead[1] - ahead[2], rtol=1e-6, atol=1e-8)
