"""Bodies between the ends of a flexible link: carried as child links there are, by every method; and
bodies that fly off."""

import numpy as np
import pytest
from flexible_robots import cantilever
from scipy.spatial.transform import Rotation

import flexdyn_ros

INERTIA = '<mass value="0.5"/><inertia ixx="2e-3" iyy="3e-3" izz="1e-3" ixy="1e-4" ixz="0" iyz="2e-4"/>'
ARM = """<robot name="b"><link name="base"/><link name="l"/>{link}
<joint name="j" type="continuous"><parent link="base"/><child link="l"/><axis xyz="0 1 0"/></joint>{joint}
<flexdyn><formulation stiffening="{stiffening}" method="{method}"/></flexdyn>
<flexdyn reference="l"><beam length="1" mass_per_length="0.3" EIy="50" EIz="40" GJ="20" polar_inertia="1e-4"/>
<modes bending_y="2" bending_z="1" torsion="1"/><damping ratio="0.02"/>{inside}</flexdyn></robot>"""
BODY = f'<body name="b" station="0.5"><origin xyz="0 0.05 0.1"/>{INERTIA}</body>'
CHILD = {
    "link": f'<link name="c"><inertial><origin xyz="0 0.05 0.1"/>{INERTIA}</inertial></link>',
    "joint": '<joint name="f" type="fixed"><parent link="l"/><child link="c"/><origin xyz="0.5 0 0"/>'
    "</joint>",
    "inside": '<attach joint="f" station="0.5"/>',
}
WHEELED = """<robot name="r"><link name="cart"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="l"/>
<joint name="j" type="continuous"><parent link="cart"/><child link="l"/><origin xyz="0 0 0.5"/>
<axis xyz="0 -1 0"/></joint><flexdyn><gravity>0 0 -9.8</gravity><base type="planar"/>
<formulation method="{method}" rotary_inertia="none" stiffening="none"/>
<wheel name="w" link="cart" xyz="0 0 0"><suspension stiffness="1000" damping="50" free_length="0.3"/></wheel>
<drive type="speed" speed="0"/></flexdyn><flexdyn reference="l">
<beam length="0.8" mass_per_length="1.25" EIy="200" EA="2e7"/><modes axial="1" bending_z="2" basis="hermite"/>
<body name="b" station="{station}"><origin xyz="0.02 0 0.03"/><mass value="0.15"/>
<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></body></flexdyn></robot>"""


def arm(stiffening, method, child=False):
    parts = CHILD if child else {"link": "", "joint": "", "inside": BODY}
    return flexdyn_ros.load(ARM.format(stiffening=stiffening, method=method, **parts))


def bent(robot, rng):
    """A state bent by up to a tenth of the length."""
    q = 0.1 * rng.uniform(-1.0, 1.0, robot.nq)
    return q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_a_body_between_the_ends_moves_as_a_child_link_there(stiffening):
    body = arm(stiffening, "articulated")
    second = arm(stiffening, "lagrange")
    child = arm(stiffening, "articulated", child=True)
    assert body.mass == pytest.approx(child.mass, rel=1e-14)
    rng = np.random.default_rng(8)
    for _ in range(5):
        q, v, a = bent(body, rng)
        # <damping ratio> counts bodies of the link, not its children: compare without damping
        M, tau = child.mass_matrix(q), child.inverse_dynamics(q, 0 * v, a)
        h = child.bias_terms(q, v)
        for robot in (body, second):
            assert np.abs(robot.mass_matrix(q) - M).max() < 1e-13 * np.abs(M).max()
            assert np.abs(robot.inverse_dynamics(q, 0 * v, a) - tau).max() < 1e-12 * np.abs(tau).max()
            terms = robot.bias_terms(q, v)
            for name in ("velocity", "gravity", "elastic"):
                ours, theirs = getattr(terms, name), getattr(h, name)
                assert np.abs(ours - theirs).max() < 1e-12 * max(np.abs(theirs).max(), 1.0)
            assert robot.energy(q, v) == pytest.approx(child.energy(q, v), rel=1e-12)
        assert body.momentum(q, v) == pytest.approx(child.momentum(q, v), rel=1e-12)
        assert body.center_of_mass(q) == pytest.approx(child.center_of_mass(q), abs=1e-14)


