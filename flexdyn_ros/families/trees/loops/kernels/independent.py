"""Rows of loops that depend on each other: how many are independent, and what multipliers of these do."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.blocks import add_share, first_of_block, product
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import row, tail

from . import metric

#: pivot of the product of rows relative to the largest that counts as zero; above the one and below the other
#: of these it does so in any order
CUT = 1e-9
CLEAR, NOTHING = 1e-6, 1e-12


@kernel(forceinline=True)
def independent_rows(data, W, D):
    """Factor G = W' D^-1 W of the rows in W (nv, w): returns how many of them are independent. The diagonal
    of G is in data.left."""
    metric.product_of_rows(W, D, data.G)
    rank = rows_as_they_come(data.G, data.F, data.left, data.order)
    if rank < 0:
        metric.product_of_rows(W, D, data.G)
        rank = rows_by_pivots(data.G, data.F, data.order)
    return rank


@kernel
def rows_as_they_come(G, F, left, order):
    """Write factors F (m, w), one after the other by rows, of a semidefinite G (m, w), and which rows these
    are: G = sum F_k' F_k/d_k, d_k the number of F_k at its own row. Returns how many rows are independent, or
    -1 if a row is neither clearly so nor clearly not.

    The upper triangle of G alone counts, and becomes what is left of it; its diagonal is written to left.
    """
    m, first, rank = G.shape[0], 0.0, 0
    for r in range(m):
        left[r] = row(G, r)[r]
        first = max(first, left[r])
    for p in range(m):
        given = row(G, p)
        d = given[p]
        if d > CLEAR * first:
            line, begin, share = row(F, rank), first_of_block(p), -1.0 / d
            for r in range(begin, line.shape[0]):
                line[r] = given[r]
            for r in range(p + 1, m):
                begin = first_of_block(r)
                add_share(tail(row(G, r), begin), tail(line, begin), share * given[r])
            for r in range(first_of_block(p)):
                line[r] = 0.0
            order[rank] = p
            rank += 1
        elif not d <= NOTHING * first:
            return -1
    return rank


@kernel
def rows_by_pivots(G, F, order):
    """`rows_as_they_come` with the largest pivot first (Higham 2002, 10.3); a pivot of CUT of the first ends
    it."""
    m, first, best = G.shape[0], 0.0, 0
    for r in range(m):
        own, order[r] = row(G, r), r
        for k in range(r):
            own[k] = row(G, k)[r]
        if own[r] > first:
            first, best = own[r], r
    for k in range(m):
        order[k], order[best] = order[best], order[k]
        p = int(order[k])
        line, given = row(F, k), row(G, p)
        if not given[p] > CUT * first:
            return k
        share, most, best = -1.0 / given[p], 0.0, k + 1
        for r in range(line.shape[0]):
            line[r] = given[r]
        for i in range(k + 1, m):
            r = int(order[i])
            own = row(G, r)
            add_share(own, line, share * line[r])
            if own[r] > most:
                most, best = own[r], i
    return m


@kernel
def solve_rows(F, rank, order, c, left):
    """Replace c by lam (w,) of G lam = c with the factors of `independent_rows`; other rows get 0. left (m,)
    is scratch.

    A factor's numbers at rows that came before it are rounding: forwards nothing reads what they change,
    backwards they meet the zeros of rows whose turn is to come.
    """
    for k in range(rank):
        p, line = int(order[k]), row(F, k)
        left[k] = c[p] / line[p]
        add_share(c, line, -left[k])
    for r in range(c.shape[0]):
        c[r] = 0.0
    for k in range(rank - 1, -1, -1):
        p, line = int(order[k]), row(F, k)
        c[p] = left[k] - product(c, line) / line[p]


@kernel
def forwards(L, n, x):
    """Replace x (n,) by L^-1 x."""
    for i in range(n):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


@kernel
def backwards(L, n, x):
    """Replace x (n,) by L^-T x."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= L[j, i] * x[j]
        x[i] /= L[i, i]


@kernel(forceinline=True)
def factor_rows(data):
    """Write W = L'^-1 J' of the factors L and D (metric.py), G = W' D^-1 W = J M^-1 J', its factors and
    order; returns how many rows are independent."""
    metric.carry_rows(data.L, data.J, data.W)
    return independent_rows(data, data.W, data.L)


@kernel(forceinline=True)
def push_rows(data, rank):
    """Write change = D^-1 W lam (nv,), with G lam = c in place of lam, after `factor_rows`: M^-1 J' lam, but
    for `metric.to_root`."""
    solve_rows(data.F, rank, data.order, data.lam, data.left)
    for j in range(data.W.shape[0]):
        data.change[j] = product(data.lam, row(data.W, j)) / data.L[j, j]
