"""Three-vectors, 3 x 3 matrices and 6 x 6 inertias, as flat arrays, row by row, without allocation.

An inertia is three blocks: J (9), H (9), M (9) with moment = J alpha + H a, force = H^T alpha + M a.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import both, less, select


@kernel
def cross(a, b):
    """a x b of tuples."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def dot(a, b):
    """a . b of tuples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def sum2(a, b):
    """a + b of tuples."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def vector(x, k):
    """Three numbers of an array, from k on, as a tuple."""
    return x[k], x[k + 1], x[k + 2]


@kernel
def put(x, k, a):
    """Write a tuple to an array, from k on."""
    x[k], x[k + 1], x[k + 2] = a


@kernel
def add(x, k, a):
    """Add a tuple to an array, from k on."""
    x[k] += a[0]
    x[k + 1] += a[1]
    x[k + 2] += a[2]


@kernel
def times(R, k, a):
    """R a, with R at k of an array."""
    return (
        R[k] * a[0] + R[k + 1] * a[1] + R[k + 2] * a[2],
        R[k + 3] * a[0] + R[k + 4] * a[1] + R[k + 5] * a[2],
        R[k + 6] * a[0] + R[k + 7] * a[1] + R[k + 8] * a[2],
    )


@kernel
def transposed_times(R, k, a):
    """R^T a, with R at k of an array."""
    return (
        R[k] * a[0] + R[k + 3] * a[1] + R[k + 6] * a[2],
        R[k + 1] * a[0] + R[k + 4] * a[1] + R[k + 7] * a[2],
        R[k + 2] * a[0] + R[k + 5] * a[1] + R[k + 8] * a[2],
    )


@kernel
def column(A, k, j):
    """Column j of the matrix at k."""
    return A[k + j], A[k + 3 + j], A[k + 6 + j]


@kernel
def put_column(A, k, j, a):
    """Write column j of the matrix at k."""
    A[k + j], A[k + 3 + j], A[k + 6 + j] = a


@kernel
def add_column(A, k, j, a):
    """Add to column j of the matrix at k."""
    A[k + j] += a[0]
    A[k + 3 + j] += a[1]
    A[k + 6 + j] += a[2]


@kernel
def turn_inertia(out, o, R, r, A, k):
    """The inertia at o = that at k seen in other axes, R at r: out <- axes of A."""
    for block in range(0, 27, 9):
        for j in range(3):
            # columns of R A_block, then rows of that times R^T
            put_column(out, o + block, j, times(R, r, column(A, k + block, j)))
        for i in range(3):
            row = vector(out, o + block + 3 * i)
            put(out, o + block + 3 * i, times(R, r, row))


@kernel
def add_shifted_inertia(out, o, A, k, p):
    """Add the inertia at k, about a point p, to that at o, about the origin."""
    # H' = H + p~ M;  J' = J - H' p~ + p~ H^T
    for j in range(3):
        add_column(out, o + 18, j, column(A, k + 18, j))
        add_column(out, o + 9, j, sum2(column(A, k + 9, j), cross(p, column(A, k + 18, j))))
    for j in range(3):
        # column j of p~ is p x e_j
        e = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        pe = cross(p, e)
        shifted = sum2(times(A, k + 9, pe), cross(p, times(A, k + 18, pe)))
        turned = cross(p, vector(A, k + 9 + 3 * j))
        own = column(A, k, j)
        add_column(
            out,
            o,
            j,
            (
                own[0] - shifted[0] + turned[0],
                own[1] - shifted[1] + turned[1],
                own[2] - shifted[2] + turned[2],
            ),
        )


@kernel
def wrench_of(A, k, alpha, a):
    """Moment and force of the inertia at k under accelerations alpha, a."""
    n = sum2(times(A, k, alpha), times(A, k + 9, a))
    f = sum2(transposed_times(A, k + 9, alpha), times(A, k + 18, a))
    return n, f


@kernel
def invert_symmetric(A, k):
    """Replace the symmetric 3 x 3 matrix at k by its inverse; NaN if it is not positive definite."""
    a, b, c, d, e, f = A[k], A[k + 1], A[k + 2], A[k + 4], A[k + 5], A[k + 8]
    aa, ab, ac = d * f - e * e, c * e - b * f, b * e - c * d
    determinant = a * aa + b * ab + c * ac
    definite = both(both(less(0.0, a), less(b * b, a * d)), less(0.0, determinant))
    s = select(definite, 1.0, np.nan) / determinant
    A[k], A[k + 1], A[k + 2] = aa * s, ab * s, ac * s
    A[k + 3], A[k + 4], A[k + 5] = ab * s, (a * f - c * c) * s, (b * c - a * e) * s
    A[k + 6], A[k + 7], A[k + 8] = ac * s, (b * c - a * e) * s, (a * d - b * b) * s
