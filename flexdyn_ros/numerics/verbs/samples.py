"""Loops over samples that entries share: blocks of lanes, and what is wrong with a sample."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.vectors import LANES


@kernel(forceinline=True)
def finite(x, n):
    """True if the first n numbers of x are neither NaN nor infinite."""
    s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


@kernel
def gather(block, rows, first, n):
    """Copy samples first .. first + LANES - 1 (the last one repeated) of rows (N, n) into a block of lanes,
    seen as float64."""
    last = rows.shape[0] - 1
    if first + LANES <= rows.shape[0]:
        for i in range(n):
            for k in range(LANES):
                block[i * LANES + k] = rows[first + k, i]
    else:
        for i in range(n):
            for k in range(LANES):
                block[i * LANES + k] = rows[min(first + k, last), i]


@kernel
def scatter(block, rows, first, n):
    """Copy a block of lanes into rows (N, n)."""
    if first + LANES <= rows.shape[0]:
        for i in range(n):
            for k in range(LANES):
                rows[first + k, i] = block[i * LANES + k]
    else:
        for k in range(rows.shape[0] - first):
            for i in range(n):
                rows[first + k, i] = block[i * LANES + k]


@kernel
def note_wrong(block, n):
    """Make number n of a block of lanes NaN where one of the n before it is NaN or infinite."""
    # two sums, that do not wait for each other
    a, b = block[n], 0.0 * block[n]
    for i in range(0, n - 1, 2):
        a = a + (block[i] - block[i])
        b = b + (block[i + 1] - block[i + 1])
    if n % 2 == 1:
        a = a + (block[n - 1] - block[n - 1])
    block[n] = a + b
