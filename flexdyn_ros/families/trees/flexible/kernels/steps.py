"""Fixed steps of a tree with flexible links: its functions in the table of numerics/stepping/table.py.

Work memory: that of the recursions (views.py), then M (nv, nv) and nv zeros for trees whose
mimic joints share coordinates.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels.resistance import add_implicit_joint_terms, joint_losses
from flexdyn_ros.families.trees.rigid.kernels.views import (
    BODY_ROWS,
    ONE_LANE,
    TURN,
    WORLD_ORIGIN,
    WORLD_ROTATION,
    open_tree,
)
from flexdyn_ros.families.trees.rigid.kernels.views import prepare as prepare_data
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.algebra.manifold import FREE, REVOLUTE
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.stepping import table as at
from flexdyn_ros.numerics.stepping.table import callback

from . import views
from .aba import flexible_articulated_body
from .crba import flexible_composite_body
from .kinematics import flexible_energies, move_flexible, place_flexible
from .rnea import flexible_newton_euler
from .views import carve_flexible, open_columns, open_flexible, open_link


def flexible_steps_size(size: int, nv: int, has_mimic: bool) -> int:
    """Numbers of work memory, of which the recursions take `size`."""
    return size + (nv * nv + nv if has_mimic else 0)


@kernel(forceinline=True)
def recursion_memory(robot, work):
    """The work memory of the recursions as an array."""
    return floats_at(work, ints_at(robot, views.FLEXIBLE_HEADER)[views.WORK_SIZE])


@callback(at.PREPARE_SIGNATURE)
def prepare(robot, work):
    """See numerics/stepping/table.py."""
    tree = open_tree(robot)
    prepare_data(
        tree, carve_flexible(recursion_memory(robot, work), tree.nb, tree.nq, tree.nv, ONE_LANE).tree, 1.0
    )
    return 0


@callback(at.ACCELERATE_SIGNATURE)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; K and D are the links' and the slopes of the joints' springs and
    resistance.

    Modes stay in the O(n) recursion: h^2 K + h D joins a link's modal inertia.
    """
    model = open_flexible(robot)
    tree = model.tree
    nv = tree.nv
    memory = recursion_memory(robot, work)
    data = carve_flexible(memory, tree.nb, tree.nq, nv, ONE_LANE).tree
    q, v, a = floats_at(q, tree.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(tree, v, force, floats_at(extra, nv), h, data.diagonal)
    if h != 0.0:
        add_implicit_modal_terms(model, v, force, h)
    flexible_articulated_body(robot, memory, q, v, force, a, h * h, h)
    return 0


@kernel(forceinline=True)
def add_implicit_modal_terms(model, v, force, h):
    """force -= h K v of the links."""
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m
        for k in range(m):
            f = 0.0
            for l in range(m):
                f += link.K[k * m + l] * v[link.v + l]
            force[link.v + k] -= h * f


@callback(at.ACCELERATE_SIGNATURE)
def accelerate_densely(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; by the mass matrix, for trees whose mimic joints share coordinates: a
    is (M + extra + h D + h^2 K)^-1 (force - bias - h K v), NaN if that is singular.
    """
    model = open_flexible(robot)
    tree = model.tree
    nv = tree.nv
    memory = recursion_memory(robot, work)
    data = carve_flexible(memory, tree.nb, tree.nq, nv, ONE_LANE).tree
    q, v, a = floats_at(q, tree.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(tree, v, force, floats_at(extra, nv), h, data.diagonal)
    if h != 0.0:
        add_implicit_modal_terms(model, v, force, h)
    rest = floats_at(work + 8 * memory.shape[0], nv * nv + nv)
    M, zeros = rest[0 : nv * nv].reshape(nv, nv), rest[nv * nv : nv * nv + nv]
    for i in range(nv):
        zeros[i] = 0.0
    flexible_composite_body(robot, memory, q, M)
    flexible_newton_euler(robot, memory, q, v, zeros, a)
    for i in range(model.nl):
        link = open_link(model, i)
        m, first = link.m, link.v
        for k in range(m):
            for l in range(m):
                M[first + k, first + l] += h * (link.D[k * m + l] + h * link.K[k * m + l])
    for i in range(nv):
        a[i] = force[i] - a[i]
    if cholesky(M, nv):
        cholesky_solve(M, nv, a)
    else:
        a[:] = np.nan
    return 0


@callback(at.LOSSES_SIGNATURE)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/stepping/table.py."""
    model = open_flexible(robot)
    n = model.tree.nv
    speed, mean = floats_at(speed, n), floats_at(mean, n)
    taken = joint_losses(model.tree, floats_at(v0, n), speed, mean)
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m
        for k in range(m):
            for l in range(m):
                taken += mean[link.v + k] * link.D[k * m + l] * speed[link.v + l]
    return taken


@callback(at.ENERGIES_SIGNATURE)
def energies(robot, work, t, q, v, out):
    """See numerics/stepping/table.py."""
    tree = open_tree(robot)
    memory = recursion_memory(robot, work)
    data = carve_flexible(memory, tree.nb, tree.nq, tree.nv, ONE_LANE).tree
    q, v = floats_at(q, tree.nq), floats_at(v, tree.nv)
    prepare_data(tree, data, 0.0)
    place_flexible(robot, memory, q)
    move_flexible(robot, memory, q, v)
    flexible_energies(robot, memory, q, v, floats_at(out, 3))
    prepare_data(tree, data, 1.0)
    return 0


@callback(at.LOAD_SIGNATURE)
def load(robot, work, q, k, bodies, points, wrenches, force):
    """See numerics/stepping/table.py; a node's points are in its own frame."""
    tree = open_tree(robot)
    memory = recursion_memory(robot, work)
    data = carve_flexible(memory, tree.nb, tree.nq, tree.nv, ONE_LANE).tree
    bodies, points, wrenches = ints_at(bodies, k), floats_at(points, 3 * k), floats_at(wrenches, 6 * k)
    force = floats_at(force, tree.nv)
    place_flexible(robot, memory, floats_at(q, tree.nq))
    for j in range(k):
        b = bodies[j]
        if b > 0:
            own = data.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
            point = points[3 * j : 3 * j + 3]
            px, py, pz = turn(load9(own, WORLD_ROTATION, 1, 0), point[0], point[1], point[2])
            ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
            carry_wrench(robot, memory, b, px + ox, py + oy, pz + oz, wrenches[6 * j : 6 * j + 6], force)
    return 0


@kernel
def carry_wrench(robot, memory, node, px, py, pz, w, force):
    """force += J' w of one wrench (moment; force) at the world point p of a node; reads `place_flexible`."""
    model = open_flexible(robot)
    tree = model.tree
    data = carve_flexible(memory, tree.nb, tree.nq, tree.nv, ONE_LANE)
    b = node
    while b > 0:
        own = data.tree.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
        r = load9(own, WORLD_ROTATION, 1, 0)
        ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        mx, my, mz = mx + w[0], my + w[1], mz + w[2]
        kind, i, p = tree.joint_type[b], tree.v_index[b], tree.parent[b]
        if kind == views.SECTION:
            below = data.tree.bodies[p * BODY_ROWS : (p + 1) * BODY_ROWS]
            load_section(model, data, b, load9(below, WORLD_ROTATION, 1, 0), mx, my, mz, w, force)
        elif kind == FREE:
            load_free(own, i, r, mx, my, mz, w, force)
        elif kind == REVOLUTE:
            force[i] += tree.ratio[b] * (r[2] * mx + r[5] * my + r[8] * mz)
        elif kind != views.FIXED:
            force[i] += tree.ratio[b] * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])
        b = p


