"""`check` asks about numbers that are probably given in another unit, by ratios; good robots are silent."""

import pytest

import flexdyn_ros
from flexdyn_ros.description import read
from flexdyn_ros.description.plausibility import doubts_of
from flexdyn_ros.description.urdf.sources import shipped_names
from flexdyn_ros.errors import DescriptionError

FORM = """<robot name="t"><link name="w"/><link name="a"><inertial><origin xyz="{com} 0 0"/>
<mass value="{mass}"/><inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial></link>
<link name="tip"/>
<joint name="j" type="revolute"><parent link="w"/><child link="a"/><origin xyz="0 0 {z}" rpy="{rpy}"/>
<axis xyz="0 1 0"/><limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="2"/></joint>
<joint name="f" type="fixed"><parent link="a"/><child link="tip"/><origin xyz="{x} 0 0"/></joint></robot>"""
GOOD = {
    "com": "0.2", "mass": "2", "i": "0.03", "rpy": "0 0 0", "z": "0.4", "x": "0.4", "lower": "-2",
    "upper": "2", "effort": "10",
}  # fmt: skip
GROUND = """<link name="w"><inertial><mass value="5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"""
BEAM = """<robot name="f"><link name="w"/><link name="upper"/><link name="load"><inertial><mass value="0.8"/>
<inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
<joint name="j" type="revolute"><parent link="w"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="80" velocity="2"/></joint>
<joint name="grip" type="fixed"><parent link="upper"/><child link="load"/><origin xyz="{at} 0 0"/></joint>
<flexdyn reference="upper"><beam length="{length}"><tube {section}/><material name="aluminium"/></beam>
<modes bending_y="1"/><damping ratio="0.01"/></flexdyn></robot>"""
TUBE = 'outer_radius="0.02" wall="0.002"'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"rpy": "0 90 0"}, "joint 'j': rpy 0 90 0 rad is more than a turn: degrees?"),
        ({"lower": "-90", "upper": "90"}, "joint 'j': limits -90 to 90 rad are 14.3 turns: degrees?"),
        ({"lower": "0", "upper": "180"}, "degrees?"),
        ({"lower": "-12.6", "upper": "12.6"}, None),
        ({"i": "30000"}, "radius of gyration, 122 m, is far beyond the reach"),
        ({"i": "3e-8"}, "denser than any metal"),
        ({"com": "200"}, "centre of mass is 200 m from its origin"),
        ({"z": "400", "x": "400"}, "reaches 800 m with 2 kg: lengths in millimetres?"),
        ({"z": "20", "x": "20"}, "reaches 40 m with 2 kg: lengths in millimetres?"),
        ({"z": "20", "x": "20", "mass": "0.2"}, "reaches 40 m with 0.2 kg: lengths in millimetres?"),
        (
            {"lower": "0", "upper": "0", "effort": "0"},
            "joint 'j': lower = upper and effort = 0 leaves it no room",
        ),
        ({"lower": "0", "upper": "0"}, "joint 'j': lower = upper = 0 leaves it no room"),
        ({"effort": "0"}, None),
    ],
)
def test_numbers_that_cannot_belong_together_are_asked_about(change, words):
    found = flexdyn_ros.check(FORM.format(**(GOOD | change))).warnings
    assert (not found) if words is None else any(words in text for text in found)


@pytest.mark.parametrize(
    ("at", "length", "section", "words"),
    [
        (1, 1, TUBE, None),
        (0, 1, TUBE, "joint 'grip' fixes 'load' (0.8 kg) at the root of the flexible link 'upper'"),
        (1000, 1000, TUBE, "2.5e+04 times as long as high"),
        (1, 1, 'outer_radius="20" wall="2"', "a section of 40 m on a length of 1 m"),
        (1000, 1000, 'outer_radius="20" wall="2"', "millimetres?"),
    ],
)
def test_beams_in_millimetres_and_loads_at_the_root_are_asked_about(at, length, section, words):
    found = doubts_of(read(BEAM.format(at=at, length=length, section=section)))
    assert (not found) if words is None else any(words in text for text in found)


@pytest.mark.parametrize(
    ("material", "words"),
    [
        ('E="70e9" density="2700"', None),
        ('E="1e6" density="1100"', None),
        ('E="70" density="2700"', "speed of sound of 0.161 m/s: E in GPa or MPa?"),
        ('E="70000" density="2700"', "E in GPa or MPa?"),
        ('E="70e9" density="2.7"', "density in g/cm3"),
    ],
)
def test_materials_in_other_units_are_found_by_their_speed_of_sound(material, words):
    text = BEAM.format(at=1, length=1, section=TUBE).replace('name="aluminium"', material + ' poisson="0.3"')
    found = doubts_of(read(text))
    assert (not found) if words is None else any(words in text for text in found)


@pytest.mark.parametrize(
    ("lower", "upper", "asked"),
    [(0, 0.5, False), (0, 550, True), (-550, 0, True), (-1000, 1000, False), (0, 20, False), (0, 1e9, False)],
)
def test_travels_in_millimetres_are_asked_about(lower, upper, asked):
    change = {"lower": str(lower), "upper": str(upper)}
    found = doubts_of(read(FORM.format(**(GOOD | change)).replace('"revolute"', '"prismatic"')))
    assert any("on a robot that reaches 0.8 m without them: millimetres?" in text for text in found) == asked


