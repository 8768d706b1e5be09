"""Cross sections of a deformed flexible link: where they are, how the modal rates move them.

A section turns by exp([theta]x), theta = sum delta_k th_k, and its centre is at x + sum delta_k u_k minus the
foreshortening 1/2 delta^T S delta along e (docs/theory/flexible_links.md, "Kinematics of a link"). Rotation
and its rates by the left Jacobian of the exponential map, analytic in theta so that a complex step passes.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load9, store3, store9, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel, leaf
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import holds, less, select

from .links import ask_station, ask_station_rates
from .views import BEAM, NODE_INTS, NODE_LINK, open_columns, open_link, open_section

# terms of the series sum (-x)^n / (2n + i)!; at x < 1 what is left out is below 1/23!
_TERMS = 10
_FACTORIALS = tuple(float(np.prod(np.arange(1.0, k + 1.0))) for k in range(2 * _TERMS + 4))
_S1 = tuple((-1.0) ** n / _FACTORIALS[2 * n + 1] for n in range(_TERMS))
_S2 = tuple((-1.0) ** n / _FACTORIALS[2 * n + 2] for n in range(_TERMS))
_S3 = tuple((-1.0) ** n / _FACTORIALS[2 * n + 3] for n in range(_TERMS))


@leaf
def exponential_series(x):
    """sin f / f, (1 - cos f)/f^2, (f - sin f)/f^3 and the derivatives of the last two by x = f^2."""
    small = less(x, 1.0)
    if holds(small):
        return _power_series(x)
    near = _power_series(select(small, x, 0.0 * x))
    far = _trigonometric(select(small, 1.0 + 0.0 * x, x))
    return (
        select(small, near[0], far[0]),
        select(small, near[1], far[1]),
        select(small, near[2], far[2]),
        select(small, near[3], far[3]),
        select(small, near[4], far[4]),
    )


@leaf
def _power_series(x):
    a, b, c = _S1[9] + 0.0 * x, _S2[9] + 0.0 * x, _S3[9] + 0.0 * x
    bx, cx = 0.0 * x, 0.0 * x
    for i in range(8, -1, -1):
        bx = b + x * bx
        cx = c + x * cx
        a = _S1[i] + x * a
        b = _S2[i] + x * b
        c = _S3[i] + x * c
    return a, b, c, bx, cx


@leaf
def _trigonometric(x):
    f = np.sqrt(x)
    s, k = np.sin(f), np.cos(f)
    a = s / f
    b = (1.0 - k) / x
    c = (1.0 - a) / x
    return a, b, c, (0.5 * a - b) / x, ((0.5 * (a - k)) / x - c) / x


@kernel(fastmath=FAST, forceinline=True)
def place_section(model, data, node, q):
    """Write ROTATION, ORIGIN of a SECTION node in its parent's axes, and its columns (see `open_columns`)."""
    link = open_link(model, model.nodes[NODE_INTS * node + NODE_LINK])
    if link.kind == BEAM:
        place_section_of_beam(model, data, link, node, q)
    else:
        ask_station(model, data, link, node, q)


