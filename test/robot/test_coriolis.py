"""The Coriolis matrix of trees that bend, and the constants of a flexible link."""

import numpy as np
import pytest
from flexible_robots import bent_state, branched, cantilever

import flexdyn_ros
from flexdyn_ros.errors import StateError, UnknownNameError


@pytest.mark.parametrize("stiffening", ["none", "full"])
@pytest.mark.parametrize("base", ["fixed", "floating", "planar"])
def test_coriolis_matrix_gives_the_velocity_part_and_is_passive(base, stiffening):
    robot = flexdyn_ros.load(branched(base=base, middle=True), options={"formulation.stiffening": stiffening})
    q, v, _ = bent_state(robot, 3, 2.0)
    C = robot.coriolis_matrix(q, v)
    velocity = robot.bias_terms(q, v).velocity
    assert np.abs(C @ v - velocity).max() < 1e-13 * np.abs(velocity).max()
    step = 1e-5
    M = [robot.mass_matrix(robot.integrate(q, v, t)) for t in (-step, step)]
    rate = (M[1] - M[0]) / (2 * step)
    # error of the central difference: step^2, and rounding over the step
    assert np.abs(rate - C - C.T).max() < 3e-9 * np.abs(rate).max()


def test_coriolis_matrix_broadcasts_and_is_linear_in_v():
    robot = flexdyn_ros.load(branched())
    q, v, _ = bent_state(robot, 1)
    C = robot.coriolis_matrix(np.stack([q, q]), np.stack([v, -3.0 * v]))
    assert C.shape == (2, robot.nv, robot.nv)
    assert C[1] == pytest.approx(-3.0 * C[0], rel=1e-9, abs=1e-12 * np.abs(C).max())


def test_the_coriolis_matrix_names_the_state_that_is_no_number():
    robot = flexdyn_ros.load("seven_joint_arm")
    q, v = np.zeros((2, 4, robot.nv))
    v[2, 4] = np.nan
    with pytest.raises(StateError, match=r"v\[4\] of sample 2 is nan"):
        robot.coriolis_matrix(q, v)


def test_modal_integrals_of_a_uniform_beam():
    """Table of the serial specification, section 4.1: int phi, int s phi, int phi^2 of the first mode."""
    robot = flexdyn_ros.load(cantilever('bending_y="1" torsion="1"'))
    link = robot.modal_integrals("beam", (0.0, 0.5, 1.0))
    mu, L, polar = 1.2, 10.0, 0.02
    assert link.names == ("beam/bending_y/1", "beam/torsion/1")
    assert 2 * link.C[0, 0] == pytest.approx(mu * L, rel=1e-12)
    assert 2 * link.C_k[0, 0, 2] == pytest.approx(mu * L * 0.39149587801981, rel=1e-12)
    assert 2 * link.C_k[0, 1, 2] == pytest.approx(mu * L**2 * 0.28441287185496, rel=1e-12)
    # the sections turn with the beam: their rotary inertia polar/2 adds int phi'^2 = 4.6477 / L
    assert 2 * link.C_kl[0, 0, 2, 2] == pytest.approx(mu * L * 0.25, rel=1e-12)
    assert link.modal_mass[1, 1] == pytest.approx(polar * L / 2, rel=1e-12)
    assert link.displacement[0, :, 1] == pytest.approx([0.0, 0.3395, 1.0], abs=1e-4)
    assert link.rotation[1, 2] == pytest.approx([1.0, 0.0, 0.0])
    with pytest.raises(UnknownNameError, match="hub"):
        robot.modal_integrals("hub")
    with pytest.raises(StateError, match="fractions"):
        robot.modal_integrals("beam", (1.2,))
