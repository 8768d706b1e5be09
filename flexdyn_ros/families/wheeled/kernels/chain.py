"""Planar floating frames in a chain or tree, in relative coordinates: motion and inverse dynamics.

Each beam has the exact mass matrix and quadratic velocity vector of a floating frame of reference (Shabana,
Dynamics of Multibody Systems, chapter 5, for linear strain; docs/theory/mobile.md); the constraints
between bodies are eliminated by the recursion itself: outward for motion, inward for forces (for
any tree). Accelerations are those of node origins minus gravity, world axes. Forward dynamics is in
forward.py.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.views import SECTION
from flexdyn_ros.numerics.algebra.rotations import add3, store3
from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import tail

from . import views as at
from .views import PRISMATIC, REVOLUTE, gravity_of, header_at, node_of, node_row, nodes_of


@kernel
def move_planar(address, w, q, v):
    """Write pose, velocity, AXIS and BIAS of every node at q, v."""
    w, q, v = borrowed(w), borrowed(q), borrowed(v)
    head = header_at(address)
    table, f = nodes_of(head)
    zero = 0.0 * q[0] * v[0]
    for i in range(at.NODE_ROWS):
        w[i] = zero
    w[at.COS] = zero + 1.0
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        x = tail(f, row[at.AT])
        up = node_of(w, row[at.PARENT])
        own = node_of(w, k)
        if row[at.KIND] == SECTION:
            move_section(row, x, up, own, q, v)
            continue
        # lever and direction in the world; the joint moves relative to them
        c, s, om = up[at.COS], up[at.SIN], up[at.OMEGA]
        rx, ry = c * x[at.LEVER] - s * x[at.LEVER + 1], s * x[at.LEVER] + c * x[at.LEVER + 1]
        turn, rate = zero + x[at.TURN], zero
        own[at.AXIS], own[at.AXIS + 1], own[at.AXIS + 2] = zero, zero, zero
        sx, sy, slide = zero, zero, zero
        if row[at.KIND] == REVOLUTE:
            turn += x[at.SIGN] * q[row[at.Q]]
            rate = x[at.SIGN] * v[row[at.V]]
            own[at.AXIS + 2] = zero + x[at.SIGN]
        elif row[at.KIND] == PRISMATIC:
            ux, uy = c * x[at.ALONG] - s * x[at.ALONG + 1], s * x[at.ALONG] + c * x[at.ALONG + 1]
            rx += ux * q[row[at.Q]]
            ry += uy * q[row[at.Q]]
            sx, sy, slide = ux, uy, v[row[at.V]]
            own[at.AXIS], own[at.AXIS + 1] = ux, uy
        own[at.RX], own[at.RY] = rx, ry
        own[at.X], own[at.Y] = up[at.X] + rx, up[at.Y] + ry
        own[at.VX] = up[at.VX] - om * ry + sx * slide
        own[at.VY] = up[at.VY] + om * rx + sy * slide
        own[at.BIAS] = -om * om * rx - 2.0 * om * slide * sy
        own[at.BIAS + 1] = -om * om * ry + 2.0 * om * slide * sx
        own[at.BIAS + 2] = zero
        own[at.TH], own[at.OMEGA] = up[at.TH] + turn, om + rate
        if row[at.KIND] == REVOLUTE or x[at.TURN] != 0.0:
            own[at.SIN], own[at.COS] = sincos(own[at.TH])
        else:
            own[at.SIN], own[at.COS] = s, c


@kernel(forceinline=True)
def move_section(row, x, up, own, q, v):
    """Pose, velocity and BIAS of a cross section; up: rows of its beam's node."""
    m = row[at.MODES]
    x = tail(x, at.NODE_HEAD)
    ux, uy, dx, dy = x[0] + 0.0 * q[0], x[1] + 0.0 * q[0], 0.0 * v[0], 0.0 * v[0]
    turn, rate = 0.0 * q[0], 0.0 * v[0]
    S1, S2, slope = tail(x, 2), tail(x, 2 + m), tail(x, 2 + 2 * m)
    deltas, speeds = tail(q, row[at.MODE_Q]), tail(v, row[at.MODE_V])
    for i in range(m):
        delta, speed = deltas[i], speeds[i]
        ux += S1[i] * delta
        uy += S2[i] * delta
        turn += slope[i] * delta
        dx += S1[i] * speed
        dy += S2[i] * speed
        rate += slope[i] * speed
    c, s, om = up[at.COS], up[at.SIN], up[at.OMEGA]
    rx, ry, gx, gy = c * ux - s * uy, s * ux + c * uy, c * dx - s * dy, s * dx + c * dy
    own[at.RX], own[at.RY] = rx, ry
    own[at.X], own[at.Y] = up[at.X] + rx, up[at.Y] + ry
    own[at.VX], own[at.VY] = up[at.VX] - om * ry + gx, up[at.VY] + om * rx + gy
    own[at.BIAS], own[at.BIAS + 1] = -om * om * rx - 2.0 * om * gy, -om * om * ry + 2.0 * om * gx
    own[at.BIAS + 2] = 0.0 * rate
    own[at.TH], own[at.OMEGA] = up[at.TH] + turn, om + rate
    own[at.SIN], own[at.COS] = sincos(own[at.TH])


