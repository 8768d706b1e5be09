"""The included boom: its size, pressures, frequencies, and loads that its valves hold."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sampled import few
from scipy.linalg import eigh

import flexdyn_ros
from flexdyn_ros.simulation import FusedHydraulics, Stepper

BAR = 1e5
JOINTS = ("lift", "fold", "tilt")
TEXT = (Path(__file__).parents[2] / "urdf" / "boom.urdf").read_text(encoding="utf-8")
#: cavitation among the flags of flexdyn_interfaces/msg/HydraulicState
CAVITATION = 8


def loaded(kilograms: float, text: str = "boom"):
    """The boom with a load on its tool."""
    robot = flexdyn_ros.load(text)
    return robot.with_payload("load_point", kilograms) if kilograms else robot


def at_rest(robot, **positions: float) -> np.ndarray:
    """q with the joints at these positions [rad], bent by weight."""
    q = robot.neutral()
    for name, value in positions.items():
        q[robot.q_names.index(name)] = value
    return robot.static_equilibrium(q, hold=JOINTS).q


def ramped(opening: float):
    """The valve of the lift cylinder opened over half a second, held for one, and shut."""
    return lambda t, q, v: {"lift_cylinder/valve": opening * np.interp(t, [0.0, 0.5, 1.5, 2.0], [0, 1, 1, 0])}


def test_reach_and_check():
    robot = loaded(0)
    pivot, load = robot.frames(robot.neutral(), ["boom_1", "load_point"])[:, :3, 3]
    assert np.linalg.norm(load - pivot) >= 6.0
    report = flexdyn_ros.check("boom")
    assert report.warnings == ()
    (ratio,) = (note for note in report.notes if "l/min" in note)
    # 7.162e-6 * 157.08 m3/s of two times 54 and 18 l/min
    assert "67.5 l/min, 0.54 of the 126 l/min" in ratio


@pytest.mark.parametrize("load", [0, 500, 1000])
def test_pressures_over_the_work_space(load):
    robot = loaded(load)
    places = [robot.index(name) for name in JOINTS]
    ranges = [
        np.linspace(robot.coordinates[i].lower, robot.coordinates[i].upper, count)
        for i, count in zip(places, (6, 7, 5), strict=True)
    ]
    poses = np.array(list(product(*ranges)))
    q = np.tile(robot.neutral(), (len(poses), 1))
    q[:, places] = poses
    pressures = [k for k, state in enumerate(robot.element_states) if "/pressure_" in state.name]
    found = robot.rest_states(q)[:, pressures] / BAR
    assert found.min() >= 20.0
    assert found.max() <= 250.0


def oil_springs(robot, q: np.ndarray) -> np.ndarray:
    """K (nv, nv) of the oil between shut valves: beta A^2/V of both chambers, by differences of lengths."""
    h, still = robot.hydraulics, np.zeros(robot.nv)
    states = robot.rest_states(q).tolist()
    value = dict(zip([state.name for state in robot.element_states], states, strict=True))

    def lengths(step: np.ndarray) -> np.ndarray:
        return np.array(robot.cylinder_states(robot.integrate(q, step, 1.0), still).length)

    J = np.array([(lengths(e) - lengths(-e)) / 2e-6 for e in 1e-6 * np.eye(robot.nv)]).T
    K = np.zeros((robot.nv, robot.nv))
    for i, record in enumerate(robot.description.extras["cylinder"]):
        c, stroke = record.hydraulics.chambers, lengths(still)[i] - record.minimum_length
        area = 0.25 * np.pi * c.bore**2
        ring = area - 0.25 * np.pi * c.rod_diameter**2
        volumes = c.dead_volume_bore + area * stroke, c.dead_volume_rod + ring * (record.stroke - stroke)
        for port, A, V in zip(("bore", "rod"), (area, ring), volumes, strict=True):
            beta = h.bulk_modulus(value[f"{record.name}/pressure_{port}"])[i]
            K += beta * A**2 / (V + record.hydraulics.hose_volume(port)) * np.outer(J[i], J[i])
    return K


@pytest.mark.parametrize("load", [0, 500, 1000])
def test_first_frequency_at_full_reach_is_that_of_oil_beam_and_mass(load):
    robot = loaded(load)
    q = at_rest(robot)
    first = robot.modes(q).frequency[0]
    assert 1.0 <= first <= 5.0
    # cantilever eigenfunctions (1.8751, 4.6941 over the length, 1 at the tip: modal masses m L/4)
    w = np.array([1.8751041, 4.6940911]) ** 2 * np.sqrt(7.789e6 / (47.7 * 3.2**4))
    beam = np.zeros((robot.nv, robot.nv))
    for k, name in enumerate(("boom_2/bending_z/1", "boom_2/bending_z/2")):
        i = robot.index(name)
        beam[i, i] = w[k] ** 2 * 47.7 * 3.2 / 4.0
    closed = np.sqrt(eigh(oil_springs(robot, q) + beam, robot.mass_matrix(q), eigvals_only=True)[0])
    # without the stiffness of weights, which modes have
    np.testing.assert_allclose(first, closed / (2.0 * np.pi), rtol=5e-3)


def test_the_load_swings_at_the_first_frequency():
    robot = loaded(1000)
    q = at_rest(robot, lift=0.2, fold=-0.4)
    modes = robot.modes(q)
    shape = modes.shape[:, 0] / np.abs(modes.shape[:, 0]).max()
    run = flexdyn_ros.simulate(robot, 4.0, q, 0.05 * shape, rtol=1e-6)
    # the part of the first mode in the motion
    v = run.v @ robot.mass_matrix(q) @ shape
    crossings = np.flatnonzero(np.diff(np.sign(v)))
    period = 2.0 * np.diff(run.t[crossings]).mean()
    np.testing.assert_allclose(1.0 / period, modes.frequency[0], rtol=2e-3)


@pytest.mark.parametrize("method", few(["rosenbrock", "staggered"], 1))
def test_it_does_not_sink_on_shut_valves(method):
    # a motion of 5 s, 10 s in which its swing dies away, and 60 s: mean lengths of the first and last second
    robot = loaded(0)
    stepper = Stepper(robot, 1e-3, method, q0=at_rest(robot, lift=0.3, fold=-0.5))
    oil = FusedHydraulics(stepper, "valve")
    for openings, seconds in (([0.3, 0.2, 0.3], 2.5), ([-0.2, -0.2, -0.3], 2.5), ([0.0, 0.0, 0.0], 10.0)):
        oil.command(openings)
        assert stepper.advance(round(1000 * seconds)) == 0

    def mean_of_a_second() -> np.ndarray:
        lengths = []
        for _ in range(200):
            assert stepper.advance(5) == 0
            lengths.append(robot.cylinder_states(stepper.q, stepper.v).length)
        return np.mean(lengths, axis=0)

    assert np.abs(stepper.q[[0, 1, 4]] - [0.3, -0.5, 0.0]).max() > 0.02
    kept, first = oil.state(), mean_of_a_second()
    assert stepper.advance(58_000) == 0
    assert np.abs(mean_of_a_second() - first).max() <= 1e-6
    # tight valves keep the oil, whatever the steps
    np.testing.assert_allclose(oil.state().oil_bore, kept.oil_bore, rtol=1e-12)
    np.testing.assert_allclose(oil.state().oil_rod, kept.oil_rod, rtol=1e-12)


@pytest.mark.parametrize("method", ["staggered", "rosenbrock"])
def test_a_leak_past_the_piston_lets_it_sink_as_the_closed_form_says(method):
    # the load stays: A1 p1' = A2 p2'; p1' = beta1/V1 (-q - A1 v), p2' = beta2/V2 (q + A2 v), q = C (p1 - p2)
    C, chambers = 5e-13, '<chambers bore="0.1" '
    assert TEXT.count(chambers) == 1
    robot = loaded(500, TEXT.replace(chambers, f'<leakage internal="{C}"/>{chambers}'))
    stepper = Stepper(robot, 1e-3, method, q0=at_rest(robot, lift=0.3, fold=-0.5))
    oil = FusedHydraulics(stepper, "valve")
    assert stepper.advance(6000) == 0
    t, length, bore, rod = [], [], [], []
    for _ in range(1200):
        assert stepper.advance(5) == 0
        state = oil.state()
        t.append(stepper.t)
        length.append(robot.cylinder_states(stepper.q, stepper.v).length[0])
        bore.append(state.pressure_bore[0])
        rod.append(state.pressure_rod[0])
    y, p1, p2 = np.mean(length) - 1.02, np.mean(bore), np.mean(rod)
    area = 0.25 * np.pi * 0.1**2
    ring = area - 0.25 * np.pi * 0.063**2
    beta = [robot.hydraulics.bulk_modulus(p)[0] for p in (p1, p2)]
    # dead volumes and hoses
    c1, c2 = beta[0] * area / (7e-4 + area * y), beta[1] * ring / (7e-4 + ring * (0.8 - y))
    closed = -C * (p1 - p2) * (c1 + c2) / (c1 * area + c2 * ring)
    assert closed < -5e-5
    np.testing.assert_allclose(np.polyfit(t, length, 1)[0], closed, rtol=0.02)


@pytest.mark.parametrize("load", [500, 1000])
def test_lowering_cavitates_without_counterbalance_valves_only(load):
    bare = re.sub(r"<counterbalance[^>]*/>", "", TEXT)
    found = {}
    for name, text in (("held", TEXT), ("bare", bare)):
        robot = loaded(load, text)
        q = at_rest(robot, lift=0.6, fold=-0.5)
        run = flexdyn_ros.simulate(
            robot, 2.5, q, control=ramped(-0.4), dt=1e-3, record=("energy", "hydraulics")
        )
        cavitates = (run.hydraulics.flags[:, 0].astype(int) & CAVITATION) > 0
        even = slice(800, 1500)
        speed = run["lift", "velocity"][even]
        found[name] = cavitates.sum(), run["lift_cylinder/pressure_rod"].min(), speed.mean(), speed.std()
    assert found["held"][0] == 0
    assert found["held"][1] > 1.0 * BAR
    assert found["bare"][0] > 1000
    assert found["bare"][1] < 0.3 * BAR
    # the speed that the pump's oil gives: flow of the compensated edge over the ring, by the lever
    assert found["bare"][2] < 2.0 * found["held"][2] < 0.0
    assert found["held"][3] < 0.12 * abs(found["held"][2])


def test_a_lowered_boom_moves_as_fast_as_its_oil_comes_in():
    robot = loaded(500)
    q = at_rest(robot, lift=0.6, fold=-0.5)
    run = flexdyn_ros.simulate(robot, 1.5, q, control=ramped(-0.4), dt=1e-3)
    ring = 0.25 * np.pi * (0.1**2 - 0.063**2)
    rate = robot.cylinder_states(run.q[700:1500], run.v[700:1500]).rate[:, 0].mean()
    # 54 l/min at the full opening, whatever the load
    np.testing.assert_allclose(rate, -0.4 * 9e-4 / ring, rtol=0.03)


def test_it_holds_its_load_while_others_move():
    robot = loaded(1000)
    q = at_rest(robot, lift=0.3, fold=-0.6)
    run = flexdyn_ros.simulate(
        robot, 3.0, q, dt=1e-3,
        control=lambda t, q, v: {"fold_cylinder/valve": -0.3 * np.interp(t, [0, 0.5, 1.5, 2], [0, 1, 1, 0])},
    )  # fmt: skip
    assert run["fold"][-1] - run["fold"][0] > 0.1
    assert abs(run["lift"][-1] - run["lift"][0]) < 0.01


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_the_work_of_the_pump_is_found_again(method):
    # in the pistons, in the oil, or lost: to 1e-3 of it with steps of 1 ms
    robot = loaded(500)
    stepper = Stepper(robot, 1e-3, method, q0=at_rest(robot, lift=0.5, fold=-0.6))
    oil = FusedHydraulics(stepper, "valve")
    assert stepper.advance(1) == 0
    before, total = oil.account(), 0.0
    for openings in ([0.5, 0, 0], [0, -0.3, 0], [0, 0, 0.3], [-0.3, 0.2, 0], [0, 0, 0]):
        begin = oil.account()
        oil.command(openings)
        assert stepper.advance(1000) == 0
        # of each motion too, which may not cancel
        stored, pump, piston, loss = np.subtract(oil.account(), begin)
        total += abs(pump - piston - loss - stored)
    _, pump, piston, _ = np.subtract(oil.account(), before)
    assert pump > 1e4
    assert total < 1e-3 * pump
    # pistons move the boom, less friction
    assert piston > stepper.work > 0.8 * piston


def test_the_account_of_energies_closes_to_a_hundred_millionth_with_error_control():
    robot = loaded(500)
    stepper = Stepper(robot, 1e-4, "staggered", q0=at_rest(robot, lift=0.5, fold=-0.6))
    oil = FusedHydraulics(stepper, "valve")
    oil.sharpen(1e-10)
    assert stepper.advance(1) == 0
    before = oil.account()
    for openings in ([0.5, 0, 0], [0, -0.3, 0], [-0.3, 0.2, 0.3], [0, 0, 0]):
        oil.command(openings)
        assert stepper.advance(2000) == 0
    stored, pump, piston, loss = np.subtract(oil.account(), before)
    assert pump > 1e3
    assert abs(pump - piston - loss - stored) < 1e-8 * pump
