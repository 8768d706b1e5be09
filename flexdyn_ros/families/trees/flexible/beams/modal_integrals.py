"""Modal integrals: the constants that make a link flexible, and its own modal mass and damping.

The integrals are those of Zhang 2009 (Appl. Math. Mech. 30(10)), eqs. (28)-(46), in homogeneous unit-first
coordinates [1, x, y, z]; the factor 1/2 is part of C, C_k and C_kl. They serve every formulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description.places import Place
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import gauss_legendre
from flexdyn_ros.families.trees.flexible.beams.modes import (
    Beam,
    Mode,
    SectionFields,
    fields_along,
    merged_breaks,
    points_of_part,
    quadrature_points,
)


class ModalIntegrals(NamedTuple):
    """Constants of a flexible link, m modes, n quadrature points.

    C (4, 4), C1 (m, 4, 4), C2 (m, m, 4, 4): 1/2 int h0 h0^T dm, 1/2 int h0 uk^T dm, 1/2 int uk ul^T dm.
    C_section, C1_section, C2_section: the part of the cross sections' rotation in them (zero for `paper`,
    `none`). T (m, m): 1/2 int Jx thx_k thx_l dx (`paper` only, else zero). K (m, m): modal stiffness. point_x
    (n,), point_mass (n,): abscissae (or positions (n, 3)) and masses of the points of the line mass
    [m, kg]. point_u (n, m, 3), point_S (n, m, m): displacement and foreshortening integrals there.
    """

    C: np.ndarray
    C1: np.ndarray
    C2: np.ndarray
    C_section: np.ndarray
    C1_section: np.ndarray
    C2_section: np.ndarray
    T: np.ndarray
    K: np.ndarray
    point_x: np.ndarray
    point_mass: np.ndarray
    point_u: np.ndarray
    point_S: np.ndarray

    def plus(self, other: ModalIntegrals, factor: float) -> ModalIntegrals:
        """Integrals with `factor` times the mass and stiffness of another beam of the same modes added."""
        grown = {name: getattr(self, name) + factor * getattr(other, name) for name in _EXTENSIVE}
        return self._replace(**grown)


#: fields of ModalIntegrals that are linear in the masses and rigidities of a beam
_EXTENSIVE = (
    "C", "C1", "C2", "C_section", "C1_section", "C2_section", "T", "K", "point_mass",
)  # fmt: skip


def modal_integrals(
    beam: Beam,
    modes: Sequence[Mode],
    *,
    rotary: str = "consistent",
    points: int | None = None,
    breaks: Sequence[float] = (0.0, 1.0),
) -> ModalIntegrals:
    """Modal integrals of a beam without the bodies it carries, by Gauss-Legendre quadrature.

    rotary: `paper` (line mass, torsional energy of the elastic rate alone), `consistent` (sections are rigid
    plates: roll inertia, twist-roll coupling and rotary inertia), `none` (line mass; torsion modes then have
    no mass). breaks: stations between which the section properties are smooth; each part has a rule of its
    own.
    """
    n = points or quadrature_points(modes)
    breaks = merged_breaks(modes, breaks)
    s, w = _composite_rule(n, breaks)
    w = w * beam.length
    u, th, strain, S = fields_along(beam.length, modes, s, points=n)
    h0 = np.zeros((len(s), 4))
    h0[:, 0], h0[:, 1] = 1.0, beam.length * s
    line = _second_moments(w * beam.mu(s), h0, _homogeneous(u))
    section = _section_moments(beam, rotary, s, w, th)
    T = np.zeros((len(modes), len(modes)))
    if rotary == "paper":
        T = 0.5 * np.einsum("g,kg,lg->kl", w * beam.Jx(s), th[:, :, 0], th[:, :, 0])
    rigidity = np.stack([beam.GJ(s), beam.EIy(s), beam.EIz(s), beam.EA(s)], axis=1)
    K = np.einsum("g,ga,kga,lga->kl", w, rigidity, strain, strain)
    C, C1, C2 = (a + b for a, b in zip(line, section, strict=True))
    x, mass = beam.length * s, w * beam.mu(s)
    return ModalIntegrals(C, C1, C2, *section, T, K, x, mass, np.swapaxes(u, 0, 1).copy(), S)


def _composite_rule(n: int, breaks: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre rules between the breaks: n points for the whole beam, else 12 or more for a part,
    4 for one below NARROW."""
    parts = []
    for a, b in pairwise(breaks):
        s, w = gauss_legendre(n if len(breaks) == 2 else points_of_part(b - a, n))
        parts.append((a + (b - a) * s, (b - a) * w))
    return np.concatenate([s for s, _ in parts]), np.concatenate([w for _, w in parts])


def _homogeneous(u: np.ndarray) -> np.ndarray:
    """Fields (m, n, 3) as unit-first directions (m, n, 4)."""
    return np.concatenate([np.zeros((*u.shape[:2], 1)), u], axis=2)


