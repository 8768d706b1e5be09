"""What the parts of a platform do, for one state: motion and angles of legs, reactions, frames.

Bodies are numbered: 0 the world, 1 the platform, then for leg i the cross 2 + 3 i, the cylinder 3 + 3 i and
the rod 4 + 3 i. A cross is seen in the axes u, y, u x y at the base joint, a cylinder in leg axes there, a
rod in leg axes at the platform joint.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.multibody.elements.kernels import standing_legs as leg_at
from flexdyn_ros.multibody.elements.kernels.standing_legs import (
    dot,
    leg_axes,
    leg_line,
    leg_moment,
    leg_motion,
    point_velocity,
    rate_matrix,
    rod_force,
    six,
    three,
)
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    cross,
    load9,
    matrix_of_quaternion,
    multiply,
    symmetric,
    turn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel, leaf

from . import views

# columns of a leg's row in the table of motions
LENGTH, RATE, ACCELERATION, DIRECTION, ANGLES, ANGLE_RATES = 0, 1, 2, 3, 6, 8
SPIN, OMEGA, ALPHA, CYLINDER_ACCELERATION, ROD_ACCELERATION = 10, 11, 14, 17, 20
MOTION_COLUMNS = 23
# columns of a leg's row in the table of reactions
F_B, F_P, F_A, N_P, MOMENT_A, GUIDE_TORQUE = 0, 3, 6, 9, 12, 15
REACTION_COLUMNS = 16


@leaf
def to_world(x, y, s, p):
    """p, given in leg axes, in world axes."""
    return (
        x[0] * p[0] + y[0] * p[1] + s[0] * p[2],
        x[1] * p[0] + y[1] * p[1] + s[1] * p[2],
        x[2] * p[0] + y[2] * p[1] + s[2] * p[2],
    )


@leaf
def put3(row, at, p):
    """Write three numbers."""
    row[at], row[at + 1], row[at + 2] = p[0], p[1], p[2]


@leaf
def over(p, m):
    """p / m; zero where the mass m is."""
    i = 1.0 / m if m > 0.0 else 0.0
    return p[0] * i, p[1] * i, p[2] * i


@leaf
def wrapped(angle):
    """The same angle within (-pi, pi]."""
    return angle - 2.0 * np.pi * np.ceil(angle / (2.0 * np.pi) - 0.5)


@leaf
def joint_motion(rates, r, x, y, s, v, a):
    """Velocity and acceleration of the upper joint of a leg, at r from the platform's origin, leg axes."""
    vB = point_velocity((v[0], v[1], v[2]), (v[3], v[4], v[5]), r)
    d = turn(rates, r[0], r[1], r[2])
    aB = (a[3] + d[0], a[4] + d[1], a[5] + d[2])
    return (dot(x, vB), dot(y, vB), dot(s, vB)), (dot(x, aB), dot(y, aB), dot(s, aB))


@kernel
def leg_table(model, q, v, a, table):
    """Motions of the legs: table (6, MOTION_COLUMNS), vectors in world axes."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    rates = rate_matrix((v[0], v[1], v[2]), (a[0], a[1], a[2]))
    for i in range(views.LEGS):
        at, row = views.FIRST_LEG + views.LEG_NUMBERS * i, table[i]
        r, s, length, inverse = leg_line(f, at, R, q[0], q[1], q[2])
        x, y, k, c, ic = leg_axes(f, at, s)
        vb, ab = joint_motion(rates, r, x, y, s, v, a)
        ws, acceleration, _, w, alpha = leg_motion(model.universal, length, inverse, k, ic, vb, ab)
        W = rate_matrix(w, alpha)
        cl = over(three(f, at + leg_at.CYLINDER_MOMENT), f[at + leg_at.CYLINDER_MASS])
        cu = over(three(f, at + leg_at.ROD_MOMENT), f[at + leg_at.ROD_MASS])
        eu = turn(W, cu[0], cu[1], cu[2])
        row[LENGTH], row[RATE], row[ACCELERATION] = length, vb[2], acceleration
        put3(row, DIRECTION, s)
        sign = f[at + views.SIGN]
        along_y, along_z = dot(y, three(f, at + views.ANGLE_Y)), dot(y, three(f, at + views.ANGLE_Z))
        row[ANGLES] = np.arctan2(sign * along_z, sign * along_y)
        row[ANGLES + 1] = wrapped(np.arctan2(k, sign * c) - f[at + views.ANGLE_OFFSET])
        row[ANGLE_RATES], row[ANGLE_RATES + 1] = -ws[1] * ic, sign * ws[0]
        row[SPIN] = w[2]
        put3(row, OMEGA, to_world(x, y, s, w))
        put3(row, ALPHA, to_world(x, y, s, alpha))
        put3(row, CYLINDER_ACCELERATION, to_world(x, y, s, turn(W, cl[0], cl[1], cl[2])))
        put3(row, ROD_ACCELERATION, to_world(x, y, s, (ab[0] + eu[0], ab[1] + eu[1], ab[2] + eu[2])))


@kernel
def reaction_table(model, q, v, a, tau, table):
    """Forces and moments in the joints of the legs under drive forces tau: table (6, REACTION_COLUMNS)."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    rates = rate_matrix((v[0], v[1], v[2]), (a[0], a[1], a[2]))
    gravity = three(f, views.GRAVITY)
    for i in range(views.LEGS):
        at, row = views.FIRST_LEG + views.LEG_NUMBERS * i, table[i]
        r, s, length, inverse = leg_line(f, at, R, q[0], q[1], q[2])
        x, y, k, c, ic = leg_axes(f, at, s)
        vb, ab = joint_motion(rates, r, x, y, s, v, a)
        g = (dot(x, gravity), dot(y, gravity), dot(s, gravity))
        _, _, _, w, alpha = leg_motion(model.universal, length, inverse, k, ic, vb, ab)
        W = rate_matrix(w, alpha)
        Fu = rod_force(f, at, W, ab, g)
        z = leg_moment(f, at, length, w, alpha, Fu, ab, g)
        normal = z[2] * ic if model.universal else 0.0
        B = (-z[1] * inverse, (z[0] + k * normal) * inverse, tau[i] - Fu[2])
        P = (B[0] + Fu[0], B[1] + Fu[1], B[2] + Fu[2])
        Fl = cylinder_force(f, at, W, g)
        N = guide_moment(f, at, length, w, alpha, ab, g, Fu, B)
        put3(row, F_B, to_world(x, y, s, B))
        put3(row, F_P, to_world(x, y, s, P))
        put3(row, F_A, to_world(x, y, s, (P[0] + Fl[0], P[1] + Fl[1], P[2] + Fl[2])))
        put3(row, N_P, to_world(x, y, s, N))
        put3(row, MOMENT_A, to_world(x, y, s, (-k * normal, 0.0, c * normal)))
        row[GUIDE_TORQUE] = N[2]


