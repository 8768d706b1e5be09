"""Hydraulic cylinders between frames of a tree, in its fixed steps: `actuate` of numerics/verbs/table.py.

Cylinders act before each step, or in the midst of it, as those of platforms do (docs/theory/hydraulics.md,
"Integration"). A cylinder's length changes in the step as l + l' h + l'' h^2/2, where l'' is the rate at the
place and speed that the tree would have after h if its accelerations stayed, less the rate now, over h.

Memory of the cylinders: MODE, FAULTS, IS_STAGGERED as cylinder/kernels/memory.py has them, their number, that
of supplies, then by cylinder what `places_of` cuts, a place and a speed of the tree, parameters and states.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import rod_force, tick_legs
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .steps import own_work
from .views import header_of, inner_function, results_of, see_elements

#: places of numbers behind MODE, FAULTS and IS_STAGGERED: cylinders, supplies, the first that is cut
COUNT, SUPPLIES, FIRST = 3, 4, 5
#: rows (count,) of a cylinder: its place among the elements and among the efforts; length, rate, acceleration,
#: command; length and rate after the step
ELEMENT, EFFORT, LENGTH, RATE, ACCELERATION, COMMAND, NEXT_LENGTH, NEXT_RATE = range(8)
PLACES = 8


def oil_places(count: int, nq: int, nv: int) -> tuple[int, int, int, int]:
    """Places of the speed of a tree, of parameters and of states of so many cylinders, and all numbers."""
    speed = FIRST + PLACES * count + nq
    parameters = speed + 2 * nv
    states = parameters + count * cylinder.PARAMETER_COUNT
    return speed, parameters, states, states + (count + 1) * cylinder.STATE_COUNT


@kernel(forceinline=True)
def row_of_places(memory, which, n):
    """One of the rows (n,)."""
    return window(memory, FIRST + which * n, n)


@kernel
def see_cylinders(address, work, memory, q, v, length, rate):
    """Lengths and rates (n,) of the cylinders at (q, v)."""
    head = header_of(address)
    rows = own_work(head, work)[0]
    n = length.size
    which = row_of_places(memory, ELEMENT, n)
    see_elements(address, floats_at(work, head[WORK_SIZE]), q, v, rows)
    for i in range(n):
        own = results_of(rows, int(which[i]))
        length[i], rate[i] = own[at.COORDINATE], own[at.RATE]


@callback(table.actuate.signature)
def actuate(actuator, robot, work, t, h, q, v, effort, a):
    """See numerics/verbs/table.py; cylinders turn valve openings or forces asked for into forces.

    Staggered steps ask twice: with h = 0 for the forces as they are, then for those after h, the tree
    accelerating by a.
    """
    begin = floats_at(actuator, FIRST)
    if begin[cylinder.MODE] == cylinder.DIRECT:
        return 0
    address, n = robot_of(robot), int(begin[COUNT])
    head = header_of(address)
    nq, nv = head[views.NQ], head[views.NV]
    size = FIRST + PLACES * n + nq + 2 * nv + n * cylinder.PARAMETER_COUNT + (n + 1) * cylinder.STATE_COUNT
    memory = floats_at(actuator, size)
    place, speed = floats_at(q, nq), floats_at(v, nv)
    effort, a = floats_at(effort, nv + n), floats_at(a, nv)
    length, rate = row_of_places(memory, LENGTH, n), row_of_places(memory, RATE, n)
    there, command = row_of_places(memory, EFFORT, n), row_of_places(memory, COMMAND, n)
    see_cylinders(address, work, memory, place, speed, length, rate)
    rest = tail(memory, FIRST + PLACES * n + nq + 2 * nv)
    parameters = window(rest, 0, n * cylinder.PARAMETER_COUNT)
    states = window(rest, n * cylinder.PARAMETER_COUNT, n * cylinder.STATE_COUNT)
    before = tail(rest, n * (cylinder.PARAMETER_COUNT + cylinder.STATE_COUNT))
    if h == 0.0:
        for i in range(n):
            P = window(parameters, i * cylinder.PARAMETER_COUNT, cylinder.PARAMETER_COUNT)
            X = window(states, i * cylinder.STATE_COUNT, cylinder.STATE_COUNT)
            effort[int(there[i])] = rod_force(P, X, length[i] - P[cylinder.SHORTEST], rate[i])
        return 0
    acceleration = row_of_places(memory, ACCELERATION, n)
    for i in range(n):
        acceleration[i], command[i] = 0.0, effort[int(there[i])]
    if begin[cylinder.IS_STAGGERED] != 0.0:
        see_accelerations(address, robot, work, memory, place, speed, a, h)
    mode = cylinder.FORCE_COMMAND if begin[cylinder.MODE] == cylinder.BY_FORCE else cylinder.VALVE
    faults = tick_legs(parameters, states, before, length, rate, acceleration, command, mode, h)
    begin[cylinder.FAULTS] += faults
    for i in range(n):
        force = states[cylinder.STATE_COUNT * i + cylinder.FORCE]
        effort[int(there[i])] = force if faults == 0 else np.nan
    return 0


@kernel
def see_accelerations(address, robot, work, memory, q, v, a, h):
    """Write the accelerations of the cylinders, their lengths and rates being written."""
    head = header_of(address)
    n, nq, nv = int(memory[COUNT]), head[views.NQ], head[views.NV]
    rest = tail(memory, FIRST + PLACES * n)
    there, speed, step = window(rest, 0, nq), window(rest, nq, nv), window(rest, nq + nv, nv)
    for i in range(nv):
        speed[i] = v[i] + h * a[i]
        step[i] = h * (v[i] + 0.5 * h * a[i])
    arguments = (robot, work, address_of(q), address_of(step), address_of(there))
    table.call_observe(inner_function(head, table.MOVED), arguments)
    rate, acceleration = row_of_places(memory, RATE, n), row_of_places(memory, ACCELERATION, n)
    length, ahead = row_of_places(memory, NEXT_LENGTH, n), row_of_places(memory, NEXT_RATE, n)
    see_cylinders(address, work, memory, there, speed, length, ahead)
    for i in range(n):
        acceleration[i] = (ahead[i] - rate[i]) / h


#: of trees that have some
hydraulic = {"actuate": actuate}
