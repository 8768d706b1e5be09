"""A robot that moves in time while somebody turns knobs: targets of joints, payload, stiffness, valves."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.control import can_be_held, holding_stiffness
from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import PUMP_FLOW
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation import OK, FusedHydraulics, Stepper
from flexdyn_ros.simulation.steps.stiffness import reciprocal
from flexdyn_ros.view.drawing.loads import PORTS

#: step [s], and wall seconds that are caught up with at most at a picture
STEP, CATCH_UP = 1e-3, 0.05
#: of the servo of joints: natural frequency [rad/s], damping ratio, margin over what holds the robot up
PACE, DAMPING, MARGIN = 8.0, 0.8, 3.0
#: position error at which the servo of a closed mechanism reaches the weight that it holds [rad or m]
REACH = 0.1
#: parameters that are scaled as the stiffness of beams
RIGIDITIES = ("EIy", "EIz", "GJ", "EA")


class _Pull(NamedTuple):
    """A spring at a point (3,) in the axes of a frame, and where its other end is in the world; see
    `Drive.pull`."""

    frame: str
    point: np.ndarray
    stiffness: float
    most: float
    to: np.ndarray

    def wrench(self, T: np.ndarray) -> dict[str, np.ndarray]:
        """(moment; force) (6,) at the origin of the frame, whose pose is T (4, 4), world axes."""
        lever = T[:3, :3] @ self.point
        force = self.stiffness * (self.to - T[:3, 3] - lever)
        force *= min(1.0, self.most / max(float(np.linalg.norm(force)), 1e-12))
        return {self.frame: np.concatenate((np.cross(lever, force), force))}


class Drive:
    """A simulation that keeps pace with the clock, from a configuration q (nq,) at rest.

    Actuators with a target are held by a servo; soft arms and platforms without cylinders take the target as
    effort and as leg length. Cylinders take valve openings.

    Attributes
    ----------
    robot : Robot
        With the payload and the stiffness that are set now.

    Raises
    ------
    FlexdynError
        Where the robot has no compiled steps, or gravity cannot be held.
    """

    def __init__(self, robot: Robot, q: np.ndarray) -> None:
        self._original = self.robot = robot
        self._stiffness, self._payload = 1.0, 0.0
        self._wrenches: dict[str, np.ndarray] = {}
        self._until = 0.0
        self._pulled: _Pull | None = None
        self.valves = robot.hydraulics is not None
        self._targets = np.zeros(len(robot.hydraulics.names) if self.valves else robot.nu)
        self._gains = np.zeros((2, robot.nu)) if self.valves else _servo(robot, q)
        # what holds the robot where it begins; the servo does the rest
        rest = np.zeros(robot.nv)
        self._feed = np.zeros(robot.nu)
        if not self.valves:
            self._feed = np.where(self._gains[0] > 0.0, robot.inverse_dynamics(q, rest, rest), 0.0)
        self._begin(q, np.zeros(robot.nv), 0.0)
        self._stepper.set_states(robot.rest_states(q, tau=None if self.valves else self._feed))
        if not self.valves:
            self._targets = self._measured()

    # ---- what can be turned ----

    @property
    def tip(self) -> str | None:
        """The frame that carries a payload; None where the robot takes none."""
        return self.robot.functions.end_frame or None

    @property
    def has_stiffness(self) -> bool:
        """Whether the stiffness of beams can be scaled."""
        return bool(self._rigidities())

    @property
    def targets(self) -> np.ndarray:
        """What is asked of the actuators (nu,) [rad, m], valve openings (n,) [-1..1]; a copy."""
        return self._targets.copy()

    def set_target(self, index: int, value: float) -> None:
        """Ask an actuator for a position [rad, m], or open its valve [-1..1]."""
        self._targets[index] = value

    def set_payload(self, mass: float) -> None:
        """Carry a point mass [kg] at the tip from now on."""
        if mass != self._payload:
            self._payload = mass
            self._rebuild()

    def set_stiffness(self, factor: float) -> None:
        """Beams with so many times their rigidities from now on."""
        if factor != self._stiffness:
            self._stiffness = factor
            self._rebuild()

    def push(self, wrenches: dict[str, np.ndarray], seconds: float = inf) -> None:
        """Let wrenches (moment; force) (6,) in world axes act on frames from now on, in place of those
        before, for so long [s]; {}: none."""
        self._stepper.set_wrenches(wrenches)
        self._wrenches, self._until = wrenches, self.t + seconds

    def pull(self, frame: str, point: np.ndarray, stiffness: float, most: float) -> None:
        """Let a spring [N/m] of a largest force [N] pull at a point (3,) of a frame, given in its axes, from
        now on; it has no length until `pull_to` moves its other end. Needs no lock."""
        T = self.robot.frames(self._stepper.q.copy(), frame)
        self._pulled = _Pull(frame, point, stiffness, most, T[:3, :3] @ point + T[:3, 3])

    def pull_to(self, place: np.ndarray) -> None:
        """Move the other end of the spring to a place (3,) in the world; nothing where none pulls."""
        pulled = self._pulled
        if pulled is not None:
            self._pulled = pulled._replace(to=place)

    def release(self) -> None:
        """The spring pulls no more."""
        self._pulled = None

    @property
    def wrenches(self) -> dict[str, np.ndarray]:
        """Wrenches that act now, by frame; see `push`."""
        return self._wrenches

    # ---- time ----

    def advance(self, elapsed: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Go on by wall seconds: q (nq,), v (nv,), tau (nu,).

        Raises
        ------
        FlexdynError
            If the state is no longer finite.
        """
        stepper = self._stepper
        if self._cylinders is not None:
            self._cylinders.command(np.clip(self._targets, -1.0, 1.0), "valve")
        else:
            stepper.target_q[:] = self._targets
        pulled = self._pulled
        if pulled is not None:
            self.push(pulled.wrench(self.robot.frames(stepper.q, pulled.frame)), 0.0)
        elif self._wrenches and stepper.t >= self._until:
            self.push({})
        steps = max(1, round(min(elapsed, CATCH_UP) / STEP))
        if stepper.advance(steps) != OK:
            raise FlexdynError(stepper.message)
        return stepper.q.copy(), stepper.v.copy(), stepper.effort.copy()

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._stepper.t

    @property
    def cylinders(self) -> np.ndarray | None:
        """Absolute pressures (n, 2) in bore and rod chambers [Pa]; None without cylinders."""
        if self._cylinders is None:
            return None
        state = self._cylinders.state()
        return np.stack((state.pressure_bore, state.pressure_rod), axis=-1)

    @property
    def states(self) -> dict[str, float]:
        """States of elements by name, and the flow of each pump as SUPPLY/pump_flow [m3/s]."""
        names = (state.name for state in self.robot.element_states)
        found = dict(zip(names, self._stepper.states.tolist(), strict=True))
        if self._cylinders is not None:
            state, h = self._cylinders.state(), self.robot.hydraulics
            for port in PORTS:
                pressures = getattr(state, port).tolist()
                found |= {f"{name}/{port}": p for name, p in zip(h.names, pressures, strict=True)}
            flows = self._cylinders.lines[:, PUMP_FLOW].tolist()
            found |= {f"{name}/pump_flow": flow for name, flow in zip(h.model.supplies, flows)}
        return found

    # ---- making ----

    def _rigidities(self) -> dict[str, float]:
        try:
            found = self._original.parameters
        except UnsupportedError:
            return {}
        return {p.name: p.value for p in found if p.name.rpartition("/")[2] in RIGIDITIES}

    def _rebuild(self) -> None:
        robot = self._original
        if self._stiffness != 1.0:
            robot = robot.with_parameters({n: self._stiffness * x for n, x in self._rigidities().items()})
        if self._payload > 0.0 and self.tip is not None:
            robot = robot.with_payload(self.tip, self._payload)
        self.robot, old = robot, self._stepper
        self._begin(old.q.copy(), old.v.copy(), old.t)
        self._stepper.set_states(old.states)

    def _begin(self, q: np.ndarray, v: np.ndarray, t: float) -> None:
        before: Any = getattr(self, "_cylinders", None)
        state = None if before is None else before.state()
        method = "staggered" if self.valves else "auto"
        self._stepper = Stepper(self.robot, STEP, method, q0=q, v0=v, t0=t, limits="spring")
        self._stepper.set_wrenches(self._wrenches)
        self._cylinders: FusedHydraulics | None = None
        if self.valves:
            self._cylinders = FusedHydraulics(self._stepper, "valve")
            if state is not None:
                self._cylinders.set_state(state)
        else:
            self._stepper.set_servo(*self._gains)
            self._stepper.tau[:] = self._feed

    def _measured(self) -> np.ndarray:
        """Positions (nu,) that the servo compares with its targets."""
        return self.robot.functions.effort_motion(self._stepper.q, self._stepper.v)[0].copy()


