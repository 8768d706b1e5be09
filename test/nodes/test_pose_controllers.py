"""platform_controller and soft_arm_controller in processes of their own, against simulators whose time the
test moves."""

import logging
import signal
import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from geometry_msgs.msg import Transform, Twist  # noqa: E402
from lockstep import Lab, advance, begin, point_trajectory  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory  # noqa: E402
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint as PosePoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState, HydraulicState  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

PRESSED = '<pressure area="2e-4" time_constant="0" maximum="6e5"/></section>'
#: length changes in which the soft arm begins [m]
BENT = np.full(9, 0.012) + np.tile([0.0, 0.002, 0.004], 3)


@pytest.fixture(scope="module")
def soft_file(tmp_path_factory):
    """soft_arm_3 with actuators that are driven by pressures."""
    text = flexdyn_ros.load("soft_arm_3").description.text
    file = tmp_path_factory.mktemp("robots") / "soft.urdf"
    pressed = text
    for part in text.split("<section ")[1:]:
        section = "<section " + part.split("/>")[0] + "/>"
        if "<pressure" not in section:
            pressed = pressed.replace(section, section.replace("/>", ">") + PRESSED, 1)
    file.write_text(pressed)
    return file


@pytest.fixture(scope="module")
def soft(soft_file):
    return flexdyn_ros.load(soft_file)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def labs():
    return {"platform": Lab("poses", "platform_controller"), "soft": Lab("tips", "soft_arm_controller")}


@pytest.fixture(scope="module")
def nodes(logs, labs, soft_file, soft):
    given = ["-p", "description_file:=stewart_1t"]
    started = labs["platform"].start(logs, given, [*given, "-p", "output:=cylinders"])
    given = ["-p", f"description_file:={soft_file}"]
    at = yaml_of({"simulator": {"initial.positions": dict(zip(soft.q_names, BENT.tolist(), strict=True))}})
    file = logs / "initial.yaml"
    file.write_text(at)
    started |= labs["soft"].start(logs, [*given, "--params-file", str(file)], given)
    try:
        for node in started.values():
            node.wait_for_text("ready")
        yield started
    finally:
        for node in started.values():
            node.__exit__()


def yaml_of(parameters):
    import yaml

    return yaml.safe_dump({f"/**/{node}": {"ros__parameters": given} for node, given in parameters.items()})


@pytest.fixture(scope="module")
def client(nodes, labs):
    with Client("pose_client") as client:
        begin(client, list(labs.values()))
        advance(client, list(labs.values()), 0.1)
        yield client


def pose_point(position, seconds, rotation=(0.0, 0.0, 0.0, 1.0)):
    target = Transform()
    target.translation.x, target.translation.y, target.translation.z = map(float, position)
    r = target.rotation
    r.x, r.y, r.z, r.w = map(float, rotation)
    point = PosePoint(transforms=[target], velocities=[Twist()], accelerations=[Twist()])
    point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
    return point


def poses(*points):
    return MultiDOFJointTrajectory(joint_names=["platform"], points=list(points))


def send(client, lab, kind, topic, message):
    """A trajectory to an arm at rest, sent again if the reference does not move: paths of a tip are solved
    for first."""
    before = lab.reference().copy()
    for _ in range(5):
        client.publish(kind, f"/{lab.name}/{lab.controller}/{topic}", message)
        deadline = time.monotonic() + 20.0
        while time.monotonic() < deadline:
            advance(client, [lab], 0.05)
            if abs(lab.reference() - before).max() > 0.0:
                return
    raise AssertionError(f"{lab.name} does not take the trajectory")


def q_of(lab):
    return numbers_of(lab.state.positions).copy()


def refused(client, node, kind, topic, message, text):
    """Send until the log says why it is refused."""
    before = node.text().count(text)
    client.insist(kind, topic, message, lambda: node.text().count(text) > before, f"no {text!r}", every=1.2)


