"""Forces on the coordinates of a simulated tree.

Command, servo, stops, wrenches, joint resistance; and what they do.

Every force that acts on one coordinate alone has the form f = f0 - k (q - q0) - d (v - v0), with slopes k, d
>= 0 that an implicit step puts on the diagonal of the mass matrix. Dry friction has the secant F(v)/v as its
slope: positive and bounded, so that an implicit step decays to rest from any speed instead of jumping from
one branch of the curve to the other (the tangent vanishes away from v = 0).
"""

from __future__ import annotations

import numpy as np

from .aba import articulated_body
from .compiler import kernel
from .crba import crba
from .friction import dry_friction
from .kinematics import place_in_world
from .linalg import cholesky, cholesky_solve
from .memory import ints_at
from .rnea import rnea
from .rotations import cross, load3, load9, turn
from .steppers_memory import S_MIMIC, S_SATURATE, S_STOPS, S_WORK, STEP_HEADER, open_steps
from .tree import (
    BODY_ROWS,
    COULOMB,
    DAMPING,
    DOF_NUMBERS,
    FREE,
    ONE_LANE,
    REVOLUTE,
    SMOOTHING,
    STATIC,
    STIFFNESS,
    STRIBECK,
    TURN,
    WORLD_ORIGIN,
    WORLD_ROTATION,
    open_data,
    open_tree,
)


@kernel
def accelerate(tree, steps, q, v, tau, a):
    """a = (M + extra)^-1 (tau - h), with data.diagonal = armature + extra; tau is overwritten."""
    head = ints_at(steps, STEP_HEADER)
    model = open_tree(tree)
    data = open_data(head[S_WORK], model.nb, model.nq, model.nv, ONE_LANE)
    if head[S_MIMIC] == 0:
        articulated_body(model, data, q, v, tau, a)
    else:
        accelerate_densely(tree, steps, q, v, tau, a)


@kernel
def accelerate_densely(tree, steps, q, v, tau, a):
    """`accelerate` by the mass matrix, for trees whose mimic joints share coordinates.

    NaN if it is singular.
    """
    model = open_tree(tree)
    memory = open_steps(steps)
    data = open_data(ints_at(steps, STEP_HEADER)[S_WORK], model.nb, model.nq, model.nv, ONE_LANE)
    nv = model.nv
    M = memory.M.reshape(nv, nv)
    crba(model, data, q, M)
    rnea(model, data, q, v, memory.zeros, a)
    for i in range(nv):
        a[i] = tau[i] - a[i]
    if cholesky(M, nv):
        cholesky_solve(M, nv, a)
    else:
        a[:] = np.nan


@kernel(forceinline=True)
def friction_slope(coulomb, static, stribeck, smoothing, v):
    """Dry friction divided by the velocity; its limit at rest."""
    if abs(v) < 1e-9 * smoothing:
        return static / smoothing
    return dry_friction(coulomb, static, stribeck, smoothing, v) / v


@kernel(forceinline=True)
def resistance_slope(model, i, v):
    """Effort of damping and dry friction of coordinate i against v, divided by v."""
    dof = model.dof[DOF_NUMBERS * i : DOF_NUMBERS * (i + 1)]
    slope = dof[DAMPING]
    if dof[COULOMB] != 0.0 or dof[STATIC] != 0.0:
        slope += friction_slope(dof[COULOMB], dof[STATIC], dof[STRIBECK], dof[SMOOTHING], v)
    return slope


@kernel(forceinline=True)
def spring_stiffness(model, i):
    """Stiffness of the joint's parallel spring."""
    return model.dof[DOF_NUMBERS * i + STIFFNESS]


@kernel(forceinline=True)
def penetration(memory, i, x):
    """How far position x is beyond the limits of coordinate i, signed; 0 inside."""
    if x > memory.upper[i]:
        return x - memory.upper[i]
    if x < memory.lower[i]:
        return x - memory.lower[i]
    return 0.0


@kernel(forceinline=True)
def stop_position(memory, i):
    """The limit that coordinate i is beyond according to memory.at_stop."""
    return memory.upper[i] if memory.at_stop[i] > 0 else memory.lower[i]