@leaf
def cylinder_force(f, at, W, g):
    """Force m (a - g) of the cylinder, leg axes."""
    m = f[at + leg_at.CYLINDER_MASS]
    c = three(f, at + leg_at.CYLINDER_MOMENT)
    h = turn(W, c[0], c[1], c[2])
    return h[0] - m * g[0], h[1] - m * g[1], h[2] - m * g[2]


@leaf
def guide_moment(f, at, length, w, alpha, a, g, F, B):
    """Moment of the cylinder on the rod about the guide, leg axes: F of the rod's motion, B on the platform;
    a = acceleration of the upper joint."""
    I = six(f, at + views.ROD_INERTIA)
    L, e = symmetric(I, w[0], w[1], w[2]), symmetric(I, alpha[0], alpha[1], alpha[2])
    n = cross(w[0], w[1], w[2], L[0], L[1], L[2])
    h = three(f, at + leg_at.ROD_MOMENT)
    p = cross(h[0], h[1], h[2], a[0] - g[0], a[1] - g[1], a[2] - g[2])
    arm = length - f[at + views.GUIDE]
    return (
        e[0] + n[0] + p[0] - arm * (F[1] + B[1]),
        e[1] + n[1] + p[1] + arm * (F[0] + B[0]),
        e[2] + n[2] + p[2],
    )


# ---- frames ----


