"""Rounds of least squares, each with the deviations that the residuals of the one before show."""

from types import SimpleNamespace

import numpy as np
import pytest

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.identification.output.problem import Answers, fitted


class Lines:
    """Two channels that are linear in two unknowns, in place of simulations."""

    def __init__(self, noise=(0.0, 0.0), rounding=0.0):
        self._rng = np.random.default_rng(2)
        self._A = self._rng.uniform(0.5, 1.5, (60, 2, 2))
        measured = self._A @ [0.7, -0.4] + noise * self._rng.standard_normal((60, 2))
        self._rounding = rounding
        channels = (SimpleNamespace(name="one"), SimpleNamespace(name="other"))
        self.experiments = (SimpleNamespace(measured=measured, channels=channels),)

    def limits(self):
        return np.full(2, -np.inf), np.full(2, np.inf)

    def predict(self, x):
        """Rounding is another one each time."""
        return Answers([self._A @ x + self._rounding * self._rng.standard_normal((60, 2))], [])

    def rows(self, x, sigma):
        return ((self._A @ x - self.experiments[0].measured) / sigma).ravel()

    def slopes(self, x, sigma):
        return (self._A / sigma[:, None]).reshape(-1, 2)

    def weighted(self, sigma):
        """The closed form."""
        y = (self.experiments[0].measured / sigma).ravel()
        return np.linalg.lstsq(self.slopes(np.zeros(2), sigma), y, rcond=None)[0]

    def left(self, x):
        """Root mean squares of what is left of the channels."""
        return np.sqrt(np.mean((self._A @ x - self.experiments[0].measured) ** 2, axis=0))


def rounds_of(problem, noise=None, start=(1.0, 1.0)):
    told = []
    found = fitted(problem, np.array(start), noise or {}, progress=told.append)
    return found, max(int(text.partition("round ")[2].partition(",")[0]) for text in told)


def test_rounds_end_with_the_deviations_of_the_noise_and_the_numbers_that_they_weigh():
    problem = Lines(noise=(0.5, 0.01))
    found, rounds = rounds_of(problem)
    assert 2 < rounds < 6
    # of 120 values two numbers were fitted
    assert found.sigma == pytest.approx(problem.left(found.x) / np.sqrt(1.0 - 2 / 120), rel=1e-9)
    assert found.x == pytest.approx(problem.weighted(found.sigma), abs=1e-5)
    assert found.cost == pytest.approx(0.5 * np.sum(problem.rows(found.x, found.sigma) ** 2))


def test_rounds_end_where_numbers_stay_though_rounding_differs_every_time():
    found, rounds = rounds_of(Lines(rounding=1e-10))
    assert found.x == pytest.approx([0.7, -0.4], rel=1e-9)
    # the first is weighted by what was measured, the second finds the same numbers
    assert rounds == 2


def test_a_start_that_fits_by_what_was_measured_alone_is_not_the_end():
    """The first round, weighted by the spread of what was measured, leaves it as it is."""
    problem = Lines(noise=(0.5, 0.01))
    start = problem.weighted(np.std(problem.experiments[0].measured, axis=0))
    found, rounds = rounds_of(problem, start=start)
    assert rounds > 2
    assert found.x == pytest.approx(problem.weighted(found.sigma), abs=1e-5)


def test_a_noise_that_is_told_stays():
    problem = Lines(noise=(0.5, 0.01))
    found, rounds = rounds_of(problem, {"one": 0.01, "other": 0.5})
    assert rounds == 1
    assert found.sigma.tolist() == [0.01, 0.5]
    assert found.x == pytest.approx(problem.weighted(found.sigma), abs=1e-6)
    with pytest.raises(UnknownNameError, match="third"):
        rounds_of(problem, {"third": 1.0})
