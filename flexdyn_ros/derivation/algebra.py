"""Small matrices over any numbers, so that one derivation serves polynomials, expressions and counters alike.

Matrices are lists of rows, vectors lists. Zeros are the integer 0 and are skipped, ones the integer 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

Vector = list[Any]
Matrix = list[list[Any]]


def is_zero(x: object) -> bool:
    """Whether x is zero by form (an integer or a polynomial without terms)."""
    return bool(x == 0)


def add(*terms: Any) -> Any:
    """Sum without the terms that are zero."""
    total: Any = 0
    for x in terms:
        if is_zero(x):
            continue
        total = x if is_zero(total) else total + x
    return total


def mul(x: Any, y: Any) -> Any:
    """Product; zero and one are recognised."""
    if is_zero(x) or is_zero(y):
        return 0
    if isinstance(x, int) and x == 1:
        return y
    if isinstance(y, int) and y == 1:
        return x
    if isinstance(x, int) and x == -1:
        return -y
    if isinstance(y, int) and y == -1:
        return -x
    return x * y


def negative(x: Any) -> Any:
    """-x."""
    return 0 if is_zero(x) else -x


def half(x: Any) -> Any:
    """x / 2."""
    return 0 if is_zero(x) else x * Fraction(1, 2)


def dot(a: Sequence[object], b: Sequence[Any]) -> Any:
    """Inner product."""
    return add(*(mul(x, y) for x, y in zip(a, b, strict=True)))


def cross(a: Sequence[object], b: Sequence[Any]) -> Vector:
    """a x b."""
    return [
        add(mul(a[1], b[2]), negative(mul(a[2], b[1]))),
        add(mul(a[2], b[0]), negative(mul(a[0], b[2]))),
        add(mul(a[0], b[1]), negative(mul(a[1], b[0]))),
    ]


def plus(*vectors: Sequence[object]) -> Vector:
    """Sum of vectors."""
    return [add(*entries) for entries in zip(*vectors, strict=True)]


def scaled(x: object, a: Iterable[Any]) -> Vector:
    """x a."""
    return [mul(x, y) for y in a]


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


def inner(A: Matrix, B: Matrix) -> Any:
    """tr(A B^T), the sum of products of entries."""
    return add(*(mul(x, y) for ra, rb in zip(A, B, strict=True) for x, y in zip(ra, rb, strict=True)))
