"""Parameters of the nodes: one frozen record per node, declared, validated and documented from its fields."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from math import isfinite
from typing import Any, TypeVar

__all__ = [
    "ComputedTorqueParameters",
    "ControllerParameters",
    "DynamicsServerParameters",
    "HydraulicActuatorsParameters",
    "InputShaperParameters",
    "ParameterError",
    "PdControllerParameters",
    "RobotParameters",
    "SimulatorParameters",
    "StatePublisherParameters",
    "check_changes",
    "declare",
    "declare_family",
    "names_of",
    "page",
]

Record = TypeVar("Record")


class ParameterError(ValueError):
    """A parameter has a value that the node cannot use; the message names parameter, value and
    expectation.
    """


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = True,
    name: str = "",
) -> Any:
    """A field of a parameter record. name: the ROS name where it is no identifier
    (`servo.gravity_compensation`)."""
    about = {
        "description": description,
        "unit": unit,
        "low": low,
        "high": high,
        "choices": choices,
        "read_only": read_only,
        "name": name,
    }
    if isinstance(default, tuple):
        return field(default_factory=lambda: default, metadata=about)
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class RobotParameters:
    """Where a node's robot comes from."""

    robot_description: str = parameter(
        "", "URDF text of the robot; empty: description_file, else the latched topic"
    )
    description_file: str = parameter(
        "", "path, package:// URI or shipped name of the robot; empty: the latched topic"
    )
    description_timeout: float = parameter(
        10.0,
        "how long to wait for a description on the latched topic robot_description",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    config_files: tuple[str, ...] = parameter((), "YAML files with flexdyn settings, later ones win")
    options: tuple[str, ...] = parameter(
        (), "settings as path=value, e.g. formulation.flexible=false; win over files"
    )


@dataclass(frozen=True)
class LifecycleParameters:
    """What every node has."""

    autostart: bool = parameter(True, "configure and activate at start, without a lifecycle manager")


@dataclass(frozen=True)
class DynamicsServerParameters(RobotParameters, LifecycleParameters):
    """Parameters of `dynamics_server`."""

    robots: tuple[str, ...] = parameter(
        (),
        "names of several robots, each with robot_description, ... of its own below NAME. ; empty: one",
    )
    publish_description: bool = parameter(
        False, "publish the user's own description, latched, on robot_description (of the first robot)"
    )
    max_samples: int = parameter(100000, "largest number of samples in one request", low=1, high=100_000_000)


@dataclass(frozen=True)
class SimulatorParameters(RobotParameters, LifecycleParameters):
    """Parameters of `simulator`."""

    step: float = parameter(0.001, "step of the integration", unit="s", low=1e-6, high=0.1)
    method: str = parameter(
        "auto", "integrator", choices=("auto", "semi_implicit_euler", "rk4", "scaled_rk4", "rosenbrock")
    )
    publish_rate_hz: float = parameter(
        100.0,
        "rate in simulated time of joint_states, ~/state, odom, /tf and /clock",
        unit="Hz",
        low=0.1,
        high=10000.0,
    )
    deflection_rate_hz: float = parameter(
        30.0,
        "rate in simulated time of ~/energy, ~/wrench/FRAME and deflections",
        unit="Hz",
        low=0.1,
        high=1000.0,
    )
    real_time_factor: float = parameter(
        1.0,
        "simulated seconds per second of wall time; 0: as fast as possible",
        unit="-",
        low=0.0,
        high=1000.0,
    )
    thread_priority: int = parameter(
        50,
        "real-time priority (SCHED_FIFO) of the thread that keeps pace with wall time, where the system "
        "grants it; 0: ordinary scheduling",
        low=0,
        high=99,
    )
    start_paused: bool = parameter(False, "wait for ~/resume or ~/step after activation")
    use_clock: bool = parameter(
        True, "publish /clock and stamp messages with simulated time; false: stamp with the node's clock"
    )
    joints: tuple[str, ...] = parameter(
        (), "order of ~/commands; empty: all actuated coordinates in the robot's order"
    )
    command_interface: str = parameter(
        "effort",
        "what ~/commands means; position and velocity: a JointState with effort alone is refused",
        choices=("effort", "position", "velocity"),
    )
    command_timeout: float = parameter(
        0.1,
        "age at which a command is stale, in simulated and in wall time; 0: never",
        unit="s",
        low=0.0,
        high=3600.0,
    )
    on_stale_command: str = parameter(
        "hold",
        "what a joint whose command is stale does: servo at its position then, no effort, or damping",
        choices=("hold", "zero", "damp"),
    )
    before_first_command: str = parameter(
        "zero",
        "what a joint does that has not been commanded since the start or a reset: no effort, servo at its "
        "position, or damping",
        choices=("zero", "hold", "damp"),
    )
    saturate: bool = parameter(True, "clip efforts to the effort limits of the joints")
    limits: str = parameter(
        "spring",
        "joint limits: soft stops, or only a warning in the diagnostics",
        choices=("spring", "report"),
    )
    hydraulics: str = parameter(
        "fused",
        "cylinders of a platform that has some: in the compiled steps, in another process, or none",
        choices=("fused", "external", "none"),
    )
    lockstep: bool = parameter(
        True, "with hydraulics external: advance one step per fresh leg force; false: run freely"
    )
    publish_base_tf: bool = parameter(True, "publish /tf odom -> root link of a floating or planar base")
    wrench_joints: tuple[str, ...] = parameter(
        (), "joints whose reaction wrench is published on ~/wrench/JOINT; 'base': the reaction of the ground"
    )
    record_file: str = parameter(
        "",
        "MCAP file to record what is published (without /clock) into; empty: none; needs flexdyn_ros[record]",
    )
    servo_gravity_compensation: bool = parameter(
        True,
        "add the gravity effort to joints that are servoed without an effort of their own",
        name="servo.gravity_compensation",
    )
    servo_extrapolation: bool = parameter(
        False,
        "position targets move on with their velocity targets, from the stamp of the command and for at most "
        "0.2 s: for references that come in samples, and late",
        name="servo.extrapolation",
    )


@dataclass(frozen=True)
class HydraulicActuatorsParameters(RobotParameters, LifecycleParameters):
    """Parameters of `hydraulic_actuators`."""

    rate_hz: float = parameter(
        1000.0, "rate of the ticks; in lockstep one over the period", unit="Hz", low=1.0, high=20000.0
    )
    lockstep: bool = parameter(
        False,
        "tick once per leg state, by exactly one period, and answer repeated ones with the same force: "
        "for a simulator with hydraulics external and lockstep",
    )
    command_timeout: float = parameter(
        0.1, "age at which a command is stale", unit="s", low=1e-3, high=3600.0
    )
    state_timeout: float = parameter(
        0.02, "age at which a leg state is stale", unit="s", low=1e-3, high=3600.0
    )
    max_velocity: float = parameter(
        2.0, "leg states with faster legs are refused", unit="m/s", low=1e-3, high=100.0
    )
    on_stale_command: str = parameter(
        "close",
        "what valves do without fresh commands: close, or open by lower_opening",
        choices=("close", "lower"),
    )
    lower_opening: float = parameter(
        -0.05, "valve opening that lowers the platform", unit="-", low=-1.0, high=0.0
    )
    p_initial: float = parameter(
        0.0,
        "absolute pressure of both chambers at start and reset; 0: in equilibrium with the present force",
        unit="Pa",
        low=0.0,
        high=1e9,
    )


@dataclass(frozen=True)
class StatePublisherParameters(RobotParameters, LifecycleParameters):
    """Parameters of `state_publisher`."""

    magnification: float = parameter(
        1.0, "of the deflections in deformation_markers", unit="-", low=0.0, high=1e6, read_only=False
    )
    colour: str = parameter(
        "strain",
        "what colours deformation_markers show; displacement and velocity against the undeformed link",
        choices=("strain", "displacement", "moment", "velocity"),
        read_only=False,
    )
    colour_limit: float = parameter(
        0.0,
        "value of the last colour; 0: the largest value so far",
        unit="-, m, N m, m/s",
        low=0.0,
        high=1e12,
        read_only=False,
    )
    ghost: bool = parameter(True, "show undeformed links, transparent", read_only=False)
    legend: bool = parameter(True, "show a bar of the colours with the values at its ends", read_only=False)
    trace_duration: float = parameter(
        5.0, "how long the way of the tip stays to be seen; 0: no trace", unit="s", low=0.0, high=3600.0
    )
    trace_frame: str = parameter(
        "", "link whose way is shown; empty: the one after the most joints, none of a platform"
    )
    marker_frequency: float = parameter(
        30.0, "greatest rate of deformation_markers", unit="Hz", low=0.1, high=1000.0
    )
    publish_frequency: float = parameter(30.0, "greatest rate of /tf", unit="Hz", low=0.1, high=1000.0)
    publish_tf: bool = parameter(
        True, "publish /tf and /tf_static of the joints; false beside robot_state_publisher"
    )
    publish_base_tf: bool = parameter(
        True, "publish /tf_static world -> root link, of a base that moves world -> odom"
    )
    frame_prefix: str = parameter("", "put before every frame name of the robot")


@dataclass(frozen=True)
class ControllerParameters(RobotParameters, LifecycleParameters):
    """What all controllers have."""

    joints: tuple[str, ...] = parameter(
        (), "joints that are controlled; empty: all actuated coordinates of the robot"
    )
    bandwidth: float = parameter(
        0.0,
        "of gains that are not given; 0: half the lowest vibration with the joints locked, 10 rad/s where "
        "nothing bends",
        unit="rad/s",
        low=0.0,
        high=1e4,
    )
    damping_ratio: float = parameter(
        1.0, "of the joints' errors, for gains that are not given", unit="-", low=0.0, high=10.0
    )
    saturate: bool = parameter(True, "clip efforts to the effort limits of the joints")
    velocity_limits: str = parameter(
        "report",
        "trajectories that are faster than the joints' velocity limits: followed with a warning, or refused",
        choices=("report", "refuse"),
    )


@dataclass(frozen=True)
class PdControllerParameters(ControllerParameters):
    """Parameters of `pd_controller`."""

    command_interface: str = parameter(
        "auto",
        "what commands are: efforts of the feedback; positions and velocities for the robot's own servos, "
        "whose gains gains.JOINT then are; auto: efforts, unless the robot bends and feedback by samples "
        "would excite it",
        choices=("auto", "effort", "position"),
    )
    state_rate_hz: float = parameter(
        100.0, "rate of joint_states that auto reckons with", unit="Hz", low=0.1, high=10000.0
    )
    gravity_compensation: bool = parameter(
        True, "add the efforts that hold the robot at the target, in the shape that its weight bends it to"
    )
    deflection_compensation: bool = parameter(
        False,
        "move the joints' targets so that tip_frame is where it would be without deflection, at rest",
    )
    tip_frame: str = parameter("", "frame for deflection_compensation; empty: the robot's last")


@dataclass(frozen=True)
class InputShaperParameters(PdControllerParameters):
    """Parameters of `input_shaper`."""

    shaper: str = parameter(
        "zv", "two impulses per mode, or three that bear a wrong frequency better", choices=("zv", "zvd")
    )
    shaped_modes: int = parameter(
        2, "how many of the lowest lightly damped modes are shaped, when frequencies are not given",
        low=1, high=6,
    )  # fmt: skip
    frequencies: tuple[float, ...] = parameter(
        (0.0,),
        "of the modes to be shaped; 0: from the model, under the feedback's gains, at the end of each "
        "trajectory",
        unit="Hz",
    )
    mode_damping_ratio: float = parameter(
        0.0, "of the modes given by frequencies", unit="-", low=0.0, high=0.99
    )


@dataclass(frozen=True)
class ComputedTorqueParameters(ControllerParameters):
    """Parameters of `computed_torque`."""

    service: str = parameter(
        "dynamics_server/inverse_dynamics", "InverseDynamics service that turns accelerations into efforts"
    )
    robot: str = parameter("", "name of the robot at that service; empty: its only one")
    answer_timeout: float = parameter(
        0.05, "after which an answer is taken for lost and asked for again", unit="s", low=0.001, high=10.0
    )
    deflection_compensation: bool = parameter(
        True, "links that bend: efforts for the shape their weight bends them to, not for the straight one"
    )


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

NODES: dict[str, type] = {
    "dynamics_server": DynamicsServerParameters,
    "simulator": SimulatorParameters,
    "hydraulic_actuators": HydraulicActuatorsParameters,
    "state_publisher": StatePublisherParameters,
    "pd_controller": PdControllerParameters,
    "computed_torque": ComputedTorqueParameters,
    "input_shaper": InputShaperParameters,
}


def names_of(record: type) -> tuple[str, ...]:
    """ROS names of the parameters of a record."""
    return tuple(f.metadata["name"] or f.name for f in fields(record))


def _default(f: Any) -> Any:
    return f.default if f.default is not MISSING else f.default_factory()


def declare(node: Any, record: type[Record], prefix: str = "", *, only: type | None = None) -> Record:
    """Declare every field of `record` on an rclpy node and return the values found.

    Parameters
    ----------
    prefix : str
        Put before each name, e.g. "arm.".
    only : type, optional
        A base class of `record`: only its fields are declared, the others keep their defaults.

    Raises
    ------
    ParameterError
        If a value has the wrong type, is out of range or is none of the choices.
    """
    values = {}
    for f in fields(only or record):
        name = prefix + (f.metadata["name"] or f.name)
        default = _default(f)
        values[f.name] = _declare_one(node, name, default, f.metadata)
    return record(**values)


def check_changes(record: type, changes: list[Any]) -> dict[str, Any]:
    """Values by field that a running node takes over from changed parameters; others are passed over.

    Ranges are kept by ROS itself.

    Raises
    ------
    ParameterError
        If a value is none of the choices, or no finite number.
    """
    new = {}
    by_name = {f.metadata["name"] or f.name: f for f in fields(record)}
    for change in changes:
        f = by_name.get(change.name)
        if f is not None and not f.metadata["read_only"]:
            _check(change.name, change.value, f.metadata)
            new[f.name] = change.value
    return new


def declare_family(node: Any, prefix: str, defaults: dict[str, float], unit: str) -> dict[str, float]:
    """Declare PREFIX.NAME for every name in `defaults` (finite doubles) and return the values found.

    Raises
    ------
    ParameterError
        If a value is no finite number, or an override names something that is not in `defaults`.
    """
    given = [name for name in node._parameter_overrides if name.startswith(prefix + ".")]
    unknown = [name for name in given if name[len(prefix) + 1 :] not in defaults]
    if unknown:
        raise ParameterError(
            f"parameter {unknown[0]}: no such coordinate, expected one of {', '.join(defaults)}"
        )
    about = {
        "description": f"of {prefix}",
        "unit": unit,
        "low": None,
        "high": None,
        "choices": (),
        "read_only": True,
    }
    return {
        name: _declare_one(node, f"{prefix}.{name}", default, about) for name, default in defaults.items()
    }


def _declare_one(node: Any, name: str, default: Any, about: Any) -> Any:
    from rclpy.exceptions import (
        InvalidParameterTypeException,
        InvalidParameterValueException,
        ParameterUninitializedException,
    )
    from rclpy.parameter import Parameter

    if node.has_parameter(name):
        value = node.get_parameter_or(name, Parameter(name, value=default)).value
    else:
        _accept_integers(node, name, default)
        first = (
            Parameter.Type.STRING_ARRAY
            if default == ()
            else list(default)
            if isinstance(default, tuple)
            else default
        )
        try:
            value = node.declare_parameter(name, first, _descriptor(name, default, about)).value
        except ParameterUninitializedException:
            value = None
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise ParameterError(f"parameter {name}: {error}") from None
    value = default if value is None else tuple(value) if isinstance(default, tuple) else value
    _check(name, value, about)
    return value


def _accept_integers(node: Any, name: str, default: Any) -> None:
    """`step: 1` in a file is an integer for ROS; where a number is meant it is taken as one."""
    from rclpy.parameter import Parameter

    given = node._parameter_overrides.get(name)
    if isinstance(default, float) and given is not None and given.type_ == Parameter.Type.INTEGER:
        node._parameter_overrides[name] = Parameter(name, Parameter.Type.DOUBLE, float(given.value))


def _check(name: str, value: Any, about: Any) -> None:
    if about["choices"] and value not in about["choices"]:
        raise ParameterError(f"parameter {name} is {value!r}, expected one of {', '.join(about['choices'])}")
    if isinstance(value, float) and not isfinite(value):
        raise ParameterError(f"parameter {name} is {value}, expected a finite number")
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ParameterError(f"parameter {name} is {list(value)}, expected each entry once")


def _descriptor(name: str, default: Any, about: Any) -> Any:
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    unit = f" [{about['unit']}]" if about["unit"] else ""
    descriptor = ParameterDescriptor(
        name=name, description=about["description"] + unit, read_only=about["read_only"]
    )
    if about["choices"]:
        descriptor.additional_constraints = "one of " + ", ".join(about["choices"])
    if about["low"] is not None and isinstance(default, float):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=about["low"], to_value=about["high"], step=0.0)
        ]
    elif about["low"] is not None:
        descriptor.integer_range = [IntegerRange(from_value=about["low"], to_value=about["high"], step=1)]
    return descriptor


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
            shown = _shown(_default(f))
            about = f.metadata
            limits = (
                f"{about['low']:g} to {about['high']:g}"
                if about["low"] is not None
                else ", ".join(about["choices"])
            )
            name = about["name"] or f.name
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
