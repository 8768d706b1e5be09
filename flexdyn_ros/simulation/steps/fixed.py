"""Simulations by fixed steps: in one compiled loop where nothing calls back, step by step where something
does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import SimulationError
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.robot.analysis.bearable_step import OWN_STEPS, at_most, bearable_step
from flexdyn_ros.simulation.events import Event, Watch, root_between
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.progress import Progress
from flexdyn_ros.simulation.record import Record
from flexdyn_ros.simulation.steps.stepper import FAILURES, NOT_FINITE, OK, Stepper
from flexdyn_ros.simulation.steps.verb_stepper import VerbStepper
from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["run_fixed"]

#: steps between two looks at the keyboard and the progress bar
CHUNK = 20000
#: steps between two looks at events that are looked for afterwards: least, most
WATCHED = (256, 4096)
#: steps after which a coordinate that moves at constant speed is put where it is: its sum gathers rounding
ANCHORED = 4096


def run_fixed(plan: Plan) -> Trajectory:
    """Carry out a plan by fixed steps."""
    limits = "spring" if plan.limits == "spring" else "report"
    options: dict[str, Any] = {"q0": plan.q0, "v0": plan.v0, "t0": float(plan.times[0])}
    options |= {"limits": limits, "saturate": plan.saturate}
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
    stepper.look_again()
    record = Record(plan)
    if isinstance(stepper, Stepper) and "energy" in plan.record:
        stepper.book_numerical_dissipation()
        record.books = stepper.numerical_dissipation is not None
    if isinstance(stepper, Stepper) and plan.cylinders != "direct":
        from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics

        record.follow(FusedHydraulics(stepper, plan.cylinders))
    calls_back = bool(plan.control or plan.wrenches or plan.drive)
    with Progress(plan) as progress:
        if isinstance(stepper, Stepper) and not (calls_back or "hydraulics" in plan.record):
            if not plan.watches:
                return _record(plan, stepper, record, progress)
            if all(watch.many is not None for watch in plan.watches):
                return _record_and_look(plan, stepper, record, progress)
        return _walk(plan, stepper, record, progress)


def _failure(plan: Plan, stepper: Stepper | VerbStepper, record: Record, t: float) -> SimulationError:
    """The error that ends a simulation; its trajectory ends in the stepper's state at t, the last good."""
    where = f"robot {plan.robot.name!r}, method {stepper.method}, dt = {plan.dt:g} s"
    message = f"{stepper.message or FAILURES[NOT_FINITE]} after t = {t:.6g} s ({where})"
    bearable = bearable_step(plan.robot, plan.q0)
    if bearable is not None and bearable[0] < plan.dt:
        message += (
            f"; its fastest mode, {bearable[1]}, has {bearable[2]:.4g} Hz: rk4 bears dt up to "
            f"{at_most(bearable[0])} s; {OWN_STEPS}"
        )
    else:
        message += f"; {OWN_STEPS}"
    if record.count == 0 or record.t[record.count - 1] != t:
        _add(record, t, stepper, stepper.any_saturated)
    return SimulationError(message, record.finish(-1, message, stepper.method))


# ---- nothing calls back ----


