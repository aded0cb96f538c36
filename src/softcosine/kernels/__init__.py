"""Numba kernels: flat arrays in, preallocated arrays out.

A kernel trusts its caller: lengths, dtypes and ranges are checked once, above, in Python. Every
kernel releases the interpreter lock, gives each output element one writer, and passes its tests
with ``NUMBA_DISABLE_JIT=1``.
"""
