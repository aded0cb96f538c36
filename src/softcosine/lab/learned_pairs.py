"""Base of all sources whose pairs of similar terms are learned from a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.similarity.pairs import table_of
from softcosine.similarity.source import Neighbors, SourceState
from softcosine.similarity.thesaurus.concepts import concepts_of_table
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.packing import pack_strings


class LearnedPairs:
    """A table of similar pairs, with its settings.

    Terms without a similar one are unknown, and a word that several terms have is the first one's.

    Parameters
    ----------
    words : sequence of str
    rows : ndarray of shape (n_words,), int32
        The term of each word, which may have several.
    matrix : csr_array of shape (n_terms, n_terms), float32
        Symmetric, in (0, 1], without diagonal.
    learned : mapping
        Settings of the learning, JSON-serialisable.
    """

    __slots__ = ("_learned", "_pairs", "_rows", "matrix")

    kind: ClassVar[str]

    def __init__(
        self,
        words: Sequence[str],
        rows: NDArray[np.int32],
        matrix: csr_array,
        learned: Mapping[str, Any],
    ) -> None:
        similar = np.diff(matrix.indptr) > 0
        places = (np.cumsum(similar) - 1).astype(np.int32)
        named = np.flatnonzero(similar[rows]) if len(rows) else np.empty(0, np.int64)
        first: dict[str, int] = {}
        for i in named.tolist():
            first.setdefault(words[i], i)
        self.matrix = matrix[similar][:, similar]
        self._rows = places[rows[np.fromiter(first.values(), np.int64, len(first))]]
        concepts = concepts_of_table([*first], self._rows, self.matrix)
        self._pairs = ThesaurusSimilarity(concepts, name=self.kind)
        self._learned = dict(learned)

    @property
    def words(self) -> tuple[str, ...]:
        """Terms and surface forms that are similar to another one."""
        return self._pairs.words

    @property
    def learned(self) -> dict[str, Any]:
        """Settings of the learning."""
        return dict(self._learned)

    @property
    def exponent(self) -> float:
        """Exponent of the values."""
        return float(self._learned.get("exponent", 1.0))

    def __len__(self) -> int:
        """Return the number of pairs of similar terms."""
        return int(self.matrix.nnz) // 2

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self._learned.items())
        return f"{type(self).__name__}({len(self)} pairs of {len(self.words)} words{settings})"

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is similar to another one, shape (n_terms,)."""
        return self._pairs.knows(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 1 for equal strings, 0 for unknown."""
        return self._pairs.similarities(left, right)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        return self._pairs.neighbors(terms, among, max_neighbors=max_neighbors)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        blob, offsets = pack_strings(self.words)
        S = self.matrix
        return SourceState(
            self.kind,
            self._learned,
            {
                "words": blob,
                "word_offsets": offsets,
                "rows": self._rows,
                "indptr": S.indptr,
                "indices": S.indices,
                "similarities": S.data,
            },
        )

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Source with the given state."""
        return cls(*table_of(state.arrays), state.settings)


def best_pairs(
    blocks: Iterable[tuple[int, csr_array]],
    n_terms: int,
    *,
    threshold: float,
    exponent: float,
    max_neighbors: int,
) -> csr_array:
    """Keep the pairs that are among the best of at least one of their terms.

    Every term chooses at most `max_neighbors` others, so there are at most ``max_neighbors *
    n_terms`` pairs; a term that many others choose has more. Ties go to the lower number.

    Parameters
    ----------
    blocks : iterable of (int, csr_array)
        Number of the first row, and consecutive rows of a symmetric float64 matrix with an empty
        diagonal.
    n_terms : int
    threshold : float
        Minimum value, compared in float32.
    exponent : float
        Exponent applied to the values.
    max_neighbors : int

    Returns
    -------
    csr_array of shape (n_terms, n_terms), float32
        Symmetric to the bit, in (0, 1].
    """
    rows: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    columns: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    values: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
    # Strings in the order of the numbers; only their order matters.
    order = tuple(f"{i:08x}" for i in range(n_terms))
    for first, block in blocks:
        of = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        above = np.flatnonzero(block.data.astype(np.float32) >= threshold)
        powers = np.minimum(block.data[above] ** exponent, 1.0).astype(np.float32)
        found = Neighbors.from_pairs(
            of[above],
            block.indices[above],
            powers,
            n_terms=block.shape[0],
            among=order,
            max_neighbors=max_neighbors,
        )
        rows.append(found.rows() + first)
        columns.append(found.indices)
        values.append(found.similarities)
    ends = (np.concatenate(rows), np.concatenate(columns))
    chosen = csr_array((np.concatenate(values), ends), shape=(n_terms, n_terms))
    return csr_array(chosen.maximum(chosen.T))
