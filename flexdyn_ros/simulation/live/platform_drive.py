"""What moves a simulated platform: leg forces, or cylinders in the loop; no ROS.

`Legs` lets leg commands be kept by `CommandBuffer`, with lengths of legs where joints have positions.
`PlatformDrive` takes the setpoints of the buffer at each tick and advances the stepper.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.control.feedback import computed_torque
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import Setpoint
from flexdyn_ros.simulation.live.hydraulic_inputs import HydraulicSetpoint
from flexdyn_ros.simulation.live.message_fields import is_stale
from flexdyn_ros.simulation.live.pose_path import PosePath
from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics
from flexdyn_ros.simulation.steps.stepper import Stepper

#: bandwidth [rad/s] of the controller that follows a platform trajectory: a fifth of that of the leg forces
BANDWIDTH = 20.0


class Leg(NamedTuple):
    """A leg as `CommandBuffer` sees a coordinate: position = length."""

    name: str
    v_index: int
    q_index: int
    lower: float
    upper: float
    actuated: bool = True
    prescribed: bool = False
    velocity_limit: float = inf


class Legs(NamedTuple):
    """The legs of a platform as `CommandBuffer` sees a robot."""

    coordinates: tuple[Leg, ...]
    v_names: tuple[str, ...]
    nv: int

    @staticmethod
    def of(robot: Robot) -> Legs:
        names, home = robot.effort_names, robot.inverse_kinematics(robot.neutral())
        lower = np.ravel(home.length - home.stroke).tolist()
        strokes = [leg.stroke for leg in robot.legs]
        legs = [Leg(name, i, i, lower[i], lower[i] + strokes[i]) for i, name in enumerate(names)]
        return Legs(tuple(legs), names, len(names))


class PlatformDrive:
    """Advances a platform's stepper as its commands say.

    Parameters
    ----------
    robot : Robot
        A platform.
    hydraulics : {"none", "fused"}
        Forces act on the rods directly; cylinders in the compiled loop make them.
    stiffness, damping : (6,) arrays
        Of the servos on leg lengths [N/m, N s/m].
    timeout : float
        Age at which a hydraulic command is stale [s].
    """

    def __init__(
        self,
        robot: Robot,
        hydraulics: str,
        stiffness: np.ndarray,
        damping: np.ndarray,
        *,
        timeout: float = 0.1,
    ) -> None:
        self.robot, self.hydraulics = robot, hydraulics
        self._stiffness, self._damping, self._timeout = stiffness, damping, timeout
        self.fused: FusedHydraulics | None = None
        self.stale = False
        self._path: PosePath | None = None
        self._law: Any = None
        self._valves: tuple[HydraulicSetpoint, float, float] | None = None

    # ---- what Simulation calls ----

    def begin(self, stepper: Stepper) -> None:
        """Another stepper, or another state of it: commands are forgotten, cylinders filled."""
        self.clear()
        self.robot, self.stale = stepper.robot, False
        if self.hydraulics == "fused":
            self.fused = FusedHydraulics(stepper, "valve")

    def continue_with(self, stepper: Stepper) -> None:
        """Another stepper in the same state (another payload)."""
        self.robot = stepper.robot
        if self.fused is not None:
            state, mode = self.fused.state(), self.fused.mode
            self.fused = FusedHydraulics(stepper, mode)
            self.fused.set_state(state)
        if self._path is not None:
            self.follow(self._path)

    def measured(self, stepper: Stepper) -> np.ndarray:
        """Lengths of the legs (6,) [m]."""
        return self.robot.inverse_kinematics(stepper.q.copy()).length

    def motion(self, stepper: Stepper) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and rates of the legs (6,) [m, m/s]."""
        legs = self.robot.inverse_kinematics(stepper.q.copy(), stepper.v.copy())
        return legs.length, legs.rate

    def advance(
        self, stepper: Stepper, setpoint: Setpoint, steps: int, obey: Callable[[Setpoint], None]
    ) -> int:
        """Some steps by a setpoint; the stepper's status. `obey` gives a setpoint to the stepper itself."""
        tau = self._following(stepper)
        if self.hydraulics == "fused":
            self._tell_cylinders(stepper, setpoint, tau)
        elif tau is None:
            obey(setpoint)
        else:
            stepper.set_servo(0.0, 0.0)
            stepper.tau[:] = np.clip(tau, -self.robot.effort_limits, self.robot.effort_limits)
        return stepper.advance(steps)

    # ---- commands beside those of the buffer ----

    def follow(self, path: PosePath) -> None:
        """Follow a path of the pose from now on, by computed forces; its end is held."""
        self._path, self._valves = path, None
        self._law = computed_torque(self.robot, path, BANDWIDTH)

    def take_setpoint(self, setpoint: HydraulicSetpoint, sim_time: float, wall_time: float) -> None:
        """A setpoint for the cylinders in the loop, directly."""
        self._valves, self._path = (setpoint, sim_time, wall_time), None

    def clear(self) -> None:
        """No such commands any more."""
        self._path = self._valves = None

    # ---- how ----

    def _following(self, stepper: Stepper) -> np.ndarray | None:
        """Forces (6,) that follow the path, if there is one."""
        if self._path is None:
            return None
        return self._law(stepper.t, stepper.q.copy(), stepper.v.copy())

    def _tell_cylinders(self, stepper: Stepper, setpoint: Setpoint, tau: np.ndarray | None) -> None:
        """Valves or forces: of a hydraulic command, a path, or the setpoint; closed valves without any."""
        assert self.fused is not None
        limits = self.robot.effort_limits
        if self._valves is not None:
            given, sim_time, wall_time = self._valves
            ages = stepper.t - sim_time, time.monotonic() - wall_time
            self.stale = bool(is_stale(self._timeout, *ages))
            values = np.zeros(6) if self.stale else given.values
            self.fused.command(values, "force" if given.force and not self.stale else "valve")
            return
        self.stale = False
        if tau is None:
            if not (setpoint.servo_velocity.any() or setpoint.effort.any()):
                self.fused.command(np.zeros(6), "valve")
                return
            tau = self._servo_force(stepper, setpoint)
        self.fused.command(np.clip(tau, -limits, limits), "force")

    def _servo_force(self, stepper: Stepper, setpoint: Setpoint) -> np.ndarray:
        """Force (6,) of a setpoint: its effort, servos on lengths and rates, gravity where they ask."""
        q, v, rest = stepper.q.copy(), stepper.v.copy(), np.zeros(6)
        legs = self.robot.inverse_kinematics(q, v)
        tau = setpoint.effort + np.where(setpoint.gravity, self.robot.inverse_dynamics(q, rest, rest), 0.0)
        tau += np.where(setpoint.servo_position, self._stiffness * (setpoint.position - legs.length), 0.0)
        return tau + np.where(setpoint.servo_velocity, self._damping * (setpoint.velocity - legs.rate), 0.0)
