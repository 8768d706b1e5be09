"""Assignments are those of SciPy's function: their sums equal, and no column is given twice."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from flexdyn_ros.numerics.algebra.assignment import assign


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (3, 7), (12, 12), (20, 33), (0, 4)])
def test_assignments_have_the_least_sum(n, m):
    rng = np.random.default_rng(n + 100 * m)
    for cost in (
        rng.standard_normal((n, m)),
        rng.integers(0, 3, (n, m)).astype(float),
        -(rng.random((n, m)) ** 9),
    ):
        columns = assign(cost)
        assert columns.shape == (n,)
        assert np.unique(columns).size == n
        least = cost[linear_sum_assignment(cost)].sum()
        assert cost[np.arange(n), columns].sum() == pytest.approx(least, abs=1e-12)


def test_a_row_gives_way_to_one_that_has_no_other():
    """What is best for each alone leaves the second row with the worst."""
    assert assign(-np.array([[0.6, 0.58], [0.59, 0.0]])).tolist() == [1, 0]
