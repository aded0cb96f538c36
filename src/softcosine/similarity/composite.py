"""Base classes of the sources made of other sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import known_by, neighbors_by, similarities_by
from softcosine.similarity.in_terms import (
    PersonsList,
    TermKeys,
    are_pinned,
    have_pins,
    in_terms,
    known_as_written,
    lists_in,
)
from softcosine.similarity.neighbors import NO_PAIRS, Neighbors, StringOrder
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    checked_source,
    equal_strings,
    source_from_state,
    state_of,
    usual_neighbors,
)

# Neighbours of some terms, and for each term whether these are final.
Settled = tuple[Neighbors, NDArray[np.bool_]]


class SourceOfSources:
    """Base of sources that join others. A term is known if any joined source knows it.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.

    Raises
    ------
    InvalidInputError
        If there is none, or one is not a source.
    """

    __slots__ = ("_order", "_sources")
    kind: ClassVar[str]  # of the stored state

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        self._order = StringOrder()
        self._sources = tuple(map(checked_source, sources))
        if not self._sources:
            raise InvalidInputError("there are no sources; give one or more.")

    @property
    def sources(self) -> tuple[TermSimilaritySource, ...]:
        """The joined sources."""
        return self._sources

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self._sources))})"

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState(self.kind, parts=tuple(map(state_of, self._sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state."""
        return cls([source_from_state(part) for part in state.parts], **state.settings)

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether any joined source knows each term, shape (n_terms,)."""
        known = np.zeros(len(terms), np.bool_)
        for source in self._sources:
            known |= known_by(source, terms)
        return known

    def _of(self, sources: Sequence[TermSimilaritySource]) -> Self:
        """Return the same join of other sources."""
        return type(self)(sources)

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the join with all lists in terms; see `softcosine.similarity.in_terms`."""
        parts = [in_terms(source, keys) for source in self._sources]
        same = all(part is own for part, own in zip(parts, self._sources, strict=True))
        made: Any = self if same else self._of(parts)
        joined: TermSimilaritySource = made
        return joined

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether any joined source knows each word in exactly this form."""
        return _any(known_as_written(source, terms) for source in self._sources)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return _any(have_pins(source, terms) for source in self._sources)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged, because a list inside has them."""
        return _any(are_pinned(source, left, right) for source in self._sources)

    def lists(self) -> Iterator[PersonsList]:
        """Iterate over the lists inside the joined sources."""
        return chain.from_iterable(map(lists_in, self._sources))


class SourceOfOne:
    """Base of sources that change the similarities of one other source. It knows the same terms.

    Raises
    ------
    InvalidInputError
        If it is not a source.
    """

    __slots__ = ("_source",)

    def __init__(self, source: TermSimilaritySource) -> None:
        self._source = checked_source(source)

    @property
    def usual_neighbors(self) -> int:
        """Default limit of the inner source; see `softcosine.similarity.source.usual_neighbors`."""
        return usual_neighbors(self._source)

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source knows each term, shape (n_terms,)."""
        return known_by(self._source, terms)

    def _over(self, source: TermSimilaritySource) -> Self:
        """Return the same change applied to another source."""
        raise NotImplementedError

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the same source with all lists inside in terms."""
        source = in_terms(self._source, keys)
        made: Any = self if source is self._source else self._over(source)
        changed: TermSimilaritySource = made
        return changed

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source knows each word in exactly this form."""
        return known_as_written(self._source, terms)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return have_pins(self._source, terms)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged, because a list inside has them."""
        return are_pinned(self._source, left, right)

    def lists(self) -> Iterator[PersonsList]:
        """Iterate over the lists inside the source."""
        return lists_in(self._source)


