"""The disk cache of one kernel, shared by processes: numba's files, under a lock.

numba looks for a folder where it may write: ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the
source, the user's cache. It does so without locks, and skips folders that are read-only. As a
result, processes that start together all compile, the index may name a file that another process
has overwritten, and a cache in a read-only image is not used. Here the first process compiles while
the others wait, and read-only folders are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys

from softcosine._file_lock import FileLock

_logger = logging.getLogger(__name__)
_PATIENCE = 120.0  # seconds; a kernel is compiled in a few, but a process may be stopped meanwhile


class DiskCache:
    """Compiled code of a kernel on disk; it takes the place of numba's `FunctionCache`.

    Parameters
    ----------
    function : callable
        The source of the kernel.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._read_only: list[FunctionCache] = []
        self._writable: FunctionCache | None = None
        self._lock: FileLock | None = None
        self._saves = False
        for cache in _caches(function):
            if getattr(cache._impl.locator, "writable", True):
                self._writable = cache
                break
            self._read_only.append(cache)

    @property
    def cache_path(self) -> str | None:
        """The folder that is written, if any."""
        return None if self._writable is None else str(self._writable.cache_path)

    def is_empty(self) -> bool:
        """Whether no kernel of the same folder has been compiled."""
        return self.cache_path is None or not any(Path(self.cache_path).glob("*.nbi"))

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature; None if it must be compiled.

        After None, other processes wait until `save_overload` or `release`.
        """
        for cache in self._read_only:
            if (found := _loaded(cache, signature, context, clean=False)) is not None:
                return found
        if self._writable is None:
            return None
        for shared in (True, False):
            self._acquire(self._writable, shared=shared)
            if not self._saves:
                return None
            found = _loaded(self._writable, signature, context, clean=not shared)
            if found is not None:
                self.release()
                return found
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save the code for a signature, if possible."""
        try:
            if self._writable is not None and self._saves:
                self._writable.save_overload(signature, data)
        except OSError as error:  # such as a full disk
            _logger.info("a compiled kernel could not be saved: %s", error)
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _acquire(self, cache: FunctionCache, *, shared: bool) -> None:
        self.release()
        file = Path(cache.cache_path) / f"{cache._impl.filename_base}.lock"
        try:
            self._lock = FileLock(file, shared=shared, timeout=_PATIENCE)
            self._saves = True
        except TimeoutError:  # another process was stopped while it compiles
            self._saves = False
        except OSError:  # a file system without locks
            self._saves = True


def _caches(function: Callable[..., Any]) -> Iterator[FunctionCache]:
    """Yield numba's caches of a function in its order, also in folders that are only readable."""
    if getattr(config, "CACHE_LOCATOR_CLASSES", ""):  # the user chose them
        try:
            cache = FunctionCache(function)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):  # but a misspelt name of a class
                raise
            return
        yield cache
        return
    for locator in CompileResultCacheImpl._locator_classes:
        own = type(locator.__name__, (_ReadOnlyToo, locator), {})
        impl = type("Impl", (CompileResultCacheImpl,), {"_locator_classes": [own]})
        with suppress(RuntimeError):  # this folder does not exist, nor can it be made
            yield type("Cache", (FunctionCache,), {"_impl_class": impl})(function)


class _ReadOnlyToo:
    """A numba locator that accepts a read-only folder."""

    writable = True

    def ensure_cache_path(self) -> None:
        """Create the folder; OSError if it does not exist and cannot be created."""
        try:
            super().ensure_cache_path()  # type: ignore[misc]
        except OSError:
            if not Path(self.get_cache_path()).is_dir():  # type: ignore[attr-defined]
                raise
            self.writable = False


def _loaded(cache: FunctionCache, signature: Any, context: Any, *, clean: bool) -> Any:
    """Return the code for a signature; None if it is missing or damaged."""
    try:
        rtsys.initialize(context)
        return cache._load_overload(signature, context)
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        _logger.info("the cache of compiled kernels is damaged: %r", error)
        if clean:
            with suppress(OSError):
                cache.flush()
    return None
