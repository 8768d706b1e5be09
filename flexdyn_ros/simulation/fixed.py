"""Simulations by fixed steps: in one compiled loop where nothing calls back, step by step where something
does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import SimulationError
from flexdyn_ros.kernels import steppers as kernels
from flexdyn_ros.simulation.events import Watch, root_between
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.progress import Progress
from flexdyn_ros.simulation.record import Record
from flexdyn_ros.simulation.stepper import FAILURES, NOT_FINITE, OK, Stepper
from flexdyn_ros.simulation.trajectory import Event, Trajectory
from flexdyn_ros.simulation.verb_stepper import VerbStepper

__all__ = ["run_fixed"]

#: steps between two looks at the keyboard and the progress bar
CHUNK = 20000


def run_fixed(plan: Plan) -> Trajectory:
    """Carry out a plan by fixed steps."""
    limits = "spring" if plan.limits == "spring" else "report"
    options: dict[str, Any] = {"q0": plan.q0, "v0": plan.v0, "limits": limits, "saturate": plan.saturate}
    if plan.cylinders != "direct":
        # cylinders have end stops and largest forces of their own
        options |= {"limits": "report", "saturate": False}
    stepper: Stepper | VerbStepper
    if plan.robot.motion is not None:
        stepper = Stepper(plan.robot, plan.dt, plan.method, **options)
    else:
        stepper = VerbStepper(plan.robot, plan.dt, plan.method, **options)
    stepper.set_efforts(plan.effort)
    stepper.set_wrenches(plan.loads)
    stepper.set_state(t=float(plan.times[0]))
    record = Record(plan)
    if isinstance(stepper, Stepper) and plan.cylinders != "direct":
        from flexdyn_ros.simulation.fused_hydraulics import FusedHydraulics

        record.follow(FusedHydraulics(stepper, plan.cylinders))
    calls_back = bool(plan.control or plan.wrenches or plan.watches or plan.drive)
    with Progress(plan) as progress:
        if isinstance(stepper, Stepper) and not (calls_back or "hydraulics" in plan.record):
            return _roll(plan, stepper, record, progress)
        return _walk(plan, stepper, record, progress)


def _failure(plan: Plan, stepper: Stepper | VerbStepper, record: Record, t: float) -> SimulationError:
    """The error that ends a simulation; its trajectory ends in the stepper's state at t, the last good."""
    where = f"robot {plan.robot.name!r}, method {stepper.method}, dt = {plan.dt:g} s"
    message = f"{stepper.message or FAILURES[NOT_FINITE]} after t = {t:.6g} s ({where})"
    if record.count == 0 or record.t[record.count - 1] != t:
        account = stepper.work, stepper.dissipated
        record.add(t, stepper.q, stepper.v, stepper.effort, *account, stepper.any_saturated)
    return SimulationError(message, record.finish(-1, message, stepper.method))


# ---- nothing calls back ----


