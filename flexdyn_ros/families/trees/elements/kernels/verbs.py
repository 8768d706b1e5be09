"""Verbs of a tree with elements: a layer around the C functions of the tree (numerics/verbs/head.py).

Head, address and work memory are those of the tree, whose functions write first. Efforts behind those of the
velocities drive elements.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.entries import displace, state_of_q
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.multibody.elements.kernels.law import COORDINATE, EFFORT, RATE
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import BAD_SHAPE, NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.functions_of import dynamics
from flexdyn_ros.numerics.verbs.head import EFFORTS, HEAD_WORDS, RESULTS, ROBOT, SIZE, TANGENTS, function_of
from flexdyn_ros.numerics.verbs.samples import FAST, finite, open_lanes
from flexdyn_ros.numerics.verbs.table import (
    call_accelerate,
    call_balance,
    call_exert,
    call_forward,
    call_observe,
    call_on_lanes,
    call_ready,
)

from . import parts
from .views import (
    COUNT,
    DRIVEN_BY,
    GIVEN,
    HAS_MASS,
    HEAVY,
    INERTIA,
    INERTIA_ON_LANES,
    INERTIA_ON_TANGENTS,
    LAW_ON_LANES,
    LAW_ON_TANGENTS,
    NU,
    OWN_SLOPES,
    ROWS,
    WEIGHT,
    WORK,
    carry_elements,
    carry_line,
    header_of,
    inner_function,
    jacobians_of,
    observe_elements,
    results_of,
    room_of,
    row_of,
    see_elements,
)
from .weights import add_masses, carry_weights, weigh_elements


@kernel
def push(address, work, q, v, tau, law, out):
    """out (nv,) += what the elements do, driven by the efforts in tau that there are."""
    memory, rows, wrench, _ = room_of(address, work)
    observe_elements(address, memory, q, v, rows, law)
    drive_elements(address, rows, tau)
    carry_elements(address, memory, rows, wrench, out)


@kernel(forceinline=True)
def drive_elements(address, rows, tau):
    """Add the efforts in tau that there are to the forces of what they drive."""
    head = header_of(address)
    nv = head[views.NV]
    for i in range(head[COUNT]):
        own, at = results_of(rows, i), nv + row_of(head, i)[DRIVEN_BY]
        if nv <= at < tau.shape[0]:
            own[EFFORT] += tau[at]


@kernel
def weigh(address, work, q, v, a, gravity_scale, inertia, out):
    """out (nv,) -= what the masses of the elements take."""
    if header_of(address)[HEAVY] > 0:
        memory, rows, wrench, _ = room_of(address, work)
        weigh_elements(address, memory, q, v, a, gravity_scale, rows, inertia)
        carry_weights(address, memory, rows, -1.0, wrench, out)


@kernel
def exert(address, work, q, v, tau, out):
    """`push` on float64 numbers."""
    memory, rows, wrench, _ = room_of(address, work)
    see_elements(address, memory, q, v, rows)
    drive_elements(address, rows, tau)
    carry_elements(address, memory, rows, wrench, out)


@kernel
def take(address, work, q, v, a, gravity_scale, out):
    """`weigh` on float64 numbers."""
    if header_of(address)[HEAVY] > 0:
        memory, rows, wrench, _ = room_of(address, work)
        parts.weigh(address, memory, q, v, a, gravity_scale, rows, wrench, out)


@callback(table.balance.signature)
def balance(head, work, q, v, a, tau, wrenches, out):
    """M a + h - B tau - sum J^T w (nv,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_balance(inner_function(header_of(address), table.BALANCE), (head, work, q, v, a, tau, wrenches, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, rest = floats_at(work, words[SIZE]), floats_at(out, nv)
    force = room_of(address, memory)[3]
    for i in range(nv):
        force[i] = 0.0
    place, speed = floats_at(q, nq), floats_at(v, nv)
    exert(address, memory, place, speed, floats_at(tau, words[EFFORTS]), force)
    take(address, memory, place, speed, floats_at(a, nv), 1.0, force)
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
pushing = dynamics(__name__, ready, displace, push_back)


@callback(table.balance.signature)
def all_slopes(head, work, q, v, a, tau, wrenches, out):
    """Derivatives (nv, 2 nv) of the balance: those of the tree and of the elements."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    n = 2 * header[views.NV] * header[views.NV]
    own = work + 8 * (words[TANGENTS] - n)
    call_balance(inner_function(header, table.SLOPES), (head, work, q, v, a, tau, wrenches, out))
    call_balance(header[OWN_SLOPES], (head, work, q, v, a, tau, wrenches, own))
    found, more = floats_at(out, n), floats_at(own, n)
    for i in range(n):
        found[i] += more[i]
    return 0


@kernel
def force_of(address, memory, q, v, out):
    """out (nv,) = what the elements do by themselves at q, v."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    exert(address, memory, q, v, out[0:0], out)


@callback(table.mass.signature)
def bias_terms(head, work, q, v, out):
    """Parts (5, nv) of h: springs are elastic, what they do beside at rates is damping."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_observe(inner_function(header_of(address), table.BIAS_TERMS), (head, work, q, v, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, terms = floats_at(work, words[SIZE]), floats_at(out, 5 * nv)
    place, speed = floats_at(q, nq), floats_at(v, nv)
    force = room_of(address, memory)[3]
    elastic, damping = window(terms, 2 * nv, nv), window(terms, 3 * nv, nv)
    still = window(jacobians_of(address, memory), 0, nv)
    for i in range(nv):
        still[i] = 0.0
    force_of(address, memory, place, speed, force)
    for i in range(nv):
        damping[i] -= force[i]
    force_of(address, memory, place, still, force)
    for i in range(nv):
        damping[i] += force[i]
        elastic[i] -= force[i]
        force[i] = 0.0
    if header_of(address)[HEAVY] > 0:
        take(address, memory, place, speed, still, 0.0, force)
        for i in range(nv):
            terms[i] -= force[i]
            force[i] = 0.0
        take(address, memory, place, still, still, 1.0, force)
        for i in range(nv):
            terms[nv + i] -= force[i]
    return 0


@callback(table.mass.signature)
def energy(head, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    call_observe(inner_function(header_of(address), table.ENERGY), (head, work, q, v, out))
    nq, nv = header_of(address)[views.NQ], header_of(address)[views.NV]
    memory, rows, wrench, still = room_of(address, floats_at(work, words[SIZE]))
    place, speed, found = floats_at(q, nq), floats_at(v, nv), floats_at(out, 3)
    parts.add_energies(address, memory, rows, wrench, still, place, speed, found)
    return 0


@callback(table.mass.signature)
def momenta(head, work, q, v, out):
    """Angular and linear momentum, first moment of mass, mass (10,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    call_observe(inner_function(header, table.MOMENTA), (head, work, q, v, out))
    memory, rows, wrench, still = room_of(address, floats_at(work, words[SIZE]))
    for i in range(header[views.NV]):
        still[i] = 0.0
    place, speed = floats_at(q, header[views.NQ]), floats_at(v, header[views.NV])
    parts.weigh(address, memory, place, speed, still, 0.0, rows, wrench, still)
    found = floats_at(out, 10)
    for i in range(header[COUNT]):
        if row_of(header, i)[HAS_MASS] != 0:
            for k in range(10):
                found[k] += rows[ROWS * i + WEIGHT + law.MOMENTUM + k]
    return 0


#: numbers of an element in the result of `elements`, before its line: coordinate, rate, force by itself
TOLD = 3


@callback(table.mass.signature)
def elements(head, work, q, v, out):
    """TOLD numbers of each element, then how a unit of its force acts on the coordinates (nv,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nv = header[views.NV]
    memory, rows, wrench, _ = room_of(address, floats_at(work, words[SIZE]))
    see_elements(address, memory, floats_at(q, header[views.NQ]), floats_at(v, nv), rows)
    for i in range(header[COUNT]):
        own, told = results_of(rows, i), floats_at(out + 8 * (TOLD + nv) * i, TOLD + nv)
        told[0], told[1], told[2] = own[COORDINATE], own[RATE], own[EFFORT]
        for k in range(nv):
            told[TOLD + k] = 0.0
        carry_line(address, memory, rows, i, 1.0, wrench, tail(told, TOLD))
    return 0


@callback(table.mass.signature)
def actuation(head, work, q, v, out):
    """B (nv, nu): the identity, then the lines of the elements that are driven."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nq, nv, size = header[views.NQ], header[views.NV], words[RESULTS]
    memory, rows, wrench, line = room_of(address, floats_at(work, words[SIZE]))
    B, nu = floats_at(out, size), size // nv
    for i in range(size):
        B[i] = 0.0
    for i in range(nv):
        B[i * nu + i], line[i] = 1.0, 0.0
    see_elements(address, memory, floats_at(q, nq), line, rows)
    for i in range(header[COUNT]):
        driven = row_of(header, i)[DRIVEN_BY]
        if driven >= 0:
            for k in range(nv):
                line[k] = 0.0
            carry_line(address, memory, rows, i, 1.0, wrench, line)
            for k in range(nv):
                B[k * nu + nv + driven] = line[k]
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
    J = shaped(jacobians_of(address, work), (12, nv))
    add_masses(address, memory, rows, wrench, J, still, M)


@callback(table.mass.signature)
def mass(head, work, q, v, out):
    """M (nv, nv)."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    call_observe(inner_function(header, table.MASS), (head, work, q, v, out))
    nq, nv = header[views.NQ], header[views.NV]
    M = shaped(floats_at(out, nv * nv), (nv, nv))
    add_inertia(words[ROBOT], floats_at(work, words[SIZE]), floats_at(q, nq), M)
    return 0


# ---- on lanes; work memory is made ready each time, since elements use it too ----


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def inverse_on_lanes(head, work, numbers, is_first):
    """M a + h (nv,) of a block of lanes; efforts of what is driven are 0."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    inner = inner_function(header, table.INVERSE + table.ON_LANES)
    status = call_on_lanes(inner, (head, work, numbers, 1))
    q, v, a, found, own = open_lanes(words, work, numbers)
    force = room_of(address, own)[3]
    for i in range(header[views.NV]):
        force[i] = 0.0 * q[0]
    push(address, own, q, v, window(a, 0, 0), LAW_ON_LANES, force)
    weigh(address, own, q, v, a, 1.0, INERTIA_ON_LANES, force)
    for i in range(header[views.NV]):
        found[i] -= force[i]
    return status


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def forward_on_lanes(head, work, numbers, is_first):
    """a (nv,) of a block of lanes under efforts (nu,): what massless elements do are forces on the tree."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    q, v, tau, _, own = open_lanes(words, work, numbers)
    force = room_of(address, own)[3]
    for i in range(header[views.NV]):
        force[i] = 1.0 * tau[i]
    push(address, own, q, v, tau, LAW_ON_LANES, force)
    for i in range(header[views.NV]):
        tau[i] = force[i]
    inner = inner_function(header, table.FORWARD + table.ON_LANES)
    return call_on_lanes(inner, (head, work, numbers, 1))


# ---- forward dynamics ----


@callback(table.forward.signature)
def forward(head, work, q, v, tau, wrenches, a):
    """a (nv,) under efforts (nu,) and wrenches: what massless elements do are forces on the tree."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nv, nu = header[views.NV], header[NU]
    own, efforts = floats_at(work, words[SIZE]), floats_at(tau, nu)
    force = room_of(address, own)[3]
    for i in range(nv):
        force[i] = efforts[i]
    exert(address, own, floats_at(q, header[views.NQ]), floats_at(v, nv), efforts, force)
    arguments = (head, work, q, v, address_of(force), wrenches, a)
    return call_forward(inner_function(header, table.FORWARD), arguments)


@entry("int64(int64, float64[::1], float64[::1], float64[::1], float64[::1])")
def forward_dynamics_one(head, q, v, tau, a):
    """a (nv,) of one state without wrenches, by the functions of a step of no length."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nv, nu = header[views.NV], header[NU]
    if q.shape[0] != header[views.NQ] or v.shape[0] != nv or tau.shape[0] != nu or a.shape[0] != nv:
        return BAD_SHAPE
    status = state_of_q(address, q)
    if status != OK:
        return status
    work = floats_at(header[WORK], nv + nu)
    force, extra = window(work, 0, nv), window(work, nv, nu)
    for i in range(nu):
        extra[i] = 0.0
    for i in range(nv):
        force[i] = tau[i] if nu == nv else 0.0
    given = header[GIVEN]
    if given >= 0:
        if tau[given] != 0.0:
            return BAD_SHAPE  # the general way says what is wrong
        a[given] = 0.0
    memory, place = header[WORK] + 8 * (nv + nu), address_of(q)
    call_ready(function_of(words, table.READY), (head, memory))
    if nu > nv:
        efforts = address_of(tau), address_of(force)
        call_exert(function_of(words, table.EXERT), (head, memory, place, *efforts))
    arrays = place, address_of(v), address_of(force), address_of(extra)
    call_accelerate(function_of(words, table.ACCELERATE), (head, memory, 0.0, *arrays, 0.0, address_of(a)))
    return OK if finite(v, nv) and finite(tau, nu) and finite(a, nv) else NOT_FINITE


#: around the functions of any tree; for elements that are driven; for those that have mass, and for others
layer = {"balance": balance, "slopes": all_slopes, "bias_terms": bias_terms, "energy": energy}
layer |= {"elements": elements, "inverse_on_lanes": inverse_on_lanes}
driven = {"actuation": actuation}
heavy = {"mass": mass, "momenta": momenta}
massless = {"forward": forward, "forward_on_lanes": forward_on_lanes}
