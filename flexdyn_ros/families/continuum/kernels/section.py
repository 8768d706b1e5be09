"""One section of constant curvature: the map from actuators to bending and length, slices, integrals over
slices.

Section base axes, z along the straight section. With w = (-uy, ux, 0) the slice at eta has the pose exp(eta
w~) of the twist (w; 0, 0, s) (docs/theory/continuum.md):

    p = (s b u, s S),  t = (S u, 1 - y b),  angular velocity = S w' + C (u.u') w + b (ux uy' - uy ux') e_z

where b = eta^2 B, S = eta S, C = eta^3 C at eta^2 y, and t is the normal of the slice.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.series import bending_functions
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import absolute, equal, less, select

from . import views as at
from .algebra import cross, dot, put, put_column, sum2, vector

SIN_120 = 0.5 * 3.0**0.5
SQRT_3 = 3.0**0.5


# ---- actuators and bending ----


@kernel
def bending_of(P, l1, l2, l3):
    """(ux, uy, mean) of the length changes of three actuators; ux and uy are exactly zero where these are
    equal."""
    return (
        ((l2 - l1) + (l3 - l1)) / (3.0 * P[at.RADIUS]),
        (l3 - l2) / (SQRT_3 * P[at.RADIUS]),
        (l1 + l2 + l3) / 3.0,
    )


@kernel
def actuators_of(P, x):
    """Length changes of the actuators of (ux, uy, mean): the inverse of `bending_of`, for rates too."""
    r = P[at.RADIUS]
    half, side = 0.5 * r * x[0], SIN_120 * r * x[1]
    return x[2] - r * x[0], x[2] + (half - side), x[2] + (half + side)


@kernel
def bending_forces(P, f):
    """Forces on (ux, uy, s) of three actuator forces."""
    r = P[at.RADIUS]
    return -r * (f[0] - 0.5 * f[1] - 0.5 * f[2]), -r * SIN_120 * (f[1] - f[2]), f[0] + f[1] + f[2]


@kernel
def actuator_forces(P, g):
    """Actuator forces of forces on (ux, uy, s): the inverse of `bending_forces`."""
    along, across, side = g[2] / 3.0, g[0] / (3.0 * P[at.RADIUS]), g[1] / (SQRT_3 * P[at.RADIUS])
    return along - 2.0 * across, along + across - side, along + across + side


@kernel
def stop_depth(P, k, length):
    """How far actuator k is beyond its stroke [m], signed; 0 inside."""
    upper, lower = P[at.UPPER + k], P[at.LOWER + k]
    below = select(less(length, lower), length - lower, 0.0 * length)
    return select(less(upper, length), length - upper, below)


@kernel
def stop_damping(P, depth):
    """Damping of a stop [N s/m]: grows from zero over the first part of the way in, so that the force has no
    jump."""
    size = absolute(depth)
    return P[at.STOP_DAMPER] * size / (size + P[at.STOP_WIDTH])


@kernel
def spring_force(P, k, length):
    """Force of actuator k's own spring [N]."""
    return P[at.SPRING + k] * length


@kernel
def damper_force(P, k, rate):
    """Force of actuator k's own damper [N]."""
    return P[at.DAMPER + k] * rate


@kernel
def stop_force(P, k, length, rate):
    """Force of the one-sided stops of actuator k [N]; zero inside the stroke."""
    depth = stop_depth(P, k, length)
    force = P[at.STOP_SPRING] * depth + stop_damping(P, depth) * rate
    return select(equal(depth, 0.0), 0.0 * depth, force)


@kernel
def stop_slope(P, k, length, rate, h):
    """h D + h^2 K of the stops of actuator k where a step of h takes it at this rate [kg]."""
    depth = stop_depth(P, k, length + h * rate)
    slope = h * (stop_damping(P, depth) + h * P[at.STOP_SPRING])
    return select(equal(depth, 0.0), 0.0 * depth, slope)


@kernel
def resistance(P, k, length, rate, h):
    """Force against actuator k: spring, damper, and the stops where a step of h takes it at this rate [N]."""
    stop = stop_force(P, k, length + h * rate, rate)
    return spring_force(P, k, length) + damper_force(P, k, rate) + stop


