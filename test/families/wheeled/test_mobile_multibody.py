"""Planar systems in Cartesian coordinates: against the recursion, by finite differences, closed loops."""

import numpy as np
import pytest
from mobile_arms import Q_I, SPEED, TIME, V_I, arm, efforts, state
from planar_multibody import (
    GROUND,
    Driving,
    PlanarSystem,
    Point,
    Prismatic,
    Revolute,
    Torque,
    Weld,
    rigid_body,
)

from flexdyn_ros.errors import SingularityError
from flexdyn_ros.families.wheeled.model import invariants

ALONG = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
TIP = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.0, 0.0, 1.0])


def full_arm():
    """The two-link arm with 15 coordinates, its wheels as forces; torques of the worked state."""
    robot = arm()
    links = [
        invariants(link, ALONG, np.zeros(2), False, False) for link in robot.functions.tree.flexible.links
    ]
    cart = rigid_body(20.0, (0.0, 0.0), 20.0 * (0.7**2 + 0.212**2) / 12)
    shoulder, root3 = Point(0, (0.0, 0.539)), Point(1, (0.0, 0.0))
    tip3, root4 = Point(1, (0.8, 0.0), *TIP), Point(2, (0.0, 0.0))

    def wheels(t, q, v):
        force = np.zeros(15)
        for x, K, C in ((-0.35, 952.0, 95.0), (0.35, 1168.0, 116.0)):
            angle = 2 * np.pi * (q[0] + x + 0.35) / 0.4 + np.pi
            H, grade = 0.03 * np.sin(angle) + 0.03, 0.03 * 2 * np.pi / 0.4 * np.cos(angle)
            F = K * (0.26 - (q[1] + x * q[2] - H)) - C * (v[1] + x * v[2] - grade * v[0])
            force[1] += F
            force[2] += x * F
        return force

    return PlanarSystem(
        (cart, *links),
        (Revolute(root4, tip3), Revolute(shoulder, root3), Driving(0, 0, lambda t: (0.3 * t, 0.3, 0.0))),
        gravity=(0.0, -9.8),
        torques=(Torque(shoulder, root3, lambda *_: 10.0), Torque(tip3, root4, lambda *_: 2.0)),
        forces=(wheels,),
    )


def worked(system):
    """The worked state, dependent coordinates by projection."""
    q, v = np.zeros(15), np.zeros(15)
    for x, i, drive in ((q, Q_I, SPEED * TIME), (v, V_I, SPEED)):
        x[0], x[1:3], x[5:9], x[11:15] = drive, i[:2], i[2:6], i[6:10]
    turn = lambda th: np.array([[np.cos(th), -np.sin(th)], [np.sin(th), np.cos(th)]])  # noqa: E731
    q[3:5] = q[:2] + turn(q[2]) @ [0.0, 0.539]
    q[9:11] = q[3:5] + turn(q[5]) @ (np.array([0.8, 0.0]) + q[6:8])
    J = system.jacobian(q)
    d, i = [3, 4, 9, 10], [k for k in range(15) if k not in (3, 4, 9, 10)]
    v[d] = np.linalg.lstsq(J[:, d], -system.constraint_rate(0.1) - J[:, i] @ v[i], rcond=None)[0]
    return q, v


def test_fifteen_coordinates_and_the_recursion_agree():
    system, robot = full_arm(), arm()
    q, v = worked(system)
    assert np.abs(system.constraint(TIME, q)).max() <= 1e-15
    assert np.abs(system.jacobian(q) @ v + system.constraint_rate(TIME)).max() <= 1e-14
    tau = efforts(robot, 10.0, 2.0)
    lam = robot.constraint_forces(*state(robot), tau)
    for found in (
        system.solve(TIME, q, v),
        system.solve_partitioned(TIME, q, v),
        system.solve_partitioned(TIME, q, v, [0, 3, 4, 9, 10]),
    ):
        assert found.a[1] == pytest.approx(-0.84743075735, rel=5e-9)
        assert found.a[5] == pytest.approx(2173.0824176, rel=5e-9)
        assert found.a[11] == pytest.approx(2947.0015833, rel=5e-9)
        assert np.allclose(found.lam, lam, rtol=1e-8, atol=1e-8 * np.abs(lam).max())


def random_states(system, count=5):
    rng = np.random.default_rng(0)
    return [(rng.normal(size=system.n) * 0.3, rng.normal(size=system.n)) for _ in range(count)]


