"""Several sources as independent witnesses: each may be wrong, all together seldom are."""

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

_MOST = np.nextafter(np.float32(1.0), np.float32(0.0))  # for different strings


def noisy_or(*sources: TermSimilaritySource) -> NoisyOrSimilarity:
    """Return the source that takes several similarities as independent evidence."""
    return NoisyOrSimilarity(sources)


class NoisyOrSimilarity(SourceOfSources):
    r"""What several sources say, each taken as independent evidence (Pearl 1988).

    .. math:: s_{ij} = 1 - \prod_k \left(1 - s^{(k)}_{ij}\right)

    At least the greatest of the parts' similarities, and more where several agree. A part that
    does not know a term says nothing against the others. Different strings stay below 1, by the
    spacing of float32 at least, even where a part calls them the same. The parts should stand on
    one scale (`calibrated`), on which 0 is "not at all". It does not keep positive
    semidefiniteness.

    Neighbours are exact, if the parts' are (`joined_neighbors` says how).

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
        """Everything that is needed to build an equal source."""
        return SourceState("noisy_or", parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> NoisyOrSimilarity:
        """Source that `state` was taken from."""
        return cls([source_from_state(part) for part in state.parts])


def _joined(values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Join the parts' similarities; never decreasing in any of them, rounding included."""
    rest = np.ones(len(values[0]))
    for value in values:
        rest *= 1.0 - value.astype(np.float64)
    return np.minimum((1.0 - rest).astype(np.float32), _MOST)
