"""What is wrong with measurements, or doubtful, told by column."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations, product
from math import inf, log, pi
from typing import NamedTuple, Protocol, Self

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.identification.signals import filled_in
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.wording import percent

#: how far the logarithm of a factor may be from that of units
_NEAR = 0.03
#: how many of a unit are one of SI
_OF = {
    "rad": {"rad": 1.0, "degrees": 180.0 / pi, "turns": 0.5 / pi},
    "rad/s": {"rad/s": 1.0, "deg/s": 180.0 / pi, "rpm": 30.0 / pi, "turns/s": 0.5 / pi},
    "m": {"m": 1.0, "mm": 1e3, "cm": 1e2, "inches": 1.0 / 0.0254},
    "m/s": {"m/s": 1.0, "mm/s": 1e3, "cm/s": 1e2, "m/min": 60.0, "mm/min": 6e4, "inches/s": 1.0 / 0.0254},
    "rad/s2": {"rad/s2": 1.0, "deg/s2": 180.0 / pi, "turns/s2": 0.5 / pi},
    "m/s2": {"m/s2": 1.0, "mm/s2": 1e3, "cm/s2": 1e2, "g": 1.0 / 9.80665},
}
_RATES = {"rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2"}
_TIMES = {
    "s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "minutes": 1.0 / 60.0, "hours": 1.0 / 3600.0,
    "days": 1.0 / 86400.0,
}  # fmt: skip
_SI = ("rad", "rad/s", "rad/s2", "m", "m/s", "m/s2", "s")


def causes_of(factor: float, unit: str, values: str = "positions", rates: str = "rates") -> str:
    """What may be why a column is a multiple of the rate of another; empty if no units are.

    Parameters
    ----------
    factor : float
        The multiple, positive.
    unit : str
        Of the other column, as it should be: rad, m, rad/s or m/s.
    values, rates : str
        What the other column, and the one of rates, are called.
    """
    if unit not in _RATES:
        return ""
    found: dict[int, list[tuple[float, str]]] = {}
    choices = product(_OF[unit].items(), _OF[_RATES[unit]].items(), _TIMES.items())
    for (own, many), (of_rate, rate), (time, ticks) in choices:
        apart = abs(log(rate * ticks / many / factor))
        if apart < _NEAR:
            words = [("times", time), (rates, of_rate), (values, own)]
            odd = [f"{what} in {name}" for what, name in words if name not in _SI]
            found.setdefault(len(odd), []).append((apart, " and ".join(odd)))
    found.pop(0, None)
    return " or ".join(text for _, text in sorted(found[min(found)])[:3]) if found else ""


def causes_of_times(latest: float) -> str:
    """The unit of times since 1970 that reach so far."""
    return "ns" if latest > 1e17 else "us" if latest > 1e14 else "ms"


FEWEST = 20
#: a gap is so many median steps long; more missing samples than this share cannot be filled
GAP, MOST_MISSING = 10.0, 0.2
#: a joint that moves less stands still [rad or m]
STILL = 1e-6
#: of a clipped signal this share of samples lies in runs of that length at an extreme
CLIPPED, RUN = 0.02, 5
#: how much better than its own another column fits, and how well it must
BETTER, GOOD = 0.2, 0.8
#: logarithm of a factor that may be the sensor's, or that of its noise
SAME = 0.1
#: samples that are compared with the model
COMPARED = 500
#: absolute pressures, which reach more than this [Pa], and what else is measured of actuators
_PRESSURES = ("pressure", "pressure_bore", "pressure_rod")
LEAST_PRESSURE = 2e4
_OF_LEGS = ("stroke", *_PRESSURES)
RIGHT_ANGLE = 180.0 / pi
#: no clock of seconds since 1970 shows more [s]
LATEST = 1e11


class Columns(Protocol):
    """What is looked at of a `Measurement`."""

    @property
    def name(self) -> str: ...
    @property
    def t(self) -> np.ndarray: ...
    @property
    def columns(self) -> Mapping[str, np.ndarray]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> np.ndarray: ...
    def resampled(self) -> Self: ...


class Fault(NamedTuple):
    """What is wrong: column ("" for all), a sentence, and whether the data cannot be used so."""

    column: str
    text: str
    fatal: bool


def refuse(robot: Robot, measurements: Iterable[Columns]) -> tuple[str, ...]:
    """Sentences of doubtful measurements, which are warned of too.

    Raises
    ------
    StateError
        For measurements that cannot be used; names all that is wrong with them.
    """
    doubtful: list[str] = []
    for measurement in measurements:
        found = faults_of(measurement, robot)
        fatal = [fault.text for fault in found if fault.fatal]
        if fatal:
            raise StateError(f"{measurement.name}: " + "; ".join(fatal))
        doubtful += [f"{measurement.name}: {fault.text}" for fault in found]
    for text in doubtful:
        warnings.warn(text, FlexdynWarning, 3)
    return tuple(doubtful)


def faults_of(measurement: Columns, robot: Robot) -> tuple[Fault, ...]:
    """Faults of a measurement as data of a robot; see `Measurement.faults`."""
    found = list(_of_times(measurement))
    if any(fault.fatal for fault in found):
        return tuple(found)
    found += _of_columns(measurement)
    joints = [c for c in robot.coordinates if c.kind == "joint" and c.name in measurement.columns]
    legs = {f"{name}.{part}" for name in robot.effort_names for part in _OF_LEGS}
    if (
        not joints
        and legs.isdisjoint(measurement.columns)
        and not any(name in measurement.columns for name in robot.q_names)
    ):
        told = ", ".join(measurement.columns)
        known = ", ".join(robot.q_names[:8])
        found.append(Fault("", f"no column is a coordinate of {robot.name}: {told}; expected {known}", True))
    if any(fault.fatal for fault in found):
        return tuple(found)
    degrees = [c for c in joints if _looks_like_degrees(measurement[c.name], c)]
    for c in joints:
        found += _of_joint(measurement, c, c in degrees)
    if not degrees:
        found += _of_rates(measurement, joints)
        found += _of_efforts(measurement, robot)
    return tuple(found)


# ---- times ----


def _of_times(measurement: Columns) -> Iterator[Fault]:
    t = measurement.t
    if t.size < FEWEST:
        yield Fault("", f"too short: {t.size} samples, expected at least {FEWEST}", True)
        return
    bad = np.flatnonzero(~np.isfinite(t))
    if bad.size:
        yield Fault("time", f"time of sample {bad[0]} is {t[bad[0]]}, expected a finite number", True)
        return
    if t[-1] > LATEST:
        cause = causes_of_times(float(t[-1]))
        yield Fault(
            "time", f"times reach {t[-1]:.4g} s, likely {cause} since 1970: units={{'time': {cause!r}}}", True
        )
        return
    steps = np.diff(t)
    back = np.flatnonzero(steps <= 0.0)
    if back.size:
        i = int(back[0])
        yield Fault("time", f"times do not rise: {t[i]:g} s, then {t[i + 1]:g} s at sample {i + 1}", True)
        return
    gaps = np.flatnonzero(steps > GAP * np.median(steps))
    if gaps.size:
        longest = int(np.argmax(steps))
        yield Fault(
            "time",
            f"{gaps.size} gap(s), the longest {steps[longest]:.3g} s after t = {t[longest]:g} s "
            f"(step {np.median(steps):.3g} s): cut it with `between` or files of their own",
            bool(steps[longest] > 0.1 * (t[-1] - t[0])),
        )


# ---- columns by themselves ----


def _of_columns(measurement: Columns) -> Iterator[Fault]:
    for name, values in measurement.columns.items():
        missing = ~np.isfinite(values)
        share = float(missing.mean())
        if share:
            first = measurement.t[int(np.argmax(missing))]
            yield Fault(
                name,
                f"{name}: {percent(share)} of the samples are missing or NaN, from t = {first:g} s on",
                share > MOST_MISSING,
            )
        elif name.rpartition(".")[2] in _PRESSURES and np.abs(values).max() < LEAST_PRESSURE:
            most = np.abs(values).max()
            yield Fault(
                name,
                f"{name}: reaches {most:.4g} Pa, likely bar or kPa: give units, absolute pressures",
                True,
            )
        elif _is_clipped(values):
            yield Fault(
                name,
                f"{name}: saturated, it stays at its largest value {np.abs(values).max():.6g}: make such "
                "samples NaN if it is the sensor that does not reach further",
                False,
            )


def _is_clipped(values: np.ndarray) -> bool:
    """Whether runs of samples lie at the largest or smallest value, of a signal that moves otherwise."""
    if np.ptp(values) == 0.0:
        return False
    for extreme in (values.max(), values.min()):
        at = np.concatenate([[False], values == extreme, [False]])
        edges = np.flatnonzero(np.diff(at.astype(int)))
        runs = edges[1::2] - edges[::2]
        inner = (edges[::2] > 0) & (edges[1::2] < values.size)  # what begins or ends there may rest there
        long = runs[inner & (runs >= RUN)]
        if long.sum() > CLIPPED * values.size and extreme != 0.0:
            return True
    return False


def _looks_like_degrees(values: np.ndarray, c: Coordinate) -> bool:
    """Whether positions lie far outside of what the joint reaches, and inside after conversion."""
    if c.unit != "rad":
        return False
    seen = values[np.isfinite(values)]
    reach = max(abs(c.lower), abs(c.upper)) if np.isfinite([c.lower, c.upper]).all() else inf
    most = float(np.abs(seen).max(initial=0.0))
    bound = min(1.5 * reach + 0.2, 4.0 * pi)
    return most > bound and most / RIGHT_ANGLE < bound and float(np.ptp(seen)) > pi


def _of_joint(measurement: Columns, c: Coordinate, degrees: bool) -> Iterator[Fault]:
    values = filled_in(measurement.t, measurement[c.name])
    if float(np.ptp(values)) < STILL:
        yield Fault(c.name, f"{c.name}: constant, the joint stands still and tells nothing of itself", False)
    if degrees:
        most = np.abs(values).max()
        yield Fault(c.name, f"{c.name}: reaches {most:.4g} rad, likely degrees: give units as 'deg'", True)


# ---- columns that belong to each other ----


def _of_rates(measurement: Columns, joints: list[Coordinate]) -> Iterator[Fault]:
    """Velocities that are not the rates of their positions, nor accelerations those of velocities: units,
    columns that were swapped."""
    known = [c for c in joints if f"{c.name}.velocity" in measurement.columns]
    if not known or len(measurement) < 3:
        return
    names = [c.name for c in known]
    t = measurement.t
    rates = np.array([np.gradient(filled_in(t, measurement[name]), t) for name in names])
    told = np.array([filled_in(t, measurement[f"{name}.velocity"]) for name in names])
    yield from _swapped(names, _correlations(told, rates), "velocity", "the rate of")
    for c, value in zip(known, told, strict=True):
        position = filled_in(t, measurement[c.name])
        found = list(_of_factor(f"{c.name}.velocity", c.name, c.unit, t, position, value))
        yield from found
        if not found and f"{c.name}.acceleration" in measurement.columns:
            acceleration = filled_in(t, measurement[f"{c.name}.acceleration"])
            of = f"{c.name}.velocity", f"{c.unit}/s"
            yield from _of_factor(f"{c.name}.acceleration", *of, t, value, acceleration)


def _of_factor(
    name: str, of: str, unit: str, t: np.ndarray, values: np.ndarray, rates: np.ndarray
) -> Iterator[Fault]:
    """A column of rates (n,) that are a multiple of those of other values (n,), compared as rates, and where
    noise or coarse encoders hide these, as integrals."""
    integral = np.append(0.0, np.cumsum(0.5 * np.diff(t) * (rates[1:] + rates[:-1])))
    compared = (_multiple(np.gradient(values, t), rates),
                _multiple(values - values.mean(), integral - integral.mean()))  # fmt: skip
    likeness, factor, product = max(compared)
    if likeness <= GOOD:
        return
    if abs(np.log(factor)) > max(SAME, np.sqrt(2.0 * max(0.0, 1.0 - likeness))):
        cause = causes_of(factor, unit, of, name)
        column = "time" if cause.startswith("times") and " or " not in cause else name
        sign = "-" if product < 0.0 else ""
        told = f": {cause}" if cause else ": expected 1, give units or factors"
        yield Fault(column, f"{name} is {sign}{factor:.3g} times the rate of {of}{told}", bool(cause))
    elif product < 0.0:
        yield Fault(name, f"{name} has the opposite sign of the rate of {of}", True)


def _multiple(references: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    """How like two rows (n,) are, up to 1; the ratio of their sizes; their product, whose sign counts. Noise
    may be in either of them."""
    sizes = float(np.linalg.norm(references)), float(np.linalg.norm(values))
    if min(sizes) == 0.0:
        return 0.0, 1.0, 0.0
    product = float((references / sizes[0]) @ (values / sizes[1]))
    return abs(product), sizes[1] / sizes[0], product


def _of_efforts(measurement: Columns, robot: Robot) -> Iterator[Fault]:
    """Efforts that fit the model of another joint better than that of their own."""
    known = [name for name in robot.effort_names if f"{name}.effort" in measurement.columns]
    if len(known) < 2 or robot.nu != robot.nv or robot.nq != robot.nv or robot.functions.is_constrained:
        return
    if not all(name in measurement.columns for name in robot.q_names):
        return
    regular = measurement.resampled()
    every = slice(None, None, max(1, len(regular) // COMPARED))
    q = np.column_stack([regular[name] for name in robot.q_names])
    v = np.gradient(q, regular.t, axis=0)
    a = np.gradient(v, regular.t, axis=0)
    model = robot.inverse_dynamics(q[every], v[every], a[every])
    columns = [robot.effort_names.index(name) for name in known]
    told = np.array([regular[f"{name}.effort"][every] for name in known])
    yield from _swapped(known, _likenesses(told, model.T[columns]), "effort", "what moves")
    for name, value, needed in zip(known, told, model.T[columns], strict=True):
        square = float(needed @ needed)
        if square and (needed @ value) ** 2 > GOOD**2 * square * (value @ value):
            factor = abs(float(needed @ value)) / square
            if _is_thousand(factor) or _is_thousand(1.0 / factor):
                text = f"{name}.effort is {factor:.3g} times what {robot.name} needs: likely mN m or kN m"
                yield Fault(f"{name}.effort", text, True)


def _is_thousand(factor: float) -> bool:
    return 500.0 < factor < 2000.0


def _correlations(values: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Of every row with every other, by size; 0 where one is constant."""
    centred = [rows - rows.mean(axis=1, keepdims=True) for rows in (values, references)]
    sizes = [np.linalg.norm(rows, axis=1) for rows in centred]
    product = np.outer(*sizes)
    return np.abs(centred[0] @ centred[1].T) / np.where(product > 0.0, product, inf)


def _likenesses(values: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Of every row with every other: 1 where they are the same, 0 where they have nothing in common."""
    apart = np.linalg.norm(values[:, None] - references, axis=-1)
    sizes = np.linalg.norm(values, axis=1)[:, None] + np.linalg.norm(references, axis=1)
    return 1.0 - apart / np.where(sizes > 0.0, sizes, inf)


def _swapped(names: list[str], scores: np.ndarray, part: str, what: str) -> Iterator[Fault]:
    """Pairs of which each fits the other's place, and not its own."""
    for i, j in permutations(range(len(names)), 2):
        crossed = min(scores[i, j], scores[j, i])
        if i < j and crossed > GOOD and crossed > max(scores[i, i], scores[j, j]) + BETTER:
            yield Fault(
                f"{names[i]}.{part}",
                f"{names[i]}.{part} and {names[j]}.{part} are swapped, each is {what} the other joint",
                True,
            )
