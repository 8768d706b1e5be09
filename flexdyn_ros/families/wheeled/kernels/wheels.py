"""Sprung wheels on a road: forces on nodes of a planar tree and on hubs (docs/theory/mobile.md).

A wheel without tyre stands on the road with the lower end of its spring; one with a tyre has a hub of its own
mass between spring and tyre, whose height is a coordinate. Forces are vertical, positive upward on what they
carry.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import borrowed
from flexdyn_ros.numerics.compiling.windows import tail
from flexdyn_ros.numerics.numbers.functions import both, equal, less, select

from . import views
from .road import road_under
from .views import gravity_of, header_at, node_of, wheel_rows, wheels_of


@kernel
def update_wheels(address, w, q, v):
    """Write the rows of all wheels, after `move_planar`."""
    w, q, v = borrowed(w), borrowed(q), borrowed(v)
    head = header_at(address)
    table, numbers = wheels_of(head)
    for j in range(head[views.WHEELS]):
        row = tail(table, views.WHEEL_COLUMNS * j)
        x = tail(numbers, views.WHEEL_SIZE * j)
        node = node_of(w, row[views.WHEEL_NODE])
        own = wheel_rows(head, w, j)
        mx, my, om = x[views.MOUNT_X], x[views.MOUNT_Y], node[views.OMEGA]
        lever, height = mx + 0.0 * om, my + mx * node[views.TH]
        at, along = node[views.X] + mx, node[views.VX]
        if head[views.EXACT]:
            lever, height = (
                node[views.COS] * mx - node[views.SIN] * my,
                node[views.SIN] * mx + node[views.COS] * my,
            )
            at, along = node[views.X] + lever, node[views.VX] - height * om
        ground, grade = road_under(head[views.ROAD], at)
        y, rising, sinking = node[views.Y] + height, node[views.VY] + lever * om, grade * along
        low, lowering = ground, sinking
        if row[views.HAS_TYRE]:
            low, lowering = q[row[views.HUB_Q]] + 0.0 * om, v[row[views.HUB_V]] + 0.0 * om
        own[views.LEVER_X], own[views.GRADE], own[views.ROAD_RATE] = lever, grade, sinking
        own[views.SPRING_LENGTH], own[views.SPRING_RATE] = y - low, rising - lowering
        force = (
            x[views.STIFFNESS] * (x[views.LENGTH] - own[views.SPRING_LENGTH])
            - x[views.DAMPING] * own[views.SPRING_RATE]
        )
        own[views.SQUEEZE], own[views.TYRE_RATE], push = 0.0 * om, 0.0 * om, force
        if row[views.HAS_TYRE]:
            own[views.SQUEEZE], own[views.TYRE_RATE] = x[views.RADIUS] - (low - ground), lowering - sinking
            push = x[views.TYRE_K] * own[views.SQUEEZE] - x[views.TYRE_D] * own[views.TYRE_RATE]
        if row[views.UNILATERAL]:
            lifted = less(push, 0.0)
            if not row[views.HAS_TYRE]:
                force = select(lifted, 0.0 * om, force)
            push = select(lifted, 0.0 * om, push)
        own[views.SPRING_FORCE], own[views.GROUND_FORCE] = force, push


@kernel
def apply_wheel_forces(address, w, sign):
    """FORCE of the nodes -= sign times the wheels' forces."""
    w = borrowed(w)
    head = header_at(address)
    table, _ = wheels_of(head)
    for j in range(head[views.WHEELS]):
        node = node_of(w, table[views.WHEEL_COLUMNS * j + views.WHEEL_NODE])
        own = wheel_rows(head, w, j)
        node[views.FORCE + 1] -= sign * own[views.SPRING_FORCE]
        node[views.FORCE + 2] -= sign * own[views.LEVER_X] * own[views.SPRING_FORCE]


@kernel
def load_hubs(address, w, gravity, wheels, tau):
    """tau of the hubs at rest; gravity, wheels: 1 or 0. Their mass is armature of the general tree."""
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[views.WHEELS]):
        row = tail(table, views.WHEEL_COLUMNS * j)
        if row[views.HAS_TYRE]:
            own = wheel_rows(head, w, j)
            weight = numbers[views.WHEEL_SIZE * j + views.HUB_MASS] * gy
            tau[row[views.HUB_V]] = -gravity * weight - wheels * (
                own[views.GROUND_FORCE] - own[views.SPRING_FORCE]
            )


