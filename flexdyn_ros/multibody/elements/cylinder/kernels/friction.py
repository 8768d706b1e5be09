"""Dry friction over speed."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import either, less, select


@kernel(forceinline=True)
def dry_friction(coulomb, static, stribeck, smoothing, v):
    """Smoothed Stribeck curve [N m or N], against v.

    F = (F_C + (F_S - F_C) exp(-(v/v_s)^2)) tanh(v/v_0) (Armstrong-Helouvry, Dupont & Canudas de Wit 1994,
    with tanh for the sign).
    """
    level = coulomb
    if static != coulomb:
        level = coulomb + (static - coulomb) * np.exp(-((v / stribeck) ** 2))
    x = v / smoothing
    # beyond 20 tanh is 1 to the last digit, and the complex one overflows
    forward, backward = less(20.0, x), less(x, -20.0)
    curve = np.tanh(select(either(forward, backward), 0.0 * x, x))
    return level * select(forward, 1.0 + 0.0 * x, select(backward, 0.0 * x - 1.0, curve))
