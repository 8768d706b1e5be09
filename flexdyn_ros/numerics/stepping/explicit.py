"""Explicit fixed steps: Runge-Kutta 4 and "staggered".

staggered: for actuators with states of their own that are stiff against the robot's inertia, as trapped oil
is. They move on with the accelerations that the robot has, then the robot moves with the mean of the
accelerations before and after (velocity Verlet): symmetric in time, of order two.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import move
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import less, select

from .defect import book_rk4, gather_stage
from .forces import actuate, explicit_rates
from .memory import DISSIPATED, WORK_DONE, open_chart, open_steps


@kernel
def chart_rate(chart, theta, v, out):
    """Rate of theta in q = q0 (+) theta when the velocity is v.

    For turns that is dexp^-1 (Iserles, Munthe-Kaas, Norsett & Zanna 2000, appendix B): w - [theta, w]/2 + c
    [theta, [theta, w]] with c = (1 - x cot x) / |theta|^2, x = |theta|/2.
    """
    for i in range(chart.nv):
        out[i] = v[i]
    for b in range(1, chart.nb):
        i = chart.v_index[b]
        x, y, z = theta[i], theta[i + 1], theta[i + 2]
        s = x * x + y * y + z * z
        small = less(s, 1e-2)
        far = select(small, 1.0, s)
        half = 0.5 * np.sqrt(far)
        near = (1.0 + s / 60.0 * (1.0 + s / 42.0 * (1.0 + s / 40.0))) / 12.0
        c = select(small, near, (1.0 - half / np.tan(half)) / far)
        ux, uy, uz = y * v[i + 2] - z * v[i + 1], z * v[i] - x * v[i + 2], x * v[i + 1] - y * v[i]
        out[i] += -0.5 * ux + c * (y * uz - z * uy)
        out[i + 1] += -0.5 * uy + c * (z * ux - x * uz)
        out[i + 2] += -0.5 * uz + c * (x * uy - y * ux)


@kernel
def step_rk4(steps, t, h):
    """The classical Runge-Kutta method in the tangent space of the first point (Munthe-Kaas 1999)."""
    memory = open_steps(steps)
    chart = open_chart(steps)
    nv = memory.nv
    s = memory.stage
    a, theta, rate = window(s, 0, nv), window(s, nv, nv), window(s, 2 * nv, nv)
    sum_q, sum_v = window(s, 3 * nv, nv), window(s, 4 * nv, nv)
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
        gather_stage(steps, j, rate, a)
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
    book_rk4(steps, h)
    for i in range(nv):
        memory.v1[i] = memory.v0[i] + sum_v[i]
    for i in range(memory.nu):
        first[i] += sum_u[i] / 6.0
        if memory.clipped[i] != 0:
            memory.saturated[i] = 1


@kernel
def step_staggered(steps, t, h):
    """Actuators, positions, velocities: one after the other (docs/theory/hydraulics.md, "Integration")."""
    memory = open_steps(steps)
    chart = open_chart(steps)
    nv = memory.nv
    s = memory.stage
    before, half_way, after = window(s, 0, nv), window(s, nv, nv), window(s, 2 * nv, nv)
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
