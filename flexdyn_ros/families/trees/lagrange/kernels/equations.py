"""Recursive Lagrangian dynamics of rigid and flexible trees, by 4x4 transforms and their derivatives.

Book 1984 (IJRR 3(3)) and Zhang 2009 (Appl. Math. Mech. 30(10)), corrected, generalised to trees, to any joint
axis, to section frames that are true rotations, to full foreshortening and to a free base. Equation numbers
are Zhang's. No angular velocity and no moment of inertia appears: a body is the second moment 1/2 int h h^T
dm of its homogeneous positions, its motion is the transform W and its derivatives. Rigid trees are the case
of no modes.

    M a + h = tau,   h = velocity + gravity + elastic + damping terms

Every term is a virtual work 2 tr{ (dW/ds) (1/2 int h acc^T dm) }, gathered from the tips to the root: F
collects the second moments (52, 76), Q the accelerations at zero z'' (67), and a column of M is followed from
its coordinate to the root (51-61). A free base uses the same virtual work with its twist (world axes, angular
first) as quasi-velocity. Kernels are generic in the number type (float64, complex128).
"""

import numpy as np

from flexdyn_ros.families.trees.rigid.kernels import views
from flexdyn_ros.families.trees.rigid.kernels.views import DAMPING as VISCOUS
from flexdyn_ros.multibody.elements.cylinder.kernels.friction import dry_friction
from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.compiling.compiler import any_types, kernel

from . import views as at
from .affine import (
    add_product,
    add_scaled,
    apply_left,
    apply_right_transposed,
    clear,
    product,
    rotation_about,
    set_pose,
    set_skew,
    trace_of_product,
    trace_of_sandwich,
)
from .section import mass_of_deformed_body, section_derivative, section_frame
from .views import model_views, work_views

VELOCITY, GRAVITY, ELASTIC, DAMPING = 0, 1, 2, 3  # rows of h
KINETIC, GRAVITATIONAL, STRAIN = 0, 1, 2  # entries of the energy


@kernel(nogil=True)
def lagrange_equations(I, F, q, v, w, M, h, energy):
    """Write the mass matrix, the bias terms and the energies of N states.

    Parameters
    ----------
    I, F : packed model (see lagrange_views)
    q (N, nq), v (N, nv) : states [m, rad, quaternion x y z w; per s]
    w : (work_size, 4, 4) scratch
    M : (N, nv, nv) written [kg, kg m, kg m2]
    h : (N, 4, nv) written; rows velocity, gravity, elastic, damping [N, N m]
    energy : (N, 3) written; kinetic, gravity (-sum m g.p, world origin), elastic [J]
    """
    m, d = model_views(I, F), work_views(I, w)
    for n in range(q.shape[0]):
        place_bodies(m, d, q[n], v[n])
        gather_energy(m, d, q[n], v[n], energy[n])
        for i in range(v.shape[1]):
            for j in range(v.shape[1]):
                M[n, i, j] = 0.0
            M[n, i, i] = m.F[m.dof + views.DOF_NUMBERS * i + views.ARMATURE]
            h[n, VELOCITY, i] = 0.0
            h[n, GRAVITY, i] = 0.0
            h[n, ELASTIC, i] = 0.0
            h[n, DAMPING, i] = 0.0
        gather_from_tips(m, d, v[n], M[n], h[n])
        add_joint_resistance(m, q[n], v[n], h[n])
        add_modal_forces(m, q[n], v[n], h[n])


@kernel(nogil=True)
def lagrange_frame(I, F, q, v, w, frame, offset, pose):
    """Write the pose (4, 4, unit-first) of a frame in the world.

    frame = (body, station): the section frame of that station of a flexible body, or the body frame itself if
    the station is -1; offset (4, 4, unit-first) is the pose of the wanted frame in it.
    """
    m, d = model_views(I, F), work_views(I, w)
    place_bodies(m, d, q, v)
    attach_frame(m, d, frame[0], frame[1], q, v)
    product(d.t[5], offset, pose)


