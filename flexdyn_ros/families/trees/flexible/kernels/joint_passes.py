"""What the articulated-body algorithm of a tree that bends does at a node's joint, in the node's own axes.

Links keep the couplings of their modes in these axes, so nothing of them is turned. Motions and inertias are
written as in rigid/kernels/aba.py, which works in world axes.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.aba import (
    A_ROW,
    BIAS_FORCE,
    BIAS_MOMENT,
    D_ROW,
    H_ROW,
    M_ROW,
    U_FORCE,
    U_MOMENT,
    U_ROW,
    release_turns,
    rotate_symmetric,
    solve_free,
    turn_freely,
)
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    add_cross,
    add_turned,
    add_unturned,
    cross,
    load3,
    load6,
    load9,
    store3,
    store6,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel


@kernel(fastmath=FAST, forceinline=True)
def carried_velocity(below, own):
    """Motion of a body whose joint stands still: angular velocity, and the velocity part of the acceleration
    of its origin, body axes."""
    m = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    wx, wy, wz = load3(below, at.OMEGA)
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    tx, ty, tz = cross(wx, wy, wz, ux, uy, uz)
    tx, ty, tz = unturn(m, tx, ty, tz)
    wx, wy, wz = unturn(m, wx, wy, wz)
    return wx, wy, wz, tx, ty, tz


@kernel(fastmath=FAST, forceinline=True)
def velocity_axis(below, own, v, spin, slide):
    """OMEGA and the velocity part of the accelerations of a body that turns about its z axis with spin v and
    slides along it with slide v."""
    wx, wy, wz, tx, ty, tz = carried_velocity(below, own)
    rate, twice = spin * v[0], 2.0 * slide * v[0]
    store3(own, at.OMEGA, wx, wy, wz + rate)
    store3(own, at.BIAS_ALPHA, wy * rate, -wx * rate, 0.0 * rate)
    store3(own, at.BIAS_ACCELERATION, tx + wy * twice, ty - wx * twice, tz)


@kernel(fastmath=FAST, forceinline=True)
def velocity_free(below, own, v):
    """OMEGA and the velocity part of the accelerations of a body on a free joint."""
    t = load9(own, at.TURN)
    wx, wy, wz, tx, ty, tz = carried_velocity(below, own)
    rx, ry, rz = unturn(t, v[0], v[1], v[2])
    sx, sy, sz = unturn(t, v[3], v[4], v[5])
    ux, uy, uz = cross(wx, wy, wz, rx, ry, rz)
    sx, sy, sz = cross(wx, wy, wz, sx, sy, sz)
    store3(own, at.OMEGA, wx + rx, wy + ry, wz + rz)
    store3(own, at.BIAS_ALPHA, ux, uy, uz)
    store3(own, at.BIAS_ACCELERATION, tx + 2.0 * sx, ty + 2.0 * sy, tz + 2.0 * sz)


@kernel(fastmath=FAST)
def velocity_ball(below, own, v):
    """OMEGA and the velocity part of the accelerations of a body on a ball joint."""
    wx, wy, wz, tx, ty, tz = carried_velocity(below, own)
    rx, ry, rz = unturn(load9(own, at.TURN), v[0], v[1], v[2])
    ux, uy, uz = cross(wx, wy, wz, rx, ry, rz)
    store3(own, at.OMEGA, wx + rx, wy + ry, wz + rz)
    store3(own, at.BIAS_ALPHA, ux, uy, uz)
    store3(own, at.BIAS_ACCELERATION, tx, ty, tz)


@kernel(fastmath=FAST, forceinline=True)
def start_inertia(inertia, own, joint):
    """The body's own inertia and bias as the first articulated ones."""
    mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
    i = load6(inertia, 4)
    store6(joint, A_ROW, i)
    store3(joint, H_ROW, 0.0, -cz, cy)
    store3(joint, H_ROW + 3, cz, 0.0, -cx)
    store3(joint, H_ROW + 6, -cy, cx, 0.0)
    store6(joint, M_ROW, (mass, 0.0, 0.0, mass, 0.0, mass))
    wx, wy, wz = load3(own, at.OMEGA)
    hx, hy, hz = symmetric(i, wx, wy, wz)
    hx, hy, hz = cross(wx, wy, wz, hx, hy, hz)
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    ux, uy, uz = cross(wx, wy, wz, ux, uy, uz)
    store3(joint, BIAS_MOMENT, hx, hy, hz)
    store3(joint, BIAS_FORCE, ux, uy, uz)


