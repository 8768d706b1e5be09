"""Cylinders on supplies: worked numbers O3, O4, O5 and O7 of the oil specification, oil and energy of
circuits."""

import numpy as np
import pytest
from oil_circuits import AREAS, BAR, FLUID, HELD, PUMPS, SENSING, Circuit, K, rates_of
from scipy.integrate import solve_ivp
from scipy.optimize import root

from flexdyn_ros.multibody.elements.cylinder.kernels import circuit, cylinder, edges, forces, oil, pumps
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import FOLLOW

AIR = tuple(FLUID.values())
G = 9.81


def steady(c, spools, efforts, guess, y=0.2):
    """Pressures [bar] and speeds of all cylinders, and the pressure of the line, where nothing changes but
    y."""
    rows = c.P.reshape(c.n, -1)
    ideal = c.S[of.PUMP] == of.IDEAL

    def residual(z):
        ps = c.S[of.SET_PRESSURE] if ideal else z[-1] * BAR
        found, drawn, load = [], 0.0, c.S[of.TANK]
        for P, x, effort, (p1, p2, v) in zip(rows, spools, efforts, z[: 3 * c.n].reshape(-1, 3), strict=True):
            rates, w1, w2 = rates_of(P, ps, x, y, p1 * BAR, p2 * BAR)
            found += [(w1 * rates[0] - AREAS[0] * v) * 1e4, (w2 * rates[1] + AREAS[1] * v) * 1e4]
            found.append((forces.hydraulic_force(P, p1 * BAR, p2 * BAR) - effort) / 1e4)
            drawn += rates[8]
            load = max(load, pumps.sensed(c.S, P, p1 * BAR, p2 * BAR, x)[0])
        if not ideal:
            line = (1.0, ps, *oil.volume_and_stiffness(AIR, ps), 0.0, 0.0)
            found.append(circuit.line_rates(c.S, line, load, drawn)[0] * 1e4)
        return found

    solution = root(residual, guess, tol=1e-13)
    assert np.abs(solution.fun).max() < 1e-11
    return solution.x


def test_o3_lowering_with_a_counterbalance_valve():
    bore, rod, v = steady(Circuit([HELD]), [-0.3], [1200 * G], [66.0, 12.0, -0.065])
    assert bore == pytest.approx(65.96649972, abs=6e-9)
    assert rod == pytest.approx(11.39312134, abs=6e-9)
    assert v == pytest.approx(-0.0653717518976, abs=5e-13)
    valve = (90e5, 4.0, 0.5 * K, 20e5)
    z = edges.counterbalance(3e5, valve, bore * BAR, rod * BAR)[0] / (0.5 * K)
    assert z == pytest.approx(0.3269492535237, abs=5e-10)


def test_o3_lowering_without_one_cavitates_and_says_so():
    flags = {}
    for name, changes in {"with": HELD, "without": {"valve_rod": 0.15 * K, "supply_index": 0}}.items():
        c = Circuit([changes | {"viscous": 2e3, "friction_law": 1.0}]).rest(0.38, 1200 * G)
        c.commands[:] = -0.3
        flags[name] = 0
        for _ in range(1500):
            c.move(1e-3, [1200.0], [1200 * G])
            flags[name] |= int(c["flags"][0])
        assert c.y[0] < 0.33
    assert flags["without"] & at.CAVITATION
    assert not flags["with"] & at.CAVITATION


def test_o4_two_cylinders_on_a_load_sensing_pump_with_compensated_valves():
    c = Circuit([{"compensation": 15e5}] * 2, [SENSING])
    z = steady(c, [0.4, 0.2], [20e3, 5e3], [105.0, 6.5, 0.08, 29.0, 6.5, 0.04, 124.0])
    expected = (
        105.5073651,
        6.48449476,
        0.0889060159944,
        29.11299237,
        6.48449476,
        0.0444530079972,
        124.1220221,
    )
    for found, printed, digits in zip(z, expected, (6e-8, 6e-9, 6e-14, 6e-9, 6e-9, 6e-14, 6e-8), strict=True):
        assert found == pytest.approx(printed, abs=max(digits, 2e-12 * abs(printed)))


