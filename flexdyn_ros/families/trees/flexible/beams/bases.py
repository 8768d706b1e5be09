"""Assumed modes of a beam as the description asks for them: basis and boundary turned into shapes."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import NoReturn

import numpy as np

from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.errors import DescriptionError, UnsupportedError
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import (
    Derivatives,
    Shape,
    axial_shape,
    bending_shape,
    free_free_roots,
    gauss_legendre,
    held_shape,
    polynomial_shape,
    sine_shape,
    torsion_shape,
)
from flexdyn_ros.families.trees.flexible.beams.modes import FIELDS, Mode
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays


def chosen_modes(link: BeamLink, hung: np.ndarray, rotary: str = "consistent") -> tuple[Mode, ...]:
    """Modes of a link in the order of its coordinates: axial, bending_y, bending_z, torsion, each 1, 2, ...

    hung: pseudo-inertia (4, 4) of all that hangs on the tip at the zero pose, about the tip, beam axes (for
    the boundary clamped-body). rotary: rotary inertia of the sections as in the formulation (for the basis
    finite_element).

    Raises
    ------
    UnsupportedError
        For boundaries without a clamped root; says the frequencies that the beam has with them.
    """
    modes = link.element.modes
    if modes.boundary in ("pinned-pinned", "free-free"):
        _refuse_free_root(link)
    counts = {name: getattr(modes, name) for name in FIELDS}
    if modes.shapes is not None:
        return own_shapes(link.element, modes.shapes)
    if modes.basis == "finite_element":
        return tuple(
            Mode(name, shape)
            for name in FIELDS
            if counts[name]
            for shape in _elements(name, counts[name], link, hung, rotary)
        )
    shape = {"eigen": _eigenfunction, "polynomial": _polynomial, "hermite": _hermite}[modes.basis]
    return tuple(
        Mode(name, shape(name, n, link, hung)) for name in FIELDS for n in range(1, counts[name] + 1)
    )


def _refuse_free_root(link: BeamLink) -> NoReturn:
    boundary = link.element.modes.boundary
    own = "; ".join(
        f"{name} {', '.join(f'{f:.5g}' for f in frequencies)} Hz"
        for name, frequencies in own_frequencies(link).items()
    )
    raise UnsupportedError(
        f"link '{link.element.link}': boundary '{boundary}' has no clamped root, the dynamics need "
        "clamped-free, clamped-body, clamped-pinned or clamped-clamped. Frequencies of the uniform beam of "
        f"mean properties with these ends: {own}"
    )


def own_frequencies(link: BeamLink) -> dict[str, tuple[float, ...]]:
    """Frequencies [Hz] of the uniform beam of mean properties with ends pinned-pinned or free-free, by field.

    See docs/theory/modes.md; rigid motions of a free beam are left out.
    """
    modes, beam = link.element.modes, link.beam
    s = (np.arange(200) + 0.5) / 200
    found = {}
    for name in FIELDS:
        count = getattr(modes, name)
        if not count:
            continue
        roots = np.pi * np.arange(1, count + 1)
        stiff, inertia = {
            "axial": (beam.EA, beam.mu),
            "torsion": (beam.GJ, beam.Jx),
            "bending_y": (beam.EIz, beam.mu),
            "bending_z": (beam.EIy, beam.mu),
        }[name]
        speed = np.sqrt(np.mean(stiff(s)) / max(float(np.mean(inertia(s))), np.finfo(float).tiny))
        if name.startswith("bending"):
            if modes.boundary == "free-free":
                roots = np.array(free_free_roots(count))
            omega = (roots / beam.length) ** 2 * speed
        else:
            omega = roots / beam.length * speed
        found[name] = tuple((omega / (2.0 * np.pi)).tolist())
    return found


def _elements(name: str, count: int, link: BeamLink, hung: np.ndarray, rotary: str) -> list[Shape]:
    from flexdyn_ros.families.trees.flexible.beams.finite_element import (
        element_shapes,  # with scipy.linalg: only where it is needed
    )

    modes = link.element.modes
    return element_shapes(
        link.beam,
        link.breaks,
        name,
        count,
        elements=modes.elements,
        boundary=modes.boundary,
        tip=hung if modes.boundary == "clamped-body" else np.zeros((4, 4)),
        rotary=rotary == "consistent",
    )


def _eigenfunction(name: str, n: int, link: BeamLink, hung: np.ndarray) -> Shape:
    boundary = link.element.modes.boundary
    if boundary == "clamped-clamped" and not name.startswith("bending"):
        # held at both ends, root-mean-square 1
        return sine_shape(n, n * np.pi, np.sqrt(2.0))
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
        # twisted evenly by a body beside which the beam has no polar inertia, to 2e-7
        return 0.0, (hung[2, 2] + hung[3, 3]) / polar if polar > 0.0 else 1e6
    about = {"bending_y": hung[1, 1] + hung[2, 2], "bending_z": hung[1, 1] + hung[3, 3]}
    return hung[0, 0] / mass, about.get(name, 0.0) / (mass * L**2)


def _hermite(name: str, n: int, link: BeamLink, hung: np.ndarray) -> Shape:
    """Interpolation of the tip, then functions that vanish there (bubbles) of root-mean-square 1.

    Bending: 1 = tip deflection s^2 (3 - 2 s), 2 = tip slope L s^2 (s - 1) [rad], then s^2 (1 - s)^2 times
    Jacobi polynomials; axial and torsion: 1 = s, then s (1 - s) times Jacobi polynomials, all orthogonal on a
    uniform beam (Legendre's polynomials span the same space).
    """
    if not name.startswith("bending"):
        return replace(polynomial_shape([0.0, 1.0], clamped=name), order=n) if n == 1 else _bubble(1, n - 2)
    if n == 1:
        return polynomial_shape([0.0, 0.0, 3.0, -2.0])
    if n == 2:
        L = link.beam.length
        return replace(polynomial_shape([0.0, 0.0, -L, L]), is_slope=True)
    return _bubble(2, n - 3)


def _bubble(p: int, degree: int) -> Shape:
    """s^p (1 - s)^p P(2 s - 1), P the Jacobi polynomial of that degree and parameters (2 p, 2 p); rms 1."""
    derivative = _jacobi_times(np.polynomial.polynomial.polypow([0.0, 1.0, -1.0], p), degree, 2 * p, 2 * p)
    x, w = gauss_legendre(degree + 2 * p + 1)
    c = 1.0 / float(np.sqrt(w @ derivative(x, 0) ** 2))
    return Shape.of(lambda s, order: c * derivative(s, order), degree + 2 * p)


def _polynomial(name: str, n: int, link: BeamLink, hung: np.ndarray) -> Shape:
    """s^p P(2 s - 1) with the Jacobi polynomial P of degree n - 1, parameters (0, 2 p); 1 at the tip.

    p = 2 for bending, 1 for torsion and axial: all polynomials that a clamped root admits, orthogonal on a
    uniform beam without section inertia.
    """
    p = 2 if name.startswith("bending") else 1
    return Shape.of(_jacobi_times(np.eye(p + 1)[p], n - 1, 0, 2 * p), n - 1 + p)


def _jacobi_times(weight: np.ndarray, degree: int, alpha: int, beta: int) -> Derivatives:
    """weight(s) P(2 s - 1), ascending coefficients times a Jacobi polynomial, and its derivatives by s."""
    from scipy.special import eval_jacobi  # imported where it is needed: most robots have eigenfunctions

    weights = [np.polynomial.polynomial.polyder(weight, k) for k in range(3)]

    def jacobi(s: np.ndarray, order: int) -> np.ndarray:
        if degree < order:
            return np.zeros_like(s)
        factor = float(np.prod([degree + alpha + beta + i for i in range(1, order + 1)]))
        return factor * eval_jacobi(degree - order, alpha + order, beta + order, 2.0 * s - 1.0)

    def derivative(s: np.ndarray, order: int) -> np.ndarray:
        s = np.asarray(s, dtype=float)
        value = np.zeros_like(s)
        for k in range(order + 1):
            value += comb(order, k) * np.polynomial.polynomial.polyval(s, weights[k]) * jacobi(s, order - k)
        return value

    return derivative


# Own shape functions of a beam: `<modes bending_z="2" shapes="file.npz"/>`.
#
# Arrays of the file, by field (axial, bending_y, bending_z, torsion), each (n, p + 1): n polynomials of the
# station s = x / length from 0 to 1, ascending coefficients, [1]; the first so many as `<modes>` asks for
# are
# taken. A shape times its coordinate is a displacement [m], or for torsion an angle [rad]. Any functions
# will
# do that vanish at the root, for bending with their slopes (admissible functions): they need satisfy no
# equation and no condition at the tip. Stiffness, mass and damping follow from the beam.

MOST_BYTES = 1 << 20
#: greatest degree: beyond it the powers of s cannot be told apart
MOST_DEGREE = 30
#: smallest share of a shape that the others may leave to it
INDEPENDENT = 1e-8


def own_shapes(link: FlexibleLink, path: str) -> tuple[Mode, ...]:
    """Modes of a link in the order of its coordinates, from the file of its `<modes shapes>`.

    Raises
    ------
    DescriptionError
        Naming the file and the array: missing, misshapen, not finite, not zero at the root, not independent.
    """

    def refuse(message: str, value: object, expected: str) -> NoReturn:
        raise DescriptionError(
            f"link '{link.link}': {message}",
            file=path, line=link.line, element="modes", attribute="shapes", value=value, expected=expected,
        )  # fmt: skip

    try:
        arrays = read_arrays(path, most_bytes=MOST_BYTES)
    except ArrayFileError as error:
        refuse(str(error), None, "a file that numpy.savez has written")
    except OSError as error:
        refuse(f"the file cannot be read: {error.strerror}", None, "a file of shape functions")
    for name in arrays:
        if name not in FIELDS:
            refuse(f"array '{name}' is no field", name, f"arrays of {', '.join(FIELDS)}")
    modes = []
    for name in FIELDS:
        count = getattr(link.modes, name)
        if not count:
            continue
        if name not in arrays:
            refuse(f"there are no shapes of {name}", ", ".join(arrays), f"an array '{name}' (n, p + 1)")
        c = np.asarray(arrays[name])
        if c.ndim != 2 or c.dtype.kind not in "fiu" or not 2 <= c.shape[1] <= MOST_DEGREE + 1:
            expected = f"numbers (n, p + 1), p at most {MOST_DEGREE}"
            refuse(f"array '{name}' does not hold polynomials", f"{c.dtype} {c.shape}", expected)
        if len(c) < count:
            refuse(f"array '{name}' has too few shapes for {name} = {count}", len(c), f"at least {count}")
        c = c[:count].astype(np.float64)
        if not np.isfinite(c).all():
            refuse(f"array '{name}' holds NaN or infinity", None, "finite numbers")
        clamped = "bending" if name.startswith("bending") else name
        try:
            shapes = [polynomial_shape(row, clamped=clamped) for row in c]
        except DescriptionError as error:
            refuse(f"array '{name}': {error.message}", error.value, str(error.expected))
        s, _ = gauss_legendre(c.shape[1] + 1)
        values = np.array([shape.value(s) for shape in shapes])
        size = np.linalg.norm(values, axis=1)
        unit = values / np.where(size > 0.0, size, 1.0)[:, None]
        if (size == 0.0).any() or np.linalg.svd(unit, compute_uv=False)[-1] < INDEPENDENT:
            refuse(f"shapes of array '{name}' depend on each other", None, "shapes that are independent")
        modes += [Mode(name, shape) for shape in shapes]
    return tuple(modes)
