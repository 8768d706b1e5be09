"""The included delta robot against closed forms: Clavel's kinematics, virtual work, forces of its rods."""

from __future__ import annotations

import numpy as np
import pytest

import flexdyn_ros

#: circle of the motors less that of the platform, arm, rod, half the distance of two rods [m]
E, ARM, ROD, HALF = 0.14 - 0.075, 0.565, 1.26, 0.0834
ANGLES = 2.0 * np.pi * np.arange(3) / 3.0
MOTORS = ("motor_1", "motor_2", "motor_3")
#: mass and centre of mass along an arm, mass of the platform, inertia of an arm about its motor, of rotors
M_ARM, COM, M_PLATFORM, I_ARM, I_ROTOR, G = 3.0, 0.27, 2.2, 0.09 + 3.0 * 0.27**2, 2e-4 * 33**2, 9.81
#: positions of the platform over the work space [m]
PLACES = [(0.0, 0.0, -1.1), (0.4, 0.1, -1.25), (-0.3, 0.45, -1.0), (-0.2, -0.6, -1.3), (0.05, 0.3, -1.45)]


@pytest.fixture(scope="module")
def delta():
    return flexdyn_ros.load("delta")


def arm_plane(p):
    """The platform (3,) in the planes of the three arms: out, across, up (3, 3)."""
    c, s = np.cos(ANGLES), np.sin(ANGLES)
    return np.column_stack([c * p[0] + s * p[1], -s * p[0] + c * p[1], np.full(3, p[2])])


def motor_angles(p):
    """Angles of the motors for a platform at p: the arm ends where a circle meets a sphere, outward."""
    u, w, z = arm_plane(p).T
    a, b = 2.0 * ARM * (E - u), 2.0 * ARM * z
    c = (E - u) ** 2 + w**2 + z**2 + ARM**2 - ROD**2
    # a cos + b sin + c = 0
    return np.arctan2(b, a) + np.arccos(-c / np.hypot(a, b))


def rods(p, angles):
    """Vectors from the platform to the ends of the arms, in the planes of the arms (3, 3)."""
    u, w, z = arm_plane(p).T
    return np.column_stack([E + ARM * np.cos(angles) - u, -w, -ARM * np.sin(angles) - z])


def jacobian(p, angles):
    """d angles / d p (3, 3): rod . (velocity of the arm's end - that of the platform) = 0."""
    s = rods(p, angles)
    c, n = np.cos(ANGLES), np.sin(ANGLES)
    # the same vectors in the axes of the base
    world = np.column_stack([c * s[:, 0] - n * s[:, 1], n * s[:, 0] + c * s[:, 1], s[:, 2]])
    lever = ARM * (-s[:, 0] * np.sin(angles) - s[:, 2] * np.cos(angles))
    return world / lever[:, None]


def posed(robot, p):
    """q with the platform at p, closed, and the angles by the closed form."""
    q = robot.neutral()
    q[:3], q[3:6] = motor_angles(p), p
    return q


@pytest.mark.parametrize("p", PLACES)
def test_inverse_kinematics_closes_the_rods(delta, p):
    q = posed(delta, p)
    assert np.abs(delta.loop_residual(q)).max() < 1e-14
    # its arms bend outward: the branch of neutral()
    assert (np.abs(motor_angles(p)) < 1.3).all()


@pytest.mark.parametrize("p", PLACES)
def test_forward_kinematics_is_where_three_spheres_meet(delta, p):
    angles = motor_angles(p)
    # centres: the ends of the arms, moved inward by the radius of the platform
    out = E + ARM * np.cos(angles)
    centres = np.column_stack([out * np.cos(ANGLES), out * np.sin(ANGLES), -ARM * np.sin(angles)])
    x = centres[1] - centres[0]
    d, x = np.linalg.norm(x), x / np.linalg.norm(x)
    i = x @ (centres[2] - centres[0])
    y = centres[2] - centres[0] - i * x
    j, y = np.linalg.norm(y), y / np.linalg.norm(y)
    # radii are equal
    a, b = 0.5 * d, 0.5 * (i**2 + j**2) / j - 0.5 * i * d / j
    below = np.cross(x, y)
    below *= -np.sign(below[2])
    closed = centres[0] + a * x + b * y + np.sqrt(ROD**2 - a**2 - b**2) * below
    np.testing.assert_allclose(closed, p, atol=1e-12)
    start = delta.neutral()
    start[:3] = angles
    q = delta.assemble(start, lock=MOTORS)
    np.testing.assert_allclose(q[3:6], closed, atol=1e-11)
    # parallelograms keep the platform level
    np.testing.assert_allclose(q[6:], [0.0, 0.0, 0.0, 1.0], atol=1e-11)


