"""The six equations of the legs against SciPy's factors with the same choice of pivots."""

import numpy as np
import pytest
from scipy.linalg import lu

from flexdyn_ros.families.platform.kernels.lengths import solve_general


@pytest.mark.parametrize("seed", range(8))
def test_six_equations_are_solved_with_the_largest_pivots(seed):
    rng = np.random.default_rng(seed)
    A, b, x = rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-2, 3, (6, 1)), rng.normal(size=6), np.empty(6)
    found = solve_general(np.column_stack((A, b)).ravel(), x)
    order, _, upper = lu(A)
    assert not np.array_equal(order, np.eye(6))
    pivots = np.abs(np.diag(upper))
    assert found == pytest.approx(pivots.min() / pivots.max(), rel=1e-12)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9)
