"""What is to be done with a robot: where an episode starts, what is seen, what counts. All of it for rows of
states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from flexdyn_ros.loading import load
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import Stepper


class Start(NamedTuple):
    """Start of an episode: q (nq,), v (nv,), and its goal (k,)."""

    q: np.ndarray
    v: np.ndarray
    goal: np.ndarray


class Task(ABC):
    """A robot and what is asked of it. Rows are (n, ...): one for each copy of the robot.

    Attributes
    ----------
    robot : Robot
    dt, steps : float, int
        Step of the integration [s], and how many of them an action is held.
    length : int
        Actions in an episode.
    sees, acts : int
        Sizes of an observation and an action; actions are within -1 and 1.
    """

    robot: Robot
    dt: float
    steps: int
    length: int
    sees: int
    acts: int

    @cached_property
    def stepper(self) -> Stepper:
        """Compiled steps of one robot: those that closed mechanisms make."""
        return Stepper(self.robot, self.dt, "rk4")

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Start:
        """A random start. That of a closed mechanism is assembled; coordinates without an actuator follow."""

    @abstractmethod
    def efforts(self, action: np.ndarray) -> np.ndarray:
        """Efforts (n, nu) of actions (n, acts) within -1 and 1."""

    @abstractmethod
    def disturbance(self, goal: np.ndarray) -> np.ndarray | float:
        """Efforts (n, nu) that come on top and are not seen; 0 for none."""

    @abstractmethod
    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Observations (n, sees), of the size of one."""

    @abstractmethod
    def reward(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Rewards (n,) of states that were reached, for an action."""

    @abstractmethod
    def lost(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Marks (n,) episodes that end before their time."""


@final
class Slew(Task):
    """Turn a table-top arm of two spring-steel strips to a random pose and let nothing swing there.

    Sees: errors of both joints [rad], their rates [rad/s], deflections of both tips [m, times 20] and their
    rates. Acts: torques of both motors, of half their limits. Reward: minus the squared error of the tip's
    direction, of rates and of deflections, per action; lost beyond the joint limits.
    """

    dt, steps, length, sees, acts = 2e-3, 10, 100, 8, 2

    def __init__(self) -> None:
        one = {"bending_y": 1, "torsion": 0}
        options = {"links": {name: {"modes": one} for name in ("link_1", "link_2")}}
        robot = self.robot = load("flexible_two_link", options=options)
        self._joints = np.array([robot.index(name) for name in ("shoulder", "elbow")])
        self._modes = np.array([robot.index(f"{name}/bending_y/1") for name in ("link_1", "link_2")])
        self._limits = 0.5 * np.array([robot.coordinates[i].effort_limit for i in self._joints])
        self._range = np.array([robot.coordinates[i].upper for i in self._joints])

    def start(self, rng: np.random.Generator) -> Start:
        q, v = self.robot.neutral(), np.zeros(self.robot.nv)
        q[self._joints] = rng.uniform(-0.5, 0.5, 2)
        return Start(q, v, rng.uniform(-1.0, 1.0, 2))

    def efforts(self, action: np.ndarray) -> np.ndarray:
        tau = np.zeros((len(action), self.robot.nu))
        tau[:, self._joints] = self._limits * action
        return tau

    def disturbance(self, goal: np.ndarray) -> np.ndarray | float:
        return 0.0

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        error = goal - q[:, self._joints]
        return np.hstack((error, v[:, self._joints], 20.0 * q[:, self._modes], v[:, self._modes]))

    def reward(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray, action: np.ndarray) -> np.ndarray:
        seen = self.observe(q, v, goal)
        return (
            -(seen**2 * np.array([1.0, 1.0, 0.05, 0.05, 0.5, 0.5, 0.2, 0.2])).sum(axis=1)
            * self.dt
            * self.steps
        )

    def lost(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return (np.abs(q[:, self._joints]) > self._range).any(axis=1) | ~np.isfinite(v).all(axis=1)


@final
class SoftReach(Task):
    """Bring the tip of a hanging soft arm of three sections to a random place, and keep it there.

    Sees: length changes [m, times 30] and their rates [m/s, times 3] of nine actuators, and the way from tip
    to goal [m, times 10]. Acts: actuator forces, up to 20 N about those that hold the arm straight. Reward:
    minus the distance to the goal [m], per action.
    """

    dt, steps, length, sees, acts = 1e-3, 20, 100, 21, 9

    def __init__(self) -> None:
        robot = self.robot = load("soft_arm_3")
        self._force = 20.0
        self._lower = np.array([c.lower for c in robot.coordinates])
        self._upper = np.array([c.upper for c in robot.coordinates])
        self._middle = 0.5 * (self._lower + self._upper)
        self._held = robot.inverse_dynamics(self._middle, np.zeros(robot.nv), np.zeros(robot.nv))

    def start(self, rng: np.random.Generator) -> Start:
        share = rng.uniform(0.1, 0.9, self.robot.nq)
        goal = self.robot.frames(self._lower + share * (self._upper - self._lower), "tip")[:3, 3]
        return Start(self._middle.copy(), np.zeros(self.robot.nv), goal)

    def efforts(self, action: np.ndarray) -> np.ndarray:
        return self._held + self._force * action

    def disturbance(self, goal: np.ndarray) -> np.ndarray | float:
        return 0.0

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return np.hstack((30.0 * (q - self._middle), 3.0 * v, 10.0 * self._way(q, goal)))

    def reward(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray, action: np.ndarray) -> np.ndarray:
        return -np.linalg.norm(self._way(q, goal), axis=1)

    def lost(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return ~np.isfinite(v).all(axis=1)

    def _way(self, q: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return goal - self.robot.frames(q, "tip")[:, :3, 3]


@final
class PlatformBalance(Task):
    """Hold a platform of a ton level by its six legs, after a push, with a load that is not known.

    Without control it falls. Sees: turn [rad, times 10] and shift [m, times 10] from home, twist (angular,
    linear). Acts: leg forces, up to 4 kN about those that carry the bare platform. Goal (not seen): what the
    load adds to each leg [N]. Reward: 1 less the squared shift, turn and rates; lost beyond 0.3 m or 0.4 rad.
    """

    dt, steps, length, sees, acts = 5e-3, 4, 150, 12, 6

    def __init__(self) -> None:
        robot = self.robot = load("stewart_1t")
        self._force = 4000.0
        self._home = robot.neutral()
        self._held = robot.inverse_dynamics(self._home, np.zeros(robot.nv), np.zeros(robot.nv))

    def start(self, rng: np.random.Generator) -> Start:
        push = np.r_[rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.1, 0.1, 3)]
        q = self.robot.integrate(self._home, rng.uniform(-0.03, 0.03, 6), 1.0)
        return Start(q, push, rng.uniform(-1.0, 1.0, 6) * 0.1 * self._force)

    def efforts(self, action: np.ndarray) -> np.ndarray:
        return self._held + self._force * action

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.r_[np.full(6, 10.0), np.full(6, 1.0)]

    def disturbance(self, goal: np.ndarray) -> np.ndarray | float:
        return goal

    def observe(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return np.hstack((self.robot.difference(self._home, q), v)) * self._scale

    def reward(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray, action: np.ndarray) -> np.ndarray:
        seen = self.observe(q, v, goal)
        return 1.0 - (seen**2).sum(axis=1) * 0.1

    def lost(self, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
        away = np.abs(self.robot.difference(self._home, q))
        far = (away[:, :3] > 0.4).any(axis=1) | (away[:, 3:] > 0.3).any(axis=1)
        return far | ~np.isfinite(v).all(axis=1)


TASKS: dict[str, type[Task]] = {"Slew": Slew, "SoftReach": SoftReach, "PlatformBalance": PlatformBalance}
