"""Friction that falls from a static level: all three of its numbers come back."""

import warnings

import numpy as np
import pytest
from identification.motions import sums_of_sines

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, fit_linear

pytest.importorskip("pandas")

TRUE = {
    "shoulder/friction": 0.8, "shoulder/static": 1.4, "shoulder/stribeck_velocity": 0.11,
    "elbow/friction": 0.4, "elbow/static": 0.9, "elbow/stribeck_velocity": 0.07,
}  # fmt: skip


def rubbing():
    """The arm with that friction."""
    shapes = {
        f"joints.{joint}.friction": {
            part: TRUE[f"{joint}/{part}"] for part in ("static", "stribeck_velocity")
        }
        for joint in ("shoulder", "elbow")
    }
    levels = {name: value for name, value in TRUE.items() if name.endswith("/friction")}
    return load("two_link", options=shapes).with_parameters(levels)


def data_of(robot, noise=0.0, seed=0):
    t, q, v, a = sums_of_sines(robot, 8.0, seed=3)
    # friction by its own formula, beside the efforts of the arm without any
    tau = load("two_link").inverse_dynamics(q, v, a)
    for i, joint in enumerate(("shoulder", "elbow")):
        coulomb, static, at = (
            TRUE[f"{joint}/{part}"] for part in ("friction", "static", "stribeck_velocity")
        )
        level = coulomb + (static - coulomb) * np.exp(-((v[:, i] / at) ** 2))
        tau[:, i] += level * np.tanh(v[:, i] / 1e-3)
    tau = tau + noise * np.random.default_rng(seed).standard_normal(tau.shape)
    return Measurement.of_motion(robot, t, q, v, a, tau)


def fitted(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(load("two_link"), data, **options)


def test_without_noise_all_three_numbers_come_back():
    found = fitted(data_of(rubbing()), stribeck="*")
    assert {name: found.values[name] for name in TRUE} == pytest.approx(TRUE, rel=1e-8)


def test_with_noise_intervals_hold_them_and_the_residuals_are_white():
    data = data_of(rubbing(), noise=0.05)
    found = fitted(data, stribeck=["shoulder", "elbow"])
    assert found.is_white
    for name, true in TRUE.items():
        assert abs(found.values[name] - true) < 4.0 * found.deviations[name]
        assert 0.0 < found.deviations[name] < 0.1 * true
    # Coulomb friction alone does not explain them
    assert not fitted(data).is_white


def test_the_file_has_them(tmp_path):
    found = fitted(data_of(rubbing(), noise=0.05), stribeck="*")
    diff = found.write_urdf(tmp_path / "identified.urdf")
    record = load(tmp_path / "identified.urdf").description.joint("elbow").dry_friction
    assert record.stribeck_velocity == found.values["elbow/stribeck_velocity"]
    assert "stribeck_velocity" in diff


@pytest.mark.slow
def test_arms_on_wheels_give_their_stribeck_friction_back():
    options = {"joints.elbow.friction.static": 0.9, "joints.elbow.friction.stribeck_velocity": 0.2}
    start = load("mobile_arm")
    truth = load("mobile_arm", options=options).with_parameters({"elbow/friction": 0.5})
    t, rng = np.linspace(0.0, 4.0, 60), np.random.default_rng(0)
    rates, phases = rng.uniform(2.0, 9.0, start.nv), rng.uniform(0.0, 6.0, start.nv)
    angle = np.outer(t, rates) + phases
    q, v, a = 0.3 * np.sin(angle), 0.3 * rates * np.cos(angle), -0.3 * rates**2 * np.sin(angle)
    moved = Measurement.of_motion(truth, t, q, v, a, truth.inverse_dynamics(q, v, a))
    found = fit_linear(start, moved, parameters="elbow/*", stribeck="elbow").values
    wanted = {"elbow/friction": 0.5, "elbow/static": 0.9, "elbow/stribeck_velocity": 0.2}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, rel=1e-6)


def test_joints_that_are_not_there_or_stand_still_are_told():
    data = data_of(rubbing())
    with pytest.raises(errors.UnknownNameError, match="wrist"):
        fitted(data, stribeck="wrist")
    still = Measurement.of(data.t, {**data.columns, "elbow": 0.0 * data.t, "elbow.velocity": 0.0 * data.t})
    with pytest.raises(errors.StateError, match="elbow stands still"):
        fitted(still, stribeck="elbow")
    wheeled = load("mobile_arm")
    t = np.linspace(0.0, 1.0, 50)
    rows = np.sin(np.outer(t, np.arange(1.0, wheeled.nv + 1.0)))
    efforts = wheeled.inverse_dynamics(rows, rows, rows)
    moved = Measurement.of_motion(wheeled, t, rows, rows, rows, efforts)
    with pytest.raises(errors.StateError, match="no dry friction of shoulder"):
        fit_linear(wheeled, moved, stribeck="*")


def test_velocities_are_fitted_beside_other_parameters():
    found = fitted(data_of(rubbing()), stribeck="elbow", parameters="*/mass")
    assert {f"elbow/{part}" for part in ("friction", "static", "stribeck_velocity")} < set(found.values)
    assert "shoulder/friction" not in found.values


def test_velocities_that_the_data_hardly_tell_are_warned_of():
    """Friction that is Coulomb's, with noise: the velocities go anywhere, the fit is as good."""
    start = load("two_link")
    truth = start.with_parameters({"shoulder/friction": 0.8, "elbow/friction": 0.4})
    t, q, v, a = sums_of_sines(start, 8.0, seed=3)
    tau = truth.inverse_dynamics(q, v, a) + 0.3 * np.random.default_rng(2).standard_normal(q.shape)
    data = Measurement.of_motion(start, t, q, v, a, tau)
    found, plain = fitted(data, stribeck="*"), fitted(data)
    for channel, rms in plain.rms.items():
        assert found.rms[channel] <= 1.0001 * rms
