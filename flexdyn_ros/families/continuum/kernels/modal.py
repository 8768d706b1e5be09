"""Modal kinematics: slices by Taylor polynomials, the dynamics by Jacobians.

The rotation of a modal slice is not quite orthonormal (docs/theory/continuum.md), so that frames
are affine maps [R p] and no recursion of rigid bodies holds. Taken literally, with p and R products of the
modal transforms, w = (R^T R')^vee and vee picking the entries (32, 13, 21), Lagrange's equations read

    M_jk = sum m p_j.p_k + w_j.I w_k
    h_k  = sum m p_k.(p'' - g) + w_k.I w' + (I w).(R'^T R_k - R_k^T R')^vee

with subscripts for derivatives by q, and p'', w' those at q'' = 0. Time grows as the cube of the number of
sections. A frame in memory is its pose, rate and second rate, then its derivatives by all coordinates, 3 x 4
numbers each, row by row.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import less, select

from . import views
from .algebra import cross, dot, put, sum2, vector
from .section import bending_of, load_state, stop_slope
from .views import chain_memory, section_numbers, section_rows

#: a frame: pose, rate, second rate, derivatives by coordinates
POSE, RATE, SECOND, BY_Q = 0, views.POSE_NUMBERS, 2 * views.POSE_NUMBERS, 3 * views.POSE_NUMBERS
# sums over all mass: twice the kinetic energy, gravity energy, angular momentum about the world origin,
# linear momentum, first moment of mass, mass
TWICE, GRAVITY, ANGULAR, LINEAR, MOMENT, TOTAL = 0, 1, 2, 5, 8, 11


# ---- Taylor polynomials of total degree N in q ----


@kernel
def truncated_sine(degree, Y):
    """(S_M, S_M1, S_M2): sum of (-1)^n Y^n / (2n+1)! over 2n <= degree, and its derivatives f1, f2."""
    return truncated(degree, Y, 1.0)


@kernel
def truncated_versine(degree, Y):
    """(B_M, B_M1, B_M2) of B = (1 - cos x) / x^2."""
    return truncated(degree, Y, 2.0)


@kernel
def truncated(degree, Y, first):
    """Sum of (-1)^n Y^n / (2n + first)! over 2n <= degree, with f1 and f2."""
    f, f1, f2 = 0.0 * Y, 0.0 * Y, 0.0 * Y
    power, power1, power2 = 1.0 + 0.0 * Y, 0.0 * Y, 0.0 * Y
    coefficient = 1.0 / first
    n = 0.0
    while 2.0 * n <= degree:
        f += coefficient * power
        f1 += 2.0 * n * coefficient * power1
        f2 += 4.0 * n * (n - 1.0) * coefficient * power2
        power2 = power1
        power1 = power
        power = power * Y
        coefficient = -coefficient / ((2.0 * n + first + 1.0) * (2.0 * n + first + 2.0))
        n += 1.0
    return f, f1, f2


@kernel
def modal_functions(P, order, eta, x):
    """Functions of a slice in the modal kinematics (3.3): of its centre (f u, g) and of its rotation.

    Returns f, f1, f2, g, g1, g2, their derivatives by s: fs, fs1, gs, gs1, and S, S1, S2, b, b1, b2.
    """
    L = P[views.LENGTH]
    stretch = x[2] - L
    e2 = eta * eta
    e3 = e2 * eta
    Y = e2 * (x[0] * x[0] + x[1] * x[1])
    # powers of eta make derivatives by eta^2 y those by y
    A, A1, A2 = truncated_versine(order - 1, Y)
    B, B1, B2 = truncated_versine(order - 2, Y)
    D, D1, D2 = truncated_sine(order, Y)
    S, S1, S2 = truncated_sine(order - 1, Y)
    f = e2 * (L * A + stretch * B)
    f1 = e2 * e2 * (L * A1 + stretch * B1)
    f2 = e3 * e3 * (L * A2 + stretch * B2)
    g = eta * (L * D + stretch * S)
    g1 = e3 * (L * D1 + stretch * S1)
    g2 = e2 * e3 * (L * D2 + stretch * S2)
    S, S1, S2 = eta * S, e3 * S1, e2 * e3 * S2
    B, B1, B2 = e2 * B, e2 * e2 * B1, e3 * e3 * B2
    return f, f1, f2, g, g1, g2, B, B1, S, S1, S, S1, S2, B, B1, B2


# ---- frames ----


@kernel
def unit_bending(P, k):
    """(ux, uy, mean) per length change of actuator k."""
    return bending_of(P, 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@kernel
def put_pose(L, k, one, bxx, bxy, byy, sx, sy, p):
    """Write [R p] at k of L, from the parts of R = one + S W + b W W."""
    L[k], L[k + 1], L[k + 2], L[k + 3] = one - bxx, -bxy, sx, p[0]
    L[k + 4], L[k + 5], L[k + 6], L[k + 7] = -bxy, one - byy, sy, p[1]
    L[k + 8], L[k + 9], L[k + 10], L[k + 11] = -sx, -sy, one - bxx - byy, p[2]


@kernel
def put_rates(L, k, functions, x, d, also_second):
    """Rate of a slice's pose in direction d of x at k of L, and its second rate behind it."""
    f, f1, f2, g, g1, g2, fs, fs1, gs, gs1, S, S1, S2, b, b1, b2 = functions
    ux, uy = x[0], x[1]
    sigma, square = ux * d[0] + uy * d[1], d[0] * d[0] + d[1] * d[1]
    zero = 0.0 * f
    fd, gd, Sd, bd = f1 * sigma + fs * d[2], g1 * sigma + gs * d[2], S1 * sigma, b1 * sigma
    mixed = d[0] * uy + ux * d[1]
    put_pose(
        L,
        k,
        zero,
        bd * ux * ux + 2.0 * b * ux * d[0],
        bd * ux * uy + b * mixed,
        bd * uy * uy + 2.0 * b * uy * d[1],
        Sd * ux + S * d[0],
        Sd * uy + S * d[1],
        (fd * ux + f * d[0], fd * uy + f * d[1], gd),
    )
    if also_second:
        fdd = f2 * sigma * sigma + f1 * square + 2.0 * fs1 * sigma * d[2]
        gdd = g2 * sigma * sigma + g1 * square + 2.0 * gs1 * sigma * d[2]
        Sdd, bdd = S2 * sigma * sigma + S1 * square, b2 * sigma * sigma + b1 * square
        put_pose(
            L,
            k + views.POSE_NUMBERS,
            zero,
            bdd * ux * ux + 4.0 * bd * ux * d[0] + 2.0 * b * d[0] * d[0],
            bdd * ux * uy + 2.0 * bd * mixed + 2.0 * b * d[0] * d[1],
            bdd * uy * uy + 4.0 * bd * uy * d[1] + 2.0 * b * d[1] * d[1],
            Sdd * ux + 2.0 * Sd * d[0],
            Sdd * uy + 2.0 * Sd * d[1],
            (fdd * ux + 2.0 * fd * d[0], fdd * uy + 2.0 * fd * d[1], gdd),
        )


