"""Fixed steps of a soft arm: its functions in the table of numerics/stepping/table.py.

Work memory: that of the verbs (views.py), whose last number keeps h of the last step. Springs,
dampers and bending stiffness of the actuators are implicit, and so are stops, as the rates at the start of a
step take the actuators into them. Where pressures follow their commands with a lag, the memory of the
actuators holds the forces of the supply.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.stepping import table

from .kinematics import add_load, arm_energies, place_sections
from .recursions import forward_recursion, load_states, spread_nan
from .section import damper_force, stop_damping, stop_depth
from .views import HEADER, SECTIONS, STOP_DAMPER, open_arm, section_numbers, work_numbers

#: a slice in one number: section + 1 above, station in units of 2^-50 below
STATION_BITS = 50
STATION_UNIT = 1 << STATION_BITS
STATION_MASK = (1 << 51) - 1

# rows of the memory of a lagging supply, one number per actuator in each: time constant [s], least and
# largest force that its pressures make, force now [N]
SUPPLY_LAG, SUPPLY_LEAST, SUPPLY_LARGEST, SUPPLY_FORCE = range(4)
SUPPLY_ROWS = 4


def slice_code(section: int, eta: float) -> int:
    """The number by which LOAD knows a slice; section -1 is the world."""
    return ((section + 1) << (STATION_BITS + 1)) + round(eta * STATION_UNIT)


@kernel
def work_at(robot, work):
    """Work memory of an arm at an address."""
    return floats_at(work, work_numbers(ints_at(robot, HEADER)[SECTIONS]))


@callback(table.PREPARE_SIGNATURE)
def prepare(robot, work):
    """See numerics/stepping/table.py; there is nothing to prepare."""
    return 0


@callback(table.ACCELERATE_SIGNATURE)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; by articulated sections."""
    arm = open_arm(robot)
    n = 3 * arm.n
    work_at(robot, work)[work_numbers(arm.n) - 1] = h
    a = floats_at(a, n)
    q, v, force, extra = floats_at(q, n), floats_at(v, n), floats_at(force, n), floats_at(extra, n)
    forward_recursion(arm, work_at(robot, work), q, v, force, extra, h, a)
    spread_nan(a)
    return 0


@callback(table.LOSSES_SIGNATURE)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/stepping/table.py; dampers, and those of stops as `accelerate` took them last."""
    arm = open_arm(robot)
    n = 3 * arm.n
    h = work_at(robot, work)[work_numbers(arm.n) - 1]
    q, v0, speed, mean = floats_at(q, n), floats_at(v0, n), floats_at(speed, n), floats_at(mean, n)
    power = 0.0
    for i in range(arm.n):
        P = section_numbers(arm, i)
        for k in range(3):
            at = 3 * i + k
            force = damper_force(P, k, mean[at])
            depth = stop_depth(P, k, q[at] + h * v0[at])
            if P[STOP_DAMPER] != 0.0 and depth != 0.0:
                force += stop_damping(P, depth) * mean[at]
            power += speed[at] * force
    return power


@callback(table.ENERGIES_SIGNATURE)
def energies(robot, work, t, q, v, out):
    """See numerics/stepping/table.py."""
    arm = open_arm(robot)
    n = 3 * arm.n
    arm_energies(arm, work_at(robot, work), floats_at(q, n), floats_at(v, n), floats_at(out, 3))
    return 0


@callback(table.LOAD_SIGNATURE)
def load(robot, work, q, k, bodies, points, wrenches, force):
    """See numerics/stepping/table.py; bodies are slices as `slice_code` writes them."""
    arm, memory = open_arm(robot), work_at(robot, work)
    q, force = floats_at(q, 3 * arm.n), floats_at(force, 3 * arm.n)
    bodies, points, wrenches = ints_at(bodies, k), floats_at(points, 3 * k), floats_at(wrenches, 6 * k)
    if k > 0:
        load_states(arm, memory, q, q)
        place_sections(arm, memory)
    for i in range(k):
        section = (bodies[i] >> (STATION_BITS + 1)) - 1
        eta = (bodies[i] & STATION_MASK) / STATION_UNIT
        add_load(
            arm,
            memory,
            section,
            eta,
            window(points, 3 * i, 3),
            window(wrenches, 6 * i, 6),
            force,
        )
    return 0


@callback(table.ACTUATE_SIGNATURE)
def supply(actuator, robot, work, t, h, q, v, effort, a):
    """See numerics/stepping/table.py; pressures, and the forces that they make, follow their commands with a
    lag.

    T f' = c - f with the command c held (docs/theory/continuum.md, "Time"): what acts during the step is
    the mean of its solution.
    """
    n = 3 * open_arm(robot).n
    memory, effort = floats_at(actuator, SUPPLY_ROWS * n), floats_at(effort, n)
    for i in range(n):
        T = memory[SUPPLY_LAG * n + i]
        if T > 0.0:
            command = min(max(effort[i], memory[SUPPLY_LEAST * n + i]), memory[SUPPLY_LARGEST * n + i])
            gap = memory[SUPPLY_FORCE * n + i] - command
            decay = -np.expm1(-h / T)
            effort[i] = command + gap * decay * T / h
            memory[SUPPLY_FORCE * n + i] = command + gap * (1.0 - decay)
    return 0


CONTINUUM_MOTION = {
    table.PREPARE: prepare,
    table.ACCELERATE: accelerate,
    table.LOSSES: losses,
    table.ENERGIES: energies,
    table.LOAD: load,
}
LAGGING_MOTION = CONTINUUM_MOTION | {table.ACTUATE: supply}
