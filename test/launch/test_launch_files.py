"""Launch files name executables, parameters, arguments and files that exist."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from launch_recorder import ROOT, Record, of_kind, recorded, walk

FILES = sorted((ROOT / "launch").glob("*.launch.py"))
OTHERS = {
    "robot_state_publisher": {"robot_state_publisher"},
    "rviz2": {"rviz2"},
    "controller_manager": {"ros2_control_node", "spawner"},
}


def executables():
    """Console scripts."""
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"])


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def description(request, monkeypatch):
    return recorded(request.param, monkeypatch)


def test_there_are_launch_files():
    assert {"bringup.launch.py", "server.launch.py", "simulator.launch.py"} <= {file.name for file in FILES}


def test_nodes_are_executables_that_exist(description):
    nodes = of_kind(description, "Node")
    assert nodes
    for node in nodes:
        package, executable = node.kwargs["package"], node.kwargs["executable"]
        assert executable in (executables() if package == "flexdyn_ros" else OTHERS[package])


def test_parameters_that_are_set_are_declared(description):
    parameters = pytest.importorskip("flexdyn_ros.nodes.parameters")
    names_of = pytest.importorskip("flexdyn_ros.nodes.ros.declaration").names_of
    for node in of_kind(description, "Node"):
        if node.kwargs["package"] != "flexdyn_ros":
            continue
        declared = {*names_of(parameters.NODES[node.kwargs["executable"]]), "use_sim_time"}
        for block in node.kwargs.get("parameters", []):
            if isinstance(block, dict):
                assert set(block) <= declared


def test_every_argument_that_is_used_is_declared_with_description_and_default(description):
    declared = {}
    for argument in of_kind(description, "DeclareLaunchArgument"):
        text = argument.kwargs.get("description", "")
        assert re.fullmatch(r"[A-Z][^\n]{8,120}\.", text), f"{argument.args[0]}: {text!r}"
        assert argument.kwargs.get("default_value") is not None, argument
        declared[argument.args[0]] = argument.kwargs["default_value"]
        choices = argument.kwargs.get("choices")
        assert not choices or argument.kwargs["default_value"] in choices
    used = {record.args[0] for record in of_kind(description, "LaunchConfiguration")}
    assert used == set(declared)


def test_files_of_the_package_exist(description):
    named = [r.args[0][1:] for r in walk(description) if type(r).__name__ == "PathJoinSubstitution"]
    for parts in named:
        assert (ROOT / Path(*parts)).is_file(), parts


def test_default_robots_are_shipped(description):
    for argument in of_kind(description, "DeclareLaunchArgument"):
        if argument.args[0] == "robot":
            assert list((ROOT / "urdf").glob(f"{argument.kwargs['default_value']}.urdf*"))


def test_bringup_starts_everything_in_one_namespace(monkeypatch):
    description = recorded(ROOT / "launch" / "bringup.launch.py", monkeypatch)
    (group,) = of_kind(description, "GroupAction")
    nodes = [record.kwargs["executable"] for record in of_kind(group, "Node")]
    assert {"simulator", "dynamics_server", "state_publisher", "robot_state_publisher"} == set(nodes)
    assert of_kind(group, "OpaqueFunction")
    assert of_kind(group, "PushRosNamespace")
    arguments = {record.args[0] for record in of_kind(description, "DeclareLaunchArgument")}
    assert {
        "robot",
        "namespace",
        "rviz",
        "use_sim_time",
        "params_file",
        "robot_state_publisher",
        "log_level",
    } <= arguments


class Given:
    """A launch argument that has a value."""

    def __init__(self, value):
        self.value = value

    def perform(self, context):
        return self.value


@pytest.mark.parametrize(
    ("robot", "name"),
    [
        ("seven_joint_arm", "tree"),
        ("canadarm2", "flexible"),
        ("mobile_arm", "mobile"),
        ("soft_arm_3", "continuum"),
        ("stewart_1t", "platform"),
    ],
)
def test_every_launch_file_starts_rviz_with_the_configuration_of_the_family(
    description, robot, name, monkeypatch
):
    (rviz,) = of_kind(description, "OpaqueFunction")
    start = rviz.kwargs["function"]
    asked = [argument.args[0] for argument in rviz.kwargs["args"][:3]]
    assert asked[:2] == ["rviz", "rviz_config_file"]
    assert asked[2] in {record.args[0] for record in of_kind(description, "DeclareLaunchArgument")}
    rest = rviz.kwargs["args"][3:]
    assert start(None, Given("false"), Given(""), Given(robot), *rest) == []
    nodes = start(None, Given("true"), Given(""), Given(robot), *rest)
    assert nodes[0].kwargs["executable"] == "rviz2"
    assert {node.kwargs["executable"] for node in nodes} <= {"rviz2", "state_publisher"}
    assert nodes[0].kwargs["arguments"] == ["-d", str(ROOT / "rviz" / f"{name}.rviz")]
    own = start(None, Given("true"), Given("own.rviz"), Given(robot), *rest)
    assert own[0].kwargs["arguments"] == ["-d", "own.rviz"]


@pytest.mark.parametrize("given", ["['length:=0.8']", "length:=0.8"])
def test_rviz_and_its_state_publisher_get_the_arguments_of_a_xacro_file(
    given, description, monkeypatch, tmp_path
):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="$(arg length)"/></robot>'
    )
    (rviz,) = of_kind(description, "OpaqueFunction")
    assert rviz.kwargs["kwargs"]["xacro"].args == ("xacro_arguments",)
    rest = rviz.kwargs["args"][3:]
    nodes = rviz.kwargs["function"](
        None, Given("true"), Given(""), Given(str(file)), *rest, xacro=Given(given)
    )
    assert nodes[0].kwargs["arguments"] == ["-d", str(ROOT / "rviz" / "tree.rviz")]
    for node in nodes[1:]:
        assert node.kwargs["parameters"][0] == {
            "description_file": str(file), "xacro_arguments": ["length:=0.8"],
        }  # fmt: skip


def test_ros2_control_example_names_the_joints_of_the_arm_and_our_topics():
    import flexdyn_ros

    file = ROOT / "urdf" / "seven_joint_arm_ros2_control.urdf.xacro"
    robot = flexdyn_ros.load(file)
    from lxml import etree

    block = etree.fromstring(robot.description.text.encode()).find("ros2_control")
    assert [joint.get("name") for joint in block.findall("joint")] == list(robot.v_names)
    parameters = {p.get("name"): p.text for p in block.findall("hardware/param")}
    assert parameters["joint_commands_topic"] == "joint_commands"
    assert parameters["joint_states_topic"] == "joint_states"
    # silence would be taken for a dead controller
    assert float(parameters["trigger_joint_command_threshold"]) < 0
    controllers = yaml.safe_load((ROOT / "config" / "controllers.yaml").read_text())
    assert controllers["arm_controller"]["ros__parameters"]["joints"] == list(robot.v_names)


def test_the_command_that_expands_the_robot_needs_no_path(monkeypatch):
    description = recorded(ROOT / "launch" / "bringup.launch.py", monkeypatch)
    (command,) = of_kind(description, "Command")
    given = {"robot": "seven_joint_arm", "xacro_arguments": "['']"}
    words = [given[part.args[0]] if isinstance(part, Record) else part for part in command.args[0]]
    variables = {name: text for name, text in os.environ.items() if name != "PATH"}
    done = subprocess.run(
        shlex.split("".join(words)), cwd="/", env=variables | {"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.lstrip().startswith("<")
    assert "<robot" in done.stdout
    # what is said beside it is no reason to fail
    assert command.kwargs["on_stderr"] in ("warn", "ignore", "capture")


def brought_up(robot, seconds):
    """Nodes that said that they are ready, and those that ended, with code, before they were told to; launch
    itself returns 0 whatever becomes of its nodes."""
    from launch.actions import IncludeLaunchDescription, RegisterEventHandler, Shutdown, TimerAction
    from launch.event_handlers import OnProcessExit, OnProcessIO, OnShutdown
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    import launch

    said, ended, told = {}, [], []

    def hear(event):
        said[event.process_name] = said.get(event.process_name, b"") + event.text

    def note_end(event, context):
        if not told:
            ended.append((event.process_name, event.returncode))

    def note_shutdown(event, context):
        told.append(event)

    handlers = [
        OnProcessIO(on_stdout=hear, on_stderr=hear),
        OnProcessExit(on_exit=note_end),
        OnShutdown(on_shutdown=note_shutdown),
    ]
    source = PythonLaunchDescriptionSource(str(ROOT / "launch" / "bringup.launch.py"))
    include = IncludeLaunchDescription(source, launch_arguments={"robot": robot}.items())
    end = TimerAction(period=seconds, actions=[Shutdown(reason="enough seen")])
    service = launch.LaunchService()
    service.include_launch_description(
        launch.LaunchDescription([*map(RegisterEventHandler, handlers), include, end])
    )
    service.run()
    ready = {name.rpartition("-")[0] for name, text in said.items() if b"]: ready: " in text}
    return ready, ended


@pytest.mark.ros
@pytest.mark.slow
def test_bringup_comes_up_and_stays_under_real_launch():
    pytest.importorskip(
        "launch_ros", reason="launch_ros is not installed: launch files are checked without running them"
    )
    ready, ended = brought_up("seven_joint_arm", 60.0)
    assert ready == {"simulator", "dynamics_server", "state_publisher"}
    assert not ended
    # the same test notices a robot that does not exist
    ready, _ = brought_up("no_such_robot", 30.0)
    assert not ready


def test_missing_packages_are_told_in_one_line_with_what_to_install(monkeypatch):
    pytest.importorskip("ament_index_python")
    from flexdyn_ros.nodes.launching import check_packages

    monkeypatch.setenv("ROS_DISTRO", "kilted")
    with pytest.raises(RuntimeError) as told:
        check_packages("rviz:=true", ["no_such_viewer", "no_such_other"])
    assert str(told.value) == (
        "rviz:=true needs no_such_viewer, no_such_other, not installed here: "
        "apt install ros-kilted-no-such-viewer ros-kilted-no-such-other"
    )
    check_packages("nothing", [])


def test_the_manifest_names_every_package_that_launch_files_start_or_need():
    root = Path(__file__).parents[2]
    manifest = (root / "package.xml").read_text()
    named = set(re.findall(r"<(?:exec_depend|depend)>([^<]+)</", manifest))
    texts = [path.read_text() for path in (root / "launch").glob("*.py")]
    texts.append((root / "flexdyn_ros" / "nodes" / "launching.py").read_text())
    needed = {found for text in texts for found in re.findall(r'package="([a-z0-9_]+)"', text)}
    for text in texts:
        for group in re.findall(r"(?:needs|NEEDED) ?= ?\[([^\]]*)\]", text):
            needed |= set(re.findall(r'"([a-z0-9_]+)"', group))
    assert {"robot_state_publisher", "rviz2", "controller_manager"} <= needed
    assert needed - named == {"flexdyn_ros"} & needed
