"""Which joints the simulator publishes."""

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from flexdyn_ros.nodes import Simulator  # noqa: E402


@pytest.mark.parametrize("real_only", [False, True])
def test_joint_states_hold_the_real_joints_alone_when_asked(real_only):
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": "flexible_two_link", "real_joints_only": real_only, "use_clock": False}
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = Simulator(context=context, autostart=False, parameter_overrides=overrides)
    try:
        node.setup()
        sent = []
        node._telemetry._joints.publish = sent.append
        node._telemetry.publish_now()
        message = deserialize_message(bytes(sent[-1]), JointState)
        real = ["shoulder", "elbow"]
        assert set(real) <= set(message.name)
        assert (list(message.name) == real) == real_only
        for numbers in (message.position, message.velocity, message.effort):
            assert len(numbers) == len(message.name)
        node.clear()
    finally:
        node.destroy_node()
        context.try_shutdown()
