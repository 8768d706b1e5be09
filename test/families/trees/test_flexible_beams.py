"""Beams from descriptions: sections, geometry, the mass rule of the contract (its section 1.3), refusals."""

import re

import numpy as np
import pytest
from flexible_robots import branched
from scipy.spatial.transform import Rotation

from flexdyn_ros.description import read
from flexdyn_ros.description.elements.links import ISection, Rectangle, Rod, Tube
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.flexible.beams.bases import chosen_modes
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import modal_integrals
from flexdyn_ros.families.trees.flexible.beams.properties import beam_link, cross_section
from flexdyn_ros.families.trees.flexible.kernels.section import exponential_series
from flexdyn_ros.families.trees.rigid.model import build_tree

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="boom">{inertial}</link>
  <link name="tool"/>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
  <joint name="tool_mount" type="fixed"><parent link="boom"/><child link="tool"/><origin xyz="{reach} 0
  0"/></joint>
  <flexdyn reference="boom"><beam{beam}>{section}</beam><modes {modes}/>{more}</flexdyn>
</robot>
"""
INERTIAL = """<inertial><origin xyz="0.75 0 0"/><mass value="{mass}"/>
  <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{iyy}"/></inertial>"""
TUBE = '<tube outer_radius="0.025" wall="0.002"/><material name="steel"/>'


def pendulum(inertial="", *, beam="", section=TUBE, modes='bending_z="3"', more="", reach=1.5):
    text = PENDULUM.format(inertial=inertial, beam=beam, section=section, modes=modes, more=more, reach=reach)
    return read(text)


def inertial(mass=4.0, ixx=0.01, iyy=0.673):
    return INERTIAL.format(mass=mass, ixx=ixx, iyy=iyy)


def beam_of(description, name="boom"):
    return beam_link(description, description.flexible_links[name])


# ---------------------------------------- sections


def test_round_sections():
    tube, rod = cross_section(Tube(0.05, 0.01)), cross_section(Rod(0.05))
    assert rod.area == pytest.approx(np.pi * 0.05**2)
    assert rod.Iy == rod.Iz == pytest.approx(np.pi * 0.05**4 / 4)
    inner = cross_section(Rod(0.04))
    assert tube.Iy == pytest.approx(rod.Iy - inner.Iy)
    assert pytest.approx(2 * tube.Iy) == tube.J
    assert cross_section(Tube(0.05, 0.05)).area == pytest.approx(rod.area)


@pytest.mark.parametrize(("ratio", "factor"), [(1.0, 0.1406), (1.5, 0.196), (2.0, 0.229), (10.0, 0.312)])
def test_torsion_constant_of_a_rectangle(ratio, factor):
    """J = factor a b^3 (Timoshenko & Goodier 1970, table of article 109, three digits)."""
    for width, height in ((ratio, 1.0), (1.0, ratio)):
        section = cross_section(Rectangle(width, height))
        assert pytest.approx(factor * ratio, abs=6e-4 * ratio) == section.J
        assert section.Iy == pytest.approx(width * height**3 / 12)
        assert section.Iz == pytest.approx(height * width**3 / 12)


def test_i_section():
    section = cross_section(ISection(width=0.1, height=0.2, web=0.006, flange=0.01))
    clear = 0.18
    assert section.area == pytest.approx(2 * 0.1 * 0.01 + clear * 0.006)
    parts = 2 * (0.1 * 0.01**3 / 12 + 0.1 * 0.01 * 0.095**2) + 0.006 * clear**3 / 12
    assert section.Iy == pytest.approx(parts)
    assert section.Iz == pytest.approx(2 * 0.01 * 0.1**3 / 12 + clear * 0.006**3 / 12)
    assert pytest.approx((2 * 0.1 * 0.01**3 + clear * 0.006**3) / 3) == section.J


@pytest.mark.parametrize("angle", [0.0, 0.3, 0.95, 0.999, 1.001, 2.5])
def test_sections_turn_by_the_exponential_map_however_much(angle):
    """exp(K) = 1 + a K + b K^2, its mean from 0 to K is 1 + b K + c K^2; then slopes of b, c by angle^2."""
    vector = angle * np.array([0.48, -0.6, 0.64])
    K = np.cross(np.eye(3), vector)
    a, b, c, by, cy = exponential_series(angle**2)
    assert np.allclose(
        np.eye(3) + a * K + b * K @ K, Rotation.from_rotvec(vector).as_matrix(), rtol=0, atol=1e-14
    )
    x, weights = np.polynomial.legendre.leggauss(20)
    turns = Rotation.from_rotvec(0.5 * (x[:, None] + 1.0) * vector).as_matrix()
    mean = 0.5 * np.einsum("n,nij->ij", weights, turns)
    assert np.allclose(np.eye(3) + b * K + c * K @ K, mean, rtol=0, atol=1e-14)
    # the series go on below 0
    ahead, behind = (np.array(exponential_series(angle**2 + h)[1:3]) for h in (1e-4, -1e-4))
    assert (ahead - behind) / 2e-4 == pytest.approx(np.array([by, cy]), abs=1e-9)


