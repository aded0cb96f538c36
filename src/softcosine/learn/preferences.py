"""Which of two documents should stand before the other, for which query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError

__all__ = ["Preferences"]

_Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Triples of a query, a better document and a worse one; all are row numbers.

    Each query has the same say, however many triples it has.

    Attributes
    ----------
    queries, better, worse : ndarray of shape (n,), int64

    Examples
    --------
    >>> preferences = Preferences.of([{3: 2.0, 1: 1.0}], [[0, 1, 3]])
    >>> list(zip(preferences.better.tolist(), preferences.worse.tolist()))
    [(1, 0), (3, 0), (3, 1)]
    """

    queries: _Integers
    better: _Integers
    worse: _Integers

    @classmethod
    def of(
        cls,
        judgements: Sequence[Mapping[int, float]],
        candidates: Sequence[ArrayLike],
        *,
        max_per_query: int = 1000,
        random_state: int = 0,
    ) -> Preferences:
        """Compare what is judged with what stands beside it.

        Parameters
        ----------
        judgements : sequence of mappings, one a query
            Gain of each judged document; the higher, the better. Others have gain 0.
        candidates : sequence of arrays of document numbers, one a query
            What judged documents are to be told from: best those that a first search ranks high.
        max_per_query : int
            Of a query with more triples, so many are drawn.
        random_state : int

        Raises
        ------
        InvalidInputError
            If there are not as many of both, a gain is no finite number, or there is nothing to
            prefer.
        """
        if len(judgements) != len(candidates):
            raise InvalidInputError(
                f"there are {len(judgements)} queries with judgements and {len(candidates)} with "
                "candidates; give one of both for every query."
            )
        generator = np.random.default_rng(random_state)
        parts: list[tuple[_Integers, _Integers, _Integers]] = []
        for query, (gains, beside) in enumerate(zip(judgements, candidates, strict=True)):
            judged = np.fromiter(gains, np.int64, len(gains))
            documents = np.union1d(np.asarray(beside, np.int64).ravel(), judged)
            values = np.array([float(gains.get(d, 0.0)) for d in documents.tolist()])
            if not np.all(np.isfinite(values)):
                raise InvalidInputError(f"a gain of query {query} is not a finite number.")
            better, worse = np.nonzero(values[:, None] > values)
            if len(better) > max_per_query:
                drawn = np.sort(generator.permutation(len(better))[:max_per_query])
                better, worse = better[drawn], worse[drawn]
            numbers = np.full(len(better), query)
            parts.append((numbers, documents[better], documents[worse]))
        found = tuple(np.concatenate(part) for part in zip(*parts, strict=True)) if parts else ()
        if not found or not len(found[0]):
            raise InvalidInputError(
                "no document is to be preferred to another: for no query do two have different "
                "gains."
            )
        return cls(*found)

    def __post_init__(self) -> None:
        lengths = {np.shape(part) for part in (self.queries, self.better, self.worse)}
        if len(lengths) != 1 or len(lengths.pop()) != 1:
            raise InvalidInputError("queries, better and worse must be three arrays of one length.")

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def weights(self) -> NDArray[np.float64]:
        """What each triple counts: those of a query sum to 1 over the number of queries."""
        _, inverse, counts = np.unique(self.queries, return_inverse=True, return_counts=True)
        return np.asarray(1.0 / (counts[inverse] * len(counts)))

    @property
    def n_queries(self) -> int:
        """How many queries have a triple."""
        return len(np.unique(self.queries))

    def of_queries(self, queries: Any) -> Preferences:
        """Return the triples of some queries, such as those of a fold."""
        kept = np.isin(self.queries, np.asarray(queries, np.int64))
        return Preferences(self.queries[kept], self.better[kept], self.worse[kept])

    def check(self, n_queries: int, n_docs: int) -> None:
        """Raise InvalidInputError if a number is that of no row."""
        for name, numbers, n in (
            ("query", self.queries, n_queries),
            ("document", self.better, n_docs),
            ("document", self.worse, n_docs),
        ):
            wrong = (numbers < 0) | (numbers >= n)
            if wrong.any():
                raise InvalidInputError(
                    f"a triple names {name} {numbers[wrong][0]}, and there are {n}, numbered from "
                    "0."
                )
        if not len(self):
            raise InvalidInputError("there are no preferences; at least one triple is needed.")
