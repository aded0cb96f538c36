"""Statistics of a field, on which term weights depend; those of segments add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.index.segment.segment import Segment

MAX_LENGTH = 2**53  # lengths of documents are float64, exact up to here


@dataclass(frozen=True, slots=True, eq=False)
class FieldStatistics:
    """Statistics of all live documents of one field.

    All are integers, so the sum over segments is exactly that of the whole index.

    Attributes
    ----------
    n_docs : int
    document_frequencies : ndarray of shape (n_terms,), int64
        Number of documents that contain each term.
    total_length : int
        Sum of all term frequencies; 0 for real weights.
    """

    n_docs: int
    document_frequencies: NDArray[np.int64]
    total_length: int

    @property
    def average_length(self) -> float:
        """Mean length of a document; 0 without documents, and for real weights."""
        return self.total_length / self.n_docs if self.n_docs else 0.0

    def __add__(self, other: FieldStatistics) -> FieldStatistics:
        """Return the statistics of two disjoint sets of documents together.

        Terms have the same numbers in both, but one vocabulary may be longer.
        """
        n_terms = max(len(self.document_frequencies), len(other.document_frequencies))
        return FieldStatistics(
            self.n_docs + other.n_docs,
            self.padded(n_terms).document_frequencies + other.padded(n_terms).document_frequencies,
            self.total_length + other.total_length,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldStatistics):
            return NotImplemented
        return (self.n_docs, self.total_length) == (
            other.n_docs, other.total_length
        ) and np.array_equal(self.document_frequencies, other.document_frequencies)  # fmt: skip

    def padded(self, n_terms: int) -> FieldStatistics:
        """Return the statistics over a longer vocabulary; new terms have document frequency 0."""
        n_new = n_terms - len(self.document_frequencies)
        return replace(self, document_frequencies=np.pad(self.document_frequencies, (0, n_new)))

    def renumbered(self, numbers: NDArray[np.integer[Any]], n_terms: int) -> FieldStatistics:
        """Return the statistics over another vocabulary, given the new number of every term."""
        frequencies = np.zeros(n_terms, np.int64)
        frequencies[numbers] = self.document_frequencies
        return replace(self, document_frequencies=frequencies)

    @classmethod
    def none(cls, n_terms: int) -> Self:
        """Return the statistics of an empty set of documents."""
        return cls(0, np.zeros(n_terms, np.int64), 0)

    @classmethod
    def of(
        cls,
        segments: Sequence[Segment],
        n_terms: int,
        *,
        live: Sequence[NDArray[np.bool_] | None] | None = None,
    ) -> Self:
        """Return the statistics of the documents of several segments.

        Parameters
        ----------
        segments : sequence of Segment
        n_terms : int
            Size of the vocabulary; that of a segment may be smaller.
        live : sequence of ndarray of shape (n_docs,), bool, or None, optional
            Masks of the documents to count, one per segment; all by default.
        """
        frequencies = np.zeros(n_terms, np.int64)
        n_docs, length = 0, 0.0
        for number, segment in enumerate(segments):
            mask = None if live is None else live[number]
            counts = np.diff(segment.term_starts)  # checks the arrays of the next line
            frequencies[segment.present_terms] += counts
            lengths = segment.lengths if mask is None else segment.lengths[mask]
            n_docs += lengths.shape[0]
            length += 0.0 if segment.real else float(lengths.sum())
            dead = [] if mask is None else np.flatnonzero(~mask).tolist()
            gone = [segment.row(document)[0] for document in dead]
            if gone:
                frequencies -= np.bincount(np.concatenate(gone), minlength=n_terms)
        if not length <= MAX_LENGTH:
            raise CorruptIndexError(
                f"the documents have {length:g} words, more than the {MAX_LENGTH} that can be "
                "counted; rebuild the index."
            )
        return cls(n_docs, frequencies, int(length))


def greatest_frequencies(fields: Sequence[FieldStatistics]) -> NDArray[np.int64]:
    """Return each term's greatest document frequency in a field, shape (n_terms,)."""
    frequencies: NDArray[np.int64] = np.maximum.reduce([one.document_frequencies for one in fields])
    return frequencies
