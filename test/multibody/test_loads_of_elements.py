"""Section loads of trees with springs, dampers and cylinders between their frames."""

import numpy as np
import pytest
from mixtures import random_mixture

import flexdyn_ros
from flexdyn_ros.checking import Mobility

FAMILIES = ("rigid", "flexible")
#: a beam on a hinge, held level by a cylinder from the ground at 0.4 of its length
BOOM = """<robot name="boom"><link name="base"/><link name="beam"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="beam"/><axis xyz="0 -1 0"/></joint>
<flexdyn><gravity>0 0 -9.81</gravity>
<cylinder name="lift" base="base" base_xyz="0.8 0 -0.5" end="beam@0.4" minimum_length="0.3" stroke="0.6"/>
</flexdyn><flexdyn reference="beam"><beam length="2" mass_per_length="3" EIy="400" EIz="400"/>
<modes bending_z="1"/></flexdyn></robot>"""


def state(robot, seed):
    rng = np.random.default_rng([12, seed])
    q, (v, a, tau) = robot.random(rng), (rng.standard_normal(n) for n in (robot.nv, robot.nv, robot.nu))
    return q, 0.5 * v, a, 5.0 * tau


def of_joints(robot, q, v, a):
    """Wrench (6,) of every link on its joint at its origin, world axes: the tree whose joints are all cut,
    with its elements, by the balance of virtual work."""
    found = robot.joint_reactions(q, v, a)
    return {j.child: -found.of(j.name) for j in robot.description.joints if j.name in found.names}


def at_origin(robot, q, loads, name):
    """The load at the root of a link as a wrench (6,) at the link's origin, world axes."""
    T, frame = robot.frames(q, name), {x.name: x.beam.frame for x in bent(robot)}.get(name)
    R, p = T[:3, :3], np.zeros(3)
    if frame is not None:
        R, p = R @ frame.R, R @ frame.p
    force = R @ loads[name].force[0]
    return np.concatenate([R @ loads[name].moment[0] + np.cross(p, force), force])


def bent(robot):
    return robot.functions.bending.links if robot.bends else ()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(8))