@kernel
def fill_local(arm, P, W, eta, L):
    """A slice in the base of its section: a frame of three coordinates in L, from rows X and XD."""
    x = vector(W, views.X)
    functions = modal_functions(P, arm.order, eta, x)
    f, S, b = functions[0], functions[10], functions[13]
    ux, uy = x[0], x[1]
    one = 1.0 + 0.0 * f
    put_pose(
        L, POSE, one, b * ux * ux, b * ux * uy, b * uy * uy, S * ux, S * uy, (f * ux, f * uy, functions[3])
    )
    put_rates(L, RATE, functions, x, vector(W, views.XD), True)
    for k in range(3):
        put_rates(L, BY_Q + views.POSE_NUMBERS * k, functions, x, unit_bending(P, k), False)


@kernel
def fill_placement(P, L):
    """The fixed placement of a section's base in L, at rest."""
    zero = 0.0 * L[0]
    for r in range(3):
        for c in range(3):
            L[4 * r + c] = P[views.PLACEMENT + 3 * r + c] + zero
        L[4 * r + 3] = P[views.PLACEMENT + 9 + r] + zero
    for k in range(2 * views.POSE_NUMBERS):
        L[RATE + k] = zero


@kernel
def add_composed(out, o, A, a, B, b, factor, of_pose):
    """out += factor A B; of_pose: B is a pose, with 1 in the corner that is not stored, else a derivative."""
    for r in range(3):
        x, y, z = A[a + 4 * r], A[a + 4 * r + 1], A[a + 4 * r + 2]
        for c in range(4):
            out[o + 4 * r + c] += factor * (x * B[b + c] + y * B[b + 4 + c] + z * B[b + 8 + c])
        if of_pose:
            out[o + 4 * r + 3] += factor * A[a + 4 * r + 3]


