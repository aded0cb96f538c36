"""Search over several fields: each is a space, and the score is the weighted sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import RankedSegment, check_ranking, prepare
from softcosine.index.spaces.approximate_scores import best_by_sums
from softcosine.index.spaces.frequencies import searcher_of
from softcosine.index.spaces.plan import FIELDS
from softcosine.index.spaces.space import (
    Limits,
    Top,
)
from softcosine.index.spaces.words import Searcher


class FieldsSearcher:
    """Searches all fields of an index by one ranking.

    A single field is searched by its own searcher. For several fields, the first stage adds the
    approximate scores of the fields; relative errors do not grow in a sum of non-negative numbers.
    The second stage adds the exact scores in the order of the fields.

    Parameters
    ----------
    searchers : sequence of Searcher
        One per field, over the same documents in the same segments.
    weights : sequence of float
        Positive.

    Attributes
    ----------
    ranking : PreparedRanking
        Of the first field; all fields have the same name and parameters.
    """

    def __init__(self, searchers: Sequence[Searcher], weights: Sequence[float]) -> None:
        self.searchers = tuple(searchers)
        self.ranking = searchers[0].ranking
        self.weights = tuple(float(weight) for weight in weights)

    def search_batch(
        self,
        queries: Sequence[Sequence[QueryVector]],
        *,
        threads: int | None = None,
        **options: Any,
    ) -> list[Top]:
        """Search many queries, each with one vector per field; see `Searcher.search_batch`."""
        if self.weights == (1.0,):
            vectors = [vector for (vector,) in queries]
            return self.searchers[0].search_batch(vectors, threads=threads, **options)
        limits = Limits(**options)

        def search(vectors: Sequence[QueryVector]) -> Top:
            return best_by_sums(
                self.searchers, self.weights, vectors, limits, partial(self.scores, vectors), FIELDS
            )

        return in_threads(search, queries, threads)

    def scores(
        self, vectors: Sequence[QueryVector], documents: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order, bit-identical to a search."""
        if self.weights == (1.0,):
            return self.searchers[0].scores(vectors[0], documents)
        total = np.zeros(len(documents))
        for searcher, weight, vector in zip(self.searchers, self.weights, vectors, strict=True):
            total += weight * searcher.scores(vector, documents)
        return total

    def limited(self, n: int) -> FieldsSearcher:
        """Return a searcher by the heaviest terms of each field; see `Searcher.limited`."""
        return FieldsSearcher([one.limited(n) for one in self.searchers], self.weights)

    def with_impacts(
        self, impacts: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]]
    ) -> FieldsSearcher:
        """Return a searcher with other impacts in each field; see `Searcher.with_impacts`."""
        pairs = zip(self.searchers, impacts, strict=True)
        return FieldsSearcher([one.with_impacts(*own) for one, own in pairs], self.weights)


def searcher_of_index(snapshot: Snapshot, ranking: str | None = None) -> FieldsSearcher:
    """Return the searcher of a ranking, by default that of the index; made once."""
    name = snapshot.ranking if ranking is None else check_ranking(ranking)
    return snapshot.once(name, lambda: _prepared(snapshot, name))


def _prepared(snapshot: Snapshot, name: str) -> FieldsSearcher:
    searchers = []
    segments = snapshot.normed if name == "soft_cosine" else snapshot.segments
    for number, statistics in enumerate(snapshot.statistics):
        parts: list[RankedSegment] = []
        for segment, first in zip(segments, snapshot.documents.firsts, strict=True):
            ranking = prepare(
                name, segment.fields[number], snapshot.S, snapshot.settings.weighting, statistics,
                norms=None if segment.norms is None else segment.norms[number],
                like=parts[0].ranking if parts else None, live=segment.live, first=first,
            )  # fmt: skip
            parts.append(RankedSegment(segment.fields[number], ranking, first, segment.live))
        searchers.append(searcher_of(parts, snapshot.S))
    return FieldsSearcher(searchers, [field.weight for field in snapshot.fields])
