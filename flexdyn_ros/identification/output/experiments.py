"""Measurements as experiments: the same inputs to a robot that is simulated by compiled fixed steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import (
    ConvergenceError,
    DimensionError,
    SingularityError,
    StateError,
    UnknownNameError,
)
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.output.channels import Channel, Sensor, Simulated, predicted
from flexdyn_ros.identification.output.inputs import (
    INPUTS,
    Driver,
    Efforts,
    Inputs,
    Positions,
    as_made,
    efforts_of,
    input_columns,
)
from flexdyn_ros.identification.signals import filled_in
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import OK, FusedHydraulics, Stepper

#: what follows the name of a leg: the input, and what is predicted
COMMAND = ".valve_command"
SHOWN = ("pressure_bore", "pressure_rod", "stroke", "force")
#: share of the largest pivot below which a coordinate follows others
INDEPENDENT = 1e-6


def has_valves(robot: Robot, columns: Iterable[str]) -> bool:
    """Whether openings of a robot's valves are among the columns."""
    names = () if robot.hydraulics is None else robot.hydraulics.names
    return not {f"{name}{COMMAND}" for name in names}.isdisjoint(columns)


@dataclass(frozen=True, eq=False)
class Valves(Inputs):
    """Openings of cylinders, each held until the next sample, among the efforts (n, nu) of what else is
    driven; pressures are in balance with the load at the start."""

    columns: tuple[str, ...]
    values: np.ndarray
    shown: tuple[str, ...] = ()

    @classmethod
    def of(cls, robot: Robot, measurement: Measurement) -> Valves:
        cylinders = robot.hydraulics.names
        values = efforts_of(robot, measurement)
        if measurement.held is False:
            # on lines between samples: their means
            values[:-1] = 0.5 * (values[:-1] + values[1:])
        places = [robot.effort_names.index(name) for name in cylinders]
        values[:, places], _ = input_columns(measurement, cylinders, COMMAND)
        columns = tuple(f"{name}{COMMAND if name in cylinders else '.effort'}" for name in robot.effort_names)
        return cls(columns, values, tuple(f"{name}.{part}" for part in SHOWN for name in cylinders))

    def driver(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> Driver:
        made = as_made(self.values, self.columns, sensors, step)
        return _ValveDriver(stepper, FusedHydraulics(stepper, "valve"), made)


@dataclass(frozen=True, eq=False)
class _ValveDriver(Driver):
    stepper: Stepper
    hydraulics: FusedHydraulics
    values: np.ndarray

    def advance(self, sample: int, steps: int) -> int:
        self.stepper.tau[:] = self.values[sample]
        return self.stepper.advance(steps)

    def observed(self) -> np.ndarray:
        return np.concatenate([self.hydraulics.cylinders[part] for part in SHOWN])


def inputs_of(robot: Robot, measurement: Measurement, kind: str, steps: int) -> Inputs:
    """The inputs of a measurement on a uniform grid, with so many steps between two samples."""
    if kind == "positions":
        return Positions.of(robot, measurement, steps)
    if has_valves(robot, measurement.columns):
        return Valves.of(robot, measurement)
    return Efforts.of(robot, measurement)


STARTS = ("rest", "neutral", "free")


@dataclass(frozen=True, eq=False)
class Experiment:
    """One measurement, ready to be simulated.

    Attributes
    ----------
    measurement : Measurement
        On a uniform grid.
    channels : tuple of k Channel
    measured : (n, k) array
        NaN where nothing was measured.
    inputs : Inputs
    steps : int
        Fixed steps between two samples.
    method : str
    initial : str
        "rest": what was not measured is in static equilibrium at the start; "neutral": at zero; "free":
        wherever the outputs say.
    known : tuple of (kind, index)
        Coordinates and rates whose start is fitted, "q" or "v"; "d": steps of free bodies and platforms from
        the pose `pose`, by places in v. In closed mechanisms no more than move by themselves: the others
        follow.
    pose : (nq,) array or None
        Where free bodies and platforms are at the first sample, as far as that was measured; in closed
        mechanisms the closed pose nearest to all that was.
    rates : mapping from places in q to places in v
    told : mapping from places in q to values
        Positions at the first sample that are measured but not compared, and so not fitted.
    """

    measurement: Measurement
    channels: tuple[Channel, ...]
    measured: np.ndarray
    inputs: Inputs
    steps: int
    method: str
    initial: str
    known: tuple[tuple[str, int], ...]
    rates: Mapping[int, int]
    told: Mapping[int, float]
    pose: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        robot: Robot,
        measurement: Measurement,
        channels: Sequence[Channel],
        dt: float | None,
        method: str,
        initial: str,
        inputs: str,
    ) -> Experiment:
        """Of a measurement; dt is the step [s], by default that between samples."""
        UnknownNameError.check("value of initial", initial, STARTS)
        UnknownNameError.check("value of inputs", inputs, INPUTS)
        uniform = measurement if measurement.is_uniform else measurement.resampled()
        step = uniform.step
        steps = 1 if dt is None else round(step / dt)
        if dt is not None and (steps < 1 or abs(steps * dt - step) > 1e-6 * step):
            raise StateError(
                f"{measurement.name}: dt is {dt:g} s, expected the step {step:g} s or a whole part of it"
            )
        columns = uniform.columns
        measured = np.column_stack([columns.get(c.name, np.full(len(uniform), np.nan)) for c in channels])
        given = inputs_of(robot, uniform, inputs, steps)
        for c in channels:
            if c.kind == "actuator" and c.name in columns and c.name not in given.shown:
                raise StateError(
                    f"{measurement.name}: {c.name} is not predicted from {inputs} alone, expected columns "
                    f"as {c.name.rpartition('.')[0]}{COMMAND}, or `outputs` without it"
                )
        rates = {c.q_index: c.v_index for c in robot.coordinates if c.q_index >= 0}
        pose = first_pose(robot, uniform) if robot.functions.free_twists else None
        seen = [_key(c) for c in channels if c.place >= 0 and c.name in columns]
        steps_of_pose = pose_steps(robot) if pose is not None and initial != "neutral" else ()
        more = _unmeasured(robot, given) if initial == "free" else ()
        turned = free_positions(robot)
        known = tuple(key for key in dict.fromkeys((*seen, *steps_of_pose, *more)) if key not in turned)
        if robot.functions.is_constrained:
            pose = robot.neutral() if pose is None else pose
            for name in (name for name in robot.q_names if name in columns):
                pose[robot.q_names.index(name)] = _first(uniform, name)
            pose = robot.functions.closed(_normalized(robot, pose))
            known = independent(robot, pose, known, rates)
        told = {}
        if not robot.functions.is_constrained:
            free = {c.v_index for c in robot.coordinates} - set(given.joints)
            # rates are left alone: their first samples are mostly noise
            for name, i in ((c.name, c.q_index) for c in robot.coordinates if c.v_index in free):
                if i >= 0 and name in columns and ("q", i) not in {*known, *turned}:
                    told[i] = _first(uniform, name)
        return cls(
            uniform, tuple(channels), measured, given, steps, method, initial, known, rates, told, pose
        )

    def start(self) -> np.ndarray:
        """What the measurement says of its start (len(known),)."""
        firsts = {
            _key(c): c.name for c in self.channels if c.place >= 0 and c.name in self.measurement.columns
        }
        t = self.measurement.t
        seen = {}
        for (kind, place), name in firsts.items():
            values = filled_in(t, self.measurement[name])
            seen[kind, place] = values[0]
            if kind == "q":
                seen.setdefault(("v", self.rates.get(place, -1)), (values[1] - values[0]) / (t[1] - t[0]))
        return np.array([seen.get(key, 0.0) for key in self.known])

    def predict(self, robot: Robot, start: np.ndarray, sensors: Mapping[str, Sensor]) -> np.ndarray | None:
        """Values (n, k) of the channels, from a start (len(known),); None where the simulation fails."""
        t = self.measurement.t
        try:
            q0, v0 = self._state(robot, start)
            stepper = Stepper(
                robot, self.measurement.step / self.steps, self.method, q0=q0, v0=v0, t0=float(t[0])
            )
        except (ConvergenceError, SingularityError):  # loops do not close, or masses are none
            return None
        driver = self.inputs.driver(stepper, sensors, self.measurement.step)
        q, v = np.empty((t.size, robot.nq)), np.empty((t.size, robot.nv))
        shown = np.empty((t.size, len(self.inputs.shown)))
        for i in range(t.size):
            q[i], v[i], shown[i] = stepper.q, stepper.v, driver.observed()
            if i + 1 < t.size and driver.advance(i, self.steps) != OK:
                return None
        values = predicted(robot, self.channels, Simulated(t, q, v, shown, self.inputs.shown))
        for j, channel in enumerate(self.channels):
            if channel.name in sensors:
                values[:, j] = sensors[channel.name].seen(values[:, j], self.measurement.step)
        return values

    def _state(self, robot: Robot, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) at the first sample."""
        q, v = self.inputs.start(robot)
        step = np.zeros(robot.nv)
        if self.pose is not None:
            q[:] = self.pose
        q[list(self.told)] = list(self.told.values())
        for (kind, index), value in zip(self.known, start.tolist(), strict=True):
            {"q": q, "v": v, "d": step}[kind][index] = value
        if step.any():
            q = robot.integrate(q, step, 1.0)
        if robot.functions.is_constrained:
            q, v = self._closed(robot, q, v)
        held = {key for key in self.known if key[0] == "q"} | free_positions(robot)
        held |= {("q", i) for i in self.told}
        bent = [
            c
            for c in robot.coordinates
            if c.kind != "joint" and c.q_index >= 0 and ("q", c.q_index) not in held
        ]
        if self.initial == "rest" and bent:
            locked = [c.name for c in robot.coordinates if c.kind == "joint" or c not in bent]
            try:
                q = robot.static_equilibrium(q, hold=locked).q
            except (ConvergenceError, SingularityError):
                return q, v
        return q, v

    def _closed(self, robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state on the loops in which coordinates whose start is fitted are as they are in q and v."""
        kept, moving = places_of(self.known, self.rates)
        q = robot.functions.closed(q, [robot.v_names[i] for i in kept])
        N = robot.functions.motions(q)
        return q, N @ np.linalg.lstsq(N[moving], v[moving], rcond=None)[0]


