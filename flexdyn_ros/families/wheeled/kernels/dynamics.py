"""Dynamics of a wheeled robot on a planar base by floating frames: one sample, in kernels.

Work memory w is one flat array (word SIZE of the header) of float64, of complex128 for derivatives. What
Python may call is in entries.py.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_joint_resistance
from flexdyn_ros.families.trees.rigid.kernels.views import open_tree
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed, floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import OK
from flexdyn_ros.numerics.compiling.windows import shaped, tail
from flexdyn_ros.numerics.numbers.functions import equal, holds

from . import views as at
from .chain import SECTION, balance, move_planar, weigh_all
from .forward import articulate
from .views import (
    dof_of,
    gravity_of,
    header_at,
    node_of,
    node_row,
    nodes_of,
    prescribed_of,
    vectors_of,
    wheels_of,
)
from .wheels import apply_wheel_forces, articulate_wheels, finish_hubs, load_hubs, update_wheels, wheel_energy

GIVEN_EFFORT = 5


@kernel(forceinline=True)
def resist(address, q, v, sign, tau):
    """tau += sign (springs, damping and friction of the joints)."""
    add_joint_resistance(open_tree(address), q, v, sign, tau)


@kernel
def load(address, w, bodies, points, wrenches):
    """FORCE of the nodes -= wrenches (moment; force), world axes, at points of the general tree's nodes."""
    w = borrowed(w)
    table, f = nodes_of(header_at(address))
    for i in range(bodies.shape[0]):
        own = node_of(w, bodies[i])
        plane = tail(f, node_row(table, bodies[i])[at.AT] + at.PLANE)
        px, py = 0.0, 0.0
        for j in range(3):
            px += plane[j] * points[i, j]
            py += plane[3 + j] * points[i, j]
        rx, ry = own[at.COS] * px - own[at.SIN] * py, own[at.SIN] * px + own[at.COS] * py
        fx, fy = wrenches[i, 3], wrenches[i, 5]
        own[at.FORCE] -= fx
        own[at.FORCE + 1] -= fy
        own[at.FORCE + 2] -= rx * fy - ry * fx - wrenches[i, 1]


@kernel
def add_armature(address, a, tau):
    """tau += armature times a; that of a hub is its mass."""
    head = header_at(address)
    dof = dof_of(head)
    for i in range(head[views.NV]):
        tau[i] += dof[views.DOF_NUMBERS * i + views.ARMATURE] * a[i]


@kernel
def inverse(address, w, q, v, a, tau):
    """tau = M a + h."""
    bodies, points, wrenches = no_wrenches()
    loaded_inverse(address, w, q, v, a, bodies, points, wrenches, tau)


@kernel
def loaded_inverse(address, w, q, v, a, bodies, points, wrenches, tau):
    """tau = M a + h - sum J' w; leaves the forces between the nodes."""
    move_planar(address, w, q, v)
    update_wheels(address, w, q, v)
    weigh_all(address, w, q, v, 1.0)
    apply_wheel_forces(address, w, 1.0)
    load(address, w, bodies, points, wrenches)
    balance(address, w, a, 1.0, tau)
    load_hubs(address, w, 1.0, 1.0, tau)
    add_armature(address, a, tau)
    resist(address, q, v, 1.0, tau)


@kernel
def forward(address, w, q, v, tau, extra, given, h, a):
    """a of efforts tau, see `articulate`; tau is overwritten, that of given coordinates with their effort."""
    move_planar(address, w, q, v)
    update_wheels(address, w, q, v)
    weigh_all(address, w, q, v, 1.0)
    resist(address, q, v, -1.0, tau)
    articulate_wheels(address, w, tau, extra, h)
    articulate(address, w, tau, extra, given, h, v, a)
    finish_hubs(address, w, a)


@kernel
def plain_forward(address, w, q, v, tau, a):
    """a of efforts tau (kept), the prescribed coordinate's being 0; GIVEN_EFFORT if that has an effort."""
    head = header_at(address)
    effort, extra, given = vectors_of(head, w)[3:]
    prescribed, dof = prescribed_of(head), dof_of(head)
    for i in range(head[views.NV]):
        effort[i], given[i], a[i] = tau[i], prescribed[i], 0.0
        extra[i] = dof[views.DOF_NUMBERS * i + views.ARMATURE]
        if prescribed[i] and not holds(equal(tau[i], 0.0)):
            return GIVEN_EFFORT
    forward(address, w, q, v, effort, extra, given, 0.0, a)
    return OK


