"""Parameters that nobody has, lists that ROS does not read, and surroundings in which ROS does not start: a
sentence each."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
pytest.importorskip("rclpy")

from node_process import NodeProcess  # noqa: E402

from flexdyn_ros.cli import app  # noqa: E402
from flexdyn_ros.nodes.parameters import NODES  # noqa: E402
from flexdyn_ros.nodes.ros import surroundings  # noqa: E402
from flexdyn_ros.nodes.ros.outbox import argument_mistakes  # noqa: E402
from flexdyn_ros.nodes.ros.parameter_files import (  # noqa: E402
    file_mistakes,
    mistakes_of_file,
    unknown,
)


def written(tmp_path, text):
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("section", "parameter", "part"),
    [
        ("/**/simulator", "stepp: 0.001", "simulator: unknown parameter 'stepp'; did you mean step"),
        ("simulator", "realtime_factor: 1.0", "did you mean real_time_factor"),
        ("/left/simulator", "publish_frequency: 30.0", "simulator: unknown parameter 'publish_frequency'"),
        ("/**", "descripton_file: two_link", "did you mean description_file"),
        ("/**/simulatr", "step: 0.001", "unknown node 'simulatr'; did you mean simulator"),
        ("pd_controller", "constraints: {elbow: {gaol: 0.1}}", "unknown parameter 'constraints.elbow.gaol'"),
        ("/**/pd_controller", "gains: {elbow: {i: 1.0}}", "unknown parameter 'gains.elbow.i'"),
    ],
)
def test_unknown_names_and_sections_of_a_file_are_told_with_what_is_near(section, parameter, part, tmp_path):
    file = written(tmp_path, f"{section}:\n  ros__parameters:\n    {parameter}\n")
    assert not list(file_mistakes(file))
    (text,) = mistakes_of_file(file)
    assert part in text
    assert str(file) in text


@pytest.mark.parametrize(
    "text",
    [
        "/**:\n  ros__parameters: {use_sim_time: true, step: 0.001, publish_frequency: 30.0}\n",
        "left: {simulator: {ros__parameters: {initial: {positions: {boom_1/bending_z/1: 0.1}}}}}\n",
        "/**/pd_controller: {ros__parameters: {gains.elbow.p: 1.0, constraints: {elbow: {goal: 0.1}}}}\n",
        "dynamics_server: {ros__parameters: {robots: [a], a: {description_file: two_link}}}\n",
        "simulator: {ros__parameters: {qos_overrides: {/clock: {publisher: {depth: 1}}}}}\n",
    ],
)
def test_known_names_are_taken(text, tmp_path):
    assert list(mistakes_of_file(written(tmp_path, text))) == []


def test_sections_of_nodes_that_are_not_started_or_hold_nothing_are_told(tmp_path):
    file = written(tmp_path, "pd_controller: {ros__parameters: {bandwidth: 1.0}}\nsimulator: {step: 0.1}\n")
    found = " ".join(mistakes_of_file(file, ["simulator"]))
    assert "section pd_controller is for a node that is not started (simulator are)" in found
    assert "simulator/step holds no ros__parameters" in found


@pytest.mark.parametrize("node", NODES)
def test_a_node_knows_its_own_parameters(node):
    assert unknown(node, ["use_sim_time", "autostart", "description_file"]) == []
    assert unknown(node, ["no_such", "descriptionfile"]) == ["no_such", "descriptionfile"]


@pytest.mark.parametrize(
    ("entries", "part"),
    [
        ("[1, 0.5]", "frequencies is [1, 0.5], which mixes integers and numbers: expected [1.0, 0.5]"),
        ("[0.5, 2, 3]", "expected [0.5, 2.0, 3.0]"),
        ("[1.0, abc]", "expected entries of one type"),
        ("[true, 1]", "expected entries of one type"),
        ("[[1.0]]", "expected entries of one type"),
    ],
)
def test_a_list_of_several_types_is_told_in_file_and_on_the_command_line(entries, part, tmp_path):
    file = written(tmp_path, f"/**:\n  ros__parameters:\n    shaping:\n      frequencies: {entries}\n")
    (text,) = file_mistakes(file)
    assert f"parameter shaping.{part}" in text or part in text
    (text,) = argument_mistakes(["node", "--ros-args", "-p", f"frequencies:={entries}"])
    assert part in text
    assert next(argument_mistakes(["--params-file", str(file)])).startswith(f"parameter file {file}")


def test_files_that_are_none_are_told(tmp_path):
    assert "No such file" in next(file_mistakes(tmp_path / "none.yaml"))
    assert ":2 is no YAML" in next(file_mistakes(written(tmp_path, "a: b\n  c: [\n")))


def test_up_refuses_a_file_with_unknown_names_before_any_node_starts(tmp_path, monkeypatch):
    monkeypatch.setattr("flexdyn_ros.cli.ros.up._watch", lambda commands: pytest.fail("nodes are started"))
    for text, part in (
        ("/**/simulator:\n  ros__parameters:\n    stepp: 0.001\n", "stepp"),
        ("/**/input_shaper:\n  ros__parameters:\n    frequencies: [1, 0.5]\n", "mixes"),
    ):
        file = written(tmp_path, text)
        result = CliRunner().invoke(app, ["up", "two_link", "--params-file", str(file)])
        assert result.exit_code == 2
        assert part in result.output


def node(tmp_path, *arguments, name="simulator"):
    return NodeProcess(name, *arguments, log=tmp_path / "log.txt")


def test_a_node_tells_unknown_parameters_and_goes_on(tmp_path):
    given = ["-p", "description_file:=two_link", "-p", "stepp:=0.001", "-p", "publish_frequency:=30.0"]
    with node(tmp_path, *given) as process:
        process.wait_for_text("ready")
        assert "ignored: simulator: unknown parameter 'stepp'; did you mean step" in process.text()
        assert "ignored, parameters of other nodes: publish_frequency" in process.text()


@pytest.mark.parametrize("name", ["simulator", "pd_controller", "dynamics_server"])
def test_a_node_that_cannot_be_configured_ends_where_it_is_told_to(name, tmp_path):
    given = ["-p", "description_file:=no_such_robot", "-p", "end_unless_started:=true"]
    with node(tmp_path, *given, name=name) as process:
        assert process.process.wait(60) == 1
        assert "cannot configure" in process.text()
        assert "Traceback" not in process.text()


def test_up_tells_its_nodes_to_end_when_they_cannot_be_configured(monkeypatch):
    seen = {}

    def watch(commands):
        files = [word for word in commands["simulator"] if word.endswith(".yaml")]
        seen["text"] = "".join(Path(file).read_text() for file in files)
        return 0

    monkeypatch.setattr("flexdyn_ros.cli.ros.up._watch", watch)
    assert CliRunner().invoke(app, ["up", "two_link"]).exit_code == 0
    assert "end_unless_started: true" in seen["text"]


@pytest.mark.parametrize(
    ("settings", "arguments", "part"),
    [
        ({"HOME": "/dev/null/home"}, [], "logs cannot be written to /dev/null/home/.ros/log"),
        ({"ROS_HOME": "/dev/null/ros"}, [], "logs cannot be written to /dev/null/ros/log"),
        ({"ROS_LOG_DIR": "/proc/log"}, [], "set ROS_LOG_DIR to another folder"),
        ({}, ["-p", "wrench_joints:=[1, 0.5]"], "mixes integers and numbers"),
        ({}, ["--params-file", "/no/such.yaml"], "parameter file /no/such.yaml cannot be read"),
    ],
)
# what looks around before ROS starts is the same in all nodes
@pytest.mark.parametrize("module", ["simulator", pytest.param("input_shaper", marks=pytest.mark.slow)])
def test_a_node_that_ros_does_not_start_says_why_in_a_sentence(module, settings, arguments, part):
    done = subprocess.run(
        [sys.executable, "-m", f"flexdyn_ros.nodes.{module}", "--ros-args", *arguments],
        capture_output=True, text=True, check=False, timeout=120, env=environment(settings),
    )  # fmt: skip
    assert done.returncode == 1
    assert part in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["call", "mass_matrix"], ["pub", "joint_commands"]])
def test_a_command_that_ros_does_not_start_says_why_in_a_sentence(words):
    done = subprocess.run(
        [sys.executable, "-m", "flexdyn_ros.cli.main", *words],
        capture_output=True, text=True, check=False, timeout=120,
        env=environment({"ROS_LOG_DIR": "/proc/log"}),
    )  # fmt: skip
    assert done.returncode == 1
    assert "logs cannot be written" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def environment(settings):
    from flexdyn_ros.numerics.compiling.cache import cache_folder

    base = {key: value for key, value in os.environ.items() if key not in ("ROS_LOG_DIR", "ROS_HOME")}
    return base | {"NUMBA_CACHE_DIR": str(cache_folder())} | settings


def test_shared_memory_that_is_full_or_read_only_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(surroundings.sys, "platform", "linux")
    monkeypatch.setattr(surroundings, "SHARED_MEMORY", tmp_path)
    space = SimpleNamespace(f_bavail=1, f_frsize=4096, f_flag=0)
    monkeypatch.setattr(surroundings.os, "statvfs", lambda _: space)
    assert "has 4096 bytes left" in next(surroundings.shared_memory())
    with pytest.raises(surroundings.StartError, match="ROS does not start: shared memory"):
        surroundings.check_shared_memory()
    space.f_bavail = 1_000_000
    assert list(surroundings.shared_memory()) == []
    space.f_flag = os.ST_RDONLY
    assert "cannot be used" in next(surroundings.shared_memory())


@pytest.mark.parametrize("words", [["call", "mass_matrix"], ["pub", "joint_commands"], ["up", "two_link"]])
def test_commands_look_at_shared_memory_before_ros_is_imported(words, monkeypatch):
    monkeypatch.setattr(surroundings, "shared_memory", lambda: iter(["shared memory is full"]))
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, surroundings.StartError)