def test_six_rods_leave_three_translations(delta):
    assert [loop.type for loop in delta.loops] == ["distance"] * 6
    assert [loop.redundant for loop in delta.loops] == [0] * 6
    assert delta.mobility == 3
    assert delta.actuators == MOTORS
    report = flexdyn_ros.check("delta")
    assert report.warnings == ()
    assert any("6 rows of loops of rank 6: mobility 3" in note for note in report.notes)


@pytest.mark.parametrize("p", PLACES)
def test_velocities_are_those_of_the_closed_jacobian(delta, p):
    q, rate = posed(delta, p), np.array([0.3, -0.7, 0.4])
    v = np.concatenate([jacobian(p, q[:3]) @ rate, np.zeros(3), rate])
    assert np.abs(delta.loop_jacobian(q) @ v).max() < 1e-14


@pytest.mark.parametrize("p", PLACES)
def test_torques_at_rest_are_those_of_virtual_work(delta, p):
    q = posed(delta, p)
    force = np.array([12.0, -7.0, -30.0])
    wrench = {"platform": np.concatenate([np.zeros(3), force])}
    still = np.zeros(delta.nv)
    tau = delta.inverse_dynamics(q, still, still, wrenches=wrench)
    # tau . d angle + (force + weight) . dp + weights of the arms . d height = 0
    load = force + [0.0, 0.0, -M_PLATFORM * G]
    closed = -np.linalg.solve(jacobian(p, q[:3]).T, load) - M_ARM * G * COM * np.cos(q[:3])
    np.testing.assert_allclose(tau[:3], closed, rtol=1e-11)
    assert np.abs(tau[3:]).max() < 1e-9
    assert np.abs(delta.forward_dynamics(q, still, tau, wrenches=wrench)).max() < 1e-9


@pytest.mark.parametrize("p", PLACES)
def test_accelerations_are_those_of_lagrange_with_three_coordinates(delta, p):
    """The platform translates and the rods have no mass: T = 1/2 m p'^2 + 1/2 (I_arm + I_rotor) angles'^2."""
    q, rate = posed(delta, p), np.array([0.5, 0.8, -0.6])
    J = jacobian(p, q[:3])
    v = np.concatenate([J @ rate, np.zeros(3), rate])
    tau = np.zeros(delta.nv)
    tau[:3] = 5.0, -3.0, 8.0
    # d/dt J by differences of the closed form along the motion
    h = 1e-4
    at = [jacobian(p + k * h * rate, motor_angles(p + k * h * rate)) for k in (-2, -1, 1, 2)]
    rate_of_J = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    I = I_ARM + I_ROTOR
    M = M_PLATFORM * np.eye(3) + I * J.T @ J
    torque = tau[:3] - 0.4 * v[:3] + M_ARM * G * COM * np.cos(q[:3]) - I * rate_of_J @ rate
    closed = np.linalg.solve(M, J.T @ torque + [0.0, 0.0, -M_PLATFORM * G])
    a = delta.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a[6:], closed, rtol=1e-9)
    np.testing.assert_allclose(a[:3], J @ closed + rate_of_J @ rate, rtol=1e-9)
    assert np.abs(a[3:6]).max() < 1e-9


