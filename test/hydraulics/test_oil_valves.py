"""Counterbalance valves, compensators, what a pump senses; and circuits under stress."""

import numpy as np
import pytest
from hydraulic_cylinders import at_pressures, cylinder, step
from oil_circuits import AREAS, BAR, HELD, PUMPS, SENSING, Circuit, K, rates_of
from scipy.linalg import expm

from flexdyn_ros.multibody.elements.cylinder.kernels import edges, pumps, spool
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import decide

# ---- valves ----


def test_a_shut_counterbalance_valve_is_tight_where_the_spool_leaks():
    leaky = {"null_opening": 0.05, "supply_index": 0}
    for held in (False, True):
        c = Circuit([leaky | ({"counterbalance_bore": K, "cracking_bore": 300e5} if held else {})])
        c.rest(0.2, 0.0).set_pressures(200 * BAR, 20 * BAR)
        c.tick(1e-3)
        before = c["oil_bore"][0]
        for _ in range(100):
            c.tick(1e-3)
        assert bool(c["oil_bore"][0] == before) is held


def test_a_counterbalance_valve_lets_inflow_pass():
    free, held = (Circuit([c]).P for c in ({}, {"counterbalance_bore": 0.1 * K, "cracking_bore": 300e5}))
    inflow, outflow = (rates_of(free, 160e5, x, 0.2, 50e5, 20e5)[0][0] for x in (0.5, -0.5))
    assert rates_of(held, 160e5, 0.5, 0.2, 50e5, 20e5)[0][0] == inflow > 0.0
    assert rates_of(held, 160e5, -0.5, 0.2, 50e5, 20e5)[0][0] == 0.0 > outflow


def test_the_pilot_of_a_counterbalance_valve_is_the_other_chamber():
    valve = (90e5, 4.0, K, 20e5)
    own = edges.counterbalance(3e5, valve, 60e5, 15e5)
    assert own[0] == pytest.approx(K * (57e5 + 4.0 * 12e5 - 90e5) / 20e5)
    assert own[2] == pytest.approx(4.0 * own[1])


def test_flow_of_a_compensated_edge_does_not_depend_on_the_load():
    P = Circuit([{"compensation": 15e5}]).P
    flows = [
        edges.spool_port(P, 160e5, K, 0.5, 0.0, 1.0, (0.0, 0.0, 0.0, 1.0), p, 20e5)[0] for p in (20e5, 140e5)
    ]
    assert flows[0] == flows[1] == pytest.approx(0.5 * K * np.sqrt(15e5), rel=1e-4)
    # below its setting the edge is an ordinary one
    low = edges.spool_port(P, 160e5, K, 0.5, 0.0, 1.0, (0.0, 0.0, 0.0, 1.0), 155e5, 20e5)[0]
    assert low == pytest.approx(0.5 * K * np.sqrt(5e5), rel=1e-3)


def test_the_relief_valve_of_a_line_opens_at_its_pressure():
    """Flows within a pascal of it, and the slope of their sum by differences."""
    S = Circuit([{}], [PUMPS["fixed displacement"]]).S
    opens, k, leak = 200e5, 2e-9, 1e-12
    for above in (-0.5, 0.5, 3.0, 40e5):
        found = pumps.line_losses(S, opens + above)
        assert found[0] == pytest.approx(leak * (opens + above - 3e5), rel=1e-12)
        assert found[1] == pytest.approx(k * max(above, 0.0), rel=1e-6)
        sums = [sum(pumps.line_losses(S, opens + above + h)[:2]) for h in (-0.25, 0.25)]
        assert found[2] == pytest.approx((sums[1] - sums[0]) / 0.5, rel=1e-5)


@pytest.mark.parametrize("pump", [{}, *PUMPS.values()], ids=["ideal", *PUMPS])
def test_ticks_whose_finest_steps_are_not_exact_enough_say_so(pump):
    """No step meets a tolerance below rounding; nor does that of a line, where there is one."""
    for rtol, flags in ((None, 0.0), (1e-17, 256.0)):
        slow = {"spool_frequency": 300.0, "spool_damping": 0.8, "supply_index": 0}
        c = Circuit([slow] * 2, [pump], rtol=rtol).rest([0.2, 0.1], [8e3, 5e3])
        c.v[:], c.commands[:] = 0.02, (0.3, -0.2)
        c.tick(1e-3)
        assert c["flags"] == pytest.approx(flags)
        assert c["supply_flags"] == (flags if pump else 0.0)


