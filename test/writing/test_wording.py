"""Percentages in sentences, and that all of them are written by the one function."""

import re
from math import inf, nan
from pathlib import Path

import pytest

from flexdyn_ros.wording import percent

PACKAGE = Path(__file__).parents[2] / "flexdyn_ros"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "100 %"), (0.5, "50 %"), (0.123, "12 %"), (12.34, "1200 %"), (0.997, "99.7 %"),
        (0.99997, "99.997 %"),
        (1.004, "100.4 %"), (1e-6, "0.0001 %"), (0.0, "0 %"), (2.0, "200 %"), (nan, "nan %"), (inf, "inf %"),
        (0.95, "95 %"), (9.99, "1000 %"),
    ],
)  # fmt: skip
def test_percentages_have_no_exponent_and_less_than_all_is_not_all(share, text):
    assert percent(share) == text


def test_no_percentage_is_formatted_with_an_exponent():
    """{...:.2g} % gives "1e+02 %"; .0f and .0% do not."""
    wrong = [
        f"{path.relative_to(PACKAGE)}: {found}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for found in re.findall(r"\{[^{}]*:[^{}]*g\} ?%", path.read_text())
    ]
    assert not wrong
