"""Loops around a tree as kernels see them: words of the header that all layers share, and the rows of the
loops at a state of the tree.

Each row phi of a closed joint is linear in the twists of its frames (multibody/constraints/kernels); what
a unit of its multiplier does to the coordinates is its row of J, carried inward along both branches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.families.trees.elements.kernels.weights import keep_acceleration, turn_to_world
from flexdyn_ros.families.trees.flexible.kernels.kinematics import add_columns
from flexdyn_ros.families.trees.flexible.kernels.rnea import accelerate_node
from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE, carve_flexible, open_flexible
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.kinematics import in_world, place_on_parent, point_in_world
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
from flexdyn_ros.numerics.algebra.blocks import add_share, first_of_block, padded, product
from flexdyn_ros.numerics.algebra.rotations import load3, load9, store3, store9
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import copy, row, shaped, tail, window
from flexdyn_ros.numerics.verbs.table import table_at

from . import metric

#: words of loops in a header: behind those of all other layers
FIRST, LOOPS_HEADER = 49, 69
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
    SUPPORTS,  # where the coordinates that move each end begin behind it, where the last end; then these
) = range(FIRST, LOOPS_HEADER)

#: pivot of the product of rows relative to the largest that counts as zero; above the one and below the other
#: of these it does so in any order
CUT = 1e-9
CLEAR, NOTHING = 1e-6, 1e-12


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
    (m,) and coordinates (nv,).

    J and W (nv, w) have a row of numbers for each coordinate, with a number for each of the m rows of the
    loops; w is m, padded with zeros to whole blocks (numerics/algebra/blocks.py), as in G and F (m, w).
    """

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
    w = padded(m)
    return (
        loops * (MOTION + ACCELERATION)
        + ROW
        + 12 * (m + nv)
        + 2 * nv * nv
        + w * (2 * nv + 2 * m + 6)
        + 4 * nv
        + nq
    )


