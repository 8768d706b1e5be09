"""`flexdyn compile ROBOT --target ros2_control`: a package for colcon, whose hardware interface moves the
robot by its generated C."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from flexdyn_ros.escaping import file_name, markdown, markdown_code, printable
from flexdyn_ros.export.c_code.program import Program, program
from flexdyn_ros.export.c_code.text import c_string
from flexdyn_ros.export.files import write_all
from flexdyn_ros.export.ros2_control.drives import Drive, Start, drives_of, servos_and_stops, start_of
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.export.tracing.steps import NOMINAL_STEP
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.verbs import Robot

_KINDS = ("position", "velocity", "effort")
#: files of the package by the sources that they are made from
_FILES = {
    "include/{package}/core.hpp": "core.hpp",
    "include/{package}/model.hpp": "model.hpp",
    "src/core.cpp": "core.cpp",
    "src/system.cpp": "system.cpp",
    "CMakeLists.txt": "CMakeLists.txt",
    "package.xml": "package.xml",
    "{package}.xml": "plugin.xml",
    "README.md": "README.md",
}


class _Hardware(NamedTuple):
    """A robot as hardware: what drives it, the cylinders whose oil is part of it, and where it starts."""

    robot: Robot
    drives: list[Drive]
    oil: Oil | None
    start: Start

    @property
    def servos(self) -> list[Drive]:
        """Drives that take positions, velocities and efforts."""
        return [d for d in self.drives if d.valve < 0]

    @property
    def followers(self) -> list[Coordinate]:
        """Joints of the description that nothing drives, of one coordinate each."""
        known = {joint.name for joint in self.robot.description.joints} - {d.name for d in self.drives}
        return [c for c in self.robot.coordinates if c.name in known and c.q_index >= 0]

    @property
    def valves(self) -> list[Drive]:
        """Drives that take openings of valves."""
        return [d for d in self.drives if d.valve >= 0]


def ros2_control(
    robot: Robot, path: str | Path, *, dt: float = NOMINAL_STEP, cylinders: bool = False
) -> list[Path]:
    """Write a package that `colcon build` takes: the robot as hardware of ros2_control, in C and C++.

    Its joints, cylinders and legs that drive the robot take commands by name: position, velocity or effort.
    They keep their position until the first finite command, and have effort limits and soft stops.

    Parameters
    ----------
    robot : Robot
        Joints and cylinders drive it, with loops or without; or a platform, whose joints are the sliders of
        its legs.
    path : folder of the package
    dt : nominal step of its simulation [s]
    cylinders : bool
        Whether the oil of cylinders is part of it: commands of these are then openings of their valves,
        `CYLINDER/valve`, and the oil (`CYLINDER/pressure_bore` ...) is among the states.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UnsupportedError
        For a robot that nothing drives, or whose links bend in loops that cylinders drive; with cylinders,
        for one without oil.
    ConvergenceError
        If links that bend, or wheels, find no rest where the description has the robot.
    ExportError

    Source: docs/how-to/ros2_control.md.
    """
    oil = Oil(robot) if cylinders else None
    drives = drives_of(robot, oil)
    hardware = _Hardware(robot, drives, oil, start_of(robot, drives))
    placed = any(d.is_placed for d in drives)
    verbs = ["moved"] if placed else []
    verbs += ["project"] if placed and robot.functions.is_constrained else []
    verbs += ["actuator_motion", *(["holding_efforts"] if hardware.servos else [])]
    verbs += ["step"] if oil is None else ["hydraulic_step", "cylinder_forces", "resting_oil"]
    made = program(robot, verbs, method="auto", dt=dt)
    package = f"{made.name.lower()}_hardware"
    words = _words(hardware, made, package, dt)
    root = files("flexdyn_ros.export.ros2_control") / "sources"
    texts = {
        name.format(package=package): _filled((root / source).read_text(encoding="utf-8"), words)
        for name, source in _FILES.items()
    }
    texts |= {
        f"src/{made.name}.h": made.header,
        f"src/{made.name}.c": made.source,
        "src/model.cpp": _filled(_MODEL, words | _numbers(hardware, dt)),
        f"description/{file_name(robot.name)}.ros2_control.xacro": _description(hardware, package),
        "config/controllers.yaml": _controllers_file(hardware),
    }
    return write_all(Path(path), texts)


def _filled(text: str, words: dict[str, object]) -> str:
    for name, value in words.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _words(hardware: _Hardware, made: Program, package: str, dt: float) -> dict[str, object]:
    robot, oil = hardware.robot, hardware.oil
    rows = [
        f"| {markdown_code(d.name)} | {d.unit} | {_limit(d.lower)} to {_limit(d.upper)} "
        f"| {_limit(d.effort_limit)} | {'valve' if d.valve >= 0 else 'position, velocity, effort'} |"
        for d in hardware.drives
    ]
    return {
        "PACKAGE": package,
        "NAME": made.name,
        "ROBOT": escape(printable(robot.name)),
        "TITLE": markdown(robot.name),
        "NQ": robot.nq,
        "NV": robot.nv,
        "NU": robot.nu,
        "JOINTS": len(hardware.drives),
        "SERVOS": len(hardware.servos),
        "VALVES": len(hardware.valves),
        "FOLLOWERS": len(hardware.followers),
        "OIL": 0 if oil is None else len(oil.names),
        "MODES": len(hardware.start.modes),
        "PLACED": sum(d.is_placed for d in hardware.drives),
        "LOOPS": int(robot.functions.is_constrained),
        "WORK": max(made.work, 1),
        "STEP": _number(dt),
        "STEP_CALL": _step_call(made),
        "METHOD": made.method if oil is None else oil.method,
        "CONTROLLERS": "\n".join(
            f"  <exec_depend>{kind.partition('/')[0]}</exec_depend>" for _, kind, _ in _controllers(hardware)
        ),
        "JOINT_ROWS": "\n".join(rows),
    }


def _step_call(made: Program) -> str:
    """The call of the step of C++ on what the core keeps."""
    kept = {"tau": "tau_", "valves": "valves_"}
    step = made.functions.get("hydraulic_step") or made.functions["step"]
    inputs = [key for key, _ in step.inputs if key not in ("dt", "p")]
    arguments = ", ".join(f"{kept.get(key, key)}.data()" for key in inputs)
    return f"{made.name}_{step.name}({arguments}, nullptr, step, work_.data())"


def _limit(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "none"


def _number(value: float) -> str:
    """A number as C++ has it."""
    if np.isfinite(value):
        return repr(float(value))
    return "HUGE_VAL" if value > 0.0 else "-HUGE_VAL"


# ---- numbers ----

_MODEL = """#include "@PACKAGE@/model.hpp"

