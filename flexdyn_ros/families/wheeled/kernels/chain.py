"""Planar floating frames in a chain or tree, in relative coordinates: motion and inverse dynamics.

Each beam has the exact mass matrix and quadratic velocity vector of a floating frame of reference (Shabana,
Dynamics of Multibody Systems, chapter 5, for linear strain; specification mobile, section 5); the constraints
between bodies are eliminated by the recursion itself: outward for motion, inward for forces (section 9 for
any tree). Accelerations are those of node origins minus gravity, world axes. Forward dynamics is in
forward.py.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import PRISMATIC, REVOLUTE
from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed

from .views import (
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

SECTION = 3  # as in trees/flexible/kernels/views.py


@kernel
def move_planar(address, w, q, v):
    """Write pose, velocity, AXIS and BIAS of every node at q, v."""
    w = borrowed(w)
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
    w = borrowed(w)
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
    w = borrowed(w)
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
