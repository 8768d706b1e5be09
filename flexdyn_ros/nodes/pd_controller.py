"""`pd_controller`: joint feedback with gravity and deflection compensation."""

from __future__ import annotations

from functools import partial

import numpy as np

from flexdyn_ros.control.feedback import pd
from flexdyn_ros.control.input_shaping import Shaper
from flexdyn_ros.control.reference import Reference
from flexdyn_ros.control.static_shape import StaticShape
from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.nodes.controllers.joint_controller import Gains, JointController, Law, Output, Send
from flexdyn_ros.nodes.controllers.parameters import PdControllerParameters
from flexdyn_ros.nodes.ros.managed import executable
from flexdyn_ros.robot.analysis.sampled_feedback import DELAYS, sampled_growth
from flexdyn_ros.robot.verbs import Robot


class PdLaw(Law):
    """`control.pd` with gains about the configuration at which motion begins; or, where the robot's servos
    close the loop, the reference with the efforts that hold it.

    Joints without an actuator that loops move need not be measured: they follow from the others.
    """

    takes_loops = True

    def __init__(
        self, node: JointController, robot: Robot, joints: tuple[str, ...], settings: PdControllerParameters
    ) -> None:
        self.robot, self.settings = robot, settings
        self.gains = Gains(node, robot, joints, settings, of_inertia=True)
        self.tip = (settings.tip_frame or robot.frame_names[-1]) if settings.deflection_compensation else None
        if self.tip is not None:
            robot.frames(robot.neutral(), self.tip)
        self._shape = StaticShape(robot)
        self._node, self._log = node, node.get_logger()
        self._wanted: tuple[np.ndarray, np.ndarray, np.ndarray]

    def begin(self, q: np.ndarray) -> None:
        self._wanted = (q, np.zeros(self.robot.nv), np.zeros(self.robot.nv))
        self._begun_at = q
        self.retune()

    def retune(self) -> None:
        q = self._begun_at
        self.P, self.D = self.gains.about(q)
        self.by_servos = self._leaves_it_to_servos(q)
        if self.by_servos:
            self.P, self.D = self.gains.of_servos(q)
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
        try:
            output = self._targets() if self.by_servos else Output(self._law(t, q, v))
        except ConvergenceError as error:
            self._log.warning(f"no command at the reference: {error}", throttle_duration_sec=1.0)
            return
        send(output, self._wanted)

    def shaper(self, q: np.ndarray) -> Shaper | None:
        """None; ConvergenceError where the robot cannot be held at q (nq,)."""
        self._shape(q)
        return None

    def _targets(self) -> Output:
        """The reference for the robot's servos."""
        q_d, v_d, _ = self._wanted
        if self.tip is not None:
            q_d = self._shape.aimed(q_d, self.tip)
        effort = self._shape(q_d)[1] if self.settings.gravity_compensation else None
        return Output(effort, q_d, v_d)

    def _leaves_it_to_servos(self, q: np.ndarray) -> bool:
        """As `command_interface` says; "auto": efforts, unless the robot bends and feedback by samples would
        shake it."""
        interface = self.settings.command_interface
        if interface == "position":
            return True
        if self._shape.is_rigid:
            self._warn_of_growth(q)
            return False
        growth = self._growth(q, self.P, self.D)
        if growth < 0.0:
            return False
        text = (
            f"feedback by efforts, sampled at {self.settings.state_rate_hz:g} Hz, makes vibration of "
            f"{self.robot.name} grow by {growth:.3g} per second"
        )
        if interface == "effort":
            self._log.warning(f"{text}: lower the bandwidth or set command_interface to position")
            return False
        self._log.info(f"{text}: positions and velocities go to the servos of the robot")
        return True

    def _growth(self, q: np.ndarray, P: np.ndarray, D: np.ndarray) -> float:
        """Rate [1/s] of the least stable motion about rest at q, by samples and with the worst delay."""
        bent, tau = self._shape(q)
        period = 1.0 / self.settings.state_rate_hz
        return max(sampled_growth(self.robot, bent, P, D, period, share * period, tau) for share in DELAYS)

    def _warn_of_growth(self, q: np.ndarray) -> None:
        """Say that the closed loop of a rigid robot is unstable, and which gains would do."""
        growth = self._growth(q, self.P, self.D)
        if growth < 0.0:
            return
        P, D = self.gains.derived(q)
        names = [c.name for c in self.robot.coordinates]
        others = ", ".join(
            f"{name}.p {p:.3g}, {name}.d {d:.3g}"
            for name, p, d, p0, d0 in zip(names, P, D, self.P, self.D, strict=True)
            if (p, d) != (p0, d0)
        )
        would_do = others and self._growth(q, P, D) < 0.0
        advice = f"gains that hold it: {others}" if would_do else "lower the bandwidth or raise state_rate_hz"
        self._node.warn_of_growth(growth, advice)


make_node = partial(JointController, "pd_controller", PdControllerParameters, PdLaw)
main = executable(make_node)


if __name__ == "__main__":
    main()
