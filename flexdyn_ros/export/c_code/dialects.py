"""How numbers are written in C: scalars of one type, or vectors of GCC and clang, one sample in each lane."""

from __future__ import annotations

from collections.abc import Sequence

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "=="}


class Scalars:
    """Numbers of type double or float; conditions are int.

    Attributes
    ----------
    kind, condition : str
        Types of numbers and of conditions.
    branches : bool
        Whether a condition may be branched on.
    """

    condition, branches = "int", True
    _of_conditions = {"and": "&&", "or": "||"}  # noqa: RUF012 - nobody changes it
    _not = "!"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._suffix = "f" if kind == "float" else ""

    def constant(self, value: float) -> str:
        """A constant as operand."""
        if value != value:
            return "NAN"
        if value in (float("inf"), float("-inf")):
            return "INFINITY" if value > 0.0 else "(-INFINITY)"
        text = f"{value!r}{self._suffix}"
        return f"({text})" if value < 0.0 else text

    def whole(self, text: str, is_constant: bool) -> str:
        """An operand where a number of the type has to stand."""
        return text

    def operation(self, name: str, values: Sequence[str], constants: Sequence[bool]) -> str:
        """An operation or function of operands."""
        signs = _SIGNS | self._of_conditions
        if name in signs:
            return f"{values[0]} {signs[name]} {values[1]}"
        if name == "neg":
            return f"-{values[0]}"
        if name == "not":
            return f"{self._not}({values[0]})"
        numbers = [self.whole(x, c) for x, c in zip(values, constants, strict=True)]
        if name == "select":
            return self.select(values[0], numbers[1], numbers[2])
        return self.function(name, numbers)

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        return f"{condition} ? {a} : {b}"

    def function(self, name: str, arguments: Sequence[str]) -> str:
        """A function of <math.h>."""
        return f"{name}{self._suffix}({', '.join(arguments)})"

    def kept(self, condition: str) -> str:
        """A condition as a number of the work memory."""
        return condition

    def recalled(self, place: str) -> str:
        """The condition that lies there."""
        return f"({place} != {self.constant(0.0)})"


class Vectors(Scalars):
    """Numbers of the types vec and mask of native/sources/lanes.h."""

    condition, branches = "mask", False
    _of_conditions = {"and": "&", "or": "|"}  # noqa: RUF012
    _not = "~"

    def __init__(self) -> None:
        super().__init__("double")
        self.kind = "vec"

    def whole(self, text: str, is_constant: bool) -> str:
        return f"V({text})" if is_constant else text

    def select(self, condition: str, a: str, b: str) -> str:
        return f"choose({condition}, {a}, {b})"

    def function(self, name: str, arguments: Sequence[str]) -> str:
        return f"v_{name}({', '.join(arguments)})"

    def kept(self, condition: str) -> str:
        return f"(vec)({condition})"

    def recalled(self, place: str) -> str:
        return f"((mask){place})"
