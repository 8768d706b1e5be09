"""Tasks as Gymnasium environments: one robot, or many that a batch kernel moves at once."""

from __future__ import annotations

from typing import final

import numpy as np

from flexdyn_ros.errors import ConvergenceError, UnknownNameError, needs
from flexdyn_ros.gym.tasks import TASKS, Start, Task
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import Stepper

#: starts that are drawn until one of a closed mechanism can be assembled
DRAWS = 50


def advanced(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, dt: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """q (n, nq) and v (n, nv) after so many steps of dt [s] under constant efforts (n, nu).

    The classical Runge-Kutta method; on the turns of free bodies its stages are joined by the exponential map
    of `Robot.integrate`, which makes it of order two there. Each row depends on its own numbers only.
    """

    def moved(q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        return q + dt * v if robot.nq == robot.nv else robot.integrate(q, v, dt)

    for _ in range(steps):
        a1 = robot.forward_dynamics(q, v, tau)
        v2 = v + 0.5 * dt * a1
        a2 = robot.forward_dynamics(moved(q, v, 0.5 * dt), v2, tau)
        v3 = v + 0.5 * dt * a2
        a3 = robot.forward_dynamics(moved(q, v2, 0.5 * dt), v3, tau)
        v4 = v + dt * a3
        a4 = robot.forward_dynamics(moved(q, v3, dt), v4, tau)
        q = moved(q, (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0, dt)
        v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return q, v


def advanced_on_loops(
    stepper: Stepper, q: np.ndarray, v: np.ndarray, tau: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """`advanced` of a closed mechanism, row by row with compiled steps that stay on its loops. NaN where a
    step is not possible."""
    ends = np.full_like(q, np.nan), np.full_like(v, np.nan)
    for i in np.flatnonzero(np.isfinite(v).all(axis=1)):
        stepper.set_state(q[i], v[i], 0.0)
        if not stepper.advance(steps, tau[i]):
            ends[0][i], ends[1][i] = stepper.q, stepper.v
    return ends


def started(task: Task, rng: np.random.Generator) -> Start:
    """A start of a task; of closed mechanisms assembled, with actuated coordinates where the task has them.
    Starts at which loops do not close are drawn again.

    Raises
    ------
    ConvergenceError
        If none of many starts can be assembled.
    """
    functions = task.robot.functions
    held = [c.name for c in functions.coordinates if c.actuated]
    for left in reversed(range(DRAWS)):
        q, v, goal = task.start(rng)
        try:
            return Start(*functions.project(functions.closed(q, held), v), goal)
        except ConvergenceError:
            if not left:
                raise
    raise AssertionError


with needs("gymnasium", "gym"):
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space


@final
class Environment(gymnasium.Env):
    """One robot with a task. A seed repeats an episode bit for bit.

    task : Task, or one of the names Slew, SoftReach, PlatformBalance
    """

    metadata: dict[str, object] = {"render_modes": []}  # noqa: RUF012 - gymnasium's own

    def __init__(self, task: Task | str) -> None:
        self.task = _task_of(task)
        self.observation_space, self.action_space = _spaces(self.task)
        self._q = self._v = self._goal = np.empty(0)
        self._count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """The observation at a random start, and what else is known of it: the goal."""
        super().reset(seed=seed)
        self._q, self._v, self._goal = (part[None] for part in started(self.task, self.np_random))
        self._count = 0
        return _seen(self.task, self._q, self._v, self._goal)[0], {"goal": self._goal[0].copy()}

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        """Hold an action (acts,), clipped to -1 and 1, for its time: (observation, reward, lost, time over,
        {})."""
        row = np.asarray(action, dtype=float)[None]
        self._q, self._v, seen, reward, lost = _moved(self.task, self._q, self._v, self._goal, row)
        self._count += 1
        return seen[0], float(reward[0]), bool(lost[0]), self._count >= self.task.length, {}


@final
class BatchEnvironment(gymnasium.vector.VectorEnv):
    """Many robots with a task, moved by batch kernels in one call. Row i, seeded with s, does what
    `Environment` does when it is seeded with s + i.

    An episode that ended starts anew with the next step, whose action is ignored (gymnasium's NEXT_STEP).
    """

    metadata: dict[str, object] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, task: Task | str, num_envs: int = 1) -> None:
        self.task, self.num_envs = _task_of(task), num_envs
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        robot = self.task.robot
        self._q, self._v = np.empty((num_envs, robot.nq)), np.empty((num_envs, robot.nv))
        self._goal = np.empty((num_envs, 0))
        self._counts, self._ended = np.zeros(num_envs, dtype=int), np.zeros(num_envs, dtype=bool)
        self._rngs: list[np.random.Generator] = []

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, object] | None = None
    ) -> tuple[np.ndarray, dict[str, object]]:
        """Observations (n, sees) at random starts, and the goals."""
        if seed is not None or not self._rngs:
            first = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            given = [None] * self.num_envs if first is None else first
            self._rngs = [gymnasium.utils.seeding.np_random(s)[0] for s in given]
        starts = [started(self.task, rng) for rng in self._rngs]
        self._q, self._v, self._goal = (np.stack(parts) for parts in zip(*starts, strict=True))
        self._counts[:], self._ended[:] = 0, False
        return _seen(self.task, self._q, self._v, self._goal), {"goal": self._goal.copy()}

    def step(
        self, actions: object
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, object]]:
        """Hold actions (n, acts) for their time; see `Environment.step`."""
        rows = np.array(actions, dtype=float)
        self._q, self._v, seen, reward, lost = _moved(self.task, self._q, self._v, self._goal, rows)
        self._counts += 1
        anew = np.flatnonzero(self._ended)
        for i in anew:
            self._q[i], self._v[i], self._goal[i] = started(self.task, self._rngs[i])
        self._counts[anew], reward[anew], lost[anew] = 0, 0.0, False
        if anew.size:
            seen[anew] = _seen(self.task, self._q[anew], self._v[anew], self._goal[anew])
        over = self._counts >= self.task.length
        self._ended = lost | over
        return seen, reward, lost, over, {}


def environment_of(task: str, **options: object) -> Environment:
    """What gymnasium.make calls."""
    return Environment(task)


def batch_of(task: str, num_envs: int, **options: object) -> BatchEnvironment:
    """What gymnasium.make_vec calls."""
    return BatchEnvironment(task, num_envs)


def _task_of(task: Task | str) -> Task:
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise UnknownNameError("task", task, TASKS)
    return TASKS[task]()


def _spaces(task: Task) -> tuple[spaces.Box, spaces.Box]:
    seen = spaces.Box(-np.inf, np.inf, (task.sees,), np.float64)
    return seen, spaces.Box(-1.0, 1.0, (task.acts,), np.float64)


def _seen(task: Task, q: np.ndarray, v: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(task.observe(q, v, goal))


def _moved(
    task: Task, q: np.ndarray, v: np.ndarray, goal: np.ndarray, action: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States after an action, observations, rewards, and which are lost."""
    action = np.clip(action, -1.0, 1.0)
    tau = task.efforts(action) + task.disturbance(goal)
    if task.robot.functions.is_constrained:
        q, v = advanced_on_loops(task.stepper, q, v, tau, task.steps)
    else:
        q, v = advanced(task.robot, q, v, tau, task.dt, task.steps)
    return q, v, _seen(task, q, v, goal), task.reward(q, v, goal, action), task.lost(q, v, goal)
