"""Closed mechanisms under `pd_controller` and `computed_torque`, between processes; the test moves time."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lockstep import Lab, advance, begin, point_trajectory, send  # noqa: E402
from machines import Q, four_bar_urdf  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.control import StaticShape  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

MOTORS = ("motor_1", "motor_2", "motor_3")


@pytest.fixture(scope="module")
def client():
    with Client("closed_control_client") as client:
        yield client


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("delta")


@pytest.fixture(scope="module")
def labs(client, tmp_path_factory):
    """A delta robot, and a four-bar that its rocker drives."""
    folder = tmp_path_factory.mktemp("closed")
    file = folder / "four_bar.urdf"
    file.write_text(four_bar_urdf(more='<actuation active="rocker_joint"/>'))
    labs = {"delta": Lab("delta_pd", "pd_controller"), "bars": Lab("bars_pd", "pd_controller")}
    labs["torque"] = Lab("delta_torque", "computed_torque")
    started = {}
    for name, robot in (("delta", "delta"), ("bars", str(file)), ("torque", "delta")):
        own = ["-p", f"description_file:={robot}"]
        started |= labs[name].start(folder, own, [*own, "-p", "bandwidth:=15.0"])
    server = ["-r", "__ns:=/delta_torque", "-p", "description_file:=delta"]
    started["server"] = NodeProcess("dynamics_server", *server, log=folder / "server.txt")
    try:
        for node in started.values():
            node.wait_for_text("ready")
        begin(client, list(labs.values()))
        labs["bars"].log = started["bars_pd/pd_controller"]
        yield labs
    finally:
        for node in started.values():
            node.__exit__()


@pytest.mark.parametrize("name", ["delta", "torque"])
def test_motors_follow_a_trajectory_and_loops_move_the_platform(client, labs, robot, name):
    lab = labs[name]
    start = robot.neutral()[[robot.coordinates[robot.index(name)].q_index for name in MOTORS]]
    advance(client, [lab], 0.2)
    goal = start + np.array([0.2, -0.1, 0.1])
    send(client, lab, point_trajectory(goal, 0.5, MOTORS))
    advance(client, [lab], 1.0)
    assert lab.reference() == pytest.approx(goal, abs=1e-9)
    assert list(lab.of("positions", MOTORS).values()) == pytest.approx(goal, abs=2e-3)
    q = robot.neutral()
    q[[robot.coordinates[robot.index(name)].q_index for name in MOTORS]] = goal
    hold = StaticShape(robot)(q)[1][[robot.index(name) for name in MOTORS]]
    efforts = numbers_of(lab.answers[-1].points[3].effort)
    assert efforts == pytest.approx(hold, abs=0.02 * np.abs(hold).max())
    assert lab.missed <= 10


def test_a_goal_at_which_the_loops_do_not_close_is_refused_and_the_robot_held(client, labs):
    lab = labs["bars"]
    before, beyond = lab.reference(), point_trajectory([Q[2] + 2.5], 0.5, ["rocker_joint"])
    for _ in range(10):
        client.publish(JointTrajectory, lab.trajectory_topic, beyond)
        advance(client, [lab], 0.05)
    lab.log.wait_for_text("trajectory refused", timeout=60.0)
    assert lab.reference() == pytest.approx(before, abs=1e-9)
    assert list(lab.of("positions", ["rocker_joint"]).values()) == pytest.approx(before, abs=2e-3)
