"""Simulations by fixed steps: in one compiled loop where nothing calls back, step by step where something
does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, SimulationError, UnsupportedError
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.robot.analysis.validity import OWN_STEPS, at_most, bearable_step
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event, zeros_in_step
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.progress import Progress
from flexdyn_ros.simulation.record import Record
from flexdyn_ros.simulation.steps.drive import Drive
from flexdyn_ros.simulation.steps.rates import HeldCommand, rates_of
from flexdyn_ros.simulation.steps.stepper import FAILURES, NOT_FINITE, OK, Stepper
from flexdyn_ros.simulation.trajectory import Trajectory

#: steps between two looks at the keyboard, the progress bar and events: least, most
CHUNKS = (256, 4096)
#: steps after which a coordinate that moves at constant speed is put where it is: its sum gathers rounding
ANCHORED = 4096


def run_fixed(plan: Plan) -> Trajectory:
    """Carry out a plan by fixed steps."""
    compiled = plan.robot.motion is not None
    stepper: AnyStepper = (Stepper if compiled else VerbStepper)(
        plan.robot, plan.dt, plan.method, **plan.stepping
    )
    stepper.set_efforts(plan.effort)
    stepper.set_wrenches(plan.loads)
    stepper.look_again()
    record = Record(plan)
    if isinstance(stepper, Stepper) and "energy" in plan.record:
        stepper.book_numerical_dissipation()
        record.books = stepper.numerical_dissipation is not None
    if isinstance(stepper, Stepper) and plan.cylinders != "direct":
        from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics

        record.follow(FusedHydraulics(stepper, plan.mode))
    if plan.times.size == 1:
        # no step asks
        _ask(plan, stepper, record, float(plan.times[0]), plan.dt, True)
        stepper.look_again()
    record.add(plan.times[0], stepper.q, stepper.v, stepper.effort, 0.0, 0.0, False, stepper.states)
    calls_back = bool(plan.control or plan.wrenches or plan.drive)
    in_chunks = all(watch.many is not None for watch in plan.watches)
    first, event = 0, None
    with Progress(plan) as progress:
        by_steps = calls_back or "hydraulics" in plan.record or plan.moves_states
        if isinstance(stepper, Stepper) and in_chunks and not by_steps:
            first = plan.times.size - 1 - _has_short_step(plan)
            event = _in_chunks(plan, stepper, record, progress, first)
        if event is None:
            event = _step_by_step(plan, stepper, record, progress, first, plan.times.size - 1)
        return record.end(event, stepper.method)


def _failure(plan: Plan, stepper: AnyStepper, record: Record, t: float) -> SimulationError:
    """The error that ends a simulation; its trajectory ends in the stepper's state at t, the last good."""
    advice = f"; {OWN_STEPS}"
    bearable = bearable_step(plan.robot, plan.q0)
    if bearable is not None and bearable[0] < plan.dt:
        advice = (
            f"; its fastest mode, {bearable[1]}, has {bearable[2]:.4g} Hz: rk4 is stable up to dt = "
            f"{at_most(bearable[0])} s; {OWN_STEPS}"
        )
    if record.t[record.count - 1] != t:
        _add(record, t, stepper, stepper.any_saturated)
    why = stepper.message or FAILURES[NOT_FINITE]
    return record.failure(why, stepper.method, details=f", dt = {plan.dt:g} s", advice=advice)


def _has_short_step(plan: Plan) -> bool:
    """Whether the last step is shorter than the others."""
    n = plan.times.size
    return n > 1 and abs(plan.times[-1] - plan.times[0] - (n - 1) * plan.dt) > 1e-9 * plan.dt


# ---- nothing calls back; events can be looked for afterwards ----


def _in_chunks(plan: Plan, stepper: Stepper, record: Record, progress: Progress, last: int) -> Event | None:
    """Compiled chunks, up to index `last` of the times, of which every step is kept; where one holds an
    event, again up to the step before it, which is then made with open eyes. The event that ended it."""
    rows = _Rows(plan, stepper)
    i, length = 0, CHUNKS[0]
    while i < last:
        _anchor(plan, stepper, i)
        before = stepper.snapshot() if plan.watches else None
        n = min(progress.chunk(length), last - i, ANCHORED - i % ANCHORED)
        status, done = rows.record(i, n)
        found = rows.first_event(done)
        if found is not None:
            stepper.restore(before)
            rows.record(i, found)
            rows.keep(record, i, found)
            event = _step_by_step(plan, stepper, record, progress, i + found, i + found + 1)
            if event is not None:
                return event
            i, length = i + found + 1, CHUNKS[0]
            continue
        rows.keep(record, i, done)
        if status:
            stepper.message = FAILURES[status]
            raise _failure(plan, stepper, record, float(plan.times[i + done]))
        i, length = i + n, min(2 * length, CHUNKS[1])
        progress.show(i)
    return None


