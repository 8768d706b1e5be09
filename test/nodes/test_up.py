"""`flexdyn up` starts the nodes of a robot and ends them on Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces")

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

from flexdyn_interfaces.srv import MassMatrix

pytestmark = pytest.mark.ros
ROOT = Path(__file__).parents[2]


@pytest.fixture
def domain(monkeypatch):
    """A ROS domain of this test alone."""
    number = str(1 + (int(os.environ.get("ROS_DOMAIN_ID", "0")) + 37) % 100)
    monkeypatch.setenv("ROS_DOMAIN_ID", number)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return number


def up(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "flexdyn_ros.cli.main", "up", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stderr=subprocess.PIPE,
        text=True,
    )


def mass_matrix(service):
    """The answer of a server, asked until it is there."""
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("up_probe", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        client = node.create_client(MassMatrix, service)
        assert client.wait_for_service(90.0)
        future = client.call_async(MassMatrix.Request(samples=1, positions=[0.0] * 7))
        executor.spin_until_future_complete(future, 60.0)
        return future.result()
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def end(process):
    """Exit code after Ctrl-C; the process is killed if it does not listen."""
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(30.0)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_up_serves_a_robot_in_a_namespace_and_ends_cleanly(domain):
    process = up("seven_joint_arm", "--namespace", "lab", "--set", "gravity=[0, 0, -1.62]")
    try:
        answer = mass_matrix("/lab/dynamics_server/mass_matrix")
        assert answer is not None
        assert answer.success, answer.message
        assert (answer.rows, answer.cols, len(answer.values)) == (7, 7, 49)
    finally:
        code = end(process)
    assert code == 0, process.stderr.read()


def test_up_fails_when_a_node_dies(domain):
    process = up("seven_joint_arm", "--no-server", "--params-file", str(ROOT / "README.md"))
    try:
        deadline = time.monotonic() + 90.0
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert process.poll() == 1
        assert "exit code" in process.stderr.read()
    finally:
        if process.poll() is None:
            end(process)
