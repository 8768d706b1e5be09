"""Loops of kernels (numerics/numbers/loops.py) as functions of one round that repeat themselves."""

from __future__ import annotations

from collections.abc import Iterable

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.export.tracing.equations import Function
from flexdyn_ros.numerics.tracing.graph import CALL, CONSTANT, INPUT, RESULT, Graph, Number


class Loops:
    """The loops of a graph, which become calls.

    A round is a function of x = (whether there is another round, the n values of the loop, what it reads
    beside them) with the output y = the first 1 + n of x after the round. A call results in the values after
    the last round.

    Attributes
    ----------
    rounds : list of Function
        Equal ones once.
    """

    def __init__(self, graph: Graph) -> None:
        self.rounds: list[Function] = []
        self._graph = graph
        #: condition and values before the loop that is being traced, and what stands for the values within
        self._start: list[int] = []
        self._inputs: list[int] = []

    def again(self, going: Number, values: tuple[object, ...]) -> tuple[bool, tuple[object, ...]]:
        """One round is traced: between the first call and the second."""
        indices = [self._graph.index(x) for x in (going, *values)]
        if not self._start:
            fresh = [
                self._graph.number((INPUT, "round", (len(self._graph.nodes), i))) for i in range(len(values))
            ]
            self._start, self._inputs = indices, [x.index for x in fresh]
            return True, tuple(fresh)
        if len(indices) != len(self._start):
            raise UnsupportedError("the equations have a loop within a loop")
        name, read = self._round(indices)
        arguments = [Number(self._graph, i) for i in (*self._start, *read)]
        self._start = []
        return False, tuple(self._graph.call(name, arguments, len(values)))

    def _round(self, results: list[int]) -> tuple[str, list[int]]:
        """Name of the round that ends in these nodes, and the nodes that it reads from outside."""
        inside = self._inside(results)
        inner, known = Graph(), {}
        for k, i in enumerate(self._inputs, 1):
            known[i] = inner.node((INPUT, "x", k))
        read: list[int] = []
        for i in inside:
            for j in self._graph.arguments(i):
                self._bring(j, inner, known, read)
            operation, *rest = self._graph.nodes[i]
            if operation in (CALL, RESULT):
                raise UnsupportedError("the equations have a loop with a call in it")
            known[i] = inner.node((operation, *(known[j] for j in rest)))
        for i in results:
            self._bring(i, inner, known, read)
        ends = [known[i] for i in results]
        for function in self.rounds:
            if function.graph.nodes == inner.nodes and function.results == ends:
                return function.name, read
        size = len(results) + len(read)
        name = f"round_{len(self.rounds)}"
        self.rounds.append(
            Function(name, inner, (("x", size),), (("y", (len(results),)),), ends, repeats=True)
        )
        return name, read

    def _bring(self, i: int, inner: Graph, known: dict[int, int], read: list[int]) -> None:
        """Let a node from outside be a constant or an input of the round."""
        if i in known:
            return
        node = self._graph.nodes[i]
        if node[0] == CONSTANT:
            known[i] = inner.node(node)
            return
        known[i] = inner.node((INPUT, "x", len(self._start) + len(read)))
        read.append(i)

    def _inside(self, results: Iterable[int]) -> list[int]:
        """Nodes of the results that depend on the values of the loop, in order."""
        within, found = set(self._inputs), []
        for i in self._graph.needed(list(results)):
            if i not in within and any(j in within for j in self._graph.arguments(i)):
                within.add(i)
                found.append(i)
        return found
