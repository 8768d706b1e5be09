"""What Python may call for a wheeled robot on a planar base by floating frames: its dynamics.

The entries have the names and arguments of kernels/flexible.py; positions of frames, momenta and the
configuration space are those of the general tree, whose entries take the same address. Work memory is one
flat array (word SIZE of the header) of float64, of complex128 for derivatives. Status codes as in
kernels/rigid.py; an effort on a prescribed coordinate is answered by GIVEN_EFFORT.
"""

from __future__ import annotations

import numpy as np

from .compiler import entry, kernel
from .friction import add_joint_resistance
from .memory import floats_at, ints_at
from .mobile_chain import SECTION, articulate, balance, move_planar, weigh_all
from .mobile_views import (
    AT,
    BODY,
    COS,
    DAMPING,
    FORCE,
    GRADE,
    GROUND_FORCE,
    HAS_TYRE,
    HUB_MASS,
    HUB_Q,
    KIND,
    LENGTH,
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
    OWN_WORK,
    PLANE,
    ROAD_RATE,
    SIN,
    SIZE,
    SPRING_FORCE,
    SPRING_LENGTH,
    SPRING_RATE,
    TYRE_D,
    TYRE_RATE,
    WHEEL_COLUMNS,
    WHEEL_ROWS,
    WHEEL_SIZE,
    WHEELS,
    WHEELS_AT,
    X,
    Y,
    dof_of,
    gravity_of,
    header_at,
    nodes_of,
    prescribed_of,
    vectors_of,
    wheels_of,
)
from .mobile_wheels import articulate_wheels, bear, finish_hubs, load_hubs, roll, wheel_energy
from .rigid import COMPLEX_STEP, finite, first_wrong
from .tree import (
    ARMATURE,
    BAD_SHAPE,
    DOF_NUMBERS,
    NOT_FINITE,
    NQ,
    NV,
    OK,
    ONE_LANE,
    REFERENCE,
    STIFFNESS,
    TreeData,
    open_tree,
)

GIVEN_EFFORT = 5

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"


@kernel(forceinline=True)
def own_work(address):
    """The robot's own work memory."""
    head = header_at(address)
    return floats_at(head[OWN_WORK], head[SIZE])


@kernel(forceinline=True)
def resist(address, q, v, sign, tau):
    """tau += sign (springs, damping and friction of the joints)."""
    none = tau[0:0]
    lanes = TreeData(ONE_LANE, none, none, none, none, none, none, none, none)
    add_joint_resistance(open_tree(address), lanes, q, v, sign, tau)


@kernel
def load(address, w, bodies, points, wrenches):
    """FORCE of the nodes -= wrenches (moment; force), world axes, at points of the general tree's nodes."""
    table, f = nodes_of(header_at(address))
    for i in range(bodies.shape[0]):
        own = w[NODE_ROWS * bodies[i] :]
        plane = f[table[NODE_COLUMNS * bodies[i] + AT] + PLANE :]
        px, py = 0.0, 0.0
        for j in range(3):
            px += plane[j] * points[i, j]
            py += plane[3 + j] * points[i, j]
        rx, ry = own[COS] * px - own[SIN] * py, own[SIN] * px + own[COS] * py
        fx, fy = wrenches[i, 3], wrenches[i, 5]
        own[FORCE] -= fx
        own[FORCE + 1] -= fy
        own[FORCE + 2] -= rx * fy - ry * fx - wrenches[i, 1]


@kernel
def add_armature(address, a, tau):
    """tau += armature times a; that of a hub is its mass."""
    head = header_at(address)
    dof = dof_of(head)
    for i in range(head[NV]):
        tau[i] += dof[DOF_NUMBERS * i + ARMATURE] * a[i]


@kernel
def inverse(address, w, q, v, a, bodies, points, wrenches, tau):
    """tau = M a + h - sum J' w."""
    move_planar(address, w, q, v)
    roll(address, w, q, v)
    weigh_all(address, w, q, v, 1.0)
    bear(address, w, 1.0)
    load(address, w, bodies, points, wrenches)
    balance(address, w, a, 1.0, tau)
    load_hubs(address, w, 1.0, 1.0, tau)
    add_armature(address, a, tau)
    resist(address, q, v, 1.0, tau)


@kernel
def forward(address, w, q, v, tau, extra, given, h, bodies, points, wrenches, a):
    """a of efforts tau, see `articulate`; tau is overwritten, that of given coordinates with their effort."""
    move_planar(address, w, q, v)
    roll(address, w, q, v)
    weigh_all(address, w, q, v, 1.0)
    load(address, w, bodies, points, wrenches)
    resist(address, q, v, -1.0, tau)
    articulate_wheels(address, w, tau, extra, h)
    if not articulate(address, w, tau, extra, given, h, v, a):
        a[0] = np.nan
        return
    finish_hubs(address, w, a)


