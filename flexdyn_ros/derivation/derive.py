"""Closed-form equations of motion of a small arm: M(q) a + c(q, v) + g(q) = tau."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING

from flexdyn_ros.derivation.algebra import Matrix, Scalar, Vector, add, apply, plus
from flexdyn_ros.derivation.arithmetic import (
    Counter,
    Expressions,
    Polynomials,
    State,
    Symbols,
    Tally,
    count_expressions,
    counting_state,
)
from flexdyn_ros.derivation.arm import SNAP, Arm, Dress, read_arm
from flexdyn_ros.derivation.closed_form import Counts, Derivation, Step, tidy
from flexdyn_ros.derivation.lagrange import lagrange, potential
from flexdyn_ros.derivation.newton_euler import gather, newton_euler
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import MissingExtraError

if TYPE_CHECKING:
    import sympy

METHODS = ("newton_euler", "lagrange")


def derive(
    description: RobotDescription, method: str = "newton_euler", *, symbolic: bool = True, steps: bool = False
) -> Derivation:
    """Derive the equations of motion of an arm of one to three coordinates.

    Parameters
    ----------
    description : RobotDescription
        A rigid tree on a fixed base; joint damping, friction and springs are left out (`notes` says so).
    method : {"newton_euler", "lagrange"}
        The recursion with angular velocities and accelerations, or energies and derivatives of transforms.
    symbolic : bool
        Masses, lengths and inertias as symbols (values in `parameters`), or as the description's numbers.
    steps : bool
        Also what the method computes on the way: angular velocity omega and acceleration omega', acceleration
        v' of the origin, force F and moment N of inertia, force f and moment n from the joint, of every body
        in its axes; kinetic energy K, potential U and L = K - U.

    Raises
    ------
    MissingExtraError
        If sympy is not installed.
    UnsupportedError
        More than three coordinates, none, flexible parts, a base that moves.
    ValueError
        Another method.
    """
    if method not in METHODS:
        raise ValueError(f"method {method!r}: expected one of {', '.join(METHODS)}")
    if importlib.util.find_spec("sympy") is None:
        raise MissingExtraError("sympy", "derive")
    case = _Case(description, method, symbolic)
    M, c, g = closed = case.closed_form()
    return Derivation(
        robot=description.name,
        method=method,
        coordinates=case.arm.coordinates,
        q=case.symbols.q,
        v=case.symbols.v,
        a=case.symbols.a,
        M=M,
        c=c,
        g=g,
        parameters={p.name: p for p in case.plain.parameters} if symbolic else {},
        notes=case.plain.notes,
        steps=case.steps() if steps else (),
        _count=partial(case.counts, *closed),
    )


MEANINGS = {
    "omega": "angular velocity",
    "omega'": "angular acceleration",
    "v'": "acceleration of the origin, gravity as an upward acceleration of the base",
    "F": "mass times acceleration of the centre of mass",
    "N": "rate of the angular momentum about the centre of mass",
    "f": "force from the joint",
    "n": "moment from the joint, about the origin",
}


class _Case:
    """One derivation: the arm over plain numbers, and over polynomials with the state of its joints."""

    def __init__(self, description: RobotDescription, method: str, symbolic: bool) -> None:
        self._description, self._method, self._symbolic = description, method, symbolic
        self.plain = self._read(lambda p: p.value)
        self.symbols = Symbols.of(self.plain)
        self._numbers = Polynomials(self.plain, self.symbols, symbolic)
        self.arm = self._read(self._numbers.dress)
        self._state = self._numbers.state(self.arm)

    def _read(self, dress: Dress) -> Arm:
        return read_arm(self._description, dress, snap=SNAP if self._symbolic else 1e-12)

    def _tidy(self, x: object) -> Scalar:
        return tidy(self._numbers.expression(x))

    def closed_form(self) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]:
        """M, c, g as sympy matrices, over polynomials."""
        import sympy

        arm, by = self.arm, _by_newton_euler if self._method == "newton_euler" else _by_lagrange
        M, c, g = by(self._numbers, arm, self._state)
        n = len(arm.coordinates)
        return (
            sympy.Matrix(n, n, lambda i, j: self._tidy(add(M[i][j], arm.rotors[i] if i == j else 0))),
            sympy.Matrix(n, 1, lambda i, _: self._tidy(c[i])),
            sympy.Matrix(n, 1, lambda i, _: self._tidy(g[i])),
        )

    def steps(self) -> tuple[Step, ...]:
        """What the method computes on the way, in collected form."""
        return self._vectors() if self._method == "newton_euler" else self._energies()

    def _vectors(self) -> tuple[Step, ...]:
        found: list[Step] = []
        arm, state = self.arm, self._state

        def tell(name: str, body: int, vector: Vector) -> None:
            meaning = f"{MEANINGS[name]}, axes of the body on joint {arm.joints[body].name}"
            found.append(Step(f"{name}_{body + 1}", meaning, tuple(self._tidy(x) for x in vector)))

        newton_euler(arm, state.angles, state.rates, state.accelerations, arm.gravity, tell)
        return tuple(found)

    def _energies(self) -> tuple[Step, ...]:
        from sympy import Rational

        arm, state = self.arm, self._state
        M, n = lagrange(arm, state.angles, state.rates, arm.gravity).M, len(arm.joints)
        pairs = [M[i][j] * (state.rates[i] * state.rates[j]) for i in range(n) for j in range(n)]
        rotors = [J * (r * r) for J, r in zip(arm.rotors, state.v, strict=True)]
        K = Rational(1, 2) * self._tidy(add(*pairs, *rotors))
        U = self._tidy(potential(arm, state.angles, arm.gravity))
        return (
            Step("K", "kinetic energy [J]", (K,)),
            Step("U", "potential of gravity, 0 at the base's origin [J]", (U,)),
            Step("L", "K - U; d/dt dL/dv - dL/dq = tau", (K - U,)),
        )

    def counts(self, M: object, c: object, g: object) -> Counts:
        """Operations of the method, of its result and of the closed form M, c, g."""
        import sympy

        tally = Tally()
        arm = self._read(lambda p: Counter(tally))
        _efforts(arm, counting_state(arm, tally), self._method)
        numbers = Expressions(self.plain, self.symbols, self._symbolic)
        arm = self._read(numbers.dress)
        expanded = _efforts(arm, numbers.state(arm), self._method)
        closed = list(M * sympy.Matrix(self.symbols.a) + c + g)
        counted = [count_expressions(x, share=share) for x in (expanded, closed) for share in (False, True)]
        return Counts(tally.operations, *counted)


def _by_newton_euler(numbers: Polynomials, arm: Arm, state: State) -> tuple[Matrix, Vector, Vector]:
    """Efforts of the recursion, taken apart: M by its slopes over the accelerations, c and g by runs of their
    own."""
    zero = [0] * len(arm.joints)
    inertial = gather(arm, newton_euler(arm, state.angles, zero, state.accelerations, [0, 0, 0]))
    M = [[numbers.slope(x, str(a)) for a in state.a] for x in inertial]
    c = gather(arm, newton_euler(arm, state.angles, state.rates, zero, [0, 0, 0]))
    return M, c, gather(arm, newton_euler(arm, state.angles, zero, zero, arm.gravity))


def _by_lagrange(numbers: Polynomials | None, arm: Arm, state: State) -> tuple[Matrix, Vector, Vector]:
    """Terms of Lagrange's equations, joints that share a coordinate taken together."""
    terms = lagrange(arm, state.angles, state.rates, arm.gravity)
    n = len(arm.coordinates)
    M: Matrix = [[0] * n for _ in range(n)]
    for i, row in zip(arm.joints, terms.M, strict=True):
        for j, x in zip(arm.joints, row, strict=True):
            shared = i.ratio * j.ratio * x
            M[i.coordinate][j.coordinate] = add(M[i.coordinate][j.coordinate], shared)
    return M, gather(arm, terms.c), gather(arm, terms.g)


def _efforts(arm: Arm, state: State, method: str) -> Vector:
    """tau as the method computes it."""
    rotors = [J * x for J, x in zip(arm.rotors, state.a, strict=True)]
    if method == "newton_euler":
        tau = gather(arm, newton_euler(arm, state.angles, state.rates, state.accelerations, arm.gravity))
    else:
        M, c, g = _by_lagrange(None, arm, state)
        tau = plus(apply(M, state.a), c, g)
    return plus(tau, rotors)
