"""Oil in the stages of implicit steps: the dense linear step, ticks, and what friction and stops do there."""

import numpy as np
import pytest
from oil_circuits import FLUID, PUMPS, SENSING, Circuit, chamber_volumes, random_cylinder, rates_of

from flexdyn_ros.multibody.elements.cylinder.kernels import circuit, oil, pumps, stages
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as at
from flexdyn_ros.multibody.elements.cylinder.kernels import supplies as of
from flexdyn_ros.multibody.elements.cylinder.kernels.forces import hydraulic_force

AIR = tuple(FLUID.values())
WHOLE, HALVES = (stages.WHOLE, 1.0, 0.0), ((stages.FIRST_HALF, 0.5, 0.0), (stages.SECOND_HALF, 0.5, 0.5))


def step(c, h, extrapolates=True):
    """One step of h at the rates that the cylinders have; how rough it was, and whether it failed."""
    # rows of another step before
    own, lines = np.full((c.n, stages.STAGES), 7.0), np.full((len(c.supplies), stages.LINES), 7.0)
    rows = c.P.reshape(c.n, -1), c.S.reshape(len(lines), -1)
    all_of = c.flat, c.supplies.reshape(-1), own.reshape(-1), lines.reshape(-1)
    stages.begin_step(c.P, c.S, *all_of, c.y, c.v, c.commands, c.modes, h)
    for part, share, begin in (WHOLE, *HALVES) if extrapolates else (WHOLE,):
        stages.begin_stage(c.S, lines.reshape(-1), part)
        for move in (stages.comply, stages.flow):
            for P, X, C, y, v in zip(rows[0], c.states, own, c.y + begin * h * c.v, c.v, strict=True):
                k = int(P[at.SUPPLY_INDEX])
                of_stage = (y, v) if move is stages.comply else (v,)
                move(P, X, rows[1][k], C, lines[k], part, share * h, *of_stage)
        stages.flow_lines(c.S, lines.reshape(-1), part, share * h)
    rough = stages.roughest(c.P, c.S, all_of[0], *all_of[2:]) if extrapolates else 0.0
    c.y += h * c.v
    return rough, stages.end_step(c.P, c.S, *all_of, extrapolates)


# ---- oil ----


def pressures(s, y):
    """p1, p2 of every cylinder with the oil s (2 n,)."""
    V = np.concatenate([chamber_volumes(one) for one in y])
    return [oil.pressure_of(AIR, *pair, 50e5)[0] for pair in zip(V / s, strict=True)]


def oil_of(c):
    """Oil of bore and rod sides, cylinder after cylinder (2 n,)."""
    return np.stack([c["oil_bore"], c["oil_rod"]], axis=-1).ravel()


def flows(c, s, ps, x, y):
    """Rates of the oil (2 n,), what leaves the line, and the highest load."""
    p, found, drawn, load = np.reshape(pressures(s, y), (-1, 2)), [], 0.0, c.S[of.TANK]
    for P, x_, y_, (p1, p2) in zip(c.P.reshape(c.n, -1), x, y, p, strict=True):
        rates = rates_of(P, ps, x_, y_, p1, p2)[0]
        found += rates[:2]
        drawn += rates[8]
        load = max(load, pumps.sensed(c.S, P, p1, p2, x_)[0])
    return np.array(found), drawn, load


def slope(f, z, way, e=1e-4):
    """How f changes along a way from z on, e of which is small."""
    return (np.asarray(f(z + e * way)) - np.asarray(f(z - e * way))) / (2.0 * e)


