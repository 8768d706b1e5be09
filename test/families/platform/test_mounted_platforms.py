"""Platforms that are part of a tree: alone, on a moving link, with an arm on them."""

import pickle
import re

import numpy as np
import pytest
from mounted_platforms import (
    ARM,
    BOOM_BELOW,
    CARRIAGE,
    ELECTRIC,
    IDLE,
    ON_TIP,
    joint,
    link,
    loops_of,
    state_of_loops,
    truck,
    with_arm,
)
from platforms import random_platform

import flexdyn_ros as fd
from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError


def near(found, expected, tolerance=1e-11):
    """Relative to the largest entry."""
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def sample(robot, seed, speed=0.5):
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    v, a = speed * rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    return q, v, a, 10.0 * rng.standard_normal(robot.nu)


@pytest.mark.parametrize("seed", range(6))
def test_a_platform_in_a_tree_of_its_own_is_the_platform(seed):
    """Random platforms, with legs of any inertia, tilted axes and both spins, beside the recursions of
    platforms alone."""
    text, _ = random_platform(seed)
    alone, tree = fd.load(text), fd.load(text.replace("</robot>", IDLE + "</robot>"))
    assert (alone.kind, tree.kind) == ("platform", "tree")
    assert tree.q_names == alone.q_names
    assert tree.effort_names == (*alone.v_names, *alone.effort_names)
    near(tree.neutral(), alone.neutral(), 1e-14)
    assert tree.mass == pytest.approx(alone.mass, rel=1e-13)
    for i in range(4):
        q, v, a, _ = sample(alone, 10 * seed + i)
        tau = np.random.default_rng(i).normal(3000.0, 500.0, 6)
        near(tree.mass_matrix(q), alone.mass_matrix(q))
        near(tree.bias_forces(q, v), alone.bias_forces(q, v))
        near(tree.cylinder_states(q, v).length, alone.inverse_kinematics(q, v).length)
        near(tree.cylinder_states(q, v).rate, alone.inverse_kinematics(q, v).rate)
        assert tree.energy(q, v).kinetic == pytest.approx(alone.energy(q, v).kinetic, rel=1e-11)
        near(tree.momentum(q, v), alone.momentum(q, v))
        efforts = np.concatenate([np.zeros(6), tau])
        expected = alone.forward_dynamics(q, v, tau)
        near(tree.forward_dynamics(q, v, efforts), expected, 1e-10)
        near(tree.forward_dynamics(q[None], v[None], efforts[None])[0], expected, 1e-10)
        near(tree.inverse_dynamics(q, v, a, actuators="all")[6:], alone.inverse_dynamics(q, v, a), 1e-9)
        near(tree.linearize(q, v, efforts).A, alone.linearize(q, v, tau).A, 1e-9)


@pytest.mark.parametrize("more", [ARM, CARRIAGE, CARRIAGE + ARM], ids=["arm", "carriage", "both"])
def test_a_platform_with_an_arm_on_a_moving_link_is_six_loops(more):
    """The second description is a tree with three joints a leg, closed by spherical loops."""
    robot, loops = fd.load(with_arm(more)), loops_of(with_arm(more))
    shared = [c.name for c in robot.coordinates if c.kind == "joint"]
    for seed in range(3):
        q, v, _, tau = sample(robot, seed)
        tau[:] = 0.0
        rng = np.random.default_rng(seed)
        forces = {name: rng.uniform(-20, 20) for name in (*shared, *robot.effort_names[robot.nv :])}
        tau = np.array([forces.get(name, 0.0) for name in robot.effort_names])
        sliders = {leg.joints[2]: forces[leg.name] for leg in robot.mechanism.legs}
        efforts = np.array([{**forces, **sliders}.get(name, 0.0) for name in loops.effort_names])
        a = robot.forward_dynamics(q, v, tau)
        expected = loops.forward_dynamics(*state_of_loops(robot, loops, q, v), efforts)
        at = [robot.v_names.index(name) for name in shared]
        near(a[at], expected[[loops.v_names.index(name) for name in shared]], 1e-8)
        kinetic = loops.energy(*state_of_loops(robot, loops, q, v)).kinetic
        assert robot.energy(q, v).kinetic == pytest.approx(float(kinetic), rel=1e-9)


