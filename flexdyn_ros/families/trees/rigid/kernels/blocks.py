"""Rows of the recursions' blocks: vectors that are added to, symmetric matrices."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.rotations import store3
from flexdyn_ros.numerics.compiling.compiler import leaf


@leaf
def add3(s, row, x, y, z):
    """Add to rows row..row+2 of s."""
    s[row] += x
    s[row + 1] += y
    s[row + 2] += z


@leaf
def load6(s, row):
    """Rows row..row+5 of s."""
    return s[row], s[row + 1], s[row + 2], s[row + 3], s[row + 4], s[row + 5]


@leaf
def store6(s, row, m):
    """Write the six numbers m to rows row..row+5 of s."""
    store3(s, row, m[0], m[1], m[2])
    store3(s, row + 3, m[3], m[4], m[5])
