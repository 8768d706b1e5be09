"""What the extras of a soft arm return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Solution(NamedTuple):
    """Actuator lengths that reach a target.

    q (..., nq); converged (...) bool; iterations (...) int; residual (...) the largest deviation from the
    target that is left [m, and rad for poses].
    """

    q: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray
