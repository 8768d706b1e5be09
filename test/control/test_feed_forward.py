"""Feed-forward by inverse dynamics leads platforms and soft arms along a path; feedback does the rest."""

import numpy as np
import pytest
from pendulums import wheel

import flexdyn_ros
from flexdyn_ros.control import (
    DELAYS,
    FeedForward,
    PoseSpace,
    TipPath,
    actuator_inertia,
    actuator_motion,
    check_shapes,
    to_rest,
)
from flexdyn_ros.errors import DimensionError, StateError, UnsupportedError

TIP = "section_3/tip"


def blend(s):
    """Quintic from 0 to 1, at rest at both ends, with its first two derivatives."""
    s = min(max(s, 0.0), 1.0)
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        s * s * (30.0 - 60.0 * s + 30.0 * s * s),
        s * (60.0 - 180.0 * s + 120.0 * s * s),
    )


@pytest.fixture(scope="module")
def platform():
    return flexdyn_ros.load("stewart_electric")


@pytest.fixture(scope="module")
def soft():
    return flexdyn_ros.load("soft_arm_3")


@pytest.fixture(scope="module")
def bent(soft):
    return np.full(9, 0.012) + np.tile([0.0, 0.002, 0.004], 3)


def heave(robot, height=0.1, seconds=0.5):
    d, home = np.array([0.0, 0.0, 0.0, 0.0, 0.0, height]), robot.neutral()

    def reference(t):
        x, v, a = blend(t / seconds)
        return robot.integrate(home, d * x, 1.0), d * v / seconds, d * a / seconds**2

    return reference


def sampled(law, robot, period=0.01):
    """The law as a controller computes it: at samples, held between them."""
    due, held = [0.0], [None]

    def control(t, q, v):
        if t >= due[0] - 1e-9:
            due[0] += period
            held[0] = law(t, *actuator_motion(robot, q, v))
        return held[0]

    return control


def errors(robot, law, q0, seconds, measure):
    run = flexdyn_ros.simulate(
        robot, seconds, q0=q0, v0=np.zeros(robot.nv), dt=1e-3, control=sampled(law, robot)
    )
    return np.array([measure(q, law.reference(t)[0]) for t, q in zip(run.t, run.q, strict=True)])


def test_a_platform_with_feed_forward_stays_nearer_to_its_path_than_one_without(platform):
    def of_position(q, q_d):
        return float(np.abs(q - q_d)[:3].max())

    largest = {}
    for how in ("full", "static", "none"):
        law = FeedForward(platform, heave(platform), 10.0, feed_forward=how, lead=0.005)
        largest[how] = errors(platform, law, platform.neutral(), 0.5, of_position).max()
    assert largest["full"] < 1e-4
    assert largest["static"] > 100.0 * largest["full"]
    assert largest["none"] > 100.0 * largest["full"]
    # forces held for a sample without looking ahead come half a sample late
    late = FeedForward(platform, heave(platform), 10.0)
    assert errors(platform, late, platform.neutral(), 0.5, of_position).max() > 10.0 * largest["full"]


def test_a_soft_arm_with_feed_forward_stays_nearer_to_its_path_than_one_without(soft, bent):
    start = soft.frames(bent, TIP)[:3, 3]
    way = np.array([0.15, 0.05, -0.42]) - start
    path = TipPath(soft, np.array([0.0, 1.0]), lambda t: start + way * blend(t)[0], bent, np.zeros(9))

    def of_tip(q, q_d):
        return float(np.linalg.norm(soft.frames(q, TIP)[:3, 3] - soft.frames(q_d, TIP)[:3, 3]))

    largest = {}
    for how in ("full", "static", "none"):
        law = FeedForward(soft, path, 10.0, feed_forward=how, lead=0.005)
        largest[how] = errors(soft, law, bent, 1.0, of_tip).max()
    assert largest["full"] < 1e-3
    assert largest["static"] > 5.0 * largest["full"]
    assert largest["none"] > 0.03


