"""A graph as a tape: instructions that verbs/instructions.py follows for many samples at once.

Numbers have slots, which are used again once nobody needs what is in them. Most nodes are products and sums:
those that are needed once become part of the sum that needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.tracing.graph import CONSTANT, INPUT, Graph
from flexdyn_ros.numerics.verbs.instructions import DOT, FIRST, OPERATIONS, PRODUCT, SUM

#: what a word can name
MOST_SLOTS = 1 << 16
_LINEAR = frozenset({"add", "sub", "mul", "neg"})
_FOREVER = 1 << 62


@dataclass(frozen=True)
class Tape:
    """Instructions in parts, one after the other.

    Attributes
    ----------
    code : (n,) uint16
    ends : where each part ends in it
    slots : how many there are: first those of the inputs, in their order, then those of the constants
    inputs : how many
    constants : (k,)
    results : of each part, the slots of its results
    """

    code: np.ndarray
    ends: tuple[int, ...]
    slots: int
    inputs: int
    constants: np.ndarray
    results: tuple[np.ndarray, ...]

    def is_zero(self, slots: np.ndarray) -> np.ndarray:
        """Whether slots are those of constants that are 0."""
        zeros = self.inputs + np.flatnonzero(self.constants == 0.0)
        return np.isin(slots, zeros)


def write_tape(graph: Graph, inputs: Sequence[int], parts: Sequence[Sequence[int]]) -> Tape:
    """The tape that computes the nodes of each part in turn; results and inputs keep their slots.

    Raises
    ------
    UnsupportedError
        If a node is something else than an operation.
    """
    wanted = [r for part in parts for r in part]
    expressions = _expressions(graph, wanted)
    order: list[int] = []
    lengths = []
    known: set[int] = set()
    for part in parts:
        order += [i for i in graph.needed(part) if i in expressions and i not in known]
        known.update(order)
        lengths.append(len(order))
    writer = _Writer(graph, inputs, expressions)
    words = writer.words(order, wanted)
    if writer.slots > MOST_SLOTS:
        raise UnsupportedError(f"a tape takes more than {MOST_SLOTS} slots")
    ends = np.cumsum([0, *(len(row) for row in words)])
    return Tape(
        np.array([word for row in words for word in row], dtype=np.uint16),
        tuple(int(ends[n]) for n in lengths),
        writer.slots,
        len(inputs),
        np.array(writer.constants),
        tuple(np.array([writer.slot_of[r] for r in part], dtype=np.int64) for part in parts),
    )


@dataclass
class _Sum:
    """Products and numbers by their signs."""

    products: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: {1: [], -1: []})
    numbers: dict[int, list[int]] = field(default_factory=lambda: {1: [], -1: []})

    def arguments(self) -> list[int]:
        pairs = [i for sign in (1, -1) for pair in self.products[sign] for i in pair]
        return pairs + self.numbers[1] + self.numbers[-1]

    def words(self, slot: int, arguments: list[int]) -> list[int]:
        added = len(self.products[1])
        if added == len(arguments) / 2:
            return [PRODUCT, slot, *arguments] if added == 1 else [DOT, slot, added, *arguments]
        counts = [len(self.products[1]), len(self.products[-1]), len(self.numbers[1]), len(self.numbers[-1])]
        return [SUM, slot, *counts, *arguments]


@dataclass
class _Operation:
    name: str
    needs: list[int]

    def arguments(self) -> list[int]:
        return self.needs

    def words(self, slot: int, arguments: list[int]) -> list[int]:
        if self.name not in OPERATIONS:
            raise UnsupportedError(f"a tape has no operation {self.name}")
        return [FIRST + OPERATIONS.index(self.name), slot, *arguments, *[0] * (3 - len(arguments))]


_Expressions = dict[int, "_Sum | _Operation"]


def _expressions(graph: Graph, wanted: Sequence[int]) -> _Expressions:
    """What is computed for a node, of all that are not part of another's sum."""
    needed = graph.needed(wanted)
    uses = np.zeros(len(graph.nodes), dtype=np.int64)
    np.add.at(uses, [*wanted, *(j for i in needed for j in graph.arguments(i))], 1)
    within: set[int] = set()
    found: _Expressions = {}
    for i in reversed(needed):
        operation, *arguments = graph.nodes[i]
        if operation in (CONSTANT, INPUT) or i in within:
            continue
        if operation in _LINEAR:
            found[i] = _Summing(graph, uses, within).of(i)
        else:
            found[i] = _Operation(operation, arguments)
    return found


class _Summing:
    """Gathers the terms of a sum from nodes that nobody else needs."""

    def __init__(self, graph: Graph, uses: np.ndarray, within: set[int]) -> None:
        self._nodes, self._uses, self._within = graph.nodes, uses, within

    def of(self, i: int) -> _Sum:
        found, left = _Sum(), [(i, 1)]
        while left:
            k, sign = left.pop()
            if k != i and not self._is_ours(k):
                found.numbers[sign].append(k)
                continue
            operation, *arguments = self._nodes[k]
            if operation == "mul":
                a, b, sign = self._factors(arguments, sign)
                found.products[sign].append((a, b))
            elif operation == "neg":
                left.append((arguments[0], -sign))
            else:
                left += [(arguments[0], sign), (arguments[1], sign if operation == "add" else -sign)]
        return found

    def _is_ours(self, k: int) -> bool:
        if self._uses[k] != 1 or self._nodes[k][0] not in _LINEAR:
            return False
        self._within.add(k)
        return True

    def _factors(self, factors: Sequence[int], sign: int) -> tuple[int, int, int]:
        """Factors and sign of a product, without signs of factors that nobody else needs."""
        found = []
        for k in factors:
            while self._nodes[k][0] == "neg" and self._uses[k] == 1:
                self._within.add(k)
                k, sign = self._nodes[k][1], -sign
            found.append(k)
        return found[0], found[1], sign


class _Writer:
    """Gives slots to nodes."""

    def __init__(self, graph: Graph, inputs: Sequence[int], expressions: _Expressions) -> None:
        self._graph, self._expressions = graph, expressions
        self.slot_of = {i: slot for slot, i in enumerate(inputs)}
        self.constants: list[float] = []
        self.slots = len(self.slot_of)
        self._free: list[int] = []

    def words(self, order: Sequence[int], wanted: Sequence[int]) -> list[list[int]]:
        """The instructions for nodes in that order."""
        last: dict[int, int] = {}
        for t, i in enumerate(order):
            for j in self._expressions[i].arguments():
                last[j] = t
        last |= dict.fromkeys(wanted, _FOREVER)
        for j in last:
            if j not in self._expressions:
                self._place_constant(j)
        return [self._instruction(i, t, last) for t, i in enumerate(order)]

    def _place_constant(self, i: int) -> None:
        if i in self.slot_of:
            return
        value = self._graph.value(i)
        if value is None:
            raise UnsupportedError(f"node {self._graph.nodes[i]} is not among the inputs of the tape")
        self.slot_of[i] = self.slots
        self.slots += 1
        self.constants.append(value)

    def _instruction(self, i: int, t: int, last: dict[int, int]) -> list[int]:
        expression: Any = self._expressions[i]
        arguments = expression.arguments()
        slots = [self.slot_of[j] for j in arguments]
        for j in dict.fromkeys(arguments):
            if last[j] == t and j in self._expressions:
                self._free.append(self.slot_of[j])
        if not self._free:
            self._free.append(self.slots)
            self.slots += 1
        self.slot_of[i] = self._free.pop()
        words: list[int] = expression.words(self.slot_of[i], slots)
        return words