@kernel(fastmath=FAST, forceinline=True)
def place_section_of_beam(model, data, link, node, q):
    """`place_section` of a beam."""
    m = link.m
    section = open_section(model, node, m)
    columns = open_columns(model, data, node, m)
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    tx, ty, tz = 0.0 * q[0], 0.0 * q[0], 0.0 * q[0]
    px, py, pz = tx + section.x[0], ty + section.x[1], tz + section.x[2]
    for k in range(m):
        d = q[link.q + k]
        tx += d * section.th[3 * k]
        ty += d * section.th[3 * k + 1]
        tz += d * section.th[3 * k + 2]
        ux, uy, uz = section.u[3 * k], section.u[3 * k + 1], section.u[3 * k + 2]
        px += d * ux
        py += d * uy
        pz += d * uz
        store3(columns, 6 * k + 3, ux, uy, uz)
    if link.P > 0:
        ex, ey, ez = link.e[0], link.e[1], link.e[2]
        for i in range(link.n):
            k = link.first_slope + i
            short = 0.0 * q[0]
            for j in range(link.n):
                l = link.first_slope + j
                short += section.S[k * m + l] * q[link.q + l]
            add3(columns, 6 * k + 3, -ex * short, -ey * short, -ez * short)
            short = 0.5 * q[link.q + k] * short
            px -= ex * short
            py -= ey * short
            pz -= ez * short
    x = tx * tx + ty * ty + tz * tz
    a, b, c, _, _ = exponential_series(x)
    # 1 + a K + b K K, and the left Jacobian 1 + b K + c K K on each th_k
    store9(
        own,
        at.ROTATION,
        (
            1.0 - b * (ty * ty + tz * tz),
            b * tx * ty - a * tz,
            b * tx * tz + a * ty,
            b * tx * ty + a * tz,
            1.0 - b * (tx * tx + tz * tz),
            b * ty * tz - a * tx,
            b * tx * tz - a * ty,
            b * ty * tz + a * tx,
            1.0 - b * (tx * tx + ty * ty),
        ),
    )
    store3(own, at.ORIGIN, px, py, pz)
    for k in range(m):
        hx, hy, hz = section.th[3 * k], section.th[3 * k + 1], section.th[3 * k + 2]
        ux, uy, uz = cross(tx, ty, tz, hx, hy, hz)
        vx, vy, vz = cross(tx, ty, tz, ux, uy, uz)
        store3(columns, 6 * k, hx + b * ux + c * vx, hy + b * uy + c * vy, hz + b * uz + c * vz)


@kernel(fastmath=FAST, forceinline=True)
def section_rates(model, data, node, q, v):
    """Write the section's twist by the modal rates and its rate at zero modal acceleration, node axes of
    the parent.

    The twist goes behind the columns; returned are the rates (angular; linear).
    """
    link = open_link(model, model.nodes[NODE_INTS * node + NODE_LINK])
    if link.kind == BEAM:
        return rates_of_beam(model, data, link, node, q, v)
    return ask_station_rates(model, data, link, node, q, v)


@kernel(fastmath=FAST, forceinline=True)
def rates_of_beam(model, data, link, node, q, v):
    """`section_rates` of a beam."""
    m = link.m
    section = open_section(model, node, m)
    columns = open_columns(model, data, node, m)
    zero = 0.0 * q[0] * v[0]
    tx, ty, tz, rx, ry, rz = zero, zero, zero, zero, zero, zero
    wx, wy, wz, ux, uy, uz = zero, zero, zero, zero, zero, zero
    for k in range(m):
        d, r = q[link.q + k], v[link.v + k]
        hx, hy, hz = section.th[3 * k], section.th[3 * k + 1], section.th[3 * k + 2]
        tx += d * hx
        ty += d * hy
        tz += d * hz
        rx += r * hx
        ry += r * hy
        rz += r * hz
        wx += r * columns[6 * k]
        wy += r * columns[6 * k + 1]
        wz += r * columns[6 * k + 2]
        ux += r * columns[6 * k + 3]
        uy += r * columns[6 * k + 4]
        uz += r * columns[6 * k + 5]
    store3(columns, 6 * m, wx, wy, wz)
    store3(columns, 6 * m + 3, ux, uy, uz)
    short = zero
    if link.P > 0:
        for i in range(link.n):
            k = link.first_slope + i
            for j in range(link.n):
                l = link.first_slope + j
                short += section.S[k * m + l] * v[link.v + k] * v[link.v + l]
    _, b, c, bx, cx = exponential_series(tx * tx + ty * ty + tz * tz)
    xd = 2.0 * (tx * rx + ty * ry + tz * rz)
    # b' theta x r + c' theta x (theta x r) + c r x (theta x r)
    ax, ay, az = cross(tx, ty, tz, rx, ry, rz)
    dx, dy, dz = cross(tx, ty, tz, ax, ay, az)
    fx, fy, fz = cross(rx, ry, rz, ax, ay, az)
    bx, cx = bx * xd, cx * xd
    return (
        bx * ax + cx * dx + c * fx,
        bx * ay + cx * dy + c * fy,
        bx * az + cx * dz + c * fz,
        -link.e[0] * short,
        -link.e[1] * short,
        -link.e[2] * short,
    )


