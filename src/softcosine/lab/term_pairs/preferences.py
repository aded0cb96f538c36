"""Preferences between two documents for a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError

_Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Triples of a query, a better document and a worse one; all are row numbers.

    All queries have equal total weight, whatever their number of triples.

    Attributes
    ----------
    queries, better, worse : ndarray of shape (n,), int64
    importance : ndarray of shape (n,), float64, optional
        Relative weights of the triples of one query, non-negative; equal by default.

    Examples
    --------
    >>> preferences = Preferences.of([{3: 2.0, 1: 1.0}], [[0, 1, 3]])
    >>> list(zip(preferences.better.tolist(), preferences.worse.tolist()))
    [(1, 0), (3, 0), (3, 1)]
    """

    queries: _Integers
    better: _Integers
    worse: _Integers
    importance: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        judgements: Sequence[Mapping[int, float]],
        candidates: Sequence[ArrayLike],
        *,
        max_per_query: int = 1000,
        top_heavy: bool = True,
        random_state: int = 0,
    ) -> Preferences:
        """Return preferences of judged documents over the other candidates.

        Parameters
        ----------
        judgements : sequence of mappings, one a query
            Gain of each judged document; higher is better. Others have gain 0.
        candidates : sequence of arrays of document numbers, one a query
            Documents to compare with the judged ones: the results of a first search, best first.
        max_per_query : int
            Maximum number of triples per query; more are sampled.
        top_heavy : bool
            Whether the weight of a triple is the change of nDCG if its two documents swapped their
            ranks among the candidates, as in LambdaRank. Otherwise all triples are equal, and
            documents that no search ranks high dominate.
        random_state : int

        Raises
        ------
        InvalidInputError
            If the two lists differ in length, a gain is not a finite number, or there are no
            preferences.
        """
        if len(judgements) != len(candidates):
            raise InvalidInputError(
                f"there are {len(judgements)} queries with judgements and {len(candidates)} with "
                "candidates; give one of both for every query."
            )
        generator = np.random.default_rng(random_state)
        parts: list[tuple[NDArray[Any], ...]] = []
        for query, (gains, beside) in enumerate(zip(judgements, candidates, strict=True)):
            judged = np.fromiter(gains, np.int64, len(gains))
            listed = np.asarray(beside, np.int64).ravel()
            documents = np.union1d(listed, judged)
            values = np.array([float(gains.get(d, 0.0)) for d in documents.tolist()])
            if not np.all(np.isfinite(values)):
                raise InvalidInputError(f"a gain of query {query} is not a finite number.")
            better, worse = np.nonzero(values[:, None] > values)
            if len(better) > max_per_query:
                drawn = np.sort(generator.permutation(len(better))[:max_per_query])
                better, worse = better[drawn], worse[drawn]
            numbers = np.full(len(better), query)
            ranked = _discounts(listed, documents)
            importance = np.abs(ranked[better] - ranked[worse]) * (values[better] - values[worse])
            parts.append((numbers, documents[better], documents[worse], importance))
        found = tuple(np.concatenate(part) for part in zip(*parts, strict=True)) if parts else ()
        if not found or not len(found[0]):
            raise InvalidInputError(
                "no document is to be preferred to another: for no query do two have different "
                "gains."
            )
        queries, better, worse, importance = found
        return cls(queries, better, worse, importance if top_heavy else None)

    def __post_init__(self) -> None:
        for name in ("queries", "better", "worse"):
            numbers = np.asarray(getattr(self, name))
            if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
                raise InvalidInputError(f"{name} is of {numbers.dtype}; needed are row numbers.")
            object.__setattr__(self, name, numbers.astype(np.int64))
        if self.importance is not None:
            object.__setattr__(self, "importance", np.asarray(self.importance, np.float64))
        given: list[NDArray[Any]] = [self.queries, self.better, self.worse]
        if self.importance is not None:
            given.append(self.importance)
            if not np.all(np.isfinite(self.importance)) or np.any(self.importance < 0):
                raise InvalidInputError("importance must be finite and not negative.")
        lengths = {np.shape(part) for part in given}
        if len(lengths) != 1 or len(lengths.pop()) != 1:
            raise InvalidInputError(
                "queries, better and worse must be three arrays of one length, as must importance."
            )

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the weight of each triple; those of a query sum to 1 / n_queries."""
        names, inverse = np.unique(self.queries, return_inverse=True)
        parts = np.ones(len(self)) if self.importance is None else self.importance
        totals = np.bincount(inverse, parts, len(names))[inverse]
        # If no swap changes nDCG, all triples have equal weight.
        counts = np.bincount(inverse, minlength=len(names))[inverse]
        shares = np.where(totals > 0, parts / np.where(totals > 0, totals, 1.0), 1.0 / counts)
        return np.asarray(shares / len(names))

    @property
    def n_queries(self) -> int:
        """Number of queries with a triple."""
        return len(np.unique(self.queries))

    def of_queries(self, queries: Any) -> Preferences:
        """Return the triples of some queries, such as those of a fold."""
        kept = np.isin(self.queries, np.asarray(queries, np.int64))
        importance = None if self.importance is None else self.importance[kept]
        return Preferences(self.queries[kept], self.better[kept], self.worse[kept], importance)

    def check(self, n_queries: int, n_docs: int) -> None:
        """Raise InvalidInputError if a row number does not exist."""
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


def _discounts(listed: _Integers, documents: _Integers) -> NDArray[np.float64]:
    """Return 1 / log2(1 + rank) of documents, and 0 of unlisted ones."""
    found = np.zeros(len(documents))
    places = np.searchsorted(documents, listed)
    found[places[::-1]] = (1.0 / np.log2(np.arange(2, len(listed) + 2)))[::-1]
    return found