@leaf
def body_pose(model, q, R, body):
    """Rotation (9) and origin (3) of a body."""
    f = model.f
    if body == 0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    if body == 1:
        return R, (q[0], q[1], q[2])
    at = views.FIRST_LEG + views.LEG_NUMBERS * ((body - 2) // 3)
    part = (body - 2) % 3
    r, s, length, _ = leg_line(f, at, R, q[0], q[1], q[2])
    x, y, k, c, ic = leg_axes(f, at, s)
    if part == 0:
        x = three(f, at + leg_at.AXIS)
        s = cross(x[0], x[1], x[2], y[0], y[1], y[2])
        return (x[0], y[0], s[0], x[1], y[1], s[1], x[2], y[2], s[2]), three(f, at + leg_at.BASE_JOINT)
    E = (x[0], y[0], s[0], x[1], y[1], s[1], x[2], y[2], s[2])
    if part == 1:
        return E, three(f, at + leg_at.BASE_JOINT)
    return E, (q[0] + r[0], q[1] + r[1], q[2] + r[2])


@kernel
def pose_of_frame(model, q, body, placement, pose):
    """pose (4, 4) of a frame with placement (12,) in a body."""
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    E, o = body_pose(model, q, R, body)
    F = multiply(E, load9(placement, 0))
    p = turn(E, placement[9], placement[10], placement[11])
    for i in range(3):
        pose[i, 0], pose[i, 1], pose[i, 2] = F[3 * i], F[3 * i + 1], F[3 * i + 2]
        pose[i, 3] = o[i] + p[i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0


@kernel
def jacobian_of_point(model, q, body, px, py, pz, J):
    """J (6, 6) of a point of a body (body's axes): J v = (angular; linear) velocity, world axes."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    E, o = body_pose(model, q, R, body)
    p = turn(E, px, py, pz)
    at = views.FIRST_LEG + views.LEG_NUMBERS * max((body - 2) // 3, 0)
    r, s, _, inverse = leg_line(f, at, R, q[0], q[1], q[2])
    x, y, k, c, ic = leg_axes(f, at, s)
    u = three(f, at + leg_at.AXIS)
    for j in range(6):
        w = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        v = (1.0 if j == 3 else 0.0, 1.0 if j == 4 else 0.0, 1.0 if j == 5 else 0.0)
        if body == 0:
            w, v = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        elif body > 1:
            vB = point_velocity(w, v, r)
            w1, w2 = dot(x, vB) * inverse, dot(y, vB) * inverse
            spin = -k * ic * w2 if model.universal else 0.0
            v = vB if (body - 2) % 3 == 2 else (0.0, 0.0, 0.0)
            if (body - 2) % 3 == 0:
                turning = -w2 * ic
                w = (turning * u[0], turning * u[1], turning * u[2])
            else:
                w = to_world(x, y, s, (-w2, w1, spin))
        v = point_velocity(w, v, p)
        J[0, j], J[1, j], J[2, j], J[3, j], J[4, j], J[5, j] = w[0], w[1], w[2], v[0], v[1], v[2]


@kernel
def load_of_wrench(model, q, body, px, py, pz, wrench, load):
    """Add J^T wrench of a point of a body to load (6,); any number type."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    if body == 0:
        return
    mx, my, mz, fx, fy, fz = wrench[0], wrench[1], wrench[2], wrench[3], wrench[4], wrench[5]
    if body == 1:
        p = turn(R, px, py, pz)
        n = cross(p[0], p[1], p[2], fx, fy, fz)
        add3(load, 0, mx + n[0], my + n[1], mz + n[2])
        add3(load, 3, fx, fy, fz)
        return
    at, part = views.FIRST_LEG + views.LEG_NUMBERS * ((body - 2) // 3), (body - 2) % 3
    r, s, length, inverse = leg_line(f, at, R, q[0], q[1], q[2])
    x, y, k, c, ic = leg_axes(f, at, s)
    u = three(f, at + leg_at.AXIS)
    if part == 0:
        n = cross(u[0], u[1], u[2], y[0], y[1], y[2])
        p = to_world(u, y, n, (px, py, pz))
    else:
        p = to_world(x, y, s, (px, py, pz))
    n = cross(p[0], p[1], p[2], fx, fy, fz)
    m = (mx + n[0], my + n[1], mz + n[2])
    # power = m.w with w = w1 y - w2 (x + t s), or -w2/c u for the cross
    t = k * ic if model.universal else 0.0
    if part == 0:
        f1, f2 = 0.0 * inverse, -dot(u, m) * ic * inverse
    else:
        f1, f2 = dot(y, m) * inverse, -(dot(x, m) + t * dot(s, m)) * inverse
    gx, gy, gz = f1 * x[0] + f2 * y[0], f1 * x[1] + f2 * y[1], f1 * x[2] + f2 * y[2]
    if part == 2:
        gx, gy, gz = gx + fx, gy + fy, gz + fz
    n = cross(r[0], r[1], r[2], gx, gy, gz)
    add3(load, 0, n[0], n[1], n[2])
    add3(load, 3, gx, gy, gz)


@kernel
def first_moment(model, q):
    """First moment of the mass of platform and legs about the world's origin, world axes [kg m]."""
    f = model.f
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    m = f[views.MASS]
    mx, my, mz = turn(R, f[views.MOMENT], f[views.MOMENT + 1], f[views.MOMENT + 2])
    mx, my, mz = mx + m * q[0], my + m * q[1], mz + m * q[2]
    for i in range(views.LEGS):
        at = views.FIRST_LEG + views.LEG_NUMBERS * i
        r, s, _, _ = leg_line(f, at, R, q[0], q[1], q[2])
        x, y, _, _, _ = leg_axes(f, at, s)
        # the cylinder turns about the base joint, the rod rides on the platform joint
        A, c = three(f, at + leg_at.BASE_JOINT), three(f, at + leg_at.CYLINDER_MOMENT)
        u = three(f, at + leg_at.ROD_MOMENT)
        h = to_world(x, y, s, (c[0] + u[0], c[1] + u[1], c[2] + u[2]))
        cylinder, rod = f[at + leg_at.CYLINDER_MASS], f[at + leg_at.ROD_MASS]
        mx += h[0] + cylinder * A[0] + rod * (q[0] + r[0])
        my += h[1] + cylinder * A[1] + rod * (q[1] + r[1])
        mz += h[2] + cylinder * A[2] + rod * (q[2] + r[2])
    return mx, my, mz
