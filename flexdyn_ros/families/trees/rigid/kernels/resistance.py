"""Efforts that joints exert by themselves, and their slopes, for steps that are implicit in them.

Dry friction has the secant F(v)/v as its slope: positive and bounded, so that an implicit step decays to rest
from any speed instead of jumping from one branch of the curve to the other (the tangent vanishes away from
v = 0).
"""

from __future__ import annotations

from flexdyn_ros.multibody.elements.cylinder.kernels.friction import dry_friction
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import absolute, less, select

from .views import ARMATURE, COULOMB, DAMPING, DOF_NUMBERS, REFERENCE, SMOOTHING, STATIC, STIFFNESS, STRIBECK


@kernel(forceinline=True)
def add_joint_resistance(model, q, v, sign, tau):
    """tau += sign (K (q - q_0) + D v + friction) for every velocity coordinate."""
    for i in range(model.nv):
        dof = window(model.dof, DOF_NUMBERS * i, DOF_NUMBERS)
        stiffness, damping, coulomb, static = dof[STIFFNESS], dof[DAMPING], dof[COULOMB], dof[STATIC]
        if damping != 0.0:
            tau[i] += sign * damping * v[i]
        if coulomb != 0.0 or static != 0.0:
            tau[i] += sign * dry_friction(coulomb, static, dof[STRIBECK], dof[SMOOTHING], v[i])
        if stiffness != 0.0:
            tau[i] += sign * stiffness * (q[model.q_of_v[i]] - dof[REFERENCE])


@kernel(forceinline=True)
def friction_slope(coulomb, static, stribeck, smoothing, v):
    """Dry friction divided by the velocity; its limit at rest."""
    still = less(absolute(v), 1e-9 * smoothing)
    moving = select(still, smoothing, v)
    slope = dry_friction(coulomb, static, stribeck, smoothing, moving) / moving
    return select(still, static / smoothing, slope)


@kernel(forceinline=True)
def resistance_slope(model, i, v):
    """Effort of damping and dry friction of coordinate i against v, divided by v."""
    dof = window(model.dof, DOF_NUMBERS * i, DOF_NUMBERS)
    slope = dof[DAMPING]
    if dof[COULOMB] != 0.0 or dof[STATIC] != 0.0:
        slope += friction_slope(dof[COULOMB], dof[STATIC], dof[STRIBECK], dof[SMOOTHING], v)
    return slope


@kernel(forceinline=True)
def add_implicit_joint_terms(model, v, force, extra, h, diagonal):
    """diagonal = armature + extra + h d + h^2 k and force -= h k v, with the slopes of the joints' resistance
    and springs; (nv,)."""
    for i in range(model.nv):
        diagonal[i] = model.dof[DOF_NUMBERS * i + ARMATURE] + extra[i]
        if h != 0.0:
            k = model.dof[DOF_NUMBERS * i + STIFFNESS]
            diagonal[i] += h * (resistance_slope(model, i, v[i]) + h * k)
            force[i] -= h * k * v[i]


@kernel(forceinline=True)
def joint_losses(model, v0, speed, mean):
    """Power that the joints' resistance takes, its slopes taken at v0."""
    taken = 0.0
    for i in range(model.nv):
        taken += resistance_slope(model, i, v0[i]) * speed[i] * mean[i]
    return taken
