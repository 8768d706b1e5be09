"""Parameters of the hydraulic actuators."""

from __future__ import annotations

from flexdyn_ros.description.language.vocabulary import boolean, choice, element, number
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters


@element("hydraulic_actuators", "Parameters of `hydraulic_actuators`.")
class HydraulicActuatorsParameters(RobotParameters, LifecycleParameters):
    rate_hz: float = number(
        "Hz",
        "rate of the ticks; in lockstep that of the leg states: one over the step of the simulator, or its "
        "lockstep_rate_hz",
        within=(1.0, 20000.0),
        default=1000.0,
    )
    lockstep: bool = boolean(
        "tick once per leg state, by exactly one period, and answer repeated ones with the same force, as "
        "the simulator's parameter of this name asks for; false: tick by the node's clock",
        default=True,
    )
    command_timeout: float = number(
        "s", "age at which a command is stale", within=(1e-3, 3600.0), default=0.1
    )
    state_timeout: float = number(
        "s", "age at which a leg state is stale", within=(1e-3, 3600.0), default=0.02
    )
    max_velocity: float = number(
        "m/s", "leg states with faster legs are refused", within=(1e-3, 100.0), default=2.0
    )
    on_stale_command: str = choice(
        "close lower",
        "what valves do without fresh commands: close, or open by lower_opening",
        default="close",
    )
    lower_opening: float = number(
        "-", "valve opening that lowers the platform", within=(-1.0, 0.0), default=-0.05
    )
    p_initial: float = number(
        "Pa",
        "absolute pressure of both chambers at start and reset; 0: in equilibrium with the present force",
        within=(0.0, 1e9),
        default=0.0,
    )
