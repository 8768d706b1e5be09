"""Fixed steps of a robot on wheels: its functions in the table of numerics/verbs/table.py.

Steps are implicit in the stiffness and damping of beams, joints, springs and tyres. The last number of the
work memory is the power that the road gave at the last call of `losses`.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.resistance import add_implicit_joint_terms, joint_losses
from flexdyn_ros.families.trees.rigid.kernels.views import NQ, NV, open_tree
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail
from flexdyn_ros.numerics.verbs import table as motion
from flexdyn_ros.numerics.verbs.head import robot_of

from . import views as at
from .chain import SECTION, move_planar
from .dynamics import forward
from .views import header_at, node_row, nodes_of, prescribed_of, vectors_of, wheel_rows, wheels_of
from .wheels import taken_by, update_wheels


@callback(motion.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = header_at(address)
    nv = head[NV]
    w = floats_at(work, head[at.SIZE])
    q, v, a, force = floats_at(q, head[NQ]), floats_at(v, nv), floats_at(a, nv), floats_at(force, nv)
    diagonal, given = vectors_of(head, w)[4:]
    add_implicit_joint_terms(open_tree(address), v, force, floats_at(extra, nv), h, diagonal)
    prescribed = prescribed_of(head)
    for i in range(nv):
        given[i] = prescribed[i]
    forward(address, w, q, v, force, diagonal, given, h, a)
    return 0


@kernel
def beam_losses(robot, speed, mean):
    """Power that the damping of beams takes."""
    table, f = nodes_of(header_at(robot))
    taken = 0.0
    for k in range(1, header_at(robot)[at.NODES]):
        row = node_row(table, k)
        m, first = row[at.MODES], row[at.MODE_V]
        if row[at.KIND] != SECTION and m > 0:
            D = tail(f, row[at.AT] + at.NODE_HEAD + 4 * m + 4 * m * m)
            slow, fast = tail(mean, first), tail(speed, first)
            for i in range(m):
                for j in range(m):
                    taken += slow[i] * D[i * m + j] * fast[j]
    return taken


@kernel
def wheel_losses(robot, w, q, speed, mean):
    """Power that the dampers of wheels take, and that the road gives, its forces being those at `speed`.

    One array for both: the rows of the wheels are those of it already.
    """
    head = header_at(robot)
    table, numbers = wheels_of(head)
    same = address_of(speed) == address_of(mean)
    if not same:
        move_planar(robot, w, q, mean)
        update_wheels(robot, w, q, mean)
    for j in range(head[at.WHEELS]):
        own = wheel_rows(head, w, j)
        # rows that only `articulate_wheels` uses
        own[at.ADDED], own[at.HUB_PIVOT] = own[at.SPRING_RATE], own[at.TYRE_RATE]
        own[at.HUB_PUSH] = own[at.ROAD_RATE]
    if not same:
        move_planar(robot, w, q, speed)
        update_wheels(robot, w, q, speed)
    taken, given = 0.0, 0.0
    for j in range(head[at.WHEELS]):
        x, own = tail(numbers, at.WHEEL_SIZE * j), wheel_rows(head, w, j)
        row = tail(table, at.WHEEL_COLUMNS * j)
        taken += taken_by(row, x, own, own[at.ADDED], own[at.HUB_PIVOT])
        given += own[at.GROUND_FORCE] * own[at.HUB_PUSH]
    return taken, given


@callback(motion.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = header_at(address)
    w = floats_at(work, head[at.SIZE] + 1)
    q, speed, mean = floats_at(q, head[NQ]), floats_at(speed, head[NV]), floats_at(mean, head[NV])
    taken = joint_losses(open_tree(address), floats_at(v0, head[NV]), speed, mean)
    by_wheels, given = wheel_losses(address, w, q, speed, mean)
    w[head[at.SIZE]] = given
    return taken + beam_losses(address, speed, mean) + by_wheels


@callback(motion.supply.signature)
def supply(robot, work):
    """See numerics/verbs/table.py: the power of the moving road."""
    size = header_at(robot_of(robot))[at.SIZE]
    return floats_at(work, size + 1)[size]


functions = {"accelerate": accelerate, "losses": losses, "supply": supply}
