"""Noisy-or: several sources as independent evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.checked_answers import similarities_by
from softcosine.similarity.combine.joining import joined_neighbors
from softcosine.similarity.composite import SourceOfSources
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

__all__ = ["NoisyOrSimilarity", "noisy_or"]

_MOST = np.nextafter(np.float32(1.0), np.float32(0.0))  # maximum for different strings


def noisy_or(*sources: TermSimilaritySource) -> NoisyOrSimilarity:
    """Return a source that joins several sources as independent evidence."""
    return NoisyOrSimilarity(sources)


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

    __slots__ = ("_order",)

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        super().__init__(sources)
        self._order = StringOrder()

    def __repr__(self) -> str:
        return f"noisy_or({', '.join(map(repr, self.sources))})"

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Joint similarity of the pairs ``(left[i], right[i])``."""
        check_pairs(left, right)
        values = [similarities_by(source, left, right) for source in self.sources]
        answer = _joined(values)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        return joined_neighbors(
            self.sources, _joined, terms, among, max_neighbors=max_neighbors, order=self._order
        )

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState("noisy_or", parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> NoisyOrSimilarity:
        """Build the source from its state."""
        return cls([source_from_state(part) for part in state.parts])


def _joined(values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Join similarities; never decreasing in any of them, rounding included."""
    rest = np.ones(len(values[0]))
    for value in values:
        rest *= 1.0 - value.astype(np.float64)
    return np.minimum((1.0 - rest).astype(np.float32), _MOST)
