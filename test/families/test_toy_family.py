"""A family in a package of its own: a pendulum with its own element, kernels and functions.

One folder and one line for the registry make it load, simulate, publish and show: nothing in flexdyn_ros
knows of it.
"""

from __future__ import annotations

import os
import pickle
import sys

import numpy as np
import pytest
from node_process import Client, NodeProcess

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families import registry

KERNELS = '''
"""Kernels of the pendulum."""

from math import cos, sin

from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.compiling.callbacks import callback
from flexdyn_ros.numerics.verbs import table

_M = "float64[:,::1]"


@kernel
def weight_moment(moment, angle):
    """m g l sin(angle)."""
    return moment * sin(angle)


@entry(f"int64(float64, float64, {_M}, {_M}, {_M})", nogil=True)
def inverse_dynamics_many(inertia, moment, q, a, tau):
    """tau = m l^2 a + m g l sin q for rows."""
    for s in range(q.shape[0]):
        tau[s, 0] = inertia * a[s, 0] + weight_moment(moment, q[s, 0])
    return 0


@entry(f"int64(float64, float64, {_M}, {_M}, {_M})", nogil=True)
def forward_dynamics_many(inertia, moment, q, tau, a):
    """a of the same for rows."""
    for s in range(q.shape[0]):
        a[s, 0] = (tau[s, 0] - weight_moment(moment, q[s, 0])) / inertia
    return 0


@callback(table.accelerate.signature)
def accelerate(robot, work, t, q, v, force, extra, h, a):
    """[m l^2 + extra] a = force - m g l sin q; robot holds (m l^2, m g l)."""
    numbers = floats_at(robot, 2)
    balance = floats_at(force, 1)[0] - weight_moment(numbers[1], floats_at(q, 1)[0])
    floats_at(a, 1)[0] = balance / (numbers[0] + floats_at(extra, 1)[0])
    return 0


@callback(table.energy.signature)
def energies(robot, work, q, v, out):
    numbers, energy = floats_at(robot, 2), floats_at(out, 3)
    energy[0] = 0.5 * numbers[0] * floats_at(v, 1)[0] ** 2
    energy[1], energy[2] = -numbers[1] * cos(floats_at(q, 1)[0]), 0.0
    return 0


@callback(table.load.signature)
def load(robot, work, q, count, bodies, points, wrenches, force):
    """The moment about y of wrenches on the rod, whose frame is at the joint."""
    for i in range(count):
        if ints_at(bodies, count)[i] == 1:
            floats_at(force, 1)[0] += floats_at(wrenches, 6 * count)[6 * i + 1]
    return 0


functions = {"accelerate": accelerate, "energy": energies, "load": load}
'''

