"""Fixed steps of a general tree on wheels: its functions in the table of numerics/verbs/table.py.

The tree's own functions are called through their table (word INNER), wheels are put around them. Steps are
implicit in the stiffness and damping that the tree names and, for hubs, in that of tyre and spring; the
suspension pulls at the tree explicitly. Work memory: that of the tree's functions, then what `rows_of` cuts.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.flexible.kernels.views import WORK_SIZE
from flexdyn_ros.families.trees.rigid.kernels.views import NQ, NV
from flexdyn_ros.numerics.compiling.callbacks import address_of, callback
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.functions import absolute, less, select
from flexdyn_ros.numerics.verbs import table as motion
from flexdyn_ros.numerics.verbs.head import robot_of

from . import tree_wheels
from .tree_wheels import (
    carry_wheels,
    inner_function,
    taken_by,
    update_tree_wheels,
    weigh_hubs,
    wheel_tables,
    wheeled_header,
)


def wheeled_steps_size(inner: int, wheels: int, nv: int) -> int:
    """Numbers of work memory, of which the tree's functions take `inner`."""
    return inner + 2 * tree_wheels.WHEEL_ROWS * wheels + 6 + 1 + 4 * nv


@kernel(forceinline=True)
def rows_of(head, work):
    """Rows of the wheels, twice; a wrench (6); the supplied power (1); four vectors (nv), flat."""
    n, nv = tree_wheels.WHEEL_ROWS * head[tree_wheels.WHEELS], head[NV]
    own = floats_at(work + 8 * head[tree_wheels.INNER_WORK], 2 * n + 7 + 4 * nv)
    return (
        window(own, 0, n),
        window(own, n, n),
        window(own, 2 * n, 6),
        window(own, 2 * n + 6, 1),
        tail(own, 2 * n + 7),
    )


