"""Recursive Newton-Euler algorithm: efforts from motion (Luh, Walker & Paul 1980).

Angular velocity, angular acceleration and the acceleration of the body origin run outward in body axes,
forces and moments inward. The world accelerates with -g, so weight needs no term of its own.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import FREE, REVOLUTE
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, store3, symmetric, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel

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
    """tau = M a + h, minus the forces in data.external; lane blocks q, v, a, tau.

    Reads the world's motion, data.external and data.diagonal (`prepare`), writes data.bodies.
    """
    outward(model, data, q, v, a)
    inward(model, data, a, tau)
    add_joint_resistance(model, data, q, v, 1.0, tau)


@kernel(fastmath=FAST, forceinline=True)
def outward(model, data, q, v, a):
    """Motion of every body, and the force and moment that this motion asks for."""
    n = len(data.lanes)
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        p = model.parent[b]
        below = data.bodies[p * BODY_ROWS * n : (p + 1) * BODY_ROWS * n]
        own = data.bodies[b * BODY_ROWS * n : (b + 1) * BODY_ROWS * n]
        external = data.external[b * 6 * n : (b + 1) * 6 * n]
        first = model.v_index[b] * n
        kind = model.joint_type[b]
        if kind == FREE:
            vb, ab = v[first : first + 6 * n], a[first : first + 6 * n]
            move_free(below, own, vb, ab, data.lanes)
        else:
            vb, ab = v[first : first + n], a[first : first + n]
            if kind == REVOLUTE:
                move_revolute(below, own, vb, ab, model.ratio[b], data.lanes)
            else:
                move_prismatic(below, own, vb, ab, model.ratio[b], data.lanes)
        weigh(model.inertia[10 * b : 10 * b + 10], own, external, data.lanes)


@kernel(fastmath=FAST, forceinline=True)
def carried(below, own, n, k):
    """Motion of a body whose joint stands still: angular velocity, angular acceleration, acceleration of its
    origin, body axes."""
    m = load9(own, ROTATION, n, k)
    px, py, pz = load3(own, ORIGIN, n, k)
    wx, wy, wz = load3(below, OMEGA, n, k)
    ax, ay, az = load3(below, ALPHA, n, k)
    lx, ly, lz = load3(below, ACCELERATION, n, k)
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    tx, ty, tz = cross(wx, wy, wz, ux, uy, uz)
    ux, uy, uz = cross(ax, ay, az, px, py, pz)
    lx, ly, lz = unturn(m, lx + ux + tx, ly + uy + ty, lz + uz + tz)
    wx, wy, wz = unturn(m, wx, wy, wz)
    ax, ay, az = unturn(m, ax, ay, az)
    return wx, wy, wz, ax, ay, az, lx, ly, lz


@kernel(fastmath=FAST, forceinline=True)
def move_revolute(below, own, v, a, ratio, lanes):
    """Motion of a body that turns about its z axis."""
    n = len(lanes)
    for k in range(n):
        wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own, n, k)
        rate = ratio * v[k]
        store3(own, OMEGA, n, k, wx, wy, wz + rate)
        store3(own, ALPHA, n, k, ax + wy * rate, ay - wx * rate, az + ratio * a[k])
        store3(own, ACCELERATION, n, k, lx, ly, lz)


@kernel(fastmath=FAST, forceinline=True)
def move_prismatic(below, own, v, a, ratio, lanes):
    """Motion of a body that slides along its z axis."""
    n = len(lanes)
    for k in range(n):
        wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own, n, k)
        twice = 2.0 * ratio * v[k]
        store3(own, OMEGA, n, k, wx, wy, wz)
        store3(own, ALPHA, n, k, ax, ay, az)
        store3(own, ACCELERATION, n, k, lx + wy * twice, ly - wx * twice, lz + ratio * a[k])


@kernel(fastmath=FAST, forceinline=True)
def move_free(below, own, v, a, lanes):
    """Motion of a body on a free joint: v = (angular velocity; velocity of its origin), both in joint
    axes."""
    n = len(lanes)
    for k in range(n):
        t = load9(own, TURN, n, k)
        wx, wy, wz, ax, ay, az, lx, ly, lz = carried(below, own, n, k)
        rx, ry, rz = unturn(t, v[k], v[n + k], v[2 * n + k])
        dx, dy, dz = unturn(t, a[k], a[n + k], a[2 * n + k])
        sx, sy, sz = unturn(t, v[3 * n + k], v[4 * n + k], v[5 * n + k])
        ex, ey, ez = unturn(t, a[3 * n + k], a[4 * n + k], a[5 * n + k])
        ux, uy, uz = cross(wx, wy, wz, rx, ry, rz)
        tx, ty, tz = cross(wx, wy, wz, sx, sy, sz)
        store3(own, OMEGA, n, k, wx + rx, wy + ry, wz + rz)
        store3(own, ALPHA, n, k, ax + ux + dx, ay + uy + dy, az + uz + dz)
        store3(own, ACCELERATION, n, k, lx + 2.0 * tx + ex, ly + 2.0 * ty + ey, lz + 2.0 * tz + ez)


@kernel(fastmath=FAST, forceinline=True)
def weigh(inertia, own, external, lanes):
    """FORCE and MOMENT (about the body origin) that the body's motion asks for beyond the external ones."""
    n = len(lanes)
    mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
    i = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
    for k in range(n):
        wx, wy, wz = load3(own, OMEGA, n, k)
        ax, ay, az = load3(own, ALPHA, n, k)
        lx, ly, lz = load3(own, ACCELERATION, n, k)
        ux, uy, uz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = cross(wx, wy, wz, ux, uy, uz)
        ux, uy, uz = cross(ax, ay, az, cx, cy, cz)
        store3(
            own,
            FORCE,
            n,
            k,
            mass * lx + ux + tx - external[3 * n + k],
            mass * ly + uy + ty - external[4 * n + k],
            mass * lz + uz + tz - external[5 * n + k],
        )
        hx, hy, hz = symmetric(i, wx, wy, wz)
        gx, gy, gz = symmetric(i, ax, ay, az)
        ux, uy, uz = cross(wx, wy, wz, hx, hy, hz)
        tx, ty, tz = cross(cx, cy, cz, lx, ly, lz)
        store3(
            own,
            MOMENT,
            n,
            k,
            gx + ux + tx - external[k],
            gy + uy + ty - external[n + k],
            gz + uz + tz - external[2 * n + k],
        )