@kernel(nogil=True)
def lagrange_jacobian(I, F, q, v, w, frame, offset, J):
    """Write J (6, nv): J v = (angular; linear) velocity of a frame's origin, world axes; arguments as
    lagrange_frame.

    With the affine section frames, which are not rotations, the angular part is the skew part of dR R^T.
    """
    m, d = model_views(I, F), work_views(I, w)
    place_bodies(m, d, q, v)
    for i in range(6):
        for j in range(J.shape[1]):
            J[i, j] = 0.0
    body, station = frame[0], frame[1]
    attach_frame(m, d, body, station, q, v)
    T, P, Y, dE = d.t[9], d.t[10], d.t[11], d.t[8]
    product(d.t[5], offset, T)
    if station >= 0:
        for k in range(m.body_int[body, at.MODES]):
            section_derivative(m, body, station, k, q, d.t[3], dE)
            product(d.blocks[d.W + body], dE, P)
            product(P, offset, Y)
            add_jacobian_column(Y, T, 1.0, m.I[m.mode_v + m.body_int[body, at.MODE] + k], J)
        product(d.t[0], offset, P)
    else:
        add_copy(offset, P)
    # P carries the wanted frame in the b frame of the body being visited
    child = -1
    while body >= 0:
        if child >= 0 and m.body_int[child, at.STATION] >= 0:
            for k in range(m.body_int[body, at.MODES]):
                product(d.blocks[d.N + m.body_int[child, at.EDGE] + k], P, Y)
                add_jacobian_column(Y, T, 1.0, m.I[m.mode_v + m.body_int[body, at.MODE] + k], J)
        if child >= 0:
            product(d.blocks[d.B + child], P, Y)
            add_copy(Y, P)
        for r in range(
            m.body_int[body, at.JOINT_ROW], m.body_int[body, at.JOINT_ROW] + m.body_int[body, at.JOINT_ROWS]
        ):
            product(d.blocks[d.X + r], P, Y)
            add_jacobian_column(Y, T, m.F[m.row_ratio + r], m.I[m.row_v + r], J)
        child = body
        body = m.body_int[body, at.PARENT]


@kernel
def add_copy(X, out):
    """Overwrite out (4, 4) with X."""
    clear(out)
    add_scaled(X, 1.0, out)


@kernel
def add_jacobian_column(Y, T, ratio, column, J):
    """Add ratio * (angular; linear) rate of the pose T (4, 4) with derivative Y to a column of J."""
    for i in range(3):
        j, k = 1 + (i + 1) % 3, 1 + (i + 2) % 3
        up, down = Y[k, 1] * T[j, 1], Y[j, 1] * T[k, 1]
        for l in range(2, 4):
            up += Y[k, l] * T[j, l]
            down += Y[j, l] * T[k, l]
        J[i, column] += 0.5 * ratio * (up - down)
        J[3 + i, column] += ratio * Y[1 + i, 0]


# ---------------------------------------- from the root to the tips


@kernel
def place_bodies(m, d, q, v):
    """Write W, dW, Wv, B, X, N of all bodies (4, 8, 9, 75) and their mass matrices in the deformed state."""
    for body in range(m.nb):
        place_body(m, d, body, q, v)
        mass_of_deformed_body(m, d, body, q, v)