@kernel
def plain_forward(address, w, q, v, tau, bodies, points, wrenches, a):
    """a of efforts tau (kept), the prescribed coordinate's being 0; GIVEN_EFFORT if that has an effort."""
    head = header_at(address)
    effort, extra, given = vectors_of(head, w)[3:]
    prescribed, dof = prescribed_of(head), dof_of(head)
    for i in range(head[NV]):
        effort[i], given[i], a[i] = tau[i], prescribed[i], 0.0
        extra[i] = dof[DOF_NUMBERS * i + ARMATURE]
        if prescribed[i] and tau[i] != 0.0:
            return GIVEN_EFFORT
    forward(address, w, q, v, effort, extra, given, 0.0, bodies, points, wrenches, a)
    return OK


@kernel
def mass_columns(address, w, q, M):
    """M(q), column by column of the inertial forces."""
    head = header_at(address)
    v, a, tau = vectors_of(head, w)[1:4]
    nv = head[NV]
    for i in range(nv):
        v[i], a[i] = 0.0, 0.0
    for j in range(nv):
        a[j] = 1.0
        move_planar(address, w, q, v)
        inertial(address, w, q, v, a, tau)
        a[j] = 0.0
        for i in range(nv):
            M[i, j] = tau[i]
    for i in range(nv):
        for j in range(i):
            M[i, j] = M[j, i] = 0.5 * (M[i, j] + M[j, i])


@kernel
def inertial(address, w, q, v, a, tau):
    """tau = M a + velocity products, after `move_planar`."""
    weigh_all(address, w, q, v, 0.0)
    balance(address, w, a, 0.0, tau)
    roll(address, w, q, v)
    load_hubs(address, w, 0.0, 0.0, tau)
    add_armature(address, a, tau)


# ---- one sample, the fast way ----


@entry("int64(int64)")
def prepare_one(address):
    """Nothing to make ready: work memory keeps nothing between calls."""
    return OK


@kernel(forceinline=True)
def nothing():
    """No bodies, points, wrenches."""
    none = floats_at(0, 0)
    return ints_at(0, 0), none.reshape((0, 3)), none.reshape((0, 6))


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau = M a + h."""
    head = header_at(address)
    nv = head[NV]
    if q.shape[0] != head[NQ] or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    bodies, points, wrenches = nothing()
    inverse(address, own_work(address), q, v, a, bodies, points, wrenches, tau)
    return OK if finite(tau, nv) else NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (tau - h), of the prescribed coordinate 0."""
    head = header_at(address)
    nv = head[NV]
    if q.shape[0] != head[NQ] or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    bodies, points, wrenches = nothing()
    status = plain_forward(address, own_work(address), q, v, tau, bodies, points, wrenches, a)
    if status != OK:
        return status
    return OK if finite(a, nv) else NOT_FINITE


@entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    head = header_at(address)
    nv = head[NV]
    if q.shape[0] != head[NQ] or M.shape[0] != nv or M.shape[1] != nv:
        return BAD_SHAPE
    if not finite(q, head[NQ]):
        return NOT_FINITE
    mass_columns(address, own_work(address), q, M)
    return OK


# ---- many samples ----


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, tau):
    """tau = M a + h for rows of q, v, a."""
    bodies, points, wrenches = nothing()
    for s in range(q.shape[0]):
        inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches, tau[s])
    return first_wrong(open_tree(address), q, v, a, tau, 0)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def inverse_dynamics_loaded(address, work, q, v, a, bodies, points, wrenches, tau):
    """tau = M a + h - sum J^T w for rows of q, v, a, wrenches."""
    for s in range(q.shape[0]):
        inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches[s], tau[s])
    return first_wrong(open_tree(address), q, v, a, tau, 0)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, a):
    """a = M^-1 (tau - h) for rows of q, v, tau."""
    bodies, points, wrenches = nothing()
    for s in range(q.shape[0]):
        status = plain_forward(address, work, q[s], v[s], tau[s], bodies, points, wrenches, a[s])
        if status != OK:
            return status + 8 * s
    return first_wrong(open_tree(address), q, v, tau, a, 0)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def forward_dynamics_loaded(address, work, q, v, tau, bodies, points, wrenches, a):
    """a = M^-1 (tau - h + sum J^T w) for rows of q, v, tau, wrenches."""
    for s in range(q.shape[0]):
        status = plain_forward(address, work, q[s], v[s], tau[s], bodies, points, wrenches[s], a[s])
        if status != OK:
            return status + 8 * s
    return first_wrong(open_tree(address), q, v, tau, a, 0)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, boolean[::1], {_M}, {_WRENCHES})", nogil=True)
