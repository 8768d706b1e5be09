"""Moments along a flexible link from its mode shapes: how far off they are, as pages and pictures say."""

from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.robot.results import Deflection

PAGE = Path(__file__).parents[3] / "docs" / "families" / "flexible.md"
CANTILEVER = """<robot name="cantilever"><link name="base"/><link name="beam"/><link name="tip"/>
<joint name="clamp" type="fixed"><parent link="base"/><child link="beam"/></joint>
<joint name="end" type="fixed"><parent link="beam"/><child link="tip"/><origin xyz="1 0 0"/></joint>
<flexdyn><gravity>0 0 0</gravity></flexdyn><flexdyn reference="beam">
<beam length="1" mass_per_length="0.3" EIy="100" EIz="100"/><modes bending_z="{modes}"/></flexdyn></robot>"""
#: percent that the moment at the root is off by, with so many modes
OFF = {1: 14, 2: 4, 3: 2, 5: 1}


@pytest.mark.parametrize("modes", OFF)
def test_the_moment_at_the_root_of_a_cantilever_is_off_by_what_the_page_says(modes):
    robot = flexdyn_ros.load(CANTILEVER.format(modes=modes))
    load = {"tip": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0])}
    rest = robot.static_equilibrium(wrenches=load)
    shape = robot.deflections(rest.q)["beam"]
    # a force of 1 N downwards at 1 m bends the root about +y
    assert 100.0 * abs(shape.moment[0, 1] - 1.0) == pytest.approx(OFF[modes], abs=0.5)
    # the displacement is much better: F L^3 / 3 EI
    assert shape.displacement[-1, 2] == pytest.approx(-1.0 / 300.0, rel=0.03 if modes == 1 else 0.006)


def test_page_and_docstrings_say_that_moments_are_those_of_the_mode_shapes():
    text = PAGE.read_text()
    assert "14 % with one eigenfunction, 4 % with two, 2 % with three and 1 % with five" in " ".join(
        text.split()
    )
    for about in (Deflection.__doc__, flexdyn_ros.Robot.deflections.__doc__):
        assert "those of the mode shapes" in " ".join(about.split())


def test_scales_of_colours_say_what_moments_come_from():
    from flexdyn_ros.expanded.appearance import labelled

    assert labelled("moment") == "moment, from mode shapes"
    assert labelled("displacement") == "displacement"
