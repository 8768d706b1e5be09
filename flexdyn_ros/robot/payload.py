"""Payloads: bodies fixed to a frame of a robot after it was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError


class Payload(NamedTuple):
    """A rigid body fixed to a frame.

    mass [kg], com (3,) [m] and inertia (ixx, ixy, ixz, iyy, iyz, izz) about it [kg m2], in the frame's axes.
    """

    frame: str
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]


def check_payload(frame: str, mass: float, com: Sequence[float], inertia: object = None) -> Payload:
    """A payload from arguments; inertia (3, 3) or None for a point mass.

    Raises
    ------
    DimensionError, StateError
        If shapes are wrong; if a number is not finite or no body has such a mass and inertia.
    """
    try:
        mass = float(mass)
        centre = np.asarray(com, dtype=float)
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
    except (TypeError, ValueError):
        raise DimensionError("mass, com and inertia of a payload must be numbers") from None
    if centre.shape != (3,):
        raise DimensionError(f"com has shape {centre.shape}, expected (3,)")
    if tensor.shape != (3, 3):
        raise DimensionError(f"inertia has shape {tensor.shape}, expected (3, 3)")
    if not (np.isfinite(mass) and np.isfinite(centre).all() and np.isfinite(tensor).all()):
        raise StateError("mass, com and inertia of a payload must be finite")
    if mass < 0.0:
        raise StateError(f"mass is {mass}, expected at least 0 (0 removes the payload)")
    scale = np.abs(tensor).max()
    if np.abs(tensor - tensor.T).max() > 1e-9 * scale:
        raise StateError("inertia is not symmetric")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] < -1e-9 * scale or moments[2] > moments[0] + moments[1] + 1e-6 * scale:
        raise StateError(
            f"no body has the principal moments {moments}: each is at most the sum of the others"
        )
    return Payload(
        frame, mass, tuple(centre.tolist()), tuple(tensor[i, j] for i in range(3) for j in range(i, 3))
    )
