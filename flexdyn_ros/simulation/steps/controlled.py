"""Runs with error control by compiled steps: numerics/stepping/controlled.py, and for stiff robots
numerics/stepping/extrapolated.py, for platforms with hydraulics numerics/stepping/doubled.py."""

from __future__ import annotations

import ctypes
from math import ceil
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.numerics.stepping import controlled as kernels
from flexdyn_ros.numerics.stepping import doubled, extrapolated, places
from flexdyn_ros.simulation.events import Event, values_past, zeros_in_step
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.progress import Progress
from flexdyn_ros.simulation.record import Record
from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics
from flexdyn_ros.simulation.steps.rates import HeldCommand
from flexdyn_ros.simulation.steps.stepper import FAILURES, Stepper
from flexdyn_ros.simulation.steps.stiffness import allowed_errors, energy_scale, highest_rate
from flexdyn_ros.simulation.trajectory import Trajectory

_FAILURES = FAILURES | {
    places.TOO_SMALL: "the step that the tolerances ask for became smaller than the resolution of the time"
}
#: steps between two looks at the clock where the progress is reported
CHUNK = 200
#: how many times as large an error of a speed may be by default where links bend on wheels: fast modes hold
#: next to nothing of what moves, but all speeds tremble with them, and the wheels damp what errors add up to.
#: In arms that swing without damping they grow with the time
OF_SPEEDS = 10.0
#: steps in a row that stability bounds, after which the method for stiff robots is tried; share of the steps
#: by which it is tried; share of the evaluations that it must do with
STIFF, TRIED, WORTH_IT = 15.0, 0.1, 0.5
#: steps of that trial between two looks at what they cost, and the share at which it is given up
FIRST_STEPS, HOPELESS = 20, 0.75
#: step times rate of a vibration beyond which dop853 is not taken: it is stable up to 5.9, and rates change
#: with the posture
STABLE = 5.0
#: stops are as stiff as steps of this length could follow: the steps here are as short as they need [s]
_STOPS_STEP = 1e-5
#: period of the force control of cylinders, as of the nodes' steps [s]
PERIOD = 1e-3
#: tolerance of the pressures within a step of the platform, as a share of that of the platform
SHARPER = 0.1
#: shares of a step at which events are looked for, at least and at most
LOOKS, MOST_LOOKS = 4, 64
#: share of the scale of energies that is no motion, whose accounts need not be exact
STILL = 1e-9
#: share of a step within which kinks are one
SAME_MOMENT = 1e-9


class _Kind(NamedTuple):
    """A method: that of the stepper behind it, its kernels, and whether its steps can be looked into."""

    of_stepper: str
    kernels: ModuleType
    interpolates: bool


_KINDS = {
    "dop853": _Kind("rk4", kernels, True),
    "extrapolated": _Kind("rosenbrock", extrapolated, False),
    "adaptive_staggered": _Kind("staggered", doubled, False),
}

_Provide = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_int64)


