"""A joint type from outside: one module, and every verb, derivative, step and export works."""

import pickle
import sys

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled
from scipy.spatial.transform import Rotation

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.multibody.joints import registry
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.stepper import Stepper

CRANK = '''
"""A joint that turns about z, slides along the turned x axis, and turns about y of the slide."""

from flexdyn_ros.multibody.joints.joint import LIMITS, RESISTANCE, JointModel, JointType, Screw
from flexdyn_ros.multibody.joints.joint import stated_coordinates

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def model(joint):
    coordinates = stated_coordinates(joint, (("/swing", "rad"), ("/reach", "m"), ("/tilt", "rad")))
    kinds = (Z, {}), (X, {"turns": False, "pitch": 1.0}), (Y, {})
    numbered = enumerate(zip(coordinates, kinds, strict=True))
    chain = (Screw(c.name, axis, i, **kind) for i, (c, (axis, kind)) in numbered)
    return JointModel(coordinates, tuple(chain))


CRANK = JointType(model, (*LIMITS, *RESISTANCE))
'''
BODY = '<inertia ixx="0.05" ixy="0.002" ixz="-0.001" iyy="0.06" iyz="0.003" izz="0.07"/></inertial></link>'
URDF = f"""<robot name="cranked"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.2 0.05 0"/><mass value="1.7"/>{BODY}
<link name="tool"><inertial><origin xyz="0.1 0.08 -0.05"/><mass value="0.9"/>{BODY}
<joint name="first" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0.2"/></joint>
<joint name="J" type="floating"><parent link="arm"/><child link="tool"/>
  <origin xyz="0.6 0 0.1" rpy="0.3 -0.2 0.1"/></joint>
<flexdyn reference="J"><joint_type lower="-2 -0.2 -1" upper="2 0.4 1" damping="0.1 0.2 0.3">crank</joint_type>
</flexdyn><flexdyn><gravity>1 -2 -9</gravity></flexdyn></robot>"""
NAMES = ("J/swing", "J/reach", "J/tilt")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy_crank.py").write_text(CRANK)
    sys.path.insert(0, str(folder))
    try:
        from toy_crank import CRANK as kind
    finally:
        sys.path.remove(str(folder))
    registry.register("crank", kind)
    yield flexdyn_ros.load(URDF)
    registry.unregister("crank")


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)


def test_its_coordinates_move_the_child_as_its_module_says(robot):
    assert robot.v_names == ("first", *NAMES)
    assert [(c.lower, c.upper) for c in robot.coordinates[1:]] == [(-2, 2), (-0.2, 0.4), (-1, 1)]
    q, _, _ = state(robot)
    arm, tool = robot.frames(q, ["arm", "tool"])
    at, turned = Rotation.from_euler("xyz", [0.3, -0.2, 0.1]), Rotation.from_rotvec([0, 0, q[1]])
    R = at * turned * Rotation.from_rotvec([0, q[3], 0])
    p = [0.6, 0, 0.1] + (at * turned).apply([q[2], 0, 0])
    assert np.allclose(arm[:3, :3].T @ tool[:3, :3], R.as_matrix(), rtol=0, atol=1e-14)
    assert np.allclose(arm[:3, :3].T @ (tool[:3, 3] - arm[:3, 3]), p, rtol=0, atol=1e-14)


def test_verbs_and_derivatives_work(robot):
    q, v, a = state(robot, 1)
    tau, h = robot.inverse_dynamics(q, v, a), 1e-6
    assert np.allclose(robot.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-10)
    assert robot.energy(q, v).kinetic == pytest.approx(0.5 * v @ robot.mass_matrix(q) @ v, rel=1e-13)
    assert np.allclose(robot.bias_terms(q, v).damping, [0.0, *(v[1:] * [0.1, 0.2, 0.3])], rtol=0, atol=1e-14)
    A = robot.linearize(q, v, tau).A
    J = robot.jacobian(q, "tool")
    for i, step in enumerate(h * np.eye(4)):
        ahead, behind = (robot.forward_dynamics(q + s * step, v, tau) for s in (1.0, -1.0))
        assert np.allclose(A[4:, i], (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-6)
        ahead, behind = (robot.frames(q + s * step, "tool")[:3, 3] for s in (1.0, -1.0))
        assert np.allclose(J[3:, i], (ahead - behind) / (2.0 * h), rtol=0, atol=1e-9)
    states = [state(robot, seed) for seed in range(17)]
    rows = [np.array(x) for x in zip(*states, strict=True)]
    single = np.array([robot.inverse_dynamics(*x) for x in states])
    assert np.allclose(robot.inverse_dynamics(*rows), single, rtol=1e-12, atol=1e-12)
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(again.inverse_dynamics(q, v, a), tau)


def test_it_has_parameters_steps_and_a_picture(robot):
    assert {f"{name}/damping" for name in NAMES} <= {p.name for p in robot.parameters}
    q, v, a = state(robot, 2)
    regressor = robot.regressor(q, v, a)
    values = np.array([p.value for p in robot.parameters])
    tau = robot.inverse_dynamics(q, v, a)
    assert np.allclose(regressor.Y @ values + regressor.tau0, tau, rtol=0, atol=1e-10)
    for method in ("rk4", "rosenbrock"):
        run = simulate(robot, 0.2, q0=q, v0=0.3 * v, method=method, dt=1e-3)
        error = run.energy.total - run.work + run.dissipated
        assert np.ptp(error) < 1e-4 * run.energy.kinetic.max()
    expanded = flexdyn_ros.expand(robot)
    assert set(NAMES) <= set(expanded.joint_names)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_c_computes_the_same(robot, tmp_path):
    export.c(robot, tmp_path, ("inverse_dynamics", "step"))
    cranked, (q, v, a, tau) = compiled(tmp_path, robot.name), at_random(robot)
    expected = robot.inverse_dynamics(q, v, a)
    found = cranked.call("inverse_dynamics", q, v, a, sizes=[4])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    stepper = Stepper(robot, 1e-3, q0=q, v0=v)
    assert stepper.advance(50, tau) == 0
    for _ in range(50):
        q, v = cranked.step(q, v, tau, 1e-3)
    assert np.abs(q - stepper.q).max() <= 1e-9


def test_the_reader_checks_it(robot):
    with pytest.raises(FlexdynError, match="has 3 coordinates"):
        flexdyn_ros.load(URDF.replace("0.1 0.2 0.3", "0.1 0.2"))
    with pytest.raises(FlexdynError, match="did you mean 'crank'"):
        flexdyn_ros.load(URDF.replace(">crank<", ">crnk<"))
    with pytest.raises(ValueError, match="'crank'"):
        registry.register("crank", registry.TYPES["ball"])
