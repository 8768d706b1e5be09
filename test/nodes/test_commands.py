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
from flexdyn_ros.nodes.simulator.commands import CommandBook, CommandError  # noqa: E402

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
def book(robot):
    return CommandBook(robot, timeout=0.1, on_stale="hold")


def command(names=("shoulder", "elbow"), **arrays):
    return JointState(name=list(names), **{field: list(values) for field, values in arrays.items()})


def test_nothing_commanded_means_no_effort_and_no_servo(book):
    order = book.order(5.0, 5.0, Q)
    assert not order.effort.any()
    assert not order.servo_position.any()
    assert not order.servo_velocity.any()
    assert book.stale == ()


def test_joints_hold_where_they_are_until_they_are_commanded(robot):
    book = CommandBook(robot, timeout=0.1, at_first="hold")
    order = book.order(5.0, 5.0, Q)
    assert order.servo_position.tolist() == [True, True, False]
    assert order.position.tolist()[:2] == Q.tolist()[:2]
    assert order.gravity.tolist() == [True, True, False]
    assert book.order(50.0, 50.0, Q + 0.5) is order
    assert book.stale == ()
    book.take_joint_state(command(("elbow",), effort=[0.7]), 50.0, 50.0)
    order = book.order(50.0, 50.0, Q + 0.5)
    assert order.servo_position.tolist() == [True, False, False]
    assert order.effort.tolist() == [0.0, 0.7, 0.0]
    book.forget()
    order = book.order(60.0, 60.0, Q + 0.5)
    assert order.position.tolist()[:2] == (Q + 0.5).tolist()[:2]


