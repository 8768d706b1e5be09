"""What the recursions over a flexible tree have in common: nodes of every type, forces inside the links."""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.joints import FAST, place_body
from flexdyn_ros.families.trees.rigid.kernels.views import BODY_ROWS, ORIGIN, ROTATION
from flexdyn_ros.numerics.algebra.rotations import store3
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .section import place_section
from .views import FIXED, NODE_INTS, NODE_LINK, SECTION, open_link


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
def add_modal_resistance(model, q, v, sign, tau):
    """tau += sign (K delta + D ddelta) of every flexible link."""
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m
        for k in range(m):
            f = 0.0 * q[0] * v[0]
            for l in range(m):
                f += link.K[k * m + l] * q[link.q + l] + link.D[k * m + l] * v[link.v + l]
            tau[link.v + k] += sign * f
