"""Forward dynamics of a robot with closed loops, by its mass matrix.

    M a + h = B tau + J' lam,        J a + dJ/dt v = 0

With M = L' D L (metric.py), W = L'^-1 J' and y = D^-1 L'^-1 (B tau - h),

    a = L^-1 (y + D^-1 W lam),        G lam = -(W' y + dJ/dt v),        G = W' D^-1 W.

Cholesky factors of G with the largest pivot first tell independent rows. Where the accelerations of the loops
agree, a does not depend on which rows these are.

Whatever is out of the ordinary (loops that are open, a rank other than at the neutral pose, loops that
contradict each other, a singular M) ends with GENERAL: the general way of the verb says what it is.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.algebra.blocks import add_share
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import row
from flexdyn_ros.numerics.verbs.dynamics import largest, status_of
from flexdyn_ros.numerics.verbs.head import EFFORTS, HEAD_WORDS, NQ, NV, ROBOT, WORK, function_of
from flexdyn_ros.numerics.verbs.samples import finite
from flexdyn_ros.numerics.verbs.table import (
    BALANCE,
    CONSTRAIN,
    MASS,
    call_balance,
    call_constrain,
    call_observe,
)

from . import metric
from .independent import factor_rows, push_rows
from .rows import RANK, loops_header, room_at, see_loops

#: words of the block that entries take: the head of the robot, memory of a `Room`, an array of one number
#: (how far loops may be open), work memory of steps
BLOCK_WORDS = 4
HEAD, ROOM, TOLERANCE, STEPS = range(BLOCK_WORDS)

#: the general way of the verb says what there is to say
GENERAL = 7
#: part of the accelerations of the loops that may be left
CONTRADICTORY = 1e-8
#: accelerations [m/s2, rad/s2] that in balance are counted as that: those of gravity leave their rounding
NOTHING = 1e-3

_V, _M = "float64[::1]", "float64[:,::1]"


@kernel(forceinline=True)
def are_closed(data, v, tolerance):
    """Whether the loops are closed, and stay so."""
    allowed = tolerance * largest(v, 1.0)
    return largest(data.phi, 0.0) <= tolerance and largest(data.rate, 0.0) <= allowed


@kernel(forceinline=True)
def accelerate_closed(words, work, room, tolerance, q, v, tau, a):
    """Write a (nv,) of one good state; OK, or GENERAL. words: of the head."""
    address, head = words[ROBOT], loops_header(words[ROBOT])
    nv, data = head[views.NV], room_at(head, room)
    see_loops(address, work, q, v, room, 1)
    if not are_closed(data, v, tolerance):
        return GENERAL
    place, speed, me = address_of(q), address_of(v), address_of(words)
    for i in range(nv):
        data.still[i] = 0.0
    call_observe(function_of(words, MASS), (me, work, place, speed, address_of(data.L)))
    still, result = address_of(data.still), address_of(a)
    call_balance(function_of(words, BALANCE), (me, work, place, speed, still, address_of(tau), still, result))
    if not metric.factor(data.L, nv, data.change):
        return GENERAL
    for i in range(nv):
        a[i] = -a[i]
    metric.to_tips(data.L, nv, a)
    rank = factor_rows(data)
    if rank != head[RANK]:
        return GENERAL
    # accelerations that the forces of the loops must make up, and their size
    for r in range(data.lam.shape[0]):
        data.lam[r] = -data.bias[r]
    for j in range(nv):
        add_share(data.lam, row(data.W, j), -a[j])
    size = max(largest(data.lam, NOTHING), largest(data.bias, 0.0))
    push_rows(data, rank)
    for j in range(nv):
        a[j] += data.change[j]
    metric.to_root(data.L, nv, a)
    for j in range(nv):
        add_share(data.bias, row(data.J, j), a[j])
    rest = largest(data.bias, 0.0)
    if not rest <= CONTRADICTORY * size:
        # terms that nearly cancel each other have their own rounding
        for j in range(nv):
            size = max(size, abs(a[j]) * largest(row(data.J, j), 0.0))
        if not rest <= CONTRADICTORY * size:
            return GENERAL
    return at.OK if finite(a, nv) else GENERAL


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def closed_forward_one(block, q, v, tau, a):
    """a (nv,) of one state under efforts (nu,), without wrenches."""
    own = ints_at(block, BLOCK_WORDS)
    words = ints_at(own[HEAD], HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or tau.shape[0] != words[EFFORTS] or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = status_of(words, q, v, v[0:0], tau)
    if status != at.OK:
        return status
    tolerance = floats_at(own[TOLERANCE], 1)[0]
    return accelerate_closed(words, words[WORK], own[ROOM], tolerance, q, v, tau, a)


@entry(f"int64(int64, {_V}, {_V})")
def closed_project_one(block, q, v):
    """Move one state onto the loops, in place; see numerics/verbs/table.py, `constrain`."""
    own = ints_at(block, BLOCK_WORDS)
    words = ints_at(own[HEAD], HEAD_WORDS)
    if q.shape[0] != words[NQ] or v.shape[0] != words[NV]:
        return at.BAD_SHAPE
    status = status_of(words, q, v, v[0:0], v[0:0])
    if status != at.OK:
        return status
    arguments = (own[HEAD], own[STEPS], address_of(q), address_of(v))
    return call_constrain(function_of(words, CONSTRAIN), arguments)


@entry(f"int64(int64, {_V}, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def closed_forward_many(block, work, room, q, v, tau, a):
    """a (N, nv) for rows of q, v, tau (N, nu); the status is that of the first row that has one."""
    own = ints_at(block, BLOCK_WORDS)
    words, tolerance = ints_at(own[HEAD], HEAD_WORDS), floats_at(own[TOLERANCE], 1)[0]
    for s in range(q.shape[0]):
        status = status_of(words, q[s], v[s], v[s, 0:0], tau[s])
        if status == at.OK:
            memory = address_of(work), address_of(room)
            status = accelerate_closed(words, memory[0], memory[1], tolerance, q[s], v[s], tau[s], a[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK
