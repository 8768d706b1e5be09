"""Measurements: columns with names over time, from arrays, trajectories and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.identification.faults import Fault, faults_of
from flexdyn_ros.identification.files.columns import TIME_UNITS, columns_of, factor_of
from flexdyn_ros.robot.arguments import numbers
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory

#: steps that differ by more than this share of the mean are no uniform grid
JITTER = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """Columns of numbers, sampled together; SI and rad.

    Attributes
    ----------
    name : str
        The file, or what messages call it.
    t : (n,) array
        Times [s], rising.
    columns : mapping from name to (n,) array
        NaN where a sample is missing. Names as in the CSV of a `Trajectory`: JOINT is a position,
        JOINT.velocity, JOINT.acceleration and JOINT.effort belong to it; FRAME.x, FRAME.y, FRAME.z are the
        place of a frame in the world, LINK@STATION.strain is a strain, as of `Robot.deflections`. Others that
        a fit compares: see `fit_output`.
    held : bool or None
        Whether each effort was held until the next sample, as a digital controller does; None where nobody
        said so: fits of efforts then take them for those of their times, fits of outputs for held. `read`
        finds it in files of trajectories.
    """

    name: str
    t: np.ndarray
    columns: Mapping[str, np.ndarray]
    held: bool | None = None

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if values.shape != self.t.shape:
                raise DimensionError(f"{self.name}: {name} has shape {values.shape}, expected {self.t.shape}")

    def __repr__(self) -> str:
        return f"<Measurement {self.name!r}: {len(self)} samples of {len(self.columns)} columns>"

    def __len__(self) -> int:
        return self.t.size

    def __getitem__(self, name: str) -> np.ndarray:
        UnknownNameError.check("column", name, self.columns)
        return self.columns[name]

    # ---- where it comes from ----

    @classmethod
    def of(
        cls,
        t: object,
        columns: Mapping[str, object],
        *,
        units: Mapping[str, str] | None = None,
        name: str = "data",
        held: bool | None = None,
    ) -> Measurement:
        """From arrays.

        Parameters
        ----------
        t : (n,) array
            Times [s].
        columns : mapping from name to (n,) array
        units : mapping from name to unit, optional
            Where it is not SI: "deg", "deg/s", "mm", "bar", ...; of "time": "ms", "us", "ns", ...
        name : str
        held : bool, optional
            Whether each effort was held until the next sample.

        Raises
        ------
        DimensionError, UnknownNameError
        """
        taken = {str(key): numbers(values, f"{name}: {key}") for key, values in columns.items()}
        t = numbers(t, f"{name}: t")
        for key, unit in (units or {}).items():
            if key == "time" and key not in taken:
                t = factor_of(unit, f"{name}: {key}", TIME_UNITS) * t
                continue
            UnknownNameError.check("column", key, taken)
            taken[key] = factor_of(unit, f"{name}: {key}") * taken[key]
        return cls(name, t, taken, held)

    @classmethod
    def of_motion(
        cls,
        robot: Robot,
        t: object,
        q: np.ndarray,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        name: str = "data",
        held: bool | None = None,
    ) -> Measurement:
        """From arrays t (n,), q (n, nq), v and a (n, nv), tau (n, nu) of a robot; what is None was not
        measured. `held`: whether each effort was held until the next sample."""
        parts = (
            ("q", q, robot.q_names, ""), ("v", v, robot.v_names, ".velocity"),
            ("a", a, robot.v_names, ".acceleration"), ("tau", tau, robot.effort_names, ".effort"),
        )  # fmt: skip
        columns: dict[str, object] = {}
        for label, values, names, ending in parts:
            if values is not None:
                array = numbers(values, f"{name}: {label}", len(names))
                columns |= {f"{key}{ending}": array[..., i] for i, key in enumerate(names)}
        return cls.of(t, columns, name=name, held=held)

    @classmethod
    def of_trajectory(cls, trajectory: Trajectory, *, name: str = "trajectory") -> Measurement:
        """Positions, velocities and efforts of a simulation; of cylinders their valves and pressures."""
        return cls(name, trajectory.t, columns_of(trajectory), trajectory.held)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        names: Mapping[str, str] | Sequence[str] | None = None,
        units: Mapping[str, str] | None = None,
        factors: Mapping[str, float] | None = None,
        time: str | None = None,
        topics: str | Sequence[str] = (),
        held: bool | None = None,
    ) -> Measurement:
        """From a file: .csv, .npz, .mat (up to version 7), recordings (.mcap, .db3, folders of rosbag2).

        A CSV may have commas, semicolons or tabs between, with the latter decimal commas, and a second line
        of units. Of arrays those are columns that are as long as the times; a FlexdynWarning says which were
        left out. Messages of recordings are chosen by their types.

        Parameters
        ----------
        path : path
        names : mapping from the file's names to those of columns, or all names in order, optional
            Columns that a mapping leaves out keep their names; "" leaves a column out. Of a CSV without a
            first line of names, and of unnamed arrays, the names in order.
        units : mapping from column to unit, optional
            Where it is not SI.
        factors : mapping from column to number, optional
            What a column is multiplied by beside: motor constants, signs, gear ratios.
        time : str, optional
            The file's name of the column of times [s]; default time, t, timestamp, stamp, or the first.
        topics : str or sequence of str
            Of a recording: those that are read; needed where several have the same column.
        held : bool, optional
            Whether each effort was held until the next sample; default what files of trajectories say of
            themselves (of CSV a column `efforts_held` of ones or zeros).

        Raises
        ------
        StateError, DimensionError, UnknownNameError
            If the file cannot be understood; names file, line or column, and what was expected.
        """
        from flexdyn_ros.identification.files.readers import read_file

        chosen = (topics,) if isinstance(topics, str) else tuple(topics)
        t, columns, told = read_file(path, names, time, topics=chosen, scaled=tuple(units or ()))
        for key, factor in (factors or {}).items():
            UnknownNameError.check("column", key, columns)
            columns[key] = float(factor) * columns[key]
        return cls.of(t, columns, units=units, name=str(path), held=told if held is None else held)

    # ---- what can be made of it ----

    @property
    def duration(self) -> float:
        """From the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @property
    def step(self) -> float:
        """Median time between samples [s]."""
        return float(np.median(np.diff(self.t)))

    @property
    def is_uniform(self) -> bool:
        """True if all time steps are equal."""
        return bool(np.abs(np.diff(self.t) - self.step).max(initial=0.0) <= JITTER * self.step)

    def between(self, start: float, end: float) -> Measurement:
        """The samples of times start <= t <= end [s]."""
        chosen = (self.t >= start) & (self.t <= end)
        return self._with(self.t[chosen], {name: values[chosen] for name, values in self.columns.items()})

    def rows(self, first: int, last: int | None = None) -> Measurement:
        """The samples first, first + 1, ..., without the last; negative numbers count from the end."""
        chosen = slice(first, last)
        return self._with(self.t[chosen], {name: values[chosen] for name, values in self.columns.items()})

    def resampled(self, rate: float | None = None) -> Measurement:
        """On a uniform grid of a rate [Hz], default that of the median step, by lines between samples, also
        where samples are missing. Of efforts that were held, means over the new steps."""
        from flexdyn_ros.identification.signals import filled_in, means_of_held, on_grid

        if not rate and self.is_uniform:
            return self._with(self.t, {name: filled_in(self.t, x) for name, x in self.columns.items()})
        grid = on_grid(self.t, 1.0 / rate if rate else self.step)
        columns = {}
        for name, x in self.columns.items():
            known = filled_in(self.t, x)
            is_held = self.held and name.endswith(".effort")
            columns[name] = means_of_held(self.t, known, grid) if is_held else np.interp(grid, self.t, known)
        return self._with(grid, columns)

    def filtered(self, cutoff: float, order: int = 4) -> Measurement:
        """All columns through a Butterworth low pass, forward and backward, without a shift in time.

        Parameters
        ----------
        cutoff : float
            Where one pass takes half the power, both together three quarters [Hz].
        order : int
            Of one pass.

        Raises
        ------
        StateError
            If the cut-off is not below half the sampling rate.
        """
        from flexdyn_ros.identification.signals import low_passed

        regular = self.resampled()
        columns = {name: low_passed(x, cutoff, regular.step, order) for name, x in regular.columns.items()}
        return self._with(regular.t, columns)

    def shifted(self, delays: Mapping[str, float]) -> Measurement:
        """Columns that lag by so many seconds, put where they belong; samples at the ends are missing. Where
        an effort is among them, all efforts are those of their times afterwards, not held."""
        efforts = {name for name in self.columns if name.endswith(".effort")}
        held = self.held and efforts.isdisjoint(delays)
        late = dict.fromkeys(efforts, -0.5 * self.step) if self.held and not held else {}
        columns = dict(self.columns)
        for name, delay in {**late, **delays}.items():
            columns[name] = np.interp(self.t + delay, self.t, self[name], left=np.nan, right=np.nan)
        return replace(self, columns=columns, held=held)

    def delay(self, column: str, reference: str | np.ndarray, longest: float = 0.1) -> float:
        """Delay of a column relative to another, or to values (n,), by cross-correlation, at most `longest`
        either way [s]; a parabola through the highest values tells parts of a sample."""
        from flexdyn_ros.identification.signals import lag_of

        values = self[reference] if isinstance(reference, str) else reference
        return lag_of(self.t, self[column], np.asarray(values), longest)

    def faults(self, robot: Robot) -> tuple[Fault, ...]:
        """Faults and doubtful properties as data of a robot."""
        return faults_of(self, robot)

    def _with(self, t: np.ndarray, columns: Mapping[str, np.ndarray]) -> Measurement:
        return replace(self, t=t, columns=dict(columns))


def measurements_of(robot: Robot, data: object) -> tuple[Measurement, ...]:
    """Measurements of what a fit is given: a Measurement, a Trajectory, a path, or several of them.

    Raises
    ------
    DimensionError
        For something else.
    """
    if isinstance(data, Measurement):
        return (data,)
    if isinstance(data, Trajectory):
        return (Measurement.of_trajectory(data),)
    if isinstance(data, str | PathLike):
        return (Measurement.read(data),)
    if isinstance(data, Iterable) and not isinstance(data, Mapping):
        found = tuple(m for item in data for m in measurements_of(robot, item))
        if found:
            return found
        raise StateError("data is empty, expected at least one measurement")
    raise DimensionError(
        f"data is {type(data).__name__}, expected Measurements, Trajectories or paths of files"
    )
