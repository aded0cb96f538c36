"""A stored table of vectors, built when a vector is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.deferred import Deferred
from softcosine.similarity.embeddings.vector_table import UnitRows, VectorTable
from softcosine.similarity.embeddings.word_vectors import WordVectors

__all__ = ["DeferredTable"]


class DeferredTable:
    """A table that was kept: opening an index reads nothing of it, and many queries never do.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        What `VectorTable.arrays` gave.
    settings : mapping
        What `VectorTable.settings` gave.

    Raises
    ------
    InvalidInputError, CorruptIndexError
        Where a vector is first asked for, if the arrays are damaged.
    """

    __slots__ = ("_settings", "_table")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        build = partial(_composed, self._settings) if settings else WordVectors.from_arrays
        self._table: Deferred[VectorTable] = Deferred(arrays, build)

    @property
    def words(self) -> tuple[str, ...]:
        """Those with a vector of their own."""
        return self.whole().words

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return self.whole().dimensions

    def __len__(self) -> int:
        return len(self.whole())

    def look_up(self, terms: Sequence[str]) -> tuple[UnitRows, NDArray[np.int32]]:
        """See `VectorTable.look_up`."""
        return self.whole().look_up(terms)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays as they were kept; nothing is built for it."""
        return dict(self._table.arrays)

    def settings(self) -> dict[str, Any]:
        """Return the settings as they were kept."""
        return dict(self._settings)

    def centered(self, *, remove_components: int = 0) -> VectorTable:
        """See `VectorTable.centered`."""
        return self.whole().centered(remove_components=remove_components)

    def whole(self) -> VectorTable:
        """Return the table, built when it is first asked for."""
        return self._table.get()


def _composed(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> VectorTable:
    from softcosine.similarity.embeddings.composed_vectors import ComposedVectors

    return ComposedVectors.from_state(settings, arrays)
