"""Functions of loops as exporters trace them: ranks are not cut by values.

All rows that are more than nothing at neutral and random poses take part, with three rounds of

    lam <- lam + (G + mu 1)^-1 (c - G lam),        mu = 1e-8 trace(G) / n

from 0, which reach the multipliers of least norm (Carpentier, Budhiraja & Mansard 2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import OK
from flexdyn_ros.numerics.compiling.windows import copy, row, shaped, window
from flexdyn_ros.numerics.verbs import table as motion
from flexdyn_ros.numerics.verbs.head import robot_of

from .independent import backwards, forwards
from .rows import (
    HELD,
    ROWS,
    SHARES,
    STEPS_WORK,
    TAKEN,
    TAKING,
    inner_function,
    loops_header,
    room_at,
    see_loops,
)

#: rounds of the iteration of multipliers, and its mu; rounds of the projection of a pose
ROUNDS, MU, CLOSINGS = 3, 1e-8, 2


@kernel
def iterate(data, n):
    """Solve G lam = c by rounds; G (n, n), c and lam (n,) begin where data.G, data.left and data.lam do."""
    m, w = data.G.shape
    G = shaped(window(shaped(data.G, (m * w,)), 0, n * n), (n, n))
    F = shaped(window(shaped(data.F, (m * w,)), 0, n * n), (n, n))
    c, lam, rest = window(data.left, 0, n), window(data.lam, 0, n), window(data.order, 0, n)
    trace = 0.0
    for i in range(n):
        trace = trace + G[i, i]
    mu = trace * (MU / n)
    for i in range(n):
        lam[i] = 0.0
        for k in range(n):
            F[i, k] = G[i, k] + (mu if i == k else 0.0)
    cholesky(F, n)
    for _ in range(ROUNDS):
        for i in range(n):
            s = c[i]
            for k in range(n):
                s = s - G[i, k] * lam[k]
            rest[i] = s
        cholesky_solve(F, n, rest)
        for i in range(n):
            lam[i] = lam[i] + rest[i]


def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = loops_header(address)
    n, nv, room = head[TAKING], head[views.NV], work + 8 * head[STEPS_WORK]
    data, taken, shares = room_at(head, room), ints_at(head[TAKEN], n), floats_at(head[SHARES], n)
    efforts, result, (m, w) = floats_at(force, nv), floats_at(a, nv), data.G.shape
    see_loops(address, work, floats_at(q, head[views.NQ]), floats_at(v, nv), room, 1)
    function, respond = inner_function(head, motion.ACCELERATE), inner_function(head, motion.RESPOND)
    trial, answer = data.x, data.change
    for j in range(nv):
        data.force[j] = trial[j] = efforts[j]
    motion.call_accelerate(function, (robot, work, t, q, v, address_of(trial), extra, h, a))
    G = shaped(window(shaped(data.G, (m * w,)), 0, n * n), (n, n))
    for i in range(n):
        r, share = taken[i], shares[i]
        for j in range(nv):
            trial[j] = share * data.J[j, r]
            answer[j] = result[j]
            if respond == 0:
                trial[j] = trial[j] + data.force[j]
        arguments = (robot, work, t, q, v, address_of(trial), extra, h, address_of(answer))
        if respond == 0:
            motion.call_accelerate(function, arguments)
        else:
            motion.call_respond(respond, arguments)
        for j in range(nv):
            data.W[j, i] = (answer[j] - result[j] if respond == 0 else answer[j]) / share
    for i in range(n):
        s = data.bias[taken[i]]
        for j in range(nv):
            s = s + data.J[j, taken[i]] * result[j]
        data.left[i] = -s
        for k in range(i + 1):
            s = 0.0
            for j in range(nv):
                s = s + 0.5 * (data.J[j, taken[i]] * data.W[j, k] + data.J[j, taken[k]] * data.W[j, i])
            G[i, k] = G[k, i] = s
    iterate(data, n)
    for i in range(n):
        for j in range(nv):
            result[j] = result[j] + data.W[j, i] * data.lam[i]
    return 0


@kernel
def factor_metric(data, held):
    """Write the factor of M, of coordinates that are not held alone."""
    nv = held.shape[0]
    for i in range(nv):
        for j in range(i + 1):
            if held[i] == 0 and held[j] == 0:
                data.L[i, j] = data.M[i, j]
            else:
                data.L[i, j] = 1.0 if i == j else 0.0
    cholesky(data.L, nv)


@kernel
def push(data, taken, n, held):
    """Write change = M^-1 J' lam (nv,), with J M^-1 J' lam = c in data.left, of coordinates that are not held
    alone; M by its factor."""
    (m, w), nv = data.G.shape, data.J.shape[0]
    G = shaped(window(shaped(data.G, (m * w,)), 0, n * n), (n, n))
    for i in range(n):
        for j in range(nv):
            data.W[j, i] = data.J[j, taken[i]] if held[j] == 0 else 0.0
        forwards(data.L, nv, data.W[:, i])
        for k in range(i + 1):
            s = 0.0
            for j in range(nv):
                s = s + data.W[j, i] * data.W[j, k]
            G[i, k] = G[k, i] = s
    iterate(data, n)
    for j in range(nv):
        s = 0.0
        for i in range(n):
            s = s + data.W[j, i] * data.lam[i]
        data.change[j] = s
    backwards(data.L, nv, data.change)


def constrain(robot, work, q, v):
    """See numerics/verbs/table.py; two rounds for the pose, then the velocities."""
    address = robot_of(robot)
    head = loops_header(address)
    n, nq, nv, room = head[TAKING], head[views.NQ], head[views.NV], work + 8 * head[STEPS_WORK]
    data, place, speed = room_at(head, room), floats_at(q, nq), floats_at(v, nv)
    taken, held, x = ints_at(head[TAKEN], n), ints_at(head[HELD], nv), data.x
    for i in range(nq):
        data.start[i] = place[i]
    for j in range(nv):
        x[j] = data.still[j] = 0.0
    motion.call_observe(inner_function(head, motion.MASS), (robot, work, q, v, address_of(data.M)))
    factor_metric(data, held)
    for _ in range(CLOSINGS):
        see_loops(address, work, place, data.still, room, 0)
        for i in range(n):
            s = -data.phi[taken[i]]
            for j in range(nv):
                if held[j] == 0:
                    s = s + data.J[j, taken[i]] * x[j]
            data.left[i] = s
        push(data, taken, n, held)
        for j in range(nv):
            x[j] = data.change[j]
        arrays = address_of(data.start), address_of(x), q
        motion.call_observe(inner_function(head, motion.MOVED), (robot, work, *arrays))
    see_loops(address, work, place, data.still, room, 0)
    free = ints_at(head[HELD] + 8 * nv, nv)
    factor_metric(data, free)
    for i in range(n):
        s = 0.0
        for j in range(nv):
            s = s - data.J[j, taken[i]] * speed[j]
        data.left[i] = s
    push(data, taken, n, free)
    for j in range(nv):
        speed[j] = speed[j] + data.change[j]
    return OK


def write_rows(robot, work, q, v, out):
    """Write residuals, rates, dJ/dt v (m,) and J (nv, m) of the rows of all loops, one after the other."""
    address = robot_of(robot)
    head = loops_header(address)
    m, nv, room = head[ROWS], head[views.NV], work + 8 * head[STEPS_WORK]
    data, found = room_at(head, room), floats_at(out, (3 + nv) * m)
    see_loops(address, work, floats_at(q, head[views.NQ]), floats_at(v, nv), room, 1)
    for k, array in enumerate((data.phi, data.rate, data.bias)):
        copy(window(found, k * m, m), window(array, 0, m))
    for j in range(nv):
        copy(window(found, (3 + j) * m, m), window(row(data.J, j), 0, m))
    return OK


class Traced(NamedTuple):
    """A function that is interpreted alone, as `Callback` has it."""

    function: Callable[..., int]


#: by the names that exporters look for
functions: dict[str, Any] = {
    "traced_accelerate": Traced(accelerate),
    "traced_constrain": Traced(constrain),
    "traced_rows": Traced(write_rows),
}
