"""Nodes say what they wait for when an input falls silent, also where simulated time stands still."""

import time

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from flexdyn_ros.nodes.pd_controller import make_node  # noqa: E402


@pytest.fixture
def controller():
    context = rclpy.Context()
    rclpy.init(context=context)
    # nobody publishes /clock: simulated time stands still
    given = {"description_file": "two_link", "autostart": False, "use_sim_time": True}
    node = make_node(
        context=context, parameter_overrides=[Parameter(key, value=value) for key, value in given.items()]
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    assert node.trigger_configure().name == "SUCCESS"
    assert node.trigger_activate().name == "SUCCESS"
    yield node, executor
    executor.shutdown()
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.destroy_node()
    context.try_shutdown()


def spin(executor, condition, seconds=2.0):
    """Whether a condition comes to hold within so many seconds."""
    end = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.02)
    return holds


def test_a_controller_says_within_two_seconds_that_it_waits_for_joint_states(controller, capfd):
    node, executor = controller
    said = []

    def waits(level):
        """Whether it says so, by the log that a user sees: what rclpy refuses to log ends a node."""
        said.append(capfd.readouterr().err)
        return f"[{level}]" in said[-1] and "waiting for joint_states, none for" in said[-1]

    # who has not begun is no reason to worry
    assert spin(executor, lambda: waits("INFO")), said
    state = JointState(name=["shoulder", "elbow"], position=[0.0, 0.0], velocity=[0.0, 0.0])
    node.take_state(state)
    assert "[INFO]" in (told := capfd.readouterr().err)
    assert "joint_states: heard again" in told
    # who has fallen silent is
    assert spin(executor, lambda: waits("WARN")), said
    # once, and not at every look
    assert not spin(executor, lambda: waits("WARN"), 0.6)
    node.take_state(state)
    assert spin(executor, lambda: waits("WARN")), said
    node.take_state(state)
    node.trigger_deactivate()
    assert not spin(executor, lambda: waits("WARN"), 1.5), "an inactive node waits for nothing"
    node.trigger_activate()
