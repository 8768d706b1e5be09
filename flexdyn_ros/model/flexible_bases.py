"""Assumed modes of a beam as the description asks for them: basis and boundary turned into shapes."""

from __future__ import annotations

import numpy as np
from scipy.special import eval_jacobi

from flexdyn_ros.description.elements import FlexibleLink
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.model.beams import BeamLink
from flexdyn_ros.model.modes import FIELDS, Mode, Shape, axial_shape, bending_shape, held_shape, torsion_shape

__all__ = ["chosen_modes"]


def chosen_modes(link: BeamLink, hung: np.ndarray) -> tuple[Mode, ...]:
    """Modes of a link in the order of its coordinates: axial, bending_y, bending_z, torsion, each 1, 2, ...

    hung: pseudo-inertia (4, 4) of all that hangs on the tip at the zero pose, about the tip, beam axes (for
    the boundary clamped-body).

    Raises
    ------
    UnsupportedError
        For bases and boundaries that are read but not computed.
    """
    element = link.element
    _refuse(element)
    counts = {name: getattr(element.modes, name) for name in FIELDS}
    shape = _polynomial if element.modes.basis == "polynomial" else _eigenfunction
    return tuple(
        Mode(name, shape(name, n, link, hung)) for name in FIELDS for n in range(1, counts[name] + 1)
    )


def _refuse(element: FlexibleLink) -> None:
    modes = element.modes
    if modes.file is not None:
        raise UnsupportedError(
            f"link '{element.link}': imported modes ({modes.file}) are read but not computed yet"
        )
    if modes.basis not in ("eigen", "polynomial"):
        raise UnsupportedError(
            f"link '{element.link}': basis '{modes.basis}' is read but not computed yet; "
            "'eigen' and 'polynomial' are"
        )
    if modes.boundary in ("pinned-pinned", "free-free"):
        raise UnsupportedError(
            f"link '{element.link}': boundary '{modes.boundary}' has no clamped root; the dynamics need "
            "clamped-free, clamped-body, clamped-pinned or clamped-clamped"
        )


def _eigenfunction(name: str, n: int, link: BeamLink, hung: np.ndarray) -> Shape:
    boundary = link.element.modes.boundary
    if boundary == "clamped-clamped" and not name.startswith("bending"):
        return _held_sine(n)
    if boundary in ("clamped-pinned", "clamped-clamped") and name.startswith("bending"):
        return held_shape(n, boundary.removeprefix("clamped-"))
    mass, turn = _ratios(name, link, hung) if boundary == "clamped-body" else (0.0, 0.0)
    if name.startswith("bending"):
        return bending_shape(n, mass, turn)
    return axial_shape(n, mass) if name == "axial" else torsion_shape(n, turn)


def _ratios(name: str, link: BeamLink, hung: np.ndarray) -> tuple[float, float]:
    """Mass and inertia of what hangs on the tip over those of the uniform beam of mean properties."""
    s = (np.arange(200) + 0.5) / 200
    L = link.beam.length
    mass = float(np.mean(link.beam.mu(s))) * L
    if name == "torsion":
        polar = float(np.mean(link.beam.Jx(s))) * L
        return 0.0, (hung[2, 2] + hung[3, 3]) / polar if polar > 0.0 else 0.0
    about = {"bending_y": hung[1, 1] + hung[2, 2], "bending_z": hung[1, 1] + hung[3, 3]}
    return hung[0, 0] / mass, about.get(name, 0.0) / (mass * L**2)


def _held_sine(n: int) -> Shape:
    """sqrt(2) sin(n pi s): a shaft held at both ends, root-mean-square 1."""
    b, c = n * np.pi, np.sqrt(2.0)
    return Shape(
        lambda s: c * np.sin(b * np.asarray(s)),
        lambda s: c * b * np.cos(b * np.asarray(s)),
        lambda s: -c * b * b * np.sin(b * np.asarray(s)),
        n,
        b,
    )


def _polynomial(name: str, n: int, link: BeamLink, hung: np.ndarray) -> Shape:
    """s^p P(2 s - 1) with the Jacobi polynomial P of degree n - 1, parameters (0, 2 p); 1 at the tip.

    p = 2 for bending, 1 for torsion and axial: all polynomials that a clamped root admits, orthogonal on a
    uniform beam without section inertia.
    """
    p = 2 if name.startswith("bending") else 1

    def jacobi(s: np.ndarray, order: int) -> np.ndarray:
        """Derivative of that order by s."""
        k = n - 1 - order
        if k < 0:
            return np.zeros_like(s)
        factor = float(np.prod([n - 1 + 2 * p + i for i in range(1, order + 1)]))
        return factor * eval_jacobi(k, order, 2 * p + order, 2.0 * s - 1.0)

    def value(s: np.ndarray) -> np.ndarray:
        s = np.asarray(s, dtype=float)
        return s**p * jacobi(s, 0)

    def slope(s: np.ndarray) -> np.ndarray:
        s = np.asarray(s, dtype=float)
        return p * s ** (p - 1) * jacobi(s, 0) + s**p * jacobi(s, 1)

    def curvature(s: np.ndarray) -> np.ndarray:
        s = np.asarray(s, dtype=float)
        bend = 2.0 * p * s ** (p - 1) * jacobi(s, 1) + s**p * jacobi(s, 2)
        return bend + 2.0 * jacobi(s, 0) if p == 2 else bend

    return Shape(value, slope, curvature, n - 1 + p)
