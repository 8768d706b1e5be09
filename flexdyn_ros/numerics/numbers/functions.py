"""Functions of numbers of any type: float64, complex128, Lanes, Tangents, and what an exporter traces with.

Kernels use these where they look at a value: `select` takes one of two results, both of which are computed;
`less` compares values (real parts, values of tangents). What is true of some lanes only cannot be branched
on, so an `if` in a kernel asks something that is one for all samples: the model, a count, or `holds`.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.teaching import COMPILED, WRITTEN, apart, leaf, when_compiling

from .vectors import LANES, element, with_element


def less(a, b):
    """a < b, by values."""
    return np.real(a) < np.real(b)


def equal(a, b):
    """a == b, by values."""
    return np.real(a) == np.real(b)


def both(a, b):
    """a and b."""
    return a & b


def either(a, b):
    """a or b."""
    return a | b


def holds(condition):
    """True if a condition is known to hold for all samples that are worked on together."""
    if hasattr(condition, "is_certain"):
        return condition.is_certain()
    return bool(condition)


def fails(condition):
    """True if a condition is known not to hold; no condition of lanes."""
    if hasattr(condition, "is_certain"):
        return False
    return not condition


def select(condition, a, b):
    """a where the condition holds, else b; both are computed.

    Conditions that are known later only, as those of an exporter's numbers, select by themselves.
    """
    if hasattr(condition, "is_certain"):
        return condition.select(a, b)
    return a if condition else b


@leaf
def absolute(x):
    """|x|, with the sign of the value; analytic but at zero."""
    return select(less(x, 0.0), -x, x)


@leaf
def larger(a, b):
    """The larger of two numbers."""
    return select(less(a, b), b, a)


@leaf
def smaller(a, b):
    """The smaller of two numbers."""
    return select(less(b, a), b, a)


# Loops whose number of rounds depends on values.


def again(condition, values):
    """Whether a loop goes round once more, and its values now: a tuple of all that changes in a round.

        while True:
            goes_on, values = again(CONDITION OF values, values)
            if not goes_on:
                break
            values = ...

    So an exporter sees a round once: a condition that is known later only gives other values to the first
    round and ends the loop after it.
    """
    if hasattr(condition, "again"):
        return condition.again(values)
    return bool(condition), values


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.extending import overload

    from . import vector_types as of
    from .vector_types import Lanes, Mask, Tangents

    @overload(less, jit_options=WRITTEN)
    def _less(a, b):
        if isinstance(a, Lanes) or isinstance(b, Lanes):
            return lambda a, b: of.less_lanes(a, b)
        return lambda a, b: a.real < b.real

    @overload(equal, jit_options=WRITTEN)
    def _equal(a, b):
        if isinstance(a, Lanes) or isinstance(b, Lanes):
            return lambda a, b: of.equal_lanes(a, b)
        return lambda a, b: a.real == b.real

    @overload(both, jit_options=WRITTEN)
    def _both(a, b):
        if isinstance(a, Mask):
            return lambda a, b: of.both_masks(a, b)
        return lambda a, b: a and b

    @overload(either, jit_options=WRITTEN)
    def _either(a, b):
        if isinstance(a, Mask):
            return lambda a, b: of.either_mask(a, b)
        return lambda a, b: a or b

    @overload(holds, jit_options=WRITTEN)
    def _holds(condition):
        if isinstance(condition, Mask):
            return lambda condition: of.all_lanes(condition)
        return lambda condition: condition

    @overload(fails, jit_options=WRITTEN)
    def _fails(condition):
        return (lambda condition: not condition) if isinstance(condition, types.Boolean) else None

    @overload(select, jit_options=WRITTEN)
    def _select(condition, a, b):
        if isinstance(condition, Mask):
            return lambda condition, a, b: of.select_lanes(condition, a, b)
        return lambda condition, a, b: a if condition else b

    def define(function, value, slope) -> None:
        """Teach Numba f(x) for Lanes, lane by lane, and for Tangents, from the slope f'(x, f(x))."""
        value, slope = leaf(value), leaf(slope)

        @overload(function, jit_options=COMPILED)
        def implementation(x):
            if isinstance(x, Tangents):

                def of_tangents(x):
                    at = x.real
                    result = value(at)
                    return of.chained(x, result, slope(at, result))

                return apart(of_tangents, function.__name__)
            if isinstance(x, Lanes):

                def of_lanes(x):
                    result = x
                    for k in range(LANES):
                        result = with_element(result, k, value(element(x, k)))
                    return result

                return apart(of_lanes, function.__name__)
            return None

    define(np.exp, lambda x: np.exp(x), lambda x, f: f)
    define(np.log, lambda x: np.log(x), lambda x, f: 1.0 / x)
    define(np.tanh, lambda x: np.tanh(x), lambda x, f: 1.0 - f * f)
    define(np.sin, lambda x: np.sin(x), lambda x, f: np.cos(x))
    define(np.cos, lambda x: np.cos(x), lambda x, f: -np.sin(x))

    @overload(np.sqrt, jit_options=COMPILED)
    def _sqrt(x):
        if isinstance(x, Tangents):

            def of_tangents(x):
                root = np.sqrt(x.real)
                return of.chained(x, root, 0.5 / root)

            return of_tangents
        if isinstance(x, Lanes):
            return lambda x: of.root_lanes(x)
        return None

    @overload(np.floor, jit_options=COMPILED)
    def _floor(x):
        return (lambda x: of.floor_lanes(x)) if isinstance(x, Lanes) else None

    @overload(abs, jit_options=COMPILED)
    def _abs(x):
        return (lambda x: absolute(x)) if isinstance(x, Lanes | Tangents) else None

    @overload(again, jit_options=WRITTEN)
    def _again(condition, values):
        return lambda condition, values: (condition, values)