def test_a_pump_gives_at_once_what_cylinders_in_steady_motion_take():
    """Without lag; the line keeps its pressure, so that its oil goes where pistons make room."""
    c = Circuit([{"compensation": 15e5}] * 2, [SENSING])
    z = steady(c, [0.4, 0.2], [20e3, 5e3], [105.0, 6.5, 0.08, 29.0, 6.5, 0.04, 124.0])
    c.y[:], c.v[:], c.commands[:] = 0.2, z[[2, 5]], [0.4, 0.2]
    c["spool"][:] = c["slewed_command"][:] = c.commands
    c.set_pressures(z[[0, 3]] * BAR, z[[1, 4]] * BAR)
    c["pressure"][:], dt = z[6] * BAR, 1e-4
    at_bore = [oil.volume_and_stiffness(AIR, p * BAR)[0] for p in z[[0, 3]]]
    taken = AREAS[0] * np.sum(z[[2, 5]] / at_bore)
    c.tick(dt)
    w = oil.volume_and_stiffness(AIR, z[6] * BAR)[0]
    assert c["pump_flow"][0] == pytest.approx(taken * w, rel=1e-5)
    work = taken * oil.energies(AIR, z[6] * BAR, w)[1] * dt
    assert (c["pump_work"][0], c["supply_work"].sum()) == pytest.approx((work, work), rel=1e-5)


def test_o5_lines_at_rest():
    c = Circuit([{}], [PUMPS["fixed displacement"], PUMPS["constant pressure"], SENSING]).rest(0.2, 0.0)
    assert c["pressure"][0] == pytest.approx(20931684.16, abs=6e-3)
    assert c["pressure"][1] == pytest.approx(15991671.09, abs=6e-3)
    # nothing leaks: where the pump's compensator closes it
    assert c["pressure"][2] == pytest.approx(23e5, rel=1e-9)


@pytest.mark.parametrize("p", [20e5, 95e5, 300e5, 1500e5])
def test_the_pressure_of_a_line_with_accumulator_is_found_from_its_oil_whatever_the_start(p):
    S = Circuit([{}], [PUMPS["accumulator"]]).S
    for start in (5e5, 90e5, 2000e5):
        assert pumps.line_pressure(S, pumps.line_oil(S, p), start)[0] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("pump", PUMPS.values(), ids=PUMPS)
def test_lines_stay_at_rest(pump):
    c = Circuit([{}], [pump]).rest(0.2, 3e3)
    begin = c["pressure"][0], c["pressure_bore"][0]
    for _ in range(200):
        c.tick(1e-3)
    assert c["pressure"][0] == pytest.approx(begin[0], rel=1e-6)
    assert c["pressure_bore"][0] == begin[1]
    assert c["force_hydraulic"][0] == pytest.approx(3e3, abs=1e-6)


# ---- O7 ----


def o7():
    """The circuit at O2's pressures, the line at 159 bar."""
    cylinders = [{"viscous": 600.0, "friction_law": 1.0, "leak_internal": 5e-13, "slew_rate": 25.0}]
    c = Circuit(cylinders, [PUMPS["constant pressure"]])
    c.y[:] = 0.17
    rod = 20 * BAR
    bore = (AREAS[1] * rod + (AREAS[0] - AREAS[1]) * 101325.0 + 300 * G) / AREAS[0]
    c.set_pressures(bore, rod)
    c["pressure"][:], c["oil_line"][:] = 159e5, 0.0
    c["force"][:] = 300 * G
    c.commands[:] = 0.5
    return c


