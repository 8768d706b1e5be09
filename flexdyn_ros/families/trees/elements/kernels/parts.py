"""C functions on float64 numbers, behind words of the header, that most functions of the layer call: each is
translated once, and those of masses only for robots whose elements have some."""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.views import open_tree
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.functions import equal, holds

from .views import (
    COUNT,
    HAS_MASS,
    HEAVY,
    IN_ROWS,
    INERTIA,
    JOINS,
    MASS_ROWS,
    ROWS,
    WEIGH,
    WEIGHT,
    carry,
    header_of,
    results_of,
    row_of,
    see_elements,
)
from .weights import WEIGHT_ROWS, carry_weights, factor, factor_inertia, weigh_elements

#: (robot, memory, q, v, a, gravity_scale, rows, wrench, force): 0
WEIGH_SIGNATURE = "int64(int64, int64, int64, int64, int64, float64, int64, int64, int64)"
#: (robot, memory, rows, L, wrench, lines, more): how many
MASS_ROWS_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64)"

_call_weigh = caller(WEIGH_SIGNATURE)
_call_mass_rows = caller(MASS_ROWS_SIGNATURE)


@callback(WEIGH_SIGNATURE)
def weigh_all(robot, memory, q, v, a, gravity_scale, rows, wrench, force):
    """Write motion, accelerations and WEIGHT of all elements; force (nv,) -= what their masses take."""
    head = header_of(robot)
    nv = head[views.NV]
    place, speed, rate = floats_at(q, head[views.NQ]), floats_at(v, nv), floats_at(a, nv)
    work, own = floats_at(memory, head[WORK_SIZE]), floats_at(rows, ROWS * head[COUNT])
    weigh_elements(robot, work, place, speed, rate, gravity_scale, own, INERTIA)
    carry_weights(robot, work, own, -1.0, floats_at(wrench, 6), floats_at(force, nv))
    return 0


@callback(MASS_ROWS_SIGNATURE)
def find_mass_rows(robot, memory, rows, L, wrench, lines, more):
    """Write rows L' J (nv,) of the inertias L L' of elements; returns how many, nv at most. L (12, 12),
    wrench (6,) and more (nv, nv) are scratch."""
    head = header_of(robot)
    nv, found = head[views.NV], 0
    work, own = floats_at(memory, head[WORK_SIZE]), floats_at(rows, ROWS * head[COUNT])
    root, load = shaped(floats_at(L, 144), (12, 12)), floats_at(wrench, 6)
    every = floats_at(lines, WEIGHT_ROWS * head[IN_ROWS] * nv)
    for i in range(head[COUNT]):
        row = row_of(head, i)
        if row[HAS_MASS] != 0 and row[JOINS] == 0:
            factor_inertia(robot, own, i, root)
            for r in range(12):
                if not holds(equal(root[r, r], 0.0)):
                    line, given = window(every, found * nv, nv), window(own, ROWS * i + WEIGHT, 12)
                    for k in range(nv):
                        line[k] = 0.0
                    for k in range(12):
                        given[k] = root[k, r]
                    carry(robot, work, own, i, 1.0, given, load, line)
                    found += 1
    return found if found <= nv else fewer_rows(every, found, shaped(floats_at(more, nv * nv), (nv, nv)))


@kernel
def fewer_rows(rows, n, G):
    """Replace n rows (nv,), flat, by nv at most that have the same product R' R; G (nv, nv) is scratch."""
    nv, largest, found = G.shape[0], 0.0, 0
    for i in range(nv):
        for j in range(nv):
            s = 0.0
            for r in range(n):
                s += rows[r * nv + i] * rows[r * nv + j]
            G[i, j] = s
        largest = largest + G[i, i]
    factor(G, nv, largest)
    for j in range(nv):
        if not holds(equal(G[j, j], 0.0)):
            for i in range(nv):
                rows[found * nv + i] = G[i, j]
            found += 1
    return found


# ---- and how they are called ----


@kernel(forceinline=True)
def weigh(robot, memory, q, v, a, gravity_scale, rows, wrench, force):
    """force (nv,) -= what the masses of the elements take; arrays of float64. WEIGHT holds what they take."""
    head = header_of(robot)
    if head[HEAVY] > 0:
        motion = address_of(memory), address_of(q), address_of(v), address_of(a)
        scratch = address_of(rows), address_of(wrench), address_of(force)
        _call_weigh(head[WEIGH], (robot, *motion, gravity_scale, *scratch))


@kernel(forceinline=True)
def mass_rows(robot, memory, rows, L, wrench, lines, more):
    """Write the rows of the inertias of elements into lines, flat; returns how many."""
    head = header_of(robot)
    if head[IN_ROWS] == 0:
        return 0
    scratch = address_of(L), address_of(wrench), address_of(lines), address_of(more)
    return _call_mass_rows(head[MASS_ROWS], (robot, address_of(memory), address_of(rows), *scratch))


@kernel
def add_energies(robot, memory, rows, wrench, still, q, v, found):
    """found (3,) += kinetic, gravity and elastic energy of all elements; still (nv,) is scratch."""
    head = header_of(robot)
    see_elements(robot, memory, q, v, rows)
    for i in range(head[COUNT]):
        found[2] += results_of(rows, i)[at.ENERGY]
    if head[HEAVY] == 0:
        return
    for i in range(head[views.NV]):
        still[i] = 0.0
    weigh(robot, memory, q, v, still, 1.0, rows, wrench, still)
    fall = open_tree(robot).gravity
    for i in range(head[COUNT]):
        if row_of(head, i)[HAS_MASS] != 0:
            own = tail(rows, ROWS * i + WEIGHT)
            found[0] += own[at.KINETIC]
            for k in range(3):
                found[1] -= fall[k] * own[at.FIRST_MOMENT + k]
