"""What Python may call for a platform: one entry per verb, for one sample or for many.

All take the address of the header (views.py). The `_one` entries use the robot's own work memory
and keep the GIL, the `_many` entries get work memory and release it, as those of
trees/rigid/kernels/entries.py do. They return status + 8 i with the index i of the first sample that is
wrong, 0 if none is. load (N, 6) holds external wrenches as generalized forces.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics import table
from flexdyn_ros.numerics.algebra.manifold import turn_quaternion
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES, element
from flexdyn_ros.numerics.verbs.functions_of import dynamics, observers
from flexdyn_ros.numerics.verbs.head import HEAD_WORDS, ROBOT, SIZE
from flexdyn_ros.numerics.verbs.samples import gather, scatter

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
from .views import carve_platform, open_platform, own_work

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_POINTS = f"int64[::1], {_M}, {_T}"

#: a system whose smallest pivot is below this part of the largest is looked at by its singular values
SUSPICIOUS_PIVOT = 1e-3
#: and one below this part has no answer, where nobody can look
SINGULAR_PIVOT = 1e-12


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
    load = window(data.x, 18, 6)
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
    load = window(data.x, 18, 6)
    for i in range(6):
        load[i] = 0.0
    pose_acceleration(open_platform(address), data, q, v, tau, load, a)
    if not is_finite6(a):
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


@kernel
def first_wrong(q, result):
    """Status of the first sample with a bad pose or a result that is not finite."""
    for s in range(q.shape[0]):
        status = status_of_pose(q[s])
        if status == at.OK and not is_finite6(result[s]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
    return at.OK


@kernel(forceinline=True)
def block_of(work):
    """A block of lanes for q, v, two more of six and a result of seven numbers; the rest of the memory."""
    return lanes_of(window(work, 0, 32 * LANES)), carve_platform(lanes_of(tail(work, 32 * LANES)))


@kernel(forceinline=True)
def parts_of(block):
    """Rows of a block of lanes: those of q, of three of six numbers, and of a result of six."""
    six = window(block, 7, 6), window(block, 13, 6), window(block, 19, 6), window(block, 25, 6)
    return window(block, 0, 7), six[0], six[1], six[2], six[3]


@kernel
def gather_all(block, first, q, v, x, load):
    """Rows of a block of lanes."""
    pose, moved, third, loads, _ = parts_of(block)
    gather(pose, q, first, 7)
    gather(moved, v, first, 6)
    gather(third, x, first, 6)
    gather(loads, load, first, 6)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_M}, {_V})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, load, tau, pivot):
    """tau of J^T tau = M a + h - load for rows; pivot (N,): nearness to a singular Jacobian."""
    model = open_platform(address)
    block, data = block_of(work)
    for first in range(0, q.shape[0], LANES):
        gather_all(block, first, q, v, a, load)
        pose, moved, asked, loads, found = parts_of(block)
        block[31] = drive_forces(model, data, pose, moved, asked, loads, found)
        scatter(found, tau, first, 6)
        for k in range(min(LANES, q.shape[0] - first)):
            pivot[first + k] = element(block[31], k)
    return first_wrong(q, tau)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, load, a):
    """a = M^-1 (J^T tau + load - h) for rows."""
    model = open_platform(address)
    block, data = block_of(work)
    for first in range(0, q.shape[0], LANES):
        gather_all(block, first, q, v, tau, load)
        pose, moved, forces, loads, found = parts_of(block)
        pose_acceleration(model, data, pose, moved, forces, loads, found)
        scatter(found, a, first, 6)
    return first_wrong(q, a)


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
def balance(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """out (6,) = M a + h - J^T tau - sum J^T w, in the number type of the work arrays."""
    model, data = open_platform(address), carve_platform(work)
    W, load = window(data.x, 0, 6), window(data.x, 6, 6)
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


@kernel
def displace(address, q, r, out):
    """out = q (+) r."""
    for i in range(3):
        out[i] = q[i] + r[3 + i]
    out[3], out[4], out[5], out[6] = turn_quaternion(q[3], q[4], q[5], q[6], r[0], r[1], r[2])


@kernel
def ready(address, work):
    """Nothing to make ready: work memory keeps nothing between calls."""


@kernel
def state_of_pose(address, q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    return status_of_pose(q)


@kernel
def mass(address, work, q, M):
    """M(q)."""
    inertia_matrix(open_platform(address), q, M.reshape(36))


@kernel
def inverse(address, work, q, v, a, tau):
    """tau of J^T tau = M a + h; NaN where the Jacobian is singular."""
    data = carve_platform(work)
    for i in range(6):
        data.x[18 + i] = 0.0
    pivot = drive_forces(open_platform(address), data, q, v, a, window(data.x, 18, 6), tau)
    for i in range(6):
        tau[i] = select(less(SINGULAR_PIVOT, pivot), tau[i], np.nan)


@kernel
def frames(address, work, q, bodies, placements, poses):
    """Poses (k, 4, 4) of frames given by body and placement (k, 12)."""
    for i in range(bodies.shape[0]):
        pose_of_frame(open_platform(address), q, bodies[i], placements[i], poses[i])


@kernel
def jacobian(address, work, q, body, point, J):
    """J (6, 6) of a point (3,) of a body, world axes."""
    jacobian_of_point(open_platform(address), q, body, point[0], point[1], point[2], J)


@kernel
def terms(address, work, q, v, terms):
    """Parts (5, 6) of h: velocity, gravity, elastic, damping, external."""
    model, data = open_platform(address), carve_platform(work)
    still = window(data.x, 0, 6)
    terms[:] = 0.0
    still[:] = 0.0
    required_wrench(model, q, v, still, 0.0, data.J, terms[0])
    required_wrench(model, q, still, still, 1.0, data.J, terms[1])


@kernel
def energies_of(address, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    energies(open_platform(address), carve_platform(work), q, v, out)


@kernel
def momenta_of(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (10,)."""
    add_momenta(open_platform(address), q, v, out)