def dense_stage(c, s, line, x, y, h):
    """Oil s and line (oil, swivel) after a linearly implicit Euler step of h; matrices are differences."""
    set_ps, n = (lambda z: pumps.line_pressure(c.S, z, 100e5)[0]), 2 * c.n
    ps = c.S[of.SET_PRESSURE] if line is None else set_ps(line[0])
    f, drawn, load = flows(c, s, ps, x, y)
    J = np.stack([slope(lambda z: flows(c, z, ps, x, y)[0], s, w, 1e-6) for w in np.diag(s)], axis=-1) / s
    by_way = slope(lambda z: flows(c, s, ps, x, z)[0], y, h * c.v)
    change = np.linalg.solve(np.eye(n) - h * J, h * (f + by_way))
    if line is None:
        return s + change, None
    drawn += slope(lambda z: flows(c, z[:n], ps, x, z[n:])[1], np.append(s, y), np.append(change, h * c.v))

    def rates(z):
        p, w, beta, by_oil = pumps.line_pressure(c.S, z[0], 100e5)
        more = flows(c, s, p, x, y)[1] - flows(c, s, ps, x, y)[1]
        return circuit.line_rates(c.S, (z[0], p, w, beta, by_oil, z[1]), load, drawn + more)[:2]

    J = np.stack([slope(rates, line, w, 1e-6) for w in np.diag(line)], axis=-1) / line
    return s + change, line + np.linalg.solve(np.eye(2) - h * J, h * np.array(rates(line)))


LINES = {
    "ideal": {},
    "swivel": SENSING | {"swivel_time": 0.02, "pump_leakage": 1e-12},
    "accumulator": PUMPS["accumulator"],
    "relief": {"pump": of.FIXED_DISPLACEMENT, "line_relief_pressure": 100e5, "line_relief": 2e-9},
}


#: of the valves [s]
LAG = 0.01


def spool_after(c, t):
    """Where spools of first order are t seconds after the command."""
    return c.commands + (c["spool"] - c.commands) * np.exp(-t / LAG)


def moving(rng, line, n=2):
    """Cylinders that move, their valves on their way, at pressures between their limits."""
    changes = {"spool_frequency": 0.0, "cushion_length": 0.0, "spool_time": LAG, "supply_index": 0}
    c = Circuit([random_cylinder(rng) | changes for _ in range(n)], [line])
    c.rest(rng.uniform(0.1, 0.3, n), 0.0)
    for side, V in zip(("bore", "rod"), chamber_volumes(c.y), strict=True):
        c[f"pressure_{side}"][:] = rng.uniform(20e5, 110e5, n)
        c[f"oil_{side}"][:] = V / [oil.volume_and_stiffness(AIR, p)[0] for p in c[f"pressure_{side}"]]
    c.v[:] = rng.uniform(-0.3, 0.3, n)
    c["spool"][:] = c["slewed_command"][:] = rng.uniform(0.2, 0.6, n) * rng.choice([-1, 1], n)
    c.commands[:] = c["spool"] + rng.choice([-0.4, 0.4], n)
    if line:
        c["swivel"][:], c["oil_line"][:], c["pressure"][:] = 0.4, 0.0, 155e5
        if line["pump"] == of.LOAD_SENSING:
            # within the band of the pump
            s = oil_of(c)
            c["pressure"][:] = flows(c, s, 155e5, c["spool"], c.y)[2] + 13.7e5
    return c


@pytest.mark.parametrize("extrapolates", [False, True])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_oil_after_a_step_is_that_of_the_dense_linear_step(line, extrapolates):
    """Twice what both halves give less what the whole gives; spools are where they will be at the end."""
    rng, worst, h = np.random.default_rng(8), [], 2e-3
    for _ in range(6):
        c = moving(rng, line)
        s = oil_of(c)
        at_line = np.array([pumps.line_oil(c.S, c["pressure"][0]), 0.4]) if line else None
        y, x, half_x = c.y.copy(), spool_after(c, h), spool_after(c, 0.5 * h)
        assert step(c, h, extrapolates)[1] == 0
        expected, on_line = dense_stage(c, s, at_line, x, y, h)
        if extrapolates:
            half = dense_stage(c, s, at_line, half_x, y, 0.5 * h)
            half = dense_stage(c, *half, x, y + 0.5 * h * c.v, 0.5 * h)
            expected = 2.0 * half[0] - expected
            on_line = 2.0 * half[1] - on_line if line else None
        worst.append(np.abs((oil_of(c) - expected) / (expected - s)).max())
        there = np.stack([c["pressure_bore"], c["pressure_rod"]], axis=-1).ravel()
        assert there == pytest.approx(np.array(pressures(oil_of(c), y + h * c.v)), rel=1e-9)
        if line:
            of_line = np.array([c["oil_line"][0], c["swivel"][0]])
            worst[-1] = max(worst[-1], np.abs((of_line - on_line) / (np.abs(on_line - at_line) + 1e-9)).max())
    assert max(worst) < 1e-5


