"""Slopes of the oil's rates, stages of circuits, and oil eliminated from an implicit step (O6)."""

from functools import partial

import numpy as np
import pytest
from oil_circuits import AREAS, BAR, FLUID, Circuit, chamber_volumes, random_cylinder

from flexdyn_ros.multibody.elements.cylinder.kernels import (
    circuit,
    compliance,
    cylinder,
    oil,
    pumps,
    ticks,
)
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import friction_force, stop_force

AIR = tuple(FLUID.values())
G = 9.81
GAMMA = 1.0 - 1.0 / np.sqrt(2.0)


def rates(P, ps, x, y, p):
    w = [oil.volume_and_stiffness(AIR, q) for q in p]
    return cylinder.oil_rates(P, ps, x, y, p[0], *w[0], p[1], *w[1])


def rates_of_oil(P, ps, x, y, s):
    p = [oil.pressure_of(AIR, v, 80e5)[0] for v in chamber_volumes(y) / s]
    return np.array(rates(P, ps, x, y, p)[:2])


def test_slopes_of_the_rates_are_their_differences():
    """By p1, p2, ps, of both rates and of what leaves the supply; a few differences straddle a kink."""
    rng, missed = np.random.default_rng(11), 0
    for _ in range(300):
        P = Circuit([random_cylinder(rng)]).P
        z = rng.uniform(1e5, 170e5, 3)
        x, y = rng.uniform(-1, 1), rng.uniform(0.02, 0.38)
        found = rates(P, z[2], x, y, z[:2])
        exact = np.array([
            [found[2], found[3], found[6]], [found[4], found[5], found[7]], [found[9], found[10], found[11]]
        ])  # fmt: skip
        differences = np.empty((3, 3))
        for j in range(3):
            h = 20.0
            ends = [rates(P, w[2], x, y, w[:2]) for w in (z + h * np.eye(3)[j], z - h * np.eye(3)[j])]
            differences[:, j] = [(ends[0][k] - ends[1][k]) / (2 * h) for k in (0, 1, 8)]
        scale = np.abs(exact).max() + 1e-13
        missed += np.abs(differences - exact).max() > 1e-5 * scale
    assert missed <= 6


def test_sub_steps_of_a_cylinder_are_those_of_the_dense_scheme():
    """Piston and spool stand still, a wide leak couples the chambers: s + h (1.5 k + 0.5 l) with
    (1 - gamma h J) k = f(s), (1 - gamma h J) l = f(s + h k) - 2 k."""
    rng, worst, h, ps = np.random.default_rng(8), [], 2e-3, 160e5
    for _ in range(8):
        P = Circuit([random_cylinder(rng) | {"leak_internal": 2e-10}]).P
        x, y, p = rng.uniform(-1, 1), rng.uniform(0.1, 0.3), rng.uniform(1e5, 170e5, 2)
        w, beta = np.transpose([oil.volume_and_stiffness(AIR, q) for q in p])
        s = chamber_volumes(y) / w
        f = partial(rates_of_oil, P, ps, x, y)
        sides = np.diag(1e-6 * s)
        J = np.array([(f(s + side) - f(s - side)) / (2 * side.sum()) for side in sides]).T
        inverse = np.linalg.inv(np.eye(2) - GAMMA * h * J)
        k = inverse @ f(s)
        l = inverse @ (f(s + h * k) - 2.0 * k)
        new = cylinder.sub_step(P, ps, (s[0], p[0], beta[0], s[1], p[1], beta[1]), x, y, x, y, h)[0]
        worst.append(np.abs((np.array([new[0], new[3]]) - s - h * (1.5 * k + 0.5 * l)) / s).max())
    # a kink between the ends of a difference counts against few
    assert np.sort(worst)[-2] < 1e-7


# ---- circuits ----

LINES = {
    "load sensing": {
        "pump": of.LOAD_SENSING,
        "margin": 20e5,
        "maximum_pressure": 250e5,
        "pump_leakage": 1e-12,
    },
    "swivel": {"pump": of.LOAD_SENSING, "margin": 20e5, "maximum_pressure": 250e5, "swivel_time": 0.02},
    "constant pressure": {"pump": of.CONSTANT_PRESSURE, "swivel_time": 0.01, "pump_leakage": 1e-12},
    "accumulator": {"pump": of.CONSTANT_PRESSURE, "accumulator_volume": 1e-3, "precharge": 60e5},
    "relief": {"pump": of.FIXED_DISPLACEMENT, "line_relief_pressure": 100e5, "line_relief": 2e-9},
}


