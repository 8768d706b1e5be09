"""What all nodes have in common: life cycle with autostart, and a process that ends with exit code 0 at
a signal."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State
from rclpy.action import ActionServer, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.ros.declaration import ParameterError, given_names
from flexdyn_ros.nodes.ros.executor import EnduringExecutor
from flexdyn_ros.nodes.ros.outbox import Outbox, clock_health, diagnostic_name, told_in_a_sentence
from flexdyn_ros.nodes.ros.surroundings import StartError, joining
from flexdyn_ros.nodes.topics import REQUESTS, topic_of

#: seconds without a message that are reported, and between looks: together well below two seconds
LONGEST, INTERVAL = 0.75, 0.25


class Silence:
    """Says in the log, once, that nothing comes on a topic, and that something comes again.

    Wall time counts: simulated time pauses when a simulator is silent.

    Parameters
    ----------
    node : ManagedNode
        Nothing is logged while it is not active.
    topic : str
        What is heard, as the log is to call it.
    consequence : str
        What the node does meanwhile.
    """

    def __init__(self, node: ManagedNode, topic: str, consequence: str) -> None:
        self._node, self._topic, self._consequence = node, topic, consequence
        self._is_told = self._has_heard = False
        self.begin()
        self._timer = node.create_wall_timer(INTERVAL, self._look)

    def close(self) -> None:
        """Look no more."""
        self._node.destroy_timer(self._timer)

    def begin(self) -> None:
        """Count from now on."""
        self._heard = time.monotonic()

    def hear(self) -> None:
        """A message has come."""
        self._heard, self._has_heard = time.monotonic(), True
        if self._is_told:
            self._is_told = False
            self._node.get_logger().info(f"{self._topic}: heard again")

    @property
    def condition(self) -> str:
        """What is waited for and since when; empty while messages come."""
        seconds = time.monotonic() - self._heard
        if seconds < LONGEST:
            return ""
        return f"waiting for {self._topic}, none for {seconds:.1f} s: {self._consequence}"

    def _look(self) -> None:
        if self._node.is_active and not self._is_told and (condition := self.condition):
            self._is_told = True
            # who has not begun is no reason to worry, who has fallen silent is; rclpy wants a line for each
            if self._has_heard:
                self._node.get_logger().warning(condition)
            else:
                self._node.get_logger().info(condition)


#: why a service that needs an active node refuses
INACTIVE = "the node is not active, expected an active one (lifecycle transition activate)"

#: signals that end a node
SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: seconds that a node may take to end before the process ends without it
PATIENCE = 5.0


class ManagedNode(LifecycleNode):
    """A lifecycle node that says why a transition failed.

    Nodes give it three functions: `setup` (load, may raise), `start` and `stop`. A robot description or
    parameter that is wrong makes configure fail; the node stays alive, unconfigured, and can be configured
    again. What `setup` makes by `advertise`, `subscribe`, `serve`, `latch`, `repeat` and `report_by` is
    destroyed at cleanup.
    """

    #: whether nothing but this node lives in the process
    owns_process = False

    def __init__(self, name: str, autostart: bool | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self._kind = name
        self._is_set_up = False
        #: between activation and deactivation: what a managed node offers, it offers then
        self.is_active = False
        self._inputs: list[Silence] = []
        #: publishers, subscriptions, services and timers of `setup`, with what destroys each
        self._entities: list[tuple[Callable[[Any], Any], Any]] = []
        self.outbox = Outbox(self)
        self._autostart_timer = None
        self._ends_unless_started = False
        if autostart is None:
            from flexdyn_ros.nodes.ros.declaration import declare
            from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters

            settings = declare(self, LifecycleParameters)
            autostart, self._ends_unless_started = settings.autostart, settings.end_unless_started
        if autostart:
            self._autostart_timer = self.create_timer(0.0, self._start_by_itself)

    def setup(self) -> None:
        """Read parameters, load the robot, make publishers and services."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin to work."""

    def stop(self) -> None:
        """Cease to work; `start` may follow."""

    def clear(self) -> None:
        """Forget what `setup` made of its own; `setup` may follow."""

    def finish(self) -> bool:
        """Close what must be closed before the process ends; False if something of it was lost."""
        return True

    def create_wall_timer(self, period: float, callback: Callable[[], None]) -> Any:
        """A timer [s] that goes on when simulated time pauses or jumps: for health, not for control."""
        return self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def create_lifecycle_publisher(self, *args: Any, **options: Any) -> Any:
        """As of every lifecycle node; what the middleware does not take is logged, not raised."""
        return self.outbox.guarded(super().create_lifecycle_publisher(*args, **options))

    # ---- what `setup` makes and cleanup destroys ----

    def advertise(self, name: str, *parts: str) -> Any:
        """A publisher of a topic of this node's table, with parts of the robot for its {}; it is silent while
        the node is not active."""
        topic = topic_of(self._kind, "out", name)
        made = self.create_lifecycle_publisher(topic.message_type, name.format(*parts), topic.queue)
        return self._kept(self.destroy_publisher, made)

    def subscribe(self, name: str, callback: Callable[[Any], Any], raw: bool = False) -> Any:
        """A subscription to a topic of this node's table; raw: to the bytes of the messages."""
        topic = topic_of(self._kind, "in", name)
        made = self.create_subscription(topic.message_type, name, callback, topic.queue, raw=raw)
        return self._kept(self.destroy_subscription, made)

    def serve(self, kind: Any, name: str, callback: Callable[[Any, Any], Any], group: Any = None) -> Any:
        """A service ~/NAME."""
        made = self.create_service(kind, f"~/{name}", callback, qos_profile=REQUESTS, callback_group=group)
        return self._kept(self.destroy_service, made)

    def latch(self, name: str, text: str) -> None:
        """Publish a text that is kept for whoever comes later."""
        publisher = self.create_publisher(String, name, topic_of(self._kind, "out", name).queue)
        self._kept(self.destroy_publisher, publisher).publish(String(data=text))

    def repeat(self, period: float, callback: Callable[[], None], *, wall: bool = True) -> Any:
        """A timer [s], of wall time or of the node's clock."""
        make = self.create_wall_timer if wall else self.create_timer
        return self._kept(self.destroy_timer, make(period, callback))

    def report_by(self, statuses: Callable[[str], Iterable[DiagnosticStatus]]) -> None:
        """Publish what a function of the node's name in /diagnostics says, and who publishes /clock, every
        second."""
        self._statuses = statuses
        self.diagnostics = self.advertise("/diagnostics")
        self.repeat(1.0, self.report)

    def report(self) -> None:
        """Publish the diagnostics now."""
        message = DiagnosticArray(status=[*self._statuses(diagnostic_name(self)), clock_health(self)])
        message.header.stamp = self.get_clock().now().to_msg()
        self.diagnostics.publish(message)

    def _kept(self, destroy: Callable[[Any], object], entity: object) -> Any:
        self._entities.append((destroy, entity))
        return entity

    def watch_input(self, topic: str, consequence: str) -> Silence:
        """Say when nothing comes on a topic, from activation to cleanup; call in `setup`."""
        self._inputs.append(Silence(self, topic, consequence))
        return self._inputs[-1]

    def _start_by_itself(self) -> None:
        self.destroy_timer(self._autostart_timer)
        transitions = (self.trigger_configure, self.trigger_activate)
        is_started = all(trigger() == TransitionCallbackReturn.SUCCESS for trigger in transitions)
        if self._ends_unless_started and not is_started:
            raise StartError(f"{self.get_name()} does not start: the reason stands above")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._tell_unknown_parameters()
        result = self._attempt(self.setup, "configure")
        self._is_set_up = result == TransitionCallbackReturn.SUCCESS
        return result

    def _tell_unknown_parameters(self) -> None:
        """Say which parameters were given that this node does not have."""
        from flexdyn_ros.nodes.parameters import NODES
        from flexdyn_ros.nodes.ros.parameter_files import complaint, is_of_another, unknown

        if self._kind not in NODES:
            return
        strange = [name for name in unknown(self._kind, given_names(self)) if not self.has_parameter(name)]
        for name in strange:
            if not is_of_another(name):
                self.get_logger().warning(f"ignored: {complaint(self._kind, name)}")
        if others := [name for name in strange if is_of_another(name)]:
            self.get_logger().info(f"ignored, parameters of other nodes: {', '.join(others)}")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if super().on_activate(state) != TransitionCallbackReturn.SUCCESS:
            return TransitionCallbackReturn.FAILURE
        for silence in self._inputs:
            silence.begin()
        result = self._attempt(self.start, "activate")
        self.is_active = result == TransitionCallbackReturn.SUCCESS
        if self.owns_process:
            # what is made by now stays: collections, which hold up ticks and requests, look at new objects
            # only. Not collected here: finalizers of rclpy's objects can wait for threads that wait for the
            # interpreter. In a process with other nodes it would keep alive those that are destroyed
            gc.freeze()
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.is_active = False
        result = self._attempt(self.stop, "deactivate")
        super().on_deactivate(state)
        return result

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        for silence in self._inputs:
            silence.close()
        self._inputs, self._is_set_up = [], False
        result = self._attempt(self.clear, "clean up")
        for destroy, entity in self._entities:
            destroy(entity)
        self._entities = []
        return result

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.is_active = False
        return self._attempt(self.stop, "shut down")

    def destroy_node(self) -> None:
        """Destroy the node with all that it made: threads, actions, recording, and its part of the
        middleware. It need not have been deactivated or cleaned up."""
        self.is_active = False
        if self._is_set_up:
            self._attempt(self.stop, "stop")
            self.on_cleanup(LifecycleState("inactive", State.PRIMARY_STATE_INACTIVE))
        super().destroy_node()
        # rclpy leaves it to the collector of garbage; until then it keeps the node, and with the last node of
        # a context the participant, its threads and its ports
        self._state_machine.destroy_when_not_in_use()

    def _attempt(self, action: Callable[[], None], what: str) -> TransitionCallbackReturn:
        try:
            action()
        except (FlexdynError, ParameterError) as error:
            self.get_logger().error(f"cannot {what}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception:  # noqa: BLE001  a node stays alive and says what happened
            self.get_logger().error(f"cannot {what}:\n{traceback.format_exc()}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS


def goal_server(node: Node, kind: Any, name: str, execute: Any, cancel: Any) -> ActionServer:
    """A server of an action ~/NAME that accepts every goal: one that is rejected could not be told why."""
    return ActionServer(
        node,
        kind,
        f"~/{name}",
        execute,
        callback_group=ReentrantCallbackGroup(),
        goal_callback=lambda goal: GoalResponse.ACCEPT,
        cancel_callback=cancel,
    )


def executable(make_node: Callable[[], ManagedNode]) -> Callable[..., None]:
    """The entry point of a node: runs it and ends the process with its exit code."""

    def main(args: list[str] | None = None) -> None:
        """Entry point."""
        sys.exit(run(make_node, args))

    return main


def run(make_node: Callable[[], ManagedNode], args: list[str] | None = None) -> int:
    """Run one node until SIGINT, SIGTERM or the shutdown of its context; the exit code.

    The main thread waits for the signals, so that they never interrupt a callback and a second one changes
    nothing; the executor spins in a thread of its own.
    """
    signals = _listen_to_signals()
    try:
        given = sys.argv if args is None else args
        with joining(), told_in_a_sentence(given):
            rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
            node = make_node()
            node.owns_process = True
    except ParameterError as error:
        rclpy.logging.get_logger("flexdyn_ros").fatal(str(error))
        rclpy.try_shutdown()
        return 1
    except StartError as error:
        # the logger of ROS may be what does not start
        sys.stderr.write(f"flexdyn_ros: {error}\n")
        sys.stderr.flush()
        rclpy.try_shutdown()
        return 1
    executor = EnduringExecutor(node)
    failures: list[BaseException] = []
    ending = threading.Event()
    spinner = threading.Thread(target=_spin, args=(executor, failures, ending), name="executor", daemon=True)
    spinner.start()
    while spinner.is_alive() and not select.select([signals], [], [], 0.2)[0]:
        pass
    ending.set()
    threading.Thread(target=_end_anyway, args=(len(failures),), daemon=True).start()
    # an executor that waits looks up when there is something to do
    executor.create_task(lambda: None)
    spinner.join()
    node.stop()
    is_whole = node.finish()
    rclpy.try_shutdown()
    for failure in failures:
        if isinstance(failure, StartError):
            sys.stderr.write(f"flexdyn_ros: {failure}\n")
        else:
            traceback.print_exception(failure)
    # the interpreter gives signals back to the system while it ends: another one would be the exit code then
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    return 0 if is_whole and not failures else 1


def _listen_to_signals() -> socket.socket:
    """A socket that becomes readable at the first SIGINT or SIGTERM, whichever thread the system gives it
    to."""
    signals, tell = socket.socketpair()
    tell.setblocking(False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(tell.detach(), warn_on_full_buffer=False)
    return signals


def _spin(executor: EnduringExecutor, failures: list[BaseException], ending: threading.Event) -> None:
    try:
        while executor.context.ok() and not ending.is_set():
            executor.spin_once()
    except ExternalShutdownException:
        pass
    except BaseException as failure:  # noqa: BLE001  printed by the main thread
        # what a callback runs into while the context goes away is part of ending
        if executor.context.ok() and not ending.is_set():
            failures.append(failure)


def _end_anyway(code: int) -> None:
    """End the process if an orderly end takes too long: a stuck middleware must not leave it behind."""
    threading.Event().wait(PATIENCE)
    os._exit(1 if code else 0)