VALVES = {
    "plain": {},
    "compensated": {"compensation": 15e5},
    "cushioned": {"cushion_length": 0.05, "cushion_minimum": 0.2},
    "held": {"counterbalance_bore": 0.3 * K, "counterbalance_rod": 0.5 * K, "cracking_bore": 90e5,
             "cracking_rod": 60e5, "pilot_bore": 4.0, "pilot_rod": 0.5, "range_bore": 200e5,
             "range_rod": 300e5},
    "leaking": {"leak_internal": 1e-12, "leak_bore": 2e-12, "leak_rod": 3e-12},
    "checked": {"makeup": 1e-7, "relief_pressure": 120e5, "relief": 2e-12},
}  # fmt: skip


@pytest.mark.parametrize("valve", VALVES.values(), ids=VALVES)
def test_slopes_of_what_enters_the_chambers_are_its_derivatives(valve):
    P, rng = Circuit([{"null_opening": 0.1, "transition": 5e5} | valve]).P, np.random.default_rng(3)
    for _ in range(20):
        x, y, at_pressures = rng.uniform(-1, 1), rng.uniform(0, 0.4), rng.uniform([100e5, 1e5, 1e5], 200e5)

        def found(move, x=x, y=y, at_pressures=at_pressures):
            ps, p1, p2 = at_pressures + move
            return np.array(rates_of(P, ps, x, y, p1, p2)[0])

        slopes = [(found(10.0 * e) - found(-10.0 * e))[[0, 1, 8]] / 20.0 for e in np.eye(3)]
        (_, _, f11, f12, f21, f22, f1s, f2s, _, d1, d2, ds) = found(0.0)
        expected = np.array([[f1s, f2s, ds], [f11, f21, d1], [f12, f22, d2]])
        np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_the_rates_of_a_spool_are_those_of_its_exact_motion():
    """Where it begins, and over a while: its equations are linear."""
    kinds = [
        {"spool_frequency": 300.0, "spool_damping": 0.6}, {"spool_frequency": 200.0, "spool_damping": 1.7},
        {"spool_frequency": 150.0, "spool_damping": 1.0, "spool_time": 0.5}, {"spool_time": 0.02},
        {"spool_frequency": 0.5, "spool_damping": 0.3},
    ]  # fmt: skip
    x, rate, u, h = 0.3, -7.0, 0.8, 1e-6
    for kind in kinds:
        P, lags = Circuit([kind]).P, "spool_frequency" not in kind
        ends = np.array([spool.move_spool(P, x, rate, u, step) for step in (h, 2.0 * h)])
        slopes = (4.0 * ends[0] - ends[1] - 3.0 * np.array([x, rate])) / (2.0 * h)
        if lags:
            # of first order, it has no momentum
            slopes[1] = 0.0
        np.testing.assert_allclose(spool.spool_rates(P, x, rate, u), slopes, rtol=1e-5)
        found = spool.move_spool(P, x, rate, u, 7e-3)
        if lags:
            assert found[0] == pytest.approx(u + (x - u) * np.exp(-0.35), rel=1e-12)
            assert found[1] == pytest.approx(spool.spool_rates(P, *found, u)[0], rel=1e-12)
        else:
            A = np.array([spool.spool_rates(P, 1.0, 0.0, 0.0), spool.spool_rates(P, 0.0, 1.0, 0.0)]).T
            np.testing.assert_allclose(found, [u, 0.0] + expm(7e-3 * A) @ [x - u, rate], rtol=1e-11)
    P = Circuit([{}]).P
    assert spool.move_spool(P, x, rate, u, h) == (u, 0.0)
    assert spool.spool_rates(P, x, rate, u) == (0.0, 0.0)


def test_pumps_turn_back_over_their_band_below_what_they_hold():
    """20 bar above the load, at most 250 bar, with a band of 10 bar; slopes against differences."""
    sensing, constant, fixed = (
        Circuit([{}], [pump]).S for pump in (SENSING, PUMPS["constant pressure"], PUMPS["fixed displacement"])
    )
    for load, held in ((3.0, 23.0), (100.0, 120.0), (229.0, 249.0), (231.0, 250.0), (280.0, 250.0)):
        for S, target in ((sensing, held), (constant, 160.0)):
            for below, share in ((10.5, 1.0), (8.0, 0.8), (3.0, 0.3), (-1.0, 0.0)):
                ps, h = (target - below) * BAR, 1e3
                found = pumps.demanded(S, ps, load * BAR)
                assert found[0] == pytest.approx(share, abs=1e-12)
                more = pumps.demanded(S, ps + h, load * BAR)[0], pumps.demanded(S, ps, load * BAR + h)[0]
                less = pumps.demanded(S, ps - h, load * BAR)[0], pumps.demanded(S, ps, load * BAR - h)[0]
                slopes = (np.array(more) - less) / (2.0 * h)
                np.testing.assert_allclose(found[1:], slopes, rtol=1e-7, atol=1e-15)
        assert pumps.demanded(fixed, 300e5, load * BAR) == (1.0, 0.0, 0.0)


