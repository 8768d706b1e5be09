"""C, CasADi and FMUs of closed mechanisms."""

import machines
import numpy as np
import pytest
from exported import COMPILERS, compiled, fmu_motion

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.simulation.steps.stepper import Stepper

ROBOTS = {
    "four_bar": machines.four_bar,
    "bricard": machines.bricard,
    "floating": lambda: flexdyn_ros.load(machines.FLOATING),
    "beam": lambda: flexdyn_ros.load(machines.BEAM),
    "excavator": machines.excavator,
}


def state_of(robot, seed=0):
    rng = np.random.default_rng(seed)
    size = np.array([1e-3 if c.kind not in ("joint", "base") else 0.1 for c in robot.coordinates])
    q = robot.assemble(robot.integrate(robot.neutral(), size * rng.standard_normal(robot.nv), 1.0))
    return (*robot.project(q, 3.0 * size * rng.standard_normal(robot.nv)), rng.standard_normal(robot.nu))


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", ROBOTS)
def test_c_computes_the_same_accelerations(name, tmp_path):
    robot = ROBOTS[name]()
    export.c(robot, tmp_path, ["forward_dynamics"])
    arm = compiled(tmp_path, robot.name)
    for seed in range(5):
        state = state_of(robot, seed)
        expected = robot.forward_dynamics(*state)
        found = arm.call("forward_dynamics", *state, sizes=[robot.nv])
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("method", ["rk4", "rosenbrock", "semi_implicit_euler"])
@pytest.mark.parametrize("name", ["four_bar", "bricard", "excavator"])
def test_steps_in_c_are_those_of_simulate_and_stay_on_the_loops(name, method, tmp_path):
    robot = ROBOTS[name]()
    export.c(robot, tmp_path, ["step"], method=method)
    arm = compiled(tmp_path, robot.name)
    q, v, tau = state_of(robot)
    stepper = Stepper(robot, 1e-3, method, q0=q, v0=v)
    assert stepper.advance(100, tau) == 0
    for _ in range(100):
        q, v = arm.step(q, v, tau, 1e-3)
        assert np.abs(robot.loop_residual(q)).max() <= 1e-10
        assert np.abs(robot.loop_jacobian(q) @ v).max() <= 1e-9
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-9 * max(1.0, np.abs(v).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_parameters_are_inputs_in_c(tmp_path):
    robot = machines.four_bar()
    export.c(robot, tmp_path, ["forward_dynamics"], parameters=["rocker/*"])
    q, v, tau = state_of(robot)
    p = np.array([x.value for x in robot.parameters if x.name.startswith("rocker/")])
    names = [x.name for x in robot.parameters if x.name.startswith("rocker/")]
    p *= 2.0
    other = robot.with_parameters(dict(zip(names, p, strict=True)))
    expected = other.forward_dynamics(q, v, tau)
    found = compiled(tmp_path, robot.name).call("forward_dynamics", q, v, tau, p=p, sizes=[robot.nv])
    assert np.abs(expected - robot.forward_dynamics(q, v, tau)).max() > 1e-2
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", ["four_bar", "excavator"])
def test_an_fmu_moves_as_simulate_does(name, tmp_path):
    pytest.importorskip("fmpy")
    robot = ROBOTS[name]()
    q0, v0, tau = state_of(robot)
    tau[[effort not in robot.actuators for effort in robot.effort_names]] = 0.0
    path = tmp_path / "closed.fmu"
    export.fmu(robot, path, q0=q0, v0=v0)
    expected = flexdyn_ros.simulate(robot, 0.2, q0, v0, control=tau, dt=1e-3, record_every=10)
    found = fmu_motion(path, robot, tau, "CoSimulation", 1e-2, 0.2, step_size=1e-2)
    assert np.abs(found - expected.q).max() <= 1e-6 * max(1.0, np.ptp(expected.q, axis=0).max())
    assert np.abs(robot.loop_residual(found)).max() <= 1e-6


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_an_fmu_starts_on_the_loops(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    robot = machines.four_bar()
    export.fmu(robot, tmp_path / "closed.fmu", q0=machines.Q + [0.1, -0.05, 0.08])
    model = fmpy.read_model_description(str(tmp_path / "closed.fmu"))
    starts = {x.name: x.start for x in model.modelVariables}
    q = np.array([float(starts[name]) for name in starts if name in robot.q_names])
    if q.size == robot.nq:
        assert np.abs(robot.loop_residual(q)).max() <= 1e-10


def test_casadi_computes_the_same_accelerations():
    pytest.importorskip("casadi")
    robot = machines.four_bar()
    state = state_of(robot)
    function = export.casadi(robot, "forward_dynamics")
    expected = robot.forward_dynamics(*state)
    found = np.asarray(function(*state)).ravel()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("verb", ["inverse_dynamics"])
def test_verbs_that_would_ignore_loops_are_refused(verb, tmp_path):
    robot = machines.four_bar()
    with pytest.raises(UnsupportedError, match=rf"loops \('close'\): an export of {verb} is not computed"):
        export.c(robot, tmp_path, [verb])
    with pytest.raises(UnsupportedError, match=verb):
        export.casadi(robot, verb)
    # what is written by default is what there is
    export.c(robot, tmp_path)
    assert "four_bar_step" in (tmp_path / "four_bar.h").read_text()
