"""Forward dynamics of a robot with closed loops, from the compiled functions of the open robot.

    M a + h = B tau + J' lam,        J a + dJ/dt v = 0

M, h, the poses of the constraint frames, their Jacobians and dJ/dt v are those of the open robot's table, by
the heads that the block of a robot names, so that one function serves trees of all kinds and whatever stands
within the loops. With M = L L' and W = J L^-T, the inverse inertia of the loops is G = J M^-1 J' = W W'; its
Cholesky factors with the largest pivot first (Higham 2002, 10.3) tell independent rows. Where the
accelerations of the loops agree, a does not depend on which rows these are.

Whatever is out of the ordinary (loops that are open, a rank other than at the neutral pose, loops that
contradict each other, a singular M) ends with GENERAL: the general way of the verb says what it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
from flexdyn_ros.numerics.algebra.linalg import cholesky
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.direct import direct_entry
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.verbs.dynamics import largest, status_of
from flexdyn_ros.numerics.verbs.head import CHOSEN, EFFORTS, HEAD_WORDS, NQ, NV, WORK, function_of
from flexdyn_ros.numerics.verbs.samples import finite
from flexdyn_ros.numerics.verbs.table import BALANCE, MASS, MOVED, call_balance, call_observe

#: words of the block of a robot with loops: heads of the open robot for M and h, for poses, Jacobians and
#: dJ/dt v of the constraint frames; how many of these move, and how many rows there are; of each row its
#: kind, its loop, and the length of a rod; of both ends of each loop the moving frame (-1: the world) and its
#: pose (12) there; rank of the rows at the neutral pose; how far loops may be open; memory of single calls;
#: marks of what moves onto the loops
BLOCK_WORDS = 15
(
    OPEN, POSES, POINTS, RATES, FRAMES, ROWS, KINDS, LOOPS, LENGTHS, ENDS, PLACEMENTS, RANK, TOLERANCE, ROOM,
    MOVES,
) = range(BLOCK_WORDS)  # fmt: skip

#: the general way of the verb says what there is to say
GENERAL = 7
#: pivot of G relative to the largest that counts as zero, and the part of the accelerations of the loops
#: that may be left
CUT, CONTRADICTORY = 1e-9, 1e-8
#: of the projection: largest residual of a state that is near the loops, rounds, the step that ends it, and
#: the residual that may be left [m, rad]
NEAR, MOST_ROUNDS, CLOSE, CLOSED = 1e-3, 8, 1e-13, 1e-11

_V, _M = "float64[::1]", "float64[:,::1]"


@kernel(forceinline=True)
def room_numbers(frames, rows, nq, nv):
    """Numbers of memory that a call takes."""
    return (
        frames * (22 + 6 * nv)
        + (MOTION + ACCELERATION + ROW)
        + (nv * (3 + nv) + nq)
        + rows * (5 + 2 * nv + 2 * rows)
    )


@kernel
def write_end(words, i, nv, v, poses, jacobians, rates, motion, acceleration):
    """Write the motion (FRAME,) of end i, and its acceleration (6,) where the coordinates have none."""
    frame = ints_at(words[ENDS] + 8 * i, 1)[0]
    if frame < 0:
        fixed = floats_at(words[PLACEMENTS] + 96 * i, 12)
        for k in range(9):
            motion[ROTATION + k] = fixed[k]
        for k in range(3):
            motion[POSITION + k] = fixed[9 + k]
        for k in range(6):
            motion[VELOCITY + k], acceleration[k] = 0.0, 0.0
        return
    pose, J, rate = tail(poses, 16 * frame), tail(jacobians, 6 * nv * frame), tail(rates, 6 * frame)
    for k in range(3):
        for j in range(3):
            motion[ROTATION + 3 * k + j] = pose[4 * k + j]
        motion[POSITION + k] = pose[4 * k + 3]
        turn, shift = 0.0, 0.0
        for j in range(nv):
            turn += J[nv * k + j] * v[j]
            shift += J[nv * (3 + k) + j] * v[j]
        motion[OMEGA + k], motion[VELOCITY + k] = turn, shift
    for k in range(6):
        acceleration[k] = rate[k]


@kernel
def see_loops(words, floats, tangents, q, v, room, phi, J, bias):
    """Write residuals phi (m,), J (m, nv) and dJ/dt v (m,), all as they are without motion if tangents is 0;
    whether the loops are closed, and stay so. floats, tangents: addresses of work memory of functions on
    these."""
    heads = words[POSES], words[POINTS], words[RATES]
    nv, frames, m = v.shape[0], words[FRAMES], words[ROWS]
    poses, rest = window(room, 0, 16 * frames), tail(room, 16 * frames)
    jacobians, rest = window(rest, 0, 6 * nv * frames), tail(rest, 6 * nv * frames)
    rates, rest = window(rest, 0, 6 * frames), tail(rest, 6 * frames)
    motion, rest = window(rest, 0, MOTION), tail(rest, MOTION)
    acceleration, row = window(rest, 0, ACCELERATION), window(rest, ACCELERATION, ROW)
    place, speed = address_of(q), address_of(v)
    if frames > 0:
        found = ints_at(heads[0], HEAD_WORDS)[CHOSEN]
        call_observe(found, (heads[0], floats, place, speed, address_of(poses)))
        found = ints_at(heads[1], HEAD_WORDS)[CHOSEN]
        call_observe(found, (heads[1], floats, place, speed, address_of(jacobians)))
        if tangents != 0:
            found = ints_at(heads[2], HEAD_WORDS)[CHOSEN]
            call_observe(found, (heads[2], tangents, place, speed, address_of(rates)))
    kinds, loops, ends = ints_at(words[KINDS], m), ints_at(words[LOOPS], m), words[ENDS]
    lengths, tolerance = floats_at(words[LENGTHS], m), floats_at(words[TOLERANCE], 1)[0]
    allowed = tolerance * largest(v, 1.0)
    seen, closed = -1, True
    for r in range(m):
        loop = loops[r]
        if loop != seen:
            for k in range(2):
                own, rate = window(motion, FRAME * k, FRAME), window(acceleration, 6 * k, 6)
                write_end(words, 2 * loop + k, nv, v, poses, jacobians, rates, own, rate)
            seen = loop
        closed_row(kinds[r], lengths[r], motion, acceleration, row)
        phi[r], bias[r] = row[VALUE], row[SECOND]
        closed = closed and abs(row[VALUE]) <= tolerance and abs(row[RATE]) <= allowed
        for j in range(nv):
            J[r, j] = 0.0
        for k in range(2):
            frame = ints_at(ends + 8 * (2 * loop + k), 1)[0]
            if frame >= 0:
                own = tail(jacobians, 6 * nv * frame)
                for i in range(6):
                    share = row[LINE + 6 * k + i]
                    if share != 0.0:
                        for j in range(nv):
                            J[r, j] += share * own[nv * i + j]
    return closed


@kernel
def independent_rows(G, n, F, left, order):
    """Write Cholesky factors F (n, n) of a semidefinite G (n, n) with the largest pivot first, and the order
    of the rows; returns how many are independent. left (n,) is scratch."""
    for i in range(n):
        left[i], order[i] = G[i, i], i
    first = largest(left, 0.0)
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


class ClosedRoom(NamedTuple):
    """Memory of one call: that of `see_loops`; matrices, and vectors of rows and of coordinates."""

    seeing: np.ndarray
    M: np.ndarray
    J: np.ndarray
    W: np.ndarray
    G: np.ndarray
    F: np.ndarray
    phi: np.ndarray
    bias: np.ndarray
    lam: np.ndarray
    left: np.ndarray
    order: np.ndarray
    still: np.ndarray
    change: np.ndarray
    x: np.ndarray
    start: np.ndarray


@kernel(forceinline=True)
def carve_room(room, frames, m, nq, nv):
    """The parts of memory of `room_numbers`."""
    first = frames * (22 + 6 * nv) + MOTION + ACCELERATION + ROW
    second = first + nv * nv
    third = second + 2 * m * nv
    rows = third + 2 * m * m
    own = rows + 5 * m
    return ClosedRoom(
        window(room, 0, first),
        window(room, first, nv * nv).reshape(nv, nv),
        window(room, second, m * nv).reshape(m, nv),
        window(room, second + m * nv, m * nv).reshape(m, nv),
        window(room, third, m * m).reshape(m, m),
        window(room, third + m * m, m * m).reshape(m, m),
        window(room, rows, m),
        window(room, rows + m, m),
        window(room, rows + 2 * m, m),
        window(room, rows + 3 * m, m),
        window(room, rows + 4 * m, m),
        window(room, own, nv),
        window(room, own + nv, nv),
        window(room, own + 2 * nv, nv),
        window(room, own + 3 * nv, nq),
    )


@kernel
def factor_rows(data, rank):
    """Write W = J L^-T of the factor L in M, G = W W', its factors and order; whether it has that rank."""
    m, nv = data.J.shape
    for r in range(m):
        for j in range(nv):
            data.W[r, j] = data.J[r, j]
        forwards(data.M, nv, data.W[r])
        for k in range(r + 1):
            s = 0.0
            for j in range(nv):
                s += data.W[r, j] * data.W[k, j]
            data.G[r, k] = data.G[k, r] = s
    return independent_rows(data.G, m, data.F, data.left, data.order) == rank


