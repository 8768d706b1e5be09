"""Jacobian and motion of a point of one body, by the joints between that body and the world alone.

The point is carried inward, from the axes of each body on the path to those of its parent, and with it what
the joints do to it. No other body is looked at.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, multiply, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .joints import FAST, place_body
from .views import BODY_ROWS, ORIGIN, ROTATION, TURN


@kernel(fastmath=FAST, forceinline=True)
def to_parent(own, r, x, y, z):
    """A point of a body in its parent's frame, whose axes are turned by r."""
    ox, oy, oz = load3(own, ORIGIN)
    x, y, z = turn(r, x, y, z)
    return x + ox, y + oy, z + oz


@kernel(fastmath=FAST, forceinline=True)
def path_jacobian(model, data, q, body, point, J):
    """Jacobian (6, nv) = (angular; linear), world axes, of `point` (3,) fixed to `body`.

    Columns are found in the axes of `body` and turned into the world at the end.
    """
    J[:] = 0.0
    if body == 0:
        return
    zero = 0.0 * q[0]
    one = 1.0 + zero
    x, y, z = zero + point[0], zero + point[1], zero + point[2]
    m = (one, zero, zero, zero, one, zero, zero, zero, one)
    b = body
    while b > 0:
        place_body(model, data, b, q)
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        add_joint(model, own, b, m, x, y, z, J)
        r = load9(own, ROTATION)
        x, y, z = to_parent(own, r, x, y, z)
        m = multiply(r, m)
        b = model.parent[b]
    for i in range(J.shape[1]):
        J[0, i], J[1, i], J[2, i] = turn(m, J[0, i], J[1, i], J[2, i])
        J[3, i], J[4, i], J[5, i] = turn(m, J[3, i], J[4, i], J[5, i])


@kernel(fastmath=FAST, forceinline=True)
def add_joint(model, own, b, m, x, y, z, J):
    """Columns of the joint of body b for the point (x, y, z) of a frame with rotation m in that body, in the
    axes of that frame."""
    i, ratio = model.v_index[b], model.ratio[b]
    if FREE <= model.joint_type[b] <= BALL:
        t = load9(own, TURN)
        for c in range(3):
            # axis c of the joint frame in the body's axes
            ex, ey, ez = t[3 * c], t[3 * c + 1], t[3 * c + 2]
            ux, uy, uz = cross(ex, ey, ez, x, y, z)
            ex, ey, ez = unturn(m, ex, ey, ez)
            ux, uy, uz = unturn(m, ux, uy, uz)
            add_turn(J, i + c, 1.0, ex, ey, ez, ux, uy, uz)
            if model.joint_type[b] == FREE:
                add_slide(J, i + 3 + c, 1.0, ex, ey, ez)
    elif model.joint_type[b] == SCREW:
        if model.turn[b] != 0.0:
            # z x (x, y, z) = (-y, x, 0)
            ux, uy, uz = x * m[3] - y * m[0], x * m[4] - y * m[1], x * m[5] - y * m[2]
            add_turn(J, i, ratio, m[6], m[7], m[8], ux, uy, uz)
        if model.slide[b] != 0.0:
            add_slide(J, i, ratio * model.slide[b], m[6], m[7], m[8])


@kernel(fastmath=FAST, forceinline=True)
def add_turn(J, i, ratio, ax, ay, az, lx, ly, lz):
    """Add (angular; linear) times ratio to a column."""
    J[0, i] += ratio * ax
    J[1, i] += ratio * ay
    J[2, i] += ratio * az
    add_slide(J, i, ratio, lx, ly, lz)


@kernel(fastmath=FAST, forceinline=True)
def add_slide(J, i, ratio, lx, ly, lz):
    """Add a linear motion times ratio to a column."""
    J[3, i] += ratio * lx
    J[4, i] += ratio * ly
    J[5, i] += ratio * lz


@kernel(fastmath=FAST, forceinline=True)
def path_rate(model, data, q, v, body, point, out):
    """dJ/dt v (6,) = (angular; linear), world axes, of `point` (3,) fixed to `body`: its acceleration where
    that of all coordinates is zero.

    Of what moves by (w, u), and accelerates by (g, a), in a body that turns with r and moves with s: g + r x
    w and a + 2 r x u + r x (r x p); then it moves by w + r, and u + r x p + s.
    """
    for i in range(6):
        out[i] = 0.0
    if body == 0:
        return
    zero = 0.0 * q[0] * v[0]
    x, y, z = zero + point[0], zero + point[1], zero + point[2]
    wx, wy, wz, ux, uy, uz = zero, zero, zero, zero, zero, zero
    gx, gy, gz, ax, ay, az = zero, zero, zero, zero, zero, zero
    b = body
    while b > 0:
        place_body(model, data, b, q)
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        rx, ry, rz, sx, sy, sz = joint_motion(model, own, b, v, zero)
        hx, hy, hz = cross(rx, ry, rz, wx, wy, wz)
        gx, gy, gz = gx + hx, gy + hy, gz + hz
        px, py, pz = cross(rx, ry, rz, x, y, z)
        hx, hy, hz = cross(rx, ry, rz, 2.0 * ux + px, 2.0 * uy + py, 2.0 * uz + pz)
        ax, ay, az = ax + hx, ay + hy, az + hz
        wx, wy, wz = wx + rx, wy + ry, wz + rz
        ux, uy, uz = ux + px + sx, uy + py + sy, uz + pz + sz
        r = load9(own, ROTATION)
        x, y, z = to_parent(own, r, x, y, z)
        wx, wy, wz = turn(r, wx, wy, wz)
        ux, uy, uz = turn(r, ux, uy, uz)
        gx, gy, gz = turn(r, gx, gy, gz)
        ax, ay, az = turn(r, ax, ay, az)
        b = model.parent[b]
    out[0], out[1], out[2], out[3], out[4], out[5] = gx, gy, gz, ax, ay, az


@kernel(fastmath=FAST, forceinline=True)
def joint_motion(model, own, b, v, zero):
    """Angular velocity of a body in its parent, and velocity of its origin there; body axes."""
    i = model.v_index[b]
    rx, ry, rz, sx, sy, sz = zero, zero, zero, zero, zero, zero
    if FREE <= model.joint_type[b] <= BALL:
        t = load9(own, TURN)
        rx, ry, rz = unturn(t, v[i], v[i + 1], v[i + 2])
        if model.joint_type[b] == FREE:
            sx, sy, sz = unturn(t, v[i + 3], v[i + 4], v[i + 5])
    elif model.joint_type[b] == SCREW:
        rate = model.ratio[b] * v[i]
        rz, sz = zero + model.turn[b] * rate, zero + model.slide[b] * rate
    return rx, ry, rz, sx, sy, sz
