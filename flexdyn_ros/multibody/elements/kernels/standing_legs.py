"""A leg that stands on the fixed world: where it points, how it moves, and the force at its upper joint that
its motion takes.

Written in leg axes, the columns x, y, s of the leg frame: s along the leg from the base joint to the upper
one, y the second axis of the universal joint, x = y x s. There s' = (w1, w2, 0), s'' = (b1, b2, .) and the
axis of the universal joint is u = (c, 0, k); equations of docs/theory/platform.md. Numbers may be complex,
for exact derivatives.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.rotations import cross, symmetric, turn
from flexdyn_ros.numerics.compiling.compiler import leaf

# places in the numbers of a leg
BASE_JOINT = 0  # (3) A, world [m]
UPPER_JOINT = 3  # (3) B, axes of the body that the leg carries [m]
AXIS = 6  # (3) u, the axis of the universal joint that the base carries, world
ROD_MASS = 9
ROD_MOMENT = 10  # (3) first moment of the rod about the upper joint, leg axes [kg m]
CYLINDER_MASS = 13
CYLINDER_MOMENT = 14  # (3) first moment of the cylinder about the base joint, leg axes [kg m]
LEG_INERTIA = 17  # (6) cylinder about the base joint plus rod about the upper joint, leg axes [kg m2]
UNIVERSAL = 23  # 1 if the universal joint makes it spin, 0 if its spin is neglected
STANDING_LEG = 24
#: added to the square of a length, so that the direction of a spring of no length is 0, not unknown
NOTHING = 1e-300


@leaf
def three(f, at):
    """Three numbers of f from `at` on."""
    return f[at], f[at + 1], f[at + 2]


@leaf
def six(f, at):
    """Six numbers of f from `at` on."""
    return f[at], f[at + 1], f[at + 2], f[at + 3], f[at + 4], f[at + 5]


@leaf
def dot(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@leaf
def leg_line(f, at, R, px, py, pz):
    """Arm r from the body's origin to the upper joint, direction s (world), length, its inverse."""
    r = turn(R, f[at + UPPER_JOINT], f[at + UPPER_JOINT + 1], f[at + UPPER_JOINT + 2])
    x = px + r[0] - f[at + BASE_JOINT]
    y = py + r[1] - f[at + BASE_JOINT + 1]
    z = pz + r[2] - f[at + BASE_JOINT + 2]
    length = np.sqrt(x * x + y * y + z * z + NOTHING)
    inverse = 1.0 / length
    return r, (x * inverse, y * inverse, z * inverse), length, inverse


@leaf
def leg_axes(f, at, s):
    """Axes x and y of the leg frame (world), k = u . s, and c = sqrt(1 - k^2) with its inverse."""
    u = three(f, at + AXIS)
    k = dot(u, s)
    c = np.sqrt(1.0 - k * k)
    ic = 1.0 / c
    y = cross(s[0], s[1], s[2], u[0], u[1], u[2])
    x = ((u[0] - k * s[0]) * ic, (u[1] - k * s[1]) * ic, (u[2] - k * s[2]) * ic)
    return x, (y[0] * ic, y[1] * ic, y[2] * ic), k, c, ic


@leaf
def point_velocity(w, v, r):
    """v + w x r"""
    x = cross(w[0], w[1], w[2], r[0], r[1], r[2])
    return v[0] + x[0], v[1] + x[1], v[2] + x[2]