@kernel
def load_state(P, W, q, i, row, constant):
    """Rows X, XD or XDD of section i from three numbers of q, v or a; constant: the undeformed length, or
    0.
    """
    ux, uy, mean = bending_of(P, q[3 * i], q[3 * i + 1], q[3 * i + 2])
    put(W, row, (ux, uy, constant + mean))


# ---- slices ----


@kernel
def fill_slice(E, k, eta, y):
    """The eight functions of a slice, at k of E."""
    e2 = eta * eta
    e3 = e2 * eta
    S, B, C, S1, B1, C1, S2, B2, C2 = bending_functions(e2 * y)
    E[k + at.NB], E[k + at.NB1], E[k + at.NB2] = e2 * B, e2 * e2 * B1, e3 * e3 * B2
    E[k + at.NS], E[k + at.NS1], E[k + at.NS2] = eta * S, e3 * S1, e2 * e3 * S2
    E[k + at.NC], E[k + at.NC1] = e3 * C, e2 * e3 * C1


@kernel
def fill_nodes(arm, P, E, y):
    """The functions of all Gauss nodes of a section."""
    first = int(P[at.FIRST_NODE])
    for j in range(int(P[at.NODE_COUNT])):
        fill_slice(E, 8 * j, arm.nodes[2 * (first + j)], y)


@kernel
def slice_point(E, k, x):
    """Centre of the slice."""
    b = x[2] * E[k + at.NB]
    return b * x[0], b * x[1], x[2] * E[k + at.NS]


@kernel
def slice_normal(E, k, x):
    """Normal of the slice."""
    return E[k + at.NS] * x[0], E[k + at.NS] * x[1], 1.0 - (x[0] * x[0] + x[1] * x[1]) * E[k + at.NB]


@kernel
def slice_shift(E, k, x, j):
    """Velocity of the centre per x'_j."""
    if j == 2:
        return E[k + at.NB] * x[0], E[k + at.NB] * x[1], E[k + at.NS]
    s = x[2]
    b1 = s * E[k + at.NB1] * x[j]
    along = b1 * x[0], b1 * x[1], s * E[k + at.NS1] * x[j]
    if j == 0:
        return along[0] + s * E[k + at.NB], along[1], along[2]
    return along[0], along[1] + s * E[k + at.NB], along[2]


@kernel
def slice_turn(E, k, x, j):
    """Angular velocity of the slice per x'_j."""
    c = E[k + at.NC]
    if j == 0:
        return -c * x[0] * x[1], E[k + at.NS] + c * x[0] * x[0], -E[k + at.NB] * x[1]
    if j == 1:
        return -(E[k + at.NS] + c * x[1] * x[1]), c * x[0] * x[1], E[k + at.NB] * x[0]
    return 0.0 * c, 0.0 * c, 0.0 * c


@kernel
def slice_motion(E, k, x, xd, xdd):
    """(velocity, acceleration, angular velocity, angular acceleration) of the slice against the base."""
    b, b1, b2 = E[k + at.NB], E[k + at.NB1], E[k + at.NB2]
    S, S1, S2 = E[k + at.NS], E[k + at.NS1], E[k + at.NS2]
    c, c1 = E[k + at.NC], E[k + at.NC1]
    s, sd, sdd = x[2], xd[2], xdd[2]
    sigma = x[0] * xd[0] + x[1] * xd[1]
    rate = x[0] * xdd[0] + x[1] * xdd[1] + xd[0] * xd[0] + xd[1] * xd[1]
    g = x[0] * xd[1] - x[1] * xd[0]
    gd = x[0] * xdd[1] - x[1] * xdd[0]
    k0 = s * b1 * sigma + sd * b
    v = k0 * x[0] + s * b * xd[0], k0 * x[1] + s * b * xd[1], sd * S + s * S1 * sigma
    k2 = sdd * b + 2.0 * sd * b1 * sigma + s * (b2 * sigma * sigma + b1 * rate)
    a = (
        k2 * x[0] + 2.0 * k0 * xd[0] + s * b * xdd[0],
        k2 * x[1] + 2.0 * k0 * xd[1] + s * b * xdd[1],
        sdd * S + 2.0 * sd * S1 * sigma + s * (S2 * sigma * sigma + S1 * rate),
    )
    cs = c * sigma
    w = -(S * xd[1] + cs * x[1]), S * xd[0] + cs * x[0], b * g
    k3, k4 = (S1 + c) * sigma, c1 * sigma * sigma + c * rate
    alpha = (
        -(S * xdd[1] + k3 * xd[1] + k4 * x[1]),
        S * xdd[0] + k3 * xd[0] + k4 * x[0],
        b1 * sigma * g + b * gd,
    )
    return v, a, w, alpha


