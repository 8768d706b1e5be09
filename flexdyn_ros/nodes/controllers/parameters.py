"""Parameters of the controllers."""

from __future__ import annotations

from typing import ClassVar

from flexdyn_ros.description.language.vocabulary import (
    boolean,
    choice,
    element,
    integer,
    number,
    numbers,
    text,
    words,
)
from flexdyn_ros.nodes.ros.declaration import ParameterGroup, family
from flexdyn_ros.nodes.ros.robot_parameters import CONSTRAINTS, LifecycleParameters, RobotParameters


def _gains(p_unit: str, d_unit: str) -> ParameterGroup:
    derived = "of joint NAME; -1: from bandwidth and damping_ratio"
    return family(
        "gains",
        ("NAME.p", p_unit, f"position gain {derived}", -1.0),
        ("NAME.d", d_unit, f"velocity gain {derived}", -1.0),
        live=True,
    )


@element("controller", "What all controllers have.")
class ControllerParameters(RobotParameters, LifecycleParameters):
    families: ClassVar[tuple[ParameterGroup, ...]] = (_gains("N m/rad, N/m", "N m s/rad, N s/m"), CONSTRAINTS)
    joints: tuple[str, ...] = words(
        "joints that are controlled; empty: all actuated coordinates of the robot", default=()
    )
    bandwidth: float = number(
        "rad/s",
        "of gains that are not given; 0: half the lowest vibration with the joints locked, 10 rad/s where "
        "nothing bends",
        within=(0.0, 1e4),
        default=0.0,
    )
    damping_ratio: float = number(
        "-", "of the joints' errors, for gains that are not given", within=(0.0, 10.0), default=1.0
    )
    saturate: bool = boolean("clip efforts to the effort limits of the joints", default=True)
    velocity_limits: str = choice(
        "report refuse",
        "trajectories that are faster than the joints' velocity limits: followed with a warning, or refused",
        default="report",
    )


@element("pd_controller", "Parameters of `pd_controller`.")
class PdControllerParameters(ControllerParameters):
    command_interface: str = choice(
        "auto effort position",
        "what commands are: efforts of the feedback; positions and velocities for the robot's own servos, "
        "which then have the gains gains.JOINT; auto: efforts, unless the robot bends and sampled feedback "
        "would excite it",
        default="auto",
    )
    state_rate_hz: float = number(
        "Hz", "rate of joint_states that auto assumes", within=(0.1, 10000.0), default=100.0
    )
    gravity_compensation: bool = boolean(
        "add the efforts that hold the robot at the target, in the shape that its weight bends it to",
        default=True,
    )
    deflection_compensation: bool = boolean(
        "move the joints' targets so that tip_frame is where it would be without deflection, at rest",
        default=False,
    )
    tip_frame: str = text("frame for deflection_compensation; empty: the robot's last", default="")


@element("input_shaper", "Parameters of `input_shaper`.")
class InputShaperParameters(PdControllerParameters):
    shaper: str = choice(
        "zv zvd",
        "two impulses per mode, or three, which tolerate a larger error of the frequency",
        default="zv",
    )
    shaped_modes: int = integer(
        "how many of the lowest lightly damped modes are shaped, when frequencies are not given",
        within=(1, 6),
        default=2,
    )
    frequencies: tuple[float, ...] = numbers(
        "Hz",
        "of the modes to be shaped; 0: from the model, under the feedback's gains, at the end of each "
        "trajectory",
        default=(0.0,),
    )
    mode_damping_ratio: float = number(
        "-", "of the modes given by frequencies", within=(0.0, 0.99), default=0.0
    )


@element("computed_torque", "Parameters of `computed_torque`.")
class ComputedTorqueParameters(ControllerParameters):
    families: ClassVar[tuple[ParameterGroup, ...]] = (_gains("1/s2", "1/s"), CONSTRAINTS)
    service: str = text(
        "InverseDynamics service that turns accelerations into efforts",
        default="dynamics_server/inverse_dynamics",
    )
    robot: str = text("name of the robot at that service; empty: its only one", default="")
    answer_timeout: float = number(
        "s", "after which a request without an answer is repeated", within=(0.001, 10.0), default=0.05
    )
    deflection_compensation: bool = boolean(
        "links that bend: efforts for the shape their weight bends them to, not for the straight one",
        default=True,
    )


@element(
    "feed_forward", "Feed-forward by inverse dynamics, and feedback on the coordinates of the actuators."
)
class FeedForwardParameters(RobotParameters, LifecycleParameters):
    feed_forward: str = choice(
        "full static none",
        "inverse dynamics of the reference; only what holds the reference at rest; nothing",
        default="full",
    )
    bandwidth: float = number(
        "rad/s",
        "of the feedback, against the inertia that the actuators feel",
        within=(0.0, 1e4),
        default=10.0,
    )
    damping_ratio: float = number("-", "of the errors", within=(0.0, 10.0), default=1.0)
    state_rate_hz: float = number(
        "Hz", "rate of the states, for which the closed loop is checked", within=(0.1, 10000.0), default=100.0
    )
    actuator_lag: float = number(
        "s",
        "delay of the forces; the feed-forward leads by it and by half a period of the states",
        within=(0.0, 1.0),
        default=0.0,
    )


@element("platform_controller", "Parameters of `platform_controller`.")
class PlatformControllerParameters(FeedForwardParameters):
    output: str = choice(
        "forces cylinders",
        "joint_commands with forces of the legs, or commands of forces to hydraulic cylinders",
        default="forces",
    )
    saturate: bool = boolean("clip forces to the effort limits of the legs", default=True)


@element("soft_arm_controller", "Parameters of `soft_arm_controller`.")
class SoftArmControllerParameters(FeedForwardParameters):
    tip_target: str = choice(
        "position pose",
        "which part of the poses of ~/tip_trajectory the tip tracks: the position alone, or all",
        default="position",
    )
    output: str = choice(
        "auto pressures forces",
        "pressures of the actuators, or their forces; auto: pressures where every section has a <pressure>",
        default="auto",
    )
