"""Small dense linear algebra without allocation."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import absolute, fails, larger, less, select


@kernel
def cholesky(A, n):
    """Replace the lower triangle of the leading (n, n) block by its Cholesky factor; False if it is not
    positive definite; NaN in it where that is not known yet."""
    largest = 0.0
    for i in range(n):
        largest = larger(largest, absolute(A[i, i]))
    for j in range(n):
        d = A[j, j]
        for k in range(j):
            d -= A[j, k] * A[j, k]
        positive = less(1e-15 * largest, d)
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
