"""What Python may call for a platform: one entry per verb, for one sample or for many.

All take the address of the header (views.py). The `_one` entries use the robot's own work memory
and keep the GIL, the `_many` entries get work memory and release it, as those of
trees/rigid/kernels/entries.py do. They return status + 8 i with the index i of the first sample that is
wrong, 0 if none is. load (N, 6) holds external wrenches as generalized forces.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import turn_quaternion
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import entry, kernel

from .dynamics import drive_forces, inertia_matrix, leg_rows, pose_acceleration, required_wrench
from .kinematics import (
    add_momenta,
    energies,
    jacobian_of_point,
    leg_table,
    load_of_wrench,
    pose_of_frame,
    reaction_table,
)
from .pose import find_pose
from .views import WORK_NUMBERS, carve_platform, open_platform, own_work

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_POINTS = f"int64[::1], {_M}, {_T}"

#: a system whose smallest pivot is below this part of the largest is looked at by its singular values
SUSPICIOUS_PIVOT = 1e-3
#: step of the complex-step derivative (Squire & Trapp 1998); its square vanishes beside one
COMPLEX_STEP = 1e-40


@kernel(forceinline=True)
def status_of_pose(q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    s = 0.0
    for i in range(7):
        s += q[i] - q[i]
    if s != 0.0:
        return at.NOT_FINITE
    square = q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]
    return at.OK if abs(square - 1.0) <= 2.0 * at.QUATERNION_TOLERANCE else at.BAD_QUATERNION


@kernel(forceinline=True)
def is_finite6(x):
    """True if the six numbers of x are neither NaN nor infinite."""
    s = 0.0
    for i in range(6):
        s += x[i] - x[i]
    return s == 0.0


@kernel(forceinline=True)
def fits(q, v, x, y):
    """True if q has 7 and v, x, y have 6 numbers."""
    return q.shape[0] == 7 and v.shape[0] == 6 and x.shape[0] == 6 and y.shape[0] == 6


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau of J^T tau = M a + h."""
    if not fits(q, v, a, tau):
        return at.BAD_SHAPE
    data = own_work(address)
    load = data.x[18:24]
    for i in range(6):
        load[i] = 0.0
    pivot = drive_forces(open_platform(address), data, q, v, a, load, tau)
    if not is_finite6(tau):
        return at.NOT_FINITE
    if pivot < SUSPICIOUS_PIVOT:
        return at.SINGULAR
    return status_of_pose(q)


@entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a = M^-1 (J^T tau - h)."""
    if not fits(q, v, tau, a):
        return at.BAD_SHAPE
    data = own_work(address)
    load = data.x[18:24]
    for i in range(6):
        load[i] = 0.0
    good = pose_acceleration(open_platform(address), data, q, v, tau, load, a)
    if not (good and is_finite6(a)):
        return at.NOT_FINITE
    return status_of_pose(q)


@entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    if q.shape[0] != 7 or M.shape[0] != 6 or M.shape[1] != 6:
        return at.BAD_SHAPE
    status = status_of_pose(q)
    if status == at.OK:
        inertia_matrix(open_platform(address), q, M.reshape(36))
    return status


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_M}, {_V})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, load, tau, pivot):
    """tau of J^T tau = M a + h - load for rows; pivot (N,): nearness to a singular Jacobian."""
    model, data = open_platform(address), carve_platform(work)
    first = at.OK
    for s in range(q.shape[0]):
        pivot[s] = drive_forces(model, data, q[s], v[s], a[s], load[s], tau[s])
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(tau[s]):
            status = at.NOT_FINITE
        if first == at.OK and status != at.OK:
            first = status + 8 * s
    return first


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, load, a):
    """a = M^-1 (J^T tau + load - h) for rows."""
    model, data = open_platform(address), carve_platform(work)
    first = at.OK
    for s in range(q.shape[0]):
        good = pose_acceleration(model, data, q[s], v[s], tau[s], load[s], a[s])
        status = status_of_pose(q[s])
        if not good:
            a[s, :] = np.nan
        if status == at.OK and not is_finite6(a[s]):
            status = at.NOT_FINITE
        if first == at.OK and status != at.OK:
            first = status + 8 * s
    return first


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M(q) for rows of q."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status != at.OK:
            return status + 8 * s
        inertia_matrix(model, q[s], M[s].reshape(36))
    return at.OK


@entry(f"int64(int64, {_V}, float64, {_M}, {_M}, {_M}, {_M})", nogil=True)
def required_wrench_many(address, work, weight, q, v, a, W):
    """W (N, 6) = M a + velocity products + weight times gravity's part, for rows."""
    model, data = open_platform(address), carve_platform(work)
    for s in range(q.shape[0]):
        required_wrench(model, q[s], v[s], a[s], weight, data.J, W[s])
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(W[s]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def energy_many(address, work, q, v, energy):
    """Kinetic, gravity and elastic energy (N, 3) for rows of q, v."""
    model, data = open_platform(address), carve_platform(work)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(v[s]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        energies(model, data, q[s], v[s], energy[s])
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M})", nogil=True)
def momenta_many(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (N, 10) for rows of q, v."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(v[s]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        add_momenta(model, q[s], v[s], out[s])
    return at.OK


# ---- legs and frames ----


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def leg_jacobian_many(address, work, q, J):
    """Leg Jacobians (N, 6, 6) for rows of q."""
    model, data = open_platform(address), carve_platform(work)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status != at.OK:
            return status + 8 * s
        leg_rows(model, q[s], J[s].reshape(36), data.x)
    return at.OK


@entry(f"int64(int64, {_M}, {_M}, {_M}, {_T})", nogil=True)
def legs_many(address, q, v, a, table):
    """Motions of the legs (N, 6, MOTION_COLUMNS) for rows of q, v, a."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not (is_finite6(v[s]) and is_finite6(a[s])):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        leg_table(model, q[s], v[s], a[s], table[s])
    return at.OK


@entry(f"int64(int64, {_M}, {_M}, {_M}, {_M}, {_T})", nogil=True)
def reactions_many(address, q, v, a, tau, table):
    """Reactions in the legs' joints (N, 6, REACTION_COLUMNS) for rows of q, v, a, tau."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        reaction_table(model, q[s], v[s], a[s], tau[s], table[s])
    return at.OK


@entry(f"int64(int64, {_M}, int64[::1], {_M}, float64[:,:,:,::1])", nogil=True)
def frames_many(address, q, bodies, placements, poses):
    """Poses (N, k, 4, 4) of frames given by body and placement (k, 12) for rows of q."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status != at.OK:
            return status + 8 * s
        for i in range(bodies.shape[0]):
            pose_of_frame(model, q[s], bodies[i], placements[i], poses[s, i])
    return at.OK


@entry(f"int64(int64, {_M}, int64, {_V}, {_T})", nogil=True)
def jacobian_many(address, q, body, point, J):
    """Jacobians (N, 6, 6) of a point (3,) of a body, world axes, for rows of q."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status != at.OK:
            return status + 8 * s
        jacobian_of_point(model, q[s], body, point[0], point[1], point[2], J[s])
    return at.OK


@entry(f"int64(int64, {_M}, {_POINTS}, {_M})", nogil=True)
def load_many(address, q, bodies, points, wrenches, load):
    """load (N, 6) = sum J^T w of wrenches (N, k, 6) at points (k, 3) of bodies (k,)."""
    model = open_platform(address)
    for s in range(q.shape[0]):
        load[s, :] = 0.0
        for i in range(bodies.shape[0]):
            p = points[i]
            load_of_wrench(model, q[s], bodies[i], p[0], p[1], p[2], wrenches[s, i], load[s])
    return at.OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, int64[::1], {_V})", nogil=True)
