"""Environments that Gymnasium's own checker accepts, and that a seed repeats bit for bit."""

import warnings
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra [gym] is not installed")

from flexdyn_ros.errors import UnknownNameError  # noqa: E402
from flexdyn_ros.gym import BatchEnvironment, Environment  # noqa: E402
from flexdyn_ros.gym.tasks import TASKS  # noqa: E402

NAMES = tuple(TASKS)


@pytest.fixture(scope="module", params=NAMES)
def task(request):
    return TASKS[request.param]()


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_finds_and_accepts_them(name):
    from gymnasium.utils.env_checker import check_env

    environment = gymnasium.make(f"flexdyn_ros.gym:flexdyn/{name}-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # that observations are not bounded is meant
        warnings.filterwarnings("ignore", message=".*Box observation space (min|max)imum value is.*")
        warnings.filterwarnings("ignore", message=".*not set.*render|.*render_mode.*")
        check_env(environment.unwrapped)
    many = gymnasium.make_vec(
        f"flexdyn_ros.gym:flexdyn/{name}-v0", 3, vectorization_mode="vector_entry_point"
    )
    seen, _ = many.reset(seed=1)
    assert many.observation_space.contains(seen)
    with pytest.raises(UnknownNameError, match="did you mean Slew"):
        Environment("Slw")


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_times_are_those_of_the_page(name):
    page = Path(__file__).parents[2] / "docs" / "gym.md"
    (row,) = (line for line in page.read_text().splitlines() if line.startswith(f"| `flexdyn/{name}-v0`"))
    task = TASKS[name]
    assert f"| {task.acts} " in row
    assert f"({task.sees}) |" in row
    times = f"{task.length} actions of {1e3 * task.dt * task.steps:g} ms, steps of {1e3 * task.dt:g} ms"
    assert f"| {times} |" in row


def episode(environment, seed, actions):
    seen = [environment.reset(seed=seed)[0]]
    rewards = []
    for action in actions:
        now, reward, lost, _, _ = environment.step(action)
        seen.append(now)
        rewards.append(reward)
        if np.any(lost):
            break
    return np.array(seen), np.array(rewards)


def test_a_slew_costs_its_squared_errors():
    task = TASKS["Slew"]()
    q, v, goal, none = (
        task.robot.neutral()[None],
        np.zeros((1, task.robot.nv)),
        np.zeros((1, 2)),
        np.zeros((1, 2)),
    )
    assert task.reward(q, v, goal, none) == 0.0
    v[0, task.robot.index("elbow")] = 2.0
    expected = -(0.3**2 + 0.1**2 + 0.05 * 2.0**2) * task.dt * task.steps
    assert task.reward(q, v, goal + [0.3, -0.1], none) == pytest.approx(expected)


def test_a_soft_arm_sees_lengths_rates_and_the_way_to_its_goal():
    """Each in its unit, times 30, 3 and 10."""
    task = TASKS["SoftReach"]()
    robot, rng = task.robot, np.random.default_rng(5)
    q = rng.uniform(0.0, 0.03, (2, robot.nq))
    v, goal = rng.standard_normal((2, robot.nv)), rng.standard_normal((2, 3))
    middle = [0.5 * (c.lower + c.upper) for c in robot.coordinates]
    way = goal - robot.frames(q, "tip")[:, :3, 3]
    expected = np.concatenate((30.0 * (q - middle), 3.0 * v, 10.0 * way), axis=1)
    np.testing.assert_allclose(task.observe(q, v, goal), expected, rtol=1e-12)
    reward = task.reward(q, v, goal, np.zeros((2, task.acts)))
    np.testing.assert_allclose(reward, -np.sqrt((way**2).sum(axis=1)), rtol=1e-12)


def test_a_platform_sees_turn_and_shift_times_ten_and_its_twist():
    task = TASKS["PlatformBalance"]()
    away = np.array([[0.1, 0.0, 0.0, 0.02, -0.03, 0.04], [0.0, 0.0, -0.2, -0.05, 0.06, 0.07]])
    v = np.random.default_rng(6).standard_normal((2, 6))
    q = task.robot.integrate(np.tile(task.robot.neutral(), (2, 1)), away, 1.0)
    np.testing.assert_allclose(task.observe(q, v, v), np.hstack((10.0 * away, v)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_slew_is_lost_beyond_the_limit_of_any_joint(sign):
    task = TASKS["Slew"]()
    robot = task.robot
    still = np.zeros((2, robot.nv))
    for share, lost in ((0.99, False), (1.01, True)):
        q = np.tile(robot.neutral(), (2, 1))
        for row, name in zip(q, ("shoulder", "elbow"), strict=True):
            (joint,) = (c for c in robot.coordinates if c.name == name)
            row[joint.q_index] = share * (joint.upper if sign > 0.0 else joint.lower)
        np.testing.assert_array_equal(task.lost(q, still, still), [lost, lost])
    broken = np.vstack([still[:1] + np.nan, still[:1]])
    np.testing.assert_array_equal(task.lost(0.0 * q, broken, still), [True, False])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_platform_is_lost_beyond_its_turn_or_shift_in_any_direction(sign):
    """0.4 rad about each axis or 0.3 m along it; speeds that are no numbers are lost too."""
    task = TASKS["PlatformBalance"]()
    most = sign * np.diag([0.4, 0.4, 0.4, 0.3, 0.3, 0.3])
    home, still = np.tile(task.robot.neutral(), (6, 1)), np.zeros((6, 6))
    for share, lost in ((0.99, False), (1.01, True)):
        away = task.robot.integrate(home, share * most, 1.0)
        np.testing.assert_array_equal(task.lost(away, still, still), np.full(6, lost))
    broken = np.where(np.eye(6) > 0.0, np.inf, 0.0)[[0, 5]]
    np.testing.assert_array_equal(task.lost(home[:3], np.vstack([broken, still[:1]]), still), [1, 1, 0])


@pytest.mark.parametrize(
    ("name", "most"),
    [("Slew", {"shoulder": 4.0, "elbow": 1.5}), ("SoftReach", 20.0), ("PlatformBalance", 4e3)],
)
def test_no_action_holds_the_robot_and_a_full_one_adds_what_the_task_says(name, most):
    task = TASKS[name]()
    start = task.start(np.random.default_rng(0))
    # the start of a soft arm is straight; strips and the platform rest where they are neutral
    pose = start.q if name == "SoftReach" else task.robot.neutral()
    actions = np.vstack([np.zeros(task.acts), np.ones(task.acts), -0.5 * np.ones(task.acts)])
    still, full, back = task.efforts(actions)
    assert task.robot.forward_dynamics(pose, 0.0 * start.v, still) == pytest.approx(0.0, abs=1e-6)
    # of motors of 8 N m and 3 N m, the half
    expected = task.robot.efforts(most) if name == "Slew" else np.full(task.robot.nu, most)
    assert full - still == pytest.approx(expected)
    assert back - still == pytest.approx(-0.5 * (full - still))


def test_a_slew_sees_errors_rates_and_deflections_of_both_tips():
    task = TASKS["Slew"]()
    robot, goal = task.robot, np.array([0.4, -0.3])
    rng = np.random.default_rng(4)
    q, v = robot.random(rng), rng.uniform(-1.0, 1.0, robot.nv)
    seen = task.observe(q[None], v[None], goal[None])[0]
    h = 1e-6
    bent, before, after = (
        [float(d.displacement[0, 1]) for d in robot.deflections(robot.integrate(q, v, s), [1.0]).values()]
        for s in (0.0, -h, h)
    )
    joints = [robot.index(name) for name in ("shoulder", "elbow")]
    assert seen[:2] == pytest.approx(goal - q[joints])
    assert seen[2:4] == pytest.approx(v[joints])
    assert seen[4:6] == pytest.approx(20.0 * np.array(bent), rel=1e-9)
    assert seen[6:] == pytest.approx(np.subtract(after, before) / (2 * h), rel=1e-6)


def test_a_platform_is_rewarded_for_where_it_is_whatever_its_load():
    task = TASKS["PlatformBalance"]()
    start = task.start(np.random.default_rng(0))
    home, still, none = task.robot.neutral()[None], np.zeros((1, 6)), np.zeros((1, 6))
    load = start.goal[None]
    assert task.reward(home, still, load, none) == pytest.approx(1.0)
    away = task.reward(start.q[None], start.v[None], load, none)
    turn_and_way = task.robot.difference(home[0], start.q)
    assert away == pytest.approx(1.0 - 10.0 * np.sum(turn_and_way**2) - 0.1 * np.sum(start.v**2))


def test_a_seed_repeats_bit_for_bit_and_others_differ(task):
    actions = np.random.default_rng(0).uniform(-0.3, 0.3, (6, task.acts))
    first, again, other = (episode(Environment(task), seed, actions) for seed in (5, 5, 6))
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1].tobytes() == again[1].tobytes()
    assert not np.array_equal(first[0][0], other[0][0])


def test_a_row_of_the_batch_is_the_single_environment(task):
    actions = np.random.default_rng(1).uniform(-0.2, 0.2, (4, 3, task.acts))
    many, rewards = episode(BatchEnvironment(task, 3), 20, actions)
    again, _ = episode(BatchEnvironment(task, 3), 20, actions)
    assert many.tobytes() == again.tobytes()
    for i in range(3):
        one, reward = episode(Environment(task), 20 + i, actions[:, i])
        # rounding of blocks of lanes against single samples, in a motion that is not chaotic
        np.testing.assert_allclose(many[:, i], one, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(rewards[:, i], reward, rtol=1e-9, atol=1e-9)


def test_episodes_end_by_time_or_loss_and_start_anew(task, monkeypatch):
    monkeypatch.setattr(task, "length", 8, raising=True)
    many = BatchEnvironment(task, 3)
    many.reset(seed=0)
    rng = np.random.default_rng(2)
    ended = np.zeros(3, dtype=bool)
    begun = np.full(3, -1)
    for n in range(21):
        seen, reward, lost, over, _ = many.step(rng.uniform(-1, 1, (3, task.acts)))
        begun[ended] = n
        np.testing.assert_array_equal(over, n - begun == task.length)
        assert (reward[ended] == 0.0).all()
        assert not (lost | over)[ended].any()
        ended = lost | over
        assert np.isfinite(seen[~ended]).all()
    single = Environment(task)
    single.reset(seed=0)
    flags = [single.step(np.zeros(task.acts))[2:4] for _ in range(task.length)]
    assert flags[-1][1] or any(lost for lost, _ in flags)


def test_the_integration_is_of_order_four_where_strips_bend():
    from flexdyn_ros import load
    from flexdyn_ros.gym.environment import advanced

    one = {"modes": {"bending_y": 1, "torsion": 0}, "damping": {"ratio": 0.0}}
    robot = load("flexible_two_link", options={"links": {"link_1": one, "link_2": one}})
    rng = np.random.default_rng(3)
    q = np.tile(robot.neutral(), (4, 1))
    v = np.zeros((4, robot.nv))
    v[:, robot.index("elbow")] = rng.uniform(0.5, 1.0, 4)
    ends = [
        advanced(robot, q, v, np.zeros((4, robot.nu)), h, n)
        for h, n in ((2e-3, 100), (1e-3, 200), (5e-4, 400))
    ]
    coarse, fine = (np.abs(ends[i][0] - ends[2][0]).max() for i in (0, 1))
    assert fine < coarse / 12.0  # 16 for order four


@pytest.mark.slow
def test_a_policy_is_found_in_seconds_on_the_batch():
    """The program of docs/gym.md, shorter: CMA-ES betters the slew of a policy that does nothing."""
    cma = pytest.importorskip("cma", reason="the extra [gym] is not installed")
    task = TASKS["Slew"]()
    candidates = 8
    environment = BatchEnvironment(task, 4 * candidates)

    def cost(policies):
        gains = np.repeat(np.asarray(policies).reshape(-1, task.acts, task.sees), 4, axis=0)
        seen, _ = environment.reset(seed=0)
        total = np.zeros(len(gains))
        for _ in range(40):
            seen, reward, _, _, _ = environment.step(np.einsum("nij,nj->ni", gains, seen))
            total -= reward
        return total.reshape(-1, 4).mean(axis=1).tolist()

    search = cma.CMAEvolutionStrategy(
        np.zeros(task.acts * task.sees), 0.3, {"popsize": candidates, "seed": 1, "verbose": -9}
    )
    still = cost([np.zeros(task.acts * task.sees)] * candidates)[0]
    for _ in range(6):
        asked = search.ask()
        search.tell(asked, cost(asked))
    assert search.best.f < 0.8 * still


@pytest.mark.parametrize(("axis", "away", "is_lost"), [
    (1, 0.35, False), (1, 0.45, True), (4, 0.25, False), (4, 0.35, True), (5, -0.35, True),
])  # fmt: skip
def test_a_platform_is_lost_where_it_tilts_or_moves_too_far(axis, away, is_lost):
    """Rotations [rad], then displacements [m]."""
    task = TASKS["PlatformBalance"]()
    start = task.robot.neutral()
    q = np.stack([start, task.robot.integrate(start, away * np.eye(6)[axis], 1.0)])
    assert task.lost(q, np.zeros((2, 6)), np.zeros((2, 6))).tolist() == [False, is_lost]
    assert task.lost(q, np.full((2, 6), np.nan), np.zeros((2, 6))).all()
