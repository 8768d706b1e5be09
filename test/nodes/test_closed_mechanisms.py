"""The simulator with a closed mechanism: all joints are published, actuators alone take commands, states are
moved onto the loops."""

import machines
import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
rclpy = pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_ros.nodes import DynamicsServer, Simulator  # noqa: E402
from flexdyn_ros.nodes.state_publisher.node import StatePublisher  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandError  # noqa: E402


@pytest.fixture
def context():
    made = rclpy.Context()
    rclpy.init(context=made)
    yield made
    made.try_shutdown()


def node_of(kind, context, **given):
    given = {"robot_description": machines.four_bar_urdf()} | given
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    return kind(context=context, autostart=False, parameter_overrides=overrides)


@pytest.fixture
def simulator(context):
    node = node_of(Simulator, context, use_clock=False)
    node.setup()
    yield node
    node.clear()
    node.destroy_node()


def joints_of(node):
    sent = []
    node._telemetry._joints.publish = sent.append
    node._telemetry.publish_now()
    return deserialize_message(bytes(sent[-1]), JointState)


def test_passive_joints_are_published_and_close_the_loop(simulator):
    simulation = simulator._simulation
    simulation.stepper.tau[0] = 2.0
    assert simulation.tick(200)
    message = joints_of(simulator)
    assert list(message.name) == ["crank_joint", "coupler_joint", "rocker_joint"]
    q = np.array(message.position)
    assert np.abs(q - machines.Q).max() > 1e-3
    assert np.abs(simulation.robot.loop_residual(q)).max() <= 1e-10
    speeds = simulation.robot.loop_jacobian(q) @ np.array(message.velocity)
    assert np.abs(speeds).max() <= 1e-9


def test_commands_go_to_actuators_alone(simulator):
    buffer = simulator._simulation.buffer
    assert buffer.actuated == ("crank_joint",)
    with pytest.raises(CommandError, match="joint 'rocker_joint' is not actuated, expected one of crank_joi"):
        buffer.take_joint_state(JointState(name=["rocker_joint"], position=[-1.5]), 0.0, 0.0)


def test_a_position_command_moves_the_mechanism_there_and_its_weight_is_held(simulator):
    simulation = simulator._simulation
    simulation.buffer.take_joint_state(JointState(name=["crank_joint"], position=[-0.8]), 0.0, 0.0)
    simulation.buffer._timeout = 0.0
    for _ in range(200):
        assert simulation.tick(10)
    assert abs(simulation.stepper.q[0] + 0.8) < 1e-3
    assert np.abs(simulation.robot.loop_residual(simulation.stepper.q.copy())).max() <= 1e-10


def set_state(node, q, v):
    request = srv.SetState.Request()
    request.state.positions, request.state.velocities = list(map(float, q)), list(map(float, v))
    response = srv.SetState.Response()
    node._on_set_dynamics_state(request, response)
    return response


def test_a_state_that_is_set_is_moved_onto_the_loops_and_the_answer_says_how_far(simulator):
    response = set_state(simulator, machines.Q + [0.1, -0.05, 0.08], np.ones(3))
    assert response.success, response.message
    assert response.message.startswith(
        "the state is moved onto the constraints of robot 'four_bar': coordinates by up to 0.156 rad (m)"
    )
    stepper = simulator._simulation.stepper
    np.testing.assert_allclose(stepper.q, [-0.8357371465324, 0.344424685081, -1.5598613534155], atol=1e-10)
    exact = set_state(simulator, stepper.q.copy(), stepper.v.copy())
    assert exact.success
    assert exact.message == ""


def test_a_state_far_from_the_loops_is_refused_and_nothing_changes(simulator):
    before = simulator._simulation.stepper.q.copy()
    response = set_state(simulator, machines.Q + [1.5, 0.0, 0.0], np.zeros(3))
    assert not response.success
    assert "expected at most 0.5 rad (m)" in response.message or "cannot be closed" in response.message
    np.testing.assert_array_equal(simulator._simulation.stepper.q, before)


def test_initial_positions_off_the_loops_are_moved_onto_them(context):
    node = node_of(Simulator, context, **{"initial.positions.crank_joint": -0.9})
    node.setup()
    q = node._simulation.stepper.q.copy()
    assert np.abs(node._simulation.robot.loop_residual(q)).max() <= 1e-10
    assert abs(q[0] + 0.9) < 0.1
    node.clear()
    node.destroy_node()


@pytest.mark.parametrize("kind", [DynamicsServer, StatePublisher])
def test_server_and_state_publisher_take_closed_mechanisms(context, kind):
    node = node_of(kind, context)
    node.setup()
    node.clear()
    node.destroy_node()


def test_reactions_in_joints_are_published(context):
    node = node_of(Simulator, context, wrench_joints=["rocker_joint"], use_clock=False)
    node.setup()
    sent = []
    telemetry = node._telemetry
    telemetry._wrenches[-1].publish = sent.append
    simulation = node._simulation
    assert simulation.tick(20)
    telemetry.publish_now()
    s = simulation.stepper
    expected = simulation.robot.joint_reactions(s.q.copy(), s.v.copy(), s.a.copy())
    i = expected.names.index("rocker_joint")
    R = simulation.robot.frames(s.q.copy(), "rocker")[:3, :3]
    force = sent[-1].wrench.force
    np.testing.assert_allclose([force.x, force.y, force.z], R.T @ expected.force[i], rtol=1e-9, atol=1e-9)
    node.clear()
    node.destroy_node()
