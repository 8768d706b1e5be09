"""Cylinders whose forces another process sends, in a live simulation of any robot; no ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from flexdyn_ros.errors import SingularityError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.command_buffer import Setpoint
from flexdyn_ros.simulation.live.message_fields import is_stale
from flexdyn_ros.simulation.live.oil_drive import OilDrive
from flexdyn_ros.simulation.live.simulation import driven_motion
from flexdyn_ros.simulation.steps.stepper import OK, Stepper

#: a stamp that is older than the last by more than this means that the sender's clock jumped back [ns]
BACK = 1_000_000_000
#: seconds that a step in lockstep waits for a force at a time, and after which the states are sent again
WAIT, SEND_AGAIN = 0.005, 0.05


class ForceGate:
    """Forces of cylinders from another process: which are fresh. Callbacks write, the loop reads.

    A force that answers a state bears its stamp: it is fresh if it answers the newest one and is the
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
        #: latest stamp of forces for the time before, and time [ns] of the state that was sent last
        self._before = max(self._before, self._last, self.newest_sent)
        self._last = self.newest_sent = self._answered = -1
        self._force: np.ndarray | None = None
        self._arrived.clear()
        self.taken = self.late = 0
        self.wall_time = -inf

    def take(self, stamp: int, efforts: dict[str, float], is_answer: bool = False) -> None:
        """A force by name of the cylinder, stamped in nanoseconds, and whether it says that it answers a
        state; ValueError if it is malformed."""
        missing = [name for name in self._names if name not in efforts]
        if missing:
            raise ValueError(f"forces lack {', '.join(missing)}")
        force = np.array([efforts[name] for name in self._names])
        if not np.isfinite(force).all():
            raise ValueError(f"forces hold {force[~np.isfinite(force)][0]}, expected finite numbers")
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


class ExternalDrive:
    """Advances a stepper whose cylinders exert the forces that another process sends.

    Commands of the buffer go to everything else: in trees to the joints and to cylinders that are computed
    here; platforms have nothing else.

    Parameters
    ----------
    robot : Robot
        Whose cylinders of these names have no oil (`without_oil`).
    names : sequence of str
    damping : (nu,) array
        Of the servos [N s/m]; those of the cylinders act where forces are stale.
    inner : OilDrive, optional
        What leads other cylinders, whose oil is in the steps.
    lockstep : bool
        `steps_per_force` steps per fresh force.
    steps_per_force : int
        Steps for which a force is held.
    timeout : float
        Age at which a force of a process that runs freely is stale [s].
    """

    hydraulics = "external"

    def __init__(
        self,
        robot: Robot,
        names: Sequence[str],
        damping: np.ndarray,
        *,
        inner: OilDrive | None = None,
        lockstep: bool = True,
        steps_per_force: int = 1,
        timeout: float = 0.1,
    ) -> None:
        self.lockstep, self._damping, self._timeout = lockstep, damping, timeout
        #: steps for which a force is held, and how many of them are left for the present one
        self._steps_per_force, self._steps_left = steps_per_force, 0
        self.robot, self.inner, self.names = robot, inner, tuple(names)
        #: of the cylinders among the efforts
        self.places = np.array([robot.effort_names.index(name) for name in self.names])
        #: whether nothing but the cylinders moves the robot, as a platform
        self.is_alone = robot.nu == len(self.places)
        self.gate = ForceGate(self.names)
        #: called when the state of the cylinders must be sent to the other process
        self.send: Callable[[], None] = lambda: None
        self.waiting_since: float | None = None
        self.stale = False
        #: what is wrong if the other process runs by the other rule
        self.disagreement = ""
        self._sent = -inf

    # ---- what Simulation calls ----

    def begin(self, stepper: Stepper) -> None:
        """Another stepper, or another state of it: forces are forgotten, those of rest act."""
        self.robot = stepper.robot
        if self.inner is not None:
            self.inner.begin(stepper)
        self.gate.clear()
        self._sent, self.waiting_since, self.stale, self.disagreement = -inf, None, False, ""
        self._steps_left = 0
        self._force = self._holding(stepper.q.copy())
        stepper.tau[self.places] = self._force

    def continue_with(self, stepper: Stepper) -> None:
        """Another stepper in the same state (another payload)."""
        self.robot = stepper.robot
        if self.inner is not None:
            self.inner.continue_with(stepper)
        stepper.tau[self.places] = self._force

    def measured(self, stepper: Stepper) -> np.ndarray:
        """Positions that commands are about."""
        return self.motion(stepper)[0]

    def motion(self, stepper: Stepper) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities that commands are about."""
        return self.lengths_and_rates(stepper) if self.is_alone else driven_motion(stepper)

    def lengths_and_rates(self, stepper: Stepper) -> tuple[np.ndarray, np.ndarray]:
        """Of the cylinders (n,) [m, m/s]."""
        length, rate = self.robot.functions.effort_motion(stepper.q.copy(), stepper.v.copy())
        return length[self.places], rate[self.places]

    def clear(self) -> None:
        """No commands beside those of the buffer any more."""
        if self.inner is not None:
            self.inner.clear()

    def advance(
        self, stepper: Stepper, setpoint: Setpoint, steps: int, obey: Callable[[Setpoint], None]
    ) -> int:
        """In lockstep some steps per fresh force; freely with the newest force, zero when that is stale; the
        stepper's status. `obey` gives a setpoint to the stepper itself."""
        if self.inner is not None:
            self.inner.lead(stepper, setpoint, obey)
        elif not self.is_alone:
            obey(setpoint)
        self._exert(stepper, damps=self.stale)
        now = time.monotonic()
        if self._steps_left == 0 and now - self._sent > SEND_AGAIN:
            self._tell_others(now)
        return self._in_lockstep(stepper, steps) if self.lockstep else self._freely(stepper, steps, now)

    # ---- how ----

    def _holding(self, q: np.ndarray) -> np.ndarray:
        """Forces (n,) that hold the robot at rest at q [N]; 0 where they cannot."""
        still = np.zeros(self.robot.nv)
        try:
            tau = self.robot.inverse_dynamics(q, still, still, actuators=None if self.is_alone else "all")
        except SingularityError:
            return np.zeros(len(self.places))
        return np.asarray(tau[self.places])

    def _exert(self, stepper: Stepper, damps: bool = False) -> None:
        """The present forces act on the cylinders; their servos damp, or are off."""
        stepper.tau[self.places] = self._force
        stiffness, damping = stepper.servo_stiffness.copy(), stepper.servo_damping.copy()
        wanted = self._damping[self.places] if damps else 0.0
        if stiffness[self.places].any() or (damping[self.places] != wanted).any():
            stiffness[self.places], damping[self.places] = 0.0, wanted
            stepper.set_servo(stiffness, damping)
        stepper.target_v[self.places] = 0.0

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
                self._force, self._steps_left = force, self._steps_per_force
            self._exert(stepper)
            status = stepper.advance(1)
            self._steps_left -= 1
            if self._steps_left == 0:
                self._tell_others(time.monotonic())
        return status

    def _freely(self, stepper: Stepper, steps: int, now: float) -> int:
        force = self.gate.newest
        self.stale = bool(is_stale(self._timeout, now - self.gate.wall_time))
        if not self.stale and force is not None:
            self._force = force
        elif force is not None:
            # before the first force comes, those of rest, which `begin` has given, stay
            self._force = np.zeros(len(self.names))
        self._exert(stepper, damps=self.stale)
        status = stepper.advance(steps)
        self._tell_others(time.monotonic())
        return status

    def _tell_others(self, now: float) -> None:
        self._sent = now
        self.send()
