"""Number types of kernels: lanes compute what floats do, tangents what the complex step does."""

import numpy as np
import pytest
from numba import njit

from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.sources import source_key
from flexdyn_ros.numerics.compiling.teaching import teach_numba
from flexdyn_ros.numerics.numbers import functions as of
from flexdyn_ros.numerics.numbers.memory import PER_LANES, PER_TANGENTS, aligned, lanes_of, tangents_of
from flexdyn_ros.numerics.numbers.vectors import ALIGNMENT
from flexdyn_ros.numerics.verbs.samples import note_wrong

teach_numba()


@njit(error_model="numpy")
def everything(x, y):
    s, c = sincos(x * y + 1)
    z = s / c + np.sqrt(x * x + 2.0) * np.exp(-y) - 3 / (x - 7.0)
    z += np.log(y * y + 1.0) - np.tanh(x) ** 2 + 0.5 * np.sin(y) - np.cos(x) / 4
    z -= of.absolute(y) * of.larger(x, y) + of.smaller(x, 0.3) / 2.0
    far = of.either(of.less(2.0, x), of.less(x, -2.0))
    z *= of.select(far, 1.0, of.select(of.both(of.less(x, y), of.less(0.0, y)), x, y * 2.0))
    return -z


@njit(error_model="numpy")
def on_lanes(x, y, out):
    a, b, c = lanes_of(x), lanes_of(y), lanes_of(out)
    for i in range(c.shape[0]):
        c[i] = everything(a[i], b[i])


@njit(error_model="numpy")
def on_tangents(x, y, out):
    a, b, c = tangents_of(x), tangents_of(y), tangents_of(out)
    for i in range(c.shape[0]):
        c[i] = everything(a[i], b[i])


def random(n, seed):
    memory = aligned(n)
    memory[:] = 2.0 * np.random.default_rng(seed).standard_normal(n)
    return memory


def test_types_of_edited_sources_have_other_names():
    """Kernels that meet a type in their arguments alone are cached by its name."""
    from flexdyn_ros.numerics.numbers.vector_types import lanes, tangents

    key = source_key(("flexdyn_ros.numerics.numbers.functions", of.__file__))
    assert {kind.name.partition("-")[2] for kind in (lanes, tangents)} == {key[:8]}


def test_lanes_compute_what_floats_do():
    x, y, out = random(40 * PER_LANES, 1), random(40 * PER_LANES, 2), aligned(40 * PER_LANES)
    on_lanes(x, y, out)
    expected = np.array([everything(a, b) for a, b in zip(x, y, strict=True)])
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


def plain(x, y):
    """`everything` for complex numbers, by NumPy alone."""
    z = np.tan(x * y + 1) + np.sqrt(x * x + 2.0) * np.exp(-y) - 3 / (x - 7.0)
    z += np.log(y * y + 1.0) - np.tanh(x) ** 2 + 0.5 * np.sin(y) - np.cos(x) / 4
    z -= (y if y.real >= 0.0 else -y) * (y if x.real < y.real else x) + (x if x.real <= 0.3 else 0.3) / 2.0
    if abs(x.real) <= 2.0:
        z *= x if x.real < y.real and y.real > 0.0 else 2.0 * y
    return -z


def test_tangents_compute_what_the_complex_step_does():
    x, y = (random(40 * PER_TANGENTS, seed).reshape(40, PER_TANGENTS) for seed in (3, 4))
    out = aligned(40 * PER_TANGENTS)
    on_tangents(x.ravel(), y.ravel(), out)
    for a, b, c in zip(x, y, out.reshape(40, PER_TANGENTS), strict=True):
        expected = [plain(a[0] + 1e-40j * s, b[0] + 1e-40j * t).imag / 1e-40 for s, t in zip(a[1:], b[1:])]
        assert c[0] == pytest.approx(plain(a[0] + 0j, b[0] + 0j).real, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(c[1:], expected, rtol=1e-11, atol=1e-12 * max(1.0, np.abs(expected).max()))


@njit
def all_below(x, bound):
    return of.holds(of.less(lanes_of(x)[0], bound))


def test_a_condition_holds_only_if_it_does_in_every_lane():
    x = aligned(PER_LANES)
    x[:] = np.arange(PER_LANES)
    assert all_below(x, float(PER_LANES))
    assert not all_below(x, PER_LANES - 1.5)
    x[3] = np.nan
    assert not all_below(x, 100.0)


def test_work_memory_is_aligned():
    assert all(aligned(n).ctypes.data % ALIGNMENT == 0 and aligned(n).shape == (n,) for n in (1, 7, 1000))


@njit
def branch(x):
    y = lanes_of(x)[0]
    return 1.0 if y < 0.0 else 2.0


def test_a_branch_on_lanes_does_not_compile():
    with pytest.raises(Exception, match=f"lanes{PER_LANES}"):
        branch(aligned(PER_LANES))


def test_a_number_that_is_not_finite_is_noted_wherever_it_stands():
    for n in range(1, 10):
        for wrong in (np.nan, np.inf, -np.inf):
            for place in range(n):
                block = np.arange(n + 1.0)
                block[place] = wrong
                note_wrong(block, n)
                assert np.isnan(block[n]), (n, place)
        block = np.arange(n + 1.0)
        note_wrong(block, n)
        assert block[n] == n
