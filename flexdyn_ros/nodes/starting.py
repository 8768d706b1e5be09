"""Executables of the nodes: each ends with exit code 0 at SIGINT or SIGTERM from its first moment on.

A node imports for seconds before `managed.run` listens to signals; until then there is nothing to tidy up.
Nothing that takes long to import is imported here before the signals are listened to.
"""

from __future__ import annotations

import os
import signal

__all__ = [
    "computed_torque",
    "dynamics_server",
    "end_at_signals",
    "hydraulic_actuators",
    "input_shaper",
    "pd_controller",
    "simulator",
    "state_publisher",
]


def end_at_signals() -> None:
    """End the process with exit code 0 at SIGINT and SIGTERM, until someone else listens to them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def dynamics_server() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.dynamics_server import main

    main()


def simulator() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.simulator import main

    main()


def hydraulic_actuators() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.hydraulic_actuators import main

    main()


def state_publisher() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.state_publisher import main

    main()


def pd_controller() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.pd_controller import main

    main()


def computed_torque() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.computed_torque import main

    main()


def input_shaper() -> None:
    end_at_signals()
    from flexdyn_ros.nodes.input_shaper import main

    main()
