"""Views into arrays that cost nothing: no references, no bounds, no negative indices.

A slice of Numba's compares both its ends with the length of the array, which small kernels that walk through
tables of short rows spend a quarter of their time on.
"""

from __future__ import annotations

from .teaching import leaf, when_compiling


def array_at(context, builder, kind, data, *lengths):
    """Code of an array of type `kind`, in C order, that begins at the pointer `data` and owns nothing.

    Whoever holds the memory keeps it alive. Made in place, not by Numba's `carray`, of which each number type
    and each caller would compile a copy.
    """
    from numba import types
    from numba.core import cgutils

    array = context.make_array(kind)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    steps, count = [size], lengths[-1]
    for length in lengths[-2::-1]:
        steps, count = [builder.mul(size, count), *steps], builder.mul(length, count)
    array.data, array.nitems, array.itemsize = data, count, size
    array.shape, array.strides = cgutils.pack_array(builder, lengths), cgutils.pack_array(builder, steps)
    array.meminfo, array.parent = (cgutils.get_null_value(x.type) for x in (array.meminfo, array.parent))
    return array._getvalue()


def tail(array, first):
    """array[first:] of a contiguous array (n,), 0 <= first <= n; as `borrowed`, it owns nothing."""
    return array[first:]


def window(array, first, n):
    """array[first : first + n] of a contiguous array that has these; as `borrowed`, it owns nothing."""
    return array[first : first + n]


def row(array, i):
    """array[i] of a contiguous array (m, n), 0 <= i < m; as `borrowed`, it owns nothing."""
    return array[i]


def shaped(array, lengths):
    """array.reshape(lengths) of a contiguous array that has as many numbers; as `borrowed`, it owns nothing.

    Numba's own code of `reshape` may raise, and calls what only Numba has.
    """
    return array.reshape(lengths)


@leaf
def copy(out, source):
    """Write the numbers of an array (n,) to another: assigned to a slice, their lengths would be compared, in
    code that raises."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@when_compiling
def _teach() -> None:
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    def part_of(array: types.Type):
        fits = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
        return types.Array(array.dtype, 1, "C") if fits else None

    @type_callable(tail)
    def type_tail(context):
        return lambda array, first: part_of(array)

    @type_callable(window)
    def type_window(context):
        return lambda array, first, n: part_of(array)

    @lower_builtin(tail, types.Array, types.Integer)
    def lower_tail(context, builder, signature, values):
        array = context.make_array(signature.args[0])(context, builder, values[0])
        first = context.cast(builder, values[1], signature.args[1], types.intp)
        rest = builder.sub(array.nitems, first)
        return array_at(context, builder, signature.return_type, builder.gep(array.data, [first]), rest)

    @lower_builtin(window, types.Array, types.Integer, types.Integer)
    def lower_window(context, builder, signature, values):
        array = context.make_array(signature.args[0])(context, builder, values[0])
        first, n = (
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(values[1:], signature.args[1:], strict=True)
        )
        return array_at(context, builder, signature.return_type, builder.gep(array.data, [first]), n)

    @type_callable(row)
    def type_row(context):
        def type_of(array, i):
            fits = isinstance(array, types.Array) and array.ndim == 2 and array.layout == "C"
            return types.Array(array.dtype, 1, "C") if fits and isinstance(i, types.Integer) else None

        return type_of

    @lower_builtin(row, types.Array, types.Integer)
    def lower_row(context, builder, signature, values):
        array = context.make_array(signature.args[0])(context, builder, values[0])
        n = cgutils.unpack_tuple(builder, array.shape)[1]
        first = builder.mul(context.cast(builder, values[1], signature.args[1], types.intp), n)
        return array_at(context, builder, signature.return_type, builder.gep(array.data, [first]), n)

    @type_callable(shaped)
    def type_shaped(context):
        def type_of(array, lengths):
            fits = (
                isinstance(array, types.Array)
                and array.layout == "C"
                and isinstance(lengths, types.BaseTuple)
            )
            fits = fits and all(isinstance(length, types.Integer) for length in lengths)
            return types.Array(array.dtype, len(lengths), "C") if fits else None

        return type_of

    @lower_builtin(shaped, types.Array, types.BaseTuple)
    def lower_shaped(context, builder, signature, values):
        array = context.make_array(signature.args[0])(context, builder, values[0])
        given = zip(cgutils.unpack_tuple(builder, values[1]), signature.args[1], strict=True)
        lengths = (context.cast(builder, value, kind, types.intp) for value, kind in given)
        return array_at(context, builder, signature.return_type, array.data, *lengths)
