"""Named views of the packed arrays of the recursive Lagrangian path.

Entries from Python take few arrays, so a model travels as one integer and one float array; `model_views`
gives its parts their names, `work_views` those of the work array. `flexdyn_ros.families.trees.lagrange.model`
packs them, in the order of the fields here.
"""

from collections import namedtuple

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import shaped

# joint types of the tree model, and one of our own
REVOLUTE, PRISMATIC, FIXED = 0, 1, 4

# counts at the head of the integer array; offsets of the float blocks follow them
HEAD = (
    10  # nb, nv, nq, njc (joint coordinates), nm (modes), npair, nstation, nedge, is_affine, is_foreshortened
)

# columns of body_int
(
    PARENT,
    STATION,
    TYPE,
    Q_INDEX,
    JOINT_ROW,
    JOINT_ROWS,
    MODE,
    MODES,
    PAIR,
    EDGE,
    POINT,
    POINTS,
    POINT_MODE,
    POINT_PAIR,
) = range(14)
BODY_INTS = 14

# columns of body_float
RATIO, OFFSET = 0, 1
BODY_FLOATS = 2

# fields of the float array: first those of (4, 4) blocks, then those of numbers
BLOCK_FIELDS = (
    "pre",  # (nb) transform parent (or its section frame) -> joint, joint at zero
    "post",  # (nb) transform joint -> body frame b
    "C",  # (nb) 1/2 int h0 h0^T dm
    "C1",  # (nm) 1/2 int h0 uk^T dm
    "C2",  # (npair) 1/2 int uk ul^T dm
)
NUMBER_FIELDS = (
    "gravity",  # (3,) acceleration of free fall, world axes [m/s2]
    "axis",  # (nb, 3) unit joint axis after pre
    "body_float",  # (nb, BODY_FLOATS) ratio and offset (mimic joints)
    "row_ratio",  # (njc,) velocity of the joint coordinate per velocity coordinate
    "dof",  # (nv, DOF_NUMBERS) armature, damping, friction, spring per velocity, as in the tree
    "T",  # (npair,) torsion energy of the elastic rate alone (option paper)
    "K",  # (npair,) modal stiffness
    "D",  # (npair,) modal damping
    "station_x",  # (nstation, 3) centre of the undeformed section [m]
    "station_u",  # (rows, 3) displacement of each mode there
    "station_th",  # (rows, 3) rotation of each mode there
    "station_S",  # (pairs,) foreshortening S_kl there
    "point_weight",  # (npoint,) quadrature weight times mass per length times length [kg]
    "point_x",  # (3 npoint,) undeformed position, beam axes [m]
    "point_u",  # (rows, 3)
    "point_S",  # (pairs,)
)
FLOAT_FIELDS = BLOCK_FIELDS + NUMBER_FIELDS
INT_FIELDS = ("station_int", "row_v", "q_of_v", "mode_q", "mode_v")

# I, F, blocks and body_int are arrays, the fields are integers: where they begin in I, F or blocks. A tuple
# of as many arrays would take the compiler many times as long, for every function that it is passed to.
ModelViews = namedtuple(
    "ModelViews",
    (
        *("I", "F", "blocks", "body_int", "nb", "nv", "nm", "is_affine", "is_foreshortened"),
        *INT_FIELDS,
        *FLOAT_FIELDS,
    ),
)

WorkViews = namedtuple(
    "WorkViews",
    (
        "blocks",  # (work_size, 4, 4); below: where the (4, 4) matrices of each kind begin
        "t",  # (SCRATCH, 4, 4) scratch
        "W",  # (nb) base -> b
        "dW",  # (nb) its rate
        "Wv",  # (nb) its second rate at zero acceleration
        "B",  # (nb) parent's b -> b
        "G",  # (nb) 1/2 int h h^T dm of the body
        "F",  # (nb) the same of the body and all outboard of it, in b
        "Q",  # (nb) 1/2 int h (acceleration at zero acceleration of z)^T dm of the same
        "a",  # (nb) row 0: 1/2 int h a_x dm, the foreshortening's own acceleration
        "X",  # (njc) derivative of W with respect to a joint coordinate
        "Z",  # (nm) 1/2 int h (derivative of position)^T dm for a mode, in the b of its body
        "Dk",  # (nm) 1/2 int h uk^T dm
        "Ck",  # (nm) sum_l rate_l C_kl
        "U",  # (nm) rows 0, 1: uk at a point, 1/2 int uk a_x dm
        "Ckl",  # (npair) 1/2 int uk ul^T dm
        "N",  # (nedge) derivative of B with respect to a mode of the parent
    ),
)
SCRATCH = 12


@kernel
def model_views(I, F):
    """Return the ModelViews of a packed model (I int64, F float64)."""
    nb, nv, njc, nm = I[0], I[1], I[3], I[4]
    o = HEAD  # offsets of the fields in F, those of blocks in numbers too
    bodies = o + len(FLOAT_FIELDS) + 1
    station = bodies + nb * BODY_INTS
    row_v = station + 2 * I[6]
    q_of_v = row_v + njc
    mode_q = q_of_v + nv
    return ModelViews(
        I,
        F,
        shaped(F[0 : I[o + 5]], (I[o + 5] // 16, 4, 4)),
        shaped(I[bodies:station], (nb, BODY_INTS)),
        nb,
        nv,
        nm,
        I[8] == 1,
        I[9],
        station,
        row_v,
        q_of_v,
        mode_q,
        mode_q + nm,
        I[o] // 16,
        I[o + 1] // 16,
        I[o + 2] // 16,
        I[o + 3] // 16,
        I[o + 4] // 16,
        I[o + 5],
        I[o + 6],
        I[o + 7],
        I[o + 8],
        I[o + 9],
        I[o + 10],
        I[o + 11],
        I[o + 12],
        I[o + 13],
        I[o + 14],
        I[o + 15],
        I[o + 16],
        I[o + 17],
        I[o + 18],
        I[o + 19],
        I[o + 20],
    )


@kernel
def work_views(I, w):
    """Return the WorkViews of a work array w (work_size, 4, 4) for the packed model I."""
    nb, njc, nm, npair, nedge = I[0], I[3], I[4], I[5], I[7]
    b = 8 * nb
    m = b + njc
    p = m + 4 * nm
    e = p + npair
    return WorkViews(
        w,
        w[e + nedge : e + nedge + SCRATCH],
        0 * nb,
        nb,
        2 * nb,
        3 * nb,
        4 * nb,
        5 * nb,
        6 * nb,
        7 * nb,
        b,
        m,
        m + nm,
        m + 2 * nm,
        m + 3 * nm,
        p,
        e,
    )


def work_size(I):
    """Return the number of (4, 4) blocks that the packed model I needs as work array."""
    return int(8 * I[0] + I[3] + 4 * I[4] + I[5] + I[7] + SCRATCH)
