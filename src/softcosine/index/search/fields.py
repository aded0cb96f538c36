"""Search over several fields: each is a space, and the score is the weighted sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine._validation import check_number
from softcosine.errors import InvalidInputError
from softcosine.index.search.heaviest_terms import LeftOut
from softcosine.index.search.masks import all_of
from softcosine.index.search.plan import ALL, FIELDS, NOTHING, SHARING
from softcosine.index.search.rankings import PreparedRanking
from softcosine.index.search.searcher import Allowed, Searcher
from softcosine.index.search.top_docs import QueryVector, Top, check_k, check_min_score

__all__ = ["TEXT", "Field", "FieldsSearcher", "checked_fields"]

# Name of the only field of an index if you name none.
TEXT = "text"

# Limits of field weights, so that sums of scores stay far from the limits of float64.
_LEAST, _MOST = 1e-6, 1e6


@dataclass(frozen=True, slots=True)
class Field:
    """A field of every document, such as a title, which is a space with its own statistics.

    Attributes
    ----------
    name : str
    weight : float
        Factor of its score, from 0.000001 to 1000000.
    """

    name: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(
                f"a field is called {self.name!r}; a name is a string, and not empty."
            )
        check_number(f"the weight of field {self.name!r}", self.weight, least=_LEAST, most=_MOST)
        object.__setattr__(self, "weight", float(self.weight))


def checked_fields(fields: Any) -> tuple[Field, ...]:
    """Return fields, given as a mapping of names to weights, or as names; None is one field.

    Raises
    ------
    InvalidInputError
        If they are not valid, or a set: scores are added in the order of the fields.
    """
    if fields is None:
        return (Field(TEXT),)
    try:
        items = fields.items() if hasattr(fields, "items") else [(name, 1.0) for name in fields]
        checked = tuple(Field(name, weight) for name, weight in items)
    except TypeError as error:
        raise InvalidInputError(
            f"fields is {fields!r}; pass a mapping of names to weights, such as "
            '{"title": 2, "body": 1}.'
        ) from error
    if isinstance(fields, str | set | frozenset) or not checked:
        raise InvalidInputError(
            f"fields is {fields!r}; pass names with their weights, in order, such as "
            '{"title": 2, "body": 1}.'
        )
    if len({one.name for one in checked}) < len(checked):
        raise InvalidInputError(f"fields is {fields!r}; the names must be distinct.")
    return checked


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
    """

    def __init__(self, searchers: Sequence[Searcher], weights: Sequence[float]) -> None:
        self.searchers = tuple(searchers)
        self.weights = tuple(float(weight) for weight in weights)

    @property
    def ranking(self) -> PreparedRanking:
        """The ranking of the first field; all fields have the same name and parameters."""
        return self.searchers[0].ranking

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
            (searcher,) = self.searchers
            if len(queries) == 1:
                top = searcher.search(
                    queries[0][0], k=k, min_score=min_score, expand_postings=expand_postings,
                    allowed=allowed, threads=threads,
                )  # fmt: skip
                return [top]
            return searcher.search_batch(
                [vectors[0] for vectors in queries], k=k, min_score=min_score,
                expand_postings=expand_postings, allowed=allowed, threads=threads,
            )  # fmt: skip
        check_k(k)
        check_min_score(min_score)

        def one(vectors: Sequence[QueryVector]) -> Top:
            return self._search(vectors, k, float(min_score), expand_postings, allowed)

        return in_threads(one, queries, threads)

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

    def _search(
        self,
        vectors: Sequence[QueryVector],
        k: int,
        min_score: float,
        expand_postings: bool,
        allowed: Allowed | None,
    ) -> Top:
        """Find candidates by the sum of approximate scores, and score them exactly."""
        # Imported here, because an index of one field does not need it.
        from softcosine.index.search.field_sums import summed_candidates

        found, plan = None, FIELDS
        if expand_postings:
            found = summed_candidates(
                self.searchers, self.weights, vectors, k=k, min_score=min_score, allowed=allowed
            )
        if found is None:  # float32 cannot decide, or the documents share a term with the query
            found = self.every(self.masks(vectors, expand_postings, allowed))
            plan = ALL if expand_postings else SHARING
        elif not found:
            plan = NOTHING
        documents = np.concatenate([np.empty(0, np.int64), *found])
        scores = self.scores(vectors, documents)
        kept = (scores >= min_score) & (scores > 0)
        return Top.of(documents, scores, kept, k, plan)

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
