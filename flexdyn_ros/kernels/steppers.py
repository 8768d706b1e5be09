"""Fixed steps of a simulated robot of any family.

Semi-implicit Euler, Runge-Kutta 4, the linearly implicit "rosenbrock", and "staggered".

All move on the configuration manifold (kernels/manifold.py) and carry work and dissipated energy along as two
more states, so that energy - work + dissipated stays constant to the order of the method. What the family
contributes they call through its table of functions (kernels/motion.py).

rosenbrock: linearly implicit Euler steps (M + h D + h^2 K) (v1 - v0) = h (f(q0, v0) - h K v0), q1 = q0 + h
v1, with D and K the slopes of servo and stops (kernels/steppers_forces.py) and those that the family names,
one pass of its forward dynamics each; one step of h and two of h/2 are extrapolated to order two (Deuflhard
1985; Hairer & Wanner 1996, section IV.9; T22 of the harmonic sequence is A-stable and vanishes at infinity).
The expansion in h exists for any smooth D and K, so that the order does not depend on their being the
derivatives. T33 would be of order three, but makes undamped oscillations with 0.4 < w h < 0.8 grow by up to
0.16 % a step.

staggered: for actuators with states of their own that are stiff against the robot's inertia, as trapped oil
is. They move on with the accelerations that the robot has, then the robot moves with the mean of the
accelerations before and after (velocity Verlet): symmetric in time, of order two.
"""

from __future__ import annotations

import numpy as np

from .compiler import entry, kernel
from .manifold import displacement, move
from .memory import ints_at
from .motion import (
    ACTUATE,
    ENERGIES,
    PREPARE,
    address_of,
    call_actuate,
    call_energies,
    call_prepare,
    table_at,
)
from .steppers_forces import (
    accelerate,
    exert,
    explicit_rates,
    gather_wrenches,
    losses,
    observe,
    penetration,
    servo_effort,
    stop_position,
    supply,
)
from .steppers_memory import (
    ACCOUNT,
    DISSIPATED,
    KINETIC,
    RK4,
    ROSENBROCK,
    S_ACTUATOR,
    S_METHOD,
    S_ROBOT,
    S_SATURATE,
    S_STOPS,
    S_TABLE,
    S_WORK,
    STAGGERED,
    STEP_HEADER,
    WORK_DONE,
    open_chart,
    open_steps,
)

_V = "float64[::1]"
_M = "float64[:,::1]"

#: how a call ends
OK, NOT_FINITE, DIVERGED = 0, 1, 2
#: times that a step is repeated because efforts of more coordinates turn out to be clipped
REPEATS = 4


# ---- what comes before a step ----


@kernel
def actuate(steps, t, h, a):
    """memory.drive: what the actuators make of the command, after they have moved on by h."""
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
    function = table_at(head[S_TABLE])[ACTUATE]
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
def start_step(steps, t, h):
    """Let the actuators act, mark memory.at_stop (1, -1: beyond upper, lower limit) at the state, and forget
    which efforts were clipped.

    All are held for all parts of a step: an extrapolation over parts that differ in them is none. Staggered
    steps let the actuators act in two parts: h = 0 asks for what they exert now.
    """
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    actuate(steps, t, 0.0 if head[S_METHOD] == STAGGERED else h, memory.given)
    for i in range(memory.nq):
        memory.q0[i] = memory.q[i]
    for i in range(memory.nv):
        memory.v0[i] = memory.v[i]
    if head[S_STOPS] != 0:
        observe(steps, memory.q0, memory.v0)
    for i in range(memory.nu):
        beyond = penetration(memory, i, memory.position[i]) if head[S_STOPS] != 0 else 0.0
        memory.at_stop[i] = 0 if beyond == 0.0 else (1 if beyond > 0.0 else -1)
        memory.clipped[i] = 0


# ---- one linearly implicit Euler step ----


@kernel
def implicit_euler(steps, t, h, q0, v0, account0, q1, v1, account1, effort):
    """One step of h from (q0, v0, account0) to (q1, v1, account1); effort = what drive and servo exert."""
    gather_wrenches(steps, q0)
    solve_euler(steps, t, h, q0, v0, v1)
    settle_accounts(steps, t, h, q0, v0, account0, v1, account1, effort)
    move(open_chart(steps), q0, v1, h, q1)


