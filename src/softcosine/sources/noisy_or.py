"""Several sources as independent witnesses: each may be wrong, all together seldom are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.sources.neighbors import Neighbors, StringOrder
from softcosine.sources.parts import SourceOfSources, fill_in, union
from softcosine.sources.source import (
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
_BLOCK_PAIRS = 1 << 21  # of one part's neighbours held at a time


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

    Neighbours are exact, if the parts' are: a pair in no part's list is at most what the last
    places of these lists give together, so lists are lengthened, term by term, until the last
    neighbour kept is above that bound (the threshold algorithm of Fagin, Lotem & Naor 2003).

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.

    Examples
    --------
    >>> from softcosine.sources.embedding import EmbeddingSimilarity
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
        values = [source.similarities(left, right) for source in self.sources]
        answer = _joined(values)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(terms) == 0:
            return Neighbors.none(len(terms))
        asked = np.arange(len(terms))
        limit = min(2 * max_neighbors, max(len(among), 1))
        rows: list[NDArray[Any]] = []
        columns: list[NDArray[Any]] = []
        values: list[NDArray[np.float32]] = []
        while len(asked):
            step = max(1, _BLOCK_PAIRS // limit)
            open_rows = []
            for start in range(0, len(asked), step):
                block = asked[start : start + step]
                words = [terms[i] for i in block.tolist()]
                found, bound = self._from_lists(words, among, max_neighbors, limit)
                counts = np.diff(found.indptr)
                last = np.zeros(len(block), np.float32)
                full = counts == max_neighbors
                last[full] = found.similarities[found.indptr[1:][full] - 1]
                settled = (bound == 0.0) | (last > bound)
                stay = settled[found.rows()]
                rows.append(block[found.rows()[stay]])
                columns.append(found.indices[stay])
                values.append(found.similarities[stay])
                open_rows.append(block[~settled])
            asked = np.concatenate(open_rows)
            limit = min(2 * limit, len(among))
        return Neighbors.from_pairs(
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(values),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def _from_lists(
        self, terms: Sequence[str], among: Sequence[str], max_neighbors: int, limit: int
    ) -> tuple[Neighbors, NDArray[np.float32]]:
        """Best of the pairs in the parts' lists; and what no other pair of a term exceeds."""
        lists = [source.neighbors(terms, among, max_neighbors=limit) for source in self.sources]
        rows, columns, values = union(lists, len(among))
        lasts = []
        for source, part, value in zip(self.sources, lists, values, strict=True):
            # A list that is not full holds all that the part knows.
            full = np.diff(part.indptr) == limit if limit < len(among) else np.zeros(0, np.bool_)
            last = np.zeros(len(terms), np.float32)
            if full.any():
                last[full] = part.similarities[part.indptr[1:][full] - 1]
                fill_in(source, value, terms, among, rows, columns, (value == 0.0) & full[rows])
            lasts.append(last)
        found = Neighbors.from_pairs(
            rows,
            columns,
            _joined(values),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )
        return found, _joined(lasts)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        return SourceState("noisy_or", parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> NoisyOrSimilarity:
        """Source that `state` was taken from."""
        return cls([source_from_state(part) for part in state.parts])


def _joined(values: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> NDArray[np.float32]:
    """Join the parts' similarities; never decreasing in any of them, rounding included."""
    rest = np.ones(len(values[0]))
    for value in values:
        rest *= 1.0 - value.astype(np.float64)
    return np.minimum((1.0 - rest).astype(np.float32), _MOST)
