"""Rows of loops and their Jacobians from poses, Jacobians and bias accelerations of frames of a tree."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.multibody.constraints.kernels.residual import LINE, closed_row
from flexdyn_ros.multibody.elements.kernels.law import ACCELERATION, FRAME, MOTION, OMEGA, VELOCITY
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, multiply, store3, store9, turn
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.windows import window

_I, _V, _M, _C = "int64[::1]", "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"
_Q = "float64[:,:,:,::1]"


@kernel
def mount(place, placement, poses, J, gamma, v, motion, acceleration, jacobian):
    """Write motion (FRAME), bias acceleration (6) and Jacobian (6, nv) of a frame that is placed (12) in the
    frame `place` of a tree, or in the world if that is -1.

    With the offset o from the origin of the frame that carries it, in world axes,

        v -> v + w x o,    a -> a + al x o + w x (w x o).
    """
    nv = v.shape[0]
    own = load9(placement, 0)
    if place < 0:
        store3(motion, 0, placement[9], placement[10], placement[11])
        store9(motion, 3, own)
        store3(motion, VELOCITY, 0.0, 0.0, 0.0)
        store3(motion, OMEGA, 0.0, 0.0, 0.0)
        acceleration[:] = 0.0
        jacobian[:] = 0.0
        return
    pose, rows = poses[place], J[place]
    R = (
        pose[0, 0], pose[0, 1], pose[0, 2], pose[1, 0], pose[1, 1], pose[1, 2], pose[2, 0], pose[2, 1],
        pose[2, 2],
    )  # fmt: skip
    x, y, z = turn(R, placement[9], placement[10], placement[11])
    store3(motion, 0, pose[0, 3] + x, pose[1, 3] + y, pose[2, 3] + z)
    store9(motion, 3, multiply(R, own))
    wx, wy, wz, ux, uy, uz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(nv):
        ax, ay, az = rows[0, i], rows[1, i], rows[2, i]
        bx, by, bz = cross(ax, ay, az, x, y, z)
        bx, by, bz = rows[3, i] + bx, rows[4, i] + by, rows[5, i] + bz
        jacobian[0, i], jacobian[1, i], jacobian[2, i] = ax, ay, az
        jacobian[3, i], jacobian[4, i], jacobian[5, i] = bx, by, bz
        wx, wy, wz = wx + ax * v[i], wy + ay * v[i], wz + az * v[i]
        ux, uy, uz = ux + bx * v[i], uy + by * v[i], uz + bz * v[i]
    store3(motion, VELOCITY, ux, uy, uz)
    store3(motion, OMEGA, wx, wy, wz)
    ax, ay, az = load3(gamma[place], 0)
    store3(acceleration, 0, ax, ay, az)
    ax, ay, az = cross(ax, ay, az, x, y, z)
    bx, by, bz = cross(wx, wy, wz, x, y, z)
    bx, by, bz = cross(wx, wy, wz, bx, by, bz)
    cx, cy, cz = load3(gamma[place], 3)
    store3(acceleration, 3, cx + ax + bx, cy + ay + by, cz + az + bz)


@entry(f"int64({_I}, {_M}, {_I}, {_V}, {_I}, {_Q}, {_Q}, {_C}, {_M}, {_M}, {_C}, {_C})", nogil=True)
def closures(places, placements, kinds, lengths, loop_of, poses, J, gamma, v, mounted, rows, jacobian):
    """Motions (N, 2 n FRAME) of the constraint frames of n loops, base and end in turn, rows (N, m, ROW) and
    their Jacobian (N, m, nv).

    places (2 n,), placements (2 n, 12): where the constraint frames are; kinds, lengths, loop_of (m,): of
    each row; poses (N, k, 4, 4), J (N, k, 6, nv), gamma (N, k, 6): of frames of the tree; v (N, nv).
    """
    nv, ends = v.shape[1], places.shape[0]
    acceleration, frames = np.empty(6 * ends), np.empty((ends, 6, nv))
    for s in range(v.shape[0]):
        motion = mounted[s]
        for e in range(ends):
            own, pushed = window(motion, e * FRAME, FRAME), window(acceleration, 6 * e, 6)
            mount(places[e], placements[e], poses[s], J[s], gamma[s], v[s], own, pushed, frames[e])
        for i in range(kinds.shape[0]):
            n, row = loop_of[i], rows[s, i]
            moving, pushed = window(motion, n * MOTION, MOTION), window(acceleration, 12 * n, ACCELERATION)
            closed_row(kinds[i], lengths[i], moving, pushed, row)
            base, end = frames[2 * n], frames[2 * n + 1]
            for c in range(nv):
                rate = 0.0
                for k in range(6):
                    rate += row[LINE + k] * base[k, c] + row[LINE + 6 + k] * end[k, c]
                jacobian[s, i, c] = rate
    return 0
