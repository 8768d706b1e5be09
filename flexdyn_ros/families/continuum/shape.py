"""Shapes of soft sections: arc parameters, and deflections in engineering terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.robot.results import Deflection


class Solution(NamedTuple):
    """Actuator lengths that reach a target.

    q (..., nq); converged (...) bool; iterations (...) int; residual (...) the largest deviation from the
    target that is left [m, and rad for poses].
    """

    q: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    residual: np.ndarray


#: stations of `deflections` if none are given
STATIONS = 21


def bending(section: Section, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ux, uy, s) of actuator length changes (..., 3): components of the bending angle [rad], length of the
    neutral axis [m]."""
    r = section.radius
    l1, l2, l3 = np.moveaxis(q, -1, 0)
    return (
        ((l2 - l1) + (l3 - l1)) / (3.0 * r),
        (l3 - l2) / (np.sqrt(3.0) * r),
        section.length + (l1 + l2 + l3) / 3.0,
    )


def arc_of(section: Section, q: np.ndarray) -> np.ndarray:
    """(..., 3) curvature [1/m], bending angle [rad] and direction [rad] towards which the section bends; 0 if
    straight."""
    ux, uy, s = bending(section, q)
    angle = np.hypot(ux, uy)
    return np.stack([angle / s, angle, np.arctan2(uy, ux) * (angle > 0.0)], axis=-1)


def deflections_of(
    sections: Sequence[Section], q: np.ndarray, poses: np.ndarray, stations: np.ndarray
) -> dict[str, Deflection]:
    """Deformation of all sections of an arm at stations (k,), by their names.

    q (..., n, 3); poses (..., n, 1 + k, 4, 4) of each section's base and slices in the world. Vectors are in
    the axes of the section's base (z along the undeformed section). Curvature and strain per undeformed
    length; moment and force are the elastic ones.
    """
    from scipy.spatial.transform import Rotation

    L, r, disc, bending_spring = (
        np.array([getattr(section, name) for section in sections])
        for name in ("length", "radius", "disc_radius", "bending_stiffness")
    )
    l1, l2, l3 = np.moveaxis(q, -1, 0)
    ux, uy, s = ((l2 - l1) + (l3 - l1)) / (3.0 * r), (l3 - l2) / (np.sqrt(3.0) * r), L + (l1 + l2 + l3) / 3.0
    force = np.array([section.stiffness for section in sections]) * q
    f1, f2, f3 = np.moveaxis(force, -1, 0)
    # moments about x and y of three springs at the actuators, and of the bending stiffness
    on_ux = -r * (f1 - 0.5 * (f2 + f3)) + 0.25 * bending_spring * ux
    on_uy = -r * np.sqrt(0.75) * (f2 - f3) + 0.25 * bending_spring * uy
    base = np.swapaxes(poses[..., :1, :3, :3], -1, -2)
    turned = base @ poses[..., 1:, :3, :3]
    away = poses[..., 1:, :3, 3] - poses[..., :1, :3, 3]
    displacement = (base @ away[..., None])[..., 0]
    displacement[..., 2] -= L[:, None] * stations
    turns = Rotation.from_matrix(turned.reshape(-1, 3, 3)).as_rotvec() if turned.size else np.zeros(0)
    rotation = turns.reshape(displacement.shape)
    zero = np.zeros(ux.shape)
    rows = {
        "curvature": np.stack((-uy / L, ux / L, zero), axis=-1),
        "strain": np.abs(s / L - 1.0) + disc * np.hypot(ux, uy) / L,
        "moment": np.stack((-on_uy, on_ux, zero), axis=-1),
        "axial_force": force.sum(axis=-1),
    }
    axis, count = ux.ndim, len(stations)
    along = {name: np.repeat(np.expand_dims(row, axis), count, axis=axis) for name, row in rows.items()}
    along |= {"displacement": displacement, "rotation": rotation}
    return {
        section.joint: Deflection(
            station=stations.copy(),
            **{name: np.ascontiguousarray(np.take(x, i, axis=axis - 1)) for name, x in along.items()},
        )
        for i, section in enumerate(sections)
    }
