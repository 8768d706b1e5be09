"""Lengths of the legs, their Jacobian, and the system of six that it makes; numbers of any type."""

from __future__ import annotations

from flexdyn_ros.multibody.elements.kernels.standing_legs import leg_line
from flexdyn_ros.numerics.algebra.rotations import cross, matrix_of_quaternion
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import absolute, larger, less, select, smaller

from .views import FIRST_LEG, LEG_NUMBERS, LEGS


@kernel(forceinline=True)
def leg_rows(model, q, J, length):
    """Leg Jacobian J (36,) by rows, and lengths (6,)."""
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    for i in range(LEGS):
        r, s, ell, _ = leg_line(model.f, FIRST_LEG + LEG_NUMBERS * i, R, q[0], q[1], q[2])
        n = cross(r[0], r[1], r[2], s[0], s[1], s[2])
        J[6 * i], J[6 * i + 1], J[6 * i + 2] = n[0], n[1], n[2]
        J[6 * i + 3], J[6 * i + 4], J[6 * i + 5] = s[0], s[1], s[2]
        length[i] = ell


@kernel
def solve_general(A, x):
    """Solve the 6 x 6 system A (42,), rows with the right side last, into x; the smallest pivot over the
    largest.

    Gauss with partial pivoting; A is destroyed.
    """
    largest, smallest = absolute(A[0]), absolute(A[0])
    for k in range(6):
        for i in range(k + 1, 6):
            larger_below = less(absolute(A[7 * k + k]), absolute(A[7 * i + k]))
            for j in range(k, 7):
                up, down = A[7 * k + j], A[7 * i + j]
                A[7 * k + j] = select(larger_below, down, up)
                A[7 * i + j] = select(larger_below, up, down)
        best = absolute(A[7 * k + k])
        if k == 0:
            smallest = best
        largest, smallest = larger(largest, best), smaller(smallest, best)
        inverse = 1.0 / A[7 * k + k]
        A[7 * k + k] = inverse
        for i in range(k + 1, 6):
            factor = A[7 * i + k] * inverse
            for j in range(k + 1, 7):
                A[7 * i + j] -= factor * A[7 * k + j]
    for i in range(5, -1, -1):
        b = A[7 * i + 6]
        for j in range(i + 1, 6):
            b -= A[7 * i + j] * x[j]
        x[i] = b * A[7 * i + i]
    return smallest / largest
