"""`dynamics_server`: the verbs of one or several robots as services."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import String

from flexdyn_interfaces import srv
from flexdyn_ros.nodes.declaration import ParameterError, declare
from flexdyn_ros.nodes.managed import ManagedNode, run
from flexdyn_ros.nodes.robot_parameters import DynamicsServerParameters, RobotParameters
from flexdyn_ros.nodes.robot_source import LATCHED, load_robot
from flexdyn_ros.nodes.services import SERVICES, Service, answer
from flexdyn_ros.nodes.warm import warm_up

__all__ = ["DynamicsServer", "main"]


class DynamicsServer(ManagedNode):
    """Answers requests about robots; a long one is computed by a thread of its own, so that it holds up no
    other.

    The thread that spins is the only one that touches ROS: a handler that takes long awaits a future.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("dynamics_server", **options)
        self._settings = declare(self, DynamicsServerParameters)
        self._sources = self._declare_robots()
        self._robots: dict[str, Any] = {}
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="solve")
        self._served = self._refused = 0
        self._last_refusal = ""
        self._made: list[Any] = []

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
        self._robots = {one.robot.name: one.robot for one in loaded}
        for robot in self._robots.values():
            for warning in robot.warnings:
                self.get_logger().warning(f"{robot.name}: {warning}")
            warm_up(robot)
        group = ReentrantCallbackGroup()
        self._made = [
            self.create_service(srv.ListRobots, "~/list_robots", self._on_list, callback_group=group)
        ]
        for service in SERVICES:
            self._made.append(
                self.create_service(
                    service.type, f"~/{service.name}", self._on_request(service), callback_group=group
                )
            )
        self._diagnostics = self.create_lifecycle_publisher(DiagnosticArray, "/diagnostics", 1)
        self._health = self.create_timer(1.0, self._report)
        self._description = None
        if self._settings.publish_description:
            self._description = self.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=loaded[0].text))
        names = ", ".join(f"{r.name} ({r.kind}, {r.nv} coordinates)" for r in self._robots.values())
        self.get_logger().info(f"ready: {names}")

    def clear(self) -> None:
        for service in self._made:
            self.destroy_service(service)
        self.destroy_timer(self._health)
        self.destroy_publisher(self._diagnostics)
        if self._description is not None:
            self.destroy_publisher(self._description)
        self._made, self._robots = [], {}

    # ---- requests ----

    def _on_list(self, request: Any, response: Any) -> Any:
        response.success = True
        response.names = list(self._robots)
        response.kinds = [robot.kind for robot in self._robots.values()]
        return response

    def _on_request(self, service: Service) -> Any:
        """The callback of a service: at once what is quick, in the pool what is not."""
        limit = self._settings.max_samples

        async def callback(request: Any, response: Any) -> Any:
            if getattr(request, "samples", 1) > service.quick or getattr(request, "unlisted", 0):
                result = await self._in_pool(service, request, response)
            else:
                result = answer(service, self._robots, request, response, limit)
            self._count(service, result)
            return result

        return callback

    def _in_pool(self, service: Service, request: Any, response: Any) -> Future:
        done: Future = Future(executor=self.executor)
        executor = self.executor

        def work() -> None:
            done.set_result(answer(service, self._robots, request, response, self._settings.max_samples))
            if executor is not None:
                executor.wake()

        self._pool.submit(work)
        return done

    def _count(self, service: Service, response: Any) -> None:
        if response.success:
            self._served += 1
            return
        self._refused += 1
        self._last_refusal = f"{service.name}: {response.message}"[:500]
        self.get_logger().warning(f"refused {self._last_refusal}", throttle_duration_sec=1.0)

    def _report(self) -> None:
        values = {"served": self._served, "refused": self._refused, "last_refusal": self._last_refusal}
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK,
            name=f"{self.get_name()}: requests",
            message="answering",
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)


def main(args: list[str] | None = None) -> None:
    """Entry point."""
    sys.exit(run(DynamicsServer, args))


if __name__ == "__main__":
    main()
