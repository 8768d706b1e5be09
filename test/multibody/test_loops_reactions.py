"""Reactions in joints and loads along links of closed mechanisms."""

import machines
import numpy as np
import pytest
from machines import joint, robot, rod

import flexdyn_ros

PARTS = rod("crank", 0.3, 1.0), rod("coupler", 0.8, 2.0), rod("rocker", 0.6, 1.5)
GRAVITY = "<gravity>0 0 -9.81</gravity>"


def cut_at_the_ground():
    """The four-bar of machines.py, with the loop at the foot of the rocker: its chain has all three bars."""
    chain = (
        joint("crank_joint", "ground", "crank"),
        joint("coupler_joint", "crank", "coupler", at=(0.3, 0, 0)),
        joint("tip_joint", "coupler", "rocker", at=(0.8, 0, 0)),
    )
    # the frame of the rocker is at its other end here: x points back from the tip to the foot
    loop = (
        '<loop name="foot" type="point_on_line" base="world" base_xyz="0.9 0 0" end="rocker"'
        ' end_xyz="0.6 0 0" axis="0 1 0"/>'
    )
    start = '<assembly start="crank_joint -1 coupler_joint 0.55 tip_joint 1" lock="crank_joint"/>'
    more = '<actuation active="crank_joint"/>'
    return flexdyn_ros.load(robot("foot", *PARTS, *chain, flexdyn=GRAVITY + loop + start + more))


def four_bar():
    return machines.four_bar(loop=machines.FOUR_BAR_LOOP.replace('"revolute"', '"point_on_line"'))


def test_reactions_do_not_depend_on_where_a_mechanism_is_cut():
    """The reaction in a joint of one description is that in the loop of the other, and all others agree."""
    first, second = four_bar(), cut_at_the_ground()
    q = machines.Q
    # the rocker of the second points from the tip to the foot
    turn = q[2] + np.pi - q[0] - q[1]
    p = np.array([q[0], q[1], turn])
    assert np.abs(second.loop_residual(p)).max() < 1e-9
    p = second.assemble(p)
    v = machines.V
    w = np.array([v[0], v[1], v[2] - v[0] - v[1]])
    q, v = first.project(q, v)
    p, w = second.project(p, w)
    tau = np.array([1.0, 0.0, 0.0])
    a, b = first.forward_dynamics(q, v, tau), second.forward_dynamics(p, w, tau)
    np.testing.assert_allclose(a[:2], b[:2], rtol=1e-9)
    found, other = first.joint_reactions(q, v, a), second.joint_reactions(p, w, b)
    for name in ("crank_joint", "coupler_joint"):
        i, k = found.names.index(name), other.names.index(name)
        np.testing.assert_allclose(found.force[i], other.force[k], rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(found.moment[i], other.moment[k], rtol=1e-8, atol=1e-9)
    # what the ground does to the rocker at its foot: a joint here, the loop there
    foot = second.loop_reactions(p, w, a=b).force[0]
    np.testing.assert_allclose(found.force[found.names.index("rocker_joint")], foot, rtol=1e-8, atol=1e-9)
    # and the coupler to the rocker at the tip
    tip = first.loop_reactions(q, v, a=a).force[0]
    np.testing.assert_allclose(other.force[other.names.index("tip_joint")], tip, rtol=1e-8, atol=1e-9)
    # efforts that are told are those that make the motion
    told = first.joint_reactions(q, v, a, None, tau)
    np.testing.assert_allclose(told.force, found.force, rtol=1e-9, atol=1e-9)


def test_reactions_carry_the_weight_of_a_machine_at_rest_and_in_batches():
    """An excavator that its cylinders hold: the ground bears its weight."""
    machine = machines.excavator()
    q, still = machine.neutral(), np.zeros(machine.nv)
    found = machine.joint_reactions(q, still, still)
    at = found.names.index("slew")
    np.testing.assert_allclose(found.force[at], [0.0, 0.0, 9.81 * machine.mass], rtol=1e-9, atol=1e-6)
    many = machine.joint_reactions(np.tile(q, (3, 1)), np.zeros((3, 6)), np.zeros((3, 6)))
    np.testing.assert_allclose(many.force, np.tile(found.force, (3, 1, 1)), rtol=1e-9, atol=1e-9)


def test_a_propped_beam_bears_three_eighths_of_its_weight_at_the_tip():
    """W8 with more modes: shear at the root is 5/8 of the weight, the moment there w l^2 / 8."""
    urdf = """<robot name="beam"><link name="ground"/><link name="b"/>
<joint name="hinge" type="continuous"><parent link="ground"/><child link="b"/><axis xyz="0 1 0"/></joint>
<flexdyn><gravity>0 0 -9.81</gravity><actuation active="hinge"/>
<loop name="tip" type="point_on_plane" base="world" end="b@tip" axis="0 0 1"/></flexdyn>
<flexdyn reference="b"><beam length="1.2" mass_per_length="2" EIy="50" EIz="50" GJ="1e4" EA="1e7"
 polar_inertia="1e-4"/><modes bending_z="6"/></flexdyn></robot>"""
    beam = flexdyn_ros.load(urdf)
    rest = beam.static_equilibrium(hold="hinge")
    still = np.zeros(beam.nv)
    weight = 2.0 * 1.2 * 9.81
    tip = beam.loop_reactions(rest.q, still, a=still).force[0, 2]
    assert tip == pytest.approx(3.0 / 8.0 * weight, rel=2e-3)
    reactions = beam.joint_reactions(rest.q, still, still)
    hinge = reactions.names.index("hinge")
    assert reactions.force[hinge, 2] + tip == pytest.approx(weight, rel=1e-9)
    loads = beam.loads(rest.q, still, still, stations=[0.0, 0.25, 0.5, 0.75, 1.0])["b"]
    x = 1.2 * np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    # of what lies outward on the rest, section axes: shear and moment of the propped cantilever
    shear = -2.0 * 9.81 * (1.2 - x) + tip
    moment = tip * (1.2 - x) - 2.0 * 9.81 * (1.2 - x) ** 2 / 2.0
    np.testing.assert_allclose(loads.force[:, 2], shear, rtol=2e-3, atol=0.03)
    np.testing.assert_allclose(np.abs(loads.moment[:, 1]), np.abs(moment), rtol=2e-3, atol=0.02)


def test_wrenches_from_outside_count():
    """A force on the rocker, and the same force by its own weight: what the ground gives differs by it."""
    mechanism = four_bar()
    q, still = mechanism.neutral(), np.zeros(3)
    push = np.array([0.0, 3.0, 0.0, 5.0, 0.0, -7.0])
    before, after = (mechanism.joint_reactions(q, still, still, w) for w in (None, {"rocker": push}))
    ground = [before.names.index(name) for name in ("crank_joint", "rocker_joint")]
    change = (after.force - before.force)[ground].sum(axis=0)
    np.testing.assert_allclose(change, -push[3:], rtol=1e-9, atol=1e-9)


def test_loads_of_rigid_links_are_the_reactions_in_their_joints():
    mechanism = four_bar()
    q, v = mechanism.project(machines.Q, machines.V)
    a = mechanism.forward_dynamics(q, v, np.array([1.0, 0.0, 0.0]))
    loads, reactions = mechanism.loads(q, v, a), mechanism.joint_reactions(q, v, a)
    for name in ("crank", "coupler", "rocker"):
        R = mechanism.frames(q, name)[:3, :3]
        force = reactions.force[reactions.names.index(f"{name}_joint")]
        np.testing.assert_allclose(loads[name].force[0], -R.T @ force, rtol=1e-9, atol=1e-9)
