"""Entries of the derivatives of the balance of forces, compiled once for all families (head.py).

Derivatives are exact to rounding. Work memory is TANGENTS float64 numbers, as the family's `slopes` take it.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import copy, shaped, window
from flexdyn_ros.numerics.numbers.memory import PER_TANGENTS, next_aligned, tangents_of
from flexdyn_ros.numerics.numbers.vectors import ALIGNMENT
from flexdyn_ros.numerics.verbs.table import BALANCE, MASS, SLOPES, call_balance, call_observe

from .dynamics import status_of
from .head import COUNT, EFFORTS, GIVEN, HEAD_WORDS, NQ, NV, SPARE, TURNS, TWISTS, WORK, function_of
from .samples import all_finite


def spare_numbers(nv: int) -> int:
    """float64 numbers of memory that the entries of a robot may write to, beside their work memory."""
    return 2 * nv * nv + 8 * nv + 10 + nv * (3 * nv + PER_TANGENTS) + ALIGNMENT // 8


_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_T}, {_T})", nogil=True)
def slopes_many(head, work, q, v, a, tau, wrenches, out):
    """Derivatives (N, nv, 2 nv) of the balance for rows of q, v, a, tau, wrenches (N, k, 6)."""
    words = ints_at(head, HEAD_WORDS)
    for s in range(q.shape[0]):
        status = status_of(words, q[s], v[s], a[s], tau[s])
        if status != at.OK:
            return status + 8 * s
        arrays = address_of(q[s]), address_of(v[s]), address_of(a[s]), address_of(tau[s])
        loads = address_of(wrenches[s])
        call_balance(function_of(words, SLOPES), (head, address_of(work), *arrays, loads, address_of(out[s])))
    return at.OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_M}, {_M}, {_M})")
def inverse_derivatives_one(head, q, v, a, dq, dv, M):
    """Derivatives of tau = M a + h by q and v, and M, (nv, nv) each, of one state."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = status_of(words, q, v, a, v[0:0])
    if status != at.OK:
        return status
    spare = shaped(floats_at(words[SPARE], 2 * nv * nv), (nv, 2 * nv))
    none = address_of(v)
    arrays = address_of(q), address_of(v), address_of(a), none, none, address_of(spare)
    call_balance(function_of(words, SLOPES), (head, words[WORK], *arrays))
    for i in range(nv):
        for j in range(nv):
            dq[i, j], dv[i, j] = spare[i, j], spare[i, nv + j]
    call_observe(function_of(words, MASS), (head, words[WORK], address_of(q), none, address_of(M)))
    return at.OK if all_finite(spare) and all_finite(M) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_M}, {_M})")
def linearize_one(head, q, v, tau, A, B):
    """`linearize` of one state without wrenches."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or tau.shape[0] != words[EFFORTS] or words[COUNT] != 0:
        return at.BAD_SHAPE
    a = floats_at(words[SPARE] + 16 * nv * nv, nv)
    for i in range(nv):
        a[i] = 0.0
    status = status_of(words, q, v, a, tau)
    if status != at.OK:
        return status
    return linearize(head, words[SPARE], words[WORK], q, v, tau, a, address_of(v), A, B)


@entry(f"int64(int64, {_V}, {_V}, {_M}, {_M}, {_M}, {_M}, {_T}, {_T}, {_T})", nogil=True)
def linearize_many(head, spare, work, q, v, tau, a, wrenches, A, B):
    """d(q, v)/dt around rows of motions; NaN where M is singular or derivatives overflow."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    for s in range(q.shape[0]):
        status = status_of(words, q[s], v[s], a[s], tau[s])
        if status != at.OK:
            return status + 8 * s
        loads = address_of(wrenches[s])
        memory = address_of(spare), address_of(work)
        status = linearize(head, *memory, q[s], v[s], tau[s], a[s], loads, A[s], B[s])
        if status != at.OK:
            for i in range(nv):
                a[s, i] = float("nan")
                for j in range(nv):
                    B[s, nv + i, j] = float("nan")
                for j in range(2 * nv):
                    A[s, nv + i, j] = float("nan")
    return at.OK


