"""The soft arm as kernels see it: named views of packed arrays, and the work arrays of the recursions.

An arm is a chain of sections; section i has a base frame, a tip frame and a rigid body in the tip frame
(plates, payload, whatever hangs on fixed joints). Its coordinates are the length changes of three actuators;
inside, its state is x = (ux, uy, s), two components of the bending angle and the length of the neutral axis,
linear in them (docs/theory/continuum.md, "Coordinates without a singularity").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import window

#: how mass is modelled; arms of several sections have QUADRATURE or, with modal kinematics, MODAL
CLOSED, QUADRATURE, LUMPED, LUMPED2, MODAL = range(5)

#: status codes of entries
OK, BAD_SHAPE, NOT_FINITE = 0, 1, 2

#: int64 words of the header that an address points to
HEADER = 5
SECTIONS, FLOATS, MASS_MODEL, ORDER, NODES = range(HEADER)

# numbers of the arm: gravity (3), energy ratio of the lumped model
ENERGY_RATIO = 3
ARM_NUMBERS = 4

# numbers of a section
LENGTH, RADIUS, MASS, ROTARY = range(4)  # ROTARY: disc radius^2 / 4 [m2], 0 without rotary inertia
SPRING, DAMPER, LOWER, UPPER = 4, 7, 10, 13  # (3) each
STOP_SPRING, STOP_DAMPER, STOP_WIDTH, BENDING_SPRING = 16, 17, 18, 19
NODE_COUNT, FIRST_NODE = 20, 21
PLACEMENT = 22  # (12) base frame in the tip frame before (in the world for the first): rotation, origin
BODY = 34  # (10) rigid body in the tip frame: mass, first moment, inertia about its origin
SECTION_NUMBERS = 44

# rows of a section's block of work numbers; base axes unless said
X, XD, XDD = 0, 3, 6  # state of the section
OMEGA, ALPHA, ACCELERATION = 9, 12, 15  # of its base; the acceleration of the origin less gravity
END_ROTATION, END_POINT = 18, 27  # (9) base <- tip, (3)
END_TURN, END_SHIFT = 30, 39  # (9) each: angular velocity and velocity of the tip per x' (row by row)
END_OMEGA, END_SPEED = 48, 51  # of the tip against the base
END_ALPHA, END_BIAS = 54, 57  # accelerations of the tip that are there when x'' and those of the base are 0
COUPLING_TURN, COUPLING_SHIFT = 60, 69  # (9) each: moment and force at the base per x''
INERTIA = 78  # (9) of x, eliminated: its inverse
FORCE = 87  # (3) left for x''
BASE = (
    90  # (27) inertia felt at the base: J (9), H (9), M (9); moment = J alpha + H a, force = H^T alpha + M a
)
BASE_WRENCH = 117  # (6) moment and force at the base
TIP = 123  # (27) the same at the tip, tip axes
TIP_WRENCH = 150  # (6)
WORLD_ROTATION, WORLD_POINT, VELOCITY = 156, 165, 168  # of the base; velocity in base axes
END_INERTIA = 171  # (27) TIP in base axes
SECTION_ROWS = 198

#: functions per node of a quadrature, and the largest number of nodes
NODE_ROWS, MOST_NODES = 8, 64
NB, NB1, NB2, NS, NS1, NS2, NC, NC1 = range(8)

# memory of modal kinematics (modal.py): a pose; poses of a frame per section and one more; a slice
# in its section; sums over the mass
POSE_NUMBERS = 12
FRAME_NUMBERS, LOCAL_NUMBERS, SUMS = 3 * POSE_NUMBERS, 6 * POSE_NUMBERS, 12


class Arm(NamedTuple):
    """A soft arm; constant, shared by threads.

    n : number of sections
    mass_model : CLOSED, QUADRATURE, LUMPED, LUMPED2 or MODAL
    order : order of the modal kinematics
    numbers : (ARM_NUMBERS,)
    sections : (n SECTION_NUMBERS,)
    nodes : (2 nodes,)
        Gauss-Legendre abscissa and weight on [0, 1] of every node, one section after the other.
    """

    n: int
    mass_model: int
    order: int
    numbers: np.ndarray
    sections: np.ndarray
    nodes: np.ndarray


@kernel
def open_arm(address):
    """Arm seen through the header at `address`."""
    head = ints_at(address, HEADER)
    n, nodes = head[SECTIONS], head[NODES]
    f = floats_at(head[FLOATS], ARM_NUMBERS + SECTION_NUMBERS * n + 2 * nodes)
    return Arm(
        n,
        head[MASS_MODEL],
        head[ORDER],
        window(f, 0, ARM_NUMBERS),
        window(f, ARM_NUMBERS, SECTION_NUMBERS * n),
        window(f, ARM_NUMBERS + SECTION_NUMBERS * n, 2 * nodes),
    )


@kernel
def work_numbers(n):
    """Numbers of work memory for an arm of n sections; the last one is for the fixed steps."""
    chain = 2 * FRAME_NUMBERS * (n + 1) + LOCAL_NUMBERS + 27 * n + 9 * n * n + 3 * n + SUMS
    return n * SECTION_ROWS + NODE_ROWS * MOST_NODES + 12 * n + chain + 1


def work_size(n: int) -> int:
    """The same, for Python."""
    return work_numbers(n)


@kernel
def section_numbers(arm, i):
    """(SECTION_NUMBERS,) of section i."""
    return window(arm.sections, i * SECTION_NUMBERS, SECTION_NUMBERS)


@kernel
def section_rows(work, i):
    """(SECTION_ROWS,) work numbers of section i."""
    return window(work, i * SECTION_ROWS, SECTION_ROWS)


@kernel
def node_rows(arm, work):
    """Work numbers of a quadrature's nodes."""
    start = arm.n * SECTION_ROWS
    return window(work, start, NODE_ROWS * MOST_NODES)


@kernel
def spare_vector(arm, work, k):
    """One of four vectors (3 n,) that entries may use."""
    start = arm.n * SECTION_ROWS + NODE_ROWS * MOST_NODES + 3 * arm.n * k
    return window(work, start, 3 * arm.n)


@kernel
def chain_memory(arm, work):
    """Memory of modal kinematics."""
    return work[arm.n * SECTION_ROWS + NODE_ROWS * MOST_NODES + 12 * arm.n : work_numbers(arm.n) - 1]


@kernel
def all_finite(x, n):
    """True if the first n numbers of x are neither NaN nor infinite."""
    s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0