@pytest.mark.parametrize("more", [ARM, CARRIAGE + ARM], ids=["arm", "both"])
def test_dynamics_are_inverse_to_each_other_and_energy_is_the_work(more):
    robot = fd.load(with_arm(more))
    for seed in range(3):
        q, v, a, _ = sample(robot, seed)
        needed = robot.inverse_dynamics(q, v, a)
        near(robot.forward_dynamics(q, v, needed), a, 1e-8)
        M = robot.mass_matrix(q)
        near(M, M.T, 1e-13)
        assert np.linalg.eigvalsh(M).min() > 0.0
        efforts = robot.inverse_dynamics(q, v, a, actuators="all")
        assert not efforts[
            [i for i, name in enumerate(robot.effort_names) if name.startswith("platform/")]
        ].any()
        near(robot.forward_dynamics(q, v, efforts), a, 1e-7)
    q, still = robot.neutral(), np.zeros(robot.nv)
    holding = robot.inverse_dynamics(q, still, still, actuators="all")
    swing = np.zeros(robot.nu)
    swing[-6:] = [3.0, -2.0, 1.0, 2.0, -3.0, 1.5]
    run = fd.simulate(robot, 0.15, q0=q, control=holding + swing, rtol=1e-10)
    energy = robot.energy(run.q, run.v)
    power = (run.tau * np.concatenate([run.v, robot.cylinder_states(run.q, run.v).rate], axis=-1)).sum(
        axis=-1
    )
    gained = (energy.kinetic + energy.gravity)[-1] - (energy.kinetic + energy.gravity)[0]
    assert energy.kinetic.max() > 0.01
    assert np.trapezoid(power, run.t) == pytest.approx(gained, rel=1e-3, abs=1e-5)


def test_an_arm_on_the_platform_is_an_arm_on_a_base_that_moves_so():
    """Its joints, and the wrench that it puts on the platform, follow from the platform's motion alone."""
    robot = fd.load(with_arm())
    free = read(with_arm()).text
    links = free[: free.index("<flexdyn>")]
    keep = {"platform", "upper", "fore"}
    for name in re.findall(r'<link name="([^"]+)"', links):
        if name not in keep:
            links = re.sub(rf'<link name="{name}"\s*/>|<link name="{name}">.*?</link>', "", links, flags=re.S)
    for text in re.findall(r"<joint .*?</joint>", links, flags=re.S):
        if not any(f'"{name}" type' in text for name in ("shoulder", "elbow")):
            links = links.replace(text, "")
    gravity = "<flexdyn><gravity>0 0 -9.80665</gravity><base type='floating'/></flexdyn></robot>"
    arm = fd.load(links + gravity)
    for seed in range(3):
        q, v, _, tau = sample(robot, seed)
        tau[:6] = 0.0
        a = robot.forward_dynamics(q, v, tau)
        needed = arm.inverse_dynamics(q, v, a)
        near(needed[6:], tau[6:8], 1e-8)
        # what legs give beyond the motion of the platform alone moves the arm
        alone = fd.load(ELECTRIC)
        bare = alone.inverse_dynamics(q[:7], v[:6], a[:6])
        given = alone.leg_jacobian(q[:7]).T @ (tau[8:] - bare)
        reaction = robot.joint_reactions(q, v, a, tau=tau).of("shoulder")
        at = robot.frames(q, "upper")[:3, 3] - q[:3]
        moment = reaction[:3] + np.cross(at, reaction[3:])
        near(np.concatenate([moment, reaction[3:]]), given, 1e-7)


