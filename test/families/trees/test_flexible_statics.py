"""What a bent beam shows at rest: textbook deflections, stress resultants, strains of every section."""

import numpy as np
import pytest

import flexdyn_ros

LENGTH, E, G, DENSITY = 2.0, 70e9, 27e9, 2700.0


def beam(section, modes, *, more="", stiffening="none"):
    """A beam on a held joint, weightless, of a material of E, G."""
    text = f"""
<robot name="beam"><link name="base"/><link name="beam"/>
  <joint name="hub" type="continuous"><parent link="base"/><child link="beam"/><axis xyz="0 0 1"/></joint>
  <flexdyn><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="beam"><beam length="{LENGTH}">{section}
    <material E="{E}" G="{G}" density="{DENSITY}"/></beam>
    <modes {modes}/>{more}</flexdyn></robot>"""
    return flexdyn_ros.load(text, options={"formulation.stiffening": stiffening})


def rest(robot, load, frame="beam/tip", **options):
    """Deflection under a wrench, the joint held."""
    q = robot.static_equilibrium(hold="joints", wrenches={frame: np.array(load, dtype=float)}).q
    return robot.deflections(q, np.linspace(0.0, 1.0, 5), **options)["beam"], q


#: text of the section; its area, Iy, Iz; farthest fibres in z and in y
SECTIONS = {
    "tube": (
        '<tube outer_radius="0.03" wall="0.004"/>',
        np.pi * (0.03**2 - 0.026**2),
        *2 * (np.pi / 4 * (0.03**4 - 0.026**4),),
        *(0.03, 0.03),
    ),
    "rod": ('<rod radius="0.02"/>', np.pi * 4e-4, *2 * (np.pi / 4 * 0.02**4,), 0.02, 0.02),
    "rectangle": (
        '<rectangle width="0.03" height="0.05"/>',
        1.5e-3, 0.03 * 0.05**3 / 12, 0.05 * 0.03**3 / 12, 0.025, 0.015,
    ),
    "I": (
        '<i_section width="0.04" height="0.06" web="0.005" flange="0.006"/>',
        2 * 0.04 * 0.006 + 0.048 * 0.005,
        (0.04 * 0.06**3 - 0.035 * 0.048**3) / 12,
        (2 * 0.006 * 0.04**3 + 0.048 * 0.005**3) / 12,
        *(0.03, 0.02),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SECTIONS)
def test_tip_forces_and_strains_of_sections(name):
    """F L^3 / 3 EI in both planes and F L / EA, which two cubics and a line hold exactly."""
    section, area, Iy, Iz, reach_z, reach_y = SECTIONS[name]
    robot = beam(section, 'axial="1" bending_y="2" bending_z="2" basis="polynomial"')
    assert robot.mass == pytest.approx(DENSITY * area * LENGTH, rel=1e-12)
    Fx, Fy, Fz = 900.0, 5.0, -7.0
    bent, _ = rest(robot, [0, 0, 0, Fx, Fy, Fz])
    tip = [Fx * LENGTH / (E * area), Fy * LENGTH**3 / (3 * E * Iz), Fz * LENGTH**3 / (3 * E * Iy)]
    assert bent.displacement[-1] == pytest.approx(tip, rel=1e-9)
    slopes = [0.0, -Fz * LENGTH**2 / (2 * E * Iy), Fy * LENGTH**2 / (2 * E * Iz)]
    assert bent.rotation[-1] == pytest.approx(slopes, rel=1e-9, abs=1e-15)
    arm = LENGTH * (1.0 - bent.station)
    assert bent.moment[:, 1] == pytest.approx(-Fz * arm, abs=1e-8)
    assert bent.moment[:, 2] == pytest.approx(Fy * arm, abs=1e-8)
    assert bent.curvature[:, 1] == pytest.approx(-Fz * arm / (E * Iy), abs=1e-12)
    assert bent.axial_force == pytest.approx(np.full(5, Fx), rel=1e-9)
    ky, kz = Fz * arm / (E * Iy), Fy * arm / (E * Iz)
    round_section = name in ("tube", "rod")
    bending = reach_z * np.hypot(ky, kz) if round_section else reach_z * abs(ky) + reach_y * abs(kz)
    assert bent.strain == pytest.approx(Fx / (E * area) + bending, rel=1e-9)


def test_a_torque_twists_a_tube():
    """T L / GJ: the twist of one polynomial is linear."""
    robot = beam(SECTIONS["tube"][0], 'torsion="1" basis="polynomial"')
    bent, _ = rest(robot, [3.0, 0, 0, 0, 0, 0])
    J = np.pi / 2 * (0.03**4 - 0.026**4)
    assert bent.rotation[:, 0] == pytest.approx(3.0 * LENGTH * bent.station / (G * J), rel=1e-9, abs=1e-15)
    assert bent.curvature[:, 0] == pytest.approx(3.0 / (G * J), rel=1e-9)
    assert bent.moment[:, 0] == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize("station", [0.25, 0.6])
def test_a_force_between_root_and_tip(station):
    """F a^3 / 3 EI under the force, F a^2 (3 L - a) / 6 EI at the tip: eight polynomials, whose third
    derivative has no step, to 1e-3 of the latter."""
    robot = beam(SECTIONS["rod"][0], 'bending_y="8" basis="polynomial"')
    a, EI, F = station * LENGTH, E * SECTIONS["rod"][3], 11.0
    _, q = rest(robot, [0, 0, 0, 0, F, 0], f"beam@{station}")
    bent = robot.deflections(q, [station, 1.0])["beam"].displacement[:, 1]
    exact = [F * a**3 / (3 * EI), F * a**2 * (3 * LENGTH - a) / (6 * EI)]
    assert bent == pytest.approx(exact, abs=1e-3 * exact[1])
    assert robot.frames(q, f"beam@{station}")[1, 3] == pytest.approx(bent[0], abs=1e-13)


def test_a_tension_stiffens_the_bent_beam_as_its_geometric_stiffness_says():
    """P pulls along the undeformed axis: K_G = P S(L) of the modes (specification serial, section 3.9)."""
    text = SECTIONS["rod"][0]
    P, F = 4000.0, 3.0
    pulled, plain = (beam(text, 'bending_y="6"', stiffening=s) for s in ("full", "none"))
    load = [0, 0, 0, P, F, 0]
    EI = E * SECTIONS["rod"][3]
    # beam under tension: EI y'''' = P y'', k = sqrt(P / EI)
    k = np.sqrt(P / EI)
    exact = F / (P * k) * (k * LENGTH - np.tanh(k * LENGTH))
    assert rest(pulled, load)[0].displacement[-1, 1] == pytest.approx(exact, rel=1e-3)
    assert rest(plain, load)[0].displacement[-1, 1] == pytest.approx(F * LENGTH**3 / (3 * EI), rel=1e-3)


@pytest.mark.parametrize(
    ("zeta", "expected"), [("0.03", 6 * [0.03]), ("0.01 0.02 0.03 0.04 0.05 0.06", None)]
)
def test_modes_of_the_arm_have_the_damping_that_its_link_states(zeta, expected):
    """Joint locked: the ratios, by rising frequency, are those of `<damping ratio>`."""
    robot = beam(
        SECTIONS["rectangle"][0],
        'axial="1" bending_y="2" bending_z="2" torsion="1"',
        more=f'<damping ratio="{zeta}"/>',
    )
    modes = robot.modes(robot.neutral(), lock="joints")
    assert np.all(np.diff(modes.frequency) > 0.0)
    assert modes.damping_ratio == pytest.approx(expected or [float(z) for z in zeta.split()], rel=1e-9)


def test_rayleigh_damping_of_the_arm():
    """zeta = alpha / 2 omega + beta omega / 2."""
    robot = beam(
        SECTIONS["rod"][0], 'bending_y="3"', more='<damping rayleigh_mass="0.4" rayleigh_stiffness="2e-4"/>'
    )
    modes = robot.modes(robot.neutral(), lock="joints")
    w = 2 * np.pi * modes.frequency
    assert modes.damping_ratio == pytest.approx(0.4 / (2 * w) + 2e-4 * w / 2, rel=1e-9)
