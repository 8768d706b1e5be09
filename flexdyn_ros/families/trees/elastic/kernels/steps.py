"""Fixed steps of a tree with elastic joints: a layer around the functions of the tree
(numerics/stepping/table.py).

A motor with inertia I = N^2 J hangs on its joint by k and d only, so that its row of the step's equations is

    (I + x_m + c) a_m - c a_j = f_m,   c = h d + h^2 k,   x_m: `extra`

and can be eliminated: the joint's diagonal gains c (I + x_m) / (I + x_m + c), its force gains
f_m c / (I + x_m + c). The recursions of the tree stay as they are and of order n; c = 0 is forward dynamics.

`robot` is the address of ELASTIC_HEADER integers (views.py). Work memory: m numbers, then the tree's.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.stepping import table as at

from .views import (
    E_JOINTS_Q,
    E_JOINTS_V,
    E_MOTORS,
    E_NQ,
    E_NUMBERS,
    E_NV,
    E_TABLE,
    E_TREE,
    ELASTIC_HEADER,
)


@kernel(forceinline=True)
def tree_work(head, work):
    """Address of the tree's work memory."""
    return work + 8 * head[E_MOTORS]


@callback(at.PREPARE_SIGNATURE)
def prepare(robot, work):
    """See numerics/stepping/table.py."""
    head = ints_at(robot, ELASTIC_HEADER)
    function = at.table_at(head[E_TABLE])[at.PREPARE]
    return 0 if function == 0 else at.call_prepare(function, (head[E_TREE], tree_work(head, work)))


@callback(at.ACCELERATE_SIGNATURE)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; k and d belong to the family's K and D."""
    head = ints_at(robot, ELASTIC_HEADER)
    n, m, nq = head[E_NV], head[E_MOTORS], head[E_NQ]
    at_q, at_v = ints_at(head[E_JOINTS_Q], m), ints_at(head[E_JOINTS_V], m)
    numbers = floats_at(head[E_NUMBERS], 3 * m)
    positions, speeds = floats_at(q, nq + m), floats_at(v, n + m)
    forces, diagonal, found = floats_at(force, n + m), floats_at(extra, n + m), floats_at(a, n + m)
    kept = floats_at(work, m)
    for i in range(m):
        inertia, k, d = numbers[i], numbers[m + i], numbers[2 * m + i]
        j = at_v[i]
        slip = speeds[n + i] - speeds[j]
        # the pull at the state, and what h K v adds to it
        pull = k * (positions[nq + i] - positions[at_q[i]]) + (d + h * k) * slip
        c = h * (d + h * k)
        own = inertia + diagonal[n + i]
        forces[n + i] -= pull
        forces[j] += pull + forces[n + i] * c / (own + c)
        kept[i] = diagonal[j]
        diagonal[j] += c * own / (own + c)
    arguments = (head[E_TREE], tree_work(head, work), t, q, v, force, extra, h, a)
    at.call_accelerate(at.table_at(head[E_TABLE])[at.ACCELERATE], arguments)
    for i in range(m):
        inertia, k, d = numbers[i], numbers[m + i], numbers[2 * m + i]
        c = h * (d + h * k)
        diagonal[at_v[i]] = kept[i]
        found[n + i] = (forces[n + i] + c * found[at_v[i]]) / (inertia + diagonal[n + i] + c)
    return 0


@callback(at.LOSSES_SIGNATURE)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/stepping/table.py."""
    head = ints_at(robot, ELASTIC_HEADER)
    n, m = head[E_NV], head[E_MOTORS]
    at_v, numbers = ints_at(head[E_JOINTS_V], m), floats_at(head[E_NUMBERS], 3 * m)
    arguments = (head[E_TREE], tree_work(head, work), t, q, v0, speed, mean)
    taken = at.call_losses(at.table_at(head[E_TABLE])[at.LOSSES], arguments)
    speeds, means = floats_at(speed, n + m), floats_at(mean, n + m)
    for i in range(m):
        j = at_v[i]
        taken += numbers[2 * m + i] * (speeds[n + i] - speeds[j]) * (means[n + i] - means[j])
    return taken


@callback(at.ENERGIES_SIGNATURE)
def energies(robot, work, q, v, out):
    """See numerics/stepping/table.py."""
    head = ints_at(robot, ELASTIC_HEADER)
    n, m, nq = head[E_NV], head[E_MOTORS], head[E_NQ]
    at_q, numbers = ints_at(head[E_JOINTS_Q], m), floats_at(head[E_NUMBERS], 3 * m)
    arguments = (head[E_TREE], tree_work(head, work), q, v, out)
    status = at.call_energies(at.table_at(head[E_TABLE])[at.ENERGIES], arguments)
    positions, speeds, found = floats_at(q, nq + m), floats_at(v, n + m), floats_at(out, 3)
    for i in range(m):
        wound = positions[nq + i] - positions[at_q[i]]
        found[0] += 0.5 * numbers[i] * speeds[n + i] * speeds[n + i]
        found[2] += 0.5 * numbers[m + i] * wound * wound
    return status


@callback(at.LOAD_SIGNATURE)
def load(robot, work, q, k, bodies, points, wrenches, force):
    """See numerics/stepping/table.py; wrenches act on links, not on motors."""
    head = ints_at(robot, ELASTIC_HEADER)
    arguments = (head[E_TREE], tree_work(head, work), q, k, bodies, points, wrenches, force)
    return at.call_load(at.table_at(head[E_TABLE])[at.LOAD], arguments)


ELASTIC_MOTION = {
    at.PREPARE: prepare,
    at.ACCELERATE: accelerate,
    at.LOSSES: losses,
    at.ENERGIES: energies,
    at.LOAD: load,
}