@kernel
def linearize(head, spare, work, q, v, tau, a, wrenches, A, B):
    """A (2 nv, 2 nv) and B (2 nv, nv) of d(dq, dv)/dt = A (dq, dv) + B df for forces f along v.

    Accelerations a (nv,) that are given stay; the others are written there. spare: `spare_numbers`.
    SINGULAR where M is, NOT_FINITE where derivatives overflow.
    """
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    given, twists = ints_at(words[GIVEN], nv), ints_at(words[TWISTS], words[TURNS])
    M = shaped(floats_at(spare, nv * nv), (nv, nv))
    rest = floats_at(spare + 8 * nv * nv, nv)
    call_observe(function_of(words, MASS), (head, work, address_of(q), address_of(v), address_of(M)))
    for i in range(nv):
        if given[i] == 0:
            a[i] = 0.0
    motion = address_of(q), address_of(v), address_of(a), address_of(tau), wrenches
    call_balance(function_of(words, BALANCE), (head, work, *motion, address_of(rest)))
    A[:] = 0.0
    B[:] = 0.0
    for i in range(nv):
        A[i, nv + i] = 1.0
        if given[i] != 0:
            for j in range(nv):
                M[i, j], M[j, i] = 0.0, 0.0
            M[i, i], rest[i] = 1.0, 0.0
    if not cholesky(M, nv):
        return at.SINGULAR
    cholesky_solve(M, nv, rest)
    for i in range(nv):
        if given[i] == 0:
            a[i] = -rest[i]
    lower = A[nv:]
    call_balance(function_of(words, SLOPES), (head, work, *motion, address_of(lower)))
    # rows of M^-1 and of -M^-1 d(balance), side by side
    width = (3 * nv + PER_TANGENTS - 1) // PER_TANGENTS
    size = PER_TANGENTS * width
    floats = floats_at(next_aligned(spare + 8 * nv * (2 * nv + 1)), size * nv)
    floats[:] = 0.0
    for i in range(nv):
        if given[i] == 0:
            row = floats[size * i : size * (i + 1)]
            row[i] = 1.0
            for j in range(2 * nv):
                row[nv + j] = -lower[i, j]
    solve_rows(M, nv, tangents_of(floats), width)
    for i in range(nv):
        row = floats[size * i : size * (i + 1)]
        copy(B[nv + i], window(row, 0, nv))
        copy(lower[i], window(row, nv, 2 * nv))
    add_turns(twists, v, A)
    return at.OK if all_finite(lower) else at.NOT_FINITE


@kernel
def add_turns(twists, v, A):
    """Rates w x dq of the small turns of free bodies."""
    for k in range(twists.shape[0]):
        i = twists[k]
        A[i, i + 1], A[i, i + 2] = -v[i + 2], v[i + 1]
        A[i + 1, i], A[i + 1, i + 2] = v[i + 2], -v[i]
        A[i + 2, i], A[i + 2, i + 1] = -v[i + 1], v[i]


@kernel
def solve_rows(L, n, X, width):
    """X <- (L L^T)^-1 X, whose n rows are `width` numbers each, of the widest type there is."""
    for j in range(width):
        for i in range(n):
            x = X[width * i + j]
            for k in range(i):
                if L[i, k] != 0.0:
                    x = x - L[i, k] * X[width * k + j]
            X[width * i + j] = (1.0 / L[i, i]) * x
        for i in range(n - 1, -1, -1):
            x = X[width * i + j]
            for k in range(i + 1, n):
                if L[k, i] != 0.0:
                    x = x - L[k, i] * X[width * k + j]
            X[width * i + j] = (1.0 / L[i, i]) * x
