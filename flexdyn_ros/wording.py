"""Numbers in sentences and scales."""

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


def with_unit(value: float, unit: str) -> str:
    """A value of three digits with the prefix that keeps it between 1 and 1000: "113 kN m", "2.5 mm".

    Units that are none, "-", stay without prefix, as do values of 0 and those that are not finite.
    """
    if unit in ("-", ""):
        return f"{value:.3g}"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
