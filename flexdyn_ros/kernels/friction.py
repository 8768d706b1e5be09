"""Efforts that a joint exerts by itself: parallel spring, viscous damping, dry friction."""

from __future__ import annotations

import numpy as np

from .compiler import kernel
from .tree import COULOMB, DAMPING, DOF_NUMBERS, REFERENCE, SMOOTHING, STATIC, STIFFNESS, STRIBECK


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


@kernel(forceinline=True)
def add_joint_resistance(model, data, q, v, sign, tau):
    """tau += sign (K (q - q_0) + D v + friction) for every velocity coordinate; lane blocks q, v, tau."""
    n = len(data.lanes)
    for i in range(model.nv):
        dof = model.dof[DOF_NUMBERS * i : DOF_NUMBERS * (i + 1)]
        stiffness, damping, coulomb, static = dof[STIFFNESS], dof[DAMPING], dof[COULOMB], dof[STATIC]
        if damping != 0.0:
            for k in range(n):
                tau[i * n + k] += sign * damping * v[i * n + k]
        if coulomb != 0.0 or static != 0.0:
            for k in range(n):
                tau[i * n + k] += sign * dry_friction(
                    coulomb, static, dof[STRIBECK], dof[SMOOTHING], v[i * n + k]
                )
        if stiffness != 0.0:
            at = model.q_of_v[i] * n
            for k in range(n):
                tau[i * n + k] += sign * stiffness * (q[at + k] - dof[REFERENCE])
