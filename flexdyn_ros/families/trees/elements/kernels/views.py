"""Elements around a tree as kernels see them: words behind those of the tree, a table and numbers.

The header is that of a flexible tree (trees/flexible/kernels/views.py; of a rigid one with no link in it)
with the words below behind it, so that every function of the tree takes the address too.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.kinematics import carry_wrench, move_flexible, place_flexible
from flexdyn_ros.families.trees.flexible.kernels.views import FLEXIBLE_HEADER, WORK_SIZE, carve_flexible
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.algebra.rotations import (
    add_cross,
    load3,
    load9,
    multiply,
    store3,
    store9,
    turn,
)
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.verbs.table import table_at

#: words behind those of the tree
ELEMENTS_HEADER = FLEXIBLE_HEADER + 22
(
    COUNT,
    TABLE,
    NUMBERS,
    HEAVY,  # how many elements have mass
    NU,
    INNER,  # the table of the tree alone
    STEPS_WORK,  # numbers of work memory of its steps
    OWN_SLOPES,  # addresses of the layer's own functions: derivatives of what elements do
    OBSERVE,  # parts.py
    WEIGH,
    MASS_ROWS,
    SOLVE,  # steps.py
    WORK,  # of forward dynamics of a single state: nv + nu numbers, then those of a step
    GIVEN,  # index in v of the prescribed coordinate, -1: none
    IN_ROWS,  # how many of those that have mass take rows of the small system
    ADDED_AT,  # where in the work memory of steps the gains of inertias are (inertias.py), or the matrix of:
    DENSE,  # the function that solves by the mass matrix (dense.py), 0: by rows
    JOINED,  # whether there are gains: 0, IN_NODES or IN_WORLD, the axes that they are in
    GROUPS,  # of elements of one kind on one body (standing.py), how many; 0: they are not taken so
    GROUP_TABLE,
    SEEN,  # a function that sees all cylinders with oil at once (oil.py), 0: there is none
    EFFORTS_AT,  # where efforts of elements begin in tau: behind those of the velocities, or 0 without those
) = range(FLEXIBLE_HEADER, ELEMENTS_HEADER)

# columns of an element in TABLE: nodes of its frames, where its numbers begin, which effort drives it (-1:
# none), whether it has mass, addresses of its law for float64 numbers, on lanes and on tangents, and of its
# inertia likewise; node whose inertia its mass joins, since its other end stands on the world (0: none),
# which end that is, and whether the joined end passes moments
COLUMNS = 14
IN_NODES, IN_WORLD = 1, 2
(
    BASE_NODE, END_NODE, NUMBERS_AT, DRIVEN_BY, HAS_MASS,
    LAW, LAW_ON_LANES, LAW_ON_TANGENTS, INERTIA, INERTIA_ON_LANES, INERTIA_ON_TANGENTS,
    JOINS, END_IS_HELD, WITH_MOMENT,
) = range(COLUMNS)  # fmt: skip
# numbers of an element: placements of its frames in the nodes, then its own
PLACEMENTS, OWN = 0, 24

#: rows of an element in work memory: the motion of its frames and what it does, accelerations of its frames
#: and what its mass takes
ACCELERATION = at.MOTION + at.RESULTS
WEIGHT = ACCELERATION + at.ACCELERATION
ROWS = WEIGHT + at.WEIGHT


@kernel(forceinline=True)
def header_of(address):
    """All words of the header."""
    return ints_at(address, ELEMENTS_HEADER)


@kernel(forceinline=True)
def inner_function(head, place):
    """Address of a function of the tree alone, by its word in the table."""
    return table_at(head[INNER])[place]


@kernel(forceinline=True)
def row_of(head, i):
    """Columns of element i."""
    return ints_at(head[TABLE] + 8 * COLUMNS * i, COLUMNS)


@kernel(forceinline=True)
def numbers_of(address, i, count):
    """The `count` numbers of the law of element i."""
    head = header_of(address)
    return floats_at(head[NUMBERS] + 8 * (row_of(head, i)[NUMBERS_AT] + OWN), count)


@kernel(forceinline=True)
def results_of(rows, i):
    """What element i does."""
    return window(rows, ROWS * i + at.MOTION, at.RESULTS)


@kernel
def write_motion(bodies, node, placement, motion):
    """Motion (FRAME,) of a frame in a node, world axes; the world stands still."""
    r = load9(placement, 0)
    px, py, pz = load3(placement, 9)
    zero = 0.0 * motion[0]
    if node == 0:
        for i in range(9):
            motion[at.ROTATION + i] = zero + r[i]
        store3(motion, at.POSITION, zero + px, zero + py, zero + pz)
        store3(motion, at.VELOCITY, zero, zero, zero)
        store3(motion, at.OMEGA, zero, zero, zero)
        return
    own = window(bodies, views.BODY_ROWS * node, views.BODY_ROWS)
    m = load9(own, views.WORLD_ROTATION)
    wx, wy, wz = load3(own, views.OMEGA)
    ux, uy, uz = load3(own, views.VELOCITY)
    ux, uy, uz = add_cross(ux, uy, uz, wx, wy, wz, px, py, pz)
    px, py, pz = turn(m, px, py, pz)
    ox, oy, oz = load3(own, views.WORLD_ORIGIN)
    store3(motion, at.POSITION, px + ox, py + oy, pz + oz)
    store9(motion, at.ROTATION, multiply(m, r))
    ux, uy, uz = turn(m, ux, uy, uz)
    wx, wy, wz = turn(m, wx, wy, wz)
    store3(motion, at.VELOCITY, ux, uy, uz)
    store3(motion, at.OMEGA, wx, wy, wz)


@kernel
def move_elements(address, memory, q, v, rows):
    """Write the motion of the frames of all elements; memory: of the tree's recursions, which it uses."""
    head = header_of(address)
    bodies = carve_flexible(memory, head[views.NB], head[views.NQ], head[views.NV]).tree.bodies
    for k in range(3):  # of the world, whatever the memory was used for
        bodies[views.OMEGA + k], bodies[views.VELOCITY + k] = 0.0 * q[0], 0.0 * q[0]
    place_flexible(address, memory, q)
    move_flexible(address, memory, q, v)
    for i in range(head[COUNT]):
        row = row_of(head, i)
        numbers = floats_at(head[NUMBERS] + 8 * row[NUMBERS_AT], OWN)
        motion = window(rows, ROWS * i, at.MOTION)
        motion[0] = 0.0 * q[0] * v[0]
        motion[at.FRAME] = 0.0 * q[0] * v[0]
        write_motion(bodies, row[BASE_NODE], window(numbers, 0, 12), window(motion, 0, at.FRAME))
        write_motion(bodies, row[END_NODE], window(numbers, 12, 12), window(motion, at.FRAME, at.FRAME))


