"""Commands are taken whole or refused, merged by joint, and made safe when they are stale."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("sensor_msgs.msg")

from builtin_interfaces.msg import Duration  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError  # noqa: E402

URDF = """<robot name="arm">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="passive" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="0" velocity="3"/></joint>
</robot>"""
NAN, INF = float("nan"), float("inf")
Q = np.array([0.1, 0.2, 0.3])


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load(URDF)


@pytest.fixture
def buffer(robot):
    return CommandBuffer(robot, timeout=0.1, on_stale="hold")


def command(names=("shoulder", "elbow"), **arrays):
    return JointState(name=list(names), **{field: list(values) for field, values in arrays.items()})


def test_nothing_commanded_means_no_effort_and_no_servo(buffer):
    setpoint = buffer.setpoint(5.0, 5.0, Q)
    assert not setpoint.effort.any()
    assert not setpoint.servo_position.any()
    assert not setpoint.servo_velocity.any()
    assert buffer.stale == ()


def test_joints_hold_where_they_are_until_they_are_commanded(robot):
    buffer = CommandBuffer(robot, timeout=0.1, at_first="hold")
    setpoint = buffer.setpoint(5.0, 5.0, Q)
    assert setpoint.servo_position.tolist() == [True, True, False]
    assert setpoint.position.tolist()[:2] == Q.tolist()[:2]
    assert setpoint.gravity.tolist() == [True, True, False]
    assert buffer.setpoint(50.0, 50.0, Q + 0.5) is setpoint
    assert buffer.stale == ()
    buffer.take_joint_state(command(("elbow",), effort=[0.7]), 50.0, 50.0)
    setpoint = buffer.setpoint(50.0, 50.0, Q + 0.5)
    assert setpoint.servo_position.tolist() == [True, False, False]
    assert setpoint.effort.tolist() == [0.0, 0.7, 0.0]
    buffer.clear()
    setpoint = buffer.setpoint(60.0, 60.0, Q + 0.5)
    assert setpoint.position.tolist()[:2] == (Q + 0.5).tolist()[:2]


def test_what_is_commanded_before_the_first_look_is_kept(robot):
    buffer = CommandBuffer(robot, timeout=0.1, at_first="damp")
    buffer.take_joint_state(command(("elbow",), effort=[0.7]), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert setpoint.effort.tolist() == [0.0, 0.7, 0.0]
    assert setpoint.servo_velocity.tolist() == [True, False, False]
    assert not setpoint.servo_position.any()
    buffer.clear()
    point = JointTrajectoryPoint(positions=[1.0], time_from_start=Duration(sec=1))
    buffer.take_trajectory(JointTrajectory(joint_names=["elbow"], points=[point]), 0.0, Q, np.zeros(3))
    setpoint = buffer.setpoint(0.5, 0.5, Q)
    assert setpoint.position[1] == pytest.approx(0.6)
    assert setpoint.servo_velocity.tolist() == [True, True, False]


def test_positions_move_on_with_their_velocities_from_the_stamp(robot):
    buffer = CommandBuffer(robot, timeout=0.0, extrapolate=True)
    message = command(("shoulder", "elbow"), position=[0.5, 0.2], velocity=[0.6, 0.0])
    message.header.stamp.sec = 2
    buffer.take_joint_state(message, 2.05, 0.0)
    for now, age in ((2.05, 0.05), (2.1, 0.1), (9.0, 0.2)):
        setpoint = buffer.setpoint(now, now, Q)
        assert setpoint.position.tolist() == pytest.approx([0.5 + 0.6 * age, 0.2, 0.0])
        assert setpoint.velocity.tolist() == [0.6, 0.0, 0.0]
    buffer.take_joint_state(command(("elbow",), position=[0.3], velocity=[1.0]), 10.0, 10.0)
    assert buffer.setpoint(10.01, 10.0, Q).position[1] == pytest.approx(0.31)
    plain = CommandBuffer(robot, timeout=0.0)
    plain.take_joint_state(message, 2.05, 0.0)
    assert plain.setpoint(3.0, 3.0, Q).position[0] == 0.5


def test_efforts_go_to_the_joints_they_name(buffer):
    buffer.take_joint_state(command(("elbow", "shoulder"), effort=(2.0, 1.0)), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert setpoint.effort.tolist() == [1.0, 2.0, 0.0]
    assert not setpoint.servo_velocity.any()


def test_position_and_velocity_are_servo_targets_and_effort_is_added(buffer):
    buffer.take_joint_state(command(("elbow",), position=[0.5], velocity=[0.6], effort=[0.7]), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert (setpoint.position[1], setpoint.velocity[1], setpoint.effort[1]) == (0.5, 0.6, 0.7)
    assert setpoint.servo_position.tolist() == [False, True, False]
    # whoever commands an effort has gravity in it
    assert not setpoint.gravity.any()


def test_gravity_is_balanced_where_a_servo_has_no_effort_of_its_own(buffer):
    buffer.take_joint_state(command(("elbow",), velocity=[0.6]), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert setpoint.gravity.tolist() == [False, True, False]
    assert setpoint.servo_velocity.tolist() == [False, True, False]
    assert not setpoint.servo_position.any()


def test_joints_that_a_command_does_not_name_keep_theirs(buffer):
    buffer.take_joint_state(command(("shoulder",), effort=[1.0]), 0.0, 0.0)
    buffer.take_joint_state(command(("elbow",), position=[0.5]), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert setpoint.effort[0] == 1.0
    assert setpoint.servo_position.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (command(("shoulder", "wrist"), effort=(1.0, 2.0)), "wrist"),
        (command(("shoulder", "passive"), effort=(1.0, 2.0)), "passive.* not actuated"),
        (command(effort=(1.0,)), "effort has 1 numbers, expected 2"),
        (command(position=(1.0, 2.0), effort=(1.0, 2.0, 3.0)), "effort has 3"),
        (command(effort=(1.0, NAN)), r"effort\[1\] is nan"),
        (command(position=(1.0, 2.0), velocity=(INF, 0.0)), r"velocity\[0\] is inf"),
        (command(), "all empty"),
        (command((), effort=()), "name is empty"),
        (command(("elbow", "elbow"), effort=(1.0, 2.0)), "more than once"),
    ],
)
def test_a_command_is_taken_whole_or_not_at_all(buffer, message, words):
    buffer.take_joint_state(command(effort=(3.0, 4.0)), 0.0, 0.0)
    with pytest.raises(CommandError, match=words):
        buffer.take_joint_state(message, 0.05, 0.05)
    assert buffer.setpoint(0.05, 0.05, Q).effort.tolist() == [3.0, 4.0, 0.0]


@pytest.mark.parametrize("fields", [{"position": (NAN, NAN)}, {"velocity": (NAN, NAN), "effort": (NAN, NAN)}])
def test_nothing_but_nan_is_no_command(buffer, fields):
    """The hardware of ros2_control writes NaN until a controller is active."""
    assert buffer.take_joint_state(command(effort=(3.0, 4.0)), 0.0, 0.0)
    assert not buffer.take_joint_state(command(**fields), 0.05, 0.05)
    assert not buffer.take_array(Float64MultiArray(data=[NAN] * len(buffer.joints)), 0.05, 0.05)
    assert buffer.setpoint(0.05, 0.05, Q).effort.tolist() == [3.0, 4.0, 0.0]
    assert (buffer.accepted, buffer.rejected) == (1, 0)
    with pytest.raises(CommandError, match="expected 2"):
        buffer.take_joint_state(command(position=(NAN,)), 0.05, 0.05)
    assert (buffer.accepted, buffer.rejected) == (1, 1)
    # and its age is not refreshed
    buffer.setpoint(0.12, 0.12, Q)
    assert buffer.stale == ("shoulder", "elbow")


def test_joints_that_no_controller_claims_keep_theirs(robot):
    """Hardware of ros2_control sends a number for each of its interfaces: NaN where nobody writes one."""
    buffer = CommandBuffer(robot, nan="skip")
    assert buffer.take_joint_state(command(position=(1.0, 2.0), effort=(NAN, NAN)), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert setpoint.servo_position.tolist() == [True, True, False]
    assert setpoint.gravity.tolist() == [True, True, False]
    # the shoulder is taken by an effort controller, the elbow by none
    assert buffer.take_joint_state(command(position=(NAN, NAN), effort=(3.0, NAN)), 0.05, 0.05)
    setpoint = buffer.setpoint(0.05, 0.05, Q)
    assert setpoint.effort.tolist() == [3.0, 0.0, 0.0]
    assert setpoint.servo_position.tolist() == [False, True, False]
    assert setpoint.position[1] == 2.0
    # a joint without a command gets stale, the other does not
    buffer.take_array(Float64MultiArray(data=[4.0, NAN]), 0.12, 0.12)
    setpoint = buffer.setpoint(0.12, 0.12, Q)
    assert setpoint.effort.tolist() == [4.0, 0.0, 0.0]
    assert buffer.stale == ("elbow",)
    with pytest.raises(CommandError, match=r"position\[1\] is inf"):
        buffer.take_joint_state(command(position=(NAN, INF)), 0.12, 0.12)


def test_a_joint_with_nothing_but_an_effort_is_refused_where_nan_is_skipped(robot):
    buffer = CommandBuffer(robot, interface="position", nan="skip")
    assert buffer.take_joint_state(command(position=(1.0, NAN), effort=(2.0, NAN)), 0.0, 0.0)
    with pytest.raises(CommandError, match="effort alone"):
        buffer.take_joint_state(command(position=(1.0, NAN), effort=(NAN, 2.0)), 0.0, 0.0)
    assert buffer.setpoint(0.0, 0.0, Q).effort.tolist() == [2.0, 0.0, 0.0]


@pytest.mark.parametrize("interface", ["position", "velocity"])
def test_effort_alone_is_refused_where_the_interface_is_another(robot, interface):
    buffer = CommandBuffer(robot, interface=interface)
    with pytest.raises(CommandError, match=interface):
        buffer.take_joint_state(command(effort=(1.0, 2.0)), 0.0, 0.0)
    buffer.take_joint_state(command(effort=(1.0, 2.0), **{interface: (0.0, 0.0)}), 0.0, 0.0)
    assert buffer.setpoint(0.0, 0.0, Q).effort.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize("interface", ["effort", "position", "velocity"])
def test_an_array_means_what_the_interface_says(robot, interface):
    buffer = CommandBuffer(robot, ("elbow", "shoulder"), interface)
    buffer.take_array(Float64MultiArray(data=[2.0, 1.0]), 0.0, 0.0)
    setpoint = buffer.setpoint(0.0, 0.0, Q)
    assert getattr(setpoint, interface).tolist() == [1.0, 2.0, 0.0]
    assert setpoint.servo_velocity.any() == (interface != "effort")
    with pytest.raises(CommandError, match="3 numbers, expected 2"):
        buffer.take_array(Float64MultiArray(data=[1.0, 2.0, 3.0]), 0.0, 0.0)
    with pytest.raises(CommandError, match="empty"):
        buffer.take_array(Float64MultiArray(), 0.0, 0.0)


@pytest.mark.parametrize("joints", [("wrist",), ("passive",)])
def test_joints_that_cannot_be_commanded_are_no_array(robot, joints):
    with pytest.raises(CommandError, match=joints[0]):
        CommandBuffer(robot, joints)


@pytest.mark.parametrize("way", ["hold", "zero", "damp"])
def test_a_stale_command_is_made_safe(robot, way):
    buffer = CommandBuffer(robot, timeout=0.1, on_stale=way)
    buffer.take_joint_state(command(("elbow",), effort=[5.0]), 1.0, 1.0)
    assert buffer.setpoint(1.09, 1.09, Q).effort[1] == 5.0
    setpoint = buffer.setpoint(1.11, 1.11, Q)
    assert buffer.stale == ("elbow",)
    assert not setpoint.effort.any()
    assert setpoint.servo_position[1] == (way == "hold")
    assert setpoint.servo_velocity[1] == (way in ("hold", "damp"))
    assert setpoint.gravity[1] == (way == "hold")
    if way == "hold":
        assert setpoint.position[1] == Q[1]
        # and it stays where it was then
        assert buffer.setpoint(2.0, 2.0, Q + 1.0).position[1] == Q[1]
    buffer.take_joint_state(command(("elbow",), effort=[6.0]), 2.0, 2.0)
    assert buffer.setpoint(2.0, 2.0, Q).effort[1] == 6.0
    assert buffer.stale == ()


def test_a_command_is_stale_only_when_both_clocks_say_so(robot):
    buffer = CommandBuffer(robot, timeout=0.1)
    buffer.take_joint_state(command(effort=(1.0, 1.0)), 0.0, 0.0)
    buffer.setpoint(5.0, 0.05, Q)
    buffer.setpoint(0.05, 5.0, Q)
    assert buffer.stale == ()
    buffer.setpoint(0.2, 0.2, Q)
    assert buffer.stale == ("shoulder", "elbow")


def test_without_timeout_nothing_is_stale(robot):
    buffer = CommandBuffer(robot, timeout=0.0)
    buffer.take_joint_state(command(effort=(1.0, 1.0)), 0.0, 0.0)
    assert buffer.setpoint(1e6, 1e6, Q).effort[0] == 1.0


def path(seconds, positions, joints=("shoulder", "elbow")):
    point = JointTrajectoryPoint(positions=list(positions), time_from_start=Duration(sec=seconds))
    return JointTrajectory(joint_names=list(joints), points=[point])


def test_a_trajectory_starts_here_ends_there_and_never_gets_stale(buffer):
    buffer.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    assert buffer.setpoint(10.0, 10.0, Q).position[:2].tolist() == [0.1, 0.2]
    middle = buffer.setpoint(11.0, 11.0, Q)
    assert middle.position[:2].tolist() == pytest.approx([0.6, 1.05])
    assert middle.velocity[:2].tolist() == pytest.approx([0.5, 0.85])
    assert middle.servo_position.tolist() == [True, True, False]
    for t in (12.0, 12.5, 100.0):
        end = buffer.setpoint(t, t, Q)
        assert end.position[:2].tolist() == pytest.approx([1.1, 1.9])
        assert not end.velocity.any() or t == 12.0
    assert buffer.stale == ()


def test_a_command_to_one_of_its_joints_ends_a_trajectory(buffer):
    buffer.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    buffer.take_joint_state(command(("elbow",), effort=[1.0]), 10.5, 10.5)
    setpoint = buffer.setpoint(10.55, 10.55, Q)
    assert setpoint.servo_position.tolist() == [False, False, False]
    assert setpoint.effort.tolist() == [0.0, 1.0, 0.0]


def test_joints_that_a_new_trajectory_does_not_name_hold_where_they_are(buffer):
    buffer.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    here = Q + 0.3
    buffer.take_trajectory(path(1, (1.5,), ("elbow",)), 10.5, here, np.zeros(3))
    setpoint = buffer.setpoint(10.55, 10.55, here)
    assert setpoint.servo_position.tolist() == [True, True, False]
    assert setpoint.position[0] == pytest.approx(here[0])
    assert setpoint.gravity.tolist() == [True, True, False]


def test_turns_count_what_each_coordinate_was_told(buffer):
    buffer.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    before = buffer.turns.copy()
    buffer.take_joint_state(command(("elbow",), effort=[1.0]), 10.5, 10.5)
    assert (buffer.turns - before).tolist() == [0, 1, 0]
    buffer.setpoint(11.0, 11.0, Q)
    assert (buffer.turns - before).tolist() == [0, 1, 0], "a stale command is no other command"
    buffer.yield_to_others()
    assert (buffer.turns - before).tolist() == [1, 2, 1]
    before = buffer.turns.copy()
    buffer.clear()
    assert (buffer.turns > before).all()


def test_a_trajectory_of_an_unknown_joint_changes_nothing(buffer):
    buffer.take_joint_state(command(effort=(3.0, 4.0)), 0.0, 0.0)
    with pytest.raises(CommandError, match="wrist"):
        buffer.take_trajectory(path(2, (1.0, 2.0), ("shoulder", "wrist")), 0.0, Q, np.zeros(3))
    assert buffer.setpoint(0.0, 0.0, Q).effort.tolist() == [3.0, 4.0, 0.0]


def test_lockstep_efforts_are_kept_until_the_next(buffer):
    buffer.take_efforts(np.array([1.0, 2.0, 0.0]))
    assert buffer.setpoint(1e3, 1e3, Q).effort.tolist() == [1.0, 2.0, 0.0]
    with pytest.raises(CommandError, match="passive"):
        buffer.take_efforts(np.array([1.0, 2.0, 0.5]))
    with pytest.raises(CommandError, match="nan"):
        buffer.take_efforts(np.array([1.0, NAN, 0.0]))


def test_positions_of_a_ball_joint_are_refused_and_its_efforts_taken():
    """Its coordinates are angular rates without positions."""
    from jointed_robots import with_joint

    robot = flexdyn_ros.load(with_joint("ball"))
    buffer = CommandBuffer(robot, timeout=0.0)
    with pytest.raises(CommandError, match="'J/wy' turns a ball joint and has no position"):
        buffer.take_joint_state(command(("first", "J/wy"), position=[0.1, 0.2]), 0.0, 0.0)
    buffer.take_joint_state(command(("J/wy",), effort=[0.4]), 0.0, 0.0)
    assert buffer.setpoint(0.0, 0.0, robot.neutral()).effort[robot.index("J/wy")] == 0.4
