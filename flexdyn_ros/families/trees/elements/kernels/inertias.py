"""Masses of elements that stand on the fixed world with one end: they join the inertia of the link that
carries the other end, before its recursion, so that they cost no row of the small system (steps.py).

The wrench (moment; force) that such a mass takes of its link is G (angular; linear acceleration) of the frame
there, and what velocities and gravity take, which weights.py adds to the forces. About the origin of the
link's node, with P = [p]x of the arm p to the frame, the blocks (A H; H' M) of the node's inertia gain

    M = G_fa,   H = G_ma + P M,   A = G_mm + P G_fm - (G_ma + P M) P.

The recursion of flexible trees lets a node's inertia act on all of its acceleration, also on the part that it
has where no coordinate accelerates, of which the forces know. That part's wrench leaves the node's bias.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.aba import accelerate_nodes, start_nodes
from flexdyn_ros.families.trees.flexible.kernels.steps import add_implicit_terms, recursion_memory
from flexdyn_ros.families.trees.flexible.kernels.views import carve_flexible, open_flexible
from flexdyn_ros.families.trees.rigid.kernels import aba
from flexdyn_ros.families.trees.rigid.kernels import views as tree
from flexdyn_ros.families.trees.rigid.kernels.aba import accelerate_bodies, start_bodies
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_implicit_joint_terms, couple_motors
from flexdyn_ros.families.trees.rigid.kernels.views import open_data, open_tree
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.algebra.rotations import add_cross, cross, load3, load9, pick, store3
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .views import (
    ACCELERATION,
    ADDED_AT,
    COUNT,
    END_IS_HELD,
    JOINS,
    NUMBERS,
    NUMBERS_AT,
    OWN,
    ROWS,
    WEIGHT,
    WITH_MOMENT,
    header_of,
    row_of,
)
from .weights import call, hold_still

#: numbers that a node's inertia gains: A (9), H (9), M (9), by rows, and what leaves its bias (6)
ADDED = 33


@kernel(forceinline=True)
def added_at(head, work):
    """What the inertias of nodes gain (ADDED nb,), flat, in the work memory of steps."""
    return floats_at(work + 8 * head[ADDED_AT], ADDED * head[tree.NB])


@kernel
def gather_inertias(head, rows, in_world, added, inertia):
    """Write what the inertias of nodes gain, after motion and accelerations of all elements; in_world: in
    world axes, else in those of each node; inertia: column of the C functions for this number type."""
    for i in range(added.shape[0]):
        added[i] = 0.0 * rows[0]
    for i in range(head[COUNT]):
        row = row_of(head, i)
        if row[JOINS] > 0:
            first = 0 if row[END_IS_HELD] != 0 else 6
            numbers = floats_at(head[NUMBERS] + 8 * row[NUMBERS_AT], OWN)
            placement, own = window(numbers, 2 * first, 12), tail(rows, ROWS * i)
            r = node_axes(load9(tail(own, 3 * first), at.ROTATION), load9(placement, 0))
            p = load3(placement, 9)
            block = window(added, ADDED * row[JOINS], ADDED)
            ax, ay, az = load3(own, ACCELERATION + first)
            lx, ly, lz = load3(own, ACCELERATION + first + 3)
            wx, wy, wz = load3(tail(own, 3 * first), at.OMEGA)
            px, py, pz = turned(r, p)
            hold_still(rows, i)
            if in_world:
                p = (px, py, pz)
            else:
                # of the frame as if the node had its accelerations and no velocity
                cx, cy, cz = cross(wx, wy, wz, px, py, pz)
                lx, ly, lz = add_cross(lx, ly, lz, -wx, -wy, -wz, cx, cy, cz)
                store3(own, ACCELERATION + first, ax, ay, az)
                store3(own, ACCELERATION + first + 3, lx, ly, lz)
                m, f = wrench_about(head, i, rows, first, r, p, in_world, inertia)
                for j in range(3):
                    block[27 + j] += m[j]
                    block[30 + j] += f[j]
            for k in range(0 if row[WITH_MOMENT] != 0 else 3, 6):
                add_column(head, i, rows, first, k, r, p, in_world, inertia, block)


@kernel(forceinline=True)
def node_axes(frame, placement):
    """World <- node from world <- frame and node <- frame."""
    m, n = frame, placement
    return (
        m[0] * n[0] + m[1] * n[1] + m[2] * n[2],
        m[0] * n[3] + m[1] * n[4] + m[2] * n[5],
        m[0] * n[6] + m[1] * n[7] + m[2] * n[8],
        m[3] * n[0] + m[4] * n[1] + m[5] * n[2],
        m[3] * n[3] + m[4] * n[4] + m[5] * n[5],
        m[3] * n[6] + m[4] * n[7] + m[5] * n[8],
        m[6] * n[0] + m[7] * n[1] + m[8] * n[2],
        m[6] * n[3] + m[7] * n[4] + m[8] * n[5],
        m[6] * n[6] + m[7] * n[7] + m[8] * n[8],
    )


@kernel(forceinline=True)
def turned(r, x):
    """r x"""
    return (
        r[0] * x[0] + r[1] * x[1] + r[2] * x[2],
        r[3] * x[0] + r[4] * x[1] + r[5] * x[2],
        r[6] * x[0] + r[7] * x[1] + r[8] * x[2],
    )


@kernel(forceinline=True)
def turned_back(r, x):
    """r^T x"""
    return (
        r[0] * x[0] + r[3] * x[1] + r[6] * x[2],
        r[1] * x[0] + r[4] * x[1] + r[7] * x[2],
        r[2] * x[0] + r[5] * x[1] + r[8] * x[2],
    )


@kernel
def add_column(head, i, rows, first, k, r, p, in_world, inertia, block):
    """Column k of G: the frame of element i accelerates by a unit along axis k - 3 of the node (of the
    world), or about axis k.

    The node's turn about axis d moves the frame along e_d x p, so that the column of H and M of axis c is a
    part of the columns of A of the other two axes.
    """
    own = tail(rows, ROWS * i)
    for j in range(at.ACCELERATION):
        own[ACCELERATION + j] = 0.0
    for j in range(3):
        x = pick(k % 3, r[3 * j], r[3 * j + 1], r[3 * j + 2])
        if in_world:
            x = 0.0 * x + (1.0 if j == k % 3 else 0.0)
        own[ACCELERATION + first + 3 * (k // 3) + j] = x
    m, f = wrench_about(head, i, rows, first, r, p, in_world, inertia)
    c = k % 3
    if k < 3:
        for j in range(3):
            block[3 * j + c] += m[j]
        return
    for j in range(3):
        block[9 + 3 * j + c] += m[j]
        block[18 + 3 * j + c] += f[j]
    d, e = (c + 1) % 3, (c + 2) % 3
    pd, pe = pick(d, p[0], p[1], p[2]), pick(e, p[0], p[1], p[2])
    for j in range(3):
        block[3 * j + d] += m[j] * pe
        block[3 * j + e] -= m[j] * pd


@kernel(forceinline=True)
def wrench_about(head, i, rows, first, r, p, in_world, inertia):
    """Moment about the node's origin, and force, that element i takes at the accelerations in its rows."""
    call(head, i, rows, inertia)
    own = tail(rows, ROWS * i + WEIGHT + at.WRENCHES + first)
    m, f = load3(own, 0), load3(own, 3)
    if not in_world:
        m, f = turned_back(r, m), turned_back(r, f)
    n = cross(p[0], p[1], p[2], f[0], f[1], f[2])
    return (m[0] + n[0], m[1] + n[1], m[2] + n[2]), f


