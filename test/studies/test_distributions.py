"""Distributions of parameters of studies: which numbers they take, and their medians."""

import numpy as np
import pytest

from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.studies.distributions import KINDS, distribution_of


@pytest.mark.parametrize(
    ("kind", "numbers", "message"),
    [
        ("lognormal", [0.0, 1.0], "median"), ("lognormal", [-1.0, 1.0], "median"),
        ("lognormal", [2.0, 0.0], "standard deviation"), ("lognormal", [2.0, 700.0], "no finite values"),
        ("lognormal", [2.0], "count"), ("lognormal", [2.0, np.inf], "not finite"),
        ("normal", [0.0, -1.0], "standard deviation"),
        ("truncated_normal", [0.0, 1.0, 2.0, 2.0], "below the upper"),
        ("truncated_normal", [0.0, 0.0, 1.0, 2.0], "standard deviation"),
        ("uniform", [2.0, 2.0], "below the upper"), ("uniform", [3.0, 2.0], "below the upper"),
        ("log_uniform", [0.0, 2.0], "positive"), ("log_uniform", [2.0, 2.0], "below the upper"),
        ("integer", [3, 2], "below the upper"), ("integer", [1, 2.5], "whole"),
        ("triangular", [1.0, 0.9, 2.0], "order"), ("triangular", [1.0, 2.1, 2.0], "order"),
        ("triangular", [1.0, 1.0, 1.0], "order"),
        ("linspace", [0, 1, 2.5], "whole count"), ("linspace", [0, 1, 0], "whole count"),
        ("linspace", [0, 1, 1_000_001], "whole count"), ("logspace", [1, 0.0, 3], "positive"),
        ("logspace", [0.0, 1, 3], "positive"),
    ],
)  # fmt: skip
def test_numbers_of_no_distribution_are_refused(kind, numbers, message):
    with pytest.raises(DescriptionError, match=message) as error:
        distribution_of({kind: numbers}, {})
    assert kind in str(error.value)
    assert error.value.expected == KINDS[kind]


@pytest.mark.parametrize(
    ("kind", "numbers", "middle"),
    [
        ("lognormal", [1e-300, 1.0], 1e-300), ("lognormal", [2.0, 690.0], 2.0), ("integer", [4, 4], 4),
        ("triangular", [1.0, 1.0, 3.0], 3.0 - 2.0**0.5), ("triangular", [1.0, 3.0, 3.0], 1.0 + 2.0**0.5),
        ("log_uniform", [1e-4, 1.0], 1e-2), ("truncated_normal", [0.0, 2.0, -1.0, 1.0], 0.0),
    ],
)  # fmt: skip
def test_distributions_at_the_ends_of_what_is_allowed_have_their_medians(kind, numbers, middle):
    assert distribution_of({kind: numbers}, {}).at(0.5) == pytest.approx(middle, rel=1e-12, abs=1e-15)