def test_home_is_where_the_link_below_is():
    """Absolute, like the pose; a carriage at zero turns and lifts it."""
    robot = fd.load(with_arm(CARRIAGE))
    q = robot.neutral()
    lengths = robot.cylinder_states(q, np.zeros(robot.nv)).length
    assert lengths == pytest.approx(np.full(6, 0.375), abs=1e-9)
    base = robot.frames(q, "base_link")
    assert not np.allclose(base, np.eye(4), atol=0.1)
    expected = base @ [0.0, 0.0, robot.description.mounts[0].joint.xyz[2], 1.0]
    assert q[robot.q_names.index("platform/x") :][:3] == pytest.approx(expected[:3], abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(4):
        q = robot.random(rng)
        out = robot.cylinder_states(q, np.zeros(robot.nv)).stroke
        assert (out >= 0.0).all()
        assert (out <= 0.15).all()


def test_it_pickles_and_batches():
    robot = fd.load(with_arm(CARRIAGE + ARM))
    again = pickle.loads(pickle.dumps(robot))
    rows = [sample(robot, seed) for seed in range(5)]
    q, v, a, tau = (np.array(x) for x in zip(*rows, strict=True))
    for one in (robot, again):
        near(
            one.forward_dynamics(q, v, tau),
            np.array([robot.forward_dynamics(*x) for x in zip(q, v, tau, strict=True)]),
            1e-9,
        )
        near(
            one.inverse_dynamics(q, v, a),
            np.array([robot.inverse_dynamics(*x) for x in zip(q, v, a, strict=True)]),
        )


LOOP = '<loop name="leg_4" type="distance" base="world" end="fore" length="1"/>'
UNEVEN = ON_TIP.replace('"leg_3_u1" station="tip"', '"leg_3_u1" station="0.9"')
SPRING = '<spring name="leg_3" base="world" base_xyz="9 0 0" end="fore" stiffness="1"/>'
SECTION = (
    '<link name="soft"/><joint name="worm" type="fixed"><parent link="fore"/><child link="soft"/>'
    '<origin xyz="0 0 0.2"/></joint><flexdyn reference="worm">'
    '<section length="0.2" radius="0.0125" mass="0.1" '
    'stiffness="800" lower="-0.02" upper="0.03"/></flexdyn>'
)
REFUSED = [
    (with_arm(ARM + SECTION), "soft section 'worm' in a robot with a platform", "one of them"),
    (truck().replace(link("base_link", 6, "0 0 0.01"), '<link name="base_link"/>'), "'base_link'", "no mass"),
    (with_arm(UNEVEN), "'leg_3' stands at station 0.9", "one station for all"),
    (with_arm().replace("<gravity>", LOOP + "<gravity>"), "leg_4", "a loop has this name"),
    (with_arm().replace("<gravity>", SPRING + "<gravity>"), "leg_3", "has this name"),
    (with_arm(ARM.replace('"platform"', '"leg_2_rod"')), "leg_2_rod", "link of a leg"),
    (with_arm(ARM + '<flexdyn><formulation method="lagrange"/></flexdyn>'), "lagrange", "articulated"),
    (with_arm(ARM + '<flexdyn><formulation leg_spin="none"/></flexdyn>'), "not axisymmetric", "leg_spin"),
]


@pytest.mark.parametrize(("text", "what", "named"), REFUSED)
def test_what_cannot_be_mixed_is_refused_by_name(text, what, named):
    with pytest.raises(DescriptionError) as refused:
        fd.load(text)
    assert what in str(refused.value)
    assert named in str(refused.value)


BOOM = (
    '<link name="ground"/><link name="boom"/>'
    + joint("hinge", "revolute", "ground", "boom", "0 1 0", rpy="0 0 0.2")
    + '<joint name="bolts" type="fixed"><parent link="boom"/><child link="base_link"/>'
    + '<origin xyz="1.5 0 0"/></joint><flexdyn reference="boom"><beam length="1.5" mass_per_length="20" '
    + 'EIy="4e5" EIz="3e5"/><modes bending_y="2" bending_z="2"/></flexdyn>'
)


def test_a_platform_on_the_tip_of_a_flexible_boom():
    """Its legs stand on a rigid link that is bolted to the tip: everything holds as on other links."""
    robot = fd.load(with_arm(BOOM + ARM))
    assert robot.nv == 1 + 4 + 6 + 2
    q = robot.neutral()
    tip = robot.frames(q, "base_link")
    home = tip @ [0.0, 0.0, robot.description.mounts[0].joint.xyz[2], 1.0]
    at = robot.q_names.index("platform/x")
    assert q[at : at + 3] == pytest.approx(home[:3], abs=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(3):
        q = robot.neutral()
        q[:5] += 0.01 * rng.standard_normal(5)
        v, tau = 0.3 * rng.standard_normal(robot.nv), 10.0 * rng.standard_normal(robot.nu)
        a = robot.forward_dynamics(q, v, tau)
        needed = robot.actuation_matrix(q) @ tau
        near(robot.inverse_dynamics(q, v, a)[: robot.nv], needed, 1e-8)
    still = np.zeros(robot.nv)
    legs = robot.effort_names[robot.nv :]
    rest = robot.static_equilibrium(robot.neutral(), hold=["hinge", "shoulder", "elbow", *legs])
    before, after = (robot.cylinder_states(x, still).length for x in (robot.neutral(), rest.q))
    assert after == pytest.approx(before, abs=1e-10)
    assert np.abs(robot.forward_dynamics(rest.q, still, rest.tau)).max() < 1e-6
    assert robot.frames(rest.q, "base_link")[2, 3] < tip[2, 3] - 1e-5


def test_legs_stand_on_no_node_of_imported_modes(tmp_path):
    """Each foot has a node of its own, which moves against the others."""
    text = with_arm(BOOM_BELOW)
    feet = [joint for joint in read(text).joints if joint.parent == "base_link"]
    nodes = np.array([[0.0, 0.0, -0.5], *(joint.xyz for joint in feet)])
    count = len(nodes)
    bent = np.linspace(0.0, 1e-2, 3 * count).reshape(1, count, 3) * (np.arange(count) > 0)[:, None]
    np.savez(
        tmp_path / "modes.npz",
        nodes=nodes,
        node_mass=np.ones(count),
        node_inertia=np.tile(np.eye(3), (count, 1, 1)),
        displacement=bent,
        rotation=np.zeros_like(bent),
        stiffness=np.eye(1),
        root_node=np.array(0),
        interface_nodes=np.arange(1, count),
        interface_joints=np.array([joint.name for joint in feet]),
    )
    file = f'<flexdyn reference="base_link"><modes file="{tmp_path}/modes.npz"/></flexdyn>'
    path = tmp_path / "robot.urdf"
    path.write_text(text.replace("</robot>", file + "</robot>"), encoding="utf-8")
    with pytest.raises(DescriptionError, match="legs stand on a node of the imported modes of 'base_link'"):
        fd.load(path)