@leaf
def rate_matrix(w, a):
    """[a] + [w]^2 row by row: acceleration of a point of a body = that of the origin + this times the arm."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (-yy - zz, xy - a[2], xz + a[1], xy + a[2], -xx - zz, yz - a[0], xz - a[1], yz + a[0], -xx - yy)


@leaf
def leg_motion(universal, length, inverse, k, ic, v, a):
    """Motion of the leg from velocity v and acceleration a of its upper joint, all in leg axes.

    Returns s' (w1, w2), length'', s'' (b1, b2), angular velocity and acceleration; the rate of the length is
    v[2].
    """
    w1, w2 = v[0] * inverse, v[1] * inverse
    acceleration = a[2] + length * (w1 * w1 + w2 * w2)
    twice = 2.0 * v[2]
    b1, b2 = (a[0] - twice * w1) * inverse, (a[1] - twice * w2) * inverse
    t = k * ic if universal else 0.0 * k
    spin = -t * w2
    spinning = t * (2.0 * w1 * spin - b2) - (w1 * w2 if universal else 0.0 * w1)
    return (w1, w2), acceleration, (b1, b2), (-w2, w1, spin), (spin * w1 - b2, spin * w2 + b1, spinning)


@leaf
def rod_force(f, at, W, a, g):
    """Force m (a - g) of the rod, leg axes; W = rate matrix of the leg, a = acceleration of the upper
    joint."""
    m = f[at + ROD_MASS]
    h = turn(W, f[at + ROD_MOMENT], f[at + ROD_MOMENT + 1], f[at + ROD_MOMENT + 2])
    return m * (a[0] - g[0]) + h[0], m * (a[1] - g[1]) + h[1], m * (a[2] - g[2]) + h[2]


@leaf
def leg_moment(f, at, length, w, alpha, F, a, g):
    """z of equation (1): moment about the base joint that the leg's motion and weight take, leg axes.

    Cylinder about the base joint and rod about the platform joint share one inertia, being one body as far as
    turning goes.
    """
    I = six(f, at + LEG_INERTIA)
    L = symmetric(I, w[0], w[1], w[2])
    e = symmetric(I, alpha[0], alpha[1], alpha[2])
    n = cross(w[0], w[1], w[2], L[0], L[1], L[2])
    h, c = three(f, at + ROD_MOMENT), three(f, at + CYLINDER_MOMENT)
    # c x (-g) + h x (a - g) = h x a - (c + h) x g
    p = cross(h[0], h[1], h[2], a[0], a[1], a[2])
    o = cross(c[0] + h[0], c[1] + h[1], c[2] + h[2], g[0], g[1], g[2])
    return (
        e[0] + n[0] + p[0] - o[0] - length * F[1],
        e[1] + n[1] + p[1] - o[1] + length * F[0],
        e[2] + n[2] + p[2] - o[2],
    )


@leaf
def force_of_leg(f, at, universal, s, length, inverse, vB, aB, gravity):
    """Force on the upper joint that moves and carries a leg of any inertia without its drive, world axes.

    vB, aB: velocity and acceleration of the upper joint, world axes.
    """
    x, y, k, c, ic = leg_axes(f, at, s)
    v = (dot(x, vB), dot(y, vB), dot(s, vB))
    a = (dot(x, aB), dot(y, aB), dot(s, aB))
    g = (dot(x, gravity), dot(y, gravity), dot(s, gravity))
    ws, acceleration, bs, w, alpha = leg_motion(universal, length, inverse, k, ic, v, a)
    F = rod_force(f, at, rate_matrix(w, alpha), a, g)
    z = leg_moment(f, at, length, w, alpha, F, a, g)
    normal = k * ic * z[2] if universal else 0.0 * z[2]
    f1, f2 = z[1] * inverse, -(z[0] + normal) * inverse
    return (
        f1 * x[0] + f2 * y[0] + F[2] * s[0],
        f1 * x[1] + f2 * y[1] + F[2] * s[1],
        f1 * x[2] + f2 * y[2] + F[2] * s[2],
    )


@leaf
def force_of_plain_leg(f, at, universal, s, length, inverse, vB, aB, gravity):
    """`force_of_leg` for an axisymmetric leg with its mass on its axis (section 4.1)."""
    m, offset = f[at + ROD_MASS], f[at + ROD_MOMENT + 2]
    rate, along, fall = dot(s, vB), dot(s, aB), dot(s, gravity)
    w = ((vB[0] - rate * s[0]) * inverse, (vB[1] - rate * s[1]) * inverse, (vB[2] - rate * s[2]) * inverse)
    h = m * length + offset  # first moment of the rod about the base joint
    H = h + f[at + CYLINDER_MOMENT + 2]
    # m xi^2 of the rod is m (length^2 + 2 length offset/m) plus a constant that is in the inertia
    X = f[at + LEG_INERTIA] + (h + offset) * length
    square = dot(w, w)
    F = m * (along + length * square - fall) - h * square
    ca = X * inverse * inverse
    cw = 2.0 * rate * (h - X * inverse) * inverse
    cg = -H * inverse
    cs = F - ca * along - cg * fall
    fx = ca * aB[0] + cw * w[0] + cg * gravity[0] + cs * s[0]
    fy = ca * aB[1] + cw * w[1] + cg * gravity[1] + cs * s[1]
    fz = ca * aB[2] + cw * w[2] + cg * gravity[2] + cs * s[2]
    if universal:
        u = three(f, at + AXIS)
        k = dot(u, s)
        c2 = 1.0 / (1.0 - k * k)
        n = cross(s[0], s[1], s[2], u[0], u[1], u[2])
        # with y = n/c: spin = -k (n.s')/c^2, and s'' across = (aB across - 2 rate s')/length
        across = dot(n, w)
        spin = -k * across * c2
        kd = dot(u, w)
        bend = (dot(n, aB) - 2.0 * rate * across) * inverse
        spinning = (2.0 * k * kd * spin - kd * across - k * bend) * c2
        q = cross(s[0], s[1], s[2], w[0], w[1], w[2])
        ia = f[at + LEG_INERTIA + 5] * inverse
        e, d = ia * spin, ia * spinning * k * c2
        fx -= e * q[0] + d * n[0]
        fy -= e * q[1] + d * n[1]
        fz -= e * q[2] + d * n[2]
    return fx, fy, fz


@leaf
def leg_inertia(f, at, universal, s, inverse):
    """Inertia of a leg felt at its upper joint, world axes: xx xy xz yy yz zz [kg] (section 5).

    In leg axes the kinetic energy is 1/2 w I w + 1/2 m v.v + v.(w x h) with w = (-v2, v1, -t v2)/length.
    """
    x, y, k, c, ic = leg_axes(f, at, s)
    m, hx, hy, hz = f[at + ROD_MASS], f[at + ROD_MOMENT], f[at + ROD_MOMENT + 1], f[at + ROD_MOMENT + 2]
    I = six(f, at + LEG_INERTIA)
    t = k * ic if universal else 0.0 * k
    i2 = inverse * inverse
    l11 = m + i2 * I[3] + 2.0 * inverse * hz
    l12 = inverse * t * hy - i2 * (I[1] + t * I[4])
    l22 = m + i2 * (I[0] + t * (2.0 * I[2] + t * I[5])) + 2.0 * inverse * (hz - t * hx)
    l13, l23 = -inverse * hx, -inverse * hy
    p = (l11 * x[0] + l12 * y[0] + l13 * s[0], l11 * x[1] + l12 * y[1] + l13 * s[1],
         l11 * x[2] + l12 * y[2] + l13 * s[2])  # fmt: skip
    q = (l12 * x[0] + l22 * y[0] + l23 * s[0], l12 * x[1] + l22 * y[1] + l23 * s[1],
         l12 * x[2] + l22 * y[2] + l23 * s[2])  # fmt: skip
    o = (l13 * x[0] + l23 * y[0] + m * s[0], l13 * x[1] + l23 * y[1] + m * s[1],
         l13 * x[2] + l23 * y[2] + m * s[2])  # fmt: skip
    return (
        x[0] * p[0] + y[0] * q[0] + s[0] * o[0],
        x[0] * p[1] + y[0] * q[1] + s[0] * o[1],
        x[0] * p[2] + y[0] * q[2] + s[0] * o[2],
        x[1] * p[1] + y[1] * q[1] + s[1] * o[1],
        x[1] * p[2] + y[1] * q[2] + s[1] * o[2],
        x[2] * p[2] + y[2] * q[2] + s[2] * o[2],
    )


@leaf
def plain_leg_inertia(f, at, universal, s, inverse):
    """`leg_inertia` of an axisymmetric leg with its mass on its axis: one across s in all directions, but for
    the spin that a universal joint makes of a motion along n = s x u."""
    m, i2 = f[at + ROD_MASS], inverse * inverse
    wide = m + i2 * f[at + LEG_INERTIA] + 2.0 * inverse * f[at + ROD_MOMENT + 2]
    d = m - wide
    x, y, z = d * s[0], d * s[1], d * s[2]
    xx, xy, xz, yy, yz, zz = wide + x * s[0], x * s[1], x * s[2], wide + y * s[1], y * s[2], wide + z * s[2]
    if universal:
        u = three(f, at + AXIS)
        k = dot(u, s)
        c2 = 1.0 / (1.0 - k * k)
        n = cross(s[0], s[1], s[2], u[0], u[1], u[2])
        # y = n/c turns with the spin -t/length, t = k/c
        e = f[at + LEG_INERTIA + 5] * i2 * k * k * c2 * c2
        xx, xy, xz = xx + e * n[0] * n[0], xy + e * n[0] * n[1], xz + e * n[0] * n[2]
        yy, yz, zz = yy + e * n[1] * n[1], yz + e * n[1] * n[2], zz + e * n[2] * n[2]
    return xx, xy, xz, yy, yz, zz
