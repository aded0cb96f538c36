"""What is built of stored arrays when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError

__all__ = ["Deferred"]

T = TypeVar("T")


class Deferred(Generic[T]):
    """A part of a source: opening an index reads nothing of it, and many queries never do.

    Several threads that ask first may each build one; they are equal.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        As they were kept.
    build : callable
        What makes the part of them; a function of a module or class, so that it can be pickled.
    """

    __slots__ = ("_build", "_built", "arrays")

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        build: Callable[[Mapping[str, NDArray[Any]]], T],
    ) -> None:
        self.arrays = dict(arrays)
        self._build = build
        self._built: T | None = None

    def get(self) -> T:
        """Return the part.

        Raises
        ------
        CorruptIndexError
            If the arrays are damaged.
        """
        if self._built is None:
            try:
                self._built = self._build(self.arrays)
            except (OSError, MemoryError):
                raise
            except Exception as error:
                raise CorruptIndexError(
                    f"a source cannot be built from what was saved ({error!r}); `softcosine "
                    "check` tells whether a file has changed since."
                ) from error
        return self._built