@kernel
def attach_frame(m, d, body, station, q, v):
    """Write the frame that children hang on, its rate and its second rate at zero acceleration into t[5],
    t[6], t[7].

    E of the station, or the identity, is left in t[0], [theta]x in t[3].
    """
    t = d.t
    if body < 0:
        for i in range(8):
            clear(t[i])
        for i in range(4):
            t[0, i, i] = 1.0
            t[5, i, i] = 1.0
        return
    if station < 0:
        clear(t[0])
        for i in range(4):
            t[0, i, i] = 1.0
        add_copy(d.blocks[d.W + body], t[5])
        add_copy(d.blocks[d.dW + body], t[6])
        add_copy(d.blocks[d.Wv + body], t[7])
        return
    section_frame(m, body, station, q, v, t[0], t[1], t[2], t[3], t[4])
    product(d.blocks[d.W + body], t[0], t[5])  # Wh = W E
    product(d.blocks[d.dW + body], t[0], t[6])  # dWh = dW E + W dE
    add_product(d.blocks[d.W + body], t[1], 1.0, t[6])
    product(d.blocks[d.Wv + body], t[0], t[7])  # Wvh = Wv E + 2 dW dE + W Ev
    add_product(d.blocks[d.dW + body], t[1], 2.0, t[7])
    add_product(d.blocks[d.W + body], t[2], 1.0, t[7])


@kernel
def place_body(m, d, body, q, v):
    """Write W, dW, Wv, B, the rows of X and N of one body; its parent has been placed."""
    parent, station = m.body_int[body, at.PARENT], m.body_int[body, at.STATION]
    t, W, dW, Wv = d.t, d.blocks[d.W + body], d.blocks[d.dW + body], d.blocks[d.Wv + body]
    A, dA, Av = t[8], t[9], t[10]
    attach_frame(m, d, parent, station, q, v)
    if FREE <= m.body_int[body, at.TYPE] <= BALL:
        free_transforms(m, d, body, q, v, A, dA, Av)
    else:
        joint_transforms(m, d, body, q, v, A, dA, Av)
    product(t[5], A, W)  # W = Wh A
    product(t[6], A, dW)  # dW = dWh A + Wh dA
    add_product(t[5], dA, 1.0, dW)
    product(t[7], A, Wv)  # Wv = Wvh A + 2 dWh dA + Wh Av
    add_product(t[6], dA, 2.0, Wv)
    add_product(t[5], Av, 1.0, Wv)
    product(t[0], A, d.blocks[d.B + body])  # B = E A
    first = m.body_int[body, at.JOINT_ROW]
    for r in range(first, first + m.body_int[body, at.JOINT_ROWS]):
        product(t[5], d.blocks[d.X + r], t[1])  # X = Wh U
        add_copy(t[1], d.blocks[d.X + r])
    if station >= 0:
        edge = m.body_int[body, at.EDGE]
        for k in range(m.body_int[parent, at.MODES]):
            section_derivative(m, parent, station, k, q, t[3], t[1])
            product(t[1], A, t[2])
            # dW_body / d(delta_k of the parent)
            product(d.blocks[d.W + parent], t[2], d.blocks[d.N + edge + k])


@kernel
def joint_transforms(m, d, body, q, v, A, dA, Av):
    """Write A = pre J post, its rate and its second rate at zero acceleration, and U = dA/dq into the row of
    X."""
    kind, row = m.body_int[body, at.TYPE], m.body_int[body, at.JOINT_ROW]
    axis, t = m.F[m.axis + 3 * body : m.axis + 3 * body + 3], d.t
    clear(t[1])
    clear(dA)
    clear(Av)
    if kind == at.FIXED:
        for i in range(4):
            t[1, i, i] = 1.0
        between(m, body, t[1], t[2], A)
        return
    x = (
        m.F[m.body_float + at.BODY_FLOATS * body + at.RATIO] * q[m.body_int[body, at.Q_INDEX]]
        + m.F[m.body_float + at.BODY_FLOATS * body + at.OFFSET]
    )
    rate = m.F[m.row_ratio + row] * v[m.I[m.row_v + row]]
    if kind == at.PRISMATIC:
        for i in range(4):
            t[1, i, i] = 1.0
        for i in range(3):
            t[1, 1 + i, 0] = x * axis[i]
        between(m, body, t[1], t[2], A)
        clear(t[1])
        for i in range(3):
            t[1, 1 + i, 0] = axis[i]
        between(m, body, t[1], t[2], d.blocks[d.X + row])
    else:
        sine, cosine = np.sin(x), np.cos(x)
        rotation_about(axis, sine, 1.0 - cosine, 1.0, t[1])
        between(m, body, t[1], t[2], A)
        rotation_about(axis, cosine, sine, 0.0, t[1])
        between(m, body, t[1], t[2], d.blocks[d.X + row])
        rotation_about(axis, -sine * rate * rate, cosine * rate * rate, 0.0, t[1])
        between(m, body, t[1], t[2], Av)
    add_scaled(d.blocks[d.X + row], rate, dA)


@kernel
def free_transforms(m, d, body, q, v, A, dA, Av):
    """As joint_transforms, for the six velocities of a free joint: angular, then linear velocity, in axes of
    pre; of a ball joint the first three, p = 0.

    J = [1 0; p R], dJ = [0 0; v [w]x R], second rate at zero acceleration [0 0; 0 [w]x [w]x R].
    """
    row, t = m.body_int[body, at.JOINT_ROW], d.t
    J = t[11]
    set_pose(q, m.body_int[body, at.Q_INDEX], J)
    slides = m.body_int[body, at.TYPE] == FREE
    if not slides:
        for i in range(3):
            J[1 + i, 0] = 0.0
    between(m, body, J, t[2], A)
    clear(dA)
    for i in range(3):
        set_skew(1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2), t[4])
        apply_rotation(t[4], J, t[1])
        between(m, body, t[1], t[2], d.blocks[d.X + row + i])
        if slides:
            clear(t[1])
            t[1, 1 + i, 0] = 1.0
            between(m, body, t[1], t[2], d.blocks[d.X + row + 3 + i])
    for i in range(6 if slides else 3):
        add_scaled(d.blocks[d.X + row + i], v[m.I[m.row_v + row + i]], dA)
    set_skew(v[m.I[m.row_v + row]], v[m.I[m.row_v + row + 1]], v[m.I[m.row_v + row + 2]], t[4])
    apply_rotation(t[4], J, t[1])
    apply_rotation(t[4], t[1], J)
    between(m, body, J, t[2], Av)


@kernel
def between(m, body, J, scratch, out):
    """Write pre J post of a body into out."""
    product(m.blocks[m.pre + body], J, scratch)
    product(scratch, m.blocks[m.post + body], out)


@kernel
def apply_rotation(K, T, out):
    """Write [0 0; 0 K R] into out (4, 4), R the rotation part of T."""
    clear(out)
    for i in range(1, 4):
        for j in range(1, 4):
            out[i, j] = K[i, 1] * T[1, j] + K[i, 2] * T[2, j] + K[i, 3] * T[3, j]


# ---------------------------------------- energies


