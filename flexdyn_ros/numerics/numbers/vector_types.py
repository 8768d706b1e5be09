"""The SIMD vectors of vectors.py as types of Numba, and their arithmetic: for whoever compiles."""

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

from flexdyn_ros.numerics.compiling.sources import source_key

from .vectors import DIRECTIONS, LANES, element, with_element

#: numbers of each vector of Tangents
_WIDTH = 8
_DOUBLE, _INT = ir.DoubleType(), ir.IntType(32)
_PART = ir.VectorType(_DOUBLE, _WIDTH)
#: what the compiler may do with sums and products: a b + c in one rounding, signs of zeros, 1/x
_FLAGS = ("contract", "nsz", "arcp")
#: for sums of Tangents also: the order of sums, so that x + a b takes two roundings a direction, not three
_SUM_FLAGS = (*_FLAGS, "reassoc")


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


#: in the types' names, so that kernels that know them by their arguments alone are kept apart as well
_KEY = source_key((f"{__package__}.functions", None))[:8]
lanes = Lanes(f"lanes{LANES}-{_KEY}", LANES)
tangents = Tangents(f"tangents{DIRECTIONS}-{_KEY}", 1 + DIRECTIONS)
mask = Mask(LANES)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind: Lanes) -> None:
        super().__init__(manager, kind, ir.VectorType(_DOUBLE, kind.n))


@register_model(Tangents)
class _TangentsModel(models.PrimitiveModel):
    def __init__(self, manager, kind: Tangents) -> None:
        super().__init__(manager, kind, ir.ArrayType(_PART, kind.n // _WIDTH))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind: Mask) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.n))


# ---- LLVM's instructions ----


def _spread(builder, number, n):
    """A SIMD vector of n times the same number."""
    nothing = ir.Constant(ir.VectorType(_DOUBLE, n), ir.Undefined)
    first = builder.insert_element(nothing, number, _INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INT, n), [0] * n))


