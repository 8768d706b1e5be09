"""A mass matrix that is singular to rounding is told, by every method, for single states and batches."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SingularityError

#: a base without mass turns against the first joint of the arm
LOOSE = {"base.type": "floating"}
#: two joints about one axis, nothing between them
COAXIAL = """
<robot name="coaxial"><link name="base"/><link name="between"/><link name="arm"><inertial>
    <origin xyz="0.3 0.1 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.37"/></inertial></link>
  <joint name="first" type="continuous"><parent link="base"/><child link="between"/>
    <origin rpy="0.3 0.2 0.1"/><axis xyz="0 0.6 0.8"/></joint>
  <joint name="second" type="continuous"><parent link="between"/><child link="arm"/><axis xyz="0 0.6 0.8"/>
  </joint></robot>"""
METHODS = ("articulated", "lagrange")


@pytest.mark.parametrize("flexible", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_a_base_without_mass_is_told(method, flexible):
    options = LOOSE | {"formulation.method": method, "formulation.flexible": flexible}
    robot = flexdyn_ros.load("canadarm2", options=options)
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(5)])
    for one in q:
        with pytest.raises(SingularityError):
            robot.forward_dynamics(one, np.zeros(robot.nv))
    with pytest.warns(FlexdynWarning, match="5 of 5"):
        assert np.isnan(robot.forward_dynamics(q, np.zeros(robot.nv))).all()


@pytest.mark.parametrize("method", METHODS)
def test_two_joints_about_one_axis_are_told(method):
    robot = flexdyn_ros.load(COAXIAL, options={"formulation.method": method})
    q = np.random.default_rng(2).uniform(-3.0, 3.0, (5, 2))
    with pytest.warns(FlexdynWarning, match="5 of 5"):
        assert np.isnan(robot.forward_dynamics(q, 0.1 * q)).all()
    with pytest.raises(SingularityError):
        robot.forward_dynamics(q[0], q[1])


def test_bodies_without_mass_are_no_fault_where_the_motion_is_determined():
    robot = flexdyn_ros.load(
        COAXIAL.replace('<axis xyz="0 0.6 0.8"/></joint>', '<axis xyz="1 0 0"/></joint>', 1)
    )
    q, v = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 4, 2))
    a = robot.forward_dynamics(q, v)
    assert robot.inverse_dynamics(q, v, a) == pytest.approx(0.0, abs=1e-11)


def test_singular_poses_of_a_platform_are_warned_of_once():
    robot = flexdyn_ros.load("stewart_1t")
    flat, still = robot.neutral(), np.zeros(6)
    flat[2] = 0.0
    with pytest.warns(FlexdynWarning, match="1 of 2") as told:
        tau = robot.inverse_dynamics(np.stack([flat, robot.neutral()]), still, still)
    assert len(told) == 1
    assert np.isnan(tau).all(axis=1).tolist() == [True, False]
