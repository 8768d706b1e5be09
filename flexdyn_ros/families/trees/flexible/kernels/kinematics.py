"""Poses and velocities of nodes and frames, wrenches, energies and momenta of a flexible tree."""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.kinematics import (
    add_column,
    add_joint_columns,
    load_joint,
    move_body,
    place_on_parent,
    point_in_world,
)
from flexdyn_ros.families.trees.rigid.kernels.momenta import energies, lift_body, momenta, momentum_of_body
from flexdyn_ros.multibody.links.kernels.answers import open_forces
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load6, load9, symmetric, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views
from .links import ask_own_forces, deform_link, deform_with_mass
from .nodes import place_node
from .section import move_section
from .views import carve_flexible, open_columns, open_flexible, open_link, open_state


@kernel
def place_flexible(address, work, q):
    """Write WORLD_ROTATION and WORLD_ORIGIN of all nodes, and the columns of the sections."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    for b in range(1, tree.nb):
        place_node(model, data, b, q)
        place_on_parent(tree, data.tree, b)


@kernel
def move_flexible(address, work, q, v):
    """Write OMEGA and VELOCITY of all nodes; reads what `place_flexible` wrote."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    for b in range(1, tree.nb):
        move_node(model, data, b, v)


@kernel(forceinline=True)
def move_node(model, data, b, v):
    """Write OMEGA and VELOCITY of a node; reads those of its parent, and what `place_node` wrote."""
    if model.tree.joint_type[b] == views.SECTION:
        move_section(model, data, b, v)
    else:
        move_body(model.tree, data.tree, b, v)


@kernel
def load_wrenches(address, work, q, bodies, points, wrenches, force):
    """force += sum J^T w of wrenches (k, 6) = (moment; force), world axes, at points (k, 3) of nodes."""
    tree = open_flexible(address).tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv).tree
    place_flexible(address, work, q)
    for j in range(bodies.shape[0]):
        b = bodies[j]
        if b > 0:
            px, py, pz = point_in_world(data, b, points[j])
            carry_wrench(address, work, b, px, py, pz, wrenches[j], force)


