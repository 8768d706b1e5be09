"""Modal tables as data: frequencies and damping ratios that were measured at poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.identification.files.readers import read_table
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.signals import vibrations
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.verbs import Robot

#: deviation of a frequency, as a share of it, where none is told; of a damping ratio
FREQUENCY_DEVIATION, RATIO_DEVIATION = 0.01, 0.2
_COLUMNS = ("mode", "frequency", "damping_ratio", "frequency_deviation", "damping_ratio_deviation")


@dataclass(frozen=True, eq=False)
class ModalTable:
    """Modes of vibration that were measured at rest.

    Attributes
    ----------
    mode : (n,) array of int
        Number of each, by rising frequency, from 1.
    frequency : (n,) array
        [Hz].
    damping_ratio : (n,) array
        NaN where it was not measured.
    frequency_deviation, damping_ratio_deviation : (n,) arrays
        Standard deviations.
    q : mapping from coordinate to (n,) array
        The poses; other coordinates are neutral.
    lock : coordinate names, or "joints"
        What stood still, as of `Robot.modes`.
    """

    mode: np.ndarray
    frequency: np.ndarray
    damping_ratio: np.ndarray
    frequency_deviation: np.ndarray
    damping_ratio_deviation: np.ndarray
    q: Mapping[str, np.ndarray] = field(default_factory=dict)
    lock: Sequence[str] | str = "joints"

    @classmethod
    def of(cls, columns: Mapping[str, object], *, lock: Sequence[str] | str = "joints") -> ModalTable:
        """From columns mode, frequency [Hz] and, where they were measured, damping_ratio,
        frequency_deviation, damping_ratio_deviation; others are coordinates of the pose.

        Raises
        ------
        StateError, DimensionError
        """
        held = {name: numbers(values, f"column {name}").ravel() for name, values in columns.items()}
        for name in ("mode", "frequency"):
            if name not in held:
                raise StateError(f"no column {name!r} in the table of modes, expected mode and frequency")
        sizes = {name: values.size for name, values in held.items()}
        if len(set(sizes.values())) != 1:
            raise DimensionError(f"columns of the table of modes are of different lengths: {sizes}")
        mode, frequency = held["mode"], held["frequency"]
        if np.any(mode != np.round(mode)) or np.any(mode < 1) or not np.all(frequency > 0.0):
            raise StateError("a table of modes has whole numbers from 1 as mode, and frequencies > 0 Hz")
        ratio = held.get("damping_ratio", np.full(mode.size, np.nan))
        return cls(
            mode.astype(int), frequency, ratio,
            held.get("frequency_deviation", FREQUENCY_DEVIATION * frequency),
            held.get("damping_ratio_deviation", RATIO_DEVIATION * np.abs(ratio)),
            {name: values for name, values in held.items() if name not in _COLUMNS}, lock,
        )  # fmt: skip

    @classmethod
    def read(cls, path: str | PathLike[str], *, lock: Sequence[str] | str = "joints") -> ModalTable:
        """From a CSV with those columns."""
        return cls.of(read_table(path), lock=lock)

    @classmethod
    def of_ringing(
        cls,
        measurements: Measurement | Sequence[Measurement],
        column: str,
        *,
        after: float,
        highest: float,
        modes: int = 1,
        lock: Sequence[str] | str = "joints",
    ) -> ModalTable:
        """From vibrations that die away while what drives stands still.

        Means over the measurements that show so many vibrations, and standard deviations of the means, at
        least as large as where nothing is told of them for a single measurement.

        Parameters
        ----------
        measurements : Measurement, or several
        column : what rings
        after : from when on [s]
        highest : frequency below which they are looked for [Hz]
        modes : how many, numbered from 1 by rising frequency
        lock : what stands still, as of `Robot.modes`

        Raises
        ------
        StateError
            If no measurement shows so many.
        """
        every = (measurements,) if isinstance(measurements, Measurement) else tuple(measurements)
        runs = [m.resampled().between(after, np.inf) for m in every]
        found = [vibrations(m[column], m.step, modes, highest) for m in runs]
        told = np.array([[(x.frequency, x.ratio) for x in own] for own in found if len(own) == modes])
        if not told.size:
            raise StateError(f"no measurement shows {modes} vibrations of {column} below {highest:g} Hz")
        frequency, ratio = told.mean(axis=0).T
        if len(told) > 1:
            deviation = told.std(axis=0, ddof=1).T / np.sqrt(len(told))
        else:
            deviation = np.array([FREQUENCY_DEVIATION * frequency, RATIO_DEVIATION * np.abs(ratio)])
        values = (np.arange(1, modes + 1), frequency, np.maximum(ratio, 0.0), *deviation)
        return cls.of(dict(zip(_COLUMNS, values, strict=True)), lock=lock)

    def residuals(self, robot: Robot) -> np.ndarray:
        """Frequencies, then damping ratios that were measured, less those of a robot, over their
        deviations."""
        poses = np.tile(robot.neutral(), (self.mode.size, 1))
        for name, values in self.q.items():
            UnknownNameError.check("coordinate", name, robot.q_names)
            poses[:, robot.q_names.index(name)] = values
        modes = robot.modes(poses, lock=self.lock)
        if self.mode.max() > modes.frequency.shape[-1]:
            raise StateError(
                f"mode {self.mode.max()} was measured, {robot.name} has {modes.frequency.shape[-1]} modes"
            )
        rows = np.arange(self.mode.size)
        frequency, ratio = (x[rows, self.mode - 1] for x in (modes.frequency, modes.damping_ratio))
        damped = np.isfinite(self.damping_ratio)
        off = (self.damping_ratio - ratio)[damped] / self.damping_ratio_deviation[damped]
        return np.concatenate([(self.frequency - frequency) / self.frequency_deviation, off])