@kernel(fastmath=FAST, forceinline=True)
def release_axis(joint, tau, diagonal, turns, slides):
    """Write U = I S, u and 1/D of a screw about z, S = (turns z; slides z)."""
    a, h, m = load6(joint, A_ROW), load9(joint, H_ROW), load6(joint, M_ROW)
    ux, uy, uz = turns * a[2] + slides * h[2], turns * a[4] + slides * h[5], turns * a[5] + slides * h[8]
    fx, fy, fz = turns * h[6] + slides * m[2], turns * h[7] + slides * m[4], turns * h[8] + slides * m[5]
    store3(joint, U_MOMENT, ux, uy, uz)
    store3(joint, U_FORCE, fx, fy, fz)
    joint[U_ROW] = tau[0] - turns * joint[BIAS_MOMENT + 2] - slides * joint[BIAS_FORCE + 2]
    joint[D_ROW] = 1.0 / (turns * uz + slides * fz + diagonal[0])


@kernel(fastmath=FAST, forceinline=True)
def hand_down(own, joint, base):
    """Add a body's articulated inertia and bias, without what its joint takes, to those of its parent.

    What is left is Ia = I - U U^T / D, and p + Ia c + U u / D. In parent axes, with P = [p]x: M, H + P M,
    A - H P + P (H + P M)^T. Block by block, so that few numbers are in use at a time.
    """
    ux, uy, uz = load3(joint, U_MOMENT)
    fx, fy, fz = load3(joint, U_FORCE)
    inverse = joint[D_ROW]
    drive = joint[U_ROW] * inverse
    cx, cy, cz = load3(own, at.BIAS_ALPHA)
    dx, dy, dz = load3(own, at.BIAS_ACCELERATION)
    r = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    # M
    ex, ey, ez = fx * inverse, fy * inverse, fz * inverse
    m = load6(joint, M_ROW)
    m = (m[0] - ex * fx, m[1] - ex * fy, m[2] - ex * fz, m[3] - ey * fy, m[4] - ey * fz, m[5] - ez * fz)
    bx, by, bz = load3(joint, BIAS_FORCE)
    bx = bx + drive * fx + m[0] * dx + m[1] * dy + m[2] * dz
    by = by + drive * fy + m[1] * dx + m[3] * dy + m[4] * dz
    bz = bz + drive * fz + m[2] * dx + m[4] * dy + m[5] * dz
    m = rotate_symmetric(r, m)
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
    ox, oy, oz = load3(joint, BIAS_MOMENT)
    ox = ox + drive * ux + h[0] * dx + h[1] * dy + h[2] * dz
    oy = oy + drive * uy + h[3] * dx + h[4] * dy + h[5] * dz
    oz = oz + drive * uz + h[6] * dx + h[7] * dy + h[8] * dz
    bx = bx + h[0] * cx + h[3] * cy + h[6] * cz
    by = by + h[1] * cx + h[4] * cy + h[7] * cz
    bz = bz + h[2] * cx + h[5] * cy + h[8] * cz
    h = rotate_full(r, h)
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
    ox = ox + a[0] * cx + a[1] * cy + a[2] * cz
    oy = oy + a[1] * cx + a[3] * cy + a[4] * cz
    oz = oz + a[2] * cx + a[4] * cy + a[5] * cz
    a = add_rotated(load6(base, A_ROW), r, a)
    t0, t1, t2 = add_cross(a[0], a[1], a[2], px, py, pz, h[0], h[1], h[2])
    _, t3, t4 = add_cross(a[1], a[3], a[4], px, py, pz, h[3], h[4], h[5])
    _, _, t5 = add_cross(a[2], a[4], a[5], px, py, pz, h[6], h[7], h[8])
    t0, _, _ = add_cross(t0, t1, t2, px, py, pz, g0, g1, g2)
    t1, t3, _ = add_cross(t1, t3, t4, px, py, pz, g3, g4, g5)
    t2, t4, t5 = add_cross(t2, t4, t5, px, py, pz, g6, g7, g8)
    store6(base, A_ROW, (t0, t1, t2, t3, t4, t5))
    # the bias
    bx, by, bz = turn(r, bx, by, bz)
    add3(base, BIAS_FORCE, bx, by, bz)
    mx, my, mz = load3(base, BIAS_MOMENT)
    mx, my, mz = add_turned(mx, my, mz, r, ox, oy, oz)
    mx, my, mz = add_cross(mx, my, mz, px, py, pz, bx, by, bz)
    store3(base, BIAS_MOMENT, mx, my, mz)


@kernel(fastmath=FAST, forceinline=True)
def add_rotated(s, r, i):
    """s + r i r^T of symmetric matrices"""
    x0, x1, x2 = symmetric(i, r[0], r[1], r[2])
    y0, y1, y2 = symmetric(i, r[3], r[4], r[5])
    z0, z1, z2 = symmetric(i, r[6], r[7], r[8])
    return (
        s[0] + r[0] * x0 + r[1] * x1 + r[2] * x2,
        s[1] + r[0] * y0 + r[1] * y1 + r[2] * y2,
        s[2] + r[0] * z0 + r[1] * z1 + r[2] * z2,
        s[3] + r[3] * y0 + r[4] * y1 + r[5] * y2,
        s[4] + r[3] * z0 + r[4] * z1 + r[5] * z2,
        s[5] + r[6] * z0 + r[7] * z1 + r[8] * z2,
    )


