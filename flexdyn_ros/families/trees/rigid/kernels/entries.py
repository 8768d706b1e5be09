"""What Python may call for a rigid tree: one entry per verb, for one sample or for many.

All take the address of the header (see views.py). The `_one` entries use the robot's own work memory
and keep the GIL, so that no two threads meet there; the `_many` entries get work memory of their own and
release it. They return status + 8 i with the index i of the first sample that is wrong, 0 if none is.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.algebra.manifold import FREE, displacement, move, perturb
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import LANES, entry, kernel
from flexdyn_ros.numerics.compiling.memory import ints_at

from .aba import aba, articulated_body
from .crba import composite_body, crba
from .joints import FAST
from .kinematics import (
    apply_wrenches,
    energies,
    frame_jacobian,
    frame_pose,
    momenta,
    move_in_body_axes,
    place_in_world,
)
from .resistance import add_joint_resistance
from .rnea import inward, newton_euler, outward, rnea
from .views import ALL_LANES, HEADER, N_FREE, ONE_LANE, WORK, carve_data, open_data, open_tree, prepare

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"


@kernel(forceinline=True)
def finite(x, n):
    """True if the first n numbers of x are neither NaN nor infinite."""
    s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


@kernel(forceinline=True)
def quaternions_are_unit(model, q):
    """True if the quaternion of every free joint has unit length."""
    for b in range(1, model.nb):
        if model.joint_type[b] == FREE:
            i = model.q_index[b] + 3
            square = q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]
            if not abs(square - 1.0) <= 2.0 * at.QUATERNION_TOLERANCE:
                return False
    return True


@kernel(forceinline=True)
def status_of_q(model, q, n_free):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    if not finite(q, model.nq):
        return at.NOT_FINITE
    if n_free > 0 and not quaternions_are_unit(model, q):
        return at.BAD_QUATERNION
    return at.OK


# ---- one sample, the fast way ----


@entry("int64(int64)")
def prepare_one(address):
    """Make the robot's own work memory ready for the `_one` entries."""
    model = open_tree(address)
    data = open_data(ints_at(address, HEADER)[WORK], model.nb, model.nq, model.nv, ONE_LANE)
    prepare(model, data, 1.0)
    return at.OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau = M a + h."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return at.BAD_SHAPE
    data = open_data(head[WORK], model.nb, model.nq, nv, ONE_LANE)
    newton_euler(model, data, q, v, a, tau)
    if not finite(tau, nv):
        return at.NOT_FINITE
    if head[N_FREE] > 0 and not quaternions_are_unit(model, q):
        return at.BAD_QUATERNION
    return at.OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (tau - h), for trees without mimic joints."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return at.BAD_SHAPE
    data = open_data(head[WORK], model.nb, model.nq, nv, ONE_LANE)
    for i in range(nv):
        data.tau[i] = tau[i]
    articulated_body(model, data, q, v, data.tau, a)
    if not finite(a, nv):
        return at.NOT_FINITE
    if head[N_FREE] > 0 and not quaternions_are_unit(model, q):
        return at.BAD_QUATERNION
    return at.OK


@entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or M.shape[0] != nv or M.shape[1] != nv:
        return at.BAD_SHAPE
    status = status_of_q(model, q, head[N_FREE])
    if status == at.OK:
        composite_body(model, open_data(head[WORK], model.nb, model.nq, nv, ONE_LANE), q, M)
    return status


# ---- many samples ----


@kernel
def gather(block, rows, first, n):
    """Copy samples first .. first + LANES - 1 (the last one repeated) of rows (N, n) into a lane block."""
    last = rows.shape[0] - 1
    for i in range(n):
        for k in range(LANES):
            block[i * LANES + k] = rows[min(first + k, last), i]


@kernel
def scatter(block, rows, first, n):
    """Copy a lane block into rows (N, n)."""
    for k in range(min(LANES, rows.shape[0] - first)):
        for i in range(n):
            rows[first + k, i] = block[i * LANES + k]


@kernel
def first_wrong(model, q, v, third, result, n_free):
    """Status of the first sample that is not finite or has a bad quaternion."""
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], n_free)
        if status == at.OK and not (
            finite(v[s], model.nv) and finite(third[s], model.nv) and finite(result[s], model.nv)
        ):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True, fastmath=FAST)
