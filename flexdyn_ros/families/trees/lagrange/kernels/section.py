"""Deformation of a flexible link: its section frames E, and its mass matrices G, D_k, C_kl in the deformed
state.

Zhang 2009 (Appl. Math. Mech. 30(10)), eqs. (2)-(3), (15)-(16), (25)-(27), (71)-(72), with the options `so3`
(section frames are true rotations) and full foreshortening (positions quadratic in the modal coordinates).
"""

from flexdyn_ros.numerics.compiling.compiler import kernel

from .affine import add_scaled, clear, exponential_coefficients, set_skew
from .views import MODE, MODES, PAIR, POINT, POINT_MODE, POINT_PAIR, POINTS


@kernel
def section_frame(m, body, station, q, v, E, dE, Ev, K, dK):
    """Write the section frame E of a station, its rate, and its second rate at zero modal acceleration.

    All (4, 4), in the body frame b; K, dK are scratch and hold [theta]x and its rate afterwards. Reads q, v
    of the modes.
    """
    first, count = m.body_int[body, MODE], m.body_int[body, MODES]
    row, pair = m.I[m.station_int + 2 * station + 0], m.I[m.station_int + 2 * station + 1]
    clear(E)
    clear(dE)
    clear(Ev)
    clear(K)
    clear(dK)
    E[0, 0] = 1.0
    for i in range(3):
        E[1 + i, 0] = m.F[m.station_x + 3 * station + i]
    for k in range(count):
        d, r = q[m.I[m.mode_q + first + k]], v[m.I[m.mode_v + first + k]]
        u, th = vector(m, m.station_u, row + k), vector(m, m.station_th, row + k)
        for i in range(3):
            E[1 + i, 0] += u[i] * d
            dE[1 + i, 0] += u[i] * r
        set_skew_add(th, d, K)
        set_skew_add(th, r, dK)
    if m.is_foreshortened:
        for k in range(count):
            for l in range(count):
                S = m.F[m.station_S + pair + k * count + l]
                dk, rk = q[m.I[m.mode_q + first + k]], v[m.I[m.mode_v + first + k]]
                dl, rl = q[m.I[m.mode_q + first + l]], v[m.I[m.mode_v + first + l]]
                E[1, 0] -= 0.5 * S * dk * dl
                dE[1, 0] -= S * dk * rl
                Ev[1, 0] -= S * rk * rl
    if m.is_affine:
        for i in range(1, 4):
            E[i, i] = 1.0
        add_rotation_part(K, E)
        add_rotation_part(dK, dE)
    else:
        rotation_with_rates(K, dK, E, dE, Ev)


@kernel
def vector(m, field, i):
    """Three numbers: row i of a field (rows, 3)."""
    return m.F[field + 3 * i : field + 3 * i + 3]


@kernel
def set_skew_add(th, d, K):
    """Add d [th]x to the rotation part of K (4, 4)."""
    K[1, 2] -= d * th[2]
    K[1, 3] += d * th[1]
    K[2, 1] += d * th[2]
    K[2, 3] -= d * th[0]
    K[3, 1] -= d * th[1]
    K[3, 2] += d * th[0]


@kernel
def add_rotation_part(K, E):
    """Add the rotation part of K to that of E."""
    for i in range(1, 4):
        for j in range(1, 4):
            E[i, j] += K[i, j]


