"""`<flexdyn>` elements become the records that the contract describes, with its defaults."""

from __future__ import annotations

import pickle
from dataclasses import fields
from pathlib import Path

import pytest

from flexdyn_ros.description import Base, Formulation, read
from flexdyn_ros.description.elements import joints, links, platforms, wheels
from flexdyn_ros.description.elements.joints import PRESETS
from flexdyn_ros.description.language import schema
from flexdyn_ros.errors import DescriptionError

HERE = Path(__file__).parent
URDF = HERE.parents[1] / "urdf"
PENDULUM = (HERE / "pendulum.urdf").read_text()


def pendulum(more: str = "", beam: str = "", whole: str = ""):
    """The pendulum with more in its block, another beam, more of the whole robot."""
    text = PENDULUM.replace("<modes", more + "<modes") if more else PENDULUM
    if beam:
        text = text.replace(
            '<beam><tube outer_radius="0.025" wall="0.002"/><material name="steel"/></beam>', beam
        )
    return read(text.replace("</robot>", whole + "</robot>"))


def test_pendulum_of_two_lines() -> None:
    robot = pendulum()
    boom = robot.flexible_links["boom"]
    assert boom.beam.section == links.Tube(0.025, 0.002)
    assert boom.beam.material == links.Material("steel", 210e9, 7850.0, None, 0.30)
    assert (boom.modes.axial, boom.modes.bending_y, boom.modes.bending_z, boom.modes.torsion) == (0, 0, 3, 0)
    assert (boom.modes.basis, boom.modes.boundary) == ("eigen", "clamped-free")
    assert (boom.damping, boom.bodies, boom.remainder, boom.attach) == (None, (), "auto", ())
    assert robot.gravity == (0.0, 0.0, -9.80665)
    assert robot.formulation == Formulation()
    assert (robot.kind, robot.base.type) == ("tree", "fixed")


def test_canadarm2_of_five_joints() -> None:
    robot = read(URDF / "canadarm2.urdf")
    boom = robot.flexible_links["boom_1"]
    assert (boom.beam.length, boom.beam.EIy, boom.beam.GJ, boom.beam.polar_inertia) == (
        7.11,
        3.7e6,
        1.6e6,
        0.945462,
    )
    assert [(body.name, body.station, body.mass) for body in boom.bodies] == [
        ("shoulder_housing", 0.0, 46.1),
        ("elbow_housing", 1.0, 46.1),
    ]
    assert boom.bodies[1].xyz == (0.0, -0.30, 0.0)
    assert boom.bodies[1].inertia == (2, 0, 0, 2, 0, 2)
    assert robot.gravity == (0, 0, -9.81)
    assert robot.joint("elbow_pitch").xyz == (7.11, -0.475, 0)


def test_mobile_arm() -> None:
    robot = read(URDF / "mobile_arm.urdf")
    assert robot.kind == "mobile"
    assert (robot.formulation.method, robot.formulation.rotary_inertia) == ("floating_frame", "none")
    assert (robot.formulation.stiffening, robot.formulation.suspension) == ("none", "small_angle")
    assert [wheel.name for wheel in robot.wheels] == ["rear", "front"]
    assert robot.wheels[0].suspension == wheels.Suspension(952, 95, 0.26)
    assert (robot.road.kind, robot.road.wavelength, robot.road.start) == ("sine", 0.4, -0.35)
    assert (robot.drive.type, robot.drive.speed, robot.drive.start) == ("speed", 0.3, 0)
    assert robot.flexible_links["link_1"].modes.basis == "hermite"


def test_soft_arm_of_three_sections() -> None:
    robot = read(URDF / "soft_arm_3.urdf")
    assert robot.kind == "continuum"
    assert [section.joint for section in robot.sections] == ["section_1", "section_2", "section_3"]
    first, second, _ = robot.sections
    assert first.stiffness == second.stiffness == (1700.0, 1700.0, 1700.0)
    assert (first.disc_radius, first.lower, first.upper, first.quadrature) == (0.0125, 0.0, 0.03, 8)
    assert robot.formulation == Formulation(
        None,
        None,
        "consistent",
        None,
        None,
        kinematics="exact",
        order=11,
        mass_model="distributed",
        energy_ratio=0.56,
    )


