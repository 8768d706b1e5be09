"""All nodes and their parameters, and the page that documents them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from flexdyn_ros.control.goal_watch import STOPPED
from flexdyn_ros.nodes.controllers.parameters import (
    ComputedTorqueParameters,
    InputShaperParameters,
    PdControllerParameters,
    PlatformControllerParameters,
    SoftArmControllerParameters,
)
from flexdyn_ros.nodes.hydraulic_actuators.parameters import HydraulicActuatorsParameters
from flexdyn_ros.nodes.ros.declaration import default_of, ros_name
from flexdyn_ros.nodes.ros.robot_parameters import DynamicsServerParameters
from flexdyn_ros.nodes.simulator.parameters import SimulatorParameters
from flexdyn_ros.nodes.state_publisher.parameters import StatePublisherParameters

__all__ = ["FAMILIES", "NODES", "page"]

NODES: dict[str, type] = {
    "dynamics_server": DynamicsServerParameters,
    "simulator": SimulatorParameters,
    "hydraulic_actuators": HydraulicActuatorsParameters,
    "state_publisher": StatePublisherParameters,
    "pd_controller": PdControllerParameters,
    "computed_torque": ComputedTorqueParameters,
    "input_shaper": InputShaperParameters,
    "platform_controller": PlatformControllerParameters,
    "soft_arm_controller": SoftArmControllerParameters,
}


#: parameters whose names depend on the robot: (node, family, unit, description)
FAMILIES: tuple[tuple[str, str, str, str], ...] = (
    ("simulator", "initial.positions.NAME", "rad, m", "position of coordinate NAME after start and reset"),
    (
        "simulator",
        "initial.velocities.NAME",
        "rad/s, m/s",
        "velocity of coordinate NAME after start and reset",
    ),
    (
        "simulator",
        "servo.stiffness.NAME",
        "N m/rad, N/m",
        "position gain of joint NAME; default as in docs/nodes.md",
    ),
    (
        "simulator",
        "servo.damping.NAME",
        "N m s/rad, N s/m",
        "velocity gain of joint NAME; default as in docs/nodes.md",
    ),
)


FAMILIES += tuple(
    (node, f"gains.NAME.{gain}", unit, f"{text} of joint NAME; -1: from bandwidth and damping_ratio")
    for node, p_unit, d_unit in (
        ("pd_controller", "N m/rad, N/m", "N m s/rad, N s/m"),
        ("computed_torque", "1/s2", "1/s"),
        ("input_shaper", "N m/rad, N/m", "N m s/rad, N s/m"),
    )
    for gain, unit, text in (("p", p_unit, "position gain"), ("d", d_unit, "velocity gain"))
)


FAMILIES += tuple(
    (node, f"constraints.{name}", unit, f"of ~/follow_joint_trajectory: {text}")
    for node in ("simulator", "pd_controller", "computed_torque", "input_shaper")
    for name, unit, text in (
        (
            "goal_time",
            "s",
            "default 0.0; by which a goal may be late; 0: it is waited for",
        ),
        (
            "stopped_velocity_tolerance",
            "rad/s, m/s",
            f"default {STOPPED}; velocity below which a joint has arrived; 0: any",
        ),
        (
            "NAME.trajectory",
            "rad, m",
            "default 0.0; how far joint NAME may be from its path; 0: any",
        ),
        ("NAME.goal", "rad, m", "default 0.0; how far joint NAME may be from its goal; 0: any"),
    )
)


def _shown(default: Any) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return "(empty)" if default in ("", ()) else f"{default}"


def page() -> str:
    """docs/parameters.md, generated."""
    lines = [
        "# Parameters of the nodes",
        "",
        "Made by `python -m flexdyn_ros.nodes.parameters`; do not edit.",
        "",
    ]
    lines += [
        "They are read when the node is configured; those marked *live* may be changed while it runs.",
        "",
    ]
    for node, record in NODES.items():
        lines += [
            f"## {node}",
            "",
            "| parameter | default | unit | range | meaning |",
            "|---|---|---|---|---|",
        ]
        for f in fields(record):
            shown = _shown(default_of(f))
            about = f.metadata
            limits = (
                f"{about['low']:g} to {about['high']:g}"
                if about["low"] is not None
                else ", ".join(about["choices"])
            )
            name = ros_name(f)
            text = about["description"] + ("" if about["read_only"] else " (*live*)")
            lines.append(f"| `{name}` | {shown} | {about['unit']} | {limits} | {text} |")
        lines += [
            f"| `{name}` | | {unit} | | {text} |" for owner, name, unit, text in FAMILIES if owner == node
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
