"""Forces in a simulation by fixed steps: command, servo, stops, wrenches; and what they do to the robot.

Every force that acts along one effort alone has the form f = f0 - k (y - y0) - d (y' - y0'), y what the
actuator measures (a joint's position; the length of a leg), with slopes k, d >= 0 that an implicit step puts
on the diagonal `extra`. What the family exerts by itself it treats likewise (numerics/verbs/table.py).
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import equal, holds
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.table import (
    call_accelerate,
    call_actuate,
    call_comply,
    call_constrain,
    call_exert,
    call_finish,
    call_load,
    call_losses,
    call_measure,
    call_provide,
    call_ready,
    call_settle,
    call_supply,
    table_at,
)

from .memory import (
    S_ACTUATOR,
    S_PROVIDE,
    S_ROBOT,
    S_SATURATE,
    S_STOPS,
    S_TABLE,
    S_WORK,
    header_of,
    open_steps,
)


@kernel
def prepare(steps):
    """Make the work memory ready."""
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.READY]
    return 0 if function == 0 else call_ready(function, (head[S_ROBOT], head[S_WORK]))


@kernel
def accelerate(steps, t, q, v, force, extra, h, a):
    """a = (M + B diag(extra) B' + h D + h^2 K)^-1 (force - bias - h K v); force is overwritten."""
    head = header_of(steps)
    arguments = (
        head[S_ROBOT],
        head[S_WORK],
        t,
        address_of(q),
        address_of(v),
        address_of(force),
        address_of(extra),
        h,
        address_of(a),
    )
    call_accelerate(table_at(head[S_TABLE])[table.ACCELERATE], arguments)


@kernel
def losses(steps, t, q, v0, speed, mean):
    """Power speed' D mean that the family's own resistance takes, D as it is at v0.

    With one array for v0, speed and mean only right after `accelerate` at the same q and v.
    """
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.LOSSES]
    if function == 0:
        return 0.0
    arguments = (
        head[S_ROBOT],
        head[S_WORK],
        t,
        address_of(q),
        address_of(v0),
        address_of(speed),
        address_of(mean),
    )
    return call_losses(function, arguments)


@kernel
def supply(steps):
    """Power that the surroundings give, after `losses`."""
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.SUPPLY]
    return 0.0 if function == 0 else call_supply(function, (head[S_ROBOT], head[S_WORK]))


@kernel
def observe(steps, q, v):
    """Write memory.position and memory.speed: what the actuators measure at (q, v)."""
    head = header_of(steps)
    memory = open_steps(steps)
    function = table_at(head[S_TABLE])[table.MEASURE]
    if function != 0:
        arguments = (
            head[S_ROBOT],
            head[S_WORK],
            address_of(q),
            address_of(v),
            address_of(memory.position),
            address_of(memory.speed),
        )
        call_measure(function, arguments)
        return
    for i in range(memory.nu):
        at = memory.q_of_v[i]
        memory.position[i] = q[at] if at >= 0 else 0.0
        memory.speed[i] = v[i]


@kernel
def exert(steps, q, effort, force):
    """force = load of the wrenches + B effort."""
    head = header_of(steps)
    memory = open_steps(steps)
    function = table_at(head[S_TABLE])[table.EXERT]
    if function == 0:
        for i in range(memory.nv):
            force[i] = memory.load[i] + effort[i]
        return
    for i in range(memory.nv):
        force[i] = memory.load[i]
    arguments = (head[S_ROBOT], head[S_WORK], address_of(q), address_of(effort), address_of(force))
    call_exert(function, arguments)


@kernel
def gather_wrenches(steps, q):
    """memory.load = sum J' w."""
    head = header_of(steps)
    memory = open_steps(steps)
    for i in range(memory.nv):
        memory.load[i] = 0.0
    k = memory.bodies.shape[0]
    if k == 0:
        return
    arguments = (
        head[S_ROBOT],
        head[S_WORK],
        address_of(q),
        k,
        address_of(memory.bodies),
        address_of(memory.points),
        address_of(memory.wrenches),
        address_of(memory.load),
    )
    call_load(table_at(head[S_TABLE])[table.LOAD], arguments)


@kernel(forceinline=True)
def penetration(memory, i, x):
    """How far position x is beyond the limits of actuator i, signed; 0 inside."""
    if x > memory.upper[i]:
        return x - memory.upper[i]
    if x < memory.lower[i]:
        return x - memory.lower[i]
    return 0.0


@kernel(forceinline=True)
def stop_position(memory, i):
    """The limit that actuator i is beyond according to memory.at_stop."""
    return memory.upper[i] if memory.at_stop[i] > 0 else memory.lower[i]


@kernel(forceinline=True)
def servo_effort(memory, i):
    """Drive plus servo of actuator i at memory.position, memory.speed, before clipping."""
    effort = memory.drive[i]
    if not holds(equal(memory.servo_stiffness[i], 0.0)):
        effort += memory.servo_stiffness[i] * (memory.target_q[i] - memory.position[i])
    if not holds(equal(memory.servo_damping[i], 0.0)):
        effort += memory.servo_damping[i] * (memory.target_v[i] - memory.speed[i])
    return effort


