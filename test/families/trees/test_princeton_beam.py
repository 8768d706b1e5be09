"""The beam of the Princeton experiment (Dowell & Traybar 1975), loaded in both planes, against the exact
theory: how far beams whose strains are linear hold. docs/theory/flexible_links.md has the same numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference.exact_beam import tip_of

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError

#: aluminium 7075, 20 in long, 0.5 in by 1/8 in; St Venant's constant of a thin rectangle
LENGTH, HEIGHT, THICKNESS, E, G = 0.508, 0.012772, 0.0032024, 71.7e9, 71.7e9 / 2.62
EIZ, EIY = E * THICKNESS * HEIGHT**3 / 12, E * HEIGHT * THICKNESS**3 / 12
GJ = G * HEIGHT * THICKNESS**3 / 3 * (1 - 0.63 * THICKNESS / HEIGHT)
BEAM = f"""<robot name="b"><link name="base"/><link name="l"/>
<joint name="j" type="fixed"><parent link="base"/><child link="l"/></joint>
<flexdyn><gravity>0 0 0</gravity></flexdyn><flexdyn reference="l">
<beam length="{LENGTH}" mass_per_length="0.11" EIy="{EIY}" EIz="{EIZ}" GJ="{GJ}" polar_inertia="1e-6"/>
<modes bending_y="3" bending_z="3" torsion="3"/></flexdyn></robot>"""


@pytest.fixture(scope="module")
def beam():
    return flexdyn_ros.load(BEAM)


def both(beam, load, degrees):
    """Tip displacement (3,) in lengths, exact and ours, under a load so many degrees from the stiff side."""
    angle = np.radians(degrees)
    force = load * np.array([0.0, np.cos(angle), np.sin(angle)])
    exact = tip_of(LENGTH, GJ, EIY, EIZ, force)[0] / LENGTH
    q = beam.static_equilibrium(beam.neutral(), wrenches={"l/tip": np.append(np.zeros(3), force)}).q
    ours = (beam.frames(q, "l/tip")[:3, 3] - [LENGTH, 0.0, 0.0]) / LENGTH
    return exact, ours


def test_the_exact_theory_gives_the_elastica_in_one_plane():
    """P L^2 / EI = 1: tip 0.30172 sideways, 0.05643 back (Bisshopp & Drucker 1945)."""
    u = tip_of(1.0, 1.0, 1.0, 1.0, (0.0, 0.0, 1.0))[0]
    assert u == pytest.approx([-0.05643, 0.0, 0.30172], abs=1e-5)


@pytest.mark.parametrize(
    ("load", "degrees", "deflection", "error", "sideways"),
    [
        (4.448, 45, 0.107, 0.008, 1.047),
        (8.896, 45, 0.209, 0.036, 1.176),
        (13.345, 30, 0.227, 0.027, 1.208),
        (13.345, 45, 0.301, 0.082, 1.358),
        (13.345, 60, 0.350, 0.140, 1.472),
    ],
)
def test_the_error_of_the_princeton_beam_is_the_one_that_is_documented(
    beam, load, degrees, deflection, error, sideways
):
    exact, ours = both(beam, load, degrees)
    assert np.linalg.norm(exact[1:]) == pytest.approx(deflection, abs=1e-3)
    assert np.linalg.norm(ours - exact) / np.linalg.norm(exact) == pytest.approx(error, abs=1.5e-3)
    # what bends the stiff side stays linear: bending, bending and twist are not coupled
    linear = load * np.cos(np.radians(degrees)) * LENGTH**2 / (3 * EIZ)
    assert exact[1] / linear == pytest.approx(sideways, abs=2e-3)
    assert ours[1] / linear == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("parts", "error"), [(2, 0.0120), (4, 0.0032)])
def test_a_beam_cut_into_links_with_hermite_shapes_comes_near_the_exact_theory(parts, error):
    length, text = (
        LENGTH / parts,
        '<robot name="b"><flexdyn><gravity>0 0 0</gravity></flexdyn><link name="l0"/>',
    )
    for i in range(1, parts + 1):
        text += (
            f'<link name="l{i}"/><joint name="j{i}" type="fixed"><parent link="l{i - 1}"/>'
            f'<child link="l{i}"/><origin xyz="{length if i > 1 else 0} 0 0"/></joint>'
            f'<flexdyn reference="l{i}">'
            f'<beam length="{length}" mass_per_length="0.11" EIy="{EIY}" EIz="{EIZ}" GJ="{GJ}" '
            'polar_inertia="1e-6"/><modes bending_y="2" bending_z="2" torsion="1" basis="hermite"/></flexdyn>'
        )
    robot = flexdyn_ros.load(text + "</robot>")
    force = 13.345 * np.sqrt(0.5) * np.array([0.0, 1.0, 1.0])
    wrench = {f"l{parts}/tip": np.append(np.zeros(3), force)}
    q = robot.static_equilibrium(robot.neutral(), wrenches=wrench).q
    ours = robot.frames(q, f"l{parts}/tip")[:3, 3] - [LENGTH, 0.0, 0.0]
    exact = tip_of(LENGTH, GJ, EIY, EIZ, force)[0]
    assert np.linalg.norm(ours - exact) / np.linalg.norm(exact) == pytest.approx(error, abs=5e-4)


def test_shear_is_left_out_and_its_stiffness_refused():
    """nu = 0.3, kappa = 5/6: the tip of Timoshenko's cantilever sinks 4.5 % more where it is 0.24 as high as
    long."""
    ratio, nu, kappa = 0.24, 0.3, 5.0 / 6.0
    assert 0.5 * (1 + nu) / kappa * ratio**2 == pytest.approx(0.045, abs=1e-3)
    text = BEAM.replace(f'EIy="{EIY}"', 'EIy="1000"')
    robot = flexdyn_ros.load(text)
    q = robot.static_equilibrium(robot.neutral(), wrenches={"l/tip": [0, 0, 0, 0, 0, 1.0]}).q
    tip = robot.frames(q, "l/tip")[2, 3]
    assert tip == pytest.approx(LENGTH**3 / 3000.0, rel=2e-3)
    with pytest.raises(DescriptionError, match="GAy"):
        flexdyn_ros.load(text.replace('EIy="1000"', 'EIy="1000" GAy="1e5"'))