@kernel(fastmath=FAST, forceinline=True)
def velocity_section(model, data, node, q, v):
    """OMEGA, VELOCITY-free motion of a SECTION node: OMEGA and the velocity part of its accelerations, own
    axes."""
    link = open_link(model, model.nodes[NODE_INTS * node + NODE_LINK])
    p = model.tree.parent[node]
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    below = window(data.tree.bodies, at.BODY_ROWS * p, at.BODY_ROWS)
    gx, gy, gz, ax, ay, az = section_rates(model, data, node, q, v)
    columns = open_columns(model, data, node, link.m)
    ex, ey, ez = load3(columns, 6 * link.m)
    dx, dy, dz = load3(columns, 6 * link.m + 3)
    r = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    wx, wy, wz = load3(below, at.OMEGA)
    ux, uy, uz = cross(wx, wy, wz, ex, ey, ez)
    gx, gy, gz = unturn(r, gx + ux, gy + uy, gz + uz)
    # w x (w x p) + 2 w x dp
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    ux, uy, uz = cross(wx, wy, wz, ux + 2.0 * dx, uy + 2.0 * dy, uz + 2.0 * dz)
    ax, ay, az = unturn(r, ax + ux, ay + uy, az + uz)
    wx, wy, wz = unturn(r, wx + ex, wy + ey, wz + ez)
    store3(own, at.OMEGA, wx, wy, wz)
    store3(own, at.BIAS_ALPHA, gx, gy, gz)
    store3(own, at.BIAS_ACCELERATION, ax, ay, az)


@kernel(fastmath=FAST, forceinline=True)
def carried_to_section(model, data, node, rates, angular, linear):
    """What the parent has in its rows `angular` and `linear`, at a SECTION node that moves by its columns
    times the rates (or accelerations) of the modes; own axes."""
    link = open_link(model, model.nodes[NODE_INTS * node + NODE_LINK])
    p = model.tree.parent[node]
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    below = window(data.tree.bodies, at.BODY_ROWS * p, at.BODY_ROWS)
    columns = open_columns(model, data, node, link.m)
    r = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    ax, ay, az = load3(below, angular)
    lx, ly, lz = load3(below, linear)
    ux, uy, uz = cross(ax, ay, az, px, py, pz)
    lx, ly, lz = lx + ux, ly + uy, lz + uz
    for k in range(link.m):
        d = rates[link.v + k]
        ax += d * columns[6 * k]
        ay += d * columns[6 * k + 1]
        az += d * columns[6 * k + 2]
        lx += d * columns[6 * k + 3]
        ly += d * columns[6 * k + 4]
        lz += d * columns[6 * k + 5]
    ax, ay, az = unturn(r, ax, ay, az)
    lx, ly, lz = unturn(r, lx, ly, lz)
    return ax, ay, az, lx, ly, lz


@kernel(fastmath=FAST, forceinline=True)
def accelerate_section(model, data, node, a):
    """ALPHA, ACCELERATION of a SECTION node from its parent's, the modal accelerations in a, and
    `velocity_section`."""
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    ax, ay, az, lx, ly, lz = carried_to_section(model, data, node, a, at.ALPHA, at.ACCELERATION)
    cx, cy, cz = load3(own, at.BIAS_ALPHA)
    dx, dy, dz = load3(own, at.BIAS_ACCELERATION)
    store3(own, at.ALPHA, ax + cx, ay + cy, az + cz)
    store3(own, at.ACCELERATION, lx + dx, ly + dy, lz + dz)


@kernel(forceinline=True)
def move_section(model, data, node, v):
    """Write OMEGA and VELOCITY of a SECTION node; reads `place_section` and those of its parent."""
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    wx, wy, wz, lx, ly, lz = carried_to_section(model, data, node, v, at.OMEGA, at.VELOCITY)
    store3(own, at.OMEGA, wx, wy, wz)
    store3(own, at.VELOCITY, lx, ly, lz)