@kernel
def rotation_with_rates(K, dK, E, dE, Ev):
    """Add exp(K) to the rotation part of E, its first and second rate to dE and Ev, for a constant rate
    dK."""
    x = K[3, 2] * K[3, 2] + K[1, 3] * K[1, 3] + K[2, 1] * K[2, 1]
    xd = 2.0 * (K[3, 2] * dK[3, 2] + K[1, 3] * dK[1, 3] + K[2, 1] * dK[2, 1])
    xdd = 2.0 * (dK[3, 2] * dK[3, 2] + dK[1, 3] * dK[1, 3] + dK[2, 1] * dK[2, 1])
    a, b, a1, b1, a2, b2 = exponential_coefficients(x)
    ad, bd = a1 * xd, b1 * xd
    add, bdd = a2 * xd * xd + a1 * xdd, b2 * xd * xd + b1 * xdd
    for i in range(1, 4):
        E[i, i] += 1.0
        for j in range(1, 4):
            KK = K[i, 1] * K[1, j] + K[i, 2] * K[2, j] + K[i, 3] * K[3, j]
            KdK = K[i, 1] * dK[1, j] + K[i, 2] * dK[2, j] + K[i, 3] * dK[3, j]
            dKK = dK[i, 1] * K[1, j] + dK[i, 2] * K[2, j] + dK[i, 3] * K[3, j]
            dKdK = dK[i, 1] * dK[1, j] + dK[i, 2] * dK[2, j] + dK[i, 3] * dK[3, j]
            E[i, j] += a * K[i, j] + b * KK
            dE[i, j] += ad * K[i, j] + a * dK[i, j] + bd * KK + b * (KdK + dKK)
            Ev[i, j] += (
                add * K[i, j] + 2.0 * ad * dK[i, j] + bdd * KK + 2.0 * bd * (KdK + dKK) + 2.0 * b * dKdK
            )


@kernel
def section_derivative(m, body, station, k, q, K, out):
    """Write dE/d(delta_k) of a station into out (4, 4); K holds [theta]x of that station (M_k of Zhang 2009
    if affine)."""
    first, count = m.body_int[body, MODE], m.body_int[body, MODES]
    row, pair = m.I[m.station_int + 2 * station + 0], m.I[m.station_int + 2 * station + 1]
    u, th = vector(m, m.station_u, row + k), vector(m, m.station_th, row + k)
    if m.is_affine:
        set_skew(th[0], th[1], th[2], out)
    else:
        rotation_derivative(K, th, out)
    for i in range(3):
        out[1 + i, 0] = u[i]
    if m.is_foreshortened:
        for l in range(count):
            out[1, 0] -= m.F[m.station_S + pair + k * count + l] * q[m.I[m.mode_q + first + l]]


@kernel
def rotation_derivative(K, th, out):
    """Write the derivative of exp(K) along [th]x into the rotation part of out; clears the rest."""
    clear(out)
    tx, ty, tz = K[3, 2], K[1, 3], K[2, 1]
    x = tx * tx + ty * ty + tz * tz
    xk = 2.0 * (tx * th[0] + ty * th[1] + tz * th[2])
    a, b, a1, b1, _, _ = exponential_coefficients(x)
    out[1, 2] = -a * th[2]
    out[1, 3] = a * th[1]
    out[2, 1] = a * th[2]
    out[2, 3] = -a * th[0]
    out[3, 1] = -a * th[1]
    out[3, 2] = a * th[0]
    # K K = t t^T - x 1, so its derivative is th t^T + t th^T - xk 1
    for i in range(3):
        ti, hi = K[1 + (i + 2) % 3, 1 + (i + 1) % 3], th[i]
        for j in range(3):
            tj, hj = K[1 + (j + 2) % 3, 1 + (j + 1) % 3], th[j]
            out[1 + i, 1 + j] += a1 * xk * K[1 + i, 1 + j] + b1 * xk * ti * tj + b * (hi * tj + ti * hj)
        out[1 + i, 1 + i] -= b1 * xk * x + b * xk


@kernel
def mass_of_deformed_body(m, d, body, q, v):
    """Write G, D_k, C_kl, sum_l rate_l C_kl and the foreshortening's own acceleration terms of one body.

    Zhang 2009, eqs. (25), (71), (72) with the double sum. With foreshortening the line mass is integrated
    over the quadrature points (positions are quadratic in the modal coordinates there), and C, C1, C2 hold
    the rest.
    """
    first, count, pair = m.body_int[body, MODE], m.body_int[body, MODES], m.body_int[body, PAIR]
    G = d.blocks[d.G + body]
    clear(G)
    add_scaled(m.blocks[m.C + body], 1.0, G)
    clear(d.blocks[d.a + body])
    for k in range(count):
        D, C1 = d.blocks[d.Dk + first + k], m.blocks[m.C1 + first + k]
        clear(D)
        clear(d.blocks[d.U + first + k])
        add_scaled(C1, 1.0, D)
        for l in range(count):
            clear(d.blocks[d.Ckl + pair + k * count + l])
            add_scaled(m.blocks[m.C2 + pair + k * count + l], 1.0, d.blocks[d.Ckl + pair + k * count + l])
            add_scaled(m.blocks[m.C2 + pair + l * count + k], q[m.I[m.mode_q + first + l]], D)
        dk = q[m.I[m.mode_q + first + k]]
        # G = C + sum delta_k (C_k + C_k^T) + sum delta_k delta_l C_kl = C + sum delta_k (D_k + C_k^T)
        for i in range(4):
            for j in range(4):
                G[i, j] += dk * (D[i, j] + C1[j, i])
    if m.is_foreshortened:
        for point in range(m.body_int[body, POINTS]):
            add_material_point(m, d, body, point, q, v)
    for k in range(count):
        clear(d.blocks[d.Ck + first + k])
        for l in range(count):
            rate = v[m.I[m.mode_v + first + l]]
            add_scaled(d.blocks[d.Ckl + pair + k * count + l], rate, d.blocks[d.Ck + first + k])


