"""Poses and velocities of bodies and frames, wrenches on them, energies and momenta."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import FREE, REVOLUTE
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
from .joints import place_body


@kernel
def place_in_world(model, data, q):
    """Write WORLD_ROTATION and WORLD_ORIGIN of all bodies."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        p = model.parent[b]
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        m = load9(own, at.ROTATION)
        x, y, z = load3(own, at.ORIGIN)
        if p > 0:
            below = data.bodies[p * at.BODY_ROWS : (p + 1) * at.BODY_ROWS]
            r = load9(below, at.WORLD_ROTATION)
            ox, oy, oz = load3(below, at.WORLD_ORIGIN)
            x, y, z = turn(r, x, y, z)
            x, y, z = x + ox, y + oy, z + oz
            m = multiply(r, m)
        store9(own, at.WORLD_ROTATION, m)
        store3(own, at.WORLD_ORIGIN, x, y, z)


@kernel
def move_in_body_axes(model, data, v):
    """Write OMEGA and VELOCITY of all bodies; reads what `place_in_world` wrote."""
    for b in range(1, model.nb):
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
        else:
            uz = uz + model.ratio[b] * v[i]
        store3(own, at.OMEGA, wx, wy, wz)
        store3(own, at.VELOCITY, ux, uy, uz)


@kernel
def load_wrenches(model, data, q, bodies, points, wrenches, force):
    """force += sum J^T w of wrenches (k, 6) = (moment; force), world axes, at points (k, 3) of bodies."""
    place_in_world(model, data, q)
    for j in range(bodies.shape[0]):
        b = bodies[j]
        if b > 0:
            own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
            point = points[j]
            px, py, pz = turn(load9(own, at.WORLD_ROTATION), point[0], point[1], point[2])
            ox, oy, oz = load3(own, at.WORLD_ORIGIN)
            carry_wrench(model, data, b, px + ox, py + oy, pz + oz, wrenches[j], force)


@kernel
def carry_wrench(model, data, body, px, py, pz, w, force):
    """force += J' w of one wrench (moment; force) at the world point p of a body; reads `place_in_world`."""
    b = body
    while b > 0:
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        mx, my, mz = mx + w[0], my + w[1], mz + w[2]
        i = model.v_index[b]
        if model.joint_type[b] == FREE:
            load_free(own, i, r, mx, my, mz, w, force)
        elif model.joint_type[b] == REVOLUTE:
            force[i] += model.ratio[b] * (r[2] * mx + r[5] * my + r[8] * mz)
        else:
            force[i] += model.ratio[b] * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])
        b = model.parent[b]


@kernel(forceinline=True)
def load_free(own, i, r, mx, my, mz, w, force):
    """Moment m and force of w on a free joint, along the axes of its frame of reference: R_body TURN^T."""
    t = load9(own, at.TURN)
    for c in range(3):
        ex = r[0] * t[3 * c] + r[1] * t[3 * c + 1] + r[2] * t[3 * c + 2]
        ey = r[3] * t[3 * c] + r[4] * t[3 * c + 1] + r[5] * t[3 * c + 2]
        ez = r[6] * t[3 * c] + r[7] * t[3 * c + 1] + r[8] * t[3 * c + 2]
        force[i + c] += ex * mx + ey * my + ez * mz
        force[i + 3 + c] += ex * w[3] + ey * w[4] + ez * w[5]


@kernel
def frame_pose(data, body, placement, out):
    """Pose (4, 4) in the world of a frame with `placement` (12: rotation, origin) in `body`."""
    m = (
        placement[0],
        placement[1],
        placement[2],
        placement[3],
        placement[4],
        placement[5],
        placement[6],
        placement[7],
        placement[8],
    )
    x, y, z = placement[9], placement[10], placement[11]
    if body > 0:
        own = data.bodies[body * at.BODY_ROWS : (body + 1) * at.BODY_ROWS]
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        m = multiply(r, m)
        x, y, z = turn(r, x, y, z)
        x, y, z = x + ox, y + oy, z + oz
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
    own = data.bodies[body * at.BODY_ROWS : (body + 1) * at.BODY_ROWS]
    px, py, pz = turn(load9(own, at.WORLD_ROTATION), point[0], point[1], point[2])
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    px, py, pz = px + ox, py + oy, pz + oz
    b = body
    while b > 0:
        own = data.bodies[b * at.BODY_ROWS : (b + 1) * at.BODY_ROWS]
        r = load9(own, at.WORLD_ROTATION)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        i = model.v_index[b]
        ratio = model.ratio[b]
        if model.joint_type[b] == FREE:
            t = load9(own, at.TURN)
            for c in range(3):
                # column c of the joint frame's axes in the world: R_body TURN^T
                ex = r[0] * t[3 * c] + r[1] * t[3 * c + 1] + r[2] * t[3 * c + 2]
                ey = r[3] * t[3 * c] + r[4] * t[3 * c + 1] + r[5] * t[3 * c + 2]
                ez = r[6] * t[3 * c] + r[7] * t[3 * c + 1] + r[8] * t[3 * c + 2]
                ux, uy, uz = cross(ex, ey, ez, px - ox, py - oy, pz - oz)
                out[0, i + c], out[1, i + c], out[2, i + c] = ex, ey, ez
                out[3, i + c], out[4, i + c], out[5, i + c] = ux, uy, uz
                out[3, i + 3 + c], out[4, i + 3 + c], out[5, i + 3 + c] = ex, ey, ez
        elif model.joint_type[b] == REVOLUTE:
            ex, ey, ez = ratio * r[2], ratio * r[5], ratio * r[8]
            ux, uy, uz = cross(ex, ey, ez, px - ox, py - oy, pz - oz)
            out[0, i] += ex
            out[1, i] += ey
            out[2, i] += ez
            out[3, i] += ux
            out[4, i] += uy
            out[5, i] += uz
        else:
            out[3, i] += ratio * r[2]
            out[4, i] += ratio * r[5]
            out[5, i] += ratio * r[8]
        b = model.parent[b]


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
        i = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
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
        i = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
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
        out[0] += hx + ux
        out[1] += hy + uy
        out[2] += hz + uz
        out[3] += tx
        out[4] += ty
        out[5] += tz
        out[6] += mass * ox + cx
        out[7] += mass * oy + cy
        out[8] += mass * oz + cz
        out[9] += mass
