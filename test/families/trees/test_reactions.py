"""Forces and moments in the joints of trees."""

import numpy as np
import pytest
from flexible_robots import bent_state, branched

import flexdyn_ros
from flexdyn_ros.errors import UnknownNameError, UnsupportedError

PENDULUM = """<robot name="p"><link name="w"/>
<link name="a"><inertial><origin xyz="0.6 0 0"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.3"/></inertial></link>
<link name="b"><inertial><mass value="0.5"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>
</inertial></link>
<joint name="turn" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="1 0 0"/>
<axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("seven_joint_arm")


def motion(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)


def axes_of(robot, q):
    """World axes of all revolute joints, by name."""
    moving = [joint for joint in robot.description.joints if joint.type in ("revolute", "continuous")]
    return {j.name: robot.frames(q, j.child)[:3, :3] @ np.array(j.axis) for j in moving}


def change_of_momentum(robot, q, v, a, h=1e-5):
    """d/dt (angular about the world origin; linear) of a fixed-base tree on the motion."""
    ends = [
        robot.momentum(robot.integrate(robot.integrate(q, v, s), a, 0.5 * s * s), v + a * s) for s in (h, -h)
    ]
    return (ends[0] - ends[1]) / (2 * h)


def test_a_pendulum_with_a_slider_has_the_reactions_of_newton_and_euler():
    """By hand: the slider's mass and the arm's in polar coordinates, x forward, z up, turning about y."""
    robot = flexdyn_ros.load(PENDULUM)
    q, v, a = np.array([0.7, 0.25]), np.array([1.3, -0.4]), np.array([-2.0, 0.9])
    g = -robot.gravity[2]
    out, down = np.array([np.cos(0.7), 0, -np.sin(0.7)]), np.array([-np.sin(0.7), 0, -np.cos(0.7)])
    up = np.array([0.0, 0.0, g])

    def point(r, rate, second):
        return (second - r * v[0] ** 2) * out + (r * a[0] + 2 * rate * v[0]) * down

    slider = 0.5 * (point(1.25, v[1], a[1]) + up)
    arm = 2.0 * (point(0.6, 0.0, 0.0) + up)
    found = robot.joint_reactions(q, v, a)
    assert found.names == ("base", "turn", "slide")
    assert found.of("slide")[3:] == pytest.approx(slider, abs=1e-13)
    assert found.of("slide")[:3] == pytest.approx(np.zeros(3), abs=1e-13)
    assert found.of("turn")[3:] == pytest.approx(slider + arm, abs=1e-13)
    moment = np.cross(0.6 * out, arm) + np.cross(1.25 * out, slider) + [0.0, 0.2 * a[0], 0.0]
    assert found.of("turn")[:3] == pytest.approx(moment, abs=1e-13)
    assert found.of("base") == pytest.approx(found.of("turn"), abs=1e-13)
    tau = robot.inverse_dynamics(q, v, a)
    assert tau == pytest.approx([moment[1], slider @ out], abs=1e-13)


def test_the_component_along_its_axis_is_the_effort_of_the_joint(robot):
    q, v, a = motion(robot)
    found = robot.joint_reactions(q, v, a)
    # what friction and damping take comes on top of what the joint transmits
    tau = robot.inverse_dynamics(q, v, a) - robot.bias_terms(q, v).damping
    for name, axis in axes_of(robot, q).items():
        assert axis @ found.of(name)[:3] == pytest.approx(tau[robot.index(name)], abs=1e-12)


def test_the_ground_carries_weight_and_change_of_momentum(robot):
    q, v, a = motion(robot, 1)
    w = robot.joint_reactions(q, v, a).of("base")
    np.testing.assert_allclose(
        w[3:], change_of_momentum(robot, q, v, a)[3:] - robot.mass * robot.gravity, atol=1e-6
    )


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
def test_reactions_of_flexible_links_sum_to_the_change_of_momentum(method):
    robot = flexdyn_ros.load(branched(middle=True), options={"formulation.method": method})
    q, v, a = bent_state(robot, 3)
    found = robot.joint_reactions(q, v, a)
    base = found.of("base")
    change = change_of_momentum(robot, q, v, a)
    # the centre of mass is that of what moves, the base carries the root link too
    stand, root = robot.frames(q, robot.description.root), robot.description.link(robot.description.root)
    fixed = 0.0 if root.inertial is None else root.inertial.mass
    first = robot.center_of_mass(q) * (robot.mass - fixed)
    if root.inertial is not None:
        first = first + fixed * (stand[:3, 3] + stand[:3, :3] @ np.array(root.inertial.xyz))
    weight = np.concatenate([np.cross(first, robot.gravity), robot.mass * np.array(robot.gravity)])
    about = np.concatenate([np.cross(stand[:3, 3], base[3:]), np.zeros(3)])
    np.testing.assert_allclose(base + about, change - weight, atol=1e-6)
    tau = robot.inverse_dynamics(q, v, a) - robot.bias_terms(q, v).damping
    held = {joint.name for joint in robot.description.joints if joint.rotor or joint.spring}
    for name, axis in axes_of(robot, q).items():
        if name not in held:
            assert axis @ found.of(name)[:3] == pytest.approx(tau[robot.index(name)], abs=1e-11)


def test_a_load_beyond_the_joint_is_carried_and_one_before_it_is_not(robot):
    q, v, a = motion(robot, 2)
    free = robot.joint_reactions(q, v, a).of("elbow_pitch")
    beyond = robot.joint_reactions(q, v, a, {"tool0": np.array([0, 0, 0, 0, 0, 10.0])}).of("elbow_pitch")
    np.testing.assert_allclose((beyond - free)[3:], [0, 0, -10.0], atol=1e-9)
    before = robot.joint_reactions(q, v, a, {"link_2": np.ones(6)}).of("elbow_pitch")
    np.testing.assert_allclose(before, free, rtol=0, atol=1e-12)


def test_a_load_on_a_section_of_a_flexible_link_is_carried_by_its_joint():
    robot = flexdyn_ros.load(branched())
    q, v, a = bent_state(robot, 5)
    load = np.array([0.1, 0.2, -0.3, 3.0, -2.0, 1.0])
    change = [robot.joint_reactions(q, v, a, w).of("arm") for w in ({"arm_link@0.4": load}, None)]
    root, at = robot.frames(q, "arm_link")[:3, 3], robot.frames(q, "arm_link@0.4")[:3, 3]
    np.testing.assert_allclose((change[0] - change[1])[3:], -load[3:], atol=1e-11)
    np.testing.assert_allclose(
        (change[0] - change[1])[:3], -load[:3] - np.cross(at - root, load[3:]), atol=1e-11
    )


def test_reactions_of_a_batch_are_those_of_its_states(robot):
    rng = np.random.default_rng(3)
    q, v = np.array([robot.random(rng) for _ in range(6)]).reshape(2, 3, 7), rng.normal(size=(2, 3, 7))
    a = rng.normal(size=7)
    found = robot.joint_reactions(q, v, a)
    assert found.force.shape == found.moment.shape == (2, 3, len(found.names), 3)
    one = robot.joint_reactions(q[1, 2], v[1, 2], a)
    np.testing.assert_allclose(found.force[1, 2], one.force, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.moment[1, 2], one.moment, rtol=0, atol=1e-12)


def test_a_joint_that_follows_one_outside_its_branch_has_a_reaction():
    text = """<robot name="m"><link name="w"/><link name="a"/><link name="b"/>
      <joint name="one" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 0 1"/></joint>
      <joint name="hold" type="fixed"><parent link="w"/><child link="c"/></joint><link name="c"/>
        <link name="d"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="two" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
        <mimic joint="one"/></joint>
      <joint name="three" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        </joint></robot>"""
    robot = flexdyn_ros.load(text)
    q, v, a = np.array([0.4, 0.0]), np.array([2.0, 0.0]), np.zeros(2)
    inward = -2.0 * 0.5 * 4.0 * np.array([np.cos(0.4), np.sin(0.4), 0.0]) - 2.0 * np.array(robot.gravity)
    assert robot.joint_reactions(q, v, a).of("hold")[3:] == pytest.approx(inward, abs=1e-13)


def test_chosen_reactions_are_in_the_axes_of_the_child_links(robot):
    q, v, a = motion(robot, 6)
    chosen = robot.functions.reactions_in(["elbow_pitch"])
    assert chosen.names == ("base", "elbow_pitch")
    assert chosen.links == (robot.description.root, "link_4")
    R, w = robot.frames(q, "link_4")[:3, :3], robot.joint_reactions(q, v, a).of("elbow_pitch")
    np.testing.assert_allclose(chosen(q, v, a)[1], [*(R.T @ w[:3]), *(R.T @ w[3:])], rtol=0, atol=1e-12)
    with pytest.raises(UnknownNameError, match="hand"):
        robot.functions.reactions_in(["hand"])
    with pytest.raises(UnsupportedError, match="mobile"):
        flexdyn_ros.load("mobile_arm").functions.reactions_in(["base"])


def test_what_has_no_reactions_is_refused(robot):
    with pytest.raises(UnknownNameError, match="hand"):
        robot.joint_reactions(*motion(robot), {"hand": np.zeros(6)})
    wheels = flexdyn_ros.load("mobile_arm")
    with pytest.raises(UnsupportedError, match="constraint_forces"):
        wheels.joint_reactions(wheels.neutral(), np.zeros(wheels.nv), np.zeros(wheels.nv))


def test_elastic_joints_transmit_what_the_links_take():
    """With nothing turning, spring and effort bear the moment about the axis."""
    elastic = PENDULUM.replace(
        "</robot>",
        '<flexdyn reference="turn"><rotor inertia="0.02" gear_ratio="10"/>'
        '<joint_elasticity stiffness="500" damping="1"/></flexdyn></robot>',
    )
    robot = flexdyn_ros.load(elastic)
    q, still = robot.random(np.random.default_rng(3)), np.zeros(robot.nv)
    a = np.random.default_rng(4).standard_normal(robot.nv)
    motor = next(c for c in robot.coordinates if c.kind == "motor")
    twist = q[robot.q_names.index("turn")] - q[motor.q_index]
    found = robot.joint_reactions(q, still, a)
    along = axes_of(robot, q)["turn"] @ found.of("turn")[:3]
    effort = robot.inverse_dynamics(q, still, a)[robot.index("turn")]
    assert abs(twist) > 1e-4
    assert along == pytest.approx(effort - 500.0 * twist, abs=1e-10)
    assert robot.functions.reactions_in(("turn",))(q, still, a).shape == (2, 6)
