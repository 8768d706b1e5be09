"""Own shape functions of a beam: `<modes bending_z="2" shapes="file.npz"/>`.

Arrays of the file, by field (axial, bending_y, bending_z, torsion), each (n, p + 1): n polynomials of the
station s = x / length from 0 to 1, ascending coefficients, [1]; the first so many as `<modes>` asks for are
taken. A shape times its coordinate is a displacement [m], or for torsion an angle [rad]. Any functions will
do that vanish at the root, for bending with their slopes (admissible functions): they need satisfy no
equation and no condition at the tip. Stiffness, mass and damping follow from the beam.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.flexible.beams.mode_shapes import gauss_legendre, polynomial_shape
from flexdyn_ros.families.trees.flexible.beams.modes import FIELDS, Mode
from flexdyn_ros.numerics.array_file import ArrayFileError, read_arrays

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