@kernel
def carry(frame, L, count, own, out):
    """out = frame with the slice or placement L on it; count coordinates move the frame, own (0, 3) more the
    slice."""
    zero = 0.0 * L[0]
    for k in range(BY_Q + views.POSE_NUMBERS * (count + own)):
        out[k] = zero
    add_composed(out, POSE, frame, POSE, L, POSE, 1.0, True)
    add_composed(out, RATE, frame, RATE, L, POSE, 1.0, True)
    add_composed(out, RATE, frame, POSE, L, RATE, 1.0, False)
    add_composed(out, SECOND, frame, SECOND, L, POSE, 1.0, True)
    add_composed(out, SECOND, frame, RATE, L, RATE, 2.0, False)
    add_composed(out, SECOND, frame, POSE, L, SECOND, 1.0, False)
    for k in range(count):
        add_composed(
            out, BY_Q + views.POSE_NUMBERS * k, frame, BY_Q + views.POSE_NUMBERS * k, L, POSE, 1.0, True
        )
    for k in range(own):
        at = BY_Q + views.POSE_NUMBERS * (count + k)
        add_composed(out, at, frame, POSE, L, BY_Q + views.POSE_NUMBERS * k, 1.0, False)


@kernel
def begin_chain(frame):
    """The world, at rest."""
    zero = 0.0 * frame[0]
    for k in range(BY_Q):
        frame[k] = zero
    frame[0] = frame[5] = frame[10] = 1.0 + zero


@kernel
def clear_chain(chain):
    """Nothing of what the memory held before: it may not be finite."""
    for k in range(chain.shape[0]):
        chain[k] = 0.0


@kernel
def map_point(F, k, c, one):
    """R c + one p of the map at k of F."""
    return (
        F[k] * c[0] + F[k + 1] * c[1] + F[k + 2] * c[2] + one * F[k + 3],
        F[k + 4] * c[0] + F[k + 5] * c[1] + F[k + 6] * c[2] + one * F[k + 7],
        F[k + 8] * c[0] + F[k + 9] * c[1] + F[k + 10] * c[2] + one * F[k + 11],
    )


@kernel
def vee(F, a, b):
    """(A^T B)^vee of the rotations at a and b of F."""
    return (
        F[a + 2] * F[b + 1] + F[a + 6] * F[b + 5] + F[a + 10] * F[b + 9],
        F[a] * F[b + 2] + F[a + 4] * F[b + 6] + F[a + 8] * F[b + 10],
        F[a + 1] * F[b] + F[a + 5] * F[b + 4] + F[a + 9] * F[b + 8],
    )


@kernel
def inertia_times(J, w):
    """A symmetric inertia (xx, xy, xz, yy, yz, zz) times w."""
    return (
        J[0] * w[0] + J[1] * w[1] + J[2] * w[2],
        J[1] * w[0] + J[3] * w[1] + J[4] * w[2],
        J[2] * w[0] + J[4] * w[1] + J[5] * w[2],
    )


@kernel
def add_mass(F, count, m, c, J, g, columns, M, h, sums):
    """Add a mass m at the point c of the frame F and its inertia J about that point to M, h and sums.

    columns: memory for (p_k, w_k, I w_k) of `count` coordinates; M row by row with as many columns as h has.
    """
    w, wd = vee(F, POSE, RATE), sum2(vee(F, RATE, RATE), vee(F, POSE, SECOND))
    p, v, a = map_point(F, POSE, c, 1.0), map_point(F, RATE, c, 1.0), map_point(F, SECOND, c, 1.0)
    a = a[0] - g[0], a[1] - g[1], a[2] - g[2]
    Jw, Jwd = inertia_times(J, w), inertia_times(J, wd)
    n = h.shape[0]
    for k in range(count):
        at = BY_Q + views.POSE_NUMBERS * k
        pk, wk = map_point(F, at, c, 1.0), vee(F, POSE, at)
        one, other = vee(F, RATE, at), vee(F, at, RATE)
        turn = one[0] - other[0], one[1] - other[1], one[2] - other[2]
        h[k] += m * dot(pk, a) + dot(wk, Jwd) + dot(Jw, turn)
        put(columns, 9 * k, (m * pk[0], m * pk[1], m * pk[2]))
        put(columns, 9 * k + 3, wk)
        put(columns, 9 * k + 6, inertia_times(J, wk))
        for j in range(k + 1):
            pj = map_point(F, BY_Q + views.POSE_NUMBERS * j, c, 1.0)
            M[n * k + j] += dot(vector(columns, 9 * k), pj) + dot(wk, vector(columns, 9 * j + 6))
    mv = m * v[0], m * v[1], m * v[2]
    spin = map_point(F, POSE, Jw, 0.0)
    sums[TWICE] += dot(mv, v) + dot(w, Jw)
    angular = sum2(cross(p, mv), spin)
    for r in range(3):
        sums[ANGULAR + r] += angular[r]
        sums[LINEAR + r] += mv[r]
        sums[MOMENT + r] += m * p[r]
    sums[TOTAL] += m


