"""Closed mechanisms along references, against closed forms of their geometry and their energy."""

from __future__ import annotations

import re

import machines
import numpy as np
import pytest
from multibody.test_delta import motor_angles

import flexdyn_ros
from flexdyn_ros import control
from flexdyn_ros.control import FeedForward, actuator_motion, computed_torque, pd

#: of central differences of sixth order, for derivatives of closed forms
PLACES, WEIGHTS = np.array([-3, -2, -1, 1, 2, 3]), np.array([-1, 9, -45, 45, -9, 1]) / 60.0
#: angular velocity of the circle [rad/s], of the crank [rad/s]
TURN, SPEED = 4.0, 3.0


def slope(f, t, h):
    return np.tensordot(WEIGHTS, [f(t + k * h) for k in PLACES], 1) / h


def moved(robot, seconds, q0, v0, law, rtol=1e-9):
    return flexdyn_ros.simulate(robot, seconds, q0, v0, control=flexdyn_ros.continuous(law), rtol=rtol)


@pytest.fixture(scope="module")
def excavator():
    """With ideal cylinders instead of oil."""
    text = flexdyn_ros.load("excavator").description.text
    return flexdyn_ros.load(re.sub(r"<(supply|hydraulics)\b.*?</\1>", "", text, flags=re.DOTALL))


def circle(t):
    """Position of the platform on a tilted circle [m]."""
    return np.array([0.2 * np.cos(TURN * t), 0.2 * np.sin(TURN * t), -1.1 + 0.05 * np.sin(TURN * t)])


def motors_only(robot):
    """Closed-form motions of the motors for that circle; nothing of the platform."""

    def target(t):
        q, v, a = robot.neutral(), np.zeros(9), np.zeros(9)
        q[:3] = motor_angles(circle(t))
        v[:3] = slope(lambda s: motor_angles(circle(s)), t, 3e-3)
        a[:3] = slope(lambda u: slope(lambda s: motor_angles(circle(s)), u, 3e-3), t, 3e-3)
        return q, v, a

    return target


def by_lead(robot, target):
    law = FeedForward(robot, target, 20.0)
    return lambda t, q, v: law(t, *actuator_motion(robot, q, v))


def by_model(robot, target):
    return computed_torque(robot, target, 20.0)


@pytest.mark.parametrize("law", [by_lead, by_model])
def test_a_delta_follows_a_circle_that_only_its_motors_know(law):
    robot = flexdyn_ros.load("delta")
    target, q0 = motors_only(robot), robot.neutral()
    q0[:3], q0[3:6] = motor_angles(circle(0.0)), circle(0.0)
    v0 = np.zeros(9)
    v0[:3], v0[6:] = target(0.0)[1][:3], slope(circle, 0.0, 3e-3)
    run = moved(robot, 0.1, q0, v0, law(robot, target))
    missed = run.q[:, 3:6] - np.array([circle(t) for t in run.t])
    assert np.abs(missed).max() <= 1e-6


def four_bar_energy(angle):
    """Kinetic energy at 1 rad/s of the crank, and potential energy, of the four-bar by the circles of its
    bars; `angle` of the crank above x."""

    def ends(x):
        tip = 0.3 * np.array([np.cos(x), np.sin(x)])
        way = np.array([0.9, 0.0]) - tip
        d = np.linalg.norm(way)
        along = (d * d + 0.8**2 - 0.6**2) / (2.0 * d)
        up = np.array([-way[1], way[0]]) / d
        return np.array([tip, tip + along * way / d + np.sqrt(0.8**2 - along**2) * up])

    def rods(x):
        tip, pin = ends(x)
        foot = np.array([0.9, 0.0])
        return np.array([[np.zeros(2), tip], [tip, pin], [foot, pin]])

    m = np.array([1.0, 2.0, 1.5])
    at, rate = rods(angle), slope(rods, angle, 1e-2)
    # a thin rod: m (u u + u w + w w) / 6 with the velocities u, w of its ends
    u, w = rate[:, 0], rate[:, 1]
    kinetic = (m * ((u * u) + (u * w) + (w * w)).sum(axis=1)).sum() / 6.0
    return kinetic, 9.81 * (m * at[:, :, 1].mean(axis=1)).sum()


def test_the_motor_of_a_crank_at_constant_speed_gives_the_power_that_energy_takes():
    """tau w = dE/dt along one turn, from rods and circles alone."""
    robot = machines.four_bar()
    start, speed = robot.neutral(), np.array([-SPEED, 0.0, 0.0])

    def target(t):
        return np.r_[start[0] - SPEED * t, start[1:]], speed, np.zeros(3)

    law = FeedForward(robot, target, 10.0)
    for t in np.linspace(0.0, 2.0 * np.pi / SPEED, 24):
        angle = -target(t)[0][0]
        effort = law(t, *actuator_motion(robot, *target(t)[:2]))
        by_angle = slope(lambda x: np.array(four_bar_energy(x)), angle, 1e-2)
        # the axis is +y: angles of the crank above x count backwards
        np.testing.assert_allclose(effort[0], -(SPEED**2 * by_angle[0] + by_angle[1]), atol=1e-6)
        assert np.abs(effort[1:]).max() == 0.0


