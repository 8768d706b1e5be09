"""Forward dynamics of planar floating frames, in the chain or tree of chain.py.

Modes are eliminated beam by beam and then the joint, as the articulated-body algorithm does (Featherstone
2008); the cost is linear in the number of links.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels.blocks import add3
from flexdyn_ros.numerics.algebra.manifold import PRISMATIC, REVOLUTE
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.numbers.functions import equal, holds, less, select

from . import views
from .chain import SECTION, add_modal_acceleration, carry_acceleration
from .views import gravity_of, header_at, nodes_of


@kernel
def articulate(address, w, tau, extra, given, h, v, a):
    """a of efforts tau, after `move_planar`, `weigh_all`, wheels and wrenches in FORCE; NaN if singular.

    [M + diag(extra) + h D + h^2 K] a = tau - h K v - bias, with K, D of beams and joints (what an implicit
    step adds; h = 0 is forward dynamics; extra holds the armature). given (nv,): not zero where the
    acceleration is known; tau is an output there.
    """
    w = borrowed(w)
    head = header_at(address)
    table, f = nodes_of(head)
    gx, gy = gravity_of(head)
    w[views.ACCEL], w[views.ACCEL + 1], w[views.ACCEL + 2] = -gx, -gy, 0.0
    for k in range(head[views.NODES] - 1, 0, -1):
        row = table[views.NODE_COLUMNS * k : views.NODE_COLUMNS * (k + 1)]
        up = w[views.NODE_ROWS * row[views.PARENT] : views.NODE_ROWS * (row[views.PARENT] + 1)]
        own = w[views.NODE_ROWS * k : views.NODE_ROWS * (k + 1)]
        modal = w[row[views.MODAL_AT] :]
        if row[views.KIND] == SECTION:
            hang(row, f[row[views.AT] :], up, own, modal)
        else:
            if row[views.MODES] > 0:
                eliminate_modes(row, f[row[views.AT] :], own, modal, tau, extra, h, v)
            eliminate_joint(row, own, tau, extra, given, a)
        hand_down(up, own)
    for k in range(1, head[views.NODES]):
        row = table[views.NODE_COLUMNS * k : views.NODE_COLUMNS * (k + 1)]
        up = w[views.NODE_ROWS * row[views.PARENT] : views.NODE_ROWS * (row[views.PARENT] + 1)]
        own = w[views.NODE_ROWS * k : views.NODE_ROWS * (k + 1)]
        carry_acceleration(up, own)
        if row[views.KIND] == SECTION:
            add_modal_acceleration(row, f[row[views.AT] :], up, own, a)
            continue
        if row[views.KIND] == REVOLUTE or row[views.KIND] == PRISMATIC:
            finish_joint(row, own, tau, given, a)
        if row[views.MODES] > 0:
            finish_modes(row, own, w[row[views.MODAL_AT] :], a)


@kernel(forceinline=True)
def times_body(own, x, y, t):
    """BODY times a motion."""
    return (
        own[views.BODY] * x + own[views.BODY + 1] * y + own[views.BODY + 3] * t,
        own[views.BODY + 1] * x + own[views.BODY + 2] * y + own[views.BODY + 4] * t,
        own[views.BODY + 3] * x + own[views.BODY + 4] * y + own[views.BODY + 5] * t,
    )


@kernel(forceinline=True)
def hang(row, x, up, own, modal):
    """Inertia and force of a section onto its beam's modes; FORCE then includes BODY BIAS."""
    m = row[views.MODES]
    x = x[views.NODE_HEAD :]
    bx, by, bt = times_body(own, own[views.BIAS], own[views.BIAS + 1], own[views.BIAS + 2])
    add3(own, views.FORCE, bx, by, bt)
    fx, fy, n = own[views.FORCE], own[views.FORCE + 1], own[views.FORCE + 2]
    c, s = up[views.COS], up[views.SIN]
    for i in range(m):
        ux, uy, ut = c * x[2 + i] - s * x[2 + m + i], s * x[2 + i] + c * x[2 + m + i], x[2 + 2 * m + i]
        gx, gy, gt = times_body(own, ux, uy, ut)
        add3(modal, 3 * i, gx, gy, gt + own[views.RX] * gy - own[views.RY] * gx)
        for j in range(i + 1):
            wx, wy = c * x[2 + j] - s * x[2 + m + j], s * x[2 + j] + c * x[2 + m + j]
            modal[3 * m + m * i + j] += gx * wx + gy * wy + gt * x[2 + 2 * m + j]
        modal[3 * m + m * m + i] += ux * fx + uy * fy + ut * n


@kernel(forceinline=True)
def hand_down(up, own):
    """BODY and FORCE of a node to its parent (FORCE including what BIAS takes)."""
    rx, ry = own[views.RX], own[views.RY]
    xx, xy, yy = own[views.BODY], own[views.BODY + 1], own[views.BODY + 2]
    xt, yt, tt = own[views.BODY + 3], own[views.BODY + 4], own[views.BODY + 5]
    # columns for the parent's angular acceleration
    cx, cy = xt - xx * ry + xy * rx, yt - xy * ry + yy * rx
    add3(up, views.BODY, xx, xy, yy)
    add3(up, views.BODY + 3, cx, cy, tt - xt * ry + yt * rx - ry * cx + rx * cy)
    fx, fy = own[views.FORCE], own[views.FORCE + 1]
    add3(up, views.FORCE, fx, fy, own[views.FORCE + 2] + rx * fy - ry * fx)


