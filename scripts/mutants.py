"""Mutants of a module: its text with one small mistake, for `scripts/mutate`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
# texts for people, and what does not depend on the order of its arguments
SILENT_CALLS = {"print", "warn", "debug", "info", "warning", "error", "exception", "log", "append_text"}
SYMMETRIC_CALLS = {
    "max",
    "min",
    "maximum",
    "minimum",
    "larger",
    "smaller",
    "equal",
    "hypot",
    "mul",
    "plus",
    "both",
    "either",
    "isclose",
    "allclose",
    "array_equal",
    "dot",
    "sum2",
}
TYPES = {"dict", "tuple", "Callable", "Mapping", "Generator", "Literal", "NamedTuple"}
# a tenth more of a tolerance is no mistake, nor of a number that stands for infinity, nor a round more of an
# iteration, nor an answer more that is kept
TOLERANCE, INFINITE = 1e-5, 1e15
ROUNDS = re.compile(r"(ROUNDS|ITERATIONS|HALVINGS|ATTEMPTS)$|^KEPT$")
# a tenth more of a size in a drawing is taste
DRAWINGS = ("/view/", "/studies/pictures/", "/simulation/plots/")
# column(array, k, j) starts at element k + j
ORDERLESS_ENDS = {"column"}
SILENT_FUNCTIONS = {"__repr__", "__str__", "__dir__", "_repr_html_", "__init_subclass__"}


class Mutant(NamedTuple):
    """One mistake: `text` for the bytes from `start` to `end`, in a statement that begins in line `first`."""

    file: str
    line: int
    first: int
    start: int
    end: int
    text: str

    def source(self, original: bytes) -> bytes:
        return original[: self.start] + self.text.encode() + original[self.end :]

    def change(self, original: bytes) -> str:
        """What stood there -> what stands there now."""
        parts = original[self.start : self.end].decode(), self.text
        return " -> ".join(" ".join(part.split()) for part in parts)

    def told(self, original: bytes) -> str:
        """FILE:LINE: the change."""
        return f"{self.file}:{self.line}: {self.change(original)}"


def _texts(node: ast.AST) -> bool:
    return any(isinstance(part, ast.JoinedStr | ast.Constant) and isinstance(getattr(part, "value", ""), str)
               for part in (node, *ast.iter_child_nodes(node)))  # fmt: skip


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _with(node: ast.AST, **fields: object) -> str:
    changed = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return f"({ast.unparse(changed)})"


def _swapped(values: list[ast.expr], index: int) -> list[ast.expr]:
    return [*values[:index], values[index + 1], values[index], *values[index + 2 :]]


def _alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether it does not matter which of two arguments comes first: the same, or 0.0 and False."""
    match one, other:
        case ast.Constant(value=x), ast.Constant(value=y):
            return x == y
    return ast.dump(one) == ast.dump(other)


def _expressions(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """What a node may become, each with the expression that is replaced."""
    match node:
        case ast.BinOp(
            op=ast.Add() | ast.Sub(), right=ast.BinOp(ast.expr() as x, ast.Sub(), ast.expr() as y)
        ) if ast.dump(x) == ast.dump(y):  # a + (x - x): NaN where x is not finite
            return
        case ast.BinOp(left=ast.Constant(0.0), op=ast.Mult()):  # 0.0 * x: NaN too
            return
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OPERATORS and not _texts(node):
            yield node, _with(node, op=OPERATORS[type(op)]())
        case ast.Compare(ops=[op]):
            yield node, _with(node, ops=[OPERATORS[type(op)]()])
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Constant(value=float(value)) if not 0.0 < value < TOLERANCE and value < INFINITE:
            yield node, repr(1.1 * value or 1.0)
        case ast.Subscript(slice=ast.Tuple(elts=values)) if not any(isinstance(v, ast.Slice) for v in values):
            for index in range(0 if _name(node.value) in TYPES else len(values) - 1):
                if ast.dump(values[index]) != ast.dump(values[index + 1]):
                    text = ", ".join(map(ast.unparse, _swapped(values, index)))
                    yield node, f"{ast.unparse(node.value)}[{text}]"
        case ast.Call(args=values) if _name(node.func) not in SYMMETRIC_CALLS:
            # clip(x, low, high) is clip(low, x, high)
            for index in range(_name(node.func) == "clip", len(values) - 1):
                pair = values[index : index + 2]
                if _alike(*pair) or (index == len(values) - 2 and _name(node.func) in ORDERLESS_ENDS):
                    continue
                if not any(isinstance(value, ast.Starred) or _texts(value) for value in pair):
                    yield node, _with(node, args=_swapped(values, index))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Constant):
        yield node.test, f"(not ({ast.unparse(node.test)}))"


def _removable(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call() as call):
            return not _left_out(call)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _left_out(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name, decorator_list=decorators):  # taught to Numba: no trial compiles it
            return name in SILENT_FUNCTIONS or "when_compiling" in map(_name, decorators)
        case ast.Call():
            return _name(node.func) in SILENT_CALLS
        case ast.keyword(
            arg="strict" | "daemon"
        ):  # zip(..., strict=True) asserts; threads that end are no daemons
            return True
        case ast.If(test=test):
            return "TYPE_CHECKING" in ast.dump(test) or "__main__" in ast.dump(test)
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed within a node."""
    if isinstance(node, ast.Raise):  # the text of an error is no behaviour
        return
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        pairs = [(node.targets[0], node.value)]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(node.targets[0].elts, node.value.elts))
        for target, value in pairs:
            yield target
            if not ROUNDS.search(_name(target)):
                yield value
        return
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "type_params"):
            yield from (x for x in (value if isinstance(value, list) else [value]) if isinstance(x, ast.AST))


def _lengths(tree: ast.AST) -> set[int]:
    """Numbers in the length of a view, window(array, first, n): what is beyond its end, nobody reads."""
    found: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[_, _, length]) if _name(node.func) == "window":
                parts = list(ast.walk(length))
                if not any(isinstance(part, ast.Sub | ast.USub | ast.FloorDiv) for part in parts):
                    found |= {id(part) for part in parts if isinstance(part, ast.Constant)}
    return found


def _sizes(tree: ast.AST) -> set[int]:
    """Numbers that are neither whole ones nor a half: sizes, in what draws."""
    return {
        id(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and (2.0 * node.value) % 1.0
    }


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module, in the order of its text."""
    tree = ast.parse(source)
    lengths = _lengths(tree) | (_sizes(tree) if any(folder in file for folder in DRAWINGS) else set())
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    found: list[Mutant] = []

    def add(node: ast.AST, text: str, first: int) -> None:
        begin = starts[node.lineno - 1] + node.col_offset
        found.append(
            Mutant(file, node.lineno, first, begin, starts[node.end_lineno - 1] + node.end_col_offset, text)
        )

    def visit(node: ast.AST, first: int) -> None:
        if _left_out(node) or id(node) in lengths:
            return
        first = node.lineno if isinstance(node, ast.stmt) else first
        if _removable(node):
            add(node, "pass", first)
        if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            changed = ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
            add(node, ast.unparse(changed), first)
        for expression, text in _expressions(node):
            add(expression, text, first)
        for child in _children(node):
            visit(child, first)

    visit(tree, 1)
    return found
