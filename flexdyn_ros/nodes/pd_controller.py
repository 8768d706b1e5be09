"""`pd_controller`: joint feedback with gravity and deflection compensation."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from flexdyn_ros.control.input_shaping import Shaper
from flexdyn_ros.control.pd import pd
from flexdyn_ros.control.reference import Reference
from flexdyn_ros.nodes.controllers import Gains, JointController, Send
from flexdyn_ros.nodes.managed import run
from flexdyn_ros.nodes.parameters import PdControllerParameters

__all__ = ["PdLaw", "main", "make_node"]


class PdLaw:
    """`control.pd` with gains about the configuration at which motion begins."""

    def __init__(self, node: Any, robot: Any, joints: tuple[str, ...], settings: Any) -> None:
        self.robot, self.settings = robot, settings
        self.gains = Gains(node, robot, joints, settings, of_inertia=True)
        self.tip = (settings.tip_frame or robot.frame_names[-1]) if settings.deflection_compensation else None

    def begin(self, q: np.ndarray) -> None:
        self.P, self.D = self.gains.about(q)
        self._wanted: tuple[np.ndarray, np.ndarray, np.ndarray] = (q, 0.0 * self.P, 0.0 * self.P)
        self._law = pd(
            self.robot,
            lambda t: self._wanted,
            self.P,
            self.D,
            gravity=self.settings.gravity_compensation,
            tip=self.tip,
        )
        self._law(0.0, q, np.zeros(self.robot.nv))

    def act(self, t: float, q: np.ndarray, v: np.ndarray, reference: Reference, send: Send) -> None:
        self._wanted = reference(t)
        send(self._law(t, q, v), self._wanted)

    def shaper(self, q: np.ndarray) -> Shaper | None:
        return None


def make_node(**options: Any) -> JointController:
    """The node."""
    return JointController("pd_controller", PdControllerParameters, PdLaw, **options)


def main(args: list[str] | None = None) -> None:
    """Entry point."""
    sys.exit(run(make_node, args))


if __name__ == "__main__":
    main()
