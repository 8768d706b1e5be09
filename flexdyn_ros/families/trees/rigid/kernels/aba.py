"""Articulated-body algorithm: accelerations from efforts in O(n) (Featherstone 2008, table 7.1).

Written with the acceleration of the body origin itself instead of Featherstone's spatial one: velocities then
enter only through the products with angular velocities, and no linear velocity is needed. An articulated
inertia is kept as [A H; H^T M]: (moment; force) = [A H; H^T M] (angular; linear acceleration) + bias.

All vectors are in world axes, inertias about the body's own origin: of what is handed down only the origin
changes. A body's own inertia is turned, once, which is less than to turn all that hangs on it. The bias is
the wrench of the motion in which no joint accelerates, gravity included; what the joints add to that motion
is carried in rows of its own.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import (
    about_z,
    add3,
    add_cross,
    cross,
    load3,
    load6,
    load9,
    matrix_of_quaternion,
    multiply,
    store3,
    store6,
    store9,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views as at
from .joints import FAST
from .resistance import accelerate_motors, add_joint_resistance, eliminate_motors

# rows of a body's block in TreeData.articulated
A_ROW, H_ROW, M_ROW = 0, 6, 15  # (6) symmetric, (9), (6) symmetric
BIAS_MOMENT, BIAS_FORCE = 21, 24
# column of the inertia that belongs to the joint axis; for a free joint what drives it
U_MOMENT, U_FORCE = 27, 30
U_ROW, D_ROW = 33, 34  # effort left for the joint, inverse of the inertia it feels
# of a ball joint: the moment left for it, in the rows of U_MOMENT, and the inverse of the inertia it feels
W_ROW = 30  # (6) symmetric
# rows of a body's block in TreeData.bodies: what its accelerations have beside those of the motion above
ADDED_ALPHA, ADDED_ACCELERATION = at.BIAS_ALPHA, at.BIAS_ACCELERATION


@kernel(fastmath=FAST, forceinline=True)
def articulated_body(model, data, q, v, tau, a):
    """a = M^-1 (tau - h); tau is overwritten.

    Reads the world's motion, data.diagonal (`prepare`) and what `couple_motors` kept; writes data.bodies,
    whose rows (views.py) are in world axes here, and data.articulated.
    """
    start_bodies(model, data, q, v, tau)
    accelerate_bodies(model, data, tau, a)


@kernel(fastmath=FAST, forceinline=True)
def start_bodies(model, data, q, v, tau):
    """The first half of `articulated_body`: where bodies are and how they move, inertia and bias of each by
    itself."""
    add_joint_resistance(model, q, v, -1.0, tau)
    eliminate_motors(model, data, tau)
    for b in range(1, model.nb):
        below = window(data.bodies, model.parent[b] * at.BODY_ROWS, at.BODY_ROWS)
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        kind = model.joint_type[b]
        x = window(model.placement, 12 * b, 12)
        if kind == FREE:
            move_free(below, own, x, window(q, model.q_index[b], 7), window(v, model.v_index[b], 6))
        elif kind == BALL:
            move_ball(below, own, x, window(q, model.q_index[b] + 3, 4), window(v, model.v_index[b], 3))
        else:
            ratio = model.ratio[b]
            position = ratio * q[model.q_index[b]] + model.offset[b]
            rate = ratio * v[model.v_index[b]]
            move_screw(below, own, x, position, rate, model.turn[b], model.slide[b])
        joint = window(data.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        start_inertia(window(model.inertia, 10 * b, 10), own, joint)


@kernel(fastmath=FAST, forceinline=True)
def accelerate_bodies(model, data, tau, a):
    """The second half: joints are eliminated from the tips to the root, then accelerate."""
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        joint = window(data.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        base = window(data.articulated, p * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        first = model.v_index[b]
        kind = model.joint_type[b]
        if kind == FREE:
            release_free(own, joint, window(tau, first, 6))
            if p > 0:
                hand_down_force(own, joint, base)
        else:
            if kind == BALL:
                rest = window(data.articulated, 0, at.ARTICULATED_ROWS)
                release_ball(own, joint, window(tau, first, 3), window(data.diagonal, first, 3), rest)
            else:
                rest = joint
                release_axis(own, joint, tau[first], data.diagonal[first], model.turn[b], model.slide[b])
            if p > 0:
                hand_down(own, rest, base)
    world = window(data.bodies, 0, at.BODY_ROWS)
    store3(world, ADDED_ALPHA, 0.0, 0.0, 0.0)
    store3(world, ADDED_ACCELERATION, 0.0, 0.0, 0.0)
    for b in range(1, model.nb):
        below = window(data.bodies, model.parent[b] * at.BODY_ROWS, at.BODY_ROWS)
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        joint = window(data.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        first = model.v_index[b]
        kind = model.joint_type[b]
        if kind == FREE:
            accelerate_free(below, own, joint, window(a, first, 6))
        elif kind == BALL:
            accelerate_ball(below, own, joint, window(a, first, 3))
        else:
            accelerate_axis(below, own, joint, window(a, first, 1), model.turn[b], model.slide[b])
    accelerate_motors(model, data, tau, a)


# ---- outward: where bodies are, how they move ----


@kernel(fastmath=FAST, forceinline=True)
def move_screw(below, own, x, position, rate, turns, slides):
    """ROTATION, ORIGIN, OMEGA, ALPHA and ACCELERATION of a body that turns about z and slides along it, its
    joint not accelerating."""
    r = load9(below, at.ROTATION)
    px, py, pz = turn(r, x[9], x[10], x[11])
    j = multiply(r, (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]))
    ax, ay, az = j[2], j[5], j[8]
    if turns != 0.0:
        s, c = sincos(position)
        store9(own, at.ROTATION, about_z(j, s, c))
    else:
        store9(own, at.ROTATION, j)
    way, spin, speed = slides * position, turns * rate, slides * rate
    px, py, pz = px + ax * way, py + ay * way, pz + az * way
    move(below, own, px, py, pz, ax * spin, ay * spin, az * spin, ax * speed, ay * speed, az * speed)


@kernel(fastmath=FAST, forceinline=True)
def move_free(below, own, x, q, v):
    """The same, and TURN, of a body on a free joint; q and v are in joint axes."""
    r = load9(below, at.ROTATION)
    px, py, pz = turn(r, x[9], x[10], x[11])
    j = multiply(r, (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]))
    store9(own, at.TURN, j)
    store9(own, at.ROTATION, multiply(j, matrix_of_quaternion(q[3], q[4], q[5], q[6])))
    ux, uy, uz = turn(j, q[0], q[1], q[2])
    px, py, pz = px + ux, py + uy, pz + uz
    rx, ry, rz = turn(j, v[0], v[1], v[2])
    sx, sy, sz = turn(j, v[3], v[4], v[5])
    move(below, own, px, py, pz, rx, ry, rz, sx, sy, sz)


@kernel(fastmath=FAST)
def move_ball(below, own, x, q, v):
    """The same, and TURN, of a body on a ball joint; v is in joint axes."""
    r = load9(below, at.ROTATION)
    px, py, pz = turn(r, x[9], x[10], x[11])
    j = multiply(r, (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]))
    store9(own, at.TURN, j)
    store9(own, at.ROTATION, multiply(j, matrix_of_quaternion(q[0], q[1], q[2], q[3])))
    rx, ry, rz = turn(j, v[0], v[1], v[2])
    move(below, own, px, py, pz, rx, ry, rz, 0.0, 0.0, 0.0)


@kernel(fastmath=FAST, forceinline=True)
def move(below, own, px, py, pz, rx, ry, rz, sx, sy, sz):
    """Motion of a body at p from its parent, against which it turns with r and slides with s; zeros may be
    plain numbers."""
    store3(own, at.ORIGIN, px, py, pz)
    wx, wy, wz = load3(below, at.OMEGA)
    ax, ay, az = load3(below, at.ALPHA)
    lx, ly, lz = load3(below, at.ACCELERATION)
    lx, ly, lz = add_cross(lx, ly, lz, ax, ay, az, px, py, pz)
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    ux, uy, uz = ux + 2.0 * sx, uy + 2.0 * sy, uz + 2.0 * sz
    lx, ly, lz = add_cross(lx, ly, lz, wx, wy, wz, ux, uy, uz)
    ax, ay, az = add_cross(ax, ay, az, wx, wy, wz, rx, ry, rz)
    store3(own, at.OMEGA, wx + rx, wy + ry, wz + rz)
    store3(own, at.ALPHA, ax, ay, az)
    store3(own, at.ACCELERATION, lx, ly, lz)


@kernel(fastmath=FAST, forceinline=True)
def start_inertia(inertia, own, joint):
    """The body's own inertia, and the wrench of its motion, as the first articulated ones."""
    r = load9(own, at.ROTATION)
    mass = inertia[0]
    cx, cy, cz = turn(r, inertia[1], inertia[2], inertia[3])
    i = turned_inertia(r, load6(inertia, 4))
    store6(joint, A_ROW, i)
    nothing = 0.0 * cx
    store3(joint, H_ROW, nothing, -cz, cy)
    store3(joint, H_ROW + 3, cz, nothing, -cx)
    store3(joint, H_ROW + 6, -cy, cx, nothing)
    store6(joint, M_ROW, (mass, 0.0, 0.0, mass, 0.0, mass))
    wx, wy, wz = load3(own, at.OMEGA)
    ax, ay, az = load3(own, at.ALPHA)
    lx, ly, lz = load3(own, at.ACCELERATION)
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    fx, fy, fz = add_cross(mass * lx, mass * ly, mass * lz, wx, wy, wz, ux, uy, uz)
    fx, fy, fz = add_cross(fx, fy, fz, ax, ay, az, cx, cy, cz)
    hx, hy, hz = symmetric(i, wx, wy, wz)
    mx, my, mz = symmetric(i, ax, ay, az)
    mx, my, mz = add_cross(mx, my, mz, wx, wy, wz, hx, hy, hz)
    mx, my, mz = add_cross(mx, my, mz, cx, cy, cz, lx, ly, lz)
    store3(joint, BIAS_MOMENT, mx, my, mz)
    store3(joint, BIAS_FORCE, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def turned_inertia(r, i):
    """r i r^T of a symmetric matrix and a rotation, in four fifths of the operations of `rotate_symmetric`.

    Without i_zz 1, which turns into itself, i is L + L^T with a lower triangle L that has two columns; so the
    result is i_zz 1 + B + B^T with B = r L r^T.
    """
    zz = i[5]
    a, b = 0.5 * (i[0] - zz), 0.5 * (i[3] - zz)
    x0, y0 = a * r[0] + i[1] * r[1] + i[2] * r[2], b * r[1] + i[4] * r[2]
    x1, y1 = a * r[3] + i[1] * r[4] + i[2] * r[5], b * r[4] + i[4] * r[5]
    x2, y2 = a * r[6] + i[1] * r[7] + i[2] * r[8], b * r[7] + i[4] * r[8]
    return (
        2.0 * (x0 * r[0] + y0 * r[1]) + zz,
        x0 * r[3] + y0 * r[4] + x1 * r[0] + y1 * r[1],
        x0 * r[6] + y0 * r[7] + x2 * r[0] + y2 * r[1],
        2.0 * (x1 * r[3] + y1 * r[4]) + zz,
        x1 * r[6] + y1 * r[7] + x2 * r[3] + y2 * r[4],
        2.0 * (x2 * r[6] + y2 * r[7]) + zz,
    )


@kernel(fastmath=FAST, forceinline=True)
def rotate_symmetric(r, i):
    """r i r^T of a symmetric matrix"""
    x0, x1, x2 = symmetric(i, r[0], r[1], r[2])
    y0, y1, y2 = symmetric(i, r[3], r[4], r[5])
    z0, z1, z2 = symmetric(i, r[6], r[7], r[8])
    return (
        r[0] * x0 + r[1] * x1 + r[2] * x2,
        r[0] * y0 + r[1] * y1 + r[2] * y2,
        r[0] * z0 + r[1] * z1 + r[2] * z2,
        r[3] * y0 + r[4] * y1 + r[5] * y2,
        r[3] * z0 + r[4] * z1 + r[5] * z2,
        r[6] * z0 + r[7] * z1 + r[8] * z2,
    )


# ---- inward: what a joint takes, and what is left for the parent ----


@kernel(fastmath=FAST, forceinline=True)
def release_axis(own, joint, tau, diagonal, turns, slides):
    """Write U = I S, u and 1/D of a screw about z, S = (turns z; slides z)."""
    sx, sy, sz = own[at.ROTATION + 2], own[at.ROTATION + 5], own[at.ROTATION + 8]
    h = load9(joint, H_ROW)
    ux, uy, uz = symmetric(load6(joint, A_ROW), sx, sy, sz)
    fx, fy, fz = unturn(h, sx, sy, sz)
    bx, by, bz = load3(joint, BIAS_MOMENT)
    if slides != 0.0:
        px, py, pz = turn(h, sx, sy, sz)
        qx, qy, qz = symmetric(load6(joint, M_ROW), sx, sy, sz)
        dx, dy, dz = load3(joint, BIAS_FORCE)
        felt = sx * (slides * qx + 2.0 * turns * px)
        felt += sy * (slides * qy + 2.0 * turns * py)
        felt += sz * (slides * qz + 2.0 * turns * pz)
        felt = slides * felt + turns * (sx * ux + sy * uy + sz * uz)
        ux, uy, uz = turns * ux + slides * px, turns * uy + slides * py, turns * uz + slides * pz
        fx, fy, fz = turns * fx + slides * qx, turns * fy + slides * qy, turns * fz + slides * qz
        bx, by, bz = turns * bx + slides * dx, turns * by + slides * dy, turns * bz + slides * dz
    else:
        felt = sx * ux + sy * uy + sz * uz
    store3(joint, U_MOMENT, ux, uy, uz)
    store3(joint, U_FORCE, fx, fy, fz)
    joint[U_ROW] = tau - sx * bx - sy * by - sz * bz
    joint[D_ROW] = 1.0 / (felt + diagonal)


@kernel(fastmath=FAST, forceinline=True)
def hand_down(own, joint, base):
    """Add a body's articulated inertia and bias, without what its joint takes, to those of its parent.

    What is left is Ia = I - U U^T / D, and p + U u / D. About the parent's origin, with P = [p]x: M,
    H + P M, A - H P + P (H + P M)^T. Block by block, so that few numbers are in use at a time.
    """
    ux, uy, uz = load3(joint, U_MOMENT)
    fx, fy, fz = load3(joint, U_FORCE)
    inverse = joint[D_ROW]
    drive = joint[U_ROW] * inverse
    px, py, pz = load3(own, at.ORIGIN)
    # M
    ex, ey, ez = fx * inverse, fy * inverse, fz * inverse
    m = load6(joint, M_ROW)
    m = (m[0] - ex * fx, m[1] - ex * fy, m[2] - ex * fz, m[3] - ey * fy, m[4] - ey * fz, m[5] - ez * fz)
    for i in range(6):
        base[M_ROW + i] += m[i]
    # H
    gx, gy, gz = ux * inverse, uy * inverse, uz * inverse
    h = load9(joint, H_ROW)
    h = (
        h[0] - gx * fx, h[1] - gx * fy, h[2] - gx * fz,
        h[3] - gy * fx, h[4] - gy * fy, h[5] - gy * fz,
        h[6] - gz * fx, h[7] - gz * fy, h[8] - gz * fz,
    )  # fmt: skip
    # g = h + P m, column by column
    g0, g3, g6 = add_cross(h[0], h[3], h[6], px, py, pz, m[0], m[1], m[2])
    g1, g4, g7 = add_cross(h[1], h[4], h[7], px, py, pz, m[1], m[3], m[4])
    g2, g5, g8 = add_cross(h[2], h[5], h[8], px, py, pz, m[2], m[4], m[5])
    add3(base, H_ROW, g0, g1, g2)
    add3(base, H_ROW + 3, g3, g4, g5)
    add3(base, H_ROW + 6, g6, g7, g8)
    # A: rows of -h P are p x (rows of h), columns of P g^T are p x (rows of g)
    a = load6(joint, A_ROW)
    a = (a[0] - gx * ux, a[1] - gx * uy, a[2] - gx * uz, a[3] - gy * uy, a[4] - gy * uz, a[5] - gz * uz)
    t0, t1, t2 = add_cross(a[0], a[1], a[2], px, py, pz, h[0], h[1], h[2])
    _, t3, t4 = add_cross(a[1], a[3], a[4], px, py, pz, h[3], h[4], h[5])
    _, _, t5 = add_cross(a[2], a[4], a[5], px, py, pz, h[6], h[7], h[8])
    t0, _, _ = add_cross(t0, t1, t2, px, py, pz, g0, g1, g2)
    t1, t3, _ = add_cross(t1, t3, t4, px, py, pz, g3, g4, g5)
    t2, t4, t5 = add_cross(t2, t4, t5, px, py, pz, g6, g7, g8)
    add3(base, A_ROW, t0, t1, t2)
    add3(base, A_ROW + 3, t3, t4, t5)
    # the bias
    mx, my, mz = load3(joint, BIAS_MOMENT)
    bx, by, bz = load3(joint, BIAS_FORCE)
    mx, my, mz = mx + drive * ux, my + drive * uy, mz + drive * uz
    bx, by, bz = bx + drive * fx, by + drive * fy, bz + drive * fz
    add_wrench(base, px, py, pz, mx, my, mz, bx, by, bz)


@kernel(fastmath=FAST, forceinline=True)
def add_wrench(base, px, py, pz, mx, my, mz, fx, fy, fz):
    """Add a moment and a force at p from the parent's origin to its bias."""
    mx, my, mz = add_cross(mx, my, mz, px, py, pz, fx, fy, fz)
    add3(base, BIAS_MOMENT, mx, my, mz)
    add3(base, BIAS_FORCE, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def release_free(own, joint, tau):
    """A free joint passes its effort down and nothing else: U keeps what drives the body, the bias becomes
    the effort."""
    t = load9(own, at.TURN)
    mx, my, mz = turn(t, tau[0], tau[1], tau[2])
    fx, fy, fz = turn(t, tau[3], tau[4], tau[5])
    bx, by, bz = load3(joint, BIAS_MOMENT)
    store3(joint, U_MOMENT, mx - bx, my - by, mz - bz)
    bx, by, bz = load3(joint, BIAS_FORCE)
    store3(joint, U_FORCE, fx - bx, fy - by, fz - bz)
    store3(joint, BIAS_MOMENT, mx, my, mz)
    store3(joint, BIAS_FORCE, fx, fy, fz)


@kernel(fastmath=FAST)
def release_ball(own, joint, tau, diagonal, rest):
    """`release_turns` of a ball joint, whose efforts and diagonal are in joint axes."""
    t = load9(own, at.TURN)
    e = rotate_symmetric(t, (diagonal[0], 0.0, 0.0, diagonal[1], 0.0, diagonal[2]))
    tx, ty, tz = turn(t, tau[0], tau[1], tau[2])
    release_turns(joint, e, tx, ty, tz, rest)


@kernel(fastmath=FAST)
def release_turns(joint, e, tx, ty, tz, rest):
    """Eliminate the three turns of a ball joint: write what is left for the joint to its rows, and what is
    left of inertia and bias to those of `rest`, as of a joint that takes nothing.

    e: inertia that acts on the turns alone; (tx, ty, tz): the joint's effort; axes of the inertias. With W =
    (A + e)^-1 and u = t - m, m the moment of the bias: A' = e - e W e, H' = e W H, M' = M - H^T W H, and the
    bias (t - e W u; f + H^T W u). Without e the joint hands down its effort and a force.
    """
    a, h, m = load6(joint, A_ROW), load9(joint, H_ROW), load6(joint, M_ROW)
    w = inverse_symmetric3((a[0] + e[0], a[1] + e[1], a[2] + e[2], a[3] + e[3], a[4] + e[4], a[5] + e[5]))
    bx, by, bz = load3(joint, BIAS_MOMENT)
    ux, uy, uz = tx - bx, ty - by, tz - bz
    store3(joint, U_MOMENT, ux, uy, uz)
    store6(joint, W_ROW, w)
    x, y, z = symmetric(w, ux, uy, uz)
    ex, ey, ez = symmetric(e, x, y, z)
    store3(rest, BIAS_MOMENT, tx - ex, ty - ey, tz - ez)
    fx, fy, fz = unturn(h, x, y, z)
    bx, by, bz = load3(joint, BIAS_FORCE)
    store3(rest, BIAS_FORCE, bx + fx, by + fy, bz + fz)
    # columns of W H
    p0, p3, p6 = symmetric(w, h[0], h[3], h[6])
    p1, p4, p7 = symmetric(w, h[1], h[4], h[7])
    p2, p5, p8 = symmetric(w, h[2], h[5], h[8])
    rest[M_ROW] = m[0] - h[0] * p0 - h[3] * p3 - h[6] * p6
    rest[M_ROW + 1] = m[1] - h[0] * p1 - h[3] * p4 - h[6] * p7
    rest[M_ROW + 2] = m[2] - h[0] * p2 - h[3] * p5 - h[6] * p8
    rest[M_ROW + 3] = m[3] - h[1] * p1 - h[4] * p4 - h[7] * p7
    rest[M_ROW + 4] = m[4] - h[1] * p2 - h[4] * p5 - h[7] * p8
    rest[M_ROW + 5] = m[5] - h[2] * p2 - h[5] * p5 - h[8] * p8
    p0, p3, p6 = symmetric(e, p0, p3, p6)
    p1, p4, p7 = symmetric(e, p1, p4, p7)
    p2, p5, p8 = symmetric(e, p2, p5, p8)
    store3(rest, H_ROW, p0, p1, p2)
    store3(rest, H_ROW + 3, p3, p4, p5)
    store3(rest, H_ROW + 6, p6, p7, p8)
    # e W e
    p0, p3, p6 = symmetric(w, e[0], e[1], e[2])
    p1, p4, p7 = symmetric(w, e[1], e[3], e[4])
    p2, p5, p8 = symmetric(w, e[2], e[4], e[5])
    rest[A_ROW] = e[0] - e[0] * p0 - e[1] * p3 - e[2] * p6
    rest[A_ROW + 1] = e[1] - e[0] * p1 - e[1] * p4 - e[2] * p7
    rest[A_ROW + 2] = e[2] - e[0] * p2 - e[1] * p5 - e[2] * p8
    rest[A_ROW + 3] = e[3] - e[1] * p1 - e[3] * p4 - e[4] * p7
    rest[A_ROW + 4] = e[4] - e[1] * p2 - e[3] * p5 - e[4] * p8
    rest[A_ROW + 5] = e[5] - e[2] * p2 - e[4] * p5 - e[5] * p8
    for i in range(U_MOMENT, D_ROW + 1):
        rest[i] = 0.0


@kernel(fastmath=FAST)
def turn_freely(joint, ax, ay, az, lx, ly, lz):
    """Angular acceleration of a ball joint whose body would accelerate by (angular; linear) without it:
    W (u - A a - H l)."""
    px, py, pz = symmetric(load6(joint, A_ROW), ax, ay, az)
    hx, hy, hz = turn(load9(joint, H_ROW), lx, ly, lz)
    ux, uy, uz = load3(joint, U_MOMENT)
    return symmetric(load6(joint, W_ROW), ux - px - hx, uy - py - hy, uz - pz - hz)


@kernel(fastmath=FAST, forceinline=True)
def hand_down_force(own, joint, base):
    """Add the bias of a body on a free joint to that of its parent."""
    px, py, pz = load3(own, at.ORIGIN)
    mx, my, mz = load3(joint, BIAS_MOMENT)
    fx, fy, fz = load3(joint, BIAS_FORCE)
    add_wrench(base, px, py, pz, mx, my, mz, fx, fy, fz)


# ---- outward: accelerations ----


@kernel(fastmath=FAST, forceinline=True)
def carried_acceleration(below, own):
    """What joints below add to the accelerations of a body: angular, and of its origin."""
    px, py, pz = load3(own, at.ORIGIN)
    ax, ay, az = load3(below, ADDED_ALPHA)
    lx, ly, lz = load3(below, ADDED_ACCELERATION)
    lx, ly, lz = add_cross(lx, ly, lz, ax, ay, az, px, py, pz)
    return ax, ay, az, lx, ly, lz


@kernel(fastmath=FAST, forceinline=True)
def accelerate_axis(below, own, joint, a, turns, slides):
    """ADDED rows of a body on a screw, and the joint's acceleration."""
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    ux, uy, uz = load3(joint, U_MOMENT)
    fx, fy, fz = load3(joint, U_FORCE)
    left = joint[U_ROW] - ux * ax - uy * ay - uz * az - fx * lx - fy * ly - fz * lz
    along = left * joint[D_ROW]
    a[0] = along
    sx, sy, sz = own[at.ROTATION + 2] * along, own[at.ROTATION + 5] * along, own[at.ROTATION + 8] * along
    ax, ay, az = ax + turns * sx, ay + turns * sy, az + turns * sz
    lx, ly, lz = lx + slides * sx, ly + slides * sy, lz + slides * sz
    store3(own, ADDED_ALPHA, ax, ay, az)
    store3(own, ADDED_ACCELERATION, lx, ly, lz)


@kernel(fastmath=FAST, forceinline=True)
def accelerate_free(below, own, joint, a):
    """The same of a free joint: the body's articulated inertia times what is added is what drives it."""
    sx, sy, sz, tx, ty, tz = solve_free(joint)
    store3(own, ADDED_ALPHA, sx, sy, sz)
    store3(own, ADDED_ACCELERATION, tx, ty, tz)
    t = load9(own, at.TURN)
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    ax, ay, az = unturn(t, sx - ax, sy - ay, sz - az)
    lx, ly, lz = unturn(t, tx - lx, ty - ly, tz - lz)
    a[0], a[1], a[2] = ax, ay, az
    a[3], a[4], a[5] = lx, ly, lz


@kernel(fastmath=FAST)
def accelerate_ball(below, own, joint, a):
    """The same of a ball joint."""
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    rx, ry, rz = turn_freely(joint, ax, ay, az, lx, ly, lz)
    store3(own, ADDED_ALPHA, ax + rx, ay + ry, az + rz)
    store3(own, ADDED_ACCELERATION, lx, ly, lz)
    a[0], a[1], a[2] = unturn(load9(own, at.TURN), rx, ry, rz)


@kernel(fastmath=FAST, forceinline=True)
def inverse_symmetric3(i):
    """i^-1 of a symmetric positive definite 3x3 matrix by L D L^T."""
    d0 = 1.0 / i[0]
    l1, l2 = i[1] * d0, i[2] * d0
    d1 = 1.0 / (i[3] - l1 * i[1])
    e = i[4] - l1 * i[2]
    l3 = e * d1
    d2 = 1.0 / (i[5] - l2 * i[2] - l3 * e)
    k = l1 * l3 - l2
    return (
        d0 + l1 * l1 * d1 + k * k * d2,
        -l1 * d1 - k * l3 * d2,
        k * d2,
        d1 + l3 * l3 * d2,
        -l3 * d2,
        d2,
    )


@kernel(fastmath=FAST, forceinline=True)
def solve_symmetric3(i, x, y, z):
    """i^-1 (x, y, z) of a symmetric positive definite 3x3 matrix by L D L^T."""
    d0 = 1.0 / i[0]
    l1, l2 = i[1] * d0, i[2] * d0
    d1 = 1.0 / (i[3] - l1 * i[1])
    e = i[4] - l1 * i[2]
    l3 = e * d1
    d2 = 1.0 / (i[5] - l2 * i[2] - l3 * e)
    y = y - l1 * x
    z = (z - l2 * x - l3 * y) * d2
    y = y * d1 - l3 * z
    x = x * d0 - l1 * y - l2 * z
    return x, y, z


@kernel(fastmath=FAST, forceinline=True)
def solve_free(joint):
    """Angular and linear acceleration of [A H; H^T M] (angular; linear) = (U_MOMENT; U_FORCE), by eliminating
    the linear part."""
    a, h, m = load6(joint, A_ROW), load9(joint, H_ROW), load6(joint, M_ROW)
    bx, by, bz = load3(joint, U_MOMENT)
    fx, fy, fz = load3(joint, U_FORCE)
    # rows of h M^-1
    p0, p1, p2 = solve_symmetric3(m, h[0], h[1], h[2])
    r0, r1, r2 = solve_symmetric3(m, h[3], h[4], h[5])
    s0, s1, s2 = solve_symmetric3(m, h[6], h[7], h[8])
    schur = (
        a[0] - (p0 * h[0] + p1 * h[1] + p2 * h[2]),
        a[1] - (p0 * h[3] + p1 * h[4] + p2 * h[5]),
        a[2] - (p0 * h[6] + p1 * h[7] + p2 * h[8]),
        a[3] - (r0 * h[3] + r1 * h[4] + r2 * h[5]),
        a[4] - (r0 * h[6] + r1 * h[7] + r2 * h[8]),
        a[5] - (s0 * h[6] + s1 * h[7] + s2 * h[8]),
    )
    bx = bx - (p0 * fx + p1 * fy + p2 * fz)
    by = by - (r0 * fx + r1 * fy + r2 * fz)
    bz = bz - (s0 * fx + s1 * fy + s2 * fz)
    ax, ay, az = solve_symmetric3(schur, bx, by, bz)
    hx, hy, hz = unturn(h, ax, ay, az)
    lx, ly, lz = solve_symmetric3(m, fx - hx, fy - hy, fz - hz)
    return ax, ay, az, lx, ly, lz
