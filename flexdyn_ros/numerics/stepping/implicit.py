"""Linearly implicit fixed steps: semi-implicit Euler and "rosenbrock", which extrapolates it.

rosenbrock: linearly implicit Euler steps (M + h D + h^2 K) (v1 - v0) = h (f(q0, v0) - h K v0), q1 = q0 + h
v1, with D and K the slopes of servo and stops (numerics/stepping/forces.py) and those that the family names,
one pass of its forward dynamics each; one step of h and two of h/2 are extrapolated to order two (Deuflhard
1985; Hairer & Wanner 1996, section IV.9; T22 of the harmonic sequence is A-stable and vanishes at infinity).
The expansion in h exists for any smooth D and K, so that the order does not depend on their being the
derivatives. T33 would be of order three, but makes undamped oscillations with 0.4 < w h < 0.8 grow by up to
0.16 % a step.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import displacement, move
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import memory as at
from .defect import book_euler, total_energy
from .forces import (
    accelerate,
    comply,
    exert,
    gather_wrenches,
    losses,
    observe,
    servo_effort,
    settle,
    stop_position,
    supply,
)
from .memory import header_of, open_chart, open_steps

#: times that a step is repeated because efforts of more coordinates turn out to be clipped
REPEATS = 4


@kernel
def implicit_euler(steps, t, h, q0, v0, account0, q1, v1, account1, effort):
    """One step of h from (q0, v0, account0) to (q1, v1, account1); effort = what drive and servo exert."""
    gather_wrenches(steps, q0)
    solve_euler(steps, t, h, q0, v0, v1)
    settle_accounts(steps, t, h, q0, v0, account0, v1, account1, effort)
    move(open_chart(steps), q0, v1, h, q1)
    nv = v0.size
    book_euler(steps, q0, q1, window(open_steps(steps).stage, 7 * nv, nv), account0, account1)


@kernel
def solve_euler(steps, t, h, q0, v0, v1):
    """v1 = v0 + h (M + h D + h^2 K)^-1 (f(q0, v0) - h K v0)."""
    head = header_of(steps)
    memory = open_steps(steps)
    nv = memory.nv
    observe(steps, q0, v0)
    comply(steps, h)
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
        if head[at.S_STOPS] != 0 and memory.at_stop[i] != 0:
            beyond = memory.position[i] - stop_position(memory, i)
            f -= memory.stop_stiffness[i] * beyond + memory.stop_damping[i] * memory.speed[i]
            k += memory.stop_stiffness[i]
            d += memory.stop_damping[i]
        memory.extra[i] = h * (d + h * k)
        u[i] = f - h * k * memory.speed[i]
    a, force = window(memory.stage, 0, nv), window(memory.stage, 6 * nv, nv)
    exert(steps, q0, u, force)
    for i in range(nv):
        a[i] = memory.given[i]
    accelerate(steps, t, q0, v0, force, memory.extra, h if head[at.S_METHOD] == at.ROSENBROCK else 0.0, a)
    for i in range(nv):
        v1[i] = v0[i] + h * a[i]


@kernel
def clip_efforts(steps, effort):
    """Mark efforts beyond their limits as clipped.

    Returns how many are new. A step is repeated until there are none.
    """
    memory = open_steps(steps)
    found = 0
    if header_of(steps)[at.S_SATURATE] != 0:
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
    head = header_of(steps)
    memory = open_steps(steps)
    nv = memory.nv
    work = 0.0
    taken = 0.0
    # memory.position and memory.speed are those of (q0, v0)
    for i in range(memory.nu):
        memory.extra[i] = memory.speed[i]
    observe(steps, q0, v1)
    settle(steps, h)
    for i in range(memory.nu):
        speed = memory.speed[i]
        mean = 0.5 * h * (memory.extra[i] + speed)
        if memory.clipped[i] != 0:
            effort[i] = np.copysign(memory.effort_limit[i], float(memory.clipped[i]))
        else:
            effort[i] = servo_effort(memory, i) - h * memory.servo_stiffness[i] * speed
        work += effort[i] * mean
        if head[at.S_STOPS] != 0 and memory.at_stop[i] != 0:
            beyond = memory.position[i] + h * speed - stop_position(memory, i)
            taken += (memory.stop_stiffness[i] * beyond + memory.stop_damping[i] * speed) * mean
    mean_v, force = window(memory.stage, 7 * nv, nv), window(memory.stage, 6 * nv, nv)
    for i in range(nv):
        mean_v[i] = 0.5 * h * (v0[i] + v1[i])
        work += memory.load[i] * mean_v[i]
        if memory.prescribed[i] != 0:
            work += (force[i] - memory.load[i] - effort[i]) * mean_v[i]
            effort[i] = force[i] - memory.load[i]
    taken += losses(steps, t, q0, v0, v1 if head[at.S_METHOD] == at.ROSENBROCK else v0, mean_v)
    work += supply(steps)
    account1[at.WORK_DONE] = account0[at.WORK_DONE] + work
    account1[at.DISSIPATED] = account0[at.DISSIPATED] + taken


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
    # the state is kept in q0, so that q may serve as the half-way point
    qh, vh, effort = memory.q, window(memory.stage, nv, nv), memory.effort4
    half = 0.5 * h
    implicit_euler(steps, t, half, memory.q0, memory.v0, memory.account, qh, vh, memory.account1, effort)
    implicit_euler(
        steps, t + half, half, qh, vh, memory.account1, memory.q1, memory.v1, memory.account1, memory.effort1
    )
    books = header_of(steps)[at.S_DEFECT] != 0
    if books:
        # what the energies of the results leave of the same combination of energies
        combined = 2.0 * total_energy(steps, memory.q1, memory.v1)
        combined -= total_energy(steps, memory.q2, memory.v2)
    for i in range(memory.nu):
        memory.effort1[i] += effort[i] - memory.effort2[i]
    for i in range(nv):
        memory.v1[i] = 2.0 * memory.v1[i] - memory.v2[i]
    for i in (at.WORK_DONE, at.DISSIPATED, at.NUMERICAL):
        memory.account1[i] = 2.0 * memory.account1[i] - memory.account2[i]
    d = window(memory.stage, 0, nv)
    displacement(chart, memory.zeros, memory.q2, memory.q1, d)
    move(chart, memory.q1, d, 1.0, memory.q1)
    if books:
        memory.account1[at.NUMERICAL] += combined - total_energy(steps, memory.q1, memory.v1)
    for i in range(memory.nq):
        memory.q[i] = memory.q0[i]


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
