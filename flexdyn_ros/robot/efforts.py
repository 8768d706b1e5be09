"""Efforts of a robot from what its actuators do, by order or by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.robot.arguments import numbers


def scattered_efforts(
    u: object, actuators: tuple[str, ...], index: Mapping[str, int], nu: int, name: str = "u"
) -> np.ndarray:
    """tau (..., nu) with u (..., na), or a mapping from names to (...), at the actuators' places [N m, N].

    Parameters
    ----------
    actuators : names of the na actuators
    index : places in tau of the names of all efforts
    name : what errors call u

    Raises
    ------
    DimensionError, StateError, UnknownNameError
        For another shape, NaN or infinity, a name that is no actuator.
    """
    if isinstance(u, Mapping):
        values = {key: numbers(value, f"{name}[{key!r}]") for key, value in u.items()}
        for key in values:
            if key not in actuators:
                raise UnknownNameError("actuator", key, actuators)
        try:
            batch = np.broadcast_shapes(*(value.shape for value in values.values()))
        except ValueError:
            shapes = ", ".join(f"{key} {value.shape}" for key, value in values.items())
            raise DimensionError(f"the entries of {name} do not broadcast: {shapes}") from None
    else:
        array = numbers(u, name, len(actuators))
        values = {key: array[..., i] for i, key in enumerate(actuators)}
        batch = array.shape[:-1]
    for key, value in values.items():
        if not np.isfinite(value).all():
            wrong = value[~np.isfinite(value)].flat[0]
            raise StateError(f"{name} of actuator {key!r} is {wrong}, expected a finite number")
    tau = np.zeros((*batch, nu))
    for key, value in values.items():
        tau[..., index[key]] = value
    return tau
