"""Joins of several sources (theory T14): strongest, mean, noisy-or, first; and scaling of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, is_number
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import neighbors_by, similarities_by
from softcosine.similarity.combine.joining import joined_neighbors
from softcosine.similarity.combine.precedence import FirstSimilarity
from softcosine.similarity.composite import MappedSource, SourceOfSources
from softcosine.similarity.neighbors import Neighbors
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
    "NoisyOrSimilarity",
    "ScaledSimilarity",
    "StrongestSimilarity",
    "first",
    "mean",
    "noisy_or",
    "scaled",
    "strongest",
]


_MOST = np.nextafter(np.float32(1.0), np.float32(0.0))  # maximum for different strings


def strongest(*sources: TermSimilaritySource) -> StrongestSimilarity:
    """Return a source with the greatest similarity of several sources."""
    return StrongestSimilarity(sources)


def mean(*sources: TermSimilaritySource, weights: Sequence[float] | None = None) -> MeanSimilarity:
    """Return a source with the weighted mean of the similarities of several sources."""
    return MeanSimilarity(sources, weights=weights)


def noisy_or(*sources: TermSimilaritySource) -> NoisyOrSimilarity:
    """Return a source that joins several sources as independent evidence."""
    return NoisyOrSimilarity(sources)


def first(*sources: TermSimilaritySource) -> FirstSimilarity:
    """Return a source that uses, for each pair, the first source that knows both terms."""
    return FirstSimilarity(sources)


def scaled(source: TermSimilaritySource, factor: float) -> ScaledSimilarity:
    """Return a source whose similarities are those of another times a factor."""
    return ScaledSimilarity(source, factor)


class StrongestSimilarity(SourceOfSources):
    """The greatest similarity of several sources.

    Neighbours are exact if those of the joined sources are. The join does not preserve positive
    semidefiniteness.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.
    """

    __slots__ = ()
    kind = "strongest"

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


class MeanSimilarity(SourceOfSources):
    """The weighted mean of the similarities of several sources.

    A source that does not know a term counts as 0, so the mean of positive semidefinite matrices is
    positive semidefinite. Neighbours are exact if those of the joined sources are (see
    `joined_neighbors`).

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.
    weights : sequence of float, optional
        One for each source, above 0; only the proportions matter. Equal by default.

    Raises
    ------
    InvalidInputError
        If a weight is not a number above 0, or there is not one for each source.
    """

    __slots__ = ("_weights",)
    kind = "mean"

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

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each source."""
        return self._weights

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, weights={list(self._weights)})"

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
        """State from which an equal source can be built."""
        return replace(super().state(), settings={"weights": list(self._weights)})


class NoisyOrSimilarity(SourceOfSources):
    r"""Join of several sources as independent evidence (Pearl 1988).

    .. math:: s_{ij} = 1 - \prod_k \left(1 - s^{(k)}_{ij}\right)

    The result is at least the greatest similarity, and greater where several sources agree. A
    source that does not know a term has no effect. Different strings stay below 1 by at least the
    spacing of float32, even if a source gives them similarity 1. The sources should share one scale
    (`calibrated`) on which 0 means "not similar". The join does not preserve positive
    semidefiniteness.

    Neighbours are exact if those of the joined sources are (see `joined_neighbors`).

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> one = EmbeddingSimilarity(["tyre", "tire"], [[3, 4], [4, 3]], exponent=1)
    >>> other = EmbeddingSimilarity(["tyre", "tire"], [[1, 0], [3, 4]], exponent=1)
    >>> [source.similarities(["tyre"], ["tire"]).item() for source in (one, other)]
    [0.959..., 0.600...]
    >>> round(noisy_or(one, other).similarities(["tyre"], ["tire"]).item(), 4)
    0.984
    """

    __slots__ = ()
    kind = "noisy_or"

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Joint similarity of the pairs ``(left[i], right[i])``."""
        check_pairs(left, right)
        values = [similarities_by(source, left, right) for source in self.sources]
        answer = _independent(values)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        return joined_neighbors(
            self.sources, _independent, terms, among, max_neighbors=max_neighbors, order=self._order
        )


def _independent(values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Join similarities; never decreasing in any of them, rounding included."""
    rest = np.ones(len(values[0]))
    for value in values:
        rest *= 1.0 - value.astype(np.float64)
    return np.minimum((1.0 - rest).astype(np.float32), _MOST)


class ScaledSimilarity(MappedSource):
    """The similarities of a source times a factor; equal terms keep similarity 1.

    Parameters
    ----------
    source : TermSimilaritySource
    factor : float
        In (0, 1].

    Raises
    ------
    InvalidInputError
        If the factor is out of range.
    """

    __slots__ = ("_factor",)

    def __init__(self, source: TermSimilaritySource, factor: float) -> None:
        super().__init__(source)
        check_number("factor", factor, above=0, most=1)
        self._factor = float(factor)

    @property
    def source(self) -> TermSimilaritySource:
        """The scaled source."""
        return self._source

    @property
    def factor(self) -> float:
        """The factor."""
        return self._factor

    def __repr__(self) -> str:
        return f"scaled({self._source!r}, {self._factor:g})"

    def _over(self, source: TermSimilaritySource) -> ScaledSimilarity:
        return ScaledSimilarity(source, self._factor)

    def _mapped(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return (values.astype(np.float64) * self._factor).astype(np.float32)

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState("scaled", {"factor": self._factor}, parts=(state_of(self._source),))

    @classmethod
    def from_state(cls, state: SourceState) -> ScaledSimilarity:
        """Build the source from its state."""
        return cls(source_from_state(state.parts[0]), **state.settings)
