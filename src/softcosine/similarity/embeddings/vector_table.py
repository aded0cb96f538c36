"""What a table of vectors answers, whether a word's vector is stored, composed or encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["UnitRows", "VectorTable"]


class UnitRows(Protocol):
    """Vectors by number, as far as one look-up needs them."""

    def units(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Vectors of weighted unit length, (n, dimensions), and the scales that correct them.

        See `softcosine.kernels.selection.unit_rows`.
        """
        ...


class VectorTable(Protocol):
    """Vectors of terms."""

    @property
    def words(self) -> tuple[str, ...]:
        """Those with a vector of their own; others may have one made of their parts."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        ...

    def __len__(self) -> int: ...

    def look_up(self, terms: Sequence[str]) -> tuple[UnitRows, NDArray[np.int32]]:
        """Return where vectors are, and the number there of each term's vector, or -1.

        The numbers hold for what comes with them only: another look-up may number anew.
        """
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that an equal table is built from, but for `settings`."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return how words are composed, as JSON can hold it; empty if they are not."""
        ...

    def centered(self, *, remove_components: int = 0) -> VectorTable:
        """Return the table without its mean vector and its first principal components."""
        ...
