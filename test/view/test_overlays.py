"""Arrows and numbers over the robot say what statics says."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.view.drawing.loads import LOADS, Moment, label_places, offered, pressures_of, rest_of


def held(robot, q):
    return Moment(q, np.zeros(robot.nv), np.zeros(robot.nu), q, held=True)


def test_weight_and_contact_balance_on_wheels_at_rest():
    robot = flexdyn_ros.load("mobile_arm")
    now = held(robot, robot.static_equilibrium(robot.neutral(), hold="joints").q)
    weight, contact = (LOADS[name][2](robot, now) for name in ("weight", "contact"))
    # 22.3 kg at 9.8 m/s2, on two wheels
    np.testing.assert_allclose(weight.value, [[0.0, 0.0, -9.8 * robot.mass]], rtol=1e-12)
    np.testing.assert_allclose(contact.value.sum(axis=0), -weight.value[0], rtol=1e-6, atol=1e-9)
    # and without a moment about the y axis: no effort acts on the base
    moments = [np.cross(v.at, v.value).sum(axis=0)[1] for v in (weight, contact)]
    assert sum(moments) == pytest.approx(0.0, abs=1e-3 * abs(moments[0]))


def test_the_base_carries_the_weight_of_an_arm_with_its_lever():
    robot = flexdyn_ros.load("canadarm2")
    now = held(robot, robot.static_equilibrium(robot.neutral(), hold="joints").q)
    weight, force, moment = (LOADS[name][2](robot, now) for name in ("weight", "forces", "moments"))
    np.testing.assert_allclose(force.value[0], -weight.value[0], rtol=1e-8, atol=1e-6)
    lever = weight.at[0] - moment.at[0]
    expected = -np.cross(lever, weight.value[0])
    np.testing.assert_allclose(moment.value[0], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_forces_of_a_falling_arm_are_not_those_that_hold_it():
    robot = flexdyn_ros.load("two_link")
    q = robot.neutral()
    falling = Moment(q, np.zeros(2), np.zeros(2), q, held=False)
    force, moment = LOADS["forces"][2](robot, falling), LOADS["moments"][2](robot, falling)
    assert abs(force.value[0, 2]) < 0.9 * robot.mass * 9.81
    # a joint without effort transmits no moment about its axis
    axes = [joint.axis for joint in robot.description.joints if joint.type in ("revolute", "continuous")]
    assert abs(moment.value[1] @ np.asarray(axes[0])) < 1e-9


@pytest.mark.parametrize("name", ["stewart_1t", "stewart_electric"])
def test_legs_carry_the_platform(name):
    """Their forces at its joints hold the weight of all but what the legs' own joints carry."""
    robot = flexdyn_ros.load(name)
    now = held(robot, robot.neutral())
    force = LOADS["forces"][2](robot, now)
    np.testing.assert_allclose(
        np.linalg.norm(force.value, axis=1), np.abs(robot.inverse_dynamics(now.q, now.v, now.v)), rtol=1e-9
    )
    assert 0.5 < force.value.sum(axis=0)[2] / (9.80665 * robot.mass) < 1.1


def test_pressures_of_closed_cylinders_carry_the_legs():
    robot = flexdyn_ros.load("stewart_1t")
    now = rest_of(robot)
    found = pressures_of(robot, now)
    assert len(found) == 6
    tau = robot.inverse_dynamics(now.q, now.v, now.v)
    for leg, (bore, rod), force in zip(robot.description.platform.legs, found.values(), tau, strict=True):
        cylinder = leg.hydraulics.cylinder
        area = np.pi / 4.0 * cylinder.bore**2
        ring = area - np.pi / 4.0 * cylinder.rod_diameter**2
        # atmosphere on the rod
        push = area * bore - ring * rod - (area - ring) * 101325.0
        assert push == pytest.approx(force, rel=0.02, abs=20.0)


def test_a_soft_arm_with_chambers_tells_their_pressures():
    robot = flexdyn_ros.load("soft_arm")
    names = pressures_of(robot, rest_of(robot))
    assert ("pressure" in robot.description.text) == bool(names)


def test_robots_are_offered_what_they_have():
    assert offered(flexdyn_ros.load("mobile_arm")) == ["weight", "contact"]
    assert offered(flexdyn_ros.load("seven_joint_arm")) == ["weight", "forces", "moments"]
    assert offered(flexdyn_ros.load("stewart_1t")) == ["weight", "forces"]


def test_pressures_of_cylinders_between_frames_stand_at_their_middles():
    robot = flexdyn_ros.load("boom")
    now = rest_of(robot)
    found = pressures_of(robot, now)
    states = dict(zip([s.name for s in robot.element_states], robot.rest_states(now.q), strict=True))
    places = label_places(robot, now.q, tuple(found))
    assert list(found) == ["lift_cylinder", "fold_cylinder", "tilt_cylinder"]
    for name, pressures in found.items():
        assert pressures.tolist() == [states[f"{name}/pressure_{port}"] for port in ("bore", "rod")]
    # pins at (0.4, 0.7) on the base and (0.6, 2 - 0.1) on the first boom; on the second boom 0.2 below, at
    # three quarters of 3.2 m and at its tip
    np.testing.assert_allclose(places["lift_cylinder"], [0.5, 0.0, 1.3], atol=1e-12)
    np.testing.assert_allclose(places["tilt_cylinder"], [6.0, 0.0, 1.8], atol=1e-12)
