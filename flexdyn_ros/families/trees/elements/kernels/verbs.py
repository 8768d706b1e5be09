"""Verbs of a tree with elements: a layer around the C functions of the tree (numerics/verbs/head.py).

Head, address and work memory are those of the tree, whose functions write first. Efforts behind those of the
velocities drive elements.
"""

from __future__ import annotations

from types import SimpleNamespace

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.entries import displace
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.multibody.elements.kernels.law import COORDINATE, EFFORT, RATE, RESISTANCE
from flexdyn_ros.multibody.elements.kernels.law import ENERGY as STORED
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.functions_of import dynamics
from flexdyn_ros.numerics.verbs.head import (
    BALANCE_SIGNATURE,
    EFFORTS,
    HEAD_WORDS,
    OBSERVE_SIGNATURE,
    ROBOT,
    SIZE,
    TANGENTS,
    call_balance,
    call_observe,
)

from .views import (
    BALANCE,
    COUNT,
    DRIVEN_BY,
    ENERGY,
    HEAVY,
    INERTIA,
    INERTIA_ON_TANGENTS,
    LAW,
    LAW_ON_TANGENTS,
    MOMENTA,
    OWN_SLOPES,
    ROWS,
    SLOPES,
    TERMS,
    WEIGHT,
    carry_elements,
    carry_line,
    header_of,
    jacobians_of,
    observe_elements,
    results_of,
    room_of,
    row_of,
)
from .views import MASS as INNER_MASS
from .weights import add_energies, add_masses, carry_weights, weigh_elements

_V, _M, _T = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


@kernel
def push(address, work, q, v, tau, law, out):
    """out (nv,) += what the elements do, driven by the efforts in tau that there are."""
    memory, rows, wrench, _ = room_of(address, work)
    head = header_of(address)
    nv = head[views.NV]
    observe_elements(address, memory, q, v, rows, law)
    for i in range(head[COUNT]):
        own, at = results_of(rows, i), nv + row_of(head, i)[DRIVEN_BY]
        if nv <= at < tau.shape[0]:
            own[EFFORT] += tau[at]
    carry_elements(address, memory, rows, wrench, out)


@kernel
def weigh(address, work, q, v, a, gravity_scale, inertia, out):
    """out (nv,) -= what the masses of the elements take."""
    if header_of(address)[HEAVY] > 0:
        memory, rows, wrench, _ = room_of(address, work)
        weigh_elements(address, memory, q, v, a, gravity_scale, rows, inertia)
        carry_weights(address, memory, rows, -1.0, wrench, out)


@callback(BALANCE_SIGNATURE)
def balance(head, work, q, v, a, tau, wrenches, out):
    """M a + h - B tau - sum J^T w (nv,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_balance(header_of(address)[BALANCE], (head, work, q, v, a, tau, wrenches, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, rest = floats_at(work, words[SIZE]), floats_at(out, nv)
    force = room_of(address, memory)[3]
    for i in range(nv):
        force[i] = 0.0
    place, speed = floats_at(q, nq), floats_at(v, nv)
    push(address, memory, place, speed, floats_at(tau, words[EFFORTS]), LAW, force)
    weigh(address, memory, place, speed, floats_at(a, nv), 1.0, INERTIA, force)
    for i in range(nv):
        rest[i] -= force[i]
    return 0


@kernel
def push_back(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """out (nv,) = minus what the elements do at q, v, for derivatives."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    push(address, work, q, v, tau, LAW_ON_TANGENTS, out)
    weigh(address, work, q, v, a, 1.0, INERTIA_ON_TANGENTS, out)
    for i in range(out.shape[0]):
        out[i] = -out[i]


@kernel
def ready(address, work):
    """Work memory begins at zero."""
    for i in range(work.shape[0]):
        work[i] = 0.0


#: of the elements alone
pushing = SimpleNamespace(**dynamics(__name__, ready, displace, push_back))


@callback(BALANCE_SIGNATURE)
def all_slopes(head, work, q, v, a, tau, wrenches, out):
    """Derivatives (nv, 2 nv) of the balance: those of the tree and of the elements."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    n = 2 * header[views.NV] * header[views.NV]
    own = work + 8 * (words[TANGENTS] - n)
    call_balance(header[SLOPES], (head, work, q, v, a, tau, wrenches, out))
    call_balance(header[OWN_SLOPES], (head, work, q, v, a, tau, wrenches, own))
    table, more = floats_at(out, n), floats_at(own, n)
    for i in range(n):
        table[i] += more[i]
    return 0


@kernel
def force_of(address, memory, q, v, out):
    """out (nv,) = what the elements do by themselves at q, v."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    push(address, memory, q, v, out[0:0], LAW, out)


