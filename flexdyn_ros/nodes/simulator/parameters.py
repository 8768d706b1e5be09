"""Parameters of the simulator."""

from __future__ import annotations

from typing import ClassVar

from flexdyn_ros.description.language.vocabulary import boolean, choice, element, integer, number, text, words
from flexdyn_ros.nodes.ros.declaration import ParameterError, ParameterGroup, family
from flexdyn_ros.nodes.ros.robot_parameters import (
    CONSTRAINTS,
    LEAKAGES,
    SPEEDS,
    LifecycleParameters,
    RobotParameters,
)

_AFTER_START = "of coordinate NAME after start and reset"
_SERVO = "of joint NAME; default as in docs/nodes.md"
POSITIONS = family("initial.positions", ("NAME", "rad, m", f"position {_AFTER_START}", None), least=None)
VELOCITIES = family(
    "initial.velocities", ("NAME", "rad/s, m/s", f"velocity {_AFTER_START}", None), least=None
)
STIFFNESS = family("servo.stiffness", ("NAME", "N m/rad, N/m", f"position gain {_SERVO}", None))
DAMPING = family("servo.damping", ("NAME", "N m s/rad, N s/m", f"velocity gain {_SERVO}", None))


@element("simulator", "Parameters of `simulator`.")
class SimulatorParameters(RobotParameters, LifecycleParameters):
    families: ClassVar[tuple[ParameterGroup, ...]] = (
        *(POSITIONS, VELOCITIES, STIFFNESS, DAMPING, SPEEDS, LEAKAGES),
        CONSTRAINTS,
    )
    step: float = number("s", "step of the integration", within=(1e-6, 0.1), default=0.001)
    method: str = choice("auto semi_implicit_euler rk4 scaled_rk4 rosenbrock", "integrator", default="auto")
    specialized: bool = boolean(
        "let the C compiler of this machine compile the robot's dynamics, once; without one a warning",
        default=False,
    )
    publish_rate_hz: float = number(
        "Hz",
        "rate in simulated time of joint_states, ~/state, odom, /tf and /clock",
        within=(0.1, 10000.0),
        default=100.0,
    )
    deflection_rate_hz: float = number(
        "Hz",
        "rate in simulated time of ~/energy, ~/wrench/JOINT and deflections",
        within=(0.1, 1000.0),
        default=30.0,
    )
    real_time_factor: float = number(
        "-",
        "simulated seconds per second of wall time; 0: as fast as possible",
        within=(0.0, 1000.0),
        default=1.0,
    )
    thread_priority: int = integer(
        "real-time priority (SCHED_FIFO) of the thread that keeps pace with wall time, where the system "
        "grants it; 0: ordinary scheduling",
        within=(0, 99),
        default=50,
    )
    start_paused: bool = boolean("wait for ~/resume or ~/step after activation", default=False)
    use_clock: bool = boolean(
        "publish /clock and stamp messages with simulated time; false: stamp with the node's clock",
        default=True,
    )
    frame_prefix: str = text(
        "put before every frame name of the robot in /tf, odom and wrenches, for several robots; world and "
        "odom are shared, ~/external_wrench takes frames with and without it",
        default="",
    )
    real_joints_only: bool = boolean(
        "joint_states holds the joints of the robot's own URDF only, not those by which the expanded robot "
        "shows how links bend",
        default=False,
    )
    joints: tuple[str, ...] = words(
        "order of ~/commands; empty: all actuated coordinates in the robot's order", default=()
    )
    command_interface: str = choice(
        "effort position velocity",
        "what ~/commands means; position and velocity: a JointState with effort alone is refused",
        default="effort",
    )
    nan_in_commands: str = choice(
        "refuse skip",
        "a NaN among the numbers of a joint command refuses it, or means that this joint has no such value; "
        "hardware of ros2_control sends it for joints that no controller claims",
        default="refuse",
    )
    command_timeout: float = number(
        "s",
        "age at which a command is stale, in simulated and in wall time; 0: never",
        within=(0.0, 3600.0),
        default=0.1,
    )
    on_stale_command: str = choice(
        "hold zero damp",
        "what a joint whose command is stale does: servo at its position then, no effort, or damping",
        default="hold",
    )
    before_first_command: str = choice(
        "zero hold damp",
        "what a joint does that has not been commanded since the start or a reset: no effort, servo at its "
        "position, or damping",
        default="zero",
    )
    saturate: bool = boolean("clip efforts to the effort limits of the joints", default=True)
    limits: str = choice(
        "spring report", "joint limits: soft stops, or only a warning in the diagnostics", default="spring"
    )
    hydraulics: str = choice(
        "fused external none",
        "cylinders with <hydraulics>: in the compiled steps, in another process, or none",
        default="fused",
    )
    external_cylinders: tuple[str, ...] = words(
        "with hydraulics external: cylinders that another process computes, none of which shares its supply "
        "with one that stays; empty: all",
        default=(),
    )
    lockstep: bool = boolean(
        "with hydraulics external: advance one step per fresh leg force; false: run freely", default=True
    )
    lockstep_rate_hz: float = number(
        "Hz",
        "in lockstep: rate in simulated time at which leg states go out and forces are waited for, which are "
        "held in between; 1 / step or a whole part of it, and rate_hz of the actuators; 0: every step",
        within=(0.0, 1e6),
        default=0.0,
    )
    publish_base_tf: bool = boolean(
        "publish /tf odom -> root link of a floating or planar base", default=True
    )
    wrench_joints: tuple[str, ...] = words(
        "joints of a tree whose reaction wrench is published on ~/wrench/JOINT, beside that of the ground on "
        "~/wrench/base, which is there while anybody listens to it",
        default=(),
    )
    record_file: str = text(
        "MCAP file to record what is published (without /clock) into; empty: none; needs flexdyn_ros[record]",
        default="",
    )
    record_split_size: float = number(
        "MB",
        "size of a recorded file after which the next one begins, in a new folder of rosbag2; 0: one file",
        within=(0.0, 1e6),
        default=0.0,
    )
    record_split_duration: float = number(
        "s",
        "time of a recorded file after which the next one begins, in a new folder of rosbag2; 0: one file",
        within=(0.0, 1e6),
        default=0.0,
    )
    servo_gravity_compensation: bool = boolean(
        "add the gravity effort to joints that are servoed without an effort of their own",
        name="servo.gravity_compensation",
        default=True,
    )
    servo_extrapolation: bool = boolean(
        "position targets move on with their velocity targets, from the stamp of the command and for at most "
        "0.2 s: for references that come in samples, and late",
        name="servo.extrapolation",
        default=False,
    )


def steps_per_force(settings: SimulatorParameters) -> int:
    """Steps from one leg force to the next, in lockstep with actuators in another process.

    Raises
    ------
    ParameterError
        If a rate of the lockstep is no whole part of that of the steps.
    """
    if settings.hydraulics != "external" or not settings.lockstep:
        return 1
    _steps_between(settings, "publish_rate_hz", settings.publish_rate_hz)
    if settings.lockstep_rate_hz == 0.0:
        return 1
    return _steps_between(settings, "lockstep_rate_hz", settings.lockstep_rate_hz)


def _steps_between(settings: SimulatorParameters, name: str, rate: float) -> int:
    """Steps in a period of a rate [Hz]; periods between steps would be long at one time, short at another."""
    steps = 1.0 / (rate * settings.step)
    whole = round(steps)
    if whole < 1 or abs(steps - whole) > 1e-6 * steps:
        near = 1.0 / (max(whole, 1) * settings.step)
        raise ParameterError(
            f"parameter {name} is {rate:g} Hz, expected in lockstep the rate of the steps, "
            f"{1.0 / settings.step:g} Hz, divided by a whole number, as {near:g} Hz"
        )
    return whole
