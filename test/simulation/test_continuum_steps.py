"""Soft arms in time: energy, balance, implicit springs, stops, wrenches, pressures."""

import numpy as np
import pytest
from soft_arms import chain, one

import flexdyn_ros
from flexdyn_ros.families.continuum.model import ATMOSPHERE
from flexdyn_ros.simulation import Stepper


def drift(dt):
    arm = one(damping=0.0)
    q0, v0 = [0.025, 0.005, 0.0], [0.0, 0.2, -0.1]
    result = flexdyn_ros.simulate(arm, 2.0, q0, v0, dt=dt, method="rk4", record_every=10)
    total = result.energy.total
    return np.abs(total - total[0]).max() / np.abs(total[0])


def test_runge_kutta_keeps_the_energy_as_stated_and_as_the_fifth_power_of_the_step():
    fine = drift(1e-4)
    assert fine < 2e-7
    # 4.5e-6 at 2e-4 s, 4.4e-4 at 5e-4 s (specification, section 15)
    middle, coarse = drift(2e-4), drift(5e-4)
    assert middle == pytest.approx(4.5e-6, rel=0.2)
    assert coarse == pytest.approx(4.4e-4, rel=0.2)
    assert np.log(coarse / middle) / np.log(2.5) == pytest.approx(5.0, abs=0.2)


def test_energy_balances_with_damping_and_load():
    arm = one()
    result = flexdyn_ros.simulate(
        arm, 0.5, [0.01, 0.02, 0.0], dt=1e-4, method="rk4", control=np.array([5.0, 15.0, 2.0])
    )
    balance = result.energy.total - result.work + result.dissipated
    assert np.abs(balance - balance[0]).max() < 1e-6 * np.abs(result.energy.total).max()


def test_the_automatic_method_is_implicit_in_springs_and_dampers():
    # d = 110 N s/m blows up classic steps of 1 ms (specification, section 12)
    arm = one(damping=110.0)
    tau = np.array([25.0, 0.0, 0.0])
    result = flexdyn_ros.simulate(arm, 6.0, dt=1e-3, control=tau)
    assert result.method == "rosenbrock"
    rest = arm.static_equilibrium(tau=tau)
    assert np.abs(result.q[-1] - rest.q).max() < 1e-6


def test_implicit_steps_are_of_second_order():
    arm = flexdyn_ros.load("soft_arm_3")
    q0 = np.random.default_rng(0).uniform(0.0, 0.02, 9)
    exact = flexdyn_ros.simulate(arm, 0.1, q0, dt=0.1, method="dop853", rtol=1e-10, atol=1e-13).q[-1]
    errors = [
        np.abs(flexdyn_ros.simulate(arm, 0.1, q0, dt=dt, method="rosenbrock").q[-1] - exact).max()
        for dt in (4e-4, 2e-4, 1e-4)
    ]
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.8)
    assert errors[2] < 1e-5


def test_equal_loads_keep_the_arm_straight():
    def push(t, q, v):
        return np.full(3, 10.0 * (1.0 - np.cos(np.pi * min(t / 0.2, 1.0))))

    arm = one()
    result = flexdyn_ros.simulate(arm, 0.5, dt=1e-3, control=push)
    assert np.isfinite(result.q).all()
    assert np.ptp(result.q, axis=1).max() <= 1e-15
    assert result.q[-1, 0] == pytest.approx(arm.static_equilibrium(tau=np.full(3, 20.0)).q[0], abs=1e-5)


@pytest.mark.parametrize(("d", "length", "tip"), [(5, 0.69, 4.2), (15, 0.24, 1.4), (60, 0.03, 0.2)])
def test_distributed_and_lumped_responses_differ_as_tabulated(d, length, tip):
    tau = np.array([25.0, 0.0, 0.0])
    runs = []
    for model in ("distributed", "lumped"):
        arm = one(damping=float(d), options={"formulation.mass_model": model})
        runs.append((arm, flexdyn_ros.simulate(arm, 0.6, dt=1e-4, method="rk4", control=tau)))
    (arm, a), (_, b) = runs
    assert 1e3 * np.abs(a.q - b.q).max() == pytest.approx(length, abs=0.006)
    tips = arm.frames(a.q, "link_1")[:, :3, 3] - arm.frames(b.q, "link_1")[:, :3, 3]
    assert 1e3 * np.linalg.norm(tips, axis=1).max() == pytest.approx(tip, abs=0.06)


