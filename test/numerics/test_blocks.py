"""Sums over arrays by blocks: compiled and interpreted they are those of NumPy, for any length."""

import numpy as np
import pytest

from flexdyn_ros.numerics.algebra.blocks import BLOCK, add_share, first_of_block, padded, product
from flexdyn_ros.numerics.compiling.compiler import entry


@entry("int64(float64[::1], float64[::1], float64)")
def add_of(y, x, share):
    add_share(y, x, share)
    return 0


@entry("int64(float64[::1], float64[::1], float64[::1])")
def product_of(x, y, result):
    result[0] = product(x, y)
    return 0


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 11])
def test_sums_by_blocks_are_those_of_numpy(n):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n + 3), rng.standard_normal(n + 3)
    for add, multiply in ((add_of, product_of), (add_share, None)):
        found, result = y.copy(), np.zeros(1)
        add(found[1 : n + 1], x, -0.7)
        np.testing.assert_allclose(found[1 : n + 1], y[1 : n + 1] - 0.7 * x[:n], rtol=0.0, atol=1e-15)
        assert found[0] == y[0]
        np.testing.assert_array_equal(found[n + 1 :], y[n + 1 :])
        if multiply is None:
            result[0] = product(x[:n], y)
        else:
            multiply(x[:n], y, result)
        np.testing.assert_allclose(result[0], x[:n] @ y[:n], rtol=1e-14, atol=1e-15)


def test_blocks_have_the_length_that_is_said():
    assert [padded(n) for n in range(6)] == [-(-n // BLOCK) * BLOCK for n in range(6)]
    assert [first_of_block(i) for i in range(6)] == [i - i % BLOCK for i in range(6)]
