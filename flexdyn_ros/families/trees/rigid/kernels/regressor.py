"""The regressor of a rigid tree: what a unit of each dynamic parameter asks of the efforts.

A body's ten numbers are those of `weigh`, in the axes of its link and about the link's origin. The wrench
that a unit of each needs is projected on all joints from the body to the root (Atkeson, An & Hollerbach
1986); numbers of a joint act on its own effort.
"""

from __future__ import annotations

from flexdyn_ros.multibody.elements.cylinder.kernels.friction import dry_friction
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, multiply, turn, unturn
from flexdyn_ros.numerics.compiling import status as at
from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.samples import all_finite, finite

from .entries import opened, sizes, state_of_q
from .joints import FAST
from .rnea import outward
from .views import (
    ACCELERATION,
    ALPHA,
    ARMATURE,
    BODY_ROWS,
    COULOMB,
    DAMPING,
    MOTOR_OF,
    OMEGA,
    ORIGIN,
    REFERENCE,
    ROTATION,
    SMOOTHING,
    STATIC,
    STIFFNESS,
    STRIBECK,
    TURN,
    prepare,
)

_I, _V, _IM, _M = "int64[::1]", "float64[::1]", "int64[:,::1]", "float64[:,::1]"
_TABLES = f"{_I}, {_M}, {_M}, {_IM}"


@entry(f"int64(int64, {_V}, {_TABLES}, {_V}, {_V}, {_V}, {_M})")
def regressor_one(address, work, bodies, placements, dofs, places, q, v, a, Y):
    """Y (nv, 10 k + m) of one state: k bodies and their links' placements (k, 12) in them, then m numbers of
    joints."""
    nq, nv = sizes(address)
    if q.shape[0] != nq or v.shape[0] != nv or a.shape[0] != nv:
        return at.BAD_SHAPE
    status = regress(address, work, bodies, placements, dofs, places, q, v, a, Y)
    return at.NOT_FINITE if status == at.OK and not all_finite(Y) else status


@entry(f"int64(int64, {_V}, {_TABLES}, {_M}, {_M}, {_M}, float64[:,:,::1])", nogil=True)
def regressor_many(address, work, bodies, placements, dofs, places, q, v, a, Y):
    """The same (N, nv, 10 k + m) for rows of q, v, a."""
    for s in range(q.shape[0]):
        status = regress(address, work, bodies, placements, dofs, places, q[s], v[s], a[s], Y[s])
        if status != at.OK:
            return status + 8 * s
    return at.OK


@entry(f"int64(int64, {_M}, {_IM}, {_M}, {_M}, {_M}, float64[:,:,::1])", nogil=True)
def joint_columns_many(first, dofs, places, q, v, a, Y):
    """Columns of the m numbers of joints alone, from column `first` on."""
    for s in range(q.shape[0]):
        joint_columns(first, dofs, places, q[s], v[s], a[s], Y[s])
    return at.OK


@kernel
def regress(address, work, bodies, placements, dofs, places, q, v, a, Y):
    """Y of one state, or why not."""
    status = state_of_q(address, q)
    if status != at.OK:
        return status
    if not (finite(v, v.shape[0]) and finite(a, a.shape[0])):
        return at.NOT_FINITE
    model, data = opened(address, work)
    prepare(model, data, 1.0)
    outward(model, data, q, v, a)
    Y[:] = 0.0
    for k in range(bodies.shape[0]):
        body_columns(model, data, bodies[k], placements[k], 10 * k, Y)
    joint_columns(10 * bodies.shape[0], dofs, places, q, v, a, Y)
    return at.OK


@kernel(fastmath=FAST)
def body_columns(model, data, b, placement, first, Y):
    """Ten columns of body b, from column `first` on."""
    own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
    R, (x, y, z) = load9(placement, 0), load3(placement, 9)
    wx, wy, wz = load3(own, OMEGA)
    ax, ay, az = load3(own, ALPHA)
    lx, ly, lz = load3(own, ACCELERATION)
    ux, uy, uz = cross(wx, wy, wz, x, y, z)
    tx, ty, tz = cross(wx, wy, wz, ux, uy, uz)
    ux, uy, uz = cross(ax, ay, az, x, y, z)
    w, alpha = unturn(R, wx, wy, wz), unturn(R, ax, ay, az)
    motion = (*w, *alpha, *unturn(R, lx + ux + tx, ly + uy + ty, lz + uz + tz))
    while b > 0:
        add_joint(model, data, b, R, x, y, z, motion, first, Y)
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        m, (px, py, pz) = load9(own, ROTATION), load3(own, ORIGIN)
        R, (x, y, z) = multiply(m, R), turn(m, x, y, z)
        x, y, z = x + px, y + py, z + pz
        b = model.parent[b]


