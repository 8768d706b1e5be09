"""Simulator with a robot on wheels, as a process of its own."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(600)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import WheelStates  # noqa: E402
from flexdyn_ros.nodes.conversions import numbers_of  # noqa: E402

START = {"base/z": 0.21, "shoulder": 1.3, "elbow": 0.2}


@pytest.fixture(scope="module")
def client():
    with Client("rolling_client") as client:
        client.listen(WheelStates, "/cart/simulator/wheels")
        client.listen(WrenchStamped, "/cart/simulator/wheels/rear/wrench")
        client.listen(Odometry, "/cart/odom")
        yield client


@pytest.fixture(scope="module")
def simulator(tmp_path_factory):
    """The wheeled arm on a random road, paused at its start."""
    folder = tmp_path_factory.mktemp("simulator")
    initial = "\n".join(f"        {name}: {q}" for name, q in START.items())
    file = folder / "start.yaml"
    file.write_text(f"/**:\n  ros__parameters:\n    initial:\n      positions:\n{initial}\n")
    arguments = ["-r", "__ns:=/cart", "-p", "description_file:=mobile_arm", "-p", "start_paused:=true"]
    with NodeProcess("simulator", *arguments, "--params-file", str(file), log=folder / "log.txt") as node:
        node.wait_for_text("ready")
        yield node


def test_the_cart_starts_at_the_speed_of_its_drive_and_steps_like_the_library(simulator, client):
    robot = flexdyn_ros.load("mobile_arm")
    assert client.call(Trigger, "/cart/simulator/reset").success
    answer = client.call(srv.Step, "/cart/simulator/step", steps=50)
    assert answer.success, answer.message
    q, v = robot.neutral(), np.zeros(robot.nv)
    v[0] = 0.3
    for name, value in START.items():
        q[robot.index(name)] = value
    alone = flexdyn_ros.simulate(robot, 0.05, q, v, limits="spring")
    np.testing.assert_allclose(numbers_of(answer.state.positions), alone.q[-1], rtol=0.0, atol=1e-12)
    assert answer.state.positions[0] == pytest.approx(0.015, abs=1e-12)


def test_wheels_odometry_and_commanded_speed(simulator, client):
    assert client.call(Trigger, "/cart/simulator/reset").success
    assert client.call(Trigger, "/cart/simulator/resume").success
    for topic in ("/cart/odom", "/cart/simulator/wheels", "/cart/simulator/wheels/rear/wrench"):
        client.next(topic)

    def fast() -> bool:
        return client.last["/cart/odom"].twist.twist.linear.x > 0.55

    client.insist(Float64, "/cart/simulator/speed_command", Float64(data=0.6), fast, "the cart stays slow")
    states = client.last["/cart/simulator/wheels"]
    assert states.names == ["rear", "front"]
    assert np.isfinite([*states.normal_forces, states.drive_force, states.drive_force_with_slope]).all()
    assert client.last["/cart/simulator/wheels/rear/wrench"].header.frame_id == "rear/wheel"
    assert client.call(Trigger, "/cart/simulator/pause").success
