"""Expanded description of robots on wheels."""

import numpy as np
import pytest
from lxml import etree
from mobile_arms import arm, state
from scipy.spatial.transform import Rotation

import flexdyn_ros

CART = """<robot name="cart"><link name="cart"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<flexdyn><base type="floating"/><wheel name="w" link="cart" xyz="0.4 0.07 -0.15">
<suspension stiffness="1000" damping="10" free_length="0.3"/>{tyre}</wheel>
<road kind="flat"/></flexdyn></robot>"""
TYRE = '<tyre stiffness="20000" damping="1" radius="0.12" mass="1"/>'


def test_wheels_hang_on_suspension_joints_at_the_road():
    robot = arm()
    q, v = state(robot)
    expanded = flexdyn_ros.expand(robot)
    assert expanded.joint_names[-2:] == ("rear/suspension", "front/suspension")
    assert not any(name.startswith("base/") for name in expanded.joint_names)
    travel = expanded.joint_positions(q)[-2:]
    assert np.allclose(travel, robot.wheel_forces(q, v).travel)
    h = 1e-5
    rate = (expanded.joint_positions(q + h * v) - expanded.joint_positions(q - h * v))[-2:] / (2 * h)
    assert np.allclose(expanded.joint_velocities(q, v)[-2:], rate, rtol=1e-5)
    assert "inertial" not in expanded.urdf


@pytest.mark.parametrize("tyre", ["", TYRE], ids=["without a tyre", "with a tyre"])
def test_a_wheel_stands_where_its_spring_ends_and_is_drawn_on_the_road(tyre):
    robot = flexdyn_ros.load(CART.format(tyre=tyre))
    names, q = robot.q_names, robot.neutral()
    q[names.index("base/x")], q[names.index("base/y")], q[names.index("base/z")] = 0.9, 0.6, 0.42
    # of a wheel without a tyre the spring ends on the road, of others at the hub
    end = 0.0
    if tyre:
        end = q[-1] = 0.11
    expanded = flexdyn_ros.expand(robot)
    shown = flexdyn_ros.load(expanded.urdf)
    place = (robot.frames(q, "cart") @ shown.frames(expanded.joint_positions(q), "w/wheel"))[:3, 3]
    np.testing.assert_allclose(place, [0.9 + 0.4, 0.6 + 0.07, end], atol=1e-12)
    # the spring is as long as its ends are apart
    (travel,) = expanded.joint_positions(q)
    assert 0.3 - travel == pytest.approx(0.42 - 0.15 - end, abs=1e-12)
    (visual,) = etree.fromstring(expanded.urdf.encode()).xpath("link[@name='w/wheel']/visual")
    origin, disc = visual.find("origin"), visual.find("geometry/cylinder")
    xyz, rpy = (np.array(origin.get(name).split(), dtype=float) for name in ("xyz", "rpy"))
    axis = Rotation.from_euler("xyz", rpy).apply([0.0, 0.0, 1.0])
    np.testing.assert_allclose(np.abs(axis), [0.0, 1.0, 0.0], atol=1e-9)
    lowest = place + xyz - [0.0, 0.0, float(disc.get("radius"))]
    # a tyre of 12 cm whose hub is 11 cm above the road is pressed in by one
    np.testing.assert_allclose(lowest, [1.3, 0.67, -0.01 if tyre else 0.0], atol=1e-9)
    (limit,) = etree.fromstring(expanded.urdf.encode()).xpath("joint[@name='w/suspension']/limit")
    assert float(limit.get("lower")) < travel < float(limit.get("upper"))
