"""What moves a simulated platform: leg forces, cylinders in the loop, or forces from another process; no ROS.

`Legs` lets leg commands be kept by `CommandBuffer`, with lengths of legs where joints have positions.
`PlatformDrive` takes the setpoints of the buffer at each tick and advances the stepper.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.control.feedback import computed_torque
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import Setpoint
from flexdyn_ros.simulation.live.hydraulic_policy import HydraulicSetpoint
from flexdyn_ros.simulation.live.message_fields import is_stale
from flexdyn_ros.simulation.live.pose_path import PosePath
from flexdyn_ros.simulation.steps.fused_hydraulics import FusedHydraulics
from flexdyn_ros.simulation.steps.stepper import OK, Stepper

#: bandwidth [rad/s] of the controller that follows a platform trajectory: a fifth of that of the leg forces
BANDWIDTH = 20.0
#: a stamp that is older than the last by more than this means that the sender's clock jumped back [ns]
BACK = 1_000_000_000
#: seconds that a step in lockstep waits for a force at a time, and after which the leg states are sent again
WAIT, SEND_AGAIN = 0.005, 0.05


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


class ForceGate:
    """Leg forces from another process: which are fresh. Callbacks write, the loop reads.

    A force that answers a leg state bears its stamp: it is fresh if it answers the newest one and is the
    first that does. So an answer to a simulator that ran before this one is not taken, nor does it stop those
    that come after it.

    A force with a stamp of the sender's own clock is fresh if that is later than the last one taken, or by
    more than a second earlier (the clock jumped back), or if it has none (zero) and differs from the last
    one; so repeated and delayed messages change nothing. After `clear` time may begin anew: forces that were
    stamped within a second before are not taken.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._arrived = threading.Event()
        self._last = self.newest_sent = self._answered = self._before = -1
        self.clear()

    def clear(self) -> None:
        """Start over, at another time."""
        #: latest stamp of forces for the time before, and time [ns] of the leg state that was sent last
        self._before = max(self._before, self._last, self.newest_sent)
        self._last = self.newest_sent = self._answered = -1
        self._force: np.ndarray | None = None
        self._arrived.clear()
        self.taken = self.late = 0
        self.wall_time = -inf

    def take(self, stamp: int, efforts: dict[str, float], is_answer: bool = False) -> None:
        """A force by leg name, stamped in nanoseconds, and whether it says that it answers a leg state;
        ValueError if it is malformed."""
        missing = [name for name in self._names if name not in efforts]
        if missing:
            raise ValueError(f"leg forces lack {', '.join(missing)}")
        force = np.array([efforts[name] for name in self._names])
        if not np.isfinite(force).all():
            raise ValueError(f"leg forces hold {force[~np.isfinite(force)][0]}, expected finite numbers")
        if not (self._answers(stamp) if is_answer else self._is_later(stamp, force)):
            self.late += 1
            return
        self._last = stamp
        self._force = force
        self.wall_time = time.monotonic()
        self._arrived.set()

    def _answers(self, stamp: int) -> bool:
        if stamp != self.newest_sent or stamp == self._answered:
            return False
        self._answered = stamp
        return True

    def _is_later(self, stamp: int, force: np.ndarray) -> bool:
        if max(self.newest_sent, self._before - BACK) < stamp <= self._before:
            return False
        if stamp == 0:
            return self._force is None or not np.array_equal(force, self._force)
        return stamp > self._last or stamp < self._last - BACK

    def fresh(self, patience: float) -> np.ndarray | None:
        """The force that came since the last call, waited for so long [s]; None if none comes."""
        if not self._arrived.wait(patience):
            return None
        self._arrived.clear()
        self.taken += 1
        return self._force

    @property
    def newest(self) -> np.ndarray | None:
        """The newest force, however old."""
        return self._force


