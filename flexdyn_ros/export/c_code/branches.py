"""Choices of a graph that C makes by branching: of what only one side needs, only that is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from flexdyn_ros.numerics.tracing.graph import CALL, CONSTANT, INPUT, RESULT, Graph

#: operations that a side must have for a branch to be worth it
LEAST = 16
#: who needs a node: the side where the condition holds, the other, nobody
_TRUE, _FALSE, _NONE = 1, 2, 0


class Branch(NamedTuple):
    """Selects by one condition whose sides are computed apart.

    selects: those whose values are read outside, in order; sides: for the true and the false one the nodes
    that only it needs, in order; inner: selects that only the sides read, and are one of their arguments.
    """

    condition: int
    selects: tuple[int, ...]
    sides: tuple[tuple[int, ...], tuple[int, ...]]
    inner: tuple[int, ...]

    def reads(self, graph: Graph) -> Iterator[int]:
        """Nodes outside that it reads."""
        own = {*self.sides[0], *self.sides[1], *self.inner}
        yield self.condition
        for i in (*self.selects, *own):
            yield from (j for j in graph.arguments(i) if j not in own)


def branches_of(graph: Graph, order: Sequence[int], results: Sequence[int]) -> list[Branch]:
    """The branches of the nodes that are needed; no node is in two of them."""
    users: dict[int, list[int]] = {}
    selects: dict[int, list[int]] = {}
    for i in order:
        for j in graph.arguments(i):
            users.setdefault(j, []).append(i)
        if graph.nodes[i][0] == "select":
            selects.setdefault(graph.nodes[i][1], []).append(i)
    taken, ends, found = set[int](), set(results), []
    for condition, chosen in selects.items():
        branch = _branch(graph, condition, chosen, users, ends)
        own = () if branch is None else (*branch.selects, *branch.sides[0], *branch.sides[1], *branch.inner)
        if branch is not None and taken.isdisjoint(own):
            taken |= set(own)
            found.append(branch)
    return found


def _branch(
    graph: Graph, condition: int, chosen: list[int], users: Mapping[int, list[int]], ends: set[int]
) -> Branch | None:
    """The branch by a condition; None if little depends on it, or its order does not allow it."""
    needs = _needs(graph, chosen, users, ends)
    inner = tuple(i for i in chosen if i in needs)
    outer = tuple(i for i in chosen if i not in needs)
    sides = [tuple(sorted(i for i, x in needs.items() if x == s and i not in inner)) for s in (_TRUE, _FALSE)]
    if not outer or max(map(len, sides)) < LEAST:
        return None
    branch = Branch(condition, outer, (sides[0], sides[1]), inner)
    return branch if max(branch.reads(graph)) < outer[0] else None


def _needs(
    graph: Graph, chosen: Sequence[int], users: Mapping[int, list[int]], ends: set[int]
) -> dict[int, int]:
    """Nodes that one side only needs, from the selects backwards."""
    selects, found = set(chosen), dict[int, int]()
    waiting = [-i for i in chosen]
    heapify(waiting)
    seen = set(chosen)
    while waiting:
        i = -heappop(waiting)
        who = _NONE
        for user in users.get(i, ()):
            who |= _use(graph, i, user, selects, found)
        is_free = i not in ends and graph.nodes[i][0] not in (CALL, CONSTANT, INPUT, RESULT)
        if who in (_TRUE, _FALSE) and is_free:
            found[i] = who
        elif i not in selects:
            continue
        for j in graph.arguments(i):
            if j not in seen:
                seen.add(j)
                heappush(waiting, -j)
    return found


def _use(graph: Graph, i: int, user: int, selects: set[int], found: Mapping[int, int]) -> int:
    """Which sides need a node for the sake of a user."""
    both = _TRUE | _FALSE
    if user not in selects:
        return found.get(user, both)
    condition, a, b = graph.nodes[user][1:]
    if i == condition:
        return both
    asked = found.get(user, both)
    return (asked & _TRUE if i == a else _NONE) | (asked & _FALSE if i == b else _NONE)
