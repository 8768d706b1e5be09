"""Planar floating frames in a chain or tree, in relative coordinates: motion, inverse and forward dynamics.

Each beam has the exact mass matrix and quadratic velocity vector of a floating frame of reference (Shabana,
Dynamics of Multibody Systems, chapter 5, for linear strain; specification mobile, section 5); the constraints
between bodies are eliminated by the recursion itself: outward for motion, inward for forces (section 9 for
any tree). Accelerations are those of node origins minus gravity, world axes. Forward dynamics eliminates
modes beam by beam and then the joint, as the articulated-body algorithm does (Featherstone 2008); its cost is
linear in the number of links.
"""

from __future__ import annotations

import numpy as np

from .compiler import kernel
from .mobile_views import (
    ACCEL,
    ALONG,
    AT,
    AXIS,
    BIAS,
    BODY,
    COS,
    FORCE,
    INERTIA,
    KIND,
    LEVER,
    MASS,
    MODAL_AT,
    MODE_Q,
    MODE_V,
    MODES,
    MOMENT,
    NODE_COLUMNS,
    NODE_HEAD,
    NODE_ROWS,
    NODES,
    OMEGA,
    PARENT,
    PIVOT,
    PUSH,
    REACH,
    RX,
    RY,
    SIGN,
    SIN,
    TH,
    TURN,
    VX,
    VY,
    Q,
    V,
    X,
    Y,
    gravity_of,
    header_at,
    nodes_of,
)
from .tree import PRISMATIC, REVOLUTE
from .trigonometry import sincos

SECTION = 3  # as in kernels/flexible_views.py


