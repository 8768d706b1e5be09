"""Closed forms of the equations of motion: their terms, and these as text, LaTeX and Python source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from flexdyn_ros.derivation.arithmetic import Operations
from flexdyn_ros.derivation.arm import Parameter
from flexdyn_ros.escaping import printable, python_docstring

if TYPE_CHECKING:
    import sympy

#: longest sum in which sums of angles are looked for; the search is cubic, and long sums gain little by it
JOINED_TERMS = 24

TITLES = {"newton_euler": "recursive Newton-Euler", "lagrange": "Lagrange"}


class Counts(NamedTuple):
    """Operations for the efforts tau of one state, five ways of writing them down.

    method: as the method itself works, every intermediate vector or matrix stored (sines and cosines given).
    expanded, shared: its result with all intermediates put in, before and after common-subexpression
    elimination.
    closed, closed_shared: the collected M, c, g, assembled to M a + c + g, before and after the same.
    """

    method: Operations
    expanded: Operations
    shared: Operations
    closed: Operations
    closed_shared: Operations


class Step(NamedTuple):
    """Something that a method computes on the way: its name, such as `omega_1`, what it is, and its sympy
    expressions, one, or three in the axes of the body."""

    name: str
    meaning: str
    value: tuple


@dataclass(frozen=True)
class Derivation:
    """Equations of motion of a robot in closed form.

    robot, method : names
    coordinates : names of the joints that q, v, a stand for
    q, v, a : tuples of sympy symbols
    M, c, g : sympy matrices (n, n), (n, 1), (n, 1): M a + c + g = tau, effort applied by the actuators
    parameters : by symbol name, with value, unit and meaning; empty if numbers were kept
    counts : operations, counted when they are asked for
    notes : what was rounded or left out
    steps : what the method computes on the way, if it was asked for
    """

    robot: str
    method: str
    coordinates: tuple[str, ...]
    q: tuple
    v: tuple
    a: tuple
    M: sympy.Matrix
    c: sympy.Matrix
    g: sympy.Matrix
    parameters: Mapping[str, Parameter]
    notes: tuple[str, ...]
    steps: tuple[Step, ...]
    _count: Callable[[], Counts] = field(repr=False, compare=False)

    @cached_property
    def counts(self) -> Counts:
        """Operations; counting them takes about as long as deriving the equations."""
        return self._count()

    def __getstate__(self) -> dict[str, object]:
        """What is pickled and copied: the counts, not what counts them."""
        return {**self.__dict__, "counts": self.counts, "_count": None}

    @property
    def tau(self) -> sympy.Matrix:
        """Efforts as one sympy column (n, 1)."""
        import sympy

        return self.M * sympy.Matrix(self.a) + self.c + self.g

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON: expressions as text that sympy reads, counts by name."""
        return plain(self)

    def counts_table(self) -> str:
        """The counts, one way of writing the efforts down per line."""
        return "\n".join(count_lines(self.counts))

    def text(self) -> str:
        """Readable lines, with counts, parameters and notes."""
        return text(self)

    def latex(self) -> str:
        """A LaTeX display (amsmath)."""
        return latex(self)

    def python(self) -> str:
        """Source of a Python module that needs nothing but `math`."""
        return python(self)


def tidy(expression: object) -> sympy.Expr:
    """The shortest of a few equal forms: sums of angles joined (in short sums), common factors taken out."""
    import sympy
    from sympy.simplify.fu import TR10i

    forms = [expression]
    if len(sympy.Add.make_args(expression)) <= JOINED_TERMS:
        forms.append(TR10i(expression))
    forms += [sympy.factor_terms(f) for f in forms]
    return min(forms, key=sympy.count_ops)