@kernel
def solve_euler(steps, t, h, q0, v0, v1):
    """v1 = v0 + h (M + h D + h^2 K)^-1 (f(q0, v0) - h K v0)."""
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    nv = memory.nv
    observe(steps, q0, v0)
    u = memory.effort3
    for i in range(memory.nu):
        k = 0.0
        d = 0.0
        if memory.clipped[i] == 0:
            f = servo_effort(memory, i)
            k += memory.servo_stiffness[i]
            d += memory.servo_damping[i]
        else:
            f = np.copysign(memory.effort_limit[i], float(memory.clipped[i]))
        if head[S_STOPS] != 0 and memory.at_stop[i] != 0:
            beyond = memory.position[i] - stop_position(memory, i)
            f -= memory.stop_stiffness[i] * beyond + memory.stop_damping[i] * memory.speed[i]
            k += memory.stop_stiffness[i]
            d += memory.stop_damping[i]
        memory.extra[i] = h * (d + h * k)
        u[i] = f - h * k * memory.speed[i]
    a, force = memory.stage[0:nv], memory.stage[6 * nv : 7 * nv]
    exert(steps, q0, u, force)
    for i in range(nv):
        a[i] = memory.given[i]
    accelerate(steps, t, q0, v0, force, memory.extra, h if head[S_METHOD] == ROSENBROCK else 0.0, a)
    for i in range(nv):
        v1[i] = v0[i] + h * a[i]


@kernel
def clip_efforts(steps, effort):
    """Mark efforts beyond their limits as clipped.

    Returns how many are new. A step is repeated until there are none.
    """
    memory = open_steps(steps)
    found = 0
    if ints_at(steps, STEP_HEADER)[S_SATURATE] != 0:
        for i in range(memory.nu):
            if memory.clipped[i] == 0 and abs(effort[i]) > memory.effort_limit[i]:
                memory.clipped[i] = 1 if effort[i] > 0.0 else -1
                memory.saturated[i] = 1
                found += 1
    return found


@kernel
def settle_accounts(steps, t, h, q0, v0, account0, v1, account1, effort):
    """Efforts, work and dissipation of the step just solved: each force's impulse times the mean velocity.

    With constant inertia this is the kinetic energy that the impulse brings, so that it stays right when a
    stiff damper stops a joint within the step.
    """
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    nv = memory.nv
    work = 0.0
    taken = 0.0
    # memory.position and memory.speed are those of (q0, v0)
    for i in range(memory.nu):
        memory.extra[i] = memory.speed[i]
    observe(steps, q0, v1)
    for i in range(memory.nu):
        speed = memory.speed[i]
        mean = 0.5 * h * (memory.extra[i] + speed)
        if memory.clipped[i] != 0:
            effort[i] = np.copysign(memory.effort_limit[i], float(memory.clipped[i]))
        else:
            effort[i] = servo_effort(memory, i) - h * memory.servo_stiffness[i] * speed
        work += effort[i] * mean
        if head[S_STOPS] != 0 and memory.at_stop[i] != 0:
            beyond = memory.position[i] + h * speed - stop_position(memory, i)
            taken += (memory.stop_stiffness[i] * beyond + memory.stop_damping[i] * speed) * mean
    mean_v, force = memory.stage[7 * nv : 8 * nv], memory.stage[6 * nv : 7 * nv]
    for i in range(nv):
        mean_v[i] = 0.5 * h * (v0[i] + v1[i])
        work += memory.load[i] * mean_v[i]
        if memory.prescribed[i] != 0:
            work += (force[i] - memory.load[i] - effort[i]) * mean_v[i]
            effort[i] = force[i] - memory.load[i]
    taken += losses(steps, t, q0, v0, v1 if head[S_METHOD] == ROSENBROCK else v0, mean_v)
    work += supply(steps)
    account1[WORK_DONE] = account0[WORK_DONE] + work
    account1[DISSIPATED] = account0[DISSIPATED] + taken


# ---- the methods: from (q0, v0, account) to (q1, v1, account1) ----


