"""The entries of a family, made from its kernels: one sample with the robot's own memory, or many.

What is looked at, derivatives, and motions some of whose accelerations are given, are entries of their own
over the family's C functions (observers.py, derivatives.py, partial.py).

The `_one` entries use the robot's own work memory and keep the GIL, so that no two threads meet there; the
others get work memory of their own and release it. They return status + 8 i with the index i of the first
sample that is wrong, 0 if none is. Batches without wrenches go LANES samples at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import Entry, apart, inner
from flexdyn_ros.numerics.compiling.direct import DirectEntry
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES

from .functions_of import family_functions
from .kernels_of import FamilyKernels
from .samples import all_finite, finite, gather, note_wrong, scatter

__all__ = ["verb_entries", "work_numbers"]

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"
#: what the compiler may do with lanes of a batch: a b + c in one rounding, signs of zeros, 1/x
_FAST = {"contract", "nsz", "arcp"}


def work_numbers(numbers: int, nq: int, nv: int, per_number: int) -> int:
    """float64 numbers of the work memory of an entry: the kernels' `numbers`, one sample and a mark, of a
    number type with so many float64 each."""
    return per_number * (numbers + 2 * nq + 7 * nv + 1)


def verb_entries(module: str, kernels: FamilyKernels) -> SimpleNamespace:
    """Entries by their names, as if `module` had defined them, and `kernels`."""
    made = SimpleNamespace(kernels=kernels, **family_functions(module, kernels))
    for define in (_single, _batches, _loaded):
        for signature, function, options in define(module, kernels):
            name = function.__name__
            kind = DirectEntry if define is _single else Entry
            setattr(made, name, kind(function, signature, module=module, **options))
    return made


_Defined = list[tuple[str, Callable, dict]]
_FREE: dict = {"nogil": True}


def _single(module: str, of: FamilyKernels) -> _Defined:
    sizes, own_work, prepare, status_of_q = of.sizes, of.own_work, of.prepare, of.status_of_q
    inverse, forward, mass = of.inverse, of.forward, of.mass

    def prepare_one(address):
        prepare(address, own_work(address))
        return at.OK

    def inverse_dynamics_one(address, q, v, a, tau):
        nq, nv = sizes(address)
        if q.shape[0] != nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
            return at.BAD_SHAPE
        inverse(address, own_work(address), q, v, a, tau)
        if not finite(tau, nv):
            return at.NOT_FINITE
        return status_of_q(address, q)

    def forward_dynamics_one(address, q, v, tau, a):
        nq, nv = sizes(address)
        if q.shape[0] != nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
            return at.BAD_SHAPE
        status = forward(address, own_work(address), q, v, tau, a)
        if status != at.OK:
            return status
        if not finite(a, nv):
            return at.NOT_FINITE
        return status_of_q(address, q)

    def mass_matrix_one(address, q, M):
        nq, nv = sizes(address)
        if q.shape[0] != nq or M.shape[0] != nv or M.shape[1] != nv:
            return at.BAD_SHAPE
        status = status_of_q(address, q)
        if status == at.OK:
            mass(address, own_work(address), q, M)
            status = at.OK if all_finite(M) else at.NOT_FINITE
        return status

    four = f"int64(int64, {_V}, {_V}, {_V}, {_V})"
    return [
        ("int64(int64)", prepare_one, {}),
        (four, inverse_dynamics_one, {}),
        (four, forward_dynamics_one, {}),
        (f"int64(int64, {_V}, {_M})", mass_matrix_one, {}),
    ]


def _first_wrong(module: str, status_of_q: Callable) -> Callable:
    """The search for the first sample that is not finite or has a bad quaternion, as a kernel; `fine`: all
    numbers are known to be finite."""

    def first_wrong(address, q, v, third, result, fine):
        n = v.shape[1]
        if fine and q.shape[1] == n:
            return at.OK  # all is finite, and there is no quaternion
        for s in range(q.shape[0]):
            status = status_of_q(address, q[s])
            if status == at.OK and not (finite(v[s], n) and finite(third[s], n) and finite(result[s], n)):
                status = at.NOT_FINITE
            if status != at.OK:
                return status + 8 * s
        return at.OK

    return inner(apart(first_wrong, module))


def _batches(module: str, of: FamilyKernels) -> _Defined:
    prepare, inverse, forward = of.prepare, of.inverse, of.forward
    first_wrong = _first_wrong(module, of.status_of_q)

    def inverse_dynamics_many(address, work, q, v, a, tau):
        nq, nv = q.shape[1], v.shape[1]
        n = nq + 3 * nv
        floats = window(work, 0, LANES * (n + 1))
        block, memory = lanes_of(floats), lanes_of(tail(work, LANES * (n + 1)))
        floats[LANES * n :] = 0.0
        prepare(address, memory)
        x, xd = window(block, 0, nq), window(block, nq, nv)
        given, found = window(block, nq + nv, nv), window(block, nq + 2 * nv, nv)
        for first in range(0, q.shape[0], LANES):
            gather(x, q, first, nq)
            gather(xd, v, first, nv)
            gather(given, a, first, nv)
            inverse(address, memory, x, xd, given, found)
            note_wrong(block, n)
            scatter(found, tau, first, nv)
        return first_wrong(address, q, v, a, tau, finite(tail(floats, LANES * n), LANES))

    def forward_dynamics_many(address, work, q, v, tau, a):
        nq, nv = q.shape[1], v.shape[1]
        n = nq + 3 * nv
        floats = window(work, 0, LANES * (n + 1))
        block, memory = lanes_of(floats), lanes_of(tail(work, LANES * (n + 1)))
        floats[LANES * n :] = 0.0
        prepare(address, memory)
        x, xd = window(block, 0, nq), window(block, nq, nv)
        given, found = window(block, nq + nv, nv), window(block, nq + 2 * nv, nv)
        for first in range(0, q.shape[0], LANES):
            gather(x, q, first, nq)
            gather(xd, v, first, nv)
            gather(given, tau, first, nv)
            status = forward(address, memory, x, xd, given, found)
            if status != at.OK:
                return status + 8 * first
            note_wrong(block, n)
            scatter(found, a, first, nv)
        return first_wrong(address, q, v, tau, a, finite(tail(floats, LANES * n), LANES))

    five = f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})"
    if not of.lanes:
        return [(five, function, _FREE) for function in _one_by_one(module, of)]
    options = {"nogil": True, "fastmath": _FAST}
    return [(five, inverse_dynamics_many, options), (five, forward_dynamics_many, options)]


def _one_by_one(module: str, of: FamilyKernels) -> tuple[Callable, Callable]:
    """The batches of kernels that take no lanes."""
    prepare, inverse, forward = of.prepare, of.inverse, of.forward
    first_wrong = _first_wrong(module, of.status_of_q)

    def inverse_dynamics_many(address, work, q, v, a, tau):
        prepare(address, work)
        for s in range(q.shape[0]):
            inverse(address, work, q[s], v[s], a[s], tau[s])
        return first_wrong(address, q, v, a, tau, False)

    def forward_dynamics_many(address, work, q, v, tau, a):
        prepare(address, work)
        for s in range(q.shape[0]):
            status = forward(address, work, q[s], v[s], tau[s], a[s])
            if status != at.OK:
                return status + 8 * s
        return first_wrong(address, q, v, tau, a, False)

    return inverse_dynamics_many, forward_dynamics_many


def _loaded(module: str, of: FamilyKernels) -> _Defined:
    prepare, forward, load = of.prepare, of.forward, of.load
    first_wrong = _first_wrong(module, of.status_of_q)

    def forward_dynamics_loaded(address, work, q, v, tau, bodies, points, wrenches, a):
        nv = v.shape[1]
        force, memory = window(work, 0, nv), tail(work, nv)
        prepare(address, memory)
        for s in range(q.shape[0]):
            for i in range(nv):
                force[i] = tau[s, i]
            load(address, memory, q[s], bodies, points, wrenches[s], force)
            status = forward(address, memory, q[s], v[s], force, a[s])
            if status != at.OK:
                return status + 8 * s
        return first_wrong(address, q, v, tau, a, False)

    signature = f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})"
    return [(signature, forward_dynamics_loaded, _FREE)]
