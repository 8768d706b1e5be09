"""Soft arms by brute force, in plain NumPy and SciPy; imports nothing of the product.

Poses are matrix exponentials of a section's constant twist (continuum specification, section 3.2), their
derivatives complex steps through these, integrals over the mass sums of 40 Gauss nodes. And the modes of a
straight rod cut into arcs of constant curvature, by integrals of polynomials in exact fractions (section
10.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import eigh, expm

STEP = 1e-30


@dataclass(frozen=True)
class Body:
    """A rigid body: mass [kg], centre (3,) [m], inertia about the centre (3, 3) [kg m2], all in tip axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True)
class Part:
    """A section on a base (4, 4) in the tip frame before it (the world for the first), with bodies on its
    tip; order: of its modal kinematics, 0 = exact."""

    base: np.ndarray
    length: float
    radius: float
    disc: float
    mass: float
    bodies: tuple[Body, ...] = ()
    order: int = 0


def placement(xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """URDF's origin as a matrix (4, 4)."""
    turns = [expm(a * hat(e)) for a, e in zip(rpy, np.eye(3), strict=True)]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = turns[2] @ turns[1] @ turns[0], xyz
    return T


def hat(w: np.ndarray) -> np.ndarray:
    """w x as a matrix."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def slice_pose(part: Part, q: np.ndarray, eta: float) -> np.ndarray:
    """Pose (4, 4) of a slice in the section's base."""
    l1, l2, l3 = q
    ux, uy = (l2 + l3 - 2 * l1) / (3 * part.radius), (l3 - l2) / (np.sqrt(3) * part.radius)
    if part.order:
        return modal_pose(part, ux, uy, (l1 + l2 + l3) / 3, eta)
    twist = np.zeros((4, 4), dtype=np.result_type(q, float))
    twist[:3, :3] = hat(np.array([-uy, ux, 0 * ux]))
    twist[2, 3] = part.length + (l1 + l2 + l3) / 3
    return expm(eta * twist)


def modal_pose(part: Part, ux: complex, uy: complex, mean: complex, eta: float) -> np.ndarray:
    """The Taylor polynomial of total degree `order` in the length changes (specification, section 3.3)."""

    def truncated(degree: int, first: int) -> complex:
        y, total, term = eta**2 * (ux**2 + uy**2), 0.0, 1.0 / first
        for n in range(degree // 2 + 1 if degree >= 0 else 0):
            total += term
            term *= -y / ((2 * n + first + 1) * (2 * n + first + 2))
        return total

    N, L = part.order, part.length
    S, B = truncated(N - 1, 1), truncated(N - 2, 2)
    W = np.array([[0, 0, ux], [0, 0, uy], [-ux, -uy, 0]])
    T = np.eye(4, dtype=W.dtype)
    T[:3, :3] = np.eye(3) + eta * S * W + eta**2 * B * W @ W
    across = L * truncated(N - 1, 2) + mean * B
    T[:3, 3] = eta**2 * ux * across, eta**2 * uy * across, eta * (L * truncated(N, 1) + mean * S)
    return T


def chain_pose(parts: Sequence[Part], q: np.ndarray, i: int, eta: float) -> np.ndarray:
    """Pose (4, 4) in the world of a slice of section i."""
    T = np.eye(4)
    for k in range(i):
        T = T @ parts[k].base @ slice_pose(parts[k], q[3 * k : 3 * k + 3], 1.0)
    return T @ parts[i].base @ slice_pose(parts[i], q[3 * i : 3 * i + 3], eta)


def jacobian(parts: Sequence[Part], q: np.ndarray, i: int, eta: float, point=(0.0, 0.0, 0.0)) -> np.ndarray:
    """(6, nv) of a point of a slice: angular velocity in slice axes, velocity in world axes."""
    R = chain_pose(parts, q, i, eta)[:3, :3]
    J = np.zeros((6, len(q)))
    for k in range(3 * (i + 1)):
        moved = q.astype(complex)
        moved[k] += STEP * 1j
        rate = chain_pose(parts, moved, i, eta).imag / STEP
        W = R.T @ rate[:3, :3]
        J[:3, k] = W[2, 1], W[0, 2], W[1, 0]
        J[3:, k] = rate[:3, 3] + rate[:3, :3] @ np.array(point)
    return J


def mass_matrix(parts: Sequence[Part], q: np.ndarray, nodes: int = 40) -> np.ndarray:
    """M (nv, nv): mass uniform along the material, discs of radius `disc`."""
    M = np.zeros((len(q), len(q)))
    x, w = np.polynomial.legendre.leggauss(nodes)
    for i, part in enumerate(parts):
        disc = 0.25 * part.mass * part.disc**2 * np.diag([1.0, 1.0, 2.0])
        for eta, share in zip(0.5 + 0.5 * x, 0.5 * w, strict=True):
            J = jacobian(parts, q, i, eta)
            M += share * (part.mass * J[3:].T @ J[3:] + J[:3].T @ disc @ J[:3])
        for body in part.bodies:
            J = jacobian(parts, q, i, 1.0, body.com)
            M += body.mass * J[3:].T @ J[3:] + J[:3].T @ body.inertia @ J[:3]
    return M


# ---- a straight rod in arcs ----


def rod_frequencies(n: int) -> np.ndarray:
    """Bending frequencies, ascending, of a clamped-free rod of unit EI, length and mass in n arcs [rad/s].

    A small deflection of constant curvature within each arc: with bend u_i of arc i, its slope grows by u_i x
    and its deflection by slope x + u_i x^2 / 2 over the arc, in units of the arc's length 1/n. Bending energy
    1/2 n u_i^2, no rotary inertia.
    """
    arcs = range(n)
    # deflection of arc i per u_j as coefficients of 1, x, x^2, in arcs' lengths
    shapes = [[_shape(i, j) for j in arcs] for i in arcs]
    M = [[sum(_product(shapes[i][j], shapes[i][k]) for i in arcs) for k in arcs] for j in arcs]
    mass = np.array(M, dtype=float) / n**3
    return np.sqrt(eigh(np.eye(n) * n, mass, eigvals_only=True))


def _shape(i: int, j: int) -> tuple[Fraction, Fraction, Fraction]:
    if j > i:
        return Fraction(0), Fraction(0), Fraction(0)
    if j == i:
        return Fraction(0), Fraction(0), Fraction(1, 2)
    # arc j has turned all that follow by u_j, from its own end on, where the deflection is u_j / 2
    return Fraction(1, 2) + (i - j - 1), Fraction(1), Fraction(0)


def _product(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Integral over the arc of two deflections."""
    return sum((x * y / (m + k + 1) for m, x in enumerate(a) for k, y in enumerate(b)), start=Fraction(0))


def beam_frequencies() -> np.ndarray:
    """First two bending frequencies of the exact beam, cosh x cos x = -1 [rad/s]."""
    from scipy.optimize import brentq

    return np.array([brentq(lambda x: np.cosh(x) * np.cos(x) + 1, a, a + 1) for a in (1.5, 4.2)]) ** 2


def potential(parts: Sequence[Part], q: np.ndarray, gravity: np.ndarray, nodes: int = 40) -> float:
    """-sum m g.p."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    total = 0.0
    for i, part in enumerate(parts):
        for eta, share in zip(0.5 + 0.5 * x, 0.5 * w, strict=True):
            total -= share * part.mass * gravity @ chain_pose(parts, q, i, eta)[:3, 3]
        for body in part.bodies:
            tip = chain_pose(parts, q, i, 1.0)
            total -= body.mass * gravity @ (tip[:3, 3] + tip[:3, :3] @ body.com)
    return total
