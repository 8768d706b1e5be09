"""Lagrange's equations over any kind of number, from energies and derivatives of homogeneous transforms.

K = 1/2 sum tr(dT/dt P (dT/dt)^T), U = -sum g.p m, T = product of joint transforms, P the pseudo-inertia; then
M_ij = d2K/dv_i dv_j, c_i = sum_jk (dM_ij/dq_k - 1/2 dM_jk/dq_i) v_j v_k, g_i = dU/dq_i (Uicker 1965; Kahn
1969, Stanford). Transforms are (3, 4): [origin | rotation], positions [1, x, y, z].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flexdyn_ros.derivation.algebra import (
    Angle,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    dot,
    half,
    inner,
    product,
    rotation_about,
    rotation_derivatives,
    scaled,
)
from flexdyn_ros.derivation.arm import Arm, Joint


class LagrangeTerms(NamedTuple):
    """M (n, n), c (n,), g (n,) per joint, without rotors."""

    M: Matrix
    c: Vector
    g: Vector


def lagrange(arm: Arm, angles: Sequence[Angle], v: Vector, gravity: Vector) -> LagrangeTerms:
    """Terms of Lagrange's equations; arguments as newton_euler."""
    _, W, WW = _derivatives_of_transforms(arm, angles)
    n = len(arm.joints)
    # W_hi P, used by M and by its derivatives
    WP = [{i: product(W[h][i], arm.joints[h].pseudo_inertia) for i in W[h]} for h in range(n)]
    M: Matrix = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            M[i][j] = M[j][i] = add(*(inner(W[h][i], WP[h][j]) for h in range(n) if i in W[h] and j in W[h]))

    def slope(i: int, j: int, k: int) -> Scalar:
        """dM_ij/dq_k."""
        terms = []
        for h in range(n):
            if all(x in W[h] for x in (i, j, k)):
                terms += [inner(WW[h][_pair(i, k)], WP[h][j]), inner(WW[h][_pair(j, k)], WP[h][i])]
        return add(*terms)

    slopes = {(i, j, k): slope(i, j, k) for i in range(n) for j in range(i + 1) for k in range(n)}
    c = [_velocity_term(slopes, v, i) for i in range(n)]
    g = []
    for i in range(n):
        terms = [-dot(gravity, [row[0] for row in WP[h][i]]) for h in range(n) if i in W[h]]
        g.append(add(*terms))
    return LagrangeTerms(M, c, g)


def potential(arm: Arm, angles: Sequence[Angle], gravity: Vector) -> Scalar:
    """Potential of gravity U = -sum g.p m, 0 at the base's origin; arguments as newton_euler."""
    U: Scalar = 0
    for T, joint in zip(_derivatives_of_transforms(arm, angles)[0], arm.joints, strict=True):
        # first moments of the body in base axes
        U = add(U, -dot(gravity, apply(T, [row[0] for row in joint.pseudo_inertia])))
    return U


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i >= j else (j, i)


def _velocity_term(slopes: dict, v: Vector, i: int) -> Scalar:
    """sum_jk (dM_ij/dq_k - 1/2 dM_jk/dq_i) v_j v_k, equal products of rates taken together."""
    n = len(v)
    terms = []
    for j in range(n):
        for k in range(j + 1):
            here = [slopes[(*_pair(i, j), k)], -slopes[(*_pair(j, k), i)]]
            if j == k:
                terms.append(add(here[0], half(here[1])) * (v[j] * v[j]))
            else:
                terms.append(add(here[0], slopes[(*_pair(i, k), j)], here[1]) * (v[j] * v[k]))
    return add(*terms)


def _derivatives_of_transforms(
    arm: Arm, angles: Sequence[Angle]
) -> tuple[list[Matrix], list[dict[int, Matrix]], list[dict[tuple[int, int], Matrix]]]:
    """Transforms (3, 4), their first derivatives {i: (3, 4)} and second ones {(i, j): (3, 4)}, of every
    body."""
    T: list[Matrix] = []
    first: list[dict[int, Matrix]] = []
    second: list[dict[tuple[int, int], Matrix]] = []
    for h, (joint, angle) in enumerate(zip(arm.joints, angles, strict=True)):
        A, dA, ddA = _joint_transforms(joint, angle)
        p = joint.parent
        base: Matrix = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        below, W, WW = (T[p], first[p], second[p]) if p >= 0 else (base, {}, {})
        T.append(_chain(below, A, 1))
        first.append({**{i: _chain(X, A, 1) for i, X in W.items()}, h: _chain(below, dA, 0)})
        seconds = {pair: _chain(X, A, 1) for pair, X in WW.items()}
        seconds |= {(h, i): _chain(X, dA, 0) for i, X in W.items()}
        second.append({**seconds, (h, h): _chain(below, ddA, 0)})
    return T, first, second


def _joint_transforms(joint: Joint, angle: Angle) -> tuple[Matrix, Matrix, Matrix]:
    """Transform of a joint and its two derivatives, each (3, 4)."""
    zero = [0, 0, 0]
    if joint.revolute:
        R = rotation_about(joint.axis, angle.sine, angle.cosine)
        dR, ddR = rotation_derivatives(joint.axis, angle.sine, angle.cosine)
        rotations = [product(joint.rotation, X) for X in (R, dR, ddR)]
        origins = [joint.origin, zero, zero]
    else:
        along = apply(joint.rotation, joint.axis)
        rotations = [joint.rotation, [zero] * 3, [zero] * 3]
        origins = [
            [add(*x) for x in zip(joint.origin, scaled(angle.displacement, along), strict=True)],
            along,
            zero,
        ]
    A, dA, ddA = (
        [[p, *row] for p, row in zip(o, R, strict=True)] for o, R in zip(origins, rotations, strict=True)
    )
    return A, dA, ddA


def _chain(X: Matrix, Y: Matrix, one: int) -> Matrix:
    """X Y of (3, 4) transforms; one = 1 if Y is a transform, 0 if it is a derivative of one."""
    return product(X, [[one, 0, 0, 0], *Y])