def test_a_platform_is_led_through_its_cylinders_to_a_pose(client, labs):
    lab, robot = labs["platform"], flexdyn_ros.load("stewart_1t")
    home = robot.neutral()
    np.testing.assert_allclose(q_of(lab)[:3], home[:3], atol=5e-3)
    goal = home[:3] + np.array([0.05, -0.03, 0.1])
    send(client, lab, MultiDOFJointTrajectory, "platform_trajectory", poses(pose_point(goal, 0.8)))
    largest = 0.0
    for _ in range(8):
        advance(client, [lab], 0.1)
        reference, feedback = (numbers_of(point.positions) for point in lab.answers[-1].points[:2])
        largest = max(largest, float(np.abs(reference - feedback).max()))
    advance(client, [lab], 0.7)
    # of legs that move by up to 0.1 m; friction of the seals holds back what is left
    assert largest < 0.01
    assert np.abs(q_of(lab)[:3] - goal).max() < 4e-3
    assert lab.missed <= 10
    assert list(lab.answers[-1].joint_names) == list(robot.effort_names)


def test_a_soft_tip_is_led_by_pressures_to_a_position(client, labs, soft):
    lab, tip = labs["soft"], "section_3/tip"
    start = soft.frames(BENT, tip)[:3, 3]
    np.testing.assert_allclose(soft.frames(q_of(lab), tip)[:3, 3], start, atol=2e-3)
    goal = np.array([0.15, 0.05, -0.42])
    send(client, lab, MultiDOFJointTrajectory, "tip_trajectory", poses(pose_point(goal, 0.8)))
    largest = 0.0
    for _ in range(8):
        advance(client, [lab], 0.1)
        wanted = soft.frames(lab.reference(), tip)[:3, 3]
        largest = max(largest, float(np.linalg.norm(soft.frames(q_of(lab), tip)[:3, 3] - wanted)))
    advance(client, [lab], 0.3)
    assert largest < 2e-3
    assert np.linalg.norm(soft.frames(q_of(lab), tip)[:3, 3] - goal) < 1e-3
    assert not lab.commands, "pressures are the commands"


def test_states_are_answered_while_a_long_path_is_solved_for_and_the_reference_never_jumps(
    client, nodes, labs, soft
):
    """A path of ten seconds, and another that takes its place while the arm moves."""
    lab, node, tip = labs["soft"], nodes["tips/soft_arm_controller"], "section_3/tip"
    topic = "/tips/soft_arm_controller/tip_trajectory"
    here = soft.frames(lab.reference(), tip)[:3, 3]
    first = here + np.array([-0.02, 0.02, 0.005])
    solved, missed, answered = node.text().count("shapes solved"), lab.missed, 0
    largest, before = 0.0, lab.reference().copy()

    def follow(seconds):
        nonlocal largest, before, answered
        for _ in range(round(seconds / 0.01)):
            advance(client, [lab], 0.01)
            answered += 1
            largest = max(largest, float(np.abs(lab.reference() - before).max()))
            before = lab.reference().copy()

    client.publish(MultiDOFJointTrajectory, topic, poses(pose_point(first, 10.0)))
    at_rest, moments = before.copy(), [time.monotonic()]
    while node.text().count("shapes solved") == solved:
        follow(0.01)
        moments.append(time.monotonic())
        assert np.array_equal(lab.reference(), at_rest) or node.text().count("shapes solved") > solved
        assert answered < 20_000
    # 500 poses of parts of a millisecond to milliseconds each: no state waits for a quarter of them, but for
    # one that the machine may keep waiting
    waited = np.sort(np.diff(moments)) / (moments[-1] - moments[0])
    assert waited.size > 20
    assert waited[-2] < 0.25
    assert waited[-1] < 0.5
    follow(1.5)
    assert np.abs(lab.reference() - at_rest).max() > 2e-5
    # from where it comes to rest on its way, back
    client.publish(MultiDOFJointTrajectory, topic, poses(pose_point(here, 1.0)))
    while node.text().count("shapes solved") == solved + 1:
        follow(0.01)
        assert answered < 40_000
    follow(1.5)
    assert lab.missed - missed <= 3
    assert np.linalg.norm(soft.frames(lab.reference(), tip)[:3, 3] - here) < 1e-9
    # a hundredth of a second of a motion of millimetres in seconds
    assert largest < 1e-4


