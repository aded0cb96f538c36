"""Prefetch hints: load a line of memory ahead of its use."""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.extending import intrinsic

if config.DISABLE_JIT:

    def prefetch(array: Any, index: Any) -> None:
        """Do nothing; the hint is for compiled code only."""

else:
    from llvmlite import ir

    @intrinsic
    def prefetch(context, array, index):
        """Prefetch ``array[index]``, for reading, into all caches. The index must be 0 or more."""

        def generate(context, builder, signature, arguments):
            data = context.make_array(array)(context, builder, arguments[0]).data
            byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            function = builder.module.declare_intrinsic(
                "llvm.prefetch", (byte,), ir.FunctionType(ir.VoidType(), (byte, flag, flag, flag))
            )
            # For reading, with the highest locality, from the data cache.
            builder.call(function, [address, flag(0), flag(3), flag(1)])
            return context.get_dummy_value()

        return types.void(array, index), generate
