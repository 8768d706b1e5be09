"""The fixed step that an explicit method bears on a robot: what runs and `check` tell."""

from __future__ import annotations

import warnings
from math import floor, log10
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError

#: what there is instead of fixed steps
OWN_STEPS = "without dt and method the run chooses its own steps"

#: step times rate that rk4 bears: of vibrations, and of what is damped away (Hairer & Wanner 1996, IV.2)
BEARS_VIBRATION, BEARS_DAMPING = 2.828, 2.785


def at_most(seconds: float, digits: int = 2) -> str:
    """A bound [s] in so many digits, never rounded up."""
    unit = 10.0 ** (floor(log10(seconds)) - digits + 1)
    # a number that has no more digits stays what it is
    return f"{floor(seconds / unit * (1.0 + 1e-12)) * unit:.{digits}g}"


def bearable_step(robot: Any, q: np.ndarray) -> tuple[float, str, float] | None:
    """Largest step that rk4 bears at q [s], the coordinate that moves most in the fastest mode, and its
    frequency [Hz]; None where nothing vibrates or modes cannot be found."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            modes = robot.modes(q)
    except FlexdynError:
        return None
    if not modes.frequency.size or not modes.frequency[-1] > 0.0:
        return None
    omega = 2.0 * np.pi * modes.frequency
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(modes.damping_ratio), modes.damping_ratio, 0.0)
    damped = omega * (ratio + np.sqrt(np.maximum(ratio**2 - 1.0, 0.0)))
    step = min(BEARS_VIBRATION / omega[-1], BEARS_DAMPING / max(damped.max(), 1e-300))
    moved = np.abs(modes.shape[:, -1]) * np.sqrt(np.diagonal(robot.mass_matrix(q)))
    return float(step), str(robot.v_names[int(np.argmax(moved))]), float(modes.frequency[-1])
