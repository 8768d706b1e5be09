"""Loops around a tree as kernels see them: words of the header that all layers share, and the rows of the
loops at a state of the tree.

Each row phi of a closed joint is linear in the twists of its frames (multibody/constraints/kernels); what
a unit of its multiplier does to the coordinates is its row of J, carried inward along both branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.elements.kernels.weights import keep_acceleration, turn_to_world
from flexdyn_ros.families.trees.flexible.kernels.kinematics import flexible_jacobian
from flexdyn_ros.families.trees.flexible.kernels.nodes import place_node
from flexdyn_ros.families.trees.flexible.kernels.rnea import accelerate_node
from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE, carve_flexible, open_flexible
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.kinematics import in_world, place_on_parent
from flexdyn_ros.families.trees.rigid.kernels.views import prepare
from flexdyn_ros.multibody.constraints.kernels.residual import LINE, RATE, ROW, SECOND, VALUE, closed_row
from flexdyn_ros.multibody.elements.kernels.law import (
    ACCELERATION,
    FRAME,
    MOTION,
    OMEGA,
    POSITION,
    ROTATION,
    VELOCITY,
)
from flexdyn_ros.numerics.algebra.rotations import load3, load9, store3, store9
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import copy, shaped, window
from flexdyn_ros.numerics.numbers.functions import equal, holds
from flexdyn_ros.numerics.verbs.table import table_at

from . import metric

#: words of loops in a header: behind those of all other layers
FIRST, LOOPS_HEADER = 49, 68
(
    COUNT,  # of loops
    ROWS,  # of all loops
    KINDS,  # of each row: its kind, its loop, the length of a rod
    LOOP_OF,
    LENGTHS,
    NODES,  # of base and end of each loop: the node that carries it, its placement (12) there
    PLACEMENTS,
    RANK,  # of the rows at the neutral pose
    MOVES,  # marks of the coordinates that move onto the loops
    SIZES,  # roots of the inertias of the coordinates at the neutral pose
    INNER,  # the table of what is within
    STEPS_WORK,  # numbers of work memory of its steps
    SEE,  # address of `see_all`
    LOST,  # how often rows were nearly fewer than at the neutral pose; the share of their pivots that says so
    TAKING,  # of exports: how many rows they take, which, and forces along these of the size of others
    TAKEN,
    SHARES,
    HELD,  # marks of coordinates that do not move onto the loops, then none of all coordinates
    GIVEN,  # index in v of the prescribed coordinate, -1: none
) = range(FIRST, LOOPS_HEADER)

#: pivot of the product of rows relative to the largest that counts as zero
CUT = 1e-9


@kernel(forceinline=True)
def loops_header(address):
    """All words of the header."""
    return ints_at(address, LOOPS_HEADER)


@kernel(forceinline=True)
def inner_function(head, place):
    """Address of a function of what is within, by its word in the table."""
    return table_at(head[INNER])[place]


class Room(NamedTuple):
    """Memory of one call: motions and accelerations of the frames of all loops, the numbers of a row; rows
    (m,) and coordinates (nv,)."""

    motions: np.ndarray
    pushed: np.ndarray
    row: np.ndarray
    lines: np.ndarray
    ends: np.ndarray
    M: np.ndarray
    L: np.ndarray
    J: np.ndarray
    W: np.ndarray
    G: np.ndarray
    F: np.ndarray
    phi: np.ndarray
    rate: np.ndarray
    bias: np.ndarray
    lam: np.ndarray
    left: np.ndarray
    order: np.ndarray
    still: np.ndarray
    change: np.ndarray
    x: np.ndarray
    force: np.ndarray
    start: np.ndarray


@kernel(forceinline=True)
def room_numbers(loops, m, nq, nv):
    """Numbers of a `Room`."""
    return (
        loops * (MOTION + ACCELERATION)
        + ROW
        + 12 * (m + nv)
        + 2 * nv * nv
        + m * (2 * nv + 2 * m + 6)
        + 4 * nv
        + nq
    )


@kernel(forceinline=True)
def room_at(head, address):
    """The `Room` in memory at an address."""
    n, m, nq, nv = head[COUNT], head[ROWS], head[views.NQ], head[views.NV]
    room = floats_at(address, room_numbers(n, m, nq, nv))
    first = n * (MOTION + ACCELERATION)
    second = first + ROW + 12 * (m + nv)
    third = second + 2 * nv * nv
    squares = third + 2 * m * nv
    rows = squares + 2 * m * m
    own = rows + 6 * m
    return Room(
        window(room, 0, n * MOTION),
        window(room, n * MOTION, n * ACCELERATION),
        window(room, first, ROW),
        shaped(window(room, first + ROW, 12 * m), (m, 12)),
        shaped(window(room, first + ROW + 12 * m, 12 * nv), (12, nv)),
        shaped(window(room, second, nv * nv), (nv, nv)),
        shaped(window(room, second + nv * nv, nv * nv), (nv, nv)),
        shaped(window(room, third, m * nv), (m, nv)),
        shaped(window(room, third + m * nv, m * nv), (m, nv)),
        shaped(window(room, squares, m * m), (m, m)),
        shaped(window(room, squares + m * m, m * m), (m, m)),
        window(room, rows, m),
        window(room, rows + m, m),
        window(room, rows + 2 * m, m),
        window(room, rows + 3 * m, m),
        window(room, rows + 4 * m, m),
        window(room, rows + 5 * m, m),
        window(room, own, nv),
        window(room, own + nv, nv),
        window(room, own + 2 * nv, nv),
        window(room, own + 3 * nv, nv),
        window(room, own + 4 * nv, nq),
    )


#: (robot, memory, q, v, room, moves): 0
SEE_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64)"
_call_see = caller(SEE_SIGNATURE)


@callback(SEE_SIGNATURE)
def see_all(robot, memory, q, v, room, moves):
    """Write residuals, rates, dJ/dt v (m,) and J (m, nv) into a room; residuals and J alone if `moves` is 0.

    The frames' accelerations are those without accelerations of the coordinates, with gravity: that is the
    same for all frames, and the rows do not see it.
    """
    head = loops_header(robot)
    data, work = room_at(head, room), floats_at(memory, head[WORK_SIZE])
    place_frames(robot, work, floats_at(q, head[views.NQ]), floats_at(v, head[views.NV]), moves, data)
    write_rows(robot, work, floats_at(v, head[views.NV]), moves, data)
    return 0


@kernel(forceinline=True)
def place_frames(robot, work, q, v, moves, data):
    """Write the motions of the frames of all loops and, if `moves`, their accelerations."""
    head, model = loops_header(robot), open_flexible(robot)
    tree = model.tree
    inside = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    nodes, places = ints_at(head[NODES], 2 * head[COUNT]), floats_at(head[PLACEMENTS], 24 * head[COUNT])
    prepare(tree, inside.tree, 1.0)
    if moves != 0:
        for i in range(tree.nv):
            data.still[i] = 0.0
        for b in range(1, tree.nb):
            own = window(inside.tree.bodies, views.BODY_ROWS * b, views.BODY_ROWS)
            accelerate_node(model, inside, b, own, q, v, data.still)
        for e in range(2 * head[COUNT]):
            own = window(inside.tree.bodies, views.BODY_ROWS * nodes[e], views.BODY_ROWS)
            keep_acceleration(own, window(places, 12 * e, 12), window(data.pushed, 6 * e, 6))
    for b in range(1, tree.nb):
        if moves == 0:
            place_node(model, inside, b, q)
        place_on_parent(tree, inside.tree, b)
    for e in range(2 * head[COUNT]):
        own = window(data.motions, FRAME * e, FRAME)
        write_pose(inside.tree, nodes[e], window(places, 12 * e, 12), own)
        if moves != 0:
            turn_to_world(own, window(data.pushed, 6 * e, 6))


@kernel(forceinline=True)
def write_pose(tree, node, placement, motion):
    """Write position and rotation of a frame in a node, and no velocities."""
    x, y, z = load3(placement, 9)
    m, x, y, z = in_world(tree, node, load9(placement, 0), x, y, z)
    store3(motion, POSITION, x, y, z)
    store9(motion, ROTATION, m)
    for k in range(6):
        motion[VELOCITY + k] = 0.0


@kernel(forceinline=True)
def write_rows(robot, work, v, moves, data):
    """Write the rows of all loops, and the velocities of their frames if `moves`."""
    head = loops_header(robot)
    m, nv = head[ROWS], head[views.NV]
    kinds, loops, lengths = ints_at(head[KINDS], m), ints_at(head[LOOP_OF], m), floats_at(head[LENGTHS], m)
    nodes, places = ints_at(head[NODES], 2 * head[COUNT]), floats_at(head[PLACEMENTS], 24 * head[COUNT])
    seen, row = -1, data.row
    for r in range(m):
        loop = loops[r]
        if loop != seen:
            for k in range(2):
                origin = window(places, 12 * (2 * loop + k) + 9, 3)
                flexible_jacobian(robot, work, nodes[2 * loop + k], origin, data.ends[6 * k : 6 * k + 6])
                if moves != 0:
                    move_end(data, loop, k, v)
            seen = loop
        motion = window(data.motions, MOTION * loop, MOTION)
        closed_row(kinds[r], lengths[r], motion, window(data.pushed, ACCELERATION * loop, ACCELERATION), row)
        data.phi[r], data.rate[r], data.bias[r] = row[VALUE], row[RATE], row[SECOND]
        for j in range(nv):
            data.J[r, j] = 0.0
        for i in range(12):
            share = data.lines[r, i] = row[LINE + i]
            if not holds(equal(share, 0.0)):
                for j in range(nv):
                    data.J[r, j] += share * data.ends[i, j]


@kernel(forceinline=True)
def move_end(data, loop, k, v):
    """Write the velocities of an end of a loop, from its Jacobian in data.ends."""
    own = window(data.motions, FRAME * (2 * loop + k), FRAME)
    for i in range(3):
        turn, shift = 0.0, 0.0
        for j in range(v.shape[0]):
            turn = turn + data.ends[6 * k + i, j] * v[j]
            shift = shift + data.ends[6 * k + 3 + i, j] * v[j]
        own[OMEGA + i], own[VELOCITY + i] = turn, shift


@kernel(forceinline=True)
def see_loops(robot, memory, q, v, room, moves):
    """`see_all` of arrays; memory and room are addresses."""
    arguments = (robot, memory, address_of(q), address_of(v), room, moves)
    _call_see(loops_header(robot)[SEE], arguments)


_V, _M, _C = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


@entry(f"int64(int64, {_V}, {_V}, {_M}, {_M}, {_C}, {_C}, {_C}, {_M})", nogil=True)
def see_many(robot, work, room, q, v, found, J, lines, motions):
    """At rows of q (N, nq), v (N, nv): residuals, rates and dJ/dt v in found (3, N, m), J (N, m, nv), lines
    (N, m, 12), by which rows take the twists of both frames, and motions of the frames (N, n MOTION)."""
    data = room_at(loops_header(robot), address_of(room))
    for s in range(q.shape[0]):
        see_loops(robot, address_of(work), q[s], v[s], address_of(room), 1)
        copy(found[0, s], data.phi)
        copy(found[1, s], data.rate)
        copy(found[2, s], data.bias)
        for i in range(data.J.shape[0]):
            copy(J[s, i], data.J[i])
            copy(lines[s, i], data.lines[i])
        copy(motions[s], data.motions)
    return 0


# ---- rows that depend on each other ----


@kernel
def independent_rows(G, n, F, left, order):
    """Write Cholesky factors F (n, n) of a semidefinite G (n, n) with the largest pivot first (Higham 2002,
    10.3), and the order of the rows; returns how many are independent. left (n,) is scratch."""
    first = 0.0
    for i in range(n):
        left[i], order[i] = G[i, i], i
        first = max(first, G[i, i])
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if left[int(order[i])] > left[int(order[best])]:
                best = i
        order[k], order[best] = order[best], order[k]
        p = int(order[k])
        if not left[p] > CUT * first:
            return k
        root = np.sqrt(left[p])
        F[p, k] = root
        for i in range(k + 1, n):
            r = int(order[i])
            s = G[r, p]
            for j in range(k):
                s -= F[r, j] * F[p, j]
            F[r, k] = s / root
            left[r] -= F[r, k] * F[r, k]
    return n


@kernel
def solve_rows(F, rank, order, c):
    """Replace c by lam (n,) of G lam = c with the factors and the order of `independent_rows`; other rows get
    0."""
    n = c.shape[0]
    for k in range(rank):
        p = int(order[k])
        for j in range(k):
            c[p] -= F[p, j] * c[int(order[j])]
        c[p] /= F[p, k]
    for k in range(rank, n):
        c[int(order[k])] = 0.0
    for k in range(rank - 1, -1, -1):
        p = int(order[k])
        for j in range(k + 1, rank):
            r = int(order[j])
            c[p] -= F[r, k] * c[r]
        c[p] /= F[p, k]


@kernel
def forwards(L, n, x):
    """Replace x (n,) by L^-1 x."""
    for i in range(n):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


@kernel
def backwards(L, n, x):
    """Replace x (n,) by L^-T x."""
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= L[j, i] * x[j]
        x[i] /= L[i, i]


@kernel(forceinline=True)
def rows_of_coordinates(data):
    """W as a row of numbers (m,) for each coordinate, (nv, m)."""
    m, nv = data.J.shape
    return shaped(data.W, (nv, m))


@kernel(forceinline=True)
def factor_rows(data):
    """Write W = L'^-1 J' of the factor L (metric.py), G = W' W = J M^-1 J', its factors and order; returns
    how many rows are independent."""
    W = rows_of_coordinates(data)
    metric.carry_rows(data.L, data.J, W)
    metric.product_of_rows(W, data.G)
    return independent_rows(data.G, data.J.shape[0], data.F, data.left, data.order)


@kernel(forceinline=True)
def push_rows(data, rank):
    """Write change = M^-1 J' lam (nv,), with G lam = c in place of lam, after `factor_rows`."""
    m, nv = data.J.shape
    W = rows_of_coordinates(data)
    solve_rows(data.F, rank, data.order, data.lam)
    for j in range(nv):
        s = 0.0
        for r in range(m):
            s += W[j, r] * data.lam[r]
        data.change[j] = s
    metric.to_root(data.L, nv, data.change)
