"""Small matrices over any numbers, so that one derivation serves polynomials, expressions and counters alike.

Matrices are lists of rows, vectors lists. Zeros are the integer 0 and are skipped in sums; numbers know what
the integers 0 and 1 do in products.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

#: polynomial, expression of SymPy, counter or number
Scalar = Any
Vector = list[Scalar]
Matrix = list[list[Scalar]]


def is_zero(x: object) -> bool:
    """Whether x is zero by form (an integer or a polynomial without terms)."""
    return bool(x == 0)


def add(*terms: Scalar) -> Scalar:
    """Sum without the terms that are zero."""
    total: Scalar = 0
    for x in terms:
        if is_zero(x):
            continue
        total = x if is_zero(total) else total + x
    return total


def half(x: Scalar) -> Scalar:
    """x / 2."""
    return x * Fraction(1, 2)


def dot(a: Sequence[object], b: Sequence[Scalar]) -> Scalar:
    """Inner product."""
    return add(*(x * y for x, y in zip(a, b, strict=True)))


def cross(a: Sequence[object], b: Sequence[Scalar]) -> Vector:
    """a x b."""
    return [
        add(a[1] * b[2], -(a[2] * b[1])),
        add(a[2] * b[0], -(a[0] * b[2])),
        add(a[0] * b[1], -(a[1] * b[0])),
    ]


def plus(*vectors: Sequence[object]) -> Vector:
    """Sum of vectors."""
    return [add(*entries) for entries in zip(*vectors, strict=True)]


def scaled(x: object, a: Iterable[Scalar]) -> Vector:
    """x a."""
    return [x * y for y in a]


def apply(A: Matrix, b: Sequence[object]) -> Vector:
    """A b."""
    return [dot(row, b) for row in A]


def transposed(A: Matrix) -> Matrix:
    """A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    columns = transposed(B)
    return [[dot(row, column) for column in columns] for row in A]


def inner(A: Matrix, B: Matrix) -> Scalar:
    """tr(A B^T), the sum of products of entries."""
    return add(*(x * y for ra, rb in zip(A, B, strict=True) for x, y in zip(ra, rb, strict=True)))


class Angle(NamedTuple):
    """Position of a joint: sine and cosine of a revolute one, displacement of a prismatic one."""

    sine: Scalar
    cosine: Scalar
    displacement: Scalar


def rotation_about(axis: Vector, s: object, c: object) -> Matrix:
    """I + s [axis]x + (1 - c) [axis]x^2 for a unit axis, sine s and cosine c."""
    return _combination(axis, s, c, 1)


def rotation_derivatives(axis: Vector, s: Scalar, c: Scalar) -> tuple[Matrix, Matrix]:
    """First and second derivative of the rotation with respect to its angle."""
    return _combination(axis, c, -s, 0), _combination(axis, -s, -c, 0)


def _combination(axis: Vector, s: object, c: object, one: int) -> Matrix:
    """s [axis]x + c (1 - axis axis^T) + one axis axis^T, the general element of the rotation and its
    derivatives."""
    x, y, z = axis
    skew = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    out: Matrix = []
    for i in range(3):
        row = []
        for j in range(3):
            along = axis[i] * axis[j]
            across = add(int(i == j), -along)
            row.append(add(skew[i][j] * s, across * c, along * one))
        out.append(row)
    return out