def places_of(known: Iterable[tuple[str, int]], rates: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Places in v of coordinates, and of rates, that keys stand for."""
    known = tuple(known)
    return [rates[i] if kind == "q" else i for kind, i in known if kind != "v"], [
        i for kind, i in known if kind == "v"
    ]


def independent(
    robot: Robot, q: np.ndarray, known: tuple[tuple[str, int], ...], rates: Mapping[int, int]
) -> tuple[tuple[str, int], ...]:
    """Those of the keys that move by themselves at a closed pose q (nq,), by pivoted QR of the motions N."""
    from scipy.linalg import qr

    N, found = robot.functions.motions(q), set()
    for keys in ([k for k in known if k[0] != "v"], [k for k in known if k[0] == "v"]):
        if keys:
            places = [i for part in places_of(keys, rates) for i in part]
            R, order = qr(N[places].T, mode="r", pivoting=True)
            size = np.abs(np.diag(R))
            found |= {keys[i] for i in order[: size.size][size > INDEPENDENT * size[0]]}
    return tuple(key for key in known if key in found)


def _key(channel: Channel) -> tuple[str, int]:
    """Kind and place of what a channel tells of a state."""
    return ("q" if channel.kind == "position" else "v"), channel.place


def _unmeasured(robot: Robot, given: Inputs) -> list[tuple[str, int]]:
    """Modal coordinates, and rates of all coordinates, that inputs do not give."""
    free = [c for c in robot.coordinates if c.v_index not in given.joints]
    bent = (("q", c.q_index) for c in free if c.kind != "joint" and c.q_index >= 0)
    return [*bent, *(("v", c.v_index) for c in free)]


def fixed_method(robot: Robot, measurement: Measurement, step: float, method: str) -> str:
    """The method that all simulations of a fit take: what "auto" means for the robot at the start."""
    if robot.motion is None:
        raise DimensionError(f"{robot.name} has no compiled steps: fit_output cannot simulate it")
    if method == "auto" and has_valves(robot, measurement.columns) and robot.motion.memory is not None:
        # that by which cylinders and robot move in turn
        return robot.motion.memory.method
    return Stepper(robot, step, method).method


def free_positions(robot: Robot) -> frozenset[tuple[str, int]]:
    """("q", place) of positions and quaternions of free bodies: their starts are steps from a pose."""
    held = {c.q_index for c in robot.coordinates if c.q_index >= 0}
    steps = pose_steps(robot)
    origins = {c.q_index for c in robot.coordinates if ("d", c.v_index) in steps and c.q_index >= 0}
    return frozenset(("q", i) for i in range(robot.nq) if i not in held or i in origins)


def pose_steps(robot: Robot) -> tuple[tuple[str, int], ...]:
    """("d", place) of the six steps of each free body."""
    return tuple(("d", i) for first in robot.functions.free_twists for i in range(first, first + 6))


def first_pose(robot: Robot, measurement: Measurement) -> np.ndarray | None:
    """q (nq,) with the pose of free bodies, of a platform also by the strokes of its legs; None if neither
    was measured."""
    q = robot.neutral()
    places = [i for kind, i in free_positions(robot)]
    if all(robot.q_names[i] in measurement.columns for i in places):
        q[places] = [_first(measurement, robot.q_names[i]) for i in places]
        return _normalized(robot, q)
    strokes = [f"{leg}.stroke" for leg in robot.effort_names]
    if not all(name in measurement.columns for name in strokes):
        return None
    shortest = np.array([leg.shortest for leg in robot.legs])
    lengths = shortest + [_first(measurement, name) for name in strokes]
    return np.asarray(robot.forward_kinematics(lengths).q)


def _first(measurement: Measurement, name: str) -> float:
    """The first value that is there."""
    values = measurement[name]
    return float(values[np.isfinite(values)][0])


def _normalized(robot: Robot, q: np.ndarray) -> np.ndarray:
    """With quaternions of unit length."""
    for i, _ in quaternions_of(robot.coordinates):
        q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
    return q