@kernel
def carry_wrench(robot, memory, node, px, py, pz, w, force):
    """force += J' w of one wrench (moment; force) at the world point p of a node; reads `place_flexible`."""
    model = open_flexible(robot)
    tree = model.tree
    data = carve_flexible(memory, tree.nb, tree.nq, tree.nv)
    b = node
    while b > 0:
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        ox, oy, oz = load3(own, at.WORLD_ORIGIN)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        mx, my, mz = mx + w[0], my + w[1], mz + w[2]
        p = tree.parent[b]
        if tree.joint_type[b] == views.SECTION:
            below = window(data.tree.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
            load_section(model, data, b, load9(below, at.WORLD_ROTATION), mx, my, mz, w, force)
        else:
            load_joint(tree, own, b, mx, my, mz, w, force)
        b = p


@kernel(forceinline=True)
def load_section(model, data, b, r, mx, my, mz, w, force):
    """Moment m and force of w at a section, on the modes of its link (axes r)."""
    link = open_link(model, model.nodes[views.NODE_INTS * b + views.NODE_LINK])
    columns = open_columns(model, data, b, link.m)
    ax, ay, az = unturn(r, mx, my, mz)
    fx, fy, fz = unturn(r, w[3], w[4], w[5])
    for k in range(link.m):
        x = window(columns, 6 * k, 6)
        force[link.v + k] += x[0] * ax + x[1] * ay + x[2] * az + x[3] * fx + x[4] * fy + x[5] * fz


@kernel
def flexible_jacobian(address, work, body, point, out):
    """Jacobian (6, nv) = (angular; linear), world axes, of `point` (3,) fixed to a node; reads
    `place_flexible`."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    out[:] = 0.0
    if body == 0:
        return
    px, py, pz = point_in_world(data.tree, body, point)
    add_columns(model, data, body, px, py, pz, out)


@kernel(forceinline=True)
def add_columns(model, data, body, px, py, pz, out):
    """out (6, nv) += Jacobian of a point of the world that moves with a node."""
    b = body
    while b > 0:
        if model.tree.joint_type[b] == views.SECTION:
            add_section_columns(model, data, b, px, py, pz, out)
        else:
            add_joint_columns(model.tree, data.tree, b, px, py, pz, out)
        b = model.tree.parent[b]


@kernel
def coordinates_of(model, b):
    """The first of the coordinates that move a node against its parent, and how many they are."""
    tree, kind = model.tree, model.tree.joint_type[b]
    if kind == views.SECTION:
        link = open_link(model, model.nodes[views.NODE_INTS * b + views.NODE_LINK])
        return link.v, link.m
    if kind == views.FIXED:
        return 0, 0
    return tree.v_index[b], 6 if kind == FREE else 3 if kind == BALL else 1


@kernel(forceinline=True)
def add_section_columns(model, data, b, px, py, pz, out):
    """Columns of the modes that move a section, for the world point p."""
    p = model.tree.parent[b]
    own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    r = load9(window(data.tree.bodies, p * at.BODY_ROWS, at.BODY_ROWS), at.WORLD_ROTATION)
    link = open_link(model, model.nodes[views.NODE_INTS * b + views.NODE_LINK])
    columns = open_columns(model, data, b, link.m)
    for k in range(link.m):
        x = window(columns, 6 * k, 6)
        ex, ey, ez = turn(r, x[0], x[1], x[2])
        ux, uy, uz = cross(ex, ey, ez, px - ox, py - oy, pz - oz)
        dx, dy, dz = turn(r, x[3], x[4], x[5])
        add_column(out, link.v + k, ex, ey, ez, ux + dx, uy + dy, uz + dz)


@kernel
def flexible_energies(address, work, q, v, out):
    """out = kinetic energy, gravity potential, elastic energy [J]; reads the world's rows, as `prepare`
    leaves them."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    for b in range(1, tree.nb):
        place_node(model, data, b, q)
        move_node(model, data, b, v)
        lift_body(tree, data.tree, b)
    energies(tree, data.tree, q, v, out)
    for i in range(model.nl):
        link, state = open_link(model, i), open_state(model, data, i)
        deform_with_mass(link, state, q)
        own = data.tree.bodies[at.BODY_ROWS * node_of(model, i) : at.BODY_ROWS * (node_of(model, i) + 1)]
        ux, uy, uz = load3(own, at.VELOCITY)
        wx, wy, wz = load3(own, at.OMEGA)
        momentum = link_momentum(link, state, v, wx, wy, wz, ux, uy, uz)
        kinetic = momentum[0] * wx + momentum[1] * wy + momentum[2] * wz
        kinetic += momentum[3] * ux + momentum[4] * uy + momentum[5] * uz
        m = link.m
        for k in range(m):
            s, a = window(state.s, 3 * k, 3), window(state.a, 3 * k, 3)
            p = s[0] * ux + s[1] * uy + s[2] * uz + a[0] * wx + a[1] * wy + a[2] * wz
            for l in range(m):
                p += state.M[m * k + l] * v[link.v + l]
            kinetic += v[link.v + k] * p
        ax, ay, az = load3(own, at.ACCELERATION)
        r = state.rigid
        out[0] += 0.5 * kinetic
        out[1] += r[0] * own[at.LIFT] + ax * r[1] + ay * r[2] + az * r[3]
        out[2] += elastic_energy(link, state, q, v)


@kernel(forceinline=True)
def elastic_energy(link, state, q, v):
    """Elastic energy of a link [J]."""
    m = link.m
    if link.kind != views.BEAM:
        ask_own_forces(link, state, q, v)
        return open_forces(state.own, m).energy[0]
    energy = 0.0 * q[0]
    for k in range(m):
        f = 0.0 * q[0]
        for l in range(m):
            f += link.K[m * k + l] * q[link.q + l]
        energy += q[link.q + k] * f
    return 0.5 * energy


@kernel(forceinline=True)
def node_of(model, i):
    """Node that carries flexible link i."""
    return model.links[views.LINK_NUMBERS * i + views.NODE]


@kernel(forceinline=True)
def link_momentum(link, state, v, wx, wy, wz, ux, uy, uz):
    """Angular (about the node's origin) and linear momentum of a link, node axes."""
    r = state.rigid
    lx, ly, lz = cross(wx, wy, wz, r[1], r[2], r[3])
    lx, ly, lz = r[0] * ux + lx, r[0] * uy + ly, r[0] * uz + lz
    hx, hy, hz = symmetric(load6(r, 4), wx, wy, wz)
    tx, ty, tz = cross(r[1], r[2], r[3], ux, uy, uz)
    hx, hy, hz = hx + tx, hy + ty, hz + tz
    for k in range(link.m):
        d = v[link.v + k]
        hx += d * state.a[3 * k]
        hy += d * state.a[3 * k + 1]
        hz += d * state.a[3 * k + 2]
        lx += d * state.s[3 * k]
        ly += d * state.s[3 * k + 1]
        lz += d * state.s[3 * k + 2]
    return hx, hy, hz, lx, ly, lz


@kernel
def flexible_momenta(address, work, q, v, out):
    """Angular momentum about the world origin, momentum, first moment, mass (10), world axes; as
    `momenta`. Reads the world's rows, as `prepare` leaves them."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    for b in range(1, tree.nb):
        place_node(model, data, b, q)
        move_node(model, data, b, v)
        own = window(data.tree.bodies, at.BODY_ROWS * b, at.BODY_ROWS)
        momentum_of_body(window(tree.inertia, 10 * b, 10), own)
    for i in range(model.nl):
        link, state = open_link(model, i), open_state(model, data, i)
        deform_link(link, state, q)
        own = data.tree.bodies[at.BODY_ROWS * node_of(model, i) : at.BODY_ROWS * (node_of(model, i) + 1)]
        ux, uy, uz = load3(own, at.VELOCITY)
        wx, wy, wz = load3(own, at.OMEGA)
        hx, hy, hz, lx, ly, lz = link_momentum(link, state, v, wx, wy, wz, ux, uy, uz)
        add3(own, at.MOMENT, hx, hy, hz)
        add3(own, at.FORCE, lx, ly, lz)
        add3(own, at.FIRST_MOMENT, state.rigid[1], state.rigid[2], state.rigid[3])
        own[at.MASS] += state.rigid[0]
    momenta(tree, data.tree, out)