@kernel
def slice_rotation(E, k, x, R, r):
    """Rotation base <- slice, at r of R."""
    b, S = E[k + at.NB], E[k + at.NS]
    ux, uy = x[0], x[1]
    R[r], R[r + 1], R[r + 2] = 1.0 - b * ux * ux, -b * ux * uy, S * ux
    R[r + 3], R[r + 4], R[r + 5] = -b * ux * uy, 1.0 - b * uy * uy, S * uy
    R[r + 6], R[r + 7], R[r + 8] = -S * ux, -S * uy, 1.0 - b * (ux * ux + uy * uy)


@kernel
def place_end(W, E):
    """Pose of the tip and its derivatives by x, from rows X; E: work numbers of one slice."""
    x = vector(W, at.X)
    fill_slice(E, 0, 1.0, x[0] * x[0] + x[1] * x[1])
    slice_rotation(E, 0, x, W, at.END_ROTATION)
    put(W, at.END_POINT, slice_point(E, 0, x))
    for j in range(3):
        put_column(W, at.END_TURN, j, slice_turn(E, 0, x, j))
        put_column(W, at.END_SHIFT, j, slice_shift(E, 0, x, j))


@kernel
def move_end(W, E, xdd):
    """Motion of the tip against the base, from rows X and XD and x'', after `place_end`."""
    v, a, w, alpha = slice_motion(E, 0, vector(W, at.X), vector(W, at.XD), xdd)
    put(W, at.END_SPEED, v)
    put(W, at.END_OMEGA, w)
    put(W, at.END_BIAS, a)
    put(W, at.END_ALPHA, alpha)


# ---- integrals over the slices of a moving section ----


@kernel
def onto_slice(E, k, x, f, n):
    """Forces on (ux, uy, s) of a force and a moment on the slice."""
    s, b, S = x[2], E[k + at.NB], E[k + at.NS]
    uf = x[0] * f[0] + x[1] * f[1]
    bent = s * (E[k + at.NB1] * uf + E[k + at.NS1] * f[2]) + E[k + at.NC] * (x[0] * n[1] - x[1] * n[0])
    return (
        s * b * f[0] + bent * x[0] + S * n[1] - b * x[1] * n[2],
        s * b * f[1] + bent * x[1] - S * n[0] + b * x[0] * n[2],
        b * uf + S * f[2],
    )


