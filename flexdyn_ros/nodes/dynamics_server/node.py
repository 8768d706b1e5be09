"""`dynamics_server`: the verbs of one or several robots as services."""

from __future__ import annotations

import os
import sys
import time
from math import inf
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup

from flexdyn_interfaces import srv
from flexdyn_ros.nodes.dynamics_server.scheduler import RequestScheduler
from flexdyn_ros.nodes.dynamics_server.services import SERVICES
from flexdyn_ros.nodes.dynamics_server.simulate_action import SimulateAction
from flexdyn_ros.nodes.ros.declaration import ParameterError, declare
from flexdyn_ros.nodes.ros.managed import INACTIVE, ManagedNode, run
from flexdyn_ros.nodes.ros.outbox import OK, status
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.nodes.ros.robot_parameters import DynamicsServerParameters, RobotParameters
from flexdyn_ros.nodes.ros.robot_source import load_robot
from flexdyn_ros.robot.threads import set_batch_threads
from flexdyn_ros.robot.verbs import Robot


def warm_up(robot: Robot) -> None:
    """Call the quick verbs once, for one sample and for a batch."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for batch in ((), (1,)):
        qs, vs = np.broadcast_to(q, (*batch, robot.nq)).copy(), np.zeros((*batch, robot.nv))
        robot.inverse_dynamics(qs, vs, vs)
        robot.mass_matrix(qs)
        robot.bias_terms(qs, vs)
        robot.bias_forces(qs, vs)
        robot.energy(qs, vs)
        robot.frames(qs)
        robot.jacobian(qs, robot.frame_names[-1])
    wrench = {robot.frame_names[-1]: np.zeros(6)}
    robot.inverse_dynamics(q, v, v, wrench)
    try:
        robot.forward_dynamics(q, v)
        robot.forward_dynamics(q, v, None, wrench)
    except ArithmeticError:
        # a robot with massless joints answers inverse dynamics all the same
        pass


#: seconds for which a thread may keep the interpreter while another waits: a request that comes while others
#: are worked on waits for a few of these
SWITCH = 0.0005
#: seconds between two refusals of a service that are logged
WARNED_EVERY = 1.0


class DynamicsServer(ManagedNode):
    """Answers requests about robots, quick ones at once and others in turn
    (nodes/dynamics_server/scheduler.py), and simulates them (nodes/dynamics_server/simulate_action.py)."""

    def __init__(self, **options: Any) -> None:
        super().__init__("dynamics_server", **options)
        self._settings = declare(self, DynamicsServerParameters)
        self._sources = self._declare_robots()
        self._robots: dict[str, Robot] = {}
        self._requests: RequestScheduler | None = None
        self._simulate: SimulateAction | None = None
        self._served = self._refused = 0
        self._last_refusal = ""
        #: when a refusal of a service was logged last [s]
        self._warned: dict[str, float] = {}

    def _declare_robots(self) -> dict[str | None, DynamicsServerParameters]:
        """Where each robot comes from, by the name that it gets (None: its own)."""
        if not self._settings.robots:
            return {None: self._settings}
        if "" in self._settings.robots:
            raise ParameterError("parameter robots has an empty entry, expected names")
        return {
            name: declare(self, DynamicsServerParameters, f"{name}.", only=RobotParameters)
            for name in self._settings.robots
        }

    # ---- life cycle ----

    def setup(self) -> None:
        loaded = [load_robot(self, source, name) for name, source in self._sources.items()]
        self._robots = {robot.name: robot for robot in loaded}
        for robot in self._robots.values():
            for warning in robot.warnings:
                self.get_logger().warning(f"{robot.name}: {warning}")
            warm_up(robot)
        group = ReentrantCallbackGroup()
        self._requests = RequestScheduler(self, self._robots, self._settings, self._count)
        self.serve(srv.ListRobots, "list_robots", self._on_list, group)
        for service in SERVICES:
            self._requests.open(service, group)
        self._simulate = SimulateAction(self, self._robots, self._settings.max_simulations, self._count)
        self.repeat(0.2, self._requests.look_for_clients)
        self.report_by(self._health)
        if self._settings.publish_description:
            self.latch("robot_description", loaded[0].description.text)
        names = ", ".join(f"{r.name} ({r.kind}, {r.nv} coordinates)" for r in self._robots.values())
        self.get_logger().info(f"ready: {names}")

    def start(self) -> None:
        if self._simulate is not None:
            self._simulate.resume()

    def stop(self) -> None:
        if self._simulate is not None:
            self._simulate.pause("stopped because the server was deactivated")

    def clear(self) -> None:
        self._close("stopped because the server is cleaned up")
        self._robots = {}

    def finish(self) -> bool:
        self._close("stopped because the server ends")
        return True

    def _close(self, reason: str) -> None:
        """End the work on requests and goals, and their threads."""
        if self._requests is not None:
            self._requests.close(reason)
        if self._simulate is not None:
            self._simulate.close(reason)
        self._requests = self._simulate = None

    # ---- requests ----

    def _on_list(self, request: Message, response: Message) -> Message:
        if not self.is_active:
            response.success, response.message = False, INACTIVE
            return response
        response.success = True
        response.names = list(self._robots)
        response.kinds = [robot.kind for robot in self._robots.values()]
        return response

    def _count(self, name: str, response: Message) -> None:
        if response.success:
            self._served += 1
            return
        self._refused += 1
        self._last_refusal = f"{name}: {response.message}"[:500]
        # a flood at one service must not silence the others
        now = time.monotonic()
        if now - self._warned.get(name, -inf) >= WARNED_EVERY:
            self._warned[name] = now
            self.get_logger().warning(f"refused {self._last_refusal}")

    def _health(self, name: str) -> list[DiagnosticStatus]:
        values = {
            "served": self._served,
            "refused": self._refused,
            "last_refusal": self._last_refusal,
            "waiting": len(self._requests) if self._requests is not None else 0,
        }
        return [status(OK, f"{name}: requests", "answering", values)]


def cores_for_long_work() -> int:
    """All usable cores but one, and at least one."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, usable - 1)


def main(args: list[str] | None = None) -> None:
    """Entry point."""
    sys.setswitchinterval(SWITCH)
    if "FLEXDYN_THREADS" not in os.environ:
        set_batch_threads(cores_for_long_work())
    sys.exit(run(DynamicsServer, args))
