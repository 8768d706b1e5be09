"""Executables of the nodes: each ends with exit code 0 at SIGINT or SIGTERM from its first moment on.

A node imports for seconds before `managed.run` listens to signals; until then there is nothing to tidy up.
Nothing that takes long to import is imported here before the signals are listened to.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from flexdyn_ros.nodes.ros.surroundings import shared_memory, stand_by


def end_at_signals() -> None:
    """End the process with exit code 0 at SIGINT and SIGTERM, until someone else listens to them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def look_around() -> None:
    """End the process with a sentence and exit code 1 where ROS would end it without one."""
    for text in shared_memory():
        sys.stderr.write(f"flexdyn_ros: ROS does not start: {text}\n")
        sys.exit(1)


def _node(module: str) -> Callable[[], None]:
    """The executable of the node in `nodes/NAME.py`."""

    def start() -> None:
        end_at_signals()
        look_around()
        stand_by()
        import_module(f"flexdyn_ros.nodes.{module}").main()

    return start


computed_torque = _node("computed_torque")
dynamics_server = _node("dynamics_server.node")
hydraulic_actuators = _node("hydraulic_actuators")
input_shaper = _node("input_shaper")
pd_controller = _node("pd_controller")
platform_controller = _node("platform_controller")
simulator = _node("simulator.node")
soft_arm_controller = _node("soft_arm_controller")
state_publisher = _node("state_publisher.node")
