"""A simulated robot without any ROS: stepper, commands and loads together, advanced by ticks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError, SingularityError
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, Setpoint
from flexdyn_ros.simulation.steps.stepper import OK, Stepper
from flexdyn_ros.simulation.steps.stiffness import reciprocal
from flexdyn_ros.simulation.verdict import ROUNDING

if TYPE_CHECKING:
    from flexdyn_ros.robot.coordinates import Coordinate
    from flexdyn_ros.robot.verbs import Robot

#: share of what passed through the accounts below which their error is rounding
SMALL = 1e-6
#: bandwidth of the default servo [rad/s]
BANDWIDTH = 2.0 * pi * 10.0
#: position error at which the default servo reaches the effort limit, if that is stiffer [rad or m]
REACH = 0.1
#: time constant with which the base follows a commanded speed [s]
RESPONSE = 0.1


class Driven(NamedTuple):
    """What commands joint by joint are about, as `CommandBuffer` sees a robot: coordinates, and elements that
    are driven, whose positions follow q."""

    coordinates: tuple[Coordinate, ...]
    v_names: tuple[str, ...]
    nv: int

    @staticmethod
    def of(robot: Robot) -> Driven:
        """Of a robot whose efforts are those of its coordinates, and of such elements."""
        coordinates = robot.functions.effort_coordinates
        return Driven(coordinates, tuple(c.name for c in coordinates), len(coordinates))


def driven_motion(stepper: Stepper) -> tuple[np.ndarray, np.ndarray]:
    """q and v, then lengths and rates of the elements that are driven."""
    robot, q, v = stepper.robot, stepper.q, stepper.v
    if robot.nu == robot.nv:
        return q, v
    position, speed = robot.functions.effort_motion(q, v)
    return np.concatenate([q, position[robot.nv :]]), np.concatenate([v, speed[robot.nv :]])


def default_gains(robot: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and critical damping (nu,) of the servos of joints and cylinders about a configuration.

    Stiffness M_ii (2 pi 10 Hz)^2, or effort limit / 0.1 (rad or m) where that is more; damping 2
    sqrt(stiffness M_ii). In closed mechanisms the inertia of a joint is what a torque there feels. Zero for
    coordinates that are not actuated.
    """
    functions = robot.functions
    driven, inverse = functions.effort_coordinates, functions.inverse_inertia
    if functions.is_constrained:
        inertia = reciprocal(np.diagonal(inverse(q)))
    else:
        inertia = np.diagonal(robot.mass_matrix(q)).copy()
    if len(driven) > robot.nv:
        # along an element, what a force there feels
        lines = robot.actuation_matrix(q)[:, robot.nv :]
        felt = np.einsum("ij,ij->j", lines, inverse(q) @ lines)
        inertia = np.concatenate([inertia, reciprocal(felt)])
    effort = np.array([c.effort_limit if c.effort_limit < inf else 0.0 for c in driven])
    actuated = np.array([c.actuated for c in driven], dtype=bool)
    stiffness = np.where(actuated, np.maximum(inertia * BANDWIDTH**2, effort / REACH), 0.0)
    return stiffness, 2.0 * np.sqrt(stiffness * inertia)


@dataclass(frozen=True)
class Load:
    """A wrench (moment; force) (6,) on a frame, in the axes of another (None: world), until a simulated time
    [s]."""

    frame: str
    wrench: np.ndarray
    axes: str | None = None
    until: float = inf


class SpeedServo:
    """Sets the acceleration of the prescribed coordinate before every step, so that its speed nears the
    commanded one by 1 - exp(-dt / 0.1 s) a step, however many steps a tick has.

    Parameters
    ----------
    v_index : int
        Of the prescribed coordinate.
    """

    def __init__(self, v_index: int) -> None:
        self._at = v_index
        self._target: float | None = None

    def command(self, speed: float) -> None:
        """Speed to reach [m/s]."""
        self._target = speed

    def clear(self, stepper: Stepper) -> None:
        """No command: the speed stays what it is."""
        self._target = None
        stepper.given[self._at] = 0.0

    def advance(self, stepper: Stepper, steps: int) -> int:
        """Advance a stepper by so many steps; answers as `Stepper.advance`."""
        if self._target is None:
            return stepper.advance(steps)
        share = (1.0 - exp(-stepper.dt / RESPONSE)) / stepper.dt
        for _ in range(steps):
            stepper.given[self._at] = (self._target - stepper.v[self._at]) * share
            status = stepper.advance(1)
            if status != OK:
                return status
        return OK


