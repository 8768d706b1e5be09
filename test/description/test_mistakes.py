"""Every deliberate mistake is refused, and the error says where it is, what was given, what expected."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError

PENDULUM = (Path(__file__).parent / "pendulum.urdf").read_text()
URDF = Path(__file__).parents[2] / "urdf"
SHIPPED = {
    "arm": (URDF / "canadarm2.urdf").read_text(),
    "mobile": (URDF / "mobile_arm.urdf").read_text(),
    "soft": (URDF / "soft_arm_3.urdf").read_text(),
    "stewart": (URDF / "stewart_1t.urdf.xacro").read_text(),
    "pendulum": PENDULUM,
}


class Mistake(NamedTuple):
    """In `robot`, `old` becomes `new`; the error names `element` (its end), `attribute`, `value`, `expected`.

    The line is that of `old` unless `near` names the text in whose line it is told.
    """

    robot: str
    old: str
    new: str
    element: str
    attribute: str | None
    value: object
    expected: str
    near: str = ""


P, A, M, S = "pendulum", "arm", "mobile", "soft"
BOOM = "robot/link[boom]/inertial"
MISTAKES = {
    # plain URDF
    "mass is a word": Mistake(
        P, 'mass value="4.0"', 'mass value="four"', f"{BOOM}/mass", "value", "four", "number"
    ),
    "mass is negative": Mistake(P, 'value="4.0"', 'value="-4"', f"{BOOM}/mass", "value", "-4", ">= 0"),
    "mass is nan": Mistake(P, 'value="4.0"', 'value="nan"', f"{BOOM}/mass", "value", "nan", "finite"),
    "mass is infinite": Mistake(
        P, 'value="4.0"', 'value="1e999"', f"{BOOM}/mass", "value", "1e999", "finite"
    ),
    "mass with a decimal comma": Mistake(P, '"4.0"', '"4,0"', f"{BOOM}/mass", "value", "4,0", "number"),
    "mass with a unit": Mistake(P, '"4.0"', '"4 kg"', f"{BOOM}/mass", "value", "4 kg", "number"),
    "mass without value": Mistake(P, ' value="4.0"', "", f"{BOOM}/mass", "value", None, "number"),
    "inertia without mass": Mistake(P, '<mass value="4.0"/>', "", BOOM, None, None, "mass"),
    "two masses": Mistake(
        P, '<mass value="4.0"/>', '<mass value="1"/><mass value="2"/>', "mass", None, None, "one"
    ),
    "moment is negative": Mistake(P, 'ixx="0.01"', 'ixx="-1"', f"{BOOM}/inertia", "ixx", -1.0, ">= 0"),
    "tensor is indefinite": Mistake(
        P, 'ixx="0.01" ixy="0"', 'ixx="0.01" ixy="2"', "inertia", None, ..., "principal"
    ),
    "tensor misses izz": Mistake(P, ' iyz="0" izz="0.673"', "", "inertia", "izz", None, "number"),
    "origin of two numbers": Mistake(P, "0.75 0 0", "0.75 0", f"{BOOM}/origin", "xyz", "0.75 0", "three"),
    "link name twice": Mistake(
        P, 'link name="tool"', 'link name="boom"', "link[boom]", "name", "boom", "own", "1e-4"
    ),
    "joint name twice": Mistake(
        P, 'name="tool_mount"', 'name="pivot"', "joint[pivot]", "name", "pivot", "own", 'type="fixed"'
    ),
    "link without name": Mistake(P, '<link name="base"/>', "<link/>", "robot/link", "name", None, "name"),
    "unknown parent": Mistake(P, 'parent link="base"', 'parent link="bas"', "parent", "link", "bas", "tree"),
    "unknown child": Mistake(P, 'child link="tool"', 'child link="hand"', "child", "link", "hand", "tree"),
    "joint without child": Mistake(P, '<child link="tool"/>', "", "joint[tool_mount]", None, None, "child"),
    "two parents": Mistake(
        P, '<child link="tool"/>', '<child link="boom"/>', "child", "link", "boom", "tree", 'type="fixed"'
    ),
    "loop": Mistake(P, '<parent link="base"/>', '<parent link="tool"/>', "child", "link", "boom", "tree"),
    "joint to itself": Mistake(
        P, '<parent link="base"/>', '<parent link="boom"/>', "child", "link", "boom", "tree"
    ),
    "two roots": Mistake(
        P, '<link name="base"/>', '<link name="base"/><link name="x"/>', "link[x]", "name", ..., "root"
    ),
    "joint type": Mistake(
        P, 'type="continuous"', 'type="rotary"', "joint[pivot]", "type", "rotary", "revolute"
    ),
    "axis without direction": Mistake(P, "0 1 0", "0 0 0", "joint[pivot]/axis", "xyz", "0 0 0", "not zero"),
    "axis is nan": Mistake(P, "0 1 0", "0 nan 0", "joint[pivot]/axis", "xyz", "0 nan 0", "three finite"),
    "limits cross": Mistake(
        A, 'lower="-4.712" upper="4.712"', 'lower="5" upper="-5"', "limit", "lower", 5.0, "lower <= upper"
    ),
    "effort limit is negative": Mistake(A, 'effort="2332"', 'effort="-1"', "limit", "effort", "-1", ">= 0"),
    "damping is negative": Mistake(
        P,
        '<axis xyz="0 1 0"/>',
        '<axis xyz="0 1 0"/><dynamics damping="-1"/>',
        "dynamics",
        "damping",
        "-1",
        ">= 0",
    ),
    "mimic of nothing": Mistake(
        P, '<axis xyz="0 1 0"/>', '<mimic joint="pivo"/>', "joint[pivot]/mimic", "joint", "pivo", "movable"
    ),
    "mimic of itself": Mistake(
        P, '<axis xyz="0 1 0"/>', '<mimic joint="pivot"/>', "mimic", "joint", "pivot", "does not mimic"
    ),
    "mimic of a fixed joint": Mistake(
        P, '<axis xyz="0 1 0"/>', '<mimic joint="tool_mount"/>', "mimic", "joint", "tool_mount", "movable"
    ),
    "robot without name": Mistake(P, ' name="pendulum"', "", "robot", "name", None, "name"),
    "another root element": Mistake(P, "robot", "machine", "machine", None, "machine", "<robot>"),
    # blocks
    "unknown reference": Mistake(
        P, 'reference="boom"', 'reference="bom"', "flexdyn[bom]", "reference", "bom", "link or joint"
    ),
    "version 2": Mistake(P, "<flexdyn ", '<flexdyn version="2" ', "flexdyn[boom]", "version", "2", "1"),
    "unknown attribute of a block": Mistake(
        P, "<flexdyn ", '<flexdyn refrence="boom" ', "flexdyn[boom]", "refrence", "boom", "reference"
    ),
    "unknown element": Mistake(P, "<beam>", "<baem/><beam>", "flexdyn[boom]/baem", None, "baem", "beam"),
    "unknown attribute": Mistake(P, 'wall="', 'wal="0" wall="', "beam/tube", "wal", "0", "wall"),
    "nested block": Mistake(
        P, '<link name="base"/>', '<link name="base"><flexdyn/></link>', "flexdyn", None, "flexdyn", "robot"
    ),
    "element said twice": Mistake(
        P,
        '<modes bending_z="3"/>',
        '<modes bending_z="3"/><modes axial="1"/>',
        "modes",
        None,
        "modes",
        "once",
    ),
    "link and joint elements in one block": Mistake(
        P, "<beam>", '<rotor inertia="1"/><beam>', "flexdyn[boom]", "reference", "boom", "joint", "<flexdyn"
    ),
    "link element without reference": Mistake(
        P, '<flexdyn reference="boom">', "<flexdyn>", "beam", None, "beam", "LINK", "<beam>"
    ),
    "whole-robot element with reference": Mistake(
        P, "<beam>", "<gravity>0 0 1</gravity><beam>", "gravity", None, "gravity", "without reference"
    ),
    "text in a block": Mistake(
        P, "<beam>", "beam: <beam>", "flexdyn[boom]", None, "beam:", "elements", "<flexdyn"
    ),
    # flexible link
    "wall thicker than radius": Mistake(P, 'wall="0.002"', 'wall="0.2"', "beam/tube", "wall", "0.2", "0.025"),
    "radius is zero": Mistake(P, "0.025", "0", "beam/tube", "outer_radius", "0", "> 0 m", "wall"),
    "radius is missing": Mistake(P, 'outer_radius="0.025" ', "", "beam/tube", "outer_radius", None, "> 0 m"),
    "unknown material": Mistake(P, '"steel"', '"steal"', "material[steal]", "name", "steal", "steel"),
    "material without E": Mistake(
        P, 'material name="steel"', 'material density="1"', "material", "E", None, "Pa"
    ),
    "G beside poisson": Mistake(
        P,
        'name="steel"',
        'name="steel" G="1e9" poisson="0.3"',
        "material[steel]",
        "poisson",
        "0.3",
        "only one",
    ),
    "poisson of 0.5": Mistake(
        P, 'name="steel"', 'name="steel" poisson="0.5"', "material[steel]", "poisson", "0.5", "< 0.5"
    ),
    "modes without beam": Mistake(
        P,
        "<beam>",
        "<damping ratio='0'/></flexdyn><flexdyn reference='tool'><beam>",
        "flexdyn[boom]",
        None,
        None,
        "modes",
        "<flexdyn",
    ),
    "beam without modes": Mistake(
        P, '<modes bending_z="3"/>', "", "flexdyn[boom]", None, None, "modes", "<flexdyn"
    ),
    "no modes asked for": Mistake(P, 'bending_z="3"', 'bending_z="0"', "modes", None, None, "> 0"),
    "half a mode": Mistake(P, 'bending_z="3"', 'bending_z="2.5"', "modes", "bending_z", "2.5", "integer"),
    "31 modes": Mistake(P, 'bending_z="3"', 'bending_z="31"', "modes", "bending_z", "31", "<= 30"),
    "unknown basis": Mistake(
        P, 'bending_z="3"', 'bending_z="3" basis="eigne"', "modes", "basis", "eigne", "eigen"
    ),
    "elements of another basis": Mistake(
        P, 'bending_z="3"', 'bending_z="3" elements="9"', "modes", "elements", "9", "finite_element"
    ),
    "bending without stiffness": Mistake(
        P, '<material name="steel"/>', "", "modes", "bending_z", "3", "EIy", "<modes"
    ),
    "torsion without shear modulus": Mistake(
        P,
        '<material name="steel"/></beam>\n    <modes bending_z="3"/>',
        '<material E="1"/></beam><modes torsion="3"/>',
        "modes",
        "torsion",
        "3",
        "GJ",
    ),
    "axis of a beam": Mistake(P, "<beam>", '<beam axis="0 0 0">', "beam", "axis", "0 0 0", "not zero"),
    "y_axis not perpendicular": Mistake(
        P, "<beam>", '<beam y_axis="1 1 0">', "beam", "y_axis", "1 1 0", "perpendicular"
    ),
    "stiffness is negative": Mistake(P, "<beam>", '<beam EIy="-1">', "beam", "EIy", "-1", "> 0"),
    "two sections": Mistake(P, "<material", '<rod radius="1"/><material', "beam/rod", None, None, "one"),
    "two ratios for three modes": Mistake(
        P, "<modes", '<damping ratio="0.1 0.2"/><modes', "damping", "ratio", "0.1 0.2", "1 or 3"
    ),
    "ratio of one": Mistake(P, "<modes", '<damping ratio="1"/><modes', "damping", "ratio", "1", "< 1"),
    "ratio beside rayleigh": Mistake(
        P,
        "<modes",
        '<damping ratio="0" rayleigh_mass="1"/><modes',
        "damping",
        "rayleigh_mass",
        "1",
        "only one",
    ),
    "attach of another link's joint": Mistake(
        P, "<modes", '<attach joint="pivot" station="1"/><modes', "attach", "joint", "pivot", "child joint"
    ),
    "body without mass": Mistake(P, "<modes", '<body name="b"/><modes', "body[b]", None, None, "mass"),
    "body without name": Mistake(
        P, "<modes", '<body><mass value="1"/></body><modes', "body", "name", None, "name"
    ),
    "body twice": Mistake(
        P, "<modes", 2 * '<body name="b"><mass value="1"/></body>' + "<modes", "body[b]", "name", "b", "once"
    ),
    "station beyond the tip": Mistake(
        P, "<modes", '<remainder station="1.5"/><modes', "remainder", "station", "1.5", "from 0 to 1"
    ),
    "length without children": Mistake(
        P, 'reference="boom"', 'reference="tool"', "beam", "length", None, "> 0 m", "<beam>"
    ),
    "missing modes file": Mistake(
        P, '<modes bending_z="3"/>', '<modes file="x.npz"/>', "modes", "file", "x.npz", "file that exists"
    ),
    "table does not end at the tip": Mistake(
        P,
        "<beam>",
        '<beam><table columns="station EIy">0 1 0.9 1</table></beam><!--',
        "table",
        "rows",
        "0 1 0.9 1",
        "0 to 1",
    ),
    # joints
    "elasticity without rotor": Mistake(
        P,
        "</robot>",
        '<flexdyn reference="pivot"><joint_elasticity stiffness="1"/></flexdyn></robot>',
        "joint_elasticity",
        None,
        None,
        "rotor",
    ),
    "rotor of a fixed joint": Mistake(
        P,
        "</robot>",
        '<flexdyn reference="tool_mount"><rotor inertia="1"/></flexdyn></robot>',
        "rotor",
        None,
        None,
        "revolute",
    ),
    "static below Coulomb": Mistake(
        P,
        '<axis xyz="0 1 0"/></joint>',
        '<axis xyz="0 1 0"/><dynamics friction="2"/></joint>'
        '<flexdyn reference="pivot"><friction static="1"/></flexdyn>',
        "friction",
        "static",
        "1",
        ">= 2",
    ),
    # whole robot
    "gravity of two numbers": Mistake(A, "0 0 -9.81", "0 -9.81", "gravity", "gravity", "0 -9.81", "three"),
    "formulation of another kind": Mistake(
        A,
        "</gravity>",
        '</gravity><formulation kinematics="modal"/>',
        "formulation",
        "kinematics",
        "modal",
        "method",
    ),
    "affine without lagrange": Mistake(
        A,
        "</gravity>",
        '</gravity><formulation frame="affine"/>',
        "formulation",
        "frame",
        "affine",
        "lagrange",
    ),
    "preset and more": Mistake(
        A,
        "</gravity>",
        '</gravity><formulation preset="paper" frame="so3"/>',
        "formulation",
        "frame",
        "so3",
        "alone",
    ),
    "torsion with a line mass": Mistake(
        A,
        "</gravity>",
        '</gravity><formulation rotary_inertia="none"/>',
        "formulation",
        "rotary_inertia",
        "none",
        "torsion",
    ),
    "road without wheels": Mistake(
        A, "</gravity>", '</gravity><road kind="flat"/>', "road", None, None, "wheel"
    ),
    # mobile
    "wheel on a flexible link": Mistake(
        M,
        'name="rear" link="base_link"',
        'name="rear" link="link_1"',
        "wheel[rear]",
        "link",
        "link_1",
        "rigid",
    ),
    "wheel beside the plane": Mistake(
        M, "-0.35 0 0", "-0.35 1 0", "wheel[rear]", "xyz", "-0.35 1 0", "y = 0"
    ),
    "wheels on a fixed base": Mistake(
        M,
        '<base type="planar"/>\n    <formulation method="floating_frame" stiffening="none"',
        '<formulation method="articulated"',
        "wheel[rear]",
        None,
        None,
        "planar",
        'name="rear"',
    ),
    "wheel without suspension": Mistake(
        M,
        '<suspension stiffness="952" damping="95" free_length="0.26"/>',
        "",
        "wheel[rear]",
        None,
        None,
        "suspension",
    ),
    "stiffening that floating_frame has not": Mistake(
        M, 'stiffening="none"', 'stiffening="full"', "formulation", "stiffening", "full", "geometric"
    ),
    "grade of a sine": Mistake(M, 'phase="3', 'grade="1" phase="3', "road", "grade", "1", "slope"),
    "sine without amplitude": Mistake(M, ' amplitude="0.03"', "", "road", "amplitude", None, ">= 0"),
    "drive without speed": Mistake(M, ' speed="0.3"', "", "drive", "speed", None, "number"),
    # soft
    "section on a movable joint": Mistake(
        S,
        'name="section_1" type="fixed"',
        'name="section_1" type="continuous"',
        "section",
        None,
        None,
        "fixed",
        "<section length",
    ),
    "two stiffnesses": Mistake(S, '"1700"', '"1700 1700"', "section", "stiffness", "1700 1700", "1 or 3"),
    "stroke is empty": Mistake(S, 'lower="0"', 'lower="0.03"', "section", "lower", "0.03", "lower < upper"),
    "section bends more than once round": Mistake(
        S, 'upper="0.03"', 'upper="0.12"', "section", "upper", "0.12", "2 pi"
    ),
    "section without mass": Mistake(S, ' mass="0.15"', "", "section", "mass", None, "preset"),
    "unknown preset": Mistake(
        S,
        '"section_2"><section preset="bai2022"',
        '"section_2"><section preset="bai"',
        "section",
        "preset",
        "bai",
        "bai2022",
    ),
    "beam in a soft arm": Mistake(
        S,
        '<flexdyn reference="section_1">',
        '<flexdyn reference="tip"><beam length="1" EIy="1"/><modes '
        'bending_z="1"/></flexdyn><flexdyn reference="section_1">',
        "flexdyn[tip]",
        None,
        None,
        "flexible",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_refused_with_its_place(mistake: Mistake, tmp_path: Path) -> None:
    text = SHIPPED[mistake.robot]
    assert mistake.old in text
    if mistake.new.endswith("<!--"):  # the rest of the line is put into a comment
        head, _, tail = text.partition(mistake.old)
        text = head + mistake.new + tail.replace("\n", "-->\n", 1)
    else:
        text = text.replace(mistake.old, mistake.new, -1 if mistake.old == "robot" else 1)
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    with pytest.raises(DescriptionError) as caught:
        read(file)
    error = caught.value
    assert error.file == str(file)
    assert error.element is not None
    assert error.element.endswith(mistake.element)
    assert error.attribute == mistake.attribute
    if mistake.value is not ...:
        assert error.value == mistake.value
    assert mistake.expected in (error.expected or "")
    lines = {
        text[: text.index(mark)].count("\n") + 1 for mark in (mistake.near or mistake.new,) if mark in text
    }
    if mistake.new or mistake.near:
        assert error.line in lines
    assert f"{file}:{error.line}" in str(error)


def test_hints_name_what_was_probably_meant() -> None:
    for old, new, hint in (
        ('outer_radius="', 'outer_radios="', "did you mean 'outer_radius'"),
        ("<modes", "<mode", "did you mean 'modes'"),
        ('reference="boom"', 'reference="bom"', "did you mean 'boom'"),
        ('parent link="base"', 'parent link="bse"', "did you mean 'base'"),
        ('"steel"', '"stel"', "did you mean 'steel'"),
    ):
        with pytest.raises(DescriptionError, match=hint):
            read(PENDULUM.replace(old, new))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<robot name='r'>\n<link name='a'>\n</robot>", 3),
        ("<robot name='r'>\n<link name='a'/>\n<link name='b' <\n</robot>", 3),
        ("<robot", 1),
        ("", None),
        ("   \n ", None),
    ],
)
def test_malformed_xml_is_refused_with_its_line(text: str, line: int | None) -> None:
    with pytest.raises(DescriptionError) as caught:
        read(text)
    assert caught.value.line == line


def test_entities_are_refused_not_expanded() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n<robot name="&b;"><link name="a"/></robot>'
    with pytest.raises(DescriptionError, match="entity"):
        read(bomb)
    with pytest.raises(DescriptionError, match="entity"):
        read(bomb.encode("utf-16"))


def test_robot_without_links_is_refused() -> None:
    with pytest.raises(DescriptionError, match="no links") as caught:
        read('<robot name="r"/>')
    assert (caught.value.line, caught.value.element) == (1, "robot")


@pytest.mark.parametrize(
    ("old", "new", "element", "attribute"),
    [
        ('slider="leg_${n}_slide"', 'slider="leg_${n}_u1"', "leg[leg_1]", "slider"),
        ('<xacro:closure n="6" az="-68"/>', "", "platform", None),
        ('bore="0.050"', 'bore="0.030"', "cylinder", "rod_diameter"),
        (' damping_ratio="0.8"', "", "valve", "damping_ratio"),
        (' air_fraction="0.005"', "", "fluid", "air_fraction"),
        ('model="stribeck"', 'model="lugre"', "friction", "bristle_stiffness"),
        ('<platform link="platform">', '<platform link="base_link">', "platform", "link"),
        ("0 0 1.146818566", "0 0 3", "leg[leg_1]", "anchor"),
        ("<gravity>", '<wheel name="w" link="platform" xyz="0 0 0"/><gravity>', "wheel[w]", None),
    ],
)
def test_mistake_in_a_platform_is_told_with_lines_after_expansion(
    old: str, new: str, element: str, attribute: str | None, tmp_path: Path
) -> None:
    pytest.importorskip("xacro")
    assert old in SHIPPED["stewart"]
    file = tmp_path / "stewart.urdf.xacro"
    file.write_text(SHIPPED["stewart"].replace(old, new))
    with pytest.raises(DescriptionError, match="after xacro expansion") as caught:
        read(file)
    error = caught.value
    assert error.element is not None
    assert error.element.endswith(element)
    assert (error.attribute, error.file) == (attribute, str(file))
    assert error.line is not None
    assert error.line > 1


def test_link_and_joint_elements_in_one_block_are_refused() -> None:
    text = PENDULUM.replace('"pivot"', '"boom"').replace("<beam>", '<rotor inertia="1"/><beam>')
    with pytest.raises(DescriptionError, match="link and joint elements"):
        read(text)
