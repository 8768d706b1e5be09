"""Which leg forces of another process are fresh, and which paths of the pose can be followed."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")

from geometry_msgs.msg import Transform  # noqa: E402
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.simulation.live.external_drive import ExternalDrive, ForceGate  # noqa: E402
from flexdyn_ros.simulation.live.joint_path import TrajectoryError  # noqa: E402
from flexdyn_ros.simulation.live.pose_path import check_reach, read_pose_path  # noqa: E402

NAMES = ("a", "b")


def forces(a, b=0.0):
    return {"b": b, "a": a}


def test_repeated_and_late_forces_are_not_fresh_not_even_at_time_zero():
    gate = ForceGate(NAMES)
    gate.take(0, forces(1.0))
    assert gate.fresh(0.0).tolist() == [1.0, 0.0]
    gate.take(0, forces(1.0))
    assert gate.fresh(0.0) is None
    gate.take(1_000_000, forces(2.0))
    assert gate.fresh(0.0).tolist() == [2.0, 0.0]
    gate.take(1_000_000, forces(2.0))
    gate.take(500_000, forces(3.0))
    assert gate.fresh(0.0) is None
    assert gate.late == 3


def test_senders_that_never_stamp_are_heard():
    gate = ForceGate(NAMES)
    for value in (1.0, 2.0, 3.0):
        gate.take(0, forces(value))
        assert gate.fresh(0.0)[0] == value


def test_malformed_forces_are_refused_whole():
    gate = ForceGate(NAMES)
    with pytest.raises(ValueError, match="lack b"):
        gate.take(1, {"a": 1.0})
    with pytest.raises(ValueError, match="finite"):
        gate.take(1, forces(float("nan")))
    assert gate.fresh(0.0) is None


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


def path(robot, *heights, sideways=0.0, start=None):
    """Through poses so far above home [m], one second apart, the last one so far aside."""
    home = robot.neutral()
    message = MultiDOFJointTrajectory(joint_names=["platform"])
    for k, height in enumerate(heights):
        target = Transform()
        target.translation.x = home[0] + sideways * (k == len(heights) - 1)
        target.translation.y, target.translation.z, target.rotation.w = home[1], home[2] + height, 1.0
        point = MultiDOFJointTrajectoryPoint(transforms=[target])
        point.time_from_start.sec = k + 1
        message.points.append(point)
    return read_pose_path(message, robot, 0.0, home if start is None else start, np.zeros(6))


def test_a_path_within_the_strokes_is_taken(robot):
    check_reach(path(robot, 0.1, -0.1, 0.0, sideways=0.1))


def test_a_path_beyond_the_strokes_is_refused_with_leg_length_and_range(robot):
    with pytest.raises(
        TrajectoryError, match=r"s from now leg_\d would be 1\.[78]\d* m long, expected 1.1 to 1.7 m"
    ):
        check_reach(path(robot, 0.1, 2.0))
    with pytest.raises(TrajectoryError, match="cannot be followed"):
        check_reach(path(robot, 0.0, sideways=1.5))


def test_what_lies_between_two_points_is_looked_at_as_well(robot):
    # a spline through these points with speeds swings beyond the stroke
    swinging = path(robot, 0.25, 0.25)
    check_reach(swinging)
    coefficients = swinging.coefficients.copy()
    h = 1.0
    # the same ends with a bump of 0.2 m between them
    coefficients[1, 2:4, 5] += 1.6 / h**2 * 1.0, -1.6 / h**3
    with pytest.raises(TrajectoryError, match="leg_"):
        check_reach(type(swinging)(robot, swinging.times, swinging.poses, coefficients))


def test_a_platform_beyond_its_stroke_may_come_back_but_not_go_on(robot):
    low = robot.neutral()
    while robot.workspace_margins(low).stroke > -1e-3:
        low[2] -= 1e-3
    check_reach(path(robot, 0.0, start=low))
    with pytest.raises(TrajectoryError):
        check_reach(path(robot, low[2] - robot.neutral()[2] - 0.05, start=low))


def leg_trajectory(robot, lengths):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    point = JointTrajectoryPoint(positions=list(lengths))
    point.time_from_start.sec = 1
    return JointTrajectory(joint_names=list(robot.effort_names), points=[point])


def simulated(robot, hydraulics):
    from flexdyn_ros.simulation.live.command_buffer import CommandBuffer
    from flexdyn_ros.simulation.live.platform_drive import Legs, PlatformDrive, leg_gains
    from flexdyn_ros.simulation.live.simulation import Simulation

    home = robot.neutral()
    gains = leg_gains(robot, home)
    if hydraulics == "external":
        drive = ExternalDrive(robot, robot.effort_names, gains[1])
    else:
        drive = PlatformDrive(robot, hydraulics, *gains)
    buffer = CommandBuffer(Legs.of(robot))
    return Simulation(robot, buffer, home, np.zeros(6), *gains, drive, dt=1e-3)


@pytest.mark.parametrize("follows", [True, False])
def test_a_platform_that_follows_a_path_carries_another_payload_at_once(robot, follows):
    simulation = simulated(robot, "none")
    if follows:
        simulation.drive.follow(path(robot, 0.0))
    simulation.set_payload("platform", 300.0, np.zeros(3), None)
    for _ in range(50):
        assert simulation.tick(1)
    sag = robot.neutral()[2] - simulation.stepper.q[2]
    assert abs(sag) < 1e-7 if follows else sag > 1e-3


@pytest.fixture
def node():
    import rclpy

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("legs", context=context)
    yield node
    node.destroy_node()
    context.try_shutdown()


def test_a_trajectory_of_the_legs_starts_at_their_present_lengths(robot, node):
    from contextlib import nullcontext

    from flexdyn_ros.nodes.simulator.trajectories import SimulatedTrajectories

    simulation = simulated(robot, "none")
    legs = SimulatedTrajectories(node, simulation, nullcontext, lambda: None)
    lengths, rates = simulation.joint_motion()
    assert lengths == pytest.approx(robot.inverse_kinematics(robot.neutral()).length)
    assert rates == pytest.approx(np.zeros(6))
    path = legs.take(leg_trajectory(robot, lengths + 0.05))
    assert path.at(0.0)[0] == pytest.approx(lengths)
    for _ in range(1500):
        assert simulation.tick(1)
    assert simulation.joint_motion()[0] == pytest.approx(lengths + 0.05, abs=2e-3)
    legs.action.close()


def test_legs_that_another_process_drives_follow_no_trajectory(robot, node):
    from contextlib import nullcontext

    from flexdyn_ros.nodes.simulator.trajectories import SimulatedTrajectories

    simulation = simulated(robot, "external")
    legs = SimulatedTrajectories(node, simulation, nullcontext, lambda: None)
    with pytest.raises(TrajectoryError, match="forces come from outside"):
        legs.take(leg_trajectory(robot, simulation.joint_motion()[0]))
    legs.action.close()
