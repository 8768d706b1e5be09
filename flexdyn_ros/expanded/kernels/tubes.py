"""Surfaces of bent links: an outline swept along the deformed centre line, as corners of triangles with
colours."""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import entry, leaf

_V, _M = "float64[::1]", "float64[:,::1]"
_COLOURS = "float32[:,::1]"


@entry(f"float64({_M}, {_V})", nogil=True)
def lengths(vectors, out):
    """Lengths (k,) of vectors (k, n), to out; returns the largest."""
    largest = 0.0
    for i in range(vectors.shape[0]):
        square = 0.0
        for j in range(vectors.shape[1]):
            square += vectors[i, j] * vectors[i, j]
        out[i] = sqrt(square)
        largest = max(largest, out[i])
    return largest


@leaf
def _rodrigues(square):
    """sin x / x and (1 - cos x) / x^2 at x^2 = square."""
    if square < 1e-4:
        return 1.0 - square * (1.0 / 6.0 - square / 120.0), 0.5 - square * (1.0 / 24.0 - square / 720.0)
    x = sqrt(square)
    return sin(x) / x, (1.0 - cos(x)) / square


@entry(f"int64({_M}, {_M}, {_M}, float64, {_M}, int64[::1], {_M}, {_M})", nogil=True)
def sweep(straight, displacement, rotation, magnification, ring, corners, surface, points):
    """Corners of the triangles of a bent tube.

    Parameters
    ----------
    straight, displacement, rotation : (k, 3) arrays
        Undeformed centre line [m], displacements [m] and rotation vectors [rad] of its sections, all in the
        axes of the undeformed link.
    magnification : float
        Factor of displacements and rotation vectors.
    ring : (n, 3) array
        Outline of a section in its own axes [m].
    corners : (m,) array of int
        Point i n + j of ring point j at station i, for each corner.
    surface : (k n, 3) array
        Work memory.
    points : (m, 3) array
        Results [m].
    """
    n = ring.shape[0]
    for i in range(straight.shape[0]):
        x, y, z = (
            magnification * rotation[i, 0],
            magnification * rotation[i, 1],
            magnification * rotation[i, 2],
        )
        a, b = _rodrigues(x * x + y * y + z * z)
        cx, cy, cz = (
            straight[i, 0] + magnification * displacement[i, 0],
            straight[i, 1] + magnification * displacement[i, 1],
            straight[i, 2] + magnification * displacement[i, 2],
        )
        for j in range(n):
            u, v, w = ring[j, 0], ring[j, 1], ring[j, 2]
            # r + a theta x r + b theta x (theta x r)
            ox, oy, oz = y * w - z * v, z * u - x * w, x * v - y * u
            surface[i * n + j, 0] = cx + u + a * ox + b * (y * oz - z * oy)
            surface[i * n + j, 1] = cy + v + a * oy + b * (z * ox - x * oz)
            surface[i * n + j, 2] = cz + w + a * oz + b * (x * oy - y * ox)
    for k in range(corners.shape[0]):
        for axis in range(3):
            points[k, axis] = surface[corners[k], axis]
    return 0


@entry(f"int64({_V}, float64, int64[::1], {_COLOURS}, {_COLOURS})", nogil=True)
def paint(value, scale, station, table, colours):
    """Colours (m, 4) of corners: the row of table (rows, 4) that stands for scale times the value (k,) of
    each corner's station (m,), the last row for 1 and more, the first for 0, less and NaN."""
    last = table.shape[0] - 1
    for k in range(station.shape[0]):
        share = scale * value[station[k]]
        row = 0
        if share >= 1.0:
            row = last
        elif share > 0.0:
            row = np.int64(last * share)
        for i in range(4):
            colours[k, i] = table[row, i]
    return 0
