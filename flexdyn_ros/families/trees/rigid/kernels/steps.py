"""Fixed steps of a rigid tree: its functions in the table of numerics/stepping/table.py.

Work memory: that of the recursions (views.py), then M (nv, nv) and nv zeros for trees whose mimic
joints share coordinates.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.algebra.manifold import FREE, REVOLUTE
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, turn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.stepping import table as at
from flexdyn_ros.numerics.stepping.table import callback

from .aba import articulated_body
from .crba import crba
from .kinematics import energies as write_energies
from .kinematics import move_in_body_axes, place_in_world
from .resistance import add_implicit_joint_terms, joint_losses
from .rnea import rnea
from .views import BODY_ROWS, ONE_LANE, TURN, WORLD_ORIGIN, WORLD_ROTATION, open_data, open_tree, work_size
from .views import prepare as prepare_data


def rigid_steps_size(nb: int, nq: int, nv: int, has_mimic: bool) -> int:
    """Numbers of work memory."""
    return work_size(nb, nq, nv, 1) + (nv * nv + nv if has_mimic else 0)


@callback(at.PREPARE_SIGNATURE)
def prepare(robot, work):
    """See numerics/stepping/table.py."""
    model = open_tree(robot)
    prepare_data(model, open_data(work, model.nb, model.nq, model.nv, ONE_LANE), 1.0)
    return 0


@callback(at.ACCELERATE_SIGNATURE)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; K and D are the slopes of the joints' springs and resistance."""
    model = open_tree(robot)
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv, ONE_LANE)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(model, v, force, floats_at(extra, nv), h, data.diagonal)
    articulated_body(model, data, q, v, force, a)
    return 0


@callback(at.ACCELERATE_SIGNATURE)
def accelerate_densely(robot, work, t, q, v, force, extra, h, a):
    """See numerics/stepping/table.py; by the mass matrix, for trees whose mimic joints share coordinates: a
    is (M + extra)^-1 (force - bias), NaN if that is singular.
    """
    model = open_tree(robot)
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv, ONE_LANE)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(model, v, force, floats_at(extra, nv), h, data.diagonal)
    # after what open_data carved: `work_size` numbers
    all_of_it = data.bodies.shape[0] + data.external.shape[0] + data.articulated.shape[0] + model.nq + 4 * nv
    rest = floats_at(work + 8 * all_of_it, nv * nv + nv)
    M, zeros = rest[0 : nv * nv].reshape(nv, nv), rest[nv * nv : nv * nv + nv]
    for i in range(nv):
        zeros[i] = 0.0
    crba(model, data, q, M)
    rnea(model, data, q, v, zeros, a)
    for i in range(nv):
        a[i] = force[i] - a[i]
    if cholesky(M, nv):
        cholesky_solve(M, nv, a)
    else:
        a[:] = np.nan
    return 0


@callback(at.LOSSES_SIGNATURE)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/stepping/table.py."""
    model = open_tree(robot)
    n = model.nv
    return joint_losses(model, floats_at(v0, n), floats_at(speed, n), floats_at(mean, n))


@callback(at.ENERGIES_SIGNATURE)
def energies(robot, work, t, q, v, out):
    """See numerics/stepping/table.py."""
    model = open_tree(robot)
    data = open_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    q, v = floats_at(q, model.nq), floats_at(v, model.nv)
    place_in_world(model, data, q)
    move_in_body_axes(model, data, v)
    write_energies(model, data, q, v, floats_at(out, 3))
    return 0


@callback(at.LOAD_SIGNATURE)
def load(robot, work, q, k, bodies, points, wrenches, force):
    """See numerics/stepping/table.py; a body's points are in its own frame."""
    model = open_tree(robot)
    data = open_data(work, model.nb, model.nq, model.nv, ONE_LANE)
    bodies, points, wrenches = ints_at(bodies, k), floats_at(points, 3 * k), floats_at(wrenches, 6 * k)
    force = floats_at(force, model.nv)
    place_in_world(model, data, floats_at(q, model.nq))
    for j in range(k):
        b = bodies[j]
        if b > 0:
            own = data.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
            point = points[3 * j : 3 * j + 3]
            px, py, pz = turn(load9(own, WORLD_ROTATION, 1, 0), point[0], point[1], point[2])
            ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
            carry_wrench(model, data, b, px + ox, py + oy, pz + oz, wrenches[6 * j : 6 * j + 6], force)
    return 0


@kernel
def carry_wrench(model, data, body, px, py, pz, w, force):
    """force += J' w of one wrench (moment; force) at the world point p of a body; reads `place_in_world`."""
    b = body
    while b > 0:
        own = data.bodies[b * BODY_ROWS : (b + 1) * BODY_ROWS]
        r = load9(own, WORLD_ROTATION, 1, 0)
        ox, oy, oz = load3(own, WORLD_ORIGIN, 1, 0)
        mx, my, mz = cross(px - ox, py - oy, pz - oz, w[3], w[4], w[5])
        mx, my, mz = mx + w[0], my + w[1], mz + w[2]
        i = model.v_index[b]
        if model.joint_type[b] == FREE:
            load_free(own, i, r, mx, my, mz, w, force)
        elif model.joint_type[b] == REVOLUTE:
            force[i] += model.ratio[b] * (r[2] * mx + r[5] * my + r[8] * mz)
        else:
            force[i] += model.ratio[b] * (r[2] * w[3] + r[5] * w[4] + r[8] * w[5])
        b = model.parent[b]


@kernel(forceinline=True)
def load_free(own, i, r, mx, my, mz, w, force):
    """Moment m and force of w on a free joint, along the axes of its frame of reference: R_body TURN^T."""
    t = load9(own, TURN, 1, 0)
    for c in range(3):
        ex = r[0] * t[3 * c] + r[1] * t[3 * c + 1] + r[2] * t[3 * c + 2]
        ey = r[3] * t[3 * c] + r[4] * t[3 * c + 1] + r[5] * t[3 * c + 2]
        ez = r[6] * t[3 * c] + r[7] * t[3 * c + 1] + r[8] * t[3 * c + 2]
        force[i + c] += ex * mx + ey * my + ez * mz
        force[i + 3 + c] += ex * w[3] + ey * w[4] + ez * w[5]


RIGID_MOTION = {
    at.PREPARE: prepare,
    at.ACCELERATE: accelerate,
    at.LOSSES: losses,
    at.ENERGIES: energies,
    at.LOAD: load,
}

#: the same for trees whose mimic joints share coordinates
DENSE_RIGID_MOTION = RIGID_MOTION | {at.ACCELERATE: accelerate_densely}
