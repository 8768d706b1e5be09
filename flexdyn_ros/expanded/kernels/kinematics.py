"""Where the frames of an expanded description stand: sections of beams and of soft arms, and their rates.

Each frame moves against the undeformed section by a translation (tx, ty, tz) and by a rotation vector theta,
which is turned into R = Rz Ry Rx. Results are both for q and, once and for all from the same intermediate
values, their rates for (q, v): whoever shows a robot asks for them fifty times a second, with cold caches.
"""

from __future__ import annotations

from math import asin, atan2, cos, sin, sqrt

import numpy as np

from flexdyn_ros.numerics.algebra.series import bending_functions
from flexdyn_ros.numerics.compiling.compiler import entry, leaf

_V, _M = "float64[::1]", "float64[:,::1]"
_ROWS = "int64[:,::1]"

#: largest square of an angle for which series are as good as sines
SMALL = 1e-4
#: least cosine of the pitch, where yaw and roll cannot be told apart
UPRIGHT = 1e-6


@leaf
def _vector_series(square):
    """sin x / x, (1 - cos x) / x^2 and (x - sin x) / x^3 at x^2 = square."""
    if square < SMALL:
        a = 1.0 - square * (1.0 / 6.0 - square / 120.0)
        b = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        return a, b, 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    x = sqrt(square)
    sine = sin(x)
    return sine / x, (1.0 - cos(x)) / square, (x - sine) / (square * x)


@leaf
def turn(at, rate):
    """Rotation vectors at[3:] and their rates in place: yaw, pitch, roll, and the rates of these.

    The angles are those of Rodrigues' matrix; the angular velocity in the parent's axes is
    theta' + b theta x theta' + c theta x (theta x theta').
    """
    x, y, z, xd, yd, zd = at[3], at[4], at[5], rate[3], rate[4], rate[5]
    a, b, c = _vector_series(x * x + y * y + z * z)
    bx, by = b * x, b * y
    pitch = asin(min(1.0, max(-1.0, a * y - bx * z)))
    yaw = atan2(a * z + bx * y, 1.0 - by * y - b * z * z)
    at[3], at[4], at[5] = yaw, pitch, atan2(a * x + by * z, 1.0 - bx * x - by * y)
    ox, oy, oz = y * zd - z * yd, z * xd - x * zd, x * yd - y * xd
    wx = xd + b * ox + c * (y * oz - z * oy)
    wy = yd + b * oy + c * (z * ox - x * oz)
    wz = zd + b * oz + c * (x * oy - y * ox)
    cy, sy, cp = cos(yaw), sin(yaw), cos(pitch)
    roll = (cy * wx + sy * wy) / (UPRIGHT if abs(cp) < UPRIGHT else cp)
    rate[3], rate[4], rate[5] = wz + roll * sin(pitch), cy * wy - sy * wx, roll


@entry(f"int64({_M}, {_M}, {_ROWS}, {_V}, {_ROWS}, {_V}, {_ROWS}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def bent_frames(q, v, once, linear, twice, quadratic, chosen, at, rate, positions, velocities):
    """Joints of the sections of flexible links.

    Parameters
    ----------
    q, v : (n, nq), (n, nv) arrays
    once, linear : (k, 4) of int, (k,) arrays
        Terms c x: frame, axis, indices of x in q and v; c.
    twice, quadratic : (l, 6) of int, (l,) arrays
        Terms c x y: frame, axis, indices of x and y in q and in v; c.
    chosen : (m, 2) of int
        Frame and axis of each joint: tx ty tz rz ry rx.
    at, rate : (frames, 6) arrays
        Work memory.
    positions, velocities : (n, m) arrays
        Results [m or rad, per s].
    """
    frames = at.shape[0]
    for s in range(q.shape[0]):
        for f in range(frames):
            for i in range(6):
                at[f, i], rate[f, i] = 0.0, 0.0
        for k in range(linear.shape[0]):
            f, i, c = once[k, 0], once[k, 1], linear[k]
            at[f, i] += c * q[s, once[k, 2]]
            rate[f, i] += c * v[s, once[k, 3]]
        for k in range(quadratic.shape[0]):
            f, i, c = twice[k, 0], twice[k, 1], quadratic[k]
            x, y = q[s, twice[k, 2]], q[s, twice[k, 3]]
            at[f, i] += c * x * y
            rate[f, i] += c * (v[s, twice[k, 4]] * y + x * v[s, twice[k, 5]])
        for f in range(frames):
            turn(at[f], rate[f])
        for k in range(chosen.shape[0]):
            f, i = chosen[k, 0], chosen[k, 1]
            positions[s, k], velocities[s, k] = at[f, i], rate[f, i]
    return 0


@entry(f"int64({_M}, {_M}, {_V}, {_M}, {_V}, {_V}, {_M}, {_M})", nogil=True)
def soft_frames(q, v, stations, sections, at, rate, positions, velocities):
    """Joints of the slices of soft sections, six to a slice (docs/theory/continuum.md).

    Parameters
    ----------
    q, v : (n, 3 sections) arrays
        Changes of length of the actuators [m], and their rates.
    stations : (k,) array
        Of the slices, the same in all sections.
    sections : (sections, 2) array
        Length and radius of the circle of actuators [m].
    at, rate : (6,) arrays
        Work memory.
    positions, velocities : (n, 6 k sections) arrays
        Results: tx ty tz rz ry rx of slice after slice [m, rad, per s].
    """
    for n in range(q.shape[0]):
        for j in range(sections.shape[0]):
            length, radius = sections[j, 0], sections[j, 1]
            a, b, c = q[n, 3 * j], q[n, 3 * j + 1], q[n, 3 * j + 2]
            ad, bd, cd = v[n, 3 * j], v[n, 3 * j + 1], v[n, 3 * j + 2]
            across, along = 1.0 / (3.0 * radius), 1.0 / (np.sqrt(3.0) * radius)
            ux, uy, s = (b + c - 2.0 * a) * across, (c - b) * along, length + (a + b + c) / 3.0
            uxd, uyd, sd = (bd + cd - 2.0 * ad) * across, (cd - bd) * along, (ad + bd + cd) / 3.0
            for k in range(stations.shape[0]):
                eta = stations[k]
                y = eta * eta * (ux * ux + uy * uy)
                turning = eta * eta * (ux * uxd + uy * uyd)
                S, B, _, S1, B1, _, _, _, _ = bending_functions(y)
                square = eta * eta
                at[0], at[1] = s * square * B * ux, s * square * B * uy
                at[2] = s * eta * S - eta * length
                grows = square * (sd * B + s * B1 * turning)
                rate[0], rate[1] = grows * ux + s * square * B * uxd, grows * uy + s * square * B * uyd
                rate[2] = eta * (sd * S + s * S1 * turning)
                at[3], at[4], at[5] = -eta * uy, eta * ux, 0.0
                rate[3], rate[4], rate[5] = -eta * uyd, eta * uxd, 0.0
                turn(at, rate)
                begin = 6 * (j * stations.shape[0] + k)
                for i in range(6):
                    positions[n, begin + i], velocities[n, begin + i] = at[i], rate[i]
    return 0


# Surfaces of bent links: an outline swept along the deformed centre line, as corners of triangles with
# colours.

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
