"""What `fit_output` tells while it searches."""

import re

import numpy as np
import pytest

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_output

pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")

NOISE = {"shoulder": 0.004, "elbow": 0.03}


@pytest.fixture(scope="module")
def start():
    return load("two_link")


@pytest.fixture(scope="module")
def data(start):
    """A free motion of an arm with other damping, with noise; two samples of the elbow are missing."""
    run = simulate(start.with_parameters({"elbow/damping": 0.2}), 0.4, q0=[0.8, 0.3], dt=4e-3, sample=0.02)
    rng = np.random.default_rng(7)
    columns = {name: run[name] + size * rng.standard_normal(len(run)) for name, size in NOISE.items()}
    columns["elbow"][[4, 9]] = np.nan
    return Measurement.of(run.t, columns | {f"{name}.effort": run[name, "effort"] for name in NOISE})


def residual_in(text):
    return float(re.search(r"weighted residual ([-+.e\d]+)", text)[1])


def half_the_squares(samples):
    """Of residuals in deviations of the noise that was told."""
    units = [NOISE[name] for name in samples.channels]
    return 0.5 * np.nansum(((samples.measured - samples.predicted) / units) ** 2)


def test_the_residual_that_is_told_is_half_the_sum_of_squares(start, data):
    told = []
    found = fit_output(start, data, "elbow/damping", noise=NOISE, dt=4e-3, starts=2, progress=told.append)
    numbers = [residual_in(text) for text in told]
    ends = [i for i, text in enumerate(told) if "iteration" not in text]
    assert [told[i].partition(":")[0] for i in ends] == ["start 1 of 2", "start 2 of 2"]
    assert min(numbers[i] for i in ends) == pytest.approx(half_the_squares(found.samples), rel=1e-5)
    # each search ends with the least that it saw
    for first, last in zip((0, ends[0] + 1), ends, strict=True):
        assert numbers[first:last] == sorted(numbers[first:last], reverse=True)
        assert 0.99 * numbers[last - 1] < numbers[last] <= numbers[last - 1] < numbers[first]


def test_a_search_that_is_stopped_tells_the_residual_of_what_it_has(start, data):
    told = []

    def stopping(text):
        told.append(text)
        if "iteration 2" in text:
            raise KeyboardInterrupt

    with pytest.warns(errors.FlexdynWarning, match="the fit was stopped"):
        found = fit_output(start, data, "elbow/damping", noise=NOISE, dt=4e-3, starts=2, progress=stopping)
    assert "iteration 2" in told[-2]
    assert told[-1].startswith("start 1 of 2: weighted residual ")
    assert residual_in(told[-1]) == residual_in(told[-2])
    assert residual_in(told[-1]) == pytest.approx(half_the_squares(found.samples), rel=1e-5)