@kernel
def sizes(address):
    """nq, nv."""
    return 7, 6


@callback(table.mass.signature)
def bias(head, work, q, v, out):
    """h (6,)."""
    words = ints_at(head, HEAD_WORDS)
    data = carve_platform(floats_at(work, words[SIZE]))
    data.x[0:6] = 0.0
    model = open_platform(words[ROBOT])
    still = window(data.x, 0, 6)
    required_wrench(model, floats_at(q, 7), floats_at(v, 6), still, 1.0, data.J, floats_at(out, 6))
    return 0


@callback(table.mass.signature)
def actuation(head, work, q, v, out):
    """B (6, 6), the leg Jacobian transposed."""
    words = ints_at(head, HEAD_WORDS)
    data, B = carve_platform(floats_at(work, words[SIZE])), floats_at(out, 36).reshape(6, 6)
    leg_rows(open_platform(words[ROBOT]), floats_at(q, 7), data.J, data.x)
    for i in range(6):
        for k in range(6):
            B[i, k] = data.J[6 * k + i]
    return 0


@callback(table.inverse.signature)
def inverse_of(head, work, q, v, a, tau):
    """See numerics/table.py."""
    words = ints_at(head, HEAD_WORDS)
    state = floats_at(q, 7), floats_at(v, 6), floats_at(a, 6)
    inverse(words[ROBOT], floats_at(work, words[SIZE]), state[0], state[1], state[2], floats_at(tau, 6))
    return 0


functions = {
    "inverse": inverse_of,
    "bias": bias,
    "actuation": actuation,
    **observers(
        __name__,
        sizes=sizes,
        prepare=ready,
        status_of_q=state_of_pose,
        mass=mass,
        terms=terms,
        energies=energies_of,
        momenta=momenta_of,
        frames=frames,
        jacobian=jacobian,
        displace=displace,
    ),
    **dynamics(__name__, ready, displace, balance),
}
#: single states
singles = {
    "inverse_dynamics": inverse_dynamics_one,
    "forward_dynamics": forward_dynamics_one,
    "mass_matrix": mass_matrix_one,
}
