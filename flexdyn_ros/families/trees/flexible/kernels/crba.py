"""Composite inertias with flexible links: the mass matrix."""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.aba import rotate_symmetric
from flexdyn_ros.families.trees.rigid.kernels.crba import (
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    add_composite,
    project_on_joint,
    push,
    push_free,
    start_composite,
)
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load6, load9, store3, symmetric, turn
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views
from .links import deform_with_mass
from .nodes import link_of, place_node
from .views import carve_flexible, open_columns, open_flexible, open_link, open_state


@inlined
def flexible_composite_body(address, work, q, M):
    """Write the mass matrix M (nv, nv). Reads data.diagonal (`prepare`)."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    start_inertias(model, data, q)
    collect_inward(model, data)
    M[:] = 0.0
    for i in range(tree.nv):
        M[i, i] = data.tree.diagonal[i]
    for b in range(1, tree.nb):
        i = tree.v_index[b]
        kind = tree.joint_type[b]
        if FREE <= kind <= BALL:
            for c in range(6 if kind == FREE else 3):
                push_free(data.tree, b, c)
                project_up(model, data, b, i + c, 1.0, c, M)
        elif kind < FREE:
            push(data.tree, b, 0.0, 0.0, tree.turn[b], 0.0, 0.0, tree.slide[b])
            project_up(model, data, b, i, tree.ratio[b], 0, M)
        i = link_of(model, b)
        if i >= 0:
            write_modes(model, data, b, open_link(model, i), open_state(model, data, i), M)


@kernel(fastmath=FAST, forceinline=True)
def start_inertias(model, data, q):
    """Place all nodes, deform all links; every node's inertia by itself, about its origin, in its axes."""
    tree = model.tree
    for b in range(1, tree.nb):
        place_node(model, data, b, q)
        own = window(data.tree.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        start_composite(own, window(tree.inertia, 10 * b, 10))
        i = link_of(model, b)
        if i >= 0:
            link, state = open_link(model, i), open_state(model, data, i)
            deform_with_mass(link, state, q)
            own[C_MASS] += state.rigid[0]
            for j in range(3):
                own[C_MOMENT + j] += state.rigid[1 + j]
            for j in range(6):
                own[C_INERTIA + j] += state.rigid[4 + j]
            for k in range(link.m):
                for j in range(3):
                    state.F[6 * k + j] = state.a[3 * k + j]
                    state.F[6 * k + 3 + j] = state.s[3 * k + j]
            for k in range(link.m * link.m):
                state.L[k] = state.M[k]


@kernel(fastmath=FAST, forceinline=True)
def collect_inward(model, data):
    """Composite inertias; the modes of a link feel those of its sections."""
    tree = model.tree
    for b in range(tree.nb - 1, 0, -1):
        p = tree.parent[b]
        if p == 0:
            continue
        own = window(data.tree.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        base = window(data.tree.articulated, p * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        body = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        r = load9(body, at.ROTATION)
        x, y, z = load3(body, at.ORIGIN)
        m = own[C_MASS]
        cx, cy, cz = load3(own, C_MOMENT)
        cx, cy, cz = turn(r, cx, cy, cz)
        i = rotate_symmetric(r, load6(own, C_INERTIA))
        if tree.joint_type[b] == views.SECTION:
            number = model.nodes[views.NODE_INTS * b + views.NODE_LINK]
            link = open_link(model, number)
            columns = open_columns(model, data, b, link.m)
            load_modal_inertia(link, open_state(model, data, number), columns, i, cx, cy, cz, m, x, y, z)
        add_composite(base, i, cx, cy, cz, m, x, y, z)


@kernel(fastmath=FAST, forceinline=True)
def load_modal_inertia(link, state, columns, inertia, cx, cy, cz, mass, px, py, pz):
    """Add what a section carries (about its centre, axes of the link's node) to L and F of the link."""
    m = link.m
    for k in range(m):
        x = window(columns, 6 * k, 6)
        mx, my, mz = symmetric(inertia, x[0], x[1], x[2])
        ux, uy, uz = cross(cx, cy, cz, x[3], x[4], x[5])
        mx, my, mz = mx + ux, my + uy, mz + uz
        ux, uy, uz = cross(x[0], x[1], x[2], cx, cy, cz)
        fx, fy, fz = mass * x[3] + ux, mass * x[4] + uy, mass * x[5] + uz
        for l in range(m):
            d = window(columns, 6 * l, 6)
            state.L[m * k + l] += d[0] * mx + d[1] * my + d[2] * mz + d[3] * fx + d[4] * fy + d[5] * fz
        ux, uy, uz = cross(px, py, pz, fx, fy, fz)
        F = window(state.F, 6 * k, 6)
        add3(F, 0, mx + ux, my + uy, mz + uz)
        add3(F, 3, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def write_modes(model, data, b, link, state, M):
    """Rows and columns of the modes of the link that node b carries."""
    m, v = link.m, link.v
    body = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    for k in range(m):
        for l in range(k):
            M[v + k, v + l] += state.L[m * k + l]
            M[v + l, v + k] += state.L[m * k + l]
        M[v + k, v + k] += state.L[m * k + k]
        F = window(state.F, 6 * k, 6)
        store3(body, at.MOMENT, F[0], F[1], F[2])
        store3(body, at.FORCE, F[3], F[4], F[5])
        project_up(model, data, b, v + k, 1.0, -1, M)


@kernel(fastmath=FAST, forceinline=True)
def project_up(model, data, b, column, ratio, own_part, M):
    """Carry the wrench of node b to the root and write its projections on what it passes, times ratio.

    own_part: which coordinate of the node's own joint has pushed, -1 if a mode has.
    """
    tree = model.tree
    body = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    mx, my, mz = load3(body, at.MOMENT)
    fx, fy, fz = load3(body, at.FORCE)
    j = b
    while j > 0:
        body = window(data.tree.bodies, j * at.BODY_ROWS, at.BODY_ROWS)
        kind = tree.joint_type[j]
        if kind <= BALL:
            is_own = j == b and own_part >= 0
            project_on_joint(tree, body, j, is_own, column, ratio, own_part, mx, my, mz, fx, fy, fz, M)
        r = load9(body, at.ROTATION)
        px, py, pz = load3(body, at.ORIGIN)
        fx, fy, fz = turn(r, fx, fy, fz)
        mx, my, mz = turn(r, mx, my, mz)
        if kind == views.SECTION:
            link = open_link(model, model.nodes[views.NODE_INTS * j + views.NODE_LINK])
            columns = open_columns(model, data, j, link.m)
            for k in range(link.m):
                c = window(columns, 6 * k, 6)
                value = c[0] * mx + c[1] * my + c[2] * mz + c[3] * fx + c[4] * fy + c[5] * fz
                M[link.v + k, column] += ratio * value
                M[column, link.v + k] += ratio * value
        ux, uy, uz = cross(px, py, pz, fx, fy, fz)
        mx, my, mz = mx + ux, my + uy, mz + uz
        j = tree.parent[j]
