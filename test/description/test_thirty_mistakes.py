"""Thirty mistakes that people make with flexible links and joints: each refused, with element and remedy."""

import re

import pytest

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError

GOOD = """
<robot name="arm">
  <link name="base"/>
  <link name="boom"><inertial><origin xyz="0.75 0 0"/><mass value="4.0"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.673" iyz="0" izz="0.673"/></inertial></link>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
  <joint name="mount" type="fixed"><parent link="boom"/><child link="tool"/><origin xyz="1.5 0 0"/></joint>
  <flexdyn><gravity>0 0 -9.81</gravity></flexdyn>
  <flexdyn reference="boom">
    <beam length="1.5"><tube outer_radius="0.025" wall="0.002"/><material name="steel"/></beam>
    <modes bending_y="1" bending_z="2" torsion="1" basis="eigen"/>
    <damping ratio="0.01"/>
    <body name="ring" station="0.5"><mass value="0.1"/><inertia ixx="0" iyy="0" izz="0"/></body>
  </flexdyn>
  <flexdyn reference="pivot"><rotor inertia="1e-4" gear_ratio="50"/>
    <joint_elasticity stiffness="900" damping="1"/></flexdyn>
</robot>
"""
TUBE = '<tube outer_radius="0.025" wall="0.002"/>'
STEEL = '<material name="steel"/>'
BEAM = f'<beam length="1.5">{TUBE}{STEEL}</beam>'
TABLE = '<table columns="station mass_per_length EIy EIz GJ">{}</table>'

#: mistake: (what is written, what should not have been, element that is named, words of the remedy)
MISTAKES = {
    "missing section": (TUBE, "", "modes", "section"),
    "missing material": (STEEL, "", "modes", "material"),
    "negative stiffness": ('length="1.5"', 'length="1.5" EIy="-3"', "beam", "> 0"),
    "stiffness with a unit": ('length="1.5"', 'length="1.5" GJ="30 Nm2"', "beam", "number"),
    "wrong unit attribute": ('length="1.5"', 'length_mm="1500"', "beam", "length"),
    "damping in per cent": ('ratio="0.01"', 'ratio="1.0"', "damping", "< 1"),
    "beam longer than the joint offset": ('length="1.5"', 'length="1.6"', "beam", "attach"),
    "tip not at the child's origin": ('xyz="1.5 0 0"', 'xyz="1.4 0 0"', "beam", "attach"),
    "child beside the beam's axis": ('length="1.5"', 'length="1.5" axis="0 0 1"', "beam", "attach"),
    "beam of length zero": ('length="1.5"', 'length="0"', "beam", "> 0"),
    "no modes": ('bending_y="1" bending_z="2" torsion="1"', 'bending_y="0"', "modes", "> 0"),
    "a thousand modes": ('bending_z="2"', 'bending_z="1000"', "modes", "<= 30"),
    "a field that is not there": ('bending_z="2"', 'bending_x="2"', "modes", "bending_y"),
    "unknown basis": ('basis="eigen"', 'basis="fem"', "modes", "finite_element"),
    "unknown boundary": ('basis="eigen"', 'boundary="clamped"', "modes", "clamped-free"),
    "fewer elements than modes": (
        'bending_z="2" torsion="1" basis="eigen"',
        'bending_z="9" basis="finite_element" elements="4"',
        "modes",
        "at least 9",
    ),
    "a file of modes that is not there": (
        '<modes bending_y="1" bending_z="2" torsion="1" basis="eigen"/>',
        '<modes file="boom.npz"/>',
        "modes",
        "exists",
    ),
    "modes without a beam": (BEAM, "", "flexdyn", "<beam>"),
    "torsion without polar inertia": (
        f">{TUBE}{STEEL}",
        ' mass_per_length="2.3" EIy="1e4" EIz="1e4" GJ="9e3">',
        "modes",
        "polar inertia",
    ),
    "axial modes without stiffness": (
        f'>{TUBE}{STEEL}</beam>\n    <modes bending_y="1"',
        ' mass_per_length="2.3" EIy="1e4" EIz="1e4" GJ="9e3" polar_inertia="1e-3"></beam><modes axial="1"',
        "modes",
        "EA",
    ),
    "beam heavier than its inertial": (
        'length="1.5"',
        'length="1.5" mass_per_length="5"',
        "inertial",
        "mass_per_length",
    ),
    "inertial about the wrong point": (
        '<origin xyz="0.75 0 0"/><mass', '<origin xyz="2.5 0 0"/><mass', "inertial", "remainder"
    ),
    "wall thicker than the radius": ('wall="0.002"', 'wall="0.2"', "tube", "at most"),
    "table that does not reach the tip": (
        f"{TUBE}{STEEL}",
        TABLE.format("0 2 9e3 9e3 7e3  0.9 1 8e3 8e3 6e3"),
        "table",
        "station",
    ),
    "body outside the beam": ('station="0.5"', 'station="1.2"', "body", "0 to 1"),
    "body of negative mass": ('<mass value="0.1"/>', '<mass value="-0.1"/>', "mass", ">= 0"),
    "attach of a joint elsewhere": (
        "<damping ratio", '<attach joint="pivot" station="0.5"/><damping ratio', "attach", "child joint"
    ),
    "unknown link": ('reference="boom"', 'reference="bom"', "flexdyn", "boom"),
    "motor without inertia": ('inertia="1e-4" gear', 'inertia="0" gear', "rotor", "> 0"),
    "spring between nothing": ('<rotor inertia="1e-4" gear_ratio="50"/>', "", "joint_elasticity", "rotor"),
    "spring of a fixed joint": ('reference="pivot"', 'reference="mount"', "rotor", "revolute"),
    "negative joint stiffness": ('stiffness="900"', 'stiffness="-900"', "joint_elasticity", "> 0"),
    "two values for one thing": (
        "<damping ratio", '<damping rayleigh_mass="1"/><damping ratio', "damping", "once"
    ),
    "gravity as a number": ("0 0 -9.81", "9.81", "gravity", "three"),
}  # fmt: skip


def test_the_arm_without_mistakes_loads():
    assert flexdyn_ros.load(GOOD).nv == 6


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_with_its_element_and_a_remedy(name, tmp_path):
    right, wrong, element, remedy = MISTAKES[name]
    assert right in GOOD, right
    file = tmp_path / "arm.urdf"
    text = GOOD.replace(right, wrong, 1)
    if name == "torsion without polar inertia":  # what else turns: the remainder of <inertial>
        text = re.sub("<inertial>.*?</inertial>", "", text, count=1, flags=re.DOTALL)
    file.write_text(text)
    with pytest.raises(DescriptionError) as caught:
        flexdyn_ros.load(file)
    error = caught.value
    assert error.file == str(file)
    assert re.search(rf"\b{element}\b", str(error.element)), error
    assert remedy in f"{error.expected} {error}", error
    assert error.line is not None


def test_there_are_thirty():
    assert len(MISTAKES) >= 30
