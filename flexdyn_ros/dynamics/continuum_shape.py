"""Shapes of soft sections: arc parameters, and deflections in engineering terms."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.description.elements import Section
from flexdyn_ros.dynamics.results import Deflection

__all__ = ["STATIONS", "arc_of", "bending", "deflection_of"]

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


def deflection_of(section: Section, q: np.ndarray, poses: np.ndarray, stations: np.ndarray) -> Deflection:
    """Deformation of one section at stations (k,).

    q (..., 3); poses (..., k, 4, 4) of the slices in the section's base frame, whose axes all vectors have
    (z along the undeformed section). Curvature and strain per undeformed length; moment and force are the
    elastic ones.
    """
    from scipy.spatial.transform import Rotation

    ux, uy, s = bending(section, q)
    k, L, r = np.array(section.stiffness), section.length, section.radius
    force = k * q
    # moments about x and y of three springs at the actuators, and of the bending stiffness
    on_ux = (
        -r * (force[..., 0] - 0.5 * (force[..., 1] + force[..., 2])) + 0.25 * section.bending_stiffness * ux
    )
    on_uy = -r * np.sqrt(0.75) * (force[..., 1] - force[..., 2]) + 0.25 * section.bending_stiffness * uy
    count = len(stations)

    def along(*parts: np.ndarray) -> np.ndarray:
        row = np.stack(np.broadcast_arrays(*parts), axis=-1)
        return np.repeat(row[..., None, :], count, axis=-2)

    displacement = poses[..., :3, 3].copy()
    displacement[..., 2] -= L * stations
    flat = np.ascontiguousarray(poses[..., :3, :3]).reshape(-1, 3, 3)
    turns = Rotation.from_matrix(flat).as_rotvec() if len(flat) else np.zeros((0, 3))
    strain = np.abs(s / L - 1.0) + section.disc_radius * np.hypot(ux, uy) / L
    return Deflection(
        station=stations.copy(),
        displacement=displacement,
        rotation=turns.reshape(displacement.shape),
        curvature=along(-uy / L, ux / L, 0.0 * ux),
        strain=np.repeat(strain[..., None], count, axis=-1),
        moment=along(-on_uy, on_ux, 0.0 * ux),
        axial_force=np.repeat(force.sum(axis=-1)[..., None], count, axis=-1),
    )