class _Rows:
    """Every step of a chunk: states, efforts, accounts, states of elements, and what the watches find in
    them."""

    def __init__(self, plan: Plan, stepper: Stepper) -> None:
        n, robot = min(CHUNKS[1], plan.times.size) + 1, plan.robot
        self._plan, self._stepper, self._record = plan, stepper, kernels.record_steps.load()
        widths = robot.nq, robot.nv, robot.nu, 4, plan.states0.size
        self._arrays = [np.empty((n, width)) for width in widths]

    def record(self, first: int, steps: int) -> tuple[int, int]:
        """Make steps from index `first` of the times; their status and how many were made."""
        views = [array[: steps + 1] for array in self._arrays[:4]]
        t, dt = float(self._plan.times[first]), self._plan.dt
        held = HeldCommand(self._plan.robot, t, self._plan.effort, self._stepper.states)
        result = self._record(self._stepper._steps, t, 1, dt, *views)
        done = result >> 2
        self._arrays[4][: done + 1] = held.states(t + dt * np.arange(done + 1))
        return result & 3, done

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
        stride, times = self._plan.stride, self._plan.times
        if steps > 0 and first % stride == 0:
            record.tau[record.count - 1] = self._arrays[2][0]
        samples = np.arange(stride - first % stride, steps + 1, stride)
        if first + steps == times.size - 1 and steps > 0 and steps not in samples[-1:]:
            samples = np.append(samples, steps)
        # how many steps were clipped up to each, those before the chunk counted as one
        clipped = np.cumsum(self._arrays[3][: steps + 1, 2])
        clipped += record.clipped - clipped[0]
        before = np.concatenate(([0.0], clipped[samples]))
        record.add_rows(times[first + samples], samples, self._arrays, before[1:] > before[:-1])
        record.clipped = bool(clipped[-1] > before[-1])


def _changes(g: np.ndarray) -> np.ndarray:
    """Where the sign of g is not that of the value before."""
    return np.sign(g[1:]) != np.sign(g[:-1])


# ---- something calls back at every step ----


def _step_by_step(
    plan: Plan, stepper: AnyStepper, record: Record, progress: Progress, first: int, last: int
) -> Event | None:
    """Steps from index `first` of the times to index `last`; the event that ended them."""
    times, stride = plan.times, plan.stride
    values = []
    if first < last:
        values = [watch.value(times[first], stepper.q.copy(), stepper.v.copy()) for watch in plan.watches]
    for i in range(first, last):
        t = float(times[i])
        _anchor(plan, stepper, i)
        # all steps but a shorter last one are exactly dt, as in the compiled loop
        h = float(times[i + 1] - t) if i + 2 == times.size and _has_short_step(plan) else plan.dt
        _ask(plan, stepper, record, t, h, i % plan.hold == 0)
        before = stepper.snapshot() if plan.watches else ()
        if stepper.step(h, t) != OK:
            raise _failure(plan, stepper, record, t)
        record.clipped |= stepper.any_saturated or plan.clipped
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


def _add(record: Record, t: float, stepper: AnyStepper, clipped: bool = False) -> None:
    """The stepper's state at t as a sample."""
    account = stepper.work, stepper.dissipated, record.clipped or clipped
    inside = stepper.states, stepper.numerical_dissipation
    record.add(t, stepper.q, stepper.v, stepper.effort, *account, *inside)
    record.clipped = False


def _anchor(plan: Plan, stepper: AnyStepper, i: int) -> None:
    """Now and then put coordinates of prescribed constant speed where they are at index i of the times."""
    if i % ANCHORED != 0 or i == 0 or plan.drive is not None:
        return
    for c in plan.robot.coordinates:
        if c.prescribed:
            x = plan.q0[c.q_index] + plan.v0[c.v_index] * float(plan.times[i] - plan.times[0])
            stepper.place(c.q_index, x)


def _ask(plan: Plan, stepper: AnyStepper, record: Record, t: float, h: float, samples: bool) -> None:
    """Efforts, wrenches and prescribed motion for the step of h that begins at t, at a sample or not."""
    if plan.drive is not None:
        stepper.place_drive(plan.drive, t, h)
    if plan.control is not None and (samples or plan.is_continuous):
        stepper.set_efforts(plan.command(t, stepper.q, stepper.v))
        record.use_mode(plan.mode)
    if plan.wrenches is not None:
        stepper.set_wrenches(plan.wrenches(t, stepper.q.copy(), stepper.v.copy()))


def _look(
    plan: Plan, stepper: AnyStepper, record: Record, before: object, t: float, h: float, values: list[float]
) -> tuple[list[float], Event | None]:
    """Events in the step just made, in order; at a terminal one the stepper is left there.

    An event lies where a shorter step from the same state brings its function to zero.
    """
    end = stepper.q.copy(), stepper.v.copy()
    after: object = None

    def at(share: float) -> tuple[np.ndarray, np.ndarray]:
        nonlocal after
        if share == 1.0:
            return end
        after = stepper.snapshot() if after is None else after
        stepper.restore(before)
        if share > 0.0:
            stepper.step(share * h, t)
        return stepper.q.copy(), stepper.v.copy()

    new, zeros = zeros_in_step(plan.watches, values, t, h, at)
    for share, watch in zeros:
        q, v = at(share)
        record.events.append(Event(t + share * h, watch.name(q), watch.terminal, q, v))
        if watch.terminal and share < 1.0:
            return new, record.events[-1]
        if watch.terminal:
            break
    if after is not None:
        stepper.restore(after)
    return new, record.events[-1] if zeros and record.events[-1].terminal else None