@kernel
def gather_energy(m, d, q, v, energy):
    """Write kinetic (19), gravity (44) and elastic energy (39), rotors and parallel springs included."""
    energy[KINETIC] = 0.0
    energy[GRAVITATIONAL] = 0.0
    energy[STRAIN] = 0.0
    for body in range(m.nb):
        W, dW, G = d.blocks[d.W + body], d.blocks[d.dW + body], d.blocks[d.G + body]
        first, count, pair = m.body_int[body, at.MODE], m.body_int[body, at.MODES], m.body_int[body, at.PAIR]
        energy[KINETIC] += trace_of_sandwich(dW, G, dW)
        for i in range(3):
            for j in range(4):
                energy[GRAVITATIONAL] -= 2.0 * m.F[m.gravity + i] * W[1 + i, j] * G[j, 0]
        for k in range(count):
            dk, rk = q[m.I[m.mode_q + first + k]], v[m.I[m.mode_v + first + k]]
            energy[KINETIC] += rk * (
                2.0 * trace_of_sandwich(dW, d.blocks[d.Dk + first + k], W)
                + trace_of_sandwich(W, d.blocks[d.Ck + first + k], W)
            )
            for l in range(count):
                energy[KINETIC] += rk * v[m.I[m.mode_v + first + l]] * m.F[m.T + pair + k * count + l]
                energy[STRAIN] += 0.5 * dk * q[m.I[m.mode_q + first + l]] * m.F[m.K + pair + k * count + l]
    for i in range(m.nv):
        energy[KINETIC] += 0.5 * m.F[m.dof + views.DOF_NUMBERS * i + views.ARMATURE] * v[i] * v[i]
        if m.F[m.dof + views.DOF_NUMBERS * i + views.STIFFNESS] != 0.0:
            x = q[m.I[m.q_of_v + i]] - m.F[m.dof + views.DOF_NUMBERS * i + views.REFERENCE]
            j = int(m.F[m.dof + views.DOF_NUMBERS * i + views.MOTOR_OF]) - 1
            if j >= 0:
                x = q[m.I[m.q_of_v + i]] - q[m.I[m.q_of_v + j]]
            energy[STRAIN] += 0.5 * m.F[m.dof + views.DOF_NUMBERS * i + views.STIFFNESS] * x * x


# ---------------------------------------- from the tips to the root


@kernel
def gather_from_tips(m, d, v, M, h):
    """Add all columns of M and the velocity and gravity terms to M and h, from the last body to the first."""
    for body in range(m.nb):
        clear(d.blocks[d.F + body])
        clear(d.blocks[d.Q + body])
    for k in range(m.nm):
        clear(d.blocks[d.Z + k])
    for body in range(m.nb - 1, -1, -1):
        add_own_moments(m, d, body, v)
        add_joint_terms(m, d, body, M, h)
        add_modal_terms(m, d, body, M, h)
        if m.body_int[body, at.PARENT] >= 0:
            hand_to_parent(m, d, body, M, h)


@kernel
def add_own_moments(m, d, body, v):
    """Complete F (52) and Q (67) of a body with its own mass; its children have added theirs.

    Q = G Wv^T + 2 (sum rate_k D_k) dW^T + (1/2 int h a_x dm) (W e_x)^T.
    """
    t, Q, W = d.t, d.blocks[d.Q + body], d.blocks[d.W + body]
    first, count = m.body_int[body, at.MODE], m.body_int[body, at.MODES]
    add_scaled(d.blocks[d.G + body], 1.0, d.blocks[d.F + body])
    apply_right_transposed(d.blocks[d.G + body], d.blocks[d.Wv + body], t[0])
    add_scaled(t[0], 1.0, Q)
    if count > 0:
        clear(t[1])
        for k in range(count):
            add_scaled(d.blocks[d.Dk + first + k], v[m.I[m.mode_v + first + k]], t[1])
        apply_right_transposed(t[1], d.blocks[d.dW + body], t[0])
        add_scaled(t[0], 2.0, Q)
        for i in range(4):
            for j in range(1, 4):
                Q[i, j] += d.blocks[d.a + body, 0, i] * W[j, 1]


@kernel
def add_joint_terms(m, d, body, M, h):
    """Add the rows and columns of M, and the entries of h, of a body's joint coordinates (51, 63, 64)."""
    t, first = d.t, m.body_int[body, at.JOINT_ROW]
    for r in range(first, first + m.body_int[body, at.JOINT_ROWS]):
        column, ratio = m.I[m.row_v + r], m.F[m.row_ratio + r]
        Z = t[0]
        apply_right_transposed(d.blocks[d.F + body], d.blocks[d.X + r], Z)
        h[VELOCITY, column] += 2.0 * ratio * trace_of_product(d.blocks[d.X + r], d.blocks[d.Q + body])
        h[GRAVITY, column] += ratio * weight(m, Z)
        for s in range(first, r + 1):
            value = 2.0 * ratio * m.F[m.row_ratio + s] * trace_of_product(d.blocks[d.X + s], Z)
            add_entry(M, m.I[m.row_v + s], column, value, s == r)
        follow_to_root(m, d, body, column, ratio, M)


