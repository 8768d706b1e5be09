"""Nodes end with exit code 0 when told to, however often and however late."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
pytest.importorskip("rclpy")

PROGRAM = """
    import os, signal, sys
    from flexdyn_ros.nodes.ros.managed import ManagedNode, run

    class Node(ManagedNode):
        def __init__(self):
            super().__init__("ends", autostart=False)
            # it is told to end as soon as it runs
            self.create_timer(0.0, lambda: os.kill(os.getpid(), signal.SIGINT))

    class Late:
        def __del__(self):
            # modules are torn down when handlers of signals have gone
            os.kill(os.getpid(), number)

    number = int(sys.argv[1])
    late = Late()
    sys.exit(run(Node, []))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_interpreter_ends_does_not_become_the_exit_code(number):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(int(number))],
        capture_output=True, text=True, timeout=250, check=False, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("module", "name", "robot"),
    [
        ("hydraulic_actuators", "HydraulicActuators", "stewart_1t"),
        ("state_publisher.node", "StatePublisher", "mobile_arm"),
        ("dynamics_server.node", "DynamicsServer", "seven_joint_arm"),
        ("platform_controller", "PlatformController", "stewart_1t"),
    ],
)
def test_cleanup_leaves_nothing_of_what_setup_made(module, name, robot):
    """Publishers, subscriptions, services and timers, through two life cycles."""
    from importlib import import_module

    import rclpy
    from rclpy.lifecycle import TransitionCallbackReturn
    from rclpy.parameter import Parameter

    context = rclpy.Context()
    rclpy.init(context=context)
    given = [Parameter("description_file", value=robot), Parameter("autostart", value=False)]
    make = getattr(import_module(f"flexdyn_ros.nodes.{module}"), name)
    node = make(context=context, parameter_overrides=given)

    def entities():
        kinds = (node.publishers, node.subscriptions, node.services, node.timers)
        return [len(list(found)) for found in kinds]

    before = entities()
    for _ in range(2):
        for transition in ("configure", "activate", "deactivate", "cleanup"):
            assert getattr(node, f"trigger_{transition}")() == TransitionCallbackReturn.SUCCESS
            assert (entities() == before) == (transition == "cleanup"), transition
    node.destroy_node()
    context.try_shutdown()