def random_circuit(rng, line, n=3):
    """A circuit between its limits, its memory opened as a tick does, and its line."""
    c = Circuit([random_cylinder(rng) for _ in range(n)], [line])
    c.rest(rng.uniform(0.05, 0.35, n), 0.0)
    c.set_pressures(rng.uniform(20e5, 110e5, n), rng.uniform(20e5, 110e5, n))
    c["spool"][:] = rng.uniform(0.2, 0.9, n) * rng.choice([-1, 1], n)
    load = max(
        pumps.sensed(c.S, P, X[at.PRESSURE_1], X[at.PRESSURE_2], X[at.SPOOL])[0]
        for P, X in zip(c.P.reshape(n, -1), c.states, strict=True)
    )
    # inside the band of the pump, away from where compensators begin
    c["pressure"][:] = load + 13.7e5 if line["pump"] == of.LOAD_SENSING else 155e5
    c["swivel"][:], c["oil_line"][:] = 0.4, 0.0
    motion = (c.y, c.v, np.zeros(n))
    tuple_ = ticks.open_line(c.S, c.supplies[0])
    ticks.open_cylinders(c.P, c.flat, c.work, 0, motion)
    return c, tuple_, motion


def state_of(c, line):
    oil_of = c.work[: c.n * circuit.CIRCUIT_WORK].reshape(c.n, -1)
    return np.array([*oil_of[:, [circuit.S_1, circuit.S_2]].ravel(), line[0], line[5]])


def all_rates(c, z, y=None):
    """Rates of (s1, s2 by cylinder, line, swivel), of which no kernel of stages is used."""
    y = c.y if y is None else y
    ps, w, beta, slope = pumps.line_pressure(c.S, z[-2], 100e5)
    found, drawn, load = [], 0.0, c.S[of.TANK]
    for i, P in enumerate(c.P.reshape(c.n, -1)):
        V = chamber_volumes(y[i])
        p = [oil.pressure_of(AIR, V[j] / z[2 * i + j], 50e5)[0] for j in range(2)]
        x = c["spool"][i]
        one = rates(P, ps, x, y[i], p)
        found += [one[0], one[1]]
        drawn += one[8]
        load = max(load, pumps.sensed(c.S, P, p[0], p[1], x)[0])
    line = circuit.line_rates(c.S, (z[-2], ps, w, beta, slope, z[-1]), load, drawn)
    return np.array([*found, line[0], line[1]])


def dense_jacobian(c, z):
    J = np.empty((z.size, z.size))
    for j in range(z.size):
        h = 1e-6 * z[j]
        J[:, j] = (all_rates(c, z + h * np.eye(z.size)[j]) - all_rates(c, z - h * np.eye(z.size)[j])) / (
            2 * h
        )
    return J


def linearised(c, line, motion, b):
    border, loaded = compliance.open_block(c.P, c.S, c.work, 0, line, motion, 0.0, b)
    return border, loaded


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_stages_of_circuits_are_those_of_a_dense_matrix(line):
    rng, worst = np.random.default_rng(2), []
    for _ in range(12):
        c, now, motion = random_circuit(rng, line)
        z = state_of(c, now)
        for b in (1e-4, 1e-2):
            border, loaded = linearised(c, now, motion, b)
            r = rng.normal(size=z.size) * np.maximum(np.abs(z), 1e-6)
            work = c.work[: c.n * circuit.CIRCUIT_WORK].reshape(c.n, -1)
            work[:, circuit.R_1], work[:, circuit.R_2] = r[: 2 * c.n : 2], r[1 : 2 * c.n : 2]
            ends = circuit.solve_stage(c.P, c.work, 0, border, loaded, circuit.K_1, r[-2], r[-1])
            k = np.array([*work[:, [circuit.K_1, circuit.K_2]].ravel(), *ends])
            expected = np.linalg.solve(np.eye(z.size) - b * dense_jacobian(c, z), r)
            worst.append(np.abs((k - expected) / np.maximum(np.abs(z), 1e-6)).max())
    # a kink between the ends of a difference counts against few
    assert np.sort(worst)[-3] < 1e-4


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_sub_steps_of_circuits_are_those_of_the_dense_scheme(line):
    """Pistons and spools stand still: z + h (1.5 k + 0.5 l) with (1 - gamma h J) k = f(z),
    (1 - gamma h J) l = f(z + h k) - 2 k."""
    rng, worst = np.random.default_rng(5), []
    for _ in range(6):
        c, now, motion = random_circuit(rng, line)
        z, h = state_of(c, now), 1e-3
        oil_of = c.work[: c.n * circuit.CIRCUIT_WORK].reshape(c.n, -1)
        oil_of[:, circuit.NEXT_X] = oil_of[:, circuit.X]
        new = circuit.circuit_step(c.P, c.S, c.work, 0, now, motion, 0.0, h)[0]
        found = np.array([*oil_of[:, [circuit.N_1, circuit.N_2]].ravel(), new[0], new[5]])
        inverse = np.linalg.inv(np.eye(z.size) - GAMMA * h * dense_jacobian(c, z))
        k = inverse @ all_rates(c, z)
        l = inverse @ (all_rates(c, z + h * k) - 2.0 * k)
        worst.append(np.abs((found - z - h * (1.5 * k + 0.5 * l)) / (z + 1e-6)).max())
    # a kink between the ends of a difference counts against few
    assert np.sort(worst)[-2] < 1e-7


