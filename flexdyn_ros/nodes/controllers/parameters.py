"""Parameters of the controllers."""

from __future__ import annotations

from dataclasses import dataclass

from flexdyn_ros.nodes.ros.declaration import parameter
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters

__all__ = [
    "ComputedTorqueParameters",
    "ControllerParameters",
    "InputShaperParameters",
    "PdControllerParameters",
    "PlatformControllerParameters",
    "SoftArmControllerParameters",
]


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


@dataclass(frozen=True)
class FeedForwardParameters(RobotParameters, LifecycleParameters):
    """Feed-forward by inverse dynamics, and feedback on the coordinates of the actuators."""

    feed_forward: str = parameter(
        "full",
        "inverse dynamics of the reference; only what holds the reference at rest; nothing",
        choices=("full", "static", "none"),
    )
    bandwidth: float = parameter(
        10.0, "of the feedback, against the inertia that the actuators feel", unit="rad/s", low=0.0, high=1e4
    )
    damping_ratio: float = parameter(1.0, "of the errors", unit="-", low=0.0, high=10.0)
    state_rate_hz: float = parameter(
        100.0, "rate of the states, for which the closed loop is checked", unit="Hz", low=0.1, high=10000.0
    )
    actuator_lag: float = parameter(
        0.0,
        "how late the forces come: the feed-forward looks so far ahead, and half a period of the states",
        unit="s",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True)
class PlatformControllerParameters(FeedForwardParameters):
    """Parameters of `platform_controller`."""

    output: str = parameter(
        "forces",
        "joint_commands with forces of the legs, or commands of forces to hydraulic cylinders",
        choices=("forces", "cylinders"),
    )
    saturate: bool = parameter(True, "clip forces to the effort limits of the legs")


@dataclass(frozen=True)
class SoftArmControllerParameters(FeedForwardParameters):
    """Parameters of `soft_arm_controller`."""

    tip_target: str = parameter(
        "position",
        "what of the poses of ~/tip_trajectory the tip is to have: the position alone, or all",
        choices=("position", "pose"),
    )
    output: str = parameter(
        "auto",
        "pressures of the actuators, or their forces; auto: pressures where every section has a <pressure>",
        choices=("auto", "pressures", "forces"),
    )
