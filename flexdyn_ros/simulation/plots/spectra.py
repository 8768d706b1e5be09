"""Spectra of trajectories, and the frequencies of vibration to compare them with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError

if TYPE_CHECKING:
    from flexdyn_ros.simulation.samples import Samples

#: modes that are marked
MARKED = 6


class Spectrum(NamedTuple):
    """Amplitudes over frequency (k,) [Hz]: one row (k,) per name, and their unit."""

    frequency: np.ndarray
    names: tuple[str, ...]
    amplitude: np.ndarray
    unit: str


def tip_deflections(trajectory: Samples) -> dict[str, np.ndarray]:
    """Displacements (n,) [m] of the tips of bending links across their beams, in beam axes; empty without
    robot or flexible links."""
    if trajectory.robot is None:
        return {}
    found = {}
    for link, d in trajectory.robot.deflections(trajectory.q, [1.0]).items():
        for axis, letter in ((1, "y"), (2, "z")):
            values = d.displacement[:, 0, axis]
            if np.ptp(values) > 0.0:
                found[f"{link} {letter}"] = values
    return found


def spectra(trajectory: Samples) -> Spectrum | None:
    """Amplitude spectra of the tip deflections, or of the velocities where nothing bends; None for runs of
    less than 16 samples.

    Signals are put on even steps, freed of their mean and tapered by Hann's window; a steady oscillation of
    amplitude A away from 0 Hz shows a peak of height A.
    """
    t = trajectory.t
    if t.size < 16 or t[-1] <= t[0]:
        return None
    signals, unit = tip_deflections(trajectory), "m"
    if not signals:
        units = dict(zip(trajectory.v_names, trajectory.v_units, strict=True))
        unit = trajectory.v_units[0]
        signals = {name: trajectory[name, "velocity"] for name in units if units[name] == unit}
    even = np.linspace(t[0], t[-1], t.size)
    window = np.hanning(t.size)
    rows = []
    for values in signals.values():
        x = np.interp(even, t, values)
        rows.append(np.abs(np.fft.rfft((x - x.mean()) * window)) * 2.0 / window.sum())
    frequency = np.fft.rfftfreq(t.size, even[1] - even[0])
    return Spectrum(frequency, tuple(signals), np.array(rows), unit)


def modal_frequencies(trajectory: Samples) -> np.ndarray:
    """The lowest frequencies of vibration [Hz] about the middle of the motion, up to half the rate of the
    samples, all joints free as in the run. Empty without robot."""
    robot, t = trajectory.robot, trajectory.t
    if robot is None or t.size < 2:
        return np.zeros(0)
    try:
        found = robot.modes(trajectory.q[t.size // 2])
    except FlexdynError:
        return np.zeros(0)
    # slower ones do not swing once in the run
    lowest = 1.0 / (t[-1] - t[0])
    highest = 0.5 * (t.size - 1) * lowest
    frequency = found.frequency
    return frequency[(frequency > lowest) & (frequency < highest)][:MARKED]
