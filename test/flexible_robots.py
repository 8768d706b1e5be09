"""Robots with flexible links for the tests, as URDF text."""

from __future__ import annotations

import numpy as np

#: the worked example of the specification of serial arms, section 9 (public numbers), and its state
WORKED_EXAMPLE = """
<robot name="worked_example">
  <link name="base"/><link name="one"/><link name="two"/>
  <joint name="j1" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="j2" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="1 0 0" rpy="0.5 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <flexdyn><gravity>0 -9.81 0</gravity></flexdyn>
  <flexdyn reference="one">
    <beam length="1" mass_per_length="1.2" EIy="40" EIz="40" GJ="30" polar_inertia="0.002"/>
    <modes bending_y="1" bending_z="1"/>
    <body name="tip"><mass value="0.3"/></body>
  </flexdyn>
  <flexdyn reference="two">
    <beam length="0.8" mass_per_length="0.9" EIy="25" EIz="25" GJ="12" polar_inertia="0.002"/>
    <modes bending_y="1" torsion="1"/>
    <body name="tip"><origin xyz="0 0.1 0"/><mass value="0.2"/></body>
  </flexdyn>
</robot>
"""
WORKED_STATE = (np.array([0.4, 0.05, -0.03, -0.7, 0.04, 0.1]), np.array([0.9, 0.2, 0.1, -1.1, -0.3, 0.5]))

_FLEXIBLE = """
  <flexdyn reference="trunk">
    <beam axis="0 0 1" origin="0.02 0 0.05" length="0.9" mass_per_length="2.1">
    <rectangle width="0.03" height="0.02"/>
      <material name="aluminium"/></beam>
    <modes axial="1" bending_y="2" bending_z="2" torsion="1"/>
    <damping ratio="0.02"/>
    <attach joint="arm" station="auto"/><attach joint="crane" station="0.6"/>
    <attach joint="stub" station="root"/>
    <body name="hub" station="root"><origin xyz="0.01 0.02 0"/><mass value="0.4"/>
      <inertia ixx="0.002" ixy="1e-4" ixz="0" iyy="0.003" iyz="0" izz="0.0025"/></body>
    <body name="head"><origin xyz="0 0.03 0.01"/><mass value="0.3"/>
      <inertia ixx="0.001" ixy="0" ixz="2e-4" iyy="0.001" iyz="0" izz="0.0015"/></body>{middle}
  </flexdyn>
  <flexdyn reference="arm_link">
    <beam axis="1 0 0" length="0.7" mass_per_length="1.1" EIy="70" EIz="50" GJ="30" polar_inertia="0.001"/>
    <modes bending_y="2" bending_z="1" torsion="2"/>
    <damping rayleigh_mass="0.3" rayleigh_stiffness="1e-3"/>
  </flexdyn>
  <flexdyn reference="mast">
    <beam axis="0 1 0" length="0.5" mass_per_length="0.8" EIy="20" EIz="30" GJ="9" polar_inertia="0.0006"/>
    <modes bending_y="1" bending_z="2"/>
  </flexdyn>
"""
_MIDDLE = """
    <body name="saddle" station="0.45"><origin xyz="0.01 0.02 -0.03"/><mass value="0.25"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="1e-4" izz="0.0015"/></body>"""


def branched(*, middle: bool = False, base: str = "fixed") -> str:
    """A flexible trunk with children at several stations by every kind of joint, flexible ones among them."""
    return f"""
<robot name="branched">
  <link name="base"><inertial><origin xyz="0.1 0 0.2"/><mass value="3"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.12" iyz="0" izz="0.09"/></inertial></link>
  <link name="trunk"/><link name="arm_link"/><link name="sledge"><inertial><origin xyz="0.1 0 0.05"/>
    <mass value="0.7"/>
    <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial></link>
  <link name="stub_link"><inertial><origin xyz="0 0.1 0"/><mass value="0.2"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <link name="mast"/>
  <link name="tool"><inertial><origin xyz="0.05 0.02 0"/><mass value="0.5"/>
    <inertia ixx="0.002" ixy="0" ixz="0.0003" iyy="0.003" iyz="0" izz="0.002"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="trunk"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/>
    <axis xyz="0.2 0.1 1"/><limit lower="-2" upper="2" effort="50" velocity="3"/><dynamics damping="0.2"/>
    </joint>
  <joint name="arm" type="continuous"><parent link="trunk"/><child link="arm_link"/>
    <origin xyz="0.05 0.02 0.7" rpy="0.4 0.1 -0.6"/><axis xyz="0 1 0.3"/></joint>
  <joint name="crane" type="prismatic"><parent link="trunk"/><child link="sledge"/>
    <origin xyz="-0.1 0.03 0.59" rpy="0 0.7 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.3" upper="0.3" effort="40" velocity="1"/></joint>
  <joint name="stub" type="fixed"><parent link="trunk"/><child link="stub_link"/><origin xyz="0.1 0 0.05"/>
    </joint>
  <joint name="weld" type="fixed"><parent link="trunk"/><child link="mast"/>
    <origin xyz="0.05 0 0.95" rpy="0.2 0 0.3"/></joint>
  <joint name="wrist" type="continuous"><parent link="arm_link"/><child link="tool"/>
    <origin xyz="0.7 0.05 0" rpy="0 0.3 0"/>
    <axis xyz="0 0 1"/></joint>
  <flexdyn><gravity>0.7 -1.1 -9.5</gravity><base type="{base}"/></flexdyn>
  <flexdyn reference="arm"><rotor inertia="0.001" gear_ratio="12"/></flexdyn>
{_FLEXIBLE.format(middle=_MIDDLE if middle else "")}
</robot>
"""


def cantilever(
    modes: str, *, joint: str = "continuous", axis: str = "0 0 1", mu=1.2, EI=1.4e4, L=10.0, extra=""
) -> str:
    """One uniform beam along x on a joint, no gravity."""
    return f"""
<robot name="cantilever"><link name="base"/><link name="beam"/>
  <joint name="hub" type="{joint}"><parent link="base"/><child link="beam"/><axis xyz="{axis}"/></joint>
  <flexdyn><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="beam">
    <beam length="{L}" mass_per_length="{mu}" EIy="{EI}" EIz="{EI}" GJ="1e3" EA="1e6"
    polar_inertia="0.02"/><modes {modes}/>{extra}</flexdyn>
</robot>
"""


def bent_state(robot, seed=0, size=1.0):
    """q, v, a: joints anywhere, deflections of a few per cent of the length, rates of the order of one."""
    rng = np.random.default_rng(seed)
    q, v, a = robot.random(rng), rng.uniform(-1.0, 1.0, robot.nv), rng.uniform(-1.0, 1.0, robot.nv)
    for c in robot.coordinates:
        if "/" in c.name and c.kind not in ("base", "joint"):
            q[c.q_index] *= size
    return q, v, a
