"""A solid rod as a section, by the formulas of docs/how-to/where_things_go.md, against a beam."""

import numpy as np
import pytest

import flexdyn_ros

E, R, LENGTH = 0.6e6, 0.015, 0.18
AREA, INERTIA = np.pi * R**2, np.pi * R**4 / 4
ROD = """
<robot name="rod">
  <link name="base"/>
  <link name="tip"><inertial><mass value="1e-3"/>
    <inertia ixx="1e-7" ixy="0" ixz="0" iyy="1e-7" iyz="0" izz="1e-7"/></inertial></link>
  <joint name="rod" type="fixed"><parent link="base"/><child link="tip"/><origin xyz="0 0 {length}"/></joint>
  <flexdyn><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="rod">
    <section length="{length}" radius="{r}" disc_radius="{R}" mass="0.137" stiffness="{k}"
             bending_stiffness="{K_b}" damping="5" lower="-0.03" upper="0.03"/>
  </flexdyn>
</robot>
"""


@pytest.fixture(params=[R / np.sqrt(2), 0.008], ids=["on the rod's own circle", "on a smaller circle"])
def rod(request):
    r, k = request.param, E * AREA / (3 * LENGTH)
    K_b = 4 * (E * INERTIA / LENGTH - 1.5 * k * r**2)
    return flexdyn_ros.load(ROD.format(length=LENGTH, R=R, r=r, k=k, K_b=max(K_b, 0.0)))


def test_it_stretches_like_its_material(rod):
    rest = rod.static_equilibrium(rod.neutral(), wrenches={"tip": [0, 0, 0, 0, 0, 1.0]})
    assert rest.q == pytest.approx(np.full(3, LENGTH / (E * AREA)), rel=1e-9)


def test_it_bends_like_its_material(rod):
    moment = 0.02
    rest = rod.static_equilibrium(rod.neutral(), wrenches={"tip": [0, moment, 0, 0, 0, 0]})
    tip = rod.frames(rest.q, "tip")
    # a pure moment: an arc of curvature M / EI, however large the angle
    assert np.arctan2(tip[0, 2], tip[2, 2]) == pytest.approx(moment * LENGTH / (E * INERTIA), rel=1e-9)


def test_an_actuator_that_pulls_shortens(rod):
    rest = rod.static_equilibrium(rod.neutral(), tau=rod.efforts({"rod/actuator_1": -1.0}))
    assert rest.q[0] < 0.0