@kernel(forceinline=True)
def load_section(model, data, b, r, mx, my, mz, w, force):
    """Moment m and force of w at a section, on the modes of its link (axes r)."""
    link = open_link(model, model.nodes[views.NODE_INTS * b + views.NODE_LINK])
    columns = open_columns(model, data, b, link.m)
    ax, ay, az = unturn(r, mx, my, mz)
    fx, fy, fz = unturn(r, w[3], w[4], w[5])
    for k in range(link.m):
        x = columns[6 * k : 6 * k + 6]
        force[link.v + k] += x[0] * ax + x[1] * ay + x[2] * az + x[3] * fx + x[4] * fy + x[5] * fz


@kernel(forceinline=True)
def load_free(own, i, r, mx, my, mz, w, force):
    """Moment m and force of w on a free joint, along the axes of its frame of reference."""
    t = load9(own, TURN, 1, 0)
    ax, ay, az = unturn(r, mx, my, mz)
    ax, ay, az = turn(t, ax, ay, az)
    fx, fy, fz = unturn(r, w[3], w[4], w[5])
    fx, fy, fz = turn(t, fx, fy, fz)
    force[i] += ax
    force[i + 1] += ay
    force[i + 2] += az
    force[i + 3] += fx
    force[i + 4] += fy
    force[i + 5] += fz


FLEXIBLE_MOTION = {
    at.PREPARE: prepare,
    at.ACCELERATE: accelerate,
    at.LOSSES: losses,
    at.ENERGIES: energies,
    at.LOAD: load,
}

#: the same for trees whose mimic joints share coordinates
DENSE_FLEXIBLE_MOTION = FLEXIBLE_MOTION | {at.ACCELERATE: accelerate_densely}