@kernel
def add_modal_terms(m, d, body, M, h):
    """Add the rows and columns of M, and the entries of h, of a body's modal coordinates (53-60, 65, 66)."""
    t, W, dW = d.t, d.blocks[d.W + body], d.blocks[d.dW + body]
    first, count, pair = m.body_int[body, at.MODE], m.body_int[body, at.MODES], m.body_int[body, at.PAIR]
    row = m.body_int[body, at.JOINT_ROW]
    for k in range(count):
        column, Dk, U = m.I[m.mode_v + first + k], d.blocks[d.Dk + first + k], d.blocks[d.U + first + k]
        Z = t[0]
        apply_right_transposed(Dk, W, Z)
        add_scaled(d.blocks[d.Z + first + k], 1.0, Z)
        # 2 tr{ W (D_k^T Wv^T + 2 sum_l rate_l C_kl dW^T + (1/2 int uk a_x dm) e_x^T W^T) }
        h[VELOCITY, column] += 2.0 * trace_of_sandwich(d.blocks[d.Wv + body], Dk, W)
        h[VELOCITY, column] += 4.0 * trace_of_sandwich(W, d.blocks[d.Ck + first + k], dW)
        for i in range(1, 4):
            h[VELOCITY, column] += 2.0 * (W[i, 1] * U[1, 1] + W[i, 2] * U[1, 2] + W[i, 3] * U[1, 3]) * W[i, 1]
        h[GRAVITY, column] += weight(m, Z)
        for l in range(k + 1):
            kl = pair + k * count + l
            value = 2.0 * trace_of_sandwich(W, d.blocks[d.Ckl + kl], W) + 2.0 * m.F[m.T + kl]
            add_entry(M, m.I[m.mode_v + first + l], column, value, l == k)
        for s in range(row, row + m.body_int[body, at.JOINT_ROWS]):
            value = 2.0 * m.F[m.row_ratio + s] * trace_of_product(d.blocks[d.X + s], Z)
            add_entry(M, m.I[m.row_v + s], column, value, False)
        follow_to_root(m, d, body, column, 1.0, M)


@kernel
def hand_to_parent(m, d, body, M, h):
    """Add F, Q of a finished body to its parent (67, 76), and its share of the parent's modal coordinates
    (57-60)."""
    t, parent = d.t, m.body_int[body, at.PARENT]
    if m.body_int[body, at.STATION] >= 0:
        first, count = m.body_int[parent, at.MODE], m.body_int[parent, at.MODES]
        edge = m.body_int[body, at.EDGE]
        for k in range(count):
            column, V = m.I[m.mode_v + first + k], d.blocks[d.N + edge + k]
            apply_right_transposed(d.blocks[d.F + body], V, t[0])
            h[VELOCITY, column] += 2.0 * trace_of_product(V, d.blocks[d.Q + body])
            for l in range(k + 1):
                value = 2.0 * trace_of_product(d.blocks[d.N + edge + l], t[0])
                add_entry(M, m.I[m.mode_v + first + l], column, value, l == k)
            apply_left(d.blocks[d.B + body], t[0], t[1])
            add_scaled(t[1], 1.0, d.blocks[d.Z + first + k])
    apply_left(d.blocks[d.B + body], d.blocks[d.F + body], t[0])
    apply_right_transposed(t[0], d.blocks[d.B + body], t[1])
    add_scaled(t[1], 1.0, d.blocks[d.F + parent])
    apply_left(d.blocks[d.B + body], d.blocks[d.Q + body], t[0])
    add_scaled(t[0], 1.0, d.blocks[d.Q + parent])