def test_o7_by_an_implicit_integration_of_the_same_rates():
    """y, v, oil of both chambers and the line, and energies of the account, which closes."""
    c = o7()
    P, S = c.P, c.S

    def pressures(z):
        V = 1e-4 + AREAS[0] * z[0], 1e-4 + AREAS[1] * (0.4 - z[0])
        return oil.pressure_of(AIR, V[0] / z[2], 25e5)[0], oil.pressure_of(AIR, V[1] / z[3], 20e5)[0]

    def line_of(s):
        return s, *pumps.line_pressure(S, s, 159e5), 0.0

    def rates(t, z):
        p1, p2 = pressures(z)
        line = line_of(z[4])
        x = 0.5 * min(1.0, t / 0.02)
        found = rates_of(P, line[1], x, z[0], p1, p2)[0]
        on_line, _, _, _, pumped, _ = circuit.line_rates(S, line, 0.0, found[8])
        enthalpy = oil.energies(AIR, line[1], line[2])[1]
        power = cylinder.powers(
            P, enthalpy, (z[2], p1, 0.0, z[3], p2, 0.0), (found[0], found[1], found[8]), z[0], z[1]
        )
        force = forces.hydraulic_force(P, p1, p2) - 600.0 * z[1] - 300 * G
        return [z[1], force / 300, found[0], found[1], on_line, pumped * enthalpy, *power]

    w = [oil.volume_and_stiffness(AIR, p)[0] for p in (c["pressure_bore"][0], 20 * BAR, 159e5)]
    start = [
        0.17, 0.0, (1e-4 + AREAS[0] * 0.17) / w[0], (1e-4 + AREAS[1] * 0.23) / w[1], 2e-3 / w[2],
        0.0, 0.0, 0.0, 0.0,
    ]  # fmt: skip
    z, atol = np.array(start), [1e-11, 1e-11, 1e-14, 1e-14, 1e-14, 1e-6, 1e-6, 1e-6, 1e-6]
    for span in ((0.0, 0.02), (0.02, 0.3)):
        z = solve_ivp(rates, span, z, "Radau", rtol=1e-9, atol=atol).y[:, -1]

    def stored(z):
        return sum(
            s * oil.energies(AIR, p, oil.volume_and_stiffness(AIR, p)[0])[0]
            for s, p in zip(z[2:5], (*pressures(z), line_of(z[4])[1]), strict=True)
        )

    assert z[0] == pytest.approx(0.2624752389, abs=2e-10)
    assert z[1] == pytest.approx(0.32049034, abs=6e-9)
    assert line_of(z[4])[1] == pytest.approx(15660893.51, abs=6e-3)
    pump, given, piston, lost = z[5:]
    assert pump == pytest.approx(2815.26782, abs=6e-6)
    assert piston == pytest.approx(305.29058, abs=6e-6)
    change = stored(z) - stored(np.array(start))
    assert change == pytest.approx(-3.48336809, abs=6e-9)
    # what the pump gave and the cylinder did not get is in the line
    line = [z[4] * oil.energies(AIR, p, oil.volume_and_stiffness(AIR, p)[0])[0]
            for z, p in ((z, line_of(z[4])[1]), (start, 159e5))]  # fmt: skip
    assert pump - given == pytest.approx(line[0] - line[1], abs=1e-9)
    assert pump - piston - lost - change == pytest.approx(0.0, abs=1e-9)


def test_o7_by_ticks_of_a_millisecond():
    c = o7()
    c.move(1e-9, [300.0], [300 * G])
    begin = sum(x.sum() for x in c.stored())
    for _ in range(300):
        c.move(1e-3, [300.0], [300 * G])
    assert c.y[0] == pytest.approx(0.2624752389, abs=1e-5)
    assert c["pressure"][0] == pytest.approx(15660893.51, abs=0.15 * BAR)
    assert c["pump_work"][0] == pytest.approx(2815.26782, rel=1e-3)
    assert c["piston_work"][0] == pytest.approx(305.29058, rel=1e-3)
    assert sum(x.sum() for x in c.stored()) - begin == pytest.approx(-3.48336809, abs=1e-2)


def test_o7_closes_its_energy_account_to_a_hundred_millionth_by_tight_ticks():
    c = o7()
    c.P[at.RTOL], c.P[at.ATOL] = 0.0, 0.16
    c.S[of.RTOL], c.S[of.ATOL] = 0.0, 0.16
    c.move(1e-9, [300.0], [300 * G])
    begin = sum(x.sum() for x in c.stored())
    for _ in range(3000):
        c.move(1e-4, [300.0], [300 * G])
    change = sum(x.sum() for x in c.stored()) - begin
    pump = c["pump_work"][0]
    assert abs(pump - c["piston_work"][0] - c["oil_loss"][0] - change) < 1e-8 * pump


# ---- oil and energy ----


@pytest.mark.parametrize("pump", PUMPS.values(), ids=PUMPS)
def test_the_energy_account_closes_at_a_millisecond(pump):
    """Pump work = piston work + change of stored energy + losses, within 1e-3 of the pump's work."""
    changes = {
        "null_opening": 0.01,
        "leak_internal": 5e-13,
        "leak_bore": 1e-13,
        "viscous": 600.0,
        "friction_law": 1.0,
    }
    c = Circuit(
        [changes, changes | {"counterbalance_bore": K, "cracking_bore": 90e5, "pilot_bore": 4.0}], [pump]
    )
    c.rest([0.2, 0.15], [8e3, 5e3])
    c.tick(1e-9)
    begin = c.stored()
    for k in range(600):
        c.commands[:] = 0.4 * np.sin(2 * np.pi * 2.0 * k * 1e-3 + np.array([0.0, 1.0]))
        c.move(1e-3, [300.0, 200.0], [8e3, 5e3])
    pump_work = c["pump_work"][0]
    lost = c["oil_loss"].sum() + c["line_loss"].sum()
    assert pump_work > 500.0
    assert lost > 0.3 * pump_work
    cylinders, line = (end.sum() - start.sum() for end, start in zip(c.stored(), begin, strict=True))
    assert abs(pump_work - c["piston_work"].sum() - lost - cylinders - line) < 1e-3 * pump_work
    given = c["supply_work"].sum()
    assert abs(pump_work - given - c["line_loss"].sum() - line) < 1e-3 * pump_work
    assert abs(given - c["piston_work"].sum() - c["oil_loss"].sum() - cylinders) < 1e-3 * pump_work


