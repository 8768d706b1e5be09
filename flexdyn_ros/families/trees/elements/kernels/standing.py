"""Dynamics of rigid trees all of whose elements stand on the fixed world with one end, and push on a body at
a point with the other (multibody/elements/kernels/standing.py): what they do enters the recursions.

No motion of frames is written, no wrench is carried down the tree, and there are no rows: an element costs
what its force and its inertia cost. The layer's table has these functions in place of those of the tree.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels import aba, rnea
from flexdyn_ros.families.trees.rigid.kernels import views as tree
from flexdyn_ros.families.trees.rigid.kernels.entries import displace, load, opened, ready, state_of_q
from flexdyn_ros.families.trees.rigid.kernels.resistance import (
    add_implicit_joint_terms,
    add_joint_resistance,
    couple_motors,
)
from flexdyn_ros.families.trees.rigid.kernels.views import open_data, open_tree
from flexdyn_ros.multibody.elements.kernels import standing as at
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    add_cross,
    load3,
    load9,
    multiply,
    store3,
    store9,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import entry, inlined, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import BAD_SHAPE, NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import shaped, tail, window
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.numerics.verbs.functions_of import dynamics, forwards_of
from flexdyn_ros.numerics.verbs.head import (
    BODIES,
    HEAD_WORDS,
    POINTS,
    ROBOT,
    SIZE,
    WIDTH,
    WORK,
    function_of,
    robot_of,
)
from flexdyn_ros.numerics.verbs.head import COUNT as WRENCHES
from flexdyn_ros.numerics.verbs.samples import FAST, finite, open_lanes, wrenches_on_lanes

from .views import (
    COUNT,
    EFFORTS_AT,
    GROUP_TABLE,
    GROUPS,
    NU,
    STEPS_WORK,
    WORK_SIZE,
    header_of,
    inner_function,
)

# columns in GROUP_TABLE of a group of elements of one kind on one body: the body, how many there are, the
# first of them among all, which effort drives it (-1: none), their numbers, and C functions
GROUP = 11
(
    NODE, MANY, FIRST, FIRST_EFFORT, OWN_NUMBERS,
    HOLD, HOLD_ON_LANES, BURDEN, RESIST, RESIST_ON_LANES, RESIST_ON_TANGENTS,
) = range(GROUP)  # fmt: skip

#: numbers of work memory for each body: where it is in the world, and the velocity of its origin
_PLACE = 15
_ROTATION, _ORIGIN, _VELOCITY = 0, 9, 12


@kernel(forceinline=True)
def group_of(head, g):
    """Columns of group g."""
    return ints_at(head[GROUP_TABLE] + 8 * GROUP * g, GROUP)


@kernel(forceinline=True)
def own_of(head, memory):
    """Work memory of the layer, behind that of the tree: `cut`."""
    return tail(memory, head[WORK_SIZE])


@kernel(forceinline=True)
def cut(head, own):
    """Efforts of the elements (n,), what servos add to them (n,), their lines (6 n,), the motion of a body
    (BODY,), a wrench (6,), a force (nv,), and places; matrices are flat."""
    n = head[COUNT]
    rest = tail(own, 8 * n + at.BODY)
    return (
        window(own, 0, n),
        window(own, n, n),
        window(own, 2 * n, 6 * n),
        window(own, 8 * n, at.BODY),
        window(rest, 0, 6),
        window(rest, 6, head[tree.NV]),
        tail(rest, 6 + head[tree.NV]),
    )


#: numbers of work memory behind those that `cut` cuts
_SPARE = 120


@kernel(forceinline=True)
def own_size(head):
    """Numbers that `cut` cuts."""
    return 8 * head[COUNT] + at.BODY + 6 + head[tree.NV] + _PLACE * head[tree.NB]


@kernel(forceinline=True)
def spare_of(head, own):
    """Work memory behind that of the layer."""
    return tail(own, own_size(head))


@kernel(forceinline=True)
def spread(head, given, first, own):
    """own (n,) = the efforts in given[first:] of those elements that are driven, 0 of others."""
    for g in range(head[GROUPS]):
        group = group_of(head, g)
        for i in range(group[MANY]):
            k = group[FIRST] + i
            if group[FIRST_EFFORT] >= 0:
                own[k] = given[first + group[FIRST_EFFORT] + i]
            else:
                own[k] = 0.0


# ---- where bodies are: rows of the recursions -> places ----


@kernel(fastmath=FAST, forceinline=True)
def place_in_world(model, bodies, b, v, places):
    """ORIGIN and VELOCITY of body b in the world, whose rows are those of the articulated-body recursion."""
    p = model.parent[b]
    own, below = (
        window(bodies, tree.BODY_ROWS * b, tree.BODY_ROWS),
        window(bodies, tree.BODY_ROWS * p, tree.BODY_ROWS),
    )
    place, base = window(places, _PLACE * b, _PLACE), window(places, _PLACE * p, _PLACE)
    ox, oy, oz = load3(own, tree.ORIGIN)
    ux, uy, uz = slide_of(model, own, b, v, load9(own, tree.ROTATION), True)
    if p > 0:
        wx, wy, wz = load3(below, tree.OMEGA)
        ux, uy, uz = add_cross(ux, uy, uz, wx, wy, wz, ox, oy, oz)
        add3_of(place, base, _VELOCITY, ux, uy, uz)
        add3_of(place, base, _ORIGIN, ox, oy, oz)
    else:
        store3(place, _VELOCITY, ux, uy, uz)
        store3(place, _ORIGIN, ox, oy, oz)


@kernel(forceinline=True)
def add3_of(place, base, row, x, y, z):
    """place[row:] = base[row:] + (x, y, z)"""
    place[row], place[row + 1], place[row + 2] = base[row] + x, base[row + 1] + y, base[row + 2] + z


@kernel(fastmath=FAST, forceinline=True)
def slide_of(model, own, b, v, r, in_world):
    """Velocity of a body's origin along its joint, world axes; r: world <- body, in_world: TURN is world <-
    joint, else joint <- body."""
    i = model.v_index[b]
    kind = model.joint_type[b]
    if kind == FREE:
        t = load9(own, tree.TURN)
        if in_world:
            return turn(t, v[i + 3], v[i + 4], v[i + 5])
        x, y, z = unturn(t, v[i + 3], v[i + 4], v[i + 5])
        return turn(r, x, y, z)
    if kind == BALL:
        none = 0.0 * r[0]
        return none, none, none
    along = model.slide[b] * model.ratio[b] * v[i]
    return r[2] * along, r[5] * along, r[8] * along


@kernel(fastmath=FAST, forceinline=True)
def place_on_parent(model, bodies, b, v, places):
    """ROTATION, ORIGIN and VELOCITY of body b in the world, whose rows are those of the Newton-Euler
    recursion."""
    p = model.parent[b]
    own, below = (
        window(bodies, tree.BODY_ROWS * b, tree.BODY_ROWS),
        window(bodies, tree.BODY_ROWS * p, tree.BODY_ROWS),
    )
    place, base = window(places, _PLACE * b, _PLACE), window(places, _PLACE * p, _PLACE)
    ox, oy, oz = load3(own, tree.ORIGIN)
    r = load9(own, tree.ROTATION)
    if p > 0:
        m = load9(base, _ROTATION)
        ox, oy, oz = turn(m, ox, oy, oz)
        r = multiply(m, r)
        ux, uy, uz = slide_of(model, own, b, v, r, False)
        wx, wy, wz = load3(below, tree.OMEGA)
        wx, wy, wz = turn(m, wx, wy, wz)
        ux, uy, uz = add_cross(ux, uy, uz, wx, wy, wz, ox, oy, oz)
        add3_of(place, base, _VELOCITY, ux, uy, uz)
        add3_of(place, base, _ORIGIN, ox, oy, oz)
    else:
        ux, uy, uz = slide_of(model, own, b, v, r, False)
        store3(place, _VELOCITY, ux, uy, uz)
        store3(place, _ORIGIN, ox, oy, oz)
    store9(place, _ROTATION, r)


# ---- forward ----


@kernel(fastmath=FAST, forceinline=True)
def hold_all(head, model, data, v, memory, h, hold):
    """Add to the inertias and biases that bodies begin with what elements do; hold: column of their C
    functions for this number type."""
    given, extra, _, body, _, _, places = cut(head, memory)
    last, gravity = 0, load3(data.bodies, tree.ACCELERATION)
    for g in range(head[GROUPS]):
        group = group_of(head, g)
        b = group[NODE]
        for k in range(last + 1, b + 1):
            place_in_world(model, data.bodies, k, v, places)
        last = max(last, b)
        own, place = (
            window(data.bodies, tree.BODY_ROWS * b, tree.BODY_ROWS),
            window(places, _PLACE * b, _PLACE),
        )
        store9(body, at.ROTATION, load9(own, tree.ROTATION))
        copy3(body, at.ORIGIN, place, _ORIGIN)
        copy3(body, at.VELOCITY, place, _VELOCITY)
        copy3(body, at.OMEGA, own, tree.OMEGA)
        copy3(body, at.ALPHA, own, tree.ALPHA)
        copy3(body, at.ACCELERATION, own, tree.ACCELERATION)
        store3(body, at.GRAVITY, -gravity[0], -gravity[1], -gravity[2])
        efforts, more = address_of(tail(given, group[FIRST])), address_of(tail(extra, group[FIRST]))
        gain = address_of(window(data.articulated, tree.ARTICULATED_ROWS * b, at.GAIN))
        motion = address_of(body)
        at.call_hold(group[hold], (group[OWN_NUMBERS], group[MANY], motion, efforts, more, h, gain))


@kernel(forceinline=True)
def copy3(out, row, x, first):
    """out[row : row + 3] = x[first : first + 3]"""
    out[row], out[row + 1], out[row + 2] = x[first], x[first + 1], x[first + 2]


@inlined
def held(address, work, q, v, tau, a, hold):
    """a of a tree whose efforts of elements are in work memory."""
    head = header_of(address)
    model, data = opened(address, work)
    for i in range(model.nv):
        data.tau[i] = tau[i]
    couple_motors(model, data, 0.0)
    aba.start_bodies(model, data, q, v, data.tau)
    hold_all(head, model, data, v, own_of(head, work), 0.0, hold)
    aba.accelerate_bodies(model, data, data.tau, a)
    return OK


@inlined
def on_floats(address, work, q, v, tau, a):
    """On float64 numbers."""
    return held(address, work, q, v, tau, a, HOLD)


@inlined
def on_lanes(address, work, q, v, tau, a):
    """On lanes."""
    return held(address, work, q, v, tau, a, HOLD_ON_LANES)


#: in place of those of the tree
inner = forwards_of(__name__, ready, load, on_floats, on_lanes)


@kernel(forceinline=True)
def put_efforts(head, tau, own):
    """Keep the efforts of elements, of tau; servos add nothing."""
    given, extra, _, _, _, force, _ = cut(head, own)
    spread(head, tau, head[EFFORTS_AT], given)
    for i in range(head[COUNT]):
        extra[i] = 0.0
    return force


@callback(table.forward.signature)
def forward(head, work, q, v, tau, wrenches, a):
    """a (nv,) under efforts (nu,) and wrenches."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    efforts, own = floats_at(tau, header[NU]), own_of(header, floats_at(work, words[SIZE]))
    force = put_efforts(header, efforts, own)
    for i in range(header[tree.NV]):
        force[i] = efforts[i] if header[EFFORTS_AT] > 0 else 0.0
    arguments = (head, work, q, v, address_of(force), wrenches, a)
    return table.call_forward(inner_function(header, table.FORWARD), arguments)


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def forward_on_lanes(head, work, numbers, is_first):
    """a (nv,) of a block of lanes under efforts (nu,)."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    q, v, tau, _, memory = open_lanes(words, work, numbers)
    put_efforts(header, tau, own_of(header, memory))
    if header[EFFORTS_AT] == 0:
        for i in range(header[tree.NV]):
            tau[i] = 0.0
    inner = inner_function(header, table.FORWARD + table.ON_LANES)
    return table.call_on_lanes(inner, (head, work, numbers, is_first))


# ---- inverse ----


@kernel(fastmath=FAST, forceinline=True)
def resist_all(head, model, data, v, memory, resist):
    """Add to force and moment of bodies what elements ask for; resist: column of their C functions for this
    number type."""
    given, _, lines, body, wrench, _, places = cut(head, memory)
    last, gravity = 0, load3(data.bodies, tree.ACCELERATION)
    for g in range(head[GROUPS]):
        group = group_of(head, g)
        b = group[NODE]
        for k in range(last + 1, b + 1):
            place_on_parent(model, data.bodies, k, v, places)
        last = max(last, b)
        own, place = (
            window(data.bodies, tree.BODY_ROWS * b, tree.BODY_ROWS),
            window(places, _PLACE * b, _PLACE),
        )
        r = load9(place, _ROTATION)
        store9(body, at.ROTATION, r)
        copy3(body, at.ORIGIN, place, _ORIGIN)
        copy3(body, at.VELOCITY, place, _VELOCITY)
        turn3(body, at.OMEGA, r, own, tree.OMEGA)
        turn3(body, at.ALPHA, r, own, tree.ALPHA)
        turn3(body, at.ACCELERATION, r, own, tree.ACCELERATION)
        store3(body, at.GRAVITY, -gravity[0], -gravity[1], -gravity[2])
        for k in range(6):
            wrench[k] = 0.0
        efforts, line = address_of(tail(given, group[FIRST])), address_of(tail(lines, 6 * group[FIRST]))
        arrays = address_of(body), efforts, address_of(wrench), line
        at.call_resist(group[resist], (group[OWN_NUMBERS], group[MANY], *arrays))
        x, y, z = load3(wrench, 0)
        x, y, z = unturn(r, x, y, z)
        add3(own, tree.MOMENT, x, y, z)
        x, y, z = load3(wrench, 3)
        x, y, z = unturn(r, x, y, z)
        add3(own, tree.FORCE, x, y, z)


@kernel(forceinline=True)
def turn3(out, row, r, x, first):
    """out[row : row + 3] = r x[first : first + 3]"""
    a, b, c = turn(r, x[first], x[first + 1], x[first + 2])
    out[row], out[row + 1], out[row + 2] = a, b, c


@kernel(fastmath=FAST, forceinline=True)
def balanced(address, work, q, v, a, out, resist):
    """out (nv,) = M a + h less what efforts of elements in work memory do."""
    model, data = opened(address, work)
    head = header_of(address)
    rnea.outward(model, data, q, v, a)
    resist_all(head, model, data, v, own_of(head, work), resist)
    rnea.inward(model, data, a, out)
    add_joint_resistance(model, q, v, 1.0, out)


@inlined
def balance(address, work, q, v, a, tau, bodies, points, wrenches, out, resist):
    """out (nv,) = M a + h - B tau - sum J^T w, tau (nv,), (nu,) or (0,)."""
    head = header_of(address)
    own, first, n = own_of(head, work), head[EFFORTS_AT], tau.shape[0]
    for i in range(head[COUNT]):
        own[i] = 0.0
    if n > first:
        spread(head, tau, first, own)
    balanced(address, work, q, v, a, out, resist)
    for i in range(min(n, first)):
        out[i] -= tau[i]
    if bodies.shape[0] > 0:
        push_back(address, work, q, bodies, points, wrenches, out)


@kernel
def balance_on_floats(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """On float64 numbers."""
    balance(address, work, q, v, a, tau, bodies, points, wrenches, out, RESIST)


@kernel
def balance_on_tangents(address, work, q, v, a, tau, bodies, points, wrenches, out):
    """On tangents."""
    balance(address, work, q, v, a, tau, bodies, points, wrenches, out, RESIST_ON_TANGENTS)


@inlined
def push_back(address, work, q, bodies, points, wrenches, out):
    """out (nv,) -= sum J^T w."""
    for i in range(out.shape[0]):
        out[i] = -out[i]
    load(address, work, q, bodies, points, wrenches, out)
    for i in range(out.shape[0]):
        out[i] = -out[i]


@callback(table.LANES_SIGNATURE, fastmath=FAST)
def inverse_on_lanes(head, work, numbers, is_first):
    """M a + h - sum J^T w (nv,) of a block of lanes; efforts of what is driven are 0."""
    words = ints_at(head, HEAD_WORDS)
    address = words[ROBOT]
    header = header_of(address)
    q, v, a, found, memory = open_lanes(words, work, numbers)
    tau = window(found, 0, header[tree.NV])
    if is_first != 0:
        ready(address, memory)
        for i in range(header[COUNT]):
            own_of(header, memory)[i] = 0.0
    balanced(address, memory, q, v, a, tau, RESIST_ON_LANES)
    k, width = words[WRENCHES], words[WIDTH]
    if k > 0:
        bodies, points = ints_at(words[BODIES], k), shaped(floats_at(words[POINTS], k * width), (k, width))
        push_back(address, memory, q, bodies, points, wrenches_on_lanes(words, work), tau)
    return OK


# ---- steps ----


@kernel(forceinline=True)
def steps_own(head, work):
    """Work memory of the layer in that of steps, in place of the rows that it would have (`own_work` in
    steps.py): less than these and the gains of inertias take."""
    return floats_at(work + 8 * head[STEPS_WORK], own_size(head) + _SPARE)


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py; forces of elements that are driven are in `force`, what servos add to them
    joins the inertias of bodies as their springs do."""
    address = robot_of(robot)
    head, model = header_of(address), open_tree(address)
    nv = model.nv
    data = open_data(work, model.nb, model.nq, nv)
    q, v, a = floats_at(q, model.nq), floats_at(v, nv), floats_at(a, nv)
    force, added = floats_at(force, nv), floats_at(extra, head[NU])
    own = steps_own(head, work)
    given, more, _, _, _, none, _ = cut(head, own)
    spread(head, added, head[EFFORTS_AT], more)
    for i in range(head[COUNT]):
        given[i] = 0.0
    for i in range(nv):
        none[i] = added[i] if head[EFFORTS_AT] > 0 else 0.0
    add_implicit_joint_terms(model, v, force, none, h, data.diagonal)
    couple_motors(model, data, h)
    aba.start_bodies(model, data, q, v, force)
    hold_all(head, model, data, v, own, h, HOLD)
    aba.accelerate_bodies(model, data, force, a)
    return 0


