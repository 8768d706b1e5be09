"""What a parameter may be: a list of values, or a distribution that turns a number in (0, 1) into a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, log
from typing import Any

import numpy as np

from flexdyn_ros.errors import DescriptionError

#: each kind with the numbers that it takes
KINDS = {
    "grid": "[value, ...]",
    "choice": "[value, ...]",
    "linspace": "[first, last, how many]",
    "logspace": "[first, last, how many]",
    "uniform": "[lower, upper]",
    "log_uniform": "[lower, upper], both positive",
    "integer": "[lower, upper], both included",
    "normal": "[mean, standard deviation]",
    "truncated_normal": "[mean, standard deviation, lower, upper]",
    "lognormal": "[median, standard deviation of the logarithm]",
    "triangular": "[lower, mode, upper]",
}
#: lists, which a grid takes as they are
LISTED = ("grid", "choice", "linspace", "logspace")
MOST_VALUES = 1_000_000
#: values that words tell one by one
MOST_TOLD = 8
#: how many numbers the others take
COUNTS = {
    "linspace": 3, "logspace": 3, "uniform": 2, "log_uniform": 2, "integer": 2, "normal": 2,
    "truncated_normal": 4, "lognormal": 2, "triangular": 3,
}  # fmt: skip


@dataclass(frozen=True)
class Distribution:
    """One of `KINDS` with its numbers.

    values: of a list, those; else None.
    """

    kind: str
    numbers: tuple[Any, ...]
    values: tuple[Any, ...] | None = None

    @property
    def text(self) -> str:
        """The distribution in words, for reports."""
        if self.values is not None:
            if self.kind in ("linspace", "logspace"):
                steps = "steps" if self.kind == "linspace" else "ratios"
                first, last = self.values[0], self.values[-1]
                return f"{len(self.values)} values from {first:g} to {last:g} in equal {steps}"
            more = ", ..." if len(self.values) > MOST_TOLD else ""
            return ", ".join(map(str, self.values[:MOST_TOLD])) + more
        numbers = [f"{x:g}" for x in self.numbers]
        words = {
            "uniform": "uniform from {} to {}", "log_uniform": "uniform of its logarithm, from {} to {}",
            "integer": "whole numbers from {} to {}", "normal": "normal: mean {}, standard deviation {}",
            "truncated_normal": "normal: mean {}, standard deviation {}, from {} to {}",
            "lognormal": "lognormal: median {}, standard deviation of the logarithm {}",
            "triangular": "triangular from {} over {} to {}",
        }  # fmt: skip
        return words[self.kind].format(*numbers)

    def at(self, u: float) -> Any:
        """The value whose cumulative probability is u in (0, 1); of a list, each value has the same share."""
        return self.many(np.array([u]))[0]

    def many(self, u: np.ndarray) -> list[Any]:
        """Values of cumulative probabilities u (n,)."""
        if self.values is not None:
            last = len(self.values) - 1
            return [self.values[min(int(x * (last + 1)), last)] for x in u.tolist()]
        if self.kind == "integer":
            low, high = self.numbers
            return [int(min(low + int(x * (high - low + 1)), high)) for x in u.tolist()]
        low, high = self.numbers[:2]
        if self.kind == "uniform":
            return [low + x * (high - low) for x in u.tolist()]
        if self.kind == "log_uniform":
            return [low * (high / low) ** x for x in u.tolist()]
        return np.asarray(self._quantile(u), dtype=float).tolist()

    @cached_property
    def _quantile(self) -> Callable[[np.ndarray], Any]:
        from scipy import stats

        numbers = [float(x) for x in self.numbers]
        found: Any
        if self.kind == "normal":
            found = stats.norm(*numbers)
        elif self.kind == "truncated_normal":
            mean, sd, low, high = numbers
            found = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
        elif self.kind == "lognormal":
            found = stats.lognorm(numbers[1], scale=numbers[0])
        else:
            low, mode, high = numbers
            found = stats.triang((mode - low) / (high - low), low, high - low)
        return found.ppf


def distribution_of(given: Any, where: Mapping[str, Any]) -> Distribution:
    """The distribution that `{kind: numbers}` or a list of values says.

    where: file, line and element of messages.

    Raises
    ------
    DescriptionError
        If there is no such kind, or no distribution has such numbers.
    """
    if isinstance(given, list | tuple):
        given = {"grid": given}
    if not isinstance(given, Mapping) or len(given) != 1:
        raise DescriptionError(
            "not one distribution", value=given, expected="a list of values, or one of " + _listed(), **where
        )
    kind, numbers = next(iter(given.items()))
    if kind not in KINDS:
        raise DescriptionError(
            f"there is no distribution '{kind}'", value=given, expected="one of " + _listed(), **where
        )
    if not isinstance(numbers, list | tuple) or not numbers:
        raise DescriptionError(f"{kind} without its list", value=numbers, expected=KINDS[kind], **where)
    if kind in ("grid", "choice"):
        return Distribution(kind, tuple(numbers), tuple(_tuples(x) for x in numbers))
    return _of_numbers(kind, numbers, where)


def _of_numbers(kind: str, numbers: Any, where: Mapping[str, Any]) -> Distribution:
    """A distribution whose numbers are checked."""
    try:
        found = [float(x) for x in numbers]
    except (TypeError, ValueError):
        raise DescriptionError(
            f"{kind} of what are no numbers", value=numbers, expected=KINDS[kind], **where
        ) from None
    wrong = None
    if len(found) != COUNTS[kind]:
        wrong = "has another count of numbers"
    elif not all(isfinite(x) for x in found):
        wrong = "has a number that is not finite"
    else:
        wrong = _impossible(kind, found)
    if wrong:
        raise DescriptionError(
            f"the distribution {kind} {wrong}", value=list(numbers), expected=KINDS[kind], **where
        )
    if kind in ("linspace", "logspace"):
        space = np.linspace if kind == "linspace" else np.geomspace
        values = space(found[0], found[1], int(found[2])).tolist()
        return Distribution(kind, tuple(found), tuple(values))
    if kind == "integer":
        return Distribution(kind, (int(found[0]), int(found[1])))
    return Distribution(kind, tuple(found))


def _impossible(kind: str, x: list[float]) -> str | None:
    """Why no distribution of this kind has these numbers; None if one has."""
    if kind in ("linspace", "logspace"):
        if x[2] != int(x[2]) or not 1 <= x[2] <= MOST_VALUES:
            return "has no whole count from 1 on"
        return "has a bound that is not positive" if kind == "logspace" and min(x[:2]) <= 0.0 else None
    if kind == "integer" and any(value != int(value) for value in x):
        return "has bounds that are not whole"
    if kind in ("uniform", "log_uniform", "integer"):
        if x[0] > x[1] or (x[0] == x[1] and kind != "integer"):
            return "has a lower bound that is not below the upper"
        return "has a bound that is not positive" if kind == "log_uniform" and x[0] <= 0.0 else None
    if kind == "triangular":
        return None if x[0] <= x[1] <= x[2] and x[0] < x[2] else "is not in the order lower, mode, upper"
    if x[1] <= 0.0:
        return "has a standard deviation that is not positive"
    if kind == "truncated_normal" and x[2] >= x[3]:
        return "has a lower bound that is not below the upper"
    if kind == "lognormal" and x[0] <= 0.0:
        return "has a median that is not positive"
    if kind == "lognormal" and x[1] > log(1e300):
        return "has a standard deviation that gives no finite values"
    return None


def _listed() -> str:
    return ", ".join(f"{{{kind}: {numbers}}}" for kind, numbers in KINDS.items())


def _tuples(value: Any) -> Any:
    """Lists as tuples, so that values can be compared and be keys."""
    return tuple(_tuples(x) for x in value) if isinstance(value, list | tuple) else value
