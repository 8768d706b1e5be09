"""Numbers in sentences and scales."""

import numpy as np
import pytest

from flexdyn_ros.wording import with_unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (113456.0, "N m", "113 kN m"),
        (0.0025, "m", "2.5 mm"),
        (0.9999, "m", "1 m"),
        (0.0, "m", "0 m"),
        (3.1e-4, "-", "0.00031"),
        (-2e9, "Pa", "-2 GPa"),
        (np.inf, "N", "inf N"),
    ],
)
def test_values_have_the_prefix_that_reads_well(value, unit, text):
    if np.isinf(value):
        assert "inf" in with_unit(value, unit)
    else:
        assert with_unit(value, unit) == text