def test_masses_in_grams_are_found_by_the_drive_that_bears_them():
    notes = flexdyn_ros.check(FORM.format(**(GOOD | {"mass": "2000"}))).notes
    assert any("at most 10 N m, what hangs on it weighs up to 3.92e+03 N m: masses in g" in x for x in notes)
    assert not any("masses in g" in x for x in flexdyn_ros.check(FORM.format(**GOOD)).notes)


@pytest.mark.parametrize(
    ("kind", "com", "mass", "effort", "weight"),
    [
        # 100 times the effort is what a gear may hide: 9.81 m/s2 on a lever of 0.5 m, or on the mass alone
        ("revolute", "0.5", "21", "1", "1 N m, what hangs on it weighs up to 103 N m"),
        ("revolute", "0.5", "20", "1", None),
        ("revolute", "0.5", "12", "0.5", "0.5 N m, what hangs on it weighs up to 58.8 N m"),
        ("revolute", "0.5", "9", "0.5", None),
        ("prismatic", "0.5", "11", "1", "1 N, what hangs on it weighs up to 108 N"),
        ("prismatic", "0.5", "10", "1", None),
        ("revolute", "0.5", "21", "0", None),
        ("continuous", "0.5", "21", "1", None),
    ],
)
def test_drives_that_bear_a_hundredth_of_what_hangs_on_them_are_asked_about(kind, com, mass, effort, weight):
    change = {"com": com, "mass": mass, "effort": effort}
    text = FORM.format(**(GOOD | change)).replace('"revolute"', f'"{kind}"')
    found = [x for x in flexdyn_ros.check(text).notes if "its drive has at most" in x]
    assert not found if weight is None else weight in found[0]
    for extra in ("<gravity>0 0 0</gravity>", '<base type="floating"/>'):
        still = text.replace("</robot>", f"<flexdyn>{extra}</flexdyn></robot>").replace(
            '<link name="w"/>', GROUND
        )
        assert not any("its drive has" in x for x in flexdyn_ros.check(still).notes)


@pytest.mark.parametrize(
    ("stiffness", "words"),
    [
        ('EIz="0.8" EIy="0.8" mass_per_length="0.6"', "a length, mass or stiffness in another unit?"),
        ('EIz="8e11" EIy="8e11" mass_per_length="0.6"', "even the slowest mode with the joints held has"),
    ],
)
def test_stiffness_in_another_unit_is_found_by_sag_and_frequency(stiffness, words):
    beam = f'<beam length="1" {stiffness}/>'
    text = BEAM.format(at=1, length=1, section=TUBE)
    begin, end = text.index("<beam"), text.index("</beam>") + len("</beam>")
    warnings = flexdyn_ros.check(text[:begin] + beam + text[end:].replace("bending_y", "bending_z")).warnings
    assert any(words in text for text in warnings)
    assert not any("another unit" in x for x in flexdyn_ros.check(text).warnings)


def test_a_diameter_is_twice_a_radius():
    text = BEAM.format(at=1, length=1, section='outer_diameter="0.04" wall="0.002"')
    with pytest.raises(DescriptionError, match="did you mean 'outer_radius', half of it"):
        read(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cylinder.bore": 50, "cylinder.rod_diameter": 36}, "bore 50 m"),
        ({"valve.rated_flow": 40}, "l/min?"),
        ({"fluid.bulk_modulus": 1400}, "bulk_modulus 1400 Pa"),
    ],
)
def test_units_of_hydraulics_are_asked_about(change, words):
    options = {f"platform.hydraulics.{key}": value for key, value in change.items()}
    found = doubts_of(read("stewart_1t", options=options))
    assert any(words in text for text in found)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_robots_are_silent(name):
    assert doubts_of(read(name)) == ()


def test_a_load_beside_the_joint_of_a_link_with_a_free_tip_is_asked_about():
    text = """<robot name="f"><link name="w"/><link name="upper"/><link name="fore"/>
    <link name="load"><inertial><mass value="0.8"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
    <joint name="j" type="continuous"><parent link="w"/><child link="upper"/><axis xyz="0 1 0"/></joint>
    <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="1 0 0"/>
    <axis xyz="0 1 0"/></joint>
    <joint name="grip" type="fixed"><parent link="{parent}"/><child link="load"/>
    <origin xyz="{at} 0 0"/></joint>
    <flexdyn reference="upper"><beam><tube {tube}/><material name="aluminium"/></beam>
    <modes bending_z="1"/></flexdyn>
    <flexdyn reference="fore"><beam length="0.8"><tube {tube}/><material name="aluminium"/></beam>
    <modes bending_z="1"/></flexdyn></robot>"""
    report = flexdyn_ros.check(text.format(parent="upper", at="1", tube=TUBE))
    (note,) = (note for note in report.notes if "is it the load of 'fore'?" in note)
    assert "'load' (0.8 kg) is fixed to 'upper' where joint 'elbow' is" in note
    right = flexdyn_ros.check(text.format(parent="fore", at="0.8", tube=TUBE))
    assert not any("is it the load" in note for note in right.notes)
