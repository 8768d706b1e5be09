"""Derivatives of graphs, and tapes: every operation against NumPy and complex steps or closed forms."""

import numpy as np
import pytest

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.compiling.compiler import entry
from flexdyn_ros.numerics.compiling.teaching import is_interpreted
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.numbers.memory import aligned, lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES
from flexdyn_ros.numerics.tracing.elimination import jacobian
from flexdyn_ros.numerics.tracing.graph import Graph
from flexdyn_ros.numerics.tracing.tape import write_tape
from flexdyn_ros.numerics.verbs.instructions import BLOCK, GROUPS, follow
from flexdyn_ros.numerics.verbs.tapes import COLUMNS, factorize, pattern_of, put_rows, solve_columns


@entry("int64(uint16[::1], float64[::1])")
def follow_compiled(code, floats):
    follow(code, 0, code.shape[0], floats, lanes_of(floats))
    return 0


class Rows(np.ndarray):
    """Rows of numbers that stand for lanes where nothing is compiled."""

    def sincos(self):
        return np.sin(self), np.cos(self)


def follow_all(code, floats):
    if is_interpreted():
        follow(code.astype(np.int64), 0, code.size, floats, floats.reshape(-1, LANES).view(Rows))
    else:
        follow_compiled(code, floats)


def run(graph, inputs, nodes, x):
    """Values (k, BLOCK) of nodes at inputs x (n, BLOCK)."""
    tape = write_tape(graph, [number.index for number in inputs], [nodes])
    floats = aligned(BLOCK * tape.slots)
    floats[:] = np.nan
    slots = floats.reshape(-1, BLOCK)
    slots[: len(x)] = x
    slots[len(x) : len(x) + len(tape.constants)] = tape.constants[:, None]
    follow_all(tape.code, floats)
    return slots[tape.results[0]]


def values_and_slopes(function, x):
    graph = Graph()
    inputs = graph.inputs("x", len(x))
    result = graph.index(function(*inputs))
    seeds = {number.index: {j: 1.0} for j, number in enumerate(inputs)}
    row = jacobian(graph, seeds, [result])[0]
    nodes = [result, *(graph.index(row.get(j, 0.0)) for j in range(len(x)))]
    found = run(graph, inputs, nodes, x)
    return found[0], found[1:]


