"""Base of sources that learn or encode vectors of terms and compare these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, check_whole
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import SourceState


class ComparedVectors:
    """Vectors of terms, compared by their cosines."""

    __slots__ = ("_space",)

    kind: ClassVar[str]

    def __init__(self, space: EmbeddingSimilarity) -> None:
        self._space = space

    @property
    def words(self) -> tuple[str, ...]:
        """Terms and surface forms that have a vector so far."""
        return self._space.words

    @property
    def threshold(self) -> float:
        """Lower cosines count as 0."""
        return self._space.threshold

    @property
    def exponent(self) -> float:
        """Power that cosines are raised to."""
        return self._space.exponent

    def __len__(self) -> int:
        """Return the number of terms and surface forms that have a vector so far."""
        return len(self._space)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} words x {self._space.dimensions}, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has a vector, shape (n_terms,)."""
        return self._space.knows(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 1 for equal strings, 0 for unknown."""
        return self._space.similarities(left, right)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        return self._space.neighbors(terms, among, max_neighbors=max_neighbors)

    def state(self) -> SourceState:
        """State from which an equal source can be built, without the corpus."""
        inner = self._space.state()
        return SourceState(self.kind, inner.settings, inner.arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state."""
        return cls(EmbeddingSimilarity.from_state(state))


def check_scale(*, threshold: float, exponent: float, max_neighbors: int = 1) -> None:
    """Raise InvalidInputError if a setting common to these sources is out of range."""
    check_number("threshold", threshold, least=0, most=1)
    check_number("exponent", exponent, above=0)
    check_whole("max_neighbors", max_neighbors)
