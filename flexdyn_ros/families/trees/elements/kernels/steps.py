"""Fixed steps of a tree with elements: a layer around the functions of the tree (numerics/verbs/table.py).

A step that is implicit in the stiffness k and the damping d of an element adds c J' J to the mass matrix,
J' = LINE carried to the coordinates and c = h d + h^2 k: a row of one small system over the factors of the
tree. With A the tree's own matrix and a0 its answer without these rows,

    (1 + S J A^-1 J' S) z = S J a0,    a = a0 - A^-1 J' S z,    S = sqrt(c)

(Woodbury 1950), symmetric and positive definite. The tree's function is affine in the force, so that A^-1 J'
is the difference of two of its answers, of forces of one size; each row costs one pass of order n. What
servos and stops add to an element that is driven is such a row too, and so is the inertia L L' of one that
has mass: rows L' J with S = 1. That of an element with one end on the fixed world joins the inertia of a link
instead (inertias.py), and is part of A.

Where rows cost more than the mass matrix, that takes their place (dense.py).

Where the motion of a coordinate is prescribed, the tree's function takes its acceleration from a, passes over
its force and writes the effort there that it takes: all above holds for the other coordinates, and efforts
follow as accelerations do.

Work memory: that of the tree's functions, then what `own_work` cuts, then gains of inertias.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.numbers.functions import equal, holds
from flexdyn_ros.numerics.verbs import table as motion
from flexdyn_ros.numerics.verbs.head import robot_of

from . import parts
from .dense import call_dense, dense_size, room
from .inertias import ADDED, added_at, gather_inertias
from .views import (
    COUNT,
    DENSE,
    DRIVEN_BY,
    GIVEN,
    IN_ROWS,
    IN_WORLD,
    INERTIA,
    JOINED,
    NU,
    ROWS,
    SOLVE,
    STEPS_WORK,
    carry_line,
    header_of,
    inner_function,
    results_of,
    row_of,
    see_elements,
)
from .weights import WEIGHT_ROWS


def elements_steps_size(inner: int, count: int, heavy: int, nv: int, nb: int) -> tuple[int, int]:
    """Numbers of work memory, of which the tree's functions take `inner`, and where in it the gains of
    inertias, or a mass matrix, are; heavy: how many elements have mass in rows."""
    size = inner + _own_size(count, count + WEIGHT_ROWS * heavy, nv)
    return size + max(ADDED * nb, dense_size(nv)), size


@kernel(forceinline=True)
def _own_size(n, m, nv):
    return 2 * ROWS * n + 6 + 2 * nv + 144 + 2 * m * nv + m * m + 3 * m + 2 + nv


@kernel(forceinline=True)
def most_rows(head):
    """Rows that the small system may have."""
    return head[COUNT] + WEIGHT_ROWS * head[IN_ROWS]


@kernel(forceinline=True)
def own_work(head, work):
    """Rows of the elements, twice; a wrench (6); two vectors (nv,), flat; a matrix (12, 12); J and A^-1 J'
    (m, nv), a matrix (m, m) three vectors (m,) and a number, flat, for m rows at most."""
    n, nv = head[COUNT], head[views.NV]
    size = _own_size(n, most_rows(head), nv)
    own = floats_at(work + 8 * head[STEPS_WORK], size)
    rest = tail(own, 2 * ROWS * n)
    return (
        window(own, 0, ROWS * n),
        window(own, ROWS * n, ROWS * n),
        window(rest, 0, 6),
        window(rest, 6, 2 * nv),
        shaped(window(rest, 6 + 2 * nv, 144), (12, 12)),
        tail(rest, 150 + 2 * nv),
    )


@kernel(forceinline=True)
def share_at_given(head, rest):
    """What driven elements do at the prescribed coordinate (1,); rest: the last that `own_work` cuts."""
    m = most_rows(head)
    return tail(rest, 2 * m * head[views.NV] + m * m + 3 * m)


@kernel(forceinline=True)
def answer_of_tree(head, rest):
    """The tree's answer without rows (nv,), and how many rows there were (1,); rest: as above."""
    m, nv = most_rows(head), head[views.NV]
    first = 2 * m * nv + m * m + 3 * m + 1
    return window(rest, first, nv), tail(rest, first + nv)


