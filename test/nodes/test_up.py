"""`flexdyn up` starts the nodes of a robot and ends them on Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Transform
from node_process import Client
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

import flexdyn_ros
from flexdyn_interfaces.msg import HydraulicState
from flexdyn_interfaces.srv import ForwardKinematics, GetState, MassMatrix, Modes
from flexdyn_ros.cli import app

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def domain(monkeypatch):
    """A ROS domain of this test alone."""
    number = str(1 + (int(os.environ.get("ROS_DOMAIN_ID", "0")) + 37) % 100)
    monkeypatch.setenv("ROS_DOMAIN_ID", number)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return number


@pytest.fixture
def log(tmp_path):
    """A file for what is said: a pipe that nobody reads fills up and stops who writes."""
    return tmp_path / "up.txt"


def up(log, *arguments):
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "flexdyn_ros.cli.main", "up", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
            stderr=file,
        )


def end(process):
    """Exit code after Ctrl-C; the process is killed if it does not listen."""
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(120.0)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


# quicker, the same with another service: test_up_brings_an_arm_that_bends
@pytest.mark.slow
def test_up_serves_a_robot_in_a_namespace_and_ends_cleanly(domain, log):
    process = up(log, "seven_joint_arm", "--namespace", "lab", "--set", "gravity=[0, 0, -1.62]")
    try:
        with Client("up_probe") as client:
            service = "/lab/dynamics_server/mass_matrix"
            answer = client.call(MassMatrix, service, samples=1, positions=[0.0] * 7)
        assert answer.success, answer.message
        assert (answer.rows, answer.cols, len(answer.values)) == (7, 7, 49)
    finally:
        code = end(process)
    assert code == 130, log.read_text()


def test_up_brings_an_arm_that_bends(domain, log):
    process = up(log, "canadarm2", "--namespace", "arm", "--set", "gravity=[0, 0, 0]")
    try:
        with Client("up_canadarm2") as client:
            locked = {"samples": 1, "positions": [0.0] * 23, "locked": ["joints"]}
            modes = client.call(Modes, "/arm/dynamics_server/modes", **locked)
            assert modes.success, modes.message
            robot = flexdyn_ros.load("canadarm2", options={"gravity": [0, 0, 0]})
            expected = robot.modes(robot.neutral(), lock="joints").frequency
            assert list(modes.frequencies) == pytest.approx(expected.tolist(), rel=1e-9)
            state = client.call(GetState, "/arm/simulator/get_dynamics_state").state
        assert len(state.positions) == 23
        # nothing pulls at it in orbit
        assert max(map(abs, state.positions)) < 1e-9
    finally:
        code = end(process)
    assert code == 130, log.read_text()


def raised(height):
    """A trajectory of the platform to so far above its home, within a second."""
    target = Transform()
    target.translation.z, target.rotation.w = 1.146818566 + height, 1.0
    point = MultiDOFJointTrajectoryPoint(transforms=[target])
    point.time_from_start.sec = 1
    return MultiDOFJointTrajectory(joint_names=["platform"], points=[point])


def test_up_moves_a_hydraulic_platform(domain, log):
    process = up(log, "stewart_1t", "--namespace", "rig")
    pose, legs = "/rig/simulator/platform_pose", "/rig/leg_states"
    try:
        with Client("up_platform") as client:
            client.listen(PoseStamped, pose)
            client.listen(JointState, legs)
            client.listen(HydraulicState, "/rig/simulator/hydraulic_state")
            client.listen(DiagnosticArray, "/diagnostics")

            def height():
                return client.last[pose].pose.position.z - 1.146818566

            client.next(pose, 200.0)
            # closed valves hold it, but for what leaks past the pistons
            assert abs(height()) < 0.05
            client.insist(
                MultiDOFJointTrajectory, "/rig/simulator/platform_trajectory", raised(0.06),
                lambda: abs(height() - 0.06) < 1.5e-3, "the platform did not rise", every=5.0,
            )  # fmt: skip
            lengths = client.next(legs).position
            answer = client.call(
                ForwardKinematics, "/rig/dynamics_server/forward_kinematics", lengths=lengths
            )
            assert answer.success, answer.message
            assert list(answer.converged) == [True]
            assert answer.poses[0].position.z - 1.146818566 == pytest.approx(height(), abs=2e-3)
            assert min(client.last["/rig/simulator/hydraulic_state"].pressure_bore) > 3e5
            client.until(lambda: "legs" in told(client), "no diagnostics of the legs")
    finally:
        code = end(process)
    assert code == 130, log.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["stewart_1t", "boom"])
def test_up_starts_cylinders_of_their_own_and_their_time_goes_on_without_commands(domain, log, robot):
    process = up(log, robot, "--no-server", "--namespace", "apart", "--hydraulics", "external")
    try:
        with Client("up_external") as client:
            client.listen(Clock, "/clock")

            def time():
                message = client.last.get("/clock")
                return 0.0 if message is None else message.clock.sec + 1e-9 * message.clock.nanosec

            def goes_on():
                client.last.pop("/clock", None)
                client.until(lambda: time() > 0.0, "no time", 200.0)
                before = time()
                client.until(lambda: time() > before + 0.1, "time stands still", 60.0)

            goes_on()
            before = time()
            for node in ("simulator", "hydraulic_actuators", "simulator"):
                assert client.call(Trigger, f"/apart/{node}/reset").success
                goes_on()
            assert time() < before + 30.0
    finally:
        code = end(process)
    assert code == 130, log.read_text()


@pytest.mark.slow
def test_the_page_about_several_robots_brings_up_two_with_one_clock_and_frames_of_their_own(domain, tmp_path):
    text = (ROOT / "docs" / "several_robots.md").read_text()
    lines = [line.split()[2:] for line in text.splitlines() if line.startswith("flexdyn up ")]
    assert len(lines) == 2
    both = [up(tmp_path / f"{i}.txt", *words) for i, words in enumerate(lines)]
    frames, stamps, clocks, levels = set(), {"left": [], "right": []}, [], {}
    try:
        with Client("several") as client:
            for side in stamps:
                client.call(GetState, f"/{side}/simulator/get_dynamics_state")
                client.node.create_subscription(
                    JointState,
                    f"/{side}/joint_states",
                    lambda m, s=stamps[side]: s.append(m.header.stamp.sec),
                    10,
                )
            client.node.create_subscription(Clock, "/clock", lambda m: clocks.append(m.clock), 100)
            client.node.create_subscription(
                TFMessage, "/tf", lambda m: frames.update(t.child_frame_id for t in m.transforms), 100
            )
            client.node.create_subscription(
                DiagnosticArray, "/diagnostics",
                lambda m: levels.update({s.name: s.level for s in m.status if "clock" in s.name}), 10,
            )  # fmt: skip
            client.until(lambda: min(map(len, stamps.values())) > 300 and levels, "no joint states")
            times = [c.sec + 1e-9 * c.nanosec for c in clocks]
            assert times == sorted(times)
            assert abs(stamps["left"][-1] - stamps["right"][-1]) <= 1
            sides = {frame.split("/")[0] for frame in frames}
            assert sides == {"left", "right"}
            assert set(levels.values()) == {b"\x00"}
            assert {f"/{side}/simulator: clock" for side in stamps} <= set(levels)
            # a third one that makes a clock as well is noticed
            third = up(tmp_path / "third.txt", "seven_joint_arm", "--namespace", "third", "--no-server")
            both.append(third)
            client.until(lambda: b"\x02" in levels.values(), "two clocks are not noticed")
    finally:
        codes = [end(process) for process in both]
    assert codes == [0, 0, 0]


@pytest.mark.parametrize(
    ("words", "controller", "parameters", "topics"),
    [
        (["stewart_1t"], "platform_controller", {"output": "cylinders"}, []),
        (
            ["stewart_1t", "--hydraulics", "external"],
            "platform_controller",
            {"output": "cylinders"},
            ["simulator/hydraulic_command:=hydraulic_actuators/command"],
        ),
        (["stewart_1t", "--hydraulics", "none"], "platform_controller", {}, []),
        (["stewart_electric"], "platform_controller", {}, []),
        (["soft_arm_3"], "soft_arm_controller", {}, []),
        (["canadarm2"], "pd_controller", {}, []),
    ],
)
def test_up_starts_the_controller_that_suits_the_robot(words, controller, parameters, topics, monkeypatch):
    found = {}

    def watch(commands):
        given = {}
        for file in (
            Path(a) for a, b in zip(commands[controller][1:], commands[controller]) if b == "--params-file"
        ):
            for node, record in yaml.safe_load(file.read_text()).items():
                given.setdefault(node, {}).update(record["ros__parameters"])
        found.update(commands=commands, given=given)
        return 0

    monkeypatch.setattr("flexdyn_ros.cli.ros.up._watch", watch)
    outcome = CliRunner().invoke(app, ["up", *words, "--controller", "auto", "--no-server"])
    assert outcome.exit_code == 0, outcome.output
    assert f"flexdyn_ros.nodes.{controller}" in found["commands"][controller]
    assert found["given"].get(f"/**/{controller}", {}) == parameters
    assert found["given"]["/**/simulator"]["before_first_command"] == "hold"
    remapped = [word for word in found["commands"][controller] if ":=" in word]
    assert remapped == topics


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["seven_joint_arm", "--controller", "platform_controller"], "leads robots of kind platform"),
        (["stewart_1t", "--controller", "soft_arm_controller"], "leads robots of kind continuum"),
        (["stewart_1t", "--controller", "pd_controller"], "expected platform_controller"),
        (["two_link", "--controller", "computed_torque", "--no-server"], "asks the dynamics server"),
    ],
)
def test_up_refuses_controllers_that_do_not_lead_the_robot(words, reason):
    outcome = CliRunner().invoke(app, ["up", *words], env={"COLUMNS": "200"})
    assert outcome.exit_code == 2
    assert reason in outcome.output


@pytest.mark.slow
def test_up_leads_a_platform_through_cylinders_of_their_own(domain, log):
    words = ["--no-server", "--namespace", "led", "--hydraulics", "external", "--controller", "auto"]
    process = up(log, "stewart_1t", *words)
    pose = "/led/simulator/platform_pose"
    try:
        with Client("up_led") as client:
            client.listen(PoseStamped, pose)
            client.next(pose, 200.0)
            client.insist(
                MultiDOFJointTrajectory, "/led/platform_controller/platform_trajectory", raised(0.06),
                lambda: abs(client.last[pose].pose.position.z - 1.146818566 - 0.06) < 4e-3,
                "the platform did not rise", every=10.0,
            )  # fmt: skip
    finally:
        code = end(process)
    assert code == 130, log.read_text()


def test_up_refuses_cylinders_for_a_robot_without_them(log):
    process = up(log, "seven_joint_arm", "--hydraulics", "external")
    assert process.wait(120.0) == 2
    assert "has no <hydraulics>" in log.read_text()


def told(client):
    """Names of the statuses that were told last."""
    message = client.last.get("/diagnostics")
    return " ".join(status.name for status in message.status) if message else ""


def test_up_fails_when_a_node_dies(domain, log, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/simulator: {ros__parameters: {step: -1.0}}\n")
    process = up(log, "seven_joint_arm", "--no-server", "--params-file", str(file))
    try:
        assert process.wait(240.0) == 1
        assert "exit code" in log.read_text()
    finally:
        if process.poll() is None:
            end(process)