def test_an_accumulator_is_an_ideal_gas_behind_its_precharge():
    """p V^k is constant; its energy is the work against the atmosphere; without one there is neither."""
    for k in (1.0, 1.2):
        S = Circuit([{}], [PUMPS["accumulator"] | {"accumulator_exponent": k}]).S
        pressures = np.linspace(90e5, 180e5, 2001)
        taken = np.array([pumps.accumulated(S, p) for p in pressures])
        np.testing.assert_allclose(pressures * (1e-3 - taken[:, 0]) ** k, 90e5 * 1e-3**k, rtol=1e-12)
        np.testing.assert_allclose(taken[1:-1, 1], np.gradient(taken[:, 0], pressures)[1:-1], rtol=1e-5)
        work = np.trapezoid(pressures - 101325.0, taken[:, 0])
        assert pumps.accumulated_energy(S, 180e5) == pytest.approx(work, rel=1e-6)
        assert pumps.accumulated(S, 80e5) == (0.0, 0.0)
        assert pumps.accumulated_energy(S, 80e5) == 0.0
    S = Circuit([{}], [PUMPS["constant pressure"]]).S
    assert pumps.accumulated(S, 100e5) == (0.0, 0.0)
    assert pumps.accumulated_energy(S, 100e5) == 0.0


def test_a_pump_senses_the_chamber_that_fills_and_tank_pressure_of_a_shut_spool():
    c = Circuit([{"overlap": 0.05}], [SENSING])
    for x, expected in ((0.3, 80e5), (-0.3, 20e5), (0.0, 3e5), (1e-9, 3e5), (0.04, 3e5)):
        assert pumps.sensed(c.S, c.P, 80e5, 20e5, x)[0] == expected


# ---- force control ----


@pytest.mark.parametrize("law", [at.PI_LAW, at.FEEDBACK_LINEARIZATION])
@pytest.mark.parametrize("v", [0.1, -0.1])
def test_force_control_lets_in_what_the_piston_displaces(law, v):
    """Where the force is right; and cylinders that are asked for openings answer as ticks decide."""
    one = {
        "control_law": law,
        "kp": 1e-3,
        "lead": 1.0,
        "spool_time": 0.01,
        "nominal_gain": 1e6,
    }
    ticked, asked = (Circuit([one]).rest(0.2, 2e3) for _ in range(2))
    ticked.modes[:] = at.FORCE_COMMAND
    for force, more in ((2e3, 0.0), (5e3, 0.0), (5e3, 0.02)):
        for c in (ticked, asked):
            c.v[:] = v + more
        openings, forces = np.zeros(1), np.array([force])
        arguments = asked.y, asked.v, forces, openings
        missed = decide(asked.P.ctypes.data, 1, asked.flat, *arguments, 1e-3)
        ticked.commands[:], asked.commands[:] = force, openings
        if force == 2e3 and law == at.PI_LAW:
            p = ticked["pressure_bore"][0]
            through = edges.orifice(160e5 - p if v > 0.0 else p - 3e5, 2e4)
            assert K * through * openings[0] == pytest.approx(AREAS[0] * v, rel=1e-5)
        for c in (ticked, asked):
            c.tick(1e-3)
        assert ticked["valve_command"][0] == pytest.approx(openings[0], rel=1e-9)
        assert missed == 0
        law_of = [at.STATE.index(name) for name in ("integral", "rate_slope", "last_rate")]
        asked.states[:, law_of] = ticked.states[:, law_of]


@pytest.mark.parametrize(
    "own", [{"spool_time": 0.01}, {"spool_frequency": 100.0, "spool_damping": 0.6}], ids=str
)
def test_the_acceleration_that_a_law_foresees_is_filtered_as_fast_as_the_valve(own):
    """A steady one is approached as by a first-order filter."""
    c = Circuit([{"control_law": at.PI_LAW, "kp": 1e-3, "nominal_gain": 1e6, "lead": 1.0, **own}]).rest(
        0.2, 2e3
    )
    c.tick(1e-3)
    for k in range(1, 16):
        c.v[:] = 0.3e-3 * k
        decide(c.P.ctypes.data, 1, c.flat, c.y, c.v, np.array([2e3]), np.zeros(1), 1e-3)
    assert c["rate_slope"][0] == pytest.approx(0.3 * (1.0 - np.exp(-1.5)), rel=1e-9)


@pytest.mark.parametrize("force", [1e6, -1e6])
def test_a_force_out_of_reach_opens_the_valve_all_the_way_and_is_told(force):
    one = {"control_law": at.PI_LAW, "kp": 1e-3, "nominal_gain": 1.0}
    c, openings = Circuit([one, one]).rest(0.2, 2e3), np.zeros(2)
    missed = decide(c.P.ctypes.data, 2, c.flat, c.y, c.v, np.array([2e3, force]), openings, 1e-3)
    assert abs(openings[0]) < 0.1
    assert openings[1] == np.sign(force)
    # of the second cylinder: out of reach, and saturated
    assert missed == 0b1100


