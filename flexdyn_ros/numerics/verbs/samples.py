"""Loops over samples that entries share: blocks of lanes, and what is wrong with a sample."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES, element, with_element

from .head import COUNT, EFFORTS, NQ, NV

#: what the compiler may do with lanes of a batch: a b + c in one rounding, signs of zeros, 1/x
FAST = {"contract", "nsz", "arcp"}

#: bits of the exponent of a float64, all of which infinities and NaN have
EXPONENT = 0x7FF0000000000000


@kernel(forceinline=True)
def finite(x, n):
    """True if the first n numbers of x are neither NaN nor infinite."""
    s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


@kernel(forceinline=True)
def all_finite(x):
    """True if no number of an array of any shape is NaN or infinite, by the bits of their exponents: integers
    are looked at side by side, sums of floats one after the other."""
    bits, wrong = ints_at(address_of(x), x.size), 0
    for i in range(x.size):
        wrong |= (bits[i] & EXPONENT) == EXPONENT
    return wrong == 0


@kernel
def gather(block, rows, first, n):
    """Copy samples first .. first + LANES - 1 (the last one repeated) of rows (N, n) into n numbers of a
    block of lanes."""
    last = rows.shape[0] - 1
    if first + LANES <= rows.shape[0]:
        for i in range(n):
            x = block[i]
            for k in range(LANES):
                x = with_element(x, k, rows[first + k, i])
            block[i] = x
    else:
        for i in range(n):
            x = block[i]
            for k in range(LANES):
                x = with_element(x, k, rows[min(first + k, last), i])
            block[i] = x


@kernel
def scatter(block, rows, first, n):
    """Copy n numbers of a block of lanes into rows (N, n)."""
    if first + LANES <= rows.shape[0]:
        for i in range(n):
            x = block[i]
            for k in range(LANES):
                rows[first + k, i] = element(x, k)
    else:
        for k in range(rows.shape[0] - first):
            for i in range(n):
                rows[first + k, i] = element(block[i], k)


@kernel(forceinline=True)
def open_lanes(words, work, numbers):
    """Of work memory of so many float64 numbers: q, v, what is given, and the result of a block of lanes, and
    work memory on lanes; words: of a head."""
    nq, nv = words[NQ], words[NV]
    most, size = max(nv, words[EFFORTS]), size_of_lanes(words)
    floats = floats_at(work, numbers)
    block, memory = lanes_of(window(floats, 0, size)), lanes_of(tail(floats, size))
    given, found = window(block, nq + nv, most), window(block, nq + nv + most, most)
    return window(block, 0, nq), window(block, nq, nv), given, found, memory


@kernel(forceinline=True)
def size_of_lanes(words):
    """float64 numbers of a block of lanes: q, v, what is given, the result, a mark, and wrenches."""
    return LANES * (words[NQ] + words[NV] + 2 * max(words[NV], words[EFFORTS]) + 1 + 6 * words[COUNT])


@kernel(forceinline=True)
def wrenches_on_lanes(words, work):
    """Wrenches (COUNT, 6) of a block of lanes."""
    size, k = size_of_lanes(words), words[COUNT]
    block = lanes_of(window(floats_at(work, size), 0, size))
    return shaped(tail(block, block.shape[0] - 6 * k), (k, 6))


@kernel(forceinline=True)
def floats_of_lanes(words, work, numbers):
    """The work memory of `open_lanes` as float64 numbers."""
    return tail(floats_at(work, numbers), size_of_lanes(words))


@kernel
def note_wrong(block, n):
    """Make number n of a block of lanes NaN where one of the n before it is NaN or infinite."""
    # four sums, that do not wait for each other
    a, b = block[n], 0.0 * block[n]
    c, d = b, b
    whole = n - n % 4
    for i in range(0, whole, 4):
        a = a + (block[i] - block[i])
        b = b + (block[i + 1] - block[i + 1])
        c = c + (block[i + 2] - block[i + 2])
        d = d + (block[i + 3] - block[i + 3])
    for i in range(whole, n):
        a = a + (block[i] - block[i])
    block[n] = (a + b) + (c + d)
