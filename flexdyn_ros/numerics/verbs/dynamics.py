"""Entries of the dynamics and of the balance of forces, compiled once for all families (head.py).

The `_one` entries use the work memory of the head and keep the GIL, so that no two threads meet there; the
others get work memory of their own and release it. They return status + 8 i with the index i of the first
sample that is wrong, 0 if none is.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES
from flexdyn_ros.numerics.verbs.table import (
    BALANCE,
    FORWARD,
    INVERSE,
    READY,
    STATUS,
    call_balance,
    call_forward,
    call_inverse,
    call_of_rows,
    call_on_lanes,
    call_ready,
    call_status,
)

from .head import CHOSEN, COUNT, EFFORTS, HEAD_WORDS, NQ, NV, ROBOT, SPARE, WORK, function_of
from .samples import finite, gather, note_wrong, scatter

#: share of the efforts up to which accelerations that a factorisation found may leave them unbalanced
UNBALANCED = 1e-5
_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


@kernel(forceinline=True)
def status_of_place(words, q):
    """OK, NOT_FINITE or BAD_QUATERNION for q (nq,); families have more to say where there are quaternions."""
    if words[NQ] != words[NV]:
        return call_status(function_of(words, STATUS), (words[ROBOT], address_of(q)))
    return at.OK if finite(q, words[NQ]) else at.NOT_FINITE


@kernel(forceinline=True)
def status_of(words, q, v, a, tau):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    status = status_of_place(words, q)
    if status != at.OK:
        return status
    if finite(v, v.shape[0]) and finite(a, a.shape[0]) and finite(tau, tau.shape[0]):
        return at.OK
    return at.NOT_FINITE


@entry("int64(int64)")
def make_ready(head):
    """Make the work memory of a head ready; functions that need it so leave it so."""
    words = ints_at(head, HEAD_WORDS)
    return call_ready(function_of(words, READY), (head, words[WORK]))


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_one(head, q, v, a, tau):
    """M a + h (nv,) of one state without wrenches, or efforts that exert that, by the family's recursion."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return at.BAD_SHAPE
    motion = address_of(q), address_of(v), address_of(a), address_of(tau)
    status = call_inverse(function_of(words, INVERSE), (head, words[WORK], *motion))
    if not finite(tau, nv):
        return at.NOT_FINITE
    return status if status != at.OK else status_of_place(words, q)


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def balance_one(head, q, v, a, out):
    """M a + h (nv,) of one state without wrenches."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or a.shape[0] != nv or out.shape[0] != nv:
        return at.BAD_SHAPE
    status = status_of(words, q, v, a, v[0:0])
    if status == at.OK:
        none = address_of(v)
        motion = address_of(q), address_of(v), address_of(a)
        call_balance(function_of(words, BALANCE), (head, words[WORK], *motion, none, none, address_of(out)))
        status = at.OK if finite(out, nv) else at.NOT_FINITE
    return status


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def unbalanced_one(head, q, v, tau, a):
    """SINGULAR if accelerations a do not balance the efforts tau (EFFORTS,) of a good state: what a
    factorisation found is then rounding divided by rounding."""
    words = ints_at(head, HEAD_WORDS)
    nv, none = words[NV], address_of(v)
    spare = floats_at(words[SPARE], 2 * nv)
    still, left = spare[0:nv], spare[nv : 2 * nv]
    still[:] = 0.0
    arrays = (head, words[WORK], address_of(q), address_of(v))
    call_balance(
        function_of(words, BALANCE), (*arrays, address_of(still), address_of(tau), none, address_of(left))
    )
    size = largest(tau, largest(left, 0.0))
    call_balance(
        function_of(words, BALANCE), (*arrays, address_of(a), address_of(tau), none, address_of(left))
    )
    return at.OK if largest(left, 0.0) <= UNBALANCED * size else at.SINGULAR


@kernel(forceinline=True)
def largest(x, least):
    """The largest size of a number in x (n,), at least `least`; NaN if one is."""
    for i in range(x.shape[0]):
        size = abs(x[i])
        if not size <= least:
            least = size
    return least


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_T}, {_M})", nogil=True)
def balance_many(head, work, q, v, a, tau, wrenches, out):
    """The balance (N, nv) for rows of q, v, a, tau (N, EFFORTS), wrenches (N, k, 6).

    The status is that of the first row that is wrong.
    """
    words, found = ints_at(head, HEAD_WORDS), at.OK
    for s in range(q.shape[0]):
        status = status_of(words, q[s], v[s], a[s], tau[s])
        if status == at.OK:
            arrays = address_of(q[s]), address_of(v[s]), address_of(a[s]), address_of(tau[s])
            loads = address_of(wrenches[s])
            call_balance(
                function_of(words, BALANCE), (head, address_of(work), *arrays, loads, address_of(out[s]))
            )
            status = at.OK if finite(out[s], out.shape[1]) else at.NOT_FINITE
        if found == at.OK and status != at.OK:
            found = status + 8 * s
    return found


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_one(head, q, v, tau, a):
    """a (nv,) of one state under efforts (nv,) without wrenches."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or tau.shape[0] != nv or a.shape[0] != nv:
        return at.BAD_SHAPE
    motion = address_of(q), address_of(v), address_of(tau), address_of(v), address_of(a)
    status = call_forward(function_of(words, FORWARD), (head, words[WORK], *motion))
    if status == at.OK and not finite(a, nv):
        status = at.NOT_FINITE
    return status if status != at.OK else status_of_place(words, q)