@kernel
def velocity_forces(arm, P, W, E, omega):
    """`slice_forces` of velocities alone: x'', alpha and acceleration zero."""
    x, xd = vector(W, at.X), vector(W, at.XD)
    zero = 0.0 * x[0]
    on_x, moment, force = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    s, sd = x[2], xd[2]
    sigma, square = x[0] * xd[0] + x[1] * xd[1], xd[0] * xd[0] + xd[1] * xd[1]
    sigma2, twist = sigma * sigma, x[0] * xd[1] - x[1] * xd[0]
    first = int(P[at.FIRST_NODE])
    for j in range(int(P[at.NODE_COUNT])):
        k = 8 * j
        m = P[at.MASS] * arm.nodes[2 * (first + j) + 1]
        p, t = slice_point(E, k, x), slice_normal(E, k, x)
        b, b1, S, S1, c = E[k + at.NB], E[k + at.NB1], E[k + at.NS], E[k + at.NS1], E[k + at.NC]
        # of the slice against the base: velocity and acceleration of its centre
        k0 = s * b1 * sigma + sd * b
        k2 = 2.0 * sd * b1 * sigma + s * (E[k + at.NB2] * sigma2 + b1 * square)
        v = k0 * x[0] + s * b * xd[0], k0 * x[1] + s * b * xd[1], sd * S + s * S1 * sigma
        a = (
            k2 * x[0] + 2.0 * k0 * xd[0],
            k2 * x[1] + 2.0 * k0 * xd[1],
            2.0 * sd * S1 * sigma + s * (E[k + at.NS2] * sigma2 + S1 * square),
        )
        carried = cross(omega, p)
        inner_part = cross(omega, (carried[0] + 2.0 * v[0], carried[1] + 2.0 * v[1], carried[2] + 2.0 * v[2]))
        f = m * (a[0] + inner_part[0]), m * (a[1] + inner_part[1]), m * (a[2] + inner_part[2])
        force, moment = sum2(force, f), sum2(moment, cross(p, f))
        r = m * P[at.ROTARY]
        n = (zero, zero, zero)
        if r != 0.0:
            cs, k3, k4 = c * sigma, (S1 + c) * sigma, E[k + at.NC1] * sigma2 + c * square
            w = -(S * xd[1] + cs * x[1]), S * xd[0] + cs * x[0], b * twist
            turning = -(k3 * xd[1] + k4 * x[1]), k3 * xd[0] + k4 * x[0], b1 * sigma * twist
            turning, w = sum2(turning, cross(omega, w)), sum2(w, omega)
            n = disc_moment(r, t, turning, w)
            moment = sum2(moment, n)
        on_x = sum2(on_x, onto_slice(E, k, x, f, n))
    return on_x, moment, force


@kernel
def disc_moment(r, t, turning, w):
    """Moment of a slice's own inertia r (1 + t t^T): of its angular acceleration and velocity."""
    about, spin = r * dot(t, turning), r * dot(t, w)
    gyro = cross(w, t)
    return (
        r * turning[0] + about * t[0] + spin * gyro[0],
        r * turning[1] + about * t[1] + spin * gyro[1],
        r * turning[2] + about * t[2] + spin * gyro[2],
    )


@kernel
def slice_forces(arm, P, W, E, xdd, omega, alpha, acceleration):
    """Forces that the section's own mass takes: on (ux, uy, s), moment and force at the base.

    omega, alpha, acceleration: of the base, the last less gravity. E holds the functions of the nodes.
    """
    x, xd = vector(W, at.X), vector(W, at.XD)
    zero = 0.0 * x[0]
    on_x, moment, force = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    first = int(P[at.FIRST_NODE])
    for j in range(int(P[at.NODE_COUNT])):
        k = 8 * j
        m = P[at.MASS] * arm.nodes[2 * (first + j) + 1]
        p, t = slice_point(E, k, x), slice_normal(E, k, x)
        v, a, w, turning = slice_motion(E, k, x, xd, xdd)
        carried = cross(omega, p)
        inner_part = cross(omega, (carried[0] + 2.0 * v[0], carried[1] + 2.0 * v[1], carried[2] + 2.0 * v[2]))
        a = sum2(sum2(a, acceleration), sum2(cross(alpha, p), inner_part))
        f = m * a[0], m * a[1], m * a[2]
        force = sum2(force, f)
        moment = sum2(moment, cross(p, f))
        r = m * P[at.ROTARY]
        n = (zero, zero, zero)
        if r != 0.0:
            turning = sum2(sum2(turning, alpha), cross(omega, w))
            w = sum2(w, omega)
            n = disc_moment(r, t, turning, w)
            moment = sum2(moment, n)
        on_x = sum2(on_x, onto_slice(E, k, x, f, n))
    return on_x, moment, force


@kernel
def put_inertia(W, diagonal, rest, mixed, axial, ux, uy):
    """Rows INERTIA of D = [diagonal 1 + rest u u^T, mixed u; mixed u^T, axial]."""
    xx, yy = diagonal + rest * ux * ux, diagonal + rest * uy * uy
    put_symmetric(W, at.INERTIA, (xx, rest * ux * uy, mixed * ux, yy, mixed * uy, axial))


@kernel
def put_symmetric(W, k, m):
    """Write the symmetric matrix m = xx xy xz yy yz zz from k on."""
    W[k], W[k + 4], W[k + 8] = m[0], m[3], m[5]
    W[k + 1] = W[k + 3] = m[1]
    W[k + 2] = W[k + 6] = m[2]
    W[k + 5] = W[k + 7] = m[4]


@kernel
def slice_inertia(arm, P, W, E, base):
    """Rows INERTIA, COUPLING_TURN, COUPLING_SHIFT of the section's own mass; inertia at the base at `base`
    of W.

    The integrands depend on eta through the functions of the nodes only: their products are summed first.
    """
    x = vector(W, at.X)
    ux, uy, s = x
    y = ux * ux + uy * uy
    zero = 0.0 * y
    b, S, b1, S1, c = zero, zero, zero, zero, zero
    bb, bS, SS, bS1, Sb1, bb1 = zero, zero, zero, zero, zero, zero
    squares, SS1, turns = zero, zero, zero
    first = int(P[at.FIRST_NODE])
    for j in range(int(P[at.NODE_COUNT])):
        k = 8 * j
        m = P[at.MASS] * arm.nodes[2 * (first + j) + 1]
        nb, nb1, ns, ns1, nc = E[k + at.NB], E[k + at.NB1], E[k + at.NS], E[k + at.NS1], E[k + at.NC]
        mb, ms = m * nb, m * ns
        b += mb
        S += ms
        b1 += m * nb1
        S1 += m * ns1
        c += m * nc
        bb += mb * nb
        bS += mb * ns
        SS += ms * ns
        bS1 += mb * ns1
        Sb1 += ms * nb1
        bb1 += mb * nb1
        squares += m * (nb1 * nb1 * y + ns1 * ns1)
        SS1 += ms * ns1
        turns += m * nc * (2.0 * ns + y * nc)
    h = P[at.ROTARY]
    s2 = s * s
    diagonal = s2 * bb + h * (SS + 2.0 * y * bb)
    rest = s2 * (2.0 * bb1 + squares) + h * (turns - 2.0 * bb)
    mixed = s * (bb + y * bb1 + SS1)
    put_inertia(W, diagonal, rest, mixed, y * bb + SS, ux, uy)
    put_column(W, at.COUPLING_SHIFT, 0, (s * (b + b1 * ux * ux), s * b1 * ux * uy, s * S1 * ux))
    put_column(W, at.COUPLING_SHIFT, 1, (s * b1 * ux * uy, s * (b + b1 * uy * uy), s * S1 * uy))
    put_column(W, at.COUPLING_SHIFT, 2, (b * ux, b * uy, S))
    k1 = s2 * (Sb1 - bS1) + h * (c - bS)
    k2 = s2 * bS + h * (S + y * bS)
    k3 = s2 * bb + h * y * bb
    put_column(W, at.COUPLING_TURN, 0, (-k1 * ux * uy, k2 + k1 * ux * ux, -k3 * uy))
    put_column(W, at.COUPLING_TURN, 1, (-(k2 + k1 * uy * uy), k1 * ux * uy, k3 * ux))
    put_column(W, at.COUPLING_TURN, 2, (zero, zero, zero))
    m = P[at.MASS]
    # second moments of the mass and of the normals
    pxx, pxz, pzz = s2 * bb, s2 * bS, s2 * SS
    txx, txz, tzz = h * SS, h * (S - y * bS), h * (m - 2.0 * y * b + y * y * bb)
    spread = pxx * y + pzz + h * m
    across, along = pxx - txx, pxz - txz
    xx, yy, zz = spread - across * ux * ux, spread - across * uy * uy, spread - pzz + tzz
    put_symmetric(W, base, (xx, -across * ux * uy, -along * ux, yy, -along * uy, zz))
    put_first_moment(W, base, m, (s * b * ux, s * b * uy, s * S))


@kernel
def put_first_moment(W, k, m, h):
    """Blocks H = h~ and M = m of the inertia at k."""
    W[k + 9], W[k + 10], W[k + 11] = 0.0 * h[0], -h[2], h[1]
    W[k + 12], W[k + 13], W[k + 14] = h[2], 0.0 * h[0], -h[0]
    W[k + 15], W[k + 16], W[k + 17] = -h[1], h[0], 0.0 * h[0]
    for i in range(9):
        W[k + 18 + i] = 0.0 * h[0]
    W[k + 18] = W[k + 22] = W[k + 26] = m + 0.0 * h[0]
