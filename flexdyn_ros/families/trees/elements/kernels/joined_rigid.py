"""Forward dynamics of a rigid tree with what the inertias of its bodies gain (joined.py)."""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.aba import accelerate_bodies, start_bodies
from flexdyn_ros.families.trees.rigid.kernels.entries import load, opened, ready
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
    gather_inertias(head, room_of(address, work)[1], True, gains, inertia)
    model, data = opened(address, work)
    for i in range(model.nv):
        data.tau[i] = tau[i]
    couple_motors(model, data, 0.0)
    start_bodies(model, data, q, v, data.tau)
    join_inertias(gains, model.nb, data.articulated)
    accelerate_bodies(model, data, data.tau, a)
    return OK


@inlined
def on_floats(address, work, q, v, tau, a):
    """On float64 numbers."""
    return with_gains(address, work, q, v, tau, a, INERTIA)


@inlined
def on_lanes(address, work, q, v, tau, a):
    """On lanes."""
    return with_gains(address, work, q, v, tau, a, INERTIA_ON_LANES)


functions = forwards_of(__name__, ready, load, on_floats, on_lanes)
