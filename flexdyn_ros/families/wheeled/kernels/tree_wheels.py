"""Sprung wheels on a general tree, planar or in space: their forces, for the method `articulated`.

The header is that of a flexible tree (trees/flexible/kernels/views.py; of a rigid one with no link in it)
with the words below behind it, so that every entry and every function of the tree takes the address too.
Forces are vertical (docs/theory/mobile.md, "Assumptions"); a wheel's mount has its exact kinematics, or,
on planar bases that ask for it, those of small pitch.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.kinematics import carry_wrench, move_flexible, place_flexible
from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE, carve_flexible
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, turn
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.status import NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.functions import less, select
from flexdyn_ros.numerics.verbs.table import table_at

from .road import road_under
from .wheels import stored_length, taken_power

_V = "float64[::1]"
_M = "float64[:,::1]"
_T = "float64[:,:,::1]"

#: words of the header behind those of the tree, and of elements around the wheels
WHEELED = 40
WHEELED_HEADER = WHEELED + 9
(
    WHEELS,
    WHEEL_TABLE,
    WHEEL_NUMBERS,
    ROAD,
    SMALL,  # 1: kinematics of small pitch
    GIVEN,  # index in v of the prescribed coordinate, -1: none
    INNER,  # the table of the tree alone
    INNER_WORK,  # numbers of work memory of its steps
    OWN_SLOPES,  # address of the derivatives of what wheels do
) = range(WHEELED, WHEELED_HEADER)

# columns of a wheel in WHEEL_TABLE, and its numbers: mount in the node's axes, mount and the node's rotation
# in the world where all coordinates are zero
WHEEL_COLUMNS = 5
NODE, HUB_Q, HUB_V, HAS_TYRE, UNILATERAL = range(WHEEL_COLUMNS)
WHEEL_SIZE = 22
MOUNT, LEVEL_MOUNT, LEVEL = 0, 3, 6
STIFFNESS, DAMPING, LENGTH, TYRE_K, TYRE_D, RADIUS, HUB_MASS = range(15, WHEEL_SIZE)

# rows of a wheel in work memory; the first six are what `wheels_many` of entries.py answers
WHEEL_ROWS = 14
(
    GROUND_FORCE,
    SPRING_FORCE,
    TRAVEL,
    GRADE,
    ROAD_POWER,
    TAKEN,  # by dampers
    ROAD_RATE,
    SPRING_RATE,
    TYRE_RATE,
    SQUEEZE,
    PLACE,  # (3) where the force acts
    SLACK,  # 1: off the ground
) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13)


@kernel(forceinline=True)
def wheeled_header(address):
    """All words of the header."""
    return ints_at(address, WHEELED_HEADER)


@kernel(forceinline=True)
def inner_function(head, place):
    """Address of a function of the tree alone, by its word in the table."""
    return table_at(head[INNER])[place]


@kernel(forceinline=True)
def wheel_tables(head):
    """Table and numbers of the wheels."""
    n = head[WHEELS]
    return ints_at(head[WHEEL_TABLE], WHEEL_COLUMNS * n), floats_at(head[WHEEL_NUMBERS], WHEEL_SIZE * n)


@kernel
def fall_of(head):
    """Vertical acceleration of free fall."""
    at = views.BODY_NUMBERS * head[views.NB] + views.DOF_NUMBERS * head[views.NV]
    return floats_at(head[views.FLOATS], at + 3)[at + 2]


@kernel
def angle_of(s, c):
    """arctan2(s, c), to the first order in imaginary parts."""
    sr, cr = s.real, c.real
    return np.arctan2(sr, cr) + (cr * (s - sr) - sr * (c - cr)) / (sr * sr + cr * cr)


@kernel
def find_mount(small, x, own):
    """Place and velocity of a mount, world axes, and where its force acts; own: rows of its node."""
    r = load9(own, views.WORLD_ROTATION)
    ox, oy, oz = load3(own, views.WORLD_ORIGIN)
    wx, wy, wz = load3(own, views.OMEGA)
    wx, wy, wz = turn(r, wx, wy, wz)
    ux, uy, uz = load3(own, views.VELOCITY)
    ux, uy, uz = turn(r, ux, uy, uz)
    if small:
        lever = x[LEVEL_MOUNT]
        down = r[6] * x[LEVEL] + r[7] * x[LEVEL + 1] + r[8] * x[LEVEL + 2]
        ahead = r[0] * x[LEVEL] + r[1] * x[LEVEL + 1] + r[2] * x[LEVEL + 2]
        height = oz + x[LEVEL_MOUNT + 2] + lever * angle_of(down, ahead)
        return ox + lever, height, ux, uz - lever * wy, (ox + lever, oy + 0.0 * oz, oz + 0.0 * ox)
    rx, ry, rz = turn(r, x[MOUNT], x[MOUNT + 1], x[MOUNT + 2])
    cx, _, cz = cross(wx, wy, wz, rx, ry, rz)
    return ox + rx, oz + rz, ux + cx, uz + cz, (ox + rx, oy + ry, oz + rz)


@kernel(forceinline=True)
def taken_by(row, x, own, rate, rolling):
    """Power that dampers take while spring and tyre lengthen at these rates [W]."""
    loose, tyre = row[UNILATERAL], row[HAS_TYRE]
    taken = taken_power(
        loose and not tyre, x[STIFFNESS], x[DAMPING], own[TRAVEL], own[SPRING_FORCE], own[SPRING_RATE], rate
    )
    if tyre:
        push, speed = own[GROUND_FORCE], own[TYRE_RATE]
        taken += taken_power(loose, x[TYRE_K], x[TYRE_D], own[SQUEEZE], push, speed, rolling)
    return taken


@kernel
def update_wheel(head, row, x, node, q, v, own):
    """Write the rows of one wheel."""
    at, height, along, rising, place = find_mount(head[SMALL], x, node)
    zero = 0.0 * height * rising
    ground, grade = road_under(head[ROAD], at)
    sinking = grade * along
    low, lowering = ground, sinking
    if row[HAS_TYRE]:
        low, lowering = q[row[HUB_Q]] + zero, v[row[HUB_V]] + zero
    travel, rate = x[LENGTH] - (height - low), rising - lowering
    force = x[STIFFNESS] * travel - x[DAMPING] * rate
    push, squeeze, rolling = force, zero, zero
    if row[HAS_TYRE]:
        squeeze, rolling = x[RADIUS] - (low - ground), lowering - sinking
        push = x[TYRE_K] * squeeze - x[TYRE_D] * rolling
    own[SLACK] = zero
    if row[UNILATERAL]:
        lifted = less(push, 0.0)
        push, own[SLACK] = select(lifted, zero, push), select(lifted, zero + 1.0, zero)
        if not row[HAS_TYRE]:
            force = select(lifted, zero, force)
    own[GROUND_FORCE], own[SPRING_FORCE], own[TRAVEL], own[GRADE] = push, force, travel, grade
    own[ROAD_POWER] = push * sinking
    own[ROAD_RATE], own[SPRING_RATE], own[TYRE_RATE], own[SQUEEZE] = sinking, rate, rolling, squeeze
    own[TAKEN] = taken_by(row, x, own, rate, rolling)
    own[PLACE], own[PLACE + 1], own[PLACE + 2] = place


@kernel
def update_tree_wheels(address, memory, q, v, rows):
    """Write the rows of all wheels at q, v; memory: of the tree's recursions, which it uses."""
    head = wheeled_header(address)
    table, numbers = wheel_tables(head)
    place_flexible(address, memory, q)
    move_flexible(address, memory, q, v)
    bodies = carve_flexible(memory, head[views.NB], head[views.NQ], head[views.NV]).tree.bodies
    for j in range(head[WHEELS]):
        row = window(table, WHEEL_COLUMNS * j, WHEEL_COLUMNS)
        node = bodies[views.BODY_ROWS * row[NODE] : views.BODY_ROWS * (row[NODE] + 1)]
        own = window(rows, WHEEL_ROWS * j, WHEEL_ROWS)
        update_wheel(head, row, window(numbers, WHEEL_SIZE * j, WHEEL_SIZE), node, q, v, own)


