"""What a file of measurements holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

#: names of columns of times
TIMES = ("time", "t", "timestamp", "stamp")


class Table(NamedTuple):
    """Times (n,) [s], or None where a column is yet to be chosen; columns (n,) by name; whether efforts were
    held until the next sample, as far as the file tells; factors to SI of columns whose units it tells."""

    t: np.ndarray | None
    columns: dict[str, np.ndarray]
    held: bool | None = None
    units: Mapping[str, float] = MappingProxyType({})


def is_time(name: str) -> bool:
    """Whether a column is one of times by its name, or by that of its field in a struct."""
    return name.rpartition(".")[2].lower() in TIMES