@kernel(forceinline=True)
def room_at(head, address):
    """The `Room` in memory at an address."""
    n, m, nq, nv = head[COUNT], head[ROWS], head[views.NQ], head[views.NV]
    room, w = floats_at(address, room_numbers(n, m, nq, nv)), padded(m)
    first = n * (MOTION + ACCELERATION)
    second = first + ROW + 12 * (m + nv)
    third = second + 2 * nv * nv
    squares = third + 2 * nv * w
    rows = squares + 2 * m * w
    own = rows + 6 * w
    return Room(
        window(room, 0, n * MOTION),
        window(room, n * MOTION, n * ACCELERATION),
        window(room, first, ROW),
        shaped(window(room, first + ROW, 12 * m), (m, 12)),
        shaped(window(room, first + ROW + 12 * m, 12 * nv), (12, nv)),
        shaped(window(room, second, nv * nv), (nv, nv)),
        shaped(window(room, second + nv * nv, nv * nv), (nv, nv)),
        shaped(window(room, third, nv * w), (nv, w)),
        shaped(window(room, third + nv * w, nv * w), (nv, w)),
        shaped(window(room, squares, m * w), (m, w)),
        shaped(window(room, squares + m * w, m * w), (m, w)),
        window(room, rows, w),
        window(room, rows + w, w),
        window(room, rows + 2 * w, w),
        window(room, rows + 3 * w, w),
        window(room, rows + 4 * w, w),
        window(room, rows + 5 * w, w),
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
    """Write residuals, rates, dJ/dt v (w,) and J (nv, w) into a room; residuals and J alone if `moves` is 0.

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
    """Write the poses of the frames of all loops and their accelerations: in world axes if `moves`, else
    nobody reads them."""
    head, model = loops_header(robot), open_flexible(robot)
    tree = model.tree
    inside = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    nodes, places = ints_at(head[NODES], 2 * head[COUNT]), floats_at(head[PLACEMENTS], 24 * head[COUNT])
    prepare(tree, inside.tree, 1.0)
    for i in range(tree.nv):
        data.still[i] = 0.0
    # poses alone take a third less time, and would be compiled a second time
    for b in range(1, tree.nb):
        own = window(inside.tree.bodies, views.BODY_ROWS * b, views.BODY_ROWS)
        accelerate_node(model, inside, b, own, q, v, data.still)
    for e in range(2 * head[COUNT]):
        own = window(inside.tree.bodies, views.BODY_ROWS * nodes[e], views.BODY_ROWS)
        keep_acceleration(own, window(places, 12 * e, 12), window(data.pushed, 6 * e, 6))
    # in the place of accelerations
    for b in range(1, tree.nb):
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
    head, model = loops_header(robot), open_flexible(robot)
    tree, m = model.tree, head[ROWS]
    inside = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    kinds, loops, lengths = ints_at(head[KINDS], m), ints_at(head[LOOP_OF], m), floats_at(head[LENGTHS], m)
    nodes, places = ints_at(head[NODES], 2 * head[COUNT]), floats_at(head[PLACEMENTS], 24 * head[COUNT])
    begins = ints_at(head[SUPPORTS], 2 * head[COUNT] + 1)
    coordinates = ints_at(head[SUPPORTS], begins[2 * head[COUNT]])
    for j in range(tree.nv):
        for r in range(data.J.shape[1]):
            data.J[j, r] = 0.0
    for r in range(m, data.J.shape[1]):
        data.phi[r] = data.rate[r] = data.bias[r] = 0.0
    seen, found = -1, data.row
    for r in range(m):
        loop = loops[r]
        if loop != seen:
            for e in range(2 * loop, 2 * loop + 2):
                twists = data.ends[6 * (e % 2) : 6 * (e % 2) + 6]
                for at in range(begins[e], begins[e + 1]):
                    for i in range(6):
                        twists[i, coordinates[at]] = 0.0
                if nodes[e] > 0:
                    x, y, z = point_in_world(inside.tree, nodes[e], window(places, 12 * e + 9, 3))
                    add_columns(model, inside, nodes[e], x, y, z, twists)
                if moves != 0:
                    own = window(data.motions, FRAME * e, FRAME)
                    for at in range(begins[e], begins[e + 1]):
                        j = coordinates[at]
                        for i in range(3):
                            own[OMEGA + i] += twists[i, j] * v[j]
                            own[VELOCITY + i] += twists[3 + i, j] * v[j]
            seen = loop
        motion = window(data.motions, MOTION * loop, MOTION)
        closed_row(
            kinds[r], lengths[r], motion, window(data.pushed, ACCELERATION * loop, ACCELERATION), found
        )
        data.phi[r], data.rate[r], data.bias[r] = found[VALUE], found[RATE], found[SECOND]
        for i in range(12):
            data.lines[r, i] = found[LINE + i]
        for k in range(2):
            for at in range(begins[2 * loop + k], begins[2 * loop + k + 1]):
                j, s = coordinates[at], 0.0
                for i in range(6 * k, 6 * k + 6):
                    s = s + found[LINE + i] * data.ends[i, j]
                data.J[j, r] += s


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
        for i in range(data.lines.shape[0]):
            for j in range(data.J.shape[0]):
                J[s, i, j] = data.J[j, i]
            copy(lines[s, i], data.lines[i])
        copy(motions[s], data.motions)
    return 0


# ---- rows that depend on each other ----


@kernel(forceinline=True)
def independent_rows(data, W, D):
    """Factor G = W' D^-1 W of the rows in W (nv, w): returns how many of them are independent. The diagonal
    of G is in data.left."""
    metric.product_of_rows(W, D, data.G)
    rank = rows_as_they_come(data.G, data.F, data.left, data.order)
    if rank < 0:
        metric.product_of_rows(W, D, data.G)
        rank = rows_by_pivots(data.G, data.F, data.order)
    return rank


@kernel
def rows_as_they_come(G, F, left, order):
    """Write factors F (m, w), one after the other by rows, of a semidefinite G (m, w), and which rows these
    are: G = sum F_k' F_k/d_k, d_k the number of F_k at its own row. Returns how many rows are independent, or
    -1 if a row is neither clearly so nor clearly not.

    The upper triangle of G alone counts, and becomes what is left of it; its diagonal is written to left.
    """
    m, first, rank = G.shape[0], 0.0, 0
    for r in range(m):
        left[r] = row(G, r)[r]
        first = max(first, left[r])
    for p in range(m):
        given = row(G, p)
        d = given[p]
        if d > CLEAR * first:
            line, begin, share = row(F, rank), first_of_block(p), -1.0 / d
            for r in range(begin, line.shape[0]):
                line[r] = given[r]
            for r in range(p + 1, m):
                begin = first_of_block(r)
                add_share(tail(row(G, r), begin), tail(line, begin), share * given[r])
            for r in range(first_of_block(p)):
                line[r] = 0.0
            order[rank] = p
            rank += 1
        elif not d <= NOTHING * first:
            return -1
    return rank


@kernel
def rows_by_pivots(G, F, order):
    """`rows_as_they_come` with the largest pivot first (Higham 2002, 10.3); a pivot of CUT of the first ends
    it."""
    m, first, best = G.shape[0], 0.0, 0
    for r in range(m):
        own, order[r] = row(G, r), r
        for k in range(r):
            own[k] = row(G, k)[r]
        if own[r] > first:
            first, best = own[r], r
    for k in range(m):
        order[k], order[best] = order[best], order[k]
        p = int(order[k])
        line, given = row(F, k), row(G, p)
        if not given[p] > CUT * first:
            return k
        share, most, best = -1.0 / given[p], 0.0, k + 1
        for r in range(line.shape[0]):
            line[r] = given[r]
        for i in range(k + 1, m):
            r = int(order[i])
            own = row(G, r)
            add_share(own, line, share * line[r])
            if own[r] > most:
                most, best = own[r], i
    return m


@kernel
def solve_rows(F, rank, order, c, left):
    """Replace c by lam (w,) of G lam = c with the factors of `independent_rows`; other rows get 0. left (m,)
    is scratch.

    A factor's numbers at rows that came before it are rounding: forwards nothing reads what they change,
    backwards they meet the zeros of rows whose turn is to come.
    """
    for k in range(rank):
        p, line = int(order[k]), row(F, k)
        left[k] = c[p] / line[p]
        add_share(c, line, -left[k])
    for r in range(c.shape[0]):
        c[r] = 0.0
    for k in range(rank - 1, -1, -1):
        p, line = int(order[k]), row(F, k)
        c[p] = left[k] - product(c, line) / line[p]


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
def factor_rows(data):
    """Write W = L'^-1 J' of the factors L and D (metric.py), G = W' D^-1 W = J M^-1 J', its factors and
    order; returns how many rows are independent."""
    metric.carry_rows(data.L, data.J, data.W)
    return independent_rows(data, data.W, data.L)


@kernel(forceinline=True)
def push_rows(data, rank):
    """Write change = D^-1 W lam (nv,), with G lam = c in place of lam, after `factor_rows`: M^-1 J' lam, but
    for `metric.to_root`."""
    solve_rows(data.F, rank, data.order, data.lam, data.left)
    for j in range(data.W.shape[0]):
        data.change[j] = product(data.lam, row(data.W, j)) / data.L[j, j]