@kernel
def add_body(P, F, count, g, columns, M, h, sums):
    """Add the rigid body on the tip F of a section."""
    m = P[views.BODY]
    zero = 0.0 * F[0]
    if m > 0.0:
        c = P[views.BODY + 1] / m, P[views.BODY + 2] / m, P[views.BODY + 3] / m
        square = m * dot(c, c)
        J = (
            P[views.BODY + 4] - square + m * c[0] * c[0],
            P[views.BODY + 5] + m * c[0] * c[1],
            P[views.BODY + 6] + m * c[0] * c[2],
            P[views.BODY + 7] - square + m * c[1] * c[1],
            P[views.BODY + 8] + m * c[1] * c[2],
            P[views.BODY + 9] - square + m * c[2] * c[2],
        )
        add_mass(F, count, m, (c[0] + zero, c[1] + zero, c[2] + zero), J, g, columns, M, h, sums)


@kernel
def sweep(arm, work, q, v, g):
    """M, h and sums of the arm at (q, v) under gravity g, in its chain memory."""
    chain = chain_memory(arm, work)
    clear_chain(chain)
    size, n = views.FRAME_NUMBERS * (arm.n + 1), 3 * arm.n
    base, at = window(chain, 0, size), window(chain, size, size)
    L = window(chain, 2 * size, views.LOCAL_NUMBERS)
    columns = window(chain, 2 * size + views.LOCAL_NUMBERS, 9 * n)
    M, h, sums = chain_results(arm, work)
    zero = 0.0 * q[0] + 0.0 * v[0]
    begin_chain(base)
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        load_state(P, W, q, i, views.X, P[views.LENGTH])
        load_state(P, W, v, i, views.XD, 0.0)
        fill_placement(P, L)
        carry(base, L, 3 * i, 0, at)
        for k in range(BY_Q + 3 * views.POSE_NUMBERS * i):
            base[k] = at[k]
        first, r = int(P[views.FIRST_NODE]), P[views.MASS] * P[views.ROTARY]
        for j in range(int(P[views.NODE_COUNT])):
            share = arm.nodes[2 * (first + j) + 1]
            fill_local(arm, P, W, arm.nodes[2 * (first + j)], L)
            carry(base, L, 3 * i, 3, at)
            J = share * r, 0.0, 0.0, share * r, 0.0, 2.0 * share * r
            add_mass(at, 3 * i + 3, share * P[views.MASS], (zero, zero, zero), J, g, columns, M, h, sums)
        fill_local(arm, P, W, 1.0, L)
        carry(base, L, 3 * i, 3, at)
        add_body(P, at, 3 * i + 3, g, columns, M, h, sums)
        for k in range(BY_Q + 3 * views.POSE_NUMBERS * (i + 1)):
            base[k] = at[k]
    for k in range(n):
        for j in range(k):
            M[n * j + k] = M[n * k + j]
    sums[GRAVITY] = -(g[0] * sums[MOMENT] + g[1] * sums[MOMENT + 1] + g[2] * sums[MOMENT + 2])


@kernel
def chain_results(arm, work):
    """(M (nv nv), h (nv), sums) in the chain memory."""
    chain, n = chain_memory(arm, work), 3 * arm.n
    start = 2 * views.FRAME_NUMBERS * (arm.n + 1) + views.LOCAL_NUMBERS + 9 * n
    end = start + n * n
    return window(chain, start, n * n), window(chain, end, n), window(chain, end + n, views.SUMS)