FAMILY = '''
"""A point mass on a rod, which hangs on a joint about y: l along -z of the rod."""

import numpy as np

from flexdyn_ros.description.language.vocabulary import element, positive, text
from flexdyn_ros.families.record import Family, Findings
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.arguments import refuse_nonfinite
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.motion import Motion, actuator_limits
from flexdyn_ros.robot.arguments import wrench_rows

from . import kernels


@element("pendulum", "A point mass on a rod.")
class Pendulum:
    joint: str = text("the joint about y that it swings on")
    length: float = positive("m", "from the joint to the mass")
    mass: float = positive("kg", "of the point")


class PendulumFunctions(FamilyFunctions):
    """m l^2 a + m g l sin q = tau."""

    kind = "pendulum"
    offers = ("coriolis_matrix", "period")

    def __init__(self, description):
        (self.numbers,) = description.extras["pendulum"]
        joint = description.joint(self.numbers.joint)
        limit = joint.limit.effort
        coordinate = Coordinate(joint.name, "joint", "rad", 0, 0, joint.child, effort_limit=limit)
        g = -description.gravity[2]
        self.inertia = self.numbers.mass * self.numbers.length**2
        self.moment = self.numbers.mass * g * self.numbers.length
        self._settle(
            description,
            (coordinate,),
            q_names=(joint.name,),
            frame_names=(joint.parent, joint.child),
            gravity=np.array(description.gravity),
        )

    @property
    def recipe(self):
        return (self.description,)

    @property
    def mass(self):
        return self.numbers.mass

    @property
    def period(self):
        """Of small swings [s]."""
        return 2.0 * np.pi * np.sqrt(self.inertia / self.moment)

    def motion(self):
        numbers = np.array([self.inertia, self.moment])
        limit, lower, upper = actuator_limits(self.coordinates)
        return Motion(
            robot=numbers.ctypes.data,
            table=Table(kernels.functions),
            work_size=1,
            place=self.place,
            effort_limit=limit,
            lower=lower,
            upper=upper,
            stiffness=np.zeros(1),
            damping=np.zeros(1),
            keep=numbers,
        )

    def place(self, names):
        bodies = [self.frame_names.index(name) for name in names]
        return self.robot.motion, np.array(bodies, dtype=np.int64), np.zeros((len(bodies), 3))

    def neutral(self):
        return np.zeros(1)

    def random(self, rng):
        return rng.uniform(-np.pi, np.pi, 1)

    def inverse_dynamics_rows(self, rows, wrenches, tau):
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        refuse_nonfinite(data)
        kernels.inverse_dynamics_many(self.inertia, self.moment, data["q"], data["a"], tau)
        tau[:, 0] -= self.moments(rows, wrenches)

    def forward_dynamics_rows(self, rows, wrenches, a):
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        refuse_nonfinite(data)
        data["tau"] = data["tau"] + self.moments(rows, wrenches)[:, None]
        kernels.forward_dynamics_many(self.inertia, self.moment, data["q"], data["tau"], a)

    def moments(self, rows, wrenches):
        on_rod = np.array([name == self.frame_names[1] for name in wrenches or {}], dtype=float)
        return wrench_rows(rows, wrenches)[:, :, 1] @ on_rod

    def mass_matrix_rows(self, rows, M):
        M[...] = self.inertia

    def bias_terms_rows(self, rows):
        terms = np.zeros((rows.count, 5, 1))
        terms[:, 1] = self.moment * np.sin(rows.take("q"))
        return terms

    def energy_rows(self, rows):
        q, v = rows.take("q")[:, 0], rows.take("v")[:, 0]
        return np.stack([0.5 * self.inertia * v**2, -self.moment * np.cos(q), 0.0 * q], axis=1)

    def momenta_rows(self, rows):
        q, v = rows.take("q")[:, 0], rows.take("v")[:, 0]
        m, l = self.numbers.mass, self.numbers.length
        out = np.zeros((rows.count, 10))
        out[:, 1], out[:, 9] = self.inertia * v, m
        out[:, 3], out[:, 5] = -m * l * np.cos(q) * v, m * l * np.sin(q) * v
        out[:, 6], out[:, 8] = -m * l * np.sin(q), -m * l * np.cos(q)
        return out

    def frames_rows(self, rows, names, poses):
        q = rows.take("q")[:, 0]
        poses[...] = np.eye(4)
        for i, name in enumerate(names):
            if name == self.frame_names[1]:
                poses[:, i, 0, 0] = poses[:, i, 2, 2] = np.cos(q)
                poses[:, i, 0, 2], poses[:, i, 2, 0] = np.sin(q), -np.sin(q)

    def jacobian_rows(self, rows, frame, J):
        J[...] = 0.0
        J[:, 1, 0] = frame == self.frame_names[1]

    def slopes_rows(self, rows, wrenches):
        dq = self.moment * np.cos(rows.take("q"))[:, :, None]
        return dq, np.zeros_like(dq)


PENDULUM = Family(
    kind="pendulum",
    claims=lambda description: "pendulum" in description.extras,
    functions=PendulumFunctions,
    check=lambda robot: Findings(notes=(f"swings once in {robot.period:.3g} s",)),
    elements=(Pendulum,),
)
'''

URDF = """
<robot name="toy">
  <link name="base"/>
  <link name="rod"/>
  <joint name="pivot" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
    <limit lower="-10" upper="10" effort="50" velocity="20"/>
  </joint>
  <flexdyn><pendulum joint="pivot" length="0.5" mass="2"/></flexdyn>
</robot>
"""

