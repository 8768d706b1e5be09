"""Dynamics of a platform on six legs: M(q) a + h(q, v) = J^T tau + W, for one state.

The forces of all legs across their axes, and along them without their drives, follow in closed form
(legs.py); platform and legs together then ask for a wrench, which six drives supply through one
6 x 6 system (docs/theory/platform.md, "Platform and legs"). Wrenches are (moment; force) about the platform's
origin, world axes. Numbers may be complex, for exact derivatives.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.multibody.elements.kernels.standing_legs import (
    dot,
    force_of_leg,
    force_of_plain_leg,
    leg_inertia,
    leg_line,
    point_velocity,
    rate_matrix,
    six,
    three,
)
from flexdyn_ros.numerics.algebra.rotations import cross, matrix_of_quaternion, symmetric, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import absolute, larger, less, select, smaller

from .views import FIRST_LEG, GRAVITY, INERTIA, LEG_NUMBERS, LEGS, MASS, MOMENT


@kernel(forceinline=True)
def wrench_of_platform(f, R, w, alpha, a, g):
    """Wrench (m, f) that the motion and weight of the platform itself take."""
    wb, eb = unturn(R, w[0], w[1], w[2]), unturn(R, alpha[0], alpha[1], alpha[2])
    I, c = six(f, INERTIA), three(f, MOMENT)
    L, e = symmetric(I, wb[0], wb[1], wb[2]), symmetric(I, eb[0], eb[1], eb[2])
    n = cross(wb[0], wb[1], wb[2], L[0], L[1], L[2])
    ab = unturn(R, a[0] - g[0], a[1] - g[1], a[2] - g[2])
    p = cross(c[0], c[1], c[2], ab[0], ab[1], ab[2])
    W = turn(rate_matrix(wb, eb), c[0], c[1], c[2])
    m = f[MASS]
    return (
        turn(R, e[0] + n[0] + p[0], e[1] + n[1] + p[1], e[2] + n[2] + p[2]),
        turn(R, m * ab[0] + W[0], m * ab[1] + W[1], m * ab[2] + W[2]),
    )


@kernel(forceinline=True)
def required_wrench(model, q, v, a, weight, J, W):
    """W (6,) = M a + h, and the leg Jacobian J (36,) by rows. weight: factor of gravity."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    w, vo = (v[0], v[1], v[2]), (v[3], v[4], v[5])
    alpha, ao = (a[0], a[1], a[2]), (a[3], a[4], a[5])
    g = (weight * f[GRAVITY], weight * f[GRAVITY + 1], weight * f[GRAVITY + 2])
    m, total = wrench_of_platform(f, R, w, alpha, ao, g)
    mx, my, mz = m
    fx, fy, fz = total
    rates = rate_matrix(w, alpha)
    for i in range(LEGS):
        at = FIRST_LEG + LEG_NUMBERS * i
        r, s, length, inverse = leg_line(f, at, R, q[0], q[1], q[2])
        vB = point_velocity(w, vo, r)
        d = turn(rates, r[0], r[1], r[2])
        aB = (ao[0] + d[0], ao[1] + d[1], ao[2] + d[2])
        if model.axisymmetric:
            F = force_of_plain_leg(f, at, model.universal, s, length, inverse, vB, aB, g)
        else:
            F = force_of_leg(f, at, model.universal, s, length, inverse, vB, aB, g)
        n = cross(r[0], r[1], r[2], F[0], F[1], F[2])
        mx, my, mz = mx + n[0], my + n[1], mz + n[2]
        fx, fy, fz = fx + F[0], fy + F[1], fz + F[2]
        n = cross(r[0], r[1], r[2], s[0], s[1], s[2])
        J[6 * i], J[6 * i + 1], J[6 * i + 2] = n[0], n[1], n[2]
        J[6 * i + 3], J[6 * i + 4], J[6 * i + 5] = s[0], s[1], s[2]
    W[0], W[1], W[2], W[3], W[4], W[5] = mx, my, mz, fx, fy, fz


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