@callback(motion.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; k and d are the slopes that the elements' laws name."""
    address = robot_of(robot)
    head = header_of(address)
    n, nv = head[COUNT], head[views.NV]
    m = most_rows(head)
    rows, _, wrench, vectors, L, rest = own_work(head, work)
    memory = floats_at(work, head[WORK_SIZE])
    f, trial = window(vectors, 0, nv), window(vectors, nv, nv)
    J, X = window(rest, 0, m * nv), window(rest, m * nv, m * nv)
    efforts = floats_at(force, nv)
    place, speed = floats_at(q, head[views.NQ]), floats_at(v, nv)
    for i in range(nv):
        f[i], trial[i] = efforts[i], 0.0
    given = head[GIVEN]
    if given >= 0:
        f[given] = 0.0
    parts.weigh(address, memory, place, speed, trial, 1.0, rows, wrench, f)
    see_elements(address, memory, place, speed, rows)
    for i in range(n):
        own, line = results_of(rows, i), window(J, i * nv, nv)
        for k in range(nv):
            line[k] = 0.0
        carry_line(address, memory, rows, i, 1.0, wrench, line)
        effort = own[at.EFFORT] - h * own[at.STIFFNESS] * own[at.RATE]
        for k in range(nv):
            f[k] += effort * line[k]
    square = 1.0
    for k in range(nv):
        trial[k] = f[k]
        square += f[k] * f[k]
    size = np.sqrt(square)
    # the rows that weigh something, moved to the front
    weights = tail(rest, 2 * m * nv + m * m)
    chosen = 0
    for i in range(n):
        own, row = results_of(rows, i), row_of(head, i)
        c = 0.0
        if row[DRIVEN_BY] >= 0:
            c = floats_at(extra + 8 * (nv + row[DRIVEN_BY]), 1)[0]
        if not holds(equal(h, 0.0)):
            c = c + h * (own[at.DAMPING] + h * own[at.STIFFNESS])
        if not holds(equal(c, 0.0)):
            weights[chosen] = np.sqrt(c)
            for k in range(nv):
                J[chosen * nv + k] = J[i * nv + k]
            chosen += 1
    if head[JOINED] != 0:
        gather_inertias(head, rows, head[JOINED] == IN_WORLD, added_at(head, work), INERTIA)
    if head[DENSE] != 0:
        arrays = address_of(rows), q, v, address_of(trial), extra, h, address_of(J), address_of(weights)
        call_dense(head[DENSE], (robot, work, *arrays, chosen, a))
        return 0
    heavy = parts.mass_rows(address, memory, rows, L, wrench, tail(J, chosen * nv), X)
    for i in range(heavy):
        weights[chosen + i] = 1.0
    chosen += heavy
    function = inner_function(head, motion.ACCELERATE)
    motion.call_accelerate(function, (robot, work, t, q, v, address_of(trial), extra, h, a))
    if given >= 0:
        efforts[given] = trial[given] - f[given]
        if head[NU] > nv:
            efforts[given] -= share_at_given(head, rest)[0]
    kept, count = answer_of_tree(head, rest)
    for k in range(nv):
        kept[k] = floats_at(a, nv)[k]
    count[0] = chosen
    if chosen > 0:
        _call_solve(head[SOLVE], (robot, work, t, q, v, force, extra, h, size, chosen, a))
    return 0


#: (robot, work, t, q, v, force, extra, h, size, n, a): 0
_SOLVE_SIGNATURE = f"int64({'int64, ' * 2}float64, {'int64, ' * 4}float64, float64, int64, int64)"
_call_solve = caller(_SOLVE_SIGNATURE)


@callback(_SOLVE_SIGNATURE)
def solve_rows(robot, work, t, q, v, force, extra, h, size, n, a):
    """Let the n rows J that `accelerate` chose, weighed, act on accelerations a (nv,) that were found without
    them, and on the effort in `force` that a prescribed motion takes; size: of the forces. A function of its
    own: forward dynamics has no rows without masses."""
    head = header_of(robot_of(robot))
    nv, m = head[views.NV], most_rows(head)
    _, _, _, vectors, _, rest = own_work(head, work)
    f, trial = window(vectors, 0, nv), window(vectors, nv, nv)
    J, X, a = window(rest, 0, m * nv), window(rest, m * nv, m * nv), floats_at(a, nv)
    G = shaped(window(rest, 2 * m * nv, n * n), (n, n))
    weights = tail(rest, 2 * m * nv + m * m)
    z, taken = window(weights, m, n), window(weights, 2 * m, n)
    function, given, efforts = inner_function(head, motion.ACCELERATE), head[GIVEN], floats_at(force, nv)
    before = trial[given] if given >= 0 else 0.0
    for i in range(n):
        answer = window(X, i * nv, nv)
        for k in range(nv):
            trial[k] = f[k] + size * J[i * nv + k]
            answer[k] = a[k]
        arguments = (robot, work, t, q, v, address_of(trial), extra, h, address_of(answer))
        motion.call_accelerate(function, arguments)
        for k in range(nv):
            answer[k] = (answer[k] - a[k]) / size
        if given >= 0:
            taken[i] = (trial[given] - before) / size - J[i * nv + given]
    for i in range(n):
        z[i] = 0.0
        for k in range(nv):
            z[i] += weights[i] * J[i * nv + k] * a[k]
        for j in range(i + 1):
            s = 0.0
            for k in range(nv):
                s += 0.5 * (J[i * nv + k] * X[j * nv + k] + J[j * nv + k] * X[i * nv + k])
            G[i, j] = weights[i] * s * weights[j]
            G[j, i] = G[i, j]
        G[i, i] += 1.0
    if not cholesky(G, n):
        for k in range(nv):
            a[k] = np.nan
        return 0
    cholesky_solve(G, n, z)
    for i in range(n):
        for k in range(nv):
            a[k] -= weights[i] * z[i] * X[i * nv + k]
        if given >= 0:
            efforts[given] -= weights[i] * z[i] * taken[i]
    return 0


@callback(motion.respond.signature)
def respond(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py: one more answer of the tree, by the factors that `accelerate` left."""
    head = header_of(robot_of(robot))
    nv, m = head[views.NV], most_rows(head)
    _, _, _, vectors, _, rest = own_work(head, work)
    f, trial = window(vectors, 0, nv), window(vectors, nv, nv)
    more, answer, (kept, count) = floats_at(force, nv), floats_at(a, nv), answer_of_tree(head, rest)
    if head[DENSE] != 0:
        for k in range(nv):
            answer[k] = more[k]
        # `accelerate` left the factor of the mass matrix
        cholesky_solve(room(head, work)[0], nv, answer)
        return 0
    for k in range(nv):
        trial[k] = f[k] + more[k]
        answer[k] = kept[k]
    arguments = (robot, work, t, q, v, address_of(trial), extra, h, a)
    motion.call_accelerate(inner_function(head, motion.ACCELERATE), arguments)
    n = int(count[0])
    J, X = window(rest, 0, m * nv), window(rest, m * nv, m * nv)
    G = shaped(window(rest, 2 * m * nv, n * n), (n, n))
    weights = tail(rest, 2 * m * nv + m * m)
    z = window(weights, m, n)
    for i in range(n):
        z[i] = 0.0
        for k in range(nv):
            z[i] += weights[i] * J[i * nv + k] * (answer[k] - kept[k])
    if n > 0:
        cholesky_solve(G, n, z)
    for k in range(nv):
        answer[k] -= kept[k]
        for i in range(n):
            answer[k] -= weights[i] * z[i] * X[i * nv + k]
    return 0


@callback(motion.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = header_of(address)
    nv, memory = head[views.NV], floats_at(work, head[WORK_SIZE])
    rows, then, _, _, _, _ = own_work(head, work)
    taken = motion.call_losses(inner_function(head, motion.LOSSES), (robot, work, t, q, v0, speed, mean))
    place = floats_at(q, head[views.NQ])
    see_elements(address, memory, place, floats_at(mean, nv), then)
    see_elements(address, memory, place, floats_at(speed, nv), rows)
    for i in range(head[COUNT]):
        taken += results_of(rows, i)[at.RESISTANCE] * results_of(then, i)[at.RATE]
    return taken


@callback(motion.measure.signature)
def observe(robot, work, q, v, position, speed):
    """See numerics/verbs/table.py; coordinates, then the elements that are driven."""
    address = robot_of(robot)
    head = header_of(address)
    nv = head[views.NV]
    places, rates = floats_at(q, head[views.NQ]), floats_at(v, nv)
    at_q = ints_at(head[views.INTS] + 32 * head[views.NB], nv)
    for i in range(nv):
        floats_at(position, nv)[i] = places[at_q[i]] if at_q[i] >= 0 else 0.0
        floats_at(speed, nv)[i] = rates[i]
    rows, memory = own_work(head, work)[0], floats_at(work, head[WORK_SIZE])
    see_elements(address, memory, places, rates, rows)
    for i in range(head[COUNT]):
        own, driven = results_of(rows, i), row_of(head, i)[DRIVEN_BY]
        if driven >= 0:
            floats_at(position + 8 * (nv + driven), 1)[0] = own[at.COORDINATE]
            floats_at(speed + 8 * (nv + driven), 1)[0] = own[at.RATE]
    return 0


@callback(motion.exert.signature)
def exert(robot, work, q, effort, force):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = header_of(address)
    nv, places, forces = head[views.NV], floats_at(q, head[views.NQ]), floats_at(force, head[views.NV])
    rows, _, wrench, vectors, _, rest = own_work(head, work)
    still, memory = window(vectors, 0, nv), floats_at(work, head[WORK_SIZE])
    for i in range(nv):
        still[i] = 0.0
        forces[i] += floats_at(effort, nv)[i]
    given = head[GIVEN]
    before = forces[given] if given >= 0 else 0.0
    see_elements(address, memory, places, still, rows)
    for i in range(head[COUNT]):
        driven = row_of(head, i)[DRIVEN_BY]
        if driven >= 0:
            share = floats_at(effort + 8 * (nv + driven), 1)[0]
            carry_line(address, memory, rows, i, share, wrench, forces)
    if given >= 0:
        share_at_given(head, rest)[0] = forces[given] - before
    return 0


#: around those of any tree; for elements that are driven
layer = {"accelerate": accelerate, "respond": respond, "losses": losses}
driven = {"measure": observe, "exert": exert}