@callback(OBSERVE_SIGNATURE)
def bias_terms(head, work, q, v, out):
    """Parts (5, nv) of h: springs are elastic, what they do beside at rates is damping."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_observe(header_of(address)[TERMS], (head, work, q, v, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, terms = floats_at(work, words[SIZE]), floats_at(out, 5 * nv)
    place, speed = floats_at(q, nq), floats_at(v, nv)
    force = room_of(address, memory)[3]
    elastic, damping, last = window(terms, 2 * nv, nv), window(terms, 3 * nv, nv), window(terms, 4 * nv, nv)
    # the last part is what acts from outside: its place serves as a velocity of zero for a while
    for i in range(nv):
        last[i] = 0.0
    force_of(address, memory, place, speed, force)
    for i in range(nv):
        damping[i] -= force[i]
    force_of(address, memory, place, last, force)
    for i in range(nv):
        damping[i] += force[i]
        elastic[i] -= force[i]
        force[i] = 0.0
    if header_of(address)[HEAVY] > 0:
        weigh(address, memory, place, speed, last, 0.0, INERTIA, force)
        for i in range(nv):
            terms[i] -= force[i]
            force[i] = 0.0
        weigh(address, memory, place, last, last, 1.0, INERTIA, force)
        for i in range(nv):
            terms[nv + i] -= force[i]
    return 0


@callback(OBSERVE_SIGNATURE)
def energy(head, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_observe(header_of(address)[ENERGY], (head, work, q, v, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, found = floats_at(work, words[SIZE]), floats_at(out, 3)
    tree, rows, _, _ = room_of(address, memory)
    observe_elements(address, tree, floats_at(q, nq), floats_at(v, nv), rows, LAW)
    for i in range(header_of(address)[COUNT]):
        found[2] += results_of(rows, i)[STORED]
    tree, rows, _, still = room_of(address, memory)
    add_energies(address, tree, rows, still, floats_at(q, nq), floats_at(v, nv), found)
    return 0


@callback(OBSERVE_SIGNATURE)
def momenta(head, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (10,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    call_observe(header[MOMENTA], (head, work, q, v, out))
    if header[HEAVY] == 0:
        return 0
    memory, rows, _, still = room_of(address, floats_at(work, words[SIZE]))
    for i in range(header[views.NV]):
        still[i] = 0.0
    place, speed = floats_at(q, header[views.NQ]), floats_at(v, header[views.NV])
    weigh_elements(address, memory, place, speed, still, 0.0, rows, INERTIA)
    found = floats_at(out, 10)
    for i in range(header[COUNT]):
        if row_of(header, i)[INERTIA] != 0:
            for k in range(10):
                found[k] += rows[ROWS * i + WEIGHT + law.MOMENTUM + k]
    return 0


@kernel
def add_inertia(address, work, q, M):
    """M (nv, nv) += what the masses of the elements add."""
    header = header_of(address)
    nv = header[views.NV]
    if header[HEAVY] == 0:
        return
    memory, rows, wrench, still = room_of(address, work)
    for i in range(nv):
        still[i] = 0.0
    weigh_elements(address, memory, q, still, still, 0.0, rows, INERTIA)
    J = jacobians_of(address, work).reshape(12, nv)
    add_masses(address, memory, rows, wrench, J, still, M)


@callback(OBSERVE_SIGNATURE)
def mass(head, work, q, v, out):
    """M (nv, nv)."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    call_observe(header[INNER_MASS], (head, work, q, v, out))
    nq, nv = header[views.NQ], header[views.NV]
    M = floats_at(out, nv * nv).reshape(nv, nv)
    add_inertia(words[ROBOT], floats_at(work, words[SIZE]), floats_at(q, nq), M)
    return 0


#: what `elements_many` tells of an element: coordinate, rate, force by itself, part of it that takes energy
TOLD = 4


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T}, {_T})", nogil=True)
def elements_many(address, work, q, v, told, lines):
    """For rows of q, v: TOLD numbers of each element (N, n, TOLD), and how a unit of its force acts on the
    coordinates (N, n, nv). Work memory begins at zero."""
    memory, rows, wrench, _ = room_of(address, work)
    n = header_of(address)[COUNT]
    for s in range(q.shape[0]):
        observe_elements(address, memory, q[s], v[s], rows, LAW)
        for i in range(n):
            own, line = results_of(rows, i), lines[s, i]
            for k in range(line.shape[0]):
                line[k] = 0.0
            carry_line(address, memory, rows, i, 1.0, wrench, line)
            told[s, i, 0], told[s, i, 1] = own[COORDINATE], own[RATE]
            told[s, i, 2], told[s, i, 3] = own[EFFORT], own[RESISTANCE]
            for k in range(TOLD):
                if told[s, i, k] - told[s, i, k] != 0.0:
                    return NOT_FINITE + 8 * s
    return OK


layer = SimpleNamespace(
    balance=balance, slopes=all_slopes, bias_terms=bias_terms, energy=energy, mass=mass, momenta=momenta
)
