"""Forward dynamics of planar floating frames, in the chain or tree of chain.py.

Modes are eliminated beam by beam and then the joint, as the articulated-body algorithm does (Featherstone
2008); the cost is linear in the number of links.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import PRISMATIC, REVOLUTE
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed

from .chain import SECTION, add_modal_acceleration, carry_acceleration
from .views import (
    ACCEL,
    AT,
    AXIS,
    BIAS,
    BODY,
    COS,
    FORCE,
    KIND,
    MODAL_AT,
    MODE_V,
    MODES,
    NODE_COLUMNS,
    NODE_HEAD,
    NODE_ROWS,
    NODES,
    PARENT,
    PIVOT,
    PUSH,
    REACH,
    RX,
    RY,
    SIN,
    V,
    gravity_of,
    header_at,
    nodes_of,
)


@kernel
def articulate(address, w, tau, extra, given, h, v, a):
    """a of efforts tau, after `move_planar`, `weigh_all`, wheels and wrenches in FORCE; False if singular.

    [M + diag(extra) + h D + h^2 K] a = tau - h K v - bias, with K, D of beams and joints (what an implicit
    step adds; h = 0 is forward dynamics; extra holds the armature). given (nv,): not zero where the
    acceleration is known; tau is an output there.
    """
    w = borrowed(w)
    head = header_at(address)
    table, f = nodes_of(head)
    gx, gy = gravity_of(head)
    w[ACCEL], w[ACCEL + 1], w[ACCEL + 2] = -gx, -gy, 0.0
    for k in range(head[NODES] - 1, 0, -1):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        up = w[NODE_ROWS * row[PARENT] : NODE_ROWS * (row[PARENT] + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        modal = w[row[MODAL_AT] :]
        if row[KIND] == SECTION:
            hang(row, f[row[AT] :], up, own, modal)
        else:
            if row[MODES] > 0 and not eliminate_modes(row, f[row[AT] :], own, modal, tau, extra, h, v):
                return False
            if not eliminate_joint(row, own, tau, extra, given, a):
                return False
        hand_down(up, own)
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        up = w[NODE_ROWS * row[PARENT] : NODE_ROWS * (row[PARENT] + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        carry_acceleration(up, own)
        if row[KIND] == SECTION:
            add_modal_acceleration(row, f[row[AT] :], up, own, a)
            continue
        if row[KIND] == REVOLUTE or row[KIND] == PRISMATIC:
            finish_joint(row, own, tau, given, a)
        if row[MODES] > 0:
            finish_modes(row, own, w[row[MODAL_AT] :], a)
    return True


@kernel(forceinline=True)
def times_body(own, x, y, t):
    """BODY times a motion."""
    return (
        own[BODY] * x + own[BODY + 1] * y + own[BODY + 3] * t,
        own[BODY + 1] * x + own[BODY + 2] * y + own[BODY + 4] * t,
        own[BODY + 3] * x + own[BODY + 4] * y + own[BODY + 5] * t,
    )


@kernel(forceinline=True)
def hang(row, x, up, own, modal):
    """Inertia and force of a section onto its beam's modes; FORCE then includes BODY BIAS."""
    m = row[MODES]
    x = x[NODE_HEAD:]
    bx, by, bt = times_body(own, own[BIAS], own[BIAS + 1], own[BIAS + 2])
    own[FORCE] += bx
    own[FORCE + 1] += by
    own[FORCE + 2] += bt
    fx, fy, n = own[FORCE], own[FORCE + 1], own[FORCE + 2]
    c, s = up[COS], up[SIN]
    for i in range(m):
        ux, uy, ut = c * x[2 + i] - s * x[2 + m + i], s * x[2 + i] + c * x[2 + m + i], x[2 + 2 * m + i]
        gx, gy, gt = times_body(own, ux, uy, ut)
        modal[3 * i] += gx
        modal[3 * i + 1] += gy
        modal[3 * i + 2] += gt + own[RX] * gy - own[RY] * gx
        for j in range(i + 1):
            wx, wy = c * x[2 + j] - s * x[2 + m + j], s * x[2 + j] + c * x[2 + m + j]
            modal[3 * m + m * i + j] += gx * wx + gy * wy + gt * x[2 + 2 * m + j]
        modal[3 * m + m * m + i] += ux * fx + uy * fy + ut * n


@kernel(forceinline=True)
def hand_down(up, own):
    """BODY and FORCE of a node to its parent (FORCE including what BIAS takes)."""
    rx, ry = own[RX], own[RY]
    xx, xy, yy = own[BODY], own[BODY + 1], own[BODY + 2]
    xt, yt, tt = own[BODY + 3], own[BODY + 4], own[BODY + 5]
    # columns for the parent's angular acceleration
    cx, cy = xt - xx * ry + xy * rx, yt - xy * ry + yy * rx
    up[BODY] += xx
    up[BODY + 1] += xy
    up[BODY + 2] += yy
    up[BODY + 3] += cx
    up[BODY + 4] += cy
    up[BODY + 5] += tt - xt * ry + yt * rx - ry * cx + rx * cy
    fx, fy = own[FORCE], own[FORCE + 1]
    up[FORCE] += fx
    up[FORCE + 1] += fy
    up[FORCE + 2] += own[FORCE + 2] + rx * fy - ry * fx