@pytest.mark.slow
def test_an_empty_path_ends_solving_and_brings_the_arm_to_rest_on_its_way(client, nodes, labs, soft):
    lab, node, tip = labs["soft"], nodes["tips/soft_arm_controller"], "section_3/tip"
    topic = "/tips/soft_arm_controller/tip_trajectory"
    here = soft.frames(lab.reference(), tip)[:3, 3]
    near, far = (here + x * np.array([-0.02, 0.02, 0.005]) for x in (1.0, 1.5))
    send(client, lab, MultiDOFJointTrajectory, "tip_trajectory", poses(pose_point(near, 2.0)))
    advance(client, [lab], 0.8)
    client.publish(MultiDOFJointTrajectory, topic, poses(pose_point(far, 10.0)))
    advance(client, [lab], 0.05)
    solved = node.text().count("shapes solved")
    client.publish(MultiDOFJointTrajectory, topic, poses())
    advance(client, [lab], 0.4)
    rest = lab.reference().copy()
    advance(client, [lab], 1.0)
    assert np.array_equal(lab.reference(), rest)
    assert node.text().count("shapes solved") == solved
    way = soft.frames(rest, tip)[:3, 3]
    assert 0.1 < np.linalg.norm(way - here) / np.linalg.norm(near - here) < 0.9


def test_sections_take_shapes_by_the_lengths_of_their_actuators(client, labs, soft):
    lab = labs["soft"]
    shape = BENT + 0.002
    send(client, lab, JointTrajectory, "joint_trajectory", point_trajectory(shape, 0.4, soft.effort_names))
    advance(client, [lab], 0.6)
    assert lab.reference() == pytest.approx(shape, abs=1e-9)
    assert np.abs(q_of(lab) - shape).max() < 3e-4


def test_what_cannot_be_reached_is_refused_with_the_reason_and_changes_nothing(client, nodes, labs, soft):
    platform, tips = labs["platform"], labs["soft"]
    before = {lab.name: lab.reference().copy() for lab in labs.values()}
    node = nodes["poses/platform_controller"]
    topic = "/poses/platform_controller/platform_trajectory"
    far = poses(pose_point((0.0, 0.0, 3.0), 1.0))
    refused(client, node, MultiDOFJointTrajectory, topic, far, "the path cannot be followed")
    late = poses(pose_point((0.0, 0.0, np.nan), 1.0))
    refused(client, node, MultiDOFJointTrajectory, topic, late, "not finite")
    node, topic = nodes["tips/soft_arm_controller"], "/tips/soft_arm_controller/tip_trajectory"
    far = poses(pose_point((0.6, 0.0, -0.3), 1.0))
    refused(client, node, MultiDOFJointTrajectory, topic, far, "the tip cannot reach the position (0.")
    refused(
        client, node, MultiDOFJointTrajectory, topic, MultiDOFJointTrajectory(), "joint_names has 0 names"
    )
    many = poses(*[pose_point((0.0, 0.0, 0.0), 0.01 * (i + 1)) for i in range(2001)])
    refused(client, node, MultiDOFJointTrajectory, topic, many, "2001 points, expected at most 2000")
    topic = "/tips/soft_arm_controller/joint_trajectory"
    long = point_trajectory(np.full(9, 0.05), 1.0, soft.effort_names)
    refused(client, node, JointTrajectory, topic, long, "m long beyond its rest")
    unknown = point_trajectory([0.01], 1.0, ["knee"])
    refused(client, node, JointTrajectory, topic, unknown, "unknown actuator 'knee'")
    advance(client, [platform, tips], 0.05)
    for lab in labs.values():
        assert lab.reference() == pytest.approx(before[lab.name], abs=1e-12)


def test_states_that_are_wrong_are_refused_and_the_controllers_go_on(client, nodes, labs):
    node = nodes["poses/platform_controller"]
    names = [f"leg_{i}" for i in range(1, 7)]
    for message, text in (
        (JointState(name=names[:5], position=[1.4] * 5, velocity=[0.0] * 5), "name lacks leg_6"),
        (JointState(name=names, position=[1.4] * 6), "velocity has 0 numbers"),
        (JointState(name=names, position=[np.nan] * 6, velocity=[0.0] * 6), "position[0] is nan"),
    ):
        refused(client, node, JointState, "/poses/leg_states", message, text)
    node = nodes["tips/soft_arm_controller"]
    other = DynamicsState(robot="other", position_names=["x"], positions=[0.0])
    refused(client, node, DynamicsState, "/tips/simulator/state", other, "not those of")
    missed = {lab.name: lab.missed for lab in labs.values()}
    advance(client, list(labs.values()), 0.1)
    assert all(lab.missed - missed[lab.name] < 5 for lab in labs.values())


