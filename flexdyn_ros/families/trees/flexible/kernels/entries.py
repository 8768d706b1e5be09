"""What Python may call for a tree with flexible links: the entries of rigid/kernels/entries.py under the same
names.

Work memory is one flat array (flexible_work_size numbers) of float64, of complex128 for derivatives; the
`_one` entries use the robot's own. Status codes as in rigid/kernels/entries.py.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels.entries import (
    COMPLEX_STEP,
    difference_many,
    finite,
    first_wrong,
    integrate_many,
    quaternions_are_unit,
    status_of_q,
)
from flexdyn_ros.families.trees.rigid.kernels.kinematics import frame_pose
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_joint_resistance
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER, N_FREE, ONE_LANE, open_tree, prepare
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.algebra.manifold import perturb
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.compiling.status import BAD_QUATERNION, BAD_SHAPE, NOT_FINITE, OK, SINGULAR

from .aba import flexible_articulated_body
from .crba import flexible_composite_body
from .kinematics import (
    flexible_energies,
    flexible_jacobian,
    flexible_momenta,
    load_flexible,
    move_flexible,
    place_flexible,
)
from .nodes import add_modal_resistance
from .rnea import flexible_inertial_forces, flexible_newton_euler
from .views import carve_flexible, open_flexible, open_flexible_work

__all__ = ["difference_many", "integrate_many"]

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"


@kernel
def prepare_flexible(address, work, gravity_scale):
    """Make work arrays ready: the world accelerating against gravity, no external forces, armature as
    diagonal."""
    tree = open_flexible(address).tree
    prepare(tree, carve_flexible(work, tree.nb, tree.nq, tree.nv, ONE_LANE).tree, gravity_scale)


# ---- one sample, the fast way ----


@entry("int64(int64)")
def prepare_one(address):
    """Make the robot's own work memory ready for the `_one` entries."""
    prepare_flexible(address, open_flexible_work(address), 1.0)
    return OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau = M a + h."""
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    flexible_newton_euler(address, open_flexible_work(address), q, v, a, tau)
    if not finite(tau, nv):
        return NOT_FINITE
    if ints_at(address, HEADER)[N_FREE] > 0 and not quaternions_are_unit(model, q):
        return BAD_QUATERNION
    return OK


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (tau - h), for trees without mimic joints."""
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or v.shape[0] != nv or a.shape[0] != nv or tau.shape[0] != nv:
        return BAD_SHAPE
    work = open_flexible_work(address)
    data = carve_flexible(work, model.nb, model.nq, nv, ONE_LANE).tree
    for i in range(nv):
        data.tau[i] = tau[i]
    flexible_articulated_body(address, work, q, v, data.tau, a, 0.0, 0.0)
    if not finite(a, nv):
        return NOT_FINITE
    if ints_at(address, HEADER)[N_FREE] > 0 and not quaternions_are_unit(model, q):
        return BAD_QUATERNION
    return OK


@entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    model = open_tree(address)
    nv = model.nv
    if q.shape[0] != model.nq or M.shape[0] != nv or M.shape[1] != nv:
        return BAD_SHAPE
    status = status_of_q(model, q, ints_at(address, HEADER)[N_FREE])
    if status == OK:
        flexible_composite_body(address, open_flexible_work(address), q, M)
    return status