@kernel
def move_planar(address, w, q, v):
    """Write pose, velocity, AXIS and BIAS of every node at q, v."""
    head = header_at(address)
    table, f = nodes_of(head)
    zero = 0.0 * q[0] * v[0]
    for i in range(NODE_ROWS):
        w[i] = zero
    w[COS] = zero + 1.0
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        x = f[row[AT] :]
        up = w[NODE_ROWS * row[PARENT] : NODE_ROWS * (row[PARENT] + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        if row[KIND] == SECTION:
            move_section(row, x, up, own, q, v)
            continue
        # lever and direction in the world; the joint moves relative to them
        c, s, om = up[COS], up[SIN], up[OMEGA]
        rx, ry = c * x[LEVER] - s * x[LEVER + 1], s * x[LEVER] + c * x[LEVER + 1]
        turn, rate = zero + x[TURN], zero
        own[AXIS], own[AXIS + 1], own[AXIS + 2] = zero, zero, zero
        sx, sy, slide = zero, zero, zero
        if row[KIND] == REVOLUTE:
            turn += x[SIGN] * q[row[Q]]
            rate = x[SIGN] * v[row[V]]
            own[AXIS + 2] = zero + x[SIGN]
        elif row[KIND] == PRISMATIC:
            ux, uy = c * x[ALONG] - s * x[ALONG + 1], s * x[ALONG] + c * x[ALONG + 1]
            rx += ux * q[row[Q]]
            ry += uy * q[row[Q]]
            sx, sy, slide = ux, uy, v[row[V]]
            own[AXIS], own[AXIS + 1] = ux, uy
        own[RX], own[RY] = rx, ry
        own[X], own[Y] = up[X] + rx, up[Y] + ry
        own[VX] = up[VX] - om * ry + sx * slide
        own[VY] = up[VY] + om * rx + sy * slide
        own[BIAS] = -om * om * rx - 2.0 * om * slide * sy
        own[BIAS + 1] = -om * om * ry + 2.0 * om * slide * sx
        own[BIAS + 2] = zero
        own[TH], own[OMEGA] = up[TH] + turn, om + rate
        if row[KIND] == REVOLUTE or x[TURN] != 0.0:
            own[SIN], own[COS] = sincos(own[TH])
        else:
            own[SIN], own[COS] = s, c


@kernel
def move_section(row, x, up, own, q, v):
    """Pose, velocity and BIAS of a cross section; up: rows of its beam's node."""
    m = row[MODES]
    x = x[NODE_HEAD:]
    ux, uy, dx, dy = x[0] + 0.0 * q[0], x[1] + 0.0 * q[0], 0.0 * v[0], 0.0 * v[0]
    turn, rate = 0.0 * q[0], 0.0 * v[0]
    for i in range(m):
        delta, speed = q[row[MODE_Q] + i], v[row[MODE_V] + i]
        ux += x[2 + i] * delta
        uy += x[2 + m + i] * delta
        turn += x[2 + 2 * m + i] * delta
        dx += x[2 + i] * speed
        dy += x[2 + m + i] * speed
        rate += x[2 + 2 * m + i] * speed
    c, s, om = up[COS], up[SIN], up[OMEGA]
    rx, ry, gx, gy = c * ux - s * uy, s * ux + c * uy, c * dx - s * dy, s * dx + c * dy
    own[RX], own[RY] = rx, ry
    own[X], own[Y] = up[X] + rx, up[Y] + ry
    own[VX], own[VY] = up[VX] - om * ry + gx, up[VY] + om * rx + gy
    own[BIAS], own[BIAS + 1] = -om * om * rx - 2.0 * om * gy, -om * om * ry + 2.0 * om * gx
    own[BIAS + 2] = 0.0 * rate
    own[TH], own[OMEGA] = up[TH] + turn, om + rate
    own[SIN], own[COS] = sincos(own[TH])


@kernel
def weigh(row, x, own, modal, q, v, elastic):
    """Write BODY, FORCE = -Qv of a node, its beam's coupling, block and force; elastic: 1 adds K q + D v.

    modal: coupling (m, 3) to acceleration and angular acceleration, block (m, m), force (m).
    """
    m = row[MODES]
    c, s, om = own[COS], own[SIN], own[OMEGA]
    square = om * om
    px, py, J = x[MOMENT] + 0.0 * c, x[MOMENT + 1] + 0.0 * c, x[INERTIA] + 0.0 * c
    nx, ny, pull = 0.0 * om, 0.0 * om, 0.0 * om
    f = x[NODE_HEAD:]
    N1, N2, a, b = f, f[m:], f[2 * m :], f[3 * m :]
    Mff, Mt, G = f[4 * m :], f[4 * m + m * m :], f[4 * m + 2 * m * m :]
    K, D, Kw = f[4 * m + 3 * m * m :], f[4 * m + 4 * m * m :], f[4 * m + 5 * m * m :]
    block, force = modal[3 * m :], modal[3 * m + m * m :]
    for i in range(m):
        delta, speed = q[row[MODE_Q] + i], v[row[MODE_V] + i]
        px += N1[i] * delta
        py += N2[i] * delta
        nx += N1[i] * speed
        ny += N2[i] * speed
        bent, gyro, spring, turning = 0.0 * c, 0.0 * om, 0.0 * om, b[i] + 0.0 * c
        for j in range(m):
            other, rate = q[row[MODE_Q] + j], v[row[MODE_V] + j]
            bent += Mt[i * m + j] * other
            gyro += G[i * m + j] * rate
            turning += G[i * m + j] * other
            spring += elastic * (K[i * m + j] * other + D[i * m + j] * rate) + square * Kw[i * m + j] * other
            block[i * m + j] = Mff[i * m + j] + 0.0 * c
        J += (2.0 * a[i] + bent) * delta
        pull += (a[i] + bent) * speed
        force[i] = 2.0 * om * gyro - square * (a[i] + bent) + spring
        modal[3 * i] = c * N1[i] - s * N2[i]
        modal[3 * i + 1] = s * N1[i] + c * N2[i]
        modal[3 * i + 2] = turning
    gx, gy = c * px - s * py, s * px + c * py
    own[BODY], own[BODY + 1], own[BODY + 2] = x[MASS] + 0.0 * c, 0.0 * c, x[MASS] + 0.0 * c
    own[BODY + 3], own[BODY + 4], own[BODY + 5] = -gy, gx, J
    own[FORCE] = -square * gx - 2.0 * om * (s * nx + c * ny)
    own[FORCE + 1] = -square * gy + 2.0 * om * (c * nx - s * ny)
    own[FORCE + 2] = 2.0 * om * pull


@kernel
def weigh_all(address, w, q, v, elastic):
    """`weigh` for every node."""
    head = header_at(address)
    table, f = nodes_of(head)
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        if row[KIND] == SECTION:
            weigh_section(f[row[AT] :], own)
        else:
            weigh(row, f[row[AT] :], own, w[row[MODAL_AT] :], q, v, elastic)


@kernel
def weigh_section(x, own):
    """BODY and FORCE of what is fixed to a section."""
    c, s, om = own[COS], own[SIN], own[OMEGA]
    gx, gy = c * x[MOMENT] - s * x[MOMENT + 1], s * x[MOMENT] + c * x[MOMENT + 1]
    own[BODY], own[BODY + 1], own[BODY + 2] = x[MASS] + 0.0 * c, 0.0 * c, x[MASS] + 0.0 * c
    own[BODY + 3], own[BODY + 4], own[BODY + 5] = -gy, gx, x[INERTIA] + 0.0 * c
    own[FORCE], own[FORCE + 1], own[FORCE + 2] = -om * om * gx, -om * om * gy, 0.0 * c


@kernel(forceinline=True)
def carry_acceleration(up, own):
    """ACCEL of a node from its parent's, with BIAS; what its coordinates add is left out."""
    al = up[ACCEL + 2]
    own[ACCEL] = up[ACCEL] - al * own[RY] + own[BIAS]
    own[ACCEL + 1] = up[ACCEL + 1] + al * own[RX] + own[BIAS + 1]
    own[ACCEL + 2] = al + own[BIAS + 2]


@kernel(forceinline=True)
def add_modal_acceleration(row, x, up, own, a):
    """What the modal accelerations add to ACCEL of a section."""
    m = row[MODES]
    x = x[NODE_HEAD:]
    for i in range(m):
        rate = a[row[MODE_V] + i]
        own[ACCEL] += (up[COS] * x[2 + i] - up[SIN] * x[2 + m + i]) * rate
        own[ACCEL + 1] += (up[SIN] * x[2 + i] + up[COS] * x[2 + m + i]) * rate
        own[ACCEL + 2] += x[2 + 2 * m + i] * rate


@kernel
def balance(address, w, a, gravity, tau):
    """tau of accelerations a: after `move_planar` and `weigh_all`, wheels added to FORCE. gravity: 1 or 0."""
    head = header_at(address)
    table, f = nodes_of(head)
    gx, gy = gravity_of(head)
    zero = 0.0 * a[0] * w[COS]
    w[ACCEL], w[ACCEL + 1], w[ACCEL + 2] = zero - gravity * gx, zero - gravity * gy, zero
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        up = w[NODE_ROWS * row[PARENT] : NODE_ROWS * (row[PARENT] + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        carry_acceleration(up, own)
        if row[KIND] == SECTION:
            add_modal_acceleration(row, f[row[AT] :], up, own, a)
        elif row[KIND] == REVOLUTE or row[KIND] == PRISMATIC:
            for i in range(3):
                own[ACCEL + i] += own[AXIS + i] * a[row[V]]
        push(own)
        if row[KIND] != SECTION and row[MODES] > 0:
            push_modes(row, own, w[row[MODAL_AT] :], a)
    for k in range(head[NODES] - 1, 0, -1):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        up = w[NODE_ROWS * row[PARENT] : NODE_ROWS * (row[PARENT] + 1)]
        own = w[NODE_ROWS * k : NODE_ROWS * (k + 1)]
        fx, fy, n = own[FORCE], own[FORCE + 1], own[FORCE + 2]
        m = row[MODES]
        if row[KIND] == SECTION:
            force = w[row[MODAL_AT] + 3 * m + m * m :]
            x = f[row[AT] + NODE_HEAD :]
            lx, ly = up[COS] * fx + up[SIN] * fy, up[COS] * fy - up[SIN] * fx
            for i in range(m):
                force[i] += x[2 + i] * lx + x[2 + m + i] * ly + x[2 + 2 * m + i] * n
        else:
            for i in range(m):
                tau[row[MODE_V] + i] = w[row[MODAL_AT] + 3 * m + m * m + i]
            if row[KIND] == REVOLUTE or row[KIND] == PRISMATIC:
                tau[row[V]] = own[AXIS] * fx + own[AXIS + 1] * fy + own[AXIS + 2] * n
        up[FORCE] += fx
        up[FORCE + 1] += fy
        up[FORCE + 2] += n + own[RX] * fy - own[RY] * fx


@kernel(forceinline=True)
def push(own):
    """FORCE += BODY ACCEL."""
    x, y, t = own[ACCEL], own[ACCEL + 1], own[ACCEL + 2]
    own[FORCE] += own[BODY] * x + own[BODY + 1] * y + own[BODY + 3] * t
    own[FORCE + 1] += own[BODY + 1] * x + own[BODY + 2] * y + own[BODY + 4] * t
    own[FORCE + 2] += own[BODY + 3] * x + own[BODY + 4] * y + own[BODY + 5] * t


@kernel(forceinline=True)
def push_modes(row, own, modal, a):
    """Forces of the modes' coupling and block."""
    m = row[MODES]
    force = modal[3 * m + m * m :]
    for i in range(m):
        rate = a[row[MODE_V] + i]
        for j in range(3):
            own[FORCE + j] += modal[3 * i + j] * rate
            force[i] += modal[3 * i + j] * own[ACCEL + j]
        for j in range(m):
            force[i] += modal[3 * m + m * i + j] * a[row[MODE_V] + j]


# ---- forward dynamics ----


@kernel
def articulate(address, w, tau, extra, given, h, v, a):
    """a of efforts tau, after `move_planar`, `weigh_all`, wheels and wrenches in FORCE; False if singular.

    [M + diag(extra) + h D + h^2 K] a = tau - h K v - bias, with K, D of beams and joints (what an implicit
    step adds; h = 0 is forward dynamics; extra holds the armature). given (nv,): not zero where the
    acceleration is known; tau is an output there.
    """
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