#include <cmath>

namespace @PACKAGE@ {
namespace model {

const std::array<Joint, joints> joint = {{
@JOINT@
}};
const std::array<Mode, modes> mode = {{@MODE@}};
const std::array<double, modes * modes> compliance = {{@COMPLIANCE@}};
const std::array<double, nq> start = {{@START@}};
const std::array<const char *, nq> q_name = {{@Q_NAME@}};
const std::array<Follower, followers> follower = {{@FOLLOWER@}};
const std::array<double, oil> oil_start = {{@OIL_START@}};
const std::array<Name, oil> oil_name = {{@OIL_NAME@}};

}  // namespace model
}  // namespace @PACKAGE@
"""


def _numbers(hardware: _Hardware, dt: float) -> dict[str, object]:
    """What model.cpp is filled with."""
    robot, drives, oil, start = hardware
    columns = servos_and_stops(robot, start.q, dt)
    rows = []
    for d in drives:
        values = (d.zero, d.lower, d.upper, d.effort_limit, *columns[:, d.u])
        names, places = (
            f"{c_string(d.name)}, {c_string(d.cylinder)}",
            f"{d.q}, {d.u}, {d.valve}, {str(d.is_placed).lower()}",
        )
        rows.append(f"  {{{names}, {places}, {', '.join(map(_number, values))}}}")
    states = [] if oil is None else [name.rpartition(".") for name in oil.names]
    return {
        "JOINT": ",\n".join(rows),
        "MODE": ", ".join(f"{{{q}, {v}}}" for q, v in start.modes),
        "COMPLIANCE": ", ".join(map(_number, start.compliance.ravel())),
        "START": ", ".join(map(_number, start.q)),
        "Q_NAME": ", ".join(c_string(name) for name in robot.q_names),
        "FOLLOWER": ", ".join(
            f"{{{c_string(c.name)}, {c.q_index}, {c.v_index}}}" for c in hardware.followers
        ),
        "OIL_START": "" if oil is None else ", ".join(map(_number, oil.start(start.q))),
        "OIL_NAME": ", ".join(f"{{{c_string(owner)}, {c_string(name)}}}" for owner, _, name in states),
    }


# ---- description and controllers ----


def _description(hardware: _Hardware, package: str) -> str:
    """A macro with the <ros2_control> block of the robot.

    A component that is no joint of the description is a <gpio>: the controller manager looks for its joints.
    """
    joints: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for d in hardware.drives:
        commands = _KINDS if d.valve < 0 else ()
        lines = [_interface("command", kind) for kind in commands]
        (joints if d.is_joint else others)[d.name] = lines + [_interface("state", kind) for kind in _KINDS]
        if d.valve >= 0:
            others.setdefault(d.cylinder, []).insert(0, _interface("command", "valve"))
    for name in () if hardware.oil is None else hardware.oil.names:
        owner, _, state = name.rpartition(".")
        others.setdefault(owner, []).append(_interface("state", state))
    for c in hardware.followers:
        joints[c.name] = [_interface("state", kind) for kind in ("position", "velocity")]
    driven = {d.name for d in hardware.drives} | {c.name for c in hardware.followers}
    rest = [_interface("state", name) for name in hardware.robot.q_names if name not in driven]
    if rest:
        others["coordinates"] = rest
    components = [*_components("joint", joints), *_components("gpio", others)]
    return _XACRO.format(
        name=quoteattr(hardware.robot.name),
        package=package,
        joints="\n".join(components),
        macro=f"{package}_block",
    )


def _interface(kind: str, name: str) -> str:
    return f"        <{kind}_interface name={quoteattr(name)}/>"


def _components(tag: str, components: dict[str, list[str]]) -> list[str]:
    return [
        "\n".join([f"      <{tag} name={quoteattr(name)}>", *lines, f"      </{tag}>"])
        for name, lines in components.items()
    ]


_XACRO = """<?xml version="1.0"?>
<!-- <xacro:include filename="$(find {package})/description/..."/> and <xacro:{macro}/> within <robot> -->
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="{macro}">
    <ros2_control name={name} type="system">
      <hardware>
        <plugin>{package}/System</plugin>
      </hardware>
{joints}
    </ros2_control>
  </xacro:macro>
