"""Fixed steps of a tree with flexible links: its functions in the table of numerics/verbs/table.py.

Work memory: that of the recursions (views.py), then M (nv, nv) and nv zeros for trees whose
mimic joints share coordinates.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.resistance import (
    add_implicit_joint_terms,
    add_motor_rows,
    couple_motors,
    joint_losses,
)
from flexdyn_ros.families.trees.rigid.kernels.steps import solve_or_nan
from flexdyn_ros.multibody.links.kernels.answers import open_forces
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from . import views
from .aba import flexible_articulated_body
from .crba import flexible_composite_body
from .links import ask_own_forces
from .rnea import flexible_newton_euler
from .views import BEAM, carve_flexible, open_flexible, open_link, open_state


@kernel(forceinline=True)
def recursion_memory(address, work):
    """The work memory of the recursions as an array."""
    return floats_at(work, ints_at(address, views.FLEXIBLE_HEADER)[views.WORK_SIZE])


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; K and D are the links' and the slopes of the joints' springs and
    resistance.

    Modes stay in the O(n) recursion: h^2 K + h D joins a link's modal inertia.
    """
    address = robot_of(robot)
    model = open_flexible(address)
    tree = model.tree
    nv = tree.nv
    memory = recursion_memory(address, work)
    whole = carve_flexible(memory, tree.nb, tree.nq, nv)
    q, v, a = floats_at(q, tree.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_terms(model, whole, q, v, force, floats_at(extra, nv), h)
    flexible_articulated_body(address, memory, q, v, force, a, h * h, h)
    return 0


@kernel(forceinline=True)
def add_implicit_terms(model, whole, q, v, force, extra, h):
    """What a step of h adds to forces and to the inertias of coordinates, before the recursion."""
    tree, data = model.tree, whole.tree
    add_implicit_joint_terms(tree, v, force, extra, h, data.diagonal)
    if h != 0.0:
        add_implicit_modal_terms(model, v, force, h)
        add_implicit_own_terms(model, whole, q, v, force, h)
    couple_motors(tree, data, h)


@kernel(forceinline=True)
def add_implicit_modal_terms(model, v, force, h):
    """force -= h K v of the beams."""
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m if link.kind == BEAM else 0
        for k in range(m):
            f = 0.0
            for l in range(m):
                f += link.K[k * m + l] * v[link.v + l]
            force[link.v + k] -= h * f


@kernel(forceinline=True)
def add_implicit_own_terms(model, data, q, v, force, h):
    """force -= h K v of links of other kinds, with the slopes K of their forces at q, v."""
    for i in range(model.nl):
        link = open_link(model, i)
        if link.kind != BEAM:
            m, state = link.m, open_state(model, data, i)
            ask_own_forces(link, state, q, v)
            K = open_forces(state.own, m).stiffness
            for k in range(m):
                for l in range(m):
                    force[link.v + k] -= h * K[k * m + l] * v[link.v + l]


@kernel(forceinline=True)
def add_implicit_own_mass(model, data, h, M):
    """M += h D + h^2 K of links of other kinds; reads their own forces."""
    for i in range(model.nl):
        link = open_link(model, i)
        if link.kind != BEAM:
            m, first = link.m, link.v
            found = open_forces(open_state(model, data, i).own, m)
            for k in range(m):
                for l in range(m):
                    M[first + k, first + l] += h * (found.damping[k * m + l] + h * found.stiffness[k * m + l])


@kernel(forceinline=True)
def own_losses(model, data, q, v0, speed, mean):
    """Power speed' D mean of links of other kinds than beams, D as it is at q, v0 [W]."""
    taken = 0.0
    for i in range(model.nl):
        link = open_link(model, i)
        if link.kind != BEAM:
            m, state = link.m, open_state(model, data, i)
            ask_own_forces(link, state, q, v0)
            D = open_forces(state.own, m).damping
            for k in range(m):
                for l in range(m):
                    taken += mean[link.v + k] * D[k * m + l] * speed[link.v + l]
    return taken


@kernel(forceinline=True)
def add_implicit_modal_mass(model, h, M):
    """M += h D + h^2 K of the beams."""
    for i in range(model.nl):
        link = open_link(model, i)
        m, first = link.m if link.kind == BEAM else 0, link.v
        for k in range(m):
            for l in range(m):
                M[first + k, first + l] += h * (link.D[k * m + l] + h * link.K[k * m + l])


@kernel(forceinline=True)
def tree_losses(model, v0, speed, mean):
    """Power that the resistance of joints and beams takes, the slopes of the joints' taken at v0."""
    n = model.tree.nv
    speed, mean = floats_at(speed, n), floats_at(mean, n)
    taken = joint_losses(model.tree, floats_at(v0, n), speed, mean)
    for i in range(model.nl):
        link = open_link(model, i)
        m = link.m if link.kind == BEAM else 0
        for k in range(m):
            for l in range(m):
                taken += mean[link.v + k] * link.D[k * m + l] * speed[link.v + l]
    return taken


@callback(table.accelerate.signature)
def accelerate_densely(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; by the mass matrix, for trees whose mimic joints share coordinates: a
    is (M + extra + h D + h^2 K)^-1 (force - bias - h K v), NaN if that is singular.
    """
    address = robot_of(robot)
    tree = open_flexible(address).tree
    nv = tree.nv
    memory = recursion_memory(address, work)
    q, v, a = floats_at(q, tree.nq), floats_at(v, nv), floats_at(a, nv)
    rest = floats_at(work + 8 * memory.shape[0], nv * nv + nv)
    M, zeros = shaped(window(rest, 0, nv * nv), (nv, nv)), window(rest, nv * nv, nv)
    write_system(address, memory, q, v, floats_at(force, nv), floats_at(extra, nv), h, M, zeros, a)
    solve_or_nan(M, a)
    return 0


@kernel
def write_system(address, memory, q, v, force, extra, h, M, zeros, a):
    """Write M (nv, nv) + extra + h D + h^2 K and a (nv,) = force - bias - h K v of a step of h; zeros (nv,)
    is scratch."""
    model = open_flexible(address)
    tree = model.tree
    nv = tree.nv
    whole = carve_flexible(memory, tree.nb, tree.nq, nv)
    add_implicit_joint_terms(tree, v, force, extra, h, whole.tree.diagonal)
    if h != 0.0:
        add_implicit_modal_terms(model, v, force, h)
        add_implicit_own_terms(model, whole, q, v, force, h)
    for i in range(nv):
        zeros[i] = 0.0
    flexible_composite_body(address, memory, q, M)
    flexible_newton_euler(address, memory, q, v, zeros, a)
    add_implicit_modal_mass(model, h, M)
    add_implicit_own_mass(model, whole, h, M)
    add_motor_rows(tree, h, M)
    for i in range(nv):
        a[i] = force[i] - a[i]


@callback(table.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    model = open_flexible(address)
    tree, nv = model.tree, model.tree.nv
    data = carve_flexible(recursion_memory(address, work), tree.nb, tree.nq, nv)
    motion = floats_at(v0, nv), floats_at(speed, nv), floats_at(mean, nv)
    own = own_losses(model, data, floats_at(q, tree.nq), motion[0], motion[1], motion[2])
    return tree_losses(model, v0, speed, mean) + own
