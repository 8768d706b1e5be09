"""What moves a robot in a simulated experiment: the efforts that were measured, or its joints' positions;
openings of valves are in valves.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.linear.motions import KNOWN
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.output.channels import Sensor
from flexdyn_ros.identification.signals import derivative, filled_in
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import Stepper

INPUTS = ("efforts", "positions")
#: what follows the name of an actuator that is driven by pressure
PRESSURE = ".pressure"
#: natural frequency of the servo that makes joints follow, times the step, and its damping ratio
RATE, RATIO = 0.25, 1.0


def followed_joints(robot: Robot) -> list[Coordinate]:
    """Joints that follow measured positions, where these are the input; in closed mechanisms those with an
    actuator."""
    closed = robot.functions.is_constrained
    return [c for c in robot.coordinates if c.kind == "joint" and (c.actuated or not closed)]


class Driver(ABC):
    """Inputs at work on a stepper."""

    @abstractmethod
    def advance(self, sample: int, steps: int) -> int:
        """From a sample to the next."""

    def observed(self) -> np.ndarray:
        """What actuators show now, in the order of `Inputs.shown`."""
        return np.zeros(0)


class Inputs(ABC):
    """What moves the robot."""

    #: coordinates whose motion is given, as places in v
    joints: tuple[int, ...] = ()
    #: columns that its actuators show
    shown: tuple[str, ...] = ()

    def start(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) as far as the inputs tell them."""
        return robot.neutral(), np.zeros(robot.nv)

    @abstractmethod
    def driver(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> Driver:
        """At work on a stepper that is at the start."""


def input_columns(
    measurement: Measurement, names: tuple[str, ...], ending: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Inputs (n, k) of NAME + ending; 0 where there is no column."""
    values = np.zeros((len(measurement), len(names)))
    found = []
    for i, name in enumerate(names):
        if name + ending in measurement.columns:
            values[:, i] = filled_in(measurement.t, measurement[name + ending])
            found.append(name + ending)
    return values, tuple(found)


def efforts_of(robot: Robot, measurement: Measurement) -> np.ndarray:
    """Efforts (n, nu) without what is known and not in the model."""
    efforts, known = (input_columns(measurement, robot.effort_names, e)[0] for e in (".effort", KNOWN))
    return efforts - known


def as_made(
    values: np.ndarray, names: tuple[str, ...], sensors: Mapping[str, Sensor], step: float
) -> np.ndarray:
    """Inputs (n, k) of columns as motors and valves make them."""
    if not any(name in sensors for name in names):
        return values
    columns = [sensors.get(name, Sensor()) for name in names]
    return np.column_stack([s.seen(values[:, i], step) for i, s in enumerate(columns)])


# ---- efforts ----


@dataclass(frozen=True, eq=False)
class Efforts(Inputs):
    """Efforts tau (n, nu), each held until the next sample, or on lines between samples; areas (nu,) of
    actuators that show pressures. They are commands of actuators that lag, or act at once: those of simulated
    runs do, which have the states of such actuators beside them."""

    tau: np.ndarray
    held: bool = True
    act: bool = False
    areas: np.ndarray | None = None
    shown: tuple[str, ...] = ()

    @classmethod
    def of(cls, robot: Robot, measurement: Measurement) -> Efforts:
        tau = efforts_of(robot, measurement)
        areas = robot.pressure_areas
        shown = () if areas is None else tuple(f"{name}{PRESSURE}" for name in robot.effort_names)
        act = any(state.name in measurement.columns for state in robot.element_states)
        return cls(tau, measurement.held is not False, act, areas, shown)

    def driver(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> Driver:
        names = tuple(f"{name}.effort" for name in stepper.robot.effort_names)
        # of areas that are fitted, those of this robot
        areas = None if self.areas is None else stepper.robot.pressure_areas
        made = as_made(self.tau, names, sensors, step)
        memory = None if stepper.robot.motion is None else stepper.robot.motion.memory
        if self.act and memory is not None:
            memory.act_at_once(stepper.actuators)
        if not self.held:
            stepper.tau[:] = made[0]
        kind = _HeldEfforts if self.held else _EffortsOnLines
        return kind(stepper, made, areas, self.act)


@dataclass(frozen=True, eq=False)
class _EffortDriver(Driver):
    """With what actuators show under efforts."""

    stepper: Stepper
    tau: np.ndarray
    areas: np.ndarray | None
    act: bool

    def observed(self) -> np.ndarray:
        if self.areas is None:
            return np.zeros(0)
        return np.asarray(self.stepper.robot.pressures(self.stepper.q.copy(), self._forces()))

    def _forces(self) -> np.ndarray:
        """Of the actuators: commands, where they do not lag."""
        stepper = self.stepper
        lag = stepper.actuators.size and not self.act
        return stepper.actuators[-stepper.robot.nu :].copy() if lag else stepper.tau.copy()


class _HeldEfforts(_EffortDriver):
    """Each until the next sample."""

    def advance(self, sample: int, steps: int) -> int:
        self.stepper.tau[:] = self.tau[sample]
        return self.stepper.advance(steps)


class _EffortsOnLines(_EffortDriver):
    """In each step the effort of its middle, at a sample its own."""

    def advance(self, sample: int, steps: int) -> int:
        stepper, now, change = self.stepper, self.tau[sample], self.tau[sample + 1] - self.tau[sample]
        for step in range(steps):
            stepper.tau[:] = now + (step + 0.5) / steps * change
            status = stepper.advance(1)
            if status:
                return status
        stepper.tau[:] = self.tau[sample + 1]
        return 0


# ---- positions ----


@dataclass(frozen=True, eq=False)
class Positions(Inputs):
    """Joints that a stiff servo, integrated implicitly, makes follow q (m + 1, nu) with rates v (m + 1, nu),
    at the start and at the ends of all m steps; those that were not measured are held."""

    q: np.ndarray
    v: np.ndarray
    joints: tuple[int, ...] = ()

    @classmethod
    def of(cls, robot: Robot, measurement: Measurement, steps: int) -> Positions:
        """With so many steps between two samples."""
        joints = followed_joints(robot)
        if robot.nu != robot.nv or not any(c.name in measurement.columns for c in joints):
            raise StateError(f"{measurement.name}: no position of a joint was measured, which is the input")
        t = measurement.t
        times = t[0] + measurement.step / steps * np.arange(steps * (t.size - 1) + 1)
        q, v = np.zeros((times.size, robot.nu)), np.zeros((times.size, robot.nu))
        q[:] = [robot.neutral()[c.q_index] if c.q_index >= 0 else 0.0 for c in robot.coordinates]
        for c in (c for c in joints if c.name in measurement.columns):
            q[:, c.v_index], v[:, c.v_index] = _followed(measurement, c.name, times)
        return cls(q, v, tuple(c.v_index for c in joints))

    def start(self, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
        q, v = robot.neutral(), np.zeros(robot.nv)
        for c in robot.coordinates:
            if c.v_index in self.joints:
                q[c.q_index], v[c.v_index] = self.q[0, c.v_index], self.v[0, c.v_index]
        return q, v

    def driver(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> Driver:
        robot = stepper.robot
        inertia = np.diag(robot.mass_matrix(stepper.q))
        rate = 2.0 * np.pi * RATE / stepper.dt
        mask = np.zeros(robot.nu)
        mask[list(self.joints)] = 1.0
        stepper.set_servo(mask * inertia * rate**2, mask * inertia * 2.0 * RATIO * rate)
        return _PositionDriver(stepper, self)


@dataclass(frozen=True, eq=False)
class _PositionDriver(Driver):
    stepper: Stepper
    inputs: Positions

    def advance(self, sample: int, steps: int) -> int:
        stepper = self.stepper
        for step in range(sample * steps + 1, (sample + 1) * steps + 1):
            stepper.target_q[:], stepper.target_v[:] = self.inputs.q[step], self.inputs.v[step]
            status = stepper.advance(1)
            if status:
                return status
        return 0


def _followed(measurement: Measurement, name: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and rate of a joint at times."""
    t, position = measurement.t, filled_in(measurement.t, measurement[name])
    return np.interp(times, t, position), np.interp(times, t, derivative(t, position))
