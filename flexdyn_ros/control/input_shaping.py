"""Input shaping: a reference convolved with impulses that leave lightly damped modes at rest when it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.control.reference import Reference
from flexdyn_ros.errors import StateError
from flexdyn_ros.robot.analysis.sampled_feedback import gains, joint_inertia, motions_about
from flexdyn_ros.robot.verbs import Robot

__all__ = ["Vibration", "closed_loop_modes", "joint_inertia"]

#: poles nearer to the real axis than this, relative to their size, do not oscillate
FLAT = 1e-6


class Vibration(NamedTuple):
    """Oscillating modes (m,), ascending: undamped frequency [Hz] and damping ratio [-]."""

    frequency: np.ndarray
    damping_ratio: np.ndarray


def closed_loop_modes(
    robot: Robot, q: np.ndarray, stiffness: object, damping: object, tau: np.ndarray | None = None
) -> Vibration:
    """Oscillating modes about q at rest under tau = tau0 - P dq - D v, from the exact linearisation.

    Parameters
    ----------
    q : (nq,) array
    stiffness, damping : (nv,) arrays or one number for all
        P, D as of `pd`; coordinates without an actuator have none.
    tau : (nu,) array, optional
        Efforts that hold the robot at q.
    """
    actuated = np.array([c.actuated for c in robot.coordinates], dtype=float)
    P, D = gains(robot, stiffness, "stiffness") * actuated, gains(robot, damping, "damping") * actuated
    A, B, T = motions_about(robot, q, tau)
    poles = np.linalg.eigvals(A - B[:, : robot.nv] @ np.hstack((np.diag(P), np.diag(D))) @ T)
    poles = poles[poles.imag > FLAT * np.abs(poles)]
    poles = poles[np.argsort(np.abs(poles))]
    size = np.abs(poles)
    return Vibration(size / (2.0 * np.pi), -poles.real / size)


class Shaper(NamedTuple):
    """Impulses: amplitudes (n,), which are positive and sum to one, at delays (n,) [s]."""

    amplitudes: np.ndarray
    delays: np.ndarray

    @property
    def length(self) -> float:
        """How much later the shaped reference ends [s]."""
        return float(self.delays[-1])

    def residual(self, frequency: float, damping_ratio: float = 0.0) -> float:
        """Vibration of a mode [Hz, -] after the last impulse, relative to that after a single one.

        Singer & Seering (1990), equation for the amplitude of a sequence of impulses.
        """
        w = 2.0 * np.pi * frequency
        decay = damping_ratio * w
        turn = w * np.sqrt(1.0 - damping_ratio**2)
        phases = self.amplitudes * np.exp((decay + 1j * turn) * self.delays)
        return float(np.exp(-decay * self.length) * abs(phases.sum()))


def zv(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Zero vibration: two impulses half a damped period apart (Singer & Seering 1990).

    Parameters
    ----------
    frequency : float
        Undamped natural frequency of the mode [Hz].
    damping_ratio : float
        In [0, 1).

    Raises
    ------
    StateError
    """
    K, half = _impulse(frequency, damping_ratio)
    return Shaper(np.array([1.0, K]) / (1.0 + K), np.array([0.0, half]))


def zvd(frequency: float, damping_ratio: float = 0.0) -> Shaper:
    """Zero vibration and derivative: three impulses, half a damped period apart; insensitive
    to first order to errors of the frequency (Singer & Seering 1990). Arguments as of `zv`."""
    K, half = _impulse(frequency, damping_ratio)
    return Shaper(np.array([1.0, 2.0 * K, K * K]) / (1.0 + K) ** 2, np.array([0.0, half, 2.0 * half]))


KINDS: dict[str, Callable[[float, float], Shaper]] = {"zv": zv, "zvd": zvd}


def shaper_of(kind: str, frequencies: Sequence[float], damping_ratios: Sequence[float]) -> Shaper:
    """One shaper for several modes: the convolution of the shapers of each.

    Parameters
    ----------
    kind : {"zv", "zvd"}
    frequencies, damping_ratios
        Of the modes [Hz, -], equally many; without modes the reference stays as it is.

    Raises
    ------
    StateError
    """
    if kind not in KINDS:
        raise StateError(f"shaper is {kind!r}, expected one of {', '.join(KINDS)}")
    amplitudes, delays = np.ones(1), np.zeros(1)
    for frequency, damping_ratio in zip(frequencies, damping_ratios, strict=True):
        one = KINDS[kind](frequency, damping_ratio)
        amplitudes = np.multiply.outer(amplitudes, one.amplitudes).ravel()
        delays = np.add.outer(delays, one.delays).ravel()
    order = np.argsort(delays, kind="stable")
    return Shaper(amplitudes[order], delays[order])


def shaped(reference: Reference, shaper: Shaper) -> Reference:
    """The reference convolved with the shaper; it must be defined `shaper.length` into the past."""
    amplitudes, delays = shaper.amplitudes.tolist(), shaper.delays.tolist()

    def follow(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, a = (amplitudes[0] * part for part in reference(t - delays[0]))
        for amplitude, delay in zip(amplitudes[1:], delays[1:], strict=True):
            dq, dv, da = reference(t - delay)
            q, v, a = q + amplitude * dq, v + amplitude * dv, a + amplitude * da
        return q, v, a

    return follow


def _impulse(frequency: float, damping_ratio: float) -> tuple[float, float]:
    """Size of the second impulse relative to the first, and half the damped period [s]."""
    if not (np.isfinite(frequency) and frequency > 0.0):
        raise StateError(f"frequency of a mode to be shaped is {frequency}, expected a positive number [Hz]")
    if not 0.0 <= damping_ratio < 1.0:
        raise StateError(f"damping ratio of a mode to be shaped is {damping_ratio}, expected 0 <= ratio < 1")
    root = float(np.sqrt(1.0 - damping_ratio**2))
    return float(np.exp(-damping_ratio * np.pi / root)), 0.5 / (frequency * root)