@pytest.mark.parametrize(("d", "length"), [(5, 1.17), (15, 0.31), (60, 0.03)])
def test_elongations_of_both_models_differ_as_tabulated(d, length):
    runs = []
    for model in ("distributed", "lumped"):
        arm = one(damping=float(d), options={"formulation.mass_model": model})
        runs.append(flexdyn_ros.simulate(arm, 0.5, dt=1e-4, method="rk4", control=np.full(3, 20.0)).q)
    assert 1e3 * np.abs(runs[0] - runs[1]).max() == pytest.approx(length, abs=0.006)


def test_a_wrench_on_a_slice_does_the_same_in_steps_and_verbs():
    arm = flexdyn_ros.load("soft_arm_3")
    load = {
        "section_2@0.3": np.array([0.0, 0.01, 0.0, 0.5, 0.2, 0.0]),
        "tip": np.array([0, 0, 0, 0.0, 0.3, 0.1]),
    }
    a = arm.forward_dynamics(arm.neutral(), np.zeros(9), None, load)
    assert np.abs(a - arm.forward_dynamics(arm.neutral(), np.zeros(9))).max() > 1.0
    for method in ("rk4", "rosenbrock"):
        # a step so short that the dampers, 3000 1/s, have no time
        stepper = Stepper(arm, dt=1e-9, method=method)
        stepper.set_wrenches(load)
        stepper.advance(1)
        assert np.abs(stepper.v / 1e-9 - a).max() < 2e-5 * np.abs(a).max()


def test_stops_hold_the_stroke_and_the_account():
    arm = one(limit_stiffness=85_000.0, limit_damping=20.0)
    result = flexdyn_ros.simulate(arm, 1.0, dt=1e-4, control=np.array([200.0, 0.0, 0.0]))
    assert result.q[:, 0].max() < 0.036
    assert result.q[-1, 0] == pytest.approx(
        arm.static_equilibrium(result.q[-1], tau=[200.0, 0, 0]).q[0], abs=1e-5
    )
    balance = result.energy.total - result.work + result.dissipated
    assert np.abs(balance - balance[0]).max() < 2e-3 * np.abs(result.work).max()


@pytest.mark.parametrize("damping", [0.0, 30.0, 60.0, 200.0])
@pytest.mark.parametrize("kinematics", ["exact", "modal"])
def test_stops_are_implicit_in_the_implicit_method(damping, kinematics):
    """A push into a stop: explicit stops lost 64 J at a damping of 30, and diverged beyond."""
    arm = one(limit_stiffness=85_000.0, limit_damping=damping, options={"formulation.kinematics": kinematics})
    push = np.array([90.0, 0.0, 0.0])
    exact = flexdyn_ros.simulate(arm, 0.1, control=push, dt=1e-3, method="radau")
    run = flexdyn_ros.simulate(arm, 0.1, control=push, dt=1e-3, method="rosenbrock")
    assert exact.q.max() > 0.03
    assert np.abs(run.q - exact.q).max() < 4e-4
    assert run.dissipated[-1] == pytest.approx(exact.dissipated[-1], rel=0.05)
    balance = run.energy.total - run.work + run.dissipated
    assert np.ptp(balance) < 0.03 * run.work.max()


def test_energy_of_sixteen_sections_comes_back():
    arm = flexdyn_ros.load(chain(4, 'preset="bai2022" length="0.15" damping="0"', "0 0 9.81"))
    q0 = np.random.default_rng(1).uniform(0.0, 0.005, 12)
    result = flexdyn_ros.simulate(arm, 0.5, q0, dt=5e-5, method="rk4", record_every=100)
    total = result.energy.total
    assert np.abs(total - total[0]).max() < 1e-6 * result.energy.kinetic.max()