@kernel
def add_material_point(m, d, body, point, q, v):
    """Add one point of the foreshortened link to G, D_k, C_kl, a and the second rows of U.

    Its position is h + w e_x, h = h0 + sum delta_k u_k, w = -1/2 delta^T S delta; tangent fields are
    u_k - sigma_k e_x, sigma_k = sum_l S_kl delta_l; own acceleration a e_x.
    """
    first, count, pair = m.body_int[body, MODE], m.body_int[body, MODES], m.body_int[body, PAIR]
    g = m.body_int[body, POINT] + point
    row = m.body_int[body, POINT_MODE] + point * count
    squares = m.body_int[body, POINT_PAIR] + point * count * count
    half = 0.5 * m.F[m.point_weight + g]
    # tangent fields in row 0 of U
    a, w = q[0] * 0.0, q[0] * 0.0
    hx, hy, hz = a + m.F[m.point_x + 3 * g], a + m.F[m.point_x + 3 * g + 1], a + m.F[m.point_x + 3 * g + 2]
    for k in range(count):
        dk, rk = q[m.I[m.mode_q + first + k]], v[m.I[m.mode_v + first + k]]
        u, U = vector(m, m.point_u, row + k), d.blocks[d.U + first + k]
        Sd, Sr = q[0] * 0.0, q[0] * 0.0
        for l in range(count):
            S = m.F[m.point_S + squares + k * count + l]
            Sd += S * q[m.I[m.mode_q + first + l]]
            Sr += S * v[m.I[m.mode_v + first + l]]
        hx += dk * u[0]
        hy += dk * u[1]
        hz += dk * u[2]
        w -= 0.5 * dk * Sd
        a -= rk * Sr
        U[0, 1] = u[0] - Sd
        U[0, 2] = u[1]
        U[0, 3] = u[2]
    hx += w
    G, A = d.blocks[d.G + body], d.blocks[d.a + body]
    add_outer(half, 1.0, hx, hy, hz, 1.0, hx, hy, hz, G)
    add_row(half * a, hx, hy, hz, A[0])
    for k in range(count):
        U, D = d.blocks[d.U + first + k], d.blocks[d.Dk + first + k]
        add_outer(half, 1.0, hx, hy, hz, 0.0, U[0, 1], U[0, 2], U[0, 3], D)
        for i in range(1, 4):
            U[1, i] += half * a * U[0, i]
        for l in range(count):
            Ul, C = d.blocks[d.U + first + l], d.blocks[d.Ckl + pair + k * count + l]
            add_outer(half, 0.0, U[0, 1], U[0, 2], U[0, 3], 0.0, Ul[0, 1], Ul[0, 2], Ul[0, 3], C)


@kernel
def add_row(factor, x, y, z, out):
    """Add factor * (1, x, y, z) to out (4,)."""
    out[0] += factor
    out[1] += factor * x
    out[2] += factor * y
    out[3] += factor * z


@kernel
def add_outer(factor, a0, a1, a2, a3, b0, b1, b2, b3, out):
    """Add factor * (a0, a1, a2, a3) (b0, b1, b2, b3)^T to out (4, 4)."""
    for i, a in enumerate((a0 + 0.0 * a1, a1, a2, a3)):
        out[i, 0] += factor * a * b0
        out[i, 1] += factor * a * b1
        out[i, 2] += factor * a * b2
        out[i, 3] += factor * a * b3
