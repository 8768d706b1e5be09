"""`fit_output` of closed mechanisms: numbers that simulated recordings of other methods hide."""

import machines
import numpy as np
import pytest
from machines import four_bar_urdf, joint, rod

import flexdyn_ros
from flexdyn_ros.errors import StateError
from flexdyn_ros.identification import Measurement, fit_output, predicted_outputs
from flexdyn_ros.identification.output.channels import channels_of
from flexdyn_ros.identification.output.experiments import Experiment, independent

HELD, NOISE = 5e-3, 1e-4
ACTIVE = '<actuation active="crank_joint"/>'
TRUTH = {"coupler/mass": 2.6, "rocker_joint/damping": 0.35}


def four_bar(more=ACTIVE):
    """With damping in the pin of the rocker, which is to be found."""
    head, tail = four_bar_urdf(more=more).split('<joint name="rocker_joint"')
    tail = tail.replace('<axis xyz="0.0 1.0 0.0"/>', '<axis xyz="0.0 1.0 0.0"/><dynamics damping="0.1"/>', 1)
    return flexdyn_ros.load(f'{head}<joint name="rocker_joint"{tail}')


def recorded(robot, columns, torque=4.0, seconds=2.0, q0=None, noise=NOISE):
    """A run with error control under torques that are held; some columns of it, with noise."""
    rng = np.random.default_rng(3)
    steps = torque * rng.uniform(-1.0, 1.0, 1000)

    def law(t, q, v):
        k = int(t / HELD + 1e-6)
        return np.r_[steps[k // 10] * (1.0 - 0.02 * (k % 10)), np.zeros(robot.nu - 1)]

    run = flexdyn_ros.simulate(robot, seconds, q0, control=law, rtol=1e-10, sample=HELD)
    shown = dict(zip(robot.q_names, run.q.T, strict=True))
    shown |= {f"{name}.velocity": v for name, v in zip(robot.v_names, run.v.T, strict=True)}
    found = {name: shown[name] + noise * rng.standard_normal(len(run.t)) for name in columns}
    if torque:
        found["crank_joint.effort"] = run.tau[:, 0]
    return Measurement.of(run.t, found, held=True)


@pytest.mark.parametrize(
    "columns",
    [
        ("crank_joint",),
        ("rocker_joint", "coupler_joint.velocity"),
        ("crank_joint", "coupler_joint", "rocker_joint"),
    ],
)
def test_damping_and_a_mass_are_found_whatever_joints_are_measured(columns):
    guess = four_bar()
    data = recorded(guess.with_parameters(TRUTH), columns)
    fit = fit_output(guess, data, list(TRUTH))
    for name, value in TRUTH.items():
        assert fit.values[name] == pytest.approx(value, rel=5e-3)
        assert abs(fit.values[name] - value) < 4.0 * fit.deviations[name]
    # noise is all that is left
    left = np.std(fit.residuals, axis=0)
    np.testing.assert_allclose(left, NOISE, rtol=0.15)


def test_a_free_swing_without_actuators_tells_its_damping():
    """Logarithmic decrement about the lowest pose, by the modes of the mechanism: what is found has it."""
    truth = four_bar(more="").with_parameters({"rocker_joint/damping": 0.35})
    low = truth.static_equilibrium(truth.neutral()).q
    q0, _ = truth.project(low + [0.0, 0.0, 0.05], np.zeros(3))
    data = recorded(truth, ["rocker_joint"], torque=0.0, seconds=4.0, q0=q0)
    fit = fit_output(four_bar(more=""), data, "rocker_joint/damping")
    assert fit.values["rocker_joint/damping"] == pytest.approx(0.35, rel=1e-2)
    np.testing.assert_allclose(fit.robot.modes(low).damping_ratio, truth.modes(low).damping_ratio, rtol=1e-2)


def test_a_run_that_was_not_seen_is_predicted_on_the_loops():
    truth = four_bar().with_parameters(TRUTH)
    data = recorded(truth, ["crank_joint", "rocker_joint"], torque=3.0)
    seen = predicted_outputs(truth, data)
    assert np.abs(seen.measured - seen.predicted).max() < 6.0 * NOISE
    other = predicted_outputs(four_bar(), data)
    assert np.abs(other.measured - other.predicted).max() > 50.0 * NOISE


def test_starts_are_those_of_coordinates_that_move_by_themselves():
    robot, keys = four_bar(), tuple((kind, i) for kind in "qv" for i in range(3))
    kept = independent(robot, robot.neutral(), keys, {0: 0, 1: 1, 2: 2})
    assert sorted(kind for kind, _ in kept) == ["q", "v"]
    delta = flexdyn_ros.load("delta")
    keys = tuple((kind, i) for kind in "qv" for i in range(3))
    assert independent(delta, delta.neutral(), keys, {0: 0, 1: 1, 2: 2}) == keys


@pytest.mark.parametrize("away", [(0.25, 0.8), (-0.15, -0.6)])
def test_a_simulation_begins_where_its_start_says_with_its_loops_closed(away):
    """What moves by itself is as it is told, however far that is from what was measured; others follow."""
    robot = four_bar()
    positions = ["crank_joint", "coupler_joint", "rocker_joint"]
    columns = [*positions, *(f"{name}.velocity" for name in positions)]
    data = recorded(robot, columns, seconds=0.1)
    channels = channels_of(robot, columns, None)
    experiment = Experiment.of(robot, data, channels, None, "auto", "rest", "efforts")
    start = experiment.start() + away
    first = experiment.predict(robot, start, {})[0]
    q, v = (np.array([x[positions.index(name)] for name in robot.q_names]) for x in (first[:3], first[3:]))
    for (kind, place), value in zip(experiment.known, start, strict=True):
        assert {"q": q, "v": v}[kind][place] == pytest.approx(value, abs=1e-9)
    assert robot.loop_residual(q) == pytest.approx(0.0, abs=1e-9)
    assert robot.loop_jacobian(q) @ v == pytest.approx(0.0, abs=1e-9)


def two_cranks(length):
    """A crank and a rocker that a rod without mass joins."""
    parts = (
        rod("crank", 0.3, 1.0),
        rod("rocker", 0.6, 1.5),
        joint("crank_joint", "ground", "crank"),
        joint("rocker_joint", "ground", "rocker", at=(0.9, 0.0, 0.0)),
    )
    more = (
        f'<loop name="bar" type="distance" base="crank" base_xyz="0.3 0 0" end="rocker" end_xyz="0.6 0 0" '
        f'length="{length}"/><assembly start="crank_joint -1 rocker_joint -1.6"/>{ACTIVE}'
    )
    return flexdyn_ros.load(machines.robot("cranks", *parts, flexdyn=f"<gravity>0 0 -9.81</gravity>{more}"))


def test_the_length_of_a_rod_is_found():
    data = recorded(two_cranks(0.8), ["crank_joint", "rocker_joint"], torque=2.0, seconds=1.0)
    fit = fit_output(two_cranks(0.83), data, "loop.bar.length")
    assert fit.values["loop.bar.length"] == pytest.approx(0.8, abs=1e-4)


def test_a_length_with_which_nothing_closes_is_told():
    data = recorded(two_cranks(0.8), ["crank_joint"], seconds=0.2)
    with pytest.raises(StateError, match=r"no robot has loop.bar.length = 9: .*cannot be closed"):
        fit_output(two_cranks(0.8), data, "loop.bar.length", start={"loop.bar.length": 9.0})