</robot>
"""


def _controllers(hardware: _Hardware) -> list[tuple[str, str, str]]:
    """Controllers to begin with, by name, type and parameters: of trajectories, and of openings of valves."""
    found = []
    for name, kind, more, names in (
        (*_TRAJECTORY, [d.name for d in hardware.servos]),
        (*_OPENINGS, [d.cylinder for d in hardware.valves]),
    ):
        if names:
            # a text of JSON is one of YAML
            listed = "\n".join(f"      - {json.dumps(one)}" for one in names)
            found.append((name, kind, f"    joints:\n{listed}\n{more}"))
    return found


def _controllers_file(hardware: _Hardware) -> str:
    controllers = _controllers(hardware)
    types = "".join(f"    {name}:\n      type: {kind}\n" for name, kind, _ in controllers)
    parts = [f"\n{name}:\n  ros__parameters:\n{parameters}" for name, _, parameters in controllers]
    if not all(d.is_joint for d in hardware.drives):
        # joint_states has what the description has no joint for
        parts.append("\njoint_state_broadcaster:\n  ros__parameters:\n    use_urdf_to_filter: false\n")
    return _MANAGER + types + "".join(parts)


_MANAGER = """controller_manager:
  ros__parameters:
    update_rate: 500
    joint_state_broadcaster:
      type: joint_state_broadcaster/JointStateBroadcaster
"""
_TRAJECTORY = (
    "joint_trajectory_controller",
    "joint_trajectory_controller/JointTrajectoryController",
    "    command_interfaces: [position]\n    state_interfaces: [position, velocity]\n",
)
_OPENINGS = (
    "valve_controller",
    "forward_command_controller/ForwardCommandController",
    "    interface_name: valve\n",
)
