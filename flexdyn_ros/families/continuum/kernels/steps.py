"""Fixed steps of a soft arm: its functions in the table of numerics/verbs/table.py.

Work memory: that of the verbs (views.py), whose last number keeps h of the last step. Springs,
dampers and bending stiffness of the actuators are implicit, and so are stops, as the rates at the start of a
step take the actuators into them. Where pressures follow their commands with a lag, the memory of the
actuators holds the forces of the supply.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .recursions import forward_recursion, spread_nan
from .section import damper_force, stop_damping, stop_depth
from .views import STOP_DAMPER, open_arm, section_numbers, work_numbers

# rows of the memory of a lagging supply, one number per actuator in each: time constant [s], least and
# largest force that its pressures make, force now [N]
SUPPLY_LAG, SUPPLY_LEAST, SUPPLY_LARGEST, SUPPLY_FORCE = range(4)
SUPPLY_ROWS = 4


@kernel
def work_of(arm, work):
    """Work memory of an arm."""
    return floats_at(work, work_numbers(arm.n))


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; by articulated sections."""
    arm = open_arm(robot_of(robot))
    n = 3 * arm.n
    work_of(arm, work)[work_numbers(arm.n) - 1] = h
    a = floats_at(a, n)
    q, v, force, extra = floats_at(q, n), floats_at(v, n), floats_at(force, n), floats_at(extra, n)
    forward_recursion(arm, work_of(arm, work), q, v, force, extra, h, a)
    spread_nan(a)
    return 0


@callback(table.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py; dampers, and those of stops as `accelerate` took them last."""
    arm = open_arm(robot_of(robot))
    n = 3 * arm.n
    h = work_of(arm, work)[work_numbers(arm.n) - 1]
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


@callback(table.actuate.signature)
def supply(actuator, robot, work, t, h, q, v, effort, a):
    """See numerics/verbs/table.py; pressures, and the forces that they make, follow their commands with a
    lag.

    T f' = c - f with the command c held (docs/theory/continuum.md, "Time"): what acts during the step is
    the mean of its solution.
    """
    n = 3 * open_arm(robot_of(robot)).n
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


functions = {"accelerate": accelerate, "losses": losses}
#: where pressures lag behind their commands
lagging = {"actuate": supply}
