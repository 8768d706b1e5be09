"""Verbs of a tree with elastic joints: a layer around the C functions of the tree (numerics/verbs/head.py).

The robot of a head is the address of ELASTIC_HEADER integers (views.py). Among them is a head of the tree,
for the same function. Work memory is the tree's. Results of the tree are written first and then spread to
the places that they have among those of the motors.
"""

from __future__ import annotations

from types import SimpleNamespace

from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.head import (
    BALANCE,
    BALANCE_SIGNATURE,
    COUNT,
    EFFORTS,
    HEAD_WORDS,
    MASS,
    OBSERVE,
    OBSERVE_SIGNATURE,
    ROBOT,
    SLOPES,
    STATUS,
    STATUS_SIGNATURE,
    call_balance,
    call_observe,
    call_status,
)
from flexdyn_ros.numerics.verbs.samples import finite

from .views import E_JOINTS_Q, E_JOINTS_V, E_MOTORS, E_NQ, E_NUMBERS, E_NV, E_TREE, ELASTIC_HEADER


@kernel(forceinline=True)
def header_of(head):
    """The header of the elastic joints."""
    return ints_at(ints_at(head, HEAD_WORDS)[ROBOT], ELASTIC_HEADER)


@kernel(forceinline=True)
def observe_tree(head, function, work, q, v, out):
    """Let a function of the tree, a word of its head, write its result; the header."""
    header = header_of(head)
    tree = header[E_TREE]
    call_observe(ints_at(tree, HEAD_WORDS)[function], (tree, work, q, v, out))
    return header


@kernel
def spread(out, rows, n, m):
    """Rows of n numbers, one after the other, become rows of n numbers and m zeros."""
    for r in range(rows - 1, -1, -1):
        for i in range(n - 1, -1, -1):
            out[r * (n + m) + i] = out[r * n + i]
        for i in range(n, n + m):
            out[r * (n + m) + i] = 0.0


@kernel(forceinline=True)
def add_pull(header, q, v, stiff, damped, out):
    """out += the springs' (`stiff` 1) and dampers' (`damped` 1) part of h."""
    n, m, nq = header[E_NV], header[E_MOTORS], header[E_NQ]
    at_q, at_v = ints_at(header[E_JOINTS_Q], m), ints_at(header[E_JOINTS_V], m)
    numbers = floats_at(header[E_NUMBERS], 3 * m)
    for i in range(m):
        j = at_v[i]
        pull = stiff * numbers[m + i] * (q[nq + i] - q[at_q[i]])
        pull += damped * numbers[2 * m + i] * (v[n + i] - v[j])
        out[j] -= pull
        out[n + i] += pull


@callback(STATUS_SIGNATURE)
def status(robot, q):
    """OK, NOT_FINITE or BAD_QUATERNION."""
    header = ints_at(robot, ELASTIC_HEADER)
    nq, m = header[E_NQ], header[E_MOTORS]
    tree = ints_at(header[E_TREE], HEAD_WORDS)
    if not finite(floats_at(q, nq + m)[nq:], m):
        return at.NOT_FINITE
    return call_status(tree[STATUS], (tree[ROBOT], q))


@callback(OBSERVE_SIGNATURE)
def of_tree(head, work, q, v, out):
    """What motors have no part in: momenta, frames, dJ/dt v."""
    observe_tree(head, OBSERVE, work, q, v, out)
    return 0


@callback(OBSERVE_SIGNATURE)
def moved(head, work, q, v, out):
    """q (+) v."""
    header = observe_tree(head, OBSERVE, work, q, v, out)
    n, m, nq = header[E_NV], header[E_MOTORS], header[E_NQ]
    place, step, result = floats_at(q, nq + m), floats_at(v, n + m), floats_at(out, nq + m)
    for i in range(m):
        result[nq + i] = place[nq + i] + step[n + i]
    return 0


