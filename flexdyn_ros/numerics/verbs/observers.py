"""Entries that look at a state, compiled once for all families: parts of h, energies, momenta, M, frames,
Jacobians, by the C functions of a family (head.py).

`_one` entries keep the GIL, so that no two threads meet in the work memory of the head; `observe_many` gets
work memory of its own. They return status + 8 i as those of entries.py do.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, window
from flexdyn_ros.numerics.verbs.table import STATUS, call_observe, call_status

from .head import CHOSEN, COUNT, HEAD_WORDS, NQ, NV, RESULTS, ROBOT, SPARE, WORK, function_of
from .samples import all_finite, finite

_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


@kernel(forceinline=True)
def observe(head, work, q, v, out):
    """One state, if it is finite and its quaternions are of unit length; NOT_FINITE too where the result
    overflows."""
    words = ints_at(head, HEAD_WORDS)
    status = call_status(function_of(words, STATUS), (words[ROBOT], address_of(q)))
    if status == at.OK and not finite(v, v.shape[0]):
        status = at.NOT_FINITE
    if status == at.OK:
        call_observe(words[CHOSEN], (head, work, address_of(q), address_of(v), address_of(out)))
        status = at.OK if all_finite(out) else at.NOT_FINITE
    return status


@kernel(forceinline=True)
def place(head, q, out):
    """Frames or Jacobians of one q."""
    words = ints_at(head, HEAD_WORDS)
    if q.shape[0] != words[NQ] or out.size != words[RESULTS]:
        return at.BAD_SHAPE
    return observe(head, words[WORK], q, window(q, 0, 0), out)


@entry(f"int64(int64, {_V}, {_V}, {_V})")
def observe_one(head, q, v, out):
    """The result (RESULTS,) of a state."""
    words = ints_at(head, HEAD_WORDS)
    if q.shape[0] != words[NQ] or v.shape[0] != words[NV] or out.shape[0] != words[RESULTS]:
        return at.BAD_SHAPE
    return observe(head, words[WORK], q, v, out)


@entry(f"int64(int64, {_V}, {_M})")
def place_one(head, q, out):
    """The pose or Jacobian of one frame."""
    return place(head, q, out)


@entry(f"int64(int64, {_V}, {_T})")
def place_several(head, q, out):
    """Poses or Jacobians of several frames."""
    return place(head, q, out)


@kernel(forceinline=True)
def velocity(head, q, v, out):
    """J v (6,) with the Jacobian of one frame."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if v.shape[0] != nv or out.shape[0] != 6 or words[COUNT] != 1:
        return at.BAD_SHAPE
    J = shaped(floats_at(words[SPARE], 6 * nv), (6, nv))
    status = place(head, q, J)
    for i in range(6):
        out[i] = 0.0
        for j in range(nv):
            out[i] += J[i, j] * v[j]
    return status if status != at.OK or finite(out, 6) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V})")
def velocity_one(head, q, v, out):
    """J v (6,) with the Jacobian of one frame."""
    return velocity(head, q, v, out)


@entry(f"int64(int64, int64, {_V}, {_V}, {_V}, {_V})")
def acceleration_one(head, rate, q, v, a, out):
    """J a + dJ/dt v (6,) by the heads of the Jacobian of one frame and of its rate."""
    status = velocity(head, q, a, out)
    words = ints_at(head, HEAD_WORDS)
    if status == at.OK and v.shape[0] != words[NV]:
        status = at.BAD_SHAPE
    if status != at.OK:
        return status
    found = floats_at(words[SPARE], 6)
    status = observe(rate, ints_at(rate, HEAD_WORDS)[WORK], q, v, found)
    for i in range(6):
        out[i] += found[i]
    return status if status != at.OK or finite(out, 6) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V})")
def center_one(head, q, out):
    """The centre of mass (3,), by the momenta; NOT_FINITE without mass."""
    words = ints_at(head, HEAD_WORDS)
    if q.shape[0] != words[NQ] or out.shape[0] != 3:
        return at.BAD_SHAPE
    spare = floats_at(words[SPARE], words[NV] + 10)
    still, found = spare[0 : words[NV]], spare[words[NV] :]
    still[:] = 0.0
    status = observe(head, words[WORK], q, still, found)
    for i in range(3):
        out[i] = found[6 + i] / found[9]
    return status if status != at.OK or finite(out, 3) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, float64, {_V})")
def move_one(head, q, v, dt, out):
    """q (+) dt v."""
    words = ints_at(head, HEAD_WORDS)
    if q.shape[0] != words[NQ] or v.shape[0] != words[NV] or out.shape[0] != words[NQ]:
        return at.BAD_SHAPE
    turn = floats_at(words[SPARE], words[NV])
    for i in range(words[NV]):
        turn[i] = dt * v[i]
    return observe(head, words[WORK], q, turn, out)


@entry(f"int64(int64, {_V}, {_V}, {_V})")
def subtract_one(n, q0, q1, out):
    """q1 - q0, of n numbers each."""
    if q0.shape[0] != n or q1.shape[0] != n or out.shape[0] != n:
        return at.BAD_SHAPE
    for i in range(n):
        out[i] = q1[i] - q0[i]
    return at.OK if finite(out, n) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_M})")
def identity_one(head, q, out):
    """The identity (nv, nv) at a q."""
    words = ints_at(head, HEAD_WORDS)
    n = words[NV]
    if q.shape[0] != words[NQ] or out.shape[0] != n or out.shape[1] != n:
        return at.BAD_SHAPE
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    return call_status(function_of(words, STATUS), (words[ROBOT], address_of(q)))


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def observe_many(head, work, q, v, out):
    """Results (N, RESULTS) of rows of states; v (N, 0) for frames and Jacobians.

    The status is that of the first row that is wrong.
    """
    found = at.OK
    for s in range(q.shape[0]):
        status = observe(head, address_of(work), q[s], v[s], out[s])
        if found == at.OK and status != at.OK:
            found = status + 8 * s
    return found