@kernel(forceinline=True)
def inertia_matrix(model, q, M):
    """M (36,) by rows: the platform and, seen through the arms of the upper joints, the legs."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    m, I = f[MASS], six(f, INERTIA)
    c = turn(R, f[MOMENT], f[MOMENT + 1], f[MOMENT + 2])
    # rotational block R I R^T, by columns of I R^T
    c0, c1, c2 = (
        symmetric(I, R[0], R[1], R[2]),
        symmetric(I, R[3], R[4], R[5]),
        symmetric(I, R[6], R[7], R[8]),
    )
    x, y = (R[0], R[1], R[2]), (R[3], R[4], R[5])
    xx, xy, xz = dot(x, c0), dot(x, c1), dot(x, c2)
    yy, yz, zz = dot(y, c1), dot(y, c2), dot((R[6], R[7], R[8]), c2)
    # block angular-linear [c]; block linear-linear m
    p00, p01, p02 = 0.0 * m, -c[2], c[1]
    p10, p11, p12 = c[2], 0.0 * m, -c[0]
    p20, p21, p22 = -c[1], c[0], 0.0 * m
    t00, t01, t02, t11, t12, t22 = m, 0.0 * m, 0.0 * m, m, 0.0 * m, m
    for i in range(LEGS):
        at = FIRST_LEG + LEG_NUMBERS * i
        r, s, _, inverse = leg_line(f, at, R, q[0], q[1], q[2])
        e = leg_inertia(f, at, model.universal, s, inverse)
        # [r] times the columns of the leg's inertia, then times [r]^T
        k0 = cross(r[0], r[1], r[2], e[0], e[1], e[2])
        k1 = cross(r[0], r[1], r[2], e[1], e[3], e[4])
        k2 = cross(r[0], r[1], r[2], e[2], e[4], e[5])
        p00, p01, p02 = p00 + k0[0], p01 + k1[0], p02 + k2[0]
        p10, p11, p12 = p10 + k0[1], p11 + k1[1], p12 + k2[1]
        p20, p21, p22 = p20 + k0[2], p21 + k1[2], p22 + k2[2]
        t00, t01, t02 = t00 + e[0], t01 + e[1], t02 + e[2]
        t11, t12, t22 = t11 + e[3], t12 + e[4], t22 + e[5]
        xx += r[1] * k2[0] - r[2] * k1[0]
        xy += r[2] * k0[0] - r[0] * k2[0]
        xz += r[0] * k1[0] - r[1] * k0[0]
        yy += r[2] * k0[1] - r[0] * k2[1]
        yz += r[0] * k1[1] - r[1] * k0[1]
        zz += r[0] * k1[2] - r[1] * k0[2]
    M[0], M[1], M[2], M[3], M[4], M[5] = xx, xy, xz, p00, p01, p02
    M[6], M[7], M[8], M[9], M[10], M[11] = xy, yy, yz, p10, p11, p12
    M[12], M[13], M[14], M[15], M[16], M[17] = xz, yz, zz, p20, p21, p22
    M[18], M[19], M[20], M[21], M[22], M[23] = p00, p10, p20, t00, t01, t02
    M[24], M[25], M[26], M[27], M[28], M[29] = p01, p11, p21, t01, t11, t12
    M[30], M[31], M[32], M[33], M[34], M[35] = p02, p12, p22, t02, t12, t22


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


@kernel
def solve_definite(M, x):
    """Replace x (6,) by M^-1 x for symmetric M (36,), by L D L^T in the lower triangle; NaN if M is not
    positive definite."""
    for j in range(6):
        d = M[7 * j]
        for k in range(j):
            d -= M[6 * j + k] * M[6 * j + k] * M[7 * k]
        d = select(less(0.0, d), d, np.nan)
        M[7 * j] = d
        inverse = 1.0 / d
        for i in range(j + 1, 6):
            s = M[6 * i + j]
            for k in range(j):
                s -= M[6 * i + k] * M[6 * j + k] * M[7 * k]
            M[6 * i + j] = s * inverse
    for i in range(6):
        for k in range(i):
            x[i] -= M[6 * i + k] * x[k]
    for i in range(5, -1, -1):
        x[i] /= M[7 * i]
        for k in range(i + 1, 6):
            x[i] -= M[6 * k + i] * x[k]


@kernel(forceinline=True)
def drive_forces(model, data, q, v, a, load, tau):
    """tau of J^T tau = M a + h - load; returns how far the Jacobian is from singular, 0 is singular."""
    A, J, W = data.A, data.J, data.x
    required_wrench(model, q, v, a, 1.0, J, W)
    for i in range(6):
        for j in range(6):
            A[7 * i + j] = J[6 * j + i]
        A[7 * i + 6] = W[i] - load[i]
    return solve_general(A, tau)


@kernel(forceinline=True)
def pose_acceleration(model, data, q, v, tau, load, a):
    """a of M a = J^T tau + load - h; NaN if M is not positive definite."""
    J, W, M = data.J, data.x, data.M
    for i in range(6):
        W[6 + i] = 0.0
    required_wrench(model, q, v, window(W, 6, 6), 1.0, J, W)
    inertia_matrix(model, q, M)
    for i in range(6):
        s = load[i] - W[i]
        for k in range(6):
            s += J[6 * k + i] * tau[k]
        a[i] = s
    solve_definite(M, a)
