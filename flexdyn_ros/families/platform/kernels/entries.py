"""C functions of the verbs of a platform, a free body that six legs carry and nothing else drives
(trees/elements/kernels/standing.py), and entries of its legs.

Efforts are the forces of the legs: M a + h = J^T tau + sum J^T w. Links of legs are frames too, behind those
of the body. Entries take the address of the header (views.py) and work memory, and return status + 8 i with
the index i of the first sample that is wrong, 0 if none is.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.elements.kernels import standing
from flexdyn_ros.families.trees.elements.kernels.standing import (
    BURDEN,
    FIRST,
    HOLD,
    HOLD_ON_LANES,
    MANY,
    OWN_NUMBERS,
    RESIST,
    RESIST_ON_LANES,
    RESIST_ON_TANGENTS,
)
from flexdyn_ros.families.trees.elements.kernels.views import GROUPS, header_of
from flexdyn_ros.families.trees.rigid.kernels.aba import A_ROW, H_ROW, M_ROW, turned_inertia
from flexdyn_ros.families.trees.rigid.kernels.entries import (
    displace,
    ready,
    sizes,
    state_of_q,
)
from flexdyn_ros.multibody.elements.kernels import standing as legs
from flexdyn_ros.multibody.elements.kernels.standing_legs import rate_matrix, six, three
from flexdyn_ros.numerics.algebra.rotations import (
    cross,
    matrix_of_quaternion,
    store3,
    store6,
    store9,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import entry, inlined, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.numbers.memory import lanes_of
from flexdyn_ros.numerics.numbers.vectors import LANES
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.functions_of import dynamics, forwards_of, observers
from flexdyn_ros.numerics.verbs.head import BODIES, COUNT, HEAD_WORDS, POINTS, ROBOT, SIZE
from flexdyn_ros.numerics.verbs.samples import FAST, open_lanes, wrenches_on_lanes

from .kinematics import (
    first_moment,
    jacobian_of_point,
    leg_table,
    load_of_wrench,
    pose_of_frame,
    reaction_table,
)
from .lengths import leg_rows, solve_general
from .pose import find_pose
from .views import GRAVITY, INERTIA, LEGS, MASS, MOMENT, carve_platform, open_platform

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


@kernel
def prepare(address, work):
    """Nothing to make ready: the work memory of the tree is for forward dynamics alone."""


@kernel
def load(address, work, q, bodies, points, wrenches, force):
    """force (6,) += sum J^T w of wrenches (k, 6) at points (k, 3) of bodies (k,)."""
    model = open_platform(address)
    for i in range(bodies.shape[0]):
        p = points[i]
        load_of_wrench(model, q, bodies[i], p[0], p[1], p[2], wrenches[i], force)


@callback(table.load.signature)
def push(head, work, q, k, bodies, points, wrenches, force):
    """force (6,) += sum J^T w."""
    bodies, points = ints_at(bodies, k), shaped(floats_at(points, 3 * k), (k, 3))
    wrenches = shaped(floats_at(wrenches, 6 * k), (k, 6))
    load(
        ints_at(head, HEAD_WORDS)[ROBOT], work, floats_at(q, 7), bodies, points, wrenches, floats_at(force, 6)
    )
    return 0


@kernel(fastmath=FAST, forceinline=True)
def wrench_of_body(model, q, v, a, weight, body, W):
    """Write how the body moves, as its legs are told (multibody/elements/kernels/standing.py), and W (6,):
    moment about its origin and force that its own motion and weight take; world axes. weight: factor of
    gravity."""
    f = model.f
    R, g = matrix_of_quaternion(q[3], q[4], q[5], q[6]), three(f, GRAVITY)
    g = (weight * g[0], weight * g[1], weight * g[2])
    lx, ly, lz = a[3] - g[0], a[4] - g[1], a[5] - g[2]
    store9(body, legs.ROTATION, R)
    store3(body, legs.ORIGIN, q[0], q[1], q[2])
    store3(body, legs.VELOCITY, v[3], v[4], v[5])
    store3(body, legs.OMEGA, v[0], v[1], v[2])
    store3(body, legs.ALPHA, a[0], a[1], a[2])
    store3(body, legs.ACCELERATION, lx, ly, lz)
    store3(body, legs.GRAVITY, g[0], g[1], g[2])
    w, e = unturn(R, v[0], v[1], v[2]), unturn(R, a[0], a[1], a[2])
    I, c = six(f, INERTIA), three(f, MOMENT)
    L, d = symmetric(I, w[0], w[1], w[2]), symmetric(I, e[0], e[1], e[2])
    n = cross(w[0], w[1], w[2], L[0], L[1], L[2])
    l = unturn(R, lx, ly, lz)
    p = cross(c[0], c[1], c[2], l[0], l[1], l[2])
    u = turn(rate_matrix(w, e), c[0], c[1], c[2])
    m = f[MASS]
    mx, my, mz = turn(R, d[0] + n[0] + p[0], d[1] + n[1] + p[1], d[2] + n[2] + p[2])
    fx, fy, fz = turn(R, m * l[0] + u[0], m * l[1] + u[1], m * l[2] + u[2])
    store3(W, 0, mx, my, mz)
    store3(W, 3, fx, fy, fz)


@kernel(fastmath=FAST, forceinline=True)
def required_wrench(address, own, q, v, a, weight, W, resist):
    """W (6,) = M a + h less what efforts of the legs in work memory do, whose lines are kept there; resist:
    column of the C functions of legs for this number type."""
    head = header_of(address)
    given, _, lines, body, _, _, _ = standing.cut(head, own)
    wrench_of_body(open_platform(address), q, v, a, weight, body, W)
    for g in range(head[GROUPS]):
        group = standing.group_of(head, g)
        efforts, line = address_of(tail(given, group[FIRST])), address_of(tail(lines, 6 * group[FIRST]))
        arrays = address_of(body), efforts, address_of(W), line
        legs.call_resist(group[resist], (group[OWN_NUMBERS], group[MANY], *arrays))


@inlined
def balanced(address, work, q, v, a, tau, bodies, points, wrenches, out, resist):
    """out (6,) = M a + h - J^T tau - sum J^T w, tau (6,) or (0,)."""
    own = standing.own_of(header_of(address), work)
    for i in range(LEGS):
        own[i] = 0.0
    for i in range(tau.shape[0]):
        own[i] = tau[i]
    required_wrench(address, own, q, v, a, 1.0, out, resist)
    if bodies.shape[0] > 0:
        for i in range(6):
            out[i] = -out[i]
        load(address, work, q, bodies, points, wrenches, out)
        for i in range(6):
            out[i] = -out[i]


@kernel
def balance(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """`balanced` on float64 numbers."""
    balanced(address, work, q, v, a, tau, bodies, points, wrenches, out, RESIST)


@kernel
def balance_on_tangents(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """`balanced` on tangents."""
    balanced(address, work, q, v, a, tau, bodies, points, wrenches, out, RESIST_ON_TANGENTS)


@kernel(forceinline=True)
def leg_forces(address, own, W, tau):
    """tau (6,) of J^T tau = W (6,), after the balance, which kept the lines of the legs; returns how far the
    Jacobian is from singular, 0 is singular."""
    head = header_of(address)
    lines, data = standing.cut(head, own)[2], carve_platform(standing.spare_of(head, own))
    for i in range(6):
        for j in range(6):
            data.A[7 * i + j] = lines[6 * j + i]
        data.A[7 * i + 6] = W[i]
    return solve_general(data.A, tau)


@callback(table.inverse.signature)
def inverse(head, work, q, v, a, tau):
    """tau of J^T tau = M a + h, NaN where the Jacobian is singular; SINGULAR where somebody must look at it
    first."""
    words = ints_at(head, HEAD_WORDS)
    address, memory = words[ROBOT], floats_at(work, words[SIZE])
    found, own = floats_at(tau, 6), standing.own_of(header_of(address), memory)
    for i in range(LEGS):
        own[i] = 0.0
    required_wrench(address, own, floats_at(q, 7), floats_at(v, 6), floats_at(a, 6), 1.0, found, RESIST)
    pivot = leg_forces(address, own, found, found)
    for i in range(6):
        found[i] = select(less(SINGULAR_PIVOT, pivot), found[i], np.nan)
    return select(less(pivot, SUSPICIOUS_PIVOT), at.SINGULAR, at.OK)


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def inverse_on_lanes(head, work, numbers, is_first):
    """tau of J^T tau = M a + h - sum J^T w, and its pivot behind the wrenches, of a block of lanes."""
    words = ints_at(head, HEAD_WORDS)
    k, address = words[COUNT], words[ROBOT]
    q, v, a, found, memory = open_lanes(words, work, numbers)
    bodies, points = ints_at(words[BODIES], k), shaped(floats_at(words[POINTS], 3 * k), (k, 3))
    none, wrenches = window(q, 0, 0), wrenches_on_lanes(words, work)
    balanced(address, memory, q, v, a, none, bodies, points, wrenches, found, RESIST_ON_LANES)
    pivot = leg_forces(address, standing.own_of(header_of(address), memory), found, found)
    # where the work memory of a tree begins, which balances of platforms have no use for
    window(lanes_of(floats_at(work, LANES * (27 + 6 * k))), 26 + 6 * k, 1)[0] = pivot
    return at.OK


@inlined
def on_floats(address, work, q, v, tau, a):
    """Forward dynamics on float64 numbers."""
    return standing.held(address, work, q, v, tau, a, HOLD)


@inlined
def on_lanes(address, work, q, v, tau, a):
    """Forward dynamics on lanes."""
    return standing.held(address, work, q, v, tau, a, HOLD_ON_LANES)


@kernel
def inertia(address, work, q, M):
    """M (6, 6): what the body begins with and its legs add."""
    model = open_platform(address)
    head = header_of(address)
    own = standing.own_of(head, work)
    _, extra, _, body, _, _, gain = standing.cut(head, own)
    f, m = model.f, model.f[MASS]
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    store9(body, legs.ROTATION, R)
    store3(body, legs.ORIGIN, q[0], q[1], q[2])
    for i in range(LEGS):
        extra[i] = 0.0
    for i in range(3):
        body[legs.VELOCITY + i], body[legs.OMEGA + i] = 0.0, 0.0
    store6(gain, A_ROW, turned_inertia(R, six(f, INERTIA)))
    cx, cy, cz = turn(R, f[MOMENT], f[MOMENT + 1], f[MOMENT + 2])
    store3(gain, H_ROW, 0.0, -cz, cy)
    store3(gain, H_ROW + 3, cz, 0.0, -cx)
    store3(gain, H_ROW + 6, -cy, cx, 0.0)
    store6(gain, M_ROW, (m, 0.0, 0.0, m, 0.0, m))
    for g in range(head[GROUPS]):
        group = standing.group_of(head, g)
        arrays = address_of(body), address_of(tail(extra, group[FIRST])), 0.0, address_of(gain)
        legs.call_burden(group[BURDEN], (group[OWN_NUMBERS], group[MANY], *arrays))
    n = 0
    for i in range(3):
        for j in range(3):
            M[i, 3 + j] = gain[H_ROW + 3 * i + j]
            M[3 + j, i] = gain[H_ROW + 3 * i + j]
        for j in range(i, 3):
            M[i, j], M[j, i] = gain[A_ROW + n], gain[A_ROW + n]
            M[3 + i, 3 + j], M[3 + j, 3 + i] = gain[M_ROW + n], gain[M_ROW + n]
            n += 1


@kernel
def energies(address, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    header, model = header_of(address), open_platform(address)
    M = shaped(window(standing.spare_of(header, standing.own_of(header, work)), 0, 36), (6, 6))
    inertia(address, work, q, M)
    kinetic = 0.0
    for i in range(6):
        for j in range(6):
            kinetic += 0.5 * v[i] * M[i, j] * v[j]
    moment, g = first_moment(model, q), three(model.f, GRAVITY)
    out[0], out[1], out[2] = kinetic, -(g[0] * moment[0] + g[1] * moment[1] + g[2] * moment[2]), 0.0


@callback(table.mass.signature)
def bias(head, work, q, v, out):
    """h (6,)."""
    words = ints_at(head, HEAD_WORDS)
    address, memory = words[ROBOT], floats_at(work, words[SIZE])
    header = header_of(address)
    own = standing.own_of(header, memory)
    still = window(standing.spare_of(header, own), 0, 6)
    for i in range(LEGS):
        own[i], still[i] = 0.0, 0.0
    required_wrench(address, own, floats_at(q, 7), floats_at(v, 6), still, 1.0, floats_at(out, 6), RESIST)
    return 0


@kernel
def terms(address, work, q, v, terms):
    """Parts (5, 6) of h: velocity, gravity, elastic, damping, external."""
    header = header_of(address)
    own = standing.own_of(header, work)
    still = window(standing.spare_of(header, own), 0, 6)
    for i in range(LEGS):
        own[i], still[i] = 0.0, 0.0
    terms[2:] = 0.0
    required_wrench(address, own, q, v, still, 0.0, terms[0], RESIST)
    required_wrench(address, own, q, still, still, 1.0, terms[1], RESIST)


@callback(table.mass.signature)
def actuation(head, work, q, v, out):
    """B (6, 6), the leg Jacobian transposed."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    data = carve_platform(standing.spare_of(header, standing.own_of(header, floats_at(work, words[SIZE]))))
    B = shaped(floats_at(out, 36), (6, 6))
    leg_rows(open_platform(words[ROBOT]), floats_at(q, 7), data.J, data.x)
    for i in range(6):
        for k in range(6):
            B[i, k] = data.J[6 * k + i]
    return 0


