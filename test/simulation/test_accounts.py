"""Work, dissipation and energy balance."""

import numpy as np
import pytest
from pendulums import Verbs, double_pendulum, tumbler, wheel

import flexdyn_ros

DAMPED = '<dynamics damping="0.3" friction="0.2"/>'


def push(t, q, v):
    return [np.sin(3 * t) - 0.2 * v[0], -2.0 * q[1]]


@pytest.mark.parametrize(
    ("method", "bound"),
    [("rk4", 1e-9), ("rosenbrock", 2e-4), ("semi_implicit_euler", 3e-2), ("dop853", 1e-6), ("lsoda", 1e-5)],
)
def test_energy_less_work_plus_dissipation_is_constant(method, bound):
    robot = double_pendulum('<dynamics damping="0.3"/>')
    wrench = {"lower": [0.1, 0.5, 0.0, 2.0, 0.0, -1.0]}
    run = flexdyn_ros.simulate(
        robot, 1.0, [2.0, 1.0], method=method, rtol=1e-8, control=push, wrenches=wrench
    )
    assert np.abs(run.work).max() > 0.1
    assert run.dissipated[-1] > 0.1
    assert (np.diff(run.dissipated) >= 0.0).all()
    assert np.abs(run.balance()).max() < bound * run.energy.kinetic.max()


def test_the_balance_improves_with_the_order_of_rosenbrock():
    robot = double_pendulum(DAMPED)
    drifts = [
        np.abs(
            flexdyn_ros.simulate(
                robot, 0.3, [2.0, 1.0], [3.0, 1.0], dt=dt, method="rosenbrock", control=[1.0, -0.5]
            ).balance()
        ).max()
        for dt in (2e-3, 1e-3, 5e-4)
    ]
    assert drifts[0] / drifts[1] > 3.0
    assert drifts[1] / drifts[2] > 3.0


def test_a_damper_far_stiffer_than_the_step_takes_exactly_the_kinetic_energy():
    run = flexdyn_ros.simulate(wheel('<dynamics damping="1e5"/>'), 0.02, v0=[3.0], method="rosenbrock")
    assert run.dissipated[-1] == pytest.approx(0.5 * 0.01 * 9.0, rel=1e-3)
    assert abs(run.v[-1, 0]) < 1e-4


def test_work_of_a_wrench_on_a_free_body_is_force_times_way():
    robot = tumbler()
    run = flexdyn_ros.simulate(
        robot, 0.5, v0=[1.0, 2.0, 0.5, 0, 0, 0, 1.0], wrenches={"arm": [0, 0, 0, 1.0, 2.0, -1.0]}, rtol=1e-8
    )
    way = run.frames("arm")[:, :3, 3]
    assert run.work == pytest.approx((way - way[0]) @ [1.0, 2.0, -1.0], abs=1e-9)
    assert run.work[-1] > 0.1


def test_the_verbs_alone_give_the_same_accounts():
    robot = double_pendulum('<dynamics damping="0.3"/>')
    wrench = {"lower": [0.1, 0.5, 0.0, 2.0, 0.0, -1.0]}
    runs = [
        flexdyn_ros.simulate(r, 0.2, [2.0, 1.0], method=method, control=push, wrenches=wrench)
        for r in (robot, Verbs(robot))
        for method in ("rk4", "dop853")
    ]
    for a, b in ((runs[0], runs[2]), (runs[1], runs[3])):
        assert a.work == pytest.approx(b.work, abs=1e-11)
        assert a.dissipated == pytest.approx(b.dissipated, abs=1e-11)
        assert a.tau == pytest.approx(b.tau, abs=1e-11)


def test_stops_catch_a_joint_without_making_energy():
    more = '<limit lower="-0.5" upper="0.5" effort="10" velocity="10"/>'
    robot = wheel(more, kind="revolute")
    for method in ("rosenbrock", "semi_implicit_euler", "rk4", "lsoda"):
        run = flexdyn_ros.simulate(robot, 0.5, v0=[5.0], limits="spring", method=method)
        assert run.q.max() < 0.53
        assert (run.energy.total < run.energy.total[0] * (1 + 1e-9)).all()
        assert run.energy.kinetic[-1] < 0.1 * run.energy.kinetic[0]
        assert [event.name for event in run.events][:1] == ["limit/axle/upper"]
        assert run.events[0].time == pytest.approx(0.1, abs=1e-9)
