"""~/follow_joint_trajectory of the simulator and of a controller, in processes of their own whose time the
test moves."""

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("control_msgs.action")

import numpy as np  # noqa: E402
from action_msgs.msg import GoalStatus  # noqa: E402
from builtin_interfaces.msg import Duration  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointComponentTolerance, JointTolerance  # noqa: E402
from lockstep import Lab, advance, begin, point_trajectory  # noqa: E402
from malformed import JOINTS  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory  # noqa: E402

from flexdyn_interfaces.srv import Step  # noqa: E402
from flexdyn_ros.nodes import doubles, numbers_of, seconds_of  # noqa: E402

Q0 = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])
ROBOT = ["-p", "description_file:=seven_joint_arm"]
INITIAL = [x for name, q in zip(JOINTS, Q0, strict=True) for x in ("-p", f"initial.positions.{name}:={q}")]
STOPPED = ["-p", "constraints.stopped_velocity_tolerance:=0.05"]
R = FollowJointTrajectory.Result
SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
)


class Sent:
    """A goal, its feedback, and what became of it."""

    def __init__(self, side, goal):
        self.side, self.feedback = side, []
        self._asked = side.actions.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        side.client.until(self._asked.done, "the goal is not taken")
        self.handle = self._asked.result()
        assert self.handle.accepted
        self._answer = self.handle.get_result_async()

    def cancel(self):
        asked = self.handle.cancel_goal_async()
        self.side.client.until(asked.done, "no answer to the cancellation")
        return len(asked.result().goals_canceling)

    @property
    def is_over(self):
        return self._answer.done()

    def until_over(self, longest):
        """Status, code and text; the robot's time moves on for at most so many seconds."""
        for _ in range(round(longest / 0.05)):
            # an answer that is on its way needs no time of the robot
            self.side.spin(0.02)
            if self.is_over:
                break
            self.side.advance(0.05)
        self.side.client.until(self._answer.done, "the goal does not end", 30.0)
        found = self._answer.result()
        return found.status, found.result.error_code, found.result.error_string


class Side:
    """A server of the action, and how its time is moved."""

    def __init__(self, client, lab, node):
        self.client, self.lab, self.node = client, lab, node
        self.actions = ActionClient(
            client.node, FollowJointTrajectory, f"/{lab.name}/{node}/follow_joint_trajectory"
        )

    def spin(self, seconds):
        self.client._executor.spin_until_future_complete(self.client._nothing, seconds)

    def advance(self, seconds):
        if self.lab.controller:
            advance(self.client, [self.lab], seconds)
        else:
            answer = self.client.call(
                Step, f"/{self.lab.name}/simulator/step", steps=round(seconds * 1000), patience=60.0
            )
            assert answer.success, answer.message
            self.lab.state = answer.state

    def send(self, goal):
        return Sent(self, goal)

    def positions(self):
        return np.array(list(self.lab.of("positions", JOINTS).values()))

    def start(self):
        """Reset; the robot holds where it begins."""
        assert self.client.call(Trigger, f"/{self.lab.name}/simulator/reset").success
        self.advance(0.1)


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """A simulator alone, and one whose commands come from pd_controller."""
    logs = tmp_path_factory.mktemp("logs")
    alone, led = Lab("alone", ""), Lab("led", "pd_controller")
    still = ["-p", "start_paused:=true", "-p", "before_first_command:=hold", "-r", "/clock:=clock"]
    nodes = {
        "alone": NodeProcess(
            "simulator", "-r", "__ns:=/alone", *ROBOT, *INITIAL, *STOPPED, *still, log=logs / "alone"
        )
    }
    own = [*ROBOT, *STOPPED, "-p", "velocity_limits:=refuse", "-p", "constraints.goal_time:=1.5"]
    own += ["-p", "bandwidth:=20.0"]
    nodes |= led.start(logs, [*ROBOT, *INITIAL], own)
    try:
        for node in nodes.values():
            node.wait_for_text("ready")
        with Client("follow_client") as client:
            sides = {
                "simulator": Side(client, alone, "simulator"),
                "pd_controller": Side(client, led, "pd_controller"),
            }
            begin(client, [led])
            for side in sides.values():
                assert side.actions.wait_for_server(60.0)
                side.spin(0.3)
            yield sides
    finally:
        for node in nodes.values():
            node.__exit__()


