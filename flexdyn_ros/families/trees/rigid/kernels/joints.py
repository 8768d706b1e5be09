"""Joint kinematics of a rigid tree: rotation and origin of each body in its
parent."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import FREE, SCREW
from flexdyn_ros.numerics.algebra.rotations import (
    about_z,
    matrix_of_quaternion,
    multiply,
    store3,
    store9,
    turn,
)
from flexdyn_ros.numerics.algebra.trigonometry import sincos
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from .views import BODY_ROWS, ORIGIN, ROTATION, TURN

FAST = {"contract", "nsz", "arcp"}


@kernel(fastmath=FAST, forceinline=True)
def place_bodies(model, data, q):
    """Write ROTATION, ORIGIN (and TURN of free and ball joints) of all bodies from q."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)


@kernel(fastmath=FAST, forceinline=True)
def place_body(model, data, b, q):
    """Write ROTATION, ORIGIN (and TURN of a free or ball joint) of body b from q."""
    own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
    x = window(model.placement, 12 * b, 12)
    e = (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8])
    first = model.q_index[b]
    if model.joint_type[b] == SCREW:
        qb = window(q, first, 1)
        ratio, offset = model.ratio[b], model.offset[b]
        position, slide = ratio * qb[0] + offset, model.slide[b]
        if model.turn[b] != 0.0:
            s, c = sincos(position)
            store9(own, ROTATION, about_z(e, s, c))
        else:
            for i in range(9):
                own[ROTATION + i] = e[i]
        if slide != 0.0:
            way = slide * position
            store3(own, ORIGIN, x[9] + e[2] * way, x[10] + e[5] * way, x[11] + e[8] * way)
        else:
            store3(own, ORIGIN, x[9], x[10], x[11])
    elif model.joint_type[b] == FREE:
        qb = window(q, first, 7)
        px, py, pz = turn(e, qb[0], qb[1], qb[2])
        m = matrix_of_quaternion(qb[3], qb[4], qb[5], qb[6])
        store9(own, TURN, m)
        store9(own, ROTATION, multiply(e, m))
        store3(own, ORIGIN, x[9] + px, x[10] + py, x[11] + pz)
    else:
        qb = window(q, first + 3, 4)
        m = matrix_of_quaternion(qb[0], qb[1], qb[2], qb[3])
        store9(own, TURN, m)
        store9(own, ROTATION, multiply(e, m))
        store3(own, ORIGIN, x[9], x[10], x[11])
