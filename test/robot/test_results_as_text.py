"""Results that are printed are tables."""

import numpy as np

import flexdyn_ros


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