@pytest.fixture(params=["simulator", "pd_controller"])
def side(request, sides):
    side = sides[request.param]
    side.start()
    return side


def trajectory(positions, seconds=0.4, names=JOINTS):
    return point_trajectory(positions, seconds, names)


def goal(positions=Q0 + 0.1, seconds=0.4, names=JOINTS, **fields):
    return FollowJointTrajectory.Goal(trajectory=trajectory(positions, seconds, names), **fields)


def every_joint(**bounds):
    return [JointTolerance(name=name, **bounds) for name in JOINTS]


def test_a_goal_is_reached_within_its_tolerances_and_says_so(side):
    end = Q0 + np.array([0.2, 0.1, -0.1, 0.1, 0.1, -0.1, 0.2])
    sent = side.send(
        goal(end, goal_tolerance=every_joint(position=0.05), path_tolerance=every_joint(position=0.3))
    )
    status, code, text = sent.until_over(3.0)
    assert (status, code) == (SUCCEEDED, R.SUCCESSFUL), text
    assert np.abs(side.positions() - end).max() < 0.05


def test_feedback_tells_reference_state_and_error_along_the_way(side):
    before = side.lab.time
    sent = side.send(goal())
    sent.until_over(3.0)
    assert 0.4 / 0.05 - 2 <= len(sent.feedback) <= 3.0 / 0.05
    times = np.array([seconds_of(message.header.stamp) for message in sent.feedback])
    assert (np.diff(times[:-1]) > 0.045).all()
    assert before - 1e-9 <= times[0] <= before + 0.02
    for message in sent.feedback:
        assert list(message.joint_names) == JOINTS
        assert message.index == 0
        wanted, actual, error = (
            np.concatenate((numbers_of(point.positions), numbers_of(point.velocities)))
            for point in (message.desired, message.actual, message.error)
        )
        assert error == pytest.approx(wanted - actual, abs=1e-12)
    middle = sent.feedback[int(np.argmin(np.abs(times - before - 0.2)))]
    # halfway through a symmetric motion from rest to rest, half of the way, at 15/8 of the mean speed
    assert numbers_of(middle.desired.positions) == pytest.approx(Q0 + 0.05, abs=0.02)
    assert numbers_of(middle.desired.velocities) == pytest.approx(np.full(7, 0.1 / 0.4 * 1.875), abs=0.05)
    since = middle.desired.time_from_start
    assert since.sec + 1e-9 * since.nanosec == pytest.approx(0.2, abs=0.05)


def test_a_joint_that_leaves_its_path_ends_the_goal_and_holds_where_it_is(side):
    sent = side.send(goal(Q0 + 0.2, 0.3, path_tolerance=[JointTolerance(name=JOINTS[1], position=1e-4)]))
    status, code, text = sent.until_over(1.0)
    assert (status, code) == (ABORTED, R.PATH_TOLERANCE_VIOLATED)
    assert f"position of {JOINTS[1]}" in text
    assert "0.0001" in text
    side.advance(1.0)
    assert (np.abs(side.positions() - Q0) < 0.1).all(), "the robot goes on along the path"


def test_a_goal_that_is_not_reached_in_time_is_missed(side):
    sent = side.send(
        goal(
            goal_tolerance=[JointTolerance(name=JOINTS[0], position=1e-13)],
            goal_time_tolerance=Duration(nanosec=100_000_000),
        )
    )
    status, code, text = sent.until_over(2.0)
    assert (status, code) == (ABORTED, R.GOAL_TOLERANCE_VIOLATED)
    assert JOINTS[0] in text
    assert "0.1 s" in text
    side.advance(0.5)
    assert np.abs(side.positions() - Q0 - 0.1).max() < 0.05, "the end of the path is held all the same"


