"""Recursive Newton-Euler algorithm: efforts from motion (Luh, Walker & Paul 1980).

Angular velocity, angular acceleration and the acceleration of the body origin run outward in body axes,
forces and moments inward. The world accelerates with -g, so weight needs no term of its own.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    add_cross,
    add_turned,
    cross,
    load3,
    load6,
    load9,
    store3,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .joints import FAST, place_body
from .resistance import add_joint_resistance
from .views import ACCELERATION, ALPHA, BODY_ROWS, FORCE, MOMENT, OMEGA, ORIGIN, ROTATION, TURN


@kernel(fastmath=FAST)
def rnea(model, data, q, v, a, tau):
    """`newton_euler` as a function of its own: shorter to compile, 0.4 us longer to call (the models are
    passed by value)."""
    newton_euler(model, data, q, v, a, tau)


@kernel(fastmath=FAST, forceinline=True)
def newton_euler(model, data, q, v, a, tau):
    """tau = M a + h. Reads the world's motion and data.diagonal (`prepare`), writes data.bodies."""
    outward(model, data, q, v, a)
    inward(model, data, a, tau)
    add_joint_resistance(model, q, v, 1.0, tau)


@kernel(fastmath=FAST, forceinline=True)
def outward(model, data, q, v, a):
    """Motion of every body, and the force and moment that this motion asks for."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        p = model.parent[b]
        below = window(data.bodies, p * BODY_ROWS, BODY_ROWS)
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        first = model.v_index[b]
        kind = model.joint_type[b]
        if kind == FREE:
            vb, ab = window(v, first, 6), window(a, first, 6)
            move_free(below, own, vb, ab)
        elif kind == BALL:
            vb, ab = window(v, first, 3), window(a, first, 3)
            move_ball(below, own, vb, ab)
        else:
            vb, ab = window(v, first, 1), window(a, first, 1)
            ratio = model.ratio[b]
            move_screw(below, own, vb, ab, ratio * model.turn[b], ratio * model.slide[b])
        weigh(window(model.inertia, 10 * b, 10), own)


@kernel(fastmath=FAST, forceinline=True)
def carried(below, own):
    """Motion of a body whose joint stands still: angular velocity, angular acceleration, acceleration of its
    origin, body axes."""
    m = load9(own, ROTATION)
    px, py, pz = load3(own, ORIGIN)
    wx, wy, wz = load3(below, OMEGA)
    ax, ay, az = load3(below, ALPHA)
    lx, ly, lz = load3(below, ACCELERATION)
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    lx, ly, lz = add_cross(lx, ly, lz, wx, wy, wz, ux, uy, uz)
    lx, ly, lz = add_cross(lx, ly, lz, ax, ay, az, px, py, pz)
    lx, ly, lz = unturn(m, lx, ly, lz)
    wx, wy, wz = unturn(m, wx, wy, wz)
    ax, ay, az = unturn(m, ax, ay, az)
    return wx, wy, wz, ax, ay, az, lx, ly, lz


@kernel(fastmath=FAST, forceinline=True)
def move_screw(below, own, v, a, spin, slide):
    """Motion of a body that turns about its z axis with spin v and slides along it with slide v."""
    wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own)
    rate, twice = spin * v[0], 2.0 * slide * v[0]
    store3(own, OMEGA, wx, wy, wz + rate)
    store3(own, ALPHA, ax + wy * rate, ay - wx * rate, az + spin * a[0])
    store3(own, ACCELERATION, lx + wy * twice, ly - wx * twice, lz + slide * a[0])


@kernel(fastmath=FAST, forceinline=True)
def move_free(below, own, v, a):
    """Motion of a body on a free joint: v = (angular velocity; velocity of its origin), both in joint
    axes."""
    t = load9(own, TURN)
    wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own)
    rx, ry, rz = unturn(t, v[0], v[1], v[2])
    dx, dy, dz = unturn(t, a[0], a[1], a[2])
    sx, sy, sz = unturn(t, v[3], v[4], v[5])
    ex, ey, ez = unturn(t, a[3], a[4], a[5])
    ux, uy, uz = cross(wx, wy, wz, rx, ry, rz)
    tx, ty, tz = cross(wx, wy, wz, sx, sy, sz)
    store3(own, OMEGA, wx + rx, wy + ry, wz + rz)
    store3(own, ALPHA, ax + ux + dx, ay + uy + dy, az + uz + dz)
    store3(own, ACCELERATION, lx + 2.0 * tx + ex, ly + 2.0 * ty + ey, lz + 2.0 * tz + ez)


@kernel(fastmath=FAST, forceinline=True)
def move_ball(below, own, v, a):
    """Motion of a body on a ball joint: v is its angular velocity in joint axes."""
    t = load9(own, TURN)
    wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own)
    rx, ry, rz = unturn(t, v[0], v[1], v[2])
    dx, dy, dz = unturn(t, a[0], a[1], a[2])
    ux, uy, uz = cross(wx, wy, wz, rx, ry, rz)
    store3(own, OMEGA, wx + rx, wy + ry, wz + rz)
    store3(own, ALPHA, ax + ux + dx, ay + uy + dy, az + uz + dz)
    store3(own, ACCELERATION, lx, ly, lz)


@kernel(fastmath=FAST, forceinline=True)
def weigh(inertia, own):
    """FORCE and MOMENT (about the body origin) that the body's motion takes."""
    mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
    i = load6(inertia, 4)
    wx, wy, wz = load3(own, OMEGA)
    ax, ay, az = load3(own, ALPHA)
    lx, ly, lz = load3(own, ACCELERATION)
    ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
    fx, fy, fz = add_cross(mass * lx, mass * ly, mass * lz, wx, wy, wz, ux, uy, uz)
    fx, fy, fz = add_cross(fx, fy, fz, ax, ay, az, cx, cy, cz)
    store3(own, FORCE, fx, fy, fz)
    hx, hy, hz = symmetric(i, wx, wy, wz)
    mx, my, mz = symmetric(i, ax, ay, az)
    mx, my, mz = add_cross(mx, my, mz, wx, wy, wz, hx, hy, hz)
    mx, my, mz = add_cross(mx, my, mz, cx, cy, cz, lx, ly, lz)
    store3(own, MOMENT, mx, my, mz)