def _roll(plan: Plan, stepper: Stepper, record: Record, progress: Progress) -> Trajectory:
    """All whole samples in compiled chunks, then what is left of the duration."""
    roll = kernels.roll.load()
    whole = (plan.times.size - 1 - _has_short_step(plan)) // plan.stride + 1
    rows = max(2, CHUNK // plan.stride)
    first = 0
    while first < whole:
        # a chunk begins with the last sample of the one before it
        begin, end = max(0, first - 1), min(whole, first + rows)
        views = [array[begin:end] for array in (record.q, record.v, record.tau, record.account)]
        clipped = record.account[begin, 2]
        result = roll(stepper._steps, float(plan.times[begin * plan.stride]), plan.stride, plan.dt, *views)
        if first > 0:
            record.account[begin, 2] = clipped
        status, done = result & 3, result >> 2
        record.count = begin + done // plan.stride + 1
        if status:
            record.t[: record.count] = plan.times[: record.count * plan.stride : plan.stride]
            stepper.message = FAILURES[status]
            raise _failure(plan, stepper, record, float(plan.times[begin * plan.stride + done]))
        first = end
        progress.show((end - 1) * plan.stride)
    record.t[:whole] = plan.times[: whole * plan.stride : plan.stride]
    return _walk(plan, stepper, record, progress, (whole - 1) * plan.stride)


def _has_short_step(plan: Plan) -> bool:
    """Whether the last step is shorter than the others."""
    n = plan.times.size
    return n > 1 and abs(plan.times[-1] - plan.times[0] - (n - 1) * plan.dt) > 1e-9 * plan.dt


# ---- something calls back at every step ----


def _walk(
    plan: Plan, stepper: Stepper | VerbStepper, record: Record, progress: Progress, first: int = 0
) -> Trajectory:
    """Step by step from index `first` of the times."""
    times, samples = plan.times, set(plan.samples.tolist())
    values = [watch.value(times[first], stepper.q.copy(), stepper.v.copy()) for watch in plan.watches]
    clipped = False
    if record.count == 0:
        record.add(times[0], stepper.q, stepper.v, stepper.effort, 0.0, 0.0, False)
    for i in range(first, times.size - 1):
        t = float(times[i])
        # all steps but a shorter last one are exactly dt, as in the compiled loop
        h = float(times[i + 1] - t) if i + 2 == times.size and _has_short_step(plan) else plan.dt
        _ask(plan, stepper, t, h)
        before = stepper.snapshot() if plan.watches else ()
        if stepper.step(h, t) != OK:
            raise _failure(plan, stepper, record, t)
        clipped |= stepper.any_saturated
        if i == 0 or i in samples:
            record.tau[record.count - 1] = stepper.effort
        if plan.watches:
            values, end = _look(plan, stepper, record, before, t, h, values)
            if end is not None:
                account = stepper.work, stepper.dissipated
                record.add(end.time, stepper.q, stepper.v, stepper.effort, *account, clipped)
                return record.finish(
                    1, f"stopped by event {end.name!r} at t = {end.time:.9g} s", stepper.method
                )
        if i + 1 in samples:
            account = stepper.work, stepper.dissipated
            record.add(times[i + 1], stepper.q, stepper.v, stepper.effort, *account, clipped)
            clipped = False
        progress.show(i + 1)
    return record.finish(0, f"reached t = {times[-1]:g} s", stepper.method)


def _ask(plan: Plan, stepper: Stepper | VerbStepper, t: float, h: float) -> None:
    """Efforts, wrenches and prescribed motion for the step of h that begins at t."""
    if plan.drive is not None:
        stepper.place_drive(plan.drive, t, h)
    if plan.control is not None:
        stepper.set_efforts(plan.command(t, stepper.q, stepper.v))
    if plan.wrenches is not None:
        stepper.set_wrenches(plan.wrenches(t, stepper.q.copy(), stepper.v.copy()))


def _look(
    plan: Plan,
    stepper: Stepper | VerbStepper,
    record: Record,
    before: Any,
    t: float,
    h: float,
    values: list[float],
) -> tuple[list[float], Event | None]:
    """Events in the step just made, in order; at a terminal one the stepper is left there.

    An event lies where a shorter step from the same state brings its function to zero.
    """
    q, v = stepper.q.copy(), stepper.v.copy()
    new = [watch.value(t + h, q, v) for watch in plan.watches]
    crossed = [i for i, watch in enumerate(plan.watches) if watch.crossed(values[i], new[i])]
    if not crossed:
        return new, None
    after = stepper.snapshot()
    found = []
    for i in crossed:
        share = _share(plan.watches[i], stepper, before, t, h, values[i], new[i])
        found.append((share, i))
    for share, i in sorted(found):
        watch = plan.watches[i]
        _go(stepper, before, after, share, t, h)
        name = watch.name(stepper.q)
        record.events.append(Event(t + share * h, name, watch.terminal, stepper.q.copy(), stepper.v.copy()))
        if watch.terminal:
            return new, record.events[-1]
    stepper.restore(after)
    return new, None


def _go(stepper: Stepper | VerbStepper, before: Any, after: Any, share: float, t: float, h: float) -> None:
    """Put the stepper at a share of the step between two snapshots."""
    stepper.restore(after if share == 1.0 else before)
    if 0.0 < share < 1.0:
        stepper.step(share * h, t)


def _share(
    watch: Watch, stepper: Stepper | VerbStepper, before: Any, t: float, h: float, g0: float, g1: float
) -> float:
    """Share of the step after which the watch is zero."""
    if g1 == 0.0:
        return 1.0

    def value(share: float) -> float:
        stepper.restore(before)
        stepper.step(share * h, t)
        return watch.value(t + share * h, np.array(stepper.q), np.array(stepper.v))

    return root_between(value, 0.0, 1.0, g0, g1)
