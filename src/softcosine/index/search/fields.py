"""Search over several fields: each is a space, and the score is the weighted sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import all_of
from softcosine.index.rankings import Part, check_ranking, prepare
from softcosine.index.search.approximate_scores import summed_candidates
from softcosine.index.search.frequency_searcher import searcher_of
from softcosine.index.search.heaviest_terms import LeftOut
from softcosine.index.search.plan import ALL, FIELDS, NOTHING, SHARING
from softcosine.index.search.searcher import Allowed, Searcher
from softcosine.index.search.top_docs import QueryVector, Top, check_k, check_min_score

__all__ = ["FieldsSearcher", "searcher_of_index"]


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
        k: int,
        min_score: float = 0.0,
        expand_postings: bool = True,
        allowed: Allowed | None = None,
        threads: int | None = None,
    ) -> list[Top]:
        """Search many queries, each with one vector per field; see `Searcher.search_batch`."""
        if self.weights == (1.0,):
            return self.searchers[0].search_batch(
                [vector for (vector,) in queries], k=k, min_score=min_score,
                expand_postings=expand_postings, allowed=allowed, threads=threads,
            )  # fmt: skip
        check_k(k)
        check_min_score(min_score)

        def search(vectors: Sequence[QueryVector]) -> Top:
            documents, plan = None, FIELDS
            if expand_postings:
                documents = summed_candidates(
                    self.searchers, self.weights, vectors, k=k, min_score=min_score, allowed=allowed
                )
            if documents is None:  # float32 cannot decide, or they share a term with the query
                documents = self.every(self.masks(vectors, expand_postings, allowed))
                plan = ALL if expand_postings else SHARING
            elif not documents:
                plan = NOTHING
            every = np.concatenate([np.empty(0, np.int64), *documents])
            scores = self.scores(vectors, every)
            return Top.of(every, scores, (scores >= min_score) & (scores > 0), k, plan)

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

    def second_stage(
        self, vectors: Sequence[QueryVector], documents: NDArray[np.int64], n: int
    ) -> tuple[NDArray[np.float64], LeftOut]:
        """Return the scores of candidates, and what ``limited(n)`` leaves out of the query."""
        total, left_out = np.zeros(len(documents)), LeftOut()
        for searcher, weight, vector in zip(self.searchers, self.weights, vectors, strict=True):
            scores, other = searcher.second_stage(vector, documents, n)
            total += weight * scores
            left_out = left_out.plus(other, weight)
        return total, left_out

    def limited(self, n: int) -> FieldsSearcher:
        """Return a searcher by the heaviest terms of each field; see `Searcher.limited`."""
        return FieldsSearcher([one.limited(n) for one in self.searchers], self.weights)

    def with_impacts(
        self, impacts: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]]
    ) -> FieldsSearcher:
        """Return a searcher with other impacts in each field; see `Searcher.with_impacts`."""
        pairs = zip(self.searchers, impacts, strict=True)
        return FieldsSearcher([one.with_impacts(*own) for one, own in pairs], self.weights)

    def masks(
        self, vectors: Sequence[QueryVector], expand_postings: bool, allowed: Allowed | None
    ) -> list[NDArray[np.bool_]]:
        """Return the documents of each segment that a query may return.

        With ``expand_postings=False``, they share a term with the query in some field.
        """
        masks = []
        for number, part in enumerate(self.searchers[0].parts):
            mask = all_of([part.live, None if allowed is None else allowed[number]])
            if mask is None:
                mask = np.ones(part.segment.n_docs, np.bool_)
            if not expand_postings:
                sharing = np.zeros_like(mask)
                for searcher, vector in zip(self.searchers, vectors, strict=True):
                    sharing[searcher.parts[number].segment.documents_of(vector.terms)] = True
                mask &= sharing
            masks.append(mask)
        return masks

    def every(self, masks: Sequence[NDArray[np.bool_]]) -> list[NDArray[np.int64]]:
        """Return the numbers of the documents of each segment that are in its mask."""
        pairs = zip(masks, self.searchers[0].parts, strict=True)
        return [np.flatnonzero(mask) + part.first for mask, part in pairs]


def searcher_of_index(snapshot: Snapshot, ranking: str | None = None) -> FieldsSearcher:
    """Return the searcher of a ranking, by default that of the index; made once."""
    name = snapshot.ranking if ranking is None else check_ranking(ranking)
    return snapshot.once(name, lambda: _prepared(snapshot, name))


def _prepared(snapshot: Snapshot, name: str) -> FieldsSearcher:
    searchers = []
    segments = snapshot.normed if name == "soft_cosine" else snapshot.segments
    for number, statistics in enumerate(snapshot.statistics):
        parts: list[Part] = []
        for segment, first in zip(segments, snapshot.documents.firsts, strict=True):
            ranking = prepare(
                name, segment.fields[number], snapshot.S, snapshot.settings.weighting, statistics,
                norms=None if segment.norms is None else segment.norms[number],
                like=parts[0].ranking if parts else None, live=segment.live, first=first,
            )  # fmt: skip
            parts.append(Part(segment.fields[number], ranking, first, segment.live))
        searchers.append(searcher_of(parts, snapshot.S))
    return FieldsSearcher(searchers, [field.weight for field in snapshot.fields])
