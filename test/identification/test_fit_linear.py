"""`fit_linear`: numbers come back, inertias are physical, intervals and warnings say what is known."""

import re
import warnings

import numpy as np
import pytest
from identification.motions import measured, other_numbers, sums_of_sines
from robot.test_parameters import TOOLED

from flexdyn_ros import continuous, errors, load, simulate
from flexdyn_ros.identification import Measurement, cross_validation, fit_linear, predicted_efforts
from flexdyn_ros.identification.fitted import correlated_pairs

pytest.importorskip("pandas")

POWERS = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def fitted(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(*arguments, **options)


def least_of_pseudo_inertias(robot):
    """Least eigenvalue over the largest of [[trace(I) / 2 - I, h], [h', m]], over all bodies."""
    known = {p.name: p.value for p in robot.parameters}
    found = []
    for link in {name.rpartition("/")[0] for name in known if name.endswith("/mass")}:
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = (known[f"{link}/{part}"] for part in POWERS)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        J = np.zeros((4, 4))
        J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        J[:3, 3] = J[3, :3] = hx, hy, hz
        J[3, 3] = m
        values = np.linalg.eigvalsh(J)
        found.append(values[0] / values[-1])
    return min(found)


@pytest.mark.parametrize("name", ["two_link", "seven_joint_arm", "flexible_two_link"])
def test_without_noise_every_base_parameter_comes_back(name):
    start = load(name)
    truth = other_numbers(start)
    found = fitted(start, measured(truth))
    expected = found.base.of(truth)
    assert np.abs(found.base.of(found.robot) - expected).max() < 1e-8 * np.abs(expected).max()
    # and so do the efforts of motions that were not fitted
    _, q, v, a = sums_of_sines(start, 0.5, seed=9)
    tau = truth.inverse_dynamics(q, v, a)
    assert np.abs(found.robot.inverse_dynamics(q, v, a) - tau).max() < 1e-8 * np.abs(tau).max()
    assert found.is_white


def test_numbers_alone_in_their_base_parameter_come_back_by_name():
    start = load("seven_joint_arm")
    truth = other_numbers(start)
    found = fitted(start, measured(truth))
    expected = {p.name: p.value for p in truth.parameters}
    assert len(found.base.single) > 20
    for name in found.base.single:
        assert found.values[name] == pytest.approx(expected[name], rel=1e-8, abs=1e-8)


def test_inertias_are_physical_where_plain_least_squares_are_not():
    start = load("seven_joint_arm")
    data = measured(other_numbers(start), noise=0.3, duration=1.0)
    with pytest.warns(errors.FlexdynWarning, match="no distribution of mass"):
        plain = fit_linear(start, data, consistent=False)
    assert least_of_pseudo_inertias(plain.robot) < -1e-3
    found = fitted(start, data)
    assert least_of_pseudo_inertias(found.robot) >= 0.0
    assert (
        min(found.values[f"{c.name}/{part}"] for c in start.coordinates for part in ("damping", "rotor"))
        >= 0.0
    )


def test_physical_inertias_cost_little_of_the_residual():
    start = load("seven_joint_arm")
    data = measured(other_numbers(start), noise=0.02)
    plain = fitted(start, data, consistent=False)
    kept = fitted(start, data)
    assert least_of_pseudo_inertias(kept.robot) >= 0.0
    for channel, rms in plain.rms.items():
        assert kept.rms[channel] <= 1.01 * rms


def test_the_deviation_of_the_noise_is_found_and_the_interval_is_1_96_of_it_either_way():
    start = load("two_link")
    data = measured(other_numbers(start), noise=0.02, duration=20.0)
    found = fitted(start, data)
    for channel, rms in found.rms.items():
        largest = np.abs(found.samples.predicted[:, found.samples.channels.index(channel)]).max()
        assert rms == pytest.approx(0.02 * largest, rel=0.05)
    table = found.table
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(table.standard_deviation.to_numpy())
    half = 0.5 * (table.upper - table.lower)
    assert half.to_numpy() == pytest.approx(1.959964 * table.standard_deviation.to_numpy())
    assert set(found.deviations) == set(found.values)
    assert found.is_white


def test_outliers_count_less_when_asked_for():
    start = load("two_link")
    truth = other_numbers(start)
    data = measured(truth, noise=0.01, duration=10.0)
    tau = data["elbow.effort"].copy()
    tau[::25] += 5.0 * np.abs(tau).max()
    spoilt = Measurement.of(data.t, {**data.columns, "elbow.effort": tau})
    errors_of = {}
    for robust in (False, True):
        found = fitted(start, spoilt, robust=robust, parameters="lower/*")
        reference = fitted(start, measured(truth), parameters="lower/*")
        errors_of[robust] = np.abs(found.base.of(found.robot) - reference.base.of(reference.robot)).max()
    assert errors_of[True] < 0.3 * errors_of[False]


def test_positions_alone_do_with_a_filter():
    start = load("two_link")
    truth = other_numbers(start)
    t, q, v, a = sums_of_sines(start, 20.0)
    tau = truth.inverse_dynamics(q, v, a)
    rng = np.random.default_rng(3)
    noisy = Measurement.of_motion(
        start, t, q + 1e-5 * rng.standard_normal(q.shape), tau=tau + 1e-2 * rng.standard_normal(tau.shape)
    )
    found = fitted(start, noisy, cutoff=10.0)
    held = predicted_efforts(found.robot, measured(truth, seed=5))
    off = np.abs(held.measured - held.predicted).max(axis=0)
    assert (off < 0.02 * np.abs(held.measured).max(axis=0)).all()


@pytest.mark.parametrize(("held", "off"), [(False, 1e-8), (True, 2e-5)])
def test_simulations_are_data_whether_efforts_are_held_or_not(held, off):
    """Held efforts take the middle of each step, whose acceleration cubics tell to h^2 / 24 of its rate."""
    start = load("two_link")
    truth = start.with_parameters(
        {"lower/mass": 1.4, "lower/mx": 1.3, "lower/izz": 1.35, "elbow/damping": 0.2}
    )

    def effort(t, q, v):
        return np.array([8.0 * np.sin(2.0 * t) + 5.0 * np.cos(5.1 * t), 4.0 * np.sin(3.3 * t + 1.0)])

    options = {"dt": 1e-3, "control": effort} if held else {"rtol": 1e-10, "control": continuous(effort)}
    found = fitted(start, simulate(truth, 6.0, np.array([0.3, 0.5]), **options))
    expected = found.base.of(truth)
    assert np.abs(found.base.of(found.robot) - expected).max() < off * np.abs(expected).max()


def test_held_efforts_belong_half_a_sample_later():
    robot, h = load("two_link"), 5e-3
    t, q, v, a = sums_of_sines(robot)
    tau = robot.inverse_dynamics(q, v, a)

    def effort(time, _, rate):
        i = min(round(time / h), len(t) - 1)
        return tau[i] + 15.0 * (v[i] - rate)

    run = simulate(robot, t[-1], q[0], v[0], dt=h, sample=h, control=effort)
    log = Measurement.of_motion(robot, run.t, run.q, tau=run.tau)
    early = log.shifted(dict.fromkeys(("shoulder.effort", "elbow.effort"), -0.5 * h))
    off, less = (max(fitted(robot, data, cutoff=12.0).rms.values()) for data in (log, early))
    assert less < 0.25 * off


def test_missing_efforts_are_left_out():
    start = load("two_link")
    truth = other_numbers(start)
    data = measured(truth)
    holes = data["elbow.effort"].copy()
    holes[200:300] = np.nan
    found = fitted(start, Measurement.of(data.t, {**data.columns, "elbow.effort": holes}))
    assert found.base.of(found.robot) == pytest.approx(found.base.of(truth), rel=1e-8, abs=1e-9)
    smooth = fitted(start, Measurement.of(data.t, {**data.columns, "elbow.effort": holes}), cutoff=20.0)
    assert np.isnan(found.residuals[200:300, 1]).all()
    assert np.isnan(smooth.residuals[:, 1]).mean() == pytest.approx(100 / 1200, abs=0.01)


def test_what_the_model_leaves_out_shows_in_the_residuals():
    """A spring in the elbow that the model does not know."""
    start = load("two_link")
    sprung = start.with_parameters({"elbow/stiffness": 2.0})
    data = measured(sprung, noise=0.005)
    with pytest.warns(errors.FlexdynWarning, match="not white"):
        found = fit_linear(start, data)
    assert not found.whiteness["elbow.effort"].is_white
    known = fitted(start, data, parameters=["*/[!s]*", "elbow/stiffness"])
    assert known.is_white
    assert known.values["elbow/stiffness"] == pytest.approx(2.0, abs=4 * known.deviations["elbow/stiffness"])


def test_what_data_cannot_tell_apart_is_said():
    start = load("two_link")
    t, q, v, a = sums_of_sines(start, 6.0, harmonics=1)
    tau = start.inverse_dynamics(q, v, a) + 1e-3 * np.random.default_rng(0).standard_normal(q.shape)
    found = fitted(start, Measurement.of_motion(start, t, q, v, a, tau))
    assert any("cannot tell" in text for text in found.warnings) == bool(found.correlated)
    deviations = np.array([1e-3, 5.0, 0.0, 1e3])
    alike = np.eye(4)
    alike[0, 1] = alike[1, 0] = -0.9991
    alike[0, 3] = alike[3, 0] = 0.3
    (text,) = correlated_pairs(alike * np.outer(deviations, deviations), "abcd")
    assert text == "these data cannot tell a from b: correlation -0.9991"
    still = np.zeros((len(t), 1))
    q, v, a = (np.hstack([x[:, :1], still]) for x in (q, v, a))
    one = Measurement.of_motion(start, t, q, v, a, start.inverse_dynamics(q, v, a))
    with pytest.warns(errors.FlexdynWarning, match="elbow: constant"):
        alone = fit_linear(start, one)
    assert alone.base.rank < found.base.rank


def test_files_are_held_out_one_by_one():
    start = load("two_link")
    truth = other_numbers(start)
    data = [measured(truth, noise=0.01, seed=seed, name=f"run {seed}") for seed in (0, 1, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = cross_validation(start, data)
    assert [one.name for one in found] == ["run 0", "run 1", "run 2"]
    for one, own in zip(found, data, strict=True):
        # the noise of each file is 1 % of its own largest effort
        for channel, rms in one.rms.items():
            assert rms == pytest.approx(0.01 * np.abs(own[channel]).max(), rel=0.15)
    with pytest.raises(errors.StateError, match="at least two"):
        cross_validation(start, data[0])


def test_bad_data_end_the_fit_with_their_names():
    start = load("two_link")
    data = measured(start)
    with pytest.raises(errors.StateError, match="no column for the position of elbow"):
        fit_linear(start, Measurement.of(data.t, {k: x for k, x in data.columns.items() if k != "elbow"}))
    with pytest.raises(errors.StateError, match="no column with an effort"):
        fit_linear(
            start, Measurement.of(data.t, {k: x for k, x in data.columns.items() if "effort" not in k})
        )
    wrong = {**data.columns, "elbow.velocity": np.rad2deg(data["elbow.velocity"])}
    with pytest.raises(errors.StateError, match=r"data: elbow\.velocity is 57\.3 times"):
        fit_linear(start, Measurement.of(data.t, wrong))
    with pytest.raises(errors.StateError, match="empty"):
        fit_linear(start, [])
    with pytest.raises(errors.DimensionError, match="data is int"):
        fit_linear(start, 3)


def test_samples_at_the_ends_of_the_filter_are_left_out():
    """The motion begins and ends while it moves: what the filter makes of that is no measurement."""
    robot = load("seven_joint_arm")
    t, q, v, a = sums_of_sines(robot)
    tau = robot.inverse_dynamics(q, v, a)
    columns = {name: q[:, i] for i, name in enumerate(robot.q_names)}
    efforts = {f"{name}.effort": tau[:, i] for i, name in enumerate(robot.effort_names)}
    found = predicted_efforts(robot, Measurement.of(t, {**columns, **efforts}), cutoff=10.0)
    off = np.abs(found.measured - found.predicted).max(axis=0)
    assert (off <= 0.02 * np.abs(found.measured).max(axis=0)).all()
    assert found.t[0] == pytest.approx(0.15, abs=0.01)


def test_white_noise_is_white_behind_the_filter():
    """Else intervals would be too narrow, and the whiteness test would fail by the filter alone."""
    start = load("seven_joint_arm")
    truth, along = other_numbers(start), []
    for seed in range(4):
        data = measured(truth, noise=0.05, seed=seed, duration=24.0)
        found = fitted(start, data, consistent=False, cutoff=10.0)
        x = np.asarray(found.residuals) - np.mean(found.residuals, axis=0)
        along.append((x[1:] * x[:-1]).sum(axis=0) / (x**2).sum(axis=0))
    assert abs(np.mean(along)) < 0.06


@pytest.mark.parametrize("known", ["positions", "all"])
def test_an_effort_that_is_clipped_is_warned_of_and_fitted(known):
    """Without noise six efforts fit to rounding and one hardly at all: the weights differ by 1e14."""
    start = load("seven_joint_arm")
    data = measured(other_numbers(start), duration=3.0)
    columns = dict(data.columns)
    columns["shoulder_pitch.effort"] = np.clip(columns["shoulder_pitch.effort"], -5.0, 5.0)
    if known == "positions":
        columns = {n: x for n, x in columns.items() if not n.endswith((".velocity", ".acceleration"))}
    with pytest.warns(errors.FlexdynWarning, match=r"shoulder_pitch\.effort: saturated, .* value 5: make"):
        found = fit_linear(start, Measurement.of(data.t, columns))
    assert np.isfinite(found.covariance).all()
    assert (found.table["standard_deviation"] > 0.0).all()
    assert found.rms["shoulder_pitch.effort"] > 10.0 * found.rms["elbow_pitch.effort"]
    # what is known best is exact: the joints further out do not see the sensor that ends at 5 N m
    assert found.rms["wrist_roll.effort"] < 1e-6


def test_samples_of_a_clipped_effort_that_are_left_out_do_no_harm():
    start = load("two_link")
    truth = other_numbers(start)
    data = measured(truth)
    effort = data["shoulder.effort"]
    limit = 0.8 * np.abs(effort).max()
    seen = np.where(np.abs(effort) < limit, effort, np.nan)
    found = fitted(start, Measurement.of(data.t, {**data.columns, "shoulder.effort": seen}))
    assert found.base.of(found.robot) == pytest.approx(found.base.of(truth), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "pair"),
    [("two_link", ("shoulder", "elbow")), ("seven_joint_arm", ("shoulder_pitch", "wrist_roll"))],
)
def test_positions_of_two_joints_that_are_swapped_are_named(name, pair):
    """Without columns of velocities nothing else tells."""
    start = load(name)
    data = measured(other_numbers(start, share=0.3), noise=0.03, duration=3.0)
    columns = {n: x for n, x in data.columns.items() if n in start.q_names or n.endswith(".effort")}
    good = fitted(start, Measurement.of(data.t, columns))
    assert not any("exchanged" in text for text in good.warnings)
    one, other = pair
    swapped = Measurement.of(data.t, columns | {one: columns[other], other: columns[one]})
    with pytest.warns(errors.FlexdynWarning, match=f"columns of {one} and {other} fit better exchanged"):
        found = fit_linear(start, swapped)
    (doubt,) = (t for t in found.warnings if f"columns of {one} and {other} fit better exchanged" in t)
    # shares of deviations, of which least squares leave no more than all, whatever the unit of efforts is
    own, better = (float(x) for x in re.findall(r"([\d.]+) %", doubt))
    assert better < own < 100.0


def test_a_model_that_is_wrong_is_not_taken_for_swapped_columns():
    start = load("two_link")
    data = measured(start.with_parameters({"elbow/stiffness": 20.0}))
    found = fitted(start, data, parameters=["*/mass", "*/m?", "*/i*"])
    assert max(found.rms.values()) > 0.2
    assert not any("exchanged" in text for text in found.warnings)


def test_efforts_that_are_all_zero_are_refused():
    robot = load("two_link")
    with pytest.raises(errors.StateError, match="all efforts are 0"):
        fit_linear(robot, simulate(robot, 0.5))


def test_a_payload_on_the_tip_of_a_link_that_bends_is_found(tmp_path):
    truth = load(TOOLED.format(x=0.03, m=1.1))
    found = fitted(load(TOOLED.format(x=0.04, m=0.8)), measured(truth))
    assert found.values["payload/mass"] + found.values["adapter/mass"] == pytest.approx(1.3, rel=1e-6)
    alone = fitted(load(TOOLED.format(x=0.04, m=0.8)), measured(truth), parameters=["payload/*"])
    assert alone.values["payload/mass"] == pytest.approx(1.1, rel=1e-6)
    assert alone.values["payload/mx"] == pytest.approx(1.1 * 0.03, rel=1e-5)
    alone.write_urdf(tmp_path / "found.urdf")
    assert load(tmp_path / "found.urdf").mass == pytest.approx(truth.mass)


def test_a_payload_on_a_rigid_link_is_fitted_where_it_is_named():
    rigid = {"formulation.flexible": False}
    start = load(TOOLED.format(x=0.04, m=0.8), options=rigid)
    data = measured(start.with_parameters({"payload/mass": 1.1}))
    # no motion tells it from the link that carries it
    for parameters in (None, "*/[mi]*"):
        found = fitted(start, data, parameters=parameters)
        assert not any(name.startswith("payload/") for name in found.values)
        assert np.abs(found.residuals).max() < 1e-9
    assert fitted(start, data, parameters="payload/mass").values == pytest.approx({"payload/mass": 1.1})
