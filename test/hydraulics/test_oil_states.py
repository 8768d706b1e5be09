"""Oil as the state of a chamber: worked numbers O1 and O2 of the oil specification, and what shut valves
hold."""

import warnings

import numpy as np
import pytest
from hydraulic_cylinders import at_pressures, cylinder, step
from oil_circuits import AREAS, BAR, FLUID, Circuit, K
from sampled import few

import flexdyn_ros
from flexdyn_ros.multibody.elements.cylinder.kernels import compliance, oil
from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder as chambers
from flexdyn_ros.simulation import FusedHydraulics, Stepper, ValveOpenings

AIR = tuple(FLUID.values())
NO_AIR = (1.4e9, 0.0, 1.4, 101325.0)
G = 9.81


def w_of(fluid, p):
    return oil.volume_and_stiffness(fluid, p)[0]


# ---- O1 ----


@pytest.mark.parametrize(
    ("p", "w", "beta", "e"),
    [
        (2e4, 1.01099154, 1.77437688e6, 640.335273),
        # the specification prints 0.0320327894, of which rounding of 1.4e9 Pa left five digits
        (1e5, 1.00004817, 2.72030352e7, 0.0320329952356),
        (5e5, 0.99631548, 3.32716809e8, 443.755759),
        (50e5, 0.9918332, 1.31835137e9, 10624.1882),
        (160e5, 0.98389899, 1.38832924e9, 92765.6624),
        (350e5, 0.97058049, 1.3969488e9, 430632.453),
    ],
)
def test_o1_volume_stiffness_and_energy(p, w, beta, e):
    found = oil.volume_and_stiffness(AIR, p)
    assert found[0] == pytest.approx(w, rel=1e-8)
    assert found[1] == pytest.approx(beta, rel=1e-8)
    assert oil.energies(AIR, p, found[0])[0] == pytest.approx(e, rel=2e-9)


@pytest.mark.parametrize(
    ("v", "p"),
    [
        (0.9, 140632779.057), (0.99, 7481599.53095), (0.999, 137252.951543), (1.001, 78793.0322494),
        (1.01, 21879.6271833), (1.2, 559.79841239),
    ],
)  # fmt: skip
def test_o1_pressures_of_volumes_from_any_start(v, p):
    for start in (50.0, 1e5, 50e5, 600e5):
        assert oil.pressure_of(AIR, v, start)[0] == pytest.approx(p, rel=5e-12)


@pytest.mark.parametrize("air", [1e-5, 4e-4, 5e-3, 6e-2, 0.3])
def test_pressures_are_found_from_anywhere_in_the_rounds_there_are(air):
    fluid = (1.4e9, air, 1.4, 101325.0)
    grid = np.geomspace(50.0, 600e5, 40)
    for p in grid:
        w = w_of(fluid, p)
        for start in grid:
            near, beta = oil.pressure_at(fluid, w, start, *oil.volume_and_stiffness(fluid, start))
            assert near == pytest.approx(p, rel=1e-9)
            assert beta == pytest.approx(oil.volume_and_stiffness(fluid, p)[1], rel=1e-6)


@pytest.mark.parametrize(
    "fluid", [AIR, NO_AIR, (1.4e9, 0.02, 1.0, 101325.0)], ids=["air", "none", "isothermal"]
)
def test_energies_are_the_integrals_that_they_stand_for(fluid):
    """de = -(p - p_atm) dw, dh = w dp; and beta = -w dp/dw; below the pressure of a void too."""
    for p in (20.0, 3e3, 2e4, 3e5, 80e5):
        h = 1e-4 * p
        low, high = w_of(fluid, p - h), w_of(fluid, p + h)
        e0, h0 = oil.energies(fluid, p - h, low)
        e1, h1 = oil.energies(fluid, p + h, high)
        w, beta = oil.volume_and_stiffness(fluid, p)
        assert beta == pytest.approx(-w * 2 * h / (high - low), rel=1e-3)
        assert h1 - h0 == pytest.approx(w * 2 * h, rel=1e-5, abs=1e-7)
        assert e1 - e0 == pytest.approx(-(p - 101325.0) * (high - low), rel=1e-4, abs=1e-7)
    # and no step where the void begins
    below, above = (
        oil.energies(fluid, p, w_of(fluid, p))[0] for p in oil.VOID_PRESSURE * np.array([1 - 1e-9, 1.0])
    )
    assert below == pytest.approx(above, rel=1e-4)


def test_oil_without_air_has_one_positive_pressure_in_any_volume():
    for v in (0.97, 0.9999, 1.00007, 1.0001, 1.1, 3.0):
        p = oil.pressure_of(NO_AIR, v, 1e5)[0]
        assert p > 0.0
        assert w_of(NO_AIR, p) == pytest.approx(v, rel=1e-12)


# ---- O2 ----