@kernel
def push_rows(data, rank):
    """Write change = M^-1 J' lam (nv,), with G lam = c in place of lam, after `factor_rows`."""
    m, nv = data.J.shape
    solve_rows(data.F, rank, data.order, data.lam)
    for j in range(nv):
        s = 0.0
        for r in range(m):
            s += data.W[r, j] * data.lam[r]
        data.change[j] = s
    backwards(data.M, nv, data.change)


@kernel
def accelerate_closed(block, floats, tangents, room, q, v, tau, a):
    """Write a (nv,) of one good state; OK, or GENERAL."""
    words = ints_at(block, BLOCK_WORDS)
    head, rank, nv = words[OPEN], words[RANK], v.shape[0]
    data = carve_room(room, words[FRAMES], words[ROWS], q.shape[0], nv)
    if not see_loops(words, floats, tangents, q, v, data.seeing, data.phi, data.J, data.bias):
        return GENERAL
    place, speed, opened = address_of(q), address_of(v), ints_at(head, HEAD_WORDS)
    for i in range(nv):
        data.still[i] = 0.0
    call_observe(function_of(opened, MASS), (head, floats, place, speed, address_of(data.M)))
    still, result = address_of(data.still), address_of(a)
    call_balance(
        function_of(opened, BALANCE), (head, floats, place, speed, still, address_of(tau), still, result)
    )
    if not cholesky(data.M, nv):
        return GENERAL
    for i in range(nv):
        a[i] = -a[i]
    forwards(data.M, nv, a)
    backwards(data.M, nv, a)
    # accelerations that the forces of the loops must make up, and their size
    size = 0.0
    for r in range(words[ROWS]):
        s, whole = data.bias[r], abs(data.bias[r])
        for j in range(nv):
            s += data.J[r, j] * a[j]
            whole += abs(data.J[r, j] * a[j])
        data.lam[r], size = -s, max(size, whole)
    if not factor_rows(data, rank):
        return GENERAL
    push_rows(data, rank)
    for j in range(nv):
        a[j] += data.change[j]
    for r in range(words[ROWS]):
        s = data.bias[r]
        for j in range(nv):
            s += data.J[r, j] * a[j]
        if not abs(s) <= CONTRADICTORY * size:
            return GENERAL
    return at.OK if finite(a, nv) else GENERAL