@pytest.mark.parametrize("h", [1e-4, 5e-3])
def test_a_stage_pushes_as_its_linear_oil_does(h):
    """At the rate v at its end by force - h stiffness v: with the pressures of its oil and stroke."""
    rng = np.random.default_rng(9)
    for _ in range(6):
        c, v = moving(rng, {}, 1), 0.2
        y, own, line = c.y.copy(), np.zeros(stages.STAGES), np.zeros(stages.LINES)
        stages.begin_step(c.P, c.S, c.flat, c.supplies[0], own, line, y, c.v, c.commands, c.modes, h)
        s, p = np.array(
            [[c[f"{name}_{side}"][0] for side in ("bore", "rod")] for name in ("oil", "pressure")]
        )
        x = spool_after(c, h)
        stages.begin_stage(c.S, line, stages.WHOLE)
        force, stiffness, damping = stages.comply(c.P, c.flat, c.S, own, line, stages.WHOLE, h, y[0], c.v[0])
        assert damping == 0.0
        for c.v[:] in (0.0, v):
            way = np.append(dense_stage(c, s, None, x, y, h)[0] - s, h * c.v)
            by_way = slope(lambda z: pressures(z[:2], z[2:]), np.append(s, y), way)
            pushed = hydraulic_force(c.P, *(p + by_way))
            assert force - h * stiffness * c.v[0] == pytest.approx(pushed, rel=1e-6)


@pytest.mark.parametrize(("extrapolates", "h", "rel"), [(True, 1e-5, 2e-4), (False, 1e-6, 1e-2)])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_short_step_leaves_what_a_tight_tick_does(line, extrapolates, h, rel):
    """Energies, flows, forces, pressures and oil, spools and swivels."""
    c, other = (moving(np.random.default_rng(10), line) for _ in range(2))
    for name in ("rtol", "atol"):
        other.P.reshape(other.n, -1)[:, at.PARAMETERS.index(name)] = 1e-6
        other.S[of.SUPPLY_PARAMETERS.index(f"supply_{name}")] = 1e-6
    step(c, h, extrapolates)
    other.tick(h)
    told = "pump_flow", "attempts", "supply_attempts"
    for name in (name for name in (*at.STATE, *of.SUPPLY_STATE) if name not in told):
        assert c[name] == pytest.approx(other[name], rel=rel, abs=1e-12), name
    assert c["attempts"] == pytest.approx(3.0 if extrapolates else 1.0)
    assert c["pump_work"][0] > 1e3 * h
    assert c["line_loss"][0] > (1e5 * h if line.get("pump") == of.FIXED_DISPLACEMENT else -1e-12)


@pytest.mark.parametrize("extrapolates", [False, True])
def test_a_spool_without_lag_is_where_its_slew_limit_lets_it_be(extrapolates):
    """At the end of a step, as after a tick."""
    h = 1e-4
    c, other = (Circuit([{"slew_rate": 25.0, "supply_index": 0}]).rest(0.2, 3e3) for _ in range(2))
    for one, move in ((c, lambda: step(c, h, extrapolates)), (other, lambda: other.tick(h))):
        one.commands[:] = 0.5
        for _ in range(3):
            move()
        assert one["spool"][0] == pytest.approx(25.0 * 3.0 * h, rel=1e-12)


@pytest.mark.parametrize("side", ["bore", "rod"])
@pytest.mark.parametrize("extrapolates", [False, True])
def test_a_step_that_is_not_finite_leaves_all_states_but_a_flag(side, extrapolates):
    """One of two cylinders, whose valve lets through no finite flow."""
    c = moving(np.random.default_rng(12), {})
    c.P.reshape(2, -1)[1, at.PARAMETERS.index(f"leak_{side}")] = np.nan
    before = c.states.copy(), c.supplies.copy()
    assert step(c, 1e-3, extrapolates)[1] == 1
    assert np.all(c["flags"] == at.FAULT)
    for name in ("oil_bore", "oil_rod", "spool", "slewed_command", "supply_work", "piston_work", "oil_loss"):
        assert np.array_equal(c[name], before[0][:, at.STATE.index(name)]), name
    assert np.array_equal(c["pump_work"], before[1][:, of.SUPPLY_STATE.index("pump_work")])


