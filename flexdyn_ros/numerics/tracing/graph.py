"""Expressions as a graph: numbers that note what is done with them.

Kernels are functions of numbers of any type (numerics/numbers). On `Number` they leave a `Graph`: one node
for each operation, equal ones only once, with what is known beforehand computed beforehand. A result that
does not depend on the inputs is an ordinary float.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError

#: operations that have no arguments, or other ones than nodes
CONSTANT, INPUT, CALL, RESULT = "constant", "input", "call", "result"
_OTHERWISE = frozenset({CONSTANT, INPUT, CALL, RESULT})
COMMUTATIVE = frozenset({"add", "mul", "eq", "and", "or"})
#: functions of one number, by their names in C
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "exp": math.exp,
    "log": math.log,
    "tanh": math.tanh,
    "floor": math.floor,
    "ceil": math.ceil,
    "fabs": abs,
}


class Graph:
    """Nodes in the order in which they were made: what a node needs stands before it.

    Attributes
    ----------
    nodes : list of tuple
        (operation, arguments ...): indices of nodes; the value of a constant; name and place of an input;
        name and arguments of a call; call and place of a result.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self._constant: list[bool] = []
        #: modules of kernels that chose something by a condition
        self.choosers: dict[int, set[str]] = {}
        #: what loops of kernels are traced by (numbers/functions.py), if they are
        self.loops: Any = None

    def inputs(self, name: str, n: int, *, constant: bool = False) -> np.ndarray:
        """Inputs (n,) as an array of numbers; constant: none of them is zero by the course of a motion."""
        numbers = [self.number((INPUT, name, i)) for i in range(n)]
        if constant:
            for x in numbers:
                self.mark_constant(x)
        return objects(numbers)

    def mark_constant(self, x: Number) -> None:
        """Say that an input is not zero by the course of a motion."""
        self._constant[x.index] = True

    def is_constant(self, i: int) -> bool:
        """Whether a node depends on inputs that are constant only."""
        return self._constant[i]

    def call(self, name: str, arguments: Iterable[Any], n: int) -> np.ndarray:
        """The n results of a function of that name, as an array of numbers."""
        call = self.node((CALL, name, *(self.index(x) for x in arguments)))
        return objects([self.number((RESULT, call, i)) for i in range(n)])

    def node(self, node: tuple[Any, ...]) -> int:
        """Index of a node, which is made if there is none like it."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
            is_constant = self._constant.__getitem__
            self._constant.append(node[0] != INPUT and all(map(is_constant, self.arguments(found))))
        return found

    def number(self, node: tuple[Any, ...]) -> Number:
        """The number that a node computes."""
        return Number(self, self.node(node))

    def index(self, x: Any) -> int:
        """Index of the node of a number or constant."""
        if isinstance(x, Number):
            return x.index
        value = float(x)
        # NaN is not equal to itself, and 0 equal to -0
        return self.node((CONSTANT, value if value == value and value != 0.0 else repr(value)))

    def value(self, i: int) -> float | None:
        """The value of a node if it is a constant."""
        node = self.nodes[i]
        return float(node[1]) if node[0] == CONSTANT else None

    def binary(self, operation: str, a: Any, b: Any) -> Any:
        """A number or constant: `operation` of two, at least one of which is a `Number`."""
        simple = _simplified(operation, a, b)
        if simple is not None:
            return simple
        if operation == "div" and not isinstance(b, Number) and 1e-150 < abs(b) < 1e150:
            # cheaper, and as good to a rounding
            return self.binary("mul", a, 1.0 / float(b))
        if operation in ("add", "sub"):
            operation, a, b = self._without_signs(operation, a, b)
        i, j = self.index(a), self.index(b)
        if operation in COMMUTATIVE and i > j:
            i, j = j, i
        return self.number((operation, i, j))

    def _without_signs(self, operation: str, a: Any, b: Any) -> tuple[str, Any, Any]:
        """A sum or difference of numbers whose signs are part of it."""
        positive = self._opposite(b)
        if positive is not None:
            return ("sub" if operation == "add" else "add"), a, positive
        positive = self._opposite(a)
        if operation == "add" and positive is not None:
            return "sub", b, positive
        return operation, a, b

    def _opposite(self, x: Any) -> Number | None:
        """-x, where x is an opposite."""
        if isinstance(x, Number) and self.nodes[x.index][0] == "neg":
            return Number(self, self.nodes[x.index][1])
        return None

    def needed(self, results: Sequence[int]) -> list[int]:
        """Indices of all nodes that the results need, in order."""
        wanted = bytearray(len(self.nodes))
        for i in results:
            wanted[i] = True
        for i in range(len(self.nodes) - 1, -1, -1):
            if wanted[i]:
                for j in self.arguments(i):
                    wanted[j] = True
        return [i for i, is_wanted in enumerate(wanted) if is_wanted]

    def arguments(self, i: int) -> tuple[int, ...]:
        """Indices of the nodes that a node needs."""
        node = self.nodes[i]
        operation = node[0]
        if operation not in _OTHERWISE:
            return node[1:]
        if operation == RESULT:
            return node[1:2]
        return node[2:] if operation == CALL else ()


def _simplified(operation: str, a: Any, b: Any) -> Any:
    """The result if it is no new node, else None."""
    left = None if isinstance(a, Number) else float(a)
    right = None if isinstance(b, Number) else float(b)
    if operation == "add":
        return b if left == 0.0 else a if right == 0.0 else None
    if operation == "sub":
        if right == 0.0:
            return a
        if left == 0.0:
            return -b
        return 0.0 if _same(a, b) else None
    if operation == "mul":
        return _product(a, b, left, right)
    if operation == "div":
        return 0.0 if left == 0.0 else a if right == 1.0 else -a if right == -1.0 else None
    if operation in ("lt", "le"):
        if left is not None and math.isinf(left):
            return left < 0.0
        if right is not None and math.isinf(right):
            return right > 0.0
        return operation == "le" if _same(a, b) else None
    if operation == "eq":
        if any(x is not None and math.isinf(x) for x in (left, right)):
            return False
        return True if _same(a, b) else None
    if operation in ("and", "or"):
        for constant, other in ((left, b), (right, a)):
            if constant is not None:
                return (other if constant else False) if operation == "and" else (True if constant else other)
    return None


def _product(a: Any, b: Any, left: float | None, right: float | None) -> Any:
    if left is None and right is None:
        return None
    for constant, other in ((left, b), (right, a)):
        if constant is not None:
            if constant == 0.0:
                return 0.0
            if constant == 1.0:
                return other
            if constant == -1.0:
                return -other
    return None


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, Number) and isinstance(b, Number) and a.index == b.index


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array (n,) of numbers of any type."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _operator(operation: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Number, other: Any) -> Any:
        return self.graph.binary(operation, self, other)

    def backward(self: Number, other: Any) -> Any:
        return self.graph.binary(operation, other, self)

    return forward, backward


class Number:
    """A number that is known when the graph is evaluated.

    It cannot be branched on: kernels take values by `select`. Comparisons are numbers too, 1 where they hold.
    """

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph, self.index = graph, index

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub")
    __mul__, __rmul__ = _operator("mul")
    __truediv__, __rtruediv__ = _operator("div")
    __lt__, __gt__ = _operator("lt")
    __le__, __ge__ = _operator("le")
    __eq__, _ = _operator("eq")
    __and__, __rand__ = _operator("and")
    __or__, __ror__ = _operator("or")
    __hash__ = object.__hash__

    def __ne__(self, other: Any) -> Any:
        # kernels ask so whether they can leave out what is zero
        if not isinstance(other, Number) and self.graph.is_constant(self.index):
            return True
        return self._apply("not", self == other)

    def __neg__(self) -> Any:
        operation, *rest = self.graph.nodes[self.index]
        return Number(self.graph, rest[0]) if operation == "neg" else self._apply("neg", self)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Any:
        return self._apply("fabs", self)

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, Number) and float(exponent).is_integer() and 0 < exponent <= 8:
            product: Any = 1.0
            for _ in range(int(exponent)):
                product = product * self
            return product
        return self.graph.binary("pow", self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return self.graph.binary("pow", base, self)

    def __bool__(self) -> bool:
        raise UnsupportedError("the equations branch on a value that is known only when they are evaluated")

    def __float__(self) -> float:
        raise UnsupportedError(
            "the equations need the value of a number that is known only at their evaluation"
        )

    @property
    def real(self) -> Number:
        """The number: it is real."""
        return self

    @property
    def imag(self) -> float:
        """Zero."""
        return 0.0

    def select(self, a: Any, b: Any) -> Any:
        """a where this condition holds, else b."""
        graph = self.graph
        graph.choosers.setdefault(self.index, set()).add(_chooser())
        i, j = graph.index(a), graph.index(b)
        return a if i == j else graph.number(("select", self.index, i, j))

    def again(self, values: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        """See numerics/numbers/functions.py."""
        if self.graph.loops is None:
            raise UnsupportedError("the equations loop until a value is reached")
        found: tuple[bool, tuple[Any, ...]] = self.graph.loops.again(self, values)
        return found

    def is_certain(self) -> bool:
        """False: whether this condition holds is not known."""
        return False

    def sincos(self) -> tuple[Any, Any]:
        """Sine and cosine."""
        return self._apply("sin", self), self._apply("cos", self)

    def _apply(self, operation: str, x: Any) -> Any:
        if not isinstance(x, Number):
            return not x if operation == "not" else FUNCTIONS[operation](x)
        return self.graph.number((operation, x.index))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method == "__call__" and not options:
            if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
                arrays = [np.asarray(x, dtype=object) for x in inputs]
                return ufunc(*arrays)
            if name in _OF_ONE:
                return self._apply(_OF_ONE[name], inputs[0])
            if name in _OF_TWO:
                return self.graph.binary(_OF_TWO[name], *(_plain(x) for x in inputs))
            if name in _OTHERS:
                return _OTHERS[name](*(_plain(x) for x in inputs))
        raise UnsupportedError(f"{name} of a number that is known only when the equations are evaluated")

    def __repr__(self) -> str:
        return f"<{self.graph.nodes[self.index][0]} {self.index}>"


def _chooser() -> str:
    """The module whose kernel chooses by a condition just now; none for absolute values."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals["__name__"] in _NUMBERS:
        if frame.f_code.co_name == "absolute":
            return ""
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


#: modules that choose for others
_NUMBERS = (__name__, "flexdyn_ros.numerics.numbers.functions")


def _plain(x: Any) -> Any:
    return x if isinstance(x, Number) else float(x)


#: NumPy's names
_OF_ONE = {name: name for name in FUNCTIONS} | {"absolute": "fabs"}
_OF_TWO = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "copysign": "copysign",
           "arctan2": "atan2", "less": "lt", "less_equal": "le", "equal": "eq", "power": "pow"}  # fmt: skip
_OTHERS: dict[str, Callable[..., Any]] = {
    "greater": lambda a, b: b < a,
    "greater_equal": lambda a, b: b <= a,
    "negative": lambda a: -a,
    "isfinite": lambda a: True,
    "isnan": lambda a: False,
    "maximum": lambda a, b: (a < b).select(b, a),
    "minimum": lambda a, b: (b < a).select(b, a),
    "square": lambda a: a * a,
}
