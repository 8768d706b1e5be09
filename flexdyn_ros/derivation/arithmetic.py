"""The kinds of numbers that a derivation runs over: polynomials, plain expressions, counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from flexdyn_ros.derivation.algebra import Angle, Scalar, Vector
from flexdyn_ros.derivation.arm import Arm, Dress, Parameter


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
        self.begin()

    def begin(self) -> None:
        """Count from zero."""
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

    def _times(self, other: object) -> Counter | int:
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


class State(NamedTuple):
    """Joint angles and, per joint, rates and accelerations; the coordinates' own v and a."""

    angles: list[Angle]
    rates: Vector
    accelerations: Vector
    v: Vector
    a: Vector


class Symbols(NamedTuple):
    """sympy symbols of the coordinates, and position of every joint as an expression of them."""

    q: tuple
    v: tuple
    a: tuple
    positions: tuple

    @staticmethod
    def of(arm: Arm) -> Symbols:
        """q1, q2, ..., v1, ..., a1, ... and ratio q + offset of each joint."""
        import sympy

        n = len(arm.coordinates)
        q, v, a = (sympy.symbols(f"{x}1:{n + 1}", real=True) for x in "qva")
        positions = tuple(
            sympy.nsimplify(j.ratio) * q[j.coordinate] + sympy.nsimplify(j.offset) for j in arm.joints
        )
        return Symbols(q, v, a, positions)


def _dress_with(
    symbol: Callable[[str], object], number: Callable[[Fraction], object], symbolic: bool
) -> Dress:
    def dress(parameter: Parameter) -> Scalar:
        if symbolic and parameter.name:
            return symbol(parameter.name)
        return number(Fraction(repr(parameter.value)))

    return dress


def _state(arm: Arm, angles: list[Angle], v: Sequence[object], a: Sequence[object]) -> State:
    rates = [j.ratio * v[j.coordinate] for j in arm.joints]
    accelerations = [j.ratio * a[j.coordinate] for j in arm.joints]
    return State(angles, rates, accelerations, list(v), list(a))


class Polynomials:
    """Polynomials in sines, cosines, rates, accelerations and parameters: sums expand and collect by
    themselves.

    Sines and cosines are generators of their own; `reduced` replaces sin^2 by 1 - cos^2, which makes the form
    unique.
    """

    def __init__(self, arm: Arm, symbols: Symbols, symbolic: bool) -> None:
        import sympy
        from sympy.polys.rings import ring

        self._meaning: dict[str, object] = {}
        for i, (joint, position) in enumerate(zip(arm.joints, symbols.positions, strict=True), start=1):
            if joint.revolute:
                self._meaning |= {f"_s{i}": sympy.sin(position), f"_c{i}": sympy.cos(position)}
            else:
                self._meaning[f"_d{i}"] = position
        self._meaning |= {str(x): x for x in (*symbols.a, *symbols.v)}
        if symbolic:
            self._meaning |= {p.name: sympy.Symbol(p.name, real=True) for p in arm.parameters}
        self.ring, *generators = ring(list(self._meaning), sympy.QQ, sympy.lex)
        self._generator = dict(zip(self._meaning, generators, strict=True))
        self._circles = [
            self._generator[f"_s{i}"] ** 2 + self._generator[f"_c{i}"] ** 2 - 1
            for i, joint in enumerate(arm.joints, start=1)
            if joint.revolute
        ]
        self.dress = _dress_with(self._generator.__getitem__, self._number, symbolic)

    def _number(self, x: Fraction) -> Scalar:
        return self.ring.ground_new(self.ring.domain(x.numerator, x.denominator))

    def state(self, arm: Arm) -> State:
        """All joints at their generators."""
        g, n = self._generator, len(arm.coordinates)
        angles = [
            Angle(g.get(f"_s{i}"), g.get(f"_c{i}"), g.get(f"_d{i}")) for i in range(1, len(arm.joints) + 1)
        ]
        return _state(arm, angles, [g[f"v{i + 1}"] for i in range(n)], [g[f"a{i + 1}"] for i in range(n)])

    def reduced(self, x: Scalar) -> Scalar:
        """Normal form modulo sin^2 + cos^2 = 1."""
        x = self.ring(x)
        return x.rem(self._circles) if self._circles and x else x

    def slope(self, x: object, name: str) -> Scalar:
        """Derivative with respect to a generator."""
        return self.ring(x).diff(self._generator[name])

    def expression(self, x: object) -> Scalar:
        """As a sympy expression in q, v, a and parameters."""
        return self.reduced(x).as_expr(*self._meaning.values())


class Expressions:
    """sympy expressions that are left as the recursion writes them: nothing is expanded or simplified."""

    def __init__(self, arm: Arm, symbols: Symbols, symbolic: bool) -> None:
        import sympy

        self._symbols = symbols
        self.dress = _dress_with(
            lambda name: sympy.Symbol(name, real=True),
            lambda x: sympy.Rational(x.numerator, x.denominator),
            symbolic,
        )

    def state(self, arm: Arm) -> State:
        """All joints at their positions."""
        import sympy

        s = self._symbols
        angles = [Angle(sympy.sin(x), sympy.cos(x), x) for x in s.positions]
        return _state(arm, angles, s.v, s.a)


def counting_state(arm: Arm, tally: Tally) -> State:
    """A state whose numbers count what is done with them."""
    n = Counter(tally)
    each = [n] * len(arm.coordinates)
    state = _state(arm, [Angle(n, n, n)] * len(arm.joints), each, each)
    tally.begin()
    return state
