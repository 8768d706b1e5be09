"""Sums over arrays of float64 numbers, a block at a time, which processors do at once.

Written in LLVM's own vectors: of a loop over two arrays compilers must ask first whether these overlap, and a
sum they may not reorder. Both take time where arrays are short.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.teaching import leaf, when_compiling

__all__ = ["BLOCK", "add_share", "first_of_block", "padded", "product"]

#: numbers of a block
BLOCK = 4


@leaf
def padded(n):
    """The least multiple of BLOCK that is not less than n."""
    return (n + 3) // 4 * 4


@leaf
def first_of_block(i):
    """Where the block of number i begins."""
    return i // 4 * 4


def add_share(y, x, share):
    """y (n,) += share x, of which the first n numbers count; both contiguous."""
    for i in range(y.shape[0]):
        y[i] += share * x[i]


def product(x, y):
    """x . y (n,), of which the first n numbers count; both contiguous."""
    s = 0.0
    for i in range(x.shape[0]):
        s = s + x[i] * y[i]
    return s


@when_compiling
def _teach() -> None:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    one, vector = ir.DoubleType(), ir.VectorType(ir.DoubleType(), BLOCK)
    fast = ("contract",)

    def is_array(given: types.Type) -> bool:
        return isinstance(given, types.Array) and given.ndim == 1 and given.layout == "C"

    def over(builder, begin, end, size, step, kind):
        """Call step(i, kind) for i from `begin` in steps of `size` while it is below `end`: a loop that stays
        as it is written, since its rounds are few."""
        before = builder.block
        body, after = (builder.append_basic_block(name) for name in ("rounds", "on"))
        builder.cbranch(builder.icmp_signed("<", begin, end), body, after)
        builder.position_at_end(body)
        i = builder.phi(begin.type)
        step(i, kind)
        following = builder.add(i, size)
        again = builder.cbranch(builder.icmp_signed("<", following, end), body, after)
        again.set_metadata("llvm.loop", as_written(builder.module))
        i.add_incoming(begin, before)
        i.add_incoming(following, builder.block)
        builder.position_at_end(after)

    def as_written(module):
        """What tells LLVM not to unroll a loop; such a node names itself first."""
        node, said = module.add_metadata([]), module.add_metadata(["llvm.loop.unroll.disable"])
        node.operands = (node, said)
        return node

    def over_blocks(builder, count, step):
        """Call step(address offset, type of what is there) over whole blocks, then over single numbers."""
        size = count.type(BLOCK)
        whole = builder.mul(builder.sdiv(count, size), size)
        over(builder, count.type(0), whole, size, step, vector)
        over(builder, whole, count, count.type(1), step, one)

    def load(builder, data, i, kind):
        return builder.load(builder.bitcast(builder.gep(data, [i]), kind.as_pointer()), align=8)

    def spread(builder, number):
        block = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
        return builder.shuffle_vector(
            block, block, ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        )

    @type_callable(add_share)
    def type_add_share(context):
        def type_of(y, x, share):
            fits = is_array(y) and is_array(x) and y.dtype == x.dtype == types.float64 == share
            return types.none if fits else None

        return type_of

    @lower_builtin(add_share, types.Array, types.Array, types.Float)
    def lower_add_share(context, builder, signature, values):
        y, x = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:2], values[:2], strict=True)
        )
        shares = {one: values[2], vector: spread(builder, values[2])}

        def step(i, kind):
            more = builder.fmul(shares[kind], load(builder, x.data, i, kind), flags=fast)
            sum_ = builder.fadd(load(builder, y.data, i, kind), more, flags=fast)
            builder.store(sum_, builder.bitcast(builder.gep(y.data, [i]), kind.as_pointer()), align=8)

        over_blocks(builder, y.nitems, step)
        return context.get_dummy_value()

    @type_callable(product)
    def type_product(context):
        def type_of(x, y):
            fits = is_array(y) and is_array(x) and y.dtype == x.dtype == types.float64
            return types.float64 if fits else None

        return type_of

    @lower_builtin(product, types.Array, types.Array)
    def lower_product(context, builder, signature, values):
        x, y = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, values, strict=True)
        )
        sums = {kind: cgutils.alloca_once(builder, kind) for kind in (one, vector)}
        for kind, place in sums.items():
            builder.store(ir.Constant(kind, [0.0] * BLOCK if kind is vector else 0.0), place)

        def step(i, kind):
            more = builder.fmul(load(builder, x.data, i, kind), load(builder, y.data, i, kind), flags=fast)
            builder.store(builder.fadd(builder.load(sums[kind]), more, flags=fast), sums[kind])

        over_blocks(builder, x.nitems, step)
        blocks, total = builder.load(sums[vector]), builder.load(sums[one])
        for k in range(BLOCK):
            total = builder.fadd(total, builder.extract_element(blocks, ir.IntType(32)(k)), flags=fast)
        return total
