"""What moves a robot in a simulated experiment: the efforts that were measured, or its joints' positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.output.sensors import Sensor
from flexdyn_ros.identification.signals import derivative, filled_in
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import Stepper

__all__ = ["INPUTS", "Efforts", "Positions", "inputs_of"]

INPUTS = ("efforts", "positions")
#: natural frequency of the servo that makes joints follow, times the step, and its damping ratio
RATE, RATIO = 0.25, 1.0


@dataclass(frozen=True, eq=False)
class Efforts:
    """Efforts tau (n, nu), each held until the next sample; columns: those that were measured."""

    tau: np.ndarray
    columns: tuple[str, ...]

    def start(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) as far as the inputs tell them."""
        return robot.neutral(), np.zeros(robot.nv)

    def prepare(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> np.ndarray:
        """Efforts as motors make them (n, nu)."""
        if not any(name in sensors for name in self.columns):
            return self.tau
        names = stepper.robot.effort_names
        columns = [sensors.get(f"{name}.effort", Sensor()) for name in names]
        return np.column_stack([s.seen(self.tau[:, i], step) for i, s in enumerate(columns)])

    def advance(self, stepper: Stepper, row: np.ndarray, sample: int, steps: int) -> int:
        """From a sample to the next."""
        stepper.tau[:] = row
        return stepper.advance(steps)


@dataclass(frozen=True, eq=False)
class Positions:
    """Joints that a stiff servo, integrated implicitly, makes follow q (m + 1, nu) with rates v (m + 1, nu),
    at the start and at the ends of all m steps; those that were not measured are held."""

    q: np.ndarray
    v: np.ndarray
    joints: tuple[int, ...]

    def start(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) as far as the inputs tell them."""
        q, v = robot.neutral(), np.zeros(robot.nv)
        for c in robot.coordinates:
            if c.v_index in self.joints:
                q[c.q_index], v[c.v_index] = self.q[0, c.v_index], self.v[0, c.v_index]
        return q, v

    def prepare(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> np.ndarray:
        """Sets the gains of the servo; efforts are zero."""
        robot = stepper.robot
        inertia = np.diag(robot.mass_matrix(stepper.q))
        rate = 2.0 * np.pi * RATE / stepper.dt
        mask = np.zeros(robot.nu)
        mask[list(self.joints)] = 1.0
        stepper.set_servo(mask * inertia * rate**2, mask * inertia * 2.0 * RATIO * rate)
        return np.zeros((len(self.q), robot.nu))

    def advance(self, stepper: Stepper, row: np.ndarray, sample: int, steps: int) -> int:
        """From a sample to the next."""
        for step in range(sample * steps + 1, (sample + 1) * steps + 1):
            stepper.target_q[:], stepper.target_v[:] = self.q[step], self.v[step]
            status = stepper.advance(1)
            if status:
                return status
        return 0


def inputs_of(robot: Robot, measurement: Measurement, kind: str, steps: int) -> Efforts | Positions:
    """The inputs of a measurement on a uniform grid, with so many steps between two samples."""
    if kind == "efforts":
        tau = np.zeros((len(measurement), robot.nu))
        for i, name in enumerate(robot.effort_names):
            if f"{name}.effort" in measurement.columns:
                tau[:, i] = filled_in(measurement.t, measurement[f"{name}.effort"])
        return Efforts(
            tau, tuple(f"{n}.effort" for n in robot.effort_names if f"{n}.effort" in measurement.columns)
        )
    joints = [c for c in robot.coordinates if c.kind == "joint"]
    if robot.nu != robot.nv or not any(c.name in measurement.columns for c in joints):
        raise StateError(f"{measurement.name}: no position of a joint was measured, which is the input")
    t = measurement.t
    times = t[0] + measurement.step / steps * np.arange(steps * (t.size - 1) + 1)
    q, v = np.zeros((times.size, robot.nu)), np.zeros((times.size, robot.nu))
    q[:] = [robot.neutral()[c.q_index] if c.q_index >= 0 else 0.0 for c in robot.coordinates]
    for c in (c for c in joints if c.name in measurement.columns):
        q[:, c.v_index], v[:, c.v_index] = _followed(measurement, c.name, times)
    return Positions(q, v, tuple(c.v_index for c in joints))


def _followed(measurement: Measurement, name: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and rate of a joint at times."""
    t, position = measurement.t, filled_in(measurement.t, measurement[name])
    return np.interp(times, t, position), np.interp(times, t, derivative(t, position))
