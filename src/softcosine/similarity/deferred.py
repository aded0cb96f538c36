"""Objects built from stored arrays on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError

T = TypeVar("T")


class Deferred(Generic[T]):
    """An object that is built from its stored arrays on first use.

    It keeps the opening of an index fast: many queries never use it. If several threads use it
    first at the same time, each may build one; they are equal.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The stored arrays.
    build : callable
        Builds the object from the arrays. A function of a module or class, so that it can be
        pickled.
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
        """Return the object; build it on the first call.

        Raises
        ------
        CorruptIndexError
            If the arrays are damaged.
        """
        if self._built is None:
            try:
                self._built = self._build(self.arrays)
            except (LookupError, ValueError) as error:
                raise CorruptIndexError(
                    f"a source cannot be built from what was saved ({error!r}); `softcosine "
                    "admin check` tells whether a file has changed since."
                ) from error
        return self._built
