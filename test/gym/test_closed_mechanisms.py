"""Environments of closed mechanisms: actuators act, resets assemble, steps stay on loops."""

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra [gym] is not installed")

from machines import Q, four_bar

import flexdyn_ros
from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.gym import BatchEnvironment, Environment, Task
from flexdyn_ros.gym.tasks import Start


class Reach(Task):
    """Turn actuated joints to random angles."""

    dt, steps, length = 1e-3, 20, 50

    def __init__(self, robot, torque, spread=0.2):
        self.robot, self.torque, self.spread = robot, torque, spread
        self.at = np.array([robot.index(name) for name in robot.actuators])
        self.sees, self.acts = robot.nq + robot.nv, len(self.at)

    def start(self, rng):
        q = self.robot.neutral()
        q[self.at] += rng.uniform(-self.spread, self.spread, self.acts)
        return Start(q, rng.uniform(-0.5, 0.5, self.robot.nv), q[self.at])

    def efforts(self, action):
        tau = np.zeros((len(action), self.robot.nu))
        tau[:, self.at] = self.torque * action
        return tau

    def disturbance(self, goal):
        return 0.0

    def observe(self, q, v, goal):
        return np.hstack((q, v))

    def reward(self, q, v, goal, action):
        return -np.abs(q[:, self.at] - goal).sum(axis=1)

    def lost(self, q, v, goal):
        return ~np.isfinite(v).all(axis=1)


@pytest.fixture(params=["delta", "four_bar"])
def task(request):
    if request.param == "four_bar":
        return Reach(four_bar(), 5.0)
    return Reach(flexdyn_ros.load("delta"), 20.0)


def test_starts_are_assembled_about_the_actuated_joints(task):
    seen, info = Environment(task).reset(seed=3)
    q, v = seen[: task.robot.nq], seen[task.robot.nq :]
    assert np.abs(task.robot.loop_residual(q)).max() <= 1e-10
    assert np.abs(task.robot.loop_jacobian(q) @ v).max() <= 1e-10
    np.testing.assert_allclose(q[task.at], info["goal"], atol=1e-12)
    assert np.abs(v).max() > 1e-3


def test_actions_move_the_mechanism_as_a_simulation_does(task):
    """Constant efforts: the default run with error control ends at the same state."""
    environment = Environment(task)
    seen, _ = environment.reset(seed=4)
    action = np.linspace(0.4, -0.2, task.acts)
    for _ in range(10):
        end, *_ = environment.step(action)
    run = flexdyn_ros.simulate(
        task.robot, 0.2, seen[: task.robot.nq], seen[task.robot.nq :], rtol=1e-10,
        control=lambda t, q, v: task.efforts(action[None])[0],
    )  # fmt: skip
    np.testing.assert_allclose(end, np.r_[run.q[-1], run.v[-1]], atol=1e-7)
    assert np.abs(task.robot.loop_residual(end[: task.robot.nq])).max() <= 1e-10


def test_a_row_of_a_batch_is_the_environment(task):
    many = BatchEnvironment(task, 3)
    single = [Environment(task) for _ in range(3)]
    rows = [many.reset(seed=7)[0]]
    ones = [np.array([e.reset(seed=7 + i)[0] for i, e in enumerate(single)])]
    for actions in np.random.default_rng(0).uniform(-1.0, 1.0, (5, 3, task.acts)):
        rows.append(many.step(actions)[0])
        ones.append(np.array([e.step(a)[0] for e, a in zip(single, actions, strict=True)]))
    assert np.array(rows).tobytes() == np.array(ones).tobytes()


def test_starts_that_do_not_close_are_drawn_again_or_told():
    """The rocker of the four-bar swings between dead centres."""
    robot = four_bar(more='<actuation active="rocker_joint"/>')
    drawn, _ = Environment(Reach(robot, 5.0, spread=2.0)).reset(seed=0)
    assert np.abs(robot.loop_residual(drawn[:3])).max() <= 1e-10

    class Open(Reach):
        def start(self, rng):
            return Start(Q + [0.0, 0.0, 2.5], np.zeros(3), np.zeros(1))

    with pytest.raises(ConvergenceError):
        Environment(Open(robot, 5.0)).reset(seed=0)
