"""Sprung wheels on a road: forces on nodes of a planar tree and on hubs (specification mobile, 6, 15.4).

A wheel without tyre stands on the road with the lower end of its spring; one with a tyre has a hub of its own
mass between spring and tyre, whose height is a coordinate. Forces are vertical, positive upward on what they
carry.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed

from .ground_contact import stored_length, taken_power
from .road import road_under
from .views import (
    ACCEL,
    ADDED,
    BODY,
    COS,
    DAMPING,
    EXACT,
    FORCE,
    GRADE,
    GROUND_FORCE,
    HAS_TYRE,
    HUB_MASS,
    HUB_PIVOT,
    HUB_PUSH,
    HUB_Q,
    HUB_V,
    LENGTH,
    LEVER_X,
    MOUNT_X,
    MOUNT_Y,
    NODE_ROWS,
    OMEGA,
    RADIUS,
    ROAD,
    ROAD_RATE,
    SIN,
    SPRING_FORCE,
    SPRING_LENGTH,
    SPRING_RATE,
    SQUEEZE,
    STIFFNESS,
    TH,
    TYRE_D,
    TYRE_K,
    TYRE_RATE,
    UNILATERAL,
    VX,
    VY,
    WHEEL_COLUMNS,
    WHEEL_NODE,
    WHEEL_ROWS,
    WHEEL_SIZE,
    WHEELS,
    WHEELS_AT,
    X,
    Y,
    gravity_of,
    header_at,
    wheels_of,
)


@kernel
def update_wheels(address, w, q, v):
    """Write the rows of all wheels, after `move_planar`."""
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    for j in range(head[WHEELS]):
        row = table[WHEEL_COLUMNS * j : WHEEL_COLUMNS * (j + 1)]
        x = numbers[WHEEL_SIZE * j : WHEEL_SIZE * (j + 1)]
        node = w[NODE_ROWS * row[WHEEL_NODE] : NODE_ROWS * (row[WHEEL_NODE] + 1)]
        own = w[head[WHEELS_AT] + WHEEL_ROWS * j : head[WHEELS_AT] + WHEEL_ROWS * (j + 1)]
        mx, my, om = x[MOUNT_X], x[MOUNT_Y], node[OMEGA]
        lever, height = mx + 0.0 * om, my + mx * node[TH]
        at, along = node[X] + mx, node[VX]
        if head[EXACT]:
            lever, height = node[COS] * mx - node[SIN] * my, node[SIN] * mx + node[COS] * my
            at, along = node[X] + lever, node[VX] - height * om
        ground, grade = road_under(head[ROAD], at)
        y, rising, sinking = node[Y] + height, node[VY] + lever * om, grade * along
        low, lowering = ground, sinking
        if row[HAS_TYRE]:
            low, lowering = q[row[HUB_Q]] + 0.0 * om, v[row[HUB_V]] + 0.0 * om
        own[LEVER_X], own[GRADE], own[ROAD_RATE] = lever, grade, sinking
        own[SPRING_LENGTH], own[SPRING_RATE] = y - low, rising - lowering
        force = x[STIFFNESS] * (x[LENGTH] - own[SPRING_LENGTH]) - x[DAMPING] * own[SPRING_RATE]
        own[SQUEEZE], own[TYRE_RATE], push = 0.0 * om, 0.0 * om, force
        if row[HAS_TYRE]:
            own[SQUEEZE], own[TYRE_RATE] = x[RADIUS] - (low - ground), lowering - sinking
            push = x[TYRE_K] * own[SQUEEZE] - x[TYRE_D] * own[TYRE_RATE]
        if row[UNILATERAL] and push.real < 0.0:
            push = 0.0 * om
            if not row[HAS_TYRE]:
                force = push
        own[SPRING_FORCE], own[GROUND_FORCE] = force, push


@kernel
def apply_wheel_forces(address, w, sign):
    """FORCE of the nodes -= sign times the wheels' forces."""
    w = borrowed(w)
    head = header_at(address)
    table, _ = wheels_of(head)
    for j in range(head[WHEELS]):
        node = w[NODE_ROWS * table[WHEEL_COLUMNS * j + WHEEL_NODE] :]
        own = w[head[WHEELS_AT] + WHEEL_ROWS * j :]
        node[FORCE + 1] -= sign * own[SPRING_FORCE]
        node[FORCE + 2] -= sign * own[LEVER_X] * own[SPRING_FORCE]