def test_preset_fills_what_is_not_given_and_never_gravity() -> None:
    text = (URDF / "soft_arm_3.urdf").read_text()
    text = text.replace(
        '"section_2"><section preset="bai2022"', '"section_2"><section preset="robio2011" mass="0.07"'
    )
    section = read(text).sections[1]
    values = PRESETS["robio2011"]
    assert (section.radius, section.upper, section.bending_stiffness) == (
        0.009,
        0.044,
        values["bending_stiffness"],
    )
    assert section.mass == 0.07
    assert read(text).gravity == (0, 0, -9.81)
    # 6 and one per radian that strokes allow, a tenth beyond: 2 (0.044 - 0) / (3 0.009) and 1.6 rad
    assert [each.quadrature for each in read(text).sections] == [8, 10, 8]
    given = read(text.replace('mass="0.07"', 'mass="0.07" quadrature="5"'))
    assert [each.quadrature for each in given.sections] == [8, 5, 8]


def test_hexapod() -> None:
    pytest.importorskip("xacro")
    robot = read(URDF / "stewart_1t.urdf.xacro")
    assert robot.kind == "platform"
    assert [leg.name for leg in robot.platform.legs] == [f"leg_{n}" for n in range(1, 7)]
    oil = robot.platform.hydraulics
    assert (oil.cylinder.bore, oil.valve.rating, oil.fluid.model, oil.friction.coulomb) == (
        0.05,
        "edge",
        "air",
        250,
    )
    assert (oil.control.law, oil.control.kp, oil.cushion) == ("feedback_linearization", 100.0, None)
    assert robot.platform.legs[3].hydraulics == oil
    assert robot.formulation.leg_spin == "universal"
    assert robot.joint("platform").type == "floating"
    assert robot.base.type == "fixed"


@pytest.mark.parametrize("name", ["canadarm2.urdf", "mobile_arm.urdf", "soft_arm_3.urdf"])
def test_description_pickles_and_compares(name: str) -> None:
    robot = read(URDF / name)
    assert pickle.loads(pickle.dumps(robot)) == robot


def test_stations_are_fractions_or_words() -> None:
    bodies = "".join(
        f'<body name="{name}" station="{name}"><mass value="1"/></body>' for name in ("root", "tip", "0.25")
    )
    link = pendulum(bodies + '<remainder station="none"/><attach joint="tool_mount" station="auto"/>')
    boom = link.flexible_links["boom"]
    assert [body.station for body in boom.bodies] == [0.0, 1.0, 0.25]
    assert (boom.remainder, boom.attach[0].station) == ("none", "auto")
    assert {(body.xyz, body.rpy, body.inertia) for body in boom.bodies} == {((0, 0, 0), (0, 0, 0), 6 * (0,))}


@pytest.mark.parametrize("field", ["axial", "bending_y", "bending_z", "torsion"])
def test_a_field_has_at_most_thirty_modes(field: str) -> None:
    text = PENDULUM.replace('bending_z="3"', f'{field}="{{}}"')
    assert getattr(read(text.format(30)).flexible_links["boom"].modes, field) == 30
    for count in (31, -1):
        with pytest.raises(DescriptionError, match="an integer >= 0 and <= 30") as told:
            read(text.format(count))
        assert told.value.attribute == field


def test_table_from_text_and_from_file(tmp_path: Path) -> None:
    rows = "0 2 100 110\n0.5 2 100 110\n0.5 1 50 55\n1 1 50 55"
    columns = "station mass_per_length EIy EIz"
    inline = pendulum(beam=f'<beam><table columns="{columns}">{rows}</table></beam>')
    table = inline.flexible_links["boom"].beam.table
    assert table.columns == tuple(columns.split())
    assert table.rows[2] == (0.5, 1, 50, 55)
    (tmp_path / "boom.txt").write_text("# station and so on\n" + rows.replace(" ", ", "))
    file = tmp_path / "robot.urdf"
    beam = f'<beam><table columns="{columns}" file="boom.txt"/></beam>'
    file.write_text(inline.text.replace(f'<beam><table columns="{columns}">{rows}</table></beam>', beam))
    assert read(file).flexible_links["boom"].beam.table.rows == table.rows


def test_joint_elements() -> None:
    said = (
        '<flexdyn reference="pivot"><rotor inertia="1e-4" gear_ratio="100"/>'
        '<joint_elasticity stiffness="5e3"/>'
        '<joint_spring stiffness="2"/></flexdyn><flexdyn reference="pivot"><friction static="0.5"/></flexdyn>'
    )
    joint = pendulum(whole=said).joint("pivot")
    assert joint.rotor == joints.Rotor(1e-4, 100.0)
    assert joint.elasticity == joints.JointElasticity(5e3, 0.0)
    assert joint.spring == joints.JointSpring(2.0, 0.0)
    assert joint.dry_friction == joints.DryFriction(0.5, None, 1e-3)