def inverse_dynamics_many(address, work, q, v, a, tau):
    """tau = M a + h for rows of q, v, a."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ALL_LANES)
    prepare(model, data, 1.0)
    for first in range(0, q.shape[0], LANES):
        gather(data.q, q, first, model.nq)
        gather(data.v, v, first, model.nv)
        gather(data.a, a, first, model.nv)
        newton_euler(model, data, data.q, data.v, data.a, data.tau)
        scatter(data.tau, tau, first, model.nv)
    return first_wrong(model, q, v, a, tau, head[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True, fastmath=FAST)
def forward_dynamics_many(address, work, q, v, tau, a):
    """a = M^-1 (tau - h) for rows of q, v, tau; trees without mimic joints."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ALL_LANES)
    prepare(model, data, 1.0)
    for first in range(0, q.shape[0], LANES):
        gather(data.q, q, first, model.nq)
        gather(data.v, v, first, model.nv)
        gather(data.tau, tau, first, model.nv)
        articulated_body(model, data, data.q, data.v, data.tau, data.a)
        scatter(data.a, a, first, model.nv)
    return first_wrong(model, q, v, tau, a, head[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def inverse_dynamics_loaded(address, work, q, v, a, bodies, offsets, wrenches, tau):
    """tau = M a + h - sum J^T w for rows of q, v, a, wrenches."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    prepare(model, data, 1.0)
    for s in range(q.shape[0]):
        apply_wrenches(model, data, q[s], bodies, offsets, wrenches[s])
        rnea(model, data, q[s], v[s], a[s], tau[s])
    return first_wrong(model, q, v, a, tau, head[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def forward_dynamics_loaded(address, work, q, v, tau, bodies, offsets, wrenches, a):
    """a = M^-1 (tau - h + sum J^T w) for rows of q, v, tau, wrenches; trees without mimic joints."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    prepare(model, data, 1.0)
    for s in range(q.shape[0]):
        apply_wrenches(model, data, q[s], bodies, offsets, wrenches[s])
        for i in range(model.nv):
            data.tau[i] = tau[s, i]
        aba(model, data, q[s], v[s], data.tau, a[s])
    return first_wrong(model, q, v, tau, a, head[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, boolean[::1], {_M}, {_WRENCHES})", nogil=True)
def partial_dynamics_many(address, work, M, q, v, tau, given, a, bodies, offsets, wrenches):
    """Motion with some accelerations given: solves M a + h - sum J^T w = tau for the others.

    given (nv,) marks coordinates whose a is an input; their tau is an output. M (nv, nv) is work space.
    """
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    data = carve_data(work, model.nb, model.nq, nv, ONE_LANE)
    prepare(model, data, 1.0)
    for s in range(q.shape[0]):
        status = solve_partially(
            model, data, M, q[s], v[s], tau[s], given, a[s], bodies, offsets, wrenches[s]
        )
        if status != at.OK:
            a[s, :] = np.nan
    return first_wrong(model, q, v, tau, a, head[N_FREE])


@kernel
def solve_partially(model, data, M, q, v, tau, given, a, bodies, offsets, wrenches):
    """`partial_dynamics_many` for one sample."""
    nv = model.nv
    if not finite(q, model.nq):
        return at.NOT_FINITE
    for i in range(nv):
        if not given[i]:
            a[i] = 0.0
    crba(model, data, q, M)
    apply_wrenches(model, data, q, bodies, offsets, wrenches)
    rnea(model, data, q, v, a, data.tau)
    # the free rows and columns of M move to the front
    n = 0
    for i in range(nv):
        if not given[i]:
            data.a[n] = tau[i] - data.tau[i]
            m = 0
            for j in range(i + 1):
                if not given[j]:
                    M[n, m] = M[i, j]
                    m += 1
            n += 1
    if not cholesky(M, n):
        return at.SINGULAR
    cholesky_solve(M, n, data.a)
    n = 0
    for i in range(nv):
        if not given[i]:
            a[i] = data.a[n]
            n += 1
    rnea(model, data, q, v, a, data.tau)
    for i in range(nv):
        if given[i]:
            tau[i] = data.tau[i]
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M(q) for rows of q."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    prepare(model, data, 1.0)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status != at.OK:
            return status + 8 * s
        crba(model, data, q[s], M[s])
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def bias_terms_many(address, work, q, v, terms):
    """Parts of h for rows of q, v: terms (N, 5, nv) = velocity, gravity, elastic, damping, external."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    data = carve_data(work, model.nb, model.nq, nv, ONE_LANE)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status == at.OK and not finite(v[s], nv):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        data.a[:] = 0.0
        data.v[:] = 0.0
        prepare(model, data, 0.0)
        outward(model, data, q[s], v[s], data.a)
        inward(model, data, data.a, terms[s, 0])
        prepare(model, data, 1.0)
        outward(model, data, q[s], data.v, data.a)
        inward(model, data, data.a, terms[s, 1])
        terms[s, 2:] = 0.0
        add_joint_resistance(model, data, q[s], data.v, 1.0, terms[s, 2])
        add_joint_resistance(model, data, q[s], v[s], 1.0, terms[s, 3])
        for i in range(nv):
            terms[s, 3, i] -= terms[s, 2, i]
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, int64[::1], {_M}, float64[:,:,:,::1])", nogil=True)
def frames_many(address, work, q, bodies, placements, poses):
    """Poses (N, k, 4, 4) of frames given by body and placement (k, 12) for rows of q."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status != at.OK:
            return status + 8 * s
        place_in_world(model, data, q[s])
        for f in range(bodies.shape[0]):
            frame_pose(data, bodies[f], placements[f], poses[s, f])
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, int64, {_V}, {_T})", nogil=True)
def jacobian_many(address, work, q, body, point, J):
    """Jacobians (N, 6, nv) of a point (3,) of a body, world axes, for rows of q."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status != at.OK:
            return status + 8 * s
        place_in_world(model, data, q[s])
        frame_jacobian(model, data, body, point, J[s])
    return at.OK


@kernel
def move_all(model, data, q, v):
    """Poses and velocities of all bodies."""
    prepare(model, data, 0.0)
    place_in_world(model, data, q)
    move_in_body_axes(model, data, v)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def energy_many(address, work, q, v, energy):
    """Kinetic, gravity and elastic energy (N, 3) for rows of q, v."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status == at.OK and not finite(v[s], model.nv):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        move_all(model, data, q[s], v[s])
        energies(model, data, q[s], v[s], energy[s])
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def momenta_many(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (N, 10) for rows of q, v."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status == at.OK and not finite(v[s], model.nv):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        move_all(model, data, q[s], v[s])
        momenta(model, data, out[s])
    return at.OK


# ---- configuration manifold and derivatives ----


@entry(f"int64(int64, {_M}, {_M}, float64, {_M})", nogil=True)
def integrate_many(address, q, v, dt, out):
    """q (+) dt v for rows of q, v."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status == at.OK and not finite(v[s], model.nv):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        move(model, q[s], v[s], dt, out[s])
    return at.OK


@entry(f"int64(int64, boolean[::1], {_M}, {_M}, {_M})", nogil=True)
def difference_many(address, wraps, q0, q1, out):
    """v with q0 (+) v = q1 for rows of q0, q1."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    for s in range(q0.shape[0]):
        status = max(status_of_q(model, q0[s], head[N_FREE]), status_of_q(model, q1[s], head[N_FREE]))
        if status != at.OK:
            return status + 8 * s
        displacement(model, wraps, q0[s], q1[s], out[s])
    return at.OK


#: step of the complex-step derivative (Squire & Trapp 1998); its square vanishes beside one
COMPLEX_STEP = 1e-40


@entry(f"int64(int64, complex128[::1], {_M}, {_M}, {_M}, {_WRENCHES}, {_T}, {_T})", nogil=True)
def inverse_dynamics_derivatives_many(address, work, q, v, a, bodies, offsets, wrenches, dq, dv):
    """Derivatives (N, nv, nv) of tau(q, v, a) with wrenches held, by q (tangent) and by v, to machine
    precision."""
    head = ints_at(address, HEADER)
    model = open_tree(address)
    nv = model.nv
    data = carve_data(work, model.nb, model.nq, nv, ONE_LANE)
    prepare(model, data, 1.0)
    step = COMPLEX_STEP * 1j
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[N_FREE])
        if status == at.OK and not (finite(v[s], nv) and finite(a[s], nv)):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        for i in range(nv):
            data.v[i] = v[s, i]
            data.a[i] = a[s, i]
        for i in range(nv):
            perturb(model, q[s], i, step, data.q)
            apply_wrenches(model, data, data.q, bodies, offsets, wrenches[s])
            rnea(model, data, data.q, data.v, data.a, data.tau)
            for j in range(nv):
                dq[s, j, i] = data.tau[j].imag / COMPLEX_STEP
        for i in range(model.nq):
            data.q[i] = q[s, i]
        apply_wrenches(model, data, data.q, bodies, offsets, wrenches[s])
        for i in range(nv):
            data.v[i] = v[s, i] + step
            rnea(model, data, data.q, data.v, data.a, data.tau)
            data.v[i] = v[s, i]
            for j in range(nv):
                dv[s, j, i] = data.tau[j].imag / COMPLEX_STEP
    return at.OK
