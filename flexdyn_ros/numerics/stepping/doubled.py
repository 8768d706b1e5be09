"""Runs with error control by staggered steps: platforms whose hydraulic cylinders have states of their own.

Every step is made once as a whole and once as two halves, which are kept; a third of what they differ by
is the error of the halves (Hairer, Norsett & Wanner 1993, section II.4; order two). Pressures count as well
as positions and speeds. Steps end at samples.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import displacement
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.windows import copy, window

from . import places
from .accounts import begin_accounts, look_at_energies, strictness
from .explicit import step_staggered
from .fixed import OK, check_state, close_state, take_over
from .forces import actuate, provide
from .memory import DISSIPATED, WORK_DONE, open_chart, open_steps

_V = "float64[::1]"
_M = "float64[:,::1]"

#: rows of the work memory: the state where the step begins, that after the whole step, that after the halves
START, WHOLE, HALVES = range(3)
WORK_ROWS = 3

#: as in controlled.py; order two
GROWTH, SHRINKAGE, SAFETY = 4.0, 0.1, 0.9


@kernel
def keep(memory, actuators, row):
    """Copy the state to a row of the work memory."""
    nq, nv, nu = memory.nq, memory.nv, memory.nu
    copy(window(row, 0, nq), memory.q)
    copy(window(row, nq, nv), memory.v)
    row[nq + nv], row[nq + nv + 1] = memory.account[WORK_DONE], memory.account[DISSIPATED]
    copy(window(row, nq + nv + 2, nu), memory.effort)
    copy(window(row, nq + nv + 2 + nu, actuators.size), actuators)


@kernel
def take_back(memory, actuators, row):
    """Copy a row of the work memory to the state."""
    nq, nv, nu = memory.nq, memory.nv, memory.nu
    for i in range(nq):
        memory.q[i] = row[i]
    for i in range(nv):
        memory.v[i] = row[nq + i]
    memory.account[WORK_DONE], memory.account[DISSIPATED] = row[nq + nv], row[nq + nv + 1]
    for i in range(nu):
        memory.effort[i] = row[nq + nv + 2 + i]
    for i in range(actuators.size):
        actuators[i] = row[nq + nv + 2 + nu + i]


@kernel
def make_step(steps, t, h):
    """One staggered step of h from time t; whether the state is finite, within memory.v_bound and near the
    constraints."""
    memory = open_steps(steps)
    if provide(steps, t, memory.q, memory.v) != 0:
        return False
    actuate(steps, t, 0.0, memory.given)
    for i in range(memory.nq):
        memory.q0[i] = memory.q[i]
    for i in range(memory.nv):
        memory.v0[i] = memory.v[i]
    step_staggered(steps, t, h)
    if check_state(memory) != OK or close_state(steps) != OK:
        return False
    take_over(memory, h)
    return True


@kernel
def error_of(steps, actuators, control, scale, work):
    """A third of the difference between the whole step and the two halves, in units of what is allowed.

    scale (2 nv + actuators,) : what an error may be apart from the relative tolerance, of positions, speeds
        and states of the actuators, infinite where they do not count.
    """
    memory, chart = open_steps(steps), open_chart(steps)
    nq, nv, nu = memory.nq, memory.nv, memory.nu
    start, whole, halves = work[START], work[WHOLE], work[HALVES]
    apart = window(memory.stage, 0, nv)
    displacement(chart, memory.zeros, window(whole, 0, nq), window(halves, 0, nq), apart)
    total, counted = 0.0, 0
    for i in range(nv):
        at = memory.q_of_v[i]
        size = max(abs(start[at]), abs(halves[at])) if at >= 0 else 1.0
        total += (apart[i] / (scale[i] + control[places.RTOL] * size)) ** 2
        v0, v1 = start[nq + i], halves[nq + i]
        allowed = scale[nv + i] + control[places.RTOL] * max(abs(v0), abs(v1))
        total += ((v1 - whole[nq + i]) / allowed) ** 2
        counted += 2
    first = nq + nv + 2 + nu
    for i in range(actuators.size):
        if scale[2 * nv + i] < np.inf:
            x0, x1 = start[first + i], halves[first + i]
            allowed = scale[2 * nv + i] + control[places.RTOL] * max(abs(x0), abs(x1))
            total += ((x1 - whole[first + i]) / allowed) ** 2
            counted += 1
    return np.sqrt(total / counted) / (3.0 * strictness(control))


_RUN = (
    f"int64(int64, {_V}, float64, float64, int64, {_V}, {_V}, {_M}, {_V}, {_M}, {_M}, {_M}, {_M}, {_M}, {_M})"
)


@entry(_RUN, nogil=True)
def run_to(
    steps, actuators, t, end, most, control, scale, work, times, q, v, effort, account, path_q, path_v
):
    """As `controlled.run_to`; actuators are their states, the memory that the header points to.

    scale (2 nv + actuators,), work (WORK_ROWS, at least nq + nv + 2 + nu + actuators).
    """
    memory = open_steps(steps)
    for i in range(memory.nu):
        memory.clipped[i] = 0
        memory.at_stop[i] = 0
        memory.saturated[i] = 0
    H = control[places.STEP] if control[places.STEP] > 0.0 else 1e-5
    row, taken = 0, 0
    status = places.DONE
    rejected = False
    begin_accounts(steps, control)
    while t < end and status == places.DONE:
        until = times[row] if row < times.size else end
        H = min(H, control[places.LARGEST])
        wanted = H
        h = until - t if t + 1.01 * H >= until else (0.5 * (until - t) if t + 1.9 * H >= until else H)
        keep(memory, actuators, work[START])
        good = make_step(steps, t, h)
        error = np.inf
        if good:
            keep(memory, actuators, work[WHOLE])
            take_back(memory, actuators, work[START])
            good = make_step(steps, t, 0.5 * h)
            # efforts of the whole step are not wanted any more
            first = work[WHOLE, memory.nq + memory.nv + 2 :]
            for i in range(memory.nu):
                first[i] = memory.effort[i]
            good = good and make_step(steps, t + 0.5 * h, 0.5 * h)
            for i in range(memory.nu):
                memory.effort[i] = 0.5 * (memory.effort[i] + first[i])
        control[places.EVALUATIONS] += 6.0
        if good:
            keep(memory, actuators, work[HALVES])
            error = error_of(steps, actuators, control, scale, work)
        if not error <= 1.0:
            take_back(memory, actuators, work[START])
            share = SAFETY * error ** (-1.0 / 3.0) if error < np.inf else SHRINKAGE
            H = h * max(SHRINKAGE, min(share, 0.7))
            control[places.REJECTED] += 1.0
            rejected = True
            if 1e-13 * max(1.0, abs(t)) >= H:
                status = places.TOO_SMALL if good else places.NOT_FINITE
            continue
        share = GROWTH if error == 0.0 else min(GROWTH, max(0.3, SAFETY * error ** (-1.0 / 3.0)))
        H = h * min(share, 1.0) if rejected else h * share
        if h < wanted:
            # a sample that cut the step short says little of the next one
            H = max(H, wanted) if share >= 1.0 else H
        rejected = False
        t = until if h == until - t else t + h
        control[places.ACCEPTED] += 1.0
        look_at_energies(steps, 1.0, control)
        if row < times.size and times[row] == t:
            copy(q[row], memory.q)
            copy(v[row], memory.v)
            copy(effort[row], memory.effort)
            account[row, 0], account[row, 1] = memory.account[WORK_DONE], memory.account[DISSIPATED]
            account[row, 2] = 0.0
            row += 1
        if taken < path_q.shape[0]:
            copy(path_q[taken], memory.q)
            copy(path_v[taken], memory.v)
        taken += 1
        if taken == most and t < end:
            status = places.STEPPED
    control[places.TIME], control[places.STEP] = t, H
    return status + 8 * row