@kernel
def project_closed(block, floats, room, q, v):
    """Move a good state onto the loops, near to which it is: q by

        x <- M^-1 J' (J M^-1 J')^+ (J x - phi),        q = q0 (+) x,        M = M(q0)

    in which coordinates that are held do not move, v by v - M^-1 J' (J M^-1 J')^+ J v. OK, or GENERAL, and
    then q and v are as they were.
    """
    words = ints_at(block, BLOCK_WORDS)
    head, rank, nq, nv, m = words[OPEN], words[RANK], q.shape[0], v.shape[0], words[ROWS]
    data = carve_room(room, words[FRAMES], m, nq, nv)
    opened, moves = ints_at(head, HEAD_WORDS), ints_at(words[MOVES], nv)
    place, speed, start = address_of(q), address_of(v), address_of(data.start)
    x, still = data.x, data.still
    for i in range(nq):
        data.start[i] = q[i]
    for i in range(nv):
        x[i] = still[i] = 0.0
    call_observe(function_of(opened, MASS), (head, floats, start, speed, address_of(data.M)))
    for i in range(nv):
        for j in range(i + 1):
            if moves[i] == 0 or moves[j] == 0:
                data.M[i, j] = 1.0 if i == j else 0.0
    done, status = False, at.OK
    if not cholesky(data.M, nv):
        return GENERAL
    for _ in range(MOST_ROUNDS):
        see_loops(words, floats, 0, q, still, data.seeing, data.phi, data.J, data.bias)
        if not largest(data.phi, 0.0) <= NEAR:
            break
        for r in range(m):
            s = -data.phi[r]
            for j in range(nv):
                if moves[j] == 0:
                    data.J[r, j] = 0.0
                s += data.J[r, j] * x[j]
            data.lam[r] = s
        if not factor_rows(data, rank):
            break
        push_rows(data, rank)
        step = 0.0
        for j in range(nv):
            step = max(step, abs(data.change[j] - x[j]))
            x[j] = data.change[j]
        call_observe(function_of(opened, MOVED), (head, floats, start, address_of(x), place))
        if step < CLOSE:
            done = True
            break
    if done:
        see_loops(words, floats, 0, q, still, data.seeing, data.phi, data.J, data.bias)
        call_observe(function_of(opened, MASS), (head, floats, place, speed, address_of(data.M)))
        done = largest(data.phi, 0.0) <= CLOSED and cholesky(data.M, nv) and factor_rows(data, rank)
    if not done:
        for i in range(nq):
            q[i] = data.start[i]
        return GENERAL
    for r in range(m):
        s = 0.0
        for j in range(nv):
            s += data.J[r, j] * v[j]
        data.lam[r] = -s
    push_rows(data, rank)
    for j in range(nv):
        v[j] += data.change[j]
    return status


