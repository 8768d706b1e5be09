"""What Python may call for a tree with flexible links: `verbs`, one entry per verb (numerics/verbs).

The functions below are those of rigid/kernels/entries.py. Work memory is one flat array of numbers of any
type (`flexible_work_size`).
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.entries import displace, sizes, state_of_q
from flexdyn_ros.families.trees.rigid.kernels.kinematics import frame_pose
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_joint_resistance, couple_motors
from flexdyn_ros.families.trees.rigid.kernels.views import prepare
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel
from flexdyn_ros.numerics.compiling.status import OK
from flexdyn_ros.numerics.verbs.functions_of import functions_of

from .aba import flexible_articulated_body
from .crba import flexible_composite_body
from .kinematics import (
    flexible_energies,
    flexible_jacobian,
    flexible_momenta,
    load_wrenches,
    place_flexible,
)
from .nodes import add_modal_resistance
from .rnea import flexible_inertial_forces, flexible_newton_euler
from .views import carve_flexible, open_flexible


@kernel(forceinline=True)
def opened(address, work):
    """The model, its tree and the tree's work arrays."""
    model = open_flexible(address)
    tree = model.tree
    return model, tree, carve_flexible(work, tree.nb, tree.nq, tree.nv).tree


@kernel
def prepare_for(address, work, gravity_scale):
    """Make work arrays ready: the world accelerating against gravity, armature as diagonal."""
    _, tree, data = opened(address, work)
    prepare(tree, data, gravity_scale)


@kernel(forceinline=True)
def ready(address, work):
    """See `functions_of`."""
    prepare_for(address, work, 1.0)


@inlined
def forward(address, work, q, v, tau, a):
    """a = M^-1 (tau - h), for trees without mimic joints."""
    _, tree, data = opened(address, work)
    for i in range(tree.nv):
        data.tau[i] = tau[i]
    couple_motors(tree, data, 0.0)
    flexible_articulated_body(address, work, q, v, data.tau, a, 0.0, 0.0)
    return OK


@inlined
def terms(address, work, q, v, terms):
    """Parts (5, nv) of h: velocity, gravity, elastic, damping, external."""
    model, tree, data = opened(address, work)
    whole = carve_flexible(work, tree.nb, tree.nq, tree.nv)
    data.a[:] = 0.0
    data.v[:] = 0.0
    prepare_for(address, work, 0.0)
    flexible_inertial_forces(address, work, q, v, data.a, terms[0])
    prepare_for(address, work, 1.0)
    flexible_inertial_forces(address, work, q, data.v, data.a, terms[1])
    terms[2:] = 0.0
    add_joint_resistance(tree, q, data.v, 1.0, terms[2])
    add_modal_resistance(model, whole, q, data.v, 1.0, terms[2])
    add_joint_resistance(tree, q, v, 1.0, terms[3])
    add_modal_resistance(model, whole, q, v, 1.0, terms[3])
    for i in range(tree.nv):
        terms[3, i] -= terms[2, i]


@inlined
def frames(address, work, q, bodies, placements, poses):
    """Poses (k, 4, 4) of frames given by node and placement (k, 12)."""
    _, _, data = opened(address, work)
    place_flexible(address, work, q)
    for f in range(bodies.shape[0]):
        frame_pose(data, bodies[f], placements[f], poses[f])


@inlined
def jacobian(address, work, q, body, point, J):
    """J (6, nv) of a point (3,) of a node, world axes."""
    place_flexible(address, work, q)
    flexible_jacobian(address, work, body, point, J)


functions = functions_of(
    __name__,
    sizes=sizes,
    prepare=ready,
    status_of_q=state_of_q,
    inverse=flexible_newton_euler,
    forward=forward,
    mass=flexible_composite_body,
    terms=terms,
    energies=flexible_energies,
    momenta=flexible_momenta,
    frames=frames,
    jacobian=jacobian,
    load=load_wrenches,
    displace=displace,
)
