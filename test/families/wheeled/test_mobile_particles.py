"""Wheeled arms against sums over their particles, at large deflections (mobile specification, section 16)."""

import numpy as np
import pytest
from mobile_arms import absolute, arm, efforts
from reference.wheeled_arm import Arm, Link

EA, EI = 210e9 * np.pi * 0.006**2, 210e9 * np.pi * 0.006**4 / 4
THICK = (0.0533423 - 0.64 / 12, 0.0693450 - 1.3 * 0.64 / 12)
MODELS = {
    "rigid": ({"formulation__flexible": False}, (0, 0), (0, 0)),
    "rigid_flexible": ({"links__link_1": None}, (0, 0), (1, 2)),
    "flexible_rigid": ({"links__link_2": None}, (1, 2), (0, 0)),
    "flexible": ({}, (1, 2), (1, 2)),
    "more functions": (
        {f"links__link_{i}__modes__{f}": n for i in (1, 2) for f, n in (("axial", 2), ("bending_z", 5))},
        (2, 5),
        (2, 5),
    ),
}


def road(X):
    wave = 2 * np.pi / 0.4
    angle = wave * (X + 0.35) + np.pi
    return 0.03 * np.sin(angle) + 0.03, 0.03 * wave * np.cos(angle)


def both(name):
    """Our robot, the sum of particles, and the constant T with q_i = T z."""
    options, first, second = MODELS[name]
    robot = arm(**options)
    # a link that is a rigid body of the URDF has the inertia written there, one without modes is a line
    written = [THICK[i] if options.get(f"links__link_{i + 1}", 0) is None else 0.0 for i in range(2)]
    links = (Link(1.0, 0.8, EA, EI, *first, written[0]), Link(1.3, 0.8, EA, EI, *second, written[1]))
    oracle = Arm(links, road)
    return robot, oracle, absolute(robot)


def random_state(robot, T, rng):
    """Ours and q_i, v_i: large deflections."""
    z, u = rng.uniform(-1, 1, robot.nv - 1), rng.normal(size=robot.nv - 1)
    for i, c in enumerate(robot.coordinates[1:]):
        if c.kind in ("axial", "bending_z"):
            z[i], u[i] = 0.05 * z[i], 0.3 * u[i]
    z[0], z[1] = 0.2 + 0.02 * z[0], 0.3 * z[1]
    x, speed = rng.uniform(0, 1), 0.3
    return np.append(x, z), np.append(speed, u), T @ z, T @ u


@pytest.mark.parametrize("name", MODELS)
def test_mass_matrix_forces_and_accelerations_are_those_of_the_particles(name):
    robot, oracle, T = both(name)
    back = np.linalg.inv(T)
    rng = np.random.default_rng(11)
    for _ in range(2):
        q, v, qi, vi = random_state(robot, T, rng)
        torques = rng.normal(size=2) * [20.0, 4.0]
        tau = efforts(robot, *torques)
        M, Q = oracle.equations(q[0], v[0], qi, vi, torques)
        ours = back.T @ robot.mass_matrix(q)[1:, 1:] @ back
        assert np.abs(ours - M).max() <= 1e-11 * np.abs(M).max()
        forces = back.T @ (tau - robot.bias_forces(q, v))[1:]
        assert np.abs(forces - Q).max() <= 1e-11 * np.abs(Q).max()
        a = T @ robot.forward_dynamics(q, v, tau)[1:]
        exact = np.linalg.solve(M, Q)
        assert np.abs(a - exact).max() <= 1e-9 * np.abs(exact).max()
        inner, drive = oracle.joint_and_drive_forces(q[0], v[0], qi, vi, exact)
        largest = np.abs(inner).max()
        lam = robot.constraint_forces(q, v, tau)
        assert np.abs(lam[:2] - inner[1]).max() <= 1e-8 * largest
        assert np.abs(lam[2:4] + inner[0]).max() <= 1e-8 * largest
        assert abs(lam[4] + drive) <= 1e-8 * largest
        assert abs(robot.drive_force(q, v, tau) - drive) <= 1e-8 * largest


def test_the_particles_meet_the_printed_numbers():
    """The oracle by itself: accelerations of the worked state, section 17."""
    from mobile_arms import Q_I, SPEED, TIME, V_I

    _, oracle, _ = both("flexible")
    M, Q = oracle.equations(SPEED * TIME, SPEED, Q_I, V_I, np.array([10.0, 2.0]))
    a = np.linalg.solve(M, Q)
    assert np.allclose(a[[2, 6]], [2173.0824176, 2947.0015833], rtol=5e-9, atol=0.0)
    assert Q[3] == pytest.approx(-37.0401125462, rel=5e-9)