def test_the_tip_follows_its_path_between_the_poses_that_are_solved_for(soft, bent):
    start = soft.frames(bent, TIP)[:3, 3]
    way = np.array([0.15, 0.05, -0.42]) - start

    def tip(t):
        return start + way * blend(t)[0]

    path = TipPath(soft, np.array([0.0, 1.0]), tip, bent, np.zeros(9))
    for t in np.linspace(0.0, 1.0, 77):
        q, v, a = path(t)
        assert np.abs(soft.frames(q, TIP)[:3, 3] - tip(t)).max() < 1e-6
    h = 1e-5
    q, v, a = path(0.37)
    np.testing.assert_allclose(v, (path(0.37 + h)[0] - path(0.37 - h)[0]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(a, (path(0.37 + h)[1] - path(0.37 - h)[1]) / (2 * h), atol=1e-6)
    for t in (1.0, 5.0):
        assert not np.any(path(t)[1])
        np.testing.assert_allclose(soft.frames(path(t)[0], TIP)[:3, 3], tip(1.0), atol=1e-9)


def test_a_whole_pose_of_the_tip_is_followed_too(soft, bent):
    goal_q = bent + np.tile([0.001, 0.0, -0.0005], 3)
    here, there = (PoseSpace.of_matrix(soft.frames(q, TIP)) for q in (bent, goal_q))
    step = PoseSpace.difference(here, there)

    def tip(t):
        return PoseSpace.matrix(PoseSpace.integrate(here, step, blend(t)[0]))

    path = TipPath(soft, np.array([0.0, 1.0]), tip, bent, np.zeros(9))
    np.testing.assert_allclose(soft.frames(path(1.0)[0], TIP), soft.frames(goal_q, TIP), atol=1e-8)


def test_a_tip_that_cannot_come_is_refused_with_place_time_distance_and_the_reason(soft, bent):
    start = soft.frames(bent, TIP)[:3, 3]
    way = np.array([0.6, 0.0, -0.3]) - start
    with pytest.raises(StateError) as refusal:
        TipPath(soft, np.array([2.0, 3.0]), lambda t: start + way * (t - 2.0), bent, np.zeros(9))
    text = str(refusal.value)
    for part in ("cannot reach the position (0.", "s from now", "as near as 0.", "at its longest (0.03 m)"):
        assert part in text


def test_no_more_poses_are_solved_for_than_the_bound_and_more_points_are_refused(soft, bent, monkeypatch):
    start, looks = soft.frames(bent, TIP)[:3, 3], []
    monkeypatch.setattr("flexdyn_ros.control.tip_path.MOST", 30)

    def rest(t):
        return start

    for times in (np.arange(26.0), np.array([0.0, 1000.0]), np.array([0.0, 0.1])):
        looks.clear()
        path = TipPath(soft, times, rest, bent, np.zeros(9), look=lambda: looks.append(1))
        assert len(looks) == len(path.times) - 1
        assert 12 <= len(looks) <= 30
    with pytest.raises(StateError, match="31 points, expected at most 30"):
        TipPath(soft, np.arange(32.0), rest, bent, np.zeros(9))


def test_solving_ends_where_the_look_between_poses_raises(soft, bent):
    start, looks = soft.frames(bent, TIP)[:3, 3], []

    def look():
        looks.append(1)
        if len(looks) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TipPath(soft, np.array([0.0, 10.0]), lambda t: start, bent, np.zeros(9), look)


def test_a_reference_comes_to_rest_on_its_way_without_a_jump():
    def circle(t):
        c, s = np.cos(3.0 * t), np.sin(3.0 * t)
        return np.array([c, s]), 3.0 * np.array([-s, c]), -9.0 * np.array([c, s])

    slowed = to_rest(circle, 2.0, 0.5)
    for wanted, found in zip(circle(2.0), slowed(2.0), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)
    h = 1e-5
    for t in np.linspace(2.01, 2.49, 13):
        q, v, a = slowed(t)
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-14), "on its way"
        np.testing.assert_allclose(v, (slowed(t + h)[0] - slowed(t - h)[0]) / (2 * h), rtol=0, atol=1e-7)
        np.testing.assert_allclose(a, (slowed(t + h)[1] - slowed(t - h)[1]) / (2 * h), rtol=0, atol=1e-7)
    for t in (2.5, 7.0):
        q, v, a = slowed(t)
        np.testing.assert_allclose(q, circle(2.25)[0], rtol=0, atol=1e-14)
        assert not v.any()
        assert not a.any()


def test_shapes_beyond_strokes_or_forces_are_refused_with_actuator_number_and_range(soft, bent):
    times, free = np.array([1.0, 2.0]), (np.full(9, -np.inf), np.full(9, np.inf))
    check_shapes(soft, times, np.stack((bent, bent)), free)
    long = bent.copy()
    long[4] = 0.05
    with pytest.raises(StateError, match=r"section_2/actuator_2 would be 0.05 m .* 1 s from now.* 0 to 0.03"):
        check_shapes(soft, times, np.stack((bent, long)), free)
    weak = (np.full(9, -1.0), np.full(9, 1.0))
    with pytest.raises(StateError, match=r"section_\d/actuator_\d would need .* N .* -1 to 1"):
        check_shapes(soft, times, np.stack((bent, bent)), weak)


def test_a_shape_at_both_ends_of_a_range_of_one_number_is_within_it():
    locked = wheel('<limit lower="0.5" upper="0.5" effort="0" velocity="1"/>', kind="revolute")
    check_shapes(locked, np.array([1.0]), np.array([[0.5]]), (np.zeros(1), np.zeros(1)))


@pytest.mark.parametrize("name", ["stewart_1t", "soft_arm", "soft_arm_3"])
def test_default_feedback_sampled_at_100_hz_is_stable_with_delays_up_to_a_sample(name):
    robot = flexdyn_ros.load(name)
    law = FeedForward(robot, robot.neutral(), 10.0)
    growth = {share: law.growth(robot.neutral(), 0.01, 0.01 * share) for share in DELAYS}
    assert max(growth.values()) < -1.0, growth


def test_feedback_that_is_too_fast_for_the_samples_is_known_to_grow(soft):
    assert FeedForward(soft, soft.neutral(), 100.0).growth(soft.neutral(), 0.01, 0.01) > 1.0


def test_actuators_of_a_rigid_arm_feel_its_mass_matrix():
    arm = flexdyn_ros.load("seven_joint_arm")
    q = arm.random(np.random.default_rng(1))
    np.testing.assert_allclose(actuator_inertia(arm, q), arm.mass_matrix(q), rtol=1e-9, atol=1e-12)


def test_robots_and_words_that_do_not_fit_are_refused(soft):
    with pytest.raises(UnsupportedError, match="without an actuator"):
        FeedForward(flexdyn_ros.load("canadarm2"), np.zeros(1), 1.0)
    with pytest.raises(StateError, match="full, static, none"):
        FeedForward(soft, soft.neutral(), 1.0, feed_forward="some")
    with pytest.raises(DimensionError):
        FeedForward(soft, np.zeros(3), 1.0)


def test_poses_move_as_those_of_a_platform_do(platform):
    rng = np.random.default_rng(3)
    q, twist = platform.random(rng), rng.standard_normal(6)
    moved = PoseSpace.integrate(q, twist, 0.3)
    expected = platform.integrate(q, twist, 0.3)
    np.testing.assert_allclose(PoseSpace.matrix(moved), PoseSpace.matrix(expected), atol=1e-12)
    np.testing.assert_allclose(PoseSpace.difference(q, moved), platform.difference(q, expected), atol=1e-12)
