"""SIMD operations that compilers do not find in loops.

Comparisons of 64 numbers with the results as bits of one number, and sums of products of float32
numbers in float64. Without the compiler they are plain Python, with the same bits.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

LANES = 64  # numbers compared at a time

if config.DISABLE_JIT:
    import numpy as np

    def above(values: Any, start: int, bound: Any) -> int:
        """Bit i is whether ``values[start + i]`` is above the bound."""
        hits = np.flatnonzero(values[start : start + LANES] > bound)
        return sum(1 << int(i) for i in hits)

    def above_each(values: Any, start: int, bounds: Any, first: int) -> int:
        """Bit i is whether ``values[start + i]`` is above ``bounds[first + i]``."""
        hits = np.flatnonzero(values[start : start + LANES] > bounds[first : first + LANES])
        return sum(1 << int(i) for i in hits)

    def lowest_bit(mask: int) -> int:
        """Return the number of the lowest set bit; there must be one."""
        return (int(mask) & -int(mask)).bit_length() - 1

    def count_bits(mask: Any) -> int:
        """Return the number of set bits."""
        return int(mask).bit_count()

    def sum_of_eights(left: Any, right: Any, whole: int) -> float:
        """Sum the first `whole` products, a multiple of 8, in float64: eight partial sums."""
        a = np.zeros(8)
        for i in range(0, whole, 8):
            a += left[i : i + 8].astype(np.float64) * right[i : i + 8]
        a = a[:4] + a[4:]
        return float((a[0] + a[1]) + (a[2] + a[3]))

else:
    from llvmlite import ir
    from numba.core import cgutils

    _FLOAT, _DOUBLE, _INDEX = ir.FloatType(), ir.DoubleType(), ir.IntType(64)

    def _lanes(context: Any, builder: Any, kind: Any, array: Any, start: Any, n: int) -> Any:
        """Load n float32 numbers of a contiguous array."""
        data = context.make_array(kind)(context, builder, array).data
        address = builder.gep(data, [start])
        vector = ir.VectorType(_FLOAT, n)
        return builder.load(builder.bitcast(address, vector.as_pointer()), align=4)

    def _same(builder: Any, value: Any, n: int) -> Any:
        """Fill n lanes with one number."""
        vector = ir.VectorType(value.type, n)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

    @intrinsic
    def above(context, values, start, bound):
        """Bit i is whether ``values[start + i]`` is above the bound."""

        def generate(context, builder, signature, arguments):
            array, first, limit = arguments
            lanes = _lanes(context, builder, signature.args[0], array, first, LANES)
            hits = builder.fcmp_ordered(">", lanes, _same(builder, limit, LANES))
            return builder.bitcast(hits, _INDEX)

        return types.int64(values, types.int64, types.float32), generate

    @intrinsic
    def above_each(context, values, start, bounds, first):
        """Bit i is whether ``values[start + i]`` is above ``bounds[first + i]``."""

        def generate(context, builder, signature, arguments):
            kinds = signature.args
            lanes = _lanes(context, builder, kinds[0], arguments[0], arguments[1], LANES)
            limits = _lanes(context, builder, kinds[2], arguments[2], arguments[3], LANES)
            return builder.bitcast(builder.fcmp_ordered(">", lanes, limits), _INDEX)

        return types.int64(values, types.int64, bounds, types.int64), generate

    @intrinsic
    def lowest_bit(context, mask):
        """Return the number of the lowest set bit; there must be one."""

        def generate(context, builder, signature, arguments):
            return builder.cttz(arguments[0], ir.IntType(1)(1))

        return types.int64(types.int64), generate

    @intrinsic
    def count_bits(context, mask):
        """Return the number of set bits."""

        def generate(context, builder, signature, arguments):
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def sum_of_eights(context, left, right, whole):
        """Sum the first `whole` products, a multiple of 8, in float64: eight partial sums."""

        # A product of two float32 numbers is exact in float64, so processors with and without
        # fused multiply-add give the same bits.
        def generate(context, builder, signature, arguments):
            eight = ir.VectorType(_DOUBLE, 8)
            zero = ir.Constant(eight, [0.0] * 8)
            add = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(eight, [eight] * 3), "llvm.fmuladd.v8f64"
            )
            entry = builder.block
            loop = builder.append_basic_block("eights")
            body = builder.append_basic_block("eights.body")
            end = builder.append_basic_block("eights.end")
            builder.branch(loop)
            builder.position_at_end(loop)
            i, sums = builder.phi(_INDEX), builder.phi(eight)
            builder.cbranch(builder.icmp_signed("<", i, arguments[2]), body, end)
            builder.position_at_end(body)
            factors = [
                builder.fpext(_lanes(context, builder, kind, array, i, 8), eight)
                for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
            ]
            more = builder.call(add, [*factors, sums])
            following = builder.add(i, _INDEX(8))
            builder.branch(loop)
            i.add_incoming(_INDEX(0), entry)
            i.add_incoming(following, body)
            sums.add_incoming(zero, entry)
            sums.add_incoming(more, body)
            builder.position_at_end(end)
            parts = [builder.extract_element(sums, ir.IntType(32)(lane)) for lane in range(8)]
            parts = [builder.fadd(parts[lane], parts[lane + 4]) for lane in range(4)]
            return builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))

        return types.float64(left, right, types.int64), generate
