"""Rotations about a joint axis over any kind of number, and their derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

from flexdyn_ros.derivation.algebra import Matrix, Vector, add, mul, negative


class Angle(NamedTuple):
    """Position of a joint: sine and cosine of a revolute one, displacement of a prismatic one."""

    sine: Any
    cosine: Any
    displacement: Any


def rotation_about(axis: Vector, s: object, c: object) -> Matrix:
    """I + s [axis]x + (1 - c) [axis]x^2 for a unit axis, sine s and cosine c."""
    return _combination(axis, s, c, 1)


def rotation_derivatives(axis: Vector, s: object, c: object) -> tuple[Matrix, Matrix]:
    """First and second derivative of the rotation with respect to its angle."""
    return _combination(axis, c, negative(s), 0), _combination(axis, negative(s), negative(c), 0)


def _combination(axis: Vector, s: object, c: object, one: int) -> Matrix:
    """s [axis]x + c (1 - axis axis^T) + one axis axis^T, the general element of the rotation and its
    derivatives."""
    x, y, z = axis
    skew = [[0, negative(z), y], [z, 0, negative(x)], [negative(y), x, 0]]
    out: Matrix = []
    for i in range(3):
        row = []
        for j in range(3):
            along = mul(axis[i], axis[j])
            across = add(int(i == j), negative(along))
            row.append(add(mul(skew[i][j], s), mul(across, c), mul(along, one)))
        out.append(row)
    return out