def test_an_error_of_the_oil_in_a_line_counts_by_the_share_of_its_pressure():
    rtol = 1e-4
    line = LINES["constant pressure"] | {"supply_rtol": rtol, "supply_atol": 0.0}
    c, now, _ = random_circuit(np.random.default_rng(6), line)
    excess = pumps.line_oil(c.S, (1.0 + rtol) * now[1]) - now[0]
    k, still = (2.0 * excess, 0.0), (0.0, 0.0)
    assert circuit.circuit_error(c.P, c.S, c.work, 0, now, now, 1.0, k, still) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_stiffness_of_cylinders_on_one_line_is_that_of_the_dense_elimination(line):
    """k_eff, the forces of eliminated right sides, and the stages of the oil afterwards, for b = gamma h."""
    rng, worst = np.random.default_rng(4), []
    for _ in range(12):
        c, now, motion = random_circuit(rng, line)
        z, n = state_of(c, now), c.n
        y, b = c.y.copy(), 3e-3
        J = dense_jacobian(c, z)
        beta = [
            oil.volume_and_stiffness(AIR, p)[1] for p in c.states[:, [at.PRESSURE_1, at.PRESSURE_2]].ravel()
        ]
        A = np.zeros((n, z.size))
        by_y = np.empty((z.size, n))
        stiff = np.empty(n)
        for i in range(n):
            V = chamber_volumes(y[i])
            A[i, 2 * i] = AREAS[0] * beta[2 * i] / z[2 * i]
            A[i, 2 * i + 1] = -AREAS[1] * beta[2 * i + 1] / z[2 * i + 1]
            stiff[i] = AREAS[0] ** 2 * beta[2 * i] / V[0] + AREAS[1] ** 2 * beta[2 * i + 1] / V[1]
            step = 1e-7 * np.eye(n)[i]
            by_y[:, i] = (all_rates(c, z, y + step) - all_rates(c, z, y - step)) / 2e-7
        inverse = np.linalg.inv(np.eye(z.size) - b * J)
        if c.P.reshape(n, -1)[:, at.CUSHION_LENGTH].any():
            # cushions have a slope by the stroke that G P_y leaves out
            continue
        block, out = np.empty(n * n), np.empty(n)
        border, loaded = linearised(c, now, motion, b)
        compliance.effective_block(c.P, c.work, 0, border, loaded, b, block)
        expected = np.diag(stiff) - b * A @ inverse @ by_y
        worst.append(np.abs(block.reshape(n, n) - expected).max() / stiff.max())
        r = rng.normal(size=z.size) * 1e-4
        compliance.eliminated_forces(c.P, c.work, 0, border, loaded, r[: 2 * n], r[-2], r[-1], out)
        worst.append(np.abs(out - A @ inverse @ r).max() / np.abs(out).max())
        k_length, k_oil = rng.normal(size=n), np.empty(2 * n)
        ends = compliance.oil_stage(
            c.P, c.work, 0, border, loaded, b, r[: 2 * n], r[-2], r[-1], k_length, k_oil
        )
        k = inverse @ (r + b * by_y @ k_length)
        worst.append((np.abs(np.array([*k_oil, *ends]) - k) / (np.abs(k) + 1e-6)).max())
    assert len(worst) >= 3
    assert np.sort(worst)[-3] < 1e-3


# ---- O6 ----


