"""Moving on the configuration manifold: q (+) dv and its inverse; quaternions by the exponential map.

Twists of free and ball joints are in the axes of their frame of reference, so R <- exp([w]) R.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import less, select

#: kinds of joints; FREE and BALL have a quaternion, three numbers behind their index in q (of a ball joint
#: there is nothing before it)
SCREW, FREE, BALL = 0, 2, 3


@kernel
def turn_quaternion(x, y, z, w, rx, ry, rz):
    """exp([r]) applied from the left to the quaternion x y z w; analytic in r, also for complex numbers."""
    s = 0.25 * (rx * rx + ry * ry + rz * rz)
    small = less(s, 1e-4)
    half = np.sqrt(select(small, 1.0 + 0.0 * s, s))
    half_sinc = select(
        small,
        0.5 * (1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)))),
        0.5 * np.sin(half) / half,
    )
    c = select(small, 1.0 - 0.5 * s * (1.0 - s / 12.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0))), np.cos(half))
    ax, ay, az = half_sinc * rx, half_sinc * ry, half_sinc * rz
    return (
        c * x + ax * w + ay * z - az * y,
        c * y + ay * w + az * x - ax * z,
        c * z + az * w + ax * y - ay * x,
        c * w - ax * x - ay * y - az * z,
    )


@kernel
def move(model, q, v, step, out):
    """out = q (+) step v; quaternions normalised. q and out may be the same array."""
    for i in range(model.nv):
        at = model.q_of_v[i]
        if at >= 0:
            out[at] = q[at] + step * v[i]
    for b in range(1, model.nb):
        if FREE <= model.joint_type[b] <= BALL:
            i, j = model.q_index[b] + 3, model.v_index[b]
            x, y, z, w = turn_quaternion(
                q[i], q[i + 1], q[i + 2], q[i + 3], step * v[j], step * v[j + 1], step * v[j + 2]
            )
            n = 1.0 / np.sqrt(x * x + y * y + z * z + w * w)
            out[i], out[i + 1], out[i + 2], out[i + 3] = x * n, y * n, z * n, w * n


@kernel
def displacement(model, wraps, q0, q1, out):
    """out = v with q0 (+) v = q1; coordinates marked in wraps (nv,) take the short way round."""
    for i in range(model.nv):
        at = model.q_of_v[i]
        if at >= 0:
            d = q1[at] - q0[at]
            if wraps[i]:
                d = d - 2.0 * np.pi * np.ceil(d / (2.0 * np.pi) - 0.5)
            out[i] = d
    for b in range(1, model.nb):
        if FREE <= model.joint_type[b] <= BALL:
            k, j = model.q_index[b] + 3, model.v_index[b]
            # quaternion of R1 R0^T: q1 times the conjugate of q0
            ax, ay, az, aw = q1[k], q1[k + 1], q1[k + 2], q1[k + 3]
            bx, by, bz, bw = -q0[k], -q0[k + 1], -q0[k + 2], q0[k + 3]
            x = aw * bx + ax * bw + ay * bz - az * by
            y = aw * by + ay * bw + az * bx - ax * bz
            z = aw * bz + az * bw + ax * by - ay * bx
            w = aw * bw - ax * bx - ay * by - az * bz
            side = select(less(w, 0.0), -1.0, 1.0)
            w = side * w
            square = x * x + y * y + z * z
            small = less(square, 1e-16)
            s = np.sqrt(select(small, 1.0, square))
            factor = side * select(small, 2.0 / w, 2.0 * np.arctan2(s, w) / s)
            out[j], out[j + 1], out[j + 2] = factor * x, factor * y, factor * z
