"""The rigid tree as kernels see it: named views of packed arrays, and the work arrays of the recursions.

Body 0 is the world; body b > 0 hangs on joint b, whose axis is the z axis of the body's own frame (the
builder turns frames so that it is). The arrays of the recursions hold numbers of any type (numerics/numbers).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window

#: floats of each body in TreeModel, which stand before those of the coordinates
BODY_NUMBERS = 26
# numbers per velocity coordinate in TreeModel.dof
DOF_NUMBERS = 9
ARMATURE, DAMPING, COULOMB, STATIC, STRIBECK, SMOOTHING, STIFFNESS, REFERENCE, MOTOR_OF = range(DOF_NUMBERS)

#: int64 words of the header that an address points to
HEADER = 7
NB, NQ, NV, INTS, FLOATS, HAS_MIMIC, N_FREE = range(HEADER)


class TreeModel(NamedTuple):
    """A rigid tree; constant, shared by threads.

    parent, joint_type, q_index, v_index : (nb,) int
        Parent body, SCREW, FREE or BALL, first index in q (of a quaternion three numbers before it) and in v.
        Entry 0 (world) is unused.
    ratio, offset : (nb,)
        Joint position = ratio q[q_index] + offset (mimic joints; 1 and 0 otherwise) [-; m or rad].
    turn, slide : (nb,)
        Of a screw: 1 if it turns by its position about its axis, 0 if it does not turn; displacement along
        the axis for a unit of position: 0 of a revolute joint, 1 of a prismatic one, the pitch [m/rad] of a
        helical one.
    placement : (12 nb,)
        Joint frame in the parent body's frame: rotation row by row (9), then origin (3) [m].
    inertia : (10 nb,)
        Mass [kg], first moment (3) [kg m], inertia about the body origin xx xy xz yy yz zz [kg m2], body
        axes.
    dof : (9 nv,)
        Per velocity coordinate: armature, damping, Coulomb, static friction, Stribeck velocity, smoothing
        velocity, stiffness, spring reference, and of a motor that drives a joint through a spring 1 + the
        joint's index in v, -1 of the hub of a wheel, 0 of all others. SI. Motors and hubs come last, no body
        hangs on them; stiffness and damping of motors are those of their springs.
    q_of_v : (nv,) int
        Index in q of a velocity coordinate, -1 for those of a free or ball joint.
    gravity : (3,)
        Acceleration of free fall, world axes [m/s2].
    """

    nb: int
    nq: int
    nv: int
    parent: np.ndarray
    joint_type: np.ndarray
    q_index: np.ndarray
    v_index: np.ndarray
    q_of_v: np.ndarray
    ratio: np.ndarray
    offset: np.ndarray
    turn: np.ndarray
    slide: np.ndarray
    placement: np.ndarray
    inertia: np.ndarray
    dof: np.ndarray
    gravity: np.ndarray


@kernel(forceinline=True)
def open_tree(address):
    """TreeModel seen through the header at `address`."""
    head = ints_at(address, HEADER)
    nb, nq, nv = head[NB], head[NQ], head[NV]
    i = ints_at(head[INTS], 4 * nb + nv)
    f = floats_at(head[FLOATS], BODY_NUMBERS * nb + DOF_NUMBERS * nv + 3)
    return TreeModel(
        nb,
        nq,
        nv,
        window(i, 0, nb),
        window(i, nb, nb),
        window(i, 2 * nb, nb),
        window(i, 3 * nb, nb),
        window(i, 4 * nb, nv),
        window(f, 0, nb),
        window(f, nb, nb),
        window(f, 2 * nb, nb),
        window(f, 3 * nb, nb),
        window(f, 4 * nb, 12 * nb),
        window(f, 16 * nb, 10 * nb),
        window(f, BODY_NUMBERS * nb, DOF_NUMBERS * nv),
        window(f, BODY_NUMBERS * nb + DOF_NUMBERS * nv, 3),
    )


# rows of a body's block in TreeData.bodies
ROTATION = 0  # (9) parent <- body, row by row
ORIGIN = 9  # (3) body origin in the parent's frame
OMEGA = 12  # (3) angular velocity, body axes
ALPHA = 15  # (3) angular acceleration, body axes
ACCELERATION = 18  # (3) acceleration of the body origin minus gravity, body axes
FORCE = 21  # (3) force, body axes
MOMENT = 24  # (3) moment about the body origin, body axes
TURN = 27  # (9) joint frame <- body of a free or ball joint (its quaternion as a matrix)
BIAS_ALPHA = 36  # (3) velocity part of ALPHA
BIAS_ACCELERATION = 39  # (3) velocity part of ACCELERATION
BODY_ROWS = 42
# rows of kinematics.py, in the space of those that only the recursions use
WORLD_ROTATION = 15  # (9) world <- body, row by row
WORLD_ORIGIN = 24  # (3) body origin in the world
VELOCITY = 36  # (3) velocity of the body origin, body axes
# rows of momenta.py, likewise; LIFT of the world is zero
LIFT = 39  # potential of a unit of mass at the body origin
FIRST_MOMENT = 39  # (3) of the mass that hangs on a body, about its origin, body axes
MASS = 15  # of what hangs on a body


class TreeData(NamedTuple):
    """Work arrays of the recursions over a tree; one per thread.

    bodies : (nb, 42), flat
        Blocks of the rows named in this module.
    q, v, a, tau : (nq or nv,)
        One sample; v of a motor: what an implicit step makes of its spring (resistance.py).
    diagonal : (nv,)
        Inertia that acts on a velocity coordinate alone: armature, and what an implicit step adds to it.
    articulated : (nb, 36), flat
        Articulated inertias and what their elimination leaves (aba.py).
    """

    bodies: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    diagonal: np.ndarray
    articulated: np.ndarray


ARTICULATED_ROWS = 36


@kernel(forceinline=True)
def work_size(nb, nq, nv):
    """Numbers that `carve_data` carves its arrays from."""
    return nb * (BODY_ROWS + ARTICULATED_ROWS) + nq + 4 * nv


@kernel(forceinline=True)
def carve_data(w, nb, nq, nv):
    """TreeData whose arrays are consecutive pieces of w."""
    a = nb * BODY_ROWS
    b = a + nb * ARTICULATED_ROWS
    c = b + nq
    return TreeData(
        window(w, 0, a),
        window(w, b, nq),
        window(w, c, nv),
        window(w, c + nv, nv),
        window(w, c + 2 * nv, nv),
        window(w, c + 3 * nv, nv),
        window(w, a, nb * ARTICULATED_ROWS),
    )


@kernel(forceinline=True)
def open_data(address, nb, nq, nv):
    """TreeData over float64 memory at `address` (work_size(...) numbers)."""
    return carve_data(floats_at(address, work_size(nb, nq, nv)), nb, nq, nv)


@kernel(forceinline=True)
def prepare(model, data, gravity_scale):
    """Make work arrays ready: the world in its own axes, at rest, accelerating against gravity, armature
    as diagonal.

    The recursions leave both as they are, so that once is enough.
    """
    world = window(data.bodies, 0, BODY_ROWS)
    for i in range(BODY_ROWS):
        world[i] = 0.0
    for i in range(3):
        world[ROTATION + 4 * i] = 1.0
        world[ACCELERATION + i] = -gravity_scale * model.gravity[i]
    for i in range(model.nv):
        data.diagonal[i] = model.dof[DOF_NUMBERS * i + ARMATURE]
