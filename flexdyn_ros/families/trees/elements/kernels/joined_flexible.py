"""Forward dynamics of a tree with flexible links with what the inertias of its nodes gain (joined.py)."""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.aba import accelerate_nodes, start_nodes
from flexdyn_ros.families.trees.flexible.kernels.entries import load_wrenches, ready
from flexdyn_ros.families.trees.flexible.kernels.views import carve_flexible, open_flexible
from flexdyn_ros.families.trees.rigid.kernels.resistance import couple_motors
from flexdyn_ros.numerics.compiling.compiler import inlined
from flexdyn_ros.numerics.compiling.status import OK
from flexdyn_ros.numerics.verbs.functions_of import forwards_of

from .inertias import gather_inertias, join_inertias
from .joined import gains_of
from .views import INERTIA, INERTIA_ON_LANES, header_of, room_of


@inlined
def with_gains(address, work, q, v, tau, a, inertia):
    """a of a tree whose elements have moved; inertia: column of their C functions for this number type."""
    head, gains = header_of(address), gains_of(address, work)
    gather_inertias(head, room_of(address, work)[1], False, gains, inertia)
    model = open_flexible(address)
    tree = model.tree
    whole = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    for i in range(tree.nv):
        whole.tree.tau[i] = tau[i]
    couple_motors(tree, whole.tree, 0.0)
    start_nodes(model, whole, q, v, whole.tree.tau, 0.0, 0.0)
    join_inertias(gains, tree.nb, whole.tree.articulated)
    accelerate_nodes(model, whole, whole.tree.tau, a)
    return OK


@inlined
def on_floats(address, work, q, v, tau, a):
    """On float64 numbers."""
    return with_gains(address, work, q, v, tau, a, INERTIA)


@inlined
def on_lanes(address, work, q, v, tau, a):
    """On lanes."""
    return with_gains(address, work, q, v, tau, a, INERTIA_ON_LANES)


functions = forwards_of(__name__, ready, load_wrenches, on_floats, on_lanes)
