"""Implicit steps of soft arms solve their equation and lose what dampers take, in every model of an arm."""

import numpy as np
import pytest
from implicit_steps import left_over, taken_left_over
from soft_arms import chain

import flexdyn_ros

#: actuators that differ, a spring against bending, stops at 0 and 0.03
SECTION = (
    'length="0.15" radius="0.0125" mass="0.15" stiffness="1700 1300 900" damping="15 9 4" '
    'bending_stiffness="0.1" lower="0" upper="0.03" limit_stiffness="8000" limit_damping="{}" '
    'quadrature="3"'
)
WAYS = {
    "exact": (2, {}),
    "lumped": (1, {"formulation.mass_model": "lumped"}),
    "modal": (2, {"formulation.kinematics": "modal", "formulation.order": 4}),
}
#: the second actuator is in its lower stop, the fifth and the sixth in their upper ones
Q, STOPPED = np.array([12, -4, 20, 9, 34, 33]) * 1e-3, [1, 4, 5]
V = np.array([0.1, -0.05, 0.02, -0.04, 0.06, -0.03])


def arm(way, damping):
    sections, options = WAYS[way]
    return flexdyn_ros.load(chain(sections, SECTION.format(damping)), options=options)


@pytest.mark.parametrize("way", WAYS)
def test_accelerations_of_a_step_solve_its_equation_in_stops_too(way):
    """Forces are linear where stops have no dampers, or where what is in them stands."""
    standing = np.where(np.isin(np.arange(6), STOPPED), 0.0, V)
    for damping, v in ((0.0, V), (40.0, standing)):
        robot = arm(way, damping)
        for h in (0.02, 0.0):
            assert left_over(robot, Q[: robot.nv], v[: robot.nv], h) < 1e-8


@pytest.mark.parametrize("damping", [0.0, 1.0, 40.0])
def test_a_step_loses_what_dampers_and_those_of_stops_take(damping):
    """Of stops that the step leads into or out of, too."""
    robot = arm("exact", damping)
    assert taken_left_over(robot, Q, V, 0.02) < 1e-9
    # with 0.05 s the sixth leaves its stop, the fourth and the first arrive in theirs
    v = np.array([0.4, -0.05, 0.02, -0.3, 0.06, -0.2])
    assert taken_left_over(robot, Q, v, 0.05) < 1e-9