class PlatformDrive:
    """Advances a platform's stepper as its commands say.

    Parameters
    ----------
    robot : Robot
        A platform.
    hydraulics : {"none", "fused", "external"}
        Forces act on the rods directly; cylinders in the compiled loop make them; another process sends them.
    stiffness, damping : (6,) arrays
        Of the servos on leg lengths [N/m, N s/m].
    lockstep : bool
        With "external": `steps_per_force` steps per fresh force.
    steps_per_force : int
        Steps for which a force is held.
    timeout : float
        Age at which a hydraulic command, or a force of another process that runs freely, is stale [s].
    """

    def __init__(
        self,
        robot: Robot,
        hydraulics: str,
        stiffness: np.ndarray,
        damping: np.ndarray,
        *,
        lockstep: bool = True,
        steps_per_force: int = 1,
        timeout: float = 0.1,
    ) -> None:
        self.robot, self.hydraulics, self.lockstep = robot, hydraulics, lockstep
        #: steps for which a force is held, and how many of them are left for the present one
        self._steps_per_force, self._steps_left = steps_per_force, 0
        self._stiffness, self._damping, self._timeout = stiffness, damping, timeout
        self.gate = ForceGate(robot.effort_names)
        #: called when the state of the legs must be sent to the other process
        self.send: Callable[[], None] = lambda: None
        self.fused: FusedHydraulics | None = None
        self.waiting_since: float | None = None
        self.stale = False
        #: what is wrong if the other process runs by the other rule
        self.disagreement = ""
        self._sent = -inf
        self._path: PosePath | None = None
        self._law: Any = None
        self._valves: tuple[HydraulicSetpoint, float, float] | None = None

    # ---- what Simulation calls ----

    def begin(self, stepper: Stepper) -> None:
        """Another stepper, or another state of it: commands are forgotten, cylinders filled."""
        self.clear()
        self.robot = stepper.robot
        self.gate.clear()
        self._sent, self.waiting_since, self.stale, self.disagreement = -inf, None, False, ""
        self._steps_left = 0
        rest = np.zeros(6)
        if self.hydraulics == "fused":
            self.fused = FusedHydraulics(stepper, "valve")
        elif self.hydraulics == "external":
            stepper.tau[:] = self.robot.inverse_dynamics(stepper.q.copy(), rest, rest)

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
        if self.hydraulics == "external":
            return self._advance_with_others(stepper, steps)
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

    def _advance_with_others(self, stepper: Stepper, steps: int) -> int:
        """In lockstep some steps per fresh force; freely with the newest force, zero when that is stale."""
        now = time.monotonic()
        if self._steps_left == 0 and now - self._sent > SEND_AGAIN:
            self._tell_others(now)
        return self._in_lockstep(stepper, steps) if self.lockstep else self._freely(stepper, steps, now)

    def _in_lockstep(self, stepper: Stepper, steps: int) -> int:
        status = OK
        for _ in range(steps):
            if self._steps_left == 0:
                force = self.gate.fresh(WAIT)
                if force is None:
                    if self.waiting_since is None:
                        self.waiting_since = time.monotonic()
                    break
                self.waiting_since = None
                stepper.tau[:] = force
                self._steps_left = self._steps_per_force
            status = stepper.advance(1)
            self._steps_left -= 1
            if self._steps_left == 0:
                self._tell_others(time.monotonic())
        return status

    def _freely(self, stepper: Stepper, steps: int, now: float) -> int:
        force = self.gate.newest
        self.stale = bool(is_stale(self._timeout, now - self.gate.wall_time))
        if self.stale:
            # before the first force comes, those of rest, which `begin` has given, stay
            force = np.zeros(6) if force is not None else stepper.tau.copy()
            stepper.set_servo(0.0, self._damping)
            stepper.target_v[:] = 0.0
        elif stepper.servo_damping.any():
            stepper.set_servo(0.0, 0.0)
        assert force is not None
        stepper.tau[:] = force
        status = stepper.advance(steps)
        self._tell_others(time.monotonic())
        return status

    def _tell_others(self, now: float) -> None:
        self._sent = now
        self.send()