# ---------------------------------------- geometry


@pytest.mark.parametrize(
    ("axis", "y", "z"),
    [("1 0 0", (0, 1, 0), (0, 0, 1)), ("0 0 1", (0, 1, 0), (-1, 0, 0)), ("0 1 0", (-1, 0, 0), (0, 0, 1))],
)
def test_beam_frame(axis, y, z):
    frame = beam_of(
        pendulum(beam=f' axis="{axis}" length="1"', more='<attach joint="tool_mount" station="0.5"/>')
    ).frame
    assert frame.R[:, 1] == pytest.approx(np.array(y), abs=1e-15)
    assert frame.R[:, 2] == pytest.approx(np.array(z), abs=1e-15)


def test_length_is_that_of_the_farthest_child():
    assert beam_of(pendulum(reach=1.25)).beam.length == 1.25


def test_attached_children():
    beam = beam_of(pendulum(beam=' length="2"', more='<attach joint="tool_mount" station="auto"/>'))
    assert beam.attach == {"tool_mount": 0.75}
    assert beam_of(pendulum()).attach == {"tool_mount": 1.0}


@pytest.mark.parametrize("length", ["1.4", "1.6"])
def test_a_child_beside_the_tip_is_refused_with_the_remedy(length):
    with pytest.raises(DescriptionError, match="tool_mount") as error:
        beam_of(pendulum(beam=f' length="{length}"'))
    assert "attach" in error.value.expected
    assert "boom" in str(error.value)


def test_a_child_outside_the_beam_is_refused():
    with pytest.raises(DescriptionError, match="outside"):
        beam_of(pendulum(beam=' length="1"', more='<attach joint="tool_mount" station="auto"/>'))


# ---------------------------------------- properties


def test_tube_of_steel():
    beam = beam_of(pendulum())
    A = cross_section(Tube(0.025, 0.002))
    s = np.array([0.0, 0.3, 1.0])
    assert beam.beam.mu(s) == pytest.approx(7850 * A.area)
    assert beam.beam.EIy(s) == pytest.approx(210e9 * A.Iy)
    assert beam.beam.GJ(s) == pytest.approx(210e9 / 2.6 * A.J)
    assert beam.beam.EA(s) == pytest.approx(210e9 * A.area)
    assert beam.beam.Jyy(s) == pytest.approx(7850 * A.Iy)
    assert beam.beam.Jx(s) == pytest.approx(2 * 7850 * A.Iy)


def test_table_with_a_step_is_integrated_exactly():
    """Mass and stiffness of a beam whose properties jump at 0.3: sums over the parts."""
    rows = "0 3 80 80  0.3 2 60 60  0.3 1 20 20  1 1 20 20"
    table = f'<table columns="station mass_per_length EIy EIz">{rows}</table>'
    description = pendulum(section=table, modes='bending_z="1" basis="polynomial"')
    beam = beam_of(description)
    assert beam.breaks == (0.0, 0.3, 1.0)
    modes = chosen_modes(beam, np.zeros((4, 4)))
    integrals = modal_integrals(beam.beam, modes, rotary="none", breaks=beam.breaks)
    assert 2 * integrals.C[0, 0] == pytest.approx(1.5 * (0.3 * 2.5 + 0.7), rel=1e-14)
    # phi = s^2, phi'' = 2: K = 4 int EI ds / L^3, M = L int mu s^4 ds
    assert integrals.K[0, 0] == pytest.approx(4 * (0.3 * 70 + 0.7 * 20) / 1.5**3, rel=1e-13)
    first = 3 * 0.3**5 / 5 - 0.3**6 / 0.3 / 6
    assert 2 * np.trace(integrals.C2[0, 0]) == pytest.approx(1.5 * (first + (1 - 0.3**5) / 5), rel=1e-13)


