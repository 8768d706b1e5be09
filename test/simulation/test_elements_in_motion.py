"""Runs of trees with springs, dampers and cylinders: order, energy, stops, commands, what is drawn."""

from array import array
from types import SimpleNamespace

import numpy as np
import pytest
from lxml import etree
from mixtures import random_mixture

import flexdyn_ros
from flexdyn_ros.expanding import expand
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer
from flexdyn_ros.simulation.live.simulation import Driven, Simulation, default_gains, driven_motion
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.stepper import Stepper

BOOM = """<robot name="boom"><link name="base"/>
<link name="boom"><inertial><origin xyz="1.2 0 0"/><mass value="100"/>
  <inertia ixx="60" iyy="60" izz="60" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 -1 0"/>
  <limit lower="-3" upper="3" effort="0" velocity="3"/></joint>
<flexdyn><cylinder name="c" base="world" base_xyz="0.5 0 -0.6" end="boom" end_xyz="1 0 -0.1"
  minimum_length="0.6" stroke="0.3"><force maximum="5000"/>{}</cylinder></flexdyn></robot>"""
SECOND = """<cylinder name="second" base="world" base_xyz="0 0 -0.5" end="boom" end_xyz="0.8 0 0"
  minimum_length="0.6" stroke="0.5"><force maximum="5000"/></cylinder>"""
MASSES = '<barrel mass="20" com="0.3" inertia="1.5"/><rod mass="10" com="-0.35" inertia="0.8"/>'


def balance(run):
    """How far the energy is from what work and dampers make of it, relative to the kinetic energy."""
    error = run.energy.total - run.work + run.dissipated
    return np.ptp(error) / run.energy.kinetic.max()


@pytest.mark.parametrize("family", ["rigid", "flexible", "elastic", "wheeled"])
@pytest.mark.parametrize("seed", range(8))
def test_fixed_steps_converge_with_their_order(family, seed):
    # dry friction and cables that go slack have an order of their own
    text = random_mixture(seed, family).replace('friction="0.5"', 'friction="0"')
    r = flexdyn_ros.load(text.replace('tension_only="true"', 'tension_only="false"'))
    rng = np.random.default_rng([13, seed])
    start = {"q0": r.random(rng), "v0": 0.1 * rng.standard_normal(r.nv)}
    control = 2.0 * rng.standard_normal(r.nu)
    exact = simulate(r, 0.005, **start, control=control, method="dop853", rtol=1e-11)
    for method, order in (("rk4", 4), ("rosenbrock", 2)):
        coarse, fine = (
            np.abs(
                r.difference(
                    exact.q[-1],
                    simulate(r, 0.005, **start, control=control, method=method, dt=dt).q[-1],
                )
            ).max()
            for dt in (4e-5, 2e-5)
        )
        assert fine <= max(coarse * 0.5 ** (order - 0.5), 1e-11), method


@pytest.mark.parametrize("masses", ["", MASSES])
def test_the_work_of_a_cylinder_is_in_the_balance(masses):
    r = flexdyn_ros.load(BOOM.format(masses))
    start = {"q0": np.array([0.1]), "control": {"c": 1600.0}}
    assert balance(simulate(r, 0.5, **start, method="dop853", rtol=1e-10)) < 1e-9
    assert balance(simulate(r, 0.5, **start, method="rk4", dt=1e-3)) < 1e-8


def test_a_cylinder_meets_its_stops():
    r = flexdyn_ros.load(BOOM.format(""))
    start = {"q0": np.array([0.1]), "control": {"c": 2500.0}}
    run = simulate(r, 1.5, **start, limits="spring")
    assert r.cylinder_states(run.q, run.v).length.max() < 0.91
    run = simulate(r, 1.5, **start, limits="stop")
    assert "limit/c/upper" in run.message
    assert r.cylinder_states(run.q[-1], run.v[-1]).length == pytest.approx([0.9], abs=0.05)


def test_commands_move_a_cylinder_to_a_length():
    r = flexdyn_ros.load(BOOM.format(MASSES))
    q0 = np.array([0.1])
    buffer = CommandBuffer(Driven.of(r), timeout=0.0)
    simulation = Simulation(r, buffer, q0, np.zeros(1), *default_gains(r, q0), dt=1e-3, limits="spring")
    assert buffer.actuated == ("c",)
    message = SimpleNamespace(
        name=["c"], position=array("d", [0.85]), velocity=array("d"), effort=array("d"),
        header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0)),
    )  # fmt: skip
    buffer.take_joint_state(message, 0.0, 0.0)
    for _ in range(20):
        assert simulation.tick(100), simulation.fault
    length = r.cylinder_states(simulation.stepper.q, simulation.stepper.v).length
    assert length == pytest.approx([0.85], abs=2e-3)


def test_lengths_of_several_cylinders_follow_the_coordinates():
    r = flexdyn_ros.load(BOOM.format(MASSES).replace("<flexdyn>", f"<flexdyn>{SECOND}"))
    stepper = Stepper(r)
    stepper.set_state(q=[0.1], v=[0.3])
    (q, v), driven = driven_motion(stepper), Driven.of(r).coordinates
    cylinders = [c for c in driven if c.kind == "cylinder"]
    expected = r.cylinder_states(stepper.q, stepper.v)
    assert [c.name for c in cylinders] == ["second", "c"]
    np.testing.assert_allclose(q[[c.q_index for c in cylinders]], expected.length, rtol=1e-12)
    np.testing.assert_allclose(v[[c.v_index for c in cylinders]], expected.rate, rtol=1e-12)


@pytest.mark.parametrize("family", ["flexible", "elastic", "wheeled"])
@pytest.mark.parametrize("seed", range(4))
def test_the_expanded_description_follows_the_ends(seed, family):
    """Velocities are the rates of positions; barrel and rod are at the pins."""
    r = flexdyn_ros.load(random_mixture(seed, family))
    shown, rng = expand(r), np.random.default_rng([14, seed])
    q, v, h = r.random(rng), rng.standard_normal(r.nv), 1e-6
    _, rate = shown.joint_state(q, v)
    ahead, behind = (shown.joint_state(r.integrate(q, s * v, h), v)[0] for s in (1.0, -1.0))
    assert np.allclose((ahead - behind) / (2.0 * h), rate, rtol=1e-6, atol=1e-6)
    lines = [e for e in r.elements if e.kind.unit == "m"]
    found = dict(zip(shown.joint_names, shown.joint_positions(q), strict=True))
    lengths = dict(zip(r.element_names, r.element_forces(q, v).coordinate, strict=True))
    for element in lines:
        assert found[f"{element.name}/length"] == pytest.approx(lengths[element.name], rel=1e-10)


def test_pieces_of_a_cylinder_overlap_over_its_stroke():
    record = (robot := flexdyn_ros.load("boom_on_cylinder")).elements[0].record
    shown = etree.fromstring(expand(robot).urdf.encode())
    barrel, rod = (
        float(shown.find(f"link[@name='hoist/{piece}']/visual/geometry/cylinder").get("length"))
        for piece in ("barrel", "rod")
    )
    assert max(barrel, rod) < record.minimum_length
    assert barrel + rod > record.minimum_length + record.stroke
