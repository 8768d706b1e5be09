"""The action `~/simulate`: runs of `flexdyn_ros.simulate` on robots of the server, one after the other in a
thread of its own, with feedback, which can be cancelled.

The thread that spins alone touches ROS: it takes goals, sends feedback and results. The thread that simulates
tells how far it is, and ends on request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import ceil, isfinite
from typing import Any

from rclpy.action import CancelResponse
from rclpy.task import Future

import flexdyn_ros
from flexdyn_interfaces.action import Simulate
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.dynamics_server.requests import (
    LARGEST_ANSWER,
    RequestError,
    column,
    efforts_of,
    robot_of,
)
from flexdyn_ros.nodes.ros.managed import goal_server
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import doubles

#: seconds between two messages of feedback
FEEDBACK = 0.25
#: step of a goal that says none [s]
STEP = 1e-3


class _EndedError(Exception):
    """Raised into a simulation that is to end."""


class SimulateAction:
    """Serves goals; each ends with a result whose `success` and `message` say what became of it.

    A wrong goal, one too many, and a run that fails are aborted with a message, a cancelled one is canceled
    with one: the other fields are then empty.

    Parameters
    ----------
    node : rclpy.node.Node
    robots : mapping
        From names to robots.
    most : int
        Goals that may wait or run.
    count : callable
        Called with "simulate" and the result of every goal.
    """

    def __init__(
        self, node: Any, robots: Mapping[str, Robot], most: int, count: Callable[[str, Message], None]
    ) -> None:
        self._node, self._robots, self._most, self._count = node, robots, most, count
        #: runs that are not over, by the identity of their goal
        self._runs: dict[bytes, _Run] = {}
        #: why no goal is taken now; empty: goals are taken
        self._refused = "the server is not active, expected an active one"
        self._runner = ThreadPoolExecutor(1, thread_name_prefix="simulate")
        self._timer = node.create_timer(FEEDBACK, self._tell)
        self._server = goal_server(node, Simulate, "simulate", self._execute, self._cancel)

    def resume(self) -> None:
        """Take goals."""
        self._refused = ""

    def pause(self, reason: str) -> None:
        """Take no more goals, and end those that run or wait."""
        self._refused = "the server is not active, expected an active one"
        for run in list(self._runs.values()):
            run.end(reason)

    def close(self, reason: str) -> None:
        """End all goals, the thread and the action."""
        self.pause(reason)
        self._runner.shutdown(wait=False)
        self._node.destroy_timer(self._timer)
        self._server.destroy()

    # ---- the thread that spins ----

    async def _execute(self, goal: Message) -> Any:
        run = _Run(goal)
        identity = bytes(goal.goal_id.uuid)
        executor = self._node.executor
        run.done = Future(executor=executor)
        run.wake = executor.wake if executor is not None else lambda: None
        try:
            if self._refused:
                raise RequestError(self._refused)
            if len(self._runs) >= self._most:
                raise RequestError(
                    f"{len(self._runs)} simulations wait or run, expected at most {self._most} with this one"
                    " (parameter max_simulations)"
                )
            run.simulate = run_of(self._robots, goal.request)
        except (FlexdynError, RequestError) as error:
            result = _nothing(str(error))
        else:
            self._runs[identity] = run
            self._runner.submit(run.work)
            result = await run.done
            self._runs.pop(identity, None)
        self._count("simulate", result)
        if not goal.is_active:
            return result
        if result.success:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        return result

    def _cancel(self, goal: Message) -> CancelResponse:
        run = self._runs.get(bytes(goal.goal_id.uuid))
        if run is None:
            return CancelResponse.REJECT
        run.end("cancelled")
        return CancelResponse.ACCEPT

    def _tell(self) -> None:
        for run in self._runs.values():
            if run.began and run.goal.is_active:
                run.goal.publish_feedback(Simulate.Feedback(time=run.time, real_time_factor=run.factor))


class _Run:
    """One goal."""

    def __init__(self, goal: Message) -> None:
        self.goal = goal
        self.simulate: Callable[[Callable[[float], None]], Any]
        self.done: Future
        self.wake: Callable[[], None]
        #: simulated so far [s], and the wall time at which that began
        self.time, self.began = 0.0, 0.0
        self._reason = ""

    @property
    def factor(self) -> float:
        """Simulated over elapsed time so far."""
        return self.time / max(time.monotonic() - self.began, 1e-9)

    def end(self, reason: str) -> None:
        """End it soon, whichever thread asks."""
        self._reason = self._reason or reason

    def work(self) -> None:
        """Simulate, and pass on the result, in the thread that simulates."""

        def reach(t: float) -> None:
            self.time = t
            if self._reason:
                raise _EndedError

        self.began = time.monotonic()
        try:
            reach(0.0)
            result = _result(self.simulate(reach))
        except _EndedError:
            result = _nothing(f"{self._reason} at t = {self.time:.6g} s")
        except FlexdynError as error:
            result = _nothing(str(error))
        except MemoryError:
            result = _nothing("not enough memory for this run, expected a shorter one or a longer dt")
        except Exception as error:  # noqa: BLE001  a goal must never end the server
            result = _nothing(f"internal error: {type(error).__name__}: {error}")
        self.done.set_result(result)
        self.wake()


def run_of(robots: Mapping[str, Robot], goal: Message) -> Callable[[Callable[[float], None]], Any]:
    """What simulates as a goal says, called with a function that takes its progress; returns the Trajectory.

    Raises
    ------
    RequestError, UnknownNameError
        For fields that are wrong; what `simulate` finds wrong it says when it is called.
    """
    robot = robot_of(robots, goal.robot)
    if not (isfinite(goal.duration) and goal.duration > 0.0):
        raise RequestError(f"duration is {goal.duration}, expected a number of seconds above 0")
    if not (isfinite(goal.dt) and goal.dt >= 0.0):
        raise RequestError(f"dt is {goal.dt}, expected a number of seconds above 0, or 0 for {STEP:g} s")
    step = goal.dt or STEP
    numbers = (goal.duration / step + 1) * (1 + robot.nq + robot.nv)
    if not numbers <= LARGEST_ANSWER:
        longest = (LARGEST_ANSWER // (1 + robot.nq + robot.nv) - 1) * step
        raise RequestError(
            f"duration is {goal.duration:g} s, {ceil(min(goal.duration / step, 1e18))} steps of {step:g} s"
            f" whose result would hold over {LARGEST_ANSWER} numbers, expected at most {longest:g} s or a"
            " longer dt: continue from the last state in another goal, or call the library"
        )
    given: dict[str, Any] = {}
    for field, name, width in (("positions", "q0", robot.nq), ("velocities", "v0", robot.nv)):
        if len(getattr(goal, field)):
            given[name] = column(goal, field, 1, width)[0].copy()
    if len(goal.efforts) or goal.effort_names:
        given["control"] = efforts_of(robot, goal, 1)[0].copy()
    if goal.dt:
        given["dt"] = goal.dt
    if goal.method:
        given["method"] = goal.method

    def simulate(progress: Callable[[float], None]) -> Any:
        return flexdyn_ros.simulate(robot, goal.duration, record=(), progress=progress, **given)

    return simulate


def _result(run: Any) -> Any:
    return Simulate.Result(
        success=True, times=doubles(run.t), positions=doubles(run.q), velocities=doubles(run.v)
    )


def _nothing(message: str) -> Any:
    return Simulate.Result(success=False, message=message)
