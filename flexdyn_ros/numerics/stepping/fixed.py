"""Fixed steps of a simulated robot of any family.

Semi-implicit Euler, Runge-Kutta 4, the linearly implicit "rosenbrock", and "staggered".

All move on the configuration manifold (numerics/algebra/manifold.py) and carry work and dissipated energy
along as two more states, so that energy - work + dissipated stays constant to the order of the method. What
the family contributes they call through its table of functions (numerics/verbs/table.py). The methods are
in implicit.py and explicit.py, behind the addresses of methods.py.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import entry, inlined, kernel

from . import memory as at
from .defect import energies_of, total_energy
from .forces import (
    actuate,
    constrain,
    explicit_rates,
    finish,
    has_constraints,
    observe,
    penetration,
    prepare,
)
from .memory import header_of, open_steps
from .methods import call_method

_V = "float64[::1]"
_M = "float64[:,::1]"

#: how a call ends
OK, NOT_FINITE, DIVERGED, OPENED = 0, 1, 2, 3
#: a step is halved six times at most
PARTS = 64


@kernel
def start_step(steps, t, h):
    """Let the actuators act, mark memory.at_stop (1, -1: beyond upper, lower limit) at the state, and forget
    which efforts were clipped.

    All are held for all parts of a step: an extrapolation over parts that differ in them is none. Staggered
    steps let the actuators act in two parts: h = 0 asks for what they exert now.
    """
    head = header_of(steps)
    memory = open_steps(steps)
    actuate(steps, t, 0.0 if head[at.S_METHOD] == at.STAGGERED else h, memory.given)
    for i in range(memory.nq):
        memory.q0[i] = memory.q[i]
    for i in range(memory.nv):
        memory.v0[i] = memory.v[i]
    if head[at.S_STOPS] != 0:
        observe(steps, memory.q0, memory.v0)
    for i in range(memory.nu):
        beyond = penetration(memory, i, memory.position[i]) if head[at.S_STOPS] != 0 else 0.0
        memory.at_stop[i] = 0 if beyond == 0.0 else (1 if beyond > 0.0 else -1)
        memory.clipped[i] = 0


# ---- the loop ----


@inlined
def take_step(steps, t, h):
    """One step, in shorter ones where actuators ask for them; the state moves only if the new one is finite,
    within memory.v_bound and near the constraints."""
    memory = open_steps(steps)
    start_step(steps, t, h)
    call_method(header_of(steps)[at.S_STEP], (steps, t, h))
    if finish(steps, 0) > 0:
        return take_parts(steps, t, h)
    status = check_state(memory)
    if status == OK:
        status = close_state(steps)
    if status == OK:
        take_over(memory, h)
    return status


@kernel
def take_parts(steps, t, h):
    """A step of h in parts as long as actuators let them be; where one fails the state is where it began."""
    memory = open_steps(steps)
    status, done, size = OK, 0, PARTS // 2
    while done < PARTS and status == OK:
        part, begin = h * size / PARTS, t + h * done / PARTS
        start_step(steps, begin, part)
        call_method(header_of(steps)[at.S_STEP], (steps, begin, part))
        verdict = finish(steps, size == 1)
        if verdict > 0 and size > 1:
            size //= 2
            continue
        status = check_state(memory)
        if status == OK:
            status = close_state(steps)
        if status == OK:
            # efforts are those of the whole step in the mean
            for i in range(memory.nu):
                memory.effort1[i] = (done * memory.effort[i] + size * memory.effort1[i]) / (done + size)
            take_over(memory, part)
        done += size
        if verdict < 0 and done % (2 * size) == 0:
            size *= 2
    return status


@kernel
def close_state(steps):
    """Move the state q1, v1 onto the constraints, and book what energy that takes; OK, or OPENED."""
    if not has_constraints(steps):
        return OK
    memory = open_steps(steps)
    books = header_of(steps)[at.S_DEFECT] != 0
    before = total_energy(steps, memory.q1, memory.v1) if books else 0.0
    if constrain(steps, memory.q1, memory.v1) != 0:
        return OPENED
    if books:
        memory.account1[at.NUMERICAL] += before - total_energy(steps, memory.q1, memory.v1)
    return OK


@kernel
def take_over(memory, h):
    """Let the state be that of the end of a step of h."""
    for i in range(memory.nq):
        memory.q[i] = memory.q1[i]
    for i in range(memory.nv):
        memory.a[i] = (memory.v1[i] - memory.v0[i]) / h
        memory.v[i] = memory.v1[i]
    for i in range(memory.nu):
        memory.effort[i] = memory.effort1[i]
    memory.account[at.WORK_DONE] = memory.account1[at.WORK_DONE]
    memory.account[at.DISSIPATED] = memory.account1[at.DISSIPATED]
    memory.account[at.NUMERICAL] = memory.account1[at.NUMERICAL]


@kernel
def check_state(memory):
    """OK, NOT_FINITE or DIVERGED for the state q1, v1."""
    s = memory.account1[at.WORK_DONE] - memory.account1[at.WORK_DONE]
    s += memory.account1[at.DISSIPATED] - memory.account1[at.DISSIPATED]
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
def look_around(steps):
    """Energies of the state, and which positions are beyond their limits."""
    memory = open_steps(steps)
    energies_of(steps, memory.q, memory.v, memory.account[at.KINETIC : at.ELASTIC + 1])
    observe(steps, memory.q, memory.v)
    for i in range(memory.nu):
        memory.at_stop[i] = 1 if penetration(memory, i, memory.position[i]) != 0.0 else 0


@entry("int64(int64)")
def prepare_memory(steps):
    """Make the work memory ready and leave the state alone."""
    return prepare(steps)


@entry("int64(int64, float64)")
def prepare_steps(steps, t):
    """Make the work arrays ready, and write a and the energies of the state; NOT_FINITE if a is not."""
    memory = open_steps(steps)
    prepare(steps)
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
        memory.clipped[i] = 0
        memory.saturated[i] = 0
    explicit_rates(steps, t, memory.q, memory.v, memory.a, memory.effort, memory.account2)
    look_around(steps)
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
    look_around(steps)
    return status + 4 * done


@entry(f"int64(int64, float64, int64, float64, {_M}, {_M}, {_M}, {_M})", nogil=True)
def record_steps(steps, t, every, h, q, v, effort, account):
    """Record the state at time t, then `every` steps, and so on until the rows q (n, nq), v (n, nv) are full.

    effort (n, nu) holds the mean efforts of the step that leads away from a sample (the last row: that leads
    to it), account (n, 4) work, dissipated, 1 where an effort was clipped since the last sample, and
    what the steps took by themselves. Returns status + 4 (steps done).
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
        account[s, 0], account[s, 1] = memory.account[at.WORK_DONE], memory.account[at.DISSIPATED]
        account[s, 3] = memory.account[at.NUMERICAL]
    look_around(steps)
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