@kernel(forceinline=True)
def eliminate_modes(row, x, own, modal, tau, extra, h, v):
    """Cholesky of the modal block, and the Schur complement in BODY and FORCE; NaN if not positive.

    The diagonal of the block then holds the inverses of that of the factor.
    """
    m = row[views.MODES]
    K, D = x[views.NODE_HEAD + 4 * m + 3 * m * m :], x[views.NODE_HEAD + 4 * m + 4 * m * m :]
    block, force = modal[3 * m :], modal[3 * m + m * m :]
    for i in range(m):
        r = tau[row[views.MODE_V] + i] - force[i]
        for j in range(m):
            r -= h * K[i * m + j] * v[row[views.MODE_V] + j]
        for j in range(i + 1):
            s = block[i * m + j] + h * D[i * m + j] + h * h * K[i * m + j]
            if i == j:
                s += extra[row[views.MODE_V] + i]
            for l in range(j):
                s -= block[i * m + l] * block[j * m + l]
            if i == j:
                block[i * m + i] = 1.0 / np.sqrt(select(less(0.0, s), s, np.nan))
            else:
                block[i * m + j] = s * block[j * m + j]
        for j in range(i):
            r -= block[i * m + j] * force[j]
            for l in range(3):
                modal[3 * i + l] -= block[i * m + j] * modal[3 * j + l]
        pivot = block[i * m + i]
        force[i] = r * pivot
        bx, by, bt = modal[3 * i] * pivot, modal[3 * i + 1] * pivot, modal[3 * i + 2] * pivot
        modal[3 * i], modal[3 * i + 1], modal[3 * i + 2] = bx, by, bt
        add3(own, views.BODY, -bx * bx, -bx * by, -by * by)
        add3(own, views.BODY + 3, -bx * bt, -by * bt, -bt * bt)
        add3(own, views.FORCE, bx * force[i], by * force[i], bt * force[i])


@kernel(forceinline=True)
def eliminate_joint(row, own, tau, extra, given, a):
    """What is left of BODY and FORCE for the parent; NaN if the joint moves nothing.

    REACH and PUSH keep what `finish_joint` needs; where the acceleration is given PIVOT does too.
    """
    bx, by, bt = times_body(own, own[views.BIAS], own[views.BIAS + 1], own[views.BIAS + 2])
    add3(own, views.FORCE, bx, by, bt)
    if row[views.KIND] != REVOLUTE and row[views.KIND] != PRISMATIC:
        return
    sx, sy, st = own[views.AXIS], own[views.AXIS + 1], own[views.AXIS + 2]
    ux, uy, ut = times_body(own, sx, sy, st)
    at = row[views.V]
    pivot = sx * ux + sy * uy + st * ut + extra[at]
    left = sx * own[views.FORCE] + sy * own[views.FORCE + 1] + st * own[views.FORCE + 2]
    if not holds(equal(given[at], 0.0)):
        own[views.REACH], own[views.REACH + 1], own[views.REACH + 2] = ux, uy, ut
        own[views.PIVOT], own[views.PUSH] = pivot, left
        add3(own, views.FORCE, ux * a[at], uy * a[at], ut * a[at])
        return
    p = 1.0 / select(less(0.0, pivot), pivot, np.nan)
    px, py, pt = p * ux, p * uy, p * ut
    push = p * (tau[at] - left)
    own[views.REACH], own[views.REACH + 1], own[views.REACH + 2] = px, py, pt
    own[views.PUSH] = push
    add3(own, views.BODY, -ux * px, -ux * py, -uy * py)
    add3(own, views.BODY + 3, -ux * pt, -uy * pt, -ut * pt)
    add3(own, views.FORCE, ux * push, uy * push, ut * push)


@kernel(forceinline=True)
def finish_joint(row, own, tau, given, a):
    """Acceleration of a joint (or, where that is given, its effort), and what it adds to ACCEL."""
    at = row[views.V]
    # ACCEL holds BIAS too, whose force is in PUSH already
    x, y, t = (
        own[views.ACCEL] - own[views.BIAS],
        own[views.ACCEL + 1] - own[views.BIAS + 1],
        own[views.ACCEL + 2] - own[views.BIAS + 2],
    )
    reach = own[views.REACH] * x + own[views.REACH + 1] * y + own[views.REACH + 2] * t
    if not holds(equal(given[at], 0.0)):
        tau[at] = own[views.PUSH] + reach + own[views.PIVOT] * a[at]
    else:
        a[at] = own[views.PUSH] - reach
    for i in range(3):
        own[views.ACCEL + i] += own[views.AXIS + i] * a[at]


@kernel(forceinline=True)
def finish_modes(row, own, modal, a):
    """Accelerations of the modes."""
    m = row[views.MODES]
    block, force = modal[3 * m :], modal[3 * m + m * m :]
    for i in range(m - 1, -1, -1):
        r = force[i]
        for j in range(3):
            r -= modal[3 * i + j] * own[views.ACCEL + j]
        for j in range(i + 1, m):
            r -= block[j * m + i] * a[row[views.MODE_V] + j]
        a[row[views.MODE_V] + i] = r * block[i * m + i]