@pytest.mark.parametrize(
    ("x", "h", "k_eff", "D", "k_v"),
    [
        (0.0, 1e-3, 13394890.76, 1.324835892, -0.330434646389),
        (0.3, 1e-3, 13160877.97, 1.304760768, -0.327994148663),
        (0.3, 0.1, 5484757.601, 4722.751752, -0.324667309348),
        (-0.3, 1e-3, 13067658.96, 1.296763842, -0.327340188867),
    ],
)
def test_o6_one_stage_of_a_mass_on_oil(x, h, k_eff, D, k_v):
    """The eliminated stage has the printed numbers, and is that of the dense (y, v, s1, s2)."""
    P, ps, y, m, viscous = Circuit([{"supply_index": 0}]).P, 160e5, 0.17, 300.0, 600.0
    rod = 20 * BAR
    bore = (AREAS[1] * rod + (AREAS[0] - AREAS[1]) * 101325.0 + m * G) / AREAS[0]
    V, p = chamber_volumes(y), (bore, rod)
    w = [oil.volume_and_stiffness(AIR, q) for q in p]
    s = [V[j] / w[j][0] for j in range(2)]
    b = GAMMA * h
    state = (s[0], p[0], w[0][1], s[1], p[1], w[1][1])
    stiffness, row, inverse, column = compliance.effective_stiffness(P, ps, x, y, state, b)
    assert stiffness == pytest.approx(k_eff, rel=1e-9)
    damping = b * viscous + b * b * stiffness
    assert damping == pytest.approx(D, rel=1e-9)
    r_q, r_v, r_s = 0.01, -0.2, np.array([1e-6, 2e-6])
    k = (m * r_v - b * stiffness * r_q + b * np.dot(row, r_s)) / (m + damping)
    assert k == pytest.approx(k_v, abs=1e-12)
    k_q = r_q + b * k
    k_s = np.reshape(inverse, (2, 2)) @ r_s + np.array(column) * k_q
    # the dense stage: p by y and s, rates by p
    found = rates(P, ps, x, y, p)
    Gp = np.array([[found[2], found[3]], [found[4], found[5]]])
    by_s = np.diag([w[j][1] / s[j] for j in range(2)])
    by_y = np.array([-w[0][1] * AREAS[0] / V[0], w[1][1] * AREAS[1] / V[1]])
    a = np.array([AREAS[0], -AREAS[1]])
    J = np.zeros((4, 4))
    J[0, 1] = 1.0
    J[1] = [a @ by_y / m, -viscous / m, *(a @ by_s / m)]
    J[2:, 0], J[2:, 2:] = Gp @ by_y, Gp @ by_s
    dense = np.linalg.solve(np.eye(4) - b * J, [r_q, r_v, *r_s])
    np.testing.assert_allclose([k_q, k, *k_s], dense, rtol=1e-10)


def test_an_open_valve_is_soft_for_a_long_step_and_an_oil_spring_for_a_short_one():
    P, y = Circuit([{"supply_index": 0}]).P, 0.2
    V, p = chamber_volumes(y), (60e5, 90e5)
    w = [oil.volume_and_stiffness(AIR, q) for q in p]
    state = (V[0] / w[0][0], p[0], w[0][1], V[1] / w[1][0], p[1], w[1][1])
    shut = compliance.effective_stiffness(P, 160e5, 0.0, y, state, 1.0)[0]
    assert shut == pytest.approx(w[0][1] * AREAS[0] ** 2 / V[0] + w[1][1] * AREAS[1] ** 2 / V[1], rel=1e-12)
    open_ = [compliance.effective_stiffness(P, 160e5, 0.5, y, state, b)[0] for b in (1e-7, 1e-3, 0.1, 10.0)]
    assert open_[0] == pytest.approx(shut, rel=1e-3)
    assert np.all(np.diff(open_) < 0.0)
    assert open_[-1] < 0.02 * shut


def test_resistance_is_the_secant_of_friction():
    P = Circuit([{
        "friction_law": at.STRIBECK_LAW, "coulomb": 250.0, "static": 400.0, "stribeck": 0.02,
        "smoothing": 0.002, "viscous": 600.0,
    }]).P  # fmt: skip
    for v in (-0.3, -0.01, 1e-5, 0.02):
        assert compliance.resistance(P, v) * v == pytest.approx(friction_force(P, 0.0, v), rel=1e-9)
    assert compliance.resistance(P, 0.0) == pytest.approx(compliance.resistance(P, 1e-8), rel=1e-3)
    assert compliance.resistance(Circuit([{}]).P, 0.1) == 0.0


def test_slopes_of_end_stops_are_their_differences():
    P = Circuit([{"stop_stiffness": 2e7, "stop_damping": 0.5}]).P
    for y, v in (
        (-1e-3, 0.2),
        (-1e-3, -0.3),
        (0.401, 0.2),
        (0.401, -0.4),
        (0.2, 0.1),
        (-1e-3, 1.5),
        (0.401, -2.0),
    ):
        k, d = compliance.stop_slopes(P, y, v)
        by_y = (stop_force(P, y + 1e-6, v) - stop_force(P, y - 1e-6, v)) / 2e-6
        by_v = (stop_force(P, y, v + 1e-6) - stop_force(P, y, v - 1e-6)) / 2e-6
        assert (-k, -d) == pytest.approx((by_y, by_v), rel=1e-6, abs=1e-6)
