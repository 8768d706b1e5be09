"""C, CasADi and FMUs of trees with a spring, a damper, a torsion spring and a cylinder."""

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled, exchanged_error, fmu_motion, residual
from mixtures import random_mixture

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.usefixtures("quick_compiler")

BOOM = """<robot name="boom"><link name="base"><inertial><mass value="90"/>
  <inertia ixx="9" iyy="9" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="boom"><inertial><origin xyz="1.2 0 0"/>
  <mass value="100"/><inertia ixx="6" iyy="60" izz="60" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tool"><inertial><origin xyz="0.2 0 0"/><mass value="10"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 -1 0"/>
  <limit lower="-3" upper="3" effort="0" velocity="3"/></joint>
<joint name="tilt" type="revolute"><parent link="boom"/><child link="tool"/><origin xyz="2 0 0"/>
  <axis xyz="0 -1 0"/><limit lower="-3" upper="3" effort="0" velocity="3"/></joint>
<flexdyn>{}</flexdyn></robot>"""
ELEMENTS = {
    "spring": '<spring name="e" base="base" base_xyz="0.3 0 1" end="tool" stiffness="500" damping="20"/>',
    "damper": '<damper name="e" base="base" base_xyz="0.3 0 1" end="tool" damping="20"/>',
    "torsion_spring": '<torsion_spring name="e" base="boom" end="tool" axis="0 1 0" stiffness="50" '
    'damping="2"/>',
    "cylinder": '<cylinder name="e" base="base" base_xyz="0.5 0 -0.6" end="tool" minimum_length="0.1" '
    'stroke="9"/>',
    "heavy": '<cylinder name="e" base="boom" base_xyz="0.5 0 0.6" end="tool" end_xyz="0.1 0 0.3" '
    'minimum_length="0.1" stroke="9">'
    '<barrel mass="20" com="0.3" inertia="1.5"/><rod mass="10" com="-0.35" inertia="0.8"/></cylinder>',
}
WHEEL = (
    '<wheel name="{}" link="base" xyz="{} 0 -0.5"><suspension stiffness="2e4" damping="900" '
    'free_length="0.4"/>{}</wheel>'
)
TYRE = '<tyre stiffness="8e4" damping="300" radius="0.3" mass="15"/>'
ELEMENTS["on_wheels"] = (
    f'<base type="planar"/>{WHEEL.format("front", "1.0", TYRE)}{WHEEL.format("rear", "-0.4", "")}'
    f"{ELEMENTS['heavy']}"
)
EVERY = pytest.mark.parametrize("kind", [*ELEMENTS])


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@EVERY
def test_c_computes_the_same(kind, tmp_path):
    robot = flexdyn_ros.load(BOOM.format(ELEMENTS[kind]))
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy"))
    arm, nv = compiled(tmp_path, robot.name), robot.nv
    for seed in range(5):
        q, v, a, tau = at_random(robot, seed)
        expected = robot.inverse_dynamics(q, v, a)
        found = arm.call("inverse_dynamics", q, v, a, sizes=[robot.nu])
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
        M = arm.call("mass_matrix", q, sizes=[nv * nv]).reshape(nv, nv)
        assert np.abs(M - robot.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()
        energy = arm.call("energy", q, v, sizes=[3])
        assert np.abs(energy - robot.energy(q, v)).max() <= 1e-12 * np.abs(energy).max()
        expected = robot.forward_dynamics(q, v, tau)
        found = arm.call("forward_dynamics", q, v, tau, sizes=[nv])
        assert residual(robot, q, v, tau, found, expected) <= 1e-12


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("family", ["elastic", "wheeled"])
def test_c_computes_mixtures_with_motors_and_wheels(family, tmp_path):
    robot = flexdyn_ros.load(random_mixture(3, family))
    assert any(c.kind == "motor" for c in robot.coordinates)
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics", "step"))
    arm, nv = compiled(tmp_path, robot.name), robot.nv
    q, v, a, tau = at_random(robot, 3)
    expected = robot.inverse_dynamics(q, v, a)
    found = arm.call("inverse_dynamics", q, v, a, sizes=[robot.nu])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    found = arm.call("forward_dynamics", q, v, tau, sizes=[nv])
    assert residual(robot, q, v, tau, found, robot.forward_dynamics(q, v, tau)) <= 1e-12
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(20, tau) == 0
    for _ in range(20):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-8 * max(1.0, np.abs(v).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@EVERY
def test_steps_in_c_are_those_of_simulate(kind, tmp_path):
    robot = flexdyn_ros.load(BOOM.format(ELEMENTS[kind]))
    export.c(robot, tmp_path, ["step"])
    arm = compiled(tmp_path, robot.name)
    q, v, _, tau = at_random(robot)
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(100, tau) == 0
    for _ in range(100):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-9 * max(1.0, np.abs(v).max())


def moved_as_simulate_does(robot, q0, v0, tau, path):
    """Largest difference of positions over 0.2 s, by the largest motion."""
    tau[[name not in robot.actuators for name in robot.effort_names]] = 0.0
    export.fmu(robot, path, q0=q0, v0=v0)
    expected = flexdyn_ros.simulate(robot, 0.2, q0, v0, control=tau, dt=1e-3, record_every=10)
    found = fmu_motion(path, robot, tau, "CoSimulation", 1e-2, 0.2, step_size=1e-2)
    return np.abs(found - expected.q).max() / max(1.0, np.ptp(expected.q, axis=0).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@EVERY
def test_an_fmu_moves_as_simulate_does(kind, tmp_path):
    pytest.importorskip("fmpy")
    robot = flexdyn_ros.load(BOOM.format(ELEMENTS[kind]))
    q0, v0, _, tau = at_random(robot)
    assert moved_as_simulate_does(robot, q0, v0, tau, tmp_path / "boom.fmu") <= 1e-9


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_model_exchange_moves_with_a_swinging_cylinder(tmp_path):
    pytest.importorskip("fmpy")
    robot = flexdyn_ros.load(BOOM.format(ELEMENTS["heavy"]))
    q0, v0, _, tau = at_random(robot)
    assert exchanged_error(robot, q0, v0, tau, tmp_path / "boom.fmu") <= 1e-6


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_an_fmu_of_a_flexible_mixture_moves_as_simulate_does(tmp_path):
    """Two cylinders, a spring and a damper between links that bend."""
    pytest.importorskip("fmpy")
    robot = flexdyn_ros.load(random_mixture(4, "flexible"))
    assert {e.kind.record.__name__ for e in robot.elements} == {"DrivenCylinder", "Spring", "Damper"}
    q0, v0, _, tau = at_random(robot, 4)
    for c in robot.coordinates:
        if c.kind != "joint":
            q0[c.q_index], v0[c.v_index] = 1e-3 * q0[c.q_index], 1e-2 * v0[c.v_index]
    assert moved_as_simulate_does(robot, q0, v0, tau, tmp_path / "mixture.fmu") <= 1e-9


@pytest.mark.parametrize("family", ["flexible", "elastic", "wheeled"])
@pytest.mark.parametrize("seed", range(4))
def test_casadi_has_the_numbers_of_mixtures(seed, family):
    pytest.importorskip("casadi")
    robot = flexdyn_ros.load(random_mixture(seed, family))
    function = export.casadi(robot, "inverse_dynamics")
    q, v, a, _ = at_random(robot, seed)
    found = np.array(function(q, v, a)).ravel()
    expected = robot.inverse_dynamics(q, v, a)
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
