"""Parameters of closed mechanisms: projected equations, fits of simulated motions."""

import numpy as np
import pytest
from machines import four_bar, four_bar_urdf

import flexdyn_ros
from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.identification import (
    Measurement,
    base_parameters,
    cross_validation,
    excite,
    fit_linear,
    predicted_efforts,
)
from flexdyn_ros.identification.linear.models import linear_model

DAMPED = '<dynamics damping="0.05"/>'


def states(robot, count, seed=0):
    model, rng = linear_model(robot), np.random.default_rng(seed)
    return model, *model.states(rng, count)


@pytest.mark.parametrize("name", ["four_bar", "delta", "excavator"])
def test_projected_efforts_are_those_of_inverse_dynamics(name):
    robot = four_bar() if name == "four_bar" else flexdyn_ros.load(name)
    model, q, v, a = states(robot, 8)
    assert np.abs(np.einsum("nij,nj->ni", robot.loop_jacobian(q), v)).max() < 1e-9
    Y, tau0 = model.regressor(q, v, a)
    tau = robot.inverse_dynamics(q, v, a)
    found = Y @ [p.value for p in model.parameters] + tau0
    np.testing.assert_allclose(found, tau, atol=1e-8 * np.abs(tau).max())


def test_base_parameters_of_a_four_bar_are_fewer_than_those_of_its_tree():
    """They tell all efforts; in the plane a tree of three hinges has seven to nine."""
    robot = four_bar()
    base = base_parameters(robot)
    tree = base_parameters(flexdyn_ros.load(four_bar_urdf(loop="", start="", more="")))
    assert 0 < base.matrix.shape[0] < tree.matrix.shape[0]
    model, q, v, a = states(robot, 40, seed=9)
    names = [p.name for p in model.parameters]
    columns = [names.index(p.name) for p in base.parameters]
    Y = model.regressor(q, v, a).Y[..., columns]
    # columns that are left out are combinations of those that lead
    lead = Y[..., base.leading] @ base.matrix
    np.testing.assert_allclose(lead, Y, atol=1e-8 * np.abs(Y).max())


def moved(robot, seed, seconds=4.0, noise=0.0):
    """The crank follows some sines, softly, and its measurement with noise of efforts [N m]."""
    rng = np.random.default_rng(seed)
    phase, size = rng.uniform(0.0, 6.0, 5), rng.uniform(0.3, 1.0, 5)

    def torque(t, q, v):
        reference = -1.0 + size @ np.sin(np.arange(1, 6) * 1.7 * t + phase)
        return np.array([30.0 * (reference - q[0]) - 3.0 * v[0], 0.0, 0.0])

    run = flexdyn_ros.simulate(
        robot, seconds, control=flexdyn_ros.continuous(torque), rtol=1e-10, sample=2e-3
    )
    a = robot.forward_dynamics(run.q, run.v, run.tau)
    columns = {}
    for i, name in enumerate(robot.v_names):
        columns |= {name: run.q[:, i], f"{name}.velocity": run.v[:, i], f"{name}.acceleration": a[:, i]}
    columns["crank_joint.effort"] = run.tau[:, 0] + noise * rng.standard_normal(len(run))
    return Measurement.of(run.t, columns, name=f"run {seed}")


def test_a_fit_finds_the_mechanism_that_moved():
    truth = flexdyn_ros.load(
        four_bar_urdf().replace('<axis xyz="0.0 1.0 0.0"/>', f'<axis xyz="0.0 1.0 0.0"/>{DAMPED}')
    )
    data = moved(truth, 1)
    factors = {"crank": 1.4, "coupler": 0.8, "rocker": 1.2, "rocker_joint": 0.5}
    numbers = {p.name: p.value for p in truth.parameters}
    guess = truth.with_parameters(
        {n: x * factors[n.split("/")[0]] for n, x in numbers.items() if n.split("/")[0] in factors}
    )
    fit = fit_linear(guess, data)
    assert np.abs(fit.samples.measured - fit.samples.predicted).max() < 1e-6
    # a motion that was not seen
    other = moved(truth, 2)
    held = predicted_efforts(fit, other)
    assert held.channels == ("crank_joint.effort",)
    worst = np.abs(held.measured - held.predicted).max()
    before = predicted_efforts(guess, other)
    assert worst < 1e-4 * np.abs(before.measured - before.predicted).max()
    q, v, a = states(truth, 5, seed=4)[1:]
    np.testing.assert_allclose(
        fit.robot.inverse_dynamics(q, v, a), truth.inverse_dynamics(q, v, a), rtol=1e-4, atol=1e-5
    )


