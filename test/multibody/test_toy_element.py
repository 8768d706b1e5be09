"""A kind of element from outside: one module, and every verb, derivative, step and parameter works."""

import sys

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.multibody.elements import registry
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.stepper import Stepper

MAGNET = '''
"""A magnet that pulls with strength / length^2 along the line between two points."""

from flexdyn_ros.description.elements.lines import Ends
from flexdyn_ros.description.language.vocabulary import element, positive
from flexdyn_ros.multibody.elements.kernels import law as at
from flexdyn_ros.multibody.elements.kernels.law import law_of
from flexdyn_ros.multibody.elements.kernels.lines import along_line
from flexdyn_ros.multibody.elements.kind import Coefficient, ElementKind
from flexdyn_ros.numerics.compiling.compiler import kernel


@element("magnet", "Two poles that attract each other.", key="name", kw_only=True)
class Magnet(Ends):
    strength: float = positive("N m2", "force times the square of the distance")


@kernel
def magnet(numbers, motion, results):
    along_line(motion, results)
    length = results[at.COORDINATE]
    results[at.EFFORT] = -numbers[0] / (length * length)
    results[at.ENERGY] = -numbers[0] / length
    none = 0.0 * length
    results[at.STIFFNESS], results[at.DAMPING], results[at.RESISTANCE] = none, none, none


KIND = ElementKind(
    record=Magnet,
    law=law_of(magnet, 1),
    numbers=lambda record: (record.strength,),
    coefficients=lambda record: (Coefficient("strength", "N m2", 0),),
)
'''
URDF = """<robot name="pair"><link name="base"/>
<link name="a"><inertial><origin xyz="0 0 -0.4"/><mass value="2"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><origin xyz="0 0 -0.4"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="ja" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="jb" type="continuous"><parent link="base"/><child link="b"/><origin xyz="0.3 0 0"/>
  <axis xyz="0 1 0"/></joint>
<flexdyn><magnet name="m" base="a" base_xyz="0 0 -0.5" end="b" end_xyz="0 0 -0.5" strength="0.4"/></flexdyn>
</robot>"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy_magnet.py").write_text(MAGNET)
    sys.path.insert(0, str(folder))
    try:
        from toy_magnet import KIND
    finally:
        sys.path.remove(str(folder))
    registry.register(KIND)
    yield flexdyn_ros.load(URDF)
    registry.unregister(KIND)


def test_verbs_and_derivatives_work(robot):
    q, v, tau, h = np.array([0.2, -0.1]), np.array([0.5, 1.0]), np.array([0.3, 0.1]), 1e-6
    a = robot.forward_dynamics(q, v, tau)
    assert np.allclose(robot.inverse_dynamics(q, v, a), tau, rtol=0, atol=1e-12)
    found = robot.linearize(q, v, tau).A[2:, :2]
    for i, step in enumerate(h * np.eye(2)):
        ahead, behind = (robot.forward_dynamics(q + s * step, v, tau) for s in (1.0, -1.0))
        assert np.allclose(found[:, i], (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-8)
    place = robot.frames(q, ["a", "b"])
    poles = place[:, :3, 3] - 0.5 * place[:, :3, 2]
    length = np.linalg.norm(poles[1] - poles[0])
    state = robot.element_forces(q, v)
    assert state.coordinate[0] == pytest.approx(length, rel=1e-12)
    assert state.force[0] == pytest.approx(-0.4 / length**2, rel=1e-12)


def test_it_is_a_parameter_and_moves_in_steps(robot):
    assert "m/strength" in [p.name for p in robot.parameters]
    q, v, a = np.array([0.2, -0.1]), np.array([0.5, 1.0]), np.zeros(2)
    regressor = robot.regressor(q, v, a)
    values = np.array([p.value for p in robot.parameters])
    wanted = robot.inverse_dynamics(q, v, a)
    assert np.allclose(regressor.Y @ values + regressor.tau0, wanted, rtol=0, atol=1e-10)
    stronger = robot.with_parameters({"m/strength": 0.8})
    assert stronger.element_forces(q, v).force == pytest.approx(2.0 * robot.element_forces(q, v).force)
    for method in ("rk4", "rosenbrock"):
        run = simulate(robot, 0.2, q0=q, method=method, dt=1e-3)
        error = run.energy.total - run.work + run.dissipated
        assert np.ptp(error) < 1e-4 * run.energy.kinetic.max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_c_computes_the_same(robot, tmp_path):
    export.c(robot, tmp_path, ("inverse_dynamics", "step"))
    pair, (q, v, a, tau) = compiled(tmp_path, robot.name), at_random(robot)
    expected = robot.inverse_dynamics(q, v, a)
    found = pair.call("inverse_dynamics", q, v, a, sizes=[2])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(100, tau) == 0
    for _ in range(100):
        q, v = pair.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9


def test_the_reader_checks_it(robot):
    with pytest.raises(FlexdynError, match="strength"):
        flexdyn_ros.load(URDF.replace('strength="0.4"', 'strength="-1"'))
    with pytest.raises(FlexdynError, match="no frame of that name"):
        flexdyn_ros.load(URDF.replace('end="b"', 'end="c"'))
