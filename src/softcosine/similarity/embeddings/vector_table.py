"""Protocols of a table of vectors, whether stored, composed or encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


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