SMOOTH = {
    "sums": lambda a, b, c: a - b - (c - a * b) + 3.0 - (b - 2.0) * c,
    "products": lambda a, b, c: a * b * c - (-a) * b + a * a * a - b * (c * -b),
    "opposite": lambda a, b, c: -(a + b) - (-(c * a)),
    "quotient": lambda a, b, c: a / (b + 3.0) + 2.0 / (c + 4.0),
    "sqrt": lambda a, b, c: np.sqrt(a * a + b * b + 1.0) * c,
    "circular": lambda a, b, c: np.sin(a * b) + np.cos(b - c) * np.tan(0.3 * c),
    "exponential": lambda a, b, c: np.exp(a) * np.tanh(b) + np.log(c * c + 1.0),
    "power": lambda a, b, c: a**3 + b**2 * c,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_derivatives_of_smooth_operations(name):
    x = np.random.default_rng(2).uniform(-1.5, 1.5, (3, BLOCK))
    value, slopes = values_and_slopes(SMOOTH[name], x)
    assert np.allclose(value, SMOOTH[name](*x), 1e-14, 1e-14)
    for j in range(3):
        moved = x.astype(complex)
        moved[j] += 1e-30j
        assert np.allclose(slopes[j], np.imag(SMOOTH[name](*moved)) / 1e-30, 1e-12, 1e-13)


def test_operations_of_two_and_in_steps():
    x = np.random.default_rng(3).uniform(-2.0, 2.0, (2, BLOCK))
    a, b = x
    value, slopes = values_and_slopes(np.arctan2, x)
    assert np.allclose(value, np.arctan2(a, b))
    assert np.allclose(slopes, [b / (a * a + b * b), -a / (a * a + b * b)])
    value, slopes = values_and_slopes(np.copysign, x)
    assert np.array_equal(value, np.copysign(a, b))
    assert np.array_equal(slopes, [np.sign(a) * np.sign(b), 0.0 * b])
    value, slopes = values_and_slopes(lambda a, b: select(less(a, b), a * a, a * b + b), x)
    assert np.allclose(value, np.where(a < b, a * a, a * b + b))
    assert np.allclose(slopes, [np.where(a < b, 2.0 * a, b), np.where(a < b, 0.0, a + 1.0)])
    value, slopes = values_and_slopes(lambda a, b: abs(a) * np.floor(b) + np.ceil(a) * b, x)
    assert np.allclose(value, abs(a) * np.floor(b) + np.ceil(a) * b)
    assert np.allclose(slopes, [np.sign(a) * np.floor(b), np.ceil(a)])


def test_choices_and_conditions():
    x = np.random.default_rng(4).uniform(-2.0, 2.0, (3, BLOCK))
    x[2, :5] = x[1, :5]
    a, b, c = x

    def choose(a, b, c):
        first = select((a < b) & (b <= c), a * b, b * c)
        return first + select((c < 0.5) | (b == c), a, c * c) + select(a != b, 2.0 * a, b)

    is_first, is_second = (a < b) & (b <= c), (c < 0.5) | (b == c)
    value, slopes = values_and_slopes(choose, x)
    expected = np.where(is_first, a * b, b * c) + np.where(is_second, a, c * c) + 2.0 * a
    assert np.allclose(value, expected)
    by_a = np.where(is_first, b, 0.0) + np.where(is_second, 1.0, 0.0) + 2.0
    by_b = np.where(is_first, a, c)
    by_c = np.where(is_first, 0.0, b) + np.where(is_second, 0.0, 2.0 * c)
    assert np.allclose(slopes, [by_a, by_b, by_c])


def test_a_long_chain_of_random_operations():
    """Deeper than any slot is kept: slots are used again, sums swallow what is needed once."""
    rng = np.random.default_rng(5)
    steps = [(rng.integers(4), *rng.integers(0, 8, 2), rng.uniform(-1, 1)) for _ in range(400)]

    def chain(*x):
        numbers = list(x) * 2
        for kind, i, j, c in steps:
            new = (
                numbers[i] * numbers[j] * 0.5,
                c * numbers[i] - numbers[j],
                np.sin(numbers[i]),
                numbers[j] - c,
            )[kind]
            numbers[(i + j) % 8] = new * 0.5
        return sum(numbers[1:], numbers[0])

    x = rng.uniform(-1.0, 1.0, (4, BLOCK))
    value, slopes = values_and_slopes(chain, x)
    assert np.allclose(value, chain(*x), 1e-12, 1e-13)
    for j in range(4):
        moved = x.astype(complex)
        moved[j] += 1e-30j
        assert np.allclose(slopes[j], np.imag(chain(*moved)) / 1e-30, 1e-10, 1e-12)


def test_what_has_no_derivative_or_takes_too_much_is_refused_by_name():
    graph = Graph()
    a, b = graph.inputs("x", 2)
    seeds = {a.index: {0: 1.0}}
    with pytest.raises(UnsupportedError, match="no derivative of pow"):
        jacobian(graph, seeds, [graph.index(a**b)])
    with pytest.raises(UnsupportedError, match="more than 1 products"):
        jacobian(graph, seeds, [graph.index(np.sin(a) * np.cos(a) * a)], 1)
    with pytest.raises(UnsupportedError, match="not among the inputs"):
        write_tape(graph, [a.index], [[graph.index(a * b)]])


def test_what_holds_for_all_inputs_takes_no_operation():
    graph = Graph()
    x, y = graph.inputs("x", 2)
    # one number that was computed twice
    one, same = np.sin(x * y), np.sin(y * x)
    assert one is not same
    known = [
        (one - same, 0.0), (one - one, 0.0), (one * 0.0, 0.0), (0.0 / one, 0.0), (one <= same, True),
        (one < same, False), (one == same, True), (one < np.inf, True), (one <= -np.inf, False),
        (one > -np.inf, True), (one >= np.inf, False), (one == np.inf, False), ((x < y) & False, False),
        ((x < y) | True, True),
    ]  # fmt: skip
    for found, value in known:
        assert type(found) is type(value)
        assert found == value
    opposite = -one
    alike = [
        (one, same), (one + 0.0, one), (0.0 + one, one), (one - 0.0, one), (0.0 - one, opposite),
        (one * 1.0, one), (-1.0 * one, opposite), (one / 1.0, one), (one / -1.0, opposite), (-opposite, one),
        (one / 4.0, 0.25 * one), (x + y, y + x), (x + (-y), x - y), ((-x) + y, y - x), (x - (-y), x + y),
        ((x < y) & True, x < y), ((x < y) | False, x < y), ((x < y).select(one, same), one),
    ]  # fmt: skip
    for found, other in alike:
        assert found.index == other.index
    for found, other in ((x - y, y - x), (x < y, y < x), (x < y, x <= y), (x / y, y / x), (one, x * y)):
        assert found.index != other.index


def test_results_that_are_constants_or_inputs():
    graph = Graph()
    inputs = graph.inputs("x", 2)
    nodes = [graph.index(2.5), inputs[1].index, graph.index(0.0), inputs[1].index]
    x = np.random.default_rng(6).standard_normal((2, BLOCK))
    found = run(graph, inputs, nodes, x)
    assert np.array_equal(found, [np.full(BLOCK, 2.5), x[1], np.zeros(BLOCK), x[1]])


def some_mass(seed, n=9):
    """Where a mass matrix is not zero (n, n), of trees or with a loop, and one."""
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(-1, i)) for i in range(n)]
    M = np.zeros((n, n), dtype=bool)
    for i in range(n):
        k = i
        while k >= 0:
            M[i, k] = M[k, i] = True
            k = parents[k]
    if seed > 2:  # no tree
        M[0, 5] = M[5, 0] = True
    numbers = np.where(M, rng.uniform(0.1, 1.0, (n, n)), 0.0)
    return M, numbers + numbers.T + 10.0 * np.eye(n)