def _entries(d: Derivation) -> list[tuple[str, tuple[int, ...], sympy.Expr]]:
    """(letter, indices from 1, expression): M's upper triangle, c, g."""
    n = len(d.coordinates)
    entries: list[tuple[str, tuple[int, ...], sympy.Expr]] = []
    entries += [("M", (i + 1, j + 1), d.M[i, j]) for i in range(n) for j in range(i, n)]
    entries += [("c", (i + 1,), d.c[i]) for i in range(n)]
    entries += [("g", (i + 1,), d.g[i]) for i in range(n)]
    return entries


def _number(expression: sympy.Expr) -> sympy.Expr:
    """Long fractions as decimals."""
    import sympy

    return expression.replace(
        lambda x: isinstance(x, sympy.Rational) and abs(x.q) > 100, lambda x: sympy.Float(x, 12)
    )


def text(d: Derivation) -> str:
    """Readable lines."""
    title = f"{printable(d.robot)}: equations of motion by the {TITLES[d.method]} method"
    lines = [title, "tau = M a + c + g", ""]
    for i, name in enumerate(d.coordinates, start=1):
        lines.append(f"  q{i}, v{i}, a{i}: position, rate, acceleration of joint {printable(name)}")
    lines.append("")
    for step in d.steps:
        shown = ", ".join(str(_number(x)) for x in step.value)
        values = shown if len(step.value) == 1 else f"({shown})"
        lines.append(f"  {step.name} = {values}   # {printable(step.meaning)}")
    lines += [""] if d.steps else []
    for letter, index, expression in _entries(d):
        name = f"{letter}[{','.join(map(str, index))}]"
        if letter == "M" and index[0] != index[1]:
            name += f" = M[{index[1]},{index[0]}]"
        lines.append(f"  {name} = {_number(expression)}")
    if d.parameters:
        lines += ["", "  parameters"]
        lines += [
            f"    {p.name:5} = {p.value:.9g} {p.unit}  ({printable(p.meaning)})"
            for p in d.parameters.values()
        ]
    lines += ["", "  operations for tau (sines and cosines given)"]
    lines += [f"    {line}" for line in count_lines(d.counts)]
    lines += [f"  note: {printable(note)}" for note in d.notes]
    return "\n".join(lines) + "\n"


COUNT_LABELS = (
    "the method as it works, intermediates stored",
    "its result written out",
    "its result, common subexpressions shared",
    "collected closed form M a + c + g",
    "collected closed form, common subexpressions shared",
)


def count_lines(counts: Counts) -> list[str]:
    """One line per way of writing the efforts down."""
    return [f"{label:52} {count}" for label, count in zip(COUNT_LABELS, counts, strict=True)]


def plain(d: Derivation) -> dict[str, object]:
    """Plain data for JSON."""
    n = len(d.coordinates)
    return {
        "robot": d.robot,
        "method": d.method,
        "coordinates": list(d.coordinates),
        "M": [[str(_number(d.M[i, j])) for j in range(n)] for i in range(n)],
        "c": [str(_number(x)) for x in d.c],
        "g": [str(_number(x)) for x in d.g],
        "parameters": {name: p._asdict() for name, p in d.parameters.items()},
        "counts": {name: count._asdict() for name, count in d.counts._asdict().items()},
        "notes": list(d.notes),
        "steps": {step.name: [str(_number(x)) for x in step.value] for step in d.steps},
    }


def _symbol_names(d: Derivation) -> dict[sympy.Expr, str]:
    import sympy

    names: dict[sympy.Expr, str] = {}
    for letter, symbols in (("q", d.q), (r"\dot q", d.v), (r"\ddot q", d.a)):
        names |= {s: f"{letter}_{{{i}}}" for i, s in enumerate(symbols, start=1)}
    for p in d.parameters:
        head = p.rstrip("0123456789xyz")
        names[sympy.Symbol(p, real=True)] = f"{head}_{{{p[len(head) :]}}}" if p != head else p
    return names


