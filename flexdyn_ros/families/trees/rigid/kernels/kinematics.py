"""Poses and velocities of bodies and frames, wrenches on them, energies and momenta."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import FREE, PRISMATIC, REVOLUTE
from flexdyn_ros.numerics.algebra.rotations import (
    cross,
    load3,
    load9,
    multiply,
    store3,
    store9,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel

from . import views as at
from .blocks import add3, load6
from .joints import place_body


@kernel
def place_in_world(model, data, q):
    """Write WORLD_ROTATION and WORLD_ORIGIN of all bodies."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        place_on_parent(model, data, b)


@kernel(forceinline=True)
def place_on_parent(model, data, b):
    """Write WORLD_ROTATION and WORLD_ORIGIN of a body from its pose in its parent, and its parent's."""
    own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
    x, y, z = load3(own, at.ORIGIN)
    m, x, y, z = in_world(data, model.parent[b], load9(own, at.ROTATION), x, y, z)
    store9(own, at.WORLD_ROTATION, m)
    store3(own, at.WORLD_ORIGIN, x, y, z)


@kernel(forceinline=True)
def in_world(data, body, m, x, y, z):
    """World pose of what has the pose m, (x, y, z) in a body."""
    if body > 0:
        own = data.bodies[body * at.BODY_ROWS : (body + 1) * at.BODY_ROWS]
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        x, y, z = turn(r, x, y, z)
        x, y, z = x + ox, y + oy, z + oz
        m = multiply(r, m)
    return m, x, y, z


@kernel
def move_in_body_axes(model, data, v):
    """Write OMEGA and VELOCITY of all bodies; reads what `place_in_world` wrote."""
    for b in range(1, model.nb):
        move_body(model, data, b, v)


@kernel(forceinline=True)
def move_body(model, data, b, v):
    """Write OMEGA and VELOCITY of a body on a joint, or fixed to its parent."""
    p = model.parent[b]
    own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
    below = data.bodies[p * at.BODY_ROWS : (p + 1) * at.BODY_ROWS]
    i = model.v_index[b]
    m = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    wx, wy, wz = load3(below, at.OMEGA)
    ux, uy, uz = load3(below, at.VELOCITY)
    cx, cy, cz = cross(wx, wy, wz, px, py, pz)
    ux, uy, uz = unturn(m, ux + cx, uy + cy, uz + cz)
    wx, wy, wz = unturn(m, wx, wy, wz)
    if model.joint_type[b] == FREE:
        t = load9(own, at.TURN)
        rx, ry, rz = unturn(t, v[i], v[i + 1], v[i + 2])
        sx, sy, sz = unturn(t, v[i + 3], v[i + 4], v[i + 5])
        wx, wy, wz = wx + rx, wy + ry, wz + rz
        ux, uy, uz = ux + sx, uy + sy, uz + sz
    elif model.joint_type[b] == REVOLUTE:
        wz = wz + model.ratio[b] * v[i]
    elif model.joint_type[b] == PRISMATIC:
        uz = uz + model.ratio[b] * v[i]
    store3(own, at.OMEGA, wx, wy, wz)
    store3(own, at.VELOCITY, ux, uy, uz)


@kernel(forceinline=True)
def point_in_world(data, body, point):
    """World coordinates of a point (3,) of a body."""
    own = data.bodies[body * at.BODY_ROWS : (body + 1) * at.BODY_ROWS]
    px, py, pz = turn(load9(own, at.WORLD_ROTATION), point[0], point[1], point[2])
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    return px + ox, py + oy, pz + oz


@kernel
def load_wrenches(model, data, q, bodies, points, wrenches, force):
    """force += sum J^T w of wrenches (k, 6) = (moment; force), world axes, at points (k, 3) of bodies."""
    place_in_world(model, data, q)
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
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        load_joint(model, own, b, mx + w[0], my + w[1], mz + w[2], w, force)
        b = model.parent[b]


@kernel(forceinline=True)
def load_joint(model, own, b, mx, my, mz, w, force):
    """Moment m and force of w on the joint of body b; along the axes R_body TURN^T of its frame if it is
    free."""
    i = model.v_index[b]
    r = load9(own, at.WORLD_ROTATION)
    if model.joint_type[b] == FREE:
        t = load9(own, at.TURN)
        for c in range(3):
            ex, ey, ez = turn(r, t[3 * c], t[3 * c + 1], t[3 * c + 2])
            force[i + c] += ex * mx + ey * my + ez * mz
            force[i + 3 + c] += ex * w[3] + ey * w[4] + ez * w[5]
    elif model.joint_type[b] == REVOLUTE:
        force[i] += model.ratio[b] * (r[2] * mx + r[5] * my + r[8] * mz)
    elif model.joint_type[b] == PRISMATIC:
        force[i] += model.ratio[b] * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])


@kernel
def frame_pose(data, body, placement, out):
    """Pose (4, 4) in the world of a frame with `placement` (12: rotation, origin) in `body`."""
    m, x, y, z = in_world(data, body, load9(placement, 0), placement[9], placement[10], placement[11])
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = m[0], m[1], m[2], x
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = m[3], m[4], m[5], y
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = m[6], m[7], m[8], z
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = 0.0, 0.0, 0.0, 1.0


