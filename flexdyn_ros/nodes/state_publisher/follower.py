"""Listens to a simulator for programs that are no nodes themselves: states of one robot, to a function."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from flexdyn_interfaces.msg import DynamicsState
from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.one_shot import short_lived_node
from flexdyn_ros.nodes.topics import NEWEST
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import seconds_of


class Follower:
    """Calls `heard(t, q, v, tau)` in a thread of its own whenever a state of the robot comes.

    Parameters
    ----------
    robot : Robot
        States of robots with other coordinates are passed over.
    heard : callable
        Time [s], q (nq,), v (nv,), tau (nu,).
    namespace : str
        Of the topic NAMESPACE/simulator/state.
    """

    def __init__(self, robot: Robot, heard: Callable[..., None], namespace: str = "") -> None:
        self._names = (list(robot.q_names), list(robot.v_names))
        self._heard = heard
        self._stack = ExitStack()
        self._node, self._executor = self._stack.enter_context(short_lived_node("flexdyn_view"))
        prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
        self.topic = f"{prefix}/simulator/state"
        self._node.create_subscription(DynamicsState, self.topic, self._take, NEWEST)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._spin, name="follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._ending.set()
        self._thread.join(5.0)
        self._stack.close()

    def _spin(self) -> None:
        while self._node.context.ok() and not self._ending.is_set():
            self._executor.spin_once(timeout_sec=0.2)

    def _take(self, message: DynamicsState) -> None:
        if (list(message.position_names), list(message.velocity_names)) != self._names:
            self._node.get_logger().warning(
                f"{self.topic} is of another robot: {shortened(message.robot)}", throttle_duration_sec=10.0
            )
            return
        stamp = message.header.stamp
        q, v, tau = (np.array(x) for x in (message.positions, message.velocities, message.efforts))
        self._heard(seconds_of(stamp), q, v, tau)
