"""Entries of derivatives: a family's balance of forces runs on tangents, DIRECTIONS of them a pass.

balance : (address, work, q, v, a, tau, bodies, points, wrenches, out)
    A kernel that writes M a + h - B tau - sum J^T w (nv,); q, v, out and work in one number type, the others
    float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import cholesky
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import Entry, apart, inner
from flexdyn_ros.numerics.numbers.memory import tangents_of
from flexdyn_ros.numerics.numbers.vectors import DIRECTIONS

from .samples import finite

__all__ = ["derivatives_entries"]

_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"
_WIDTH = 1 + DIRECTIONS


def derivatives_entries(
    module: str,
    prepare: Callable,
    status_of_q: Callable,
    displace: Callable,
    balance: Callable,
    mass: Callable | None,
) -> dict[str, Entry]:
    """Entries of `module` by their names, exact to rounding.

    balance_slopes (address, work, q, v, a, tau, bodies, points, wrenches, out)
        Derivatives out (N, nv, 2 nv) of the balance by q (in its tangent space) and by v, for rows.
    linearize_many (address, work, q, v, tau, given, twists, a, bodies, points, wrenches, A, B)
        d(q, v)/dt around rows of motions, see `linearize` below; where mass is given.
    linearize_one
        The same for one state, with the GIL.
    """
    slopes = _slopes_of(module, displace, balance)
    checked = _checked(module, status_of_q)

    def balance_slopes(address, work, q, v, a, tau, bodies, points, wrenches, out):
        prepare(address, tangents_of(work[_WIDTH * (2 * q.shape[1] + 3 * v.shape[1]) :]))
        for s in range(q.shape[0]):
            status = checked(address, q[s], v[s], a[s], tau[s])
            if status != at.OK:
                return status + 8 * s
            slopes(address, work, q[s], v[s], a[s], tau[s], bodies, points, wrenches[s], out[s])
        return at.OK

    places = f"int64[::1], {_M}, {_T}"
    made = {"balance_slopes": (f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {places}, {_T})", balance_slopes)}
    if mass is not None:
        linearize = _linearization_of(module, prepare, slopes, balance, mass)

        def linearize_many(address, work, q, v, tau, given, twists, a, bodies, points, wrenches, A, B):
            for s in range(q.shape[0]):
                status = checked(address, q[s], v[s], a[s], tau[s])
                if status == at.OK:
                    status = linearize(
                        address, work, q[s], v[s], tau[s], given, twists, a[s], bodies, points, wrenches[s],
                        A[s], B[s],
                    )  # fmt: skip
                if status == at.SINGULAR:
                    A[s, v.shape[1] :], B[s], a[s], status = np.nan, np.nan, np.nan, at.OK
                if status != at.OK:
                    return status + 8 * s
            return at.OK

        def linearize_one(address, work, q, v, tau, given, twists, a, bodies, points, wrenches, A, B):
            status = checked(address, q, v, a, tau)
            if status != at.OK:
                return status
            return linearize(address, work, q, v, tau, given, twists, a, bodies, points, wrenches, A, B)

        marks = "boolean[::1], int64[::1]"
        made["linearize_many"] = (
            f"int64(int64, {_V}, {_M}, {_M}, {_M}, {marks}, {_M}, {places}, {_T}, {_T})",
            linearize_many,
        )
        made["linearize_one"] = (
            f"int64(int64, {_V}, {_V}, {_V}, {_V}, {marks}, {_V}, int64[::1], {_M}, {_M}, {_M}, {_M})",
            linearize_one,
        )
    return {
        name: Entry(function, signature, module=module, nogil=name != "linearize_one")
        for name, (signature, function) in made.items()
    }


def _checked(module: str, status_of_q: Callable) -> Callable:
    def checked(address, q, v, a, tau):
        status = status_of_q(address, q)
        if status != at.OK:
            return status
        if finite(v, v.shape[0]) and finite(a, a.shape[0]) and finite(tau, tau.shape[0]):
            return at.OK
        return at.NOT_FINITE

    return inner(apart(checked, module))


def _slopes_of(module: str, displace: Callable, balance: Callable) -> Callable:
    """A kernel that writes the slopes (nv, 2 nv) of the balance at one state."""

    def slopes(address, work, q, v, a, tau, bodies, points, wrenches, out):
        nq, nv = q.shape[0], v.shape[0]
        n = 2 * nq + 3 * nv
        floats = work[0 : _WIDTH * n]
        block, memory = tangents_of(floats), tangents_of(work[_WIDTH * n :])
        still, turn = block[0:nq], block[nq : nq + nv]
        x, xd, result = block[nq + nv : n - 2 * nv], block[n - 2 * nv : n - nv], block[n - nv : n]
        for i in range(nq):
            still[i] = q[i]
        for first in range(0, 2 * nv, DIRECTIONS):
            count = min(DIRECTIONS, 2 * nv - first)
            for i in range(nv):
                turn[i] = 0.0
                xd[i] = v[i]
            for d in range(count):
                i = first + d
                place = nq + i if i < nv else n - 3 * nv + i
                floats[_WIDTH * place + 1 + d] = 1.0
            displace(address, still, turn, x)
            balance(address, memory, x, xd, a, tau, bodies, points, wrenches, result)
            for j in range(nv):
                row = floats[_WIDTH * (n - nv + j) + 1 :]
                for d in range(count):
                    out[j, first + d] = row[d]

    return inner(apart(slopes, module))


def _linearization_of(
    module: str, prepare: Callable, slopes: Callable, balance: Callable, mass: Callable
) -> Callable:
    """`linearize` as a kernel."""

    def linearize(address, work, q, v, tau, given, twists, a, bodies, points, wrenches, A, B):
        """A (2 nv, 2 nv) and B (2 nv, nv) of d(dq, dv)/dt = A (dq, dv) + B df for forces f along v.

        given (nv,) marks coordinates whose acceleration is that of a; the others are written there. twists
        (k,): where the turns of free bodies begin in v. SINGULAR where M is.
        """
        nv = v.shape[0]
        M, rest, memory = (
            work[0 : nv * nv].reshape(nv, nv),
            work[nv * nv : nv * (nv + 1)],
            work[nv * (nv + 1) :],
        )
        prepare(address, memory)
        mass(address, memory, q, M)
        for i in range(nv):
            if not given[i]:
                a[i] = 0.0
        balance(address, memory, q, v, a, tau, bodies, points, wrenches, rest)
        A[:] = 0.0
        B[:] = 0.0
        for i in range(nv):
            A[i, nv + i] = 1.0
            if given[i]:
                for j in range(nv):
                    M[i, j], M[j, i] = 0.0, 0.0
                M[i, i], rest[i] = 1.0, 0.0
            else:
                B[nv + i, i] = -1.0
        if not cholesky(M, nv):
            return at.SINGULAR
        # -M^-1, column by column as rows: it is symmetric
        solve_rows(M, nv, B[nv:])
        for i in range(nv):
            if not given[i]:
                for j in range(nv):
                    a[i] += B[nv + i, j] * rest[j]
        prepare(address, tangents_of(work[_WIDTH * (2 * q.shape[0] + 3 * nv) :]))
        lower = A[nv:]
        slopes(address, work, q, v, a, tau, bodies, points, wrenches, lower)
        multiply_rows(B[nv:], lower, work)
        for i in range(nv):
            for j in range(nv):
                B[nv + i, j] = -B[nv + i, j]
        for k in range(twists.shape[0]):
            i = twists[k]
            A[i, i + 1], A[i, i + 2] = -v[i + 2], v[i + 1]
            A[i + 1, i], A[i + 1, i + 2] = v[i + 2], -v[i]
            A[i + 2, i], A[i + 2, i + 1] = -v[i + 1], v[i]
        return at.OK

    return inner(apart(linearize, module))


@inner
def solve_rows(L, n, X):
    """X (n, k) <- (L L^T)^-1 X, rows at a time."""
    for i in range(n):
        for k in range(i):
            if L[i, k] != 0.0:
                add_row(X[i], -L[i, k], X[k])
        scale_row(X[i], 1.0 / L[i, i])
    for r in range(n):
        i = n - 1 - r
        for k in range(i + 1, n):
            if L[k, i] != 0.0:
                add_row(X[i], -L[k, i], X[k])
        scale_row(X[i], 1.0 / L[i, i])


@inner
def add_row(x, factor, y):
    """x += factor y."""
    for j in range(x.shape[0]):
        x[j] += factor * y[j]


@inner
def scale_row(x, factor):
    """x *= factor."""
    for j in range(x.shape[0]):
        x[j] *= factor


@inner
def multiply_rows(C, X, spare):
    """X (n, k) <- C X, with n k spare numbers."""
    n, k = X.shape
    copy = spare[0 : n * k].reshape(n, k)
    copy[:] = X
    X[:] = 0.0
    for i in range(n):
        for j in range(n):
            if C[i, j] != 0.0:
                add_row(X[i], C[i, j], copy[j])
