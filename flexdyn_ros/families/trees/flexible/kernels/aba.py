"""Articulated-body algorithm with modal coordinates: accelerations in O(n).

Jain & Rodriguez 1992, Banerjee 1993. A link's modes are eliminated by the Cholesky factor of their inertia,
which includes all that hangs on the link, before the link's joint. Inertias as in rigid/kernels/aba.py, in
the axes of each node.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import aba
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.families.trees.rigid.kernels.resistance import (
    accelerate_motors,
    add_joint_resistance,
    eliminate_motors,
)
from flexdyn_ros.multibody.links.kernels.answers import open_forces
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load6, load9, symmetric, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import joint_passes, views
from .links import deform_moving
from .nodes import add_modal_resistance, link_of, place_node
from .section import accelerate_section, velocity_section
from .views import carve_flexible, open_columns, open_flexible, open_link, open_state

SPARE_ROW = 35


@inlined
def flexible_articulated_body(address, work, q, v, tau, a, stiffness_time, damping_time):
    """a = (M + extra)^-1 (tau - h); tau is overwritten. Reads what `prepare` and `couple_motors`
    wrote.

    extra: data.diagonal minus armature, and for each link stiffness_time K + damping_time D (h^2 and h in a
    linearly implicit step of h, else zero) [s2, s].
    """
    model = open_flexible(address)
    data = carve_flexible(work, model.tree.nb, model.tree.nq, model.tree.nv)
    start_nodes(model, data, q, v, tau, stiffness_time, damping_time)
    accelerate_nodes(model, data, tau, a)


@inlined
def start_nodes(model, data, q, v, tau, stiffness_time, damping_time):
    """The first half: velocities, inertia and bias of every node and link by itself."""
    add_joint_resistance(model.tree, q, v, -1.0, tau)
    eliminate_motors(model.tree, data.tree, tau)
    add_modal_resistance(model, data, q, v, -1.0, tau)
    start_outward(model, data, q, v, tau, stiffness_time, damping_time)


@inlined
def accelerate_nodes(model, data, tau, a):
    """The second half: joints and modes are eliminated from the tips to the root, then accelerate."""
    eliminate_inward(model, data, tau)
    accelerate_outward(model, data, a)
    accelerate_motors(model.tree, data.tree, tau, a)


@inlined
def start_outward(model, data, q, v, tau, stiffness_time, damping_time):
    """Velocities; inertia and bias of every node and link by itself."""
    tree = model.tree
    for b in range(1, tree.nb):
        place_node(model, data, b, q)
        p = tree.parent[b]
        below = window(data.tree.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        joint = window(data.tree.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        first = tree.v_index[b]
        kind = tree.joint_type[b]
        if kind == views.SECTION:
            velocity_section(model, data, b, q, v)
        elif kind == FREE:
            joint_passes.velocity_free(below, own, window(v, first, 6))
        elif kind == BALL:
            joint_passes.velocity_ball(below, own, window(v, first, 3))
        elif kind == views.FIXED:
            joint_passes.velocity_axis(below, own, window(v, 0, 1), 0.0, 0.0)
        else:
            spin, slide = tree.ratio[b] * tree.turn[b], tree.ratio[b] * tree.slide[b]
            joint_passes.velocity_axis(below, own, window(v, first, 1), spin, slide)
        joint_passes.start_inertia(window(tree.inertia, 10 * b, 10), own, joint)
        i = link_of(model, b)
        if i >= 0:
            link, state = open_link(model, i), open_state(model, data, i)
            wx, wy, wz = load3(own, at.OMEGA)
            deform_moving(link, state, q, v, wx, wy, wz)
            start_link(link, state, joint, tau, stiffness_time, damping_time)


@kernel(fastmath=FAST, forceinline=True)
def start_link(link, state, joint, tau, stiffness_time, damping_time):
    """Add the link's own inertia and bias to its node's; start F, L, t."""
    m = link.m
    rigid = state.rigid
    for i in range(6):
        joint[aba.A_ROW + i] += rigid[4 + i]
    joint[aba.H_ROW + 1] -= rigid[3]
    joint[aba.H_ROW + 2] += rigid[2]
    joint[aba.H_ROW + 3] += rigid[3]
    joint[aba.H_ROW + 5] -= rigid[1]
    joint[aba.H_ROW + 6] -= rigid[2]
    joint[aba.H_ROW + 7] += rigid[1]
    joint[aba.M_ROW] += rigid[0]
    joint[aba.M_ROW + 3] += rigid[0]
    joint[aba.M_ROW + 5] += rigid[0]
    for i in range(3):
        joint[aba.BIAS_MOMENT + i] += state.wrench[i]
        joint[aba.BIAS_FORCE + i] += state.wrench[3 + i]
    for k in range(m):
        for i in range(3):
            state.F[6 * k + i] = state.a[3 * k + i]
            state.F[6 * k + 3 + i] = state.s[3 * k + i]
        state.t[k] = tau[link.v + k] - state.h[k]
    for i in range(m * m):
        state.L[i] = state.M[i]
    if stiffness_time != 0.0 or damping_time != 0.0:
        if link.kind == views.BEAM:
            for i in range(m * m):
                state.L[i] += stiffness_time * link.K[i] + damping_time * link.D[i]
        else:
            found = open_forces(state.own, m)
            for i in range(m * m):
                state.L[i] += stiffness_time * found.stiffness[i] + damping_time * found.damping[i]


@inlined
def eliminate_inward(model, data, tau):
    """From the tips to the root: modes, then joints are eliminated, the rest is handed down."""
    tree = model.tree
    for b in range(tree.nb - 1, 0, -1):
        p = tree.parent[b]
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        joint = window(data.tree.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        base = window(data.tree.articulated, p * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        first = tree.v_index[b]
        kind = tree.joint_type[b]
        if kind == views.SECTION:
            i = model.nodes[views.NODE_INTS * b + views.NODE_LINK]
            link = open_link(model, i)
            hold_still(joint)
            load_modes(link, open_state(model, data, i), open_columns(model, data, b, link.m), own, joint)
            joint_passes.hand_down(own, joint, base)
            continue
        i = link_of(model, b)
        if i >= 0:
            eliminate_modes(open_link(model, i), open_state(model, data, i), joint, data.tree.diagonal)
        if kind == FREE:
            joint_passes.release_free(own, joint, window(tau, first, 6))
            if p > 0:
                joint_passes.hand_down_force(own, joint, base)
            continue
        rest = joint
        if kind == views.FIXED:
            hold_still(joint)
        elif kind == BALL:
            rest = window(data.tree.articulated, 0, at.ARTICULATED_ROWS)
            diagonal = window(data.tree.diagonal, first, 3)
            joint_passes.release_ball(own, joint, window(tau, first, 3), diagonal, rest)
        else:
            diagonal = window(data.tree.diagonal, first, 1)
            joint_passes.release_axis(joint, window(tau, first, 1), diagonal, tree.turn[b], tree.slide[b])
        if p > 0:
            joint_passes.hand_down(own, rest, base)


@kernel(fastmath=FAST, forceinline=True)
def hold_still(joint):
    """A node without a joint: nothing is eliminated."""
    for i in range(aba.U_MOMENT, aba.D_ROW + 1):
        joint[i] = 0.0


@kernel(fastmath=FAST, forceinline=True)
def carried_bias(own, joint):
    """Bias of a section's node (moment; force) with the velocity part of its accelerations: p + I c."""
    a, h, m = load6(joint, aba.A_ROW), load9(joint, aba.H_ROW), load6(joint, aba.M_ROW)
    cx, cy, cz = load3(own, at.BIAS_ALPHA)
    dx, dy, dz = load3(own, at.BIAS_ACCELERATION)
    x, y, z = symmetric(a, cx, cy, cz)
    sx, sy, sz = turn(h, dx, dy, dz)
    ux, uy, uz = load3(joint, aba.BIAS_MOMENT)
    ux, uy, uz = ux + x + sx, uy + y + sy, uz + z + sz
    x, y, z = unturn(h, cx, cy, cz)
    sx, sy, sz = symmetric(m, dx, dy, dz)
    fx, fy, fz = load3(joint, aba.BIAS_FORCE)
    return ux, uy, uz, fx + x + sx, fy + y + sy, fz + z + sz


