"""Recursive Newton-Euler algorithm with flexible links: efforts and modal forces from motion.

The blocks are those of docs/theory/flexible_links.md, "Recursions", with the acceleration of a node's origin
in place of the spatial one. Sections are nodes, so that what hangs on a link reaches its modes by the
section's columns.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import rnea
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_joint_resistance
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load6, load9, symmetric, turn
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views
from .links import deform_driven
from .nodes import add_modal_resistance, link_of, place_node
from .section import accelerate_section, velocity_section
from .views import carve_flexible, open_columns, open_flexible, open_link, open_state


@inlined
def flexible_newton_euler(address, work, q, v, a, tau):
    """tau = M a + h. Reads what `prepare` wrote."""
    model = open_flexible(address)
    data = carve_flexible(work, model.tree.nb, model.tree.nq, model.tree.nv)
    flexible_outward(model, data, q, v, a, tau)
    flexible_inward(model, data, tau)
    add_joint_resistance(model.tree, q, v, 1.0, tau)
    add_modal_resistance(model, data, q, v, 1.0, tau)


@inlined
def flexible_inertial_forces(address, work, q, v, a, tau):
    """`flexible_newton_euler` without springs, damping, friction and elasticity."""
    model = open_flexible(address)
    data = carve_flexible(work, model.tree.nb, model.tree.nq, model.tree.nv)
    flexible_outward(model, data, q, v, a, tau)
    flexible_inward(model, data, tau)


@kernel(fastmath=FAST, forceinline=True)
def flexible_outward(model, data, q, v, a, tau):
    """Motion of every node and the wrench it asks for; tau = armature and the modal forces of each link
    alone."""
    tree = model.tree
    for i in range(tree.nv):
        tau[i] = data.tree.diagonal[i] * a[i]
    for b in range(1, tree.nb):
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        accelerate_node(model, data, b, own, q, v, a)
        rnea.weigh(window(tree.inertia, 10 * b, 10), own)
        i = link_of(model, b)
        if i >= 0:
            weigh_link(open_link(model, i), open_state(model, data, i), own, q, v, a, tau)


@kernel(fastmath=FAST, forceinline=True)
def accelerate_node(model, data, b, own, q, v, a):
    """Write pose, OMEGA, ALPHA and ACCELERATION of node b (rows `own`); reads those of its parent."""
    tree = model.tree
    place_node(model, data, b, q)
    below = window(data.tree.bodies, tree.parent[b] * at.BODY_ROWS, at.BODY_ROWS)
    first, kind = tree.v_index[b], tree.joint_type[b]
    if kind == views.SECTION:
        velocity_section(model, data, b, q, v)
        accelerate_section(model, data, b, a)
    elif kind == FREE:
        rnea.move_free(below, own, window(v, first, 6), window(a, first, 6))
    elif kind == BALL:
        rnea.move_ball(below, own, window(v, first, 3), window(a, first, 3))
    elif kind == views.FIXED:
        rnea.move_screw(below, own, v[0:1], a[0:1], 0.0, 0.0)
    else:
        spin, slide = tree.ratio[b] * tree.turn[b], tree.ratio[b] * tree.slide[b]
        rnea.move_screw(below, own, window(v, first, 1), window(a, first, 1), spin, slide)


@kernel(fastmath=FAST, forceinline=True)
def weigh_link(link, state, own, q, v, a, tau):
    """Add the wrench that a flexible link's motion asks for to its node's, and its modal forces to tau."""
    m = link.m
    wx, wy, wz = load3(own, at.OMEGA)
    deform_driven(link, state, q, v, a, wx, wy, wz)
    rigid, wrench = state.rigid, state.wrench
    ax, ay, az = load3(own, at.ALPHA)
    lx, ly, lz = load3(own, at.ACCELERATION)
    cx, cy, cz = rigid[1], rigid[2], rigid[3]
    ux, uy, uz = cross(ax, ay, az, cx, cy, cz)
    fx = rigid[0] * lx + ux + wrench[3]
    fy = rigid[0] * ly + uy + wrench[4]
    fz = rigid[0] * lz + uz + wrench[5]
    ux, uy, uz = cross(cx, cy, cz, lx, ly, lz)
    mx, my, mz = symmetric(load6(rigid, 4), ax, ay, az)
    mx, my, mz = mx + ux + wrench[0], my + uy + wrench[1], mz + uz + wrench[2]
    for k in range(m):
        d = a[link.v + k]
        s, t = window(state.s, 3 * k, 3), window(state.a, 3 * k, 3)
        fx += d * s[0]
        fy += d * s[1]
        fz += d * s[2]
        mx += d * t[0]
        my += d * t[1]
        mz += d * t[2]
        tau[link.v + k] += state.h[k] + s[0] * lx + s[1] * ly + s[2] * lz + t[0] * ax + t[1] * ay + t[2] * az
    add3(own, at.MOMENT, mx, my, mz)
    add3(own, at.FORCE, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def flexible_inward(model, data, tau):
    """Collect wrenches from the tips to the root, project them on joints and on the modes that move
    sections."""
    tree = model.tree
    for b in range(tree.nb - 1, 0, -1):
        p = tree.parent[b]
        below = window(data.tree.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        first = tree.v_index[b]
        kind = tree.joint_type[b]
        if kind == views.SECTION:
            link = open_link(model, model.nodes[views.NODE_INTS * b + views.NODE_LINK])
            columns = open_columns(model, data, b, link.m)
            project_section(link, columns, own, tau)
        elif kind == FREE:
            rnea.project_free(own, window(tau, first, 6))
        elif kind == BALL:
            rnea.project_ball(own, window(tau, first, 3))
        elif kind != views.FIXED:
            along = tree.turn[b] * own[at.MOMENT + 2] + tree.slide[b] * own[at.FORCE + 2]
            tau[first] += tree.ratio[b] * along
        if p > 0:
            rnea.hand_down(below, own)


@kernel(fastmath=FAST, forceinline=True)
def project_section(link, columns, own, tau):
    """Add the modal forces of a section's wrench to tau."""
    r = load9(own, at.ROTATION)
    mx, my, mz = load3(own, at.MOMENT)
    fx, fy, fz = load3(own, at.FORCE)
    mx, my, mz = turn(r, mx, my, mz)
    fx, fy, fz = turn(r, fx, fy, fz)
    for k in range(link.m):
        c = window(columns, 6 * k, 6)
        tau[link.v + k] += c[0] * mx + c[1] * my + c[2] * mz + c[3] * fx + c[4] * fy + c[5] * fz
