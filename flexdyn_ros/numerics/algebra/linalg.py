"""Small dense linear algebra without allocation."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import fails, less, select

#: share of a number on the diagonal below which what elimination leaves of it is rounding
ROUNDING = 1e-13


@kernel
def cholesky(A, n):
    """Replace the lower triangle of the leading (n, n) block by its Cholesky factor; False if it is not
    positive definite to rounding; NaN in it where that is not known yet."""
    for j in range(n):
        d = whole = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        positive = less(ROUNDING * whole, d)
        if fails(positive):
            return False
        d = np.sqrt(select(positive, d, np.nan))
        A[j, j] = d
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / d
    return True


@kernel
def cholesky_solve(L, n, b):
    """Replace b (n,) by A^-1 b, with L from `cholesky`."""
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * b[k]
        b[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= L[k, i] * b[k]
        b[i] = s / L[i, i]