@callback(motion.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """See numerics/verbs/table.py."""
    address = robot_of(robot)
    head = wheeled_header(address)
    nv = head[NV]
    rows, hubs, wrench, _, room = rows_of(head, work)
    memory = floats_at(work, head[WORK_SIZE])
    f, added = window(room, 0, nv), window(room, nv, nv)
    efforts, more = floats_at(force, nv), floats_at(extra, nv)
    update_tree_wheels(address, memory, floats_at(q, head[NQ]), floats_at(v, nv), rows)
    for i in range(nv):
        f[i], added[i] = 0.0, more[i]
    carry_wheels(address, memory, rows, wrench, f)
    weigh_hubs(address, f)
    add_implicit_hub_terms(head, rows, h, f, added)
    for i in range(nv):
        f[i] += efforts[i]
    move_hubs(head, f, added, hubs)
    arguments = (robot, work, t, q, v, address_of(f), address_of(added), h, a)
    if head[tree_wheels.GIVEN] >= 0:
        drive(head, arguments, room, efforts, floats_at(a, nv))
    else:
        motion.call_accelerate(inner_function(head, motion.ACCELERATE), arguments)
    keep_hubs(head, hubs, floats_at(a, nv))
    return 0


@kernel
def move_hubs(head, f, added, hubs):
    """Accelerations of the hubs, which are no nodes of the tree, into hubs (wheels,)."""
    table, numbers = wheel_tables(head)
    for j in range(head[tree_wheels.WHEELS]):
        row = tail(table, tree_wheels.WHEEL_COLUMNS * j)
        if row[tree_wheels.HAS_TYRE]:
            at = row[tree_wheels.HUB_V]
            hubs[j] = f[at] / (numbers[tree_wheels.WHEEL_SIZE * j + tree_wheels.HUB_MASS] + added[at])


@kernel
def keep_hubs(head, hubs, a):
    """Write the accelerations of the hubs into a."""
    table, _ = wheel_tables(head)
    for j in range(head[tree_wheels.WHEELS]):
        if table[tree_wheels.WHEEL_COLUMNS * j + tree_wheels.HAS_TYRE]:
            a[table[tree_wheels.WHEEL_COLUMNS * j + tree_wheels.HUB_V]] = hubs[j]


@kernel
def add_implicit_hub_terms(head, rows, h, f, added):
    """What an implicit step of h adds on the diagonal of the hubs, and takes from their force."""
    table, numbers = wheel_tables(head)
    for j in range(head[tree_wheels.WHEELS]):
        row, x = tail(table, tree_wheels.WHEEL_COLUMNS * j), tail(numbers, tree_wheels.WHEEL_SIZE * j)
        own = tail(rows, tree_wheels.WHEEL_ROWS * j)
        if row[tree_wheels.HAS_TYRE]:
            lifted = less(0.5, own[tree_wheels.SLACK])
            tyre_k = select(lifted, 0.0, x[tree_wheels.TYRE_K])
            tyre_d = select(lifted, 0.0, x[tree_wheels.TYRE_D])
            K, D = x[tree_wheels.STIFFNESS] + tyre_k, x[tree_wheels.DAMPING] + tyre_d
            added[row[tree_wheels.HUB_V]] += h * (D + h * K)
            f[row[tree_wheels.HUB_V]] -= h * (x[tree_wheels.STIFFNESS] * -own[tree_wheels.SPRING_RATE])
            f[row[tree_wheels.HUB_V]] -= h * tyre_k * own[tree_wheels.TYRE_RATE]


@kernel
def drive(head, arguments, room, efforts, a):
    """Accelerations while that of the prescribed coordinate is given in a; its effort is found in efforts.

    The answer is linear in that effort: it lies on the line through those to none and to an effort of the
    size that will be needed.
    """
    robot, work, t, q, v, _, added, h, _ = arguments
    nv, i = head[NV], head[tree_wheels.GIVEN]
    f, first, trial = window(room, 0, nv), window(room, 2 * nv, nv), window(room, 3 * nv, nv)
    tree = inner_function(head, motion.ACCELERATE)
    wanted = a[i]
    f[i] -= efforts[i]
    # the tree's functions may overwrite the force: each pass gets a copy
    for j in range(nv):
        trial[j] = f[j]
    motion.call_accelerate(tree, (robot, work, t, q, v, address_of(trial), added, h, address_of(first)))
    guess = 10.0 * (wanted - first[i])
    guess = select(less(1.0, absolute(guess)), guess, 1.0)
    for j in range(nv):
        trial[j] = f[j]
    trial[i] += guess
    motion.call_accelerate(tree, (robot, work, t, q, v, address_of(trial), added, h, address_of(a)))
    share = (wanted - first[i]) / (a[i] - first[i])
    for j in range(nv):
        a[j] = first[j] + share * (a[j] - first[j])
    a[i] = wanted
    efforts[i] = share * guess


@callback(motion.losses.signature)
def losses(robot, work, t, q, v0, speed, mean):
    """See numerics/verbs/table.py; what the road gives is kept for `supply`.

    One array for speed and mean: the rows of the wheels are those of it already.
    """
    address = robot_of(robot)
    head = wheeled_header(address)
    nv = head[NV]
    table, numbers = wheel_tables(head)
    rows, before, _, given, _ = rows_of(head, work)
    memory, q_now = floats_at(work, head[WORK_SIZE]), floats_at(q, head[NQ])
    taken = motion.call_losses(inner_function(head, motion.LOSSES), (robot, work, t, q, v0, speed, mean))
    if speed == mean:
        before = rows
    else:
        update_tree_wheels(address, memory, q_now, floats_at(mean, nv), before)
        update_tree_wheels(address, memory, q_now, floats_at(speed, nv), rows)
    given[0] = 0.0
    for j in range(head[tree_wheels.WHEELS]):
        row, x = tail(table, tree_wheels.WHEEL_COLUMNS * j), tail(numbers, tree_wheels.WHEEL_SIZE * j)
        now, then = tail(rows, tree_wheels.WHEEL_ROWS * j), tail(before, tree_wheels.WHEEL_ROWS * j)
        taken += taken_by(row, x, now, then[tree_wheels.SPRING_RATE], then[tree_wheels.TYRE_RATE])
        given[0] += now[tree_wheels.GROUND_FORCE] * then[tree_wheels.ROAD_RATE]
    return taken


@callback(motion.supply.signature)
def supply(robot, work):
    """See numerics/verbs/table.py: the power of the moving road."""
    return rows_of(wheeled_header(robot_of(robot)), work)[3][0]


functions = {"accelerate": accelerate, "losses": losses, "supply": supply}
