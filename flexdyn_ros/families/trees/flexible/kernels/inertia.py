"""Inertia of a deformed flexible link, and the forces of its motion; node axes, about the node's origin.

A material point is at h = h0 + sum delta_k u_k - e sigma, sigma = 1/2 delta^T S delta
(docs/theory/flexible_links.md, "Inertia of a deformed link without quadrature points"). Its tangent fields
are u_k - e sigma_k, sigma_k = sum_l S_kl delta_l. With constants per mode and pair all integrals over the
deformed link are sums: no quadrature point is visited. Most of the constants are zero; the others are listed.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load6, store3, symmetric
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window


@kernel(fastmath=FAST, forceinline=True)
def add_listed(places, numbers, x, first, out):
    """out += A x[first:] of a matrix whose numbers are listed, with row and column of each."""
    for i in range(numbers.shape[0]):
        out[places[2 * i]] += numbers[i] * x[first + places[2 * i + 1]]


@kernel(fastmath=FAST)
def deform(link, state, q):
    """Write rigid, s, a, N (and halves, H) of the link deformed by its modes in q."""
    m = link.m
    zero = 0.0 * q[0]
    for i in range(3 * m):
        state.s[i] = link.s[i] + zero
    for i in range(9 * m):
        state.N[i] = link.N[i] + zero
    add_listed(link.C_places, link.C, q, link.q, state.N)
    cx, cy, cz = link.rigid[1] + zero, link.rigid[2] + zero, link.rigid[3] + zero
    xx, xy, xz = link.rigid[4] + zero, link.rigid[5] + zero, link.rigid[6] + zero
    yy, yz, zz = link.rigid[7] + zero, link.rigid[8] + zero, link.rigid[9] + zero
    for k in range(m):
        d = q[link.q + k]
        cx += d * link.s[3 * k]
        cy += d * link.s[3 * k + 1]
        cz += d * link.s[3 * k + 2]
        N, N0 = window(state.N, 9 * k, 9), window(link.N, 9 * k, 9)
        xx += d * (N[0] + N0[0])
        xy += d * (N[1] + N0[3])
        xz += d * (N[2] + N0[6])
        yy += d * (N[4] + N0[4])
        yz += d * (N[5] + N0[7])
        zz += d * (N[8] + N0[8])
    if link.P > 0:
        gx, gy, gz, along, short = shorten(link, state, q)
        ex, ey, ez = load3(link.e, 0)
        # int h h^T loses e g^T + g e^T and gains along e e^T
        xx += ex * (along * ex - 2.0 * gx)
        yy += ey * (along * ey - 2.0 * gy)
        zz += ez * (along * ez - 2.0 * gz)
        xy += along * ex * ey - ex * gy - ey * gx
        xz += along * ex * ez - ex * gz - ez * gx
        yz += along * ey * ez - ey * gz - ez * gy
        cx -= ex * short
        cy -= ey * short
        cz -= ez * short
    rigid = state.rigid
    rigid[0] = link.rigid[0] + zero
    rigid[1], rigid[2], rigid[3] = cx, cy, cz
    rigid[4], rigid[7], rigid[9] = yy + zz, xx + zz, xx + yy
    rigid[5], rigid[6], rigid[8] = -xy, -xz, -yz
    for k in range(m):
        N = window(state.N, 9 * k, 9)
        store3(state.a, 3 * k, N[5] - N[7], N[6] - N[2], N[1] - N[3])


@kernel(fastmath=FAST, forceinline=True)
def shorten(link, state, q):
    """Foreshortening in s and N, and halves, H; returns int h sigma (3), h without it, int sigma^2 and int
    sigma."""
    m, P = link.m, link.P
    ex, ey, ez = load3(link.e, 0)
    zero = 0.0 * q[0]
    half, H, before, after = state.half, state.H, state.before, state.after
    short = zero
    for p in range(P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        half[p] = 0.5 * dk * dl if k == l else dk * dl
        short += link.mass[p] * half[p]
    for i in range(3 * P):
        H[i] = link.H[i] + zero
    for i in range(3 * m):
        before[i], after[i] = zero, zero
    # int h' S_p and int sigma u_k
    for i in range(link.U.shape[0]):
        place = window(link.U_places, 4 * i, 4)
        H[place[3]] += link.U[i] * q[link.q + place[0]]
        after[place[1]] += link.U[i] * half[place[2]]
    gx, gy, gz, along = zero, zero, zero, zero
    for p in range(P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        hx, hy, hz = load3(H, 3 * p)
        gx += half[p] * hx
        gy += half[p] * hy
        gz += half[p] * hz
        r = of_pair(link, p, half)
        along += half[p] * r
        # int (h' - e sigma) sigma_k
        hx, hy, hz = hx - r * ex, hy - r * ey, hz - r * ez
        add3(before, 3 * k, dl * hx, dl * hy, dl * hz)
        if k != l:
            add3(before, 3 * l, dk * hx, dk * hy, dk * hz)
    # s_k loses e int sigma_k, N_k loses int h sigma_k e^T and e (int sigma u_k)^T
    for j in range(3):
        e = link.e[j]
        if e != 0.0:
            for p in range(P):
                k, l, c = link.pairs[2 * p], link.pairs[2 * p + 1], e * link.mass[p]
                state.s[3 * k + j] -= c * q[link.q + l]
                if k != l:
                    state.s[3 * l + j] -= c * q[link.q + k]
            for k in range(m):
                for i in range(3):
                    state.N[9 * k + 3 * i + j] -= e * before[3 * k + i]
                    state.N[9 * k + 3 * j + i] -= e * after[3 * k + i]
    return gx, gy, gz, along, short


@kernel(fastmath=FAST, forceinline=True)
def of_pair(link, p, weights):
    """sum_q int S_p S_q weights_q"""
    row = window(link.Q, link.P * p, link.P)
    s = row[0] * weights[0]
    for i in range(1, link.P):
        s += row[i] * weights[i]
    return s


@kernel(fastmath=FAST)
def modal_mass(link, state, q):
    """Write M of the link deformed by its modes in q."""
    m, P, first = link.m, link.P, link.first_slope
    zero = 0.0 * q[0]
    for i in range(m * m):
        state.M[i] = link.M[i] + zero
    if P == 0:
        return
    # V_ip = int S_p sigma_i; M_ki += int sigma_k sigma_i
    V = state.V
    for i in range(link.n * P):
        V[i] = zero
    for p in range(P):
        k, l = link.pairs[2 * p] - first, link.pairs[2 * p + 1] - first
        dk, dl = q[link.q + first + k], q[link.q + first + l]
        Q = window(link.Q, P * p, P)
        for i in range(P):
            V[P * k + i] += dl * Q[i]
        if k != l:
            for i in range(P):
                V[P * l + i] += dk * Q[i]
    for i in range(link.n):
        row = state.M[m * (first + i) + first : m * (first + i) + m]
        for p in range(P):
            k, l = link.pairs[2 * p] - first, link.pairs[2 * p + 1] - first
            row[k] += q[link.q + first + l] * V[P * i + p]
            if k != l:
                row[l] += q[link.q + first + k] * V[P * i + p]
    # M_ki -= e . (int sigma_i u_k + int sigma_k u_i)
    for i in range(link.U.shape[0]):
        place = window(link.U_places, 4 * i, 4)
        k, p = place[0], place[2]
        c = link.e[place[3] - 3 * p] * link.U[i]
        if c != 0.0:
            a, b = link.pairs[2 * p], link.pairs[2 * p + 1]
            lose(state.M, m, k, a, c * q[link.q + b])
            if a != b:
                lose(state.M, m, k, b, c * q[link.q + a])


@kernel(fastmath=FAST, forceinline=True)
def lose(M, m, k, l, x):
    """M_kl and M_lk lose x."""
    M[m * k + l] -= x
    M[m * l + k] -= x


@kernel(fastmath=FAST)
def velocity_forces(link, state, q, v, wx, wy, wz):
    """Write wrench (moment, force) and modal forces h that the velocities ask for at zero accelerations.

    wx, wy, wz: angular velocity of the node; reads what `deform` wrote.
    """
    forces_of_modes(link, state, v, wx, wy, wz)
    if link.P > 0:
        rate_pairs(link, state, q, v)
        load_by_shortening(link, state)
        spread_to_modes(link, state, q, wx, wy, wz)


@kernel(fastmath=FAST)
def motion_forces(link, state, q, v, a, wx, wy, wz):
    """`velocity_forces`, and in h the modal forces that the modal accelerations in a ask for."""
    forces_of_modes(link, state, v, wx, wy, wz)
    m = link.m
    for k in range(m):
        f = link.M[m * k] * a[link.v]
        for l in range(1, m):
            f += link.M[m * k + l] * a[link.v + l]
        state.h[k] += f
    if link.P > 0:
        rate_pairs(link, state, q, v)
        load_by_shortening(link, state)
        for p in range(link.P):
            k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
            d = q[link.q + k] * a[link.v + l]
            state.rate[p] += d if k == l else d + q[link.q + l] * a[link.v + k]
        for i in range(link.U.shape[0]):
            place = window(link.U_places, 4 * i, 4)
            c = link.e[place[3] - 3 * place[2]] * link.U[i]
            if c != 0.0:
                state.push[place[2]] -= c * a[link.v + place[0]]
        spread_to_modes(link, state, q, wx, wy, wz)


@kernel(fastmath=FAST, forceinline=True)
def forces_of_modes(link, state, v, wx, wy, wz):
    """Wrench and h without the rates of the foreshortening."""
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
        N = window(state.N, 9 * k, 9)
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
    store3(state.wrench, 0, mx, my, mz)
    store3(state.wrench, 3, fx, fy, fz)
    # int u_k x (sum_l u_l ddelta_l)
    for i in range(3 * m):
        state.before[i] = zero
    add_listed(link.X_places, link.X, v, link.v, state.before)
    xx, yy, zz, xy, xz, yz = wx * wx, wy * wy, wz * wz, wx * wy, wx * wz, wy * wz
    tx, ty, tz = 2.0 * wx, 2.0 * wy, 2.0 * wz
    for k in range(m):
        N = window(state.N, 9 * k, 9)
        h = xy * (N[1] + N[3]) + xz * (N[2] + N[6]) + yz * (N[5] + N[7])
        h -= (yy + zz) * N[0] + (xx + zz) * N[4] + (xx + yy) * N[8]
        dx, dy, dz = load3(state.before, 3 * k)
        state.h[k] = h + tx * dx + ty * dy + tz * dz


@kernel(fastmath=FAST, forceinline=True)
def rate_pairs(link, state, q, v):
    """Write, per pair, rate: d2 sigma/dt2 at zero accelerations, turn: 2 d sigma/dt, swing (3): d H/dt."""
    zero = 0.0 * q[0] * v[0]
    for p in range(link.P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl, vk, vl = q[link.q + k], q[link.q + l], v[link.v + k], v[link.v + l]
        c, d = vk * vl, dk * vl
        state.rate[p] = c if k == l else 2.0 * c
        state.turn[p] = 2.0 * (d if k == l else d + dl * vk)
        state.push[p] = zero
    for i in range(3 * link.P):
        state.swing[i] = zero
    for i in range(link.U.shape[0]):
        place = window(link.U_places, 4 * i, 4)
        state.swing[place[3]] += link.U[i] * v[link.v + place[0]]


@kernel(fastmath=FAST, forceinline=True)
def load_by_shortening(link, state):
    """Add to the wrench what the link asks for as its points go along -e at `rate`."""
    ex, ey, ez = load3(link.e, 0)
    hx, hy, hz = state.rate[0] * state.H[0], state.rate[0] * state.H[1], state.rate[0] * state.H[2]
    along = link.mass[0] * state.rate[0]
    for p in range(1, link.P):
        c = state.rate[p]
        hx += c * state.H[3 * p]
        hy += c * state.H[3 * p + 1]
        hz += c * state.H[3 * p + 2]
        along += link.mass[p] * c
    ax, ay, az = cross(ex, ey, ez, hx, hy, hz)
    add3(state.wrench, 0, ax, ay, az)
    add3(state.wrench, 3, -ex * along, -ey * along, -ez * along)


@kernel(fastmath=FAST, forceinline=True)
def spread_to_modes(link, state, q, wx, wy, wz):
    """Add to h what `rate`, `turn`, `swing` and `push` (forces on the pairs) ask for; `swing` is lost."""
    ex, ey, ez = load3(link.e, 0)
    tx, ty, tz = cross(wx, wy, wz, ex, ey, ez)
    for p in range(link.P):
        k, l = link.pairs[2 * p], link.pairs[2 * p + 1]
        dk, dl = q[link.q + k], q[link.q + l]
        x, y, z = load3(state.swing, 3 * p)
        force = state.push[p] + of_pair(link, p, state.rate) + 2.0 * (tx * x + ty * y + tz * z)
        state.h[k] += dl * force
        if k != l:
            state.h[l] += dk * force
        c, d = state.rate[p], state.turn[p]
        store3(state.swing, 3 * p, ex * c + tx * d, ey * c + ty * d, ez * c + tz * d)
    for i in range(link.U.shape[0]):
        place = window(link.U_places, 4 * i, 4)
        state.h[place[0]] -= link.U[i] * state.swing[place[3]]