@kernel
def step_rosenbrock(steps, t, h):
    """Extrapolate one step of h and two of h/2; again with more efforts clipped if they are too large."""
    memory = open_steps(steps)
    for _ in range(REPEATS):
        implicit_euler(
            steps,
            t,
            h,
            memory.q0,
            memory.v0,
            memory.account,
            memory.q2,
            memory.v2,
            memory.account2,
            memory.effort2,
        )
        if clip_efforts(steps, memory.effort2) == 0:
            halve_and_extrapolate(steps, t, h)
            if clip_efforts(steps, memory.effort1) == 0:
                return
    halve_and_extrapolate(steps, t, h)


@kernel
def halve_and_extrapolate(steps, t, h):
    """Two steps of h/2, and twice their result less that of the step of h in q2, v2, account2, effort2.

    Writes q1, v1, account1, effort1.
    """
    memory = open_steps(steps)
    chart = open_chart(steps)
    nv = memory.nv
    # memory.q is kept in q0 by the caller and serves as the half-way point here
    qh, vh, effort = memory.q, memory.stage[nv : 2 * nv], memory.effort4
    half = 0.5 * h
    implicit_euler(steps, t, half, memory.q0, memory.v0, memory.account, qh, vh, memory.account1, effort)
    implicit_euler(
        steps, t + half, half, qh, vh, memory.account1, memory.q1, memory.v1, memory.account1, memory.effort1
    )
    for i in range(memory.nu):
        memory.effort1[i] += effort[i] - memory.effort2[i]
    for i in range(nv):
        memory.v1[i] = 2.0 * memory.v1[i] - memory.v2[i]
    for i in range(2):
        memory.account1[i] = 2.0 * memory.account1[i] - memory.account2[i]
    d = memory.stage[0:nv]
    displacement(chart, memory.zeros, memory.q2, memory.q1, d)
    move(chart, memory.q1, d, 1.0, memory.q1)


@kernel
def step_euler(steps, t, h):
    """Semi-implicit (symplectic) Euler: velocity first, then the position with the new velocity."""
    memory = open_steps(steps)
    for _ in range(REPEATS):
        implicit_euler(
            steps,
            t,
            h,
            memory.q0,
            memory.v0,
            memory.account,
            memory.q1,
            memory.v1,
            memory.account1,
            memory.effort1,
        )
        if clip_efforts(steps, memory.effort1) == 0:
            return


@kernel
def chart_rate(chart, theta, v, out):
    """Rate of theta in q = q0 (+) theta when the velocity is v.

    For turns that is dexp^-1, here up to the second order in theta.

    Hairer, Lubich & Wanner 2006, section III.4: w - [theta, w]/2 + [theta, [theta, w]]/12.
    """
    for i in range(chart.nv):
        out[i] = v[i]
    for b in range(1, chart.nb):
        i = chart.v_index[b]
        x, y, z = theta[i], theta[i + 1], theta[i + 2]
        ux, uy, uz = y * v[i + 2] - z * v[i + 1], z * v[i] - x * v[i + 2], x * v[i + 1] - y * v[i]
        out[i] += -0.5 * ux + (y * uz - z * uy) / 12.0
        out[i + 1] += -0.5 * uy + (z * ux - x * uz) / 12.0
        out[i + 2] += -0.5 * uz + (x * uy - y * ux) / 12.0


