"""Forward dynamics of trees all of whose swinging masses join inertias (inertias.py): by the recursion, one
state or a block of lanes at a time.

The layer's functions add to the efforts what elements do and what their masses take of a motion in which no
coordinate accelerates; those of the tree, with the gains of inertias (joined_rigid.py, joined_flexible.py),
find accelerations from these.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.head import EFFORTS, HEAD_WORDS, ROBOT, SIZE
from flexdyn_ros.numerics.verbs.samples import FAST, open_lanes

from .inertias import ADDED
from .verbs import exert, push, take, weigh
from .views import (
    COUNT,
    INERTIA_ON_LANES,
    LAW_ON_LANES,
    NU,
    header_of,
    inner_function,
    jacobians_of,
    room_of,
    room_size,
)


@kernel(forceinline=True)
def gains_of(address, memory):
    """What the inertias of nodes gain, flat, in the work memory of a verb."""
    head = header_of(address)
    count, nv = head[COUNT], head[views.NV]
    return window(tail(memory, head[WORK_SIZE] + room_size(count, nv)), 0, ADDED * head[views.NB])


@callback(table.forward.signature)
def forward(head, work, q, v, tau, wrenches, a):
    """a (nv,) under efforts (nu,) and wrenches."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nv, efforts = header[views.NV], floats_at(tau, header[NU])
    own = floats_at(work, words[SIZE])
    place, speed = floats_at(q, header[views.NQ]), floats_at(v, nv)
    force, still = room_of(address, own)[3], window(jacobians_of(address, own), 0, nv)
    for i in range(nv):
        force[i], still[i] = efforts[i], 0.0
    exert(address, own, place, speed, efforts, force)
    take(address, own, place, speed, still, 1.0, force)
    arguments = (head, work, q, v, address_of(force), wrenches, a)
    return table.call_forward(inner_function(header, table.FORWARD), arguments)


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def forward_on_lanes(head, work, numbers, is_first):
    """a (nv,) of a block of lanes under efforts (nu,)."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    nv = header[views.NV]
    q, v, tau, _, own = open_lanes(words, work, numbers)
    force, still = room_of(address, own)[3], window(jacobians_of(address, own), 0, nv)
    for i in range(nv):
        force[i], still[i] = 1.0 * tau[i], 0.0 * tau[i]
    push(address, own, q, v, window(tau, 0, words[EFFORTS]), LAW_ON_LANES, force)
    weigh(address, own, q, v, still, 1.0, INERTIA_ON_LANES, force)
    for i in range(nv):
        tau[i] = force[i]
    inner = inner_function(header, table.FORWARD + table.ON_LANES)
    return table.call_on_lanes(inner, (head, work, numbers, 1))


#: around the functions of any tree all of whose masses join inertias
layer = {"forward": forward, "forward_on_lanes": forward_on_lanes}
