"""Simulations by integrators of scipy that choose their own steps: accurate, slow, used as oracles."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.simulation.events import Event, Watch, zeros_in_step
from flexdyn_ros.simulation.plan import ADAPTIVE, Plan
from flexdyn_ros.simulation.progress import Progress
from flexdyn_ros.simulation.record import Record
from flexdyn_ros.simulation.steps.rates import HeldCommand, Rates, position_rates, rates_of
from flexdyn_ros.simulation.steps.stepper import DIVERGED, FAILURES, NOT_FINITE
from flexdyn_ros.simulation.steps.stiffness import allowed_errors, default_atol, speed_bounds
from flexdyn_ros.simulation.steps.workspace import free_bodies
from flexdyn_ros.simulation.trajectory import Trajectory


class _System:
    """y = (q, v, work, dissipated) and its derivative.

    Quaternions are integrated as four numbers and normalised wherever they are used: the flow keeps their
    length, so that what is normalised away is the error of the integrator alone.
    """

    def __init__(self, plan: Plan, progress: Progress) -> None:
        limits = "spring" if plan.limits == "spring" else "report"
        self.plan, self.robot, self.progress = plan, plan.robot, progress
        self.motion: Rates = rates_of(plan.robot, limits=limits, saturate=plan.saturate)
        self.motion.set_efforts(plan.effort)
        self.motion.set_wrenches(plan.loads)
        self.bodies = free_bodies(plan.robot)
        driven = {c.name for c in plan.robot.coordinates if c.prescribed}
        #: efforts (nu,) that follow from a prescribed motion
        self.prescribed = np.array([name in driven for name in plan.robot.effort_names], dtype=bool)
        self._position_rates = position_rates(plan.robot)
        self._held = HeldCommand(plan.robot, float(plan.times[0]), plan.effort, plan.states0)
        #: efforts (nu,) before clipping
        self.exerted = plan.effort
        self.y0 = np.concatenate([plan.q0, plan.v0, np.zeros(2)])
        self.atol = self._atol()
        self.bounds = speed_bounds(plan.robot, plan.q0, plan.v0)

    def _atol(self) -> np.ndarray | float:
        """Absolute tolerances of y: as given, or those of the compiled methods; of accounts [J] and turns
        `default_atol`."""
        if self.plan.atol is not None:
            return self.plan.atol
        robot, rtol = self.robot, self.plan.rtol
        atol = np.full(self.y0.size, default_atol(rtol))
        allowed = allowed_errors(robot, self.plan.q0, None, rtol)
        for c in robot.coordinates:
            if c.q_index >= 0:
                atol[c.q_index] = allowed[c.v_index]
            atol[robot.nq + c.v_index] = allowed[robot.nv + c.v_index]
        return atol

    def state(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q with unit quaternions, and v."""
        nq, nv = self.robot.nq, self.robot.nv
        q, v = y[:nq].copy(), y[nq : nq + nv].copy()
        for k, _ in self.bodies:
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        return q, v

    def project(self, y: np.ndarray) -> np.ndarray:
        """y with its state moved onto the constraints of the robot."""
        q, v = self.robot.functions.project(*self.state(y))
        return np.concatenate([q, v, y[-2:]])

    def derivative(self, t: float, y: np.ndarray) -> np.ndarray:
        """dy/dt; NaN where the dynamics has no answer, so that the integrator takes a smaller step."""
        if self.plan.method != "lsoda":
            # the compiled lsoda passes over what a function raises that it calls
            self.progress.reach(t)
        q, v = self.state(y)
        if self.plan.wrenches is not None:
            self.motion.set_wrenches(self.plan.wrenches(t, q.copy(), v.copy()))
        self.follow(t)
        self.exert(t, q, v)
        try:
            a, _, work, taken = self.motion.rates(t, q, v)
        except (FlexdynError, ArithmeticError):
            return np.full(y.size, np.nan)
        return np.concatenate([self._position_rates(y[: self.robot.nq], v), a, [work, taken]])

    def follow(self, t: float) -> None:
        """Take over the acceleration that is prescribed at t."""
        if self.plan.drive is not None:
            self.motion.set_given(self.plan.drive.v_index, self.plan.drive.at(t)[2])

    def states(self, t: float) -> np.ndarray:
        """States of elements (ns,) at t."""
        return self._held.states(np.array([t]))[0]

    def command(self, t: float, tau: np.ndarray) -> None:
        """Efforts (nu,) that are commanded from t on."""
        self._held.take(t, tau)
        self.exerted = self._held.at(t)
        self.motion.set_efforts(self.exerted)

    def exert(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Let lagging actuators, and a law without sampling, exert what they do at t and a state."""
        if self.plan.is_continuous:
            self.exerted = self.plan.command(t, q, v)
        elif self._held.lag is not None:
            self.exerted = self._held.at(t)
        else:
            return
        self.motion.set_efforts(self.exerted)

    def divergence(self) -> Any:
        """An event of scipy that ends the integration when a speed is beyond what its scale allows."""
        first = self.robot.nq

        def function(t: float, y: np.ndarray) -> float:
            # called after every step
            self.progress.reach(t)
            return float((np.abs(y[first:-2]) / self.bounds).max(initial=0.0)) - 1.0

        function.terminal, function.direction = True, 1.0  # type: ignore[attr-defined]
        return function

    def event(self, watch: Watch) -> Any:
        """The watch as scipy wants it."""

        def function(t: float, y: np.ndarray) -> float:
            return watch.value(t, *self.state(y))

        function.terminal, function.direction = watch.terminal, watch.direction  # type: ignore[attr-defined]
        return function


def run_adaptive(plan: Plan) -> Trajectory:
    """Carry out a plan by scipy's integrator; restarted at each dt where a control law holds its efforts."""
    with Progress(plan) as progress:
        system, record = _System(plan, progress), Record(plan)
        times, y = plan.times, system.y0
        last = times.size - 1
        # without a control law nothing jumps, and one run takes all; a bar wants to move
        holds = plan.control is not None and not plan.is_continuous
        stride = 1 if holds else max(1, last // 100 if plan.progress is True else last)
        for first in range(0, max(last, 1), stride):
            end = min(first + stride, last)
            q, v = system.state(y)
            tau = plan.command(times[first], q, v)
            system.command(float(times[first]), tau)
            if first == 0:
                _write(system, record, times[0], y)
            elif record.t[record.count - 1] == times[first]:
                # the sample belongs to the efforts that lead away from it
                system.exert(float(times[first]), q, v)
                record.tau[record.count - 1] = system.motion.rates(float(times[first]), q, v)[1]
            if last == 0:
                break
            y, ended = _run(system, record, first, end, y)
            if ended is not None:
                return record.end(ended, plan.method)
            progress.show(end)
    return record.end(None, plan.method)


def _run(
    system: _System, record: Record, first: int, end: int, y: np.ndarray
) -> tuple[np.ndarray, Event | None]:
    """Integrate from times[first] to times[end]; the last y, and the terminal event if there was one."""
    from scipy.integrate import solve_ivp

    plan = system.plan
    if plan.robot.functions.is_constrained:
        return _run_projected(system, record, first, end, y)
    samples = plan.samples[(plan.samples > first) & (plan.samples <= end)]
    wanted = np.unique(np.append(plan.times[samples], plan.times[end]))
    method: Any = ADAPTIVE[plan.method]
    watched: Any = [*(system.event(watch) for watch in plan.watches), system.divergence()]
    try:
        solution: Any = solve_ivp(
            system.derivative,
            (plan.times[first], plan.times[end]),
            y,
            method=method,
            t_eval=wanted,
            events=watched,
            rtol=plan.rtol,
            atol=system.atol,
        )
    except (ValueError, ArithmeticError) as error:
        raise record.failure(f"the integrator gave up: {error}", plan.method) from error
    failed = FAILURES[DIVERGED] if solution.t_events[-1].size else ""
    if solution.status < 0:
        failed = solution.message
    rows = np.reshape(np.transpose(solution.y), (len(solution.t), y.size))
    keep = set(plan.times[samples].tolist())
    for t, column in zip(solution.t, rows, strict=True):
        if not np.isfinite(column).all():
            failed = failed or FAILURES[NOT_FINITE]
            break
        if float(t) in keep:
            _write(system, record, t, column)
    ended = _collect_events(system, record, solution) if plan.watches else None
    if failed:
        raise record.failure(failed, plan.method)
    if ended is not None:
        i = next(i for i, watch in enumerate(plan.watches) if watch.terminal and solution.t_events[i].size)
        at = solution.y_events[i][-1]
        if record.t[record.count - 1] < ended.time:
            _write(system, record, ended.time, at)
        return at, ended
    return rows[-1], None


def _run_projected(
    system: _System, record: Record, first: int, end: int, y: np.ndarray
) -> tuple[np.ndarray, Event | None]:
    """As `_run`, of a robot with constraints: the state is moved onto them after each accepted step, at
    samples and at events, which are found before that. Methods of one step only, which do not remember states
    before."""
    from scipy import integrate

    plan, times = system.plan, system.plan.times
    kinds: Any = {"dop853": integrate.DOP853, "radau": integrate.Radau}
    if plan.method not in kinds:
        plan.robot.functions.refuse(f"the method {plan.method}")
    samples = times[plan.samples[(plan.samples > first) & (plan.samples <= end)]]
    solver = kinds[plan.method](
        system.derivative, times[first], y, times[end], rtol=plan.rtol, atol=system.atol
    )
    done, diverged, ended = 0, system.divergence(), None
    values = [watch.value(times[first], *system.state(y)) for watch in plan.watches]
    while solver.status == "running":
        text = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            raise record.failure(text or FAILURES[NOT_FINITE], plan.method)
        if diverged(solver.t, solver.y) > 0.0:
            raise record.failure(FAILURES[DIVERGED], plan.method)
        if plan.watches:
            values, ended = _look(system, record, solver, values)
        passed = int(np.searchsorted(samples, solver.t if ended is None else ended.time, side="right"))
        if passed > done:
            between = solver.dense_output()
            for t in samples[done:passed]:
                _write(system, record, t, system.project(between(t)))
            done = passed
        if ended is not None:
            y = system.project(solver.dense_output()(ended.time))
            if record.t[record.count - 1] < ended.time:
                _write(system, record, ended.time, y)
            return y, ended
        solver.y = system.project(solver.y)
        solver.f = system.derivative(solver.t, solver.y)
    return np.asarray(solver.y), None


def _look(
    system: _System, record: Record, solver: Any, values: list[float]
) -> tuple[list[float], Event | None]:
    """Note the events of the step just made; values of the watches at its end, and the terminal event."""
    begin, between = solver.t_old, solver.dense_output()
    h = solver.t - begin

    def at(share: float) -> tuple[np.ndarray, np.ndarray]:
        return system.state(between(begin + share * h))

    values, zeros = zeros_in_step(system.plan.watches, values, begin, h, at)
    for share, watch in zeros:
        t = float(begin + share * h)
        q, v = system.state(system.project(between(t)))
        record.events.append(Event(t, watch.name(q), watch.terminal, q, v))
        if watch.terminal:
            return values, record.events[-1]
    return values, None


def _collect_events(system: _System, record: Record, solution: Any) -> Event | None:
    """Note the events of a run; returns the terminal one."""
    found = []
    # the last event of scipy's is the one of divergence
    for watch, times, states in zip(system.plan.watches, solution.t_events, solution.y_events, strict=False):
        for t, y in zip(times, states, strict=True):
            q, v = system.state(y)
            found.append(Event(float(t), watch.name(q), watch.terminal, q, v))
    record.events += sorted(found, key=lambda event: event.time)
    ends = [event for event in found if event.terminal]
    return ends[0] if ends else None


def _write(system: _System, record: Record, t: float, y: np.ndarray) -> None:
    """A sample; its effort is the clipped one."""
    q, v = system.state(y)
    system.follow(float(t))
    system.exert(float(t), q, v)
    effort = system.motion.rates(float(t), q, v)[1]
    clipped = (effort != system.exerted) & ~system.prescribed
    record.add(float(t), q, v, effort, y[-2], y[-1], bool(clipped.any()), system.states(float(t)))
