"""`input_shaper`: joint feedback along references that leave no vibration when they end."""

from __future__ import annotations

from functools import partial

import numpy as np

from flexdyn_ros.control.input_shaping import Shaper, closed_loop_modes, shaper_of
from flexdyn_ros.control.reference import Reference
from flexdyn_ros.control.static_shape import StaticShape
from flexdyn_ros.nodes.controllers.joint_controller import JointController, Law, Send
from flexdyn_ros.nodes.controllers.parameters import InputShaperParameters
from flexdyn_ros.nodes.pd_controller import PdLaw
from flexdyn_ros.nodes.ros.declaration import ParameterError
from flexdyn_ros.nodes.ros.managed import executable
from flexdyn_ros.robot.verbs import Robot

#: damping ratio above which a mode stills by itself
WELL_DAMPED = 0.4


class ShapedLaw(Law):
    """`PdLaw`, and a shaper for the lightly damped modes of the arm under its feedback."""

    def __init__(
        self, node: JointController, robot: Robot, joints: tuple[str, ...], settings: InputShaperParameters
    ) -> None:
        bad = [f for f in settings.frequencies if f < 0.0 or not np.isfinite(f)]
        if bad:
            raise ParameterError(f"parameter frequencies holds {bad[0]}, expected positive numbers, or 0")
        self._feedback = PdLaw(node, robot, joints, settings)
        self.gains = self._feedback.gains
        self._robot, self._settings = robot, settings
        self._shape = StaticShape(robot)
        self._log = node.get_logger()

    def begin(self, q: np.ndarray) -> None:
        self._feedback.begin(q)

    def retune(self) -> None:
        self._feedback.retune()

    def act(self, t: float, q: np.ndarray, v: np.ndarray, reference: Reference, send: Send) -> None:
        self._feedback.act(t, q, v, reference, send)

    def shaper(self, q: np.ndarray) -> Shaper:
        settings = self._settings
        given = [f for f in settings.frequencies if f > 0.0]
        if given:
            return shaper_of(settings.shaper, given, [settings.mode_damping_ratio] * len(given))
        bent, tau = self._shape(q)
        modes = closed_loop_modes(self._robot, bent, self._feedback.P, self._feedback.D, tau)
        light = np.flatnonzero(modes.damping_ratio < WELL_DAMPED)[: settings.shaped_modes]
        frequencies = modes.frequency[light].tolist()
        ratios = np.maximum(modes.damping_ratio[light], 0.0).tolist()
        found = ", ".join(f"{f:.3f} Hz ({z:.3f})" for f, z in zip(frequencies, ratios, strict=True))
        self._log.info(f"shaping {settings.shaper} for {found or 'no mode: all are well damped'}")
        return shaper_of(settings.shaper, frequencies, ratios)


make_node = partial(JointController, "input_shaper", InputShaperParameters, ShapedLaw)
main = executable(make_node)


if __name__ == "__main__":
    main()
