"""Hydraulic cylinders between frames of a tree, in its fixed steps: `actuate`, `comply`, `settle` and
`finish` of numerics/verbs/table.py.

Cylinders act before each step, or in the midst of it, as those of platforms do (docs/theory/hydraulics.md,
"Integration"). A cylinder's length changes in the step as l + l' h + l'' h^2/2, where l'' is the rate at the
place and speed that the tree would have after h if its accelerations stayed, less the rate now, over h; of
robots that know it at once (SEEN) it is l'' now.

In implicit steps their oil is eliminated from each stage (cylinder/kernels/stages.py).

Memory of the cylinders: MODE, FAULTS, IS_STAGGERED, ROUGHNESS as cylinder/kernels/memory.py has them, numbers
of cylinders and supplies, a place and two velocities of the tree, then by cylinder rows PLACES, parameters
and states, then those of supplies and work memory of ticks.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import FOLLOW
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import rod_force
from flexdyn_ros.multibody.elements.cylinder.kernels.stages import (
    EASY,
    FIRST_HALF,
    LINES,
    SECOND_HALF,
    STAGES,
    WHOLE,
    begin_stage,
    begin_step,
    end_step,
    flow,
    flow_lines,
    roughest,
)
from flexdyn_ros.multibody.elements.cylinder.kernels.stages import comply as comply_with
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import (
    SUPPLY_PARAMETER_COUNT,
    SUPPLY_STATE_COUNT,
)
from flexdyn_ros.multibody.elements.cylinder.kernels.ticks import tick_supplies, work_size
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.functions import equal, holds
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .steps import own_work
from .views import NU, SEEN, header_of, inner_function, results_of, see_elements

#: places of numbers behind MODE, FAULTS and IS_STAGGERED: cylinders, supplies, nq and nv of the tree, and the
#: first of those of the tree
COUNT, SUPPLIES, SIZES, FIRST = 4, 5, 6, 10
#: of implicit steps: how long one is, and the half that comes next
STEP, NEXT_HALF = 8, 9
#: values of IS_STAGGERED: pressures first, staggered, implicit, implicit without extrapolation
FIRST_PRESSURES, STAGGERED, IMPLICIT, EULER = 0.0, 1.0, 2.0, 3.0
#: rows (count,) of a cylinder: its place among the elements and among the efforts; length, rate,
#: acceleration, command and what it means; length and rate after the step
ELEMENT, EFFORT, LENGTH, RATE, ACCELERATION, COMMAND, MEANT, NEXT_LENGTH, NEXT_RATE = range(9)
PLACES = 9


@kernel(forceinline=True)
def oil_places(n, s, nq, nv):
    """Places of the rows of n cylinders, of their parameters, of those of s supplies, of states of cylinders
    and of supplies, of stages of both, of work memory, and all numbers."""
    rows = FIRST + nq + 2 * nv
    parameters = rows + PLACES * n
    pumps = parameters + n * cylinder.PARAMETER_COUNT
    states = pumps + s * SUPPLY_PARAMETER_COUNT
    lines = states + n * cylinder.STATE_COUNT
    stages = lines + s * SUPPLY_STATE_COUNT
    of_lines = stages + n * STAGES
    work = of_lines + s * LINES
    return rows, parameters, pumps, states, lines, stages, of_lines, work, work + work_size(n)


@kernel
def see_cylinders(address, work, which, q, v, length, rate):
    """Lengths and rates (n,) of the elements `which` at (q, v)."""
    head = header_of(address)
    rows = own_work(head, work)[0]
    see_elements(address, floats_at(work, head[WORK_SIZE]), q, v, rows)
    for i in range(length.size):
        own = results_of(rows, int(which[i]))
        length[i], rate[i] = own[at.COORDINATE], own[at.RATE]


#: (robot, work, q, v, a, lengths, rates, accelerations): 0, of cylinders that are all driven elements
SEEN_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64, int64)"
_call_seen = caller(SEEN_SIGNATURE)


@callback(table.actuate.signature)
def actuate(actuator, robot, work, t, h, q, v, effort, a):
    """See numerics/verbs/table.py; cylinders turn valve openings or forces asked for into forces.

    Staggered steps ask twice: with h = 0 for the forces as they are, then for those after h, the tree
    accelerating by a.
    """
    begin = floats_at(actuator, FIRST)
    if begin[cylinder.MODE] == cylinder.DIRECT:
        return 0
    address, n, s = robot_of(robot), int(begin[COUNT]), int(begin[SUPPLIES])
    head = header_of(address)
    nq, nv = head[views.NQ], head[views.NV]
    places = oil_places(n, s, nq, nv)
    memory = floats_at(actuator, places[8])
    rows = window(memory, places[0], PLACES * n)
    place, speed = floats_at(q, nq), floats_at(v, nv)
    effort, which = floats_at(effort, head[NU]), window(rows, ELEMENT * n, n)
    there = window(rows, EFFORT * n, n)
    length, rate = window(rows, LENGTH * n, n), window(rows, RATE * n, n)
    acceleration, sees_all = window(rows, ACCELERATION * n, n), head[SEEN] != 0
    if sees_all:
        seen = address_of(length), address_of(rate), address_of(acceleration)
        _call_seen(head[SEEN], (robot, work, q, v, a, *seen))
    else:
        see_cylinders(address, work, which, place, speed, length, rate)
    parameters = window(memory, places[1], places[2] - places[1])
    states = window(memory, places[3], places[4] - places[3])
    if holds(equal(h, 0.0)):
        for i in range(n):
            P = window(parameters, i * cylinder.PARAMETER_COUNT, cylinder.PARAMETER_COUNT)
            X = window(states, i * cylinder.STATE_COUNT, cylinder.STATE_COUNT)
            effort[int(there[i])] = rod_force(P, X, length[i] - P[cylinder.SHORTEST], rate[i])
        return 0
    command, meant = window(rows, COMMAND * n, n), window(rows, MEANT * n, n)
    is_staggered = holds(equal(begin[cylinder.IS_STAGGERED], STAGGERED))
    for i in range(n):
        command[i] = effort[int(there[i])]
        if not (is_staggered and sees_all):
            acceleration[i] = 0.0
        if begin[cylinder.MODE] == cylinder.BY_FORCE:
            meant[i] = cylinder.FORCE_COMMAND
        elif begin[cylinder.MODE] == cylinder.BY_VALVE:
            meant[i] = cylinder.VALVE
    if is_staggered and not sees_all:
        tree = window(memory, FIRST, nq + 2 * nv)
        see_accelerations(robot, work, tree, rows, place, speed, floats_at(a, nv), h)
    pumps = window(memory, places[2], places[3] - places[2])
    lines, room = window(memory, places[4], places[5] - places[4]), tail(memory, places[7])
    if begin[cylinder.IS_STAGGERED] >= IMPLICIT:
        stages, of_lines = (
            window(memory, places[5], places[6] - places[5]),
            window(memory, places[6], s * LINES),
        )
        begin_step(parameters, pumps, states, lines, stages, of_lines, length, rate, command, meant, h)
        begin[STEP], begin[NEXT_HALF] = h, FIRST_HALF
        return 0
    motion = (length, rate, acceleration)
    follow = 1.0 if is_staggered else min(FOLLOW * h, 1.0)
    faults = tick_supplies(parameters, pumps, states, lines, room, motion, command, meant, h, follow)
    begin[cylinder.FAULTS] += faults
    for i in range(n):
        force = states[cylinder.STATE_COUNT * i + cylinder.FORCE]
        effort[int(there[i])] = force if faults == 0 else np.nan
    return 0


@callback(table.comply.signature)
def comply(actuator, h, position, speed, drive, stiffness, damping, target_q, target_v):
    """See numerics/verbs/table.py; cylinders in use are springs of their oil in implicit steps."""
    begin = floats_at(actuator, FIRST)
    if begin[cylinder.MODE] == cylinder.DIRECT or begin[cylinder.IS_STAGGERED] < IMPLICIT:
        return 0
    n, s = int(begin[COUNT]), int(begin[SUPPLIES])
    places = oil_places(n, s, int(begin[SIZES]), int(begin[SIZES + 1]))
    memory = floats_at(actuator, places[8])
    there = window(memory, places[0] + EFFORT * n, n)
    pumps, stages = window(memory, places[2], places[3] - places[2]), window(memory, places[5], n * STAGES)
    lines = window(memory, places[6], s * LINES)
    part = WHOLE if holds(equal(h, begin[STEP])) else int(begin[NEXT_HALF])
    begin_stage(pumps, lines, part)
    for i in range(n):
        P = window(memory, places[1] + i * cylinder.PARAMETER_COUNT, cylinder.PARAMETER_COUNT)
        X = window(memory, places[3] + i * cylinder.STATE_COUNT, cylinder.STATE_COUNT)
        k = int(P[cylinder.SUPPLY_INDEX])
        S = window(pumps, k * SUPPLY_PARAMETER_COUNT, SUPPLY_PARAMETER_COUNT)
        C, L, j = window(stages, i * STAGES, STAGES), window(lines, k * LINES, LINES), 8 * int(there[i])
        x, v = floats_at(position + j, 1)[0], floats_at(speed + j, 1)[0]
        force, k_eff, d = comply_with(P, X, S, C, L, part, h, x - P[cylinder.SHORTEST], v)
        floats_at(drive + j, 1)[0], floats_at(stiffness + j, 1)[0], floats_at(damping + j, 1)[0] = (
            force,
            k_eff,
            d,
        )
        floats_at(target_q + j, 1)[0], floats_at(target_v + j, 1)[0] = x, v
    return 0


@callback(table.settle.signature)
def settle(actuator, h, speed):
    """See numerics/verbs/table.py; the oil of those cylinders."""
    begin = floats_at(actuator, FIRST)
    if begin[cylinder.MODE] == cylinder.DIRECT or begin[cylinder.IS_STAGGERED] < IMPLICIT:
        return 0
    n, s = int(begin[COUNT]), int(begin[SUPPLIES])
    places = oil_places(n, s, int(begin[SIZES]), int(begin[SIZES + 1]))
    memory = floats_at(actuator, places[8])
    there = window(memory, places[0] + EFFORT * n, n)
    parameters = window(memory, places[1], places[2] - places[1])
    pumps, stages = window(memory, places[2], places[3] - places[2]), window(memory, places[5], n * STAGES)
    lines = window(memory, places[6], s * LINES)
    part = WHOLE if holds(equal(h, begin[STEP])) else int(begin[NEXT_HALF])
    for i in range(n):
        P = window(parameters, i * cylinder.PARAMETER_COUNT, cylinder.PARAMETER_COUNT)
        k = int(P[cylinder.SUPPLY_INDEX])
        S = window(pumps, k * SUPPLY_PARAMETER_COUNT, SUPPLY_PARAMETER_COUNT)
        C, L = window(stages, i * STAGES, STAGES), window(lines, k * LINES, LINES)
        X = window(memory, places[3] + i * cylinder.STATE_COUNT, cylinder.STATE_COUNT)
        flow(P, X, S, C, L, part, h, floats_at(speed + 8 * int(there[i]), 1)[0])
    flow_lines(pumps, lines, part, h)
    begin[NEXT_HALF] = SECOND_HALF if part == FIRST_HALF else FIRST_HALF
    return 0


@callback(table.finish.signature)
def finish(actuator, must):
    """See numerics/verbs/table.py; steps are made again in two where a piston meets its stop, or a cavity
    closes, faster than their halves agree."""
    begin = floats_at(actuator, FIRST)
    if begin[cylinder.MODE] == cylinder.DIRECT or begin[cylinder.IS_STAGGERED] < IMPLICIT:
        return 0
    n, s = int(begin[COUNT]), int(begin[SUPPLIES])
    places = oil_places(n, s, int(begin[SIZES]), int(begin[SIZES + 1]))
    memory = floats_at(actuator, places[8])
    parameters, pumps = (
        window(memory, places[1], places[2] - places[1]),
        window(memory, places[2], places[3] - places[2]),
    )
    states, stages = window(memory, places[3], places[4] - places[3]), window(memory, places[5], n * STAGES)
    lines, of_supplies = (
        window(memory, places[6], s * LINES),
        window(memory, places[4], s * SUPPLY_STATE_COUNT),
    )
    extrapolates = begin[cylinder.IS_STAGGERED] == IMPLICIT
    if extrapolates:
        begin[cylinder.ROUGHNESS] = roughest(parameters, pumps, states, stages, lines)
        if must == 0 and not begin[cylinder.ROUGHNESS] <= 1.0:
            return 1
    begin[cylinder.FAULTS] += end_step(parameters, pumps, states, of_supplies, stages, lines, extrapolates)
    # graphs read the roughness themselves
    return 0 if must < 0 else (-1 if begin[cylinder.ROUGHNESS] < EASY else 0)


@kernel
def see_accelerations(robot, work, tree, rows, q, v, a, h):
    """Write the accelerations of cylinders whose rates are written; tree (nq + 2 nv,) is scratch."""
    address = robot_of(robot)
    head = header_of(address)
    n, nq, nv = rows.size // PLACES, head[views.NQ], head[views.NV]
    there, speed, step = window(tree, 0, nq), window(tree, nq, nv), window(tree, nq + nv, nv)
    for i in range(nv):
        speed[i] = v[i] + h * a[i]
        step[i] = h * (v[i] + 0.5 * h * a[i])
    arguments = (robot, work, address_of(q), address_of(step), address_of(there))
    table.call_observe(inner_function(head, table.MOVED), arguments)
    length, ahead = window(rows, NEXT_LENGTH * n, n), window(rows, NEXT_RATE * n, n)
    rate, acceleration = window(rows, RATE * n, n), window(rows, ACCELERATION * n, n)
    see_cylinders(address, work, window(rows, ELEMENT * n, n), there, speed, length, ahead)
    for i in range(n):
        acceleration[i] = (ahead[i] - rate[i]) / h


#: of trees that have some
hydraulic = {"actuate": actuate, "comply": comply, "settle": settle, "finish": finish}
