"""External wrenches beside the other arguments of a verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.robot.arguments import Rows, by_name, explain_status


def rows_with_wrenches(wrenches: Mapping[str, object] | None, **arguments: Any) -> Rows:
    """Arguments, name=(value, size), and wrenches broadcast together."""
    given = by_name(wrenches, "wrenches", "(..., 6) arrays")
    loads = {f"wrenches[{name!r}]": (value, 6) for name, value in given.items()}
    return Rows({**arguments, **loads})


def flat_wrenches(rows: Rows, wrenches: Mapping[str, object] | None) -> dict[str, np.ndarray] | None:
    """Rows (count, 6) of each of the wrenches of `rows_with_wrenches`; None if there are none."""
    return {name: rows.take(f"wrenches[{name!r}]") for name in wrenches} if wrenches else None


def wrench_rows(rows: Rows, wrenches: Mapping[str, object] | None) -> np.ndarray:
    """The wrenches (count, k, 6) of `rows_with_wrenches`; StateError if one is not finite."""
    loads = [rows.take(f"wrenches[{name!r}]") for name in wrenches or {}]
    if not loads:
        return np.zeros((rows.count, 0, 6))
    stacked = np.ascontiguousarray(np.stack(loads, axis=1))
    finite = np.isfinite(stacked).all(axis=(0, 2))
    if not finite.all():
        name = list(wrenches or {})[int(np.argmin(finite))]
        explain_status(2, {f"wrenches[{name!r}]": stacked.reshape(1, -1)})
    return stacked
