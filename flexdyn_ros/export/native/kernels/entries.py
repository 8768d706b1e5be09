"""What Python may call of a robot that the C compiler compiled: the dynamics, for one sample or for many.

All take the address of HEADER words. They return as those of numerics/verbs/entries.py do.
"""

from __future__ import annotations

from types import SimpleNamespace

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import address_of, caller
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.direct import direct_entry
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.verbs.samples import finite

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"

#: words: addresses of the C functions for one sample and for rows, sizes, work memory of the calls that keep
#: the GIL, and of the indices in q at which quaternions begin
HEADER = 10
INVERSE, FORWARD, MASS, INVERSE_ROWS, FORWARD_ROWS, NQ, NV, WORK, FREE, QUATERNIONS = range(HEADER)

_call_dynamics = caller("int32(int64, int64, int64, int64, int64, int64)")
_call_mass = caller("int32(int64, int64, int64, int64)")


@kernel(forceinline=True)
def status_of_q(head, q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    s = 0.0
    for i in range(head[NQ]):
        s += q[i] - q[i]
    if s != 0.0:
        return at.NOT_FINITE
    first = ints_at(head[QUATERNIONS], head[FREE])
    for k in range(head[FREE]):
        i = first[k]
        square = q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]
        if not abs(square - 1.0) <= 2.0 * at.QUATERNION_TOLERANCE:
            return at.BAD_QUATERNION
    return at.OK


@kernel(forceinline=True)
def call_one(head, function, q, v, x, out, work):
    """One of the dynamics; OK, NOT_FINITE or BAD_QUATERNION."""
    arguments = (address_of(q), address_of(v), address_of(x), 0, address_of(out), work)
    if _call_dynamics(function, arguments) != 0:
        return at.NOT_FINITE
    return status_of_q(head, q)


@kernel(forceinline=True)
def dynamics_one(address, which, q, v, x, out):
    """One of the dynamics, with the robot's own work memory."""
    head = ints_at(address, HEADER)
    nq, nv = head[NQ], head[NV]
    if q.shape[0] != nq or v.shape[0] != nv or x.shape[0] != nv or out.shape[0] != nv:
        return at.BAD_SHAPE
    return call_one(head, head[which], q, v, x, out, head[WORK])


@kernel(forceinline=True)
def dynamics_many(address, which, work, q, v, x, out):
    """One of the dynamics for rows."""
    head = ints_at(address, HEADER)
    addresses = (address_of(q), address_of(v), address_of(x), address_of(out), address_of(work), q.shape[0])
    _call_dynamics(head[which], addresses)
    for s in range(q.shape[0]):
        status = status_of_q(head, q[s])
        if status == at.OK and not finite(out[s], out.shape[1]):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
    return at.OK


@direct_entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def inverse_dynamics_one(address, q, v, a, tau):
    """tau of a motion."""
    return dynamics_one(address, INVERSE, q, v, a, tau)


@direct_entry(f"int64(int64, {_V}, {_V}, {_V}, {_V})")
def forward_dynamics_one(address, q, v, tau, a):
    """a under efforts."""
    return dynamics_one(address, FORWARD, q, v, tau, a)


@direct_entry(f"int64(int64, {_V}, {_M})")
def mass_matrix_one(address, q, M):
    """M(q)."""
    head = ints_at(address, HEADER)
    if q.shape[0] != head[NQ] or M.shape[0] != head[NV] or M.shape[1] != head[NV]:
        return at.BAD_SHAPE
    if _call_mass(head[MASS], (address_of(q), 0, address_of(M), head[WORK])) != 0:
        return at.NOT_FINITE
    return status_of_q(head, q)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def inverse_dynamics_many(address, work, q, v, a, tau):
    """tau of rows of motions."""
    return dynamics_many(address, INVERSE_ROWS, work, q, v, a, tau)


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(address, work, q, v, tau, a):
    """a of rows under efforts."""
    return dynamics_many(address, FORWARD_ROWS, work, q, v, tau, a)


@entry(f"int64(int64, {_V}, {_M}, {_T})", nogil=True)
def mass_matrix_many(address, work, q, M):
    """M of rows of q."""
    head = ints_at(address, HEADER)
    for s in range(q.shape[0]):
        status = status_of_q(head, q[s])
        if (
            status == at.OK
            and _call_mass(head[MASS], (address_of(q[s]), 0, address_of(M[s]), address_of(work))) != 0
        ):
            status = at.NOT_FINITE
        if status != at.OK:
            return status + 8 * s
    return at.OK


verbs = SimpleNamespace(
    inverse_dynamics_one=inverse_dynamics_one,
    forward_dynamics_one=forward_dynamics_one,
    mass_matrix_one=mass_matrix_one,
    inverse_dynamics_many=inverse_dynamics_many,
    forward_dynamics_many=forward_dynamics_many,
    mass_matrix_many=mass_matrix_many,
)