@direct_entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def closed_forward_one(block, q, v, tau, a):
    """a (nv,) of one state under efforts (nu,), without wrenches."""
    words = ints_at(block, BLOCK_WORDS)
    opened = ints_at(words[OPEN], HEAD_WORDS)
    nv = opened[NV]
    if q.shape[0] != opened[NQ] or v.shape[0] != nv or tau.shape[0] != opened[EFFORTS] or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = status_of(opened, q, v, v[0:0], tau)
    if status != at.OK:
        return status
    room = floats_at(words[ROOM], room_numbers(words[FRAMES], words[ROWS], q.shape[0], nv))
    floats, tangents = ints_at(words[POSES], HEAD_WORDS)[WORK], ints_at(words[RATES], HEAD_WORDS)[WORK]
    return accelerate_closed(block, floats, tangents, room, q, v, tau, a)


@direct_entry(f"int64(int64, {_V}, {_V})")
def closed_project_one(block, q, v):
    """Move one state onto the loops, in place; see `project_closed`."""
    words = ints_at(block, BLOCK_WORDS)
    opened = ints_at(words[OPEN], HEAD_WORDS)
    if q.shape[0] != opened[NQ] or v.shape[0] != opened[NV]:
        return at.BAD_SHAPE
    status = status_of(opened, q, v, v[0:0], v[0:0])
    if status != at.OK:
        return status
    room = floats_at(words[ROOM], room_numbers(words[FRAMES], words[ROWS], q.shape[0], v.shape[0]))
    return project_closed(block, ints_at(words[POSES], HEAD_WORDS)[WORK], room, q, v)


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def closed_forward_many(block, floats, tangents, room, q, v, tau, a):
    """a (N, nv) for rows of q, v, tau (N, nu); the status is that of the first row that has one."""
    opened = ints_at(ints_at(block, BLOCK_WORDS)[OPEN], HEAD_WORDS)
    for s in range(q.shape[0]):
        status = status_of(opened, q[s], v[s], v[s, 0:0], tau[s])
        if status == at.OK:
            work = address_of(floats), address_of(tangents)
            status = accelerate_closed(block, *work, room, q[s], v[s], tau[s], a[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK
