"""A planar tree of floating frames as kernels see it: tables behind one address, and rows of work memory.

Axes of the plane: X forward, Y up (ROS x and z); angles th are positive from X towards Y, nose up. The nodes
are those of the general tree (trees/rigid/kernels/views.py, trees/flexible/kernels/views.py): joints, fixed
nodes, and sections of flexible links; a node's planar axes are parallel to X, Y where all coordinates are
zero, those of a flexible link are turned so that x lies along its beam. Node 0 is the world.
"""

from __future__ import annotations

from flexdyn_ros.families.trees.rigid.kernels.views import BODY_NUMBERS, DOF_NUMBERS, FLOATS, NB, NQ, NV
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.windows import tail, window

#: kinds of joints beside those of nodes of a tree that bends
REVOLUTE, PRISMATIC = 0, 1
#: the header of a planar tree: that of the general tree, then from PLANAR on these words
PLANAR = 32
PLANAR_HEADER = PLANAR + 13
(
    NODES,
    NODE_TABLE,
    NODE_NUMBERS,
    N_FLOATS,
    WHEELS,
    WHEEL_TABLE,
    WHEEL_NUMBERS,
    ROAD,
    GIVEN,  # address of (nv,) int64, 1 for coordinates whose motion is prescribed
    EXACT,  # 1: exact suspension
    SIZE,
    WHEELS_AT,  # in work memory: rows of the wheels, then those of `vectors_of`
    VECTORS_AT,
) = range(PLANAR, PLANAR_HEADER)

# columns of a node in NODE_TABLE: type, parent, index in q and v of its joint, number of modes of its beam
# (of its parent's beam for a section), first of them in q and v, where its numbers and its modal rows are
NODE_COLUMNS = 9
KIND, PARENT, Q, V, MODES, MODE_Q, MODE_V, AT, MODAL_AT = range(NODE_COLUMNS)

# numbers of a node: lever from the parent's origin in the parent's axes (2), turn against the parent at zero,
# sign of a revolute axis, direction of a prismatic one in the parent's axes (2), mass, first moment (2) and
# moment of inertia about the node's origin, planar axes seen from the node's axes of the general tree (2, 3);
# a beam's or a section's follow
NODE_HEAD = 16
LEVER, TURN, SIGN, ALONG, MASS, MOMENT, INERTIA, PLANE = 0, 2, 3, 4, 6, 7, 9, 10

# a beam's numbers, m modes: N (2, m), a, b (m), M_ff, its part without section inertia, G, K, D, and the
# stiffness per squared rate (m, m) (docs/theory/mobile.md, "Equations")
# a section's: its undeformed place (2) in the link's axes, S1, S2, slope (m)

# rows of a node in work memory
COS, SIN, X, Y, OMEGA, VX, VY, RX, RY, TH = range(10)  # RX, RY: from the parent's origin, world axes
ACCEL = 10  # (3) acceleration of the origin minus gravity, angular acceleration
BIAS = 13  # (3) its velocity part, given the parent's
AXIS = 16  # (3) motion per unit of the joint coordinate
FORCE = 19  # (3) force and moment about the origin; what is left to the parent
BODY = 22  # (6) inertia xx xy yy xt yt tt, own or articulated
REACH = 28  # (3) inertia times AXIS; over its product with AXIS where the joint is free
PIVOT, PUSH = 31, 32  # AXIS . REACH, and what is left of the effort; or the acceleration that this makes
NODE_ROWS = 33

# columns of a wheel in WHEEL_TABLE and its numbers
WHEEL_COLUMNS = 5
WHEEL_NODE, HUB_Q, HUB_V, HAS_TYRE, UNILATERAL = range(WHEEL_COLUMNS)
WHEEL_SIZE = 10
MOUNT_X, MOUNT_Y, STIFFNESS, DAMPING, LENGTH, TYRE_K, TYRE_D, RADIUS, HUB_MASS = range(9)
# rows of a wheel in work memory
WHEEL_ROWS = 12
(
    SPRING_FORCE,  # on the link, upward
    GROUND_FORCE,  # on the hub, or the link where there is no tyre
    LEVER_X,  # of the force about the node's origin
    SPRING_RATE,  # rate at which the spring lengthens
    TYRE_RATE,
    GRADE,  # slope of the road
    ROAD_RATE,  # dH/dt
    SPRING_LENGTH,
    SQUEEZE,  # compression of the tyre
    ADDED,  # inertia that an implicit step adds along the motion of the mount
    HUB_PIVOT,
    HUB_PUSH,
) = range(WHEEL_ROWS)


def modal_rows(m: int) -> int:
    """Work memory of a beam with m modes: coupling (m, 3), block (m, m), force (m)."""
    return m * (m + 4)


@kernel(forceinline=True)
def header_at(address):
    """All words of the header."""
    return ints_at(address, PLANAR_HEADER)


@kernel(forceinline=True)
def nodes_of(head):
    """Table and numbers of the nodes."""
    table = ints_at(head[NODE_TABLE], NODE_COLUMNS * head[NODES])
    return table, floats_at(head[NODE_NUMBERS], head[N_FLOATS])


@kernel(forceinline=True)
def node_row(table, k):
    """The row of node k in NODE_TABLE."""
    return tail(table, NODE_COLUMNS * k)


@kernel(forceinline=True)
def node_of(w, k):
    """The rows of node k in work memory."""
    return tail(w, NODE_ROWS * k)


@kernel(forceinline=True)
def wheel_rows(head, w, j):
    """The rows of wheel j in work memory."""
    return tail(w, head[WHEELS_AT] + WHEEL_ROWS * j)


@kernel(forceinline=True)
def wheels_of(head):
    """Table and numbers of the wheels."""
    n = head[WHEELS]
    return ints_at(head[WHEEL_TABLE], WHEEL_COLUMNS * n), floats_at(head[WHEEL_NUMBERS], WHEEL_SIZE * n)


@kernel(forceinline=True)
def vectors_of(head, w):
    """Room for q (nq), v, a, tau, extra, given (nv) in work memory."""
    nq, nv, at = head[NQ], head[NV], head[VECTORS_AT]
    first = at + nq
    return (
        window(w, at, nq),
        window(w, first, nv),
        window(w, first + nv, nv),
        window(w, first + 2 * nv, nv),
        window(w, first + 3 * nv, nv),
        window(w, first + 4 * nv, nv),
    )


@kernel(forceinline=True)
def prescribed_of(head):
    """1 for coordinates whose motion is prescribed (nv,)."""
    return ints_at(head[GIVEN], head[NV])


@kernel(forceinline=True)
def dof_of(head):
    """Armature and resistance of the velocity coordinates (DOF_NUMBERS nv,), as of the general tree."""
    nb, nv = head[NB], head[NV]
    return floats_at(head[FLOATS], BODY_NUMBERS * nb + DOF_NUMBERS * nv)[BODY_NUMBERS * nb :]


@kernel(forceinline=True)
def gravity_of(head):
    """Acceleration of free fall X, Y."""
    at = BODY_NUMBERS * head[NB] + DOF_NUMBERS * head[NV]
    g = floats_at(head[FLOATS], at + 3)
    return g[at], g[at + 2]
