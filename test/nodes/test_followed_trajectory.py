"""Trajectories that controllers publish with their begin, played back beside the states of our recordings.

A recorder keeps no goals of actions, and a player sends a trajectory a state earlier or later than it came.
"""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")
highlevel = pytest.importorskip("rosbags.highlevel")

import rclpy  # noqa: E402
from geometry_msgs.msg import Transform, Vector3  # noqa: E402
from lockstep import point_trajectory  # noqa: E402
from rclpy.lifecycle import TransitionCallbackReturn  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import (  # noqa: E402
    JointTrajectory,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes import input_shaper, pd_controller  # noqa: E402
from flexdyn_ros.nodes.platform_controller import PlatformController  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import types  # noqa: E402

#: s between states, and the states after which trajectories come: a motion, another on its way, a stop
PERIOD, TIMES = 0.01, (20, 45, 90)
MAKERS = {"pd": pd_controller.make_node, "shaper": input_shaper.make_node, "platform": PlatformController}
#: controller, robot, and the joints that move; platforms have none
RUNS = [
    ("pd", "seven_joint_arm", ("shoulder_pitch", "elbow_pitch")),
    ("pd", "mobile_arm", ("shoulder",)),
    ("pd", "delta", ("motor_1",)),
    ("pd", "flexible_two_link", ("shoulder", "elbow")),
    ("shaper", "canadarm2", ("wrist_pitch",)),
    ("platform", "stewart_electric", ()),
]


#: robots whose laws have no iteration
EXACT = {"seven_joint_arm", "mobile_arm", "stewart_electric"}


class Kept(list):
    """In place of a publisher."""

    publish = list.append


def states_of(robot, joints, folder):
    """States of a small motion, through a recording (MCAP) where they are those of joints."""
    t = PERIOD * np.arange(1, 141)
    sway, rate = 1e-3 * np.sin(3.0 * t), 3e-3 * np.cos(3.0 * t)
    if robot.legs:
        lengths = robot.inverse_kinematics(robot.neutral()).length
        states = []
        for time, x, speed in zip(t.tolist(), sway, rate, strict=True):
            state = JointState(
                name=list(robot.effort_names), position=lengths + x, velocity=np.full(6, speed)
            )
            state.header.stamp.sec, state.header.stamp.nanosec = divmod(round(1e9 * time), 10**9)
            states.append(state)
        return states
    run = flexdyn_ros.simulate(
        flexdyn_ros.load(robot.name, options={"gravity": [0, 0, 0]}), t[-1], sample=PERIOD
    )
    for name in joints:
        c = robot.coordinates[robot.index(name)]
        run.q[1:, c.q_index] += sway
        run.v[1:, c.v_index] = rate
    bag = folder / "states.mcap"
    run.to_bag(bag)
    with highlevel.AnyReader([bag], default_typestore=types()) as reader:
        return [
            deserialize_message(bytes(raw), JointState)
            for connection, _, raw in reader.messages()
            if connection.topic == "/joint_states"
        ]


def trajectories(robot, joints):
    """Without a stamp: they begin when they come."""
    if not robot.legs:
        start = [robot.neutral()[robot.coordinates[robot.index(name)].q_index] for name in joints]
        goals = [np.array(start) + step for step in (0.04, -0.02)]
        moves = [point_trajectory(goal, 0.6, joints) for goal in goals]
        return [*moves, JointTrajectory(joint_names=list(joints))]
    moves = []
    for step in (0.01, -0.01):
        x, y, z = robot.neutral()[:3].tolist()
        point = MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=Vector3(x=x, y=y, z=z + step))]
        )
        point.time_from_start.nanosec = 600_000_000
        moves.append(MultiDOFJointTrajectory(joint_names=["platform"], points=[point]))
    return [*moves, MultiDOFJointTrajectory(joint_names=["platform"])]


def answers(context, controller, name, states, events, late=0):
    """Commands by state, and what was followed; events: a trajectory after each of some states."""
    given = [Parameter("description_file", value=name), Parameter("autostart", value=False)]
    node = MAKERS[controller](context=context, parameter_overrides=given)
    try:
        for transition in (node.trigger_configure, node.trigger_activate):
            assert transition() == TransitionCallbackReturn.SUCCESS
        node._commands, node._followed = commands, followed = Kept(), Kept()
        for i, state in enumerate(states):
            node.take_state(state)
            if i - late in events:
                # as goals of actions do
                take = getattr(node, "follow", None) or node._on_trajectory
                take(events[i - late])
        rows = [np.concatenate((m.position, m.velocity, m.effort)) for m in commands]
        stamps = [m.header.stamp for m in commands]
        assert stamps == [state.header.stamp for state in states]
        return np.array(rows), list(followed)
    finally:
        node.destroy_node()


@pytest.mark.parametrize(("controller", "name", "joints"), RUNS)
def test_commands_are_the_same_though_a_trajectory_comes_earlier_or_later(controller, name, joints, tmp_path):
    robot = flexdyn_ros.load(name)
    states = states_of(robot, joints, tmp_path)
    given = dict(zip(TIMES, trajectories(robot, joints), strict=True))
    context = rclpy.Context()
    rclpy.init(context=context)
    try:
        before, followed = answers(context, controller, name, states, given)
        assert [m.header.stamp for m in followed] == [states[i].header.stamp for i in TIMES]
        assert np.ptp(before, axis=0).max() > 0.0
        played = dict(zip(TIMES, followed, strict=True))
        for late in (-2, 0, 2):
            now, again = answers(context, controller, name, states, played, late)
            assert [m.header.stamp for m in again] == [m.header.stamp for m in followed]
            # states between its begin and its coming: answered before it is known, or that at the begin after
            differ = {i + k for i in TIMES for k in (range(1, late + 1) if late >= 0 else [0])}
            same = [i for i in range(len(states)) if i not in differ]
            # the shape under the weight, and closed loops, are iterated from the last ones
            slack = 0.0 if name in EXACT else 1e-10 * np.ptp(before, axis=0).max()
            np.testing.assert_allclose(now[same], before[same], rtol=0.0, atol=slack)
        # without the begin they are not
        now, _ = answers(context, controller, name, states, given, 1)
        assert (now != before).any(axis=1).sum() > 30
    finally:
        context.try_shutdown()
