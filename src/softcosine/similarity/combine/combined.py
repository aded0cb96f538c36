"""Several sources as one (theory T14): the strongest, the mean, the first that knows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, is_number
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import neighbors_by, similarities_by
from softcosine.similarity.combine.joining import joined_neighbors
from softcosine.similarity.combine.precedence import FirstSimilarity
from softcosine.similarity.composite import MappedSource, SourceOfSources
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    source_from_state,
    state_of,
)

__all__ = [
    "FirstSimilarity",
    "MeanSimilarity",
    "ScaledSimilarity",
    "StrongestSimilarity",
    "first",
    "mean",
    "scaled",
    "strongest",
]


def strongest(*sources: TermSimilaritySource) -> StrongestSimilarity:
    """Return the source that takes the greatest of several similarities."""
    return StrongestSimilarity(sources)


def mean(*sources: TermSimilaritySource, weights: Sequence[float] | None = None) -> MeanSimilarity:
    """Return the source that takes the weighted mean of several similarities."""
    return MeanSimilarity(sources, weights=weights)


def first(*sources: TermSimilaritySource) -> FirstSimilarity:
    """Return the source that asks the first of several that knows both terms."""
    return FirstSimilarity(sources)


def scaled(source: TermSimilaritySource, factor: float) -> ScaledSimilarity:
    """Return the source whose similarities are another's times a factor."""
    return ScaledSimilarity(source, factor)


class StrongestSimilarity(SourceOfSources):
    """The greatest of the parts' similarities.

    Exact: what stands in no part's list of neighbours has as many pairs before it as were asked
    for. It does not keep positive semidefiniteness.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.
    """

    __slots__ = ("_order",)

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        super().__init__(sources)
        self._order = StringOrder()

    def __repr__(self) -> str:
        return f"strongest({', '.join(map(repr, self.sources))})"

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Greatest similarity of the pairs ``(left[i], right[i])``."""
        check_pairs(left, right)
        answer = np.zeros(len(left), np.float32)
        for source in self.sources:
            np.maximum(answer, similarities_by(source, left, right), out=answer)
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        parts = [
            neighbors_by(source, terms, among, max_neighbors=max_neighbors)
            for source in self.sources
        ]
        if len(parts) == 1:
            return parts[0]
        return Neighbors.from_pairs(
            np.concatenate([part.rows() for part in parts]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.similarities for part in parts]),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        return SourceState("strongest", parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> StrongestSimilarity:
        """Source that `state` was taken from."""
        return cls([source_from_state(part) for part in state.parts])


class MeanSimilarity(SourceOfSources):
    """The weighted mean of the parts' similarities.

    A part that does not know a term counts as 0, so that the mean of positive semidefinite
    matrices is one. Neighbours are exact, if the parts' are (`joined_neighbors` says how).

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.
    weights : sequence of float, optional
        One for each part, above 0; only their proportions matter. Default: equal.

    Raises
    ------
    InvalidInputError
        If a weight is no number above 0, or there is not one for each part.
    """

    __slots__ = ("_order", "_weights")

    def __init__(
        self,
        sources: Sequence[TermSimilaritySource],
        *,
        weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__(sources)
        given = [1.0] * len(self.sources) if weights is None else list(weights)
        numbers = all(is_number(w) and 0.0 < w < np.inf for w in given)
        if len(given) != len(self.sources) or not numbers or not sum(map(float, given)) < np.inf:
            raise InvalidInputError(
                f"weights are {given}; needed are {len(self.sources)} numbers above 0, one for "
                "each source, whose sum is finite."
            )
        self._weights = tuple(map(float, given))
        self._order = StringOrder()

    @property
    def weights(self) -> tuple[float, ...]:
        """What each part counts."""
        return self._weights

    def __repr__(self) -> str:
        return f"mean({', '.join(map(repr, self.sources))}, weights={list(self._weights)})"

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Mean similarity of the pairs ``(left[i], right[i])``."""
        check_pairs(left, right)
        answer = self._mean([similarities_by(source, left, right) for source in self.sources])
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _of(self, sources: Sequence[TermSimilaritySource]) -> MeanSimilarity:
        return MeanSimilarity(sources, weights=self._weights)

    def _mean(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        total = np.zeros(len(values[0]))
        for weight, value in zip(self._weights, values, strict=True):
            total += weight * value.astype(np.float64)
        return np.minimum(total / sum(self._weights), 1.0).astype(np.float32)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        return joined_neighbors(
            self.sources, self._mean, terms, among, max_neighbors=max_neighbors, order=self._order
        )

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        settings = {"weights": list(self._weights)}
        return SourceState("mean", settings, parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> MeanSimilarity:
        """Source that `state` was taken from."""
        return cls([source_from_state(part) for part in state.parts], **state.settings)


class ScaledSimilarity(MappedSource):
    """Another source's similarities times a factor; a term's with itself stays 1.

    Parameters
    ----------
    source : TermSimilaritySource
    factor : float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If the factor is not.
    """

    __slots__ = ("_factor",)

    def __init__(self, source: TermSimilaritySource, factor: float) -> None:
        super().__init__(source)
        check_number("factor", factor, above=0, most=1)
        self._factor = float(factor)

    @property
    def source(self) -> TermSimilaritySource:
        """The source that is scaled."""
        return self._source

    @property
    def factor(self) -> float:
        """What its similarities are multiplied by."""
        return self._factor

    def __repr__(self) -> str:
        return f"scaled({self._source!r}, {self._factor:g})"

    def _over(self, source: TermSimilaritySource) -> ScaledSimilarity:
        return ScaledSimilarity(source, self._factor)

    def _mapped(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return (values.astype(np.float64) * self._factor).astype(np.float32)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        return SourceState("scaled", {"factor": self._factor}, parts=(state_of(self._source),))

    @classmethod
    def from_state(cls, state: SourceState) -> ScaledSimilarity:
        """Source that `state` was taken from."""
        return cls(source_from_state(state.parts[0]), **state.settings)
