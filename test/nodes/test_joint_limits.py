"""Trajectories keep the limits of their joints, legs and actuators, at their points and between them."""

from math import inf

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("trajectory_msgs.msg")

from builtin_interfaces.msg import Duration, Time  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError  # noqa: E402
from flexdyn_ros.simulation.live.joint_path import (  # noqa: E402
    BY_ANOTHER_CLOCK,
    JointLimits,
    PastTrajectoryError,
    TrajectoryError,
    distant_start,
    read_path,
)
from flexdyn_ros.simulation.live.platform_drive import Legs  # noqa: E402

LIMITS = JointLimits(("a", "b"), np.array([-1.0, -inf]), np.array([1.0, inf]), np.array([2.0, inf]))


def message(positions, names, seconds=1, velocities=None):
    points = [
        JointTrajectoryPoint(
            positions=[float(x) for x in row], time_from_start=Duration(sec=seconds * (i + 1))
        )
        for i, row in enumerate(positions)
    ]
    for point, row in zip(points, velocities or (), strict=False):
        point.velocities = [float(v) for v in row]
    return JointTrajectory(joint_names=list(names), points=points)


def path(positions, here=(0.0, 0.0), velocities=None):
    given = message(positions, ("a", "b"), velocities=velocities)
    return read_path(given, {"a": 0, "b": 1}, 0.0, np.array(here), np.zeros(2))


def test_points_beyond_a_limit_are_refused_and_those_at_it_are_taken():
    LIMITS.check(path([(1.0, 99.0), (-1.0, -99.0)]))
    LIMITS.check(path([(1.0 + 1e-5, 0.0)]))
    with pytest.raises(TrajectoryError, match=r"a would be at -1\.01, 2 s after the start, expected -1 to 1"):
        LIMITS.check(path([(0.5, 0.0), (-1.01, 0.0), (0.0, 0.0)]))


def test_a_path_between_its_points_is_looked_at():
    with pytest.raises(TrajectoryError, match=r"a would be at 1\.\d+"):
        LIMITS.check(path([(0.9, 0.0), (0.9, 0.0)], velocities=[(2.0, 0.0), (-2.0, 0.0)]))


def test_a_joint_that_is_beyond_a_limit_may_come_back_but_not_go_on():
    LIMITS.check(path([(1.1, 0.0), (0.5, 0.0)], here=(1.2, 0.0)))
    with pytest.raises(TrajectoryError, match=r"a would be at 1\.3"):
        LIMITS.check(path([(1.3, 0.0)], here=(1.2, 0.0)))


def test_speeds_beyond_limits_are_named():
    assert LIMITS.too_fast(path([(0.9, 50.0)])) == ""
    fast = path([(0.9, 50.0), (-0.9, 0.0), (0.0, 0.0)], velocities=[(0, 0), (7.0, 0), (0, 0)])
    assert LIMITS.too_fast(fast).startswith("a would move at ")


def test_a_path_of_many_points_is_looked_at_in_pieces():
    many = np.zeros((30_000, 2))
    many[29_000, 0] = 5.0
    with pytest.raises(TrajectoryError, match="a would be at 5, 29001 s after the start"):
        LIMITS.check(path(many))


def test_legs_of_a_platform_keep_their_strokes():
    robot = flexdyn_ros.load("stewart_electric")
    buffer = CommandBuffer(Legs.of(robot))
    home = robot.inverse_kinematics(robot.neutral())
    room = np.array([leg.stroke for leg in robot.legs]) - home.stroke
    rest = np.zeros(6)
    inside, outside = home.length + 0.9 * room, home.length + 1.1 * room
    buffer.take_trajectory(message([inside], robot.effort_names), 0.0, home.length, rest)
    for lengths in (outside, home.length - 1.1 * home.stroke, np.full(6, 99.0)):
        with pytest.raises(CommandError, match=r"leg_\d would be at .* \(its limits\)"):
            buffer.take_trajectory(message([lengths], robot.effort_names), 0.0, home.length, rest)


def test_actuators_of_a_soft_arm_keep_their_strokes():
    robot = flexdyn_ros.load("soft_arm")
    buffer = CommandBuffer(robot)
    rest = np.zeros(3)
    buffer.take_trajectory(message([(0.01, 0.02, 0.03)], robot.actuators), 0.0, rest, rest)
    for lengths in ((0.01, 0.02, 0.04), (-0.01, 0.0, 0.0)):
        with pytest.raises(CommandError, match=r"section_1/actuator_\d would be at"):
            buffer.take_trajectory(message([lengths], robot.actuators), 0.0, rest, rest)
    assert buffer.rejected == 2


def test_the_default_tolerance_of_a_goal_follows_the_range_of_the_joint():
    limits = JointLimits(
        ("turns", "finger", "fixed"), np.array([-inf, 0.0, 0.0]), np.array([inf, 0.04, 0.0]), np.full(3, inf)
    )
    assert limits.near() == pytest.approx({"turns": 0.05, "finger": 0.002, "fixed": 0.05})


@pytest.mark.parametrize(
    ("stamp", "now", "text"),
    [
        (0, 1e9, ""),
        (1000, 1059.0, ""),
        (1000, 941.0, ""),
        (1_700_000_000, 12.0, "a trajectory begins 1.7e+09 s from now"),
        (1000, 1100.0, "a trajectory began 100 s ago"),
    ],
)
def test_a_start_more_than_a_minute_from_now_is_said(stamp, now, text):
    given = message([(0.0, 0.0)], ("a", "b"))
    given.header.stamp = Time(sec=stamp)
    assert distant_start(given, now).startswith(text)
    assert (BY_ANOTHER_CLOCK in distant_start(given, now)) == bool(text)


def test_a_trajectory_that_was_over_long_ago_says_that_its_clock_is_another():
    given = message([(0.0, 0.0)], ("a", "b"))
    given.header.stamp = Time(sec=10)
    with pytest.raises(PastTrajectoryError, match="another clock"):
        read_path(given, {"a": 0, "b": 1}, 1e9, np.zeros(2), np.zeros(2))
    with pytest.raises(PastTrajectoryError, match=r"already$"):
        read_path(given, {"a": 0, "b": 1}, 15.0, np.zeros(2), np.zeros(2))
