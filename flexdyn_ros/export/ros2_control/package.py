"""`flexdyn compile ROBOT --target ros2_control`: a package for colcon, whose hardware interface moves the
robot by its generated C."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.escaping import file_name, markdown, markdown_code, printable
from flexdyn_ros.export.c_code.program import Program, program
from flexdyn_ros.export.c_code.text import c_string
from flexdyn_ros.export.files import write_all
from flexdyn_ros.export.tracing.steps import NOMINAL_STEP
from flexdyn_ros.numerics.algebra.placement import rotation_of_quaternion
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.platform_drive import leg_gains
from flexdyn_ros.simulation.live.simulation import default_gains
from flexdyn_ros.simulation.steps.stiffness import stops_at

#: natural frequency times step of servos and stops at most: their forces are held during a step
_REACH = 0.2
#: share of a coordinate's inertia that damping takes in a step at most
_DAMPED = 0.5
#: poses that the least inertia of a joint is looked for at
_POSES = 100
#: stiffness that counts as none, of the largest
_NO_STIFFNESS = 1e-9
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


def ros2_control(robot: Robot, path: str | Path, *, dt: float = NOMINAL_STEP) -> list[Path]:
    """Write a package that `colcon build` takes: the robot as hardware of ros2_control, in C and C++.

    Its joints are those that drive the robot, by name. They take commands of position, velocity or effort,
    keep their position until the first finite one, and have effort limits and soft stops.

    Parameters
    ----------
    robot : Robot
        Every effort acts on a coordinate of its own: trees, robots on wheels, soft arms; or a platform, whose
        joints are the sliders of its legs.
    path : folder of the package
    dt : nominal step of its simulation [s]

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UnsupportedError
        For a robot with loops, that cylinders or legs beside joints drive, or that nothing drives.
    ExportError

    Source: docs/how-to/ros2_control.md.
    """
    drives = _drives(robot)
    home = robot.neutral()
    for c in drives if not robot.legs else ():
        home[c.q] = min(max(home[c.q], c.lower), c.upper)
    weight = "inverse_dynamics" if robot.legs else "bias_forces"
    made = program(robot, ("step", weight), method="auto", dt=dt)
    package = f"{made.name.lower()}_hardware"
    words = _words(robot, made, package, drives, home, dt)
    root = files("flexdyn_ros.export.ros2_control") / "sources"
    texts = {
        name.format(package=package): _filled((root / source).read_text(encoding="utf-8"), words)
        for name, source in _FILES.items()
    }
    texts |= {
        f"src/{made.name}.h": made.header,
        f"src/{made.name}.c": made.source,
        "src/model.cpp": _filled(_MODEL, words | _numbers(robot, drives, home, dt)),
        f"description/{file_name(robot.name)}.ros2_control.xacro": _description(robot, package, drives),
        "config/controllers.yaml": _controllers(drives),
    }
    return write_all(Path(path), texts)


class _Drive(NamedTuple):
    """A driven joint: its limits (rad, m; N m, N), and its places in q, v and the efforts; legs have none in
    q and v."""

    name: str
    unit: str
    lower: float
    upper: float
    effort_limit: float
    q: int
    v: int
    u: int


def _drives(robot: Robot) -> list[_Drive]:
    """Coordinates that efforts of their own drive, or sliders of legs."""
    if robot.legs:
        return [
            _Drive(leg.joints[2], "m", 0.0, leg.stroke, leg.effort_limit, 0, 0, i)
            for i, leg in enumerate(robot.legs)
        ]
    if robot.functions.is_constrained:
        raise UnsupportedError(
            f"target ros2_control of robot {robot.name!r}: its loops are not taken; expected an open tree"
        )
    if robot.effort_names != robot.v_names:
        others = [name for name in robot.actuators if name not in robot.v_names]
        raise UnsupportedError(
            f"target ros2_control of robot {robot.name!r}: {', '.join(others[:3])} drive no coordinate of "
            "their own; expected a robot that is driven joint by joint"
        )
    driven = set(robot.actuators)
    drives = [
        _Drive(c.name, c.unit, c.lower, c.upper, c.effort_limit, c.q_index, c.v_index, c.v_index)
        for c in robot.coordinates
        if c.name in driven and c.q_index >= 0
    ]
    if not drives:
        raise UnsupportedError(
            f"target ros2_control of robot {robot.name!r}: nothing drives it; expected a driven joint"
        )
    return drives


def _filled(text: str, words: dict[str, object]) -> str:
    for name, value in words.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _words(
    robot: Robot, made: Program, package: str, drives: list[_Drive], home: np.ndarray, dt: float
) -> dict[str, object]:
    rows = [
        f"| {markdown_code(c.name)} | {c.unit} | {_limit(c.lower)} to {_limit(c.upper)} "
        f"| {_limit(c.effort_limit)} |"
        for c in drives
    ]
    return {
        "PACKAGE": package,
        "NAME": made.name,
        "ROBOT": escape(printable(robot.name)),
        "TITLE": markdown(robot.name),
        "NQ": robot.nq,
        "NV": robot.nv,
        "NU": robot.nu,
        "JOINTS": len(drives),
        "MODES": len(_yielding(robot, home)[0]),
        "LEGS": len(robot.legs),
        "WORK": max(made.work, 1),
        "STEP": _number(dt),
        "METHOD": made.method,
        "JOINT_ROWS": "\n".join(rows),
    }


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
const std::array<Leg, legs> leg = {{@LEG@}};
const std::array<Mode, modes> mode = {{@MODE@}};
const std::array<double, modes * modes> compliance = {{@COMPLIANCE@}};
const std::array<double, nq> start = {{@START@}};
const std::array<const char *, nq> q_name = {{@Q_NAME@}};

}  // namespace model
}  // namespace @PACKAGE@
"""


