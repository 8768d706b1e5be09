"""Fixed steps of any robot through its verbs, for families that have no compiled steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.drive import Drive
from flexdyn_ros.simulation.steps.rates import rates_of
from flexdyn_ros.simulation.steps.stepper import NOT_FINITE, OK


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
