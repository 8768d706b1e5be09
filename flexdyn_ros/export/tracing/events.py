"""Where the equations of motion switch: what changes its sign there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flexdyn_ros.export.tracing.equations import Equations, Function
from flexdyn_ros.numerics.tracing.graph import CONSTANT, Graph, Number


def event_indicators(equations: Equations, *, with_oil: bool = False) -> Function:
    """Numbers (n,) whose zeros are events of the motion; n may be 0.

    Those are the differences that kernels of `Motion.switches` compare to find accelerations: at stops of
    soft sections, where wheels lift, at edges of a road and, with the oil of cylinders, of valves. Inputs are
    those of forward dynamics, or q, v, oil, valves.
    """
    function = equations.function("oil_motion" if with_oil else "forward_dynamics")
    graph, modules = function.graph, set(equations.motion.switches)
    found: dict[int, None] = {}
    for i in graph.needed(function.results):
        operation, *rest = graph.nodes[i]
        if operation == "select" and modules & graph.choosers[rest[0]]:
            found |= dict.fromkeys(_differences(graph, rest[0]))
    return Function("event_indicators", graph, function.inputs, (("indicators", (len(found),)),), list(found))


def _differences(graph: Graph, condition: int) -> Iterator[int]:
    """Nodes that change their sign where a condition may begin or cease to hold."""
    operation, *rest = graph.nodes[condition]
    if operation in ("lt", "le"):
        a, b = sorted(rest)
        if not (graph.is_constant(a) and graph.is_constant(b)):
            yield graph.index(_number(graph, a) - _number(graph, b))
    elif operation in ("and", "or", "not"):
        for i in rest:
            yield from _differences(graph, i)


def _number(graph: Graph, i: int) -> Any:
    operation, *rest = graph.nodes[i]
    return float(rest[0]) if operation == CONSTANT else Number(graph, i)