def _servo(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Stiffness and damping (2, nu) that hold a robot up, and move it at a quiet pace."""
    if robot.legs:
        stiffness = np.full(robot.nu, robot.mass * PACE**2)
        return np.stack((stiffness, 2.0 * DAMPING * stiffness / PACE))
    if robot.nu != robot.nv:
        raise UnsupportedError(f"robot {robot.name!r} has coordinates without actuators of their own")
    moves = np.array(
        [c.actuated and c.q_index >= 0 and c.kind in ("joint", "actuator") for c in robot.coordinates]
    )
    closed = robot.functions.is_constrained
    inertia = np.abs(np.diag(robot.mass_matrix(q)))
    if closed:
        # what a torque there feels
        inertia = reciprocal(np.diag(robot.functions.inverse_inertia(q)))
    stiffness = inertia * PACE**2
    if closed:
        rest = np.zeros(robot.nv)
        stiffness = np.maximum(stiffness, np.abs(robot.inverse_dynamics(q, rest, rest)) / REACH)
    elif can_be_held(robot):
        stiffness = np.maximum(stiffness, MARGIN * holding_stiffness(robot, q))
    stiffness = np.where(moves, stiffness, 0.0)
    return np.stack((stiffness, 2.0 * DAMPING * np.sqrt(stiffness * inertia)))
