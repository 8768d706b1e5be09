"""Entries for single states: they answer what they are asked, and leave wrong sizes to the general way."""

import numpy as np
import pytest
from models import joint, link, robot_text
from pendulums import double_pendulum, tumbler
from robot.test_single_states import goes_the_general_way

from flexdyn_ros import Robot, load
from flexdyn_ros.errors import DimensionError, SingularityError, StateError

ROBOTS = {"two joints": double_pendulum, "a free body with an arm": tumbler}


@pytest.fixture(params=ROBOTS)
def asked(request):
    """A robot, and what its verbs are asked."""
    robot = ROBOTS[request.param]()
    rng = np.random.default_rng(3)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    frame, several = robot.frame_names[-1], robot.frame_names[-1:0:-1]
    return robot, [
        ("mass_matrix", (q,)),
        ("bias_forces", (q, v)),
        ("bias_terms", (q, v)),
        ("energy", (q, v)),
        ("momentum", (q, v)),
        ("center_of_mass", (q,)),
        ("actuation_matrix", (q,)),
        ("frames", (q, frame)),
        ("frames", (q, several)),
        ("jacobian", (q, frame)),
        ("jacobian", (q, several)),
        ("frame_velocity", (q, v, frame)),
        ("frame_acceleration", (q, v, a, frame)),
        ("integrate", (q, v, 0.3)),
    ]


def arrays(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def test_single_states_are_answered_without_the_general_way_and_like_it(asked):
    robot, calls = asked
    for verb, arguments in calls:
        # the first call makes what the next ones ask
        getattr(robot, verb)(*arguments)
        assert not goes_the_general_way(robot, verb, arguments), verb
        found = arrays(getattr(robot, verb)(*arguments))
        for one, two in zip(found, arrays(getattr(Robot, verb)(robot, *arguments)), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12, err_msg=verb)


def test_arrays_of_another_size_are_refused_whichever_they_are(asked):
    robot, calls = asked
    for verb, arguments in calls:
        getattr(robot, verb)(*arguments)
        for i, given in enumerate(arguments):
            if isinstance(given, np.ndarray):
                for wrong in (given[:-1], np.append(given, 0.5)):
                    with pytest.raises(DimensionError):
                        getattr(robot, verb)(*arguments[:i], wrong, *arguments[i + 1 :])


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_answers_that_are_no_numbers_are_not_given():
    robot, q, still = double_pendulum(), np.array([0.3, 0.4]), np.zeros(2)
    huge, tip = np.full(2, 1.5e308), double_pendulum().frame_names[-1]
    light = load(
        robot_text("light", link("base", 0), link("arm", 0), joint("turn", "continuous", "base", "arm"))
    )
    # at 45 degrees tangential and centripetal acceleration add, which are finite each
    turned, fast, swung = np.array([0.25 * np.pi, 0.0]), np.array([1.2e154, 0.0]), np.array([1.5e308, 0.0])
    assert np.isfinite(robot.frame_acceleration(turned, still, swung, tip)).all()
    assert np.isfinite(robot.frame_acceleration(turned, fast, still, tip)).all()
    for _ in range(2):
        with pytest.raises(StateError, match="acceleration overflows"):
            robot.frame_acceleration(turned, fast, swung, tip)
        with pytest.raises(StateError, match="velocity overflows"):
            robot.frame_velocity(q, huge, tip)
        with pytest.raises(StateError, match="acceleration overflows"):
            robot.frame_acceleration(q, still, huge, tip)
        with pytest.raises(SingularityError, match="mass"):
            light.center_of_mass(np.zeros(1))
