"""Fixed steps of a tree by the recursive Lagrangian path: its functions in the table of
numerics/verbs/table.py.

For section frames that are no rotations (preset `paper`), which no recursion over rigid sections takes. The
robot is a header of LAGRANGE_HEADER addresses and sizes; work memory: the blocks of
views.py, then M (nv, nv), h (4, nv), the energies (3) and a diagonal (nv); for forces a Jacobian (6, nv),
zeros (nv) and the pose (4, 4) of a point.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.steps import (
    add_implicit_modal_mass,
    add_implicit_modal_terms,
    tree_losses,
)
from flexdyn_ros.families.trees.flexible.kernels.views import open_flexible
from flexdyn_ros.families.trees.rigid.kernels.resistance import add_implicit_joint_terms, add_motor_rows
from flexdyn_ros.families.trees.rigid.kernels.steps import solve_or_nan
from flexdyn_ros.families.trees.rigid.kernels.views import ARMATURE, DOF_NUMBERS, open_tree
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped
from flexdyn_ros.numerics.verbs import table

from .equations import lagrange_equations, lagrange_jacobian

# the packed flexible tree; integers and floats of the Lagrangian model, with their numbers; blocks of work
TREE, INTS, INT_COUNT, FLOATS, FLOAT_COUNT, BLOCKS = range(6)
LAGRANGE_HEADER = 6


def lagrange_steps_size(blocks: int, nv: int) -> int:
    """Numbers of work memory of a model that needs so many blocks."""
    return 16 * blocks + nv * nv + 5 * nv + 3 + 7 * nv + 16


@kernel
def evaluate(robot, work, q, v):
    """M (nv, nv), h (4, nv), energies (3) and an unused diagonal (nv) at one state, in work memory."""
    header = ints_at(robot, LAGRANGE_HEADER)
    nq, nv, blocks = q.shape[0], v.shape[0], header[BLOCKS]
    memory = floats_at(work, 16 * blocks + nv * nv + 5 * nv + 3)
    o = 16 * blocks
    M, h = memory[o : o + nv * nv], memory[o + nv * nv : o + nv * nv + 4 * nv]
    o += nv * nv + 4 * nv
    lagrange_equations(
        ints_at(header[INTS], header[INT_COUNT]),
        floats_at(header[FLOATS], header[FLOAT_COUNT]),
        shaped(q, (1, nq)),
        shaped(v, (1, nv)),
        shaped(memory[0 : 16 * blocks], (blocks, 4, 4)),
        shaped(M, (1, nv, nv)),
        shaped(h, (1, 4, nv)),
        shaped(memory[o : o + 3], (1, 3)),
    )
    return shaped(M, (nv, nv)), shaped(h, (4, nv)), memory[o : o + 3], memory[o + 3 : o + 3 + nv]


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; K and D are the links' and the slopes of the joints' springs and
    resistance."""
    packed = ints_at(robot, LAGRANGE_HEADER)[TREE]
    model = open_flexible(packed)
    tree = model.tree
    nv = tree.nv
    q, v, a, force = floats_at(q, tree.nq), floats_at(v, nv), floats_at(a, nv), floats_at(force, nv)
    M, terms, _, diagonal = evaluate(robot, work, q, v)
    add_implicit_joint_terms(tree, v, force, floats_at(extra, nv), h, diagonal)
    if h != 0.0:
        add_implicit_modal_terms(model, v, force, h)
        add_implicit_modal_mass(model, h, M)
        add_motor_rows(tree, h, M)
    for i in range(nv):
        # M has the armature already
        M[i, i] += diagonal[i] - tree.dof[DOF_NUMBERS * i + ARMATURE]
        a[i] = force[i] - (terms[0, i] + terms[1, i] + terms[2, i] + terms[3, i])
    solve_or_nan(M, a)
    return 0


@callback(table.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py."""
    return tree_losses(open_flexible(ints_at(robot, LAGRANGE_HEADER)[TREE]), v0, speed, mean)


@callback(table.energy.signature)
def energies(robot, work, q, v, out):
    """See numerics/verbs/table.py."""
    tree = open_tree(ints_at(robot, LAGRANGE_HEADER)[TREE])
    out = floats_at(out, 3)
    found = evaluate(robot, work, floats_at(q, tree.nq), floats_at(v, tree.nv))[2]
    for i in range(3):
        out[i] = found[i]
    return 0


@callback(table.load.signature)
def load(robot, work, q, k, bodies, points, wrenches, force):
    """See numerics/verbs/table.py; points are in the body frames of the Lagrangian path, moments are
    zero."""
    header = ints_at(robot, LAGRANGE_HEADER)
    tree = open_tree(header[TREE])
    nv, blocks = tree.nv, header[BLOCKS]
    o = 16 * blocks + nv * nv + 5 * nv + 3
    memory = floats_at(work, o + 7 * nv + 16)
    J, still = shaped(memory[o : o + 6 * nv], (6, nv)), memory[o + 6 * nv : o + 7 * nv]
    pose = shaped(memory[o + 7 * nv : o + 7 * nv + 16], (4, 4))
    q, force = floats_at(q, tree.nq), floats_at(force, nv)
    bodies, points, wrenches = ints_at(bodies, k), floats_at(points, 3 * k), floats_at(wrenches, 6 * k)
    still[:] = 0.0
    pose[:] = 0.0
    for i in range(4):
        pose[i, i] = 1.0
    for i in range(k):
        # nothing moves the root
        if bodies[i] == 0:
            continue
        for j in range(3):
            pose[1 + j, 0] = points[3 * i + j]
        lagrange_jacobian(
            ints_at(header[INTS], header[INT_COUNT]),
            floats_at(header[FLOATS], header[FLOAT_COUNT]),
            q,
            still,
            shaped(memory[0 : 16 * blocks], (blocks, 4, 4)),
            (bodies[i] - 1, -1),
            pose,
            J,
        )
        for j in range(nv):
            for c in range(3, 6):
                force[j] += J[c, j] * wrenches[6 * i + c]
    return 0


functions = {"accelerate": accelerate, "losses": losses, "energy": energies, "load": load}
