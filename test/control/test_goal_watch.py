"""A motion is judged by its tolerances: on its path, at its end, and by how late it is."""

from math import inf, nan

import numpy as np
import pytest

from flexdyn_ros.control import GoalWatch, Outcome, Tolerances

REST = np.zeros(2)


def watch(**bounds):
    free = dict.fromkeys(("path_position", "path_velocity", "goal_position", "goal_velocity"), (inf, inf))
    arrays = {name: np.array(bounds.pop(name, free[name]), dtype=float) for name in free}
    return GoalWatch(("shoulder", "elbow"), 2.0, Tolerances(**arrays, **bounds))


def test_without_tolerances_a_motion_goes_on_to_its_end_whatever_its_errors():
    it = watch()
    assert it.check(1.999, np.array([5.0, -7.0]), np.array([100.0, 0.0])) is None
    assert it.check(2.0, np.array([5.0, -7.0]), np.array([100.0, 0.0])).outcome == Outcome.REACHED


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_an_error_on_the_path_beyond_its_tolerance_names_joint_and_numbers(sign):
    it = watch(path_position=(0.1, 0.2))
    assert it.check(0.5, sign * np.array([0.1, 0.2]), REST) is None
    verdict = it.check(0.5, sign * np.array([0.05, 0.25]), REST)
    assert verdict.outcome == Outcome.LEFT_PATH
    for part in ("elbow", f"{sign * 0.25:g}", "0.2", "t = 0.500"):
        assert part in verdict.text


def test_the_joint_that_is_farthest_beyond_is_named():
    assert "shoulder" in watch(path_position=(0.1, 1.0)).check(0.0, np.array([0.4, 1.5]), REST).text
    assert "elbow" in watch(path_position=(1.0, 0.1)).check(0.0, np.array([1.5, 0.4]), REST).text


def test_a_velocity_on_the_path_has_a_tolerance_of_its_own():
    verdict = watch(path_velocity=(0.5, inf)).check(0.5, REST, np.array([0.6, 9.0]))
    assert verdict.outcome == Outcome.LEFT_PATH
    assert "velocity of shoulder" in verdict.text


def test_at_the_end_only_the_tolerances_of_the_goal_count():
    it = watch(path_position=(1e-6, 1e-6), goal_position=(0.1, 0.1))
    assert it.check(2.0, np.array([0.05, 0.05]), REST).outcome == Outcome.REACHED


def test_a_motion_that_is_not_there_yet_is_waited_for_until_the_goal_time_is_over():
    it = watch(goal_position=(0.1, 0.1), goal_velocity=(0.01, 0.01), goal_time=0.5)
    error = np.array([0.0, 0.15])
    assert it.check(2.4, error, REST) is None
    assert it.check(2.4, REST, np.array([0.02, 0.0])) is None
    assert it.check(2.4, REST, REST).outcome == Outcome.REACHED
    verdict = it.check(2.6, error, REST)
    assert verdict.outcome == Outcome.MISSED_GOAL
    for part in ("elbow", "0.15", "0.6 s", "0.5 s"):
        assert part in verdict.text


def test_without_a_goal_time_a_motion_is_waited_for_while_it_moves():
    it, error = watch(goal_position=(0.1, 0.1)), np.array([0.2, 0.0])
    for t in range(3, 100):
        assert it.check(t, error, np.array([0.0, 0.02])) is None


def test_joints_that_rest_beside_their_goal_have_missed_it():
    it, error = watch(goal_position=(0.1, 0.1)), np.array([0.2, 0.0])
    assert it.check(3.0, error, REST) is None
    assert it.check(7.9, error, REST) is None
    # it moves again, and rests
    assert it.check(7.95, error, np.array([0.5, 0.0])) is None
    assert it.check(9.0, error, REST) is None
    assert it.check(13.9, error, REST) is None
    verdict = it.check(14.1, error, REST)
    assert verdict.outcome == Outcome.MISSED_GOAL
    assert "shoulder" in verdict.text
    assert "at rest" in verdict.text


def test_an_error_that_is_no_number_is_within_no_tolerance():
    it = watch(path_position=(0.1, 0.1))
    assert it.check(0.5, np.array([nan, 0.0]), REST).outcome == Outcome.LEFT_PATH