def test_what_is_commanded_before_the_first_look_is_kept(robot):
    book = CommandBook(robot, timeout=0.1, at_first="damp")
    book.take_joint_state(command(("elbow",), effort=[0.7]), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert order.effort.tolist() == [0.0, 0.7, 0.0]
    assert order.servo_velocity.tolist() == [True, False, False]
    assert not order.servo_position.any()
    book.forget()
    point = JointTrajectoryPoint(positions=[1.0], time_from_start=Duration(sec=1))
    book.take_trajectory(JointTrajectory(joint_names=["elbow"], points=[point]), 0.0, Q, np.zeros(3))
    order = book.order(0.5, 0.5, Q)
    assert order.position[1] == pytest.approx(0.6)
    assert order.servo_velocity.tolist() == [True, True, False]


def test_positions_move_on_with_their_velocities_from_the_stamp(robot):
    book = CommandBook(robot, timeout=0.0, extrapolate=True)
    message = command(("shoulder", "elbow"), position=[0.5, 0.2], velocity=[0.6, 0.0])
    message.header.stamp.sec = 2
    book.take_joint_state(message, 2.05, 0.0)
    for now, age in ((2.05, 0.05), (2.1, 0.1), (9.0, 0.2)):
        order = book.order(now, now, Q)
        assert order.position.tolist() == pytest.approx([0.5 + 0.6 * age, 0.2, 0.0])
        assert order.velocity.tolist() == [0.6, 0.0, 0.0]
    book.take_joint_state(command(("elbow",), position=[0.3], velocity=[1.0]), 10.0, 10.0)
    assert book.order(10.01, 10.0, Q).position[1] == pytest.approx(0.31)
    plain = CommandBook(robot, timeout=0.0)
    plain.take_joint_state(message, 2.05, 0.0)
    assert plain.order(3.0, 3.0, Q).position[0] == 0.5


def test_efforts_go_to_the_joints_they_name(book):
    book.take_joint_state(command(("elbow", "shoulder"), effort=(2.0, 1.0)), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert order.effort.tolist() == [1.0, 2.0, 0.0]
    assert not order.servo_velocity.any()


def test_position_and_velocity_are_servo_targets_and_effort_is_added(book):
    book.take_joint_state(command(("elbow",), position=[0.5], velocity=[0.6], effort=[0.7]), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert (order.position[1], order.velocity[1], order.effort[1]) == (0.5, 0.6, 0.7)
    assert order.servo_position.tolist() == [False, True, False]
    # whoever commands an effort has gravity in it
    assert not order.gravity.any()


def test_gravity_is_balanced_where_a_servo_has_no_effort_of_its_own(book):
    book.take_joint_state(command(("elbow",), velocity=[0.6]), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert order.gravity.tolist() == [False, True, False]
    assert order.servo_velocity.tolist() == [False, True, False]
    assert not order.servo_position.any()


def test_joints_that_a_command_does_not_name_keep_theirs(book):
    book.take_joint_state(command(("shoulder",), effort=[1.0]), 0.0, 0.0)
    book.take_joint_state(command(("elbow",), position=[0.5]), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert order.effort[0] == 1.0
    assert order.servo_position.tolist() == [False, True, False]


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
def test_a_command_is_taken_whole_or_not_at_all(book, message, words):
    book.take_joint_state(command(effort=(3.0, 4.0)), 0.0, 0.0)
    with pytest.raises(CommandError, match=words):
        book.take_joint_state(message, 0.05, 0.05)
    assert book.order(0.05, 0.05, Q).effort.tolist() == [3.0, 4.0, 0.0]
    assert (book.accepted, book.rejected) == (1, 1)
    # and its age is not refreshed
    book.order(0.12, 0.12, Q)
    assert book.stale == ("shoulder", "elbow")


@pytest.mark.parametrize("interface", ["position", "velocity"])
def test_effort_alone_is_refused_where_the_interface_is_another(robot, interface):
    book = CommandBook(robot, interface=interface)
    with pytest.raises(CommandError, match=interface):
        book.take_joint_state(command(effort=(1.0, 2.0)), 0.0, 0.0)
    book.take_joint_state(command(effort=(1.0, 2.0), **{interface: (0.0, 0.0)}), 0.0, 0.0)
    assert book.order(0.0, 0.0, Q).effort.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize("interface", ["effort", "position", "velocity"])
def test_an_array_means_what_the_interface_says(robot, interface):
    book = CommandBook(robot, ("elbow", "shoulder"), interface)
    book.take_array(Float64MultiArray(data=[2.0, 1.0]), 0.0, 0.0)
    order = book.order(0.0, 0.0, Q)
    assert getattr(order, interface).tolist() == [1.0, 2.0, 0.0]
    assert order.servo_velocity.any() == (interface != "effort")
    with pytest.raises(CommandError, match="3 numbers, expected 2"):
        book.take_array(Float64MultiArray(data=[1.0, 2.0, 3.0]), 0.0, 0.0)
    with pytest.raises(CommandError, match="empty"):
        book.take_array(Float64MultiArray(), 0.0, 0.0)


@pytest.mark.parametrize("joints", [("wrist",), ("passive",)])
def test_joints_that_cannot_be_commanded_are_no_array(robot, joints):
    with pytest.raises(CommandError, match=joints[0]):
        CommandBook(robot, joints)


@pytest.mark.parametrize("way", ["hold", "zero", "damp"])
def test_a_stale_command_is_made_safe(robot, way):
    book = CommandBook(robot, timeout=0.1, on_stale=way)
    book.take_joint_state(command(("elbow",), effort=[5.0]), 1.0, 1.0)
    assert book.order(1.09, 1.09, Q).effort[1] == 5.0
    order = book.order(1.11, 1.11, Q)
    assert book.stale == ("elbow",)
    assert not order.effort.any()
    assert order.servo_position[1] == (way == "hold")
    assert order.servo_velocity[1] == (way in ("hold", "damp"))
    assert order.gravity[1] == (way == "hold")
    if way == "hold":
        assert order.position[1] == Q[1]
        # and it stays where it was then
        assert book.order(2.0, 2.0, Q + 1.0).position[1] == Q[1]
    book.take_joint_state(command(("elbow",), effort=[6.0]), 2.0, 2.0)
    assert book.order(2.0, 2.0, Q).effort[1] == 6.0
    assert book.stale == ()


def test_a_command_is_stale_only_when_both_clocks_say_so(robot):
    book = CommandBook(robot, timeout=0.1)
    book.take_joint_state(command(effort=(1.0, 1.0)), 0.0, 0.0)
    book.order(5.0, 0.05, Q)
    book.order(0.05, 5.0, Q)
    assert book.stale == ()
    book.order(0.2, 0.2, Q)
    assert book.stale == ("shoulder", "elbow")


def test_without_timeout_nothing_is_stale(robot):
    book = CommandBook(robot, timeout=0.0)
    book.take_joint_state(command(effort=(1.0, 1.0)), 0.0, 0.0)
    assert book.order(1e6, 1e6, Q).effort[0] == 1.0


def path(seconds, positions, joints=("shoulder", "elbow")):
    point = JointTrajectoryPoint(positions=list(positions), time_from_start=Duration(sec=seconds))
    return JointTrajectory(joint_names=list(joints), points=[point])


def test_a_trajectory_starts_here_ends_there_and_never_gets_stale(book):
    book.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    assert book.order(10.0, 10.0, Q).position[:2].tolist() == [0.1, 0.2]
    middle = book.order(11.0, 11.0, Q)
    assert middle.position[:2].tolist() == pytest.approx([0.6, 1.05])
    assert middle.velocity[:2].tolist() == pytest.approx([0.5, 0.85])
    assert middle.servo_position.tolist() == [True, True, False]
    for t in (12.0, 12.5, 100.0):
        end = book.order(t, t, Q)
        assert end.position[:2].tolist() == pytest.approx([1.1, 1.9])
        assert not end.velocity.any() or t == 12.0
    assert book.stale == ()


def test_a_command_to_one_of_its_joints_ends_a_trajectory(book):
    book.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    book.take_joint_state(command(("elbow",), effort=[1.0]), 10.5, 10.5)
    order = book.order(10.55, 10.55, Q)
    assert order.servo_position.tolist() == [False, False, False]
    assert order.effort.tolist() == [0.0, 1.0, 0.0]


def test_joints_that_a_new_trajectory_does_not_name_hold_where_they_are(book):
    book.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    here = Q + 0.3
    book.take_trajectory(path(1, (1.5,), ("elbow",)), 10.5, here, np.zeros(3))
    order = book.order(10.55, 10.55, here)
    assert order.servo_position.tolist() == [True, True, False]
    assert order.position[0] == pytest.approx(here[0])
    assert order.gravity.tolist() == [True, True, False]


def test_turns_count_what_each_coordinate_was_told(book):
    book.take_trajectory(path(2, (1.1, 1.9)), 10.0, Q, np.zeros(3))
    before = book.turns.copy()
    book.take_joint_state(command(("elbow",), effort=[1.0]), 10.5, 10.5)
    assert (book.turns - before).tolist() == [0, 1, 0]
    book.order(11.0, 11.0, Q)
    assert (book.turns - before).tolist() == [0, 1, 0], "a stale command is no other command"
    book.forget()
    assert (book.turns > before).all()


def test_a_trajectory_of_an_unknown_joint_changes_nothing(book):
    book.take_joint_state(command(effort=(3.0, 4.0)), 0.0, 0.0)
    with pytest.raises(CommandError, match="wrist"):
        book.take_trajectory(path(2, (1.0, 2.0), ("shoulder", "wrist")), 0.0, Q, np.zeros(3))
    assert book.order(0.0, 0.0, Q).effort.tolist() == [3.0, 4.0, 0.0]


def test_lockstep_efforts_are_kept_until_the_next(book):
    book.take_efforts(np.array([1.0, 2.0, 0.0]))
    assert book.order(1e3, 1e3, Q).effort.tolist() == [1.0, 2.0, 0.0]
    with pytest.raises(CommandError, match="passive"):
        book.take_efforts(np.array([1.0, 2.0, 0.5]))
    with pytest.raises(CommandError, match="nan"):
        book.take_efforts(np.array([1.0, NAN, 0.0]))
