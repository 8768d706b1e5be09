"""Numbers in sentences."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite

#: percentages beyond are written with an exponent
LARGEST = 1e9


def percent(share: float, digits: int = 2) -> str:
    """A share in percent, of so many digits and without an exponent: "100 %", "0.012 %".

    Less than all, and more than all, is not rounded to 100 % (up to six digits).
    """
    value = 100.0 * share
    text = f"{value:.{digits}g}"
    if not isfinite(value) or abs(value) > LARGEST:
        return f"{text} %"
    while float(text) == 100.0 and value != 100.0 and digits < 6:
        digits += 1
        text = f"{value:.{digits}g}"
    return f"{Decimal(text):f} %"
