"""Default gains of pd_controller hold every shipped robot of joints and links, in processes whose time the
test moves."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lockstep import Lab, advance, begin  # noqa: E402
from node_process import Client  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.control import StaticShape, joint_inertia  # noqa: E402

#: shipped robots of joints and links on a fixed base, and the error that is borne beside friction [rad]
ROBOTS = {
    "two_link": 1e-3,
    "seven_joint_arm": 1e-2,
    "flexible_two_link": 1e-3,
    "kane_beam": 1e-3,
    "canadarm2": 5e-3,
    "canadarm2_7": 5e-3,
}
#: in orbit, where it belongs: on the ground its shoulder would have to hold 104 kN m with motors of 2332 N m
OPTIONS = {"canadarm2": {"gravity": [0, 0, 0]}}
#: speed of the joints at the start where no weight disturbs [rad/s]
PUSH = 0.005


def stuck(robot, q):
    """Error (n,) [rad, m] of the actuators at which friction and feedback of 10 rad/s balance."""
    friction = {joint.name: joint.friction for joint in robot.description.joints}
    inertia = joint_inertia(robot, q)
    return np.array([1.5 * friction.get(n, 0.0) / (100.0 * inertia[robot.index(n)]) for n in robot.actuators])


@pytest.mark.parametrize("name", ROBOTS)
def test_default_gains_hold_a_shipped_robot(name, tmp_path):
    robot = flexdyn_ros.load(name, options=OPTIONS.get(name))
    lab = Lab(f"held_{name}", "pd_controller")
    given = ["-p", f"description_file:={name}"]
    given += ["-p", "options:=['gravity=[0, 0, 0]']"] if name in OPTIONS else []
    pushed = [] if np.any(robot.gravity) else robot.actuators
    push = [word for joint in pushed for word in ("-p", f"initial.velocities.{joint}:={PUSH}")]
    nodes = lab.start(tmp_path, [*given, *push], given)
    try:
        for node in nodes.values():
            node.wait_for_text("ready")
        with Client("gains_client") as client:
            begin(client, [lab])
            advance(client, [lab], 3.0)
            reached = np.array(list(lab.of("positions", robot.actuators).values()))
            speed = np.array(list(lab.of("velocities", robot.actuators).values()))
    finally:
        for node in nodes.values():
            node.__exit__()
    for node in nodes.values():
        assert "grows by" not in node.text(), node.text()
    error = np.abs(reached - lab.reference())
    assert (error < ROBOTS[name] + stuck(robot, StaticShape(robot)(robot.neutral())[0])).all(), error
    assert np.abs(speed).max() < 0.05
    assert lab.missed <= 5