def _numbers(robot: Robot, drives: list[_Drive], home: np.ndarray, dt: float) -> dict[str, object]:
    """What model.cpp is filled with."""
    modes, compliance = _yielding(robot, home)
    return {
        "JOINT": ",\n".join(_joint_rows(robot, drives, home, dt)),
        "LEG": ", ".join(_leg_rows(robot, home)),
        "MODE": ", ".join(f"{{{q}, {v}}}" for q, v in modes),
        "COMPLIANCE": ", ".join(map(_number, compliance.ravel())),
        "START": ", ".join(map(_number, home)),
        "Q_NAME": ", ".join(c_string(name) for name in robot.q_names),
    }


def _joint_rows(robot: Robot, drives: list[_Drive], home: np.ndarray, dt: float) -> list[str]:
    """Servos and stops are those of the live simulation, and no stiffer than steps that hold forces bear at
    any pose: with the least inertia a that a joint meets, w = sqrt(k/a) <= 0.2/dt and d <= a/(2 dt)."""
    motion = robot.motion
    assert motion is not None
    stiffness, damping = (leg_gains if robot.legs else default_gains)(robot, home)
    stops = stops_at(robot, motion, home, robot.mass_matrix(home), dt, None, None)
    least = _least_inertia(robot, home)
    stiffest, most = least * (_REACH / dt) ** 2, _DAMPED * least / dt
    columns = [np.minimum(stiffness, stiffest), np.minimum(damping, most)]
    columns += [np.minimum(stops[0], stiffest), np.minimum(stops[1], most)]
    rows = []
    for c in drives:
        places = f"{c.q}, {c.v}, {c.u}"
        values = (c.lower, c.upper, c.effort_limit, *(column[c.u] for column in columns))
        rows.append(f"  {{{c_string(c.name)}, {places}, {', '.join(map(_number, values))}}}")
    return rows


def _leg_rows(robot: Robot, home: np.ndarray) -> list[str]:
    """Ends of the legs, in base and platform axes, and their lengths where the sliders are at 0."""
    if not robot.legs:
        return []
    legs, R = robot.inverse_kinematics(home), rotation_of_quaternion(*home[3:7])
    rows = []
    for i, leg in enumerate(robot.legs):
        base = home[:3] + R @ leg.anchor - legs.length[i] * legs.direction[i]
        numbers = [", ".join(map(_number, x)) for x in (base, leg.anchor)]
        rows.append(f"{{{{{numbers[0]}}}, {{{numbers[1]}}}, {_number(leg.shortest)}}}")
    return rows


def _least_inertia(robot: Robot, home: np.ndarray) -> np.ndarray:
    """1 / (B' M^-1 B)_ii (nu,), B = 1 but for legs, the least of poses within the limits."""
    rng = np.random.default_rng(0)
    poses = [home, *(robot.random(rng) for _ in range(_POSES))]
    found = []
    for q in poses:
        inverse = np.linalg.inv(robot.mass_matrix(q))
        if robot.legs:
            B = robot.actuation_matrix(q)
            inverse = B.T @ inverse @ B
        found.append(1.0 / np.diagonal(inverse))
    return np.min(found, axis=0)


def _yielding(robot: Robot, home: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Places in q and v of what yields to the weight beside joints (modes, hubs, a base on wheels), and the
    inverse of its stiffness (m, m) at home; directions without one stay as they are."""
    rows = [
        c for c in robot.coordinates
        if c.kind != "joint" and c.q_index >= 0 and not c.prescribed and c.name not in robot.actuators
    ]  # fmt: skip
    if robot.legs:
        return [], np.zeros((0, 0))
    v = [c.v_index for c in rows]
    still = np.zeros(robot.nv)
    by_q, *_ = robot.inverse_dynamics_derivatives(home, still, still)
    stiffness = by_q[np.ix_(v, v)]
    scale = np.sqrt(np.abs(np.diagonal(stiffness)))
    scale[scale == 0.0] = 1.0
    compliance = np.linalg.pinv(stiffness / np.outer(scale, scale), rcond=_NO_STIFFNESS)
    return [(c.q_index, c.v_index) for c in rows], compliance / np.outer(scale, scale)


# ---- description and controllers ----


def _description(robot: Robot, package: str, drives: list[_Drive]) -> str:
    """A macro with the <ros2_control> block of the robot."""
    joints = []
    for c in drives:
        lines = [f"      <joint name={quoteattr(c.name)}>"]
        lines += [f'        <command_interface name="{kind}"/>' for kind in _KINDS]
        lines += [f'        <state_interface name="{kind}"/>' for kind in _KINDS]
        joints += [*lines, "      </joint>"]
    driven = {c.name for c in drives}
    others = [name for name in robot.q_names if name not in driven]
    if others:
        joints.append('      <gpio name="coordinates">')
        joints += [f"        <state_interface name={quoteattr(name)}/>" for name in others]
        joints.append("      </gpio>")
    return _XACRO.format(
        name=quoteattr(robot.name), package=package, joints="\n".join(joints), macro=f"{package}_block"
    )


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


def _controllers(drives: list[_Drive]) -> str:
    # a text of JSON is one of YAML
    names = "\n".join(f"      - {json.dumps(c.name)}" for c in drives)
    return _YAML.format(names=names)


_YAML = """controller_manager:
  ros__parameters:
    update_rate: 500
    joint_state_broadcaster:
      type: joint_state_broadcaster/JointStateBroadcaster
    joint_trajectory_controller:
      type: joint_trajectory_controller/JointTrajectoryController

joint_trajectory_controller:
  ros__parameters:
    joints:
{names}
    command_interfaces: [position]
    state_interfaces: [position, velocity]
"""
