"""Sources in order of precedence: the first source that knows both terms decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import known_by, neighbors_by, similarities_by
from softcosine.similarity.composite import SourceOfSources
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import are_pinned
from softcosine.similarity.neighbors import NO_PAIRS, Neighbors, Pairs
from softcosine.similarity.source import (
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
)

__all__ = ["FirstSimilarity"]


@dataclass(frozen=True, slots=True)
class _Searched:
    """A searched sequence: which sources know each string, and subsets of it."""

    strings: Sequence[str]
    knowing: NDArray[np.int64]  # bit s is set if source s knows the string
    cuts: dict[int, tuple[Sequence[str], NDArray[np.int64]]] = field(default_factory=dict)

    def unknown_to(self, parts: int) -> tuple[Sequence[str], NDArray[np.int64]]:
        """Strings that no source of a bit set knows, and their positions."""
        cut = self.cuts.get(parts)
        if cut is None:
            positions = np.flatnonzero((self.knowing & parts) == 0)
            strings = self.strings
            if len(positions) < len(strings):
                strings = tuple(self.strings[i] for i in positions.tolist())
            cut = self.cuts[parts] = (strings, positions)
        return cut


class FirstSimilarity(SourceOfSources):
    """The similarity by the first source that knows both terms.

    Neighbours are exact if those of the joined sources are.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        1 to 32, in order of precedence.
    """

    __slots__ = ("_searched",)
    kind = "first"

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        super().__init__(sources)
        if len(self.sources) > 32:
            raise InvalidInputError(f"there are {len(self.sources)} sources; at most 32 can be.")
        self._searched = LastTuple[_Searched]()

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])`` by the first source that knows both."""
        check_pairs(left, right)
        answer = np.zeros(len(left), np.float32)
        for source, told, rows, columns in self._deciding(left, right):
            answer[told] = similarities_by(source, rows, columns)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged: the deciding source lists them."""
        pinned = np.zeros(len(left), np.bool_)
        for source, told, rows, columns in self._deciding(left, right):
            pinned[told] = are_pinned(source, rows, columns)
        return pinned

    def _deciding(
        self, left: Sequence[str], right: Sequence[str]
    ) -> Iterator[tuple[TermSimilaritySource, NDArray[np.int64], list[str], list[str]]]:
        """Yield each source with the positions of the pairs that it decides, and these pairs."""
        undecided = np.ones(len(left), np.bool_)
        for source in self.sources:
            told = np.flatnonzero(undecided & known_by(source, left) & known_by(source, right))
            undecided[told] = False
            pairs = told.tolist()
            if pairs:
                yield source, told, [left[i] for i in pairs], [right[i] for i in pairs]

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        knowing = self._knowing(terms)
        searched = self._searched.get(among, lambda: _Searched(among, self._knowing(among)))
        pairs: list[Pairs] = [NO_PAIRS]
        for number, source in enumerate(self.sources):
            # If earlier sources know the term, only strings that none of them knows remain.
            earlier = knowing & ((1 << number) - 1)
            told = (knowing >> number) & 1 == 1
            for known_to in np.unique(earlier[told]).tolist():
                asked = np.flatnonzero(told & (earlier == known_to))
                strings, positions = searched.unknown_to(known_to)
                if len(strings) == 0:
                    continue
                found = neighbors_by(
                    source,
                    [terms[i] for i in asked.tolist()],
                    strings,
                    max_neighbors=max_neighbors,
                )
                pairs.append((asked[found.rows()], positions[found.indices], found.similarities))
        return Neighbors.from_pairs(
            *map(np.concatenate, zip(*pairs, strict=True)),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def _knowing(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return a bit set of the sources that know each term."""
        bits = np.zeros(len(terms), np.int64)
        for number, source in enumerate(self.sources):
            bits |= known_by(source, terms).astype(np.int64) << number
        return bits
