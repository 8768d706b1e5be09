"""Trajectories pass through their points, with the derivatives that these give."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("trajectory_msgs.msg")

from builtin_interfaces.msg import Duration  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from flexdyn_ros.simulation.live.joint_path import TrajectoryError, read_path  # noqa: E402

ROWS = {"a": 0, "b": 2}
HERE, SPEED = np.array([0.1, 9.0, -0.2]), np.array([0.5, 9.0, 0.0])


def trajectory(times, positions, velocities=None, accelerations=None, names=("a", "b")):
    points = []
    for i, t in enumerate(times):
        point = JointTrajectoryPoint(positions=list(positions[i]))
        point.time_from_start = Duration(sec=int(t), nanosec=round(t % 1 * 1e9))
        if velocities is not None:
            point.velocities = list(velocities[i])
        if accelerations is not None:
            point.accelerations = list(accelerations[i])
        points.append(point)
    return JointTrajectory(joint_names=list(names), points=points)


def derivative(path, t, order=1, h=1e-4):
    if order == 1:
        return (path.at(t + h)[0] - path.at(t - h)[0]) / (2 * h)
    return (path.at(t + h)[1] - path.at(t - h)[1]) / (2 * h)


@given(st.integers(0, 2), st.integers(0, 1000))
def test_a_path_passes_through_its_points_with_their_derivatives(order, seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.2, 1.0, 4)).round(3)
    x, v, a = (rng.standard_normal((4, 2)) for _ in range(3))
    message = trajectory(times, x, v if order > 0 else None, a if order > 1 else None)
    path = read_path(message, ROWS, 5.0, HERE, SPEED)
    np.testing.assert_allclose(path.at(5.0)[0], HERE[[0, 2]], atol=1e-12)
    for i, t in enumerate(5.0 + times):
        np.testing.assert_allclose(path.at(t)[0], x[i], atol=1e-8)
        if order > 0:
            np.testing.assert_allclose(path.at(t)[1], v[i], atol=1e-7)
        if order > 1 and i < 3:
            # the third derivative, below 1e4 here, jumps at a point: an error of its jump times h
            np.testing.assert_allclose(derivative(path, t, 2, h=1e-7), a[i], atol=2e-3)
    middle = 5.0 + times[0] + 0.4 * (times[1] - times[0])
    np.testing.assert_allclose(path.at(middle)[1], derivative(path, middle), atol=1e-4)


@given(st.integers(0, 2), st.integers(0, 1000))
def test_the_greatest_speed_is_that_of_the_path(order, seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.2, 1.0, 3)).round(3)
    x, v, a = (rng.standard_normal((3, 2)) for _ in range(3))
    message = trajectory(times, x, v if order > 0 else None, a if order > 1 else None)
    path = read_path(message, ROWS, 5.0, HERE, SPEED)
    seen = np.max([np.abs(path.at(t)[1]) for t in np.linspace(5.0, path.end, 301)], axis=0)
    np.testing.assert_allclose(path.greatest_speed(), seen, rtol=0.02)


def test_the_end_is_held_at_rest():
    path = read_path(trajectory([1.0], [(1.0, 2.0)], [(3.0, 4.0)]), ROWS, 0.0, HERE, SPEED)
    position, velocity, effort = path.at(7.0)
    assert position.tolist() == pytest.approx([1.0, 2.0])
    assert velocity.tolist() == [0.0, 0.0]
    assert effort is None


def test_efforts_are_interpolated_between_the_points_and_held_beyond_them():
    message = trajectory([1.0, 3.0], [(1.0, 2.0), (0.0, 0.0)])
    for point, effort in zip(message.points, ([10.0, 0.0], [30.0, -4.0]), strict=True):
        point.effort = effort
    path = read_path(message, ROWS, 0.0, HERE, SPEED)
    for time, effort in ((0.5, [10.0, 0.0]), (1.0, [10.0, 0.0]), (2.5, [25.0, -3.0]), (9.0, [30.0, -4.0])):
        assert path.at(time)[2].tolist() == pytest.approx(effort)


def test_motion_is_position_with_its_first_and_second_derivative():
    rng = np.random.default_rng(0)
    x, v, a = rng.normal(size=(3, 3, 2))
    path = read_path(trajectory([1.0, 2.5, 3.0], x, v, a), ROWS, 0.0, HERE, SPEED)
    h = 1e-4
    for time in (0.3, 1.7, 2.8):
        before, (position, velocity, acceleration), after = (path.motion(time + d) for d in (-h, 0.0, h))
        np.testing.assert_array_equal(position, path.at(time)[0])
        # differences are off by h^2 and rounding / h
        np.testing.assert_allclose(velocity, (after[0] - before[0]) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(acceleration, (after[1] - before[1]) / (2 * h), atol=1e-4)
    assert not np.any(path.motion(path.end)[2])


def test_no_points_mean_stop_here():
    path = read_path(JointTrajectory(joint_names=["a"]), ROWS, 3.0, HERE, SPEED)
    assert path.at(9.0)[0].tolist() == [0.1]
    assert path.at(9.0)[1].tolist() == [0.0]


def test_a_single_point_now_is_held_at_once():
    path = read_path(trajectory([0.0], [(1.0, 2.0)], [(0.0, 0.0)], [(0.0, 0.0)]), ROWS, 3.0, HERE, SPEED)
    assert np.isfinite(path.at(3.0)[0]).all()
    assert path.at(3.1)[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (JointTrajectory(), "joint_names is empty"),
        (trajectory([1.0], [(1.0, 2.0)], names=("a", "a")), "more than once"),
        (trajectory([1.0], [(1.0,)]), "1 numbers, expected 2"),
        (trajectory([2.0, 1.0], [(1.0, 2.0)] * 2), "not later"),
        (trajectory([1.0], [(float("nan"), 2.0)]), "not finite"),
        (trajectory([1.0], [()]), "no positions"),
    ],
)
def test_a_malformed_trajectory_is_refused(message, words):
    with pytest.raises(TrajectoryError, match=words):
        read_path(message, ROWS, 0.0, HERE, SPEED)