@kernel
def join_inertias(added, nb, articulated):
    """Add what the inertias of nodes gain, and what leaves their bias, to those that they begin with."""
    for b in range(1, nb):
        gain = window(added, ADDED * b, ADDED)
        joint = window(articulated, b * tree.ARTICULATED_ROWS, tree.ARTICULATED_ROWS)
        for i in range(9):
            joint[aba.H_ROW + i] += gain[9 + i]
        n = 0
        for i in range(3):
            joint[aba.BIAS_MOMENT + i] -= gain[27 + i]
            joint[aba.BIAS_FORCE + i] -= gain[30 + i]
            for j in range(i, 3):
                joint[aba.A_ROW + n] += gain[3 * i + j]
                joint[aba.M_ROW + n] += gain[18 + 3 * i + j]
                n += 1


@callback(table.accelerate.signature)
def accelerate_rigid(robot, work, t, q, v, force, extra, h, a):
    """`accelerate` of rigid trees (rigid/kernels/steps.py) with what the inertias of bodies gain."""
    address = robot_of(robot)
    model = open_tree(address)
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(model, v, force, floats_at(extra, nv), h, data.diagonal)
    couple_motors(model, data, h)
    start_bodies(model, data, q, v, force)
    join_inertias(added_at(header_of(address), work), model.nb, data.articulated)
    accelerate_bodies(model, data, force, a)
    return 0


@callback(table.accelerate.signature)
def accelerate_flexible(robot, work, t, q, v, force, extra, h, a):
    """`accelerate` of trees with flexible links (flexible/kernels/steps.py) with what the inertias of nodes
    gain."""
    address = robot_of(robot)
    model = open_flexible(address)
    nv = model.tree.nv
    whole = carve_flexible(recursion_memory(address, work), model.tree.nb, model.tree.nq, nv)
    q, v, a = floats_at(q, model.tree.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_terms(model, whole, q, v, force, floats_at(extra, nv), h)
    start_nodes(model, whole, q, v, force, h * h, h)
    join_inertias(added_at(header_of(address), work), model.tree.nb, whole.tree.articulated)
    accelerate_nodes(model, whole, force, a)
    return 0
