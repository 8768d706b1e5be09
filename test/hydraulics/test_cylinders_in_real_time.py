"""Cylinders that are ticked with lengths and rates from elsewhere, with the supplies that they share."""

import numpy as np
import pytest
from oil_robots import stewart_on

import flexdyn_ros
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.simulation import FusedHydraulics, Stepper

#: worked numbers O5: line with shut valves
AT_REST = {"fixed_displacement": 20931684.16, "constant_pressure": 15991671.09}
PUMP = '<pump type="{}" displacement="1.2e-5" speed="157" line_volume="2e-3" leakage="1e-12" {}/>'
TEXT = {
    "fixed_displacement": stewart_on(
        'relief_pressure="200e5" relief_conductance="2e-9"', PUMP.format("fixed_displacement", "")
    ),
    "constant_pressure": stewart_on('pressure="160e5"', PUMP.format("constant_pressure", 'band="10e5"')),
}
TANK = 3e5
OPENINGS = np.array([0.3, 0.3, -0.1, 0.2, 0.1, -0.2])


def held(kind):
    robot = flexdyn_ros.load(TEXT[kind])
    still, home = np.zeros(6), robot.hydraulics.model.home
    return Cylinders(robot.hydraulics, robot.hydraulics.initial(still, home)), home, still


@pytest.mark.parametrize("kind", AT_REST)
def test_lines_begin_with_their_valves_shut_and_fill_what_a_valve_opens(kind):
    """Of a cylinder that does not move one chamber has the pressure of the line, the other the tank's."""
    cylinders, home, still = held(kind)
    (line,) = cylinders.lines
    assert line[of.PRESSURE] == pytest.approx(AT_REST[kind], rel=1e-9)
    openings = np.array([0.5, -0.5] * 3)
    for _ in range(1000):
        assert cylinders.tick(home, still, openings, 1e-3) == 0
    full = np.where(openings > 0.0, cylinders["pressure_bore"], cylinders["pressure_rod"])
    empty = np.where(openings > 0.0, cylinders["pressure_rod"], cylinders["pressure_bore"])
    # a little leaks along the piston, from the one to the other
    assert 0.95 * AT_REST[kind] < line[of.PRESSURE] < AT_REST[kind]
    assert (full < line[of.PRESSURE]).all()
    assert (full > 0.95 * line[of.PRESSURE]).all()
    assert empty == pytest.approx(TANK, abs=2e4)


@pytest.mark.parametrize("kind", AT_REST)
def test_a_line_whose_pump_stands_still_drains_and_sooner_by_a_leak_of_one_cylinder(kind):
    left = []
    for leakage in (0.0, 1e-12):
        cylinders, home, still = held(kind)
        cylinders.set_supply("oil", speed=0.0)
        cylinders.set_leakage("leg_4", leakage)
        for _ in range(500):
            assert cylinders.tick(home, still, np.full(6, 0.3), 1e-3) == 0
        left.append(cylinders.lines[0, of.PRESSURE])
    assert left[1] < left[0] < 0.9 * AT_REST[kind]


@pytest.mark.parametrize("kind", AT_REST)
def test_cylinders_that_see_the_motion_of_a_simulation_have_its_pressures(kind):
    robot = flexdyn_ros.load(TEXT[kind])
    stepper = Stepper(robot, 1e-3, "staggered")
    fused = FusedHydraulics(stepper, "valve")
    fused.command(OPENINGS)
    beside = Cylinders(robot.hydraulics, fused.state())
    places, off, seen = fused.places, [], []
    for _ in range(200):
        motion = robot.functions.effort_motion(stepper.q, stepper.v)
        assert beside.tick(*(np.ascontiguousarray(x[places]) for x in motion), OPENINGS, 1e-3) == 0
        assert stepper.advance(1) == 0
        seen.append(fused.cylinders["force"].copy())
        off.append(beside["force"] - seen[-1])
        assert beside.lines[0, of.PRESSURE] == pytest.approx(fused.lines[0, of.PRESSURE], rel=1e-3)
    # motion and oil take turns: no more than a step apart
    assert np.abs(off).max() < np.abs(np.diff(seen, axis=0)).max()


@pytest.mark.parametrize(("mode", "size"), [("valve", 0.5), ("force", 5e3)])
@pytest.mark.parametrize("speeds_up", [False, True])
def test_ticks_of_cylinders_on_supplies_of_their_own_are_steps_without_a_copy(mode, size, speeds_up):
    hydraulics = flexdyn_ros.load("stewart_1t").hydraulics
    rng = np.random.default_rng(1)
    state = hydraulics.initial(rng.uniform(-5e3, 5e3, 6))
    cylinders = Cylinders(hydraulics, None)
    cylinders.set_state(state)
    for _ in range(5):
        motion = (hydraulics.model.home + rng.uniform(0.0, 0.1, 6), rng.uniform(-0.1, 0.1, 6))
        given = {"accelerations": rng.uniform(-1.0, 1.0, 6)} if speeds_up else {}
        command = size * rng.uniform(-1.0, 1.0, 6)
        assert cylinders.tick(*motion, command, 1e-3, force=mode == "force", **given) == 0
        state = hydraulics.step(state, *motion, command, 1e-3, mode=mode, **given)
        for found, expected in zip(cylinders.state(), state, strict=True):
            np.testing.assert_array_equal(found, expected)
