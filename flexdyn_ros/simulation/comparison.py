"""Two trajectories side by side: how far each quantity of one is from the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError

if TYPE_CHECKING:
    from flexdyn_ros.simulation.trajectory import Trajectory


class Difference(NamedTuple):
    """The largest difference of one quantity.

    quantity and unit say which; column and time [s], where and when it is largest; largest and scale, the
    difference and the largest absolute value in the first trajectory, both in that unit.
    """

    quantity: str
    unit: str
    column: str
    time: float
    largest: float
    scale: float

    @property
    def relative(self) -> float:
        """largest / scale; 0 where both are 0, infinite where only the scale is."""
        if self.largest == 0.0:
            return 0.0
        return self.largest / self.scale if self.scale > 0.0 else float("inf")


def compare(first: Trajectory, second: Trajectory) -> tuple[Difference, ...]:
    """The largest difference of positions, velocities, efforts (one for each unit) and energies.

    Only columns of both are compared, at the times of the first that lie within the second, which is
    interpolated between its samples. NaN on one side only is an infinite difference.

    Raises
    ------
    DimensionError
        If they have no column or no time in common.
    """
    times, values = _samples(first, second)
    found = []
    for (quantity, unit), columns in _groups(first, second).items():
        apart = np.column_stack([_apart(first[name][values], _at(second, name, times)) for name in columns])
        row, i = np.unravel_index(int(np.argmax(apart)), apart.shape)
        scale = max(float(np.nanmax(np.abs(first[name][values]), initial=0.0)) for name in columns)
        largest = float(apart[row, i])
        found.append(Difference(quantity, unit, columns[int(i)], float(times[row]), largest, scale))
    return tuple(found)


def _samples(first: Trajectory, second: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Times that are compared, and which samples of the first they are."""
    if not len(first) or not len(second):
        raise DimensionError("a trajectory without samples cannot be compared")
    rounding = 1e-9 * max(1.0, abs(float(second.t[-1])))
    inside = (first.t >= second.t[0] - rounding) & (first.t <= second.t[-1] + rounding)
    if not inside.any():
        raise DimensionError(
            f"no common times: {first.t[0]:g} .. {first.t[-1]:g} s and {second.t[0]:g} .. {second.t[-1]:g} s"
        )
    return first.t[inside], np.flatnonzero(inside)


def _groups(first: Trajectory, second: Trajectory) -> dict[tuple[str, str], list[str]]:
    """Common columns by quantity and unit."""
    groups: dict[tuple[str, str], list[str]] = {}
    for quantity, names, units, ending in (
        ("position", first.q_names, first.q_units, ""),
        ("velocity", first.v_names, first.v_units, ".velocity"),
        ("effort", first.effort_names, first.effort_units, ".effort"),
    ):
        for name, unit in zip(names, units, strict=True):
            groups.setdefault((quantity, unit), []).append(name + ending)
    groups["energy", "J"] = [n for n in first.columns if n.startswith("energy.")] + ["work", "dissipated"]
    known = set(second.columns)
    common = {key: [name for name in names if name in known] for key, names in groups.items()}
    if not any(common[key] for key in common if key[0] != "energy"):
        raise DimensionError(f"{first.robot_name!r} and {second.robot_name!r} have no coordinate in common")
    return {key: names for key, names in common.items() if names}


def _at(trajectory: Trajectory, name: str, times: np.ndarray) -> np.ndarray:
    same = trajectory.t.shape == times.shape and np.array_equal(trajectory.t, times)
    return trajectory[name] if same else np.interp(times, trajectory.t, trajectory[name])


def _apart(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    both = np.isnan(x) & np.isnan(y)
    apart = np.abs(x - y)
    return np.where(both, 0.0, np.where(np.isnan(apart), np.inf, apart))
