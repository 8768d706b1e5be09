"""A rigid tree: its functions of the verbs in the table (numerics/verbs/table.py), and entries that move on
the configuration manifold.

All take the address of the header (see views.py).
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, displacement, move
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import entry, inlined, kernel
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.verbs.functions_of import functions_of
from flexdyn_ros.numerics.verbs.samples import finite

from .aba import articulated_body
from .crba import composite_body
from .kinematics import frame_pose, load_wrenches, place_in_world
from .momenta import moving_energies, moving_momenta
from .paths import path_jacobian, path_rate
from .resistance import add_joint_resistance, couple_motors
from .rnea import inward, newton_euler, outward
from .views import HEADER, N_FREE, NQ, NV, carve_data, open_tree, prepare

_M = "float64[:,::1]"


@kernel(forceinline=True)
def quaternions_are_unit(model, q):
    """True if the quaternion of every free and ball joint has unit length."""
    for b in range(1, model.nb):
        if FREE <= model.joint_type[b] <= BALL:
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


# ---- one sample, of numbers of any type ----


@kernel(forceinline=True)
def sizes(address):
    """nq, nv."""
    head = ints_at(address, HEADER)
    return head[NQ], head[NV]


@kernel(forceinline=True)
def opened(address, work):
    """The model and its work arrays."""
    model = open_tree(address)
    return model, carve_data(work, model.nb, model.nq, model.nv)


@kernel(forceinline=True)
def ready(address, work):
    """See `functions_of`."""
    model, data = opened(address, work)
    prepare(model, data, 1.0)


@kernel(forceinline=True)
def state_of_q(address, q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    return status_of_q(open_tree(address), q, ints_at(address, HEADER)[N_FREE])


@inlined
def inverse(address, work, q, v, a, tau):
    """tau = M a + h."""
    model, data = opened(address, work)
    newton_euler(model, data, q, v, a, tau)


@inlined
def forward(address, work, q, v, tau, a):
    """a = M^-1 (tau - h), for trees without mimic joints."""
    model, data = opened(address, work)
    for i in range(model.nv):
        data.tau[i] = tau[i]
    couple_motors(model, data, 0.0)
    articulated_body(model, data, q, v, data.tau, a)
    return at.OK


@inlined
def mass(address, work, q, M):
    """M(q)."""
    model, data = opened(address, work)
    composite_body(model, data, q, M)


@inlined
def terms(address, work, q, v, terms):
    """Parts (5, nv) of h: velocity, gravity, elastic, damping, external."""
    model, data = opened(address, work)
    data.a[:] = 0.0
    data.v[:] = 0.0
    prepare(model, data, 0.0)
    outward(model, data, q, v, data.a)
    inward(model, data, data.a, terms[0])
    prepare(model, data, 1.0)
    outward(model, data, q, data.v, data.a)
    inward(model, data, data.a, terms[1])
    terms[2:] = 0.0
    add_joint_resistance(model, q, data.v, 1.0, terms[2])
    add_joint_resistance(model, q, v, 1.0, terms[3])
    for i in range(model.nv):
        terms[3, i] -= terms[2, i]


@inlined
def frames(address, work, q, bodies, placements, poses):
    """Poses (k, 4, 4) of frames given by body and placement (k, 12)."""
    model, data = opened(address, work)
    last = 0
    for f in range(bodies.shape[0]):
        last = max(last, bodies[f])
    place_in_world(model, data, q, last + 1)
    for f in range(bodies.shape[0]):
        frame_pose(data, bodies[f], placements[f], poses[f])


@inlined
def jacobian(address, work, q, body, point, J):
    """J (6, nv) of a point (3,) of a body, world axes."""
    model, data = opened(address, work)
    path_jacobian(model, data, q, body, point, J)


@inlined
def rate(address, work, q, v, body, point, out):
    """dJ/dt v (6,) of a point (3,) of a body, world axes."""
    model, data = opened(address, work)
    path_rate(model, data, q, v, body, point, out)


@inlined
def energies_of(address, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    model, data = opened(address, work)
    moving_energies(model, data, q, v, out)


@inlined
def momenta_of(address, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (10,)."""
    model, data = opened(address, work)
    moving_momenta(model, data, q, v, out)


@inlined
def load(address, work, q, bodies, points, wrenches, force):
    """force += sum J^T w."""
    model, data = opened(address, work)
    load_wrenches(model, data, q, bodies, points, wrenches, force)


@kernel(forceinline=True)
def displace(address, q, r, out):
    """out = q (+) r."""
    move(open_tree(address), q, r, 1.0, out)


functions = functions_of(
    __name__,
    sizes=sizes,
    prepare=ready,
    status_of_q=state_of_q,
    inverse=inverse,
    forward=forward,
    mass=mass,
    terms=terms,
    energies=energies_of,
    momenta=momenta_of,
    frames=frames,
    jacobian=jacobian,
    rate=rate,
    load=load,
    displace=displace,
)


# ---- configuration manifold ----


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