@kernel(forceinline=True)
def weigh(row, x, own, modal, q, v, elastic):
    """Write BODY, FORCE = -Qv of a node, its beam's coupling, block and force; elastic: 1 adds K q + D v.

    modal: coupling (m, 3) to acceleration and angular acceleration, block (m, m), force (m).
    """
    m = row[at.MODES]
    c, s, om = own[at.COS], own[at.SIN], own[at.OMEGA]
    square = om * om
    px, py, J = x[at.MOMENT] + 0.0 * c, x[at.MOMENT + 1] + 0.0 * c, x[at.INERTIA] + 0.0 * c
    nx, ny, pull = 0.0 * om, 0.0 * om, 0.0 * om
    f = tail(x, at.NODE_HEAD)
    N1, N2, a, b = f, tail(f, m), tail(f, 2 * m), tail(f, 3 * m)
    deltas, speeds = tail(q, row[at.MODE_Q]), tail(v, row[at.MODE_V])
    force = tail(modal, 3 * m + m * m)
    for i in range(m):
        # rows of Mff, Mt, G, K, D, Kw
        f_i, coupling, block = tail(f, 4 * m + m * i), tail(modal, 3 * i), tail(modal, 3 * m + m * i)
        Mff, Mt, G, K, D, Kw = (
            f_i,
            tail(f_i, m * m),
            tail(f_i, 2 * m * m),
            tail(f_i, 3 * m * m),
            tail(f_i, 4 * m * m),
            tail(f_i, 5 * m * m),
        )
        delta, speed = deltas[i], speeds[i]
        px += N1[i] * delta
        py += N2[i] * delta
        nx += N1[i] * speed
        ny += N2[i] * speed
        bent, gyro, spring, turning = 0.0 * c, 0.0 * om, 0.0 * om, b[i] + 0.0 * c
        for j in range(m):
            other, rate = deltas[j], speeds[j]
            bent += Mt[j] * other
            gyro += G[j] * rate
            turning += G[j] * other
            spring += elastic * (K[j] * other + D[j] * rate) + square * Kw[j] * other
            block[j] = Mff[j] + 0.0 * c
        J += (2.0 * a[i] + bent) * delta
        pull += (a[i] + bent) * speed
        force[i] = 2.0 * om * gyro - square * (a[i] + bent) + spring
        store3(coupling, 0, c * N1[i] - s * N2[i], s * N1[i] + c * N2[i], turning)
    gx, gy = c * px - s * py, s * px + c * py
    own[at.BODY], own[at.BODY + 1], own[at.BODY + 2] = x[at.MASS] + 0.0 * c, 0.0 * c, x[at.MASS] + 0.0 * c
    own[at.BODY + 3], own[at.BODY + 4], own[at.BODY + 5] = -gy, gx, J
    own[at.FORCE] = -square * gx - 2.0 * om * (s * nx + c * ny)
    own[at.FORCE + 1] = -square * gy + 2.0 * om * (c * nx - s * ny)
    own[at.FORCE + 2] = 2.0 * om * pull


@kernel
def weigh_all(address, w, q, v, elastic):
    """`weigh` for every node."""
    w, q, v = borrowed(w), borrowed(q), borrowed(v)
    head = header_at(address)
    table, f = nodes_of(head)
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        own = node_of(w, k)
        if row[at.KIND] == SECTION:
            weigh_section(tail(f, row[at.AT]), own)
        else:
            weigh(row, tail(f, row[at.AT]), own, tail(w, row[at.MODAL_AT]), q, v, elastic)


@kernel(forceinline=True)
def weigh_section(x, own):
    """BODY and FORCE of what is fixed to a section."""
    c, s, om = own[at.COS], own[at.SIN], own[at.OMEGA]
    gx, gy = c * x[at.MOMENT] - s * x[at.MOMENT + 1], s * x[at.MOMENT] + c * x[at.MOMENT + 1]
    own[at.BODY], own[at.BODY + 1], own[at.BODY + 2] = x[at.MASS] + 0.0 * c, 0.0 * c, x[at.MASS] + 0.0 * c
    own[at.BODY + 3], own[at.BODY + 4], own[at.BODY + 5] = -gy, gx, x[at.INERTIA] + 0.0 * c
    own[at.FORCE], own[at.FORCE + 1], own[at.FORCE + 2] = -om * om * gx, -om * om * gy, 0.0 * c