@kernel
def gather_wrenches(tree, steps, q):
    """memory.load = sum J^T w: wrenches carried down their chains of bodies, projected on the joints."""
    model = open_tree(tree)
    memory = open_steps(steps)
    for i in range(model.nv):
        memory.load[i] = 0.0
    k = memory.bodies.shape[0]
    if k == 0:
        return
    data = open_data(ints_at(steps, STEP_HEADER)[S_WORK], model.nb, model.nq, model.nv, ONE_LANE)
    place_in_world(model, data, q)
    for j in range(k):
        b = memory.bodies[j]
        if b > 0:
            own = data.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
            point = memory.points[3 * j : 3 * j + 3]
            px, py, pz = turn(load9(own, WORLD_ROTATION, 1, 0), point[0], point[1], point[2])
            ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
            carry_wrench(
                model, data, b, px + ox, py + oy, pz + oz, memory.wrenches[6 * j : 6 * j + 6], memory.load
            )


@kernel
def carry_wrench(model, data, body, px, py, pz, w, load):
    """load += J^T w of one wrench (moment; force) at the world point p of a body; reads `place_in_world`."""
    b = body
    while b > 0:
        own = data.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
        r = load9(own, WORLD_ROTATION, 1, 0)
        ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        mx, my, mz = mx + w[0], my + w[1], mz + w[2]
        i = model.v_index[b]
        if model.joint_type[b] == FREE:
            t = load9(own, TURN, 1, 0)
            for c in range(3):
                # column c of the joint frame's axes in the world: R_body TURN^T
                ex = r[0] * t[3 * c] + r[1] * t[3 * c + 1] + r[2] * t[3 * c + 2]
                ey = r[3] * t[3 * c] + r[4] * t[3 * c + 1] + r[5] * t[3 * c + 2]
                ez = r[6] * t[3 * c] + r[7] * t[3 * c + 1] + r[8] * t[3 * c + 2]
                load[i + c] += ex * mx + ey * my + ez * mz
                load[i + 3 + c] += ex * w[3] + ey * w[4] + ez * w[5]
        elif model.joint_type[b] == REVOLUTE:
            load[i] += model.ratio[b] * (r[2] * mx + r[5] * my + r[8] * mz)
        else:
            load[i] += model.ratio[b] * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])
        b = model.parent[b]


@kernel(forceinline=True)
def servo_effort(model, memory, i, q, v):
    """Command plus servo of coordinate i, before clipping."""
    effort = memory.tau[i]
    if memory.servo_stiffness[i] != 0.0:
        effort += memory.servo_stiffness[i] * (memory.target_q[i] - q[model.q_of_v[i]])
    if memory.servo_damping[i] != 0.0:
        effort += memory.servo_damping[i] * (memory.target_v[i] - v[i])
    return effort


@kernel
def explicit_rates(tree, steps, q, v, a, effort, rates):
    """Motion at (q, v) with nothing implicit; for explicit methods and integrators outside.

    Writes a (nv,), effort (nv,) = command and servo after clipping, rates = (power of efforts and wrenches,
    power taken by damping, friction and stops) [W]; marks memory.clipped.
    """
    head = ints_at(steps, STEP_HEADER)
    model = open_tree(tree)
    memory = open_steps(steps)
    data = open_data(head[S_WORK], model.nb, model.nq, model.nv, ONE_LANE)
    gather_wrenches(tree, steps, q)
    work = 0.0
    taken = 0.0
    for i in range(model.nv):
        u = servo_effort(model, memory, i, q, v)
        if head[S_SATURATE] != 0 and abs(u) > memory.effort_limit[i]:
            u = np.copysign(memory.effort_limit[i], u)
            memory.clipped[i] = 1
        effort[i] = u
        total = u + memory.load[i]
        work += total * v[i]
        taken += resistance_slope(model, i, v[i]) * v[i] * v[i]
        if head[S_STOPS] != 0 and model.q_of_v[i] >= 0:
            beyond = penetration(memory, i, q[model.q_of_v[i]])
            if beyond != 0.0:
                stop = -memory.stop_stiffness[i] * beyond - memory.stop_damping[i] * v[i]
                total += stop
                taken -= stop * v[i]
        data.tau[i] = total
    rates[0], rates[1] = work, taken
    accelerate(tree, steps, q, v, data.tau, a)
