"""Counting operations: a number that counts, and counts of expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Operations(NamedTuple):
    """Additions (subtractions), multiplications (divisions, squares) and sines and cosines."""

    additions: int
    multiplications: int
    functions: int = 0

    @property
    def total(self) -> int:
        """Additions and multiplications."""
        return self.additions + self.multiplications

    def __str__(self) -> str:
        return f"{self.multiplications} multiplications, {self.additions} additions"


class Tally:
    """Where counting numbers report."""

    def __init__(self) -> None:
        self.additions = self.multiplications = 0

    @property
    def operations(self) -> Operations:
        """What was counted so far."""
        return Operations(self.additions, self.multiplications)


class Counter:
    """A number without a value that counts what is done with it; signs are free, integers 0 and 1 are
    known."""

    __slots__ = ("tally",)

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def _sum(self, other: object) -> Counter:
        if not (isinstance(other, int | float) and other == 0):
            self.tally.additions += 1
        return self

    def _times(self, other: object) -> Any:
        if isinstance(other, int | float) and other in (0, 1, -1):
            return self if other else 0
        self.tally.multiplications += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = _sum
    __mul__ = __rmul__ = __truediv__ = _times

    def __neg__(self) -> Counter:
        return self

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)


def count_expressions(expressions: Iterable[object], *, share: bool) -> Operations:
    """Operations of sympy expressions by `sympy.count_ops`; with `share` after common-subexpression
    elimination."""
    import sympy

    todo = [sympy.sympify(e) for e in expressions]
    if share:
        named, rest = sympy.cse(todo, order="none")
        todo = [expression for _, expression in named] + list(rest)
    visual = sympy.Add(*(sympy.count_ops(e, visual=True) for e in todo))
    count = {str(symbol): int(visual.coeff(symbol)) for symbol in visual.free_symbols}
    functions = count.pop("SIN", 0) + count.pop("COS", 0)
    count.pop("NEG", None)
    additions = count.pop("ADD", 0) + count.pop("SUB", 0)
    return Operations(additions, sum(count.values()), functions)
