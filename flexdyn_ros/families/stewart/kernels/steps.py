"""Fixed steps of a platform: its functions in the table of numerics/verbs/table.py.

Work memory: that of the verbs (views.py). Hydraulic cylinders act before each step, or in the midst
of it, in one of the two stable orders of docs/theory/hydraulics.md, "Integration". Staggered steps are
symmetric in time: pressures move on while the legs accelerate as they do, and the forces at the end belong to
the rates that the legs are then expected to have. All other methods take the cheaper order: pressures first,
with the rates that the legs have, then the platform moves with the new forces.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.elements.kernels import standing
from flexdyn_ros.families.trees.elements.kernels.views import header_of
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import FOLLOW
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import rod_force, tick_legs
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import (
    ACTUATOR_NUMBERS,
    ACTUATOR_PARAMETERS,
    ACTUATOR_STATES,
    ACTUATOR_WORK,
    BY_FORCE,
    DIRECT,
    FAULTS,
    FORCE,
    FORCE_COMMAND,
    IS_STAGGERED,
    MODE,
    PARAMETER_COUNT,
    SHORTEST,
    STATE_COUNT,
    VALVE,
)  # fmt: skip
from flexdyn_ros.multibody.elements.kernels.standing_legs import leg_line
from flexdyn_ros.numerics.algebra.rotations import matrix_of_quaternion
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .lengths import leg_rows
from .views import FIRST_LEG, LEG_NUMBERS, LEGS, carve_platform, open_platform


@kernel(forceinline=True)
def room(robot, work):
    """The platform, and work memory that no function of the tree uses."""
    address = robot_of(robot)
    header = header_of(address)
    spare = standing.spare_of(header, standing.steps_own(header, work))
    return open_platform(address), carve_platform(spare)


@callback(table.measure.signature)
def observe(robot, work, q, v, position, speed):
    """See numerics/verbs/table.py; lengths of the legs and their rates."""
    model, data = room(robot, work)
    see_legs(model, data.J, floats_at(q, 7), floats_at(v, 6), floats_at(position, 6), floats_at(speed, 6))
    return 0


@kernel
def see_legs(model, J, q, v, length, rate):
    """Lengths and rates (6,) of the legs; writes J."""
    leg_rows(model, q, J, length)
    for i in range(LEGS):
        s = 0.0
        for j in range(6):
            s += J[6 * i + j] * v[j]
        rate[i] = s


@callback(table.exert.signature)
def exert(robot, work, q, effort, force):
    """See numerics/verbs/table.py; force += J^T tau."""
    model, data = room(robot, work)
    effort, force = floats_at(effort, LEGS), floats_at(force, 6)
    leg_rows(model, floats_at(q, 7), data.J, data.x)
    for i in range(6):
        for k in range(LEGS):
            force[i] += data.J[6 * k + i] * effort[k]
    return 0


@callback(table.actuate.signature)
def actuate(actuator, robot, work, t, h, q, v, effort, a):
    """See numerics/verbs/table.py; cylinders turn valve openings or forces asked for into forces.

    Staggered steps ask twice: with h = 0 for the forces as they are, then for those after h, the platform
    accelerating by a.
    """
    memory = floats_at(actuator, ACTUATOR_NUMBERS)
    if memory[MODE] != DIRECT:
        model, data = room(robot, work)
        q, v, a, effort = floats_at(q, 7), floats_at(v, 6), floats_at(a, 6), floats_at(effort, LEGS)
        if h != 0.0:
            drive_cylinders(model, data.J, memory, q, v, a, effort, h)
        else:
            exert_cylinders(model, data.J, memory, q, v, effort)
    return 0


@kernel
def see_accelerations(model, J, q, v, a, rate, out):
    """Second derivatives (6,) of the lengths of the legs, with J and rate as `see_legs` writes them."""
    R = matrix_of_quaternion(q[3], q[4], q[5], q[6])
    ww = v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    for i in range(LEGS):
        r, s, ell, _ = leg_line(model.f, FIRST_LEG + LEG_NUMBERS * i, R, q[0], q[1], q[2])
        ux = v[3] + v[1] * r[2] - v[2] * r[1]
        uy = v[4] + v[2] * r[0] - v[0] * r[2]
        uz = v[5] + v[0] * r[1] - v[1] * r[0]
        wr = v[0] * r[0] + v[1] * r[1] + v[2] * r[2]
        ws = v[0] * s[0] + v[1] * s[1] + v[2] * s[2]
        rs = r[0] * s[0] + r[1] * s[1] + r[2] * s[2]
        # s . (w x (w x r)) + (|v_B|^2 - ell'^2) / ell, and J a
        x = wr * ws - ww * rs + (ux * ux + uy * uy + uz * uz - rate[i] * rate[i]) / ell
        for j in range(6):
            x += J[6 * i + j] * a[j]
        out[i] = x


@kernel
def exert_cylinders(model, J, memory, q, v, effort):
    """effort (6,) = forces of the cylinders as they are."""
    at = ACTUATOR_WORK + STATE_COUNT
    length, rate = window(memory, at, 6), window(memory, at + 6, 6)
    see_legs(model, J, q, v, length, rate)
    for i in range(LEGS):
        p, x = ACTUATOR_PARAMETERS + i * PARAMETER_COUNT, ACTUATOR_STATES + i * STATE_COUNT
        P, X = window(memory, p, PARAMETER_COUNT), window(memory, x, STATE_COUNT)
        effort[i] = rod_force(P, X, length[i] - P[SHORTEST], rate[i])


@kernel
def drive_cylinders(model, J, memory, q, v, a, effort, h):
    """One tick of the cylinders; effort (6,) holds the command and gets the forces, NaN after a fault."""
    at = ACTUATOR_WORK + STATE_COUNT
    length, rate = window(memory, at, 6), window(memory, at + 6, 6)
    acceleration, command = window(memory, at + 12, 6), window(memory, at + 18, 6)
    see_legs(model, J, q, v, length, rate)
    for i in range(LEGS):
        acceleration[i], command[i] = 0.0, effort[i]
    # legs of staggered steps move as foreseen; those of other methods with the forces of this tick
    if memory[IS_STAGGERED] != 0.0:
        see_accelerations(model, J, q, v, a, rate, acceleration)
        follow = 1.0
    else:
        follow = min(FOLLOW * h, 1.0)
    states = memory[ACTUATOR_STATES:ACTUATOR_NUMBERS]
    mode = FORCE_COMMAND if memory[MODE] == BY_FORCE else VALVE
    faults = tick_legs(
        memory[ACTUATOR_PARAMETERS:ACTUATOR_STATES], states, memory[ACTUATOR_WORK:at],
        length, rate, acceleration, command, mode, h, follow,
    )  # fmt: skip
    memory[FAULTS] += faults
    for i in range(LEGS):
        effort[i] = states[STATE_COUNT * i + FORCE] if faults == 0 else np.nan


functions = {"measure": observe, "exert": exert}
#: where the legs have cylinders
hydraulic = {"actuate": actuate}
