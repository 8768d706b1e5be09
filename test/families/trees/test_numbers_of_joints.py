"""Numbers of joints that can be changed: which there are, their units, and what efforts make of them."""

import numpy as np
import pytest
from models import random_tree

import flexdyn_ros

UNITS = {
    "damping": ("N m s/rad", "N s/m"),
    "friction": ("N m", "N"),
    "rotor": ("kg m2", "kg"),
    "stiffness": ("N m/rad", "N/m"),
}


@pytest.fixture(scope="module")
def robot():
    """Balls before sliders and hinges, on a base that is free."""
    kinds = ("ball", "revolute", "prismatic")
    return flexdyn_ros.load(
        random_tree(3, base="floating", joints=8, kinds=kinds, mimic=False, resistance=True)
    )


def test_each_coordinate_has_four_numbers_and_one_of_a_ball_no_rotor_and_no_spring(robot):
    """Of a ball there is no position that a spring could measure, and no axis of a motor."""
    expected = {}
    joints = [c for c in robot.coordinates if c.kind == "joint"]
    for c in joints:
        is_ball = c.q_index < 0
        for number, (of_turn, of_slide) in UNITS.items():
            if not (is_ball and number in ("rotor", "stiffness")):
                expected[f"{c.name}/{number}"] = of_turn if c.unit == "rad" else of_slide
    own = {c.name for c in robot.coordinates}
    found = {p.name: p.unit for p in robot.parameters if p.name.rpartition("/")[0] in own}
    assert found == expected
    assert {(c.q_index < 0, c.unit) for c in joints} == {(0, "rad"), (0, "m"), (1, "rad")}


def test_each_number_of_a_joint_acts_on_its_own_effort_by_its_law(robot):
    rng = np.random.default_rng(7)
    q = robot.random(rng)
    v, a = rng.uniform(1.0, 2.0, (2, robot.nv)) * rng.choice([-1.0, 1.0], (2, robot.nv))
    before = robot.inverse_dynamics(q, v, a)
    of_number = {p.name: i for i, p in enumerate(robot.parameters)}
    Y = robot.regressor(q, v, a).Y
    for c in robot.coordinates:
        i = c.v_index
        factors = {"damping": v[i], "friction": np.sign(v[i]), "rotor": a[i], "stiffness": q[c.q_index]}
        for number, factor in factors.items():
            name = f"{c.name}/{number}"
            if name in of_number:
                value = robot.parameters[of_number[name]].value + 0.3
                after = robot.with_parameters({name: value}).inverse_dynamics(q, v, a)
                expected = factor * (np.arange(robot.nv) == i)
                assert (after - before) / 0.3 == pytest.approx(expected, abs=1e-9), name
                assert Y[:, of_number[name]] == pytest.approx(expected, abs=1e-9), name
