"""Dry friction over speed."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel


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
    if x.real > 20.0:
        return level + 0.0 * x
    if x.real < -20.0:
        return -level + 0.0 * x
    return level * np.tanh(x)
