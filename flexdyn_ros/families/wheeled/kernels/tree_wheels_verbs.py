"""Verbs of a general tree on wheels: a layer around the functions of the tree (numerics/verbs/table.py).

Head, address and work memory are those of the tree, whose functions write first.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.entries import displace
from flexdyn_ros.families.trees.rigid.kernels.views import NQ, NV
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.vectors import LANES, element, with_element
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.functions_of import dynamics
from flexdyn_ros.numerics.verbs.head import HEAD_WORDS, ROBOT, SIZE, TANGENTS
from flexdyn_ros.numerics.verbs.samples import FAST, floats_of_lanes, open_lanes
from flexdyn_ros.numerics.verbs.table import call_balance, call_observe, call_on_lanes

from .tree_wheels import (
    OWN_SLOPES,
    hub_weight,
    inner_function,
    room_of,
    spring_energy,
    update_tree_wheels,
    weigh_hubs,
    wheeled_header,
    wheels_push,
)


@callback(table.balance.signature)
def balance(head, work, q, v, a, tau, wrenches, out):
    """M a + h - tau - sum J^T w (nv,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = wheeled_header(address)
    call_balance(inner_function(header, table.BALANCE), (head, work, q, v, a, tau, wrenches, out))
    memory, rows, wrench, force = room_of(address, floats_at(work, words[SIZE]))
    place, speed, rest = floats_at(q, header[NQ]), floats_at(v, header[NV]), floats_at(out, header[NV])
    wheels_push(address, memory, place, speed, rows, wrench, force)
    weigh_hubs(address, force)
    for i in range(header[NV]):
        rest[i] -= force[i]
    return 0


@kernel
def push_back(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """out (nv,) = minus what the wheels do at q, v, for derivatives."""
    memory, rows, wrench, _ = room_of(address, work)
    wheels_push(address, memory, q, v, rows, wrench, out)
    for i in range(out.shape[0]):
        out[i] = -out[i]


@kernel
def ready(address, work):
    """Nothing to make ready: work memory keeps nothing between calls."""


#: of the wheels alone
pushing = dynamics(__name__, ready, displace, push_back)


@callback(table.balance.signature)
def all_slopes(head, work, q, v, a, tau, wrenches, out):
    """Derivatives (nv, 2 nv) of the balance: those of the tree and of the wheels."""
    words = ints_at(head, HEAD_WORDS)
    header = wheeled_header(words[ROBOT])
    n = 2 * header[NV] * header[NV]
    own = work + 8 * (words[TANGENTS] - n)
    call_balance(inner_function(header, table.SLOPES), (head, work, q, v, a, tau, wrenches, out))
    call_balance(header[OWN_SLOPES], (head, work, q, v, a, tau, wrenches, own))
    found, more = floats_at(out, n), floats_at(own, n)
    for i in range(n):
        found[i] += more[i]
    return 0


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def inverse_on_lanes(head, work, numbers, is_first):
    """M a + h (nv,) of a block of lanes; wheels sample by sample. Work memory is made ready each time, since
    wheels use it too."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = wheeled_header(address)
    nq, nv = header[NQ], header[NV]
    inner = inner_function(header, table.INVERSE + table.ON_LANES)
    status = call_on_lanes(inner, (head, work, numbers, 1))
    q, v, _, found, _ = open_lanes(words, work, numbers)
    floats = floats_of_lanes(words, work, numbers)
    place, speed = window(floats, 0, nq), window(floats, nq, nv)
    memory, rows, wrench, force = room_of(address, tail(floats, nq + nv))
    for i in range(memory.shape[0]):
        memory[i] = 0.0  # lanes lay there
    for k in range(LANES):
        for i in range(nq):
            place[i] = element(q[i], k)
        for i in range(nv):
            speed[i] = element(v[i], k)
        wheels_push(address, memory, place, speed, rows, wrench, force)
        weigh_hubs(address, force)
        for i in range(nv):
            found[i] = with_element(found[i], k, element(found[i], k) - force[i])
    return status


@callback(table.mass.signature)
def bias_terms(head, work, q, v, out):
    """Parts (5, nv) of h: what wheels do is external, the hubs' weight is gravity."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = wheeled_header(address)
    nv = header[NV]
    call_observe(inner_function(header, table.BIAS_TERMS), (head, work, q, v, out))
    memory, rows, wrench, force = room_of(address, floats_at(work, words[SIZE]))
    terms = floats_at(out, 5 * nv)
    wheels_push(address, memory, floats_at(q, header[NQ]), floats_at(v, nv), rows, wrench, force)
    for i in range(nv):
        terms[4 * nv + i] -= force[i]
        force[i] = 0.0
    weigh_hubs(address, force)
    for i in range(nv):
        terms[nv + i] -= force[i]
    return 0


@callback(table.mass.signature)
def energy(head, work, q, v, out):
    """Kinetic, gravity and elastic energy (3,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = wheeled_header(address)
    call_observe(inner_function(header, table.ENERGY), (head, work, q, v, out))
    memory, rows, _, _ = room_of(address, floats_at(work, words[SIZE]))
    place, three = floats_at(q, header[NQ]), floats_at(out, 3)
    update_tree_wheels(address, memory, place, floats_at(v, header[NV]), rows)
    three[1] += hub_weight(address, place)
    three[2] += spring_energy(address, rows)
    return 0


layer = {
    "balance": balance,
    "slopes": all_slopes,
    "inverse_on_lanes": inverse_on_lanes,
    "bias_terms": bias_terms,
    "energy": energy,
}
