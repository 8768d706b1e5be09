"""What is looked at - parts of h, energies, momenta, frames, Jacobians: C functions of the family.

The entries below are compiled once for all families and call such a function through its address, which they
find with all else that it takes at one robot in HEAD words. `_one` entries keep the GIL, so that no two
threads meet in the work memory that the words name; `observe_many` gets work memory of its own. They return
status + 8 i as those of entries.py do.
"""

from __future__ import annotations

from collections.abc import Callable

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.stepping.table import Callback, address_of, caller

from .kernels_of import FamilyKernels, ObservedKernels
from .samples import finite

__all__ = ["HEAD_WORDS", "observers"]

_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"

#: words: address of the robot, its sizes, work memory and how much of it, memory of the entries, the
#: functions, numbers of a result; of frames how many, bodies (k,), rows of numbers (k, width)
HEAD_WORDS = 13
(
    ROBOT, NQ, NV, WORK, SIZE, SPARE, STATUS, FUNCTION, RESULTS, COUNT, BODIES, POINTS, WIDTH,
) = range(HEAD_WORDS)  # fmt: skip

#: (robot, q): OK, NOT_FINITE or BAD_QUATERNION
STATUS_SIGNATURE = "int64(int64, int64)"
#: (head, work, q, v, out): write the result of one state; frames do without v
OBSERVE_SIGNATURE = "int64(int64, int64, int64, int64, int64)"

_call_status = caller(STATUS_SIGNATURE)
_call_observe = caller(OBSERVE_SIGNATURE)


def observers(module: str, of: FamilyKernels | ObservedKernels) -> dict[str, Callback]:
    """The C functions of a family by their names, as if `module` had defined them."""
    found = [_status(of.sizes, of.status_of_q)]
    found += [_of_state(of, *named) for named in (("bias_terms", of.terms), ("energy", of.energies))]
    if of.momenta is not None:
        found.append(_of_state(of, "momenta", of.momenta))
    if of.frames is not None:
        found.append(_frames(of.frames))
    if of.jacobian is not None:
        found.append(_jacobian(of.jacobian))
    found.append(_moved(of.displace))
    for function, _ in found:
        function.__module__, function.__qualname__ = module, function.__name__
    return {function.__name__: Callback(function, signature) for function, signature in found}


_Made = tuple[Callable, str]


def _status(sizes: Callable, status_of_q: Callable) -> _Made:
    def status(robot, q):
        return status_of_q(robot, floats_at(q, sizes(robot)[0]))

    return status, STATUS_SIGNATURE


def _of_state(of: FamilyKernels | ObservedKernels, name: str, write: Callable) -> _Made:
    """bias_terms (5, nv), energy (3,) or momenta (10,)."""
    prepare, parts = of.prepare, name == "bias_terms"

    def observe(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        robot, nq, nv, memory = words[ROBOT], words[NQ], words[NV], floats_at(work, words[SIZE])
        prepare(robot, memory)
        result = floats_at(out, words[RESULTS])
        write(robot, memory, floats_at(q, nq), floats_at(v, nv), result.reshape(5, nv) if parts else result)
        return 0

    observe.__name__ = name
    return observe, OBSERVE_SIGNATURE


def _frames(write: Callable) -> _Made:
    def frames(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        k, width = words[COUNT], words[WIDTH]
        write(
            words[ROBOT],
            floats_at(work, words[SIZE]),
            floats_at(q, words[NQ]),
            ints_at(words[BODIES], k),
            floats_at(words[POINTS], k * width).reshape(k, width),
            floats_at(out, 16 * k).reshape(k, 4, 4),
        )
        return 0

    return frames, OBSERVE_SIGNATURE


def _jacobian(write: Callable) -> _Made:
    def jacobian(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        k, width, nv = words[COUNT], words[WIDTH], words[NV]
        bodies, points = ints_at(words[BODIES], k), floats_at(words[POINTS], k * width)
        result = floats_at(out, 6 * nv * k)
        memory, place = floats_at(work, words[SIZE]), floats_at(q, words[NQ])
        for f in range(k):
            point, J = points[width * f : width * (f + 1)], result[6 * nv * f : 6 * nv * (f + 1)]
            write(words[ROBOT], memory, place, bodies[f], point, J.reshape(6, nv))
        return 0

    return jacobian, OBSERVE_SIGNATURE


def _moved(displace: Callable) -> _Made:
    def moved(head, work, q, v, out):
        words = ints_at(head, HEAD_WORDS)
        displace(words[ROBOT], floats_at(q, words[NQ]), floats_at(v, words[NV]), floats_at(out, words[NQ]))
        return 0

    return moved, OBSERVE_SIGNATURE


# ---- entries ----


@kernel(forceinline=True)
def observe(head, work, q, v, out):
    """One state, if it is finite and its quaternions are of unit length."""
    words = ints_at(head, HEAD_WORDS)
    status = _call_status(words[STATUS], (words[ROBOT], address_of(q)))
    if status == at.OK and not finite(v, v.shape[0]):
        status = at.NOT_FINITE
    if status == at.OK:
        _call_observe(words[FUNCTION], (head, work, address_of(q), address_of(v), address_of(out)))
    return status


@kernel(forceinline=True)
def place(head, q, out):
    """Frames or Jacobians of one q."""
    words = ints_at(head, HEAD_WORDS)
    if q.shape[0] != words[NQ] or out.size != words[RESULTS]:
        return at.BAD_SHAPE
    return observe(head, words[WORK], q, q[0:0], out)


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


@entry(f"int64(int64, {_V}, {_V}, {_V})")
def velocity_one(head, q, v, out):
    """J v (6,) with the Jacobian of one frame."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if v.shape[0] != nv or out.shape[0] != 6 or words[COUNT] != 1:
        return at.BAD_SHAPE
    J = floats_at(words[SPARE], 6 * nv).reshape(6, nv)
    status = place(head, q, J)
    for i in range(6):
        out[i] = 0.0
        for j in range(nv):
            out[i] += J[i, j] * v[j]
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
    return _call_status(words[STATUS], (words[ROBOT], address_of(q)))


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def observe_many(head, work, q, v, out):
    """Results (N, RESULTS) of rows of states; v (N, 0) for frames and Jacobians."""
    for s in range(q.shape[0]):
        status = observe(head, address_of(work), q[s], v[s], out[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK
