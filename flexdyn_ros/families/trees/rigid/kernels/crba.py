"""Composite-rigid-body algorithm: the mass matrix (Featherstone 2008, table 6.2); one sample at a time."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    cross,
    load3,
    load6,
    load9,
    pick,
    store3,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .aba import rotate_symmetric
from .joints import FAST, place_bodies
from .views import ARTICULATED_ROWS, BODY_ROWS, FORCE, MOMENT, ORIGIN, ROTATION, TURN

# rows of a body's composite inertia in TreeData.articulated
C_INERTIA, C_MOMENT, C_MASS = 0, 6, 9


@kernel(fastmath=FAST)
def crba(model, data, q, M):
    """`composite_body` as a function of its own: shorter to compile, 0.4 us longer to call."""
    composite_body(model, data, q, M)


@kernel(fastmath=FAST, forceinline=True)
def composite_body(model, data, q, M):
    """Write the mass matrix M (nv, nv); reads data.diagonal, writes data.bodies and data.articulated."""
    place_bodies(model, data, q)
    collect_inertias(model, data)
    M[:] = 0.0
    for i in range(model.nv):
        M[i, i] = data.diagonal[i]
    for b in range(1, model.nb):
        i = model.v_index[b]
        kind = model.joint_type[b]
        if FREE <= kind <= BALL:
            for c in range(6 if kind == FREE else 3):
                push_free(data, b, c)
                project_column(model, data, b, i + c, 1.0, c, M)
        else:
            push(data, b, 0.0, 0.0, model.turn[b], 0.0, 0.0, model.slide[b])
            project_column(model, data, b, i, model.ratio[b], 0, M)


@kernel(fastmath=FAST, forceinline=True)
def collect_inertias(model, data):
    """Composite inertia of every body: its own and those of all that hangs on it, about its origin, in its
    axes."""
    for b in range(1, model.nb):
        own = window(data.articulated, b * ARTICULATED_ROWS, ARTICULATED_ROWS)
        start_composite(own, window(model.inertia, 10 * b, 10))
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        if p == 0:
            continue
        own = window(data.articulated, b * ARTICULATED_ROWS, ARTICULATED_ROWS)
        base = window(data.articulated, p * ARTICULATED_ROWS, ARTICULATED_ROWS)
        body = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        r = load9(body, ROTATION)
        x, y, z = load3(body, ORIGIN)
        m = own[C_MASS]
        cx, cy, cz = load3(own, C_MOMENT)
        cx, cy, cz = turn(r, cx, cy, cz)
        i = rotate_symmetric(r, load6(own, C_INERTIA))
        add_composite(base, i, cx, cy, cz, m, x, y, z)


@kernel(fastmath=FAST, forceinline=True)
def start_composite(own, inertia):
    """A body's own inertia as the first composite one."""
    own[C_MASS] = inertia[0]
    for i in range(3):
        own[C_MOMENT + i] = inertia[1 + i]
    for i in range(6):
        own[C_INERTIA + i] = inertia[4 + i]


@kernel(fastmath=FAST, forceinline=True)
def add_composite(base, i, cx, cy, cz, m, x, y, z):
    """Add mass m, first moment c and inertia i about the point (x, y, z) to a composite inertia, its axes."""
    # parallel axes: with d = c + m p/2 and s = 2 p.d, I += s 1 - (p d^T + d p^T)
    dx, dy, dz = cx + 0.5 * m * x, cy + 0.5 * m * y, cz + 0.5 * m * z
    s = 2.0 * (x * dx + y * dy + z * dz)
    add3(base, C_INERTIA, i[0] + s - 2.0 * x * dx, i[1] - x * dy - y * dx, i[2] - x * dz - z * dx)
    add3(base, C_INERTIA + 3, i[3] + s - 2.0 * y * dy, i[4] - y * dz - z * dy, i[5] + s - 2.0 * z * dz)
    add3(base, C_MOMENT, cx + m * x, cy + m * y, cz + m * z)
    base[C_MASS] += m


@kernel(fastmath=FAST, forceinline=True)
def push(data, b, ax, ay, az, lx, ly, lz):
    """FORCE and MOMENT that accelerate the composite body b with angular a and linear l, body axes."""
    own = window(data.articulated, b * ARTICULATED_ROWS, ARTICULATED_ROWS)
    body = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
    m = own[C_MASS]
    cx, cy, cz = load3(own, C_MOMENT)
    hx, hy, hz = symmetric(load6(own, C_INERTIA), ax, ay, az)
    ux, uy, uz = cross(cx, cy, cz, lx, ly, lz)
    tx, ty, tz = cross(ax, ay, az, cx, cy, cz)
    store3(body, MOMENT, hx + ux, hy + uy, hz + uz)
    store3(body, FORCE, m * lx + tx, m * ly + ty, m * lz + tz)


@kernel(fastmath=FAST, forceinline=True)
def push_free(data, b, c):
    """`push` by a unit acceleration of coordinate c of a free or ball joint."""
    t = load9(window(data.bodies, b * BODY_ROWS, BODY_ROWS), TURN)
    row = c % 3
    ex = 1.0 if row == 0 else 0.0
    ey = 1.0 if row == 1 else 0.0
    ez = 1.0 if row == 2 else 0.0
    ex, ey, ez = unturn(t, ex, ey, ez)
    if c < 3:
        push(data, b, ex, ey, ez, 0.0, 0.0, 0.0)
    else:
        push(data, b, 0.0, 0.0, 0.0, ex, ey, ez)


@kernel(fastmath=FAST, forceinline=True)
def project_column(model, data, b, column, ratio, own_part, M):
    """Carry the force of body b to the root and write its projections on the joints it passes, times
    ratio."""
    body = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
    fx, fy, fz = load3(body, FORCE)
    mx, my, mz = load3(body, MOMENT)
    j = b
    while j > 0:
        body = window(data.bodies, j * BODY_ROWS, BODY_ROWS)
        project_on_joint(model, body, j, j == b, column, ratio, own_part, mx, my, mz, fx, fy, fz, M)
        r = load9(body, ROTATION)
        px, py, pz = load3(body, ORIGIN)
        fx, fy, fz = turn(r, fx, fy, fz)
        mx, my, mz = turn(r, mx, my, mz)
        ux, uy, uz = cross(px, py, pz, fx, fy, fz)
        mx, my, mz = mx + ux, my + uy, mz + uz
        j = model.parent[j]


@kernel(fastmath=FAST, forceinline=True)
def project_on_joint(model, body, j, is_own, column, ratio, own_part, mx, my, mz, fx, fy, fz, M):
    """Write the projection of a wrench (body axes) on joint j to its rows of M, times ratio.

    is_own: coordinate own_part of this joint has pushed. Rows up to it then; the others follow from symmetry.
    """
    i = model.v_index[j]
    if FREE <= model.joint_type[j] <= BALL:
        t = load9(body, TURN)
        gx, gy, gz = turn(t, mx, my, mz)
        hx, hy, hz = turn(t, fx, fy, fz)
        count = own_part + 1 if is_own else 6 if model.joint_type[j] == FREE else 3
        factor = 1.0 if is_own else ratio
        for c in range(count):
            value = factor * (pick(c, gx, gy, gz) if c < 3 else pick(c - 3, hx, hy, hz))
            M[i + c, column] += value
            if i + c != column:
                M[column, i + c] += value
    else:
        value = ratio * model.ratio[j] * (model.turn[j] * mz + model.slide[j] * fz)
        M[i, column] += value
        if not is_own:
            M[column, i] += value
