"""Entries of motions some of whose accelerations are given, compiled once for all families (head.py).

The others follow from the mass matrix, reduced to them and factorised (Cholesky). So it goes with prescribed
coordinates, coordinates that nothing drives, and mimic joints.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped
from flexdyn_ros.numerics.verbs.table import BALANCE, MASS, STATUS, call_balance, call_observe, call_status

from .dynamics import UNBALANCED, largest
from .head import GIVEN, HEAD_WORDS, NQ, NV, ROBOT, SPARE, WORK, function_of
from .samples import finite

_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


#: share of a number on the diagonal at which what elimination leaves of it may be mostly rounding, several
#: such shares together being as bad as their product
DOUBTFUL = 1e-6


@kernel
def least_pivot(L, n):
    """The smallest share of a number on the diagonal of L L^T (n, n) that elimination leaves of it."""
    least = 1.0
    for i in range(n):
        whole = 0.0
        for k in range(i + 1):
            whole += L[i, k] * L[i, k]
        least = min(least, L[i, i] * L[i, i] / whole)
    return least


@kernel
def solve(head, spare, work, q, v, tau, given, a, wrenches):
    """Fill in the accelerations a (nv,) that are not given, and the efforts tau (nv,) of those that are; a is
    NaN where the mass matrix is singular, or so nearly that the result does not balance the
    efforts. spare: nv (nv + 2) numbers."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    M = shaped(floats_at(spare, nv * nv), (nv, nv))
    rest, none = floats_at(spare + 8 * nv * nv, nv), floats_at(spare + 8 * nv * (nv + 1), nv)
    for i in range(nv):
        none[i] = 0.0
        if given[i] != 0:
            tau[i] = 0.0
        else:
            a[i] = 0.0
    call_observe(function_of(words, MASS), (head, work, address_of(q), address_of(v), address_of(M)))
    motion = address_of(q), address_of(v), address_of(a)
    call_balance(
        function_of(words, BALANCE), (head, work, *motion, address_of(tau), wrenches, address_of(rest))
    )
    # the free rows and columns of M move to the front
    n = 0
    for i in range(nv):
        if given[i] == 0:
            rest[n] = -rest[i]
            m = 0
            for j in range(i + 1):
                if given[j] == 0:
                    M[n, m] = M[i, j]
                    m += 1
            n += 1
    size = largest(rest[0:n], 0.0)
    if not cholesky(M, n):
        for i in range(nv):
            a[i] = float("nan")
        return
    is_doubtful = least_pivot(M, n) < DOUBTFUL
    cholesky_solve(M, n, rest)
    any_given = n < nv
    for r in range(nv):
        i = nv - 1 - r
        if given[i] == 0:
            n -= 1
            a[i] = rest[n]
    if is_doubtful:
        call_balance(
            function_of(words, BALANCE), (head, work, *motion, address_of(tau), wrenches, address_of(rest))
        )
        for i in range(nv):
            size = max(size, abs(tau[i]))
        for i in range(nv):
            if given[i] == 0 and not abs(rest[i]) <= UNBALANCED * size:
                for j in range(nv):
                    a[j] = float("nan")
                return
    if any_given:
        call_balance(
            function_of(words, BALANCE), (head, work, *motion, address_of(none), wrenches, address_of(rest))
        )
        for i in range(nv):
            if given[i] != 0:
                tau[i] = rest[i]


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(head, q, v, tau, a):
    """a of one state without wrenches, 0 where it is given by the description and tau there not used."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or tau.shape[0] != nv or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = call_status(function_of(words, STATUS), (words[ROBOT], address_of(q)))
    if status != at.OK:
        return status
    spare, given = words[SPARE], ints_at(words[GIVEN], nv)
    effort = floats_at(spare + 8 * nv * (nv + 2), nv)
    for i in range(nv):
        effort[i], a[i] = tau[i], 0.0
        if given[i] != 0 and tau[i] != 0.0:
            return at.BAD_SHAPE
    solve(head, spare, words[WORK], q, v, effort, given, a, address_of(v))
    return at.OK if finite(a, nv) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(head, q, v, a, tau):
    """tau of one state without wrenches, 0 where the acceleration is not given: that in a is not used."""
    words = ints_at(head, HEAD_WORDS)
    nv = words[NV]
    if q.shape[0] != words[NQ] or v.shape[0] != nv or tau.shape[0] != nv or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = call_status(function_of(words, STATUS), (words[ROBOT], address_of(q)))
    if status != at.OK:
        return status
    spare, given = words[SPARE], ints_at(words[GIVEN], nv)
    rate = floats_at(spare + 8 * nv * (nv + 2), nv)
    for i in range(nv):
        rate[i], tau[i] = a[i], 0.0
    solve(head, spare, words[WORK], q, v, tau, given, rate, address_of(v))
    return at.OK if finite(tau, nv) and finite(rate, nv) else at.NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_M}, {_M}, {_M}, int64[::1], {_M}, {_T})", nogil=True)
def partial_many(head, spare, work, q, v, tau, given, a, wrenches):
    """`solve` for rows; given (nv,) marks the coordinates whose acceleration is that of a.

    The status is that of the first row that is wrong.
    """
    words = ints_at(head, HEAD_WORDS)
    memory, found = (address_of(spare), address_of(work)), at.OK
    for s in range(q.shape[0]):
        status = call_status(function_of(words, STATUS), (words[ROBOT], address_of(q[s])))
        if status == at.OK:
            solve(head, *memory, q[s], v[s], tau[s], given, a[s], address_of(wrenches[s]))
            n = v.shape[1]
            if not (finite(v[s], n) and finite(tau[s], n) and finite(a[s], n)):
                status = at.NOT_FINITE
        if found == at.OK and status != at.OK:
            found = status + 8 * s
    return found