@kernel
def step_rk4(steps, t, h):
    """The classical Runge-Kutta method in the tangent space of the first point (Munthe-Kaas 1999)."""
    memory = open_steps(steps)
    chart = open_chart(steps)
    nv = memory.nv
    s = memory.stage
    a, theta, rate = s[0:nv], s[nv : 2 * nv], s[2 * nv : 3 * nv]
    sum_q, sum_v = s[3 * nv : 4 * nv], s[4 * nv : 5 * nv]
    # the mean effort is kept as what it differs from the first one
    sum_u, first = memory.effort4, memory.effort1
    for i in range(nv):
        sum_q[i] = sum_v[i] = theta[i] = 0.0
        memory.v2[i] = memory.v0[i]
    for i in range(memory.nu):
        sum_u[i] = 0.0
    memory.account1[WORK_DONE] = memory.account[WORK_DONE]
    memory.account1[DISSIPATED] = memory.account[DISSIPATED]
    for j in range(4):
        share = 2.0 if j == 1 or j == 2 else 1.0
        weight = share * h / 6.0
        ahead = h if j == 2 else 0.5 * h
        now = t if j == 0 else (t + h if j == 3 else t + 0.5 * h)
        move(chart, memory.q0, theta, 1.0, memory.q2)
        explicit_rates(steps, now, memory.q2, memory.v2, a, memory.effort2, memory.account2)
        chart_rate(chart, theta, memory.v2, rate)
        for i in range(memory.nu):
            if j == 0:
                first[i] = memory.effort2[i]
            sum_u[i] += share * (memory.effort2[i] - first[i])
        for i in range(nv):
            sum_q[i] += weight * rate[i]
            sum_v[i] += weight * a[i]
            theta[i] = ahead * rate[i]
            memory.v2[i] = memory.v0[i] + ahead * a[i]
        memory.account1[WORK_DONE] += weight * memory.account2[0]
        memory.account1[DISSIPATED] += weight * memory.account2[1]
    move(chart, memory.q0, sum_q, 1.0, memory.q1)
    for i in range(nv):
        memory.v1[i] = memory.v0[i] + sum_v[i]
    for i in range(memory.nu):
        first[i] += sum_u[i] / 6.0
        if memory.clipped[i] != 0:
            memory.saturated[i] = 1


@kernel
def step_staggered(steps, t, h):
    """Actuators, positions, velocities: one after the other (parallel specification, section 8.3)."""
    memory = open_steps(steps)
    chart = open_chart(steps)
    nv = memory.nv
    before, half_way, after = memory.stage[0:nv], memory.stage[nv : 2 * nv], memory.stage[2 * nv : 3 * nv]
    explicit_rates(steps, t, memory.q0, memory.v0, before, memory.effort1, memory.account1)
    actuate(steps, t, h, before)
    for i in range(nv):
        half_way[i] = memory.v0[i] + 0.5 * h * before[i]
        memory.v2[i] = memory.v0[i] + h * before[i]
    move(chart, memory.q0, half_way, h, memory.q1)
    explicit_rates(steps, t + h, memory.q1, memory.v2, after, memory.effort2, memory.account2)
    for i in range(nv):
        memory.v1[i] = memory.v0[i] + 0.5 * h * (before[i] + after[i])
    for i in range(memory.nu):
        memory.effort1[i] = 0.5 * (memory.effort1[i] + memory.effort2[i])
        if memory.clipped[i] != 0:
            memory.saturated[i] = 1
    for i in range(2):
        memory.account1[i] = memory.account[i] + 0.5 * h * (memory.account1[i] + memory.account2[i])


# ---- the loop ----


@kernel
def take_step(steps, t, h):
    """One step; the state moves only if the new one is finite and within memory.v_bound."""
    memory = open_steps(steps)
    method = ints_at(steps, STEP_HEADER)[S_METHOD]
    start_step(steps, t, h)
    if method == RK4:
        step_rk4(steps, t, h)
    elif method == ROSENBROCK:
        step_rosenbrock(steps, t, h)
        for i in range(memory.nq):
            memory.q[i] = memory.q0[i]
    elif method == STAGGERED:
        step_staggered(steps, t, h)
    else:
        step_euler(steps, t, h)
    status = judge(memory)
    if status == OK:
        for i in range(memory.nq):
            memory.q[i] = memory.q1[i]
        for i in range(memory.nv):
            memory.a[i] = (memory.v1[i] - memory.v0[i]) / h
            memory.v[i] = memory.v1[i]
        for i in range(memory.nu):
            memory.effort[i] = memory.effort1[i]
        memory.account[WORK_DONE] = memory.account1[WORK_DONE]
        memory.account[DISSIPATED] = memory.account1[DISSIPATED]
    return status


@kernel
def judge(memory):
    """OK, NOT_FINITE or DIVERGED for the state q1, v1."""
    s = memory.account1[WORK_DONE] - memory.account1[WORK_DONE]
    s += memory.account1[DISSIPATED] - memory.account1[DISSIPATED]
    for i in range(memory.nq):
        s += memory.q1[i] - memory.q1[i]
    fast = False
    for i in range(memory.nv):
        s += memory.v1[i] - memory.v1[i]
        fast |= abs(memory.v1[i]) > memory.v_bound[i]
    if s != 0.0:
        return NOT_FINITE
    return DIVERGED if fast else OK


