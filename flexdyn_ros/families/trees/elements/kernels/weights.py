"""What elements that have mass take: wrenches of their motion, columns of M, energies and momenta."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.kinematics import flexible_jacobian
from flexdyn_ros.families.trees.flexible.kernels.rnea import accelerate_node
from flexdyn_ros.families.trees.flexible.kernels.views import carve_flexible, open_flexible
from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.views import prepare
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.numerics.algebra.rotations import add_cross, cross, load3, load9, store3, turn, unturn
from flexdyn_ros.numerics.compiling.callbacks import address_of
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import tail, window
from flexdyn_ros.numerics.numbers.functions import less, select

from .views import (
    ACCELERATION,
    BASE_NODE,
    COUNT,
    END_NODE,
    HAS_MASS,
    INERTIA,
    NUMBERS,
    NUMBERS_AT,
    OWN,
    ROWS,
    WEIGHT,
    carry,
    header_of,
    move_elements,
    row_of,
)


@kernel
def keep_acceleration(own, placement, out):
    """Accelerations (6,) = (angular; linear less gravity) of a frame with `placement` in a node, frame
    axes."""
    r = load9(placement, 0)
    px, py, pz = load3(placement, 9)
    wx, wy, wz = load3(own, views.OMEGA)
    ax, ay, az = load3(own, views.ALPHA)
    lx, ly, lz = load3(own, views.ACCELERATION)
    ux, uy, uz = cross(wx, wy, wz, px, py, pz)
    lx, ly, lz = add_cross(lx, ly, lz, wx, wy, wz, ux, uy, uz)
    lx, ly, lz = add_cross(lx, ly, lz, ax, ay, az, px, py, pz)
    ax, ay, az = unturn(r, ax, ay, az)
    lx, ly, lz = unturn(r, lx, ly, lz)
    store3(out, 0, ax, ay, az)
    store3(out, 3, lx, ly, lz)


@kernel
def turn_to_world(motion, acceleration):
    """Turn accelerations (6,) from the axes of a frame to those of the world."""
    r = load9(motion, at.ROTATION)
    ax, ay, az = load3(acceleration, 0)
    lx, ly, lz = load3(acceleration, 3)
    ax, ay, az = turn(r, ax, ay, az)
    lx, ly, lz = turn(r, lx, ly, lz)
    store3(acceleration, 0, ax, ay, az)
    store3(acceleration, 3, lx, ly, lz)


@kernel
def weigh_elements(address, memory, q, v, a, gravity_scale, rows, inertia):
    """Write the motion of the frames of all elements, their accelerations, and what their masses take;
    inertia: column of the C functions for this number type."""
    head = header_of(address)
    model = open_flexible(address)
    data = carve_flexible(memory, model.tree.nb, model.tree.nq, model.tree.nv)
    prepare(model.tree, data.tree, gravity_scale)
    for b in range(1, model.tree.nb):
        own = window(data.tree.bodies, views.BODY_ROWS * b, views.BODY_ROWS)
        accelerate_node(model, data, b, own, q, v, a)
    for i in range(head[COUNT]):
        row = row_of(head, i)
        if row[HAS_MASS] != 0:
            numbers = floats_at(head[NUMBERS] + 8 * row[NUMBERS_AT], OWN)
            kept = window(rows, ROWS * i + ACCELERATION, at.ACCELERATION)
            for k in range(2):
                node = row[BASE_NODE] if k == 0 else row[END_NODE]
                own = window(data.tree.bodies, views.BODY_ROWS * node, views.BODY_ROWS)
                keep_acceleration(own, window(numbers, 12 * k, 12), window(kept, 6 * k, 6))
    move_elements(address, memory, q, v, rows)
    for i in range(head[COUNT]):
        row = row_of(head, i)
        if row[HAS_MASS] != 0:
            own = tail(rows, ROWS * i)
            turn_to_world(window(own, 0, at.FRAME), window(own, ACCELERATION, 6))
            turn_to_world(window(own, at.FRAME, at.FRAME), window(own, ACCELERATION + 6, 6))
            call(head, i, rows, inertia)


@kernel(forceinline=True)
def call(head, i, rows, inertia):
    """Let element i write what its mass takes, from motion and accelerations in its rows."""
    row, own = row_of(head, i), tail(rows, ROWS * i)
    numbers = head[NUMBERS] + 8 * (row[NUMBERS_AT] + OWN)
    pushed, weight = address_of(tail(own, ACCELERATION)), address_of(tail(own, WEIGHT))
    at.call_inertia(row[inertia], (numbers, address_of(own), pushed, weight))


@kernel
def carry_weights(address, memory, rows, share, wrench, force):
    """force (nv,) += share times what masses take, after `weigh_elements`."""
    head = header_of(address)
    for i in range(head[COUNT]):
        if row_of(head, i)[HAS_MASS] != 0:
            wrenches = window(rows, ROWS * i + WEIGHT + at.WRENCHES, 12)
            carry(address, memory, rows, i, share, wrenches, wrench, force)


@kernel
def hold_still(rows, i):
    """Velocities and accelerations of the frames of element i become zero."""
    own = tail(rows, ROWS * i)
    for k in range(6):
        own[at.VELOCITY + k], own[at.FRAME + at.VELOCITY + k] = 0.0, 0.0
    for k in range(at.ACCELERATION):
        own[ACCELERATION + k] = 0.0


@kernel
def add_masses(address, memory, rows, wrench, J, column, M):
    """M (nv, nv) += what the masses of elements add, after `weigh_elements`; J (12, nv) and column (nv,) are
    scratch.

    What a mass takes is linear in the accelerations of the frames, so that column j is what it takes where
    these are column j of the frames' Jacobians, and nothing moves.
    """
    head = header_of(address)
    nv = head[views.NV]
    for i in range(head[COUNT]):
        row, own = row_of(head, i), tail(rows, ROWS * i)
        if row[HAS_MASS] != 0:
            numbers = floats_at(head[NUMBERS] + 8 * row[NUMBERS_AT], OWN)
            flexible_jacobian(address, memory, row[BASE_NODE], window(numbers, 9, 3), J[0:6])
            flexible_jacobian(address, memory, row[END_NODE], window(numbers, 21, 3), J[6:12])
            hold_still(rows, i)
            for j in range(nv):
                for k in range(12):
                    own[ACCELERATION + k] = J[k, j]
                for k in range(nv):
                    column[k] = 0.0
                call(head, i, rows, INERTIA)
                carry(address, memory, rows, i, 1.0, window(own, WEIGHT + at.WRENCHES, 12), wrench, column)
                for k in range(nv):
                    M[k, j] += column[k]


@kernel
def factor_inertia(address, rows, i, L):
    """L (12, 12) with L L' the inertia of element i by the accelerations of its frames, which stand still
    from here on; columns of nothing are 0 (Cholesky of a semidefinite matrix)."""
    head, own = header_of(address), tail(rows, ROWS * i)
    hold_still(rows, i)
    largest = 0.0
    for j in range(12):
        for k in range(12):
            own[ACCELERATION + k] = 1.0 if k == j else 0.0
        call(head, i, rows, INERTIA)
        for k in range(12):
            L[k, j] = own[WEIGHT + at.WRENCHES + k]
        largest = largest + L[j, j]
    factor(L, 12, largest)


@kernel
def factor(L, n, largest):
    """L (n, n) becomes its Cholesky factor, columns of nothing 0: of a semidefinite matrix whose trace is
    `largest`."""
    for j in range(n):
        d = L[j, j]
        for k in range(j):
            d -= L[j, k] * L[j, k]
        is_there = less(1e-14 * largest, d)
        root = np.sqrt(select(is_there, d, 1.0 + 0.0 * d))
        for r in range(n):
            x = L[r, j]
            for k in range(j):
                x -= L[r, k] * L[j, k]
            L[r, j] = select(is_there, x / root, 0.0 * x) if r >= j else 0.0


#: rows of J' L that an element with mass may have
WEIGHT_ROWS = 12
