"""Fixed steps of a robot with loops: a layer around the functions of what is within
(numerics/verbs/table.py).

With A = M + B diag(extra) B' + h D + h^2 K, what is within answers a0 = A^-1 (force - bias - h K v), and is
affine in the force: so A^-1 J' of the rows of the loops is the difference of two of its answers (or what it
says of that by `respond`), and

    (J A^-1 J') lam = -(J a0 + dJ/dt v),        a = a0 + A^-1 J' lam.

Rows that follow from others take no part. They are found from J W^2 J', W the inverse roots of the inertias
of the coordinates at the neutral pose.

Work memory: that of what is within, then a `Room`.

Where a motion is prescribed, what is within also says the effort that this takes, of all that it does not
know: its answer to a row of the loops holds what the row itself does there.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.algebra.blocks import add_share
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import OK
from flexdyn_ros.numerics.compiling.windows import copy, row, shaped, window
from flexdyn_ros.numerics.verbs import table as motion
from flexdyn_ros.numerics.verbs.dynamics import largest
from flexdyn_ros.numerics.verbs.head import robot_of

from . import metric
from .rows import (
    GIVEN,
    LOST,
    MOVES,
    RANK,
    SIZES,
    STEPS_WORK,
    factor_rows,
    independent_rows,
    inner_function,
    loops_header,
    push_rows,
    room_at,
    see_loops,
)

#: the state is too far from the loops
FAR = 7
#: of the projection: largest residual of a state that is near the loops; rounds; the shift up to which the
#: mass matrix is that of the start; the step and the residual that end it; the step without progress, and the
#: residual that may be left then [m, rad]
NEAR, MOST_ROUNDS, FROZEN, SMALL, CLOSE, RESOLVED, CLOSED = 1e-2, 12, 1e-9, 1e-6, 1e-13, 1e-13, 1e-11


@kernel
def rows_by_size(data, sizes):
    """Find independent rows of J, columns divided by the sizes (nv,); how many, first in data.order. The
    squares of the sizes of all rows are in data.lam."""
    for j in range(data.J.shape[0]):
        data.L[j, j] = sizes[j] * sizes[j]
    rank = independent_rows(data, data.J, data.L)
    copy(data.lam, data.left)
    return rank


@kernel
def least_pivot(data, rank):
    """The least pivot of `rows_by_size` relative to the largest."""
    least, most = np.inf, 0.0
    for k in range(rank):
        pivot = data.F[k, int(data.order[k])]
        least, most = min(least, pivot), max(most, pivot)
    return least / most if rank > 0 else 0.0


@callback(motion.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = loops_header(address)
    nv, room = head[views.NV], work + 8 * head[STEPS_WORK]
    data, sizes = room_at(head, room), floats_at(head[SIZES], nv)
    efforts, result = floats_at(force, nv), floats_at(a, nv)
    see_loops(address, work, floats_at(q, head[views.NQ]), floats_at(v, nv), room, 1)
    rank, lost = rows_by_size(data, sizes), floats_at(head[LOST], 2)
    if rank < head[RANK] or least_pivot(data, rank) < lost[1]:
        lost[0] += 1.0
    function, given = inner_function(head, motion.ACCELERATE), head[GIVEN]
    # the answers by `respond` tell no effort of a prescribed motion
    respond = 0 if given >= 0 else inner_function(head, motion.RESPOND)
    trial, answer, taken = data.x, data.change, data.left
    for j in range(nv):
        data.force[j] = trial[j] = efforts[j]
    motion.call_accelerate(function, (robot, work, t, q, v, address_of(trial), extra, h, a))
    before = trial[given] if given >= 0 else 0.0
    square = 1.0
    for j in range(nv):
        square += (sizes[j] * result[j]) ** 2
    for i in range(rank):
        r = int(data.order[i])
        # forces that accelerate as much as the others do
        share = np.sqrt(square / data.lam[r])
        for j in range(nv):
            trial[j] = share * data.J[j, r] + (data.force[j] if respond == 0 else 0.0)
            answer[j] = result[j]
        arguments = (robot, work, t, q, v, address_of(trial), extra, h, address_of(answer))
        if respond == 0:
            motion.call_accelerate(function, arguments)
        else:
            motion.call_respond(respond, arguments)
        for j in range(nv):
            data.W[j, i] = (answer[j] - (result[j] if respond == 0 else 0.0)) / share
        if given >= 0:
            taken[i] = (trial[given] - before) / share - data.J[given, r]
    if not push(data, rank, result):
        for j in range(nv):
            result[j] = np.nan
    if given >= 0:
        efforts[given] = before
        for i in range(rank):
            efforts[given] += data.lam[i] * taken[i]
    return 0


@kernel
def push(data, rank, a):
    """Let the `rank` rows that come first in data.order act on a (nv,), with A^-1 J' in the first columns of
    W; False if they depend on each other."""
    m, w = data.F.shape
    G, lam = shaped(window(shaped(data.F, (m * w,)), 0, rank * rank), (rank, rank)), window(data.lam, 0, rank)
    for i in range(rank):
        lam[i] = -data.bias[int(data.order[i])]
        for k in range(i + 1):
            G[i, k] = 0.0
    for j in range(data.J.shape[0]):
        for i in range(rank):
            x, y = data.J[j, int(data.order[i])], data.W[j, i]
            lam[i] -= x * a[j]
            for k in range(i + 1):
                G[i, k] += 0.5 * (x * data.W[j, k] + data.J[j, int(data.order[k])] * y)
    if not cholesky(G, rank):
        return False
    cholesky_solve(G, rank, lam)
    for j in range(data.J.shape[0]):
        for i in range(rank):
            a[j] += data.W[j, i] * lam[i]
    return True


# ---- onto the loops ----


@callback(motion.constrain.signature)
def constrain(robot, work, q, v):
    """See numerics/verbs/table.py: q by

        x <- M^-1 J' (J M^-1 J')^+ (J x - phi),        q = q0 (+) x,        M = M(q0)

    in which coordinates that are held do not move, unless the loops do not close without them; v by
    v - M^-1 J' (J M^-1 J')^+ J v.
    """
    head = loops_header(robot_of(robot))
    nq, nv, room = head[views.NQ], head[views.NV], work + 8 * head[STEPS_WORK]
    data, place, speed = room_at(head, room), floats_at(q, nq), floats_at(v, nv)
    for i in range(nq):
        data.start[i] = place[i]
    motion.call_observe(inner_function(head, motion.MASS), (robot, work, q, v, address_of(data.M)))
    free = True
    for i in range(nv):
        free = free and ints_at(head[MOVES], nv)[i] != 0
    done = not free and close(robot, work, place, data, 1)
    if not done and not close(robot, work, place, data, 0):
        for i in range(nq):
            place[i] = data.start[i]
        return FAR
    shifted = largest(data.x, 0.0) > FROZEN
    if shifted:
        # the mass matrix of where it has come to, for the velocities
        motion.call_observe(inner_function(head, motion.MASS), (robot, work, q, v, address_of(data.M)))
    if (done or shifted) and not factor_metric(data, ints_at(head[MOVES], nv), 0):
        return FAR
    rank = factor_rows(data)
    for r in range(data.lam.shape[0]):
        data.lam[r] = 0.0
    for j in range(nv):
        add_share(data.lam, row(data.J, j), -speed[j])
    push_rows(data, rank)
    metric.to_root(data.L, nv, data.change)
    for j in range(nv):
        speed[j] += data.change[j]
    return OK


@kernel
def factor_metric(data, moves, holds):
    """Write the factor of M, of coordinates that move alone if `holds`; whether there is one."""
    nv = moves.shape[0]
    for i in range(nv):
        for j in range(i + 1):
            is_held = holds != 0 and (moves[i] == 0 or moves[j] == 0)
            data.L[i, j] = (1.0 if i == j else 0.0) if is_held else data.M[i, j]
    return metric.factor(data.L, nv, data.change)


@kernel
def close(robot, work, q, data, holds):
    """Move q (nq,) from data.start onto the loops, with the mass matrix in data.M; whether they are closed,
    and then data.J is that of q."""
    head = loops_header(robot_of(robot))
    nq, nv, room = head[views.NQ], head[views.NV], work + 8 * head[STEPS_WORK]
    moves, x, moved = ints_at(head[MOVES], nv), data.x, inner_function(head, motion.MOVED)
    for i in range(nq):
        q[i] = data.start[i]
    for i in range(nv):
        x[i] = 0.0
    if not factor_metric(data, moves, holds):
        return False
    step = 0.0
    for i in range(MOST_ROUNDS):
        see_loops(robot_of(robot), work, q, x, room, 0)
        gap = largest(data.phi, 0.0)
        if (gap <= CLOSE and step <= SMALL) or (i > 0 and gap <= CLOSED and step <= RESOLVED):
            return True
        if not gap <= NEAR:
            return False
        for r in range(data.lam.shape[0]):
            data.lam[r] = -data.phi[r]
        for j in range(nv):
            if holds != 0 and moves[j] == 0:
                for r in range(data.lam.shape[0]):
                    data.J[j, r] = 0.0
            add_share(data.lam, row(data.J, j), x[j])
        push_rows(data, factor_rows(data))
        metric.to_root(data.L, nv, data.change)
        step = 0.0
        for j in range(nv):
            step = max(step, abs(data.change[j] - x[j]))
            x[j] = data.change[j]
        arrays = address_of(data.start), address_of(x), address_of(q)
        motion.call_observe(moved, (robot, work, *arrays))
    return False


#: around the functions of any robot
functions = {"accelerate": accelerate, "constrain": constrain}
