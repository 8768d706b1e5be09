"""Deformation of one flexible link along its stations, from its modal coordinates."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.robot.results import Deflection

#: columns of what is linear in the modal coordinates at a station
_U, _TURN, _CURVATURE, _STRETCH = slice(0, 3), slice(3, 6), slice(6, 9), 9


class LinkShapes:
    """The shapes of a link at stations s (k,)."""

    def __init__(self, link: FlexibleLinkModel, s: np.ndarray) -> None:
        u, th, strain, S = link.beam.fields_along(link.modes, s)
        self._link, self._station = link, s
        m, k = u.shape[:2]
        # (m, k, 10) as a matrix
        self._fields = np.concatenate([u, th, strain], axis=2).reshape(m, 10 * k)
        self._shortening = 0.5 * np.moveaxis(S, 0, 1).reshape(m, -1) if link.foreshortened else None
        self._rigidity = link.beam.stiffness(s) * link.rigidity

    def deflection(self, q: np.ndarray) -> Deflection:
        """At rows of q (..., nq)."""
        delta, k = q.take(self._link.q, axis=-1), len(self._station)
        fields = _combined(delta, self._fields).reshape(*delta.shape[:-1], k, 10)
        if self._shortening is not None:
            slopes = _combined(delta, self._shortening).reshape(*delta.shape[:-1], k, delta.shape[-1])
            fields[..., 0] -= (slopes * delta[..., None, :]).sum(axis=-1)
        curvature, stretch = fields[..., _CURVATURE], fields[..., _STRETCH]
        return Deflection(
            station=self._station.copy(),
            displacement=fields[..., _U],
            rotation=fields[..., _TURN],
            curvature=curvature,
            strain=self._fibre_strain(curvature, stretch),
            moment=self._rigidity[:, :3] * curvature,
            axial_force=self._rigidity[:, 3] * stretch,
        )

    def _fibre_strain(self, curvature: np.ndarray, stretch: np.ndarray) -> np.ndarray:
        """Largest |strain| of any fibre, axial and bending (torsion leaves fibres their length to first
        order)."""
        beam = self._link.beam
        section = beam.section if isinstance(beam, BeamLink) else None
        if section is None:
            return np.zeros(stretch.shape)
        if section.is_round:
            bending = section.reach_z * np.hypot(curvature[..., 1], curvature[..., 2])
        else:
            bending = section.reach_z * np.abs(curvature[..., 1]) + section.reach_y * np.abs(
                curvature[..., 2]
            )
        return np.abs(stretch) + bending


def _combined(delta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """delta (..., m) times rows (m, n), not by BLAS: a row of a batch is to the last digit what it is
    alone."""
    return np.einsum("...m,mi->...i", delta, rows)