class Simulation:
    """One robot, its stepper, its commands and loads. Not safe for several threads at once.

    Parameters
    ----------
    robot : Robot
    buffer : CommandBuffer
    q0, v0 : (nq,), (nv,) arrays
        State after start and reset.
    stiffness, damping : (nu,) arrays
        Gains of the servos when they are on.
    drive : PlatformDrive, OilDrive or ExternalDrive, optional
        What advances the stepper of a platform, of a tree whose cylinders oil drives, or of a robot whose
        cylinders are computed by another process.
    options : of the Stepper
    """

    def __init__(
        self,
        robot: Any,
        buffer: CommandBuffer,
        q0: np.ndarray,
        v0: np.ndarray,
        stiffness: np.ndarray,
        damping: np.ndarray,
        drive: Any = None,
        **options: Any,
    ) -> None:
        self.robot, self.buffer = robot, buffer
        self._q0, self._v0 = q0.copy(), v0.copy()
        self._stiffness, self._damping = stiffness, damping
        self._options = options
        self._zero = np.zeros(robot.nv)
        self._loads: dict[str, Load] = {}
        self._loads_changed = False
        self._setpoint: Setpoint | None = None
        self.fault = ""
        self.stepper = Stepper(robot, q0=q0, v0=v0, **options)
        #: energy when the state was set, and the largest kinetic energy since then [J]
        self._energy0, self._peak = 0.0, 0.0
        self._begin_account()
        given = [c.v_index for c in robot.coordinates if c.prescribed]
        #: what moves a prescribed coordinate as commanded; None where there is none
        self.speed_servo = SpeedServo(given[0]) if given else None
        self.drive = drive
        if drive is not None:
            drive.begin(self.stepper)

    # ---- time ----

    def tick(self, steps: int) -> bool:
        """Do as commanded for some steps; False on failure: the last valid state is kept."""
        if self.fault:
            return False
        stepper = self.stepper
        measured = driven_motion(stepper)[0] if self.drive is None else self.drive.measured(stepper)
        setpoint = self.buffer.setpoint(stepper.t, time.monotonic(), measured)
        if self.drive is None:
            self._obey(setpoint)
        if self._loads:
            self._pull()
        if self.drive is None:
            servo = self.speed_servo
            status = stepper.advance(steps) if servo is None else servo.advance(stepper, steps)
        else:
            status = self.drive.advance(stepper, setpoint, steps, self._obey)
        if status == OK:
            self._peak = max(self._peak, float(stepper.energy().kinetic))
            return True
        self.fault = stepper.message
        return False

    def _obey(self, setpoint: Setpoint) -> None:
        stepper = self.stepper
        if setpoint is not self._setpoint:
            before, self._setpoint = self._setpoint, setpoint
            stepper.target_q[:], stepper.target_v[:], stepper.tau[:] = (
                setpoint.position,
                setpoint.velocity,
                setpoint.effort,
            )
            if before is None or not (
                np.array_equal(before.servo_position, setpoint.servo_position)
                and np.array_equal(before.servo_velocity, setpoint.servo_velocity)
            ):
                stepper.set_servo(
                    self._stiffness * setpoint.servo_position, self._damping * setpoint.servo_velocity
                )
            self._compensates = bool(setpoint.gravity.any())
        if self._compensates:
            stepper.tau[:] = setpoint.effort + np.where(setpoint.gravity, self._weight(), 0.0)

    def _weight(self) -> np.ndarray:
        """Efforts (nu,) that hold the robot where it is; 0 where actuators of a closed mechanism cannot."""
        try:
            return self.robot.inverse_dynamics(self.stepper.q.copy(), self._zero, self._zero)
        except SingularityError:
            return np.zeros(self.robot.nu)

    def joint_motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities that commands are about: of coordinates and cylinders, of a platform its
        legs' lengths."""
        stepper = self.stepper
        if self.drive is None:
            q, v = driven_motion(stepper)
            return q.copy(), v.copy()
        position, velocity = self.drive.motion(stepper)
        return position.copy(), velocity.copy()

    def clear_drive(self) -> None:
        """A command of the buffer has come: commands of a drive beside it end."""
        if self.drive is not None:
            self.drive.clear()
            self._setpoint = None

    # ---- loads ----

    def set_load(self, load: Load) -> None:
        """Put a load on its frame in place of the one before; a zero wrench clears it."""
        if load.wrench.any():
            self._loads[load.frame] = load
        else:
            self._loads.pop(load.frame, None)
        self._loads_changed = True
        if not self._loads:
            self._pull()

    def loads(self) -> Mapping[str, np.ndarray]:
        """Wrenches (6,) now, (moment; force) in world axes, by frame."""
        q = self.stepper.q
        out = {}
        for frame, load in self._loads.items():
            R = np.eye(3) if load.axes is None else self.robot.frames(q, load.axes)[:3, :3]
            out[frame] = np.concatenate((R @ load.wrench[:3], R @ load.wrench[3:]))
        return out

    def _pull(self) -> None:
        now = self.stepper.t
        expired = [frame for frame, load in self._loads.items() if now >= load.until - 1e-12]
        for frame in expired:
            del self._loads[frame]
        turning = any(load.axes is not None for load in self._loads.values())
        if turning or expired or self._loads_changed:
            self.stepper.set_wrenches(self.loads() or None)
            self._loads_changed = False

    # ---- state ----

    def reset(self) -> None:
        """Back to the initial state at time zero; commands, loads and faults are forgotten."""
        self._loads.clear()
        self.stepper.set_wrenches(None)
        self.set_state(self._q0, self._v0, t=0.0)

    def set_state(self, q: np.ndarray, v: np.ndarray, t: float | None = None) -> None:
        """Go on from another state; commands and faults are forgotten.

        Raises DimensionError or StateError, and then the state is what it was.
        """
        before, states = (self.stepper.q.copy(), self.stepper.v.copy(), self.stepper.t), self.stepper.states
        try:
            self.stepper.set_state(q, v, t)
        except FlexdynError:
            self.stepper.set_state(*before)
            self.stepper.set_states(states)
            raise
        self.buffer.clear()
        if self.speed_servo is not None:
            self.speed_servo.clear(self.stepper)
        self._setpoint = None
        self.stepper.tau[:] = 0.0
        self.stepper.set_servo(0.0, 0.0)
        self.fault = ""
        self._begin_account()
        if self.drive is not None:
            self.drive.begin(self.stepper)

    def set_payload(self, frame: str, mass: float, com: np.ndarray, inertia: np.ndarray | None) -> None:
        """Another robot, with a payload, in the same state; wrenches and commands stay."""
        robot = self.robot.with_payload(frame, mass, com, inertia)
        old = self.stepper
        q, v = old.q.copy(), old.v.copy()
        self.stepper = Stepper(robot, q0=q, v0=v, t0=old.t, states0=old.states, **self._options)
        self.robot, self._setpoint, self._loads_changed = robot, None, True
        self._begin_account()
        if self.drive is not None:
            self.drive.continue_with(self.stepper)

    def _begin_account(self) -> None:
        """Make the present energy the reference of the balance."""
        energy = self.stepper.energy()
        self._energy0, self._peak = float(energy.total), float(energy.kinetic)

    @property
    def balance_share(self) -> float:
        """|energy_balance_error| over the largest kinetic energy since the state was set; 0 where that is no
        more than rounding of what was at work."""
        energy, off = self.stepper.energy(), abs(self.energy_balance_error)
        passed = abs(self.stepper.work) + abs(self.stepper.dissipated)
        least = max(ROUNDING * (sum(abs(part) for part in energy) + passed), SMALL * passed)
        return off / self._peak if off > least and self._peak > 0.0 else 0.0

    @property
    def energy_balance_error(self) -> float:
        """total - work + dissipated, less what it was when the state was set [J]."""
        stepper = self.stepper
        return float(stepper.energy().total) - stepper.work + stepper.dissipated - self._energy0