@kernel
def look_around(steps, t):
    """Energies of the state, and which positions are beyond their limits."""
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    arguments = (
        head[S_ROBOT],
        head[S_WORK],
        t,
        address_of(memory.q),
        address_of(memory.v),
        address_of(memory.account[KINETIC:ACCOUNT]),
    )
    call_energies(table_at(head[S_TABLE])[ENERGIES], arguments)
    observe(steps, memory.q, memory.v)
    for i in range(memory.nu):
        memory.at_stop[i] = 1 if penetration(memory, i, memory.position[i]) != 0.0 else 0


@entry("int64(int64)")
def prepare_memory(steps):
    """Make the work memory ready and leave the state alone."""
    head = ints_at(steps, STEP_HEADER)
    return call_prepare(table_at(head[S_TABLE])[PREPARE], (head[S_ROBOT], head[S_WORK]))


@entry("int64(int64, float64)")
def prepare_steps(steps, t):
    """Make the work arrays ready, and write a and the energies of the state; NOT_FINITE if a is not."""
    head = ints_at(steps, STEP_HEADER)
    memory = open_steps(steps)
    call_prepare(table_at(head[S_TABLE])[PREPARE], (head[S_ROBOT], head[S_WORK]))
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
        memory.clipped[i] = 0
        memory.saturated[i] = 0
    explicit_rates(steps, t, memory.q, memory.v, memory.a, memory.effort, memory.account2)
    look_around(steps, t)
    s = 0.0
    for i in range(memory.nv):
        s += memory.a[i] - memory.a[i]
    return OK if s == 0.0 else NOT_FINITE


@entry("int64(int64, float64, int64, float64)", nogil=True)
def advance(steps, t, n, h):
    """n steps of h from time t on; returns status + 4 (steps done)."""
    memory = open_steps(steps)
    for i in range(memory.nu):
        memory.saturated[i] = 0
    status = OK
    done = 0
    while done < n and status == OK:
        status = take_step(steps, t + done * h, h)
        done += status == OK
    look_around(steps, t + done * h)
    return status + 4 * done


@entry(f"int64(int64, float64, int64, float64, {_M}, {_M}, {_M}, {_M})", nogil=True)
def roll(steps, t, every, h, q, v, effort, account):
    """Record the state at time t, then `every` steps, and so on until the rows q (n, nq), v (n, nv) are full.

    effort (n, nu) holds the mean efforts of the step that leads away from a sample (the last row: that leads
    to it), account (n, 3) work, dissipated and 1 where an effort was clipped since the last sample. Returns
    status + 4 (steps done).
    """
    memory = open_steps(steps)
    status = OK
    done = 0
    for s in range(q.shape[0]):
        for i in range(memory.nu):
            memory.saturated[i] = 0
        if s > 0:
            for j in range(every):
                status = take_step(steps, t + done * h, h)
                if status != OK:
                    break
                done += 1
                if j == 0:
                    for i in range(memory.nu):
                        effort[s - 1, i] = memory.effort[i]
        if status != OK:
            break
        account[s, 2] = 0.0
        for i in range(memory.nv):
            v[s, i] = memory.v[i]
        for i in range(memory.nu):
            effort[s, i] = memory.effort[i]
            if memory.saturated[i] != 0:
                account[s, 2] = 1.0
        for i in range(memory.nq):
            q[s, i] = memory.q[i]
        account[s, 0], account[s, 1] = memory.account[WORK_DONE], memory.account[DISSIPATED]
    look_around(steps, t + done * h)
    return status + 4 * done


@entry(f"int64(int64, float64, {_V}, {_V}, {_V}, {_V}, {_V})", nogil=True)
def derivative(steps, t, q, v, a, effort, rates):
    """`explicit_rates`, for integrators outside; q's quaternions of unit length."""
    memory = open_steps(steps)
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
        memory.clipped[i] = 0
    explicit_rates(steps, t, q, v, a, effort, rates)
    return OK