@kernel
def load_hubs(address, w, gravity, wheels, tau):
    """tau of the hubs at rest; gravity, wheels: 1 or 0. Their mass is armature of the general tree."""
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[WHEELS]):
        row = table[WHEEL_COLUMNS * j : WHEEL_COLUMNS * (j + 1)]
        if row[HAS_TYRE]:
            own = w[head[WHEELS_AT] + WHEEL_ROWS * j :]
            weight = numbers[WHEEL_SIZE * j + HUB_MASS] * gy
            tau[row[HUB_V]] = -gravity * weight - wheels * (own[GROUND_FORCE] - own[SPRING_FORCE])


@kernel
def articulate_wheels(address, w, tau, extra, h):
    """Forces of the wheels on the nodes, and what an implicit step of h adds: to FORCE and BODY, before
    `articulate`. Hubs are eliminated here; extra holds their mass.
    """
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[WHEELS]):
        row = table[WHEEL_COLUMNS * j : WHEEL_COLUMNS * (j + 1)]
        x = numbers[WHEEL_SIZE * j : WHEEL_SIZE * (j + 1)]
        node = w[NODE_ROWS * row[WHEEL_NODE] :]
        own = w[head[WHEELS_AT] + WHEEL_ROWS * j :]
        added, tyre = h * (x[DAMPING] + h * x[STIFFNESS]), h * (x[TYRE_D] + h * x[TYRE_K])
        force, push = own[SPRING_FORCE], own[GROUND_FORCE]
        slack = row[UNILATERAL] and own[GROUND_FORCE] == 0.0
        if slack and not row[HAS_TYRE]:
            added = 0.0
        else:
            force -= h * x[STIFFNESS] * own[SPRING_RATE]
        if slack:
            tyre = 0.0
        else:
            push -= h * x[TYRE_K] * own[TYRE_RATE]
        own[ADDED] = added
        if row[HAS_TYRE]:
            at = row[HUB_V]
            # extra of a hub includes its mass
            own[HUB_PIVOT] = extra[at] + added + tyre
            own[HUB_PUSH] = tau[at] + x[HUB_MASS] * gy + push - force
            force += added * own[HUB_PUSH] / own[HUB_PIVOT]
            added -= added * added / own[HUB_PIVOT]
        force -= added * gy  # BODY meets accelerations minus gravity
        lever = own[LEVER_X]
        node[FORCE + 1] -= force
        node[FORCE + 2] -= lever * force
        node[BODY + 2] += added
        node[BODY + 4] += added * lever
        node[BODY + 5] += added * lever * lever


@kernel
def finish_hubs(address, w, a):
    """Accelerations of the hubs, after `articulate`."""
    w = borrowed(w)
    head = header_at(address)
    table, _ = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[WHEELS]):
        row = table[WHEEL_COLUMNS * j : WHEEL_COLUMNS * (j + 1)]
        if row[HAS_TYRE]:
            node = w[NODE_ROWS * row[WHEEL_NODE] :]
            own = w[head[WHEELS_AT] + WHEEL_ROWS * j :]
            mount = node[ACCEL + 1] + gy + own[LEVER_X] * node[ACCEL + 2]
            a[row[HUB_V]] = (own[HUB_PUSH] + own[ADDED] * mount) / own[HUB_PIVOT]


@kernel(forceinline=True)
def taken_by(row, x, own, rate, rolling):
    """Power that dampers take while spring and tyre lengthen at these rates [W]."""
    loose, tyre = row[UNILATERAL], row[HAS_TYRE]
    travel, speed = x[LENGTH] - own[SPRING_LENGTH], own[SPRING_RATE]
    taken = taken_power(loose and not tyre, x[STIFFNESS], x[DAMPING], travel, own[SPRING_FORCE], speed, rate)
    if tyre:
        push, speed = own[GROUND_FORCE], own[TYRE_RATE]
        taken += taken_power(loose, x[TYRE_K], x[TYRE_D], own[SQUEEZE], push, speed, rolling)
    return taken


@kernel
def wheel_energy(address, w):
    """Energy of springs and tyres [J]."""
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    energy = 0.0
    for j in range(head[WHEELS]):
        row = table[WHEEL_COLUMNS * j : WHEEL_COLUMNS * (j + 1)]
        x = numbers[WHEEL_SIZE * j : WHEEL_SIZE * (j + 1)]
        own = w[head[WHEELS_AT] + WHEEL_ROWS * j :]
        travel = stored_length(row[UNILATERAL] and not row[HAS_TYRE], x[LENGTH] - own[SPRING_LENGTH])
        squeeze = stored_length(row[UNILATERAL], own[SQUEEZE])
        energy += 0.5 * x[STIFFNESS] * travel**2 + 0.5 * x[TYRE_K] * squeeze**2
    return energy
