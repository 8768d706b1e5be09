"""Springs, dampers and cylinders on robots with wheels: a layer around the wheels, which are one around the
tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.elements.robot import OFFERS, ElementTreeFunctions
from flexdyn_ros.families.wheeled.robot import MobileFunctions


class ElementMobileFunctions(ElementTreeFunctions, MobileFunctions):
    """A `MobileFunctions` with elements between its frames."""

    offers = (*MobileFunctions.offers, *OFFERS)
    around = MobileFunctions

    def _motion(
        self, q: np.ndarray, v: Any, tau: Any, wrenches: Mapping[str, object] | None, acceleration: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        force, a = super()._motion(q, v, tau, wrenches, acceleration)
        if tau is not None:
            # what cylinders do at the drive is not the drive's
            i = self._drive_index()
            force[..., i] -= np.einsum("...j,...j->...", self.actuation_matrix(q)[..., i, :], tau)
        return force, a
