"""The pose that belongs to six leg lengths: Newton's method with steps that are kept short.

See docs/theory/platform.md, "Forward kinematics". A converged pose may still be one of another assembly:
whoever calls judges that by the sign of the Jacobian's determinant.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import turn_quaternion
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .lengths import leg_rows, solve_general
from .views import REACH

#: one step moves by no more than this times the platform's size, and turns by no more than this angle [rad]
LARGEST_MOVE, LARGEST_TURN = 0.22, 0.35
MOST_ITERATIONS, MOST_HALVINGS = 30, 13
#: largest error of a length to stop at, and to accept where no step lowers it [m]
AIM, STALLED = 1e-12, 1e-10


@kernel(forceinline=True)
def move_pose(q, v, step, out):
    """out = q (+) step v: exp([step w]) R, quaternion of unit length. q and out may be the same array."""
    x, y, z, w = turn_quaternion(q[3], q[4], q[5], q[6], step * v[0], step * v[1], step * v[2])
    n = 1.0 / np.sqrt(x * x + y * y + z * z + w * w)
    for i in range(3):
        out[i] = q[i] + step * v[3 + i]
    out[3], out[4], out[5], out[6] = x * n, y * n, z * n, w * n


@kernel
def length_errors(model, data, q, target, e):
    """e = lengths - target; returns the sum of squares and the largest."""
    leg_rows(model, q, data.J, e)
    total, largest = 0.0, 0.0
    for i in range(6):
        e[i] -= target[i]
        total += e[i] * e[i]
        largest = max(largest, abs(e[i]))
    return total, largest


@kernel
def find_pose(model, data, target, q):
    """Move q (7,) to the pose with the lengths target (6,); (iterations, largest error of a length [m]).

    data.x is used: errors (6), step (6), trial pose (7).
    """
    e, d, trial = window(data.x, 0, 6), window(data.x, 6, 6), window(data.x, 12, 7)
    A, J, size = data.A, data.J, model.f[REACH]
    total, largest = length_errors(model, data, q, target, e)
    for iteration in range(MOST_ITERATIONS):
        if largest < AIM:
            return iteration, largest
        for i in range(6):
            for j in range(6):
                A[7 * i + j] = J[6 * i + j] / size if j < 3 else J[6 * i + j]
            A[7 * i + 6] = -e[i]
        if not solve_general(A, d) > 0.0:
            return iteration, largest
        for i in range(3):
            d[i] /= size
        turned = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        moved = np.sqrt(d[3] * d[3] + d[4] * d[4] + d[5] * d[5])
        scale = min(1.0, LARGEST_MOVE * size / (moved + 1e-300), LARGEST_TURN / (turned + 1e-300))
        better = False
        for _ in range(MOST_HALVINGS + 1):
            move_pose(q, d, scale, trial)
            after, worst = length_errors(model, data, trial, target, e)
            if after <= (1.0 - 0.2 * scale) * total:
                better = True
                break
            scale *= 0.5
        if not better:
            # the errors of q, not those of the last trial
            length_errors(model, data, q, target, e)
            return iteration, largest
        for i in range(7):
            q[i] = trial[i]
        total, largest = after, worst
    return MOST_ITERATIONS, largest
