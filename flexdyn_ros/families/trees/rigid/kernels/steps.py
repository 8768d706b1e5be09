"""Fixed steps of a rigid tree: its functions in the table of numerics/verbs/table.py.

Work memory: that of the recursions (views.py), then M (nv, nv) and nv zeros for trees whose mimic
joints share coordinates.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import shaped, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import robot_of

from .aba import articulated_body
from .crba import crba
from .resistance import add_implicit_joint_terms, add_motor_rows, couple_motors, joint_losses
from .rnea import rnea
from .views import open_data, open_tree, work_size


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; K and D are the slopes of the joints' springs and resistance."""
    model = open_tree(robot_of(robot))
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    force = floats_at(force, nv)
    add_implicit_joint_terms(model, v, force, floats_at(extra, nv), h, data.diagonal)
    couple_motors(model, data, h)
    articulated_body(model, data, q, v, force, a)
    return 0


@callback(table.accelerate.signature)
def accelerate_densely(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; by the mass matrix, for trees whose mimic joints share coordinates: a
    is (M + extra)^-1 (force - bias), NaN if that is singular.
    """
    model = open_tree(robot_of(robot))
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    rest = floats_at(work + 8 * work_size(model.nb, model.nq, nv), nv * nv + nv)
    M, zeros = shaped(window(rest, 0, nv * nv), (nv, nv)), window(rest, nv * nv, nv)
    write_system(model, data, q, v, floats_at(force, nv), floats_at(extra, nv), h, M, zeros, a)
    solve_or_nan(M, a)
    return 0


@kernel(forceinline=True)
def write_system(model, data, q, v, force, extra, h, M, zeros, a):
    """Write M (nv, nv) + extra and a (nv,) = force - bias of a step of h; zeros (nv,) is scratch."""
    add_implicit_joint_terms(model, v, force, extra, h, data.diagonal)
    for i in range(model.nv):
        zeros[i] = 0.0
    crba(model, data, q, M)
    add_motor_rows(model, h, M)
    rnea(model, data, q, v, zeros, a)
    for i in range(model.nv):
        a[i] = force[i] - a[i]


@kernel(forceinline=True)
def solve_or_nan(M, a):
    """a = M^-1 a, NaN if M is not positive definite; M becomes its factor."""
    if cholesky(M, a.shape[0]):
        cholesky_solve(M, a.shape[0], a)
    else:
        a[:] = np.nan


@callback(table.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py."""
    model = open_tree(robot_of(robot))
    n = model.nv
    return joint_losses(model, floats_at(v0, n), floats_at(speed, n), floats_at(mean, n))
