"""Two number types of kernels that are SIMD vectors: what is known of them without Numba.

Lanes: as many independent numbers as a vector has, one per sample of a batch.
Tangents: a number (element 0) and its derivatives in the directions that one pass of a kernel carries along
(forward mode; Griewank & Walther 2008, section 3.1).

A kernel is written for one number; called with arrays of these types, the same source is compiled for them
(vector_types.py). Their memory is float64 memory that begins at a multiple of ALIGNMENT bytes (memory.py).
Interpreted kernels never meet them.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.objects import can

#: samples that one pass over Lanes works on: a vector of AVX-512; half of it where there is none, since
#: kernels then have enough registers and their memory fits in the nearest cache
LANES = 8 if can("avx512f") else 4
#: directions that one pass over Tangents differentiates in: with the value three vectors of eight
DIRECTIONS = 23
#: bytes: the size of such a vector
ALIGNMENT = 64


def element(x, k):
    """Element k of lanes; the value, 0, of tangents."""
    raise NotImplementedError("only kernels that are compiled know vectors")


def with_element(x, k, number):
    """The lanes with another element k."""
    raise NotImplementedError("only kernels that are compiled know vectors")
