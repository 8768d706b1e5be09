"""When a linear fit is doubted."""

import numpy as np
import pytest

from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.doubts import fits_poorly, unexplained

NAMES = ("shoulder.effort", "elbow.effort", "wrist.effort")
#: root mean square of what is left over, as a share of the deviation from the mean, of a good fit
GOOD = np.array([0.02, 0.098, 0.05])


def samples(shares, *, units=1.0, mean=0.0, missing=False):
    """Efforts of three joints that swing by different sizes about a mean, and what a fit leaves of them."""
    t = np.linspace(0.0, 2.0 * np.pi, 240, endpoint=False)
    size = np.array([30.0, 4.0, 0.2])
    swing = size * np.sin(np.outer(t, [1.0, 2.0, 3.0]))
    left = size * shares * np.cos(np.outer(t, [5.0, 7.0, 8.0]))
    measured = mean * size + swing
    predicted = measured - left
    if missing:
        # whole periods, so that shares stay as they are
        measured[:120, 1], measured[:, 2] = np.nan, np.nan
    parts = (slice(0, 240),)
    return Samples(("run",), parts, NAMES, ("N m",) * 3, t, units * measured, units * predicted)


@pytest.mark.parametrize("mean", [0.0, -5.0])
@pytest.mark.parametrize("units", [1e-3, 1.0, 1e3])
def test_a_tenth_of_what_an_effort_deviates_from_its_mean_is_a_poor_fit_in_any_unit(units, mean):
    assert not fits_poorly(samples(GOOD, units=units, mean=mean))
    for joint in range(3):
        shares = np.where(np.arange(3) == joint, 0.102, GOOD)
        assert fits_poorly(samples(shares, units=units, mean=mean))


def test_efforts_that_were_not_measured_are_not_doubted():
    assert not fits_poorly(samples(GOOD, missing=True))
    assert fits_poorly(samples([0.02, 0.102, 0.05], missing=True))
    assert not fits_poorly(samples([0.02, 0.098, 5.0], missing=True))
    assert not unexplained(samples([0.02, 0.098, 5.0], missing=True))


@pytest.mark.parametrize("units", [1e-3, 1e3])
def test_efforts_of_which_more_than_half_is_left_over_are_named_with_the_share(units):
    told = unexplained(samples([0.49, 0.53, 0.8], units=units))
    assert [text.split(" of it is left over")[0] for text in told] == [
        "elbow.effort: 53 %", "wrist.effort: 80 %"
    ]  # fmt: skip
    assert not unexplained(samples([0.49, 0.49, 0.3], units=units))