@kernel
def inertial(address, w, q, v, a, tau):
    """tau = M a + velocity products, after `move_planar`."""
    weigh_all(address, w, q, v, 0.0)
    balance(address, w, a, 0.0, tau)
    update_wheels(address, w, q, v)
    load_hubs(address, w, 0.0, 0.0, tau)
    add_armature(address, a, tau)


@kernel(forceinline=True)
def no_wrenches():
    """No bodies, points, wrenches."""
    none = floats_at(0, 0)
    return ints_at(0, 0), shaped(none, (0, 3)), shaped(none, (0, 6))


@kernel
def forget_inertia(address, w):
    """No inertia and no force at any node, no modal force."""
    head = header_at(address)
    table, _ = nodes_of(head)
    for k in range(head[at.NODES]):
        for i in range(3):
            w[at.NODE_ROWS * k + at.FORCE + i] = 0.0
        for i in range(6):
            w[at.NODE_ROWS * k + at.BODY + i] = 0.0
        row = node_row(table, k)
        if row[at.KIND] != SECTION:
            for i in range(row[at.MODES] * (row[at.MODES] + 4)):
                w[row[at.MODAL_AT] + i] = 0.0


@kernel
def resist_in_beams(address, q, v, tau):
    """tau += K delta + D rate of the beams."""
    head = header_at(address)
    table, f = nodes_of(head)
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        m = row[at.MODES]
        if row[at.KIND] == SECTION or m == 0:
            continue
        x = tail(f, row[at.AT] + at.NODE_HEAD + 4 * m)
        K, D = tail(x, 3 * m * m), tail(x, 4 * m * m)
        for i in range(m):
            for j in range(m):
                tau[row[at.MODE_V] + i] += (
                    K[i * m + j] * q[row[at.MODE_Q] + j] + D[i * m + j] * v[row[at.MODE_V] + j]
                )


@kernel
def energies(address, w, q, v, out):
    """Kinetic, gravity and elastic energy [J] of a state."""
    w = borrowed(w)
    head = header_at(address)
    table, f = nodes_of(head)
    still, a, tau = vectors_of(head, w)[1:4]
    dof, of_v = dof_of(head), open_tree(address).q_of_v
    gx, gy = gravity_of(head)
    for i in range(head[views.NV]):
        still[i], a[i] = 0.0, v[i]
    move_planar(address, w, q, still)
    inertial(address, w, q, still, a, tau)
    kinetic, weight, elastic = 0.0, 0.0, 0.0
    for i in range(head[views.NV]):
        kinetic += 0.5 * v[i] * tau[i]
        stretch = q[of_v[i]] - dof[views.DOF_NUMBERS * i + views.REFERENCE]
        elastic += 0.5 * dof[views.DOF_NUMBERS * i + views.STIFFNESS] * stretch**2
        tau[i] = 0.0
    resist_in_beams(address, q, still, tau)
    for i in range(head[views.NV]):
        elastic += 0.5 * q[of_v[i]] * tau[i]
    for k in range(1, head[at.NODES]):
        row = node_row(table, k)
        own, x = node_of(w, k), tail(f, row[at.AT])
        m, px, py = row[at.MODES], x[at.MOMENT], x[at.MOMENT + 1]
        if row[at.KIND] != SECTION:
            for i in range(m):
                px += x[at.NODE_HEAD + i] * q[row[at.MODE_Q] + i]
                py += x[at.NODE_HEAD + m + i] * q[row[at.MODE_Q] + i]
        weight -= gx * (x[at.MASS] * own[at.X] + own[at.COS] * px - own[at.SIN] * py)
        weight -= gy * (x[at.MASS] * own[at.Y] + own[at.SIN] * px + own[at.COS] * py)
    wheels, numbers = wheels_of(head)
    for j in range(head[at.WHEELS]):
        if wheels[at.WHEEL_COLUMNS * j + at.HAS_TYRE]:
            weight -= (
                gy * numbers[at.WHEEL_SIZE * j + at.HUB_MASS] * q[wheels[at.WHEEL_COLUMNS * j + at.HUB_Q]]
            )
    move_planar(address, w, q, v)
    update_wheels(address, w, q, v)
    out[0], out[1], out[2] = kinetic, weight, elastic + wheel_energy(address, w)
