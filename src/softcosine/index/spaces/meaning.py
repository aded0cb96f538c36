"""Meaning: the cosine of the coordinates of a query and of a document (theory T19).

Cosines can be negative, so the error bound is absolute (theory, "Exactness of sums of spaces").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.segment.coordinates import Coordinates, unit_vector
from softcosine.index.segment.segment import Segment, holding_each
from softcosine.index.spaces.bounds import cosine_error
from softcosine.index.spaces.part import QUESTION, SHORT, TEXT, Part
from softcosine.index.spaces.space import Bound
from softcosine.kernels.meaning import approximate_cosines, exact_cosines
from softcosine.space.chance import above_chance


class Meaning:
    """The coordinates of documents; their cosines are corrected for chance everywhere here.

    Parameters
    ----------
    segments : sequence of sequence of Segment
        The fields of each segment.
    firsts : sequence of int
        Number of the first document of each segment.
    coordinates : sequence of Coordinates or None
        Of each segment; None if no document of it was encoded.
    slope : float
        Of `softcosine.space.chance`.
    """

    def __init__(
        self,
        segments: Sequence[Sequence[Segment]],
        firsts: Sequence[int],
        coordinates: Sequence[Coordinates | None],
        slope: float = 1.0,
    ) -> None:
        self.coordinates, self.slope = tuple(coordinates), slope
        self.segments, self.firsts = segments, np.array(firsts, np.int64)

    def prepare(self, query: ReadyQuery) -> PreparedMeaning:
        """Return a query in this space."""
        return PreparedMeaning(self, query)

    def place(self, document: int) -> tuple[int, int]:
        """Return the segment of a document and its number in it."""
        segment = int(np.searchsorted(self.firsts, document, "right")) - 1
        return segment, document - int(self.firsts[segment])

    def unit(self, document: int) -> NDArray[np.float64] | None:
        """Return the coordinates of a document, of length 1; None if it has none."""
        segment, local = self.place(document)
        coordinates = self.coordinates[segment]
        if coordinates is None:
            return None
        unit = unit_vector(coordinates.vectors[local])
        return unit if unit.any() else None


class PreparedMeaning:
    """The coordinates of a query, and the documents with every word of it.

    A score is a cosine, and up to 1 more for documents with `ReadyQuery.all_words`.
    """

    def __init__(self, space: Meaning, query: ReadyQuery) -> None:
        self.space, self.query, self.floor = space, query, query.floor
        self.bound = Bound()
        self._every: dict[int, NDArray[np.float32]] = {}
        if query.unit is not None:
            n_roundings = len(query.unit) + (2 if query.all_words else 0)  # of a sum up to 2
            self.bound = Bound(1.0, absolute=cosine_error(n_roundings, space.slope))
            self._unit32 = query.unit.astype(np.float32)

    def _with_all_words(self, segment: int) -> NDArray[np.float32]:
        """Return what documents of a segment get for the words of the query; made once."""
        if segment not in self._every:
            words = holding_each(self.space.segments[segment], self.query.all_words)
            self._every[segment] = words
        return self._every[segment]

    def add(self, run: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add weight times the approximate scores of a run of segments to an array."""
        begin = 0
        for segment in range(run.start, run.stop):
            coordinates = self.space.coordinates[segment]
            n_docs = self.space.segments[segment][0].n_docs
            out = total[begin : begin + n_docs]
            if coordinates is not None:
                cosines, lengths = np.empty(n_docs, np.float32), coordinates.inverse_lengths
                approximate_cosines(self._unit32, coordinates.vectors, lengths, cosines)
                out += weight * above_chance(cosines, self.space.slope, lengths)
            if self.query.all_words:
                out += weight * self._with_all_words(segment)
            begin += n_docs

    def exact(self, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order."""
        scores = np.zeros(len(documents))
        assert self.query.unit is not None
        numbers = np.searchsorted(self.space.firsts, documents, "right") - 1
        for segment in np.unique(numbers).tolist():
            check_deadline()
            coordinates = self.space.coordinates[segment]
            places = np.flatnonzero(numbers == segment)
            cosines = np.zeros(len(places))
            local = documents[places] - self.space.firsts[segment]
            if coordinates is not None:
                exact_cosines(self.query.unit, coordinates.vectors, local, cosines)
                lengths = coordinates.inverse_lengths[local]
                cosines = above_chance(cosines, self.space.slope, lengths)
            if self.query.all_words:
                cosines += self._with_all_words(segment)[local]
            scores[places] = cosines
        return scores

    def parts(self, document: int) -> list[Part]:
        """Return the whole cosine, and what a query of few words adds."""
        (score,), every = self.exact(np.array([document])).tolist(), 0.0
        if self.query.all_words:
            segment, local = self.space.place(document)
            every = float(self._with_all_words(segment)[local])
        cosine = score - every
        parts = [Part(QUESTION, TEXT, cosine, cosine, exact=False, space="meaning")]
        if every:
            parts.append(Part(SHORT, SHORT, every, every, exact=every == 1.0))
        return parts


def no_coordinates() -> InvalidInputError:
    """Return the error for an index without meaning."""
    return InvalidInputError(
        "the documents of this index have no coordinates, so it can be searched by words only; "
        "encode them first: softcosine admin encode INDEX --encoder minilm (English) or "
        "multilingual, or encode() of a writer."
    )
