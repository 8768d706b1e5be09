"""`~/wrench/base` of the simulator: there without being asked for, left out where there are no reactions."""

import time

import numpy as np
import pytest

pytest.importorskip("rclpy")

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter

import flexdyn_ros
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.nodes import Simulator


def wrenches_of(name, check=None, **parameters):
    """Topics below ~/wrench of a simulator of this robot; check looks at the node."""
    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": name, "use_clock": False, **parameters}
    overrides = [Parameter(key, value=value) for key, value in given.items()]
    node = Simulator(context=context, autostart=False, parameter_overrides=overrides)
    try:
        node.setup()
        topics = [publisher.topic_name for publisher in node.publishers]
        if check:
            check(node)
        node.clear()
        return [name.removeprefix("/simulator/wrench/") for name in topics if "/wrench/" in name]
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_the_reaction_of_the_ground_is_published_by_default():
    robot = flexdyn_ros.load("two_link")
    found = []

    def weight(node):
        still = np.zeros(robot.nv)
        found.append(node._telemetry._reactions(robot.neutral(), still, still)[0])

    assert wrenches_of("two_link", weight) == ["base"]
    assert np.linalg.norm(found[0][3:]) == pytest.approx(robot.mass * 9.81)


def test_the_reaction_of_the_ground_is_computed_while_anybody_listens():
    computed, heard = [], []

    def listen(node):
        telemetry = node._telemetry
        reactions = telemetry._reactions

        class Counted:
            links = reactions.links

            def __call__(self, *state):
                computed.append(1)
                return reactions(*state)

        telemetry._reactions = Counted()
        telemetry.publish_now()
        heard.append(len(computed))
        (publisher,) = telemetry._wrenches
        node.create_subscription(WrenchStamped, "~/wrench/base", lambda message: None, 10)
        end = time.monotonic() + 10.0
        while publisher.get_subscription_count() == 0 and time.monotonic() < end:
            time.sleep(0.01)
        telemetry.publish_now()
        heard.append(len(computed))

    wrenches_of("two_link", listen)
    assert heard == [0, 1]


def test_joints_that_are_asked_for_come_beside_it():
    assert wrenches_of("two_link", wrench_joints=["elbow"]) == ["base", "elbow"]
    assert wrenches_of("two_link", wrench_joints=["elbow", "base"]) == ["base", "elbow"]


@pytest.mark.parametrize("name", ["soft_arm", "stewart_1t", "mobile_arm"])
def test_robots_without_joint_reactions_start_without_it(name):
    robot = flexdyn_ros.load(name)
    assert robot.functions.reactions_in(()) is None
    with pytest.raises(UnsupportedError, match="joint reactions"):
        robot.functions.reactions_in(("elbow",))


def test_the_simulator_of_a_soft_arm_starts_without_it():
    assert wrenches_of("soft_arm") == []