def _latex_name(step: str) -> str:
    """omega'_1 as LaTeX writes it."""
    head, _, number = step.partition("_")
    letter = r"\omega" if head.startswith("omega") else head.rstrip("'")
    letter = rf"\dot {letter}" if head.endswith("'") else letter
    return f"{letter}_{{{number}}}" if number else letter


def latex(d: Derivation) -> str:
    """A LaTeX display."""
    import sympy

    names = _symbol_names(d)
    rows = []
    for step in d.steps:
        shown = [sympy.latex(_number(x), symbol_names=names) for x in step.value]
        right = shown[0] if len(shown) == 1 else r"\begin{bmatrix}" + r" \\ ".join(shown) + r"\end{bmatrix}"
        rows.append(f"  {_latex_name(step.name)} &= {right}")
    for letter, index, expression in _entries(d):
        left = f"{letter}_{{{''.join(map(str, index))}}}"
        if letter == "M" and index[0] != index[1]:
            left += f" = M_{{{index[1]}{index[0]}}}"
        rows.append(f"  {left} &= {sympy.latex(_number(expression), symbol_names=names)}")
    body = " \\\\\n".join([r"  \tau &= M \ddot q + c + g", *rows])
    return "\\begin{align*}\n" + body + "\n\\end{align*}\n"


def python(d: Derivation) -> str:
    """Source of a module with `equations(q, v)` and `inverse_dynamics(q, v, a)`."""
    import sympy

    entries = _entries(d)
    named, results = sympy.cse([e for _, _, e in entries], symbols=sympy.numbered_symbols("x"), order="none")
    n = len(d.coordinates)
    values = {(letter, *index): e for (letter, index, _), e in zip(entries, results, strict=True)}
    lines = _head(d)
    for letter in "qv":
        lines.append(
            f"    {', '.join(f'{letter}{i + 1}' for i in range(n))}{',' if n == 1 else ''} = {letter}"
        )
    lines += [f'    {name} = parameters["{name}"]' for name in d.parameters]
    lines += [f"    {symbol} = {_code(e)}" for symbol, e in named]
    rows = []
    for i in range(1, n + 1):
        for j in range(i, n + 1):
            lines.append(f"    M{i}{j} = {_code(values[('M', i, j)])}")
    for i in range(1, n + 1):
        rows.append("[" + ", ".join(f"M{min(i, j)}{max(i, j)}" for j in range(1, n + 1)) + "]")
    c, g = ("[" + ", ".join(_code(values[(x, i)]) for i in range(1, n + 1)) + "]" for x in "cg")
    lines += [f"    M = [{', '.join(rows)}]", f"    c = {c}", f"    g = {g}", "    return M, c, g", "", ""]
    lines += [
        "def inverse_dynamics(q, v, a, parameters=PARAMETERS):",
        '    """Efforts tau = M a + c + g."""',
        "    M, c, g = equations(q, v, parameters)",
        "    return [sum(m * x for m, x in zip(row, a)) + ci + gi for row, ci, gi in zip(M, c, g)]",
    ]
    return "\n".join(lines) + "\n"


def _head(d: Derivation) -> list[str]:
    lines = [
        f'"""Equations of motion of {python_docstring(d.robot)}, derived by the {TITLES[d.method]} method; '
        "SI units, rad.",
        "",
        f"Coordinates: {python_docstring(', '.join(d.coordinates))}.",
        '"""',
        "",
        "from math import cos, sin",
        "",
        "PARAMETERS = {",
    ]
    lines += [
        f'    "{p.name}": {p.value!r},  # {p.unit}, {python_docstring(p.meaning)}'
        for p in d.parameters.values()
    ]
    return [
        *lines,
        "}",
        "",
        "",
        "def equations(q, v, parameters=PARAMETERS):",
        '    """Mass matrix M, velocity terms c and gravity terms g: M a + c + g = tau."""',
    ]


def _code(expression: object) -> str:
    import sympy

    return sympy.pycode(_number(expression), fully_qualified_modules=False)
