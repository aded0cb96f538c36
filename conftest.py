"""Compiled kernels never outlive a test run.

Numba's disk cache does not notice an edit in a function that a kernel calls, so a stale cache
passes a broken kernel. This file stands at the root so that it is read for the doctests of the
sources and of the documentation as well; it must be read before anything imports softcosine.
"""

from __future__ import annotations

import os
import tempfile

# The object lives as long as the process and takes its folder with it; child processes share it.
_CACHE = tempfile.TemporaryDirectory(prefix="softcosine-kernels-", ignore_cleanup_errors=True)
os.environ["NUMBA_CACHE_DIR"] = _CACHE.name