# Fixed steps of any robot through its verbs, for families that have no compiled steps.


class VerbStepper:
    """As much of `Stepper` as `simulate` needs, for any robot: semi_implicit_euler and rk4.

    Parameters and attributes as of `Stepper`.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        method: str,
        *,
        q0: np.ndarray,
        v0: np.ndarray,
        t0: float,
        limits: str,
        saturate: bool,
    ) -> None:
        if method not in ("auto", "semi_implicit_euler", "rk4"):
            raise UnsupportedError(f"robot {robot.name!r} has no method {method!r} with this formulation")
        self.robot, self.dt = robot, dt
        self.method = "rk4" if method == "auto" else method
        self._motion = rates_of(robot, limits=limits, saturate=saturate)
        self.set_wrenches = self._motion.set_wrenches
        self.q, self.v = np.array(q0, dtype=np.float64), np.array(v0, dtype=np.float64)
        self.effort = np.zeros(robot.nu)
        #: of elements: none, without compiled steps
        self.states = np.zeros(0)
        self.work = self.dissipated = 0.0
        self.numerical_dissipation: float | None = None
        self.message = ""
        self._t0, self._tau = t0, np.zeros(robot.nu)

    def look_again(self) -> None:
        """Efforts at the start, with the commands and wrenches that are set now."""
        self.effort = self._motion.rates(self._t0, self.q, self.v)[1]

    def set_efforts(self, tau: np.ndarray) -> None:
        """Commanded effort (nu,), held."""
        self._tau[:] = tau
        self._motion.set_efforts(tau)

    def place_drive(self, drive: Drive, t: float, h: float) -> None:
        """See `Stepper.place_drive`."""
        self.q[drive.q_index], self.v[drive.v_index], _ = drive.at(t)
        self._motion.set_given(drive.v_index, drive.mean_acceleration(t, h))

    def place(self, q_index: int, x: float) -> None:
        """See `Stepper.place`."""
        self.q[q_index] = x

    @property
    def any_saturated(self) -> bool:
        """Whether an effort was clipped in the last step."""
        return bool((self.effort != self._tau).any())

    def snapshot(self) -> Any:
        """What `restore` brings back."""
        return self.q.copy(), self.v.copy(), self.effort.copy(), self.work, self.dissipated

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        q, v, effort, self.work, self.dissipated = snapshot
        self.q, self.v, self.effort = q.copy(), v.copy(), effort.copy()

    def step(self, h: float, t: float) -> int:
        """One step of h seconds from time t; OK, or NOT_FINITE with the state kept."""
        try:
            q, v, effort, work, dissipated = (self._rk4 if self.method == "rk4" else self._euler)(t, h)
        except (FlexdynError, FloatingPointError) as error:
            self.message = str(error)
            return NOT_FINITE
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self.message = "the state is not finite"
            return NOT_FINITE
        try:
            q, v = self.robot.functions.project(q, v)
        except FlexdynError as error:
            self.message = str(error)
            return NOT_FINITE
        self.q, self.v, self.effort = q, v, effort
        self.work += work
        self.dissipated += dissipated
        return OK

    def _euler(self, t: float, h: float) -> tuple[Any, ...]:
        a, effort, work, taken = self._motion.rates(t, self.q, self.v)
        v = self.v + h * a
        return self.robot.integrate(self.q, v, h), v, effort, h * work, h * taken

    def _rk4(self, t: float, h: float) -> tuple[Any, ...]:
        robot = self.robot
        theta, v = np.zeros(robot.nv), self.v
        sums: list[Any] = [0.0, 0.0, 0.0, 0.0, 0.0]
        for weight, ahead in ((1 / 6, 0.5), (1 / 3, 0.5), (1 / 3, 1.0), (1 / 6, 0.0)):
            a, effort, work, taken = self._motion.rates(t, robot.integrate(self.q, theta, 1.0), v)
            rate = _chart_rate(robot, theta, v)
            terms: tuple[Any, ...] = (rate, a, effort, work, taken)
            sums = [s + weight * x for s, x in zip(sums, terms, strict=True)]
            theta, v = ahead * h * rate, self.v + ahead * h * a
        return (
            robot.integrate(self.q, h * sums[0], 1.0),
            self.v + h * sums[1],
            sums[2],
            h * sums[3],
            h * sums[4],
        )


def _chart_rate(robot: Robot, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rate of theta in q = q0 (+) theta when the velocity is v; see numerics/stepping/explicit.py."""
    rate = v.copy()
    for _, i in quaternions_of(robot.coordinates):
        turn, w = theta[i : i + 3], v[i : i + 3]
        across = np.cross(turn, w)
        rate[i : i + 3] += -0.5 * across + np.cross(turn, across) / 12.0
    return rate


AnyStepper = Stepper | VerbStepper
