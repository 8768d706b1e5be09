"""Parts of the cylinder that the specification's acceptance table leaves out: each has a test of its own."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hydraulic_cylinders import SHORTEST, STROKE, Mass, at_pressures, cylinder, record, step

import flexdyn_ros
from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError, DimensionError, StateError, UnknownNameError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels import memory
from flexdyn_ros.multibody.elements.cylinder.parameters import leg_parameters

BAR = 1e5


def settled_flow(hydraulics, p1, p2, x, y=0.3):
    """Flows into both chambers with the spool at x, at once."""
    state = at_pressures(hydraulics, p1, p2, y)._replace(spool=np.array([x]), slewed_command=np.array([x]))
    after = step(hydraulics, state, y, 0.0, x, 1e-12)
    return after.flow_bore[0], after.flow_rod[0]


# ---- valve ----


def test_rated_flow_of_an_edge_and_of_the_whole_valve_differ_by_root_two():
    edge = settled_flow(cylinder(), 160 * BAR - 35e5, 60 * BAR, 1.0)[0]
    whole = settled_flow(cylinder(valve={"rating": "valve"}), 160 * BAR - 35e5, 60 * BAR, 1.0)[0]
    assert edge == pytest.approx(40e-3 / 60, rel=1e-5)
    assert whole == pytest.approx(np.sqrt(2) * edge, rel=1e-9)


def test_flow_runs_backwards_through_an_open_edge_where_the_chamber_exceeds_the_supply():
    bore, rod = settled_flow(cylinder(), 180 * BAR, 60 * BAR, 0.5)
    assert bore < 0.0
    assert rod < 0.0


def test_flow_ratio_is_that_of_rod_and_bore_side():
    wide = settled_flow(cylinder(valve={"flow_ratio": 0.5}), 60 * BAR, 60 * BAR, 1.0)
    plain = settled_flow(cylinder(), 60 * BAR, 60 * BAR, 1.0)
    assert wide[0] == plain[0]
    assert wide[1] == pytest.approx(0.5 * plain[1], rel=1e-9)


def test_overlap_is_a_dead_band_of_the_spool():
    lapped = cylinder(valve={"overlap": 0.05})
    for x in (-0.05, -0.02, 0.0, 0.03, 0.05):
        assert settled_flow(lapped, 60 * BAR, 60 * BAR, x) == (0.0, 0.0)
    expected = settled_flow(cylinder(), 60 * BAR, 60 * BAR, 0.25)
    np.testing.assert_allclose(settled_flow(lapped, 60 * BAR, 60 * BAR, 0.30), expected, rtol=1e-9)
    state = at_pressures(lapped, 60 * BAR, 100 * BAR)
    for _ in range(100):
        after = step(lapped, state, 0.3, 0.0, 0.04)
    assert after.pressure_bore[0] == pytest.approx(60 * BAR, rel=1e-3)  # the leak between chambers only


def test_null_opening_leaks_from_supply_to_tank_and_centres_the_pressures():
    leaky = cylinder(valve={"null_opening": 0.01}, leakage={"internal": 0.0})
    state = at_pressures(leaky, 20 * BAR, 150 * BAR)
    for _ in range(3000):
        state = step(leaky, state, 0.3, 0.0, 0.0)
    for p in (state.pressure_bore[0], state.pressure_rod[0]):
        assert p == pytest.approx(0.5 * (160 + 3) * BAR, rel=1e-3)


def test_slew_rate_limits_the_command_that_the_spool_sees():
    slow = cylinder(valve={"slew_rate": 20.0, "natural_frequency_hz": 2000.0})
    state = at_pressures(slow, 60 * BAR, 60 * BAR)
    for k in range(1, 31):
        state = step(slow, state, 0.3, 0.0, 0.5)
        assert state.slewed_command[0] == pytest.approx(min(0.5, 0.02 * k), abs=1e-12)
    assert state.spool[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("damping", [0.4, 1.0, 1.7])
def test_the_spool_moves_exactly_whatever_the_step(damping):
    valve = cylinder(valve={"damping_ratio": damping})
    once = step(valve, at_pressures(valve, 60 * BAR, 60 * BAR), 0.3, 0.0, 0.7, 8e-3)
    often = at_pressures(valve, 60 * BAR, 60 * BAR)
    for _ in range(8):
        often = step(valve, often, 0.3, 0.0, 0.7)
    np.testing.assert_allclose(once.spool, often.spool, rtol=1e-12)
    np.testing.assert_allclose(once.spool_rate, often.spool_rate, rtol=1e-9, atol=1e-9)


def test_a_first_order_spool_lags_by_its_time_constant():
    valve = {"natural_frequency_hz": None, "damping_ratio": None, "time_constant": 0.01}
    state = at_pressures(lagging := cylinder(valve=valve), 60 * BAR, 60 * BAR)
    for _ in range(10):
        state = step(lagging, state, 0.3, 0.0, 1.0)
    assert state.spool[0] == pytest.approx(1.0 - np.exp(-1.0), rel=1e-12)


def test_bits_of_flags_are_those_of_the_message():
    text = (Path(__file__).parents[2] / "flexdyn_interfaces/msg/HydraulicState.msg").read_text()
    bits = {name: int(value) for name, value in re.findall(r"^uint32 (\w+)=(\d+)", text, re.MULTILINE)}
    assert {name: getattr(memory, name) for name in bits} == bits


def test_a_valve_command_beyond_its_range_is_clamped_and_said():
    state = step(h := cylinder(), at_pressures(h, 60 * BAR, 60 * BAR), 0.3, 0.0, 1.5)
    assert state.valve_command[0] == 1.0
    assert int(state.flags[0]) & 1


def test_pressures_a_quarter_above_the_supply_and_ends_of_the_stroke_are_said():
    h, S = cylinder(leakage=None), STROKE
    over = [(199, 50, 0.3, 0), (50, 199, 0.3, 0), (201, 50, 0.3, 16), (50, 201, 0.3, 16), (201, 0.2, 0.3, 24)]
    ends = [(50, 60, 0.0, 2), (50, 60, 1e-6, 0), (50, 60, S, 4), (50, 60, S - 1e-6, 0), (201, 50, 0.0, 18)]
    for p1, p2, y, flags in over + ends:
        state = step(h, at_pressures(h, p1 * BAR, p2 * BAR, y), y, 0.0, 0.0, 1e-9)
        assert int(state.flags[0]) == flags, (p1, p2, y)


@pytest.mark.parametrize(("u", "other"), [(0.5, 0), (1.5, 1)])
def test_a_tick_whose_finest_steps_are_not_exact_enough_says_so(u, other):
    """No step meets a tolerance below rounding."""
    pressures = []
    for h, flags in ((cylinder(), 0), (cylinder().with_tolerances(1e-14, 1e-12), 256)):
        state = step(h, at_pressures(h, 40 * BAR, 70 * BAR), 0.3, 0.1, u)
        assert int(state.flags[0]) == flags + other
        pressures.append(state.pressure_bore[0])
    assert pressures[0] == pytest.approx(pressures[1], abs=0.05 * BAR)


# ---- chambers ----


@pytest.mark.parametrize("v", [0.05, -0.05])
def test_flows_are_what_chambers_take_once_pressures_stand(v):
    h = cylinder(friction=None, leakage={"internal": 0.0})
    state = at_pressures(h, 60 * BAR, 60 * BAR)
    for k in range(1500):
        state = step(h, state, 0.3 + v * 1e-3 * k, v, np.sign(v) * 0.3)
    assert state.flow_bore[0] == pytest.approx(h.model.column("bore_area")[0] * v, rel=1e-3)
    assert state.flow_rod[0] == pytest.approx(-h.model.column("rod_area")[0] * v, rel=1e-3)


def test_relief_valve_holds_the_pressure_near_its_setting():
    supply = {"relief_pressure": 180e5, "relief_conductance": 1e-9}
    highest = {}
    for name, changes in (("without", {}), ("with", {"supply": supply})):
        state = at_pressures(h := cylinder(**changes), 80 * BAR, 80 * BAR)
        highest[name] = 0.0
        for k in range(300):
            state = step(h, state, 0.4 - 0.3e-3 * k, -0.3, 0.0)
            highest[name] = max(highest[name], state.pressure_bore[0])
    A1 = cylinder().model.column("bore_area")[0]
    assert highest["without"] > 400 * BAR
    assert highest["with"] == pytest.approx(180e5 + A1 * 0.3 / 1e-9, rel=0.02)


def test_make_up_valve_keeps_a_chamber_from_cavitating():
    flags = {}
    for conductance in (0.0, 3e-6):
        state = at_pressures(h := cylinder(supply={"makeup_conductance": conductance}), 20 * BAR, 20 * BAR)
        flags[conductance] = 0
        for k in range(500):
            state = step(h, state, 0.1 + 0.4e-3 * k, 0.4, 0.0)
            flags[conductance] |= int(state.flags[0])
    assert flags[0.0] & 8
    assert not flags[3e-6] & 8


def test_external_leakage_empties_a_chamber_to_tank_pressure():
    leaky = cylinder(leakage={"internal": 0.0, "external_bore": 3e-11, "external_rod": 0.0})
    state = at_pressures(leaky, 60 * BAR, 80 * BAR)
    for _ in range(2000):
        state = step(leaky, state, 0.3, 0.0, 0.0)
    assert state.pressure_bore[0] == pytest.approx(3 * BAR, rel=1e-3)
    assert state.pressure_rod[0] == pytest.approx(80 * BAR, rel=1e-9)


def test_a_cushion_brakes_the_piston_before_the_end():
    speeds = {}
    for cushion in (None, {"length": 0.05, "minimum": 0.02}):
        mass = Mass(h := cylinder(cushion=cushion), 300.0, at_pressures(h, 60 * BAR, 60 * BAR), y=0.15, v=0.0)
        while mass.y > 0.002:
            mass.step(-0.6)
        speeds[cushion is None] = abs(mass.v)
    assert speeds[False] < 0.3 * speeds[True]


def test_a_cushion_throttles_what_leaves_only():
    cushioned = cylinder(cushion={"length": 0.05, "minimum": 0.1})
    plain = settled_flow(cylinder(), 60 * BAR, 60 * BAR, -0.5, y=0.025)
    throttled = settled_flow(cushioned, 60 * BAR, 60 * BAR, -0.5, y=0.025)
    assert throttled[0] == pytest.approx((0.1 + 0.9 * 0.5) * plain[0], rel=1e-9)
    assert throttled[1] == pytest.approx(plain[1], rel=1e-9)
    assert settled_flow(cushioned, 60 * BAR, 60 * BAR, 0.5, y=0.025) == settled_flow(
        cylinder(), 60 * BAR, 60 * BAR, 0.5, y=0.025
    )


@pytest.mark.parametrize("v", [0.25, -0.25])
def test_forces_out_of_reach_are_those_beyond_what_the_open_valve_ends_at(v):
    """Pushed or braked by the valve at this speed; make-up valves fill what tank pressure leaves hollow."""
    h = cylinder(
        friction=None,
        leakage={"internal": 0.0},
        supply={"makeup_conductance": 3e-6},
        valve={"flow_ratio": 0.6},
    )
    for x in (1.0, -1.0):
        state = at_pressures(h, 60 * BAR, 60 * BAR)._replace(
            spool=np.array([x]), slewed_command=np.array([x])
        )
        for k in range(150):
            state = step(h, state, 0.3 + v * 1e-3 * k, v, x)
        for off, flagged in ((100.0, True), (-100.0, False)):
            after = step(h, state, 0.3, v, state.force_hydraulic[0] + x * off, mode="force")
            assert bool(int(after.flags[0]) & memory.FORCE_UNREACHABLE) == flagged, (x, off)


# ---- friction and stops ----


def test_stribeck_friction_has_the_curve_of_the_specification():
    h = cylinder()
    for v in (-0.3, -0.02, 0.0, 0.004, 0.1):
        state = step(h, at_pressures(h, 60 * BAR, 60 * BAR), 0.3, v, 0.0, 1e-9)
        expected = (250 + 150 * np.exp(-((v / 0.02) ** 2))) * np.tanh(v / 0.002) + 600 * v
        assert state.force_friction[0] == pytest.approx(expected, abs=1e-9)
        assert state.force[0] == pytest.approx(
            state.force_hydraulic[0] - state.force_friction[0] + state.force_stop[0], abs=1e-9
        )


LUGRE = {"model": "lugre", "bristle_stiffness": 1e6, "bristle_damping": 1e3}


@pytest.mark.parametrize("v", [0.3, 0.015])
def test_lugre_friction_is_exact_at_constant_velocity_and_ends_on_the_stribeck_curve(v):
    h = cylinder(friction=LUGRE)
    level = 250 + 150 * np.exp(-((v / 0.02) ** 2))
    coarse, fine = at_pressures(h, 60 * BAR, 60 * BAR), at_pressures(h, 60 * BAR, 60 * BAR)
    for k in range(5):
        coarse = step(h, coarse, 0.2 + v * 1e-3 * k, v, 0.0)
        for i in range(10):
            fine = step(h, fine, 0.2 + v * (1e-3 * k + 1e-4 * i), v, 0.0, 1e-4)
        z = level / 1e6 * (1.0 - np.exp(-1e6 * v / level * 1e-3 * (k + 1)))
        assert coarse.bristle[0] == pytest.approx(z, rel=1e-12)
        np.testing.assert_allclose(coarse.bristle, fine.bristle, rtol=1e-9)
    coarse = step(h, coarse, 0.2, v, 0.0, 1.0)
    assert coarse.bristle[0] == pytest.approx(level / 1e6, rel=1e-12)
    assert coarse.force_friction[0] == pytest.approx(level + 600 * v, rel=1e-9)
    resting = step(h, at_pressures(h, 60 * BAR, 60 * BAR), 0.3, 0.0, 0.0)
    assert resting.force_friction[0] == 0.0
    # bristles that have not bent yet only damp
    just = step(h, at_pressures(h, 60 * BAR, 60 * BAR), 0.3, v, 0.0, 1e-9)
    assert just.force_friction[0] == pytest.approx((1e3 + 600) * v, rel=1e-5)


def test_bristles_that_hold_nothing_leave_the_viscous_friction_alone():
    h = cylinder(friction={**LUGRE, "coulomb": 0.0, "static": 0.0})
    for v in (0.3, -0.015):
        state = at_pressures(h, 60 * BAR, 60 * BAR)
        for k in range(3):
            state = step(h, state, 0.3 + v * 1e-3 * k, v, 0.0)
        assert state.bristle[0] == 0.0
        assert state.force_friction[0] == pytest.approx(600 * v, rel=1e-12)


def test_bristles_without_damping_are_springs():
    """Before they have bent nothing resists; after a stroke that is short for them, sigma0 times it does."""
    h = cylinder(friction={**LUGRE, "bristle_damping": 0.0, "viscous": 0.0})
    just = step(h, at_pressures(h, 60 * BAR, 60 * BAR), 0.3, 0.3, 0.0, 1e-12)
    assert just.force_friction[0] == pytest.approx(1e6 * 0.3e-12, rel=1e-6)
    bent = step(h, at_pressures(h, 60 * BAR, 60 * BAR), 0.3, -0.3, 0.0, 1e-9)
    assert bent.force_friction[0] == pytest.approx(-1e6 * 0.3e-9, rel=1e-5)


def test_an_end_stop_pushes_inside_and_gives_back_the_restitution_of_hunt_and_crossley():
    """Restitution is about 1 - d_e times the speed of impact."""
    # chambers so soft that only the stop counts
    h = cylinder(friction=None).with_parameters(valve_bore=0.0, valve_rod=0.0, bulk_modulus=1e3, air=0.0)
    for side in (1.0, -1.0):
        start = 0.0 if side < 0 else STROKE
        mass = Mass(h, 100.0, at_pressures(h, BAR, BAR), y=start - side * 1e-4, v=side * 0.2)
        equal = h.with_parameters(bore_area=1e-9, rod_area=1e-9)
        mass.hydraulics, mass.state = equal, at_pressures(equal, BAR, BAR)
        flags = 0
        for _ in range(6000):
            mass.step(0.0, 2e-5)
            flags |= int(mass.state.flags[0])
            assert mass.state.force_stop[0] * side <= 0.0
        assert flags == (4 if side > 0 else 2)
        assert -mass.v * side / 0.2 == pytest.approx(1.0 - 0.5 * 0.2, abs=0.02)


# ---- the object ----


def test_initial_pressures_carry_the_force_and_say_when_they_cannot():
    h = cylinder(6)
    tau = np.array([-20e3, -5e3, 0.0, 2260.0, 20e3, 60e3])
    state = h.initial(tau)
    np.testing.assert_allclose(state.force[1:5], tau[1:5], atol=1e-6)
    assert (state.flags == [512, 0, 0, 0, 0, 512]).all()
    assert (state.pressure_bore >= 3 * BAR - 1e-6).all()
    assert (state.pressure_rod <= 160 * BAR + 1e-6).all()
    assert state.stroke == pytest.approx(np.full(6, 0.3))


def test_a_step_does_not_touch_the_state_it_is_given_and_batches_equal_single_calls():
    h = cylinder(6)
    state = h.initial(np.linspace(0, 5e3, 6))
    before = [array.copy() for array in state]
    L, u = np.random.default_rng(0).uniform([1.2], [1.6], (4, 6)), np.linspace(-1, 1, 24).reshape(4, 6)
    batch = h.step(state, L, np.full(6, 0.1), u, 1e-3)
    for a, b in zip(state, before, strict=True):
        np.testing.assert_array_equal(a, b)
    for i in range(4):
        single = h.step(state, L[i], np.full(6, 0.1), u[i], 1e-3)
        for name in state._fields:
            np.testing.assert_array_equal(getattr(batch, name)[i], getattr(single, name))


def test_wrong_arguments_are_named():
    h = cylinder(6)
    state, L, z = h.initial(np.zeros(6)), np.full(6, 1.4), np.zeros(6)
    with pytest.raises(DimensionError, match="lengths has shape"):
        h.step(state, L[:5], z, z, 1e-3)
    with pytest.raises(StateError, match=r"rates\[2\] is nan"):
        h.step(state, L, np.where(np.arange(6) == 2, np.nan, 0.0), z, 1e-3)
    with pytest.raises(StateError, match="dt is 0"):
        h.step(state, L, z, z, 0.0)
    with pytest.raises(UnknownNameError, match="mode"):
        h.step(state, L, z, z, 1e-3, mode="position")
    with pytest.raises(UnknownNameError, match="bulk_modulus"):
        h.with_parameters(bulk_moduls=1.0)


def test_hydraulics_pickle():
    h = cylinder(6)
    state = pickle.loads(pickle.dumps(h)).initial(np.ones(6))
    np.testing.assert_array_equal(state.pressure_bore, h.initial(np.ones(6)).pressure_bore)


# ---- from a description ----


def test_a_platform_has_its_hydraulics_as_an_attribute():
    robot = pickle.loads(pickle.dumps(flexdyn_ros.load("stewart_1t")))
    assert robot.hydraulics.names == robot.effort_names
    assert robot.hydraulics is robot.hydraulics
    static = robot.inverse_dynamics(robot.neutral(), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(robot.hydraulics.initial(static).force, static, rtol=1e-9)
    electric = flexdyn_ros.load("stewart_1t", options={"platform.hydraulics": None})
    assert electric.hydraulics is None


def test_the_shipped_platform_has_the_cylinders_of_the_specification():
    h = Hydraulics.of(read("stewart_1t"))
    assert h.names == tuple(f"leg_{i}" for i in range(1, 7))
    np.testing.assert_allclose(h.model.home, 1.4, atol=1e-8)
    expected = leg_parameters(record(), SHORTEST, STROKE)
    np.testing.assert_allclose(h.model.parameters, np.tile(expected, (6, 1)), rtol=1e-12)
    assert h.model.column("bore_area")[0] == pytest.approx(19.635e-4, rel=1e-4)
    assert h.model.column("rod_area")[0] == pytest.approx(9.4562e-4, rel=1e-4)
    assert h.model.column("valve_bore")[0] == pytest.approx(3.5635e-7, rel=1e-4)


def test_a_tree_has_no_hydraulics_and_a_single_leg_may_have_its_own():
    assert Hydraulics.of(read("seven_joint_arm")) is None
    d = read("stewart_1t")
    legs = list(d.platform.legs)
    legs[1] = replace(legs[1], hydraulics=record(cylinder={"bore": 0.063}))
    other = Hydraulics.of(replace(d, platforms=(replace(d.platform, legs=tuple(legs)),)))
    assert other.model.column("bore_area")[1] > other.model.column("bore_area")[0]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"fluid": {"air_fraction": 1.0}}, "air_fraction"),
        ({"fluid": {"polytropic_exponent": 0.9}}, "polytropic_exponent"),
        ({"fluid": {"cavitation_pressure": 4e5}}, "cavitation_pressure"),
        ({"supply": {"relief_pressure": 2e5}}, "relief_pressure"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_the_leg(change, text):
    d = read("stewart_1t")
    legs = list(d.platform.legs)
    legs[3] = replace(legs[3], hydraulics=record(**change))
    with pytest.raises(DescriptionError, match=rf"leg_4.*{text}"):
        Hydraulics.of(replace(d, platforms=(replace(d.platform, legs=tuple(legs)),)))
    legs[3] = replace(legs[3], hydraulics=None)
    with pytest.raises(DescriptionError, match=r"leg_4.*no hydraulics"):
        Hydraulics.of(replace(d, platforms=(replace(d.platform, legs=tuple(legs)),)))
