"""`computed_torque`: joint feedback as accelerations, turned into efforts by an InverseDynamics service."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from flexdyn_interfaces.srv import InverseDynamics
from flexdyn_ros.control.reference import Reference
from flexdyn_ros.control.static_shape import StaticShape
from flexdyn_ros.nodes.controllers.joint_controller import Gains, JointController, Law, Output, Send
from flexdyn_ros.nodes.controllers.parameters import ComputedTorqueParameters
from flexdyn_ros.nodes.ros.managed import executable
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import doubles, numbers_of

ZERO, STATIC = 1, 2


class ServiceLaw(Law):
    """tau = ID(q, v, a_d + P (q_d - q) + D (v_d - v)), by the dynamics server, one request at a time.

    Elastic coordinates are not measured: the server takes them as at rest, bent by the weight or straight,
    and leaves them free to accelerate.
    """

    takes_loops = True

    def __init__(self, node: Node, robot: Robot, joints: tuple[str, ...], settings: Any) -> None:
        self._node, self._robot, self._settings = node, robot, settings
        self.gains = Gains(node, robot, joints, settings, of_inertia=False)
        elastic = set(StaticShape(robot).q.tolist())
        self._listed = [i for i in range(robot.nq) if i not in elastic]
        self._names = [robot.q_names[i] for i in self._listed]
        self._client: Any = node.create_client(InverseDynamics, settings.service)
        self._sent_at = -np.inf
        self._waiting: Any = None

    def begin(self, q: np.ndarray) -> None:
        self._begun_at = q
        self.retune()

    def retune(self) -> None:
        self._P, self._D = self.gains.about(self._begun_at)

    def act(self, t: float, q: np.ndarray, v: np.ndarray, reference: Reference, send: Send) -> None:
        wanted = reference(t)
        if self._waiting is not None and time.monotonic() - self._sent_at < self._settings.answer_timeout:
            return
        if not self._client.service_is_ready():
            self._tell(f"no service {self._client.srv_name}: no commands")
            return
        q_d, v_d, a_d = wanted
        a = a_d + self._P * self._robot.difference(q, q_d) + self._D * (v_d - v)
        request = InverseDynamics.Request(robot=self._settings.robot, samples=1, names=self._names)
        request.unlisted = STATIC if self._settings.deflection_compensation else ZERO
        request.positions, request.velocities = doubles(q[self._listed]), doubles(v)
        request.accelerations, request.free_unactuated = doubles(a), True
        self._sent_at = time.monotonic()
        self._waiting = future = self._client.call_async(request)
        future.add_done_callback(lambda done: self._on_answer(done, wanted, send))

    def _on_answer(self, future: Future, wanted: Any, send: Send) -> None:
        if future is not self._waiting:
            return  # came too late: another one was requested
        self._waiting = None
        response = future.result()
        if not response.success:
            self._tell(f"{self._client.srv_name}: {response.message}")
            return
        if len(response.efforts) != self._robot.nu:
            self._tell(
                f"efforts has {len(response.efforts)} numbers, expected {self._robot.nu}: another robot?"
            )
            return
        send(Output(numbers_of(response.efforts)), wanted)

    def _tell(self, text: str) -> None:
        self._node.get_logger().warning(text, throttle_duration_sec=1.0)


make_node = partial(JointController, "computed_torque", ComputedTorqueParameters, ServiceLaw)
main = executable(make_node)


if __name__ == "__main__":
    main()