def hanging(rtol=1e-4, **changes):
    """300 kg that hang against the rod, 20 bar on the rod side, valve shut."""
    c = Circuit([{"supply_index": 0, **changes}], rtol=rtol)
    c.y[:] = 0.17
    rod = 20 * BAR
    bore = (AREAS[1] * rod + (AREAS[0] - AREAS[1]) * 101325.0 + 300 * G) / AREAS[0]
    c.set_pressures(bore, rod)
    c["force"][:] = 300 * G
    return c


def test_o2_a_load_on_shut_valves():
    c = hanging()
    assert c["pressure_bore"][0] == pytest.approx(2514584.472, abs=6e-4)
    P = c.P
    s = [volume / w_of(AIR, p) for volume, p in (
        (1e-4 + AREAS[0] * 0.17, c["pressure_bore"][0]), (1e-4 + AREAS[1] * 0.23, c["pressure_rod"][0])
    )]  # fmt: skip
    beta = [oil.volume_and_stiffness(AIR, c[f"pressure_{name}"][0])[1] for name in ("bore", "rod")]
    state = (s[0], c["pressure_bore"][0], beta[0], s[1], c["pressure_rod"][0], beta[1])
    V1, V2, _ = chambers.volumes(P, 0.17)
    (p1, p2), (b1, b2) = (state[1], state[4]), beta
    rates = chambers.oil_rates(P, 160e5, 0.0, 0.17, p1, V1 / s[0], b1, p2, V2 / s[1], b2)
    K_h = compliance.eliminated(P, 0.17, state, rates[2:6], 1e-3)[0]
    assert K_h == pytest.approx(13394890.76, rel=1e-9)
    assert np.sqrt(K_h / 300) == pytest.approx(211.304604422, rel=1e-11)


def test_o2_released_on_shut_valves():
    """Two steps, of which the error of order two is extrapolated; the oil does not change by a bit."""
    found = []
    for h in (2e-5, 1e-5):
        c = hanging()
        c.v[:] = 0.3
        c.move(h, [300.0], [300 * G])
        begin = c["oil_bore"][0], c["oil_rod"][0], c.stored()[0][0]
        energy = 0.5 * 300 * c.v[0] ** 2 + 300 * G * c.y[0] + c.stored()[0][0]
        for _ in range(round(0.1 / h) - 1):
            c.move(h, [300.0], [300 * G])
        assert (c["oil_bore"][0], c["oil_rod"][0]) == begin[:2]
        end = 0.5 * 300 * c.v[0] ** 2 + 300 * G * c.y[0] + c.stored()[0][0]
        # of 13.5 J: both schemes swing by the square of their step
        assert abs(end - energy) < 3e5 * h * h
        found.append((c.y[0], c.v[0]))
    y, v = (np.array(found[1]) * 4 - np.array(found[0])) / 3
    assert y == pytest.approx(0.168577431219, abs=2e-12)
    assert v == pytest.approx(-0.010900602, abs=5e-9)


# ---- what shut valves hold ----


@pytest.mark.parametrize("h", [1e-4, 1e-3, 2e-2])
@pytest.mark.parametrize("air", [0.005, 0.0])
def test_shut_and_tight_chambers_keep_their_oil_whatever_the_step(h, air):
    c = Circuit([{"supply_index": 0, "air": air}]).rest(0.2, 5e3)
    before = c["oil_bore"][0], c["oil_rod"][0]
    rng = np.random.default_rng(3)
    for _ in range(200):
        c.v[:] = np.clip(rng.normal(0.0, 0.3), -0.2 - c.y / h, (0.6 - c.y) / h)
        c.tick(h)
        assert (c["oil_bore"][0], c["oil_rod"][0]) == before
        assert c["pressure_bore"][0] > 0.0
        assert c["pressure_rod"][0] > 0.0


def test_cavities_that_open_and_close_come_back_to_their_pressure():
    for air in (0.005, 0.0):
        c = Circuit([{"supply_index": 0, "air": air}]).rest(0.2, 0.0)
        p = c["pressure_bore"][0], c["pressure_rod"][0]
        lowest = np.inf
        for _ in range(2):
            for v in (0.4, -0.4, -0.4, 0.4):
                for _ in range(100):
                    c.v[:] = v
                    c.tick(1e-3)
                    lowest = min(lowest, c["pressure_bore"][0], c["pressure_rod"][0])
        assert lowest < 0.3 * BAR
        assert c["pressure_bore"][0] == pytest.approx(p[0], rel=1e-6)
        assert c["pressure_rod"][0] == pytest.approx(p[1], rel=1e-6)