# ---- frames, those of the legs too ----


@kernel
def frames(address, work, q, bodies, placements, poses):
    """Poses (k, 4, 4) of frames given by body and placement (k, 12)."""
    for i in range(bodies.shape[0]):
        pose_of_frame(open_platform(address), q, bodies[i], placements[i], poses[i])


@kernel
def jacobian(address, work, q, body, point, J):
    """J (6, 6) of a point (3,) of a body, world axes."""
    jacobian_of_point(open_platform(address), q, body, point[0], point[1], point[2], J)


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


#: in place of those of the tree
inner = forwards_of(__name__, ready, load, on_floats, on_lanes)
_OBSERVED = ("mass", "bias_terms", "energy", "frames", "jacobian", "jacobian_rate")
_observers = observers(
    __name__, sizes=sizes, prepare=prepare, status_of_q=state_of_q, mass=inertia, terms=terms,
    energies=energies, displace=displace, frames=frames, jacobian=jacobian,
)  # fmt: skip
functions = {
    "load": push,
    "balance": dynamics(__name__, prepare, displace, balance)["balance"],
    "slopes": dynamics(__name__, prepare, displace, balance_on_tangents)["slopes"],
    "inverse": inverse,
    "inverse_on_lanes": inverse_on_lanes,
    "bias": bias,
    "actuation": actuation,
    **{
        name: _observers[name]
        for name in ("mass", "bias_terms", "energy", "frames", "jacobian", "jacobian_rate")
    },
}
#: which of these call C functions of the legs
CALLERS = {"burden": frozenset(("mass", "energy")), "resist": frozenset(("inverse", "bias", "bias_terms"))}
