"""Motions for the regressor: positions, rates, accelerations and efforts at samples of one measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.identification.measurement import Measurement
from flexdyn_ros.identification.signals import between_samples, derivative, low_passed
from flexdyn_ros.robot.verbs import Robot

#: with a filter, samples are kept at so many times its cut-off: white noise that went through it is then
#: independent from sample to sample (first zero of its autocorrelation; 0.32 at 2.5 times)
PER_CUTOFF = 1.78
#: and none within so many of its periods of the ends, where it does not know what was before and comes after
ENDS = 1.5
#: what follows the name of an effort whose known part a column is
KNOWN = ".known_effort"


@dataclass(frozen=True, eq=False)
class Motion:
    """n samples of a measurement, ready for the regressor.

    Attributes
    ----------
    name : str
    t : (n,) array
    q, v, a : (n, nq), (n, nv), (n, nv) arrays
    tau : (n, nu) array
        0 where nothing drives and nothing was measured.
    known : (n, nu) array of bool
        Efforts that were measured, or are 0 because nothing drives there.
    beside : (n, nu) array
        Part of the efforts that is known, beside that of the model: columns NAME.known_effort.
    cutoff : float or None
        Of the filter that positions went through, and that efforts and regressor have to go through [Hz].
    """

    name: str
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    known: np.ndarray
    beside: np.ndarray
    cutoff: float | None

    def smoothed(self, values: np.ndarray) -> np.ndarray:
        """Values (n, ...) as the filter leaves them, at the samples that are kept."""
        if self.cutoff is None:
            return values
        return low_passed(values, self.cutoff, float(self.t[1] - self.t[0]))[self.kept]

    @property
    def kept(self) -> slice:
        """Samples that are kept of those that are filtered, the ends of the filter left out."""
        if self.cutoff is None:
            return slice(None)
        n, period = len(self.t), 1.0 / (self.cutoff * float(self.t[1] - self.t[0]))
        ends = min(int(ENDS * period), n // 4)
        return slice(ends, n - ends, max(1, round(period / PER_CUTOFF)))


def motion_of(robot: Robot, measurement: Measurement, cutoff: float | None = None) -> Motion:
    """The motion that a measurement tells: what of rates and accelerations was not measured is the slope of
    splines through what was, positions filtered before if there is a cut-off [Hz].

    Raises
    ------
    StateError
        If positions or all efforts are missing.
    UnsupportedError
        If rates of a free base would have to be made of quaternions.
    """
    missing = [name for name in robot.q_names if name not in measurement.columns]
    if missing:
        raise StateError(f"{measurement.name}: no column for the position of {', '.join(missing)}")
    columns = measurement.columns
    rates = [f"{name}.velocity" for name in robot.v_names]
    tau, known, beside = _efforts(robot, measurement)
    if cutoff is not None or not _complete(measurement, robot):
        measurement = measurement.resampled()
        tau, filled, beside = _efforts(robot, measurement)
        known = np.broadcast_to(known.any(axis=0), filled.shape) if len(filled) != len(known) else known
    if measurement.held and cutoff is None and robot.nq == robot.nv and all(n in columns for n in rates):
        return _between_samples(robot, measurement, tau, known, beside)
    t = at = measurement.t
    if measurement.held:
        at = t[:-1] + 0.5 * np.diff(t)
        tau, known, beside = tau[:-1], known[:-1], beside[:-1]
    q = np.column_stack([measurement[name] for name in robot.q_names])
    accelerations = [f"{name}.acceleration" for name in robot.v_names]
    if cutoff is not None:
        q = low_passed(q, cutoff, measurement.step)
    if cutoff is None and all(name in columns for name in rates):
        v = np.column_stack([measurement[name] for name in rates])
    elif robot.nq != robot.nv:
        raise UnsupportedError(
            f"{measurement.name}: velocities of {robot.name} have to be measured: its base is free"
        )
    else:
        v = derivative(t, q)
    if cutoff is None and all(name in columns for name in accelerations):
        a = _moved(t, np.column_stack([measurement[name] for name in accelerations]), at)
    else:
        a = derivative(t, v, at)
    # quaternions of splines are made unit ones
    q = q if at is t else robot.integrate(_moved(t, q, at), np.zeros((len(at), robot.nv)), 0.0)
    return Motion(measurement.name, at, q, _moved(t, v, at), a, tau, known, beside, cutoff)


def _moved(t: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (n, ...) at times between theirs."""
    return values if at is t else between_samples(t, values, at)


def _between_samples(
    robot: Robot, measurement: Measurement, tau: np.ndarray, known: np.ndarray, beside: np.ndarray
) -> Motion:
    """The motion in the middle of each step, during which efforts were held: that of cubics through positions
    and rates of both ends."""
    h = np.diff(measurement.t)[:, None]
    q = np.column_stack([measurement[name] for name in robot.q_names])
    v = np.column_stack([measurement[f"{name}.velocity"] for name in robot.v_names])
    middle = 0.5 * (q[:-1] + q[1:]) - 0.125 * h * np.diff(v, axis=0)
    rate = 1.5 * np.diff(q, axis=0) / h - 0.25 * (v[:-1] + v[1:])
    t = measurement.t[:-1] + 0.5 * h[:, 0]
    a = np.diff(v, axis=0) / h
    return Motion(measurement.name, t, middle, rate, a, tau[:-1], known[:-1], beside[:-1], None)


def _complete(measurement: Measurement, robot: Robot) -> bool:
    """Whether positions, rates and accelerations were all measured at every sample."""
    wanted: Sequence[str] = (
        *robot.q_names, *(f"{name}.velocity" for name in robot.v_names),
        *(f"{name}.acceleration" for name in robot.v_names),
    )  # fmt: skip
    return all(name in measurement.columns and np.isfinite(measurement[name]).all() for name in wanted)


def _efforts(robot: Robot, measurement: Measurement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Efforts (n, nu), which of them are known, and the part that is known beside the model."""
    tau, beside = np.zeros((2, len(measurement), robot.nu))
    known = np.zeros(tau.shape, dtype=bool)
    free = {c.name for c in robot.coordinates if not c.actuated and not c.prescribed}
    # where nothing drives a joint of a loop, the loop does: efforts of actuators are all that is compared
    silent = () if robot.functions.is_constrained else free
    for i, name in enumerate(robot.effort_names):
        values = measurement.columns.get(f"{name}.effort")
        if values is not None:
            known[:, i] = np.isfinite(values)
            tau[:, i] = np.where(known[:, i], values, 0.0)
        elif name in silent:
            known[:, i] = True
        if f"{name}{KNOWN}" in measurement.columns:
            values = measurement[f"{name}{KNOWN}"]
            known[:, i] &= np.isfinite(values)
            beside[:, i] = np.where(known[:, i], values, 0.0)
    driven = [i for i, name in enumerate(robot.effort_names) if name not in free]
    if driven and not known[:, driven].any():
        expected = ", ".join(f"{robot.effort_names[i]}.effort" for i in driven[:4])
        raise StateError(f"{measurement.name}: no column with an effort, expected {expected}")
    return tau, known, beside
