"""Nodes end with exit code 0 when told to, however often and however late."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

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


def threads():
    """Of Fast DDS, and of this process's nodes."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text())
        except OSError:
            continue
    own = {"pace", "recorder", "steps"}
    return sum(name.startswith("dds.") for name in names), sum(x.name in own for x in threading.enumerate())


@pytest.mark.parametrize("transitions", [(), ("configure",), ("configure", "activate")])
@pytest.mark.parametrize(
    ("module", "name", "robot"),
    [
        ("simulator.node", "Simulator", "two_link"),
        ("dynamics_server.node", "DynamicsServer", "two_link"),
        ("hydraulic_actuators", "HydraulicActuators", "stewart_1t"),
    ],
)
def test_a_node_that_nobody_cleaned_up_leaves_no_participant_and_no_thread(
    module, name, robot, transitions, tmp_path
):
    """Without the collector of garbage: what stays in the graph disturbs the nodes of other processes."""
    from importlib import import_module

    import rclpy
    from rclpy.lifecycle import TransitionCallbackReturn
    from rclpy.parameter import Parameter

    from flexdyn_ros.nodes.ros.executor import EnduringExecutor

    given = {"description_file": robot, "autostart": False}
    if name == "Simulator":
        given["record_file"] = str(tmp_path / "run.mcap")
    context, before, frozen = rclpy.Context(), threads(), gc.get_freeze_count()
    rclpy.init(context=context)
    gc.disable()
    try:
        make = getattr(import_module(f"flexdyn_ros.nodes.{module}"), name)
        node = make(context=context, parameter_overrides=[Parameter(x, value=y) for x, y in given.items()])
        executor = EnduringExecutor(node)
        for transition in transitions:
            assert getattr(node, f"trigger_{transition}")() == TransitionCallbackReturn.SUCCESS
        assert threads()[0] > before[0]
        executor.shutdown()
        node.destroy_node()
        assert threads() == before
    finally:
        gc.enable()
        context.try_shutdown()
    # nor does it keep others alive
    assert gc.get_freeze_count() <= frozen
