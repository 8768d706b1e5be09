"""Parameters of the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from flexdyn_ros.nodes.ros.declaration import ParameterError, parameter
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters

__all__ = ["SimulatorParameters", "steps_per_force"]


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
    frame_prefix: str = parameter(
        "",
        "put before every frame name of the robot in /tf, odom and wrenches, for several robots; world and "
        "odom are shared, ~/external_wrench takes frames with and without it",
    )
    real_joints_only: bool = parameter(
        False,
        "joint_states holds the joints of the robot's own URDF only, not those by which the expanded robot "
        "shows how links bend",
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
    lockstep_rate_hz: float = parameter(
        0.0,
        "in lockstep: rate in simulated time at which leg states go out and forces are waited for, which are "
        "held in between; 1 / step or a whole part of it, and rate_hz of the actuators; 0: every step",
        unit="Hz",
        low=0.0,
        high=1e6,
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