def test_polar_inertia_other_than_the_sum_is_for_the_paper_alone():
    numbers = (
        ' mass_per_length="2" EIy="50" EIz="50" GJ="20" rotary_inertia_y="0.001" rotary_inertia_z="0.001"'
    )
    text = pendulum(beam=numbers + ' polar_inertia="0.003"', section="").text
    with pytest.raises(DescriptionError, match="polar_inertia"):
        beam_of(read(text))
    beam = beam_of(read(text, options={"formulation.rotary_inertia": "paper"})).beam
    assert beam.Jx(np.zeros(1)) == pytest.approx(0.003)


# ---------------------------------------- mass, exactly once


def test_without_inertial_beam_and_bodies_are_the_mass():
    more = '<body name="clamp" station="0.5"><mass value="0.3"/></body>'
    tree = build_tree(pendulum(more=more))
    assert tree.mass == pytest.approx(7850 * cross_section(Tube(0.025, 0.002)).area * 1.5 + 0.3, rel=1e-12)


def test_the_remainder_rides_where_its_mass_is():
    """Case 2: the 0.45 kg of the contract's example ride at mid-span."""
    beam = beam_of(pendulum(inertial()))
    (body,) = beam.bodies
    mu = 7850 * cross_section(Tube(0.025, 0.002)).area
    assert body.P[0, 0] == pytest.approx(4.0 - 1.5 * mu, rel=1e-12)
    assert body.station == pytest.approx(0.5, abs=1e-12)


def test_the_remainder_can_be_put_elsewhere_without_changing_the_undeformed_link():
    rigid = read(pendulum(inertial()).text, options={"formulation.flexible": False})
    plain = build_tree(rigid).model.inertia
    for more in ("", '<remainder station="0.8"/>', '<remainder station="root"/>'):
        tree = build_tree(read(pendulum(inertial(), more=more).text, options={"formulation.flexible": False}))
        assert tree.model.inertia == pytest.approx(plain, rel=1e-12)
    # and that is what <inertial> says: mass, moment, inertia about the joint (its axis is z of the body)
    about = 0.673 + 4.0 * 0.75**2
    assert plain[10] == pytest.approx(4.0, rel=1e-12)
    assert plain[19] == pytest.approx(about, rel=1e-12)


def test_a_remainder_that_is_no_body_is_refused_with_all_parts():
    with pytest.raises(DescriptionError, match="T - B - P") as error:
        beam_of(pendulum(inertial(mass=3.0)))
    assert "remainder" in error.value.expected
    with pytest.raises(DescriptionError, match="not a body"):
        beam_of(pendulum(inertial(mass=4.0, iyy=0.3)))


def test_a_refused_inertial_is_told_in_all_numbers():
    """Mass, first moment and second moments about the root, of T = B + P + R: a beam along x with a body."""
    section = '<rectangle width="0.04" height="0.02"/><material name="steel"/>'
    lump = '<body name="lump" station="0.5"><mass value="0.3"/><origin xyz="0.1 0.2 0.3"/></body>'
    whole = """<inertial><origin xyz="0.75 -0.25 0.125"/><mass value="4"/>
      <inertia ixx="0.5" ixy="0.02" ixz="-0.04" iyy="0.8" iyz="0.06" izz="0.9"/></inertial>"""
    with pytest.raises(DescriptionError) as error:
        beam_of(pendulum(whole, section=section, more=lump))
    found = {}
    for part in str(error.value).split("beam axes: ")[1].split("; given")[0].split("; "):
        name = re.search(r"\b[TBPR]\b", part).group()
        mass, moment, second = re.split(", moment |, xx yy zz xy xz yz ", part.split("mass ")[1])
        found[name] = np.array([float(x) for x in (mass, *moment.split(), *second.split())])
    places = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    c, at = np.array([0.75, -0.25, 0.125]), np.array([0.85, 0.2, 0.3])
    tensor = np.array([[0.5, 0.02, -0.04], [0.02, 0.8, 0.06], [-0.04, 0.06, 0.9]])
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor + 4.0 * np.outer(c, c)
    mass = 7850 * 0.04 * 0.02 * 1.5
    sides = np.array([1.5**2 / 3, 0.04**2 / 12, 0.02**2 / 12])
    # six digits are told
    np.testing.assert_allclose(found["T"], [4.0, *(4.0 * c), *second[places]], rtol=5e-6)
    np.testing.assert_allclose(found["P"], 0.3 * np.array([1.0, *at, *np.outer(at, at)[places]]), rtol=5e-6)
    np.testing.assert_allclose(found["B"], mass * np.array([1, 0.75, 0, 0, *sides, 0, 0, 0]), rtol=5e-6)
    np.testing.assert_allclose(found["R"], found["T"] - found["B"] - found["P"], rtol=5e-6, atol=5e-5)
    assert f"{mass + 0.3:.6g} kg" in error.value.expected


