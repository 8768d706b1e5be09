"""What the recursions over a flexible tree have in common: nodes of every type, forces inside the links."""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.joints import FAST, place_body
from flexdyn_ros.families.trees.rigid.kernels.views import BODY_ROWS, ORIGIN, ROTATION
from flexdyn_ros.multibody.links.kernels.answers import open_forces
from flexdyn_ros.numerics.algebra.rotations import store3
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .links import ask_own_forces
from .section import place_section
from .views import BEAM, FIXED, NODE_INTS, NODE_LINK, SECTION, open_link, open_state


@kernel(fastmath=FAST, forceinline=True)
def link_of(model, node):
    """Index of the flexible link that a node carries, -1 if none."""
    return -1 if model.tree.joint_type[node] == SECTION else model.nodes[NODE_INTS * node + NODE_LINK]


@kernel(fastmath=FAST, forceinline=True)
def place_node(model, data, node, q):
    """Write ROTATION, ORIGIN of a node (and TURN, or the columns of a section)."""
    kind = model.tree.joint_type[node]
    if kind == SECTION:
        place_section(model, data, node, q)
    elif kind == FIXED:
        own = window(data.tree.bodies, BODY_ROWS * node, BODY_ROWS)
        x = window(model.tree.placement, 12 * node, 12)
        for i in range(9):
            own[ROTATION + i] = x[i] + 0.0 * q[0]
        store3(own, ORIGIN, x[9], x[10], x[11])
    else:
        place_body(model.tree, data.tree, node, q)


@kernel(fastmath=FAST, forceinline=True)
def add_modal_resistance(model, data, q, v, sign, tau):
    """tau += sign (K delta + D ddelta) of every beam, and the own forces of links of other kinds."""
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m
        if link.kind != BEAM:
            state = open_state(model, data, i)
            ask_own_forces(link, state, q, v)
            force = open_forces(state.own, m).force
            for k in range(m):
                tau[link.v + k] += sign * force[k]
            continue
        for k in range(m):
            f = 0.0 * q[0] * v[0]
            for l in range(m):
                f += link.K[k * m + l] * q[link.q + l] + link.D[k * m + l] * v[link.v + l]
            tau[link.v + k] += sign * f