@kernel
def reach_slice(arm, work, i, eta):
    """The frame of a slice of section i, from rows X; returns its memory."""
    chain = chain_memory(arm, work)
    clear_chain(chain)
    size = views.FRAME_NUMBERS * (arm.n + 1)
    base, at = window(chain, 0, size), window(chain, size, size)
    L = window(chain, 2 * size, views.LOCAL_NUMBERS)
    begin_chain(base)
    for k in range(i + 1):
        P, W = section_numbers(arm, k), section_rows(work, k)
        fill_placement(P, L)
        carry(base, L, 3 * k, 0, at)
        for j in range(BY_Q + 3 * views.POSE_NUMBERS * k):
            base[j] = at[j]
        fill_local(arm, P, W, eta if k == i else 1.0, L)
        carry(base, L, 3 * k, 3, at)
        for j in range(BY_Q + 3 * views.POSE_NUMBERS * (k + 1)):
            base[j] = at[j]
    return base


@kernel
def column_motion(F, k, c):
    """(angular velocity, velocity of the point c) per speed of coordinate k, world axes."""
    at = BY_Q + views.POSE_NUMBERS * k
    return map_point(F, POSE, vee(F, POSE, at), 0.0), map_point(F, at, c, 1.0)


# ---- what the recursions do for rigid frames ----


@inlined
def modal_inverse(arm, work, q, v, a, gravity_scale, tau):
    """tau = M a + C v + gravity_scale x gravity, without springs and dampers."""
    g = vector(arm.numbers, 0)
    sweep(arm, work, q, v, (gravity_scale * g[0], gravity_scale * g[1], gravity_scale * g[2]))
    M, h, sums = chain_results(arm, work)
    n = 3 * arm.n
    for k in range(n):
        tau[k] = h[k]
        for j in range(n):
            tau[k] += M[n * k + j] * a[j]


@inlined
def modal_mass(arm, work, q, out):
    """M(q)."""
    g = vector(arm.numbers, 0)
    sweep(arm, work, q, q, g)
    M, h, sums = chain_results(arm, work)
    n = 3 * arm.n
    for k in range(n):
        for j in range(n):
            out[k, j] = M[n * k + j]


@inlined
def modal_forward(arm, work, q, v, force, extra, h, a):
    """a of [M + diag(extra) + h D + h^2 K] a = force - bias - h K v, where `force` is less springs,
    dampers and (as after the step) stops already; False where that matrix is singular."""
    g = vector(arm.numbers, 0)
    sweep(arm, work, q, v, g)
    M, bias, sums = chain_results(arm, work)
    n = 3 * arm.n
    for i in range(arm.n):
        P = section_numbers(arm, i)
        spring = 0.25 * h * P[views.BENDING_SPRING]
        for k in range(3):
            at, u = 3 * i + k, unit_bending(P, k)
            a[at] = force[at] - bias[at] - h * P[views.SPRING + k] * v[at]
            M[n * at + at] += extra[at] + h * P[views.DAMPER + k] + h * h * P[views.SPRING + k]
            M[n * at + at] += stop_slope(P, k, q[at], v[at], h)
            for j in range(3):
                w = unit_bending(P, j)
                slope = spring * (u[0] * w[0] + u[1] * w[1])
                a[at] -= slope * v[3 * i + j]
                M[n * at + 3 * i + j] += h * slope
    solve_definite(M, n, a)


@kernel
def solve_definite(M, n, x):
    """x <- M^-1 x by L D L^T; M (n n) is overwritten; NaN if it is not positive definite."""
    for k in range(n):
        for j in range(k):
            s = M[n * k + j]
            for r in range(j):
                s -= M[n * k + r] * M[n * j + r] * M[n * r + r]
            M[n * k + j] = s / M[n * j + j]
        d = M[n * k + k]
        for r in range(k):
            d -= M[n * k + r] * M[n * k + r] * M[n * r + r]
        M[n * k + k] = select(less(0.0, d), d, np.nan)
    for k in range(n):
        for r in range(k):
            x[k] -= M[n * k + r] * x[r]
    for k in range(n):
        x[k] /= M[n * k + k]
    for i in range(n):
        k = n - 1 - i
        for r in range(k + 1, n):
            x[k] -= M[n * r + k] * x[r]
