"""CasADi functions: the verbs, their derivatives, parameters, steps."""

import numpy as np
import pytest
from exported import at_random, residual

import flexdyn_ros
from flexdyn_ros import export

pytest.importorskip("casadi")

FAMILIES = ("seven_joint_arm", "flexible_two_link", "mobile_arm", "soft_arm", "stewart_1t")


@pytest.mark.parametrize("name", FAMILIES)
def test_values_and_derivatives_are_ours(name):
    robot = flexdyn_ros.load(name)
    q, v, _, tau = at_random(robot)
    function = export.casadi(robot, "forward_dynamics")
    assert function.name_in() == ["q", "v", "tau"]
    assert function.name_out() == ["acceleration"]
    expected = robot.forward_dynamics(q, v, tau)
    found = np.array(function(q, v, tau)).ravel()
    assert residual(robot, q, v, tau, found, expected) <= 1e-12
    ours = robot.forward_dynamics_derivatives(q, v, tau)
    slopes = [np.array(x) for x in function.jacobian()(q, v, tau, found)]
    for theirs, own in zip(slopes, ours, strict=True):
        if theirs.shape == own.shape:
            assert np.abs(theirs - own).max() <= 1e-10 * np.abs(own).max()
    M = np.array(export.casadi(robot, "mass_matrix")(q))
    assert np.abs(M - robot.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()


def test_derivatives_at_rest_are_finite():
    for name in FAMILIES:
        robot = flexdyn_ros.load(name)
        q, still = robot.neutral(), np.zeros(robot.nv)
        function = export.casadi(robot, "inverse_dynamics")
        for slope in function.jacobian()(q, still, still, np.zeros(robot.nu)):
            assert np.isfinite(np.array(slope)).all(), name


def test_frames_and_energies():
    robot = flexdyn_ros.load("flexible_two_link")
    q, v, _, _ = at_random(robot)
    names = robot.frame_names[-2:]
    positions, rotations = export.casadi(robot, "frames", frames=names)(q)
    poses = robot.frames(q, names)
    assert np.array(positions) == pytest.approx(poses[:, :3, 3], abs=1e-13)
    assert np.array(rotations) == pytest.approx(np.hstack(list(poses[:, :3, :3])), abs=1e-13)
    energy = np.array(export.casadi(robot, "energy")(q, v)).ravel()
    assert energy == pytest.approx(tuple(robot.energy(q, v)), rel=1e-12)


def test_parameters_are_the_last_input():
    robot = flexdyn_ros.load("two_link")
    function = export.casadi(robot, "inverse_dynamics", ["*/mass"])
    assert function.name_in() == ["q", "v", "a", "p"]
    q, v, a, _ = at_random(robot)
    names = [p.name for p in robot.parameters if p.name.endswith("/mass")]
    p = np.arange(1.0, 1.0 + len(names))
    expected = robot.with_parameters(dict(zip(names, p, strict=True))).inverse_dynamics(q, v, a)
    assert np.array(function(q, v, a, p)).ravel() == pytest.approx(expected, rel=1e-12)
    # the efforts are linear in the parameters: the regressor is the derivative
    slopes = np.array(function.jacobian()(q, v, a, p, expected)[3])
    Y = robot.regressor(q, v, a).Y
    columns = [[x.name for x in robot.parameters].index(name) for name in names]
    assert slopes == pytest.approx(Y[:, columns], abs=1e-12)


def test_a_step_moves_on():
    robot = flexdyn_ros.load("flexible_two_link")
    step = export.casadi(robot, "step")
    q, v, _, tau = at_random(robot)
    expected = flexdyn_ros.simulate(robot, 1e-3, q, v, control=tau, dt=1e-3)
    q1, v1 = (np.array(x).ravel() for x in step(q, v, tau, 1e-3))
    assert np.abs(q1 - expected.q[-1]).max() <= 1e-12
    assert np.abs(v1 - expected.v[-1]).max() <= 1e-10 * np.abs(v1).max()