@kernel(fastmath=FAST, forceinline=True)
def add_joint(model, data, b, R, x, y, z, motion, first, Y):
    """Add the rows of the joint of body b to ten columns; the link lies at R, (x, y, z) in the body."""
    row, ratio = model.v_index[b], model.ratio[b]
    if FREE <= model.joint_type[b] <= BALL:
        own = window(data.bodies, b * BODY_ROWS, BODY_ROWS)
        t = load9(own, TURN)
        for i in range(3):
            ex, ey, ez = t[3 * i], t[3 * i + 1], t[3 * i + 2]
            along = unturn(R, ex, ey, ez)
            lx, ly, lz = cross(ex, ey, ez, x, y, z)
            add_row(Y[row + i, first : first + 10], 1.0, along, unturn(R, lx, ly, lz), motion)
            if model.joint_type[b] == FREE:
                add_row(Y[row + 3 + i, first : first + 10], 1.0, (0.0, 0.0, 0.0), along, motion)
    else:
        turns, slides = model.turn[b], model.slide[b]
        along = turns * R[6], turns * R[7], turns * R[8]
        add_row(Y[row, first : first + 10], ratio, along, unturn(R, -turns * y, turns * x, slides), motion)


@kernel(fastmath=FAST)
def add_row(row, ratio, s, t, motion):
    """row += ratio (power of the wrenches of ten unit numbers along the rates s (turn) and t (origin)).

    motion: w, alpha and the acceleration of the origin, all in the axes of the link.
    """
    sx, sy, sz = s
    tx, ty, tz = t
    wx, wy, wz, ax, ay, az, lx, ly, lz = motion
    row[0] += ratio * (tx * lx + ty * ly + tz * lz)
    # a x s + t x alpha + (t x w) x w
    bx, by, bz = cross(lx, ly, lz, sx, sy, sz)
    cx, cy, cz = cross(tx, ty, tz, ax, ay, az)
    ux, uy, uz = cross(tx, ty, tz, wx, wy, wz)
    ux, uy, uz = cross(ux, uy, uz, wx, wy, wz)
    row[1] += ratio * (bx + cx + ux)
    row[2] += ratio * (by + cy + uy)
    row[3] += ratio * (bz + cz + uz)
    # s I alpha + (s x w) I w
    ux, uy, uz = cross(sx, sy, sz, wx, wy, wz)
    row[4] += ratio * (sx * ax + ux * wx)
    row[5] += ratio * (sx * ay + sy * ax + ux * wy + uy * wx)
    row[6] += ratio * (sx * az + sz * ax + ux * wz + uz * wx)
    row[7] += ratio * (sy * ay + uy * wy)
    row[8] += ratio * (sy * az + sz * ay + uy * wz + uz * wy)
    row[9] += ratio * (sz * az + uz * wz)


@kernel
def joint_columns(first, dofs, places, q, v, a, Y):
    """A column for each of m numbers of joints.

    dofs: rows of `TreeModel.dof` in which that number is 1 and the others that efforts are linear in are 0;
    places: of the coordinate in v and q, and in q of the joint that a motor drives (m, 3).
    """
    for k in range(places.shape[0]):
        i, dof = places[k, 0], dofs[k]
        j = int(dof[MOTOR_OF]) - 1
        if j >= 0:
            pull = dof[STIFFNESS] * (q[places[k, 1]] - q[places[k, 2]]) + dof[DAMPING] * (v[i] - v[j])
            Y[i, first + k] = dof[ARMATURE] * a[i] + pull
            Y[j, first + k] = -pull
            continue
        effort = dof[ARMATURE] * a[i] + dof[DAMPING] * v[i]
        if dof[STIFFNESS] != 0.0:
            effort += dof[STIFFNESS] * (q[places[k, 1]] - dof[REFERENCE])
        if dof[COULOMB] != 0.0 or dof[STATIC] != 0.0:
            effort += dry_friction(dof[COULOMB], dof[STATIC], dof[STRIBECK], dof[SMOOTHING], v[i])
        Y[i, first + k] = effort