@callback(OBSERVE_SIGNATURE)
def energy(head, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    header = observe_tree(head, OBSERVE, work, q, v, out)
    n, m, nq = header[E_NV], header[E_MOTORS], header[E_NQ]
    at_q, numbers = ints_at(header[E_JOINTS_Q], m), floats_at(header[E_NUMBERS], 3 * m)
    place, speed, found = floats_at(q, nq + m), floats_at(v, n + m), floats_at(out, 3)
    for i in range(m):
        wound = place[nq + i] - place[at_q[i]]
        found[0] += 0.5 * numbers[i] * speed[n + i] * speed[n + i]
        found[2] += 0.5 * numbers[m + i] * wound * wound
    return 0


@callback(OBSERVE_SIGNATURE)
def bias_terms(head, work, q, v, out):
    """Parts (5, nv) of h."""
    header = observe_tree(head, OBSERVE, work, q, v, out)
    n, m, nq = header[E_NV], header[E_MOTORS], header[E_NQ]
    nv = n + m
    place, speed, terms = floats_at(q, nq + m), floats_at(v, nv), floats_at(out, 5 * nv)
    spread(terms, 5, n, m)
    add_pull(header, place, speed, 1.0, 0.0, window(terms, 2 * nv, nv))
    add_pull(header, place, speed, 0.0, 1.0, window(terms, 3 * nv, nv))
    return 0


@callback(OBSERVE_SIGNATURE)
def jacobian(head, work, q, v, out):
    """J (k, 6, nv) of points."""
    header = observe_tree(head, OBSERVE, work, q, v, out)
    n, m, rows = header[E_NV], header[E_MOTORS], 6 * ints_at(head, HEAD_WORDS)[COUNT]
    spread(floats_at(out, rows * (n + m)), rows, n, m)
    return 0


@callback(OBSERVE_SIGNATURE)
def mass(head, work, q, v, out):
    """M (nv, nv)."""
    header = observe_tree(head, MASS, work, q, v, out)
    n, m = header[E_NV], header[E_MOTORS]
    nv = n + m
    M, numbers = floats_at(out, nv * nv), floats_at(header[E_NUMBERS], 3 * m)
    spread(M, n, n, m)
    M[n * nv :] = 0.0
    for i in range(n, nv):
        M[i * (nv + 1)] = numbers[i - n]
    return 0


@callback(BALANCE_SIGNATURE)
def balance(head, work, q, v, a, tau, wrenches, out):
    """M a + h - tau - sum J^T w (nv,)."""
    header, efforts = header_of(head), ints_at(head, HEAD_WORDS)[EFFORTS]
    tree, n, m, nq = header[E_TREE], header[E_NV], header[E_MOTORS], header[E_NQ]
    call_balance(ints_at(tree, HEAD_WORDS)[BALANCE], (tree, work, q, v, a, tau, wrenches, out))
    nv = n + m
    numbers, rest, rate = floats_at(header[E_NUMBERS], 3 * m), floats_at(out, nv), floats_at(a, nv)
    for i in range(m):
        rest[n + i] = numbers[i] * rate[n + i]
    for i in range(n, efforts):
        rest[i] -= floats_at(tau, nv)[i]
    add_pull(header, floats_at(q, nq + m), floats_at(v, nv), 1.0, 1.0, rest)
    return 0


@callback(BALANCE_SIGNATURE)
def slopes(head, work, q, v, a, tau, wrenches, out):
    """Derivatives (nv, 2 nv) of the balance."""
    header = header_of(head)
    tree, n, m = header[E_TREE], header[E_NV], header[E_MOTORS]
    call_balance(ints_at(tree, HEAD_WORDS)[SLOPES], (tree, work, q, v, a, tau, wrenches, out))
    nv = n + m
    numbers, at_v = floats_at(header[E_NUMBERS], 3 * m), ints_at(header[E_JOINTS_V], m)
    table = floats_at(out, 2 * nv * nv)
    # by q and by v are rows of their own
    spread(table, 2 * n, n, m)
    table[2 * n * nv :] = 0.0
    for i in range(m):
        for part in range(2):
            k, link, motor = numbers[m * (part + 1) + i], 2 * nv * at_v[i], 2 * nv * (n + i)
            at_link, at_motor = nv * part + at_v[i], nv * part + n + i
            table[link + at_link] += k
            table[link + at_motor] -= k
            table[motor + at_link] -= k
            table[motor + at_motor] += k
    return 0


verbs = SimpleNamespace(
    status=status,
    momenta=of_tree,
    frames=of_tree,
    jacobian_rate=of_tree,
    moved=moved,
    energy=energy,
    bias_terms=bias_terms,
    jacobian=jacobian,
    mass=mass,
    balance=balance,
    slopes=slopes,
)
