"""What weights need to know of the documents as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.segment.segment import Segment

__all__ = ["FieldStatistics"]


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """Counts over all live documents of one field.

    Attributes
    ----------
    n_docs : int
    document_frequencies : ndarray of shape (n_terms,), int64
        In how many documents each term stands.
    average_length : float
        Mean sum of a document's term frequencies; 0 without documents, and for real weights.
    """

    n_docs: int
    document_frequencies: NDArray[np.int64]
    average_length: float

    @classmethod
    def none(cls, n_terms: int) -> Self:
        """Return the statistics of no documents."""
        return cls(0, np.zeros(n_terms, np.int64), 0.0)

    @classmethod
    def of(
        cls,
        segments: Sequence[Segment],
        n_terms: int,
        *,
        live: Sequence[NDArray[np.bool_] | None] | None = None,
    ) -> Self:
        """Count over segments.

        Parameters
        ----------
        segments : sequence of Segment
        n_terms : int
            Of the vocabulary; segments may know fewer.
        live : sequence of ndarray of shape (n_docs,), bool, or None, optional
            For each segment, which of its documents count; all by default.
        """
        frequencies = np.zeros(n_terms, np.int64)
        n_docs, length = 0, 0.0
        for number, segment in enumerate(segments):
            mask = None if live is None else live[number]
            counts = segment.present_frequencies  # checks what the next line relies on
            frequencies[segment.present_terms] += counts
            if mask is None:
                n_docs += segment.n_docs
                length += 0.0 if segment.real else float(segment.lengths.sum())
                continue
            n_docs += int(mask.sum())
            length += 0.0 if segment.real else float(segment.lengths[mask].sum())
            dead = np.flatnonzero(~mask)
            gone = [segment.row(int(d))[0] for d in dead]
            if gone:
                frequencies -= np.bincount(np.concatenate(gone), minlength=n_terms)
        return cls(n_docs, frequencies, length / n_docs if n_docs else 0.0)

    def to_settings(self) -> dict[str, Any]:
        """Return what is not an array, in JSON's types."""
        return {"n_docs": self.n_docs, "average_length": self.average_length}