def pins(robot, q):
    """Lengths of the cylinders of the excavator, between the pins of its description."""
    found = []
    for cylinder in robot.description.extras["cylinder"]:
        ends = []
        for frame, xyz in ((cylinder.base, cylinder.base_xyz), (cylinder.end, cylinder.end_xyz)):
            T = robot.frames(q, frame)
            ends.append(T[:3, :3] @ xyz + T[:3, 3])
        found.append(np.linalg.norm(ends[1] - ends[0]))
    return np.array(found)


def test_errors_of_cylinders_die_out_as_they_are_asked_to(excavator):
    """Critically damped: e = e0 (1 + w t) exp(-w t), of the swing and of lengths between pins."""
    robot, w = excavator, 8.0
    goal, rest = robot.neutral(), np.zeros(6)
    q0, _ = robot.project(robot.integrate(goal, np.array([0.2, 0.1, -0.15, 0.1, 0.0, 0.0]), 1.0), rest)
    run = moved(robot, 0.5, q0, rest, computed_torque(robot, goal, w), rtol=1e-10)
    seen = np.array([[q[0] - goal[0], *(pins(robot, q) - pins(robot, goal))] for q in run.q])
    expected = seen[0] * ((1.0 + w * run.t) * np.exp(-w * run.t))[:, None]
    assert np.abs(seen[0]).min() > 0.01
    np.testing.assert_allclose(seen, expected, atol=1e-7)


def test_the_excavator_is_led_along_lengths_that_its_target_implies(excavator):
    """A target of joints is a target of cylinders: they are where these joints would have them, and so are
    the joints, once the loop has moved the bell crank."""
    robot = excavator
    neutral, size = robot.neutral(), np.array([0.3, 0.2, -0.2, 0.0, 0.15, 0.0])

    def target(t):
        x = 1.0 - np.cos(2.0 * t)
        return neutral + size * x, size * 2.0 * np.sin(2.0 * t), size * 4.0 * np.cos(2.0 * t)

    law = FeedForward(robot, target, 20.0)

    def control(t, q, v):
        return law(t, *actuator_motion(robot, q, v))

    run = moved(robot, 0.2, neutral, np.zeros(6), control)
    known = [0, 1, 2, 4]
    missed = [q[known] - target(t)[0][known] for t, q in zip(run.t, run.q, strict=True)]
    assert np.abs(missed).max() <= 1e-6


def test_feedback_on_lengths_holds_the_excavator_where_cylinders_push(excavator):
    """Static forces are those of virtual work along the lengths, stretched springs of P on top."""
    robot = excavator
    q, rest = robot.neutral(), np.zeros(6)
    other, _ = robot.project(q + np.array([0.0, 0.05, 0.0, 0.0, 0.0, 0.0]), rest)
    P = np.r_[np.zeros(6), 1e6, 2e6, 3e6]
    law = pd(robot, q, P, 0.0)
    np.testing.assert_allclose(
        law(0.0, other, rest) - law(0.0, q, rest),
        P * np.r_[np.zeros(6), pins(robot, q) - pins(robot, other)],
        atol=1e-5,
    )
    N = robot.functions.motions(q)
    h = 1e-4
    weight = [(robot.energy(q + h * n, rest)[1] - robot.energy(q - h * n, rest)[1]) / (2 * h) for n in N.T]
    lengths = np.array([(pins(robot, q + h * n) - pins(robot, q - h * n)) / (2 * h) for n in N.T])
    tau = law(0.0, q, rest)
    np.testing.assert_allclose(lengths @ tau[6:] + N[0] * tau[0], weight, atol=1e-1)


def test_a_beam_in_a_loop_is_held_in_its_bent_shape():
    """The hinge of a beam whose tip slides on a plane: the target moves no mode, weight does."""
    robot = flexdyn_ros.load(
        machines.BEAM.replace("<flexdyn><act", "<flexdyn><gravity>0 0 -9.81</gravity><act")
    )
    q, rest = robot.neutral(), np.zeros(robot.nv)
    tau = pd(robot, q, 0.0, 0.0)(0.0, q, rest)
    found = robot.static_equilibrium(q, hold=["hinge"])
    np.testing.assert_allclose(tau, np.where(np.arange(robot.nv) == 0, found.tau, 0.0), atol=1e-9)
    assert abs(tau[0]) > 1.0
    assert np.abs(robot.forward_dynamics(found.q, rest, tau)).max() <= 1e-7


def test_a_boom_that_bends_is_held_by_its_cylinders():
    """Without loops: the efforts of static equilibrium at the lengths of the target."""
    robot = flexdyn_ros.load("boom")
    q, rest = robot.neutral(), np.zeros(robot.nv)
    tau = pd(robot, q, 0.0, 0.0)(0.0, q, rest)
    shape = control.StaticShape(robot)
    bent, held = shape(q)
    np.testing.assert_allclose(shape(q)[0], bent, atol=1e-9)
    assert np.abs(bent - q).max() > 1e-6
    np.testing.assert_allclose(*(robot.cylinder_states(x, rest).length for x in (q, bent)), rtol=1e-12)
    assert np.abs(tau[robot.nv :]).max() > 1e3
    np.testing.assert_allclose(tau, held, atol=1e-6)
    assert np.abs(robot.forward_dynamics(bent, rest, tau)).max() <= 1e-6