@kernel(fastmath=FAST, forceinline=True)
def rotate_full(r, h):
    """r h r^T"""
    x0, x1, x2 = turn(h, r[0], r[1], r[2])
    y0, y1, y2 = turn(h, r[3], r[4], r[5])
    z0, z1, z2 = turn(h, r[6], r[7], r[8])
    a0, b0, c0 = turn(r, x0, x1, x2)
    a1, b1, c1 = turn(r, y0, y1, y2)
    a2, b2, c2 = turn(r, z0, z1, z2)
    return (a0, a1, a2, b0, b1, b2, c0, c1, c2)


@kernel(fastmath=FAST, forceinline=True)
def add_wrench(r, px, py, pz, joint, base):
    """Add the bias of a body, carried over to its parent's origin and axes."""
    mx, my, mz = load3(joint, BIAS_MOMENT)
    fx, fy, fz = load3(joint, BIAS_FORCE)
    mx, my, mz = turn(r, mx, my, mz)
    fx, fy, fz = turn(r, fx, fy, fz)
    ux, uy, uz = cross(px, py, pz, fx, fy, fz)
    add3(base, BIAS_MOMENT, mx + ux, my + uy, mz + uz)
    add3(base, BIAS_FORCE, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def release_free(own, joint, tau):
    """A free joint passes its effort down and nothing else: U keeps what drives the body, the bias becomes
    the effort."""
    t = load9(own, at.TURN)
    mx, my, mz = unturn(t, tau[0], tau[1], tau[2])
    fx, fy, fz = unturn(t, tau[3], tau[4], tau[5])
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
    back = (t[0], t[3], t[6], t[1], t[4], t[7], t[2], t[5], t[8])
    e = rotate_symmetric(back, (diagonal[0], 0.0, 0.0, diagonal[1], 0.0, diagonal[2]))
    tx, ty, tz = unturn(t, tau[0], tau[1], tau[2])
    release_turns(joint, e, tx, ty, tz, rest)


@kernel(fastmath=FAST, forceinline=True)
def hand_down_force(own, joint, base):
    """Add the bias of a body on a free joint to that of its parent."""
    r = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    add_wrench(r, px, py, pz, joint, base)


@kernel(fastmath=FAST, forceinline=True)
def carried_acceleration(below, own):
    """Accelerations of a body whose joint does not accelerate: angular, and of its origin, body axes."""
    m = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    ax, ay, az = load3(below, at.ALPHA)
    lx, ly, lz = load3(below, at.ACCELERATION)
    lx, ly, lz = add_cross(lx, ly, lz, ax, ay, az, px, py, pz)
    cx, cy, cz = load3(own, at.BIAS_ALPHA)
    dx, dy, dz = load3(own, at.BIAS_ACCELERATION)
    lx, ly, lz = add_unturned(dx, dy, dz, m, lx, ly, lz)
    ax, ay, az = add_unturned(cx, cy, cz, m, ax, ay, az)
    return ax, ay, az, lx, ly, lz


@kernel(fastmath=FAST, forceinline=True)
def accelerate_axis(below, own, joint, a, turns, slides):
    """ALPHA, ACCELERATION of a body on a screw, and the joint's acceleration."""
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    sx, sy, sz = load3(joint, U_MOMENT)
    tx, ty, tz = load3(joint, U_FORCE)
    left = joint[U_ROW] - sx * ax - sy * ay - sz * az - tx * lx - ty * ly - tz * lz
    along = left * joint[D_ROW]
    a[0] = along
    store3(own, at.ALPHA, ax, ay, az + turns * along)
    store3(own, at.ACCELERATION, lx, ly, lz + slides * along)


@kernel(fastmath=FAST, forceinline=True)
def accelerate_free(below, own, joint, a):
    """Accelerations of a body on a free joint: its articulated inertia times them is what drives it."""
    sx, sy, sz, tx, ty, tz = solve_free(joint)
    store3(own, at.ALPHA, sx, sy, sz)
    store3(own, at.ACCELERATION, tx, ty, tz)
    t = load9(own, at.TURN)
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    ax, ay, az = turn(t, sx - ax, sy - ay, sz - az)
    lx, ly, lz = turn(t, tx - lx, ty - ly, tz - lz)
    a[0], a[1], a[2] = ax, ay, az
    a[3], a[4], a[5] = lx, ly, lz


@kernel(fastmath=FAST)
def accelerate_ball(below, own, joint, a):
    """Accelerations of a body on a ball joint, and the joint's acceleration."""
    ax, ay, az, lx, ly, lz = carried_acceleration(below, own)
    rx, ry, rz = turn_freely(joint, ax, ay, az, lx, ly, lz)
    store3(own, at.ALPHA, ax + rx, ay + ry, az + rz)
    store3(own, at.ACCELERATION, lx, ly, lz)
    a[0], a[1], a[2] = turn(load9(own, at.TURN), rx, ry, rz)