@kernel
def observe_elements(address, memory, q, v, rows, law):
    """Write motion and results of all elements; law: column of the C functions for this number type."""
    head = header_of(address)
    move_elements(address, memory, q, v, rows)
    for i in range(head[COUNT]):
        row, own = row_of(head, i), tail(rows, ROWS * i)
        numbers = head[NUMBERS] + 8 * (row[NUMBERS_AT] + OWN)
        at.call_law(row[law], (numbers, address_of(own), address_of(tail(own, at.MOTION))))


#: (robot, memory, q, v, rows): 0
OBSERVE_SIGNATURE = "int64(int64, int64, int64, int64, int64)"
_call_observe = caller(OBSERVE_SIGNATURE)


@callback(OBSERVE_SIGNATURE)
def observe_all(robot, memory, q, v, rows):
    """Write motion and results of all elements."""
    head = header_of(robot)
    place, speed = floats_at(q, head[views.NQ]), floats_at(v, head[views.NV])
    own = floats_at(rows, ROWS * head[COUNT])
    observe_elements(robot, floats_at(memory, head[WORK_SIZE]), place, speed, own, LAW)
    return 0


@kernel(forceinline=True)
def see_elements(robot, memory, q, v, rows):
    """Write motion and results of all elements; arrays of float64, by `observe_all`."""
    arrays = address_of(memory), address_of(q), address_of(v), address_of(rows)
    _call_observe(header_of(robot)[OBSERVE], (robot, *arrays))


@kernel
def carry(address, memory, rows, i, share, wrenches, wrench, force):
    """force (nv,) += share times what wrenches (12,) on the frames of element i do; wrench (6,) is for a
    while."""
    row, own = row_of(header_of(address), i), tail(rows, ROWS * i)
    for k in range(6):
        wrench[k] = share * wrenches[k]
    px, py, pz = load3(own, at.POSITION)
    carry_wrench(address, memory, row[BASE_NODE], px, py, pz, wrench, force)
    for k in range(6):
        wrench[k] = share * wrenches[6 + k]
    px, py, pz = load3(own, at.FRAME + at.POSITION)
    carry_wrench(address, memory, row[END_NODE], px, py, pz, wrench, force)


@kernel
def carry_line(address, memory, rows, i, share, wrench, force):
    """force (nv,) += share times what a unit of the force of element i does; wrench (6,) is scratch."""
    carry(address, memory, rows, i, share, window(rows, ROWS * i + at.MOTION + at.LINE, 12), wrench, force)


@kernel
def carry_elements(address, memory, rows, wrench, force):
    """force (nv,) += what the elements do by themselves."""
    head = header_of(address)
    for i in range(head[COUNT]):
        carry_line(address, memory, rows, i, results_of(rows, i)[at.EFFORT], wrench, force)


@kernel(forceinline=True)
def room_of(address, memory):
    """Of the work memory of a verb: that of the tree; rows of the elements; a wrench (6,); a force (nv,)."""
    head = header_of(address)
    size, n = head[WORK_SIZE], ROWS * head[COUNT]
    rest = tail(memory, size)
    return (
        window(memory, 0, size),
        window(rest, 0, n),
        window(rest, n, 6),
        window(rest, n + 6, head[views.NV]),
    )


@kernel(forceinline=True)
def jacobians_of(address, memory):
    """Room for two Jacobians (12 nv,) behind that of `room_of`."""
    head = header_of(address)
    nv = head[views.NV]
    return window(memory, head[WORK_SIZE] + ROWS * head[COUNT] + 6 + nv, 12 * nv)


@kernel(forceinline=True)
def room_size(count, nv):
    """Numbers behind those of the tree that `room_of` takes; behind it room for two
    Jacobians, as tangents for derivatives."""
    return ROWS * count + 6 + 13 * nv + nv * nv // 12 + 1