# ---- friction and stops ----


LUGRE = {
    "friction_law": at.LUGRE_LAW, "coulomb": 250.0, "static": 400.0, "stribeck": 0.02, "viscous": 600.0,
    "bristle_stiffness": 1e6, "bristle_damping": 1e3,
}  # fmt: skip


def friction_of_a_stage(z, v, h):
    """Friction and damping of a shut cylinder without load, whose bristles are bent by z."""
    c = Circuit([LUGRE]).rest(0.2, 0.0)
    c["bristle"][:] = z
    own, line = np.zeros(stages.STAGES), np.zeros(stages.LINES)
    stages.begin_step(c.P, c.S, c.flat, c.supplies[0], own, line, c.y, c.v, c.commands, c.modes, h)
    stages.begin_stage(c.S, line, stages.WHOLE)
    force, _, damping = stages.comply(c.P, c.flat, c.S, own, line, stages.WHOLE, h, 0.2, v)
    return -force, damping


@pytest.mark.parametrize("v", [0.3, -0.015])
@pytest.mark.parametrize("h", [1e-5, 1e-3, 0.1])
def test_bristles_in_a_stage_push_by_their_bend_and_its_rate_at_the_end(v, h):
    """z1 = z + h z1', z1' = v - |v| z1/z0 with z0 where they slide."""
    slides = (250.0 + 150.0 * np.exp(-((v / 0.02) ** 2))) / 1e6
    for z in (np.sign(v) * slides, 1e-4, -2e-4, 0.0):
        bent = (z + h * v) / (1.0 + h * abs(v) / slides)
        force, damping = friction_of_a_stage(z, v, h)
        assert force == pytest.approx(1e6 * bent + 1e3 * (v - abs(v) * bent / slides) + 600.0 * v, rel=1e-6)
    # bristles that are straight begin with what the rate bends them by
    assert damping * v == pytest.approx(force, rel=1e-6)


@pytest.mark.parametrize("v", [0.3, -0.015])
def test_bristles_in_an_extrapolated_step_at_constant_rate_are_exact(v):
    level = 250.0 + 150.0 * np.exp(-((v / 0.02) ** 2))
    z = level / 1e6 * -np.expm1(-1e6 * abs(v) / level * 1e-3)
    c = Circuit([LUGRE]).rest(0.2, 0.0)
    c.v[:] = v
    step(c, 1e-3)
    assert c["bristle"][0] == pytest.approx(np.sign(v) * z, rel=1e-9)


@pytest.mark.parametrize("y", [-1e-4, 0.2, 0.4001])
def test_a_step_of_a_cylinder_that_rests_is_not_rough_even_in_its_stops(y):
    assert step(Circuit([{"stop_stiffness": 2e7}]).rest(y, 0.0), 1e-3)[0] < 1e-6


@pytest.mark.parametrize("y", [-1e-4, 0.1, 0.4002])
def test_a_short_stage_of_a_shut_cylinder_at_rest_has_the_slopes_of_its_force(y):
    """By the stroke at constant oil, of oil springs and end stops; by the rate, of friction and end stops."""
    c = Circuit([{"stop_stiffness": 2e7, "stop_damping": 0.5, "friction_law": 1.0, "viscous": 600.0}])
    c.rest(0.2, 0.0)
    own, line = np.zeros(stages.STAGES), np.zeros(stages.LINES)
    stages.begin_step(c.P, c.S, c.flat, c.supplies[0], own, line, c.y, c.v, c.commands, c.modes, 1e-12)
    stages.begin_stage(c.S, line, stages.WHOLE)

    def stage(y, v):
        return stages.comply(c.P, c.flat, c.S, own, line, stages.WHOLE, 1e-12, y, v)

    by_y = (stage(y + 1e-7, 0.0)[0] - stage(y - 1e-7, 0.0)[0]) / 2e-7
    by_v = (stage(y, 1e-4)[0] - stage(y, -1e-4)[0]) / 2e-4
    assert stage(y, 0.0)[1:] == (pytest.approx(-by_y, rel=1e-5), pytest.approx(-by_v, rel=1e-5))
