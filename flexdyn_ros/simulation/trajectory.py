"""What a simulation leaves behind: samples with names, energies, events; saved, exported, plotted."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.budget import MOST_BYTES, Budget
from flexdyn_ros.errors import DimensionError, StateError, needs
from flexdyn_ros.escaping import csv_text
from flexdyn_ros.numerics.array_file import read_arrays
from flexdyn_ros.robot.results import Energy
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event
from flexdyn_ros.simulation.limits import departures, in_words
from flexdyn_ros.simulation.recordings.reading import is_recording
from flexdyn_ros.simulation.samples import Samples
from flexdyn_ros.wording import section, table
from flexdyn_ros.writing import beside

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState

__all__ = ["Event", "Trajectory"]

#: version of the files that `save` writes
FILE_VERSION = 1
#: numbers of a cylinder at most, in files of whatever version
_MOST_PARTS = 100
_ARRAYS = ("t", "q", "v", "tau", "work", "dissipated", "saturated")
_TEXTS = ("message", "method", "robot_name")
_NAMES = ("q_names", "v_names", "effort_names", "q_units", "v_units", "effort_units")
#: of states of elements, which files of version 0.2 do not have
_STATE_NAMES = ("state_names", "state_units")
#: of the numbers of a cylinder, as far as they have one for every kind of cylinder
_CYLINDER_UNITS = {
    "force": "N", "force_hydraulic": "N", "force_friction": "N", "force_stop": "N", "pressure_bore": "Pa",
    "pressure_rod": "Pa", "flow_bore": "m3/s", "flow_rod": "m3/s", "spool": "-", "valve_command": "-",
    "stroke": "m", "spool_rate": "1/s", "slewed_command": "-",
}  # fmt: skip


class Trajectory(Samples):
    """Result of `flexdyn_ros.simulate`; n samples, SI and rad.

    `trajectory["elbow"]` is the position (n,) of a coordinate, `trajectory["elbow", "velocity"]` and
    `["elbow", "effort"]` its rate and effort, and any name in `columns` that column.

    Attributes
    ----------
    t : (n,) array
        Times [s].
    q, v : (n, nq), (n, nv) arrays
    tau : (n, nu) array
        Efforts, after clipping, in the step that leads away from the sample (its mean where it varies).
    states : (n, ns) array
        States of elements, named `state_names`, in `state_units` (absolute pressures [Pa]); no columns where
        the robot has none (`Robot.element_states`).
    energy : Energy of (n,) arrays, or None if it was not recorded [J]
    work, dissipated : (n,) arrays
        Running integrals [J]: energy.total - work + dissipated is constant.
    numerical_dissipation : (n,) array or None
        Running integral of what the method takes from the energies by itself [J], from each step's own
        defect (docs/simulation.md); None if it is not booked. Nothing is subtracted anywhere: it shows in
        `balance()` with the opposite sign.
    saturated : (n,) array of bool
        An effort was clipped since the sample before.
    events : tuple of Event
    status : int
        0: reached the end; 1: a terminal event; -1: failed (see SimulationError).
    message, method, robot_name : str
    dt, wall_time : float
        Step of the fixed-step methods, or of the output [s]; time that the computation took [s].
    hydraulics : HydraulicState of (n, 6) arrays, or None
        The cylinders of a platform, if they were recorded.
    warnings : tuple of str
        What `simulate` warned of.
    is_fixed : bool
        By fixed steps of dt; else with error control, a sample every dt.
    held : bool
        Whether the efforts of each sample act, in the mean, until the next one: those of a digital controller
        and of fixed steps. Else they are those of the instant.
    kinetic_between : float
        Largest kinetic energy that steps with error control saw, between samples too [J]; 0 for others.
    rtol : float
        Relative tolerance of steps with error control; 0 for fixed steps, and where a file does not tell.
    robot : Robot or None
        None after `load` without one.
    """

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else "empty"
        words = (f"{len(self)} samples", span, self.method, self.message, *self._left())
        return f"<Trajectory of {self.robot_name!r}: {', '.join(words)}>"

    def _left(self) -> tuple[str, ...]:
        """A sentence on coordinates beyond their position limits, where there are any."""
        found = () if self.robot is None else departures(self, self.robot.coordinates)
        words = in_words(tuple(one for one in found if one.quantity == "position"))
        return (words,) if words else ()

    def _repr_html_(self) -> str:
        t = self
        if not len(t):
            return section(f"Trajectory of {t.robot_name}", "<p>empty</p>")
        rows = [
            (name, unit, *(f"{x:.5g}" for x in (values[0], values[-1], np.min(values), np.max(values))))
            for name, unit, values in zip(t.q_names, t.q_units, t.q.T)
        ]
        span = ", ".join((f"{len(t)} samples", f"{t.t[0]:g} … {t.t[-1]:g} s", t.method, *t._left()))
        balance = (
            "" if t.energy is None else f", energy balance off by {t.balance_error:.2g} of the kinetic energy"
        )
        columns = ("coordinate", "unit", "start", "end", "smallest", "largest")
        return section(
            f"Trajectory of {t.robot_name}", f"<p>{escape(span)}{balance}</p>", table(columns, rows)
        )

    # ---- files and pictures ----

    def save(self, path: str | PathLike) -> None:
        """Write everything but the robot to a NumPy `.npz` file; `load` gives back exactly the same
        numbers.
        """
        content = {name: getattr(self, name) for name in _ARRAYS}
        content |= {name: np.array(getattr(self, name)) for name in _TEXTS}
        content |= {name: np.array(getattr(self, name), dtype=np.str_) for name in _NAMES}
        numbers = self.status, self.dt, self.wall_time, self.kinetic_between, self.rtol
        content["numbers"] = np.array(numbers, dtype=np.float64)
        content["warnings"] = np.array(self.warnings, dtype=np.str_)
        content["is_fixed"], content["held"] = np.array(self.is_fixed), np.array(self.held)
        content["energy"] = np.zeros((0, 0)) if self.energy is None else np.array(self.energy)
        if self.state_names:
            content["states"] = self.states
            content |= {name: np.array(getattr(self, name), dtype=np.str_) for name in _STATE_NAMES}
        if self.numerical_dissipation is not None:
            content["numerical_dissipation"] = self.numerical_dissipation
        if self.hydraulics is not None:
            content["hydraulics"] = np.array(self.hydraulics, dtype=np.float64)
        content["event_time"] = np.array([e.time for e in self.events], dtype=np.float64)
        content["event_name"] = np.array([e.name for e in self.events], dtype=np.str_)
        content["event_terminal"] = np.array([e.terminal for e in self.events], dtype=bool)
        content["event_q"] = np.array([e.q for e in self.events]).reshape(len(self.events), self.q.shape[1])
        content["event_v"] = np.array([e.v for e in self.events]).reshape(len(self.events), self.v.shape[1])
        with beside(path) as draft, draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, file_version=np.array(FILE_VERSION), **content)

    @classmethod
    def load(
        cls,
        path: str | PathLike,
        robot: Robot | None = None,
        *,
        most_bytes: int = MOST_BYTES,
        topics: str | Sequence[str] = (),
        part: int | None = None,
    ) -> Trajectory:
        """Read what `save` or `to_bag` wrote, or the simulator node recorded.

        Parameters
        ----------
        path : path
            Files whose names end in .mcap or .db3, and folders of rosbag2, are read as recordings.
        robot : Robot, optional
            For `frames` and `deflections`.
        most_bytes : int
            What the file may take in memory, unpacked; nothing in it is executed or unpickled.
        topics : str or sequence of str
            Of a recording with the states of several robots: the topic of those that are meant.
        part : int, optional
            Of a recording whose times jump back, as after a reset of the simulator: which part, 0 is the
            first. Default: the last, and a FlexdynWarning.

        Raises
        ------
        StateError
            If the file is no trajectory of a version that is known, too large, or holds states on several
            topics.
        UnknownNameError
            If a recording has not the topic.
        DimensionError
            If the robot has other coordinates.
        """
        if is_recording(path):
            from flexdyn_ros.simulation.recordings.playback import read_fields

            chosen = (topics,) if isinstance(topics, str) else tuple(topics)
            return cls(**read_fields(path, robot, most_bytes=most_bytes, topics=chosen, part=part))
        try:
            content = read_arrays(path, most_bytes=most_bytes)
            version = int(content["file_version"])
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"{path} is no saved trajectory: {error}") from error
        if version != FILE_VERSION:
            raise StateError(f"{path} is of version {version}, expected {FILE_VERSION}")
        try:
            _count_objects(content, path, most_bytes)
            return cls._of(content, robot, path)
        except (DimensionError, StateError):
            raise
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise StateError(f"{path} is no saved trajectory: {type(error).__name__}: {error}") from error

    @classmethod
    def _of(cls, content: dict[str, np.ndarray], robot: Robot | None, path: str | PathLike) -> Trajectory:
        """The trajectory of arrays that `save` may have written."""
        status, dt, wall_time, *others = content["numbers"].tolist()
        names: dict[str, Any] = {name: tuple(content[name].tolist()) for name in _NAMES}
        if robot is not None and (robot.q_names != names["q_names"] or robot.v_names != names["v_names"]):
            raise DimensionError(
                f"the coordinates of {robot.name!r} are not those of the trajectory in {path}"
            )
        samples = len(content["t"])
        for name, columns in (("q", "q_names"), ("v", "v_names"), ("tau", "effort_names")):
            if content[name].shape != (samples, len(names[columns])):
                raise ValueError(f"{name} has shape {content[name].shape}, not one of {samples} samples")
        of_states: dict[str, Any] = {
            name: tuple(content[name].tolist()) if name in content else () for name in _STATE_NAMES
        }
        states = content.get("states", np.zeros((samples, 0)))
        if any(states.shape != (samples, len(of_one)) for of_one in of_states.values()):
            raise ValueError(f"states has shape {states.shape}, not one of {samples} samples and their names")
        if any(content[name].shape != (samples,) for name in ("t", "work", "dissipated", "saturated")):
            raise ValueError(f"an array is not one of {samples} samples")
        damped = content.get("numerical_dissipation")
        if damped is not None and (damped.shape != (samples,) or damped.dtype.kind not in "fiu"):
            raise ValueError("numerical_dissipation is not a number for each sample")
        measured = *(content[name] for name in ("t", "q", "v", "tau", "work", "dissipated")), states
        if any(array.dtype.kind not in "fiu" for array in measured):
            raise ValueError("an array does not hold numbers")
        events = zip(
            *(content[f"event_{part}"] for part in ("time", "name", "terminal", "q", "v")), strict=True
        )
        fields: dict[str, Any] = {name: content[name] for name in _ARRAYS}
        fields |= {name: str(content[name]) for name in _TEXTS}
        return cls(
            **fields,
            **names,
            energy=Energy(*content["energy"]) if content["energy"].size else None,
            events=tuple(Event(float(t), str(name), bool(end), q, v) for t, name, end, q, v in events),
            status=int(status),
            dt=dt,
            wall_time=wall_time,
            states=states,
            **of_states,
            hydraulics=_cylinders(content.get("hydraulics")),
            numerical_dissipation=damped,
            warnings=tuple(str(text) for text in content.get("warnings", ())),
            is_fixed=bool(content.get("is_fixed", True)),
            held=bool(content.get("held", content.get("is_fixed", True))),
            kinetic_between=others[0] if others else 0.0,
            rtol=others[1] if len(others) > 1 else 0.0,
            robot=robot,
        )

    def to_csv(self, path: str | PathLike) -> None:
        """Write all columns, one sample a line, numbers as exact as they are.

        An apostrophe stands before names that spreadsheets would compute (=, +, -, @); readers of this
        package leave it out. The first column is the time, and called `time` beside a joint of that name too.
        """
        table = self._columns()
        with beside(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(["time", *map(csv_text, list(table)[1:])])
            lines.writerows(np.column_stack(list(table.values())).tolist())

    def to_dataframe(self) -> Any:
        """pandas DataFrame of all columns over time, which is its index [s]; `attrs["units"]` maps columns to
        their units (extra [data]).

        Raises
        ------
        MissingExtraError
            Without pandas.
        """
        with needs("pandas", "data"):
            import pandas
        columns = {name: self[name] for name in self.columns}
        table = pandas.DataFrame(columns).set_index(self.columns[0])
        table.attrs = {**_facts(self), "units": column_units(self)}
        return table

    def to_xarray(self) -> Any:
        """`xarray.Dataset` of all columns along `time` [s], each with its `attrs["units"]` (extra [data]).

        Raises
        ------
        MissingExtraError
            Without xarray.
        """
        with needs("xarray", "data"):
            import xarray
        units = column_units(self)
        along, *names = self.columns
        arrays = {
            name: (along, self[name], {"units": units[name]} if name in units else {}) for name in names
        }
        time = (along, self[along], {"units": "s"})
        return xarray.Dataset(arrays, coords={along: time}, attrs=_facts(self))

    def to_bag(self, path: str | PathLike, **options: Any) -> None:
        """Write an MCAP recording that rosbag2 and Foxglove open; options as of
        `flexdyn_ros.simulation.recordings.topics.record_trajectory`."""
        from flexdyn_ros.simulation.recordings.topics import record_trajectory

        record_trajectory(self, path, **options)

    def plot(self, path: str | PathLike | None = None, **options: Any) -> Any:
        """A picture of positions, velocities, efforts and energies; options as of
        `flexdyn_ros.simulation.plots.plot_trajectory`.

        Returns the matplotlib figure; written to `path` if given.
        """
        from flexdyn_ros.simulation.plots import plot_trajectory

        return plot_trajectory(self, path, **options)


def _count_objects(content: dict[str, np.ndarray], path: str | PathLike, most_bytes: int) -> None:
    """Refuse a file whose names, events or energies would become more objects than it may hold bytes."""
    budget = Budget(str(path), 0, most_bytes)
    budget.keep(sum(array.nbytes for array in content.values()))
    for name in (*_NAMES, *_STATE_NAMES, "numbers", "warnings", "event_time", "event_name", "event_terminal"):
        if name in content:
            # a text or number of Python, and what of it lies in an event
            budget.keep(content[name].nbytes, entries=2 * content[name].size)
    if len(content.get("hydraulics", ())) > _MOST_PARTS:
        raise ValueError(f"hydraulics has shape {content['hydraulics'].shape}")
    if content["energy"].size and len(content["energy"]) != len(Energy._fields):
        raise ValueError(f"energy has shape {content['energy'].shape}, not {len(Energy._fields)} rows")


def _cylinders(rows: np.ndarray | None) -> HydraulicState | None:
    """Cylinders from what `save` wrote of them, fields first."""
    if rows is None:
        return None
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import unpacked

    return unpacked(np.moveaxis(rows, 0, -1))


def column_units(t: Samples) -> dict[str, str]:
    """Units of the columns; columns that have none of their own, such as flags, are left out."""
    units = {t.columns[0]: "s"} | dict(zip(t.q_names, t.q_units, strict=True))
    units |= {f"{name}.velocity": unit for name, unit in zip(t.v_names, t.v_units, strict=True)}
    units |= {f"{name}.effort": unit for name, unit in zip(t.effort_names, t.effort_units, strict=True)}
    units |= dict(zip(t.state_names, t.state_units, strict=True))
    if t.energy is not None:
        units |= {f"energy.{part}": "J" for part in t.energy._fields}
    if t.hydraulics is not None:
        units |= {
            f"{name}.{part}": unit for part, unit in _CYLINDER_UNITS.items() for name in t.cylinder_names
        }
    return units | {"work": "J", "dissipated": "J"}


def _facts(trajectory: Samples) -> dict[str, object]:
    return {
        "robot": trajectory.robot_name,
        "method": trajectory.method,
        "dt": trajectory.dt,
        "message": trajectory.message,
    }
