"""Commands that came before a request for steps act from its first step on."""

import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from flexdyn_interfaces.srv import Step  # noqa: E402
from flexdyn_ros.nodes import Simulator  # noqa: E402


def test_a_command_that_the_executor_has_not_seen_yet_acts_in_the_next_step():
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": "two_link", "autostart": False, "start_paused": True, "use_clock": False}
    node = Simulator(
        context=context, parameter_overrides=[Parameter(key, value=value) for key, value in given.items()]
    )
    other = rclpy.create_node("commands", context=context)
    try:
        assert node.trigger_configure().name == "SUCCESS"
        assert node.trigger_activate().name == "SUCCESS"
        publisher = other.create_publisher(JointState, "joint_commands", 10)
        state, deadline = None, time.monotonic() + 60.0
        # nobody spins: the request alone brings the command. DDS takes a moment to bring both together
        while state is None or not np.any(state.efforts):
            assert time.monotonic() < deadline
            publisher.publish(JointState(name=["shoulder", "elbow"], effort=[1.5, -0.5]))
            time.sleep(0.01)
            state = answer(node._on_step(Step.Request(steps=1), Step.Response())).state
        assert list(state.efforts) == [1.5, -0.5]
    finally:
        node.trigger_deactivate()
        node.trigger_cleanup()
        node.destroy_node()
        other.destroy_node()
        context.try_shutdown()


def answer(request):
    """What a coroutine returns that waits for nothing."""
    with pytest.raises(StopIteration) as done:
        request.send(None)
    assert done.value.value.success, done.value.value.message
    return done.value.value
