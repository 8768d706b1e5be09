"""Named views of the packed arrays of the recursive Lagrangian path.

Entries from Python take few arrays, so a model travels as one integer and one float array; `model_views`
gives its parts their names, `work_views` cuts the work array. `flexdyn_ros.model.lagrange` packs them, in the
order of the fields here.
"""

from collections import namedtuple

from .compiler import inner
from .tree import DOF_NUMBERS

# joint types of the tree model, and one of our own
FIXED = 3

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

FLOAT_FIELDS = (
    "gravity",  # (3,) acceleration of free fall, world axes [m/s2]
    "pre",  # (nb, 4, 4) transform parent (or its section frame) -> joint, joint at zero
    "post",  # (nb, 4, 4) transform joint -> body frame b
    "axis",  # (nb, 3) unit joint axis after pre
    "body_float",  # (nb, BODY_FLOATS) ratio and offset (mimic joints)
    "row_ratio",  # (njc,) velocity of the joint coordinate per velocity coordinate
    "dof",  # (nv, DOF_NUMBERS) armature, damping, friction, spring per velocity, as in the tree
    "C",  # (nb, 4, 4) 1/2 int h0 h0^T dm
    "C1",  # (nm, 4, 4) 1/2 int h0 uk^T dm
    "C2",  # (npair, 4, 4) 1/2 int uk ul^T dm
    "T",  # (npair,) torsion energy of the elastic rate alone (option paper)
    "K",  # (npair,) modal stiffness
    "D",  # (npair,) modal damping
    "station_x",  # (nstation,) abscissa of the undeformed section [m]
    "station_u",  # (rows, 3) displacement of each mode there
    "station_th",  # (rows, 3) rotation of each mode there
    "station_S",  # (pairs,) foreshortening S_kl there
    "point_weight",  # (npoint,) quadrature weight times mass per length times length [kg]
    "point_x",  # (3 npoint,) undeformed position, beam axes [m]
    "point_u",  # (rows, 3)
    "point_S",  # (pairs,)
)

ModelViews = namedtuple(
    "ModelViews",
    (
        "body_int",
        "station_int",
        "row_v",
        "q_of_v",
        "mode_q",
        "mode_v",
        *FLOAT_FIELDS,
        "is_affine",
        "is_foreshortened",
    ),
)

WorkViews = namedtuple(
    "WorkViews",
    (
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
        "t",  # (12) scratch
    ),
)
SCRATCH = 12


@inner
def model_views(I, F):
    """Return the ModelViews of a packed model (I int64, F float64)."""
    nb, nv, njc, nm, npair, nstation = I[0], I[1], I[3], I[4], I[5], I[6]
    o = I[HEAD : HEAD + 22]
    k = HEAD + 22
    body_int = I[k : k + nb * BODY_INTS].reshape((nb, BODY_INTS))
    k += nb * BODY_INTS
    station_int = I[k : k + 2 * nstation].reshape((nstation, 2))
    k += 2 * nstation
    row_v = I[k : k + njc]
    k += njc
    q_of_v = I[k : k + nv]
    k += nv
    return ModelViews(
        body_int,
        station_int,
        row_v,
        q_of_v,
        I[k : k + nm],
        I[k + nm : k + 2 * nm],
        F[o[0] : o[1]],
        F[o[1] : o[2]].reshape((nb, 4, 4)),
        F[o[2] : o[3]].reshape((nb, 4, 4)),
        F[o[3] : o[4]].reshape((nb, 3)),
        F[o[4] : o[5]].reshape((nb, BODY_FLOATS)),
        F[o[5] : o[6]],
        F[o[6] : o[7]].reshape((nv, DOF_NUMBERS)),
        F[o[7] : o[8]].reshape((nb, 4, 4)),
        F[o[8] : o[9]].reshape((nm, 4, 4)),
        F[o[9] : o[10]].reshape((npair, 4, 4)),
        F[o[10] : o[11]],
        F[o[11] : o[12]],
        F[o[12] : o[13]],
        F[o[13] : o[14]],
        F[o[14] : o[15]].reshape(((o[15] - o[14]) // 3, 3)),
        F[o[15] : o[16]].reshape(((o[16] - o[15]) // 3, 3)),
        F[o[16] : o[17]],
        F[o[17] : o[18]],
        F[o[18] : o[19]],
        F[o[19] : o[20]].reshape(((o[20] - o[19]) // 3, 3)),
        F[o[20] : o[21]],
        I[8] == 1,
        I[9] == 1,
    )


@inner
def work_views(I, w):
    """Return the WorkViews of a work array w (work_size, 4, 4) for the packed model I."""
    nb, njc, nm, npair, nedge = I[0], I[3], I[4], I[5], I[7]
    b = 8 * nb
    m = b + njc
    p = m + 4 * nm
    e = p + npair
    return WorkViews(
        w[0:nb],
        w[nb : 2 * nb],
        w[2 * nb : 3 * nb],
        w[3 * nb : 4 * nb],
        w[4 * nb : 5 * nb],
        w[5 * nb : 6 * nb],
        w[6 * nb : 7 * nb],
        w[7 * nb : b],
        w[b:m],
        w[m : m + nm],
        w[m + nm : m + 2 * nm],
        w[m + 2 * nm : m + 3 * nm],
        w[m + 3 * nm : p],
        w[p:e],
        w[e : e + nedge],
        w[e + nedge : e + nedge + SCRATCH],
    )


def work_size(I):
    """Return the number of (4, 4) blocks that the packed model I needs as work array."""
    return int(8 * I[0] + I[3] + 4 * I[4] + I[5] + I[7] + SCRATCH)
