"""Runs with error control for stiff robots: extrapolated linearly implicit Euler steps.

A step of H is made of 1, 2, 3, ... linearly implicit Euler steps (numerics/stepping/implicit.py), and their
results are extrapolated to h = 0 (Deuflhard 1983, 1985; Hairer & Wanner 1996, section IV.9). The slopes of
the forces that a step takes implicitly need not be the derivatives: the expansion in h exists for any smooth
ones, and what they leave out is seen by the estimate, the difference of the last two columns of the scheme.
So each small step costs one forward dynamics with the O(n) fold of the constant stiffness and damping. Order
and step are chosen together, for the least work per second of motion. Steps end at samples.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import displacement
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.windows import copy, window

from . import places
from .accounts import begin_accounts, made_until, may_make, note_energies
from .controlled import begin_step, close_end, state_of, write_sample
from .forces import observe, penetration, provide, servo_effort
from .implicit import implicit_euler
from .memory import ACCOUNT, DISSIPATED, S_SATURATE, S_STOPS, WORK_DONE, header_of, open_chart, open_steps

_V = "float64[::1]"
_M = "float64[:,::1]"

#: columns of the scheme at most
COLUMNS = 8

#: rows of the work memory: the scheme, the state of a small step, two positions
STATE = COLUMNS
POSITIONS = COLUMNS + 1
WORK_ROWS = COLUMNS + 3


@kernel
def look_at_limits(steps, q, v):
    """Mark stops and clipped efforts as they are at (q, v)."""
    head = header_of(steps)
    memory = open_steps(steps)
    if head[S_STOPS] == 0 and head[S_SATURATE] == 0:
        return
    observe(steps, q, v)
    for i in range(memory.nu):
        beyond = penetration(memory, i, memory.position[i]) if head[S_STOPS] != 0 else 0.0
        memory.at_stop[i] = 0 if beyond == 0.0 else (1 if beyond > 0.0 else -1)
        memory.clipped[i] = 0
        if head[S_SATURATE] != 0:
            effort = servo_effort(memory, i)
            if abs(effort) > memory.effort_limit[i]:
                memory.clipped[i] = 1 if effort > 0.0 else -1
                memory.saturated[i] = 1


@kernel
def small_steps(steps, t, H, n, out):
    """n linearly implicit Euler steps of H/n from (q0, v0); out = (theta, v, work, dissipated)."""
    memory, chart = open_steps(steps), open_chart(steps)
    nq, nv = memory.nq, memory.nv
    h = H / n
    q, q_next = memory.q1, memory.q2
    v, v_next = memory.v1, memory.v2
    for i in range(nq):
        q[i] = memory.q0[i]
    for i in range(nv):
        v[i] = memory.v0[i]
    for i in range(ACCOUNT):
        memory.account1[i] = 0.0
    for k in range(n):
        if provide(steps, t + k * h, q, v) != 0:
            out[:] = np.nan
            return
        look_at_limits(steps, q, v)
        implicit_euler(
            steps, t + k * h, h, q, v, memory.account1, q_next, v_next, memory.account1, memory.effort1
        )
        for i in range(nq):
            q[i] = q_next[i]
        for i in range(nv):
            v[i] = v_next[i]
    displacement(chart, memory.zeros, memory.q0, q, window(out, 0, nv))
    for i in range(nv):
        out[nv + i] = v[i]
    out[2 * nv] = memory.account1[WORK_DONE]
    out[2 * nv + 1] = memory.account1[DISSIPATED]


@kernel
def extrapolate(j, work, n):
    """Row j of the scheme, whose rows before hold T[j-1, .] from the diagonal down; work[0] gets T[j, j].

    Aitken-Neville, with results of order h; work[k] holds T[j, j-k] afterwards.
    """
    for k in range(j, 0, -1):
        # work[k] = T[j, j-k] is there; work[k-1] holds T[j-1, j-k] and becomes T[j, j-k+1]
        ratio = (j + 1.0) / k
        for i in range(n):
            work[k - 1, i] = work[k, i] + (work[k, i] - work[k - 1, i]) / (ratio - 1.0)


@kernel
def difference(steps, control, scale, work):
    """Difference of the last two columns in units of what is allowed."""
    memory = open_steps(steps)
    nv = memory.nv
    total = 0.0
    for i in range(2 * nv):
        if i < nv:
            at = memory.q_of_v[i]
            size = max(abs(memory.q0[at]), abs(memory.q0[at] + work[0, i])) if at >= 0 else 1.0
        else:
            size = max(abs(memory.v0[i - nv]), abs(work[0, i]))
        allowed = scale[i] + control[places.RTOL] * size
        if i >= nv:
            allowed *= control[places.OF_SPEEDS]
        total += ((work[0, i] - work[1, i]) / allowed) ** 2
    return np.sqrt(total / (2 * nv))


@kernel
def evaluations(column):
    """Small steps up to a column (from 0)."""
    return 0.5 * (column + 1) * (column + 2)


_RUN = f"int64(int64, float64, float64, int64, {_V}, {_V}, {_M}, {_V}, {_M}, {_M}, {_M}, {_M}, {_M}, {_M})"


@entry(_RUN, nogil=True)
def run_to(steps, t, end, most, control, scale, work, times, q, v, effort, account, path_q, path_v):
    """As `controlled.run_to`; control[COLUMN] says which column the next step aims at."""
    memory = open_steps(steps)
    nv = memory.nv
    n = 2 * nv + 2
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
        memory.clipped[i] = 0
        memory.at_stop[i] = 0
        memory.saturated[i] = 0
    H = control[places.STEP] if control[places.STEP] > 0.0 else 1e-5
    aim = int(control[places.COLUMN]) if control[places.COLUMN] >= 1.0 else 2
    row, taken = 0, 0
    rejected = False
    status = places.DONE
    begin_accounts(steps, control)
    begin_step(memory)
    while t < end and status == places.DONE:
        until = times[row] if row < times.size else end
        H = min(H, control[places.LARGEST])
        wanted = H
        h = until - t if t + 1.01 * H >= until else (0.5 * (until - t) if t + 1.9 * H >= until else H)
        accepted = -1
        best, best_work, longest = 1, np.inf, h
        work_before = np.inf
        made = 0.0
        last = min(aim + 2, COLUMNS) - 1
        for j in range(last + 1):
            small_steps(steps, t, h, j + 1, work[j])
            control[places.EVALUATIONS] += j + 1.0
            if j == 0:
                continue
            extrapolate(j, work, n)
            error = difference(steps, control, scale, work)
            if not np.isfinite(error):
                longest = 0.1 * h
                break
            # the difference is of order h^(j + 1) in one step
            share = 6.0 if error == 0.0 else min(6.0, max(0.05, 0.9 * (0.7 / error) ** (1.0 / (j + 1))))
            allowed = min(h * share, control[places.LARGEST])
            work_now = evaluations(j) / min(allowed, max(until - t, h))
            if work_now < (0.9 if j > 1 else 1.0) * best_work:
                best, best_work, longest = j, work_now, allowed
            if error <= 1.0 and j >= aim - 1:
                made = made_until(steps, control, work[0])
                if j < last and not may_make(control, memory.energies, made):
                    continue
                accepted = j
                # the next column may be worth its work
                if best == j and j + 1 < COLUMNS and work_now < 0.9 * work_before and not rejected:
                    longest = allowed * evaluations(j + 1) / evaluations(j)
                    best = j + 1
                break
            work_before = work_now
        if accepted >= 0:
            status = state_of(memory, work[0])
            if status == places.DONE and not close_end(steps, work[0]):
                accepted, longest = -1, 0.5 * h
        if accepted < 0 or status != places.DONE:
            H = min(longest, 0.5 * h)
            aim = max(1, best)
            control[places.REJECTED] += 1.0
            rejected = True
            if 1e-13 * max(1.0, abs(t)) < H:
                status = places.DONE
            elif status == places.DONE:
                status = places.TOO_SMALL if np.isfinite(work[0, 0]) else places.NOT_FINITE
            continue
        y = work[0]
        t_next = until if h == until - t else t + h
        if row < times.size and times[row] == t_next:
            write_sample(steps, t_next, y, row, q, v, effort, account)
            row += 1
        for i in range(memory.nq):
            memory.q[i] = memory.q1[i]
        for i in range(nv):
            memory.a[i] = (memory.v1[i] - memory.v0[i]) / h
            memory.v[i] = memory.v1[i]
        memory.account[WORK_DONE] += y[2 * nv]
        memory.account[DISSIPATED] += y[2 * nv + 1]
        control[places.ACCEPTED] += 1.0
        note_energies(memory.energies, made, control)
        H = min(longest, h) if rejected else longest
        if h < wanted:
            # a sample that cut the step short says little of the next one
            H = max(H, wanted)
        rejected = False
        aim = max(1, min(best, COLUMNS - 2))
        t = t_next
        if taken < path_q.shape[0]:
            copy(path_q[taken], memory.q)
            copy(path_v[taken], memory.v)
        taken += 1
        if taken == most and t < end:
            status = places.STEPPED
        elif t < end:
            begin_step(memory)
    control[places.TIME], control[places.STEP], control[places.COLUMN] = t, H, aim
    return status + 8 * row
