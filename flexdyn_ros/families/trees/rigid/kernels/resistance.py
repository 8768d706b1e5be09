"""Efforts that joints exert by themselves, and their slopes, for steps that are implicit in them.

Dry friction has the secant F(v)/v as its slope: positive and bounded, so that an implicit step decays to rest
from any speed instead of jumping from one branch of the curve to the other (the tangent vanishes away from
v = 0).

A motor with inertia I = N^2 J drives its joint j through a spring k and a damper d (Spong 1987): they pull
with s = k (q_m - q_j) + d (v_m - v_j) on the joint, with -s on the motor. Nothing else couples it, so that
its row of the equations of a step,

    (I + x + c) a_m - c a_j = f_m,    c = h d + h^2 k,    x: what the step adds to the motor by itself,

is eliminated before the recursions: the joint's diagonal gains c (I + x) / (I + x + c), its force gains
f_m c / (I + x + c). Without a step c = 0.
"""

from __future__ import annotations

from flexdyn_ros.multibody.elements.cylinder.kernels.friction import dry_friction
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import absolute, less, select

from .views import (
    ARMATURE,
    COULOMB,
    DAMPING,
    DOF_NUMBERS,
    MOTOR_OF,
    REFERENCE,
    SMOOTHING,
    STATIC,
    STIFFNESS,
    STRIBECK,
)


@kernel(forceinline=True)
def dof_of(model, i):
    """Numbers of velocity coordinate i."""
    return window(model.dof, DOF_NUMBERS * i, DOF_NUMBERS)


@kernel(forceinline=True)
def joint_of(model, i):
    """Index in v of the joint that motor i drives; -1 for coordinates of the tree, -2 for hubs of wheels."""
    return int(model.dof[DOF_NUMBERS * i + MOTOR_OF]) - 1


@kernel(forceinline=True)
def wound(model, i, j, q):
    """How far the spring between motor i and joint j is wound."""
    return q[model.q_of_v[i]] - q[model.q_of_v[j]]


@kernel(forceinline=True)
def add_joint_resistance(model, q, v, sign, tau):
    """tau += sign (K (q - q_0) + D v + friction) for every velocity coordinate, pulls of motors included."""
    for i in range(model.nv):
        dof = dof_of(model, i)
        stiffness, damping, coulomb, static = dof[STIFFNESS], dof[DAMPING], dof[COULOMB], dof[STATIC]
        j = joint_of(model, i)
        if j >= 0:
            pull = sign * (stiffness * wound(model, i, j, q) + damping * (v[i] - v[j]))
            tau[i] += pull
            tau[j] -= pull
            continue
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
    dof = dof_of(model, i)
    slope = dof[DAMPING]
    if dof[COULOMB] != 0.0 or dof[STATIC] != 0.0:
        slope += friction_slope(dof[COULOMB], dof[STATIC], dof[STRIBECK], dof[SMOOTHING], v)
    return slope


@kernel(forceinline=True)
def add_implicit_joint_terms(model, v, force, extra, h, diagonal):
    """diagonal = armature + extra + h d + h^2 k and force -= h k v, with the slopes of the joints' resistance
    and springs; (nv,). Springs of motors give their force, the rest is `couple_motors` or `add_motor_rows`.
    """
    for i in range(model.nv):
        diagonal[i] = model.dof[DOF_NUMBERS * i + ARMATURE] + extra[i]
        if h != 0.0:
            k = model.dof[DOF_NUMBERS * i + STIFFNESS]
            j = joint_of(model, i)
            if j >= 0:
                pull = h * k * (v[i] - v[j])
                force[i] -= pull
                force[j] += pull
            else:
                diagonal[i] += h * (resistance_slope(model, i, v[i]) + h * k)
                force[i] -= h * k * v[i]


@kernel(forceinline=True)
def joint_losses(model, v0, speed, mean):
    """Power that the joints' resistance takes, its slopes taken at v0."""
    taken = 0.0
    for i in range(model.nv):
        j = joint_of(model, i)
        if j >= 0:
            damping = model.dof[DOF_NUMBERS * i + DAMPING]
            taken += damping * (speed[i] - speed[j]) * (mean[i] - mean[j])
        else:
            taken += resistance_slope(model, i, v0[i]) * speed[i] * mean[i]
    return taken


# ---- motors that drive joints through springs: the last coordinates, but for hubs of wheels ----

#: `joint_of` of coordinates of the tree
TREE = -1


@kernel(forceinline=True)
def spring_of_motor(model, i, h):
    """c of motor i in a step of h."""
    dof = dof_of(model, i)
    return h * (dof[DAMPING] + h * dof[STIFFNESS])


@kernel(forceinline=True)
def couple_motors(model, data, h):
    """Keep c of every motor in data.v, for a step of h; 0: forward dynamics."""
    for i in range(model.nv - 1, -1, -1):
        j = joint_of(model, i)
        if j == TREE:
            break
        if j >= 0:
            data.v[i] = spring_of_motor(model, i, h)


@kernel(forceinline=True)
def eliminate_motors(model, data, tau):
    """Let joints feel what their motors leave them of efforts tau and inertia; reads data.diagonal and what
    `couple_motors` kept."""
    for i in range(model.nv - 1, -1, -1):
        j = joint_of(model, i)
        if j == TREE:
            break
        if j >= 0:
            share = data.v[i] / (data.diagonal[i] + data.v[i])
            tau[j] += share * tau[i]
            data.diagonal[j] += share * data.diagonal[i]


@kernel(forceinline=True)
def accelerate_motors(model, data, tau, a):
    """a of the motors from that of their joints, after `eliminate_motors`."""
    for i in range(model.nv - 1, -1, -1):
        j = joint_of(model, i)
        if j == TREE:
            break
        if j >= 0:
            a[i] = (tau[i] + data.v[i] * a[j]) / (data.diagonal[i] + data.v[i])


@kernel(forceinline=True)
def add_motor_rows(model, h, M):
    """M += c of every motor, in a step of h by the mass matrix."""
    for i in range(model.nv - 1, -1, -1):
        j = joint_of(model, i)
        if j == TREE:
            break
        if j >= 0:
            c = spring_of_motor(model, i, h)
            M[i, i] += c
            M[j, j] += c
            M[i, j] -= c
            M[j, i] -= c