@kernel(fastmath=FAST, forceinline=True)
def inward(model, data, a, tau):
    """Collect forces from the tips to the root and project them on the joints."""
    n = len(data.lanes)
    for i in range(model.nv * n):
        tau[i] = data.diagonal[i] * a[i]
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        below = data.bodies[p * BODY_ROWS * n : (p + 1) * BODY_ROWS * n]
        own = data.bodies[b * BODY_ROWS * n : (b + 1) * BODY_ROWS * n]
        first = model.v_index[b] * n
        kind = model.joint_type[b]
        ratio = model.ratio[b]
        if kind == FREE:
            project_free(own, tau[first : first + 6 * n], data.lanes)
        else:
            row = MOMENT + 2 if kind == REVOLUTE else FORCE + 2
            effort, along = tau[first : first + n], own[row * n : (row + 1) * n]
            for k in range(n):
                effort[k] += ratio * along[k]
        if p > 0:
            hand_down(below, own, data.lanes)


@kernel(fastmath=FAST, forceinline=True)
def project_free(own, tau, lanes):
    """Efforts of a free joint: moment about the body origin and force, joint axes."""
    n = len(lanes)
    for k in range(n):
        t = load9(own, TURN, n, k)
        fx, fy, fz = load3(own, FORCE, n, k)
        mx, my, mz = load3(own, MOMENT, n, k)
        fx, fy, fz = turn(t, fx, fy, fz)
        mx, my, mz = turn(t, mx, my, mz)
        tau[k] += mx
        tau[n + k] += my
        tau[2 * n + k] += mz
        tau[3 * n + k] += fx
        tau[4 * n + k] += fy
        tau[5 * n + k] += fz


@kernel(fastmath=FAST, forceinline=True)
def hand_down(below, own, lanes):
    """Add a body's force and moment to those of its parent."""
    n = len(lanes)
    for k in range(n):
        m = load9(own, ROTATION, n, k)
        px, py, pz = load3(own, ORIGIN, n, k)
        fx, fy, fz = load3(own, FORCE, n, k)
        mx, my, mz = load3(own, MOMENT, n, k)
        fx, fy, fz = turn(m, fx, fy, fz)
        mx, my, mz = turn(m, mx, my, mz)
        ux, uy, uz = cross(px, py, pz, fx, fy, fz)
        below[FORCE * n + k] += fx
        below[(FORCE + 1) * n + k] += fy
        below[(FORCE + 2) * n + k] += fz
        below[MOMENT * n + k] += mx + ux
        below[(MOMENT + 1) * n + k] += my + uy
        below[(MOMENT + 2) * n + k] += mz + uz
