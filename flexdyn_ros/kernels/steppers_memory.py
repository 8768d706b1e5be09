"""Memory of a fixed-step simulation as kernels see it.

Named views behind one address (see kernels/memory.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiler import kernel
from .memory import floats_at, ints_at

SEMI_IMPLICIT_EULER, RK4, ROSENBROCK = 0, 1, 2

#: int64 words of the header that an address points to
STEP_HEADER = 12
(
    S_NQ,
    S_NV,
    S_METHOD,
    S_STOPS,
    S_SATURATE,
    S_WRENCHES,
    S_INTS,
    S_FLOATS,
    S_BODIES,
    S_LOADS,
    S_WORK,
    S_MIMIC,
) = range(STEP_HEADER)

# rows of StepMemory.account
WORK_DONE, DISSIPATED, KINETIC, GRAVITY, ELASTIC = range(5)
ACCOUNT = 5

#: (name, size as a multiple of nq, of nv, of nv^2, of one)
FIELDS = (
    ("q", 1, 0, 0, 0),
    ("v", 0, 1, 0, 0),
    ("a", 0, 1, 0, 0),
    ("tau", 0, 1, 0, 0),
    ("effort", 0, 1, 0, 0),
    ("target_q", 0, 1, 0, 0),
    ("target_v", 0, 1, 0, 0),
    ("servo_stiffness", 0, 1, 0, 0),
    ("servo_damping", 0, 1, 0, 0),
    ("effort_limit", 0, 1, 0, 0),
    ("lower", 0, 1, 0, 0),
    ("upper", 0, 1, 0, 0),
    ("stop_stiffness", 0, 1, 0, 0),
    ("stop_damping", 0, 1, 0, 0),
    ("v_bound", 0, 1, 0, 0),
    ("account", 0, 0, 0, ACCOUNT),
    ("load", 0, 1, 0, 0),
    ("q0", 1, 0, 0, 0),
    ("v0", 0, 1, 0, 0),
    ("q1", 1, 0, 0, 0),
    ("v1", 0, 1, 0, 0),
    ("q2", 1, 0, 0, 0),
    ("v2", 0, 1, 0, 0),
    ("stage", 0, 8, 0, 0),
    ("effort1", 0, 1, 0, 0),
    ("effort2", 0, 1, 0, 0),
    ("account1", 0, 0, 0, ACCOUNT),
    ("account2", 0, 0, 0, ACCOUNT),
    ("zeros", 0, 1, 0, 0),
    ("M", 0, 0, 1, 0),
)


def step_sizes(nq: int, nv: int) -> dict[str, int]:
    """Length of every float field of StepMemory, in order."""
    return {name: a * nq + b * nv + c * nv * nv + d for name, a, b, c, d in FIELDS}


class StepMemory(NamedTuple):
    """Arrays of a fixed-step simulation; one per thread. (nv,) unless said, SI, by velocity coordinate.

    q (nq,), v, a : state and mean acceleration over the last step
    tau, effort : commanded effort; mean effort of command and servo over the last step
    target_q, target_v, servo_stiffness, servo_damping : joint servo
    effort_limit : infinite where efforts are not clipped
    lower, upper, stop_stiffness, stop_damping : joint stops
    v_bound : speeds beyond this mean divergence
    account (5,) : work, dissipated; kinetic, gravity and elastic energy of the state [J]
    load : generalized force of the wrenches
    the rest : work space
    clipped, saturated, at_stop : int64
        Not 0 where the effort is clipped in this step, was in this call, q is beyond a limit (with its sign).
    bodies (k,) int64, points (k, 3), wrenches (k, 6), flat : external wrenches, world axes
    """

    nq: int
    nv: int
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
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
    v_bound: np.ndarray
    account: np.ndarray
    load: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    q1: np.ndarray
    v1: np.ndarray
    q2: np.ndarray
    v2: np.ndarray
    stage: np.ndarray
    effort1: np.ndarray
    effort2: np.ndarray
    account1: np.ndarray
    account2: np.ndarray
    zeros: np.ndarray
    M: np.ndarray
    clipped: np.ndarray
    saturated: np.ndarray
    at_stop: np.ndarray
    bodies: np.ndarray
    points: np.ndarray
    wrenches: np.ndarray


@kernel(forceinline=True)
def open_steps(address):
    """StepMemory seen through the header at `address`."""
    head = ints_at(address, STEP_HEADER)
    p, n = head[S_NQ], head[S_NV]
    f = floats_at(head[S_FLOATS], 4 * p + 29 * n + 3 * ACCOUNT + n * n)
    i = ints_at(head[S_INTS], 3 * n)
    k = head[S_WRENCHES]
    loads = floats_at(head[S_LOADS], 9 * k)
    # offsets follow the order of FIELDS; a test compares them
    b = p + 14 * n
    c = b + ACCOUNT + n
    d = c + 3 * p + 3 * n
    e = d + 8 * n
    g = e + 2 * n + 2 * ACCOUNT
    return StepMemory(
        p,
        n,
        f[0:p],
        f[p : p + n],
        f[p + n : p + 2 * n],
        f[p + 2 * n : p + 3 * n],
        f[p + 3 * n : p + 4 * n],
        f[p + 4 * n : p + 5 * n],
        f[p + 5 * n : p + 6 * n],
        f[p + 6 * n : p + 7 * n],
        f[p + 7 * n : p + 8 * n],
        f[p + 8 * n : p + 9 * n],
        f[p + 9 * n : p + 10 * n],
        f[p + 10 * n : p + 11 * n],
        f[p + 11 * n : p + 12 * n],
        f[p + 12 * n : p + 13 * n],
        f[p + 13 * n : p + 14 * n],
        f[b : b + ACCOUNT],
        f[b + ACCOUNT : c],
        f[c : c + p],
        f[c + p : c + p + n],
        f[c + p + n : c + 2 * p + n],
        f[c + 2 * p + n : c + 2 * p + 2 * n],
        f[c + 2 * p + 2 * n : c + 3 * p + 2 * n],
        f[c + 3 * p + 2 * n : d],
        f[d:e],
        f[e : e + n],
        f[e + n : e + 2 * n],
        f[e + 2 * n : e + 2 * n + ACCOUNT],
        f[e + 2 * n + ACCOUNT : g],
        f[g : g + n],
        f[g + n : g + n + n * n],
        i[0:n],
        i[n : 2 * n],
        i[2 * n : 3 * n],
        ints_at(head[S_BODIES], k),
        loads[0 : 3 * k],
        loads[3 * k : 9 * k],
    )