@pytest.mark.parametrize("station", ["0.3", "0.6", "tip"])
def test_floating_frames_carry_a_body_between_the_ends_as_the_recursion_does(station):
    one, two = (
        flexdyn_ros.load(WHEELED.format(method=method, station=station))
        for method in ("floating_frame", "articulated")
    )
    q, v = np.array([0, 0.2, 0, 0.4, 0, 0.02, 0.04]), np.array([0, 0, 0, 1.0, 0, 0.3, 0.5])
    assert np.abs(one.mass_matrix(q) - two.mass_matrix(q)).max() < 1e-13
    assert np.abs(one.bias_forces(q, v) - two.bias_forces(q, v)).max() < 1e-12
    a = two.forward_dynamics(q, v)
    assert np.abs(one.forward_dynamics(q, v) - a).max() < 1e-11 * np.abs(a).max()


def test_the_rotary_energy_of_a_body_between_the_ends_is_that_of_its_angular_velocity():
    """J w^2 / 2, not J (1 + slope^2) w^2 / 2, where the whole link turns at w."""
    text = WHEELED.format(method="articulated", station="0.6")
    heavy, point = flexdyn_ros.load(text), flexdyn_ros.load(text.replace('"1e-3"', '"0"'))
    q, v = np.array([0, 0.2, 0, 0.4, 0, 0.2, 0.4]), np.array([0, 0, 0, 2.0, 0, 0, 0])
    rotary = heavy.energy(q, v).kinetic - point.energy(q, v).kinetic
    assert rotary == pytest.approx(0.5 * 1e-3 * 2.0**2, rel=1e-9)


@pytest.mark.parametrize("kind", ["floating", "ball"])
def test_a_body_on_a_free_joint_obeys_newton_and_euler_whatever_its_beam_does(kind):
    """A joint that is free takes no force, one that is a ball no moment about it."""
    body = """<link name="bird"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/><mass value="2"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.6"/></inertial></link>
      <joint name="off" type="floating"><parent link="beam"/><child link="bird"/>
      <origin xyz="2 0.3 -0.2" rpy="0.5 0.2 -0.7"/></joint>"""
    modes = 'bending_y="1" bending_z="1" torsion="1"'
    if kind == "ball":
        body += '<flexdyn reference="off"><joint_type>ball</joint_type></flexdyn>'
    text = cantilever(modes, axis="0.3 -0.5 1", EI=500.0, L=2.0)
    robot = flexdyn_ros.load(text.replace("</robot>", f"{body}</robot>"))
    rng, h = np.random.default_rng(6), 1e-5
    for _ in range(4):
        q, v = robot.random(rng), rng.standard_normal(robot.nv)
        a = robot.forward_dynamics(q, v, np.zeros(robot.nv))
        J = robot.jacobian(q, "bird")
        ahead, behind = (robot.jacobian(robot.integrate(q, v, s * h), "bird") for s in (1.0, -1.0))
        alpha, acceleration = (J @ a + (ahead - behind) @ v / (2.0 * h)).reshape(2, 3)
        w, R = J[:3] @ v, robot.frames(q, "bird")[:3, :3]
        turned = R @ Rotation.from_euler("xyz", [0.3, -0.4, 0.5]).as_matrix()
        inertia, arm = turned @ np.diag([0.2, 0.5, 0.6]) @ turned.T, R @ [0.1, -0.2, 0.3]
        of_center = acceleration + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
        scale = max(1.0, np.abs(a).max())
        moment = inertia @ alpha + np.cross(w, inertia @ w) + 2.0 * np.cross(arm, of_center)
        np.testing.assert_allclose(moment, 0.0, atol=1e-7 * scale)
        if kind == "floating":
            np.testing.assert_allclose(of_center, 0.0, atol=1e-7 * scale)
        else:
            assert np.abs(of_center).max() > 1.0