def test_station_none_uses_beam_and_bodies():
    mass = 7850 * cross_section(Tube(0.025, 0.002)).area * 1.5
    none = '<remainder station="none"/>'
    beam = beam_of(pendulum(inertial(mass=mass * 1.005), more=none))
    assert not beam.bodies
    assert any("not used" in text for text in beam.warnings)
    with pytest.raises(DescriptionError, match="1 %"):
        beam_of(pendulum(inertial(mass=mass * 1.02), more=none))


def test_beam_without_density_takes_the_mass_that_is_left():
    numbers = f' EIy="50" EIz="50" polar_inertia="{1e-5 / 1.5}"'
    iyy = 3.7 * 1.5**2 / 12 + 0.5e-5
    more = '<body name="clamp" station="0.5"><mass value="0.3"/></body>'
    beam = beam_of(pendulum(inertial(mass=4.0, ixx=1e-5, iyy=iyy), beam=numbers, section="", more=more))
    assert beam.beam.mu(np.zeros(1)) == pytest.approx(3.7 / 1.5)
    heavy = pendulum(inertial(), beam=numbers, section="", more=more.replace("0.3", "5"))
    with pytest.raises(DescriptionError, match="leaves"):
        beam_of(heavy)


def test_a_wide_remainder_is_warned_of():
    beam = beam_of(pendulum(inertial(mass=5.0, iyy=1.2)))
    assert any("several <body>" in text for text in beam.warnings)


# ---------------------------------------- modes


@pytest.mark.parametrize("field", ["axial", "bending_y", "bending_z", "torsion"])
def test_polynomial_shapes_are_consistent_and_one_at_the_tip(field):
    beam = beam_of(pendulum(modes=f'{field}="4" basis="polynomial"'))
    modes = chosen_modes(beam, np.zeros((4, 4)))
    s, h = np.linspace(0.05, 0.95, 7), 1e-5
    for mode in modes:
        f = mode.shape
        assert f.value(np.ones(1)) == pytest.approx(1.0, abs=1e-13)
        assert f.value(np.zeros(1)) == 0.0
        if field.startswith("bending"):
            assert f.slope(np.zeros(1)) == 0.0
        # central differences, h^2 f''' / 6 with f''' up to 1e4
        assert f.slope(s) == pytest.approx((f.value(s + h) - f.value(s - h)) / (2 * h), abs=1e-6)
        assert f.curvature(s) == pytest.approx((f.slope(s + h) - f.slope(s - h)) / (2 * h), abs=1e-5)


def test_frequencies_of_a_clamped_body_are_met_by_its_own_eigenfunctions():
    """Check 10: with matching modes M and K of beam and tip body are diagonal."""
    text = pendulum(
        beam=' mass_per_length="2" EIy="50" EIz="50"',
        section="",
        modes='bending_z="3" boundary="clamped-body"',
        more='<body name="end"><mass value="0.7"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></body>',
    )
    link = build_tree(text).flexible.links[0]
    # rotary inertia of the tip body is in the modes; the tool has no mass
    M, K = link.modal_mass, link.stiffness
    for X in (M, K):
        off = X - np.diag(np.diag(X))
        assert np.abs(off).max() < 1e-9 * np.abs(X).max()


def test_order_and_names_of_coordinates():
    tree = build_tree(read(branched()))
    names = [c.name for c in tree.coordinates]
    assert names[:7] == [
        "turn",
        "trunk/axial/1",
        "trunk/bending_y/1",
        "trunk/bending_y/2",
        "trunk/bending_z/1",
        "trunk/bending_z/2",
        "trunk/torsion/1",
    ]
    # depth first, children in the order of their joints in the file
    assert [n for n in names if "/" not in n] == ["turn", "arm", "wrist", "crane"]
    assert names[-3:] == ["mast/bending_y/1", "mast/bending_z/1", "mast/bending_z/2"]


def test_damping_is_modal_or_rayleigh():
    links = {link.name: link for link in build_tree(read(branched())).flexible.links}
    trunk = links["trunk"]
    from scipy.linalg import eigh

    squares, V = eigh(trunk.stiffness, trunk.modal_mass)
    assert V.T @ trunk.damping @ V == pytest.approx(np.diag(2 * 0.02 * np.sqrt(squares)), abs=1e-8)
    arm = links["arm_link"]
    assert arm.damping == pytest.approx(0.3 * arm.modal_mass + 1e-3 * arm.stiffness)
    assert not links["mast"].damping.any()