def test_a_cancelled_goal_stops_the_joints(side):
    sent = side.send(goal(Q0 + 0.5, 1.0))
    side.advance(0.4)
    assert sent.cancel() == 1
    status, code, text = sent.until_over(0.0)
    assert (status, code) == (CANCELED, R.SUCCESSFUL)
    assert "cancelled" in text
    at = side.positions()
    side.advance(1.0)
    # feedback was behind by up to a tenth of a second
    assert np.abs(side.positions() - at).max() < 0.1
    assert np.abs(side.positions() - Q0 - 0.5).min() > 0.2


def test_a_new_goal_takes_the_place_of_the_one_before(side):
    first = side.send(goal(Q0 + 0.5, 1.0))
    side.advance(0.2)
    second = side.send(goal(Q0 + 0.1, 0.5))
    status, code, text = first.until_over(0.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert "new goal" in text
    status, code, text = second.until_over(4.0)
    assert (status, code) == (SUCCEEDED, R.SUCCESSFUL), text
    assert np.abs(side.positions() - Q0 - 0.1).max() < 0.1


def test_a_reset_of_the_robot_ends_the_goal(side):
    sent = side.send(goal(Q0 + 0.5, 1.0))
    side.advance(0.2)
    side.start()
    status, code, text = sent.until_over(0.5)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert text


def test_a_trajectory_on_the_topic_takes_the_place_of_a_goal(side):
    sent = side.send(goal(Q0 + 0.5, 1.0))
    side.advance(0.1)
    topic = f"/{side.lab.name}/{side.node}/joint_trajectory"
    side.client.publish(JointTrajectory, topic, trajectory(Q0, 0.2))
    status, code, text = sent.until_over(2.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert "took its place" in text


def test_a_command_to_one_of_its_joints_takes_the_place_of_a_goal(sides):
    side = sides["simulator"]
    side.start()
    sent = side.send(goal(Q0 + 0.5, 1.0))
    command = JointState(name=[JOINTS[0]], effort=doubles([0.0]))
    side.client.publish(JointState, "/alone/joint_commands", command)
    status, code, text = sent.until_over(2.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert "another command" in text


def past():
    given = goal()
    given.trajectory.header.stamp.nanosec = 1
    given.trajectory.points[0].time_from_start = Duration(nanosec=1)
    return given


def without_points():
    given = goal()
    given.trajectory.points = []
    return given


def falling_back():
    given = goal()
    given.trajectory.points = [*given.trajectory.points, JointTrajectoryPoint(positions=doubles(Q0))]
    return given


BAD = {
    "an unknown joint": (lambda: goal([0.0], names=["no_such_joint"]), R.INVALID_JOINTS, "no_such_joint"),
    "no joints": (lambda: goal([], names=[]), R.INVALID_JOINTS, "joint_names"),
    "a joint twice": (lambda: goal([0.0, 0.0], names=[JOINTS[0]] * 2), R.INVALID_JOINTS, "more than once"),
    "a tolerance of an unknown joint": (
        lambda: goal(path_tolerance=[JointTolerance(name="knee", position=0.1)]), R.INVALID_JOINTS, "knee"
    ),
    "a trajectory that is over": (past, R.OLD_HEADER_TIMESTAMP, "ended"),
    "no points": (without_points, R.INVALID_GOAL, "no points"),
    "times that fall": (falling_back, R.INVALID_GOAL, "time_from_start"),
    "too few positions": (lambda: goal(Q0[:3]), R.INVALID_GOAL, "positions has 3"),
    "a number that is none": (lambda: goal(np.full(7, np.nan)), R.INVALID_GOAL, "not finite"),
    "a negative tolerance": (
        lambda: goal(goal_tolerance=every_joint(position=-0.5)), R.INVALID_GOAL, "-0.5"
    ),
    "a tolerance that is none": (
        lambda: goal(path_tolerance=every_joint(velocity=np.nan)), R.INVALID_GOAL, "nan"
    ),
    "a tolerance of accelerations": (
        lambda: goal(path_tolerance=every_joint(acceleration=1.0)), R.INVALID_GOAL, "not measured"
    ),
    "a tolerance of components": (
        lambda: goal(component_path_tolerance=[JointComponentTolerance()]), R.INVALID_GOAL, "component"
    ),
    "joints with several components": (
        lambda: goal(multi_dof_trajectory=MultiDOFJointTrajectory(joint_names=["base"])),
        R.INVALID_GOAL,
        "multi_dof",
    ),
}  # fmt: skip


def test_bad_goals_are_aborted_with_a_code_and_a_reason_and_the_one_before_goes_on(side):
    good = side.send(goal(Q0 + 0.1, 1.0))
    side.advance(0.1)
    for name, (make, code, part) in BAD.items():
        status, found, text = side.send(make()).until_over(0.0)
        assert (status, found) == (ABORTED, code), f"{name}: {text}"
        assert part in text, name
    status, code, text = good.until_over(4.0)
    assert (status, code) == (SUCCEEDED, R.SUCCESSFUL), text


def test_a_controller_refuses_a_goal_beyond_velocity_limits(sides):
    side = sides["pd_controller"]
    status, code, text = side.send(goal(Q0 + 1.0, 0.01)).until_over(0.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert "velocity limit" in text


@pytest.mark.parametrize(("joint", "position"), [(0, 99.0), (3, 0.5), (1, -1.8)])
def test_positions_beyond_limits_are_refused_by_action_and_topic(side, joint, position):
    end = Q0.copy()
    end[joint] = position
    status, code, text = side.send(goal(end, 2.0)).until_over(0.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert f"{JOINTS[joint]} would be at {position:g}" in text
    assert "its limits" in text
    topic = f"/{side.lab.name}/{side.node}/joint_trajectory"
    side.client.publish(JointTrajectory, topic, trajectory(end, 0.2))
    side.advance(0.5)
    assert np.abs(side.positions() - Q0).max() < 0.05


def test_a_path_that_overshoots_a_limit_between_its_points_is_refused(side):
    sent = goal(Q0, 2.0)
    points = [
        JointTrajectoryPoint(positions=doubles(Q0), velocities=doubles(v)) for v in np.eye(7)[[2, 2]] * 20
    ]
    for i, point in enumerate(points):
        point.time_from_start = Duration(sec=1 + i)
    sent.trajectory.points = points
    status, code, text = side.send(sent).until_over(0.0)
    assert (status, code) == (ABORTED, R.INVALID_GOAL)
    assert f"{JOINTS[2]} would be at" in text


def test_a_goal_that_is_reached_without_any_tolerance_is_near(side):
    end = Q0 + 0.2
    status, code, text = side.send(goal(end)).until_over(4.0)
    assert (status, code) == (SUCCEEDED, R.SUCCESSFUL), text
    assert np.abs(side.positions() - end).max() < 0.05


def test_a_start_far_from_now_is_told_in_log_and_diagnostics(sides):
    from diagnostic_msgs.msg import DiagnosticArray

    side = sides["pd_controller"]
    side.start()
    side.client.listen(DiagnosticArray, "/diagnostics", 100)
    found = {}

    def told():
        message = side.client.last.get("/diagnostics")
        found.update({status.name: status.message for status in message.status} if message else {})
        return all(" s from now (stamp 1000001.000 s" in found.get(name, "") for name in names)

    names = ("/led/pd_controller: trajectory", "/alone/simulator: commands")
    message = trajectory(Q0 + 0.1)
    message.header.stamp.sec = 1_000_001

    def publish():
        for node in ("led/pd_controller", "alone/simulator"):
            side.client.publish(JointTrajectory, f"/{node}/joint_trajectory", message)

    try:
        side.client.repeat(publish, told, "diagnostics do not say it")
    except AssertionError:
        raise AssertionError(f"diagnostics say {found}") from None
    assert all("A stamp of 0 starts at once" in found[name] for name in names)
