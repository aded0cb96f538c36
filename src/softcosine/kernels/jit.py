"""Compilation of kernels: for fixed signatures, at first use, cached on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, cast

import numpy as np
from numba import njit
from numba.core.event import Event, Listener, install_listener

from softcosine.kernels.disk_cache import DiskCache

_logger = logging.getLogger(__name__)

# A function that kernels call. It is compiled into them, never alone. The disk cache of a kernel
# does not notice an edit of a function imported from another file: then empty the cache.
helper: Callable[[Callable[..., Any]], Callable[..., Any]] = njit(nogil=True)

# An inlined helper of a few steps in an inner loop: passing its arrays would cost more than them.
inlined: Callable[[Callable[..., Any]], Callable[..., Any]] = njit(nogil=True, forceinline=True)


class _Kernel:
    """A function compiled for its declared signatures only, at the first call."""

    def __init__(self, function: Callable[..., Any], signatures: list[str]) -> None:
        self._function = function
        self._signatures = signatures
        self._compiled: Callable[..., Any] | None = None
        self._lock = threading.Lock()
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        compiled = self._compiled
        if compiled is None:
            compiled = self.compile()
        try:
            return compiled(*args)
        except TypeError:
            # Compiled code takes no read-only arrays, which joblib passes between processes.
            if not any(map(_is_closed, args)):
                raise
            writable = [arg.copy() if _is_closed(arg) else arg for arg in args]
            return compiled(*writable)

    def compile(self) -> Callable[..., Any]:
        """Compile now, or load from the disk cache."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self._compile()
            return self._compiled

    def _compile(self) -> Callable[..., Any]:
        compiled = njit(nogil=True)(self._function)
        if not hasattr(compiled, "compile"):  # NUMBA_DISABLE_JIT
            return self._function
        cache = DiskCache(self._function)
        compiled._cache = cache
        try:
            with install_listener("numba:compile", _Compilation(self._function, cache.is_empty())):
                for signature in self._signatures:
                    compiled.compile(signature)
        finally:
            cache.release()
        compiled.disable_compile()
        return cast("Callable[..., Any]", compiled)


class _Compilation(Listener):  # type: ignore[misc]  # numba has no types
    """Logs the first real compilation of a function, not a load from the disk cache."""

    def __init__(self, function: Callable[..., Any], is_first: bool) -> None:
        self._function = function
        self._facts = {"is_first": is_first}  # whether no other kernel was compiled before
        self._logged = False

    def on_start(self, event: Event) -> None:
        # Other threads may compile meanwhile, and helpers are compiled within their kernel.
        if not self._logged and event.data["dispatcher"].py_func is self._function:
            self._logged = True
            names = self._function.__module__, self._function.__name__
            _logger.info("compiling %s.%s", *names, extra=self._facts)

    def on_end(self, event: Event) -> None:
        pass


def _is_closed(arg: Any) -> bool:
    return isinstance(arg, np.ndarray) and not arg.flags.writeable


def kernel(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a kernel and the only signatures that it is compiled for."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        return _Kernel(function, list(signatures))

    return declare
