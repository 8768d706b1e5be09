"""Faults of oil in a running node, as parameters: pumps at other speeds, cylinders that leak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rcl_interfaces.msg import SetParametersResult

from flexdyn_ros.nodes.ros.declaration import (
    ParameterError,
    ParameterGroup,
    check_family_changes,
    declare_family,
)
from flexdyn_ros.nodes.ros.robot_parameters import LEAKAGES, SPEEDS


class OilFaults:
    """Parameters supplies.NAME.speed and cylinders.NAME.leakage; both may change while the node runs.

    Parameters
    ----------
    oil : callable() -> Stepper or Cylinders
        What has them now.

    Raises
    ------
    ParameterError
        If one is negative or no finite number.
    """

    def __init__(self, node: Any, oil: Callable[[], Any]) -> None:
        self._oil = oil
        pumps, leakages = oil().oil_settings()
        described = {SPEEDS: pumps, LEAKAGES: leakages}
        self._names = {of: tuple(values) for of, values in described.items()}
        #: values that are not as described
        self._values: dict[ParameterGroup, dict[str, float]] = {}
        for of, values in described.items():
            found = declare_family(node, of, values) if values else {}
            self._values[of] = {
                name: value for name, value in found.items() if value != values[name.rpartition(".")[0]]
            }
        self.apply()

    def apply(self) -> None:
        """Let the present oil have them, after a reset or for another payload."""
        oil = self._oil()
        for name, speed in self._values[SPEEDS].items():
            oil.set_supply(name.removesuffix(".speed"), speed=speed)
        for name, leakage in self._values[LEAKAGES].items():
            oil.set_leakage(name.removesuffix(".leakage"), leakage)

    def change(self, changes: list[Any]) -> SetParametersResult:
        """Take over parameters that change, or none of them; between two ticks."""
        try:
            new = {of: check_family_changes(of, names, changes) for of, names in self._names.items()}
        except ParameterError as error:
            return SetParametersResult(successful=False, reason=str(error))
        for of, values in new.items():
            wrong = [name for name, value in values.items() if not np.isfinite(value)]
            if wrong:
                reason = f"parameter {of.prefix}.{wrong[0]} is {values[wrong[0]]}, expected a finite number"
                return SetParametersResult(successful=False, reason=reason)
            self._values[of] |= values
        if any(new.values()):
            self.apply()
        return SetParametersResult(successful=True)