# ---- faults ----


@pytest.mark.parametrize("pump", [{}, *PUMPS.values()], ids=["ideal", *PUMPS])
def test_a_command_that_is_no_number_keeps_the_state_and_says_fault(pump):
    c = Circuit([{}, {}], [pump]).rest(0.2, 1e3)
    c.tick(1e-3)
    states, supplies, parameters = c.states.copy(), c.supplies.copy(), c.P.copy()
    c.commands[1] = np.nan
    c.tick(1e-3)
    assert c.faults == 1
    assert (c["flags"] == at.FAULT).all()
    assert c["supply_flags"][0] == at.FAULT
    flags = at.STATE.index("flags")
    np.testing.assert_array_equal(np.delete(c.states, flags, 1), np.delete(states, flags, 1))
    np.testing.assert_array_equal(c.supplies[:, :-1], supplies[:, :-1])
    np.testing.assert_array_equal(c.P, parameters)


def test_a_tick_that_is_far_too_long_still_ends_near_the_pressures_where_it_leads():
    """Chambers of 5 cm3 behind open valves fill within a hundredth of the tick: bore to line, rod to tank."""
    small = {"dead_volume_bore": 5e-6, "dead_volume_rod": 5e-6, "transition": 1e3, "supply_index": 0}
    c = Circuit([small | {"spool_frequency": 0.0}] * 2, [PUMPS["fixed displacement"]])
    c.rest([0.0, 0.4], [1e4, -5e3])
    c.commands[:] = 1.0
    c.tick(0.1)
    assert (c["flags"].astype(int) & 256 != 0).all()
    assert c["pressure_bore"] == pytest.approx(c["pressure"][0], rel=5e-3)
    assert c["pressure_rod"].max() < 3.01e5


@pytest.mark.parametrize("pump", [{}, *PUMPS.values()], ids=["ideal", *PUMPS])
def test_stressed_circuits_stay_finite_and_positive(pump):
    """Pumps that stop, hoses that burst, pistons in their stops, full reversals, dead volumes of 5 cm3."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        dead = 10 ** rng.uniform(np.log10(5e-6), -4, 2)
        one = {
            "dead_volume_bore": dead[0], "dead_volume_rod": dead[1], "transition": 10 ** rng.uniform(3, 5),
            "leak_bore": rng.choice([0.0, 1e-8]), "compensation": rng.choice([np.inf, 15e5]),
            "makeup": rng.choice([0.0, 1e-7]), "spool_frequency": rng.choice([0.0, 500.0]),
            "spool_damping": 0.8,
        }  # fmt: skip
        c = Circuit([one, one | HELD], [pump])
        c.rest(rng.choice([0.0, 0.2, 0.4], 2), rng.uniform(-5e3, 2e4, 2))
        speed = of.SUPPLY_PARAMETERS.index("speed")
        for _ in range(50):
            if rng.random() < 0.2:
                c.commands[:] = rng.choice([-1.0, 0.0, 1.0], 2)
            if rng.random() < 0.1:
                c.S[speed] = rng.choice([0.0, 157.0])
            c.v[:] = np.clip(c.v + rng.normal(0.0, 0.15, 2), -1.5, 1.5)
            c.tick(1e-3)
            c.y[:] = np.clip(c.y, -0.02, 0.42)
            assert c.faults == 0
            assert np.isfinite(c.states).all()
            assert c["pressure_bore"].min() > 0.0
            assert c["pressure_rod"].min() > 0.0
            assert c["pressure"].min() > 0.0
            assert c["attempts"].max() <= 160 + 64


@pytest.mark.parametrize(
    ("times", "apart"), [(0.5, 120 * BAR), (5.0, 120 * BAR), (300.0, 1e3), (3000.0, 1e3)]
)
def test_a_leak_between_shut_chambers_lets_the_difference_of_pressures_decay(times, apart):
    """Exponentially at a constant bulk modulus, and in few sub-steps however fast."""
    h = cylinder(fluid={"air_fraction": 0.0})
    V1, V2 = (1e-4 + 0.3 * h.model.column(name)[0] for name in ("bore_area", "rod_area"))
    h = h.with_parameters(leak_internal=times / (1.4e9 * (1.0 / V1 + 1.0 / V2) * 0.01))
    state = step(h, at_pressures(h, 20 * BAR + apart, 20 * BAR), 0.3, 0.0, 0.0, 0.01)
    left = state.pressure_bore[0] - state.pressure_rod[0]
    assert left == pytest.approx(apart * np.exp(-times), abs=0.02 * apart)
    assert state.pressure_bore[0] == pytest.approx(20 * BAR + (apart * V1 + left * V2) / (V1 + V2), abs=1e3)
    assert state.attempts[0] < 60