@kernel(forceinline=True)
def eliminate_modes(row, x, own, modal, tau, extra, h, v):
    """Cholesky of the modal block, and the Schur complement in BODY and FORCE; False if not positive."""
    m = row[MODES]
    K, D = x[NODE_HEAD + 4 * m + 3 * m * m :], x[NODE_HEAD + 4 * m + 4 * m * m :]
    block, force = modal[3 * m :], modal[3 * m + m * m :]
    for i in range(m):
        r = tau[row[MODE_V] + i] - force[i]
        for j in range(m):
            r -= h * K[i * m + j] * v[row[MODE_V] + j]
        for j in range(i + 1):
            s = block[i * m + j] + h * D[i * m + j] + h * h * K[i * m + j]
            if i == j:
                s += extra[row[MODE_V] + i]
            for l in range(j):
                s -= block[i * m + l] * block[j * m + l]
            if i == j:
                if not s > 0.0:
                    return False
                block[i * m + i] = np.sqrt(s)
            else:
                block[i * m + j] = s / block[j * m + j]
        for j in range(i):
            r -= block[i * m + j] * force[j]
            for l in range(3):
                modal[3 * i + l] -= block[i * m + j] * modal[3 * j + l]
        pivot = 1.0 / block[i * m + i]
        force[i] = r * pivot
        bx, by, bt = modal[3 * i] * pivot, modal[3 * i + 1] * pivot, modal[3 * i + 2] * pivot
        modal[3 * i], modal[3 * i + 1], modal[3 * i + 2] = bx, by, bt
        own[BODY] -= bx * bx
        own[BODY + 1] -= bx * by
        own[BODY + 2] -= by * by
        own[BODY + 3] -= bx * bt
        own[BODY + 4] -= by * bt
        own[BODY + 5] -= bt * bt
        own[FORCE] += bx * force[i]
        own[FORCE + 1] += by * force[i]
        own[FORCE + 2] += bt * force[i]
    return True


@kernel(forceinline=True)
def eliminate_joint(row, own, tau, extra, given, a):
    """What is left of BODY and FORCE for the parent; False if the joint moves nothing.

    REACH, PIVOT and PUSH keep what `finish_joint` needs.
    """
    bx, by, bt = times_body(own, own[BIAS], own[BIAS + 1], own[BIAS + 2])
    own[FORCE] += bx
    own[FORCE + 1] += by
    own[FORCE + 2] += bt
    if row[KIND] != REVOLUTE and row[KIND] != PRISMATIC:
        return True
    sx, sy, st = own[AXIS], own[AXIS + 1], own[AXIS + 2]
    ux, uy, ut = times_body(own, sx, sy, st)
    own[REACH], own[REACH + 1], own[REACH + 2] = ux, uy, ut
    at = row[V]
    pivot = sx * ux + sy * uy + st * ut + extra[at]
    left = sx * own[FORCE] + sy * own[FORCE + 1] + st * own[FORCE + 2]
    own[PIVOT] = pivot
    if given[at] != 0.0:
        own[PUSH] = left
        own[FORCE] += ux * a[at]
        own[FORCE + 1] += uy * a[at]
        own[FORCE + 2] += ut * a[at]
        return True
    own[PUSH] = tau[at] - left
    if not pivot > 0.0:
        return False
    p = 1.0 / pivot
    own[BODY] -= ux * ux * p
    own[BODY + 1] -= ux * uy * p
    own[BODY + 2] -= uy * uy * p
    own[BODY + 3] -= ux * ut * p
    own[BODY + 4] -= uy * ut * p
    own[BODY + 5] -= ut * ut * p
    push = own[PUSH] * p
    own[FORCE] += ux * push
    own[FORCE + 1] += uy * push
    own[FORCE + 2] += ut * push
    return True


@kernel(forceinline=True)
def finish_joint(row, own, tau, given, a):
    """Acceleration of a joint (or, where that is given, its effort), and what it adds to ACCEL."""
    at = row[V]
    # ACCEL holds BIAS too, whose force is in PUSH already
    x, y, t = own[ACCEL] - own[BIAS], own[ACCEL + 1] - own[BIAS + 1], own[ACCEL + 2] - own[BIAS + 2]
    reach = own[REACH] * x + own[REACH + 1] * y + own[REACH + 2] * t
    if given[at] != 0.0:
        tau[at] = own[PUSH] + reach + own[PIVOT] * a[at]
    else:
        a[at] = (own[PUSH] - reach) / own[PIVOT]
    for i in range(3):
        own[ACCEL + i] += own[AXIS + i] * a[at]


@kernel(forceinline=True)
def finish_modes(row, own, modal, a):
    """Accelerations of the modes."""
    m = row[MODES]
    block, force = modal[3 * m :], modal[3 * m + m * m :]
    for i in range(m - 1, -1, -1):
        r = force[i]
        for j in range(3):
            r -= modal[3 * i + j] * own[ACCEL + j]
        for j in range(i + 1, m):
            r -= block[j * m + i] * a[row[MODE_V] + j]
        a[row[MODE_V] + i] = r / block[i * m + i]