def _second_moments(
    dm: np.ndarray, h0: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C, C_k, C_kl of masses dm (n,) at h0 (n, 4) with mode displacements u (m, n, 4); first index is the
    column."""
    return (
        0.5 * np.einsum("g,gi,gj->ij", dm, h0, h0),
        0.5 * np.einsum("g,gi,kgj->kij", dm, h0, u),
        0.5 * np.einsum("g,kgi,lgj->klij", dm, u, u),
    )


def _section_moments(
    beam: Beam, rotary: str, s: np.ndarray, w: np.ndarray, th: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Second moments of the cross sections as rigid plates: directors e_y, e_z turn with th (`consistent`
    only)."""
    m, n = th.shape[:2]
    moments = (np.zeros((4, 4)), np.zeros((m, 4, 4)), np.zeros((m, m, 4, 4)))
    if rotary in ("paper", "none"):
        return moments
    if rotary != "consistent":
        raise ValueError(f"rotary {rotary!r}: expected 'consistent', 'paper' or 'none'")
    for axis, inertia in ((1, beam.Jzz(s)), (2, beam.Jyy(s))):
        director = np.zeros(3)
        director[axis] = 1.0
        h0 = np.zeros((n, 4))
        h0[:, 1 + axis] = 1.0
        turned = _homogeneous(np.cross(th, director))
        moments = tuple(a + b for a, b in zip(moments, _second_moments(w * inertia, h0, turned), strict=True))
    return moments


def pseudo_inertia(mass: float, com: Sequence[float], inertia: Sequence[float]) -> np.ndarray:
    """Unit-first pseudo-inertia int h h^T dm (4, 4) of a rigid body.

    inertia: (Ixx, Iyy, Izz, Ixy, Ixz, Iyz), tensor entries about the centre of mass com, same axes.
    """
    xx, yy, zz, xy, xz, yz = inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
    c = np.asarray(com, dtype=float)
    P = np.empty((4, 4))
    P[0, 0] = mass
    P[0, 1:] = P[1:, 0] = mass * c
    P[1:, 1:] = 0.5 * np.trace(tensor) * np.eye(3) - tensor + mass * np.outer(c, c)
    return P


def with_body(integrals: ModalIntegrals, P: np.ndarray, station: SectionFields) -> ModalIntegrals:
    """Integrals with a rigid body added that moves with the linear field of a section (Zhang 2009, eqs.
    31-33).

    P: pseudo-inertia (4, 4) in axes of the undeformed section. Exact for affine section frames; for others it
    is what the body adds to the link's own modal mass at the undeformed state.
    """
    H = np.eye(4)
    H[1:, 0] = station.centre
    M = linear_fields(station.u, station.th)
    return integrals._replace(
        C=integrals.C + 0.5 * H @ P @ H.T,
        C1=integrals.C1 + 0.5 * np.einsum("ij,kaj->kia", H @ P, M),
        C2=integrals.C2 + 0.5 * np.einsum("kia,ab,ljb->klij", M, P, M),
    )


def linear_fields(u: np.ndarray, th: np.ndarray) -> np.ndarray:
    """Displacements and small rotations (..., 3) as matrices (..., 4, 4) on unit-first places."""
    M = np.zeros((*u.shape[:-1], 4, 4))
    M[..., 1:, 0] = u
    x, y, z = np.moveaxis(th, -1, 0)
    M[..., 1, 2], M[..., 1, 3], M[..., 2, 1] = -z, y, z
    M[..., 2, 3], M[..., 3, 1], M[..., 3, 2] = -x, -y, x
    return M


def modal_mass(integrals: ModalIntegrals) -> np.ndarray:
    """Modal mass matrix (m, m) of the link by itself, undeformed: 2 tr C_kl + 2 T_kl."""
    return 2.0 * np.einsum("klii->kl", integrals.C2) + 2.0 * integrals.T


#: modes that stand in no file
_MODES = Place(None, None, "modes")


def check_modal_mass(
    integrals: ModalIntegrals, modes: Sequence[Mode], link: str, place: Place = _MODES
) -> None:
    """Raise DescriptionError if a modal mass is not positive: the equations of motion would be singular."""
    for k, mass in enumerate(np.diag(modal_mass(integrals))):
        if not mass > 0.0:
            expected = "for torsion a polar inertia of the beam or a body at its tip, else a mass"
            message = f"mode {k + 1} ({modes[k].field}) of link '{link}' has no mass"
            place.fail(message, value=float(mass), expected=expected)


def rayleigh_damping(integrals: ModalIntegrals, alpha: float, beta: float) -> np.ndarray:
    """Modal damping matrix alpha M_e + beta K (m, m)."""
    return alpha * modal_mass(integrals) + beta * integrals.K


def modal_damping(integrals: ModalIntegrals, ratios: Sequence[float]) -> np.ndarray:
    """Damping matrix (m, m) that gives the link's own modes, by rising frequency, the ratios zeta.

    M_e Psi diag(2 zeta_r omega_r) Psi^T M_e with mass-normalised eigenvectors Psi of (K, M_e). One ratio
    serves all.
    """
    Me = modal_mass(integrals)
    root = np.linalg.inv(np.linalg.cholesky(Me))
    squares, vectors = np.linalg.eigh(root @ integrals.K @ root.T)
    Psi = root.T @ vectors
    zeta = np.broadcast_to(np.asarray(ratios, dtype=float), squares.shape)
    omega = np.sqrt(np.maximum(squares, 0.0))
    return Me @ Psi @ np.diag(2.0 * zeta * omega) @ Psi.T @ Me