@kernel
def actuate(steps, t, h, a):
    """memory.drive: what the actuators make of the command, after they have moved on by h."""
    head = header_of(steps)
    memory = open_steps(steps)
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
    function = table_at(head[S_TABLE])[table.ACTUATE]
    if function != 0:
        arguments = (
            head[S_ACTUATOR],
            head[S_ROBOT],
            head[S_WORK],
            t,
            h,
            address_of(memory.q),
            address_of(memory.v),
            address_of(memory.drive),
            address_of(a),
        )
        call_actuate(function, arguments)


@kernel
def comply(steps, h):
    """Let actuators that are springs while an implicit step lasts say their forces and slopes, at the motion
    in memory.position and memory.speed."""
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.COMPLY]
    if function != 0:
        memory = open_steps(steps)
        servo = address_of(memory.servo_stiffness), address_of(memory.servo_damping)
        targets = address_of(memory.target_q), address_of(memory.target_v)
        motion = address_of(memory.position), address_of(memory.speed)
        call_comply(function, (head[S_ACTUATOR], h, *motion, address_of(memory.drive), *servo, *targets))


@kernel
def settle(steps, h):
    """Tell those actuators the speeds at the end of a part of an implicit step, in memory.speed."""
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.SETTLE]
    if function != 0:
        call_settle(function, (head[S_ACTUATOR], h, address_of(open_steps(steps).speed)))


@kernel
def finish(steps, must):
    """Let those actuators end the step: 0, or less where a longer one would do; more where it is to be made
    again in two, unless it `must` do."""
    head = header_of(steps)
    function = table_at(head[S_TABLE])[table.FINISH]
    return 0 if function == 0 else call_finish(function, (head[S_ACTUATOR], must))


@kernel(forceinline=True)
def has_constraints(steps):
    """Whether the robot has constraints."""
    return table_at(header_of(steps)[S_TABLE])[table.CONSTRAIN] != 0


@kernel
def constrain(steps, q, v):
    """Move a state at the end of a step onto the robot's constraints; 0 if it is near them."""
    head = header_of(steps)
    if not has_constraints(steps):
        return 0
    function = table_at(head[S_TABLE])[table.CONSTRAIN]
    return call_constrain(function, (head[S_ROBOT], head[S_WORK], address_of(q), address_of(v)))


@kernel
def provide(steps, t, q, v):
    """Let whoever follows time and state write efforts, wrenches, given accelerations; 0 if that was done."""
    function = header_of(steps)[S_PROVIDE]
    return 0 if function == 0 else call_provide(function, (t, address_of(q), address_of(v)))


@kernel
def explicit_rates(steps, t, q, v, a, effort, rates):
    """Motion at (q, v) with nothing implicit; for explicit methods and integrators outside.

    Writes a (nv,), effort (nu,) = drive and servo after clipping, rates = (power of efforts, wrenches and
    surroundings, power taken by the family's resistance, stops and scaled masses) [W]; marks memory.clipped.
    """
    q, v, a, effort, rates = borrowed(q), borrowed(v), borrowed(a), borrowed(effort), borrowed(rates)
    if provide(steps, t, q, v) != 0:
        a[:] = np.nan
        rates[0] = rates[1] = np.nan
        return
    head = header_of(steps)
    memory = open_steps(steps)
    gather_wrenches(steps, q)
    observe(steps, q, v)
    force = window(memory.stage, 6 * memory.nv, memory.nv)
    total = memory.effort3
    taken, work = 0.0, 0.0
    for i in range(memory.nu):
        u = servo_effort(memory, i)
        if head[S_SATURATE] != 0 and abs(u) > memory.effort_limit[i]:
            u = np.copysign(memory.effort_limit[i], u)
            memory.clipped[i] = 1
        effort[i] = u
        memory.extra[i] = memory.scaled[i]
        speed = memory.speed[i]
        work += u * speed
        total[i] = u
        if head[S_STOPS] != 0:
            beyond = penetration(memory, i, memory.position[i])
            if beyond != 0.0:
                stop = -memory.stop_stiffness[i] * beyond - memory.stop_damping[i] * speed
                total[i] += stop
                taken -= stop * speed
    exert(steps, q, total, force)
    for i in range(memory.nv):
        a[i] = memory.given[i]
    accelerate(steps, t, q, v, force, memory.extra, 0.0, a)
    taken += losses(steps, t, q, v, v, v)
    work += supply(steps)
    for i in range(memory.nu):
        # an added mass takes what it holds, and gives it back
        if memory.scaled[i] != 0.0:
            taken += memory.scaled[i] * a[i] * v[i]
    for i in range(memory.nv):
        work += memory.load[i] * v[i]
        if memory.prescribed[i] != 0:
            work += (force[i] - memory.load[i] - effort[i]) * v[i]
            effort[i] = force[i] - memory.load[i]
    rates[0], rates[1] = work, taken
