"""Entries that follow tapes (instructions.py), and solve with the mass matrix."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import ROUNDING
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.numbers.memory import lanes_of, next_aligned
from flexdyn_ros.numerics.numbers.vectors import ALIGNMENT, LANES

from .derivatives import add_turns, status_of
from .head import GIVEN, HEAD_WORDS, NQ, NV, TURNS, TWISTS
from .instructions import BLOCK, GROUPS, follow

#: right sides that are solved for side by side; `solve_columns` names each of them
COLUMNS = 4
_C, _I, _V, _M, _T = "uint16[::1]", "int64[::1]", "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


def numbers_of(slots: int, nv: int) -> int:
    """float64 numbers of work memory of `linearize_taped`."""
    return BLOCK * slots + LANES * (GROUPS * nv * nv + COLUMNS * nv) + ALIGNMENT // 8


@entry(
    f"int64(int64, {_C}, {_I}, {_V}, {_I}, {_I}, {_V}, {_M}, {_M}, {_M}, uint8[::1], {_T}, {_T})", nogil=True
)
def linearize_taped(head, code, ends, constants, results, pattern, work, q, v, tau, done, A, B):
    """d(q, v)/dt around rows of motions, by a tape of two parts; done: 1 where it is finite.

    The inputs are q, v, tau, a. results: slots of the balance of forces without accelerations (nv,) and of
    the lower half of M, row by row, which the first part computes, and of the derivatives (nv, 2 nv) of the
    balance, the second. pattern: that of the factor of M (`pattern_of`). Rows that are not done are not
    answered: their q, v, tau may be wrong, or M singular.
    """
    words = ints_at(head, HEAD_WORDS)
    nq, nv, nu = words[NQ], words[NV], tau.shape[1]
    half = nv * (nv + 1) // 2
    given, rest, mass, slopes = ints_at(words[GIVEN], nv), results[0:nv], results[nv:], results[nv + half :]
    floats = floats_at(next_aligned(address_of(work)), work.shape[0] - ALIGNMENT // 8)
    X = lanes_of(floats)
    sides = floats[floats.shape[0] - LANES * COLUMNS * nv :]
    factors = X[X.shape[0] - (GROUPS * nv + COLUMNS) * nv : X.shape[0] - COLUMNS * nv]
    for i in range(factors.shape[0]):
        factors[i] = 0.0
    for i in range(constants.shape[0]):
        slot = BLOCK * (nq + 2 * nv + nu + i)
        floats[slot : slot + BLOCK] = constants[i]
    for first in range(0, q.shape[0], BLOCK):
        put_rows(floats, q, first, 0)
        put_rows(floats, v, first, nq)
        put_rows(floats, tau, first, nq + nv)
        follow(code, 0, ends[0], floats, X)
        for g in range(GROUPS):
            L = shaped(factors[g * nv * nv : (g + 1) * nv * nv], (nv, nv))
            factorize(X, g, mass, given, pattern, L)
            solve_accelerations(X, g, rest, given, nq + nv + nu, pattern, L, sides)
        follow(code, ends[0], ends[1], floats, X)
        for g in range(GROUPS):
            L = shaped(factors[g * nv * nv : (g + 1) * nv * nv], (nv, nv))
            write_lower_rows(X, g, first + g * LANES, slopes, given, pattern, L, sides, A, B)
            finish_rows(words, first + g * LANES, q, v, tau, sides, done, A, B)
    return at.OK


@kernel
def put_rows(floats, rows, first, slot):
    """Put a block of rows (N, n), the last one repeated, into n slots."""
    last = rows.shape[0] - 1
    for k in range(BLOCK):
        row = min(first + k, last)
        for i in range(rows.shape[1]):
            floats[(slot + i) * BLOCK + k] = rows[row, i]


# ---- M x = b, in the order from the last coordinate to the first ----


def pattern_of(M: np.ndarray) -> np.ndarray:
    """Where the Cholesky factor L (n, n) of a matrix is not zero that is zero where M (n, n) is False.

    From the last coordinate to the first: so that trees, whose bodies follow those that carry them, fill no
    zeros. Rows and columns of L are in that order. First where the columns of each row left of the diagonal
    begin in this array, and where the last ones end (n + 1,); then the same for the rows of each column
    below it; then those columns and rows.
    """
    n = len(M)
    is_there = np.tril(M[::-1, ::-1], -1)
    for k in range(n):
        below = np.flatnonzero(is_there[:, k])
        is_there[np.ix_(below, below)] |= np.tri(len(below), k=-1, dtype=bool)
    lists = [np.flatnonzero(row) for row in (*is_there, *is_there.T)]
    ends = 2 * n + 2 + np.cumsum([0, *(len(numbers) for numbers in lists)])
    return np.concatenate([ends[: n + 1], ends[n:], *lists]).astype(np.int64)


@kernel
def factorize(X, g, mass, given, pattern, L):
    """Cholesky factor (nv, nv) of M of a group of lanes, with the reciprocals of its diagonal; NaN where M
    is singular to rounding. Rows of given accelerations are those of the unit matrix."""
    nv = given.shape[0]
    for i in range(nv):
        row = nv - 1 - i
        is_given = given[row] != 0
        for p in range(pattern[i], pattern[i + 1]):
            j = pattern[p]
            column = nv - 1 - j
            s = X[mass[column * (column + 1) // 2 + row] * GROUPS + g]
            if is_given or given[column] != 0:
                s = 0.0 * s
            for r in range(pattern[j], pattern[j + 1]):
                s -= L[i, pattern[r]] * L[j, pattern[r]]
            L[i, j] = s * L[j, j]
        d = X[mass[row * (row + 1) // 2 + row] * GROUPS + g]
        if is_given:
            d = 0.0 * d + 1.0
        whole = d
        for p in range(pattern[i], pattern[i + 1]):
            d -= L[i, pattern[p]] * L[i, pattern[p]]
        L[i, i] = 1.0 / np.sqrt(select(less(ROUNDING * whole, d), d, np.nan))


@kernel
def solve_columns(L, pattern, first, x):
    """x <- (L L^T)^-1 x, whose n rows are COLUMNS lanes each; those before `first` are zero."""
    n = L.shape[0]
    for i in range(first, n):
        a, b, c, d = x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]
        for p in range(pattern[i], pattern[i + 1]):
            k = pattern[p]
            a, b = a - L[i, k] * x[4 * k], b - L[i, k] * x[4 * k + 1]
            c, d = c - L[i, k] * x[4 * k + 2], d - L[i, k] * x[4 * k + 3]
        x[4 * i], x[4 * i + 1] = a * L[i, i], b * L[i, i]
        x[4 * i + 2], x[4 * i + 3] = c * L[i, i], d * L[i, i]
    for i in range(n - 1, -1, -1):
        a, b, c, d = x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]
        for p in range(pattern[n + 1 + i], pattern[n + 2 + i]):
            k = pattern[p]
            a, b = a - L[k, i] * x[4 * k], b - L[k, i] * x[4 * k + 1]
            c, d = c - L[k, i] * x[4 * k + 2], d - L[k, i] * x[4 * k + 3]
        x[4 * i], x[4 * i + 1] = a * L[i, i], b * L[i, i]
        x[4 * i + 2], x[4 * i + 3] = c * L[i, i], d * L[i, i]


@kernel
def solve_accelerations(X, g, rest, given, slot, pattern, L, sides):
    """Put -M^-1 rest into slots, 0 where accelerations are given."""
    x, nv = lanes_of(sides), given.shape[0]
    sides[:] = 0.0
    for i in range(nv):
        if given[i] == 0:
            x[COLUMNS * (nv - 1 - i)] = -X[rest[i] * GROUPS + g]
    solve_columns(L, pattern, 0, x)
    for i in range(nv):
        X[(slot + i) * GROUPS + g] = x[COLUMNS * (nv - 1 - i)]


@kernel
def write_lower_rows(X, g, row, slopes, given, pattern, L, sides, A, B):
    """Lower rows of A and B, -M^-1 slopes and M^-1, of a group of lanes; at last, the first numbers of sides
    are zero where all of them are finite."""
    x, nv = lanes_of(sides), given.shape[0]
    if row >= A.shape[0]:
        return
    faults = 0.0 * L[0, 0]
    for first in range(0, 2 * nv, COLUMNS):
        sides[:] = 0.0
        for i in range(nv):
            if given[i] == 0:
                for c in range(min(COLUMNS, 2 * nv - first)):
                    x[COLUMNS * (nv - 1 - i) + c] = -X[slopes[i * 2 * nv + first + c] * GROUPS + g]
        solve_columns(L, pattern, 0, x)
        faults = add_faults(x, faults)
        write_columns(sides, row, first, A)
    for first in range(0, nv, COLUMNS):
        sides[:] = 0.0
        last = min(first + COLUMNS, nv)
        for i in range(first, last):
            if given[i] == 0:
                x[COLUMNS * (nv - 1 - i) + i - first] = 1.0
        solve_columns(L, pattern, nv - last, x)
        faults = add_faults(x, faults)
        write_columns(sides, row, first, B)
    x[0] = faults


@kernel(forceinline=True)
def add_faults(x, faults):
    """Add zero where all numbers of x are finite, else NaN."""
    for i in range(x.shape[0]):
        faults += x[i] - x[i]
    return faults


@kernel
def write_columns(sides, row, first, out):
    """Write COLUMNS columns of lanes, seen as float64, to the lower rows of matrices (N, 2 nv, n)."""
    nv = out.shape[1] // 2
    for i in range(nv):
        place = COLUMNS * (nv - 1 - i)
        for k in range(min(LANES, out.shape[0] - row)):
            for c in range(min(COLUMNS, out.shape[2] - first)):
                out[row + k, nv + i, first + c] = sides[(place + c) * LANES + k]


@kernel
def finish_rows(words, first, q, v, tau, sides, done, A, B):
    """Write the upper rows of A and B of a group of lanes, and mark the rows that are answered."""
    nv, twists = words[NV], ints_at(words[TWISTS], words[TURNS])
    for s in range(first, min(first + LANES, q.shape[0])):
        A[s, 0:nv] = 0.0
        B[s, 0:nv] = 0.0
        for i in range(nv):
            A[s, i, nv + i] = 1.0
        add_turns(twists, v[s], A[s])
        done[s] = sides[s - first] == 0.0 and status_of(words, q[s], v[s], v[s], tau[s]) == at.OK
