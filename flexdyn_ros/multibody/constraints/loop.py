"""Closed joints: the rows of each type, and the loops of a description (docs/theory/loops.md)."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.description.places import Place
from flexdyn_ros.multibody.constraints.kernels.residual import D1, D2, D3, ELL, K1, K2, K3, RHO1, RHO2, RHO3
from flexdyn_ros.numerics.algebra.placement import cross

#: rows of each type, in their order
ROWS = {
    "fixed": (D1, D2, D3, RHO1, RHO2, RHO3),
    "revolute": (D1, D2, D3, K2, K1),
    "prismatic": (D1, D2, RHO1, RHO2, RHO3),
    "cylindrical": (D1, D2, K2, K1),
    "universal": (D1, D2, D3, K3),
    "spherical": (D1, D2, D3),
    "planar": (D3, K2, K1),
    "point_on_line": (D1, D2),
    "point_on_plane": (D3,),
    "distance": (ELL,),
}
#: |n_x| of an axis n from which on y is the axis that its triad begins with
_ALONG_X = 0.9


def loops_of(description: RobotDescription) -> tuple[Loop, ...]:
    """The loops of a description, in its order."""
    return description.extras.get("loop", ())  # type: ignore[return-value]


def place_of_loop(description: RobotDescription, record: Loop) -> Place:
    """Where a loop stands, for errors."""
    return description.place(record, f"loop '{record.name}'")


def refuse_loops(description: RobotDescription, why: str) -> None:
    """DescriptionError for the first loop or `<assembly>`, where there can be none."""
    for loop in loops_of(description):
        place = place_of_loop(description, loop)
        place.fail(f"a <loop> {why} is not possible yet", "name", loop.name, "no <loop>")
    for assembly in description.extras.get("assembly", ()):
        place = description.place(assembly, "assembly")
        place.fail(f"an <assembly> {why} is not possible yet", None, None, "no <assembly>")


def triad(axis: tuple[float, float, float] | None) -> np.ndarray:
    """T(n) = (t1, t2, n) of the direction n of an axis, z without one: t1 is x less its part along n, of unit
    length (y, where n is nearly x), t2 = n x t1."""
    n = np.array((0.0, 0.0, 1.0) if axis is None else axis)
    n /= np.linalg.norm(n)
    e = np.array([0.0, 1.0, 0.0] if abs(n[0]) > _ALONG_X else [1.0, 0.0, 0.0])
    t = e - (e @ n) * n
    t /= np.linalg.norm(t)
    return np.column_stack([t, cross(n, t), n])
