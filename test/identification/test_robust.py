"""Fits in which residuals that are far out count less tell deviations that are right."""

import warnings

import numpy as np
import pytest
from identification.motions import other_numbers, sums_of_sines

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, fit_linear

pytest.importorskip("pandas")

START = load("two_link")


def plain(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(START, data, **options)


def fitted(data, **options):
    return plain(data, robust=True, **options)


def spoilt(seed, share=0.0, signs=(1.0, 1.0), duration=1.0):
    """Normal noise of 0.1 N m, of which a share is 20 times as large, and the robot behind it."""
    truth = other_numbers(START)
    t, q, v, a = sums_of_sines(START, duration)
    rng = np.random.default_rng(seed)
    noise = 0.1 * rng.standard_normal(q.shape) * np.where(rng.random(q.shape) < share, 20.0, 1.0)
    tau = truth.inverse_dynamics(q, v, a) * signs + noise
    return Measurement.of_motion(START, t, q, v, a, tau), truth


@pytest.mark.parametrize("share", [0.0, 0.35])
def test_fits_to_other_noise_scatter_as_their_deviations_say(share):
    """Base parameters less the true ones, in their deviations, have a mean square of 1."""
    away = []
    for seed in range(40):
        data, truth = spoilt(seed, share)
        found = fitted(data, consistent=False)
        error = found.base.of(found.robot) - found.base.of(truth)
        away.append(error / found.table["standard_deviation"].to_numpy())
    assert np.sqrt(np.mean(np.square(away))) == pytest.approx(1.0, abs=0.08)


def test_for_normal_noise_the_fit_is_95_percent_as_good_as_plain_least_squares():
    """Huber (1981), for residuals that count less beyond 1.345 deviations."""
    data, _ = spoilt(3, duration=100.0)
    one, other = (f(data, consistent=False).table["standard_deviation"].to_numpy() for f in (plain, fitted))
    assert (one / other) ** 2 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("share", [0.0, 0.35])
def test_a_prior_that_tells_more_than_the_data_is_all_that_is_known(share):
    data, _ = spoilt(1, share)
    free = fitted(data, consistent=False)
    value, deviation = free.values["elbow/damping"], 1e-3 * free.deviations["elbow/damping"]
    found = fitted(data, consistent=False, priors={"elbow/damping": (value, deviation)})
    assert found.deviations["elbow/damping"] == pytest.approx(deviation, rel=1e-4)


def test_deviations_grow_with_what_physical_numbers_leave_of_an_effort():
    """The shoulder counts the other way: no mass fits, and what is left of it is no small noise."""
    data, _ = spoilt(2, signs=(-1.0, 1.0))
    one, other = (found.table["standard_deviation"].to_numpy() for found in (fitted(data), plain(data)))
    assert one == pytest.approx(other, rel=0.25)