@kernel
def frame_jacobian(model, data, body, point, out):
    """Jacobian (6, nv) = (angular; linear), world axes, of `point` (3,) fixed to `body`; reads
    `place_in_world`."""
    out[:] = 0.0
    if body == 0:
        return
    px, py, pz = point_in_world(data, body, point)
    b = body
    while b > 0:
        add_joint_columns(model, data, b, px, py, pz, out)
        b = model.parent[b]


@kernel(forceinline=True)
def add_joint_columns(model, data, b, px, py, pz, out):
    """Columns of the joint of body b for the world point p."""
    own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
    r = load9(own, at.WORLD_ROTATION)
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    x, y, z = px - ox, py - oy, pz - oz
    i, ratio = model.v_index[b], model.ratio[b]
    if model.joint_type[b] == FREE:
        t = load9(own, at.TURN)
        for c in range(3):
            # column c of the joint frame's axes in the world: R_body TURN^T
            ex, ey, ez = turn(r, t[3 * c], t[3 * c + 1], t[3 * c + 2])
            ux, uy, uz = cross(ex, ey, ez, x, y, z)
            add_column(out, i + c, ex, ey, ez, ux, uy, uz)
            add_column(out, i + 3 + c, 0.0, 0.0, 0.0, ex, ey, ez)
    elif model.joint_type[b] == REVOLUTE:
        ex, ey, ez = ratio * r[2], ratio * r[5], ratio * r[8]
        ux, uy, uz = cross(ex, ey, ez, x, y, z)
        add_column(out, i, ex, ey, ez, ux, uy, uz)
    elif model.joint_type[b] == PRISMATIC:
        add_column(out, i, 0.0, 0.0, 0.0, ratio * r[2], ratio * r[5], ratio * r[8])


@kernel(forceinline=True)
def add_column(out, i, ax, ay, az, lx, ly, lz):
    """Add (angular; linear) to a column."""
    add3(out[:, i], 0, ax, ay, az)
    add3(out[:, i], 3, lx, ly, lz)


@kernel
def energies(model, data, q, v, out):
    """out = kinetic energy (armature included), gravity potential (world origin), energy of joint springs
    [J].

    Reads `place_in_world` and `move_in_body_axes`.
    """
    kinetic = 0.0
    potential = 0.0
    for b in range(1, model.nb):
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        inertia = model.inertia[10 * b : 10 * b + 10]
        mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
        i = load6(inertia, 4)
        wx, wy, wz = load3(own, at.OMEGA)
        ux, uy, uz = load3(own, at.VELOCITY)
        hx, hy, hz = symmetric(i, wx, wy, wz)
        tx, ty, tz = cross(wx, wy, wz, cx, cy, cz)
        kinetic += 0.5 * mass * (ux * ux + uy * uy + uz * uz) + ux * tx + uy * ty + uz * tz
        kinetic += 0.5 * (wx * hx + wy * hy + wz * hz)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        cx, cy, cz = turn(load9(own, at.WORLD_ROTATION), cx, cy, cz)
        potential -= model.gravity[0] * (mass * ox + cx)
        potential -= model.gravity[1] * (mass * oy + cy)
        potential -= model.gravity[2] * (mass * oz + cz)
    elastic = 0.0
    for i in range(model.nv):
        dof = model.dof[at.DOF_NUMBERS * i : at.DOF_NUMBERS * (i + 1)]
        kinetic += 0.5 * dof[at.ARMATURE] * v[i] * v[i]
        if dof[at.STIFFNESS] != 0.0:
            stretch = q[model.q_of_v[i]] - dof[at.REFERENCE]
            elastic += 0.5 * dof[at.STIFFNESS] * stretch * stretch
    out[0], out[1], out[2] = kinetic, potential, elastic


@kernel
def momenta(model, data, out):
    """out = angular momentum about the world origin (3), linear momentum (3), first moment of mass (3), mass;
    world axes.

    Reads `place_in_world` and `move_in_body_axes`. Rotors count with their joint's armature only, not here.
    """
    out[:] = 0.0
    for b in range(1, model.nb):
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        inertia = model.inertia[10 * b : 10 * b + 10]
        mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
        i = load6(inertia, 4)
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        wx, wy, wz = load3(own, at.OMEGA)
        ux, uy, uz = load3(own, at.VELOCITY)
        hx, hy, hz = symmetric(i, wx, wy, wz)
        tx, ty, tz = cross(cx, cy, cz, ux, uy, uz)
        hx, hy, hz = turn(r, hx + tx, hy + ty, hz + tz)
        tx, ty, tz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = turn(r, mass * ux + tx, mass * uy + ty, mass * uz + tz)
        ux, uy, uz = cross(ox, oy, oz, tx, ty, tz)
        cx, cy, cz = turn(r, cx, cy, cz)
        add3(out, 0, hx + ux, hy + uy, hz + uz)
        add3(out, 3, tx, ty, tz)
        add3(out, 6, mass * ox + cx, mass * oy + cy, mass * oz + cz)
        out[9] += mass
