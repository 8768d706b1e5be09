"""Parameters of the hydraulic actuators."""

from __future__ import annotations

from dataclasses import dataclass

from flexdyn_ros.nodes.ros.declaration import parameter
from flexdyn_ros.nodes.ros.robot_parameters import LifecycleParameters, RobotParameters

__all__ = ["HydraulicActuatorsParameters"]


@dataclass(frozen=True)
class HydraulicActuatorsParameters(RobotParameters, LifecycleParameters):
    """Parameters of `hydraulic_actuators`."""

    rate_hz: float = parameter(
        1000.0,
        "rate of the ticks; in lockstep that of the leg states: one over the step of the simulator, or its "
        "lockstep_rate_hz",
        unit="Hz",
        low=1.0,
        high=20000.0,
    )
    lockstep: bool = parameter(
        True,
        "tick once per leg state, by exactly one period, and answer repeated ones with the same force, as "
        "the simulator's parameter of this name asks for; false: tick by the node's clock",
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
