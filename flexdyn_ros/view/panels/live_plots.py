"""Plots beside the picture: what a trajectory, or the last seconds of whatever moves the robot, look like."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.plots.style import COLOURS
from flexdyn_ros.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from viser import ViserServer

QUANTITIES = ("rates", "positions", "tip deflections", "modal coordinates", "energies", "forces")
#: points and lines of a plot
POINTS, LINES = 400, 8
#: of units, by powers of ten
PREFIXES = {-12: "p", -9: "n", -6: "\N{MICRO SIGN}", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
#: values of SI units below which nothing moves: rounding of lengths, angles and energies of machines
NOISE = 1e-12
#: colour of the line at the present time of a run
CURSOR = "#888888"
#: samples that a history holds
MEMORY = 600


class Series(NamedTuple):
    """Lines over time: t (n,) [s], one name and one row of values (n,) for each, and their unit."""

    t: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray
    unit: str


class History:
    """The last samples of a motion that nobody has recorded."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)

    def add(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        """One more sample; time that runs backwards begins anew."""
        if self._rows and t <= self._rows[-1][0]:
            self._rows.clear()
        self._rows.append((t, q.copy(), v.copy(), tau.copy()))

    def clear(self) -> None:
        """Forget all."""
        self._rows.clear()

    def __len__(self) -> int:
        return len(self._rows)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """t (n,), q (n, nq), v (n, nv), tau (n, nu)."""
        t, q, v, tau = zip(*self._rows, strict=True)
        return np.array(t), np.array(q), np.array(v), np.array(tau)


def samples_of(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t, q, v, tau of at most POINTS samples of a trajectory."""
    chosen = np.unique(np.linspace(0, len(trajectory) - 1, POINTS).round().astype(int))
    return trajectory.t[chosen], trajectory.q[chosen], trajectory.v[chosen], trajectory.tau[chosen]


def series_of(
    robot: Robot, quantity: str, samples: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
) -> Series:
    """One of QUANTITIES of samples t (n,), q (n, nq), v (n, nv), tau (n, nu).

    rates and positions: of the joints and what else is no deformation. forces: efforts of the actuators, and
    at least one where all are zero.
    """
    t, q, v, tau = samples
    if quantity == "energies":
        energy = robot.energy(q, v)
        lines = {"kinetic": energy.kinetic, "gravity": energy.gravity, "elastic": energy.elastic}
        lines["total"] = energy.total
        return Series(t, tuple(lines), np.array(list(lines.values())), "J")
    if quantity == "tip deflections":
        # with their signs: a norm would fold a vibration
        lines = {
            f"{link} {letter}": d.displacement[..., 0, axis]
            for link, d in robot.deflections(q, [1.0]).items()
            for axis, letter in ((1, "y"), (2, "z"))
        }
        moving = {name: x for name, x in lines.items() if np.abs(x).max(initial=0.0) > NOISE} or lines
        return _some(Series(t, tuple(moving), np.array(list(moving.values())).reshape(-1, t.size), "m"))
    if quantity == "forces":
        chosen = [i for i in range(tau.shape[1]) if tau[:, i].any()] or list(range(min(1, tau.shape[1])))
        names = tuple(robot.effort_names[i] for i in chosen)
        return _some(Series(t, names, tau[:, chosen].T, "N m, N"))
    bends = quantity == "modal coordinates"
    rows = [c for c in robot.coordinates if (c.kind in MODAL) == bends]
    if quantity == "rates":
        units = {c.unit for c in rows}
        values, unit = v[:, [c.v_index for c in rows]].T, "/s, ".join(sorted(units, reverse=True)) + "/s"
    else:
        rows = [c for c in rows if c.q_index >= 0]
        units = {c.unit for c in rows}
        values, unit = q[:, [c.q_index for c in rows]].T, ", ".join(sorted(units, reverse=True))
    return _some(Series(t, tuple(c.name for c in rows), values, unit))


def _some(series: Series) -> Series:
    """The lines that move most, as many as can be distinguished, in their order."""
    if len(series.names) <= LINES:
        return series
    reach = np.ptp(series.values, axis=1)
    chosen = np.sort(np.argsort(-reach, kind="stable")[:LINES])
    return series._replace(names=tuple(series.names[i] for i in chosen), values=series.values[chosen])


def readable(series: Series) -> Series:
    """The same lines in a unit with a prefix, so that the numbers at the ticks are short; 0 where all is
    noise."""
    top = float(np.nanmax(np.abs(series.values), initial=0.0))
    if top < NOISE:
        return series._replace(values=0.0 * series.values)
    if not 0.0 < top < np.inf or 0.1 <= top < 1e4:
        return series
    power = int(np.clip(np.floor(np.log10(top * 1.0001) / 3.0) * 3.0, min(PREFIXES), max(PREFIXES)))
    units = [PREFIXES[power] + unit for unit in series.unit.split(", ")]
    return series._replace(values=series.values / 10.0**power, unit=", ".join(units))


def with_cursor(series: Series, now: float) -> tuple[np.ndarray, ...]:
    """t (n + 3,), the lines, and one that is 1 at a time [s], else 0, of a scale of its own: uPlot draws all
    lines over the same times, and this one is upright."""
    now = float(np.clip(now, series.t[0], series.t[-1]))
    at = int(np.searchsorted(series.t, now))
    lines = [np.insert(line, at, 3 * [np.interp(now, series.t, line)]) for line in series.values]
    cursor = np.insert(np.zeros(series.t.size), at, [0.0, 1.0, 0.0])
    return np.insert(series.t, at, 3 * [now]), *lines, cursor


class LivePlot:
    """One plot in the page, and the choice of what it shows."""

    def __init__(self, server: ViserServer, robot: Robot, quantity: str) -> None:
        offered = [name for name in QUANTITIES if _has(robot, name)]
        self._server, self._robot = server, robot
        gui = server.gui
        # seen when there is something to draw
        self._folder = gui.add_folder(
            f"Plot of {quantity if quantity in offered else offered[0]}", visible=False
        )
        with self._folder:
            self._choice = gui.add_dropdown(
                "Shown", offered, initial_value=quantity if quantity in offered else offered[0]
            )
        self._handle: Any = None
        self._drawn: tuple[object, ...] = ()
        self._series: dict[str, Series] = {}
        self._choice.on_update(lambda _: self._folder_label())

    def forget(self) -> None:
        """What was computed belongs to samples that are no longer shown."""
        self._series.clear()

    def show(self, samples: Any, now: float | None, *, fresh: bool) -> None:
        """Draw samples, with a cursor at a time [s] where one is given; fresh: they are others than at the
        last call."""
        quantity = self._choice.value
        if fresh:
            self._series.clear()
        if quantity not in self._series:
            try:
                self._series[quantity] = series_of(self._robot, quantity, samples)
            except FlexdynError:
                return
        self._draw(self._series[quantity], now, quantity)

    def _draw(self, series: Series, now: float | None, quantity: str) -> None:
        if not series.names or series.t.size < 2:
            return
        series = readable(series)
        data = (series.t, *series.values) if now is None else with_cursor(series, now)
        columns = tuple(np.asarray(line, dtype=np.float64) for line in data)
        drawn = (quantity, series.unit, len(data), *series.names)
        if drawn == self._drawn:
            self._handle.data = columns
            return
        self._drawn = drawn
        title, lines = f"{quantity} [{series.unit}]", _lines(series, cursor=now is not None)
        if self._handle is None:
            self._folder.visible = True
            with self._folder:
                self._handle = self._server.gui.add_uplot(
                    columns, lines, title=title, axes=({"label": "time [s]"}, {"size": 62}), height=230,
                    scales={"x": {"time": False, "auto": True}, "cursor": {"range": (0.0, 1.0)}},
                )  # fmt: skip
            return
        # together, since lines and columns must be as many; a plot that is removed may get data too late
        with self._server.atomic():
            self._handle.title, self._handle.series, self._handle.data = title, lines, columns

    def _folder_label(self) -> None:
        self._folder.label = f"Plot of {self._choice.value}"


class LivePlots:
    """The plots of a page."""

    def __init__(self, server: ViserServer, robot: Robot) -> None:
        self._plots = [LivePlot(server, robot, quantity) for quantity in ("tip deflections", "energies")]

    def show(self, samples: Any, now: float | None, *, fresh: bool) -> None:
        """See `LivePlot.show`."""
        for plot in self._plots:
            plot.show(samples, now, fresh=fresh)


def _lines(series: Series, *, cursor: bool) -> tuple[dict[str, Any], ...]:
    """How uPlot is to draw the lines of a series over their times, and the cursor."""
    lines: list[dict[str, Any]] = [{"label": "t"}]
    for i, name in enumerate(series.names):
        lines.append({"label": name, "stroke": COLOURS[i % len(COLOURS)], "width": 2})
    if cursor:
        lines.append({"label": "now", "stroke": CURSOR, "width": 1.5, "scale": "cursor"})
    return tuple(lines)


def _has(robot: Robot, quantity: str) -> bool:
    bends = any(c.kind in MODAL for c in robot.coordinates)
    return bends or quantity not in ("tip deflections", "modal coordinates")