def partial_dynamics_many(address, work, M, q, v, tau, given, a, bodies, points, wrenches):
    """Motion with some accelerations given, those of `a` marked in given (nv,): their tau is written."""
    head = header_at(address)
    effort, extra, known = vectors_of(head, work)[3:]
    dof = dof_of(head)
    for s in range(q.shape[0]):
        for i in range(head[NV]):
            effort[i], known[i], extra[i] = tau[s, i], given[i], dof[DOF_NUMBERS * i + ARMATURE]
        forward(address, work, q[s], v[s], effort, extra, known, 0.0, bodies, points, wrenches[s], a[s])
        inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches[s], effort)
        for i in range(head[NV]):
            if given[i]:
                tau[s, i] = effort[i]
    return first_wrong(open_tree(address), q, v, tau, a, 0)


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M(q) for rows of q."""
    for s in range(q.shape[0]):
        if not finite(q[s], q.shape[1]):
            return NOT_FINITE + 8 * s
        mass_columns(address, work, q[s], M[s])
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def bias_terms_many(address, work, q, v, terms):
    """Parts of h for rows of q, v: terms (N, 5, nv) = velocity, gravity, elastic, damping, external."""
    head = header_at(address)
    still, a = vectors_of(head, work)[1:3]
    for i in range(head[NV]):
        still[i], a[i] = 0.0, 0.0
    for s in range(q.shape[0]):
        if not (finite(q[s], head[NQ]) and finite(v[s], head[NV])):
            return NOT_FINITE + 8 * s
        terms[s, :] = 0.0
        velocity, gravity, elastic, damping, external = terms[s]
        move_planar(address, work, q[s], v[s])
        inertial(address, work, q[s], v[s], a, velocity)
        # wheels alone, on nodes without mass
        forget_inertia(address, work)
        bear(address, work, 1.0)
        balance(address, work, a, 0.0, external)
        load_hubs(address, work, 0.0, 1.0, external)
        move_planar(address, work, q[s], still)
        weigh_all(address, work, q[s], still, 0.0)
        balance(address, work, a, 1.0, gravity)
        load_hubs(address, work, 1.0, 0.0, gravity)
        resist_in_beams(address, q[s], still, elastic)
        resist(address, q[s], still, 1.0, elastic)
        resist_in_beams(address, q[s], v[s], damping)
        resist(address, q[s], v[s], 1.0, damping)
        for i in range(head[NV]):
            damping[i] -= elastic[i]
    return OK


@kernel
def forget_inertia(address, w):
    """No inertia and no force at any node, no modal force."""
    head = header_at(address)
    table, _ = nodes_of(head)
    for k in range(head[NODES]):
        for i in range(3):
            w[NODE_ROWS * k + FORCE + i] = 0.0
        for i in range(6):
            w[NODE_ROWS * k + BODY + i] = 0.0
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        if row[KIND] != SECTION:
            for i in range(row[MODES] * (row[MODES] + 4)):
                w[row[MODAL_AT] + i] = 0.0


@kernel
def resist_in_beams(address, q, v, tau):
    """tau += K delta + D rate of the beams."""
    head = header_at(address)
    table, f = nodes_of(head)
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        m = row[MODES]
        if row[KIND] == SECTION or m == 0:
            continue
        K, D = f[row[AT] + NODE_HEAD + 4 * m + 3 * m * m :], f[row[AT] + NODE_HEAD + 4 * m + 4 * m * m :]
        for i in range(m):
            for j in range(m):
                tau[row[MODE_V] + i] += K[i * m + j] * q[row[MODE_Q] + j] + D[i * m + j] * v[row[MODE_V] + j]


@kernel
def energies(address, w, q, v, out):
    """Kinetic, gravity and elastic energy [J] of a state."""
    head = header_at(address)
    table, f = nodes_of(head)
    still, a, tau = vectors_of(head, w)[1:4]
    dof, of_v = dof_of(head), open_tree(address).q_of_v
    gx, gy = gravity_of(head)
    for i in range(head[NV]):
        still[i], a[i] = 0.0, v[i]
    move_planar(address, w, q, still)
    inertial(address, w, q, still, a, tau)
    kinetic, weight, elastic = 0.0, 0.0, 0.0
    for i in range(head[NV]):
        kinetic += 0.5 * v[i] * tau[i]
        stretch = q[of_v[i]] - dof[DOF_NUMBERS * i + REFERENCE]
        elastic += 0.5 * dof[DOF_NUMBERS * i + STIFFNESS] * stretch**2
        tau[i] = 0.0
    resist_in_beams(address, q, still, tau)
    for i in range(head[NV]):
        elastic += 0.5 * q[of_v[i]] * tau[i]
    for k in range(1, head[NODES]):
        row = table[NODE_COLUMNS * k : NODE_COLUMNS * (k + 1)]
        own, x = w[NODE_ROWS * k :], f[row[AT] :]
        m, px, py = row[MODES], x[MOMENT], x[MOMENT + 1]
        if row[KIND] != SECTION:
            for i in range(m):
                px += x[NODE_HEAD + i] * q[row[MODE_Q] + i]
                py += x[NODE_HEAD + m + i] * q[row[MODE_Q] + i]
        weight -= gx * (x[MASS] * own[X] + own[COS] * px - own[SIN] * py)
        weight -= gy * (x[MASS] * own[Y] + own[SIN] * px + own[COS] * py)
    wheels, numbers = wheels_of(head)
    for j in range(head[WHEELS]):
        if wheels[WHEEL_COLUMNS * j + HAS_TYRE]:
            weight -= gy * numbers[WHEEL_SIZE * j + HUB_MASS] * q[wheels[WHEEL_COLUMNS * j + HUB_Q]]
    move_planar(address, w, q, v)
    roll(address, w, q, v)
    out[0], out[1], out[2] = kinetic, weight, elastic + wheel_energy(address, w)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def energy_many(address, work, q, v, energy):
    """Kinetic, gravity and elastic energy (N, 3) for rows of q, v."""
    head = header_at(address)
    for s in range(q.shape[0]):
        if not (finite(q[s], head[NQ]) and finite(v[s], head[NV])):
            return NOT_FINITE + 8 * s
        energies(address, work, q[s], v[s], energy[s])
    return OK


#: numbers per wheel that `wheels_many` writes
WHEEL_RESULTS = 6


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def wheels_many(address, work, q, v, out):
    """Ground force, spring force, travel of the spring, slope of the road, power of the moving road, power
    taken by dampers (N, wheels, 6) for rows of q, v."""
    head = header_at(address)
    _, numbers = wheels_of(head)
    for s in range(q.shape[0]):
        if not (finite(q[s], head[NQ]) and finite(v[s], head[NV])):
            return NOT_FINITE + 8 * s
        move_planar(address, work, q[s], v[s])
        roll(address, work, q[s], v[s])
        for j in range(head[WHEELS]):
            own = work[head[WHEELS_AT] + WHEEL_ROWS * j :]
            x = numbers[WHEEL_SIZE * j : WHEEL_SIZE * (j + 1)]
            out[s, j, 0], out[s, j, 1] = own[GROUND_FORCE], own[SPRING_FORCE]
            out[s, j, 2], out[s, j, 3] = x[LENGTH] - own[SPRING_LENGTH], own[GRADE]
            out[s, j, 4] = own[GROUND_FORCE] * own[ROAD_RATE]
            out[s, j, 5] = x[DAMPING] * own[SPRING_RATE] ** 2 + x[TYRE_D] * own[TYRE_RATE] ** 2
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_T})", nogil=True)
def joint_forces_many(address, work, q, v, a, bodies, points, wrenches, out):
    """Force X, Y and moment about the joint (N, nodes, 3) of each node's parent on the node, world axes."""
    head = header_at(address)
    tau = vectors_of(head, work)[3]
    for s in range(q.shape[0]):
        inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches[s], tau)
        for k in range(1, head[NODES]):
            for i in range(3):
                out[s, k, i] = work[NODE_ROWS * k + FORCE + i]
    return OK


