"""Trees with elements by their mass matrix: where the tree alone has none (a link whose only mass is that of
cylinders), or where rows (steps.py) cost more than a matrix does.

With the tree's matrix A and right side b, the masses' L and rows J of weights w^2 (springs of an implicit
step), a = (A + L + J' diag(w^2) J)^-1 b.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels import steps as flexible
from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import steps as rigid
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.steps import solve_or_nan
from flexdyn_ros.families.trees.rigid.kernels.views import open_data, open_tree
from flexdyn_ros.numerics.compiling.callbacks import callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import shaped, window
from flexdyn_ros.numerics.verbs.head import robot_of

from .views import ADDED_AT, COUNT, ROWS, header_of
from .weights import add_masses

#: (robot, work, rows of the elements, q, v, force, extra, h, lines, weights, n, a): 0
DENSE_SIGNATURE = f"int64({'int64, ' * 7}float64, {'int64, ' * 3}int64)"
call_dense = caller(DENSE_SIGNATURE)


def dense_size(nv: int) -> int:
    """Numbers of work memory."""
    return 2 * nv * nv + 14 * nv + 6


@kernel(forceinline=True)
def room(head, work):
    """Two matrices (nv, nv), a vector (nv,), a wrench (6,) and two Jacobians (12, nv) in the work memory of
    steps."""
    nv = head[views.NV]
    rest = floats_at(work + 8 * head[ADDED_AT], 2 * nv * nv + 14 * nv + 6)
    n = 2 * nv * nv
    return (
        shaped(window(rest, 0, nv * nv), (nv, nv)),
        shaped(window(rest, nv * nv, nv * nv), (nv, nv)),
        window(rest, n, nv),
        window(rest, n + nv, 6),
        shaped(window(rest, n + nv + 6, 12 * nv), (12, nv)),
    )


@kernel
def masses_of(address, head, work, rows):
    """Write what the masses of elements add to the mass matrix, whose frames are placed in the memory of the
    tree."""
    _, more, zeros, wrench, J = room(head, work)
    nv = head[views.NV]
    for i in range(nv):
        for j in range(nv):
            more[i, j] = 0.0
    memory = floats_at(work, head[WORK_SIZE])
    add_masses(address, memory, floats_at(rows, ROWS * head[COUNT]), wrench, J, zeros, more)


@kernel
def solve_with_rows(M, more, lines, weights, n, a):
    """a = (M + more + J' diag(w^2) J)^-1 a for n lines J (nv,), flat; NaN if that is singular."""
    nv = a.shape[0]
    for i in range(nv):
        for j in range(nv):
            M[i, j] += more[i, j]
    for r in range(n):
        line, square = window(lines, r * nv, nv), weights[r] * weights[r]
        for i in range(nv):
            x = square * line[i]
            for j in range(nv):
                M[i, j] += x * line[j]
    solve_or_nan(M, a)


@callback(DENSE_SIGNATURE)
def solve_rigid(robot, work, rows, q, v, force, extra, h, lines, weights, n, a):
    """a (nv,) of a rigid tree under force (nv,) with n lines of weights."""
    address = robot_of(robot)
    model, head = open_tree(address), header_of(address)
    nv = model.nv
    masses_of(address, head, work, rows)
    data = open_data(work, model.nb, model.nq, nv)
    M, more, zeros, _, _ = room(head, work)
    place, speed, found = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    efforts, added = floats_at(force, nv), floats_at(extra, nv)
    rigid.write_system(model, data, place, speed, efforts, added, h, M, zeros, found)
    solve_with_rows(M, more, floats_at(lines, n * nv), floats_at(weights, n), n, found)
    return 0


@callback(DENSE_SIGNATURE)
def solve_flexible(robot, work, rows, q, v, force, extra, h, lines, weights, n, a):
    """a (nv,) of a tree with flexible links under force (nv,) with n lines of weights."""
    address = robot_of(robot)
    head = header_of(address)
    nv = head[views.NV]
    masses_of(address, head, work, rows)
    M, more, zeros, _, _ = room(head, work)
    place, speed, found = floats_at(q, head[views.NQ]), floats_at(v, nv), floats_at(a, nv)
    efforts, added = floats_at(force, nv), floats_at(extra, nv)
    memory = flexible.recursion_memory(address, work)
    flexible.write_system(address, memory, place, speed, efforts, added, h, M, zeros, found)
    solve_with_rows(M, more, floats_at(lines, n * nv), floats_at(weights, n), n, found)
    return 0
