"""Memory of a fixed-step simulation as kernels see it.

Named views behind one address (see numerics/compiling/memory.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window

SEMI_IMPLICIT_EULER, RK4, ROSENBROCK, STAGGERED = 0, 1, 2, 3

#: int64 words of the header that an address points to
STEP_HEADER = 19
(
    S_NQ,
    S_NV,
    S_NU,
    S_METHOD,
    S_STOPS,
    S_SATURATE,
    S_WRENCHES,
    S_INTS,
    S_FLOATS,
    S_BODIES,
    S_LOADS,
    S_ROBOT,
    S_WORK,
    S_TABLE,
    S_ACTUATOR,
    S_FREE,
    S_PROVIDE,
    S_DEFECT,
    S_STEP,
) = range(STEP_HEADER)

# rows of StepMemory.account
WORK_DONE, DISSIPATED, KINETIC, GRAVITY, ELASTIC, NUMERICAL = range(6)
ACCOUNT = 6

#: names of the float fields of StepMemory by their length, in the order in which they lie in memory
OF_NQ = ("q", "q0", "q1", "q2", "q3")
OF_NV = ("v", "a", "v0", "v1", "v2", "load", "v_bound", "given", "zeros")
OF_NU = (
    "tau",
    "drive",
    "effort",
    "target_q",
    "target_v",
    "servo_stiffness",
    "servo_damping",
    "effort_limit",
    "lower",
    "upper",
    "stop_stiffness",
    "stop_damping",
    "position",
    "speed",
    "extra",
    "effort1",
    "effort2",
    "effort3",
    "effort4",
    "scaled",
)
OF_ACCOUNT = ("account", "account1", "account2")
#: rows (nv,) of StepMemory.stage, and of StepMemory.stages
STAGES, SUMS = 8, 6
#: length of StepMemory.energies
ENERGY = 3


def step_sizes(nq: int, nv: int, nu: int) -> dict[str, int]:
    """Length of every float field of StepMemory, in order."""
    sizes = dict.fromkeys(OF_NQ, nq) | dict.fromkeys(OF_NV, nv) | {"stage": STAGES * nv}
    sizes |= {"stages": SUMS * nv} | dict.fromkeys(OF_NU, nu) | dict.fromkeys(OF_ACCOUNT, ACCOUNT)
    return sizes | {"energies": ENERGY}


def step_ints(nv: int, nu: int, n_free: int) -> int:
    """Length of the int64 memory."""
    return 2 * nv + 3 * nu + 3 * (n_free + 1)


class StepMemory(NamedTuple):
    """Arrays of a fixed-step simulation; one per thread. SI.

    By coordinate, (nq,) or (nv,):

    q, v, a : state, and mean acceleration over the last step
    load : generalized force of the wrenches
    v_bound : speeds beyond this mean divergence
    given : accelerations of prescribed coordinates, 0 for others
    stage (8 nv,), stages (6 nv,), q0 to v2, zeros : work space

    By effort, (nu,):

    tau, drive, effort : command; what the actuators make of it in this step; mean effort of actuators and
        servo over the last step
    target_q, target_v, servo_stiffness, servo_damping : servo
    effort_limit : infinite where efforts are not clipped
    lower, upper, stop_stiffness, stop_damping : stops
    position, speed, extra, effort1 to effort4 : work space
    scaled : added to the diagonal of the mass matrix by explicit steps (simulation/steps/mass_scaling.py)

    account (6,) : work, dissipated; kinetic, gravity and elastic energy of the state; what the steps took by
        themselves [J]
    energies (3,) : work space
    clipped, saturated, at_stop : int64 (nu,)
        Not 0 where the effort is clipped in this step, was in this call, a position is beyond a limit (with
        its sign).
    prescribed : int64 (nv,), 1 for prescribed coordinates
    q_of_v : int64 (nv,), index in q of a velocity coordinate, -1 for turns of free bodies
    free : int64 (3 (f + 1),), for numerics/algebra/manifold.py: types, indices in q and v of f free bodies
    after a
        body 0
    bodies (k,) int64, points (k, 3) or (k, 4), wrenches (k, 6), flat : external wrenches, world axes
    """

    nq: int
    nv: int
    nu: int
    q: np.ndarray
    q0: np.ndarray
    q1: np.ndarray
    q2: np.ndarray
    q3: np.ndarray
    v: np.ndarray
    a: np.ndarray
    v0: np.ndarray
    v1: np.ndarray
    v2: np.ndarray
    load: np.ndarray
    v_bound: np.ndarray
    given: np.ndarray
    zeros: np.ndarray
    stage: np.ndarray
    stages: np.ndarray
    tau: np.ndarray
    drive: np.ndarray
    effort: np.ndarray
    target_q: np.ndarray
    target_v: np.ndarray
    servo_stiffness: np.ndarray
    servo_damping: np.ndarray
    effort_limit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stop_stiffness: np.ndarray
    stop_damping: np.ndarray
    position: np.ndarray
    speed: np.ndarray
    extra: np.ndarray
    effort1: np.ndarray
    effort2: np.ndarray
    effort3: np.ndarray
    effort4: np.ndarray
    scaled: np.ndarray
    account: np.ndarray
    account1: np.ndarray
    account2: np.ndarray
    energies: np.ndarray
    clipped: np.ndarray
    saturated: np.ndarray
    at_stop: np.ndarray
    prescribed: np.ndarray
    q_of_v: np.ndarray
    free: np.ndarray
    bodies: np.ndarray
    points: np.ndarray
    wrenches: np.ndarray


class Chart(NamedTuple):
    """Where q and v belong together: as much of a TreeModel as numerics/algebra/manifold.py reads."""

    nb: int
    nv: int
    joint_type: np.ndarray
    q_index: np.ndarray
    v_index: np.ndarray
    q_of_v: np.ndarray


@kernel(forceinline=True)
def header_of(steps):
    """All words of the header."""
    return ints_at(steps, STEP_HEADER)


@kernel(forceinline=True)
def open_chart(steps):
    """Chart of the coordinates of a simulation."""
    head = ints_at(steps, STEP_HEADER)
    n, nb = head[S_NV], head[S_FREE] + 1
    i = ints_at(head[S_INTS], 2 * n + 3 * head[S_NU] + 3 * nb)
    b = 2 * n + 3 * head[S_NU]
    kinds, of_q, of_v = window(i, b, nb), window(i, b + nb, nb), window(i, b + 2 * nb, nb)
    return Chart(nb, n, kinds, of_q, of_v, window(i, 3 * head[S_NU] + n, n))


@kernel(forceinline=True)
def open_steps(address):
    """StepMemory seen through the header at `address`."""
    head = ints_at(address, STEP_HEADER)
    p, n, m = head[S_NQ], head[S_NV], head[S_NU]
    nb = head[S_FREE] + 1
    # offsets follow the order of step_sizes; a test compares them
    a = 5 * p
    d = a + 17 * n
    b = d + 6 * n
    c = b + 20 * m
    f = floats_at(head[S_FLOATS], c + 3 * ACCOUNT + ENERGY)
    i = ints_at(head[S_INTS], 2 * n + 3 * m + 3 * nb)
    k = head[S_WRENCHES]
    loads = floats_at(head[S_LOADS], 10 * k)
    return StepMemory(
        p,
        n,
        m,
        window(f, 0, p),
        window(f, p, p),
        window(f, 2 * p, p),
        window(f, 3 * p, p),
        window(f, 4 * p, p),
        window(f, a, n),
        window(f, a + n, n),
        window(f, a + 2 * n, n),
        window(f, a + 3 * n, n),
        window(f, a + 4 * n, n),
        window(f, a + 5 * n, n),
        window(f, a + 6 * n, n),
        window(f, a + 7 * n, n),
        window(f, a + 8 * n, n),
        window(f, a + 9 * n, 8 * n),
        window(f, d, 6 * n),
        window(f, b, m),
        window(f, b + m, m),
        window(f, b + 2 * m, m),
        window(f, b + 3 * m, m),
        window(f, b + 4 * m, m),
        window(f, b + 5 * m, m),
        window(f, b + 6 * m, m),
        window(f, b + 7 * m, m),
        window(f, b + 8 * m, m),
        window(f, b + 9 * m, m),
        window(f, b + 10 * m, m),
        window(f, b + 11 * m, m),
        window(f, b + 12 * m, m),
        window(f, b + 13 * m, m),
        window(f, b + 14 * m, m),
        window(f, b + 15 * m, m),
        window(f, b + 16 * m, m),
        window(f, b + 17 * m, m),
        window(f, b + 18 * m, m),
        window(f, b + 19 * m, m),
        window(f, c, ACCOUNT),
        window(f, c + ACCOUNT, ACCOUNT),
        window(f, c + 2 * ACCOUNT, ACCOUNT),
        window(f, c + 3 * ACCOUNT, ENERGY),
        window(i, 0, m),
        window(i, m, m),
        window(i, 2 * m, m),
        window(i, 3 * m, n),
        window(i, 3 * m + n, n),
        window(i, 3 * m + 2 * n, 3 * nb),
        ints_at(head[S_BODIES], k),
        window(loads, 6 * k, 4 * k),
        window(loads, 0, 6 * k),
    )