@kernel
def articulate_wheels(address, w, tau, extra, h):
    """Forces of the wheels on the nodes, and what an implicit step of h adds: to FORCE and BODY, before
    `articulate`. Hubs are eliminated here; extra holds their mass.
    """
    w, tau, extra = borrowed(w), borrowed(tau), borrowed(extra)
    head = header_at(address)
    table, numbers = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[views.WHEELS]):
        row = tail(table, views.WHEEL_COLUMNS * j)
        x = tail(numbers, views.WHEEL_SIZE * j)
        node = node_of(w, row[views.WHEEL_NODE])
        own = wheel_rows(head, w, j)
        force, push = own[views.SPRING_FORCE], own[views.GROUND_FORCE]
        zero = 0.0 * force
        added = zero + h * (x[views.DAMPING] + h * x[views.STIFFNESS])
        tyre = zero + h * (x[views.TYRE_D] + h * x[views.TYRE_K])
        pull = h * x[views.STIFFNESS] * own[views.SPRING_RATE]
        squeeze = h * x[views.TYRE_K] * own[views.TYRE_RATE]
        if row[views.UNILATERAL]:
            slack = equal(own[views.GROUND_FORCE], 0.0)
            if not row[views.HAS_TYRE]:
                added, pull = select(slack, zero, added), select(slack, zero, pull)
            tyre, squeeze = select(slack, zero, tyre), select(slack, zero, squeeze)
        force = force - pull
        push = push - squeeze
        own[views.ADDED] = added
        if row[views.HAS_TYRE]:
            at = row[views.HUB_V]
            # extra of a hub includes its mass
            own[views.HUB_PIVOT] = extra[at] + added + tyre
            own[views.HUB_PUSH] = tau[at] + x[views.HUB_MASS] * gy + push - force
            force += added * own[views.HUB_PUSH] / own[views.HUB_PIVOT]
            added -= added * added / own[views.HUB_PIVOT]
        force -= added * gy  # BODY meets accelerations minus gravity
        lever = own[views.LEVER_X]
        node[views.FORCE + 1] -= force
        node[views.FORCE + 2] -= lever * force
        node[views.BODY + 2] += added
        node[views.BODY + 4] += added * lever
        node[views.BODY + 5] += added * lever * lever


@kernel
def finish_hubs(address, w, a):
    """Accelerations of the hubs, after `articulate`."""
    w, a = borrowed(w), borrowed(a)
    head = header_at(address)
    table, _ = wheels_of(head)
    gy = gravity_of(head)[1]
    for j in range(head[views.WHEELS]):
        row = tail(table, views.WHEEL_COLUMNS * j)
        if row[views.HAS_TYRE]:
            node = node_of(w, row[views.WHEEL_NODE])
            own = wheel_rows(head, w, j)
            mount = node[views.ACCEL + 1] + gy + own[views.LEVER_X] * node[views.ACCEL + 2]
            a[row[views.HUB_V]] = (own[views.HUB_PUSH] + own[views.ADDED] * mount) / own[views.HUB_PIVOT]


@kernel(forceinline=True)
def taken_by(row, x, own, rate, rolling):
    """Power that dampers take while spring and tyre lengthen at these rates [W]."""
    loose, tyre = row[views.UNILATERAL], row[views.HAS_TYRE]
    travel, speed = x[views.LENGTH] - own[views.SPRING_LENGTH], own[views.SPRING_RATE]
    taken = taken_power(
        loose and not tyre, x[views.STIFFNESS], x[views.DAMPING], travel, own[views.SPRING_FORCE], speed, rate
    )
    if tyre:
        push, speed = own[views.GROUND_FORCE], own[views.TYRE_RATE]
        taken += taken_power(
            loose, x[views.TYRE_K], x[views.TYRE_D], own[views.SQUEEZE], push, speed, rolling
        )
    return taken


@kernel
def wheel_energy(address, w):
    """Energy of springs and tyres [J]."""
    w = borrowed(w)
    head = header_at(address)
    table, numbers = wheels_of(head)
    energy = 0.0
    for j in range(head[views.WHEELS]):
        row = tail(table, views.WHEEL_COLUMNS * j)
        x = tail(numbers, views.WHEEL_SIZE * j)
        own = wheel_rows(head, w, j)
        travel = stored_length(
            row[views.UNILATERAL] and not row[views.HAS_TYRE], x[views.LENGTH] - own[views.SPRING_LENGTH]
        )
        squeeze = stored_length(row[views.UNILATERAL], own[views.SQUEEZE])
        energy += 0.5 * x[views.STIFFNESS] * travel**2 + 0.5 * x[views.TYRE_K] * squeeze**2
    return energy


# Energy of springs that stand on the ground without holding on to it (docs/theory/mobile.md).
#
# Such a spring pushes by max(0, K s - D rate), where s is how much shorter than free it is and rate how fast
# it
# lengthens. What it stores and what its damper takes follow from that force: stored energy + taken = work.


@kernel(forceinline=True)
def stored_length(unilateral, s):
    """The part of s that stores energy: beyond its free length the spring could not give it back."""
    return select(less(s, 0.0), 0.0 * s, s) if unilateral else s


@kernel(forceinline=True)
def taken_power(unilateral, K, D, s, force, rate, moving):
    """Power [W] that is lost while the spring pushes by `force`, that at `rate`, and lengthens at `moving`.

    In contact it is the damper's D rate moving. Where the ground lets go before the spring is as long as
    free, what that still holds is lost as it lengthens.
    """
    damped = D * rate * moving
    if unilateral:
        lost = (K * stored_length(unilateral, s) - force) * moving
        return select(both(less(0.0, force), less(0.0, s)), damped, lost)
    return damped