@entry("int64(int64, float64[::1], float64[::1], float64[::1], float64[::1])")
def forward_dynamics_one(head, q, v, tau, a):
    """a (nv,) of one state under efforts (nu,) without wrenches."""
    words = ints_at(head, HEAD_WORDS)
    header = header_of(words[ROBOT])
    nv, nu = header[tree.NV], header[NU]
    if q.shape[0] != header[tree.NQ] or v.shape[0] != nv or tau.shape[0] != nu or a.shape[0] != nv:
        return BAD_SHAPE
    motion = address_of(q), address_of(v), address_of(tau), address_of(v), address_of(a)
    status = table.call_forward(function_of(words, table.FORWARD), (head, words[WORK], *motion))
    if status == OK and not finite(a, nv):
        status = NOT_FINITE
    return status if status != OK else state_of_q(words[ROBOT], q)


layer = {
    "forward": forward,
    "forward_on_lanes": forward_on_lanes,
    "inverse_on_lanes": inverse_on_lanes,
    "balance": dynamics(__name__, ready, displace, balance_on_floats)["balance"],
    "slopes": dynamics(__name__, ready, displace, balance_on_tangents)["slopes"],
    "accelerate": accelerate,
}

#: columns of a group: the C function of `Standing` that is there, and the functions of the table that call it
ASKED = (
    (HOLD, "hold", frozenset(("forward", "accelerate"))),
    (HOLD_ON_LANES, "hold_on_lanes", frozenset(("forward_on_lanes",))),
    (BURDEN, "burden", frozenset(())),
    (RESIST, "resist", frozenset(("balance",))),
    (RESIST_ON_LANES, "resist_on_lanes", frozenset(("inverse_on_lanes",))),
    (RESIST_ON_TANGENTS, "resist_on_tangents", frozenset(("slopes",))),
)
