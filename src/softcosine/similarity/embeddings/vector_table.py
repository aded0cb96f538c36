"""Protocols of a table of vectors (stored, composed or encoded), and one built on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.bundled import check_reference, reference_to
from softcosine.similarity.deferred import Deferred
from softcosine.similarity.embeddings.word_vectors import WordVectors

_ENGLISH = "english.npz"


class UnitRows(Protocol):
    """Vectors of one look-up, by number."""

    def units(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return vectors of weighted unit length (n, dimensions), and correcting scales.

        See `softcosine.kernels.selection.unit_rows`.
        """
        ...


class VectorTable(Protocol):
    """Protocol of a table of term vectors."""

    @property
    def words(self) -> tuple[str, ...]:
        """Words that have their own vector; others may have a composed one."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        ...

    def __len__(self) -> int: ...

    def look_up(self, terms: Sequence[str]) -> tuple[UnitRows, NDArray[np.int32]]:
        """Return the vectors, and the number of each term's vector among them, or -1.

        The numbers are valid for the returned vectors only; another look-up may differ.
        """
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings as JSON types (empty for stored vectors) and arrays, for storage."""
        ...


class DeferredTable:
    """A stored table. Opening an index does not read it, and many queries never use it.

    The bundled table of English words is stored by name and checksum only.

    Parameters
    ----------
    settings, arrays : mapping
        Result of `VectorTable.state`.

    Raises
    ------
    IndexFormatError
        If this version of the package has another bundled table.
    InvalidInputError, CorruptIndexError
        On first use, if the arrays are damaged.
    """

    __slots__ = ("_settings", "_table")

    def __init__(self, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        if "table" in settings:
            check_reference(settings["table"], _ENGLISH)
        self._settings = dict(settings)
        self._table = Deferred(arrays, partial(_built, self._settings))

    @classmethod
    def english(cls) -> DeferredTable:
        """Return the bundled table of English words."""
        return cls({"table": reference_to(_ENGLISH)}, {})

    @property
    def bundled(self) -> bool:
        """Whether it is the bundled table of English words."""
        return "table" in self._settings

    @property
    def words(self) -> tuple[str, ...]:
        """Words that have their own vector."""
        return self._table.get().words

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return self._table.get().dimensions

    def __len__(self) -> int:
        return len(self._table.get())

    def look_up(self, terms: Sequence[str]) -> tuple[UnitRows, NDArray[np.int32]]:
        """See `VectorTable.look_up`."""
        return self._table.get().look_up(terms)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the stored settings and arrays, without building the table."""
        return dict(self._settings), dict(self._table.arrays)


def _built(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> VectorTable:
    if "table" in settings:
        from softcosine.similarity.embeddings.english import english_table

        return english_table()
    if "composed" in settings:
        from softcosine.similarity.embeddings.composed_vectors import ComposedVectors

        return ComposedVectors.from_state(settings["composed"], arrays)
    return WordVectors.from_arrays(arrays)