def test_intervals_hold_what_noise_leaves():
    """Nineteen of twenty intervals of 95 % hold the number, within what so few can tell."""
    truth = four_bar()
    within = total = 0
    for seed in range(4):
        fit = fit_linear(truth, moved(truth, 10 + seed, noise=0.05), consistent=False)
        exact = fit.base.of(truth)
        within += int(((fit.table["lower"] < exact) & (exact < fit.table["upper"])).sum())
        total += len(exact)
    assert total >= 12
    assert within >= 0.8 * total


def test_every_run_is_predicted_from_the_others():
    truth = four_bar()
    found = cross_validation(truth, [moved(truth, seed, 2.0) for seed in (1, 2, 3)])
    assert [one.name for one in found] == ["run 1", "run 2", "run 3"]
    assert max(one.rms["crank_joint.effort"] for one in found) < 1e-4


def test_what_is_refused():
    robot = four_bar()
    data = moved(robot, 1, 0.5)
    with pytest.raises(UnsupportedError, match=r"stribeck=, asymmetric=.*not computed with loops yet"):
        fit_linear(robot, data, stribeck="*")
    idle = four_bar(more="")
    with pytest.raises(UnsupportedError, match="0 actuators for 1 motions that its loops leave"):
        base_parameters(idle)
    open_by = dict(data.columns) | {"rocker_joint": data["rocker_joint"] + 0.1}
    with pytest.raises(StateError, match=r"leave the loops of 'four_bar' open by 0\.0.* at most 0\.01"):
        fit_linear(robot, Measurement.of(data.t, open_by))


def test_exciting_motions_stay_on_the_loops_and_keep_their_limits():
    """Of the crank alone, whose motion begins and ends at rest; efforts are those of the equations."""
    robot = four_bar()
    limits = {"position": (-2.0, 0.0), "velocity": 3.0, "acceleration": 12.0}
    designed = [excite(robot, 3.0, limits, harmonics=2, sample=0.1, evaluations=n, seed=1) for n in (1, 6)]
    for motion in designed:
        crank = robot.q_names.index("crank_joint")
        assert max(np.abs(robot.loop_residual(q)).max() for q in motion.q) <= 1e-10
        assert (motion.q[:, crank] >= -2.0).all()
        assert (motion.q[:, crank] <= 0.0).all()
        assert np.abs(motion.v[:, crank]).max() <= 3.0 + 1e-9
        np.testing.assert_allclose(motion.v[[0, -1]], 0.0, atol=1e-9)
        np.testing.assert_allclose(motion.q[0], motion.q[-1], atol=1e-9)
        # speeds of all joints are those of their positions
        slopes = np.gradient(motion.q, motion.t, axis=0)[2:-2]
        assert np.abs(slopes - motion.v[2:-2]).max() <= 0.1 * np.abs(motion.v).max()
        driven = np.array(robot.effort_names) == "crank_joint"
        assert not motion.tau[:, ~driven].any()
        assert motion.tau[:, driven].any()
    base, model = base_parameters(robot), linear_model(robot)

    def told(motion):
        a = robot.forward_dynamics(motion.q, motion.v, motion.tau)
        Y = model.regressor(motion.q, motion.v, a).Y[:, robot.effort_names.index("crank_joint"), base.leading]
        return np.linalg.slogdet(Y.T @ Y)[1]

    assert told(designed[1]) > told(designed[0])


def test_a_mechanism_without_actuators_is_not_excited():
    with pytest.raises(UnsupportedError, match="has no joint that has an actuator"):
        excite(four_bar(more=""), 1.0)


def test_motions_at_which_no_loop_closes_are_not_taken():
    rocker = four_bar(more='<actuation active="rocker_joint"/>')
    with pytest.raises(StateError, match="no motion keeps the limits"):
        excite(rocker, 3.0, {"position": (1.0, 1.5)}, harmonics=2, sample=0.2, evaluations=2)