# ---- derivatives ----


@entry(f"int64(int64, complex128[::1], {_M}, {_M}, {_M}, {_WRENCHES}, {_T}, {_T})", nogil=True)
def inverse_dynamics_derivatives_many(address, work, q, v, a, bodies, points, wrenches, dq, dv):
    """Derivatives (N, nv, nv) of tau(q, v, a) with wrenches held, by q and by v, to machine precision."""
    head = header_at(address)
    nq, nv = head[NQ], head[NV]
    cq, cv, ca, tau = vectors_of(head, work)[:4]
    of_v = open_tree(address).q_of_v
    step = COMPLEX_STEP * 1j
    for s in range(q.shape[0]):
        if not (finite(q[s], nq) and finite(v[s], nv) and finite(a[s], nv)):
            return NOT_FINITE + 8 * s
        for i in range(nq):
            cq[i] = q[s, i]
        for i in range(nv):
            cv[i], ca[i] = v[s, i], a[s, i]
        for i in range(nv):
            cq[of_v[i]] = q[s, of_v[i]] + step
            inverse(address, work, cq, cv, ca, bodies, points, wrenches[s], tau)
            cq[of_v[i]] = q[s, of_v[i]]
            cv[i] = v[s, i] + step
            for j in range(nv):
                dq[s, j, i] = tau[j].imag / COMPLEX_STEP
            inverse(address, work, cq, cv, ca, bodies, points, wrenches[s], tau)
            cv[i] = v[s, i]
            for j in range(nv):
                dv[s, j, i] = tau[j].imag / COMPLEX_STEP
    return OK
