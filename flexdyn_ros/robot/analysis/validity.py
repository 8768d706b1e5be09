"""Bounds within which answers hold: of deflections, and of the steps of explicit methods."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError

# The fixed step that an explicit method bears on a robot: what runs and `check` tell.

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


# Where deflections are larger than a linear beam bears: what runs, states of rest and modes warn of.

#: deflection of a tip as a share of the length, and its rotation [rad], up to which the error of the linear
#: beam stays at some per cent (docs/theory/flexible_links.md)
LARGEST_DEFLECTION, LARGEST_ROTATION = 0.1, 0.3


@dataclass(frozen=True, eq=False)
class Tip:
    """The tip of a flexible link: its length [m], the indices q (m,) of its modal coordinates, and what each
    of them moves and turns it by, displacement and rotation (m, 3) per unit, beam axes."""

    link: str
    length: float
    q: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray


def beyond_linear(robot: Any, q: np.ndarray, t: np.ndarray | None = None) -> list[str]:
    """What to say of links whose tips leave the range of the linear beam in rows of q (n, nq), each link at
    its largest; t (n,): times of the rows [s]."""
    found = []
    for tip in robot.tips:
        deflected = np.linalg.norm((q[:, tip.q] @ tip.displacement)[:, 1:], axis=1) / tip.length
        turned = np.linalg.norm(q[:, tip.q] @ tip.rotation, axis=1)
        for values, largest, text in (
            (deflected, LARGEST_DEFLECTION, "its tip moves by {:.0%} of the length"),
            (turned, LARGEST_ROTATION, "its tip turns by {:.2g} rad"),
        ):
            if values.size == 0 or not np.isfinite(values).any():
                continue
            worst = int(np.nanargmax(values))
            if values[worst] > largest:
                when = "" if t is None else f" at t = {t[worst]:.4g} s"
                found.append(f"link '{tip.link}': {text.format(values[worst])}{when}")
                break
    return found


def warning_of(found: Sequence[str]) -> str:
    """The warning that these findings make."""
    return (
        f"deflections beyond the linear beam: {'; '.join(found)} (it holds up to "
        f"{LARGEST_DEFLECTION:.0%} of the length and {LARGEST_ROTATION} rad); more and shorter flexible "
        "links in a row follow larger ones"
    )