class _Provider:
    """What follows time and state without breaks, called at every evaluation: wrenches, prescribed motion,
    forces that lag behind their commands."""

    def __init__(self, plan: Plan, stepper: Stepper) -> None:
        self._plan, self._stepper, robot = plan, stepper, plan.robot
        self._held = HeldCommand(robot, float(plan.times[0]), plan.effort, plan.states0)
        #: states of elements (n, ns) at times (n,)
        self.states = self._held.states
        self._sizes = robot.nq, robot.nv
        #: what a callable raised
        self.error: BaseException | None = None
        self._function = _Provide(self._answer)
        follows = plan.wrenches is not None or plan.drive is not None or plan.imposed is not None
        follows |= plan.is_continuous
        if follows or self._held.lag is not None:
            stepper.ask_at_every_evaluation(ctypes.cast(self._function, ctypes.c_void_p).value or 0)

    def command(self, t: float, tau: np.ndarray) -> None:
        """Efforts (nu,) that are commanded from t on."""
        self._held.take(t, tau)
        self._stepper.set_efforts(tau)

    def _answer(self, t: float, q: int, v: int) -> int:
        if self.error is not None:
            return 1
        try:
            self._provide(t, _copied(q, self._sizes[0]), _copied(v, self._sizes[1]))
        except BaseException as error:  # noqa: BLE001  nothing may pass through compiled code; raised after it
            self.error = error
            return 1
        return 0

    def _provide(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        plan = self._plan
        loads = plan.loads
        if plan.wrenches is not None:
            loads = plan.wrenches(t, q, v)
            self._stepper.set_wrenches(loads)
        if plan.drive is not None:
            self._stepper.given[plan.drive.v_index] = plan.drive.at(t)[2]
        tau = plan.command(t, q, v) if plan.is_continuous else self._held.tau
        if plan.imposed is not None:
            tau = plan.imposed.efforts(t, q, v, tau, loads, plan.drive)
        if plan.is_continuous or plan.imposed is not None:
            self._stepper.drive[:] = tau
        if self._held.lag is not None:
            self._stepper.drive[:] = self._held.at(t)


def _copied(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address)).copy()


