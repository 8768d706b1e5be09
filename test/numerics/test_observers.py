"""Entries for single states: they answer what they are asked, and leave wrong sizes to the general way."""

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler
from robot.test_single_states import goes_the_general_way

from flexdyn_ros import Robot
from flexdyn_ros.errors import DimensionError

ROBOTS = {"two joints": double_pendulum, "a free body with an arm": tumbler}


@pytest.fixture(params=ROBOTS)
def asked(request):
    """A robot and what its verbs are asked, by names of verbs."""
    robot = ROBOTS[request.param]()
    rng = np.random.default_rng(3)
    q, v, a = robot.random(rng), *rng.normal(size=(2, robot.nv))
    frame = robot.frame_names[-1]
    return robot, {
        "mass_matrix": (q,),
        "bias_forces": (q, v),
        "bias_terms": (q, v),
        "energy": (q, v),
        "momentum": (q, v),
        "center_of_mass": (q,),
        "actuation_matrix": (q,),
        "frames": (q, frame),
        "jacobian": (q, frame),
        "frame_velocity": (q, v, frame),
        "frame_acceleration": (q, v, a, frame),
        "integrate": (q, v, 0.3),
    }


def arrays(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def test_single_states_are_answered_without_the_general_way_and_like_it(asked):
    robot, calls = asked
    for verb, arguments in calls.items():
        # the first call makes what the next ones ask
        getattr(robot, verb)(*arguments)
        assert not goes_the_general_way(robot, verb, arguments), verb
        found = arrays(getattr(robot, verb)(*arguments))
        for one, two in zip(found, arrays(getattr(Robot, verb)(robot, *arguments)), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12, err_msg=verb)


def test_arrays_of_another_size_are_refused_whichever_they_are(asked):
    robot, calls = asked
    for verb, arguments in calls.items():
        getattr(robot, verb)(*arguments)
        for i, given in enumerate(arguments):
            if isinstance(given, np.ndarray):
                for wrong in (given[:-1], np.append(given, 0.5)):
                    with pytest.raises(DimensionError):
                        getattr(robot, verb)(*arguments[:i], wrong, *arguments[i + 1 :])