def _record(plan: Plan, stepper: Stepper, record: Record, progress: Progress) -> Trajectory:
    """All whole samples in compiled chunks, then what is left of the duration."""
    record_steps = kernels.record_steps.load()
    whole = (plan.times.size - 1 - _has_short_step(plan)) // plan.stride + 1
    first = 0
    while first < whole:
        rows = max(2, progress.chunk(CHUNK) // plan.stride)
        # a chunk begins with the last sample of the one before it
        begin, end = max(0, first - 1), min(whole, first + rows)
        views = [array[begin:end] for array in (record.q, record.v, record.tau, record.account)]
        clipped = record.account[begin, 2]
        result = record_steps(
            stepper._steps, float(plan.times[begin * plan.stride]), plan.stride, plan.dt, *views
        )
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


# ---- events that can be looked for afterwards ----


def _record_and_look(plan: Plan, stepper: Stepper, record: Record, progress: Progress) -> Trajectory:
    """Compiled chunks of which every step is kept; where one holds an event, again up to the step before it,
    which is then made with open eyes."""
    last = plan.times.size - 1 - _has_short_step(plan)
    record.add(plan.times[0], stepper.q, stepper.v, stepper.effort, 0.0, 0.0, False)
    rows = _Rows(plan, stepper)
    i, length = 0, WATCHED[0]
    while i < last:
        _anchor(plan, stepper, i)
        before = stepper.snapshot()
        n = min(progress.chunk(length), last - i, ANCHORED - i % ANCHORED)
        status, done = rows.record(i, n)
        found = rows.first_event(done)
        if found is not None:
            stepper.restore(before)
            rows.record(i, found)
            rows.keep(record, i, found)
            event = _step_by_step(plan, stepper, record, progress, i + found, i + found + 1)
            if event is not None:
                return _ended(plan, stepper, record, event)
            i, length = i + found + 1, WATCHED[0]
            continue
        rows.keep(record, i, done)
        if status:
            stepper.message = FAILURES[status]
            raise _failure(plan, stepper, record, float(plan.times[i + done]))
        i, length = i + n, min(2 * length, WATCHED[1])
        progress.show(i)
    return _walk(plan, stepper, record, progress, last)


class _Rows:
    """Every step of a chunk: states, efforts, accounts, and what the watches say of them."""

    def __init__(self, plan: Plan, stepper: Stepper) -> None:
        n, robot = min(WATCHED[1], plan.times.size) + 1, plan.robot
        self._plan, self._stepper, self._record = plan, stepper, kernels.record_steps.load()
        self._arrays = [np.empty((n, width)) for width in (robot.nq, robot.nv, robot.nu, 4)]

    def record(self, first: int, steps: int) -> tuple[int, int]:
        """Make steps from index `first` of the times; their status and how many were made."""
        views = [array[: steps + 1] for array in self._arrays]
        t, dt = float(self._plan.times[first]), self._plan.dt
        result = self._record(self._stepper._steps, t, 1, dt, *views)
        return result & 3, result >> 2

    def first_event(self, steps: int) -> int | None:
        """Index of the first step that holds an event."""
        # fresh views, the same for all watches: they tell rows apart by identity
        q, v = (array[: steps + 1] for array in self._arrays[:2])
        found = []
        for watch in self._plan.watches:
            assert watch.many is not None
            g = watch.many(q, v)
            hits = [j for j in np.flatnonzero(_changes(g)) if watch.crossed(g[j], g[j + 1])]
            found += [int(j) for j in hits[:1]]
        return min(found, default=None)

    def keep(self, record: Record, first: int, steps: int) -> None:
        """Record the samples among so many steps from index `first` of the times."""
        q, v, tau, account = self._arrays
        stride, times = self._plan.stride, self._plan.times
        if steps > 0 and first % stride == 0:
            record.tau[record.count - 1] = tau[0]
        after, last = 1, min(steps, times.size - 1 - first)
        samples = list(range(stride - first % stride, last + 1, stride))
        if first + last == times.size - 1 and last > 0 and samples[-1:] != [last]:
            samples.append(last)
        for row in samples:
            clipped = record.clipped or bool(account[after : row + 1, 2].any())
            work, taken, _, numerical = account[row]
            record.add(times[first + row], q[row], v[row], tau[row], work, taken, clipped, numerical)
            record.clipped, after = False, row + 1
        record.clipped |= bool(account[after : steps + 1, 2].any())


def _changes(g: np.ndarray) -> np.ndarray:
    """Where the sign of g is not that of the value before."""
    return np.sign(g[1:]) != np.sign(g[:-1])


# ---- something calls back at every step ----


def _walk(
    plan: Plan, stepper: Stepper | VerbStepper, record: Record, progress: Progress, first: int = 0
) -> Trajectory:
    """Step by step from index `first` of the times."""
    event = _step_by_step(plan, stepper, record, progress, first, plan.times.size - 1)
    return _ended(plan, stepper, record, event)


def _ended(plan: Plan, stepper: Stepper | VerbStepper, record: Record, event: Event | None) -> Trajectory:
    """The trajectory of a simulation that reached its end, or the event that ended it."""
    if event is None:
        return record.finish(0, f"reached t = {plan.times[-1]:g} s", stepper.method)
    return record.finish(1, f"stopped by event {event.name!r} at t = {event.time:.9g} s", stepper.method)


def _step_by_step(
    plan: Plan, stepper: Stepper | VerbStepper, record: Record, progress: Progress, first: int, last: int
) -> Event | None:
    """Steps from index `first` of the times to index `last`; the event that ended them."""
    times, stride = plan.times, plan.stride
    values = []
    if first < last:
        values = [watch.value(times[first], stepper.q.copy(), stepper.v.copy()) for watch in plan.watches]
    if record.count == 0:
        record.add(times[0], stepper.q, stepper.v, stepper.effort, 0.0, 0.0, False)
    for i in range(first, last):
        t = float(times[i])
        _anchor(plan, stepper, i)
        # all steps but a shorter last one are exactly dt, as in the compiled loop
        h = float(times[i + 1] - t) if i + 2 == times.size and _has_short_step(plan) else plan.dt
        _ask(plan, stepper, t, h, i % plan.hold == 0)
        before = stepper.snapshot() if plan.watches else ()
        if stepper.step(h, t) != OK:
            raise _failure(plan, stepper, record, t)
        record.clipped |= stepper.any_saturated
        if i % stride == 0:
            record.tau[record.count - 1] = stepper.effort
        if plan.watches:
            values, end = _look(plan, stepper, record, before, t, h, values)
            if end is not None:
                _add(record, end.time, stepper)
                return end
        if (i + 1) % stride == 0 or i + 2 == times.size:
            _add(record, float(times[i + 1]), stepper)
        progress.show(i + 1)
    return None


def _add(record: Record, t: float, stepper: Stepper | VerbStepper, clipped: bool = False) -> None:
    """The stepper's state at t as a sample."""
    account = stepper.work, stepper.dissipated, record.clipped or clipped
    record.add(t, stepper.q, stepper.v, stepper.effort, *account, stepper.numerical_dissipation)
    record.clipped = False


def _anchor(plan: Plan, stepper: Stepper | VerbStepper, i: int) -> None:
    """Now and then put coordinates of prescribed constant speed where they are at index i of the times."""
    if i % ANCHORED != 0 or i == 0 or plan.drive is not None:
        return
    for c in plan.robot.coordinates:
        if c.prescribed:
            x = plan.q0[c.q_index] + plan.v0[c.v_index] * float(plan.times[i] - plan.times[0])
            stepper.place(c.q_index, x)


def _ask(plan: Plan, stepper: Stepper | VerbStepper, t: float, h: float, samples: bool) -> None:
    """Efforts, wrenches and prescribed motion for the step of h that begins at t, at a sample or not."""
    if plan.drive is not None:
        stepper.place_drive(plan.drive, t, h)
    if plan.control is not None and (samples or plan.is_continuous):
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
