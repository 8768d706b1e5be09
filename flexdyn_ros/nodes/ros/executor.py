"""The executor of the nodes: what one message runs into does not end the process.

rclpy raises where the executor spins whatever a callback raises, those of its own parameter, life cycle and
action services among them: one request that they do not expect would end a node, and one message that cannot
be taken would leave its topic, or every callback of its group, unheard.
"""

from __future__ import annotations

import time
import traceback
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.executors import (
    ConditionReachedException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
)
from rclpy.node import Node
from rclpy.service import Service
from rclpy.timer import Timer

from flexdyn_ros.errors import shortened
from flexdyn_ros.nodes.ros.outbox import MIDDLEWARE_ERROR

#: code of ours begins with this name
OURS = __name__.partition(".")[0]


class EnduringExecutor(SingleThreadedExecutor):
    """Answers messages and requests one by one; what fails is logged, and the next one is answered.

    Exceptions of timers and tasks are raised: nobody outside sent them, they are mistakes of the node.

    Parameters
    ----------
    node : rclpy.node.Node
        Whose logger tells what failed; it is added.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(context=node.context)
        self._node = node
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for one callback and run it."""
        entity: object = None
        try:
            try:
                handler, entity, _ = self.wait_for_ready_callbacks(timeout_sec, None, _never)
            except (ShutdownException, TimeoutException, ConditionReachedException):
                return
            handler()
            handler.result()
        except MIDDLEWARE_ERROR as error:
            if not self.context.ok():
                raise
            self._listen_again(entity)
            self._tell(f"the middleware refused: {error}")
            time.sleep(0.001)
        except Exception as error:
            if isinstance(entity, Service) and isinstance(error, InvalidHandle):
                # destroyed while its request was worked on: nobody hears the response
                return
            if entity is None or isinstance(entity, Timer) or not self.context.ok():
                raise
            self._listen_again(entity)
            self._tell(f"{_called(entity)} ran into {_described(error)}; the node goes on")

    def _tell(self, text: str) -> None:
        self._node.get_logger().error(text, throttle_duration_sec=1.0)

    @staticmethod
    def _listen_again(entity: Any) -> None:
        """Make an entity wait for its next message where the present one could not be taken: rclpy counts it
        as being worked on then, for ever."""
        if getattr(entity, "_executor_event", False):
            entity._executor_event = False
            if entity.callback_group is not None:
                entity.callback_group.ending_execution(entity)


def _never() -> bool:
    """No condition ends the wait; always the same one: with another rclpy forgets what is ready."""
    return False


def _called(entity: object) -> str:
    """The entity as ROS names it."""
    for kind, attribute in (("service", "srv_name"), ("topic", "topic_name"), ("action", "_action_name")):
        if isinstance(name := getattr(entity, attribute, None), str):
            return f"the callback of {kind} {shortened(name)}"
    return f"a callback ({type(entity).__name__})"


def _described(error: Exception) -> str:
    """The error in a line, with where it comes from if our code was running."""
    text = shortened(f"{type(error).__name__}: {error}", 300)
    frames = traceback.extract_tb(error.__traceback__)
    if any(f"/{OURS}/" in frame.filename for frame in frames[1:]):
        return f"{text}\n{''.join(traceback.format_tb(error.__traceback__))}"
    return text