# ---- many samples ----


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, tau):
    """tau = M a + h for rows of q, v, a."""
    prepare_flexible(address, work, 1.0)
    for s in range(q.shape[0]):
        flexible_newton_euler(address, work, q[s], v[s], a[s], tau[s])
    return first_wrong(open_tree(address), q, v, a, tau, ints_at(address, HEADER)[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, a):
    """a = M^-1 (tau - h) for rows of q, v, tau; trees without mimic joints."""
    prepare_flexible(address, work, 1.0)
    model = open_tree(address)
    data = carve_flexible(work, model.nb, model.nq, model.nv, ONE_LANE).tree
    for s in range(q.shape[0]):
        for i in range(model.nv):
            data.tau[i] = tau[s, i]
        flexible_articulated_body(address, work, q[s], v[s], data.tau, a[s], 0.0, 0.0)
    return first_wrong(model, q, v, tau, a, ints_at(address, HEADER)[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def inverse_dynamics_loaded(address, work, q, v, a, bodies, offsets, wrenches, tau):
    """tau = M a + h - sum J^T w for rows of q, v, a, wrenches."""
    prepare_flexible(address, work, 1.0)
    for s in range(q.shape[0]):
        load_flexible(address, work, q[s], bodies, offsets, wrenches[s])
        flexible_newton_euler(address, work, q[s], v[s], a[s], tau[s])
    return first_wrong(open_tree(address), q, v, a, tau, ints_at(address, HEADER)[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_M})", nogil=True)
def forward_dynamics_loaded(address, work, q, v, tau, bodies, offsets, wrenches, a):
    """a = M^-1 (tau - h + sum J^T w) for rows of q, v, tau, wrenches; trees without mimic joints."""
    prepare_flexible(address, work, 1.0)
    model = open_tree(address)
    data = carve_flexible(work, model.nb, model.nq, model.nv, ONE_LANE).tree
    for s in range(q.shape[0]):
        load_flexible(address, work, q[s], bodies, offsets, wrenches[s])
        for i in range(model.nv):
            data.tau[i] = tau[s, i]
        flexible_articulated_body(address, work, q[s], v[s], data.tau, a[s], 0.0, 0.0)
    return first_wrong(model, q, v, tau, a, ints_at(address, HEADER)[N_FREE])


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, boolean[::1], {_M}, {_WRENCHES})", nogil=True)
def partial_dynamics_many(address, work, M, q, v, tau, given, a, bodies, offsets, wrenches):
    """Motion with some accelerations given: solves M a + h - sum J^T w = tau for the others.

    given (nv,) marks coordinates whose a is an input; their tau is an output. M (nv, nv) is work space.
    """
    prepare_flexible(address, work, 1.0)
    for s in range(q.shape[0]):
        status = solve_partially(
            address, work, M, q[s], v[s], tau[s], given, a[s], bodies, offsets, wrenches[s]
        )
        if status != OK:
            a[s, :] = np.nan
    return first_wrong(open_tree(address), q, v, tau, a, ints_at(address, HEADER)[N_FREE])


@kernel
def solve_partially(address, work, M, q, v, tau, given, a, bodies, offsets, wrenches):
    """`partial_dynamics_many` for one sample."""
    model = open_tree(address)
    nv = model.nv
    data = carve_flexible(work, model.nb, model.nq, nv, ONE_LANE).tree
    if not finite(q, model.nq):
        return NOT_FINITE
    for i in range(nv):
        if not given[i]:
            a[i] = 0.0
    flexible_composite_body(address, work, q, M)
    load_flexible(address, work, q, bodies, offsets, wrenches)
    flexible_newton_euler(address, work, q, v, a, data.tau)
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
        return SINGULAR
    cholesky_solve(M, n, data.a)
    n = 0
    for i in range(nv):
        if not given[i]:
            a[i] = data.a[n]
            n += 1
    flexible_newton_euler(address, work, q, v, a, data.tau)
    for i in range(nv):
        if given[i]:
            tau[i] = data.tau[i]
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M(q) for rows of q."""
    prepare_flexible(address, work, 1.0)
    for s in range(q.shape[0]):
        status = status_of_q(open_tree(address), q[s], ints_at(address, HEADER)[N_FREE])
        if status != OK:
            return status + 8 * s
        flexible_composite_body(address, work, q[s], M[s])
    return OK


@kernel
def status_of_state(address, q, v):
    """OK, NOT_FINITE or BAD_QUATERNION of a state."""
    model = open_tree(address)
    status = status_of_q(model, q, ints_at(address, HEADER)[N_FREE])
    if status == OK and not finite(v, model.nv):
        return NOT_FINITE
    return status


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def bias_terms_many(address, work, q, v, terms):
    """Parts of h for rows of q, v: terms (N, 5, nv) = velocity, gravity, elastic, damping, external."""
    model = open_flexible(address)
    tree = model.tree
    data = carve_flexible(work, tree.nb, tree.nq, tree.nv, ONE_LANE).tree
    for s in range(q.shape[0]):
        status = status_of_state(address, q[s], v[s])
        if status != OK:
            return status + 8 * s
        data.a[:] = 0.0
        data.v[:] = 0.0
        prepare_flexible(address, work, 0.0)
        flexible_inertial_forces(address, work, q[s], v[s], data.a, terms[s, 0])
        prepare_flexible(address, work, 1.0)
        flexible_inertial_forces(address, work, q[s], data.v, data.a, terms[s, 1])
        terms[s, 2:] = 0.0
        add_joint_resistance(tree, data, q[s], data.v, 1.0, terms[s, 2])
        add_modal_resistance(model, q[s], data.v, 1.0, terms[s, 2])
        add_joint_resistance(tree, data, q[s], v[s], 1.0, terms[s, 3])
        add_modal_resistance(model, q[s], v[s], 1.0, terms[s, 3])
        for i in range(tree.nv):
            terms[s, 3, i] -= terms[s, 2, i]
    return OK


@entry(f"int64(int64, {_V}, {_M}, int64[::1], {_M}, float64[:,:,:,::1])", nogil=True)
def frames_many(address, work, q, bodies, placements, poses):
    """Poses (N, k, 4, 4) of frames given by node and placement (k, 12) for rows of q."""
    model = open_tree(address)
    data = carve_flexible(work, model.nb, model.nq, model.nv, ONE_LANE).tree
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], ints_at(address, HEADER)[N_FREE])
        if status != OK:
            return status + 8 * s
        place_flexible(address, work, q[s])
        for f in range(bodies.shape[0]):
            frame_pose(data, bodies[f], placements[f], poses[s, f])
    return OK


@entry(f"int64(int64, {_V}, {_M}, int64, {_V}, {_T})", nogil=True)
def jacobian_many(address, work, q, body, point, J):
    """Jacobians (N, 6, nv) of a point (3,) of a node, world axes, for rows of q."""
    for s in range(q.shape[0]):
        status = status_of_q(open_tree(address), q[s], ints_at(address, HEADER)[N_FREE])
        if status != OK:
            return status + 8 * s
        place_flexible(address, work, q[s])
        flexible_jacobian(address, work, body, point, J[s])
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def energy_many(address, work, q, v, energy):
    """Kinetic, gravity and elastic energy (N, 3) for rows of q, v."""
    prepare_flexible(address, work, 0.0)
    for s in range(q.shape[0]):
        status = status_of_state(address, q[s], v[s])
        if status != OK:
            return status + 8 * s
        place_flexible(address, work, q[s])
        move_flexible(address, work, q[s], v[s])
        flexible_energies(address, work, q[s], v[s], energy[s])
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def momenta_many(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (N, 10) for rows of q, v."""
    prepare_flexible(address, work, 0.0)
    for s in range(q.shape[0]):
        status = status_of_state(address, q[s], v[s])
        if status != OK:
            return status + 8 * s
        place_flexible(address, work, q[s])
        move_flexible(address, work, q[s], v[s])
        flexible_momenta(address, work, v[s], out[s])
    return OK


# ---- derivatives ----


@entry(f"int64(int64, complex128[::1], {_M}, {_M}, {_M}, {_WRENCHES}, {_T}, {_T})", nogil=True)
def inverse_dynamics_derivatives_many(address, work, q, v, a, bodies, offsets, wrenches, dq, dv):
    """Derivatives (N, nv, nv) of tau(q, v, a) with wrenches held, by q (tangent) and by v, to machine
    precision."""
    model = open_tree(address)
    nv = model.nv
    data = carve_flexible(work, model.nb, model.nq, nv, ONE_LANE).tree
    prepare_flexible(address, work, 1.0)
    step = COMPLEX_STEP * 1j
    for s in range(q.shape[0]):
        status = status_of_state(address, q[s], v[s])
        if status == OK and not finite(a[s], nv):
            status = NOT_FINITE
        if status != OK:
            return status + 8 * s
        for i in range(nv):
            data.v[i] = v[s, i]
            data.a[i] = a[s, i]
        for i in range(nv):
            perturb(model, q[s], i, step, data.q)
            load_flexible(address, work, data.q, bodies, offsets, wrenches[s])
            flexible_newton_euler(address, work, data.q, data.v, data.a, data.tau)
            for j in range(nv):
                dq[s, j, i] = data.tau[j].imag / COMPLEX_STEP
        for i in range(model.nq):
            data.q[i] = q[s, i]
        load_flexible(address, work, data.q, bodies, offsets, wrenches[s])
        for i in range(nv):
            data.v[i] = v[s, i] + step
            flexible_newton_euler(address, work, data.q, data.v, data.a, data.tau)
            data.v[i] = v[s, i]
            for j in range(nv):
                dv[s, j, i] = data.tau[j].imag / COMPLEX_STEP
    return OK