M, L, G = 2.0, 0.5, 9.80665


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The package toy_pendulum: a folder with a family, which a temporary place of the path holds."""
    package = tmp_path / "toy_pendulum"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text(KERNELS)
    (package / "family.py").write_text(FAMILY)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("toy_pendulum"):
            del sys.modules[name]


@pytest.fixture
def toy(folder):
    from toy_pendulum.family import PENDULUM

    registry.register(PENDULUM)
    yield flexdyn_ros.load(URDF)
    registry.unregister(PENDULUM)


def test_a_toy_family_loads_by_one_line_of_the_registry(toy):
    assert toy.kind == "pendulum"
    assert toy.mass == M
    assert toy.period == pytest.approx(2.0 * np.pi * np.sqrt(L / G), rel=1e-12)
    q, v, a = np.array([[0.3], [-2.0]]), np.array([[1.0], [0.5]]), np.array([[2.0], [0.0]])
    assert toy.inverse_dynamics(q, v, a) == pytest.approx(M * L**2 * a + M * G * L * np.sin(q), rel=1e-13)
    tau = toy.inverse_dynamics(q, v, a)
    assert toy.forward_dynamics(q, v, tau) == pytest.approx(a, abs=1e-12)
    assert toy.forward_dynamics(q[0], v[0], tau[0]) == pytest.approx(a[0], abs=1e-12)
    assert toy.mass_matrix(q[0]) == pytest.approx(M * L**2)
    assert toy.momentum(q[0], v[0])[1] == pytest.approx(M * L**2 * v[0, 0])
    pushed = {"rod": [0.0, 0.25, 0.0, 9.0, 0.0, 0.0], "base": [0.0, 7.0, 0.0, 0.0, 0.0, 0.0]}
    assert toy.inverse_dynamics(q, v, a, pushed) == pytest.approx(tau - 0.25)
    assert toy.jacobian(q[0], "rod")[:, 0].tolist() == [0, 1, 0, 0, 0, 0]


def test_verbs_that_follow_from_the_others_work_for_it(toy):
    modes = toy.modes([0.0])
    assert modes.frequency == pytest.approx([1.0 / toy.period], rel=1e-12)
    slopes = toy.linearize([0.0], [0.0])
    assert pytest.approx(np.array([[0.0, 1.0], [-G / L, 0.0]]), abs=1e-12) == slopes.A
    rest = toy.static_equilibrium([0.4])
    assert rest.stable
    assert rest.q == pytest.approx([0.0], abs=1e-9)
    held = toy.forward_dynamics([0.3], [0.0], prescribed={"pivot": 1.5})
    assert held.tolist() == [1.5]
    same = pickle.loads(pickle.dumps(toy))
    assert same.kind == "pendulum"
    assert same.period == toy.period


def test_it_is_simulated_with_its_energy_kept(toy):
    run = flexdyn_ros.simulate(toy, toy.period, [0.01])
    assert run.q[-1] == pytest.approx([0.01], rel=1e-3)
    assert np.ptp(run.energy.total) <= 1e-3 * 0.5 * M * G * L * 0.01**2


def test_it_is_checked_expanded_and_shown(toy):
    report = flexdyn_ros.check(URDF)
    assert report.kind == "pendulum"
    assert "swings once in 1.42 s" in report.notes
    expanded = flexdyn_ros.expand(toy)
    assert expanded.joint_names == ("pivot",)
    assert expanded.joint_positions(np.array([0.7])).tolist() == [0.7]
    pytest.importorskip("viser")
    from flexdyn_ros.view import ShownRobot, Viewer

    assert {shape.link for shape in ShownRobot(toy).shapes} == {"rod"}
    viewer = Viewer(toy, port=8340)
    try:
        viewer.pose([0.7])
        assert viewer.q.tolist() == [0.7]
    finally:
        viewer.close()


def test_parameters_that_a_family_does_not_have_are_refused_in_its_words(toy):
    asked = (
        lambda: toy.parameters,
        lambda: toy.with_parameters({"rod/mass": 1.0}),
        lambda: toy.regressor([0.1], [0.2], [0.3]),
        lambda: toy.forward_dynamics_parameter_derivatives([0.1], [0.2]),
    )
    for ask in asked:
        with pytest.raises(flexdyn_ros.errors.UnsupportedError, match="parameters of robots of kind 'pend"):
            ask()


def test_a_payload_and_an_attribute_out_of_bounds_are_refused_in_its_words(toy):
    with pytest.raises(flexdyn_ros.errors.UnsupportedError, match="kind 'pendulum' carry no payloads"):
        toy.with_payload("rod", 1.0)
    with pytest.raises(DescriptionError, match="mass"):
        flexdyn_ros.load(URDF.replace('mass="2"', 'mass="-2"'))


def test_without_the_line_its_element_is_unknown(folder):
    with pytest.raises(DescriptionError, match="pendulum"):
        flexdyn_ros.load(URDF)


def test_an_installed_family_is_found_and_a_broken_one_hides_no_mistake(folder, monkeypatch):
    """By entry points; the family that cannot be imported is a warning."""
    places = ["toy_pendulum.family:PENDULUM", "toy_nowhere:FAMILY"]
    monkeypatch.setattr(registry, "_installed", lambda: places)
    with pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="toy_nowhere"):
        assert flexdyn_ros.load(URDF).kind == "pendulum"
    assert places == []
    from toy_pendulum.family import PENDULUM

    registry.unregister(PENDULUM)
    places.append("toy_nowhere:FAMILY")
    with (
        pytest.warns(flexdyn_ros.errors.FlexdynWarning, match="toy_nowhere"),
        pytest.raises(DescriptionError, match="pendulum"),
    ):
        flexdyn_ros.load(URDF)


def test_the_simulator_node_runs_it(folder, tmp_path, monkeypatch):
    """Nodes are told of the family by the environment."""
    from sensor_msgs.msg import JointState

    monkeypatch.setenv("FLEXDYN_FAMILIES", "toy_pendulum.family:PENDULUM")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    file = tmp_path / "toy.urdf"
    file.write_text(URDF)
    with NodeProcess("simulator", "-p", f"description_file:={file}", log=tmp_path / "log") as node:
        node.wait_for_text("ready: toy")
        with Client() as client:
            client.listen(JointState, "/joint_states")
            state = client.next("/joint_states")
        assert list(state.name) == ["pivot"]