def _parts(builder, kind, value) -> list:
    """The SIMD vectors that a number of this type consists of; a float64 is one of Lanes, spread out."""
    if isinstance(kind, Lanes):
        return [value]
    if isinstance(kind, Tangents):
        return [builder.extract_value(value, i) for i in range(kind.n // _WIDTH)]
    return [_spread(builder, value, LANES)]


def _joined_parts(builder, kind, parts):
    """The number that consists of these SIMD vectors."""
    if isinstance(kind, Lanes):
        return parts[0]
    whole = ir.Constant(ir.ArrayType(_PART, kind.n // _WIDTH), ir.Undefined)
    for i, part in enumerate(parts):
        whole = builder.insert_value(whole, part, i)
    return whole


def _value(builder, parts):
    return builder.extract_element(parts[0], _INT(0))


def _with_value(builder, parts, number):
    return [builder.insert_element(parts[0], number, _INT(0)), *parts[1:]]


def _lift(builder, kind: Vector, given, value) -> list:
    """The parts of a float64 or of a vector as of a vector of this type."""
    if isinstance(given, Vector) or isinstance(kind, Lanes):
        return _parts(builder, given, value)
    zeros = [ir.Constant(_PART, [0.0] * _WIDTH) for _ in range(kind.n // _WIDTH)]
    return _with_value(builder, zeros, value)


def _scaled(builder, parts, number) -> list:
    """Parts of tangents times a float64."""
    factor = _spread(builder, number, _WIDTH)
    return [builder.fmul(factor, part, flags=_FLAGS) for part in parts]


def _added(instruction, parts, others, flags=_FLAGS) -> list:
    return [instruction(a, b, flags=flags) for a, b in zip(parts, others, strict=True)]


def _sum(instruction: str):
    """a + b or a - b, element by element."""

    def code(builder, kind, given, values):
        a, b = (_lift(builder, kind, t, x) for t, x in zip(given, values, strict=True))
        flags = _FLAGS if isinstance(kind, Lanes) else _SUM_FLAGS
        return _joined_parts(builder, kind, _added(getattr(builder, instruction), a, b, flags))

    return code


def _product(builder, kind, given, values):
    if isinstance(kind, Lanes):
        a, b = (_parts(builder, t, x) for t, x in zip(given, values, strict=True))
        return builder.fmul(a[0], b[0], flags=_FLAGS)
    for t, s, x, y in (*zip(given, given[::-1], values, values[::-1], strict=True),):
        if not isinstance(t, Vector):
            return _joined_parts(builder, kind, _scaled(builder, _parts(builder, s, y), x))
    a, b = (_parts(builder, kind, x) for x in values)
    first = _scaled(builder, b, _value(builder, a))
    second = _scaled(builder, _with_value(builder, a, _DOUBLE(0.0)), _value(builder, b))
    return _joined_parts(builder, kind, _added(builder.fadd, first, second, _SUM_FLAGS))


def _quotient(builder, kind, given, values):
    if isinstance(kind, Lanes):
        a, b = (_parts(builder, t, x) for t, x in zip(given, values, strict=True))
        return builder.fdiv(a[0], b[0], flags=_FLAGS)
    a, one = _lift(builder, kind, given[0], values[0]), _DOUBLE(1.0)
    if not isinstance(given[1], Vector):
        return _joined_parts(builder, kind, _scaled(builder, a, builder.fdiv(one, values[1])))
    b = _parts(builder, kind, values[1])
    bottom = _value(builder, b)
    value = builder.fdiv(_value(builder, a), bottom)
    rest = _added(builder.fsub, a, _scaled(builder, b, value))
    slopes = _scaled(builder, rest, builder.fdiv(one, bottom))
    return _joined_parts(builder, kind, _with_value(builder, slopes, value))


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
    kind = sig.return_type
    return _joined_parts(builder, kind, [builder.fneg(part) for part in _parts(builder, kind, values[0])])


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
    return _joined_parts(builder, wanted, _lift(builder, wanted, types.float64, number))


# ---- their elements ----


@overload_attribute(Lanes, "real")
def _lanes_real(x):
    return lambda x: x


@overload_attribute(Tangents, "real")
def _tangents_real(x):
    return lambda x: element(x, 0)


@type_callable(element)
def _type_element(context):
    return lambda x, k: types.float64 if isinstance(x, Vector) else None


@lower_builtin(element, Vector, types.Integer)
def _lower_element(context, builder, sig, values):
    first = _parts(builder, sig.args[0], values[0])[0]
    return builder.extract_element(first, context.cast(builder, values[1], sig.args[1], types.int32))


@type_callable(with_element)
def _type_with_element(context):
    return lambda x, k, number: x if isinstance(x, Lanes) else None


@lower_builtin(with_element, Lanes, types.Integer, types.Float)
@lower_builtin(with_element, Lanes, types.Integer, types.Integer)
def _lower_with_element(context, builder, sig, values):
    place = context.cast(builder, values[1], sig.args[1], types.int32)
    number = context.cast(builder, values[2], sig.args[2], types.float64)
    return builder.insert_element(values[0], number, place)


@intrinsic
def chained(typing_context, x, value, slope):
    """Tangents of f(x) with the value f and the slope f'."""

    def code(context, builder, sig, values):
        x, value, slope = values
        scaled = _scaled(builder, _parts(builder, sig.return_type, x), slope)
        return _joined_parts(builder, sig.return_type, _with_value(builder, scaled, value))

    return x(x, types.float64, types.float64), code


def _compared(operation: str):
    @intrinsic
    def compare(typing_context, a, b):
        def code(context, builder, sig, values):
            a, b = (_parts(builder, t, x)[0] for t, x in zip(sig.args, values, strict=True))
            return builder.fcmp_ordered(operation, a, b)

        return mask(*(t if isinstance(t, Lanes) else types.float64 for t in (a, b))), code

    return compare


less_lanes, equal_lanes = _compared("<"), _compared("==")


@intrinsic
def select_lanes(typing_context, condition, a, b):
    """Lane by lane a where the condition holds, else b."""

    def code(context, builder, sig, values):
        a, b = (_parts(builder, t, x)[0] for t, x in zip(sig.args[1:], values[1:], strict=True))
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
