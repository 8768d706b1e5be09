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


class Log:
    """A logger that keeps what it is told, as (level, text)."""

    def __init__(self):
        self.lines = []

    def __getattr__(self, level):
        return lambda text, **_: self.lines.append((level, text))


@pytest.fixture
def controller():
    context = rclpy.Context()
    rclpy.init(context=context)
    # nobody publishes /clock: simulated time stands still
    given = {"description_file": "two_link", "autostart": False, "use_sim_time": True}
    node = make_node(
        context=context, parameter_overrides=[Parameter(key, value=value) for key, value in given.items()]
    )
    log = Log()
    node.get_logger = lambda: log
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    assert node.trigger_configure().name == "SUCCESS"
    assert node.trigger_activate().name == "SUCCESS"
    yield node, log, executor
    executor.shutdown()
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.destroy_node()
    context.try_shutdown()


def spin(executor, condition, seconds=2.0):
    """Whether a condition comes to hold within so many seconds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.02)
    return condition()


def test_a_controller_says_within_two_seconds_that_it_waits_for_joint_states(controller):
    node, log, executor = controller
    waits = lambda: [line for line in log.lines if "waiting for joint_states, none for" in line[1]]  # noqa: E731
    assert spin(executor, waits)
    assert waits()[0][0] == "info", "who has not begun is no reason to worry"
    state = JointState(name=["shoulder", "elbow"], position=[0.0, 0.0], velocity=[0.0, 0.0])
    node._on_joint_states(state)
    assert log.lines[-1] == ("info", "joint_states comes again")
    log.lines.clear()
    assert spin(executor, waits)
    assert waits()[0][0] == "warning", "who has fallen silent is"
    # once, and not at every look
    spin(executor, lambda: False, 0.6)
    assert len(waits()) == 1
    node.trigger_deactivate()
    log.lines.clear()
    spin(executor, lambda: False, 1.5)
    assert not waits(), "an inactive node waits for nothing"
    node.trigger_activate()
