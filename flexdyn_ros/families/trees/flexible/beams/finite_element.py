"""Own modes of a beam with any section along it, by finite elements: shapes for the assumed modes.

Bending by cubic elements (values and slopes at the nodes), torsion and axial motion by quadratic ones; a
textbook discretisation of the clamped Euler-Bernoulli beam, see Meirovitch 1967. Properties and shapes are
functions of s = x/L.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.interpolate import PPoly
from scipy.linalg import eigh

from flexdyn_ros.families.trees.flexible.beams.mode_shapes import Shape, gauss_legendre
from flexdyn_ros.families.trees.flexible.beams.modes import Beam

#: mass that a field's inertia gets where it has none, so that the shapes exist; the check of modal masses
#: then refuses the link and says why
TOKEN = 1.0
#: below this fraction of its greatest value a shape counts as zero at the tip
HELD = 1e-6

# ascending coefficients in xi on an element of width h: columns belong to (w0, w0' h, w1, w1' h) and to
# (u0, u_half, u1)
_CUBIC = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [-3, -2, 3, -1], [2, 1, -2, 1]], dtype=float)
_QUADRATIC = np.array([[1, 0, 0], [-3, 4, -1], [2, -4, 2]], dtype=float)


def element_shapes(
    beam: Beam,
    breaks: tuple[float, ...],
    name: str,
    count: int,
    *,
    elements: int,
    boundary: str,
    tip: np.ndarray,
    rotary: bool,
) -> list[Shape]:
    """First `count` shapes of a field, 1 at the tip (root-mean-square 1 if the tip is held).

    breaks: stations between which the section is smooth; all become nodes. tip: pseudo-inertia (4, 4) of what
    the tip carries, about it, beam axes (zero but for the boundary clamped-body). rotary: sections have
    rotary inertia about the beam's y and z.
    """
    edges = np.array(sorted({*breaks, *(i / elements for i in range(elements + 1))}))
    edges = edges[np.concatenate([[True], np.diff(edges) > 1e-9])]
    edges[-1] = 1.0
    bends = name.startswith("bending")
    K, M = _matrices(beam, edges, name, rotary)
    L = beam.length
    if bends:
        axis = 2 if name == "bending_y" else 3
        M[-2, -2] += tip[0, 0]
        M[-2, -1] += tip[0, 1] / L
        M[-1, -2] += tip[0, 1] / L
        M[-1, -1] += (tip[1, 1] + tip[axis, axis]) / L**2
    else:
        M[-1, -1] += tip[0, 0] if name == "axial" else tip[2, 2] + tip[3, 3]
    held = 0
    if boundary == "clamped-clamped":
        held = 2 if bends else 1
    free = np.arange(2 if bends else 1, len(K) - held)
    if boundary == "clamped-pinned" and bends:
        free = np.delete(free, -2)
    _, vectors = eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], subset_by_index=[0, count - 1])
    shapes = []
    for n in range(count):
        full = np.zeros(len(K))
        full[free] = vectors[:, n]
        shapes.append(_shape(edges, full, 4 if bends else 3, n + 1))
    return shapes


def _matrices(beam: Beam, edges: np.ndarray, name: str, rotary: bool) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass matrices; degrees of freedom (w, dw/ds) at the nodes, or u at nodes and middles."""
    bends = name.startswith("bending")
    L = beam.length
    size = 2 * len(edges) if bends else 2 * len(edges) - 1
    K, M = np.zeros((size, size)), np.zeros((size, size))
    x, w = gauss_legendre(8)
    for e, (a, b) in enumerate(pairwise(edges)):
        h = b - a
        s = a + h * x
        if bends:
            N = [d @ np.diag([1.0, h, 1.0, h]) for d in _derivatives(_CUBIC, x, h, 3)]
            EI = (beam.EIz if name == "bending_y" else beam.EIy)(s)
            J = (beam.Jzz if name == "bending_y" else beam.Jyy)(s) if rotary else np.zeros_like(s)
            k = N[2].T * (w * h * EI / L**3) @ N[2]
            m = N[0].T * (w * h * L * _or_token(beam.mu(s))) @ N[0] + N[1].T * (w * h * J / L) @ N[1]
        else:
            N = _derivatives(_QUADRATIC, x, h, 2)
            stiff, inertia = (beam.EA, beam.mu) if name == "axial" else (beam.GJ, beam.Jx)
            k = N[1].T * (w * h * stiff(s) / L) @ N[1]
            m = N[0].T * (w * h * L * _or_token(inertia(s))) @ N[0]
        at = slice(2 * e, 2 * e + len(k))
        K[at, at] += k
        M[at, at] += m
    return K, M


def _or_token(inertia: np.ndarray) -> np.ndarray:
    return inertia if np.any(inertia > 0.0) else np.full_like(inertia, TOKEN)


def _derivatives(coefficients: np.ndarray, xi: np.ndarray, h: float, count: int) -> list[np.ndarray]:
    """Shape functions of an element and their derivatives by s, (points, functions) each."""
    found = []
    for order in range(count):
        c = np.polynomial.polynomial.polyder(coefficients, order) if order else coefficients
        found.append(np.polynomial.polynomial.polyval(xi, c).T / h**order)
    return found


def _shape(edges: np.ndarray, dofs: np.ndarray, functions: int, n: int) -> Shape:
    """The piecewise polynomial of one vector of degrees of freedom."""
    basis = _CUBIC if functions == 4 else _QUADRATIC
    h = np.diff(edges)
    local = np.stack([dofs[2 * e : 2 * e + functions] for e in range(len(h))])
    if functions == 4:
        local = local * np.stack([np.ones_like(h), h, np.ones_like(h), h], axis=1)
    powers = np.arange(len(basis))[:, None]
    piece = PPoly((basis @ local.T / h**powers)[::-1], edges)
    s = np.linspace(0.0, 1.0, 401)
    samples = piece(s)
    tip = float(samples[-1])
    if abs(tip) > HELD * np.abs(samples).max():
        scale = 1.0 / tip
    else:
        x, w = gauss_legendre(4)
        points = np.concatenate([a + (b - a) * x for a, b in pairwise(edges)])
        weights = np.concatenate([(b - a) * w for a, b in pairwise(edges)])
        rms = float(np.sqrt(weights @ piece(points) ** 2))
        # eigenfunctions of held beams rise at the root
        scale = np.copysign(1.0 / rms, samples[np.argmax(np.abs(samples) > 1e-3 * np.abs(samples).max())])
    return Shape.of(lambda s, order: scale * piece(s, order), n, breaks=tuple(edges.tolist()))
