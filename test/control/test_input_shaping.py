"""Shapers leave nothing of the vibration they are made for; references follow one another without a jump."""

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE

import flexdyn_ros
from flexdyn_ros.control import Timeline, closed_loop_modes, joint_inertia, pd, shaped, shaper_of, zv, zvd
from flexdyn_ros.errors import StateError


def step_at_zero(t):
    return np.array([1.0 if t >= 0.0 else 0.0]), np.zeros(1), np.zeros(1)


def oscillation(reference, frequency, damping_ratio, t_end):
    """Amplitude that a mode driven by a reference has left at t_end, by steps short beside the period."""
    w, dt = 2.0 * np.pi * frequency, 1e-4 / frequency
    x, v, t = 0.0, 0.0, 0.0
    while t < t_end:
        u = reference(t + 0.5 * dt)[0][0]
        v += dt * (w * w * (u - x) - 2.0 * damping_ratio * w * v)
        x += dt * v
        t += dt
    return np.hypot(x - reference(t_end)[0][0], v / w)


@pytest.mark.parametrize("kind", ["zv", "zvd"])
@pytest.mark.parametrize("damping_ratio", [0.0, 0.1])
def test_a_shaped_step_leaves_no_vibration(kind, damping_ratio):
    shaper = shaper_of(kind, [2.0], [damping_ratio])
    end = shaper.length + 0.01
    assert oscillation(step_at_zero, 2.0, damping_ratio, end) > 0.5
    left = oscillation(shaped(step_at_zero, shaper), 2.0, damping_ratio, end)
    assert left < 2e-3  # of the integration above
    assert shaper.residual(2.0, damping_ratio) < 1e-12


def test_zv_has_the_published_impulses():
    K = np.exp(-0.05 * np.pi / np.sqrt(1 - 0.05**2))
    shaper = zv(1.5, 0.05)
    assert shaper.amplitudes == pytest.approx([1 / (1 + K), K / (1 + K)], rel=1e-14)
    assert shaper.delays == pytest.approx([0.0, 1 / (2 * 1.5 * np.sqrt(1 - 0.05**2))], rel=1e-14)
    assert zvd(1.5).amplitudes == pytest.approx([0.25, 0.5, 0.25], rel=1e-14)


def test_zvd_bears_a_wrong_frequency_better():
    at_fault = [zv(1.0).residual(1.1), zvd(1.0).residual(1.1)]
    assert at_fault[0] == pytest.approx(np.cos(0.5 * np.pi * 1.1) * -1, rel=1e-12)
    assert at_fault[1] == pytest.approx(at_fault[0] ** 2, rel=1e-12)


def test_a_shaper_of_two_modes_stills_both_and_sums_to_one():
    shaper = shaper_of("zv", [0.4, 2.3], [0.02, 0.0])
    assert shaper.amplitudes.sum() == pytest.approx(1.0, rel=1e-14)
    assert (np.diff(shaper.delays) >= 0.0).all()
    assert max(shaper.residual(0.4, 0.02), shaper.residual(2.3)) < 1e-12
    assert shaper_of("zv", [], []).length == 0.0


@pytest.mark.parametrize(
    ("kind", "frequency", "ratio"),
    [("zvdd", 1.0, 0.0), ("zv", 0.0, 0.0), ("zv", np.nan, 0.0), ("zvd", 1.0, 1.0)],
)
def test_impossible_shapers_are_refused(kind, frequency, ratio):
    with pytest.raises(StateError):
        shaper_of(kind, [frequency], [ratio])


def test_references_follow_one_another_and_the_past_stays_what_it_was():
    def constant(value):
        return lambda t: (np.array([value]), np.zeros(1), np.zeros(1))

    line = Timeline(constant(0.0), memory=1.0)
    line.follow(1.0, constant(1.0))
    line.follow(1.5, constant(2.0))
    assert [line(t)[0][0] for t in (0.9, 1.2, 1.6)] == [0.0, 1.0, 2.0]
    line.follow(1.2, constant(3.0))
    assert [line(t)[0][0] for t in (0.9, 1.1, 1.6)] == [0.0, 1.0, 3.0]
    line.follow(9.0, constant(4.0))
    assert [line(t)[0][0] for t in (8.5, 9.5)] == [3.0, 4.0]
    assert len(line._parts) == 2


def test_modes_of_the_closed_loop_are_those_of_its_simulated_vibration():
    robot = flexdyn_ros.load(WORKED_EXAMPLE, options={"gravity": [0, 0, 0]})
    P, D = np.array([300.0, 0, 0, 120.0, 0, 0]), np.array([2.0, 0, 0, 0.5, 0, 0])
    q = robot.neutral()
    modes = closed_loop_modes(robot, q, P, D)
    kick = 1e-5 * np.ones(6)
    run = flexdyn_ros.simulate(robot, 0.3, q, kick, dt=1e-3, method="dop853", control=pd(robot, q, P, D))
    A, B = robot.linearize(q, np.zeros(6))
    from scipy.linalg import expm

    closed = A - B @ np.hstack((np.diag(P), np.diag(D)))
    assert np.isclose(modes.frequency[0] * 2 * np.pi, np.sort(np.abs(np.linalg.eigvals(closed)))[0])
    x = expm(closed * 0.3) @ np.concatenate((np.zeros(6), kick))
    # efforts are held for a step of 1 ms in the simulation
    assert run.q[-1] == pytest.approx(x[:6], abs=0.05 * np.abs(run.q).max())
    assert (modes.damping_ratio > 0.0).all()
    assert (np.diff(modes.frequency) >= 0.0).all()


def test_joints_feel_the_inertia_that_the_others_leave_them():
    robot = flexdyn_ros.load("canadarm2")
    inertia = joint_inertia(robot, robot.neutral())
    rigid = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    expected = 1.0 / np.diagonal(np.linalg.inv(rigid.mass_matrix(rigid.neutral())))
    assert inertia[inertia > 0.0] == pytest.approx(expected, rel=1e-9)