def test_new_pressures_mean_other_oil_and_others_go_on_with_theirs():
    h = cylinder()
    state = step(h, at_pressures(h, 60 * BAR, 80 * BAR), 0.3, 0.0, 0.0)
    same = step(h, state, 0.3, 0.0, 0.0)
    # what leaks between the chambers within 1 ms is all that changes
    leaked = 5e-13 * 20 * BAR * 1e-3
    assert same.oil_bore[0] - state.oil_bore[0] == pytest.approx(leaked, rel=0.02)
    other = step(h, state._replace(pressure_bore=np.array([90 * BAR])), 0.3, 0.0, 0.0)
    assert other.pressure_bore[0] == pytest.approx(90 * BAR, rel=1e-3)
    moved = h.settled(state, [1.4001])
    # the same oil 0.1 mm further out
    assert moved.oil_bore[0] == state.oil_bore[0]
    assert moved.pressure_bore[0] < state.pressure_bore[0] - 2 * BAR
    both = h.settled(state, [[1.4001], [1.4]])
    assert both.pressure_bore[0] == moved.pressure_bore
    assert both.pressure_bore[1] == pytest.approx(state.pressure_bore[0], rel=1e-12)
    assert h.settled(both, [[1.4], [1.4001]]).pressure_bore[1] == pytest.approx(
        moved.pressure_bore[0], rel=1e-12
    )
    back = h.settled(moved, [1.4])
    assert back.pressure_bore[0] == pytest.approx(state.pressure_bore[0], rel=1e-12)


def test_a_leak_empties_a_chamber_as_its_closed_form_says():
    """A locked piston: p1' = -beta/V1 C (p1 - p2)."""
    leak = 2e-12
    c = Circuit([{"supply_index": 0, "leak_internal": leak}]).rest(0.2, 0.0)
    c.set_pressures(100 * BAR, 40 * BAR)
    for _ in range(200):
        c.tick(1e-3)
    first = c["pressure_bore"][0], c["pressure_rod"][0]
    c.tick(1e-3)
    V1 = 1e-4 + AREAS[0] * 0.2
    beta = oil.volume_and_stiffness(AIR, first[0])[1]
    rate = (c["pressure_bore"][0] - first[0]) / 1e-3
    mean = 0.5 * (first[0] - first[1] + c["pressure_bore"][0] - c["pressure_rod"][0])
    assert rate == pytest.approx(-beta / V1 * leak * mean, rel=1e-4)


# ---- platforms do not creep ----


def viscous_platform(viscous):
    """`stewart_1t` without leakage and dry friction, so that nothing but oil holds it."""
    text = flexdyn_ros.load("stewart_1t").description.text
    for old, new in (
        ('internal="5e-13"', 'internal="0"'), ('coulomb="250"', 'coulomb="0"'),
        ('static="400"', 'static="0"'),
        ('viscous="600"', f'viscous="{viscous}"'),
    ):  # fmt: skip
        assert text.count(old) == 1
        text = text.replace(old, new)
    return flexdyn_ros.load(text)


def test_legs_on_shut_valves_keep_their_oil_to_the_last_bit_while_the_platform_swings():
    robot = viscous_platform(600)
    v = np.array([0.3, -0.2, 0.1, 0.05, 0.1, -0.2])
    stepper = Stepper(robot, 1e-3, v0=v)
    cylinders = FusedHydraulics(stepper, "valve")
    cylinders.command(np.zeros(6))
    stepper.advance(1)
    oil = cylinders.state().oil_bore, cylinders.state().oil_rod
    lengths = []
    for _ in range(100):
        stepper.advance(50)
        lengths.append(robot.inverse_kinematics(stepper.q.copy()).length)
    assert np.ptp(lengths, axis=0).min() > 1e-4
    state = cylinders.state()
    np.testing.assert_array_equal(state.oil_bore, oil[0])
    np.testing.assert_array_equal(state.oil_rod, oil[1])


@pytest.mark.parametrize("method", few(["staggered", "rk4", "semi_implicit_euler"], 2))
def test_a_platform_on_shut_valves_does_not_creep(method):
    """Mean lengths over the first and the last of 20 s on shut valves, after a motion of 5 s and the 3 s in
    which its oscillation dies away: at most 3e-7 m apart."""
    robot = viscous_platform(6000)

    def openings(t, q, v):
        return 0.3 * np.sin(2.0 * np.pi * 1.3 * t + np.arange(6)) if t < 5.0 else np.zeros(6)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = flexdyn_ros.simulate(
            robot, 28.0, control=ValveOpenings(openings), dt=1e-3, method=method, record_every=10
        )
    lengths = robot.inverse_kinematics(run.q).length
    first, last = ((run.t >= a) & (run.t <= a + 1.0) for a in (8.0, 27.0))
    assert np.ptp(lengths[run.t < 5.0], axis=0).min() > 0.01
    assert np.abs(lengths[last].mean(axis=0) - lengths[first].mean(axis=0)).max() <= 3e-7


def test_flow_constant_of_the_specification():
    assert pytest.approx(3.5635e-7, rel=1e-4) == K
