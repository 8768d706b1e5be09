"""Inverse dynamics by chosen actuators: `inverse_dynamics(..., actuators=)`."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SingularityError, UnknownNameError

BODY = """<inertial><origin xyz="0.4 0 0"/><mass value="{}"/>
  <inertia ixx="0.1" iyy="0.3" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = f"""<robot name="arm"><link name="base"/>
<link name="upper">{BODY.format(8)}</link><link name="fore">{BODY.format(3)}</link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 -1 0"/>
  <limit lower="-2" upper="2" effort="200" velocity="3"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="1 0 0"/>
  <axis xyz="0 -1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
<flexdyn>{{}}</flexdyn></robot>"""
HOIST = (
    '<cylinder name="hoist" base="base" base_xyz="0.3 0 -0.5" end="upper" end_xyz="0.6 0 -0.1" '
    'minimum_length="0.1" stroke="2"><force maximum="4000"/></cylinder>'
)
Q, V, A = np.array([0.4, -0.7]), np.array([0.5, 0.2]), np.array([1.0, -2.0])


def test_joints_alone_give_what_they_give_anyway():
    r = flexdyn_ros.load(ARM.format(""))
    assert np.allclose(r.inverse_dynamics(Q, V, A, actuators="all"), r.inverse_dynamics(Q, V, A), rtol=1e-12)


def test_a_cylinder_does_the_work_of_the_joint_that_it_turns():
    r = flexdyn_ros.load(ARM.format(HOIST))
    assert r.actuators == ("elbow", "hoist")
    tau, along = r.inverse_dynamics(Q, V, A, actuators="all"), r.inverse_dynamics(Q, V, A)
    assert tau == pytest.approx([0.0, along[1], along[0] / r.actuation_matrix(Q)[0, 2]], rel=1e-10)
    assert r.forward_dynamics(Q, V, tau) == pytest.approx(A, rel=1e-9)
    same = r.inverse_dynamics(np.array([Q, Q]), V, A, actuators=["hoist", "elbow"])
    assert np.allclose(same, tau, rtol=1e-12)


def test_where_two_can_do_it_the_least_efforts_are_taken():
    """u1 + lever u2 = b with u1^2/200^2 + u2^2/4000^2 least: u = W^-1 A' b / (A W^-1 A')."""
    r = flexdyn_ros.load(ARM.format(HOIST + '<actuation active="lift"/>'))
    tau, along = r.inverse_dynamics(Q, V, A, actuators="all"), r.inverse_dynamics(Q, V, A)
    row, free = np.array([1.0, r.actuation_matrix(Q)[0, 2]]), np.array([200.0**2, 4000.0**2])
    wanted = free * row * along[0] / (row @ (free * row))
    assert tau[[0, 2]] == pytest.approx(wanted, rel=1e-9)
    assert r.forward_dynamics(Q, V, tau) == pytest.approx(A, rel=1e-9)


def test_modes_get_the_least_rest():
    """Of a bending boom: the hinge has no rest, the modes what a force at the pin cannot do."""
    boom = """<robot name="boom"><link name="column"/><link name="boom"/>
    <joint name="lift" type="revolute"><parent link="column"/><child link="boom"/><axis xyz="0 -1 0"/>
      <limit lower="-1" upper="1" effort="0" velocity="1"/></joint>
    <flexdyn reference="boom"><beam length="4" mass_per_length="24" EIy="9e5" EIz="9e5"/>
      <modes bending_z="2"/></flexdyn>
    <flexdyn><cylinder name="hoist" base="column" base_xyz="0.3 0 -1" end="boom@0.25"
      minimum_length="0.5" stroke="2"/></flexdyn></robot>"""
    r = flexdyn_ros.load(boom)
    q, v = np.array([0.2, 0.001, -0.0005]), np.zeros(3)
    a = np.array([0.3, 0.1, 0.2])
    tau, along = r.inverse_dynamics(q, v, a, actuators="all"), r.inverse_dynamics(q, v, a)
    column = r.actuation_matrix(q)[:, 3]
    force = along[0] / column[0]
    assert tau == pytest.approx([0.0, *(along[1:3] - column[1:] * force), force], rel=1e-9)
    assert r.forward_dynamics(q, v, tau) == pytest.approx(a, rel=1e-8)


def test_a_floating_base_keeps_its_rest():
    text = ARM.format('<base type="floating"/>')
    r = flexdyn_ros.load(text)
    rng = np.random.default_rng(0)
    q, v, a = r.random(rng), rng.standard_normal(r.nv), rng.standard_normal(r.nv)
    assert np.allclose(r.inverse_dynamics(q, v, a, actuators="all"), r.inverse_dynamics(q, v, a), rtol=1e-9)


def test_a_platform_has_its_legs():
    r = flexdyn_ros.load("stewart_electric")
    q, v, a = r.neutral(), np.full(6, 0.1), np.full(6, 0.2)
    assert r.inverse_dynamics(q, v, a, actuators="all") == pytest.approx(
        r.inverse_dynamics(q, v, a), rel=1e-9
    )


def test_motions_that_the_actuators_cannot_make_are_refused():
    r = flexdyn_ros.load(ARM.format(HOIST))
    with pytest.raises(SingularityError, match="elbow"):
        r.inverse_dynamics(Q, V, A, actuators=["hoist"])
    with pytest.warns(FlexdynWarning, match="elbow"):
        found = r.inverse_dynamics(np.array([Q, Q]), V, A, actuators=["hoist"])
    assert np.isnan(found).all()
    with pytest.raises(UnknownNameError, match="lift"):
        r.inverse_dynamics(Q, V, A, actuators=["lift"])
    with pytest.raises(UnknownNameError, match="actuators"):
        r.inverse_dynamics(Q, V, A, actuators="all", unactuated="free")


def test_a_floating_base_leaves_efforts_least_where_no_actuator_pulls_at_it():
    """A motor and a cylinder across one joint: the efforts that the joint asks for, of least square."""
    r = flexdyn_ros.load(
        ARM.format(f'<base type="floating"/><actuation active="lift elbow"/>{HOIST}').replace(
            '<link name="base"/>', f'<link name="base">{BODY.format(20)}</link>'
        )
    )
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = r.random(rng), rng.standard_normal(r.nv), rng.standard_normal(r.nv)
        tau, along = r.inverse_dynamics(q, v, a, actuators="all"), r.inverse_dynamics(q, v, a)
        limits = np.array([200.0, 50.0, 4000.0])
        B = r.actuation_matrix(q)[6:, 6:] * limits
        np.testing.assert_allclose(tau[6:], limits * (np.linalg.pinv(B) @ along[6:8]), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(tau[:6], along[:6], rtol=1e-10)
