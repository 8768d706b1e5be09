"""`flexdyn up`: server, simulator and state publisher of a robot, as bringup.launch.py starts them, without
launch_ros."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.text import Text

from flexdyn_ros.cli.terminal import (
    Config,
    Rigid,
    RobotName,
    Settings,
    Xacro,
    as_utf8,
    complain,
    load_robot,
    messages,
    options_of,
    xacro_of,
)
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import ROS, MissingExtraError
from flexdyn_ros.families.registry import families, family_of
from flexdyn_ros.nodes.launching import rviz_configuration
from flexdyn_ros.nodes.ros.parameter_files import file_mistakes, mistakes_of_file
from flexdyn_ros.nodes.ros.surroundings import check_shared_memory
from flexdyn_ros.robot.verbs import Robot

#: seconds that nodes get to end by themselves before they are killed
GRACE = 5.0
#: topics of nodes that are not connected by their names
REMAPPED = {"hydraulic_actuators": {"~/leg_state": "leg_states", "~/leg_force": "joint_commands"}}
#: and where the cylinders are a node of their own
AT_CYLINDERS = {"platform_controller": {"simulator/hydraulic_command": "hydraulic_actuators/command"}}


class Controller(StrEnum):
    """What leads the robot."""

    NONE = "none"
    AUTO = "auto"
    PD = "pd_controller"
    COMPUTED_TORQUE = "computed_torque"
    INPUT_SHAPER = "input_shaper"
    PLATFORM = "platform_controller"
    SOFT_ARM = "soft_arm_controller"


class Cylinders(StrEnum):
    """Where cylinders that oil drives are computed."""

    FUSED = "fused"
    EXTERNAL = "external"
    NONE = "none"


def up(
    robot: RobotName,
    namespace: Annotated[str, typer.Option("--namespace", help="namespace of all nodes")] = "",
    rviz: Annotated[bool, typer.Option("--rviz", help="start rviz2 as well, where there is one")] = False,
    foxglove: Annotated[
        bool, typer.Option("--foxglove", help="show all topics to Foxglove, at ws://127.0.0.1:8765")
    ] = False,
    no_server: Annotated[bool, typer.Option("--no-server", help="leave the dynamics server out")] = False,
    hydraulics: Annotated[
        Cylinders | None,
        typer.Option(
            "--hydraulics",
            help="where cylinders with <hydraulics> are computed: in the simulator's steps (its default), by "
            "the node hydraulic_actuators, which is started as well, or nowhere",
        ),
    ] = None,
    controller: Annotated[
        Controller,
        typer.Option(
            "--controller",
            help="start a controller too; auto: platform_controller for platforms, through their cylinders "
            "if they have some, soft_arm_controller for soft arms, pd_controller for others",
        ),
    ] = Controller.NONE,
    use_clock: Annotated[
        bool, typer.Option("--use-clock/--no-clock", help="publish /clock: of several robots one alone")
    ] = True,
    use_sim_time: Annotated[
        bool, typer.Option("--use-sim-time", help="nodes that make no /clock take their time from it")
    ] = False,
    frame_prefix: Annotated[
        str, typer.Option("--frame-prefix", help="put before the names of the robot's frames, as in left/")
    ] = "",
    params_file: Annotated[
        Path | None, typer.Option("--params-file", exists=True, help="ROS parameters for the nodes")
    ] = None,
    config: Config = None,
    settings: Settings = None,
    xacro: Xacro = None,
    rigid: Rigid = False,
) -> None:
    """Start the nodes of a robot; Ctrl-C ends them, with exit code 130."""
    if importlib.util.find_spec("rclpy") is None:
        raise MissingExtraError("rclpy", ROS)
    for package, extra in (("foxglove", "foxglove"), ("rosbags", "record")):
        if foxglove and importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, extra)
    check_shared_memory()
    loaded = load_robot(robot, config, settings, rigid, xacro)
    description = loaded.description
    if hydraulics is not None and loaded.hydraulics is None:
        raise typer.BadParameter(f"robot '{description.name}' has no <hydraulics>", param_hint="--hydraulics")
    by_servos = controller is Controller.AUTO and loaded.nu > loaded.nv
    leader = None if by_servos else _controller(controller, description, no_server)
    nodes = [*([] if no_server else ["dynamics_server"]), "simulator", "state_publisher"]
    if hydraulics is Cylinders.EXTERNAL:
        nodes.append("hydraulic_actuators")
    if leader is not None:
        nodes.append(leader.value)
    if params_file is not None:
        _check_parameters(params_file, nodes)
    if foxglove:
        nodes.append("foxglove")
    simulator: dict[str, object] = {"use_sim_time": use_sim_time and not use_clock}
    shown: dict[str, object] = {}
    if not use_clock:
        simulator["use_clock"] = False
    if hydraulics is not None:
        simulator["hydraulics"] = hydraulics.value
    if frame_prefix:
        simulator["frame_prefix"] = shown["frame_prefix"] = frame_prefix
    shared = _description_of(description, config, options_of(settings, rigid), xacro_of(xacro) or {})
    shared["end_unless_started"] = True
    if use_sim_time:
        shared["use_sim_time"] = True
    by_cylinders = loaded.hydraulics is not None and hydraulics is not Cylinders.NONE
    with tempfile.TemporaryDirectory(prefix="flexdyn_up_") as folder:
        # what the user's file says wins over what suits the controller, what the command line says over both
        suited = _HOLDING if by_servos else _suited(leader, by_cylinders)
        files = [
            *([_written(Path(folder) / "controller.yaml", suited)] if suited else []),
            *([params_file] if params_file else []),
            _written(
                Path(folder) / "robot.yaml",
                {"/**": shared, "/**/simulator": simulator, "/**/state_publisher": shown},
            ),
        ]
        remapped = REMAPPED | (AT_CYLINDERS if hydraulics is Cylinders.EXTERNAL else {})
        commands = {node: _command(node, namespace, files, remapped.get(node, {})) for node in nodes}
        if rviz:
            commands["rviz2"] = _rviz_command(namespace, loaded)
        raise typer.Exit(_watch(commands))


def _controller(wanted: Controller, description: RobotDescription, no_server: bool) -> Controller | None:
    """The controller that is wanted; BadParameter where it does not lead robots of this family."""
    if wanted is Controller.NONE:
        return None
    family = family_of(description)
    own = Controller(family.controller)
    found = own if wanted is Controller.AUTO else wanted
    where = "--controller"
    led = [other.kind for other in families() if other.controller == found]
    if found is not Controller.PD and led and family.kind not in led:
        raise typer.BadParameter(
            f"{found} leads robots of kind {led[0]}, this one is {family.kind}", param_hint=where
        )
    if not family.joint_driven and found is not own:
        raise typer.BadParameter(f"{found} leads joints, expected {own} for a platform", param_hint=where)
    if found is Controller.COMPUTED_TORQUE and no_server:
        raise typer.BadParameter(
            f"{found} asks the dynamics server, expected no --no-server", param_hint=where
        )
    return found


def _check_parameters(file: Path, nodes: list[str]) -> None:
    """BadParameter with all that ROS would not read in a parameter file, or ignore in silence."""
    mistakes = list(file_mistakes(file)) or list(mistakes_of_file(file, nodes))
    if mistakes:
        raise typer.BadParameter("; ".join(mistakes), param_hint="--params-file")


#: the robot waits where it is for a first command
_HOLDING: dict[str, dict[str, object]] = {"/**/simulator": {"before_first_command": "hold"}}


def _suited(leader: Controller | None, by_cylinders: bool) -> dict[str, dict[str, object]]:
    """Parameters that suit a controller: the robot waits for it where it is; forces go to cylinders."""
    if leader is None:
        return {}
    suited = {**_HOLDING}
    if leader is Controller.PLATFORM and by_cylinders:
        suited[f"/**/{leader}"] = {"output": "cylinders"}
    return suited


def _description_of(
    description: RobotDescription,
    config: list[Path] | None,
    options: Mapping[str, object],
    xacro: Mapping[str, str],
) -> dict[str, object]:
    """Parameters by which nodes load the same robot."""
    # a robot of a file is named, so that the nodes find what lies beside it: text may name packages only
    shared: dict[str, object] = (
        {"robot_description": description.text}
        if description.file is None
        else {"description_file": as_utf8(str(Path(description.file).resolve()))}
    )
    if xacro:
        shared["xacro_arguments"] = [as_utf8(f"{name}:={value}") for name, value in xacro.items()]
    if config:
        shared["config_files"] = [as_utf8(str(path.resolve())) for path in config]
    if options:
        shared["options"] = [
            f"{path}={yaml.safe_dump(value, default_flow_style=True).strip()}"
            for path, value in options.items()
        ]
    return shared


def _written(path: Path, parameters: Mapping[str, Mapping[str, object]]) -> Path:
    """A parameter file, by nodes."""
    text = {node: {"ros__parameters": dict(given)} for node, given in parameters.items() if given}
    path.write_text(yaml.safe_dump(text), encoding="utf-8")
    return path


def _command(node: str, namespace: str, files: list[Path], remapped: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", f"flexdyn_ros.nodes.{node}", "--ros-args"]
    if namespace:
        command += ["-r", f"__ns:=/{namespace.strip('/')}"]
    for name, topic in remapped.items():
        command += ["-r", f"{name}:={topic}"]
    for file in files:
        command += ["--params-file", str(file.resolve())]
    return command


def _rviz_command(namespace: str, robot: Robot) -> list[str]:
    program = shutil.which("rviz2")
    if program is None:
        raise MissingExtraError("rviz2", ROS)
    command = [program, "-d", str(rviz_configuration(robot)), "--ros-args", "-p", "use_sim_time:=true"]
    return [*command, "-r", f"__ns:=/{namespace.strip('/')}"] if namespace else command


def _watch(commands: dict[str, list[str]]) -> int:
    """Run all commands until one ends by itself (1) or SIGTERM comes (0); SIGINT is KeyboardInterrupt, once
    they have ended."""
    stop: list[int] = []
    before = {
        s: signal.signal(s, lambda number, frame: stop.append(number))
        for s in (signal.SIGINT, signal.SIGTERM)
    }
    nodes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            # paths of parameter files are UTF-8, in every locale
            variables = os.environ | {"PYTHONUTF8": "1"}
            nodes[name] = subprocess.Popen(command, env=variables, start_new_session=True)
        messages.print(f"started {', '.join(nodes)}; Ctrl-C ends them")
        while not stop:
            for name, node in nodes.items():
                if node.poll() is not None:
                    complain(f"{name} ended with exit code {node.returncode}")
                    return 1
            time.sleep(0.1)
    finally:
        _end(nodes)
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop[0] == signal.SIGINT:
        raise KeyboardInterrupt
    return 0


def _end(nodes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Ask all nodes to end; kill those that do not."""
    for node in nodes.values():
        if node.poll() is None:
            node.send_signal(signal.SIGINT)
    deadline = time.monotonic() + GRACE
    for name, node in nodes.items():
        try:
            node.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            messages.print(Text("warning:", "yellow"), f"{name} did not end by itself and was killed")
            node.kill()
            node.wait()
