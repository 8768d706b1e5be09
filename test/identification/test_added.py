"""Numbers beside those of a robot: offsets of efforts, friction by direction, and efforts that are known."""

import warnings

import numpy as np
import pytest
from identification.motions import sums_of_sines

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, cross_validation, fit_linear, predicted_efforts

pytest.importorskip("pandas")


def fitted(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(*arguments, **options)


def data_with(added, noise=0.0, seed=0, known=None):
    """Data of `two_link` with friction, of which something more is added to the efforts, by (t, v)."""
    robot = load("two_link")
    truth = robot.with_parameters({"shoulder/friction": 1.0, "elbow/friction": 0.5})
    t, q, v, a = sums_of_sines(robot, 6.0, seed)
    tau = truth.inverse_dynamics(q, v, a) + added(t, v)
    tau = tau + noise * np.random.default_rng(seed).standard_normal(tau.shape)
    data = Measurement.of_motion(robot, t, q, v, a, tau, name=f"run {seed}")
    return data if known is None else Measurement.of(t, {**data.columns, **known(t, v)}, name=data.name)


def biased(t, v):
    return np.broadcast_to([0.7, -0.3], v.shape)


def by_direction(t, v):
    return np.array([0.4, -0.1]) * np.abs(np.tanh(v / 1e-3))


def test_constant_offsets_come_back():
    found = fitted(load("two_link"), data_with(biased), offsets="*")
    assert found.values["shoulder/offset"] == pytest.approx(0.7, abs=1e-8)
    assert found.values["elbow/offset"] == pytest.approx(-0.3, abs=1e-8)
    assert found.values["elbow/friction"] == pytest.approx(0.5, abs=1e-8)
    without = fitted(load("two_link"), data_with(biased))
    assert without.rms["elbow.effort"] > 0.1


@pytest.mark.parametrize("option", ["offsets", "asymmetric"])
def test_what_is_no_pattern_is_told(option):
    with pytest.raises(errors.StateError, match="are True, expected a pattern"):
        fitted(load("two_link"), data_with(biased), **{option: True})


def test_friction_by_direction_comes_back():
    found = fitted(load("two_link"), data_with(by_direction), asymmetric="*")
    assert found.values["shoulder/friction_asymmetry"] == pytest.approx(0.4, abs=1e-8)
    assert found.values["elbow/friction_asymmetry"] == pytest.approx(-0.1, abs=1e-8)
    assert found.values["shoulder/friction"] == pytest.approx(1.0, abs=1e-8)


def test_both_beside_stribeck_friction_and_priors():
    data = data_with(lambda t, v: biased(t, v) + by_direction(t, v), noise=0.02)
    options = {"offsets": "elbow", "asymmetric": ["shoulder"], "stribeck": "elbow"}
    found = fitted(load("two_link"), data, priors={"elbow/offset": (5.0, 1e-4)}, **options)
    assert found.values["elbow/offset"] == pytest.approx(5.0, abs=0.01)
    assert {"shoulder/friction_asymmetry", "elbow/stribeck_velocity"} < set(found.values)
    assert "shoulder/offset" not in found.values


def test_predictions_of_unseen_runs_count_them():
    robot = load("two_link")
    found = fitted(robot, data_with(biased), offsets="*", asymmetric="elbow")
    held = predicted_efforts(found, data_with(biased, seed=5))
    assert np.abs(held.measured - held.predicted).max() < 1e-7
    bare = predicted_efforts(found.robot, data_with(biased, seed=5))
    assert (bare.measured - bare.predicted).mean(axis=0) == pytest.approx([0.7, -0.3], abs=1e-6)
    runs = [data_with(biased, noise=0.01, seed=seed) for seed in (1, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        for one in cross_validation(robot, runs, offsets="*"):
            assert one.rms["elbow.effort"] == pytest.approx(0.01, rel=0.15)


def test_a_known_effort_is_taken_off():
    """A spring at the elbow that somebody has measured."""

    def spring(t, v):
        return np.column_stack([0.0 * t, 2.0 + np.sin(3.0 * t)])

    data = data_with(spring, known=lambda t, v: {"elbow.known_effort": spring(t, v)[:, 1]})
    found = fitted(load("two_link"), data)
    assert found.values["elbow/friction"] == pytest.approx(0.5, abs=1e-8)
    assert max(found.rms.values()) < 1e-8
    held = predicted_efforts(found.robot, data)
    assert held.measured[:, 1] == pytest.approx(data["elbow.effort"])
    assert held.predicted == pytest.approx(held.measured, abs=1e-7)
    smooth = fitted(load("two_link"), data, cutoff=20.0)
    assert smooth.left_over["elbow.effort"] < 1e-3


def test_a_file_has_no_place_for_them(tmp_path):
    found = fitted(load("two_link"), data_with(biased), offsets="*")
    with pytest.warns(errors.FlexdynWarning, match="no place for shoulder/offset, elbow/offset"):
        found.write_urdf(tmp_path / "identified.urdf")
    assert load(tmp_path / "identified.urdf").nv == 2


def test_names_that_are_not_there_are_refused():
    with pytest.raises(errors.UnknownNameError, match=r"actuator.*wrist"):
        fitted(load("two_link"), data_with(biased), offsets="wrist")
    with pytest.raises(errors.UnknownNameError, match=r"joint with friction.*wrist"):
        fitted(load("two_link"), data_with(biased), asymmetric="wrist")
