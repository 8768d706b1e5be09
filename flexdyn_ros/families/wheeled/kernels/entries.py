"""What Python may call for a wheeled robot on a planar base by floating frames: `verbs`, its dynamics
(numerics/verbs), and its wheels.

Positions of frames, momenta and the configuration space are those of the general tree, whose entries take the
same address. Work memory is one flat array (word SIZE of the header) of numbers of any type. An effort on a
prescribed coordinate is answered by GIVEN_EFFORT.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.entries import displace, sizes, state_of_q
from flexdyn_ros.families.trees.rigid.kernels.views import NQ, NV
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.status import NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.functions_of import functions_of
from flexdyn_ros.numerics.verbs.samples import finite

from . import views as at
from .chain import balance, move_planar, weigh_all
from .composite import composite_bodies
from .dynamics import (
    energies,
    forget_inertia,
    inertial,
    inverse,
    load,
    loaded_inverse,
    plain_forward,
    resist,
    resist_in_beams,
)
from .views import header_at, vectors_of, wheels_of
from .wheels import apply_wheel_forces, load_hubs, taken_by, update_wheels

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"
_WRENCHES = f"int64[::1], {_M}, {_T}"


@kernel
def ready(address, work):
    """Nothing to make ready: work memory keeps nothing between calls."""


@kernel
def load_wrenches(address, work, q, bodies, points, wrenches, force):
    """force += sum J^T w: what bodies without inertia ask for."""
    head = header_at(address)
    still, a, tau = vectors_of(head, work)[1:4]
    for i in range(head[NV]):
        still[i], a[i], tau[i] = 0.0, 0.0, 0.0
    move_planar(address, work, q, still)
    forget_inertia(address, work)
    load(address, work, bodies, points, wrenches)
    balance(address, work, a, 0.0, tau)
    for i in range(head[NV]):
        force[i] -= tau[i]


@kernel
def terms(address, work, q, v, terms):
    """Parts (5, nv) of h: velocity, gravity, elastic, damping, external."""
    head = header_at(address)
    still, a = vectors_of(head, work)[1:3]
    for i in range(head[NV]):
        still[i], a[i] = 0.0, 0.0
    terms[:] = 0.0
    velocity, gravity, elastic, damping, external = terms
    move_planar(address, work, q, v)
    inertial(address, work, q, v, a, velocity)
    # wheels alone, on nodes without mass
    forget_inertia(address, work)
    apply_wheel_forces(address, work, 1.0)
    balance(address, work, a, 0.0, external)
    load_hubs(address, work, 0.0, 1.0, external)
    move_planar(address, work, q, still)
    weigh_all(address, work, q, still, 0.0)
    balance(address, work, a, 1.0, gravity)
    load_hubs(address, work, 1.0, 0.0, gravity)
    resist_in_beams(address, q, still, elastic)
    resist(address, q, still, 1.0, elastic)
    resist_in_beams(address, q, v, damping)
    resist(address, q, v, 1.0, damping)
    for i in range(head[NV]):
        damping[i] -= elastic[i]


functions = functions_of(
    __name__,
    sizes=sizes,
    prepare=ready,
    status_of_q=state_of_q,
    inverse=inverse,
    forward=plain_forward,
    mass=composite_bodies,
    terms=terms,
    energies=energies,
    load=load_wrenches,
    displace=displace,
)


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
            x = window(numbers, at.WHEEL_SIZE * j, at.WHEEL_SIZE)
            out[s, j, 0], out[s, j, 1] = own[at.GROUND_FORCE], own[at.SPRING_FORCE]
            out[s, j, 2], out[s, j, 3] = x[at.LENGTH] - own[at.SPRING_LENGTH], own[at.GRADE]
            out[s, j, 4] = own[at.GROUND_FORCE] * own[at.ROAD_RATE]
            row = window(table, at.WHEEL_COLUMNS * j, at.WHEEL_COLUMNS)
            out[s, j, 5] = taken_by(row, x, own, own[at.SPRING_RATE], own[at.TYRE_RATE])
    return OK


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_M}, {_WRENCHES}, {_T})", nogil=True)
def joint_forces_many(address, work, q, v, a, bodies, points, wrenches, out):
    """Force X, Y and moment about the joint (N, nodes, 3) of each node's parent on the node, world axes."""
    head = header_at(address)
    tau = vectors_of(head, work)[3]
    for s in range(q.shape[0]):
        loaded_inverse(address, work, q[s], v[s], a[s], bodies, points, wrenches[s], tau)
        for k in range(1, head[at.NODES]):
            for i in range(3):
                out[s, k, i] = work[at.NODE_ROWS * k + at.FORCE + i]
    return OK
