"""Poses and velocities of bodies and frames, and wrenches on them."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    cross,
    load3,
    load9,
    multiply,
    store3,
    store9,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views as at
from .joints import FAST, place_body
from .views import prepare


@kernel(fastmath=FAST, forceinline=True)
def place_in_world(model, data, q, count):
    """Write WORLD_ROTATION and WORLD_ORIGIN of bodies 1 to count - 1; parents come before their children."""
    for b in range(1, count):
        place_body(model, data, b, q)
        place_on_parent(model, data, b)


@kernel(forceinline=True)
def place_on_parent(model, data, b):
    """Write WORLD_ROTATION and WORLD_ORIGIN of a body from its pose in its parent, and its parent's."""
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    x, y, z = load3(own, at.ORIGIN)
    m, x, y, z = in_world(data, model.parent[b], load9(own, at.ROTATION), x, y, z)
    store9(own, at.WORLD_ROTATION, m)
    store3(own, at.WORLD_ORIGIN, x, y, z)


@kernel(forceinline=True)
def in_world(data, body, m, x, y, z):
    """World pose of what has the pose m, (x, y, z) in a body."""
    if body > 0:
        own = window(data.bodies, body * at.BODY_ROWS, at.BODY_ROWS)
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        x, y, z = turn(r, x, y, z)
        x, y, z = x + ox, y + oy, z + oz
        m = multiply(r, m)
    return m, x, y, z


@kernel
def move_all(model, data, q, v):
    """Write WORLD_ROTATION, WORLD_ORIGIN, OMEGA and VELOCITY of all bodies."""
    prepare(model, data, 0.0)
    place_in_world(model, data, q, model.nb)
    for b in range(1, model.nb):
        move_body(model, data, b, v)


@kernel(fastmath=FAST, forceinline=True)
def move_body(model, data, b, v):
    """Write OMEGA and VELOCITY of a body on a joint, or fixed to its parent."""
    p = model.parent[b]
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    below = window(data.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
    i = model.v_index[b]
    m = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    wx, wy, wz = load3(below, at.OMEGA)
    ux, uy, uz = load3(below, at.VELOCITY)
    cx, cy, cz = cross(wx, wy, wz, px, py, pz)
    ux, uy, uz = unturn(m, ux + cx, uy + cy, uz + cz)
    wx, wy, wz = unturn(m, wx, wy, wz)
    if FREE <= model.joint_type[b] <= BALL:
        t = load9(own, at.TURN)
        rx, ry, rz = unturn(t, v[i], v[i + 1], v[i + 2])
        wx, wy, wz = wx + rx, wy + ry, wz + rz
        if model.joint_type[b] == FREE:
            sx, sy, sz = unturn(t, v[i + 3], v[i + 4], v[i + 5])
            ux, uy, uz = ux + sx, uy + sy, uz + sz
    elif model.joint_type[b] == SCREW:
        rate = model.ratio[b] * v[i]
        wz, uz = wz + model.turn[b] * rate, uz + model.slide[b] * rate
    store3(own, at.OMEGA, wx, wy, wz)
    store3(own, at.VELOCITY, ux, uy, uz)


@kernel(forceinline=True)
def point_in_world(data, body, point):
    """World coordinates of a point (3,) of a body."""
    own = window(data.bodies, body * at.BODY_ROWS, at.BODY_ROWS)
    px, py, pz = turn(load9(own, at.WORLD_ROTATION), point[0], point[1], point[2])
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    return px + ox, py + oy, pz + oz


@kernel
def load_wrenches(model, data, q, bodies, points, wrenches, force):
    """force += sum J^T w of wrenches (k, 6) = (moment; force), world axes, at points (k, 3) of bodies."""
    place_in_world(model, data, q, model.nb)
    for j in range(bodies.shape[0]):
        b = bodies[j]
        if b > 0:
            px, py, pz = point_in_world(data, b, points[j])
            carry_wrench(model, data, b, px, py, pz, wrenches[j], force)


@kernel
def carry_wrench(model, data, body, px, py, pz, w, force):
    """force += J' w of one wrench (moment; force) at the world point p of a body; reads `place_in_world`."""
    b = body
    while b > 0:
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        load_joint(model, own, b, mx + w[0], my + w[1], mz + w[2], w, force)
        b = model.parent[b]


@kernel(forceinline=True)
def load_joint(model, own, b, mx, my, mz, w, force):
    """Moment m and force of w on the joint of body b; along the axes R_body TURN^T of its frame if it is
    free or a ball."""
    i = model.v_index[b]
    r = load9(own, at.WORLD_ROTATION)
    if FREE <= model.joint_type[b] <= BALL:
        t = load9(own, at.TURN)
        for c in range(3):
            ex, ey, ez = turn(r, t[3 * c], t[3 * c + 1], t[3 * c + 2])
            force[i + c] += ex * mx + ey * my + ez * mz
            if model.joint_type[b] == FREE:
                force[i + 3 + c] += ex * w[3] + ey * w[4] + ez * w[5]
    elif model.joint_type[b] == SCREW:
        spin, slide = model.ratio[b] * model.turn[b], model.ratio[b] * model.slide[b]
        force[i] += spin * (r[2] * mx + r[5] * my + r[8] * mz)
        force[i] += slide * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])


@kernel
def frame_pose(data, body, placement, out):
    """Pose (4, 4) in the world of a frame with `placement` (12: rotation, origin) in `body`."""
    m, x, y, z = in_world(data, body, load9(placement, 0), placement[9], placement[10], placement[11])
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = m[0], m[1], m[2], x
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = m[3], m[4], m[5], y
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = m[6], m[7], m[8], z
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel(forceinline=True)
def add_joint_columns(model, data, b, px, py, pz, out):
    """Columns of the joint of body b for the world point p."""
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    r = load9(own, at.WORLD_ROTATION)
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    x, y, z = px - ox, py - oy, pz - oz
    i, ratio = model.v_index[b], model.ratio[b]
    if FREE <= model.joint_type[b] <= BALL:
        t = load9(own, at.TURN)
        for c in range(3):
            # column c of the joint frame's axes in the world: R_body TURN^T
            ex, ey, ez = turn(r, t[3 * c], t[3 * c + 1], t[3 * c + 2])
            ux, uy, uz = cross(ex, ey, ez, x, y, z)
            add_column(out, i + c, ex, ey, ez, ux, uy, uz)
            if model.joint_type[b] == FREE:
                add_column(out, i + 3 + c, 0.0, 0.0, 0.0, ex, ey, ez)
    elif model.joint_type[b] == SCREW:
        turns, slides = model.turn[b], model.slide[b]
        ex, ey, ez = ratio * r[2], ratio * r[5], ratio * r[8]
        ux, uy, uz = cross(ex, ey, ez, x, y, z)
        ux, uy, uz = turns * ux + slides * ex, turns * uy + slides * ey, turns * uz + slides * ez
        add_column(out, i, turns * ex, turns * ey, turns * ez, ux, uy, uz)


@kernel(forceinline=True)
def add_column(out, i, ax, ay, az, lx, ly, lz):
    """Add (angular; linear) to a column."""
    add3(out[:, i], 0, ax, ay, az)
    add3(out[:, i], 3, lx, ly, lz)
