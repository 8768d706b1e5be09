"""Inertia of a deformed flexible link, and the forces of its velocities; node axes, about the node's origin.

A material point is at h = h0 + sum delta_k u_k - e sigma, sigma = 1/2 delta^T S delta
(docs/theory/flexible_links.md, "Inertia of a deformed link without quadrature points"). Its tangent fields
are u_k - e sigma_k, sigma_k = sum_l S_kl delta_l. With the constants

    N_k = int h u_k^T,  H_p = int h S_p,  W_lk = int sigma_l u_k,  V_pk = int S_p sigma_k

all integrals over the deformed link are sums over modes and pairs: no quadrature point is visited.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.blocks import add3, load6
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.numerics.algebra.rotations import cross, store3, symmetric
from flexdyn_ros.numerics.compiling.compiler import kernel


@kernel(fastmath=FAST, forceinline=True)
def add_rows(matrix, weights, first, rows, n, out):
    """out (n,) += sum_i weights[first + i] matrix[i] of a flat (rows, n) matrix."""
    for i in range(rows):
        w = weights[first + i]
        row = matrix[i * n : (i + 1) * n]
        for j in range(n):
            out[j] += w * row[j]


@kernel(fastmath=FAST)
def deform(link, state, q):
    """Write rigid, s, a, N, M (and H, V, W) of the link deformed by its modes in q."""
    m = link.m
    zero = 0.0 * q[0]
    for i in range(3 * m):
        state.s[i] = link.s[i] + zero
    for i in range(9 * m):
        state.N[i] = link.N[i] + zero
    for i in range(m * m):
        state.M[i] = link.M[i] + zero
    add_rows(link.C, q, link.q, m, 9 * m, state.N)
    cx, cy, cz = link.rigid[1] + zero, link.rigid[2] + zero, link.rigid[3] + zero
    xx, xy, xz = link.rigid[4] + zero, link.rigid[5] + zero, link.rigid[6] + zero
    yy, yz, zz = link.rigid[7] + zero, link.rigid[8] + zero, link.rigid[9] + zero
    for k in range(m):
        d = q[link.q + k]
        cx += d * link.s[3 * k]
        cy += d * link.s[3 * k + 1]
        cz += d * link.s[3 * k + 2]
        N, N0 = state.N[9 * k : 9 * k + 9], link.N[9 * k : 9 * k + 9]
        xx += d * (N[0] + N0[0])
        xy += d * (N[1] + N0[3])
        xz += d * (N[2] + N0[6])
        yy += d * (N[4] + N0[4])
        yz += d * (N[5] + N0[7])
        zz += d * (N[8] + N0[8])
    if link.foreshortened:
        gx, gy, gz, along = shorten(link, state, q)
        ex, ey, ez = link.e[0], link.e[1], link.e[2]
        # int h h^T loses e g^T + g e^T and gains along e e^T
        xx += ex * (along * ex - 2.0 * gx)
        yy += ey * (along * ey - 2.0 * gy)
        zz += ez * (along * ez - 2.0 * gz)
        xy += along * ex * ey - ex * gy - ey * gx
        xz += along * ex * ez - ex * gz - ez * gx
        yz += along * ey * ez - ey * gz - ez * gy
        short = zero
        for i in range(link.n):
            k = link.first_slope + i
            sigma = zero
            for j in range(link.n):
                sigma += link.S[i * link.n + j] * q[link.q + link.first_slope + j]
            add3(state.s, 3 * k, -ex * sigma, -ey * sigma, -ez * sigma)
            short += 0.5 * q[link.q + k] * sigma
        cx -= ex * short
        cy -= ey * short
        cz -= ez * short
    rigid = state.rigid
    rigid[0] = link.rigid[0] + zero
    rigid[1], rigid[2], rigid[3] = cx, cy, cz
    rigid[4], rigid[7], rigid[9] = yy + zz, xx + zz, xx + yy
    rigid[5], rigid[6], rigid[8] = -xy, -xz, -yz
    for k in range(m):
        N = state.N[9 * k : 9 * k + 9]
        store3(state.a, 3 * k, N[5] - N[7], N[6] - N[2], N[1] - N[3])


@kernel(fastmath=FAST, forceinline=True)
def shorten(link, state, q):
    """Foreshortening in N and M (and H, V, W); returns int h sigma (3), h without it, and int sigma^2."""
    m, P, n = link.m, link.P, link.n
    ex, ey, ez = link.e[0], link.e[1], link.e[2]
    first = link.first_slope
    zero = 0.0 * q[0]
    for i in range(3 * P):
        state.H[i] = link.H[i] + zero
    for i in range(3 * m * n):
        state.W[i] = zero
    for i in range(P * n):
        state.V[i] = zero
    add_rows(link.U, q, link.q, m, 3 * P, state.H)
    add_rows(link.Q, q, link.q + first, n, P * n, state.V)
    sigma_fields(link, state, q)
    gx, gy, gz, along = zero, zero, zero, zero
    for p in range(P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        hx, hy, hz = state.H[3 * p], state.H[3 * p + 1], state.H[3 * p + 2]
        weight = 0.5 * dk * dl if k == l else dk * dl
        gx += weight * hx
        gy += weight * hy
        gz += weight * hz
        # int S_p sigma, half of the derivative of int S_p sigma^2
        r = zero
        for i in range(n):
            r += 0.5 * state.V[p * n + i] * q[link.q + first + i]
        along += weight * r
        # N_k -= int h sigma_k e^T - e e^T int sigma sigma_k
        hx, hy, hz = hx - r * ex, hy - r * ey, hz - r * ez
        subtract_outer(state, k, dl * hx, dl * hy, dl * hz, ex, ey, ez)
        if k != l:
            subtract_outer(state, l, dk * hx, dk * hy, dk * hz, ex, ey, ez)
    # N_k -= e (int sigma u_k)^T, M_kl += int sigma_k sigma_l - e . (int sigma_k u_l + int sigma_l u_k)
    for k in range(m):
        wx, wy, wz = zero, zero, zero
        for i in range(n):
            d = 0.5 * q[link.q + first + i]
            W = state.W[3 * (i * m + k) : 3 * (i * m + k) + 3]
            wx += d * W[0]
            wy += d * W[1]
            wz += d * W[2]
            lost = ex * W[0] + ey * W[1] + ez * W[2]
            state.M[k * m + first + i] -= lost
            state.M[(first + i) * m + k] -= lost
        subtract_outer(state, k, ex, ey, ez, wx, wy, wz)
    for p in range(P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        for i in range(n):
            V = state.V[p * n + i]
            state.M[k * m + first + i] += dl * V
            if k != l:
                state.M[l * m + first + i] += dk * V
    return gx, gy, gz, along


@kernel(fastmath=FAST, forceinline=True)
def subtract_outer(state, k, ax, ay, az, bx, by, bz):
    """N_k -= a b^T"""
    add3(state.N, 9 * k, -ax * bx, -ax * by, -ax * bz)
    add3(state.N, 9 * k + 3, -ay * bx, -ay * by, -ay * bz)
    add3(state.N, 9 * k + 6, -az * bx, -az * by, -az * bz)


@kernel(fastmath=FAST, forceinline=True)
def sigma_fields(link, state, q):
    """W (n, m, 3) += int sigma_l u_k for slope modes l and all modes k."""
    m, first = link.m, link.first_slope
    for p in range(link.P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        U = link.U[3 * p :]
        Wk = state.W[3 * (k - first) * m : 3 * (k - first + 1) * m]
        Wl = state.W[3 * (l - first) * m : 3 * (l - first + 1) * m]
        for i in range(m):
            ux, uy, uz = U[3 * link.P * i], U[3 * link.P * i + 1], U[3 * link.P * i + 2]
            add3(Wk, 3 * i, dl * ux, dl * uy, dl * uz)
            if k != l:
                add3(Wl, 3 * i, dk * ux, dk * uy, dk * uz)


@kernel(fastmath=FAST)
def velocity_forces(link, state, v, wx, wy, wz):
    """Write wrench (moment, force) and modal forces h that the velocities ask for at zero accelerations.

    wx, wy, wz: angular velocity of the node; reads what `deform` wrote.
    """
    m = link.m
    rigid = state.rigid
    zero = 0.0 * v[0] + 0.0 * rigid[0]
    # sum ds_k u_k and sum N_k ddelta_k
    sx, sy, sz = zero, zero, zero
    d0, d1, d2, d3, d4, d5, d6, d7, d8 = zero, zero, zero, zero, zero, zero, zero, zero, zero
    for k in range(m):
        d = v[link.v + k]
        sx += d * state.s[3 * k]
        sy += d * state.s[3 * k + 1]
        sz += d * state.s[3 * k + 2]
        N = state.N[9 * k : 9 * k + 9]
        d0 += d * N[0]
        d1 += d * N[1]
        d2 += d * N[2]
        d3 += d * N[3]
        d4 += d * N[4]
        d5 += d * N[5]
        d6 += d * N[6]
        d7 += d * N[7]
        d8 += d * N[8]
    ux, uy, uz = cross(wx, wy, wz, rigid[1], rigid[2], rigid[3])
    fx, fy, fz = cross(wx, wy, wz, ux + 2.0 * sx, uy + 2.0 * sy, uz + 2.0 * sz)
    hx, hy, hz = symmetric(load6(rigid, 4), wx, wy, wz)
    mx, my, mz = cross(wx, wy, wz, hx, hy, hz)
    trace = d0 + d4 + d8
    mx += 2.0 * (trace * wx - d0 * wx - d3 * wy - d6 * wz)
    my += 2.0 * (trace * wy - d1 * wx - d4 * wy - d7 * wz)
    mz += 2.0 * (trace * wz - d2 * wx - d5 * wy - d8 * wz)
    square = wx * wx + wy * wy + wz * wz
    for k in range(m):
        N = state.N[9 * k : 9 * k + 9]
        h = wx * (N[0] * wx + (N[1] + N[3]) * wy + (N[2] + N[6]) * wz)
        h += wy * (N[4] * wy + (N[5] + N[7]) * wz) + wz * N[8] * wz
        h -= square * (N[0] + N[4] + N[8])
        state.h[k] = h
    for l in range(m):
        d = 2.0 * v[link.v + l]
        tx, ty, tz = d * wx, d * wy, d * wz
        X = link.X[3 * m * l : 3 * m * (l + 1)]
        for k in range(m):
            state.h[k] += tx * X[3 * k] + ty * X[3 * k + 1] + tz * X[3 * k + 2]
    if link.foreshortened:
        ax, ay, az, b = velocity_forces_of_shortening(link, state, v, wx, wy, wz)
        mx, my, mz = mx + ax, my + ay, mz + az
        fx, fy, fz = fx - b * link.e[0], fy - b * link.e[1], fz - b * link.e[2]
    wrench = state.wrench
    wrench[0], wrench[1], wrench[2] = mx, my, mz
    wrench[3], wrench[4], wrench[5] = fx, fy, fz


@kernel(fastmath=FAST, forceinline=True)
def velocity_forces_of_shortening(link, state, v, wx, wy, wz):
    """Add the foreshortening's part to h; returns its moment (3) and int ddelta^T S ddelta dm, a force
    along -e."""
    m, P, n = link.m, link.P, link.n
    first = link.first_slope
    ex, ey, ez = link.e[0], link.e[1], link.e[2]
    zero = 0.0 * v[0] + 0.0 * state.rigid[0]
    hx, hy, hz, b = zero, zero, zero, zero
    for i in range(n):
        for j in range(n):
            b += link.S[i * n + j] * v[link.v + first + i] * v[link.v + first + j]
    for p in range(P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        c = v[link.v + k] * v[link.v + l]
        c = c if k == l else 2.0 * c
        hx += c * state.H[3 * p]
        hy += c * state.H[3 * p + 1]
        hz += c * state.H[3 * p + 2]
        for i in range(n):
            state.h[first + i] += c * state.V[p * n + i]
        for i in range(m):
            U = link.U[3 * (P * i + p) : 3 * (P * i + p) + 3]
            state.h[i] -= c * (ex * U[0] + ey * U[1] + ez * U[2])
    # 2 w . sum_l ddelta_l (e x int u_l sigma_k - e x int sigma_l u_k), (w x e) . u
    tx, ty, tz = cross(wx, wy, wz, ex, ey, ez)
    for i in range(n):
        d = 2.0 * v[link.v + first + i]
        for k in range(m):
            W = state.W[3 * (i * m + k) : 3 * (i * m + k) + 3]
            along = tx * W[0] + ty * W[1] + tz * W[2]
            state.h[k] -= d * along
            state.h[first + i] += 2.0 * v[link.v + k] * along
    ax, ay, az = cross(ex, ey, ez, hx, hy, hz)
    return ax, ay, az, b
