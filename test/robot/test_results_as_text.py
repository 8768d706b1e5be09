"""Results that are printed are tables."""

from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.simulation.recordings.topics import station_numbers

ROBOTS = Path(__file__).parents[2] / "urdf"


def test_modes_equilibrium_and_deflection_print_as_tables():
    robot = flexdyn_ros.load("flexible_two_link")
    q = robot.neutral()
    modes = robot.modes(q, lock="joints")
    lines = str(modes).splitlines()
    assert lines[0] == "Modes"
    assert "frequency [Hz]" in lines[1]
    assert f"{modes.frequency[0]:.5g}" in lines[3]
    rest = robot.static_equilibrium(q, hold="joints")
    assert str(rest).startswith("Equilibrium, stable")
    bent = robot.deflections(rest.q, [0.0, 1.0])["link_1"]
    text = str(bent).splitlines()
    assert "moment [N m]" in text[1]
    assert len(text) == 3 + 2
    many = robot.modes(np.tile(q, (3, 1)), lock="joints")
    assert "first of 3 states" in str(many)


def test_rounding_is_printed_as_zero():
    robot = flexdyn_ros.load("canadarm2")
    rest = robot.static_equilibrium(robot.neutral(), hold="joints")
    root = str(robot.deflections(rest.q)["boom_1"]).splitlines()[3].split()
    assert root[1:4] == ["0", "0", "0"]


def test_strains_of_beams_without_a_section_are_unknown():
    robot = flexdyn_ros.load("canadarm2")
    rest = robot.static_equilibrium(robot.neutral(), hold="joints")
    bent = robot.deflections(rest.q)["boom_1"]
    assert np.isnan(bent.strain).all()
    assert np.abs(bent.moment).max() > 1.0
    assert {line.split()[-1] for line in str(bent).splitlines()[3:]} == {"unknown"}
    assert all(np.isfinite(numbers).all() for numbers in station_numbers(bent))


@pytest.mark.parametrize("name", sorted(p.stem for p in ROBOTS.glob("*.urdf")))
def test_views_know_which_strains_are_known(name):
    robot = flexdyn_ros.load(name)
    appearance = appearance_of(robot.description)
    found = robot.deflections(robot.neutral(), [0.0, 0.5])
    for link, bent in found.items():
        assert np.isfinite(bent.strain).all() == appearance.has_strain(link), link
    some = any(map(appearance.has_strain, found))
    assert appearance.shown_quantity("strain") == ("strain" if some else "moment")
    assert appearance.shown_quantity("velocity") == "velocity"
