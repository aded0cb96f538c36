"""Base classes of the sources made of other sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import known_by
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
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    checked_source,
    state_of,
    usual_neighbors,
)

# Neighbours of some terms, and for each term whether these are final.
Settled = tuple[Neighbors, NDArray[np.bool_]]


class SourceOfSources(TermSimilaritySource):
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

    __slots__ = ("_order", "sources")
    kind: ClassVar[str]  # of the stored state

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        self._order = StringOrder()
        self.sources = tuple(map(checked_source, sources))
        if not self.sources:
            raise InvalidInputError("there are no sources; give one or more.")

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.sources))})"

    def _settings(self) -> dict[str, Any]:
        """Return the other arguments of the constructor, as JSON types."""
        return {}

    def over(self, *sources: TermSimilaritySource) -> Self:
        """Return the same join of other sources."""
        return type(self)(sources, **self._settings())

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState(self.kind, self._settings(), parts=tuple(map(state_of, self.sources)))

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state."""
        return cls([source_from_state(part) for part in state.parts], **state.settings)

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether any joined source knows each term, shape (n_terms,)."""
        return _any(known_by(source, terms) for source in self.sources)

    def in_terms(self, keys: TermKeys) -> TermSimilaritySource:
        """Return the join with all lists in terms; see `softcosine.similarity.in_terms`."""
        parts = [in_terms(source, keys) for source in self.sources]
        same = all(part is own for part, own in zip(parts, self.sources, strict=True))
        return self if same else self.over(*parts)

    def known_as_written(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether any joined source knows each word in exactly this form."""
        return _any(known_as_written(source, terms) for source in self.sources)

    def have_pins(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves some pair of each word unchanged."""
        return _any(have_pins(source, terms) for source in self.sources)

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged, because a list inside has them."""
        return _any(are_pinned(source, left, right) for source in self.sources)

    def lists(self) -> Iterator[PersonsList]:
        """Iterate over the lists inside the joined sources."""
        return chain.from_iterable(map(lists_in, self.sources))


class SourceOfOne(SourceOfSources):
    """Base of sources that change the similarities of one other source. It knows the same terms.

    Raises
    ------
    InvalidInputError
        If it is not a source.
    """

    __slots__ = ()

    def __init__(self, source: TermSimilaritySource) -> None:
        super().__init__((source,))

    @property
    def source(self) -> TermSimilaritySource:
        """The source without the change."""
        return self.sources[0]

    @property
    def usual_neighbors(self) -> int:
        """Default limit of the inner source; see `softcosine.similarity.source.usual_neighbors`."""
        return usual_neighbors(self.source)

    def over(self, *sources: TermSimilaritySource) -> Self:
        """Return the same change of another source."""
        return type(self)(*sources, **self._settings())

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state."""
        return cls(source_from_state(state.parts[0]), **state.settings)


def _any(masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    answer: NDArray[np.bool_] = np.logical_or.reduce(list(masks))
    return answer


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
