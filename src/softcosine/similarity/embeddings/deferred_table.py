"""A stored table of vectors that is built on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.deferred import Deferred
from softcosine.similarity.embeddings.vector_table import UnitRows, VectorTable
from softcosine.similarity.embeddings.word_vectors import WordVectors


class DeferredTable:
    """A stored table. Opening an index does not read it, and many queries never use it.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Result of `VectorTable.arrays`.
    settings : mapping
        Result of `VectorTable.settings`.

    Raises
    ------
    InvalidInputError, CorruptIndexError
        On first use, if the arrays are damaged.
    """

    __slots__ = ("_settings", "_table")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        build = partial(_composed, self._settings) if settings else WordVectors.from_arrays
        self._table: Deferred[VectorTable] = Deferred(arrays, build)

    @property
    def words(self) -> tuple[str, ...]:
        """Words that have their own vector."""
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
        """Return the stored arrays, without building the table."""
        return dict(self._table.arrays)

    def settings(self) -> dict[str, Any]:
        """Return the stored settings."""
        return dict(self._settings)

    def whole(self) -> VectorTable:
        """Return the table, built on first use."""
        return self._table.get()


def _composed(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> VectorTable:
    from softcosine.similarity.embeddings.composed_vectors import ComposedVectors

    return ComposedVectors.from_state(settings, arrays)
