"""Default gains of `pd_controller` hold the default robot up, and others are judged."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.control import (
    DELAYS,
    StaticShape,
    can_be_held,
    holding_stiffness,
    joint_inertia,
    pd,
    sampled_growth,
)


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("seven_joint_arm")


def tilting(robot, q):
    """dg/dq (nv, nv) by differences of the holding efforts."""
    rest, h = np.zeros(robot.nv), 1e-6
    columns = [
        robot.inverse_dynamics(q + h * e, rest, rest) - robot.inverse_dynamics(q - h * e, rest, rest)
        for e in np.eye(robot.nv)
    ]
    K = np.stack(columns, axis=-1) / (2.0 * h)
    return 0.5 * (K + K.T)


def test_the_stiffness_holds_the_arm_in_every_posture(robot):
    P = holding_stiffness(robot, robot.neutral())
    rng = np.random.default_rng(7)
    assert np.linalg.eigvalsh(tilting(robot, robot.neutral()))[0] < -10.0, "upright it tips over by itself"
    for q in (robot.neutral(), *(robot.random(rng) for _ in range(30))):
        # a posture that was not looked at may ask for a little more, which the inertial part covers
        assert np.linalg.eigvalsh(np.diag(P + 100.0 * joint_inertia(robot, q)) + tilting(robot, q))[0] > 0.0


def test_the_default_robot_stands_upright_within_its_limits(robot):
    for c in robot.coordinates:
        assert c.lower < robot.neutral()[c.q_index] < c.upper, c.name


def test_the_default_gains_hold_the_upright_arm_and_those_without_weight_do_not(robot):
    q, rest = robot.neutral(), np.zeros(robot.nv)
    inertia = joint_inertia(robot, q)
    tau = robot.inverse_dynamics(q, rest, rest)
    P = 100.0 * inertia + holding_stiffness(robot, q)
    D = 2.0 * np.sqrt(P * inertia)
    assert max(sampled_growth(robot, q, P, D, 0.01, delay, tau) for delay in (0.0, 0.005, 0.01)) < 0.0
    assert sampled_growth(robot, q, 100.0 * inertia, 20.0 * inertia, 0.01, 0.0, tau) > 0.1
    run = flexdyn_ros.simulate(
        robot, 10.0, q0=q - 0.05 * (np.arange(7) != 3) - 0.1 * (np.arange(7) == 3), dt=1e-3,
        control=pd(robot, q, P, D),
    )  # fmt: skip
    assert abs(run.q[-1]).max() < 0.08
    assert abs(run.v[-1]).max() < 0.02


@pytest.fixture(scope="module")
def upright():
    """An arm whose links bend, on its head: gravity pulls against the way it points, and pulls hard."""
    return flexdyn_ros.load("flexible_two_link", options={"gravity": [-36.0, 0.0, 0.0]})


def test_gains_of_an_arm_that_bends_hold_it_on_its_head_and_those_without_weight_do_not(upright):
    q = upright.neutral()
    bent, tau = StaticShape(upright)(q)
    inertia = joint_inertia(upright, q)
    P = 100.0 * inertia + holding_stiffness(upright, q)
    D = 2.0 * np.sqrt(P * inertia)
    growth = {share: sampled_growth(upright, bent, P, D, 0.01, 0.01 * share, tau) for share in DELAYS}
    assert max(growth.values()) < -0.5, growth
    assert sampled_growth(upright, bent, 100.0 * inertia, 20.0 * inertia, 0.01, 0.0, tau) > 0.5
    run = flexdyn_ros.simulate(upright, 4.0, q0=bent + 0.02, dt=1e-3, control=pd(upright, q, P, D))
    joints = [upright.index(name) for name in upright.actuators]
    assert np.abs(run.q[-1][joints] - q[joints]).max() < 1e-3


def test_a_boom_that_yields_needs_stiffer_joints_than_a_rigid_one(upright):
    rigid = flexdyn_ros.load(
        "flexible_two_link", options={"gravity": [-36.0, 0.0, 0.0], "formulation.flexible": False}
    )
    bending, stiff = (
        holding_stiffness(robot, robot.neutral())[[robot.index(name) for name in robot.actuators]]
        for robot in (upright, rigid)
    )
    assert (bending > 1.001 * stiff).all()
    assert (bending < 3.0 * stiff).all()


def test_elastic_coordinates_have_no_stiffness_of_their_own_to_be_held_with(upright):
    needed = holding_stiffness(upright, upright.neutral())
    joints = [upright.index(name) for name in upright.actuators]
    assert not np.delete(needed, joints).any()


@pytest.mark.parametrize(
    ("name", "held"),
    [("canadarm2", True), ("two_link", True), ("mobile_arm", False), ("stewart_1t", False)],
)
def test_robots_that_stand_on_joints_and_springs_alone_can_be_held(name, held):
    assert can_be_held(flexdyn_ros.load(name)) == held


def node_with(capfd, **gains):
    rclpy = pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces.msg")
    from rclpy.parameter import Parameter

    from flexdyn_ros.nodes.pd_controller import make_node

    context = rclpy.Context()
    rclpy.init(context=context)
    given = {"description_file": "seven_joint_arm", "autostart": False} | gains
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = make_node(context=context, parameter_overrides=overrides)
    try:
        node.setup()
        node.clear()
    finally:
        node.destroy_node()
        context.try_shutdown()
    return capfd.readouterr().err


@pytest.mark.ros
def test_the_node_warns_of_gains_that_do_not_hold_and_names_those_that_would(capfd):
    assert "does not hold" not in node_with(capfd)
    told = node_with(capfd, **{"gains.shoulder_pitch.p": 1.0})
    assert "does not hold seven_joint_arm: motion about its position grows by" in told
    assert "gains that hold it: shoulder_pitch.p " in told