def test_paper_preset() -> None:
    formulation = pendulum(whole='<flexdyn><formulation preset="paper"/></flexdyn>').formulation
    assert (formulation.method, formulation.rotary_inertia, formulation.frame, formulation.stiffening) == (
        "lagrange",
        "paper",
        "affine",
        "none",
    )


@pytest.mark.parametrize("root", ["world", "map"])
def test_floating_joint_below_an_empty_root_means_a_floating_base(root: str) -> None:
    text = (
        f'<robot name="r"><link name="{root}"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link><joint name="free" type="floating">'
        f'<parent link="{root}"/><child link="b"/></joint></robot>'
    )
    robot = read(text)
    assert (robot.root, robot.joints, [link.name for link in robot.links]) == ("b", (), ["b"])
    assert not any("free" in each for each in robot.warnings)
    placed = text.replace("</joint>", '<origin xyz="0 0 1"/></joint>')
    assert any(each.startswith("joint 'free': <origin> of a floating base") for each in read(placed).warnings)
    assert (read(placed).base.xyz, read(placed).base.rpy) == ((0, 0, 1), (0, 0, 0))
    assert (robot.base.type, robot.base.joint, robot.base.world) == ("floating", "free", root)
    with pytest.raises(DescriptionError, match="floating"):
        read(text, options={"base.type": "fixed"})


def test_pose_of_a_floating_base_is_warned_of() -> None:
    text = '<robot name="r"><link name="b"/><flexdyn><base type="{}" xyz="0 0 1"/></flexdyn></robot>'
    (warning,) = (each for each in read(text.format("floating")).warnings if "<base>" in each)
    assert "no effect" in warning
    for kind in ("fixed", "planar"):
        assert not any("<base>" in each for each in read(text.format(kind)).warnings)


def test_floating_joint_inside_the_tree_stays_a_joint() -> None:
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>'
        '<joint name="k" type="planar"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/></joint></robot>'
    )
    robot = read(text)
    assert robot.base.type == "fixed"
    assert (robot.joint("j").type, robot.joint("j").axis) == ("floating", None)
    assert robot.joint("k").type == "planar"


def test_tags_of_other_tools_are_left_alone() -> None:
    other = (
        '<gazebo reference="boom"><mu1>0.2</mu1></gazebo>'
        '<ros2_control name="x"><joint name="pivot"/></ros2_control>'
        '<transmission name="t"/><mujoco><compiler x="1"/></mujoco><material name="m"/><material name="m"/>'
    )
    assert pendulum(whole=other) == pendulum(whole=other)
    assert pendulum(whole=other).links == pendulum().links


def test_undeclared_prefixes_of_other_tools_are_tolerated() -> None:
    assert pendulum(whole='<gazebo><sensor:contact name="c"/></gazebo>').joints == pendulum().joints


def test_default_namespace_is_tolerated() -> None:
    text = PENDULUM.replace('<robot name="pendulum">', '<robot name="pendulum" xmlns="http://www.ros.org">')
    assert read(text).flexible_links == read(PENDULUM).flexible_links


RECORDS = {
    "base": Base,
    "formulation": Formulation,
    "beam": links.Beam,
    "modes": links.Modes,
    "damping": links.ModalDamping,
    "display": links.Display,
    "rotor": joints.Rotor,
    "joint_elasticity": joints.JointElasticity,
    "joint_spring": joints.JointSpring,
    "friction": joints.DryFriction,
    "section": joints.Section,
    "wheel": wheels.Wheel,
    "road": wheels.Road,
    "drive": wheels.Drive,
    "platform": platforms.Platform,
}


@pytest.mark.parametrize("tag", RECORDS)
def test_every_attribute_of_the_schema_has_a_field(tag: str) -> None:
    rule = schema.scope_of(tag).child(tag)
    names = {"road_class" if attribute.name == "class" else attribute.name for attribute in rule.settings}
    assert names <= {field.name for field in fields(RECORDS[tag])}


def test_sound_is_as_fast_in_each_metal_of_the_table():
    """Bar waves in steel, aluminium and titanium run at sqrt(E / density) = 5.1 km/s (Kaye and Laby)."""
    for name, material in links.MATERIALS.items():
        assert (material["E"] / material["density"]) ** 0.5 == pytest.approx(5.1e3, rel=0.02), name
