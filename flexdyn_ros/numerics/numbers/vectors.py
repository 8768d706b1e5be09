"""Two number types of kernels that are one SIMD vector each.

Lanes: as many independent numbers as a vector has, one per sample of a batch.
Tangents: a number (element 0) and its derivatives in the directions that one pass of a kernel carries along
(forward mode; Griewank & Walther 2008, section 3.1).

A kernel is written for one number; called with arrays of these types, the same source is compiled for them.
Their memory is float64 memory that begins at a multiple of ALIGNMENT bytes (memory.py).
Interpreted kernels never meet them.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_cast,
    models,
    overload,
    overload_attribute,
    register_model,
    type_callable,
)

__all__ = ["ALIGNMENT", "DIRECTIONS", "LANES", "Lanes", "Mask", "Tangents", "Vector", "lanes", "tangents"]

#: samples that one pass over Lanes works on
LANES = 8
#: directions that one pass over Tangents differentiates in; with the value 16 numbers
DIRECTIONS = 15
#: bytes: the size of the larger of the two types
ALIGNMENT = 128

_DOUBLE, _INT = ir.DoubleType(), ir.IntType(32)
#: what the compiler may do with sums and products: a b + c in one rounding, signs of zeros, 1/x
_FLAGS = ("contract", "nsz", "arcp")


class Vector(types.Type):
    """A number type of n float64 side by side."""

    def __init__(self, name: str, n: int) -> None:
        self.n = n
        super().__init__(name)

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, types.Float | types.Integer | types.Boolean) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Float | types.Integer) else None


class Lanes(Vector):
    """Independent numbers, one per sample."""


class Tangents(Vector):
    """A value and its derivatives."""


class Mask(types.Type):
    """A truth value for each lane."""

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(f"mask{n}")


lanes = Lanes(f"lanes{LANES}", LANES)
tangents = Tangents(f"tangents{DIRECTIONS}", 1 + DIRECTIONS)
mask = Mask(LANES)


@register_model(Lanes)
@register_model(Tangents)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind: Vector) -> None:
        super().__init__(manager, kind, ir.VectorType(_DOUBLE, kind.n))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind: Mask) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.n))


# ---- LLVM's instructions ----


def _spread(builder, number, n: int):
    """A vector of n times the same number."""
    kind = ir.VectorType(_DOUBLE, n)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, _INT(0))
    return builder.shuffle_vector(
        first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(_INT, n), [0] * n)
    )


def _value(builder, vector):
    return builder.extract_element(vector, _INT(0))


def _with_value(builder, vector, number):
    return builder.insert_element(vector, number, _INT(0))


def _alone(builder, number, n: int):
    """Tangents of a constant."""
    return _with_value(builder, ir.Constant(ir.VectorType(_DOUBLE, n), [0.0] * n), number)


def _lift(builder, kind: Vector, given, value):
    """A float64 or a vector as a vector of this type."""
    if isinstance(given, Vector):
        return value
    return (_alone if isinstance(kind, Tangents) else _spread)(builder, value, kind.n)


def _sum(instruction: str):
    """a + b or a - b, element by element."""

    def code(builder, kind, given, values):
        a, b = (_lift(builder, kind, t, x) for t, x in zip(given, values, strict=True))
        return getattr(builder, instruction)(a, b, flags=_FLAGS)

    return code


def _product(builder, kind, given, values):
    (s, t), (a, b) = given, values
    if isinstance(kind, Lanes) or not (isinstance(s, Vector) and isinstance(t, Vector)):
        a, b = (
            x if isinstance(k, Vector) else _spread(builder, x, kind.n)
            for k, x in zip(given, values, strict=True)
        )
        return builder.fmul(a, b, flags=_FLAGS)
    slopes = _with_value(builder, a, _DOUBLE(0.0))
    first = builder.fmul(_spread(builder, _value(builder, a), kind.n), b, flags=_FLAGS)
    second = builder.fmul(_spread(builder, _value(builder, b), kind.n), slopes, flags=_FLAGS)
    return builder.fadd(first, second, flags=_FLAGS)


def _quotient(builder, kind, given, values):
    a, b = values
    if isinstance(kind, Lanes):
        a, b = (_lift(builder, kind, t, x) for t, x in zip(given, values, strict=True))
        return builder.fdiv(a, b, flags=_FLAGS)
    if not isinstance(given[1], Vector):
        return builder.fmul(a, _spread(builder, builder.fdiv(_DOUBLE(1.0), b), kind.n), flags=_FLAGS)
    a = _lift(builder, kind, given[0], a)
    bottom = _value(builder, b)
    value = builder.fdiv(_value(builder, a), bottom)
    rest = builder.fsub(a, builder.fmul(_spread(builder, value, kind.n), b, flags=_FLAGS), flags=_FLAGS)
    scale = _spread(builder, builder.fdiv(_DOUBLE(1.0), bottom), kind.n)
    return _with_value(builder, builder.fmul(rest, scale, flags=_FLAGS), value)


_OPERATIONS = {
    (operator.add, operator.iadd): _sum("fadd"),
    (operator.sub, operator.isub): _sum("fsub"),
    (operator.mul, operator.imul): _product,
    (operator.truediv, operator.itruediv): _quotient,
}


def _type_binary(operation) -> None:
    """A vector with a vector of its type or with a plain number gives that type."""

    @type_callable(operation)
    def typer(context):
        def type_of(a, b):
            vectors = {t for t in (a, b) if isinstance(t, Vector)}
            plain = all(isinstance(t, Vector | types.Float | types.Integer) for t in (a, b))
            return vectors.pop() if len(vectors) == 1 and plain else None

        return type_of


def _type_unary(operation) -> None:
    @type_callable(operation)
    def typer(context):
        def type_of(a):
            return a if isinstance(a, Vector) else None

        return type_of


def _lower(operation, code) -> None:
    def implementation(context, builder, sig, values):
        kinds = [t if isinstance(t, Vector) else types.float64 for t in sig.args]
        cast = [context.cast(builder, x, t, k) for x, t, k in zip(values, sig.args, kinds, strict=True)]
        return code(builder, sig.return_type, kinds, cast)

    for plain in (types.Float, types.Integer):
        for arguments in ((Vector, plain), (plain, Vector)):
            lower_builtin(operation, *arguments)(implementation)
    lower_builtin(operation, Vector, Vector)(implementation)


for _both, _code in _OPERATIONS.items():
    for _operation in _both:
        _type_binary(_operation)
        _lower(_operation, _code)

_type_unary(operator.neg)
_type_unary(operator.pos)


@lower_builtin(operator.neg, Vector)
def _lower_neg(context, builder, sig, values):
    return builder.fneg(values[0])


@lower_builtin(operator.pos, Vector)
def _lower_pos(context, builder, sig, values):
    return values[0]


@overload(operator.pow)
def _overload_pow(x, power):
    if isinstance(x, Vector) and isinstance(power, types.IntegerLiteral) and power.literal_value == 2:
        return lambda x, power: x * x
    return None


@lower_cast(types.Float, Vector)
@lower_cast(types.Integer, Vector)
@lower_cast(types.Boolean, Vector)
def _cast_number(context, builder, given, wanted, value):
    number = context.cast(builder, value, given, types.float64)
    return _lift(builder, wanted, types.float64, number)


# ---- their elements ----


@overload_attribute(Lanes, "real")
def _lanes_real(x):
    return lambda x: x


@overload_attribute(Tangents, "real")
def _tangents_real(x):
    return lambda x: element(x, 0)


@intrinsic
def element(typing_context, x, k):
    """Element k of a vector."""

    def code(context, builder, sig, values):
        return builder.extract_element(values[0], builder.trunc(values[1], _INT))

    return types.float64(x, types.int64), code


@intrinsic
def with_element(typing_context, x, k, number):
    """The vector with another element k."""

    def code(context, builder, sig, values):
        return builder.insert_element(values[0], values[2], builder.trunc(values[1], _INT))

    return x(x, types.int64, types.float64), code


@intrinsic
def chained(typing_context, x, value, slope):
    """Tangents of f(x) with the value f and the slope f'."""

    def code(context, builder, sig, values):
        x, value, slope = values
        scaled = builder.fmul(x, _spread(builder, slope, sig.return_type.n), flags=_FLAGS)
        return _with_value(builder, scaled, value)

    return x(x, types.float64, types.float64), code


