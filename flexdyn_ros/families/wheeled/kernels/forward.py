"""Forward dynamics of planar floating frames, in the chain or tree of chain.py.

Modes are eliminated beam by beam and then the joint, as the articulated-body algorithm does (Featherstone
2008); the cost is linear in the number of links.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.rotations import add3
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import tail
from flexdyn_ros.numerics.numbers.functions import equal, holds, less, select

from . import views
from .chain import SECTION, add_modal_acceleration, carry_acceleration
from .views import PRISMATIC, REVOLUTE, gravity_of, header_at, node_of, node_row, nodes_of


@kernel
def articulate(address, w, tau, extra, given, h, v, a):
    """a of efforts tau, after `move_planar`, `weigh_all`, wheels and wrenches in FORCE; NaN if singular.

    [M + diag(extra) + h D + h^2 K] a = tau - h K v - bias, with K, D of beams and joints (what an implicit
    step adds; h = 0 is forward dynamics; extra holds the armature). given (nv,): not zero where the
    acceleration is known; tau is an output there.
    """
    w, tau, extra, given = borrowed(w), borrowed(tau), borrowed(extra), borrowed(given)
    v, a = borrowed(v), borrowed(a)
    head = header_at(address)
    table, f = nodes_of(head)
    gx, gy = gravity_of(head)
    w[views.ACCEL], w[views.ACCEL + 1], w[views.ACCEL + 2] = -gx, -gy, 0.0
    for k in range(head[views.NODES] - 1, 0, -1):
        row = node_row(table, k)
        up = node_of(w, row[views.PARENT])
        own = node_of(w, k)
        modal = tail(w, row[views.MODAL_AT])
        if row[views.KIND] == SECTION:
            hang(row, tail(f, row[views.AT]), up, own, modal)
        else:
            if row[views.MODES] > 0:
                eliminate_modes(row, tail(f, row[views.AT]), own, modal, tau, extra, h, v)
            eliminate_joint(row, own, tau, extra, given, a)
        hand_down(up, own)
    for k in range(1, head[views.NODES]):
        row = node_row(table, k)
        up = node_of(w, row[views.PARENT])
        own = node_of(w, k)
        carry_acceleration(up, own)
        if row[views.KIND] == SECTION:
            add_modal_acceleration(row, tail(f, row[views.AT]), up, own, a)
            continue
        if row[views.KIND] == REVOLUTE or row[views.KIND] == PRISMATIC:
            finish_joint(row, own, tau, given, a)
        if row[views.MODES] > 0:
            finish_modes(row, own, tail(w, row[views.MODAL_AT]), a)


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
    x = tail(x, views.NODE_HEAD)
    bx, by, bt = times_body(own, own[views.BIAS], own[views.BIAS + 1], own[views.BIAS + 2])
    fx, fy, n = own[views.FORCE] + bx, own[views.FORCE + 1] + by, own[views.FORCE + 2] + bt
    own[views.FORCE], own[views.FORCE + 1], own[views.FORCE + 2] = fx, fy, n
    c, s, rx, ry = up[views.COS], up[views.SIN], own[views.RX], own[views.RY]
    S1, S2, slope, force = tail(x, 2), tail(x, 2 + m), tail(x, 2 + 2 * m), tail(modal, 3 * m + m * m)
    for i in range(m):
        coupling, block = tail(modal, 3 * i), tail(modal, 3 * m + m * i)
        ux, uy, ut = c * S1[i] - s * S2[i], s * S1[i] + c * S2[i], slope[i]
        gx, gy, gt = times_body(own, ux, uy, ut)
        add3(coupling, 0, gx, gy, gt + rx * gy - ry * gx)
        # in the axes of the beam
        lx, ly = c * gx + s * gy, c * gy - s * gx
        for j in range(i + 1):
            block[j] += lx * S1[j] + ly * S2[j] + gt * slope[j]
        force[i] += ux * fx + uy * fy + ut * n


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
    block, force = tail(modal, 3 * m), tail(modal, 3 * m + m * m)
    speeds, effort, added = (
        tail(v, row[views.MODE_V]),
        tail(tau, row[views.MODE_V]),
        tail(extra, row[views.MODE_V]),
    )
    xx, xy, yy = own[views.BODY], own[views.BODY + 1], own[views.BODY + 2]
    xt, yt, tt = own[views.BODY + 3], own[views.BODY + 4], own[views.BODY + 5]
    fx, fy, n = own[views.FORCE], own[views.FORCE + 1], own[views.FORCE + 2]
    for i in range(m):
        K, of_i = tail(x, views.NODE_HEAD + 4 * m + 3 * m * m + m * i), tail(block, m * i)
        D, r = tail(K, m * m), effort[i] - force[i]
        coupling = tail(modal, 3 * i)
        bx, by, bt = coupling[0], coupling[1], coupling[2]
        s = of_i[i] + h * D[i] + h * h * K[i] + added[i]
        for j in range(m):
            r -= h * K[j] * speeds[j]
        for j in range(i):
            of_j, coupling_j = tail(block, m * j), tail(modal, 3 * j)
            left = of_i[j] + h * D[j] + h * h * K[j]
            for l in range(j):
                left -= of_i[l] * of_j[l]
            left *= of_j[j]
            of_i[j] = left
            s -= left * left
            r -= left * force[j]
            bx -= left * coupling_j[0]
            by -= left * coupling_j[1]
            bt -= left * coupling_j[2]
        pivot = 1.0 / np.sqrt(select(less(0.0, s), s, np.nan))
        r, bx, by, bt = r * pivot, bx * pivot, by * pivot, bt * pivot
        of_i[i], force[i] = pivot, r
        coupling[0], coupling[1], coupling[2] = bx, by, bt
        xx, xy, yy = xx - bx * bx, xy - bx * by, yy - by * by
        xt, yt, tt = xt - bx * bt, yt - by * bt, tt - bt * bt
        fx, fy, n = fx + bx * r, fy + by * r, n + bt * r
    own[views.BODY], own[views.BODY + 1], own[views.BODY + 2] = xx, xy, yy
    own[views.BODY + 3], own[views.BODY + 4], own[views.BODY + 5] = xt, yt, tt
    own[views.FORCE], own[views.FORCE + 1], own[views.FORCE + 2] = fx, fy, n


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
    block, force, rates = tail(modal, 3 * m), tail(modal, 3 * m + m * m), tail(a, row[views.MODE_V])
    x, y, t = own[views.ACCEL], own[views.ACCEL + 1], own[views.ACCEL + 2]
    for i in range(m - 1, -1, -1):
        coupling, column = tail(modal, 3 * i), tail(block, i)
        r = force[i] - coupling[0] * x - coupling[1] * y - coupling[2] * t
        for j in range(i + 1, m):
            r -= column[j * m] * rates[j]
        rates[i] = r * column[i * m]