def test_the_account_of_a_cylinder_at_constant_pressure_closes():
    """Whose piston, driven evenly, takes its force times its way."""
    c = Circuit([{"supply_index": 0, "leak_internal": 5e-13}]).rest(0.2, 8e3)
    c.v[:], c.commands[:] = 0.1, 0.25
    c.tick(1e-9)
    begin, before, work = c.stored()[0][0], c["force_hydraulic"][0], c["piston_work"][0]
    force_times_way = 0.0
    for _ in range(10):
        c.tick(1e-3)
        force_times_way += 0.5 * (before + c["force_hydraulic"][0]) * 1e-4
        before = c["force_hydraulic"][0]
    assert c["piston_work"][0] - work == pytest.approx(force_times_way, rel=1e-2)
    given, piston, lost = c["supply_work"][0], c["piston_work"][0], c["oil_loss"][0]
    assert lost > 0.1 * given > 1.0
    assert abs(given - piston - lost - c.stored()[0][0] + begin) < 1e-2 * given


def test_supplies_of_constant_pressure_give_what_their_own_cylinders_take():
    """Work over all ticks; the flow that is told is the mean over the last, at the supply's pressure."""
    c = Circuit([{"supply_index": k} for k in (0, 1, 0)], [{}, {"supply_pressure": 120e5}]).rest(0.2, 2e3)
    c.commands[:] = 0.3, -0.2, 0.1
    for _ in range(3):
        before = c["supply_work"].copy()
        c.tick(1e-3)
    for k, p in enumerate((160e5, 120e5)):
        of_line = c.P.reshape(3, -1)[:, at.SUPPLY_INDEX] == k
        assert c["pump_work"][k] == pytest.approx(c["supply_work"][of_line].sum(), rel=1e-12)
        w = oil.volume_and_stiffness(AIR, p)[0]
        power = (c["supply_work"] - before)[of_line].sum() / 1e-3
        assert c["pump_flow"][k] == pytest.approx(power * w / oil.energies(AIR, p, w)[1], rel=1e-12)


@pytest.mark.parametrize(("u", "v"), [(0.3, 0.2), (-0.2, -0.1), (0.4, -0.3)])
def test_the_account_of_one_short_tick_is_power_times_its_time(u, v):
    """So short that pressures stay: the force moves the piston, and each edge lets through its flow."""
    dt = 1e-7
    c = Circuit([{"supply_index": 0}]).rest(0.2, 8e3)
    c.v[:], c.commands[:], c["spool"][:], c["slewed_command"][:] = v, u, u, u
    c.set_pressures(70e5, 40e5)
    begin = c.stored()[0][0]
    c.tick(dt)
    given, piston, lost = c["supply_work"][0], c["piston_work"][0], c["oil_loss"][0]
    assert piston == pytest.approx(c["force_hydraulic"][0] * v * dt, rel=1e-3)
    # oil that comes from 160 bar, measured as it is there, brings that over the pressure of the atmosphere
    # and the little that its own compression stores
    flow = c["flow_bore"][0] if u > 0.0 else c["flow_rod"][0]
    assert given == pytest.approx((160e5 - FLUID["atmosphere"]) * flow * dt, rel=2e-2)
    assert given - piston - lost == pytest.approx(c.stored()[0][0] - begin, abs=1e-3 * given)


def test_a_circuit_that_rests_has_done_and_lost_nothing():
    for pump in ({}, *PUMPS.values()):
        c = Circuit([{"supply_index": 0}], [pump])
        c.supplies[:] = 7.0
        c.states[:] = 7.0
        c.rest(0.2, 8e3)
        told = "pump_work", "line_loss", "pump_flow", "supply_attempts", "supply_flags", "supply_work"
        for name in (
            *told,
            "piston_work",
            "oil_loss",
            "spool",
            "spool_rate",
            "integral",
            "bristle",
            "attempts",
        ):
            assert c[name][0] == 0.0, (pump, name)


