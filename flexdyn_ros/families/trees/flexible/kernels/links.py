"""What the recursions ask of a link: of a beam by kernels that are compiled into them, of another kind by its
functions behind addresses (multibody/links/kernels/answers.py).

Both leave their answers where the recursions read them: inertia, coupling, own mass matrix and the forces of
the velocities in `State`, pose and columns of sections in the rows of their nodes.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.kernels.joints import FAST
from flexdyn_ros.multibody.links.kernels.answers import (
    INERTIA,
    OWN_FORCES,
    STATION,
    STATION_BIAS,
    WORDS,
    call_inertia,
    call_own_forces,
    call_station,
    call_station_bias,
)
from flexdyn_ros.numerics.algebra.rotations import store3
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.columns import column_of

from .inertia import deform, modal_mass, motion_forces, velocity_forces
from .views import BEAM, NODE_FLOATS, NODE_INTS, open_columns


@kernel(fastmath=FAST, forceinline=True)
def function_of_link(link, row, numbers):
    """Address of a function of a link's kind for the type of these numbers."""
    return ints_at(link.kind, WORDS)[row + column_of(numbers)]


# ---- inertia ----


@kernel(fastmath=FAST)
def ask_inertia(link, state, q, v, wx, wy, wz):
    """Write the `Inertia` of a link that is no beam; v: rates (m,) of its own coordinates."""
    m, turn = link.m, window(state.before, 0, 3)
    store3(turn, 0, wx, wy, wz)
    of_link = m, link.own.shape[0], address_of(link.own)
    motion = address_of(window(q, link.q, m)), address_of(v), address_of(turn)
    call_inertia(function_of_link(link, INERTIA, q), (*of_link, *motion, address_of(state.rigid)))


@kernel(fastmath=FAST)
def ask_inertia_at_rest(link, state, q):
    """`ask_inertia` without velocities."""
    zero, v = 0.0 * q[0], window(state.after, 0, link.m)
    for k in range(link.m):
        v[k] = zero
    ask_inertia(link, state, q, v, zero, zero, zero)


@kernel(fastmath=FAST, forceinline=True)
def deform_link(link, state, q):
    """Write rigid, s, a of a link."""
    if link.kind == BEAM:
        deform(link, state, q)
    else:
        ask_inertia_at_rest(link, state, q)


@kernel(fastmath=FAST, forceinline=True)
def deform_with_mass(link, state, q):
    """Write rigid, s, a, M of a link."""
    if link.kind == BEAM:
        deform(link, state, q)
        modal_mass(link, state, q)
    else:
        ask_inertia_at_rest(link, state, q)


@kernel(fastmath=FAST, forceinline=True)
def deform_moving(link, state, q, v, wx, wy, wz):
    """Write rigid, s, a, M, and wrench and h of the velocities."""
    if link.kind == BEAM:
        deform(link, state, q)
        modal_mass(link, state, q)
        velocity_forces(link, state, q, v, wx, wy, wz)
    else:
        ask_inertia(link, state, q, window(v, link.v, link.m), wx, wy, wz)


@kernel(fastmath=FAST, forceinline=True)
def deform_driven(link, state, q, v, a, wx, wy, wz):
    """Write rigid, s, a, wrench, and h of velocities and own accelerations in a."""
    if link.kind == BEAM:
        deform(link, state, q)
        motion_forces(link, state, q, v, a, wx, wy, wz)
    else:
        m = link.m
        ask_inertia(link, state, q, window(v, link.v, m), wx, wy, wz)
        for k in range(m):
            for l in range(m):
                state.h[k] += state.M[m * k + l] * a[link.v + l]


# ---- own forces ----


@kernel(fastmath=FAST)
def ask_own_forces(link, state, q, v):
    """Write the `Forces` of a link that is no beam."""
    m = link.m
    of_link = m, link.own.shape[0], address_of(link.own)
    motion = address_of(window(q, link.q, m)), address_of(window(v, link.v, m))
    call_own_forces(function_of_link(link, OWN_FORCES, q), (*of_link, *motion, address_of(state.own)))


# ---- sections ----


@kernel(fastmath=FAST)
def ask_station(model, data, link, node, q):
    """Write ROTATION, ORIGIN and the columns of a section of a link that is no beam."""
    m = link.m
    own = window(data.tree.bodies, at.BODY_ROWS * node, at.BODY_ROWS)
    s = window(model.numbers, model.nodes[NODE_INTS * node + NODE_FLOATS], 1)
    of_link = m, link.own.shape[0], address_of(link.own)
    found = address_of(window(own, at.ROTATION, 12)), address_of(open_columns(model, data, node, m))
    where = address_of(s), address_of(window(q, link.q, m))
    call_station(function_of_link(link, STATION, q), (*of_link, *where, *found))


@kernel(fastmath=FAST)
def ask_station_rates(model, data, link, node, q, v):
    """Write the twist of such a section behind its columns; returns the velocity part of its acceleration."""
    m = link.m
    columns = open_columns(model, data, node, m)
    twist, bias = window(columns, 6 * m, 6), window(columns, 6 * m + 6, 6)
    for i in range(6):
        twist[i] = 0.0 * q[0] * v[0]
        for k in range(m):
            twist[i] += columns[6 * k + i] * v[link.v + k]
    s = window(model.numbers, model.nodes[NODE_INTS * node + NODE_FLOATS], 1)
    of_link = m, link.own.shape[0], address_of(link.own)
    motion = address_of(window(q, link.q, m)), address_of(window(v, link.v, m))
    call_station_bias(
        function_of_link(link, STATION_BIAS, q), (*of_link, address_of(s), *motion, address_of(bias))
    )
    return bias[0], bias[1], bias[2], bias[3], bias[4], bias[5]
