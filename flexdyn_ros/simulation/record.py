"""Samples while they are being collected."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.errors import SimulationError
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import STATE_COUNT
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event, limits_passed
from flexdyn_ros.simulation.plan import Plan
from flexdyn_ros.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState
    from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics, Mode


class Record:
    """Rows of a trajectory, filled from the top; `finish` makes the trajectory of those that were.

    Parameters
    ----------
    plan : Plan

    Attributes
    ----------
    t, q, v, tau, account, states : arrays of n + 1 rows
        states are those of elements; account holds work, dissipated [J], 1 where an effort was clipped since
        the last sample, and what the steps took by themselves [J].
    count : int
        Rows filled.
    books : bool
        Whether that is known.
    clipped : bool
        Whether an effort was clipped since the last row.
    kinetic_between : float
        Largest kinetic energy that the steps saw [J]; 0 where they do not look.
    """

    def __init__(self, plan: Plan) -> None:
        n, robot = plan.samples.size + 1, plan.robot
        self.plan, self.count = plan, 0
        self.t = np.empty(n)
        self.q, self.v, self.tau = np.empty((n, robot.nq)), np.empty((n, robot.nv)), np.empty((n, robot.nu))
        self.account, self.states = np.zeros((n, 4)), np.empty((n, plan.states0.size))
        self.clipped = self.books = False
        self.kinetic_between = 0.0
        self.events: list[Event] = []
        self._cylinders: FusedHydraulics | None = None
        self._rows = np.empty((n if "hydraulics" in plan.record else 0, _count(robot), STATE_COUNT))
        self._began = perf_counter()

    def follow(self, cylinders: FusedHydraulics) -> None:
        """Record these cylinders too, if the plan asks for it."""
        self._cylinders = cylinders

    def use_mode(self, mode: Mode) -> None:
        """How the cylinders take their commands from now on."""
        if self._cylinders is not None and self._cylinders.mode != mode:
            self._cylinders.mode = mode

    def keep_cylinders(self) -> None:
        """Write the cylinders as they are to the last row."""
        if self._cylinders is not None and len(self._rows):
            self._rows[self.count - 1] = self._cylinders.cylinders.rows

    def add(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        work: float,
        dissipated: float,
        clipped: bool,
        states: np.ndarray,
        numerical: float | None = None,
    ) -> None:
        """One more sample."""
        i = self.count
        self.t[i], self.q[i], self.v[i], self.tau[i], self.states[i] = t, q, v, tau, states
        self.account[i] = work, dissipated, clipped, numerical or 0.0
        self.count += 1
        self.keep_cylinders()

    def add_rows(
        self, t: np.ndarray, rows: np.ndarray, states: Sequence[np.ndarray], clipped: np.ndarray
    ) -> None:
        """Samples at times t (n,) from those rows (n,) of arrays q, v, tau, account, states; clipped (n,)."""
        here = slice(self.count, self.count + len(rows))
        for own, given in zip((self.q, self.v, self.tau, self.account, self.states), states, strict=True):
            given.take(rows, axis=0, out=own[here], mode="clip")
        self.t[here], self.account[here, 2] = t, clipped
        self.count += len(rows)

    def end(self, event: Event | None, method: str) -> Trajectory:
        """The trajectory of a run that reached its end, or the event that ended it."""
        if event is None:
            return self.finish(0, f"reached t = {self.plan.times[-1]:g} s", method)
        return self.finish(1, f"stopped by event {event.name!r} at t = {event.time:.9g} s", method)

    def failure(self, why: str, method: str, *, details: str = "", advice: str = "") -> SimulationError:
        """The error that ends a run; its trajectory ends in the last sample."""
        t, robot = self.t[self.count - 1], self.plan.robot
        message = f"{why} after t = {t:.6g} s (robot {robot.name!r}, method {method}{details}){advice}"
        return SimulationError(message, self.finish(-1, message, method))

    def finish(self, status: int, message: str, method: str) -> Trajectory:
        """The trajectory of the samples so far."""
        n, plan, robot = self.count, self.plan, self.plan.robot
        t, q, v = self.t[:n].copy(), self.q[:n].copy(), self.v[:n].copy()
        events = list(self.events)
        if plan.limits != "stop":
            events += limits_passed(robot, t, q, v)
        q_units, v_units, effort_units = units_of(robot)
        return Trajectory(
            t=t,
            q=q,
            v=v,
            tau=self.tau[:n].copy(),
            energy=robot.energy(q, v) if "energy" in plan.record else None,
            work=self.account[:n, 0].copy(),
            dissipated=self.account[:n, 1].copy(),
            saturated=self.account[:n, 2] != 0.0,
            numerical_dissipation=self.account[:n, 3].copy() if self.books else None,
            events=tuple(sorted(events, key=lambda event: event.time)),
            status=status,
            message=message,
            method=method,
            dt=plan.dt,
            is_fixed=plan.is_fixed,
            held=plan.holds_efforts,
            kinetic_between=self.kinetic_between,
            rtol=0.0 if plan.is_fixed else plan.rtol,
            wall_time=perf_counter() - self._began,
            robot_name=robot.name,
            q_names=robot.q_names,
            v_names=robot.v_names,
            effort_names=robot.effort_names,
            q_units=q_units,
            v_units=v_units,
            effort_units=effort_units,
            states=self.states[:n].copy(),
            state_names=tuple(state.name for state in robot.element_states),
            state_units=tuple(state.unit for state in robot.element_states),
            hydraulics=self._hydraulics() if "hydraulics" in plan.record else None,
            robot=robot,
        )

    def _hydraulics(self) -> HydraulicState:
        """The cylinders of the samples so far."""
        from flexdyn_ros.multibody.elements.cylinder.hydraulics import unpacked

        return unpacked(self._rows[: self.count])


def _count(robot: Robot) -> int:
    """Cylinders with hydraulics."""
    return 0 if robot.hydraulics is None else len(robot.hydraulics.names)