class _Run:
    """A run under way: the stepper, its work memory and its samples."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        robot = plan.robot
        with_cylinders = plan.cylinders != "direct"
        self.plan, self.progress, self.record = plan, progress, Record(plan)
        self.method = plan.method
        if plan.method == "auto":
            self.method = "adaptive_staggered" if with_cylinders else "dop853"
        kind = _KINDS[self.method]
        self.stepper = Stepper(
            robot,
            min(plan.dt, _STOPS_STEP),
            kind.of_stepper,
            **plan.stepping,
        )
        self.provider = _Provider(plan, self.stepper)
        self.stepper.set_wrenches(plan.loads)
        self._control = np.zeros(places.CONTROL)
        # beyond the region of stability errors grow to what the tolerances allow, in a robot at rest too
        fastest = highest_rate(robot, plan.q0)
        largest = STABLE / fastest if fastest > 0.0 and self.method == "dop853" else np.inf
        self._control[[places.RTOL, places.LARGEST]] = plan.rtol, largest
        self._control[places.PREVIOUS] = kernels.LEAST
        lenient = plan.atol is None and self.stepper.has_modes and robot.functions.contacts is not None
        self._control[places.OF_SPEEDS] = OF_SPEEDS if lenient else 1.0
        # the steps raise it to the kinetic energy that they see
        scale = energy_scale(robot, plan.q0, plan.v0)
        self._still = self._control[places.OF_ENERGIES] = plan.rtol * STILL * scale
        self._scale = allowed_errors(robot, plan.q0, plan.atol, plan.rtol)
        self._width = 2 * robot.nv + 2
        self._more: tuple[np.ndarray, ...] = ()
        self._cylinders: FusedHydraulics | None = None
        if with_cylinders:
            self._take_cylinders()
        self._path = np.empty((CHUNK, robot.nq)), np.empty((CHUNK, robot.nv))
        #: methods that were in use, and evaluations after which a stiff robot is tried again
        self.used = [self.method]
        self._patience = 0.0
        self._use(kind)
        #: where the step that is looked into began: snapshot, control numbers, time
        self._before: object = None
        #: steps that are made one by one, because there is an event in them
        self._careful = 0
        self.t = float(plan.times[0])
        #: values of the watches at t
        self._values: list[float] = []

    def _use(self, kind: _Kind) -> None:
        """Go on with a method."""
        self._interpolates = kind.interpolates
        self._advance = kind.kernels.run_to.load()
        self._work = np.zeros((kind.kernels.WORK_ROWS, self._width))
        self.stepper.use_method(kind.of_stepper)

    def go_with_forces(self, end: float, sample_times: np.ndarray, forces: np.ndarray) -> Event | None:
        """As `go`; cylinders take their forces from (nu,), and set their valves anew in every period."""
        assert self._cylinders is not None
        forces = forces[self._cylinders.places]
        periods = max(1, ceil((end - self.t) / PERIOD - 1e-6))
        event = None
        for until in np.linspace(self.t, end, periods + 1)[1:].tolist():
            self._cylinders.decide(self.t, forces, until - self.t, self.plan.mode)
            event = event or self.go(until, sample_times[sample_times > self.t][: until == end])
        return event

    def _take_cylinders(self) -> None:
        """Let the cylinders drive the robot, their pressures as exact as its motion."""
        cylinders = self._cylinders = FusedHydraulics(self.stepper, "valve")
        pressure = cylinders.sharpen(SHARPER * self.plan.rtol)
        self.record.follow(cylinders)
        self._more = (self.stepper.actuators,)
        self._scale = np.concatenate([self._scale, cylinders.scale(self.plan.rtol * pressure)])
        robot = self.plan.robot
        self._width = robot.nq + robot.nv + 2 + robot.nu + self.stepper.actuators.size

    # ---- samples ----

    def begin(self) -> None:
        """The first sample."""
        self.stepper.look_again(self.t)
        self._raise_what_was_raised()
        account = self.stepper.work, self.stepper.dissipated
        self.record.add(
            self.t, self.stepper.q, self.stepper.v, self._effort(), *account, False, self.plan.states0
        )
        self._values = [watch.value(self.t, *self._state()) for watch in self.plan.watches]

    def _effort(self) -> np.ndarray:
        """What acts on the robot at the state."""
        if self._cylinders is None:
            return self.stepper.effort
        effort = self.stepper.effort.copy()
        effort[self._cylinders.places] = self._cylinders.cylinders["force"]
        return effort

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.stepper.q.copy(), self.stepper.v.copy()

    def _states(self, times: np.ndarray) -> np.ndarray:
        """States of elements (n, ns) at times (n,): the time of the steps, where cylinders act."""
        return self.stepper.states[None] if self.plan.moves_states else self.provider.states(times)

    def _rows(self, last: int) -> list[np.ndarray]:
        """Rows of the record up to the sample `last` that are still to be filled."""
        record = self.record
        return [array[record.count : last] for array in (record.q, record.v, record.tau, record.account)]

    # ---- motion ----

    def go(self, end: float, sample_times: np.ndarray) -> Event | None:
        """Move to `end`, with the samples in between; the terminal event that ended it."""
        first = self.record.count
        in_chunks = all(watch.many is not None for watch in self.plan.watches)
        while self.t < end:
            wanted = sample_times[self.record.count - first :]
            if not self.plan.watches:
                chunk = CHUNK if self.plan.progress or self.plan.method == "auto" else 0
                self._keep(wanted, *self._run(end, wanted, chunk))
            elif in_chunks and self._careful == 0:
                self._run_and_look(end, wanted)
            else:
                self._careful = max(0, self._careful - 1)
                begin = self.t
                self._before = self.stepper.snapshot(), self._control.copy(), begin
                status, written = self._run(end, wanted, 1)
                event, kink = self._look(begin, wanted[:written])
                if event is not None:
                    return event
                if kink is not None:
                    self._go_back(self._before)
                    status, written = self._run(kink, wanted[wanted <= kink], 0)
                self._keep(wanted, status, written)
            self.progress.reach(self.t)
            if self.plan.method == "auto" and self._control[places.BOUND] > STIFF:
                self._try_the_other(end)
        return None

    def _try_the_other(self, end: float) -> None:
        """Where stability bounds the explicit steps: the implicit ones, if they cost less over some steps."""
        control = self._control
        control[places.BOUND] = 0.0
        if self._interpolates is False or control[places.EVALUATIONS] < self._patience or self.t >= end:
            return
        steps, seconds = control[places.ACCEPTED], self.t - float(self.plan.times[0])
        explicit = control[places.EVALUATIONS] / max(seconds, 1e-12)
        now = self.stepper.snapshot(), control.copy(), self.t
        until = min(end, self.t + max(TRIED * seconds, 5.0 * self.plan.dt))
        self._use(_KINDS["extrapolated"])
        control[[places.STEP, places.LARGEST]] = 0.0, np.inf
        implicit = 0.0
        most = control[places.ACCEPTED] + max(FIRST_STEPS, TRIED * steps)
        # the first steps tell what is hopeless
        while self.t < until and implicit < HOPELESS * explicit and control[places.ACCEPTED] < most:
            self._run(until, np.zeros(0), FIRST_STEPS)
            spent = control[places.EVALUATIONS] - now[1][places.EVALUATIONS]
            implicit = spent / max(self.t - now[2], 1e-12)
        reached = self.t > now[2]
        h = control[places.STEP]
        self._go_back(now)
        if reached and implicit < WORTH_IT * explicit:
            self.used.append("extrapolated")
            self.method = "+".join(self.used)
            control[[places.STEP, places.LARGEST]] = h, np.inf
            return
        self._use(_KINDS["dop853"])
        self._patience = 8.0 * control[places.EVALUATIONS]

    def _run(self, end: float, wanted: np.ndarray, most: int) -> tuple[int, int]:
        """Steps towards `end`, at most so many; their status and the number of samples written."""
        result = self._advance(
            self.stepper._steps,
            *self._more,
            self.t,
            end,
            most,
            self._control,
            self._scale,
            self._work,
            wanted,
            *self._rows(self.record.count + wanted.size),
            *(path[:most] for path in self._path),
        )
        self._raise_what_was_raised()
        self.t = float(self._control[places.TIME])
        seen = float(self._control[places.OF_ENERGIES])
        self.record.kinetic_between = seen / self.plan.rtol if seen > self._still else 0.0
        return result & 7, result >> 3

    def _keep(self, wanted: np.ndarray, status: int, written: int) -> None:
        """Take the samples written into the record."""
        record = self.record
        self._keep_times(wanted[:written])
        if written:
            if self._cylinders is not None:
                self._cylinders.note_missed()
            record.keep_cylinders()
        if status not in (places.DONE, places.STEPPED):
            raise record.failure(_FAILURES[status], self.method)

    def _keep_times(self, times: np.ndarray) -> None:
        """Take rows of the record that were written at times (n,)."""
        record = self.record
        here = slice(record.count, record.count + times.size)
        record.t[here], record.states[here] = times, self._states(times)
        record.count += times.size

    def _run_and_look(self, end: float, wanted: np.ndarray) -> None:
        """A chunk of steps; where there is an event in it, the steps before the one to look into."""
        before = self.stepper.snapshot(), self._control.copy(), self.t
        taken = self._control[places.ACCEPTED]
        status, written = self._run(end, wanted, CHUNK)
        n = int(self._control[places.ACCEPTED] - taken)
        # fresh views, the same for all watches: they tell rows apart by identity
        q, v = (path[:n] for path in self._path)
        found, values = [], []
        for watch, g0 in zip(self.plan.watches, self._values, strict=True):
            assert watch.many is not None
            g = np.concatenate([[g0], watch.many(q, v)])
            found += np.flatnonzero(watch.crossed(g[:-1], g[1:]))[:1].tolist()
            values.append(g)
        calm = min(found, default=n)
        self._values = [float(g[calm]) for g in values]
        if found:
            self._go_back(before)
            self._careful = 1
            status, written = self._run(end, wanted, calm) if calm else (places.STEPPED, 0)
        self._keep(wanted, status, written)

    def _raise_what_was_raised(self) -> None:
        if self.provider.error is not None:
            raise self.provider.error

    # ---- events ----

    def _look(self, begin: float, sampled: np.ndarray) -> tuple[Event | None, float | None]:
        """Note the events of the step from `begin` to t; at a terminal one the record ends there.

        Returns the terminal event, and the time of the first kink, up to which events are noted: the step is
        to end there.
        """
        h, before = self.t - begin, self._values
        end = self._state()
        q, v = self._state()

        def at(share: float) -> tuple[np.ndarray, np.ndarray]:
            if not self._interpolates:
                return self._state_at(begin + share * h)
            kernels.look_back(self.stepper._steps, share, self._work, q, v)
            return q.copy(), v.copy()

        after = self.stepper.snapshot(), self._control.copy(), self.t
        # several zeros in a step are distinguished as far as samples would show them
        looks = np.linspace(0.0, 1.0, min(MOST_LOOKS, max(LOOKS, 1 + int(2.0 * h / self.plan.dt))) + 1)[1:]

        self._values, found = zeros_in_step(
            self.plan.watches, self._values, begin, h, lambda x: at(x) if x < 1.0 else end, looks.tolist()
        )
        self._go_back(after)
        kink = min((share for share, watch in found if watch.breaks and 0.0 < share < 1.0), default=None)
        if kink is not None:
            found = [(share, watch) for share, watch in found if share <= kink + SAME_MOMENT]
            self._values = values_past(self.plan.watches, found, begin + kink * h, at(kink), before)
        for share, watch in found:
            state = self.plan.robot.functions.project(*at(share))
            event = Event(begin + share * h, watch.name(state[0]), watch.terminal, *state)
            self.record.events.append(event)
            if watch.terminal:
                self._end_at(event, share, sampled)
                return event, None
        self._go_back(after)
        return None, None if kink is None else begin + kink * h

    def _go_back(self, moment: Any) -> None:
        """State, control numbers and time of a moment."""
        self.stepper.restore(moment[0])
        self._control[:], self.t = moment[1:]

    def _state_at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """State at a time within the step made last, by shorter steps from its start; it stays there."""
        self._go_back(self._before)
        if t > self.t:
            self._run(t, np.zeros(0), 0)
        return self._state()

    def _end_at(self, event: Event, share: float, sampled: np.ndarray) -> None:
        """Keep the samples before the event, and add one there."""
        record = self.record
        self._keep_times(sampled[sampled < event.time])
        if self._interpolates:
            rows = record.q, record.v, record.tau, record.account
            kernels.sample_back(self.stepper._steps, event.time, share, self._work, record.count, *rows)
            self._keep_times(np.array([event.time]))
        else:
            self._state_at(event.time)
            self.stepper.look_again(event.time)
            stepper = self.stepper
            account = stepper.work, stepper.dissipated, stepper.any_saturated
            states = self._states(np.array([event.time]))[0]
            record.add(event.time, stepper.q, stepper.v, self._effort(), *account, states)
        self.t = event.time


def run_controlled(plan: Plan) -> Trajectory:
    """Carry out a plan with error control; a control law is called at every dt, where a step ends."""
    with Progress(plan) as progress:
        run = _Run(plan, progress)
        times, last = plan.times, plan.times.size - 1
        samples = plan.samples
        # cylinders are recorded, and their force control acts, where a sample ends a call
        holds = plan.control is not None and not plan.is_continuous
        by_samples = holds or "hydraulics" in plan.record or plan.cylinders == "force" or plan.moves_states
        stride = 1 if by_samples else max(1, last)
        for first in range(0, max(last, 1), stride):
            end = min(first + stride, last)
            tau = plan.command(float(times[first]), *run._state())
            run.provider.command(float(times[first]), tau)
            if first == 0:
                run.begin()
            elif plan.cylinders == "direct" and run.record.t[run.record.count - 1] == times[first]:
                run.stepper.look_again(float(times[first]))
                run.record.tau[run.record.count - 1] = run.stepper.effort
            wanted = times[samples[(samples > first) & (samples <= end)]]
            if plan.mode not in ("valve", "direct"):
                begin = run.record.count
                event = run.go_with_forces(float(times[end]), wanted, tau)
                run.record.account[begin : run.record.count, 2] = plan.clipped
            else:
                event = run.go(float(times[end]), wanted)
            if event is not None:
                return run.record.end(event, run.method)
            progress.show(end)
    return run.record.end(None, run.method)
