"""Accelerations in implicit steps of trees solve the equation of the step, by every way there is to them."""

import numpy as np
import pytest
from implicit_steps import left_over

import flexdyn_ros

#: a bending link whose shapes damp each other, between joints with springs and resistance, one with a motor
TREE = """<robot name="bends"><link name="base"/><link name="boom"/>
  <link name="hand"><inertial><origin xyz="0.1 0.05 0"/><mass value="0.6"/>
    <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial></link>
  <link name="jaw"><inertial><origin xyz="0 0.1 0.02"/><mass value="0.3"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.005"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/>
    <dynamics damping="0.4"/></joint>
  <joint name="bow" type="continuous"><parent link="boom"/><child link="hand"/><origin xyz="0.8 0 0"/>
    <axis xyz="0 0.6 0.8"/><dynamics damping="0.7"/></joint>
  <joint name="grip" type="continuous"><parent link="hand"/><child link="jaw"/><origin xyz="0.2 0 0.1"/>
    <axis xyz="0 0 1"/>MIMIC</joint>
  <flexdyn reference="turn"><rotor inertia="0.001" gear_ratio="10"/>
    <joint_elasticity stiffness="300" damping="2"/></flexdyn>
  <flexdyn reference="bow"><joint_spring stiffness="30" reference="0.1"/></flexdyn>
  <flexdyn reference="boom"><beam length="0.8" mass_per_length="1.5" EIy="40" EIz="60" GJ="20"
      polar_inertia="0.001"/><modes bending_z="2" bending_y="1" basis="hermite"/>
    <damping rayleigh_mass="0.3" rayleigh_stiffness="1e-3"/></flexdyn></robot>"""
WAYS = {
    "recursions": ("", {}),
    "mimic": ('<mimic joint="bow" multiplier="-1.5"/>', {}),
    "affine": ("", {"formulation.method": "lagrange", "formulation.frame": "affine"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_accelerations_of_a_step_solve_its_equation(way):
    follows, options = WAYS[way]
    robot = flexdyn_ros.load(TREE.replace("MIMIC", follows), options=options)
    rng = np.random.default_rng(3)
    q, v = 0.1 * rng.standard_normal((2, robot.nv))
    for h in (0.02, 0.0):
        assert left_over(robot, q, v, h) < 1e-9


@pytest.mark.parametrize("name", ["boom@0.6", "boom", "hand", "jaw"])
def test_jacobians_with_affine_frames_are_differences_of_the_frames(name):
    """Angular part: the skew part of R' R^T."""
    robot = flexdyn_ros.load(TREE.replace("MIMIC", ""), options=WAYS["affine"][1])
    q, h = 0.2 * np.random.default_rng(5).standard_normal(robot.nv), 1e-6
    J, R = robot.jacobian(q, name), robot.frames(q, name)[:3, :3]
    for i, e in enumerate(h * np.eye(robot.nv)):
        rate = (robot.frames(q + e, name) - robot.frames(q - e, name)) / (2.0 * h)
        W = rate[:3, :3] @ R.T
        turn = 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])
        np.testing.assert_allclose(J[:, i], [*turn, *rate[:3, 3]], rtol=0.0, atol=1e-8)