@pytest.mark.parametrize("seed", range(5))
def test_the_pattern_holds_every_number_of_the_factor(seed):
    M, numbers = some_mass(seed)
    n = len(M)
    L = np.linalg.cholesky(numbers[::-1, ::-1])
    pattern = pattern_of(M)
    rows = [pattern[pattern[i] : pattern[i + 1]] for i in range(n)]
    columns = [pattern[pattern[n + 1 + i] : pattern[n + 2 + i]] for i in range(n)]
    there = {(i, int(j)) for i in range(n) for j in rows[i]}
    assert there == {(int(i), j) for j in range(n) for i in columns[j]}
    filled = {(i, j) for i in range(n) for j in range(i) if abs(L[i, j]) > 1e-14}
    assert filled <= there
    if seed <= 2:
        assert len(there) == np.tril(M, -1).sum()


@pytest.mark.parametrize("given", [(), (4,), (0, 3, 8)])
@pytest.mark.parametrize("seed", range(5))
def test_the_factor_solves_with_the_mass_matrix(seed, given):
    """From the last coordinate to the first; where accelerations are given, by the unit matrix."""
    M, numbers = some_mass(seed)
    n, pattern = len(M), pattern_of(M)
    is_given = np.isin(np.arange(n), given).astype(np.int64)
    kept = np.outer(is_given == 0, is_given == 0)
    expected = np.where(kept, numbers, 0.0) + np.diag(is_given)
    half = np.tril_indices(n)
    slots = np.random.default_rng(seed).permutation(60)[: half[0].size]
    for g in range(GROUPS):
        X, L = np.full(60 * GROUPS, np.nan), np.zeros((n, n))
        X[slots * GROUPS + g] = numbers[half]
        factorize(X, g, slots, is_given, pattern, L)
        sides = np.random.default_rng(9).standard_normal((n, COLUMNS))
        for first in (0, 3):
            sides[:first] = 0.0
            x = sides.ravel().copy()
            solve_columns(L, pattern, first, x)
            found = x.reshape(n, COLUMNS)[::-1]
            np.testing.assert_allclose(expected @ found, sides[::-1], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("share", [0.0, -1.0])
def test_a_singular_mass_matrix_has_no_factor(share):
    M = np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]) + share * np.diag([0.0, 0.0, 1.0])
    L = np.zeros((3, 3))
    X = np.repeat(M[np.tril_indices(3)], GROUPS)
    factorize(X, 1, np.arange(6), np.zeros(3, dtype=np.int64), pattern_of(np.ones((3, 3), dtype=bool)), L)
    assert np.isnan(L).any()


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 3])
def test_rows_are_put_into_slots_block_by_block(count):
    """Slots hold a number of each row; where rows end, the last one fills the block."""
    rows = np.random.default_rng(count).standard_normal((count, 3))
    for first in range(0, count, BLOCK):
        slots = np.full((6, BLOCK), np.nan)
        put_rows(slots.reshape(-1), rows, first, 2)
        here = [min(first + k, count - 1) for k in range(BLOCK)]
        np.testing.assert_array_equal(slots[2:5], rows[here].T)
        assert np.isnan(slots[[0, 1, 5]]).all()
