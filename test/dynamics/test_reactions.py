"""Reaction wrenches in joints."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.dynamics.reactions import JointReactions
from flexdyn_ros.errors import UnknownNameError, UnsupportedError


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("seven_joint_arm")


def motion(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)


def test_the_component_along_its_axis_is_the_effort_of_the_joint(robot):
    q, v, a = motion(robot)
    names = [joint.name for joint in robot.description.joints if joint.axis is not None]
    w = JointReactions(robot, names)(q, v, a)
    # what friction and damping take comes on top of what the joint transmits
    tau = robot.inverse_dynamics(q, v, a) - robot.bias_terms(q, v).damping
    axes = np.array([robot.description.joint(name).axis for name in names])
    # the difference quotient of the Jacobian over 1e-6 s leaves 1e-10 of forces of some 100 N
    np.testing.assert_allclose((axes * w[:, :3]).sum(axis=1), tau, atol=1e-7)


def test_the_ground_carries_weight_and_change_of_momentum(robot):
    q, v, a = motion(robot, 1)
    (w,) = JointReactions(robot, ["base"])(q, v, a)
    h = 1e-6
    ahead = robot.momentum(robot.integrate(q, v, h), v + a * h)
    behind = robot.momentum(robot.integrate(q, v, -h), v - a * h)
    weight = robot.mass * robot.gravity
    np.testing.assert_allclose(w[3:], (ahead - behind)[3:] / (2 * h) - weight, atol=1e-5)


def test_a_load_beyond_the_joint_is_carried_and_one_before_it_is_not(robot):
    q, v, a = motion(robot, 2)
    reactions = JointReactions(robot, ["elbow_pitch"])
    free = reactions(q, v, a)
    R = robot.frames(q, "link_4")[:3, :3]
    beyond = reactions(q, v, a, {"tool0": np.array([0, 0, 0, 0, 0, 10.0])})
    np.testing.assert_allclose(R @ (beyond - free)[0, 3:], [0, 0, -10.0], atol=1e-9)
    np.testing.assert_array_equal(reactions(q, v, a, {"link_2": np.ones(6)}), free)


def test_unknown_joints_and_followers_from_outside_are_refused(robot):
    with pytest.raises(UnknownNameError, match="hand"):
        JointReactions(robot, ["hand"])
    text = """<robot name="m"><link name="w"/><link name="a"/><link name="b"/>
      <joint name="one" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 0 1"/></joint>
      <joint name="hold" type="fixed"><parent link="w"/><child link="c"/></joint><link name="c"/>
        <link name="d"/>
      <joint name="two" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
        <mimic joint="one"/></joint>
      <joint name="three" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        </joint></robot>"""
    with pytest.raises(UnsupportedError, match="two"):
        JointReactions(flexdyn_ros.load(text), ["hold"])