def find_pose_many(address, work, lengths, q, iterations, residual):
    """Move the poses q (N, 7) to those with the lengths (N, 6)."""
    model, data = open_platform(address), carve_platform(work)
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(lengths[s]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        iterations[s], residual[s] = find_pose(model, data, lengths[s], q[s])
    return at.OK


# ---- derivatives ----


@kernel
def balance(model, data, q, v, a, tau, bodies, points, wrenches, out):
    """out (6,) = M a + h - J^T tau - sum J^T w, in the number type of the work arrays."""
    W, load = data.x[0:6], data.x[6:12]
    required_wrench(model, q, v, a, 1.0, data.J, W)
    for i in range(6):
        load[i] = 0.0
    for i in range(bodies.shape[0]):
        p = points[i]
        load_of_wrench(model, q, bodies[i], p[0], p[1], p[2], wrenches[i], load)
    for i in range(6):
        s = W[i] - load[i]
        for k in range(6):
            s -= data.J[6 * k + i] * tau[k]
        out[i] = s


@entry(f"int64(int64, complex128[::1], {_M}, {_M}, {_M}, {_M}, {_POINTS}, {_T}, {_T})", nogil=True)
def balance_derivatives_many(address, work, q, v, a, tau, bodies, points, wrenches, dq, dv):
    """Derivatives (N, 6, 6) of M a + h - J^T tau - sum J^T w with a, tau, w held, by q (tangent) and v."""
    model, data = open_platform(address), carve_platform(work)
    x = work[WORK_NUMBERS:]
    qc, vc, ac, out = x[0:7], x[7:13], x[13:19], x[19:25]
    step = COMPLEX_STEP * 1j
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not (is_finite6(v[s]) and is_finite6(a[s]) and is_finite6(tau[s])):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
        for i in range(6):
            vc[i], ac[i] = v[s, i], a[s, i]
        for i in range(6):
            perturb_pose(q[s], i, step, qc)
            balance(model, data, qc, vc, ac, tau[s], bodies, points, wrenches[s], out)
            for j in range(6):
                dq[s, j, i] = out[j].imag / COMPLEX_STEP
        for i in range(7):
            qc[i] = q[s, i]
        for i in range(6):
            vc[i] = v[s, i] + step
            balance(model, data, qc, vc, ac, tau[s], bodies, points, wrenches[s], out)
            vc[i] = v[s, i]
            for j in range(6):
                dv[s, j, i] = out[j].imag / COMPLEX_STEP
    return at.OK


@kernel
def perturb_pose(q, i, step, out):
    """out = q (+) step e_i, for a complex step too."""
    for k in range(7):
        out[k] = q[k]
    if i >= 3:
        out[i - 3] = out[i - 3] + step
        return
    zero = 0.0 * step
    x, y, z, w = turn_quaternion(
        q[3], q[4], q[5], q[6], step if i == 0 else zero, step if i == 1 else zero, step if i == 2 else zero
    )
    out[3], out[4], out[5], out[6] = x, y, z, w
