"""The mass matrix of a tree as the metric of loops: M = L' L with a lower L, from the tips to the root.

Coordinates of separate branches have no number in M, and none in L (Featherstone 2008, section 6.5): what is
zero is passed over. All rows of the loops are carried at once, a row of W for each coordinate, so that inner
loops run along memory.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import ROUNDING
from flexdyn_ros.numerics.compiling.compiler import kernel


@kernel
def factor(A, n, whole):
    """Replace the lower triangle of A (n, n) by L; False if A is not positive definite to rounding. whole
    (n,) is scratch."""
    for i in range(n):
        whole[i] = A[i, i]
    for k in range(n - 1, -1, -1):
        d = A[k, k]
        if not d > ROUNDING * whole[k]:
            return False
        d = np.sqrt(d)
        A[k, k] = d
        share = 1.0 / d
        for i in range(k):
            A[k, i] = A[k, i] * share
        for i in range(k):
            x = A[k, i]
            if x != 0.0:
                for j in range(i + 1):
                    A[i, j] -= x * A[k, j]
    return True


@kernel
def to_tips(L, n, x):
    """Replace x (n,) by L'^-1 x."""
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        s = x[i]
        if s != 0.0:
            for j in range(i):
                x[j] -= L[i, j] * s


@kernel
def to_root(L, n, x):
    """Replace x (n,) by L^-1 x."""
    for i in range(n):
        s = x[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]


@kernel
def carry_rows(L, J, W):
    """Write W (nv, m) = L'^-1 J' of rows J (m, nv)."""
    m, n = J.shape
    for j in range(n):
        for r in range(m):
            W[j, r] = J[r, j]
    for i in range(n - 1, -1, -1):
        share = 1.0 / L[i, i]
        for r in range(m):
            W[i, r] *= share
        for j in range(i):
            x = L[i, j]
            if x != 0.0:
                for r in range(m):
                    W[j, r] -= x * W[i, r]


@kernel
def product_of_rows(W, G):
    """Write G (m, m) = W' W of W (nv, m)."""
    n, m = W.shape
    for r in range(m):
        for k in range(m):
            G[r, k] = 0.0
    for j in range(n):
        for r in range(m):
            x = W[j, r]
            if x != 0.0:
                for k in range(m):
                    G[r, k] += x * W[j, k]