# ---- pressures that lag behind their commands ----

AREA, LAG, HIGHEST = 1e-4, 0.03, 4e5


def lagging(n=1):
    text = chain(n, 'preset="bai2022" length="0.15"', "0 0 9.81")
    pressure = f'<pressure area="{AREA}" time_constant="{LAG}" maximum="{HIGHEST}"/>'
    return flexdyn_ros.load(text.replace('length="0.15"/>', f'length="0.15">{pressure}</section>'))


def test_forces_follow_their_commands_as_pressures_do():
    arm, tau = lagging(), np.array([20.0, -5.0, 0.0])
    for method, dt in (("rosenbrock", 1e-3), ("rk4", 1e-3), ("dop853", 0.01)):
        result = flexdyn_ros.simulate(arm, 0.2, dt=dt, method=method, control=tau)
        if method == "dop853":
            expected = tau * (1 - np.exp(-result.t / LAG))[:, None]
            assert np.abs(result.tau - expected).max() < 1e-12
            continue
        # a sample holds the mean over the step that follows it
        t, share = result.t[:-1, None], LAG / dt * -np.expm1(-dt / LAG)
        assert np.abs(result.tau[:-1] - tau * (1 - np.exp(-t / LAG) * share)).max() < 1e-11


def test_steps_with_lagging_pressures_are_of_second_order_and_keep_the_account():
    arm = lagging(2)

    def push(t, q, v):
        return np.array([20.0, 5.0, 0.0, 0.0, 15.0, 3.0]) * (1.0 if t < 0.04 else 0.2)

    exact = flexdyn_ros.simulate(arm, 0.08, dt=0.02, method="dop853", control=push, rtol=1e-10, atol=1e-13)
    errors = []
    for dt in (4e-4, 2e-4, 1e-4):
        run = flexdyn_ros.simulate(arm, 0.08, dt=dt, method="rosenbrock", control=push)
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.8)
    assert errors[2] < 1e-6
    for result in (run, exact):
        balance = result.energy.total - result.work + result.dissipated
        assert np.abs(balance - balance[0]).max() < 1e-4 * np.abs(result.work).max()


def test_a_supply_gives_no_less_than_vacuum_and_no_more_than_its_highest_pressure():
    arm = lagging()
    for method in ("rosenbrock", "dop853"):
        tau = flexdyn_ros.simulate(arm, 0.5, dt=0.01, method=method, control=np.array([1e3, -1e3, 10.0])).tau[
            -1
        ]
        expected = [AREA * (HIGHEST - ATMOSPHERE), -AREA * ATMOSPHERE, 10.0]
        assert tau == pytest.approx(expected, rel=1e-5)


def test_a_state_that_is_set_finds_the_supply_at_rest_and_snapshots_keep_it():
    arm, tau = lagging(), np.array([20.0, 0.0, 0.0])
    s = Stepper(arm, 1e-3)
    s.advance(30, tau)
    kept, first = s.snapshot(), s.q.copy()
    s.advance(20)
    after = s.q.copy()
    s.restore(kept)
    s.advance(20)
    assert np.array_equal(s.q, after)
    s.set_state(np.zeros(3), np.zeros(3), 0.0)
    s.advance(30)
    assert np.array_equal(s.q, first)


def test_without_a_time_constant_commands_act_at_once():
    arm = lagging()
    prompt = flexdyn_ros.load(
        arm.description.text, options={"joints.section_1.section.pressure.time_constant": 0.0}
    )
    assert prompt.motion.lag is None
    result = flexdyn_ros.simulate(prompt, 0.01, dt=1e-3, control=np.array([7.0, 0.0, 0.0]))
    assert np.array_equal(result.tau[:, 0], np.full(11, 7.0))
