"""C functions of the verbs of a platform (numerics/verbs/head.py), and entries of its legs.

Efforts are the forces of the legs: M a + h = J^T tau + sum J^T w. Entries take the address of the header
(views.py) and work memory, and return status + 8 i with the index i of the first sample that is wrong, 0 if
none is.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import turn_quaternion
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.functions_of import dynamics, observers
from flexdyn_ros.numerics.verbs.head import BODIES, COUNT, HEAD_WORDS, POINTS, ROBOT, SIZE

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
from .views import carve_platform, open_platform

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"

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


# ---- dynamics ----


@kernel(forceinline=True)
def add_loads(model, q, bodies, points, wrenches, force):
    """force (6,) += sum J^T w of wrenches (k, 6) at points (k, 3) of bodies (k,)."""
    for i in range(bodies.shape[0]):
        p = points[i]
        load_of_wrench(model, q, bodies[i], p[0], p[1], p[2], wrenches[i], force)


@kernel(forceinline=True)
def load_of_frames(words, model, q, wrenches, force):
    """force (6,) = sum J^T w of wrenches (6 COUNT,) at the frames of a head."""
    k = words[COUNT]
    bodies, points = ints_at(words[BODIES], k), shaped(floats_at(words[POINTS], 3 * k), (k, 3))
    for i in range(6):
        force[i] = 0.0
    add_loads(model, q, bodies, points, shaped(wrenches, (k, 6)), force)


@callback(table.ready.signature)
def ready(head, work):
    """Nothing to make ready: work memory keeps nothing between calls."""
    return 0


@callback(table.load.signature)
def load(head, work, q, k, bodies, points, wrenches, force):
    """force (6,) += sum J^T w."""
    bodies, points = ints_at(bodies, k), shaped(floats_at(points, 3 * k), (k, 3))
    model = open_platform(ints_at(head, HEAD_WORDS)[ROBOT])
    wrenches = shaped(floats_at(wrenches, 6 * k), (k, 6))
    add_loads(model, floats_at(q, 7), bodies, points, wrenches, floats_at(force, 6))
    return 0


@callback(table.inverse.signature)
def inverse(head, work, q, v, a, tau):
    """tau of J^T tau = M a + h, NaN where the Jacobian is singular; SINGULAR where somebody must look at it
    first."""
    words = ints_at(head, HEAD_WORDS)
    model, data = open_platform(words[ROBOT]), carve_platform(floats_at(work, words[SIZE]))
    load = window(data.x, 18, 6)
    for i in range(6):
        load[i] = 0.0
    q, v, a, tau = floats_at(q, 7), floats_at(v, 6), floats_at(a, 6), floats_at(tau, 6)
    pivot = drive_forces(model, data, q, v, a, load, tau)
    for i in range(6):
        tau[i] = select(less(SINGULAR_PIVOT, pivot), tau[i], np.nan)
    return select(less(pivot, SUSPICIOUS_PIVOT), at.SINGULAR, at.OK)


@callback(table.forward.signature)
def forward(head, work, q, v, tau, wrenches, a):
    """a = M^-1 (J^T tau + sum J^T w - h)."""
    words = ints_at(head, HEAD_WORDS)
    model, data = open_platform(words[ROBOT]), carve_platform(floats_at(work, words[SIZE]))
    q, load = floats_at(q, 7), window(data.x, 18, 6)
    load_of_frames(words, model, q, floats_at(wrenches, 6 * words[COUNT]), load)
    pose_acceleration(model, data, q, floats_at(v, 6), floats_at(tau, 6), load, floats_at(a, 6))
    return at.OK


@kernel(forceinline=True)
def parts_of(words, floats):
    """q, v, accelerations or efforts, result and pivot of a block of lanes at the beginning of work memory;
    the loads of its wrenches, and work memory."""
    width = 6 * words[COUNT]
    block, data = lanes_of(floats), carve_platform(lanes_of(tail(floats, LANES * (27 + width))))
    q, load = window(block, 0, 7), window(data.x, 18, 6)
    load_of_frames(words, open_platform(words[ROBOT]), q, window(block, 26, width), load)
    six = window(block, 7, 6), window(block, 13, 6), window(block, 19, 6)
    return q, six[0], six[1], six[2], window(block, 26 + width, 1), load, data


@callback(table.LANES_SIGNATURE)
def inverse_on_lanes(head, work, numbers, is_first):
    """tau of J^T tau = M a + h - sum J^T w, and its pivot, of a block of lanes."""
    words = ints_at(head, HEAD_WORDS)
    q, v, a, tau, pivot, load, data = parts_of(words, floats_at(work, numbers))
    pivot[0] = drive_forces(open_platform(words[ROBOT]), data, q, v, a, load, tau)
    return at.OK


@callback(table.LANES_SIGNATURE)
def forward_on_lanes(head, work, numbers, is_first):
    """a = M^-1 (J^T tau + sum J^T w - h) of a block of lanes."""
    words = ints_at(head, HEAD_WORDS)
    q, v, tau, a, _, load, data = parts_of(words, floats_at(work, numbers))
    pose_acceleration(open_platform(words[ROBOT]), data, q, v, tau, load, a)
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
        leg_rows(model, q[s], shaped(J[s], (36,)), data.x)
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
    """out (6,) = M a + h - J^T tau - sum J^T w, tau (6,) or (0,), in the number type of the work arrays."""
    model, data = open_platform(address), carve_platform(work)
    W, load = window(data.x, 0, 6), window(data.x, 6, 6)
    required_wrench(model, q, v, a, 1.0, data.J, W)
    for i in range(6):
        load[i] = 0.0
    add_loads(model, q, bodies, points, wrenches, load)
    for i in range(6):
        s = W[i] - load[i]
        if tau.shape[0] > 0:
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
def prepare(address, work):
    """Nothing to make ready: work memory keeps nothing between calls."""


@kernel
def state_of_pose(address, q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    return status_of_pose(q)


@kernel
def mass(address, work, q, M):
    """M(q)."""
    inertia_matrix(open_platform(address), q, shaped(M, (36,)))


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
    data, B = carve_platform(floats_at(work, words[SIZE])), shaped(floats_at(out, 36), (6, 6))
    leg_rows(open_platform(words[ROBOT]), floats_at(q, 7), data.J, data.x)
    for i in range(6):
        for k in range(6):
            B[i, k] = data.J[6 * k + i]
    return 0


functions = {
    "bias": bias,
    "actuation": actuation,
    "ready": ready,
    "load": load,
    "inverse": inverse,
    "forward": forward,
    "inverse_on_lanes": inverse_on_lanes,
    "forward_on_lanes": forward_on_lanes,
    **observers(
        __name__,
        sizes=sizes,
        prepare=prepare,
        status_of_q=state_of_pose,
        mass=mass,
        terms=terms,
        energies=energies_of,
        momenta=momenta_of,
        frames=frames,
        jacobian=jacobian,
        displace=displace,
    ),
    **dynamics(__name__, prepare, displace, balance),
}
