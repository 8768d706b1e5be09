"""Derivatives of graphs, as further nodes of them: vertex elimination (Griewank & Walther 2008, chapter 10).

The graph of the partial derivatives of all nodes is made smaller, one node at a time: what a node passes on
from its arguments to those that need it becomes edges between these. At the end edges lead from directions to
results only. Which node goes next is chosen so that few new edges arise (minimum fill).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.tracing.graph import CONSTANT, INPUT, Graph, Number

#: derivatives of nodes by directions
Seeds = Mapping[int, Mapping[int, Any]]
_Edges = dict[int, dict[int, Any]]


def jacobian(graph: Graph, seeds: Seeds, results: Sequence[int], most: float = float("inf")) -> list[dict]:
    """Derivatives of results by directions: of each, those that are not zero by the direction's number.

    Parameters
    ----------
    graph : gets the nodes that compute them
    seeds : nodes, and their derivatives by the directions 0, 1, ... that they depend on
    results : nodes
    most : products that they may take

    Raises
    ------
    UnsupportedError
        If there are operations without derivative, or more products are needed.
    """
    return _Elimination(graph, seeds, results, most)()


class _Elimination:
    """Edges of the graph of partial derivatives, to and from each node.

    Nodes of the graph have their numbers, direction d is -1 - d, and result r is `_results` + r.
    """

    def __init__(self, graph: Graph, seeds: Seeds, results: Sequence[int], most: float) -> None:
        self._graph, self._most, self._products = graph, most, 0
        self._to: _Edges = {}
        self._from: _Edges = {}
        for i in graph.needed(results):
            if i in seeds:
                found = {-1 - d: x for d, x in seeds[i].items()}
            else:
                found = self._partials(i)
            if found:
                self._join(found, i)
        self._first, self._count = len(graph.nodes), len(results)
        self._inner = list(self._to)
        for k, r in enumerate(results):
            self._join({r: 1.0} if r in self._to else {}, self._first + k)

    def __call__(self) -> list[dict]:
        heap = [(self._cost(i), -i) for i in self._inner]
        heapify(heap)
        while heap:
            cost, i = heappop(heap)
            if -i not in self._to:
                continue
            now = self._cost(-i)
            if now > cost:
                heappush(heap, (now, i))
                continue
            for j in self._eliminate(-i):
                if 0 <= j < self._first:
                    heappush(heap, (self._cost(j), -j))
        ends = (self._to[self._first + k] for k in range(self._count))
        return [{-1 - d: x for d, x in sorted(edges.items(), reverse=True)} for edges in ends]

    def _partials(self, i: int) -> dict[int, Any]:
        """Partial derivatives of a node by those of its arguments that depend on directions."""
        if self._graph.nodes[i][0] in (CONSTANT, INPUT):
            return {}
        found: dict[int, Any] = {}
        active = self._to.keys() & set(self._graph.arguments(i))
        for j, x in partial_derivatives(self._graph, i) if active else ():
            if j in active:
                found[j] = found[j] + x if j in found else x
        return {j: x for j, x in found.items() if not _is_zero(x)}

    def _join(self, edges: dict[int, Any], i: int) -> None:
        self._to[i] = edges
        self._from.setdefault(i, {})
        for j, x in edges.items():
            self._from.setdefault(j, {})[i] = x

    def _cost(self, i: int) -> int:
        """Products and twice the new edges when a node goes, less the edges that go with it."""
        to = self._to
        before, after = to[i], self._from[i]
        products = len(before) * len(after)
        known = sum(sum(map(to[k].__contains__, before)) for k in after)
        return 3 * products - 2 * known - len(before) - len(after)

    def _eliminate(self, i: int) -> Iterable[int]:
        """Let a node go; the nodes beside it."""
        before, after = self._to.pop(i), self._from.pop(i)
        self._products += len(before) * len(after)
        if self._products > self._most:
            raise UnsupportedError(f"derivatives take more than {self._most:.0f} products")
        for j in before:
            del self._from[j][i]
        for k, after_ in after.items():
            edges = self._to[k]
            del edges[i]
            for j, before_ in before.items():
                x = after_ * before_
                edges[j] = self._from[j][k] = edges[j] + x if j in edges else x
        return (*before, *after)


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Number) and x == 0.0


# ---- partial derivatives of operations ----


def partial_derivatives(graph: Graph, i: int) -> list[tuple[int, Any]]:
    """Arguments of a node and the partial derivative by each.

    Where a result is selected it is that of the selected one, times 1, and the other's times 0: derivatives
    are not finite where those of the other are not.
    """
    operation, *arguments = graph.nodes[i]
    if operation in _STEPS:
        return []
    if operation not in _PARTIALS:
        raise UnsupportedError(f"there is no derivative of {operation}")
    numbers = [_number(graph, j) for j in arguments]
    return list(zip(arguments, _PARTIALS[operation](Number(graph, i), *numbers), strict=True))


def _number(graph: Graph, i: int) -> Any:
    value = graph.value(i)
    return Number(graph, i) if value is None else value


def _of_quotient(f: Number, a: Any, b: Any) -> tuple[Any, Any]:
    slope = 1.0 / b
    return slope, -(f * slope)


def _of_angle(f: Number, y: Any, x: Any) -> tuple[Any, Any]:
    square = x * x + y * y
    return x / square, -(y / square)


#: operations whose results do not change, but in steps
_STEPS = frozenset({"lt", "le", "eq", "and", "or", "not", "floor", "ceil"})
#: from the result and the arguments to the partial derivatives
_PARTIALS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "add": lambda f, a, b: (1.0, 1.0),
    "sub": lambda f, a, b: (1.0, -1.0),
    "neg": lambda f, a: (-1.0,),
    "mul": lambda f, a, b: (b, a),
    "div": _of_quotient,
    "sqrt": lambda f, a: (0.5 / f,),
    "sin": lambda f, a: (a.sincos()[1],),
    "cos": lambda f, a: (-a.sincos()[0],),
    "tan": lambda f, a: (1.0 + f * f,),
    "exp": lambda f, a: (f,),
    "log": lambda f, a: (1.0 / a,),
    "tanh": lambda f, a: (1.0 - f * f,),
    "atan2": _of_angle,
    "fabs": lambda f, a: ((a < 0.0).select(-1.0, 1.0),),
    "copysign": lambda f, a, b: ((a * f < 0.0).select(-1.0, 1.0), 0.0),
    "select": lambda f, c, a, b: (0.0, c.select(1.0, 0.0), c.select(0.0, 1.0)),
}