class MappedSource(SourceOfOne):
    """Base of sources that apply an increasing function to the similarities of another source."""

    __slots__ = ("_order",)

    def __init__(self, source: TermSimilaritySource) -> None:
        super().__init__(source)
        self._order = StringOrder()

    def _mapped(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map similarities; `mapped_neighbors` states the requirements."""
        raise NotImplementedError

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, mapped; 1 for equal strings."""
        check_pairs(left, right)
        answer = self._mapped(similarities_by(self._source, left, right))
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        return mapped_neighbors(
            self._source,
            self._mapped,
            terms,
            among,
            max_neighbors=max_neighbors,
            order=self._order,
        )


def _any(masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    answer: NDArray[np.bool_] = np.logical_or.reduce(list(masks))
    return answer


def mapped_neighbors(
    source: TermSimilaritySource,
    apply: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    order: StringOrder,
) -> Neighbors:
    """Return the neighbours under an increasing map of a source's similarities.

    The map keeps the order, except where rounding to float32 makes different similarities equal.
    Then the strings decide, and a neighbour beyond the limit may move up. Therefore one neighbour
    more is requested, and further ones while it ties with the last place.

    Parameters
    ----------
    source : TermSimilaritySource
    apply : callable
        Elementwise, increasing up to rounding, with values in [0, 1] and 0 for 0.
    terms, among, max_neighbors
        As for the source.
    order : StringOrder
        Caches the order of the strings of `among`.
    """

    def best(words: Sequence[str], asked: NDArray[np.int64], limit: int) -> Settled:
        found = neighbors_by(source, words, among, max_neighbors=limit)
        values = apply(found.similarities)
        again = np.zeros(len(words), np.bool_)
        if limit < len(among):
            again = _cut_within_a_tie(found, values, max_neighbors, limit)
        collapsed = (values[1:] == values[:-1]) & (np.diff(found.similarities) != 0.0)
        if not collapsed.any():  # sorted already
            mapped = Neighbors(found.indptr, found.indices, values)
            return mapped.where(values > 0.0, max_neighbors=max_neighbors), ~again
        mapped = Neighbors.from_pairs(
            found.rows(), found.indices, values,
            n_terms=len(words), among=among, max_neighbors=max_neighbors, order=order,
        )  # fmt: skip
        return mapped, ~again

    return neighbors_in_rounds(best, terms, [(np.arange(len(terms)), max_neighbors + 1)])


def neighbors_in_rounds(
    best: Callable[[Sequence[str], NDArray[np.int64], int], Settled],
    terms: Sequence[str],
    groups: Sequence[tuple[NDArray[np.int64], int]],
) -> Neighbors:
    """Return the neighbours of terms, requested with a limit that doubles until they are final.

    Parameters
    ----------
    best : callable
        Takes some terms, their positions in `terms`, and a limit of what sources list. Returns
        their best neighbours by that, and for each term whether these are final.
    terms : sequence of str
    groups : sequence of (ndarray of integers, int)
        Positions of terms, and their first limit. Terms in no group have no neighbours.
    """
    waiting, pairs = list(groups), [NO_PAIRS]
    while waiting:
        asked, limit = waiting.pop()
        if len(asked) == 0:
            continue
        words = terms if len(asked) == len(terms) else [terms[i] for i in asked.tolist()]
        found, final = best(words, asked, limit)
        if len(asked) == len(terms) and final.all():
            return found
        stay = final[found.rows()]
        pairs.append((asked[found.rows()[stay]], found.indices[stay], found.similarities[stay]))
        waiting.append((asked[~final], 2 * limit))
    rows, columns, similarities = map(np.concatenate, zip(*pairs, strict=True))
    by_row = np.argsort(rows, kind="stable")
    indptr = running_sum(np.bincount(rows, minlength=len(terms)))
    columns, similarities = columns.astype(np.int32), similarities.astype(np.float32)
    return Neighbors(indptr, columns[by_row], similarities[by_row])


def _cut_within_a_tie(
    found: Neighbors, values: NDArray[np.float32], max_neighbors: int, limit: int
) -> NDArray[np.bool_]:
    """Which rows may continue with similarities that the map makes equal to the last one.

    Rows whose ties were equal before the map are excluded: their strings are in order, and so are
    those of the neighbours that follow.
    """
    again = np.zeros(len(found), np.bool_)
    full = np.flatnonzero(np.diff(found.indptr) == limit)
    if len(full) == 0 or max_neighbors == 0:
        return again
    begins = np.zeros(len(values), np.bool_)  # a run of equal similarities
    begins[1:] = values[1:] != values[:-1]
    begins[found.indptr[:-1][np.diff(found.indptr) > 0]] = True
    run = np.cumsum(begins) - 1
    last, place = found.indptr[full + 1] - 1, found.indptr[full] + max_neighbors - 1
    first = np.flatnonzero(begins)[run[place]]
    before = found.similarities
    again[full] = (run[last] == run[place]) & (before[first] != before[last])
    return again
