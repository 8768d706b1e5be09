"""Openings of the valves of hydraulic cylinders as inputs, and what the cylinders then show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.output.inputs import (
    Driver,
    Efforts,
    Inputs,
    Positions,
    as_made,
    input_columns,
)
from flexdyn_ros.identification.output.sensors import Sensor
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import FusedHydraulics, Stepper

#: what follows the name of a leg: the input, and what is predicted
COMMAND = ".valve_command"
SHOWN = ("pressure_bore", "pressure_rod", "stroke", "force")
#: the method by which cylinders and platform move in turn
METHOD = "staggered"


def has_valves(robot: Robot, columns: Iterable[str]) -> bool:
    """Whether openings of a robot's valves are among the columns."""
    names = {f"{leg}{COMMAND}" for leg in robot.effort_names}
    return robot.hydraulics is not None and not names.isdisjoint(columns)


@dataclass(frozen=True, eq=False)
class Valves(Inputs):
    """Openings (n, 6), each held until the next sample; pressures are in balance with the load at the
    start."""

    openings: np.ndarray
    shown: tuple[str, ...] = ()

    @classmethod
    def of(cls, robot: Robot, measurement: Measurement) -> Valves:
        openings, _ = input_columns(measurement, robot.effort_names, COMMAND)
        return cls(openings, tuple(f"{leg}.{part}" for part in SHOWN for leg in robot.effort_names))

    def driver(self, stepper: Stepper, sensors: Mapping[str, Sensor], step: float) -> Driver:
        names = tuple(f"{leg}{COMMAND}" for leg in stepper.robot.effort_names)
        openings = as_made(self.openings, names, sensors, step)
        return _ValveDriver(stepper, FusedHydraulics(stepper, "valve"), openings)


@dataclass(frozen=True, eq=False)
class _ValveDriver(Driver):
    stepper: Stepper
    hydraulics: FusedHydraulics
    openings: np.ndarray

    def advance(self, sample: int, steps: int) -> int:
        self.hydraulics.command(self.openings[sample])
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
