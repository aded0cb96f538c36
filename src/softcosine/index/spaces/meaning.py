"""Search by the sum of words and meaning: a score of words plus a weighted cosine (theory T19).

As in `softcosine.index.spaces.words`, approximate scores find every document that can be among
the best, and one float64 routine scores these. Cosines can be negative, so the error bounds are
absolute (theory, "Exactness of sums of spaces").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._threads import in_threads, n_threads
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.segment.coordinates import Coordinates, unit_vector
from softcosine.index.segment.segment import AllWords, Segment, holding_each
from softcosine.index.spaces.approximate_scores import (
    ApproximateScores,
    documents_in,
    field_sums,
    matching,
)
from softcosine.index.spaces.bounds import cosine_error, relative_error
from softcosine.index.spaces.plan import MEANING, MEANING_ALL, MEANING_ALONE
from softcosine.index.spaces.space import (
    Allowed,
    Limits,
    Top,
)
from softcosine.index.spaces.sum import FieldsSearcher, searcher_of_index
from softcosine.kernels.meaning import approximate_cosines, exact_cosines, select_sums
from softcosine.space.chance import above_chance, slope_of

# A document without a word of the query is a hit from this cosine on; docs/decisions.md.
FLOOR = 0.2
# The same for a query of unknown words alone; docs/benchmarks/unknown_words.md.
FLOOR_OF_UNKNOWN = 0.4
# The same if an encoder of several languages may know them: cosines of a question and an answer
# in two languages are less than those in one.
FLOOR_OF_LANGUAGES = 0.1
_FEW = 1 << 17  # documents that one thread compares with a query before another has started
_AHEAD = 4  # segments for each thread whose cosines are computed before they are used


@dataclass(frozen=True, slots=True)
class QueryMeaning:
    """The meaning of a query.

    Attributes
    ----------
    unit : ndarray of shape (dimensions,), float64
        Its coordinates, of length 1.
    weight : float
        Factor of the cosine in a score, above 0.
    all_words : tuple
        The `QueryWord.ways` of a query of few words. A document with all words gets `weight` once
        more, so that meaning ranks none without these words above it: times the value of the word
        for which it has the least.
    floor : float
        The least cosine of a hit without a positive score of words.
    without : tuple of (str, ndarray)
        Words of the query, and its coordinates without each, for explanations.
    """

    unit: NDArray[np.float64]
    weight: float
    all_words: AllWords = ()
    floor: float = FLOOR
    without: tuple[tuple[str, NDArray[np.float64]], ...] = ()


class MeaningSearcher:
    """Searches an index by words and meaning.

    A document is a hit if it has a positive score of words or a cosine of at least the query's
    floor, and the sum is positive.

    Parameters
    ----------
    words : FieldsSearcher
    coordinates : sequence of Coordinates or None
        Of each segment; None if no document of it was encoded.
    slope : float
        Of `softcosine.space.chance`: cosines are corrected for chance everywhere here.
    """

    def __init__(
        self,
        words: FieldsSearcher,
        coordinates: Sequence[Coordinates | None],
        slope: float = 1.0,
    ) -> None:
        self.words, self.slope = words, slope
        self.coordinates = tuple(coordinates)
        self._parts = words.searchers[0].parts
        self._firsts = np.array([part.first for part in self._parts], np.int64)

    def search_batch(
        self,
        queries: Sequence[tuple[Sequence[QueryVector], QueryMeaning | None]],
        *,
        threads: int | None = None,
        **options: Any,
    ) -> list[Top]:
        """Return the k best documents of each query; see `FieldsSearcher.search_batch`.

        A query without a meaning is searched by words alone. With ``expand_postings=False``, every
        document must share a term with the query.
        """
        n_docs = sum(part.segment.n_docs for part in self._parts)
        limits = Limits(**options).within(n_docs)
        inside = threads if len(queries) == 1 and n_docs > _FEW else 1

        def search(query: tuple[Sequence[QueryVector], QueryMeaning | None]) -> Top:
            vectors, meaning = query
            if meaning is None:
                return self.words.search_batch([vectors], threads=inside, **options)[0]
            masks = matching(self.words.searchers, vectors, limits)
            with field_sums(self.words.searchers, self.words.weights, vectors) as sums:
                if sums is None:  # float32 cannot decide
                    plan, candidates = MEANING_ALL, documents_in(masks, self._parts)
                else:
                    plan = MEANING if sums.unit else MEANING_ALONE
                    candidates = self._candidates(sums, meaning, limits, masks, inside)
            documents = np.concatenate([np.empty(0, np.int64), *candidates])
            words = self.words.scores(vectors, documents)
            cosines = self.cosines(meaning, documents)
            scores = words + meaning.weight * cosines
            kept = (words > 0) | (cosines >= meaning.floor)
            return limits.best(documents[kept], scores[kept], plan)

        return in_threads(search, queries, threads)

    def scores(
        self,
        vectors: Sequence[QueryVector],
        meaning: QueryMeaning,
        documents: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order, bit-identical to a search."""
        cosines = self.cosines(meaning, documents)
        return self.words.scores(vectors, documents) + meaning.weight * cosines

    def unit(self, document: int) -> NDArray[np.float64] | None:
        """Return the coordinates of a document, of length 1; None if it has none."""
        segment = int(np.searchsorted(self._firsts, document, "right")) - 1
        coordinates = self.coordinates[segment]
        if coordinates is None:
            return None
        unit = unit_vector(coordinates.vectors[document - self._firsts[segment]])
        return unit if unit.any() else None

    def nearest(
        self,
        vectors: Sequence[QueryVector],
        meaning: QueryMeaning,
        *,
        n: int,
        expand_postings: bool = True,
        allowed: Allowed | None = None,
    ) -> Top:
        """Return up to n documents of the greatest cosine, from the floor on, with the cosines.

        The vectors of the query matter only for ``expand_postings=False``, as in `search_batch`.
        """
        nothing = QueryVector(np.empty(0, np.int32), np.empty(0))
        limits = Limits(k=n, expand_postings=expand_postings, allowed=allowed)
        masks = matching(self.words.searchers, vectors, limits)
        query = (nothing,) * len(vectors), replace(meaning, weight=1.0, all_words=())
        (top,) = self.search_batch([query], k=n, allowed=masks, threads=1)
        return top

    def cosines(self, meaning: QueryMeaning, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosines of a query with documents, in the given order.

        They are up to 1 more for documents with `QueryMeaning.all_words`.
        """
        every = np.zeros(len(documents))
        numbers = np.searchsorted(self._firsts, documents, "right") - 1
        for segment in np.unique(numbers).tolist():
            check_deadline()
            coordinates = self.coordinates[segment]
            places = np.flatnonzero(numbers == segment)
            cosines = np.zeros(len(places))
            local = (documents[places] - self._firsts[segment]).astype(np.int64)
            if coordinates is not None:
                exact_cosines(meaning.unit, coordinates.vectors, local, cosines)
                lengths = coordinates.inverse_lengths[local]
                cosines = above_chance(cosines, self.slope, lengths)
            if meaning.all_words:
                cosines += holding_each(self._fields(segment), meaning.all_words)[local]
            every[places] = cosines
        return every

    def _fields(self, number: int) -> list[Segment]:
        """Return the fields of a segment."""
        return [searcher.parts[number].segment for searcher in self.words.searchers]

    def _candidates(
        self,
        sums: ApproximateScores,
        meaning: QueryMeaning,
        limits: Limits,
        masks: Sequence[NDArray[np.bool_]],
        threads: int | None,
    ) -> list[NDArray[np.int64]]:
        """Return, for each segment, every document that can be among the k best."""
        query = meaning.unit.astype(np.float32)
        word_error = relative_error(sums.n_summands, half=sums.half) if sums.unit else 0.0
        roundings = query.shape[0] + (2 if meaning.all_words else 0)  # one more, of a sum up to 2
        error = cosine_error(roundings, self.slope)
        heap, chosen = np.full(limits.k, -np.inf), []
        every = self._approximate(query, meaning.all_words, threads)
        rows = zip(self._parts, every, masks, strict=True)
        for segment, (part, cosines, mask) in enumerate(rows):
            n_docs = part.segment.n_docs
            words = np.zeros(n_docs, np.float32)
            sums.add(slice(segment, segment + 1), np.float32(1.0), words)
            candidates = np.empty(n_docs, np.uint32)
            n = select_sums(
                words, sums.unit, word_error, cosines, meaning.weight, error,
                meaning.floor, mask.view(np.uint8), limits.minimum, heap, candidates,
            )  # fmt: skip
            chosen.append(candidates[:n].astype(np.int64) + part.first)
        return chosen

    def _approximate(
        self, query: NDArray[np.float32], all_words: AllWords, threads: int | None
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the approximate cosines of the documents of each segment, some segments ahead."""

        def compared(segment: int) -> NDArray[np.float32]:
            check_deadline()
            coordinates = self.coordinates[segment]
            cosines = np.zeros(self._parts[segment].segment.n_docs, np.float32)
            if coordinates is not None:
                approximate_cosines(
                    query, coordinates.vectors, coordinates.inverse_lengths, cosines
                )
                cosines = above_chance(cosines, self.slope, coordinates.inverse_lengths)
            if all_words:
                cosines += holding_each(self._fields(segment), all_words)
            return cosines

        ahead = _AHEAD * n_threads(threads)
        for first in range(0, len(self._parts), ahead):
            numbers = range(first, min(first + ahead, len(self._parts)))
            yield from in_threads(compared, numbers, threads)


def meaning_searcher(snapshot: Snapshot, ranking: str | None = None) -> MeaningSearcher:
    """Return the searcher of a ranking and of the documents' coordinates; made once."""
    coordinates = [segment.coordinates for segment in snapshot.segments]
    return snapshot.once(
        ("meaning", ranking),
        lambda: MeaningSearcher(
            searcher_of_index(snapshot, ranking),
            coordinates,
            slope_of(snapshot.settings.mean_cosine),
        ),
    )


def no_coordinates() -> InvalidInputError:
    """Return the error for an index without meaning."""
    return InvalidInputError(
        "the documents of this index have no coordinates, so it can be searched by words only; "
        "encode them first: softcosine admin encode INDEX --encoder minilm (English) or "
        "multilingual, or encode() of a writer."
    )
