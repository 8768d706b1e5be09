"""Worked numbers of the specification of mobile arms, section 17, to the digits that it prints."""

import numpy as np
import pytest
from mobile_arms import absolute, arm, efforts, held, state

PRINTED = 5e-9  # the last digit printed, relative

M_ROW = [1.2668846773, 0.3552595772, 1.0453601661, 0.00624, 1.32000165, -0.03200004, 0.3983672718,
         -0.1511868247, 0.4975439479, -0.066339193]  # fmt: skip
FORCES = [-10.4409259826, 10.2889828548, -4.4669891718, -37.0401125462, -13.5463905568, 0.1765011575,
          -2.909427297, 28.9146427164, -9.1447672924, 0.4177370635]  # fmt: skip
ACCELERATIONS = [-0.84743075735, -30.823240405, 2173.0824176, -176.45974457, -1855.1644155, -1408.6464072,
                 2947.0015833, 238.30420898, -2097.3075927, -697.77295512]  # fmt: skip
MULTIPLIERS = [4.1302796961, 29.011354811, 71.2973175141, -28.5374807008, 71.2973175141]


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def tau(robot):
    return efforts(robot, 10.0, 2.0)


def test_coordinates_are_those_of_the_specification_up_to_a_constant_transformation(robot):
    T = absolute(robot)
    assert np.array_equal(np.abs(T) > 0, T != 0)
    assert abs(np.linalg.det(T)) == 1.0
    assert robot.coordinates[0].prescribed


def test_wheel_forces_of_the_worked_state(robot):
    wheels = robot.wheel_forces(*state(robot))
    assert np.allclose(wheels.normal, [74.3190387, 133.2698268], rtol=1e-9, atol=0.0)
    assert np.array_equal(wheels.normal, wheels.suspension)
    assert wheels.in_contact.all()


def test_mass_matrix_row_of_the_worked_state(robot):
    back = np.linalg.inv(absolute(robot))
    M = back.T @ robot.mass_matrix(state(robot)[0])[1:, 1:] @ back
    assert np.allclose(M[2], M_ROW, rtol=PRINTED, atol=5e-11)


def test_generalized_forces_of_the_worked_state(robot, tau):
    back = np.linalg.inv(absolute(robot))
    Q = back.T @ (tau - robot.bias_forces(*state(robot)))[1:]
    assert np.allclose(Q, FORCES, rtol=PRINTED, atol=1e-10)


def test_accelerations_of_the_worked_state(robot, tau):
    a = robot.forward_dynamics(*state(robot), tau)
    assert a[0] == 0.0
    assert np.allclose(absolute(robot) @ a[1:], ACCELERATIONS, rtol=PRINTED, atol=0.0)


def test_multipliers_and_driving_force_of_the_worked_state(robot, tau):
    q, v = state(robot)
    assert np.allclose(robot.constraint_forces(q, v, tau), MULTIPLIERS, rtol=PRINTED, atol=0.0)
    assert robot.drive_force(q, v, tau) == pytest.approx(-71.2973175141, rel=1e-11)


def test_stiffness_of_link_3(robot):
    K = robot.modal_integrals("link_1").stiffness
    assert K[0, 0] == pytest.approx(2.9688050576e7, rel=1e-10)
    assert np.allclose(K[1:, 1:], [[5009.8585348, -2003.9434139], [-2003.9434139, 1068.7698208]], rtol=1e-10)


def test_clamped_frequencies_of_link_3(robot):
    its = robot.modal_integrals("link_1")
    squares = np.linalg.eigvals(np.linalg.solve(its.modal_mass, its.stiffness)).real
    assert np.allclose(
        np.sqrt(np.sort(squares)) / (2 * np.pi), [11.4882234992, 113.189853939, 1502.005765], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("flexible", "heave", "pitch", "shoulder", "elbow"),
    [
        (False, 0.2031269142, 0.0088748922, 16.6346159559, 4.4132654577),
        (True, 0.2031494130, 0.0082439751, 16.7890994505, 4.4214482101),
    ],
)
def test_held_equilibrium_at_thirty_degrees(flexible, heave, pitch, shoulder, elbow):
    robot = arm(formulation__flexible=flexible)
    found = held(robot, np.radians([30.0, 30.0]))
    assert found.q[1] == pytest.approx(heave, abs=5e-11)
    assert -found.q[2] == pytest.approx(pitch, abs=5e-11)
    assert found.tau[robot.index("shoulder")] == pytest.approx(shoulder, abs=5e-10)
    assert found.tau[robot.index("elbow")] == pytest.approx(elbow, abs=5e-10)
    assert found.residual <= 1e-9
    if flexible:
        assert np.allclose(
            found.q[4:7], [-2.9708923e-7, -1.7969387551e-2, -3.7300155756e-2], rtol=PRINTED * 4, atol=0.0
        )
        assert np.allclose(
            found.q[8:11], [-1.0728222e-7, -3.3034356861e-3, -5.5057261436e-3], rtol=PRINTED * 10, atol=0.0
        )
