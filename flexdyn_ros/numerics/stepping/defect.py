"""Energy that a fixed step takes by itself: what its forces exchanged with the stores, less what they lost.

A step that replaces forces over its length by forces at few points books work that differs from the change of
the energies. For constant inertia, stiffness and gravity gradient the difference follows exactly from the
step's increments, without regard to what other forces did: for a linearly implicit Euler step from the mean
velocity and the point at which each force is taken; for an extrapolation from the distance of what it
combines; for a Runge-Kutta method from the stages and b_i a_ij + b_j a_ji - b_i b_j (Burrage & Butcher 1979;
Hairer, Lubich & Wanner 2006, section IV.2). Directional derivatives of the potential are central
differences, exact where it is quadratic.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import move
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.table import ENERGY, call_observe, table_at

from .memory import (
    NUMERICAL,
    ROSENBROCK,
    S_DEFECT,
    S_METHOD,
    S_ROBOT,
    S_TABLE,
    S_WORK,
    header_of,
    open_chart,
    open_steps,
)

#: b_i a_ij + b_j a_ji - b_i b_j of the classical Runge-Kutta method
_A = np.array([[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
_B = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
_DEFECT = _B[:, None] * _A + (_B[:, None] * _A).T - np.outer(_B, _B)
_VALUES, _VECTORS = np.linalg.eigh(_DEFECT)
_KEPT = np.argsort(np.abs(_VALUES))[1:]
#: its eigenvalues but for one that is 0, and their eigenvectors as rows (RANK, 4)
RK4_VALUES, RK4_VECTORS = _VALUES[_KEPT], np.ascontiguousarray(_VECTORS[:, _KEPT].T)
RANK = 3


@kernel
def energies_of(steps, q, v, out):
    """out (3,) = kinetic, gravity and elastic energy at (q, v) [J]."""
    head = header_of(steps)
    arguments = (head[S_ROBOT], head[S_WORK], address_of(q), address_of(v), address_of(out))
    call_observe(table_at(head[S_TABLE])[ENERGY], arguments)


@kernel
def total_energy(steps, q, v):
    """Energy at (q, v)."""
    out = open_steps(steps).energies
    energies_of(steps, q, v, out)
    return out[0] + out[1] + out[2]


@kernel
def slope_of_potential(steps, q, y):
    """Change of gravity and of elastic energy along y (nv,) to first order: a pair."""
    memory, chart = open_steps(steps), open_chart(steps)
    out = memory.energies
    move(chart, q, y, 1.0, memory.q3)
    energies_of(steps, memory.q3, memory.zeros, out)
    gravity, elastic = out[1], out[2]
    move(chart, q, y, -1.0, memory.q3)
    energies_of(steps, memory.q3, memory.zeros, out)
    return 0.5 * (gravity - out[1]), 0.5 * (elastic - out[2])


@kernel
def book_euler(steps, q0, q1, mean, account0, account1):
    """Add what a linearly implicit Euler step from q0 to q1 took; mean (nv,) = h times its mean velocity.

    It takes the family's elastic forces at its end if the method is implicit in them, others at its start.
    """
    head = header_of(steps)
    if head[S_DEFECT] == 0:
        return
    memory = open_steps(steps)
    out = memory.energies
    gravity, elastic = slope_of_potential(steps, q0, mean)
    if head[S_METHOD] == ROSENBROCK:
        _, elastic = slope_of_potential(steps, q1, mean)
    taken = gravity + elastic
    energies_of(steps, q0, memory.zeros, out)
    taken += out[1] + out[2]
    energies_of(steps, q1, memory.zeros, out)
    account1[NUMERICAL] = account0[NUMERICAL] + taken - out[1] - out[2]


@kernel
def gather_stage(steps, j, rate, a):
    """Take stage j of a Runge-Kutta step, its rates (nv,) of position and velocity, into the sums."""
    if header_of(steps)[S_DEFECT] == 0:
        return
    memory = open_steps(steps)
    nv = memory.nv
    for k in range(RANK):
        at = 2 * k * nv
        for i in range(nv):
            if j == 0:
                memory.stages[at + i] = memory.stages[at + nv + i] = 0.0
            memory.stages[at + i] += RK4_VECTORS[k, j] * rate[i]
            memory.stages[at + nv + i] += RK4_VECTORS[k, j] * a[i]


@kernel
def book_rk4(steps, h):
    """Add what the Runge-Kutta step from q0, v0 took, after `gather_stage` of all stages."""
    if header_of(steps)[S_DEFECT] == 0:
        return
    memory, chart = open_steps(steps), open_chart(steps)
    nv = memory.nv
    here = total_energy(steps, memory.q0, memory.zeros)
    taken = 0.0
    for k in range(RANK):
        x = window(memory.stages, 2 * k * nv, nv)
        y = window(memory.stages, 2 * k * nv + nv, nv)
        for i in range(nv):
            y[i] *= h
        # y M y = 2 kinetic energy; x K x = second difference of the potential
        norm = -2.0 * here
        for sign in (1.0, -1.0):
            move(chart, memory.q0, x, sign * h, memory.q3)
            norm += total_energy(steps, memory.q3, y)
        taken += 0.5 * RK4_VALUES[k] * norm
    memory.account1[NUMERICAL] = memory.account[NUMERICAL] + taken
