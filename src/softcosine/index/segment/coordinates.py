"""Coordinates of a segment's documents in the space of a sentence encoder (theory T19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.matrix.ranges import check_array, check_values

MAX_DIMENSIONS = 1 << 16


@dataclass(frozen=True, slots=True)
class Coordinates:
    """One vector per document; only its direction counts.

    Attributes
    ----------
    vectors : ndarray of shape (n_docs, dimensions), int8
        Zero for documents without coordinates.
    inverse_lengths : ndarray of shape (n_docs,), float32
        1 / length, 0 for zero vectors.
    """

    vectors: NDArray[np.int8]
    inverse_lengths: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.int8]) -> Self:
        """Return the coordinates with the lengths of vectors of shape (n_docs, dimensions)."""
        vectors = np.ascontiguousarray(vectors)
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.int64)
        lengths = np.sqrt(np.maximum(squares, 1))
        inverse = np.where(squares > 0, 1.0 / lengths, 0.0).astype(np.float32)
        return cls(vectors, inverse)

    @classmethod
    def none(cls, n_docs: int, dimensions: int) -> Self:
        """Return the coordinates of documents that have none."""
        return cls.of(np.zeros((n_docs, dimensions), np.int8))

    def rows(self, start: int, stop: int) -> Self:
        """Return the coordinates of consecutive documents."""
        return type(self).of(self.vectors[start:stop])

    def replaced(self, documents: NDArray[np.intp], other: Self) -> Self:
        """Return the coordinates with the rows of some documents replaced."""
        vectors = self.vectors.copy()
        vectors[documents] = other.vectors
        return type(self).of(vectors)

    @classmethod
    def merged(
        cls,
        coordinates: Sequence[Self | None],
        chosen: Sequence[NDArray[np.int64]],
        dimensions: int,
    ) -> Self:
        """Return coordinates of chosen documents, by segment; None for a segment without any."""
        vectors = [
            np.zeros((rows.shape[0], dimensions), np.int8) if own is None else own.vectors[rows]
            for own, rows in zip(coordinates, chosen, strict=True)
        ]
        return cls.of(np.concatenate(vectors))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each document has coordinates, shape (n_docs,)."""
        return self.inverse_lengths > 0

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return flat arrays for `from_arrays`."""
        return {
            "vectors": self.vectors.reshape(-1),
            "inverse_lengths": self.inverse_lengths,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_docs: int, dimensions: int) -> Self:
        """Return the coordinates of `to_arrays`; CorruptIndexError if they are invalid."""
        vectors, lengths = arrays["vectors"], arrays["inverse_lengths"]
        check_array("vectors", vectors, ("int8",), n_docs * dimensions)
        check_array("inverse_lengths", lengths, ("float32",), n_docs)
        check_values("inverse_lengths", lengths, least=0.0)
        vectors = vectors.reshape(n_docs, dimensions)
        if (bits := arrays.get("estimated")) is None:
            return cls(vectors, lengths)
        # Of an older version, which guessed vectors where it had no encoder: `encode` reads them.
        check_array("estimated", bits, ("uint8",), (n_docs + 7) // 8)
        guessed = np.unpackbits(np.asarray(bits), count=n_docs).astype(np.bool_)
        if not guessed.any():
            return cls(vectors, lengths)
        return cls.of(np.where(guessed[:, np.newaxis], np.int8(0), vectors))

    def check(self) -> None:
        """Check all values; CorruptIndexError if they contradict each other."""
        right = Coordinates.of(self.vectors)
        if not np.array_equal(self.inverse_lengths, right.inverse_lengths):
            raise CorruptIndexError(
                "the lengths of the documents' coordinates are not those of the vectors; rebuild "
                "the index."
            )


def unit_vector(vector: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the coordinates of a document, of length 1, float64; zeros if it has none."""
    wide = vector.astype(np.float64)
    square = float(wide @ wide)  # of whole numbers, so exact in any order
    unit: NDArray[np.float64] = wide / np.sqrt(square or 1.0)
    return unit
