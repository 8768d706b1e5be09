"""A robot with one coordinate: a beam that is clamped in the world and bends by one function."""

import numpy as np
import pytest

import flexdyn_ros

L, MU, EI, MASS, BEYOND, DAMPING = 0.8, 1.3, 60.0, 0.5, 0.3, 1e-3
# of the first bending function of a cantilever, 1 at the tip: beta L, slope at the tip times L
BETA, SLOPE = 1.8751040687, 1.3765055
TEXT = f"""<robot name="mast"><link name="base"/><link name="beam"/>
<joint name="clamp" type="fixed"><parent link="base"/><child link="beam"/></joint>
<flexdyn><gravity>0 0 0</gravity></flexdyn>
<flexdyn reference="beam"><beam length="{L}" mass_per_length="{MU}" EIz="{EI}" EIy="9" GJ="9" EA="9e5"
rotary_inertia_y="0" rotary_inertia_z="0"/><modes bending_y="1"/>
<damping rayleigh_stiffness="{DAMPING}"/><body name="tip"><origin xyz="{BEYOND} 0 0"/>
<mass value="{MASS}"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></body></flexdyn></robot>"""


def test_a_clamped_beam_with_a_mass_beyond_its_tip_swings_as_by_hand():
    """The tip is at (L, d), turned by s d, and the mass at (L + e cos(s d), d + e sin(s d)):
    T = d'^2 (mu L / 4 + m (1 + e^2 s^2 + 2 e s cos(s d))) / 2, and Lagrange's equation of it."""
    robot = flexdyn_ros.load(TEXT, options={"formulation.stiffening": "none"})
    assert robot.v_names == ("beam/bending_y/1",)
    stiffness, slope = MU * L / 4.0 * EI / MU * (BETA / L) ** 4, SLOPE / L
    for d, rate in ((0.07, 0.0), (-0.2, 1.5), (0.35, -2.0)):
        lever = BEYOND * slope
        mass = MU * L / 4.0 + MASS * (1.0 + lever**2 + 2.0 * lever * np.cos(slope * d))
        velocity = -MASS * lever * np.sin(slope * d) * slope * rate**2
        push = 3.0 - velocity - stiffness * (d + DAMPING * rate)
        assert robot.mass_matrix([d])[0, 0] == pytest.approx(mass, rel=1e-6)
        terms = robot.bias_terms([d], [rate])
        assert terms.velocity[0] == pytest.approx(velocity, rel=1e-6, abs=1e-12)
        assert terms.elastic[0] == pytest.approx(stiffness * d, rel=1e-6)
        assert terms.damping[0] == pytest.approx(stiffness * DAMPING * rate, rel=1e-6)
        a = robot.forward_dynamics([d], [rate], [3.0])
        assert a[0] == pytest.approx(push / mass, rel=1e-5)
        assert robot.inverse_dynamics([d], [rate], a)[0] == pytest.approx(3.0, rel=1e-9)
