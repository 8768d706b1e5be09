"""The mass matrix of a tree as the metric of loops: M = L' D L with a lower L of units on its diagonal, from
the tips to the root (Featherstone 2008, section 6.5).

Coordinates of separate branches have no number in M, and none in L: what is zero is passed over. All rows of
the loops are carried at once, a row of W for each coordinate, so that inner loops run along memory.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.blocks import add_share, first_of_block, product
from flexdyn_ros.numerics.algebra.linalg import ROUNDING
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import row, tail, window


@kernel
def factor(A, n, whole):
    """Replace the lower triangle of A (n, n) by L, its diagonal by D; False if A is not positive definite to
    rounding. whole (n,) is scratch."""
    for i in range(n):
        whole[i] = A[i, i]
    for k in range(n - 1, -1, -1):
        own = row(A, k)
        d = own[k]
        if not d > ROUNDING * whole[k]:
            return False
        share = 1.0 / d
        for i in range(k):
            x = own[i]
            if x != 0.0:
                add_share(window(row(A, i), 0, i + 1), own, -share * x)
        for i in range(k):
            own[i] *= share
    return True


@kernel
def to_tips(L, n, x):
    """Replace x (n,) by D^-1 L'^-1 x."""
    for i in range(n - 1, -1, -1):
        own = row(L, i)
        add_share(window(x, 0, i), own, -x[i])
        x[i] /= own[i]


@kernel
def to_root(L, n, x):
    """Replace x (n,) by L^-1 x."""
    for i in range(n):
        x[i] -= product(window(x, 0, i), row(L, i))


@kernel
def carry_rows(L, J, W):
    """Write W (nv, w) = L'^-1 J' of rows J (nv, w)."""
    n, w = W.shape
    for j in range(n):
        own, given = row(W, j), row(J, j)
        for r in range(w):
            own[r] = given[r]
    for i in range(n - 1, -1, -1):
        own, shares = row(W, i), row(L, i)
        for j in range(i):
            x = shares[j]
            if x != 0.0:
                add_share(row(W, j), own, -x)


@kernel
def product_of_rows(W, D, G):
    """Write the upper triangle of G (m, w) = W' D^-1 W of W (nv, w) and the diagonal of D (nv, nv)."""
    m, w = G.shape
    for r in range(m):
        own = row(G, r)
        for k in range(w):
            own[k] = 0.0
    for j in range(W.shape[0]):
        own, share = row(W, j), 1.0 / row(D, j)[j]
        for r in range(m):
            x = own[r]
            if x != 0.0:
                begin = first_of_block(r)
                add_share(tail(row(G, r), begin), tail(own, begin), share * x)