@kernel(forceinline=True)
def carry_acceleration(up, own):
    """ACCEL of a node from its parent's, with BIAS; what its coordinates add is left out."""
    al = up[at.ACCEL + 2]
    own[at.ACCEL] = up[at.ACCEL] - al * own[at.RY] + own[at.BIAS]
    own[at.ACCEL + 1] = up[at.ACCEL + 1] + al * own[at.RX] + own[at.BIAS + 1]
    own[at.ACCEL + 2] = al + own[at.BIAS + 2]


@kernel(forceinline=True)
def add_modal_acceleration(row, x, up, own, a):
    """What the modal accelerations add to ACCEL of a section."""
    m = row[at.MODES]
    x = tail(x, at.NODE_HEAD + 2)
    S1, S2, slope, rates = x, tail(x, m), tail(x, 2 * m), tail(a, row[at.MODE_V])
    c, s = up[at.COS], up[at.SIN]
    ax, ay, turn = own[at.ACCEL], own[at.ACCEL + 1], own[at.ACCEL + 2]
    for i in range(m):
        ax += (c * S1[i] - s * S2[i]) * rates[i]
        ay += (s * S1[i] + c * S2[i]) * rates[i]
        turn += slope[i] * rates[i]
    own[at.ACCEL], own[at.ACCEL + 1], own[at.ACCEL + 2] = ax, ay, turn


@kernel
def balance(address, w, a, gravity, tau):
    """tau of accelerations a: after `move_planar` and `weigh_all`, wheels added to FORCE. gravity: 1 or 0."""
    w, a, tau = borrowed(w), borrowed(a), borrowed(tau)
    head = header_at(address)
    table, f = nodes_of(head)
    gx, gy = gravity_of(head)
    zero = 0.0 * a[0] * w[at.COS]
    w[at.ACCEL], w[at.ACCEL + 1], w[at.ACCEL + 2] = zero - gravity * gx, zero - gravity * gy, zero
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        up = node_of(w, row[at.PARENT])
        own = node_of(w, k)
        carry_acceleration(up, own)
        if row[at.KIND] == SECTION:
            add_modal_acceleration(row, tail(f, row[at.AT]), up, own, a)
        elif row[at.KIND] == REVOLUTE or row[at.KIND] == PRISMATIC:
            for i in range(3):
                own[at.ACCEL + i] += own[at.AXIS + i] * a[row[at.V]]
        push(own)
        if row[at.KIND] != SECTION and row[at.MODES] > 0:
            push_modes(row, own, tail(w, row[at.MODAL_AT]), a)
    for k in range(head[at.NODES] - 1, 0, -1):
        row = node_row(table, k)
        up = node_of(w, row[at.PARENT])
        own = node_of(w, k)
        fx, fy, n = own[at.FORCE], own[at.FORCE + 1], own[at.FORCE + 2]
        m = row[at.MODES]
        if row[at.KIND] == SECTION:
            force = tail(w, row[at.MODAL_AT] + 3 * m + m * m)
            x = tail(f, row[at.AT] + at.NODE_HEAD)
            lx, ly = up[at.COS] * fx + up[at.SIN] * fy, up[at.COS] * fy - up[at.SIN] * fx
            for i in range(m):
                force[i] += x[2 + i] * lx + x[2 + m + i] * ly + x[2 + 2 * m + i] * n
        else:
            force, effort = tail(w, row[at.MODAL_AT] + 3 * m + m * m), tail(tau, row[at.MODE_V])
            for i in range(m):
                effort[i] = force[i]
            if row[at.KIND] == REVOLUTE or row[at.KIND] == PRISMATIC:
                tau[row[at.V]] = own[at.AXIS] * fx + own[at.AXIS + 1] * fy + own[at.AXIS + 2] * n
        add3(up, at.FORCE, fx, fy, n + own[at.RX] * fy - own[at.RY] * fx)


@kernel(forceinline=True)
def push(own):
    """FORCE += BODY ACCEL."""
    x, y, t = own[at.ACCEL], own[at.ACCEL + 1], own[at.ACCEL + 2]
    own[at.FORCE] += own[at.BODY] * x + own[at.BODY + 1] * y + own[at.BODY + 3] * t
    own[at.FORCE + 1] += own[at.BODY + 1] * x + own[at.BODY + 2] * y + own[at.BODY + 4] * t
    own[at.FORCE + 2] += own[at.BODY + 3] * x + own[at.BODY + 4] * y + own[at.BODY + 5] * t


@kernel(forceinline=True)
def push_modes(row, own, modal, a):
    """Forces of the modes' coupling and block."""
    m = row[at.MODES]
    force, rates = tail(modal, 3 * m + m * m), tail(a, row[at.MODE_V])
    for i in range(m):
        coupling, block = tail(modal, 3 * i), tail(modal, 3 * m + m * i)
        for j in range(3):
            own[at.FORCE + j] += coupling[j] * rates[i]
            force[i] += coupling[j] * own[at.ACCEL + j]
        for j in range(m):
            force[i] += block[j] * rates[j]