@kernel
def carry_wheels(address, memory, rows, wrench, force):
    """force (nv,) += what the wheels do, after `update_tree_wheels`; wrench (6,) is scratch."""
    head = wheeled_header(address)
    table, _ = wheel_tables(head)
    for i in range(6):
        wrench[i] = 0.0 * rows[0]
    for j in range(head[WHEELS]):
        row, own = tail(table, WHEEL_COLUMNS * j), tail(rows, WHEEL_ROWS * j)
        wrench[5] = own[SPRING_FORCE]
        place = own[PLACE], own[PLACE + 1], own[PLACE + 2]
        carry_wrench(address, memory, row[NODE], place[0], place[1], place[2], wrench, force)
        if row[HAS_TYRE]:
            force[row[HUB_V]] += own[GROUND_FORCE] - own[SPRING_FORCE]


@kernel
def weigh_hubs(address, force):
    """force (nv,) += weight of the hubs."""
    head = wheeled_header(address)
    table, numbers = wheel_tables(head)
    for j in range(head[WHEELS]):
        row = tail(table, WHEEL_COLUMNS * j)
        if row[HAS_TYRE]:
            force[row[HUB_V]] += numbers[WHEEL_SIZE * j + HUB_MASS] * fall_of(head)


@kernel
def spring_energy(address, rows):
    """Energy of springs and tyres [J], after `update_tree_wheels`."""
    head = wheeled_header(address)
    table, numbers = wheel_tables(head)
    energy = 0.0
    for j in range(head[WHEELS]):
        row, own = tail(table, WHEEL_COLUMNS * j), tail(rows, WHEEL_ROWS * j)
        x = tail(numbers, WHEEL_SIZE * j)
        travel = stored_length(row[UNILATERAL] and not row[HAS_TYRE], own[TRAVEL])
        squeeze = stored_length(row[UNILATERAL], own[SQUEEZE])
        energy += 0.5 * x[STIFFNESS] * travel**2 + 0.5 * x[TYRE_K] * squeeze**2
    return energy