def test_forces_of_the_rods_hold_the_platform(delta):
    p = np.array(PLACES[1])
    q, still = posed(delta, p), np.zeros(delta.nv)
    tau = delta.inverse_dynamics(q, still, still)
    found = delta.loop_reactions(q, still, tau=tau)
    assert found.determinate.all()
    # along the rods
    s = rods(p, q[:3])
    c, n = np.cos(ANGLES), np.sin(ANGLES)
    along = np.column_stack([c * s[:, 0] - n * s[:, 1], n * s[:, 0] + c * s[:, 1], s[:, 2]]) / ROD
    assert np.abs(np.cross(found.force, np.repeat(along, 2, axis=0))).max() < 1e-10
    np.testing.assert_allclose(found.force.sum(axis=0), [0.0, 0.0, M_PLATFORM * G], atol=1e-10)
    # the pairs together are the three forces of a platform that is a point
    pairs = found.force.reshape(3, 2, 3).sum(axis=1)
    np.testing.assert_allclose(pairs.sum(axis=0), [0.0, 0.0, M_PLATFORM * G], atol=1e-10)
    sizes = np.linalg.solve(along.T, [0.0, 0.0, M_PLATFORM * G])
    np.testing.assert_allclose(pairs, along * sizes[:, None], atol=1e-10)


def test_it_keeps_its_energy(delta):
    """Ten seconds on springs at the motors, without friction: 1e-8 of the range of the energy of motion."""
    free = delta.with_parameters({f"{motor}/damping": 0.0 for motor in MOTORS})
    p = np.array([0.1, 0.0, -1.2])
    q = posed(free, p)
    stiffness, rest = 60.0, q[:3] - 0.3
    torque = np.zeros(free.nu)

    def springs(t, q, v):
        torque[:3] = -stiffness * (q[:3] - rest)
        return torque

    rate = np.array([0.4, -0.9, 0.0])
    v = np.concatenate([jacobian(p, q[:3]) @ rate, np.zeros(3), rate])
    run = flexdyn_ros.simulate(
        free, 10.0, q, v, control=flexdyn_ros.continuous(springs), rtol=1e-10, sample=0.05
    )
    stored = 0.5 * stiffness * ((run.q[:, :3] - rest) ** 2).sum(axis=1)
    energy = np.array([sum(free.energy(x, y)[:2]) for x, y in zip(run.q, run.v, strict=True)])
    kinetic = np.array([free.energy(x, y)[0] for x, y in zip(run.q, run.v, strict=True)])
    span = kinetic.max() - kinetic.min()
    assert span > 1.0
    assert np.abs(energy + stored - energy[0] - stored[0]).max() < 1e-8 * span
    assert np.abs(free.loop_residual(run.q)).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", free.loop_jacobian(run.q), run.v)).max() < 1e-9
    # level all the time
    assert np.abs(run.q[:, 6:9]).max() < 1e-9


def test_a_payload_moves_with_the_tool(delta):
    loaded = delta.with_payload("tool", 4.0)
    p = PLACES[2]
    q, still = posed(delta, p), np.zeros(delta.nv)
    tau = loaded.inverse_dynamics(q, still, still) - delta.inverse_dynamics(q, still, still)
    closed = -np.linalg.solve(jacobian(p, q[:3]).T, [0.0, 0.0, -4.0 * G])
    np.testing.assert_allclose(tau[:3], closed, rtol=1e-10)


def test_its_rods_are_shown_between_their_ends(delta):
    """NAME/rod points from the arm to the platform, in the description that tools show."""
    shown = flexdyn_ros.expand(delta)
    tree = flexdyn_ros.load(shown.urdf)
    q = posed(delta, PLACES[1])
    positions = dict(zip(shown.joint_names, shown.joint_positions(q), strict=True))
    pose = tree.neutral()
    for i, name in enumerate(tree.q_names):
        pose[i] = positions.get(name, pose[i])
    for number, angle in enumerate(ANGLES, 1):
        for side, letter in ((1.0, "a"), (-1.0, "b")):
            T = tree.frames(pose, f"rod_{number}{letter}/rod")
            arm = delta.frames(q, f"arm_{number}")
            np.testing.assert_allclose(T[:3, 3], (arm @ [ARM, side * HALF, 0.0, 1.0])[:3], atol=1e-9)
            c, s = np.cos(angle), np.sin(angle)
            lug = q[3:6] + [0.075 * c - side * HALF * s, 0.075 * s + side * HALF * c, 0.0]
            np.testing.assert_allclose(T[:3, 3] + ROD * T[:3, 0], lug, atol=1e-9)