def _compared(operation: str):
    @intrinsic
    def compare(typing_context, a, b):
        def code(context, builder, sig, values):
            a, b = (_lift(builder, lanes, t, x) for t, x in zip(sig.args, values, strict=True))
            return builder.fcmp_ordered(operation, a, b)

        return mask(*(t if isinstance(t, Lanes) else types.float64 for t in (a, b))), code

    return compare


less_lanes, equal_lanes = _compared("<"), _compared("==")


@intrinsic
def select_lanes(typing_context, condition, a, b):
    """Lane by lane a where the condition holds, else b."""

    def code(context, builder, sig, values):
        a, b = (_lift(builder, lanes, t, x) for t, x in zip(sig.args[1:], values[1:], strict=True))
        return builder.select(values[0], a, b)

    given = (t if isinstance(t, Lanes) else types.float64 for t in (a, b))
    return lanes(condition, *given), code


def _joined(instruction: str):
    @intrinsic
    def join(typing_context, a, b):
        def code(context, builder, sig, values):
            return getattr(builder, instruction)(*values)

        return mask(a, b), code

    return join


both_masks, either_mask = _joined("and_"), _joined("or_")


@intrinsic
def all_lanes(typing_context, condition):
    """True if the condition holds in every lane."""

    def code(context, builder, sig, values):
        bits = builder.bitcast(values[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, (1 << LANES) - 1))

    return types.boolean(condition), code


@intrinsic
def floor_lanes(typing_context, x):
    """The largest whole numbers not above x."""

    def code(context, builder, sig, values):
        kind = ir.VectorType(_DOUBLE, LANES)
        name = f"llvm.floor.v{LANES}f64"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(kind, [kind]), name
        )
        return builder.call(function, values)

    return x(x), code


@intrinsic
def root_lanes(typing_context, x):
    """Square roots."""

    def code(context, builder, sig, values):
        kind = ir.VectorType(_DOUBLE, LANES)
        name = f"llvm.sqrt.v{LANES}f64"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(kind, [kind]), name
        )
        return builder.call(function, values)

    return x(x), code