@kernel
def hub_weight(address, q):
    """Energy of the hubs' weight [J]."""
    head = wheeled_header(address)
    table, numbers = wheel_tables(head)
    energy = 0.0
    for j in range(head[WHEELS]):
        if table[WHEEL_COLUMNS * j + HAS_TYRE]:
            mass = numbers[WHEEL_SIZE * j + HUB_MASS]
            energy -= mass * fall_of(head) * q[table[WHEEL_COLUMNS * j + HUB_Q]]
    return energy


@kernel(forceinline=True)
def room_of(address, work):
    """Of the work memory of a verb: that of the tree; rows of the wheels; a wrench (6,); a force (nv,)."""
    head = wheeled_header(address)
    size, n = head[WORK_SIZE], WHEEL_ROWS * head[WHEELS]
    rest = tail(work, size)
    return (
        window(work, 0, size),
        window(rest, 0, n),
        window(rest, n, 6),
        window(rest, n + 6, head[views.NV]),
    )


# ---- what Python calls ----


@entry(f"int64(int64, {_V}, {_M}, {_M}, {_T})", nogil=True)
def tree_wheels_many(address, work, q, v, out):
    """For rows of q, v: six numbers per wheel (N, wheels, 6) as `wheels_many` of entries.py."""
    head = wheeled_header(address)
    memory, rows, _, _ = room_of(address, work)
    for s in range(q.shape[0]):
        update_tree_wheels(address, memory, q[s], v[s], rows)
        for j in range(head[WHEELS]):
            for i in range(6):
                out[s, j, i] = rows[WHEEL_ROWS * j + i]
                if out[s, j, i] - out[s, j, i] != 0.0:
                    return NOT_FINITE + 8 * s
    return OK


@kernel
def wheels_push(address, memory, q, v, rows, wrench, force):
    """force (nv,) = what the wheels do at q, v."""
    for i in range(force.shape[0]):
        force[i] = 0.0
    update_tree_wheels(address, memory, q, v, rows)
    carry_wheels(address, memory, rows, wrench, force)