@kernel(fastmath=FAST, forceinline=True)
def load_modes(link, state, columns, own, joint):
    """Let the modes feel the articulated inertia and bias of a section: L += Phi^T I Phi, F += I Phi, t -=
    Phi^T p."""
    m = link.m
    r = load9(own, at.ROTATION)
    px, py, pz = load3(own, at.ORIGIN)
    A = aba.rotate_symmetric(r, load6(joint, aba.A_ROW))
    H = joint_passes.rotate_full(r, load9(joint, aba.H_ROW))
    M = aba.rotate_symmetric(r, load6(joint, aba.M_ROW))
    bx, by, bz, cx, cy, cz = carried_bias(own, joint)
    bx, by, bz = turn(r, bx, by, bz)
    cx, cy, cz = turn(r, cx, cy, cz)
    for k in range(m):
        c = window(columns, 6 * k, 6)
        x0, x1, x2, x3, x4, x5 = c[0], c[1], c[2], c[3], c[4], c[5]
        state.t[k] -= x0 * bx + x1 * by + x2 * bz + x3 * cx + x4 * cy + x5 * cz
        mx, my, mz = symmetric(A, x0, x1, x2)
        ux, uy, uz = turn(H, x3, x4, x5)
        mx, my, mz = mx + ux, my + uy, mz + uz
        fx, fy, fz = symmetric(M, x3, x4, x5)
        ux, uy, uz = unturn(H, x0, x1, x2)
        fx, fy, fz = fx + ux, fy + uy, fz + uz
        row = window(state.L, m * k, m)
        for l in range(k + 1):
            d = window(columns, 6 * l, 6)
            row[l] += d[0] * mx + d[1] * my + d[2] * mz + d[3] * fx + d[4] * fy + d[5] * fz
        ux, uy, uz = cross(px, py, pz, fx, fy, fz)
        F = window(state.F, 6 * k, 6)
        add3(F, 0, mx + ux, my + uy, mz + uz)
        add3(F, 3, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def eliminate_modes(link, state, joint, diagonal):
    """L becomes its Cholesky factor, F and t become L^-1 F, L^-1 t; what is left goes to the node.

    A factor that does not exist leaves NaN, which the entries report.
    """
    m = link.m
    L, F, t = state.L, state.F, state.t
    for k in range(m):
        L[m * k + k] += diagonal[link.v + k]
    for k in range(m):
        row = window(L, m * k, m)
        Fk = window(F, 6 * k, 6)
        f0, f1, f2, f3, f4, f5, tk = Fk[0], Fk[1], Fk[2], Fk[3], Fk[4], Fk[5], t[k]
        d = row[k]
        for l in range(k):
            above = window(L, m * l, l)
            x = row[l]
            for i in range(l):
                x -= row[i] * above[i]
            x = x * L[m * l + l]
            row[l] = x
            d -= x * x
            Fl = window(F, 6 * l, 6)
            f0 -= x * Fl[0]
            f1 -= x * Fl[1]
            f2 -= x * Fl[2]
            f3 -= x * Fl[3]
            f4 -= x * Fl[4]
            f5 -= x * Fl[5]
            tk -= x * t[l]
        # the diagonal keeps its inverse
        d = 1.0 / np.sqrt(d)
        row[k] = d
        f0, f1, f2, f3, f4, f5, tk = f0 * d, f1 * d, f2 * d, f3 * d, f4 * d, f5 * d, tk * d
        Fk[0], Fk[1], Fk[2], Fk[3], Fk[4], Fk[5], t[k] = f0, f1, f2, f3, f4, f5, tk
        add3(joint, aba.A_ROW, -f0 * f0, -f0 * f1, -f0 * f2)
        add3(joint, aba.A_ROW + 3, -f1 * f1, -f1 * f2, -f2 * f2)
        add3(joint, aba.H_ROW, -f0 * f3, -f0 * f4, -f0 * f5)
        add3(joint, aba.H_ROW + 3, -f1 * f3, -f1 * f4, -f1 * f5)
        add3(joint, aba.H_ROW + 6, -f2 * f3, -f2 * f4, -f2 * f5)
        add3(joint, aba.M_ROW, -f3 * f3, -f3 * f4, -f3 * f5)
        add3(joint, aba.M_ROW + 3, -f4 * f4, -f4 * f5, -f5 * f5)
        add3(joint, aba.BIAS_MOMENT, f0 * tk, f1 * tk, f2 * tk)
        add3(joint, aba.BIAS_FORCE, f3 * tk, f4 * tk, f5 * tk)


@inlined
def accelerate_outward(model, data, a):
    """Accelerations of joints, modes and nodes from the root to the tips."""
    tree = model.tree
    for b in range(1, tree.nb):
        p = tree.parent[b]
        below = window(data.tree.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
        own = window(data.tree.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        joint = window(data.tree.articulated, b * at.ARTICULATED_ROWS, at.ARTICULATED_ROWS)
        first = tree.v_index[b]
        kind = tree.joint_type[b]
        if kind == views.SECTION:
            accelerate_section(model, data, b, a)
        elif kind == FREE:
            joint_passes.accelerate_free(below, own, joint, window(a, first, 6))
        elif kind == BALL:
            joint_passes.accelerate_ball(below, own, joint, window(a, first, 3))
        elif kind == views.FIXED:
            joint_passes.accelerate_axis(below, own, joint, window(joint, SPARE_ROW, 1), 0.0, 0.0)
        else:
            turns, slides = tree.turn[b], tree.slide[b]
            joint_passes.accelerate_axis(below, own, joint, window(a, first, 1), turns, slides)
        i = link_of(model, b)
        if i >= 0:
            accelerate_modes(open_link(model, i), open_state(model, data, i), own, a)


@kernel(fastmath=FAST, forceinline=True)
def accelerate_modes(link, state, own, a):
    """a = L^-T (t - F^T (angular; linear acceleration of the node)) of the link's modes."""
    m = link.m
    ax, ay, az = load3(own, at.ALPHA)
    lx, ly, lz = load3(own, at.ACCELERATION)
    for k in range(m):
        F = window(state.F, 6 * k, 6)
        a[link.v + k] = state.t[k] - (F[0] * ax + F[1] * ay + F[2] * az + F[3] * lx + F[4] * ly + F[5] * lz)
    for k in range(m - 1, -1, -1):
        x = a[link.v + k] * state.L[m * k + k]
        a[link.v + k] = x
        for l in range(k):
            a[link.v + l] -= state.L[m * k + l] * x
