"""The legs of a platform on a supply of the robot: pumps, lines, accumulators, and what is refused."""

import re

import numpy as np
import pytest
from oil_robots import stewart_on

import flexdyn_ros as fd
from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.simulation import FusedHydraulics, Stepper, ValveOpenings

TEXT = read("stewart_1t").text
FLUID = re.search(r"<fluid [^>]*/>", TEXT)[0]
OPENINGS = np.array([0.3, 0.3, -0.1, 0.2, 0.1, -0.2])
PUMP = '<pump type="{}" displacement="1.2e-5" speed="157" line_volume="2e-3" leakage="1e-12" {}/>'
#: worked numbers O5: line with shut valves, of the three kinds
KINDS = {
    "fixed_displacement": ('relief_pressure="200e5" relief_conductance="2e-9"', "", 20931684.16),
    "constant_pressure": ('pressure="160e5"', 'band="10e5"', 15991671.09),
    "load_sensing": ("", 'band="10e5" margin="20e5" maximum_pressure="250e5"', None),
}


def pumped(kind, more=""):
    of_supply, of_pump, _ = KINDS[kind]
    return fd.load(stewart_on(of_supply, PUMP.format(kind, of_pump) + more))


def test_a_shared_supply_of_constant_pressure_gives_the_runs_of_the_platforms_own():
    tree, alone = fd.load(stewart_on('pressure="160e5"')), fd.load(TEXT)
    assert (tree.kind, alone.kind) == ("tree", "platform")
    assert tree.hydraulics.model.supplies == ("oil",)
    how = {"control": ValveOpenings(OPENINGS), "dt": 1e-3, "method": "staggered"}
    one, other = (fd.simulate(robot, 0.2, **how) for robot in (tree, alone))
    assert np.ptp(other.q, axis=0).max() > 0.01
    assert np.abs(one.q - other.q).max() <= 1e-8


@pytest.mark.parametrize("kind", ["fixed_displacement", "constant_pressure"])
def test_the_line_rests_at_the_worked_pressure(kind):
    robot = pumped(kind)
    states = dict(zip((s.name for s in robot.element_states), Stepper(robot, 1e-3).states, strict=True))
    assert states["oil/pressure"] == pytest.approx(KINDS[kind][2], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", ["", '<accumulator volume="1e-3" precharge="80e5"/>'])
def test_a_pump_feeds_six_legs_and_the_energies_close(kind, more):
    robot = pumped(kind, more)
    stepper = Stepper(robot, 1e-3, "staggered")
    fused = FusedHydraulics(stepper, "valve")
    before = fused.account().stored
    fused.command(OPENINGS)
    assert stepper.advance(300) == 0
    assert np.abs(stepper.q - robot.neutral()).max() > 0.01
    account = fused.account()
    left = account.pump_work - account.piston_work - account.loss - (account.stored - before)
    assert account.pump_work > 100.0
    assert abs(left) < 1e-4 * account.pump_work
    line, cylinders = fused.lines[0], fused.cylinders
    if kind == "load_sensing":
        # oil.md (5): the pump knows the highest chamber that a valve fills, not those of other ports
        filled = np.where(OPENINGS > 0.0, cylinders["pressure_bore"], cylinders["pressure_rod"])
        share = np.clip((filled.max() + 20e5 - line[of.PRESSURE]) / 10e5, 0.0, 1.0)
        assert line[of.PUMP_FLOW] == pytest.approx(1.2e-5 * 157 * share, rel=2e-2, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_force_control_knows_the_pressure_of_the_line_whoever_chooses_the_steps(kind):
    robot, alone = pumped(kind), fd.load("stewart_1t")
    still, tau = np.zeros(6), np.zeros(robot.nu)
    legs = [robot.effort_names.index(f"leg_{n}") for n in range(1, 7)]
    tau[legs] = 1.2 * alone.inverse_dynamics(alone.neutral(), still, still)
    how = {"control": tau, "record": ("energy", "hydraulics")}
    own, fixed = (
        fd.simulate(robot, 0.1, **how, **more) for more in ({}, {"dt": 1e-3, "method": "staggered"})
    )
    assert own.method == "adaptive_staggered"
    assert np.abs(own.hydraulics.force[-1] - fixed.hydraulics.force[-1]).max() < 0.5
    assert np.abs(own.q[-1] - fixed.q[-1]).max() < 3e-5


def test_an_accumulator_drives_legs_whose_pump_stands_still():
    moved = []
    for more in ("", '<accumulator volume="1e-2" precharge="80e5"/>'):
        robot = pumped("constant_pressure", more)
        stepper = Stepper(robot, 1e-3)
        fused = FusedHydraulics(stepper, "valve")
        stepper.set_supply("oil", speed=0.0)
        fused.command(np.full(6, 0.3))
        assert stepper.advance(400) == 0
        moved.append(stepper.q[2] - robot.neutral()[2])
    assert moved[1] > 0.05 > 2.0 * abs(moved[0])


def test_what_is_not_the_legs_own_is_refused():
    cases = {
        ('<supply name="oil"/>', '<supply name="ol"/>'): "there is no supply 'ol'",
        ('<supply name="oil"/>', '<supply name="oil" pressure="1e7"/>'): "'oil' of the robot has pressures",
        ('<supply name="oil"/>', f'<supply name="oil"/>{FLUID}'): "the oil is that of supply 'oil'",
        ('<supply name="oil"/>', '<supply pressure="1e7"/>'): "'tank_pressure' of <supply> is missing",
        ('<supply name="oil"/>', '<supply pressure="1e7" tank_pressure="3e5"/>'): "<fluid> is missing",
    }
    text = stewart_on('pressure="160e5"')
    for (old, new), said in cases.items():
        with pytest.raises(DescriptionError, match=said):
            fd.load(text.replace(old, new))
    alone = re.sub(r'<supply name="oil" tank.*?</supply>', "", text, flags=re.DOTALL)
    with pytest.raises(DescriptionError, match="leg 'leg_1': there is no supply of this name"):
        fd.load(alone)
