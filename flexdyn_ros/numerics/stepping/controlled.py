"""Runs with error control: an embedded Runge-Kutta pair of order 8 that chooses its own steps.

The pair of Dormand & Prince (dop853.py) moves the state in the tangent space of the point where a
step begins (Munthe-Kaas 1999), with work and dissipated energy as two more states. Samples come from its
interpolation of order 7, so that they do not shorten the steps. Estimate and choice of the step are those of
Hairer, Norsett & Wanner 1993, sections II.4 and II.10.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import move
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import copy, window

from .accounts import OFTEN, ROUNDED, SELDOM, begin_accounts, look_at_energies, strictness
from .dop853 import ALL_STAGES, DENSE, ERROR_3, ERROR_5, STAGES, A, C, weigh_stages
from .explicit import chart_rate
from .forces import constrain, explicit_rates, has_constraints
from .memory import DISSIPATED, WORK_DONE, open_chart, open_steps
from .places import (
    ACCEPTED,
    BOUND,
    DIVERGED,
    DONE,
    EVALUATIONS,
    LARGEST,
    NOT_FINITE,
    OF_ENERGIES,
    OF_SPEEDS,
    PREVIOUS,
    REJECTED,
    RTOL,
    STEP,
    STEPPED,
    TIME,
    TOO_SMALL,
)

_V = "float64[::1]"
_M = "float64[:,::1]"

#: rows (2 nv + 2,) of the work memory: stages, the seven terms of the interpolation, the state of a stage
TERMS = ALL_STAGES
STATE = TERMS + 7
NEW = STATE + 1
WORK_ROWS = NEW + 1

#: a new step is at most so many times the one before, at least such a share, and so much shorter than the
#: error would allow
GROWTH, SHRINKAGE, SAFETY = 6.0, 1.0 / 3.0, 0.9
#: share of the error before the last in the choice of a step (Hairer & Wanner 1996, section IV.2, "PI"), and
#: the smallest error that counts there: without it a quarter of the steps near the limit of stability fail
MEMORY, LEAST = 0.04, 1e-4
EXPONENT = 0.125 - 0.2 * MEMORY
#: reach of the method's region of stability: beyond it, stability and not accuracy bounds the step
STABLE = 6.1


@kernel
def begin_step(memory):
    """The state is where the next step begins."""
    for i in range(memory.nq):
        memory.q0[i] = memory.q[i]
    for i in range(memory.nv):
        memory.v0[i] = memory.v[i]


@kernel
def rates_at(steps, t, theta, v, k):
    """Row k (2 nv + 2,): rates of theta, v, work and dissipated energy at q0 (+) theta, v."""
    theta, v, k = borrowed(theta), borrowed(v), borrowed(k)
    memory, chart = open_steps(steps), open_chart(steps)
    nv = memory.nv
    move(chart, memory.q0, theta, 1.0, memory.q2)
    explicit_rates(steps, t, memory.q2, v, window(k, nv, nv), memory.effort2, memory.account2)
    chart_rate(chart, theta, v, window(k, 0, nv))
    k[2 * nv], k[2 * nv + 1] = memory.account2[0], memory.account2[1]


@kernel
def combine(steps, h, row, work, out):
    """out = (0, v0, 0, 0) + h sum A[row, j] stage j."""
    memory = open_steps(steps)
    nv = memory.nv
    weigh_stages(h, A[row], row, borrowed(work), borrowed(out))
    for i in range(nv):
        out[nv + i] += memory.v0[i]


@kernel
def stage(steps, t, h, row, work):
    """Evaluate stage `row` of a step of h from t."""
    work = borrowed(work)
    nv = open_steps(steps).nv
    y = work[STATE]
    combine(steps, h, row, work, y)
    rates_at(steps, t + C[row] * h, window(y, 0, nv), window(y, nv, nv), work[row])


@kernel
def error_of(steps, h, control, scale, work):
    """Estimated error of the step to work[NEW] in units of what is allowed: below 1 it may be taken.

    That of the motion or that of the accounts, whichever is larger: in one sum the estimate of order 3 of the
    one would make the error of the other look small. Accounts are judged by their estimate of order 5 alone:
    the power of dampers swings twice as fast as the motion.
    """
    work = borrowed(work)
    memory = open_steps(steps)
    nv = memory.nv
    fifth, third = 0.0, 0.0
    y, e5, e3 = work[NEW], work[TERMS], work[TERMS + 1]
    weigh_stages(1.0, ERROR_5, STAGES, work, e5)
    weigh_stages(1.0, ERROR_3, STAGES, work, e3)
    for i in range(2 * nv):
        if i < nv:
            at = memory.q_of_v[i]
            size = max(abs(memory.q0[at]), abs(memory.q0[at] + y[i])) if at >= 0 else 1.0
            allowed = scale[i] + control[RTOL] * size
        else:
            size = max(abs(memory.v0[i - nv]), abs(y[i]))
            allowed = (scale[i] + control[RTOL] * size) * control[OF_SPEEDS]
        share = 1.0 / allowed
        fifth += (e5[i] * share) ** 2
        third += (e3[i] * share) ** 2
    error = 0.0
    if fifth != 0.0 or third != 0.0:
        error = abs(h) * fifth / (np.sqrt((fifth + 0.01 * third) * 2 * nv) * strictness(control))
    for i in range(2 * nv, 2 * nv + 2):
        of_account = abs(h * e5[i]) / max(control[OF_ENERGIES], ROUNDED * abs(y[i]))
        # NaN passes
        error = error if of_account <= error else of_account
    return error


@kernel
def first_step(steps, span, control, scale, work):
    """A step after which the state differs by a hundredth of its size."""
    memory = open_steps(steps)
    nv = memory.nv
    size, rate = 0.0, 0.0
    for i in range(2 * nv):
        at = memory.q_of_v[i] if i < nv else i
        x = memory.v0[i - nv] if i >= nv else (memory.q0[at] if at >= 0 else 1.0)
        allowed = scale[i] + control[RTOL] * abs(x)
        size += (x / allowed) ** 2
        rate += (work[0, i] / allowed) ** 2
    h = 1e-6 if size < 1e-10 or rate < 1e-10 else 0.01 * np.sqrt(size / rate)
    return min(span, max(h, 1e-9))


@kernel
def prepare_terms(steps, t, h, work):
    """Terms of the interpolation over the step of h from t to work[NEW]; three evaluations."""
    work = borrowed(work)
    memory = open_steps(steps)
    nv = memory.nv
    for row in range(STAGES, ALL_STAGES):
        stage(steps, t, h, row, work)
    y, f = work[NEW], work[TERMS : TERMS + 7]
    for i in range(2 * nv + 2):
        start = memory.v0[i - nv] if nv <= i < 2 * nv else 0.0
        change = y[i] - start
        f[0, i] = change
        f[1, i] = h * work[0, i] - change
        f[2, i] = 2.0 * change - h * (work[STAGES - 1, i] + work[0, i])
    for k in range(4):
        weigh_stages(h, DENSE[k], ALL_STAGES, work, f[3 + k])


@kernel
def interpolate(steps, x, work, out):
    """State (theta, v, work, dissipated) at the share x of the step whose terms are prepared."""
    work, out = borrowed(work), borrowed(out)
    memory = open_steps(steps)
    nv = memory.nv
    f = work[TERMS : TERMS + 7]
    for i in range(2 * nv + 2):
        y = 0.0
        for k in range(6, -1, -1):
            y = (y + f[k, i]) * (x if k % 2 == 0 else 1.0 - x)
        out[i] = y + (memory.v0[i - nv] if nv <= i < 2 * nv else 0.0)


@kernel
def write_sample(steps, t, y, row, q, v, effort, account):
    """The sample `row` at time t from the state y, with the efforts there."""
    y, q, v, effort, account = borrowed(y), borrowed(q), borrowed(v), borrowed(effort), borrowed(account)
    memory, chart = open_steps(steps), open_chart(steps)
    nv = memory.nv
    move(chart, memory.q0, y, 1.0, q[row])
    for i in range(nv):
        v[row, i] = y[nv + i]
    constrain(steps, q[row], v[row])
    for i in range(memory.nu):
        memory.clipped[i] = 0
    explicit_rates(steps, t, q[row], v[row], window(memory.stage, 0, nv), memory.effort2, memory.account2)
    account[row, 0] = memory.account[WORK_DONE] + y[2 * nv]
    account[row, 1] = memory.account[DISSIPATED] + y[2 * nv + 1]
    account[row, 2] = 0.0
    for i in range(memory.nu):
        effort[row, i] = memory.effort2[i]
        if memory.clipped[i] != 0 or memory.saturated[i] != 0:
            account[row, 2] = 1.0
        memory.saturated[i] = 0


@kernel
def state_of(memory, y):
    """0, NOT_FINITE or DIVERGED for the state y of a step."""
    nv = memory.nv
    s = 0.0
    fast = False
    for i in range(2 * nv + 2):
        s += y[i] - y[i]
    for i in range(nv):
        fast |= abs(y[nv + i]) > memory.v_bound[i]
    if s != 0.0:
        return NOT_FINITE
    return DIVERGED if fast else DONE


@kernel
def close_end(steps, y):
    """Write q1, v1: the state y of a step, moved onto the constraints; whether it is near them."""
    y = borrowed(y)
    memory = open_steps(steps)
    move(open_chart(steps), memory.q0, y, 1.0, memory.q1)
    for i in range(memory.nv):
        memory.v1[i] = y[memory.nv + i]
    return constrain(steps, memory.q1, memory.v1) == 0


@kernel
def is_bound_by_stability(steps, h, work):
    """Whether the step is as long as stability, not accuracy, allows (Hairer & Wanner 1996, section IV.2)."""
    nv = open_steps(steps).nv
    slopes, states = 0.0, 0.0
    last, y = work[STAGES - 1], work[NEW]
    before = work[STATE]
    for i in range(nv, 2 * nv):
        slopes += (last[i] - work[11, i]) ** 2
        states += (y[i] - before[i]) ** 2
    for i in range(nv):
        slopes += (last[i] - work[11, i]) ** 2
        states += (y[i] - before[i]) ** 2
    return states > 0.0 and h * h * slopes > STABLE * STABLE * states


_RUN = f"int64(int64, float64, float64, int64, {_V}, {_V}, {_M}, {_V}, {_M}, {_M}, {_M}, {_M}, {_M}, {_M})"


@entry(_RUN, nogil=True)
def run_to(steps, t, end, most, control, scale, work, times, q, v, effort, account, path_q, path_v):
    """Move the state of the steps from time t to `end`, or by at most so many steps if `most` is not 0.

    A single step (most = 1) can be looked into afterwards (`look_back`).

    Parameters
    ----------
    control : (CONTROL,), see places.py; TIME and STEP say where the next call goes on
    scale : (2 nv,) what an error may be apart from the relative tolerance, of positions and speeds
    work : (WORK_ROWS, 2 nv + 2)
    times : (n,) increasing, of the samples in (t, end] that are written to q (n, nq), v (n, nv), effort (n,
        nu), account (n, 3)
    path_q (m, nq), path_v (m, nv) : get the states after the first m steps

    Returns status + 8 (samples written).
    """
    work, q, v, effort, account = (
        borrowed(work),
        borrowed(q),
        borrowed(v),
        borrowed(effort),
        borrowed(account),
    )
    memory = open_steps(steps)
    nv = memory.nv
    for i in range(memory.nu):
        memory.drive[i] = memory.tau[i]
        memory.clipped[i] = 0
        memory.saturated[i] = 0
    begin_accounts(steps, control)
    begin_step(memory)
    rates_at(steps, t, memory.zeros, memory.v0, work[0])
    control[EVALUATIONS] += 1.0
    h = control[STEP]
    if h <= 0.0:
        h = first_step(steps, end - t, control, scale, work)
    row, taken = 0, 0
    rejected = False
    status = DONE
    while t < end and status == DONE:
        h = min(h, control[LARGEST])
        wanted = h
        if t + 1.01 * h >= end:
            h = end - t
        for j in range(1, STAGES - 1):
            stage(steps, t, h, j, work)
        combine(steps, h, STAGES - 1, work, work[NEW])
        y = work[NEW]
        rates_at(steps, t + h, window(y, 0, nv), window(y, nv, nv), work[STAGES - 1])
        control[EVALUATIONS] += 12.0
        error = error_of(steps, h, control, scale, work)
        status = state_of(memory, y)
        if status != DONE or not error <= 1.0 or not close_end(steps, y):
            share = SAFETY * error**-EXPONENT if status == DONE and error > 1.0 else 0.1
            h *= max(0.1, min(share, 0.9))
            control[REJECTED] += 1.0
            rejected = True
            if h > 1e-13 * max(1.0, abs(t)):
                status = DONE
            elif status == DONE:
                status = TOO_SMALL
            continue
        stiff = h > 0.99 * control[LARGEST] or is_bound_by_stability(steps, h, work)
        control[BOUND] = control[BOUND] + 1.0 if stiff else max(0.0, control[BOUND] - 0.2)
        share = GROWTH
        if error > 0.0:
            share = SAFETY * error**-EXPONENT * max(control[PREVIOUS], LEAST) ** MEMORY
            share = min(GROWTH, max(SHRINKAGE, share))
        control[PREVIOUS] = error
        if rejected:
            share = min(share, 1.0)
        rejected = False
        next_t = end if h == end - t else t + h
        for i in range(memory.nu):
            if memory.clipped[i] != 0:
                memory.saturated[i] = 1
            memory.clipped[i] = 0
        if most == 1 or (row < times.size and times[row] < next_t):
            prepare_terms(steps, t, h, work)
            control[EVALUATIONS] += 3.0
            while row < times.size and times[row] < next_t:
                interpolate(steps, (times[row] - t) / h, work, work[STATE])
                write_sample(steps, times[row], work[STATE], row, q, v, effort, account)
                row += 1
        if row < times.size and times[row] == next_t:
            write_sample(steps, next_t, y, row, q, v, effort, account)
            row += 1
        for i in range(memory.nq):
            memory.q[i] = memory.q1[i]
        for i in range(nv):
            memory.v[i] = work[0, i] = memory.v1[i]
            memory.a[i] = work[0, nv + i] = work[STAGES - 1, nv + i]
        memory.account[WORK_DONE] += y[2 * nv]
        memory.account[DISSIPATED] += y[2 * nv + 1]
        work[0, 2 * nv], work[0, 2 * nv + 1] = work[STAGES - 1, 2 * nv], work[STAGES - 1, 2 * nv + 1]
        control[ACCEPTED] += 1.0
        look_at_energies(steps, SELDOM if stiff else OFTEN, control)
        # a step that the end cut short says little of the next one
        h = max(h * share, wanted) if h < wanted else h * share
        t = next_t
        if taken < path_q.shape[0]:
            copy(path_q[taken], memory.q)
            copy(path_v[taken], memory.v)
        taken += 1
        if taken == most and t < end:
            status = STEPPED
        elif t < end:
            begin_step(memory)
            if has_constraints(steps):
                rates_at(steps, t, memory.zeros, memory.v0, work[0])
                control[EVALUATIONS] += 1.0
    control[TIME], control[STEP] = t, h
    return status + 8 * row


@entry(f"int64(int64, float64, {_M}, {_V}, {_V})")
def look_back(steps, x, work, q, v):
    """Write the state q (nq,), v (nv,) at the share x of the single step that was made last."""
    memory, chart = open_steps(steps), open_chart(steps)
    y = work[STATE]
    interpolate(steps, x, work, y)
    move(chart, memory.q0, y, 1.0, q)
    for i in range(memory.nv):
        v[i] = y[memory.nv + i]
    return DONE


@entry(f"int64(int64, float64, float64, {_M}, int64, {_M}, {_M}, {_M}, {_M})")
def sample_back(steps, t, x, work, row, q, v, effort, account):
    """Write the sample `row` at time t, the share x of the single step that was made last.

    The accounts of the steps are those of the end of the step.
    """
    memory = open_steps(steps)
    nv = memory.nv
    y, end = work[STATE], work[NEW]
    interpolate(steps, x, work, y)
    y[2 * nv] -= end[2 * nv]
    y[2 * nv + 1] -= end[2 * nv + 1]
    write_sample(steps, t, y, row, q, v, effort, account)
    return DONE
