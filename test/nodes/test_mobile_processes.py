"""Simulator with a robot on wheels, as a process of its own."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from node_process import ROOT, Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64, Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState, WheelStates  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

START = {"base/z": 0.21, "shoulder": 1.3, "elbow": 0.2}


@pytest.fixture(scope="module")
def client():
    with Client("rolling_client") as client:
        client.listen(WheelStates, "/cart/simulator/wheels")
        client.listen(WrenchStamped, "/cart/simulator/wheels/rear/wrench")
        client.listen(Odometry, "/cart/odom")
        client.listen(DynamicsState, "/cart/simulator/state")
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
    alone = flexdyn_ros.simulate(robot, 0.05, q, v, dt=1e-3, limits="spring")
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


def test_a_reset_forgets_the_commanded_speed(simulator, client):
    assert client.call(Trigger, "/cart/simulator/reset").success
    assert client.call(Trigger, "/cart/simulator/resume").success
    state = "/cart/simulator/state"

    def fast() -> bool:
        return client.last[state].velocities[0] > 0.5

    client.next(state)
    client.insist(Float64, "/cart/simulator/speed_command", Float64(data=0.6), fast, "the cart stays slow")
    # no command is still on its way
    for _ in range(50):
        client.next(state)
    assert client.call(Trigger, "/cart/simulator/reset").success
    client.until(lambda: not fast(), "the cart stays fast")
    for _ in range(20):
        assert client.next(state).velocities[0] == pytest.approx(0.3, abs=1e-12)
    assert client.call(Trigger, "/cart/simulator/pause").success


def after_steps(client, name: str, steps: int) -> DynamicsState:
    """The state after so many steps of a paused simulator."""
    answer = client.call(srv.Step, f"/{name}/simulator/step", steps=steps)
    assert answer.success, answer.message
    return answer.state


@pytest.mark.slow
@pytest.mark.parametrize("rate", [10.0, 1000.0])
def test_the_rate_of_publishing_does_not_change_how_the_base_follows_its_speed(client, tmp_path, rate):
    arguments = ["-r", "__ns:=/rated", "-p", "description_file:=mobile_arm", "-p", "start_paused:=true"]
    with NodeProcess(
        "simulator", *arguments, "-p", f"publish_rate_hz:={rate}", log=tmp_path / "log.txt"
    ) as node:
        node.wait_for_text("ready")
        speed = 0.3

        def follows() -> bool:
            nonlocal speed
            speed = after_steps(client, "rated", 1).velocities[0]
            return speed != 0.3

        client.insist(Float64, "/rated/simulator/speed_command", Float64(data=0.6), follows, "not heard")
        state = after_steps(client, "rated", 200)
        assert state.velocities[0] == pytest.approx(0.6 - (0.6 - speed) * np.exp(-2.0), abs=1e-12)


def configured(name: str, log) -> NodeProcess:
    """The simulator with a shipped configuration."""
    file = ROOT / "config" / f"mobile_arm_{name}.yaml"
    return NodeProcess("simulator", "-r", f"__ns:=/{name}", "--params-file", str(file), log=log)


def test_the_shipped_cruise_holds_the_arm_without_a_command(client, tmp_path):
    with configured("cruise", tmp_path / "log.txt") as node:
        node.wait_for_text("ready")
        start, later = (numbers_of(after_steps(client, "cruise", n).positions) for n in (1, 3999))
    moved = dict(zip(flexdyn_ros.load("mobile_arm").v_names, np.subtract(later, start), strict=True))
    assert moved["base/x"] == pytest.approx(0.3 * 3.999, abs=1e-9)
    assert abs(moved["base/z"]) < 0.1
    for joint in ("shoulder", "elbow"):
        # the road shakes the arm by degrees; without its motors it falls by more than half a turn
        assert abs(moved[joint]) < np.radians(5.0), joint


def test_the_shipped_torque_study_moves_as_the_library_does(client, tmp_path):
    robot = flexdyn_ros.load("mobile_arm")
    tau = np.zeros(robot.nv)
    tau[robot.index("shoulder")], tau[robot.index("elbow")] = 4.5, -2.0
    topic, torques = "/level/simulator/commands", Float64MultiArray(data=[4.5, -2.0])
    with configured("level", tmp_path / "log.txt") as node:
        node.wait_for_text("ready")
        client.publish(Float64MultiArray, topic, torques)
        state = after_steps(client, "level", 1)
        while numbers_of(state.efforts)[robot.index("shoulder")] != 4.5:
            client.publish(Float64MultiArray, topic, torques)
            state = after_steps(client, "level", 1)
        last = after_steps(client, "level", 100)
    q, v = numbers_of(state.positions), numbers_of(state.velocities)
    alone = flexdyn_ros.simulate(robot, 0.1, q, v, dt=1e-3, control=tau, limits="spring")
    np.testing.assert_allclose(numbers_of(last.positions), alone.q[-1], rtol=0.0, atol=1e-11)


@pytest.mark.slow
def test_up_drives_the_arm_over_a_random_road():
    """`flexdyn up` with a road of class C: base, wheels, diagnostics; torque on a joint; Ctrl-C."""
    road = {"kind": "iso8608", "class": "C", "seed": "4"}
    road |= dict.fromkeys(("amplitude", "offset", "wavelength", "phase", "start"), "null")
    settings = [word for key, value in road.items() for word in ("--set", f"road.{key}={value}")]
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "up", "mobile_arm", "--namespace", "rover"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen([*command, *settings], env=os.environ | {"PYTHONPATH": path}, cwd=ROOT)
    try:
        with Client("rover_client") as client:
            client.listen(Odometry, "/rover/odom")
            client.listen(WheelStates, "/rover/simulator/wheels")
            client.listen(JointState, "/rover/joint_states")
            client.listen(DynamicsState, "/rover/simulator/state")
            client.listen(DiagnosticArray, "/diagnostics")
            first = client.next("/rover/odom", 300.0)
            assert first.header.frame_id == "odom"
            assert first.child_frame_id == "base_link"

            def moved() -> bool:
                return client.last["/rover/odom"].pose.pose.position.x > 0.05

            torque = JointState(name=["shoulder"], effort=[30.0])
            client.insist(JointState, "/rover/joint_commands", torque, moved, "the cart does not drive")
            # odometry has the twist in axes of the base, which pitches
            assert client.next("/rover/simulator/state").velocities[0] == pytest.approx(0.3, abs=1e-12)
            assert "shoulder" in client.last["/rover/joint_states"].name
            wheels = client.last["/rover/simulator/wheels"]
            assert np.isfinite([*wheels.normal_forces, wheels.drive_force]).all()
            found = {}
            while "/rover/simulator: contact" not in found:
                for status in client.next("/diagnostics").status:
                    found[status.name] = {pair.key for pair in status.values}
            contact = found["/rover/simulator: contact"]
            assert {"margin", "load_transfer", "normal_force_rear", "normal_force_front"} <= contact
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(60.0)
        finally:
            process.kill()
    assert code == 130
