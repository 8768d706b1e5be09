"""Roads, drives, tables, soft chains, hexapods: what each kind may say, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flexdyn_ros.description import read
from flexdyn_ros.description.elements import joints, links, wheels
from flexdyn_ros.description.elements.platforms import CylinderFriction, Leakage
from flexdyn_ros.errors import DescriptionError

HERE = Path(__file__).parent
URDF = HERE.parents[1] / "urdf"
PENDULUM = (HERE / "pendulum.urdf").read_text()
MOBILE = (URDF / "mobile_arm.urdf").read_text()
SOFT = (URDF / "soft_arm_3.urdf").read_text()
BEAM = '<beam><tube outer_radius="0.025" wall="0.002"/><material name="steel"/></beam>'


def with_road(road: str) -> str:
    return re.sub(r"<road .*?/>", road, MOBILE)


def with_drive(drive: str) -> str:
    return re.sub(r"<drive .*?/>", drive, MOBILE)


def with_beam(beam: str, modes: str = '<modes bending_z="3"/>') -> str:
    return PENDULUM.replace(BEAM, beam).replace('<modes bending_z="3"/>', modes)


def saved(folder: Path, text: str) -> Path:
    """The text as a file, which may name files beside it."""
    file = folder / "robot.urdf"
    file.write_text(text)
    return file


def refused(text: str | Path, message: str, attribute: str | None = None, **more: object) -> DescriptionError:
    with pytest.raises(DescriptionError, match=message) as caught:
        read(text, **more)
    assert caught.value.attribute == attribute
    assert caught.value.expected
    return caught.value


# ---- roads and drives ----


def test_roads_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "road.csv").write_text("0, 0\n1, 0.1 # a step\n2, 0.1\n")
    sines = with_road('<road kind="sines" offset="0.1"><wave amplitude="1" wavelength="2"/>'
                      '<wave amplitude="0.5" wavelength="1" phase="0.2"/></road>')  # fmt: skip
    assert read(sines).road.waves == (wheels.Wave(1, 2, 0), wheels.Wave(0.5, 1, 0.2))
    assert read(with_road('<road kind="bump" height="0.1" length="2"/>')).road.height == 0.1
    assert read(with_road('<road kind="step" height="0.1" length="2"/>')).road.length == 2
    assert read(with_road('<road kind="slope" grade="-0.1" contact="unilateral"/>')).road.grade == -0.1
    iso = read(with_road('<road kind="iso8608" class="C"/>')).road
    assert (iso.road_class, iso.seed, iso.lines, iso.n_min, iso.n_max) == ("C", 0, 500, 0.011, 2.83)
    assert read(with_road('<road kind="table">0 0 1 0.1 2 0.1</road>')).road.points == (
        (0, 0),
        (1, 0.1),
        (2, 0.1),
    )
    file = tmp_path / "robot.urdf"
    file.write_text(with_road('<road kind="table" file="road.csv"/>'))
    assert read(file).road.points == ((0, 0), (1, 0.1), (2, 0.1))
    assert read(with_road("<road/>")).road == wheels.Road()


def test_road_from_yaml_replaces_waves_as_a_whole(tmp_path: Path) -> None:
    text = with_road('<road kind="sines"><wave amplitude="1" wavelength="2"/></road>')
    config = tmp_path / "c.yaml"
    config.write_text(
        "flexdyn:\n  road:\n    wave:\n    - {amplitude: 2, wavelength: 3}\n"
        "    - {amplitude: 1, wavelength: 1}\n"
    )
    assert [wave.amplitude for wave in read(text, config=config).road.waves] == [2, 1]
    refused(text, "not a list", options={"road.wave": {"amplitude": 1}})


@pytest.mark.parametrize(
    ("road", "message", "attribute"),
    [
        ('<road kind="sines"/>', "without <wave>", "kind"),
        ('<road kind="flat"><wave amplitude="1" wavelength="2"/></road>', "waves with kind", None),
        ('<road kind="table"/>', "no points", "file"),
        ('<road kind="table">0 0 1</road>', "no pairs", "points"),
        ('<road kind="table">0 0 1 1 1 2</road>', "do not rise", "points"),
        ('<road kind="flat">0 0 1 1</road>', "no meaning", "points"),
        ('<road kind="iso8608"/>', "missing", "class"),
        ('<road kind="iso8608" class="A" n_min="3"/>', "n_min", "n_min"),
        ('<road kind="bump" height="1" length="0"/>', "wrong value", "length"),
    ],
)
def test_wrong_roads_are_refused(road: str, message: str, attribute: str | None) -> None:
    refused(with_road(road), message, attribute)


def test_drives_of_every_type(tmp_path: Path) -> None:
    assert read(with_drive('<drive type="force"/>')).drive == wheels.Drive("force", start=0.0)
    assert read(with_drive('<drive type="profile">0 0 1 2</drive>')).drive.points == ((0, 0), (1, 2))
    refused(with_drive('<drive type="force" speed="1"/>'), "no meaning", "speed")
    refused(with_drive('<drive type="profile"/>'), "no points", "file")
    file = tmp_path / "x.txt"
    file.write_text("0 zero")
    text = with_drive(f'<drive type="profile" file="{file}"/>')
    error = refused(saved(tmp_path, text), "line 1: 'zero'", "file")
    assert "drive" in error.element


def test_floating_base_with_wheels_is_articulated() -> None:
    text = MOBILE.replace('type="planar"', 'type="floating"').replace('method="floating_frame"', "")
    formulation = read(text).formulation
    assert (formulation.method, formulation.rotary_inertia, formulation.stiffening) == (
        "articulated",
        "consistent",
        "none",
    )
    refused(MOBILE.replace('type="planar"', 'type="floating"'), "floating_frame", "method")


def test_tyre() -> None:
    tyre = '<tyre stiffness="2e5" damping="50" radius="0.3" mass="4"/>'
    text = MOBILE.replace('free_length="0.26"/></wheel>', f'free_length="0.26"/>{tyre}</wheel>', 1)
    assert read(text).wheels[0].tyre == wheels.Tyre(2e5, 50, 0.3, 4)
    refused(MOBILE.replace('name="rear" link="base_link"', 'name="rear" link="base"'), "no link", "link")


# ---- beams ----


@pytest.mark.parametrize(
    ("beam", "message", "attribute"),
    [
        ('<beam><i_section width="0.1" height="0.1" web="0.2" flange="0.01"/></beam>', "web is wider", "web"),
        ('<beam><i_section width="0.1" height="0.1" web="0.01" flange="0.06"/></beam>', "flanges", "flange"),
        ('<beam><table columns="EIy station">0 1 1 1</table></beam>', "first column", "columns"),
        ('<beam><table columns="station EI">0 1 1 1</table></beam>', "unknown column", "columns"),
        ('<beam><table columns="station">0 1</table></beam>', "without properties", "columns"),
        ('<beam><table columns="station EIy EIy">0 1 1 1 1 1</table></beam>', "named twice", "columns"),
        ('<beam EIy="1"><table columns="station EIy">0 1 1 1</table></beam>', "column of the table", "EIy"),
        ('<beam><table columns="station EIy">0 1 1</table></beam>', "do not fill", "rows"),
        ('<beam><table columns="station EIy">0 1 0.6 1 0.5 1 1 1</table></beam>', "comes after", "rows"),
        ('<beam><table columns="station EIy">0 1 0 1 0 1 1 1</table></beam>', "more than twice", "rows"),
        ('<beam><table columns="station EIy">0 1 1 -1</table></beam>', "EIy = -1 at station 1", "rows"),
        ('<beam><table columns="station EIy"/></beam>', "too little", "file"),
        ('<beam><rod radius="1"/><table columns="station EIy">0 1 1 1</table></beam>', "exclude", None),
        ('<beam EIy="1"><material/></beam>', "needs E", "E"),
    ],
)
def test_wrong_beams_are_refused(beam: str, message: str, attribute: str | None) -> None:
    refused(with_beam(beam), message, attribute)


def test_beam_without_mass_is_refused() -> None:
    text = with_beam('<beam length="1" EIy="1"/>').replace('<mass value="4.0"/>', '<mass value="0"/>')
    refused(text, "no mass", "mass_per_length")
    assert read(text.replace('EIy="1"', 'EIy="1" mass_per_length="1"')).flexible_links["boom"]


def test_numbers_beside_a_name_override_the_material() -> None:
    beam = '<beam><rod radius="0.01"/><material name="steel" E="200e9" G="80e9"/></beam>'
    material = read(with_beam(beam)).flexible_links["boom"].beam.material
    assert material == links.Material("steel", 200e9, 7850.0, 80e9, None)


def test_imported_modes_stand_alone(tmp_path: Path) -> None:
    file = tmp_path / "boom.npz"
    file.write_bytes(b"")
    modes = f'<modes file="{file}"/>'
    link = read(saved(tmp_path, with_beam("", modes))).flexible_links["boom"]
    assert (link.beam, link.modes.file) == (None, str(file))
    turned = read(saved(tmp_path, with_beam('<beam axis="0 0 1" length="1"/>', modes)))
    assert turned.flexible_links["boom"].beam.axis == (0, 0, 1)
    refused(saved(tmp_path, with_beam('<beam EIy="1"/>', modes)), "exclude section data", "EIy")
    refused(saved(tmp_path, with_beam('<beam><rod radius="1"/></beam>', modes)), "exclude section data")
    refused(with_beam("", f'<modes file="{file}" axial="1"/>'), "exclude each other", "axial")


def test_modes_without_beam_are_refused() -> None:
    refused(with_beam(""), "without <beam>")


# ---- soft arms ----


def test_section_with_pressure_and_numbers_per_actuator() -> None:
    text = SOFT.replace('stiffness="1700"', 'stiffness="1700 1800 1900"').replace(
        'upper="0.03"/>', 'upper="0.03"><pressure area="1e-4" time_constant="0.02"/></section>'
    )
    section = read(text).sections[0]
    assert section.stiffness == (1700, 1800, 1900)
    assert section.pressure == joints.Pressure(1e-4, 0.02, None)


def test_soft_arm_with_another_movable_joint_is_refused() -> None:
    joint = '<joint name="j" type="continuous"><parent link="tip"/><child link="x"/></joint>'
    refused(SOFT.replace("</robot>", f'<link name="x"/>{joint}</robot>'), "joint 'j' is continuous")


def test_soft_arm_on_a_wheel_is_refused() -> None:
    wheel = '<wheel name="w" link="base_link" xyz="0 0 0"><suspension stiffness="9" free_length="1"/></wheel>'
    refused(SOFT.replace("<gravity>", f"{wheel}<gravity>"), "a wheel in a robot of kind continuum")


def test_sections_side_by_side_are_refused() -> None:
    text = SOFT.replace('<parent link="plate_2"/>', '<parent link="plate_1"/>')
    refused(text, "do not follow each other")


@pytest.mark.parametrize(
    ("lower", "message"), [("-0.15", "lose all its length"), ("-0.2", "lose all its length")]
)
def test_section_keeps_some_length(lower: str, message: str) -> None:
    refused(SOFT.replace('lower="0"', f'lower="{lower}"'), message, "lower")


def test_lumped_mass_is_for_one_section() -> None:
    refused(SOFT, "several sections", "mass_model", options={"formulation.mass_model": "lumped"})
    one = {"joints.section_2": None, "joints.section_3": None, "formulation.mass_model": "lumped"}
    assert read(SOFT, options=one).formulation.mass_model == "lumped"


def test_rigid_twin_of_a_soft_arm_is_refused() -> None:
    error = refused(
        SOFT,
        "belongs to robots of kind mobile or platform or tree, this",
        "flexible",
        options={"formulation.flexible": False},
    )
    assert error.file == "options"


# ---- hexapod ----


@pytest.fixture(scope="module")
def hexapod() -> str:
    pytest.importorskip("xacro")
    return read(URDF / "stewart_1t.urdf.xacro").text


def test_hydraulics_of_one_leg(hexapod: str) -> None:
    own = re.search(r"<hydraulics>.*?</hydraulics>", hexapod, re.DOTALL).group()
    own = own.replace('bore="0.050"', 'bore="0.060"')
    leg = re.search(r'<leg [^>]*name="leg_2"[^>]*/>', hexapod).group()
    legs = read(hexapod.replace(leg, leg[:-2] + ">" + own + "</leg>")).platform.legs
    assert [leg.hydraulics.cylinder.bore for leg in legs] == [0.05, 0.06, 0.05, 0.05, 0.05, 0.05]


def test_lugre_friction(hexapod: str) -> None:
    options = {
        "platform.hydraulics.friction": {"model": "lugre", "bristle_stiffness": 1e6, "bristle_damping": 300},
        "platform.hydraulics.valve": {"time_constant": 0.01},
    }
    robot = read(hexapod, options=options)
    friction = robot.platform.hydraulics.friction
    assert friction == CylinderFriction("lugre", 250, 400, 0.02, 0.002, 600, 1e6, 300)
    assert robot.platform.hydraulics.valve.natural_frequency_hz is None


def test_friction_and_leaks_of_a_leg_that_are_not_said_are_none(hexapod: str) -> None:
    options = {"platform.hydraulics.friction.viscous": None, "platform.hydraulics.leakage.internal": None}
    said, silent = (read(hexapod, options=some).platform.hydraulics for some in ({}, options))
    assert (said.friction.viscous, said.leakage.internal) == (600.0, 5e-13)
    assert (silent.friction.viscous, silent.friction.coulomb) == (0.0, said.friction.coulomb)
    assert silent.leakage == Leakage(internal=0.0, external_bore=0.0, external_rod=0.0)
    assert (silent.supply.relief_conductance, silent.supply.makeup_conductance) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "message", "attribute"),
    [
        ({"platform.leg.leg_1.slider": "leg_2_slide"}, "slider of another leg", "slider"),
        ({"platform.leg.leg_1.slider": "leg_1_slid"}, "did you mean 'leg_1_slide' or", "slider"),
        ({"platform.leg.leg_1": None}, "5 legs", None),
        ({"platform.link": "platfrm"}, "no link of that name", "link"),
        ({"platform.hydraulics.cylinder": None}, "<cylinder> is missing", None),
        ({"platform.hydraulics.supply.tank_pressure": 2e7}, "not below the supply", "tank_pressure"),
        ({"platform.hydraulics.friction.static": 1}, "below Coulomb", "static"),
        ({"platform.hydraulics.valve.damping_ratio": None}, "is missing", "damping_ratio"),
        ({"platform.leg.leg_1.anchor": [0, 0, -4]}, "home stroke", "anchor"),
        ({"formulation.method": "lagrange"}, "belongs to robots of kind mobile or tree, this", "method"),
        ({"road.kind": "flat"}, "without wheels", None),
        ({"joints.leg_1_u1": {"rotor": {"inertia": 1}, "joint_elasticity": {"stiffness": 1}}},
         "elastic joint", None),
        ({"joints.platform.rotor.inertia": 1}, "is floating", None),
    ],
)  # fmt: skip
def test_wrong_platforms_are_refused(
    hexapod: str, options: dict, message: str, attribute: str | None
) -> None:
    refused(hexapod, message, attribute, options=options)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<origin xyz="0 0 1.10"/>\n    <axis xyz="0 0 1"/>', '<axis xyz="0 1 0"/>', "along z"),
        ('upper="0.60"', 'upper="0"', "no stroke"),
        ('name="leg_1_u2" type="revolute"', 'name="leg_1_u2" type="fixed"', "two revolute joints"),
        ('<axis xyz="0 1 0"/>', '<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>', "not at one point"),
        (' name="leg_1"', ' name="leg_1_u1"', "same name"),
    ],
)
def test_mechanism_that_is_no_leg_is_refused(hexapod: str, old: str, new: str, message: str) -> None:
    pattern = re.sub(r"\\?\s+", r"\\s+", re.escape(old)) if "\n" in old else re.escape(old)
    text, count = re.subn(pattern, new, hexapod, count=1)
    assert count == 1
    with pytest.raises(DescriptionError, match=message):
        read(text)