def test_after_a_reset_controllers_hold_where_the_robot_begins(client, labs):
    for lab in labs.values():
        assert client.call(Trigger, f"/{lab.name}/simulator/reset").success
    advance(client, list(labs.values()), 0.2)
    assert labs["soft"].reference() == pytest.approx(BENT, abs=1e-3)
    assert np.abs(q_of(labs["soft"]) - BENT).max() < 1e-3
    assert labs["platform"].reference() == pytest.approx(np.full(6, 1.4), abs=2e-3)


@pytest.mark.slow
def test_a_platform_is_led_through_the_valves_of_cylinders_in_a_process_of_their_own(logs):
    """Simulator and cylinders in lockstep; the cylinders' force control opens the valves."""
    lab, given = Lab("apart", "platform_controller"), ["-p", "description_file:=stewart_1t"]
    wiring = ["~/leg_state:=leg_states", "~/leg_force:=joint_commands"]
    at_cylinders = [
        "-p",
        "output:=cylinders",
        "-r",
        "simulator/hydraulic_command:=hydraulic_actuators/command",
    ]
    nodes = lab.start(logs, [*given, "-p", "hydraulics:=external"], [*given, *at_cylinders])
    nodes["cylinders"] = NodeProcess(
        "hydraulic_actuators",
        "-r", "__ns:=/apart", *given, *[word for topic in wiring for word in ("-r", topic)],
        log=logs / "apart_cylinders",
    )  # fmt: skip
    states = []
    try:
        for node in nodes.values():
            node.wait_for_text("ready")
        with Client("apart_client") as client:
            begin(client, [lab])
            client.node.create_subscription(
                HydraulicState, "/apart/hydraulic_actuators/hydraulic_state", states.append, 100
            )
            advance(client, [lab], 0.3)
            home = flexdyn_ros.load("stewart_1t").neutral()
            goal = home[:3] + np.array([0.05, -0.03, 0.1])
            send(client, lab, MultiDOFJointTrajectory, "platform_trajectory", poses(pose_point(goal, 0.8)))
            largest, legs = 0.0, []
            for _ in range(80):
                advance(client, [lab], 0.01)
                reference, feedback = (numbers_of(point.positions) for point in lab.answers[-1].points[:2])
                largest = max(largest, float(np.abs(reference - feedback).max()))
                legs.append(feedback.copy())
            advance(client, [lab], 0.7)
            off = float(np.abs(q_of(lab)[:3] - goal).max())
    finally:
        codes = {name: node.end(signal.SIGINT) for name, node in nodes.items()}
        for node in nodes.values():
            node.__exit__()
    way = float(np.ptp(legs, axis=0).max())
    figures = f"legs move by {way:.3f} m, {largest:.4f} m off at most; the pose at rest is {off:.4f} m off"
    logging.getLogger(__name__).info(figures)
    assert way > 0.05
    assert largest < 0.01
    # friction of the seals holds back what is left
    assert off < 4e-3
    assert any(np.abs(numbers_of(state.valve_command)).max() > 0.05 for state in states)
    assert not any(state.flags[0] & HydraulicState.STALE_COMMAND for state in states[-5:])
    assert set(codes.values()) == {0}


@pytest.mark.slow
def test_wrong_robots_and_parameters_keep_nodes_unconfigured_with_a_reason(logs):
    wrong = (
        ("platform_controller", ["description_file:=soft_arm"], "is no platform"),
        (
            "platform_controller",
            ["description_file:=stewart_electric", "output:=cylinders"],
            "no <hydraulics>",
        ),
        ("soft_arm_controller", ["description_file:=two_link"], "is no soft arm"),
        ("soft_arm_controller", ["description_file:=soft_arm", "output:=pressures"], "<pressure area>"),
    )
    nodes = []
    try:
        for i, (name, parameters, _) in enumerate(wrong):
            own = [x for parameter in parameters for x in ("-p", parameter)]
            nodes.append(NodeProcess(name, "-r", f"__ns:=/wrong_{i}", *own, log=logs / f"wrong_{i}"))
        for node, (_, _, reason) in zip(nodes, wrong, strict=True):
            node.wait_for_text("cannot configure")
            node.wait_for_text(reason, timeout=60.0)
    finally:
        for node in nodes:
            node.__exit__()


def test_the_controllers_end_with_exit_code_zero(client, nodes):
    names = ("poses/platform_controller", "tips/soft_arm_controller")
    assert [nodes[name].end(signal.SIGINT) for name in names] == [0, 0]
