"""What `check` says of robots that bend: the mass rule, modes, warnings and notes."""

import dataclasses
import json

import numpy as np
import pytest
from flexible_robots import cantilever

import flexdyn_ros

PENDULUM = """
<robot name="pendulum">
  <link name="base"/>
  <link name="boom"><inertial><origin xyz="0.75 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.673" iyz="0" izz="0.673"/></inertial></link>
  <link name="tool"><inertial><mass value="{tool}"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
  <joint name="mount" type="fixed"><parent link="boom"/><child link="tool"/><origin xyz="1.5 0 0"/></joint>
  <flexdyn reference="boom"><beam><tube outer_radius="0.025" wall="0.002"/><material name="steel"/></beam>
    <modes bending_z="{modes}"/>{more}</flexdyn>
</robot>"""


def pendulum(mass=4.0, tool=0.5, modes=3, more='<damping ratio="0.01"/>'):
    return PENDULUM.format(mass=mass, tool=tool, modes=modes, more=more)


def test_the_mass_rule_is_reported_per_link():
    """Example of the contract: a tube of 3.55 kg, the rest of the 4 kg rides at mid-span."""
    report = flexdyn_ros.check(pendulum())
    (link,) = report.flexible
    tube = 7850.0 * np.pi * (0.025**2 - 0.023**2) * 1.5
    assert (link.link, link.length, link.modes) == ("boom", 1.5, "3 bending_z; eigen, clamped-free")
    assert link.whole.mass == 4.0
    assert link.beam.mass == pytest.approx(tube, rel=1e-12)
    assert link.bodies.mass == 0.0
    assert link.remainder.mass == pytest.approx(4.0 - tube, rel=1e-9)
    assert link.remainder.first_moment[0] == pytest.approx(0.75 * (4.0 - tube), rel=1e-9)
    assert link.beam.second_moments[0] == pytest.approx(tube * 1.5**2 / 3, rel=1e-12)
    assert "station 0.5" in link.outcome
    json.dumps(dataclasses.asdict(link))


def test_modes_are_reported_with_damping_and_main_coordinate():
    report = flexdyn_ros.check(pendulum(), modes=2)
    assert [m.mostly for m in report.modes_locked] == ["boom/bending_z/1", "boom/bending_z/2"]
    assert report.frequencies_locked == tuple(m.frequency for m in report.modes_locked)
    # 1 % of each mode of the link alone; what hangs on the tip makes the first mode slower and less damped
    assert 0.004 < report.modes_locked[0].damping_ratio < 0.0101
    assert len(report.modes_free) == 2


@pytest.mark.parametrize("name", ["canadarm2", "canadarm2_7", "flexible_two_link", "kane_beam"])
def test_shipped_robots_earn_notes_but_no_warnings(name):
    report = flexdyn_ros.check(name)
    assert report.warnings == ()
    assert any("up to rounding" in note for note in report.notes)


def test_rounding_of_the_inertial_is_a_note_and_missing_damping_too():
    report = flexdyn_ros.check("canadarm2")
    assert sum("up to rounding" in note for note in report.notes) == 2
    assert sum("no <damping>" in note for note in report.notes) == 2
    rigid = flexdyn_ros.check("canadarm2", options={"formulation.flexible": False})
    assert sum("up to rounding" in note for note in rigid.notes) == 2
    assert not any("damping" in note for note in rigid.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (pendulum(tool=320.0), ["boom", "% of its length", "small deformations"]),
        (pendulum(modes=30), ["boom/bending_z/30", "fewer modes"]),
        (cantilever('bending_y="1"', L=0.2, EI=1e3).replace('EIy="1000.0" EIz="1000.0" GJ="1e3" EA="1e6"\n'
         '    polar_inertia="0.02"/>', '><rod radius="0.03"/><material name="steel"/></beam>')
         .replace('mass_per_length="1.2"', ""), ["shear", "short"]),
    ],
)  # fmt: skip
def test_a_specialist_warns(text, words):
    warnings = flexdyn_ros.check(text).warnings
    assert any(all(word in text for word in words) for text in warnings), warnings
    assert flexdyn_ros.check(pendulum()).warnings == ()


def test_a_column_that_buckles_is_told():
    """A mast with a body at its top heavier than Euler's load pi^2 EI / (4 L^2)."""
    text = """
<robot name="mast"><link name="base"/><link name="mast"/><link name="top"><inertial><mass value="{mass}"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="foot" type="fixed"><parent link="base"/><child link="mast"/></joint>
  <joint name="weld" type="fixed"><parent link="mast"/><child link="top"/><origin xyz="0 0 2"/></joint>
  <flexdyn><gravity>0 0 -10</gravity></flexdyn>
  <flexdyn reference="mast"><beam axis="0 0 1" mass_per_length="0.1" EIy="100" EIz="100"/>
    <modes bending_y="2" bending_z="2"/></flexdyn></robot>"""
    critical = np.pi**2 * 100 / (4 * 2**2) / 10
    assert any("buckles" in w for w in flexdyn_ros.check(text.format(mass=1.1 * critical)).warnings)
    assert not any("buckles" in w for w in flexdyn_ros.check(text.format(mass=0.8 * critical)).warnings)


def test_a_joint_at_the_root_of_a_beam_is_told_its_origin_at_the_tip():
    text = pendulum().replace('<origin xyz="1.5 0 0"/>', "").replace("<beam>", '<beam length="1.5">')
    assert text != pendulum()
    with pytest.raises(flexdyn_ros.errors.DescriptionError, match="0 m along the beam") as told:
        flexdyn_ros.check(text)
    assert '<origin xyz="1.5 0 0"/> of joint' in told.value.expected
    assert 'length="0"' not in told.value.expected