@kernel
def follow_to_root(m, d, body, column, ratio, M):
    """Add the entries of one column of M at all coordinates inboard of a body; t[0] holds its Z, and is used
    up."""
    Z, Y = d.t[0], d.t[1]
    child, parent = body, m.body_int[body, at.PARENT]
    while parent >= 0:
        if m.body_int[child, at.STATION] >= 0:
            first, edge = m.body_int[parent, at.MODE], m.body_int[child, at.EDGE]
            for f in range(m.body_int[parent, at.MODES]):
                value = 2.0 * ratio * trace_of_product(d.blocks[d.N + edge + f], Z)
                add_entry(M, m.I[m.mode_v + first + f], column, value, False)
        apply_left(d.blocks[d.B + child], Z, Y)
        Z, Y = Y, Z
        row = m.body_int[parent, at.JOINT_ROW]
        for s in range(row, row + m.body_int[parent, at.JOINT_ROWS]):
            value = 2.0 * ratio * m.F[m.row_ratio + s] * trace_of_product(d.blocks[d.X + s], Z)
            add_entry(M, m.I[m.row_v + s], column, value, False)
        child, parent = parent, m.body_int[parent, at.PARENT]


@kernel
def add_entry(M, row, column, value, is_diagonal):
    """Add a value to M at (row, column), and at (column, row) unless it pairs a coordinate with itself."""
    M[row, column] += value
    if not is_diagonal:
        M[column, row] += value


@kernel
def weight(m, Z):
    """Return the gravity term of the coordinate whose moment matrix is Z (row 0: 1/2 int (dp/ds)^T dm)."""
    return -2.0 * (Z[0, 1] * m.F[m.gravity + 0] + Z[0, 2] * m.F[m.gravity + 1] + Z[0, 3] * m.F[m.gravity + 2])


@kernel
def add_joint_resistance(m, q, v, h):
    """Add parallel springs to the elastic row of h, viscous and dry friction to its damping row, springs and
    dampers between motors and joints likewise."""
    for i in range(m.nv):
        c = m.F[m.dof + views.DOF_NUMBERS * i : m.dof + views.DOF_NUMBERS * (i + 1)]
        j = int(c[views.MOTOR_OF]) - 1
        if j >= 0:
            pull = c[views.STIFFNESS] * (q[m.I[m.q_of_v + i]] - q[m.I[m.q_of_v + j]])
            slip = c[VISCOUS] * (v[i] - v[j])
            h[ELASTIC, i] += pull
            h[ELASTIC, j] -= pull
            h[DAMPING, i] += slip
            h[DAMPING, j] -= slip
            continue
        h[DAMPING, i] += c[VISCOUS] * v[i]
        if c[views.COULOMB] != 0.0 or c[views.STATIC] != 0.0:
            h[DAMPING, i] += dry_friction(
                c[views.COULOMB], c[views.STATIC], c[views.STRIBECK], c[views.SMOOTHING], v[i]
            )
        if c[views.STIFFNESS] != 0.0:
            h[ELASTIC, i] += c[views.STIFFNESS] * (q[m.I[m.q_of_v + i]] - c[views.REFERENCE])


@kernel
def add_modal_forces(m, q, v, h):
    """Add K delta and D rate_delta of all modes to the elastic and damping rows of h."""
    for body in range(m.nb):
        first, count, pair = m.body_int[body, at.MODE], m.body_int[body, at.MODES], m.body_int[body, at.PAIR]
        for k in range(count):
            for l in range(count):
                kl = pair + k * count + l
                h[ELASTIC, m.I[m.mode_v + first + k]] += m.F[m.K + kl] * q[m.I[m.mode_q + first + l]]
                h[DAMPING, m.I[m.mode_v + first + k]] += m.F[m.D + kl] * v[m.I[m.mode_v + first + l]]


@any_types
def equations_of_lagrange(ints, floats, qs, vs, w, M, h, e):
    """`lagrange_equations` as Python calls it, with real or complex numbers."""
    lagrange_equations(ints, floats, qs, vs, w, M, h, e)