def crank(ground_angle=0.3):
    """A crank, a rod and a slider on an inclined line: one freedom, a closed loop."""
    c, s = np.cos(ground_angle), np.sin(ground_angle)
    return PlanarSystem(
        (
            rigid_body(1.0, (0.1, 0.0), 0.01),
            rigid_body(2.0, (0.3, 0.0), 0.06),
            rigid_body(3.0, (0.0, 0.0), 0.02),
        ),
        (
            Revolute(Point(GROUND, (0.0, 0.0)), Point(0, (0.0, 0.0))),
            Revolute(Point(0, (0.2, 0.0)), Point(1, (0.0, 0.0))),
            Revolute(Point(1, (0.6, 0.0)), Point(2, (0.0, 0.0))),
            Prismatic(Point(GROUND, (0.0, 0.0)), Point(2, (0.0, 0.0)), (-s, c), ground_angle),
        ),
    )


def sliding():
    """A slider on a moving, turning body, and a weld to a third: every kind of constraint on free bodies."""
    body = rigid_body(1.0, (0.1, 0.2), 0.05)
    return PlanarSystem(
        (body, body, body),
        (
            Prismatic(Point(0, (0.1, -0.2)), Point(1, (0.3, 0.1)), (0.6, 0.8), 0.2),
            Weld(Point(1, (0.2, 0.0)), Point(2, (0.0, 0.1)), -0.1),
            Driving(0, 2, lambda t: (t, 1.0, 0.0)),
        ),
    )


@pytest.mark.parametrize("make", [full_arm, crank, sliding])
def test_constraint_rows_and_right_hand_sides_by_finite_differences(make):
    system, h = make(), 1e-5
    for q, v in random_states(system):
        J = system.jacobian(q)
        along = (system.constraint(0.0, q + h * v) - system.constraint(0.0, q - h * v)) / (2 * h)
        assert np.allclose(J @ v, along, rtol=1e-8, atol=1e-8)
        change = (system.jacobian(q + h * v) - system.jacobian(q - h * v)) @ v / (2 * h)
        assert np.allclose(-change, system.gamma(0.0, q, v), rtol=1e-8, atol=1e-8)


def test_velocity_forces_by_finite_differences_of_the_mass_matrix():
    system, h = full_arm(), 1e-6
    for q, v in random_states(system):
        M_rate = (system.mass_matrix(q + h * v) - system.mass_matrix(q - h * v)) / (2 * h)
        slope = np.zeros(system.n)
        for i in range(system.n):
            e = np.zeros(system.n)
            e[i] = h
            slope[i] = (v @ system.mass_matrix(q + e) @ v - v @ system.mass_matrix(q - e) @ v) / (4 * h)
        Qv = system.velocity_forces(q, v)
        assert np.allclose(Qv, slope - M_rate @ v, rtol=1e-8, atol=1e-8 * np.abs(Qv).max())


def test_a_slider_crank_runs_and_keeps_its_energy():
    from scipy.integrate import solve_ivp

    system = crank()
    q, v = system.project(0.0, np.array([0.0, 0.0, 1.0, 0.1, 0.2, 0.0, 0.6, 0.2, 0.3]), np.zeros(9))
    v[:] = 0.0

    def rate(t, y):
        return np.concatenate([y[9:], system.solve(t, y[:9], y[9:]).a])

    run = solve_ivp(rate, (0.0, 0.5), np.append(q, v), method="DOP853", rtol=1e-10, atol=1e-12)
    q1, v1 = run.y[:9, -1], run.y[9:, -1]
    assert np.abs(q1 - q).max() > 0.1
    assert system.energy(q1, v1) == pytest.approx(system.energy(q, v), abs=1e-8)
    assert np.abs(system.constraint(0.5, q1)).max() <= 1e-8
    q2, v2 = system.project(0.5, q1, v1)
    assert np.abs(system.constraint(0.5, q2)).max() <= 1e-13
    assert np.abs(system.jacobian(q2) @ v2).max() <= 1e-12


def test_redundant_constraints_are_counted():
    system = crank()
    twice = PlanarSystem(system.bodies, (*system.constraints, system.constraints[0]))
    q, v = np.zeros(9), np.zeros(9)
    with pytest.raises(SingularityError, match="2 of 10"):
        twice.solve(0.0, q, v)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("method", "duration"), [("DOP853", 0.01), pytest.param("BDF", 0.25, marks=pytest.mark.slow)]
)
def test_unstabilised_integration_of_all_coordinates_drifts_little(method, duration):
    from scipy.integrate import solve_ivp

    system = full_arm()
    q, v = worked(system)

    def rate(t, y):
        return np.concatenate([y[15:], system.solve_partitioned(t, y[:15], y[15:], [0, 3, 4, 9, 10]).a])

    end = TIME + duration
    run = solve_ivp(rate, (TIME, end), np.append(q, v), method=method, rtol=1e-8, atol=1e-10)
    q1, v1 = run.y[:15, -1], run.y[15:, -1]
    assert np.abs(system.constraint(end, q1)).max() <= 1e-8
    assert np.abs(system.jacobian(q1) @ v1 + system.constraint_rate(end)).max() <= 1e-7