def test_links_have_the_reactions_of_the_tree_with_its_elements(family, seed):
    """Springs, dampers and swinging masses count where they end, sections of flexible links among these."""
    robot = flexdyn_ros.load(random_mixture(seed, family))
    q, v, a, _ = state(robot, seed)
    loads = robot.loads(q, v, a)
    for name, wrench in of_joints(robot, q, v, a).items():
        found, size = at_origin(robot, q, loads, name), max(1.0, np.abs(wrench).max())
        np.testing.assert_allclose(found, wrench, rtol=0, atol=1e-10 * size, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_efforts_of_cylinders_act_on_both_ends(family):
    """By virtual work: what they do changes what joints transmit along their axes by - J^T u."""
    mixtures = (flexdyn_ros.load(random_mixture(seed, family)) for seed in range(20))
    robot = next(each for each in mixtures if each.nu > each.nv)
    q, v, a, tau = state(robot, 1)
    change = robot.actuation_matrix(q)[:, robot.nv :] @ tau[robot.nv :]
    with_it, without = (robot.loads(q, v, a, x) for x in (tau, None))
    moved, mimics = 0, {j.name for j in robot.description.joints if j.mimic is not None}
    leaders = {
        robot.description.leader_of(j)[2].name for j in robot.description.joints if j.mimic is not None
    }
    for joint in robot.description.joints:
        if joint.type not in ("revolute", "continuous", "prismatic") or joint.name in mimics | leaders:
            continue
        axis = robot.frames(q, joint.child)[:3, :3] @ np.array(joint.axis)
        part = slice(3, 6) if joint.type == "prismatic" else slice(0, 3)
        ends = (at_origin(robot, q, loads, joint.child) for loads in (with_it, without))
        along = [axis @ end[part] for end in ends]
        expected = change[robot.index(joint.name)]
        moved += abs(expected) > 1e-3
        assert along[0] - along[1] == pytest.approx(expected, abs=1e-9 * max(1.0, np.abs(change).max()))
    assert moved > 0


def test_a_boom_on_a_cylinder_is_a_beam_on_two_supports():
    """Statics by hand: the hinge has no moment; beyond the cylinder w (L - x)^2 / 2; where it stands, the
    shear force steps, and the moment does not, as its line meets the beam's."""
    robot = flexdyn_ros.load(BOOM, options={"formulation.stiffening": "none"})
    still, q, L, w, at = np.zeros(robot.nv), robot.neutral(), 2.0, 3.0 * 9.81, 0.8
    tau = np.zeros(robot.nu)
    # straight up: its force holds the weight's moment about the hinge
    tau[robot.effort_names.index("lift")] = w * L**2 / 2.0 / at
    s = np.array([0.0, 0.2, 0.4, 0.4 + 1e-6, 0.7, 1.0])
    found = robot.loads(q, still, still, tau, stations=s)["beam"]
    x = L * s
    lift = np.where(s <= 0.4, w * L**2 / 2.0 / at, 0.0)
    np.testing.assert_allclose(found.force[:, 2], lift - w * (L - x), rtol=0, atol=1e-12 * w * L)
    # moments about y: a force up on the outward part turns it about -y
    moment = w * (L - x) ** 2 / 2.0 - lift * np.maximum(at - x, 0.0)
    np.testing.assert_allclose(found.moment[:, 1], moment, rtol=0, atol=1e-12 * w * L**2)
    assert found.moment[0, 1] == pytest.approx(0.0, abs=1e-12 * w * L**2)


def test_check_tells_mobility_and_the_largest_loads():
    """The same beam, held by its cylinder; a spring about the hinge; a cylinder that cannot hold it."""
    report = flexdyn_ros.check(BOOM, options={"formulation.stiffening": "none"})
    modes = report.coordinates[1:]
    assert report.mobility == Mobility(1 + len(modes), len(modes), 0, ("lift",), ("hinge",), ())
    (load,) = (x for x in report.loads if x.link == "beam")
    L, w, at = 2.0, 3.0 * 9.81, 0.8
    assert (load.force_station, load.moment_station) == (0.4, 0.4)
    assert load.force == pytest.approx(w * L**2 / 2.0 / at - w * (L - at), rel=1e-9)
    assert load.moment == pytest.approx(w * (L - at) ** 2 / 2.0, rel=1e-9)
    spring = '<torsion_spring name="s" base="world" end="beam" axis="0 1 0" stiffness="9"/>'
    sprung = flexdyn_ros.check(BOOM.replace("<cylinder", f"{spring}<cylinder", 1))
    assert sprung.mobility.held == ("hinge",)


@pytest.mark.parametrize("family", [*FAMILIES, "wheeled"])
def test_a_batch_is_its_calls_with_elements(family):
    robot = flexdyn_ros.load(random_mixture(4, family))
    states = [state(robot, k) for k in range(17)]
    q, v, a, tau = (np.array(x) for x in zip(*states, strict=True))
    end = robot.frame_names[-1]
    load = np.random.default_rng(0).standard_normal((17, 6))
    found = robot.loads(q, v, a, tau, {end: load}, [0.0, 0.5])
    for i, one in enumerate(states):
        for name, each in robot.loads(*one, {end: load[i]}, [0.0, 0.5]).items():
            size = max(1.0, np.abs(each.moment).max(initial=0.0))
            np.testing.assert_allclose(found[name].moment[i], each.moment, rtol=0, atol=1e-11 * size)
            np.testing.assert_allclose(found[name].force[i], each.force, rtol=0, atol=1e-11 * size)


def test_parameters_and_payloads_of_a_robot_with_elements_count():
    robot = flexdyn_ros.load(random_mixture(3, "flexible"))
    spring = next(p for p in robot.parameters if p.name.endswith("/stiffness") and p.name[0] == "e")
    robot = robot.with_parameters({spring.name: 3.0 * spring.value})
    robot = robot.with_payload(robot.frame_names[-1], 0.7, (0.1, 0.0, 0.05))
    q, v, a, _ = state(robot, 2)
    loads = robot.loads(q, v, a)
    for name, wrench in of_joints(robot, q, v, a).items():
        size = max(1.0, np.abs(wrench).max())
        np.testing.assert_allclose(at_origin(robot, q, loads, name), wrench, rtol=0, atol=1e-10 * size)