@kernel(fastmath=FAST, forceinline=True)
def inward(model, data, a, tau):
    """Collect forces from the tips to the root and project them on the joints."""
    for i in range(model.nv):
        tau[i] = data.diagonal[i] * a[i]
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        below = window(data.bodies, p * BODY_ROWS, BODY_ROWS)
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        first = model.v_index[b]
        kind = model.joint_type[b]
        if kind == FREE:
            project_free(own, window(tau, first, 6))
        elif kind == BALL:
            project_ball(own, window(tau, first, 3))
        else:
            effort, ratio = window(tau, first, 1), model.ratio[b]
            effort[0] += ratio * (model.turn[b] * own[MOMENT + 2] + model.slide[b] * own[FORCE + 2])
        if p > 0:
            hand_down(below, own)


@kernel(fastmath=FAST, forceinline=True)
def project_free(own, tau):
    """Efforts of a free joint: moment about the body origin and force, joint axes."""
    t = load9(own, TURN)
    fx, fy, fz = load3(own, FORCE)
    mx, my, mz = load3(own, MOMENT)
    fx, fy, fz = turn(t, fx, fy, fz)
    mx, my, mz = turn(t, mx, my, mz)
    add3(tau, 0, mx, my, mz)
    add3(tau, 3, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def project_ball(own, tau):
    """Efforts of a ball joint: moment about the body origin, joint axes."""
    mx, my, mz = load3(own, MOMENT)
    mx, my, mz = turn(load9(own, TURN), mx, my, mz)
    add3(tau, 0, mx, my, mz)


@kernel(fastmath=FAST, forceinline=True)
def hand_down(below, own):
    """Add a body's force and moment to those of its parent."""
    m = load9(own, ROTATION)
    px, py, pz = load3(own, ORIGIN)
    fx, fy, fz = load3(own, FORCE)
    mx, my, mz = load3(own, MOMENT)
    fx, fy, fz = turn(m, fx, fy, fz)
    add3(below, FORCE, fx, fy, fz)
    ax, ay, az = load3(below, MOMENT)
    ax, ay, az = add_turned(ax, ay, az, m, mx, my, mz)
    ax, ay, az = add_cross(ax, ay, az, px, py, pz, fx, fy, fz)
    store3(below, MOMENT, ax, ay, az)