def test_losses_are_the_drops_of_enthalpy_at_every_edge():
    """`powers` takes losses as what enters and does not arrive; here edge by edge."""
    rng = np.random.default_rng(5)
    P = Circuit([{"leak_internal": 3e-13, "leak_bore": 2e-13, "null_opening": 0.02}]).P
    for _ in range(50):
        p1, p2, ps = rng.uniform(5e5, 150e5, 3)
        x = rng.uniform(-1, 1)
        found, w1, w2 = rates_of(P, ps, x, 0.2, p1, p2)
        h = [oil.energies(AIR, p, oil.volume_and_stiffness(AIR, p)[0])[1] for p in (p1, p2, ps)]
        forward, backward = max(x, 0.0) + 0.02, max(-x, 0.0) + 0.02
        in1, out1 = forward * K * edges.orifice(ps - p1, 2e4), backward * K * edges.orifice(p1 - 3e5, 2e4)
        in2, out2 = backward * K * edges.orifice(ps - p2, 2e4), forward * K * edges.orifice(p2 - 3e5, 2e4)
        leak = 3e-13 * (p1 - p2)
        drops = in1 / w1 * (h[2] - h[0]) + in2 / w2 * (h[2] - h[1])
        drops += (
            (out1 + 2e-13 * (p1 - 3e5)) / w1 * h[0] + out2 / w2 * h[1] + leak / w1 * h[0] - leak / w2 * h[1]
        )
        V1, V2, _ = cylinder.volumes(P, 0.2)
        state = (V1 / w1, p1, 0.0, V2 / w2, p2, 0.0)
        lost = cylinder.powers(P, h[2], state, (found[0], found[1], found[8]), 0.2, 0.0)[2]
        assert lost == pytest.approx(drops, rel=1e-9)


def test_oil_that_cannot_leave_is_conserved():
    """A pump at rest, rod sides shut: oil moves between line and bore sides only."""
    shut = {"valve_rod": 0.0}
    c = Circuit([shut, shut], [{"pump": of.CONSTANT_PRESSURE, "speed": 0.0}]).rest([0.2, 0.1], [2e3, 6e3])
    c["pressure"][:], c["oil_line"][:] = 150e5, 0.0
    c.tick(1e-9)
    total = c["oil_bore"].sum() + c["oil_line"].sum()
    rod = c["oil_rod"].copy()
    for k in range(300):
        c.commands[:] = np.clip(np.sin(0.05 * k + np.array([0.0, 2.0])), 0.0, 1.0)
        c.move(1e-3, [300.0, 300.0], [2e3, 6e3])
    assert c["pressure"][0] < 140e5
    assert c["oil_bore"].sum() + c["oil_line"].sum() == pytest.approx(total, rel=1e-13)
    np.testing.assert_array_equal(c["oil_rod"], rod)


def test_ticks_of_a_circuit_converge_to_tight_ones():
    """Two cylinders on a load-sensing pump, given motion: 0.15 bar at the default tolerance."""
    found = []
    for rtol in (None, 1e-8):
        c = Circuit([{"spool_frequency": 300.0, "spool_damping": 0.8}] * 2, [SENSING], rtol=rtol)
        c.rest([0.2, 0.1], [8e3, 5e3])
        pressures = []
        for k in range(200):
            c.commands[:] = 0.5 * np.sin(0.03 * k + np.array([0.0, 1.0]))
            c.v[:] = 0.08 * np.sin(0.03 * k + np.array([0.0, 1.0]))
            c.tick(1e-3)
            pressures.append([*c["pressure_bore"], *c["pressure_rod"], *c["pressure"]])
        found.append(np.array(pressures))
    assert np.ptp(found[1], axis=0).min() > 1 * BAR
    assert np.abs(found[0] - found[1]).max() < 0.15 * BAR


@pytest.mark.parametrize("pump", [{}, PUMPS["constant pressure"]], ids=["ideal", "pump"])
def test_a_mass_that_moves_by_the_forces_of_ticks_keeps_its_amplitude_and_does_not_creep(pump):
    """Pressures first, then the mass with the new force: 1 s on shut valves, in which nothing is damped."""
    c = Circuit([{}], [pump]).rest(0.2, 0.0)
    h, mass, speeds, lengths = 1e-3, 400.0, [], []
    c.v[:] = 0.01
    for _ in range(1000):
        y, v = c.y.copy(), c.v.copy()
        c.tick(h, follow=min(FOLLOW * h, 1.0))
        c.v[:] = v + h * c["force"] / mass
        c.y[:] = y + h * c.v
        speeds.append(abs(c.v[0]))
        lengths.append(c.y[0])
    assert max(speeds[-100:]) / max(speeds[:100]) == pytest.approx(1.0, abs=0.02)
    assert np.mean(lengths[-330:]) == pytest.approx(0.2, abs=1e-6)
