"""When a changed robot counts as the one that loading gives."""

import pytest

import flexdyn_ros
from flexdyn_ros.studies.parameters import quick_paths

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial><origin xyz="0.5 0.1 0"/>
<mass value="{mass!r}"/>
<inertia ixx="{small!r}" ixy="0" ixz="0" iyy="{large!r}" iyz="0" izz="{large!r}"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
<flexdyn><gravity>0 0 -9.81</gravity></flexdyn></robot>"""
MASS = "urdf.links.rod.inertial.mass.value"


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("off", "counts"), [(0.0, True), (1e-13, True), (1e-11, False), (1e-9, False)])
def test_a_changed_robot_is_one_that_loads_if_their_numbers_are_close_whatever_their_size(size, off, counts):
    """To 1e-12 of each."""

    def pendulum(mass):
        return flexdyn_ros.load(PENDULUM.format(mass=mass, small=0.01 * size, large=0.04 * size))

    asked = []

    def loaded(given):
        asked.append(given)
        return pendulum(given[MASS] * (1.0 + off))

    trials = [{MASS: 1.5 * size}, {MASS: 0.7 * size}]
    found = quick_paths(pendulum(size), trials, loaded)
    assert found == (frozenset({MASS}) if counts else frozenset())
    assert asked[0] == trials[0]