@kernel
def first_wrong(words, q, v, third, result):
    """Status of the first sample that is not finite or has a bad quaternion."""
    for s in range(q.shape[0]):
        status = status_of(words, q[s], v[s], third[s], result[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_T}, {_M})", nogil=True)
def forward_many(head, work, q, v, tau, wrenches, a):
    """a (N, nv) for rows of q, v, tau (N, nv), wrenches (N, k, 6), one by one."""
    words = ints_at(head, HEAD_WORDS)
    for s in range(q.shape[0]):
        motion = address_of(q[s]), address_of(v[s]), address_of(tau[s]), address_of(wrenches[s])
        status = call_forward(
            function_of(words, FORWARD), (head, address_of(work), *motion, address_of(a[s]))
        )
        if status != at.OK:
            return status + 8 * s
    return first_wrong(words, q, v, tau, a)


@entry(
    f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_T}, {_M})",
    nogil=True,
    fastmath={"contract", "nsz", "arcp"},
)
def many_on_lanes(head, work, q, v, third, result, wrenches, pivot):
    """Inverse or forward dynamics for rows of q, v and accelerations or efforts, LANES samples at a time.

    Families that take wrenches (N, COUNT, 6) on lanes find them in the block behind the result and a mark.
    Those that tell how near samples are to singular ones write pivot (N, 1) behind the wrenches. Others are
    asked with wrenches (0, 0, 6) and pivot (0, 0).
    """
    words = ints_at(head, HEAD_WORDS)
    nq, nv, width = words[NQ], words[NV], 6 * words[COUNT]
    most = max(nv, words[EFFORTS])
    n = nq + nv + 2 * most
    floats = window(work, 0, LANES * (n + 1 + width + pivot.shape[1]))
    block = lanes_of(floats)
    floats[:] = 0.0
    given, found = window(block, nq + nv, most), window(block, nq + nv + most, most)
    acting, told = tail(block, n + 1), tail(block, n + 1 + width)
    loads = shaped(wrenches, (wrenches.shape[0], width))
    for first in range(0, q.shape[0], LANES):
        gather(block, q, first, nq)
        gather(window(block, nq, nv), v, first, nv)
        gather(given, third, first, third.shape[1])
        if width > 0:
            gather(acting, loads, first, width)
        arguments = head, address_of(work), work.shape[0], first == 0
        status = call_on_lanes(words[CHOSEN], arguments)
        if status != at.OK:
            return status + 8 * first
        note_wrong(block, n)
        scatter(found, result, first, result.shape[1])
        if pivot.shape[1] > 0:
            scatter(told, pivot, first, pivot.shape[1])
    if finite(window(floats, LANES * n, LANES), LANES):
        return at.OK if nq == nv else first_misplaced(words, q)
    return first_wrong(words, q, v, third, result)


@entry(f"int64(int64, {_M}, {_M}, {_M}, {_M})", nogil=True)
def many_of_rows(head, q, v, third, result):
    """Inverse or forward dynamics for rows of q, v and accelerations or efforts, by a function that takes
    them all."""
    words = ints_at(head, HEAD_WORDS)
    arrays = address_of(q), address_of(v), address_of(third), address_of(result)
    call_of_rows(words[CHOSEN], (head, *arrays, q.shape[0]))
    return first_wrong(words, q, v, third, result)


@kernel
def first_misplaced(words, q):
    """Status of the first q with a bad quaternion."""
    for s in range(q.shape[0]):
        status = status_of_place(words, q[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK
