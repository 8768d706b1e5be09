"""What is known of numbers before a fit: bounds and priors of numbers, and of sums of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isnan

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError
from flexdyn_ros.robot.parameters import Parameter

_SIGN = re.compile(r"\s([+-])\s")
_TERM = re.compile(r"(?:([0-9.]+(?:[eE][+-]?[0-9]+)?)\s+)?(\S+)")


@dataclass(frozen=True, eq=False)
class Known:
    """Bounds lower <= inner p <= upper and priors rows p = values +- 1 of the numbers p (np,) that are
    fitted; rows and values are divided by the deviations of the priors.

    Attributes
    ----------
    inner, rows : (k, np), (m, np) arrays
    lower, upper : (k,) arrays
    values : (m,) array
    names : tuple of k str
        Of the bounds.
    """

    inner: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rows: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        every: Sequence[Parameter],
        chosen: Sequence[Parameter],
        bounds: Mapping[str, tuple[float, float]] | None,
        priors: Mapping[str, tuple[float, float]] | None,
    ) -> Known:
        """Of names of parameters, or sums of them; see `fit_linear`."""
        inner, limits, rows, values = [], [], [], []
        for text, (low, high) in (bounds or {}).items():
            row, held = _combination(text, every, chosen)
            if isnan(low) or isnan(high) or not low <= high:
                raise StateError(f"bounds of {text} are ({low}, {high}), expected (least, most)")
            inner.append(row)
            limits.append((low - held, high - held))
        for text, (value, deviation) in (priors or {}).items():
            row, held = _combination(text, every, chosen)
            if not (deviation > 0.0 and np.isfinite([value, deviation]).all()):
                raise StateError(
                    f"prior of {text} is ({value}, {deviation}), expected (value, deviation > 0), finite"
                )
            rows.append(row / deviation)
            values.append((value - held) / deviation)
        count = len(chosen)
        lower, upper = np.array(limits, dtype=float).reshape(-1, 2).T
        return cls(
            np.array(inner).reshape(-1, count), lower, upper, np.array(rows).reshape(-1, count),
            np.array(values, dtype=float), tuple(bounds or ()),
        )  # fmt: skip

    def beside(self, triangle: np.ndarray) -> np.ndarray:
        """Rows of the priors, each about as long as those of a regressor's triangular factor, which tell as
        much about the numbers as the priors do."""
        size = np.linalg.norm(triangle, axis=0)
        length = [np.linalg.norm(row) / max(size[row != 0.0].max(), size.max() * 1e-3) for row in self.rows]
        return self.rows / np.array(length).reshape(-1, 1)

    def are_kept(self, values: np.ndarray, scale: np.ndarray, tolerance: float) -> bool:
        """Whether values (np,) are within bounds, to a tolerance of their scales."""
        size = np.abs(self.inner) @ scale * tolerance
        x = self.inner @ values
        return bool(np.all((x >= self.lower - size) & (x <= self.upper + size)))


def _combination(
    text: str, every: Sequence[Parameter], chosen: Sequence[Parameter]
) -> tuple[np.ndarray, float]:
    """Factors (np,) of the numbers that are fitted, and the part of those that are held."""
    parts = _SIGN.split(f" + {text.strip()}")[1:]
    row, held = np.zeros(len(chosen)), 0.0
    place = {p.name: i for i, p in enumerate(chosen)}
    for sign, term in zip(parts[::2], parts[1::2], strict=True):
        match = _TERM.fullmatch(term.strip())
        if match is None:
            raise StateError(f"{text!r} is no sum of parameters: expected such as 'a/mass + 0.5 b/mass'")
        factor = float(f"{sign}{match[1] or 1}")
        fitting = [p for p in every if p.name == match[2]] or [
            p for p in every if fnmatchcase(p.name, match[2])
        ]
        if not fitting:
            raise UnknownNameError("parameter", match[2], [p.name for p in every])
        for p in fitting:
            if p.name in place:
                row[place[p.name]] += factor
            else:
                held += factor * p.value
    if not row.any():
        raise StateError(f"{text!r}: none of its numbers is fitted")
    return row, held
