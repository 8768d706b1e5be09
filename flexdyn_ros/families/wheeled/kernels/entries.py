"""What Python may call for a wheeled robot on a planar base by floating frames: its dynamics.

The entries have the names and arguments of trees/flexible/kernels/entries.py; positions of frames, momenta
and the configuration space are those of the general tree, whose entries take the same address. Work memory is
one flat array (word SIZE of the header) of float64, of complex128 for derivatives. Status codes as in
trees/rigid/kernels/entries.py; an effort on a prescribed coordinate is answered by GIVEN_EFFORT.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.entries import COMPLEX_STEP, finite, first_wrong
from flexdyn_ros.families.trees.rigid.kernels.views import ARMATURE, DOF_NUMBERS, NQ, NV, open_tree
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.status import BAD_SHAPE, NOT_FINITE, OK

from . import views as at
from .chain import balance, move_planar, weigh_all
from .dynamics import (
    energies,
    forget_inertia,
    forward,
    inertial,
    inverse,
    mass_columns,
    no_wrenches,
    plain_forward,
    resist,
    resist_in_beams,
)
from .views import dof_of, header_at, vectors_of, wheels_of
from .wheels import apply_wheel_forces, load_hubs, taken_by, update_wheels

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"


@kernel(forceinline=True)
def own_work(address):
    """The robot's own work memory."""
    head = header_at(address)
    return floats_at(head[at.OWN_WORK], head[at.SIZE])


# ---- one sample, the fast way ----


@entry("int64(int64)")
def prepare_one(address):
    """Nothing to make ready: work memory keeps nothing between calls."""
    return OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau = M a + h."""
    head = header_at(address)
    nv = head[NV]
    if q.shape[0] != head[NQ] or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    bodies, points, wrenches = no_wrenches()
    inverse(address, own_work(address), q, v, a, bodies, points, wrenches, tau)
    return OK if finite(tau, nv) else NOT_FINITE


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (tau - h), of the prescribed coordinate 0."""
    head = header_at(address)
    nv = head[NV]
    if q.shape[0] != head[NQ] or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    bodies, points, wrenches = no_wrenches()
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
    bodies, points, wrenches = no_wrenches()
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
    bodies, points, wrenches = no_wrenches()
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
        apply_wheel_forces(address, work, 1.0)
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
    table, numbers = wheels_of(head)
    for s in range(q.shape[0]):
        if not (finite(q[s], head[NQ]) and finite(v[s], head[NV])):
            return NOT_FINITE + 8 * s
        move_planar(address, work, q[s], v[s])
        update_wheels(address, work, q[s], v[s])
        for j in range(head[at.WHEELS]):
            own = work[head[at.WHEELS_AT] + at.WHEEL_ROWS * j :]
            x = numbers[at.WHEEL_SIZE * j : at.WHEEL_SIZE * (j + 1)]
            out[s, j, 0], out[s, j, 1] = own[at.GROUND_FORCE], own[at.SPRING_FORCE]
            out[s, j, 2], out[s, j, 3] = x[at.LENGTH] - own[at.SPRING_LENGTH], own[at.GRADE]
            out[s, j, 4] = own[at.GROUND_FORCE] * own[at.ROAD_RATE]
            row = table[at.WHEEL_COLUMNS * j : at.WHEEL_COLUMNS * (j + 1)]
            out[s, j, 5] = taken_by(row, x, own, own[at.SPRING_RATE], own[at.TYRE_RATE])
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_T})", nogil=True)
def joint_forces_many(address, work, q, v, a, bodies, points, wrenches, out):
    """Force X, Y and moment about the joint (N, nodes, 3) of each node's parent on the node, world axes."""
    head = header_at(address)
    tau = vectors_of(head, work)[3]
    for s in range(q.shape[0]):
        inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches[s], tau)
        for k in range(1, head[at.NODES]):
            for i in range(3):
                out[s, k, i] = work[at.NODE_ROWS * k + at.FORCE + i]
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
