"""C and CasADi functions of robots with a joint of each type: the library's numbers, and its steps."""

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled, exchanged_error, fmu_motion, residual
from jointed_robots import with_floating_joint, with_joint
from models import JOINT_TYPES

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.usefixtures("quick_compiler")

EVERY = pytest.mark.parametrize("kind", [*JOINT_TYPES])


def loaded(kind, flexible=False):
    numbers = f'damping="{" ".join(["0.3"] * JOINT_TYPES[kind])}"'
    return flexdyn_ros.load(with_joint(kind, flexible=flexible, numbers=numbers))


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
@EVERY
def test_c_computes_the_same(kind, flexible, tmp_path):
    robot = loaded(kind, flexible)
    verbs = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "frames")
    export.c(robot, tmp_path, verbs, frames=["tool", "lower"])
    arm, nv = compiled(tmp_path, robot.name), robot.nv
    for seed in range(5):
        q, v, a, tau = at_random(robot, seed)
        expected = robot.inverse_dynamics(q, v, a)
        found = arm.call("inverse_dynamics", q, v, a, sizes=[nv])
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
        M = arm.call("mass_matrix", q, sizes=[nv * nv]).reshape(nv, nv)
        assert np.abs(M - robot.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()
        energy = arm.call("energy", q, v, sizes=[3])
        assert np.abs(energy - robot.energy(q, v)).max() <= 1e-12 * np.abs(energy).max()
        expected = robot.forward_dynamics(q, v, tau)
        found = arm.call("forward_dynamics", q, v, tau, sizes=[nv])
        assert residual(robot, q, v, tau, found, expected) <= 1e-12


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@EVERY
def test_steps_in_c_are_those_of_simulate(kind, tmp_path):
    robot = loaded(kind)
    export.c(robot, tmp_path, ["step"])
    arm = compiled(tmp_path, robot.name)
    q, v, _, tau = at_random(robot)
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(100, tau) == 0
    for _ in range(100):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-9 * max(1.0, np.abs(v).max())


@EVERY
def test_casadi_has_values_and_derivatives(kind):
    pytest.importorskip("casadi")
    robot = loaded(kind)
    q, v, a, tau = at_random(robot)
    expected = robot.inverse_dynamics(q, v, a)
    found = np.array(export.casadi(robot, "inverse_dynamics")(q, v, a)).ravel()
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    function = export.casadi(robot, "forward_dynamics")
    expected = robot.forward_dynamics(q, v, tau)
    found = np.array(function(q, v, tau)).ravel()
    assert residual(robot, q, v, tau, found, expected) <= 1e-12
    by_v = np.array(function.jacobian()(q, v, tau, found)[1])
    own = robot.forward_dynamics_derivatives(q, v, tau)[1]
    assert np.abs(by_v - own).max() <= 1e-10 * np.abs(own).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("kind", [*JOINT_TYPES, "floating"])
def test_an_fmu_moves_as_simulate_does(kind, tmp_path):
    pytest.importorskip("fmpy")
    robot = flexdyn_ros.load(with_floating_joint()) if kind == "floating" else loaded(kind)
    q0, v0, _, _ = at_random(robot)
    path = export.fmu(robot, tmp_path / "joint.fmu", q0=q0, v0=v0)
    expected = flexdyn_ros.simulate(robot, 0.2, q0, v0, dt=1e-3, record_every=10)
    moved = fmu_motion(path, robot, np.zeros(robot.nu), "CoSimulation", 1e-2, 0.2, step_size=1e-2)
    assert np.ptp(expected.q, axis=0).min() > 0.0
    assert np.abs(moved - expected.q).max() <= 1e-9 * max(1.0, np.ptp(expected.q, axis=0).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("kind", ["ball", "floating"])
def test_model_exchange_moves_quaternions_inside_a_tree(kind, tmp_path):
    pytest.importorskip("fmpy")
    robot = flexdyn_ros.load(with_floating_joint() if kind == "floating" else with_joint(kind))
    q0, v0, _, _ = at_random(robot)
    assert exchanged_error(robot, q0, v0, np.zeros(robot.nu), tmp_path / "joint.fmu") <= 1e-6
