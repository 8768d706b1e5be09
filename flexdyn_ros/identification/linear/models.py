"""What a robot's efforts are linear in: numbers, regressor, and the robot with other numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.identification.inertial import with_payloads
from flexdyn_ros.identification.linear.unit_bodies import UnitBody, bodies_of
from flexdyn_ros.identification.linear.unit_records import RecordNumber, record_numbers
from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.parameters import Parameter, Regressor, checked_values
from flexdyn_ros.robot.verbs import Robot

#: states at which it is tried whether efforts are linear in a number, their rates and accelerations
TRIALS, SPEED, ACCELERATION = 3, 0.5, 1.0
#: how close columns of two steps are then, and from which share of the efforts on a number makes a difference
LINEAR, SILENT = 1e-7, 1e-12


class LinearModel(ABC):
    """tau = Y(q, v, a) p + tau0 of one robot."""

    #: whether its numbers are `robot.parameters`, of which not all are asked for by default
    of_parameters = True

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers p."""

    @abstractmethod
    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        """Y (..., nu, np) and tau0 (..., nu)."""

    @abstractmethod
    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        """The robot with other values; unchecked, they need not be such that bodies and joints can have
        them."""


def linear_model(robot: Robot) -> LinearModel:
    """That of `robot.parameters`, else of the bodies and the description."""
    try:
        return OwnModel(robot, robot.parameters)
    except UnsupportedError:
        return DescribedModel(robot)


class OwnModel(LinearModel):
    """Of robots that have `parameters` themselves."""

    def __init__(self, robot: Robot, parameters: tuple[Parameter, ...]) -> None:
        self._robot, self._parameters = robot, parameters

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self._parameters

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        return self._robot.regressor(q, v, a)

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        if checked:
            return self._robot.with_parameters(values)
        return Robot(self._robot.functions.with_parameters(values))


class DescribedModel(LinearModel):
    """Of all others: ten numbers of every body that can carry a payload, and numbers of the description that
    efforts turn out to be linear in. tau0 is what these do not account for."""

    of_parameters = False

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    @cached_property
    def _bodies(self) -> tuple[UnitBody, ...]:
        return bodies_of(self._robot)

    @cached_property
    def _records(self) -> tuple[tuple[RecordNumber, Robot], ...]:
        """Numbers of the description, each with the robot in which it is larger by its size."""
        found = []
        for number in record_numbers(self._robot.description):
            try:
                one, two = self._larger(number, 1.0), self._larger(number, 2.0)
            except FlexdynError:
                continue  # such robots have no other value of it
            if self._is_linear(one, two):
                found.append((number, one))
        return tuple(found)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        of_bodies = (parameter for body in self._bodies for parameter in body.parameters)
        return (*of_bodies, *(number.parameter for number, _ in self._records))

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        tau = self._robot.inverse_dynamics(q, v, a)
        columns = [body.columns(q, v, a, tau) for body in self._bodies]
        columns += [_slope(number, robot, q, v, a, tau)[..., None] for number, robot in self._records]
        Y = np.concatenate(columns, axis=-1)
        return Regressor(Y, tau - Y @ np.array([p.value for p in self.parameters]))

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        description = self._robot.description
        records = record_numbers(description)
        every = (*(p for body in self._bodies for p in body.parameters), *(n.parameter for n in records))
        known = checked_values(values, every) if checked else dict(values)
        for body in self._bodies:
            description = body.changed(description, known)
        for number in records:
            if number.parameter.name in known:
                description = number.changed(description, known[number.parameter.name])
        return with_payloads(from_description(description), self._robot.functions.payloads)

    def _larger(self, number: RecordNumber, steps: float) -> Robot:
        value = number.parameter.value + steps * number.size
        new = from_description(number.changed(self._robot.description, value))
        return with_payloads(new, self._robot.functions.payloads)

    def _is_linear(self, larger: Robot, largest: Robot) -> bool:
        """Whether twice the step makes twice the difference, and one at all."""
        rng = np.random.default_rng(0)
        q = np.array([self._robot.random(rng) for _ in range(TRIALS)])
        v, a = rng.uniform(-1.0, 1.0, (2, TRIALS, self._robot.nv))
        state = q, SPEED * v, ACCELERATION * a
        tau = self._robot.inverse_dynamics(*state)
        one, two = (robot.inverse_dynamics(*state) - tau for robot in (larger, largest))
        size = np.abs(one).max()
        return bool(size > SILENT * np.abs(tau).max() and np.abs(two - 2.0 * one).max() < LINEAR * size)


def _slope(
    number: RecordNumber, larger: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray
) -> np.ndarray:
    """A column of the regressor (..., nu)."""
    return np.asarray((larger.inverse_dynamics(q, v, a) - tau) / number.size)
