"""Similarity of syntactic n-grams by the edit distance of their items (theory T18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine._validation import check_number
from softcosine.lab.kernels.paths import path_distances
from softcosine.lab.syntactic.dependency import split_path
from softcosine.similarity.cooccurrence.counts import row_blocks
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    checked_source,
    equal_strings,
    state_of,
)


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths as numbers of their items.

    Attributes
    ----------
    parts : tuple of str
        Distinct items.
    starts : ndarray of shape (n_paths + 1,), int64
    numbers : ndarray of shape (starts[-1],), int32
        Path ``i`` has the items ``numbers[starts[i]:starts[i + 1]]``; none if it is not a path.
    """

    parts: tuple[str, ...]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of paths."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each path, shape (n_paths,)."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, terms: Sequence[str]) -> Paths:
        """Split terms into their items; a term of a single item is not a path."""
        cut = [split_path(term) for term in terms]
        cut = [parts if len(parts) > 1 else () for parts in cut]
        table = {part: i for i, part in enumerate(dict.fromkeys(chain.from_iterable(cut)))}
        starts = running_sum(map(len, cut))
        numbers = (table[part] for part in chain.from_iterable(cut))
        return cls(tuple(table), starts, np.fromiter(numbers, np.int32, int(starts[-1])))

    def some(self, first: int, last: int, *, parts: tuple[str, ...] | None = None) -> Paths:
        """Return consecutive paths, with their own items or the given ones."""
        bounds = self.starts[first : last + 1]
        numbers = self.numbers[bounds[0] : bounds[-1]]
        if parts is None:
            used, inverse = np.unique(numbers, return_inverse=True)
            parts = tuple(self.parts[i] for i in used.tolist())
            return Paths(parts, bounds - bounds[0], inverse.astype(np.int32))
        return Paths(parts, bounds - bounds[0], numbers)

    def renumbered(self, like: Paths) -> Paths:
        """Return the same paths with the item numbers of other paths, -1 for unknown items."""
        table = {part: i for i, part in enumerate(like.parts)}
        numbers = np.array([table.get(part, -1) for part in self.parts], np.int32)
        return Paths(self.parts, self.starts, numbers[self.numbers])


@dataclass(frozen=True, slots=True)
class Searched:
    """A searched sequence.

    Attributes
    ----------
    paths : Paths
    holders : csr_array of shape (n_parts, n_strings), float32
        1 where a path contains an item.
    ids : mapping of str to int
        A number for each distinct string.
    numbers : ndarray of shape (n_strings,), int32
        The number of each string.
    """

    paths: Paths
    holders: csr_array
    ids: Mapping[str, int]
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, strings: Sequence[str]) -> Searched:
        """Index the strings."""
        paths = Paths.of(strings)
        of = np.repeat(np.arange(len(paths)), paths.lengths)
        holders = csr_array(
            (np.ones(len(of), np.float32), (paths.numbers, of)),
            shape=(len(paths.parts), len(paths)),
        )
        ids = {string: i for i, string in enumerate(dict.fromkeys(strings))}
        numbers = np.fromiter((ids[string] for string in strings), np.int32, len(strings))
        return cls(paths, holders, ids, numbers)


def equal_parts(left: Paths, right: Paths) -> csr_array:
    """Return which items of the left and the right are equal, (n_left_parts, n_right_parts)."""
    table = {part: i for i, part in enumerate(right.parts)}
    columns = np.array([table.get(part, -1) for part in left.parts], np.int64)
    rows = np.flatnonzero(columns >= 0)
    ones = np.ones(len(rows), np.float32)
    return csr_array((ones, (rows, columns[rows])), shape=(len(left.parts), len(right.parts)))


def promising_parts(
    asked: Paths, counterparts: csr_array, searched: Searched, threshold: float
) -> tuple[csr_array, NDArray[np.int64]]:
    """Find items of each path such that every similar path has a counterpart of at least one.

    If ``1 - d / max(|p|, |q|) >= t``, at least ``t |p|`` items of p stay or are replaced by similar
    ones. So any ``|p| - ceil(t |p|) + 1`` items contain one of them; the rarest are taken.

    Parameters
    ----------
    asked : Paths
    counterparts : csr_array of shape (n_asked_parts, n_searched_parts)
        1 where two items are similar.
    searched : Searched
    threshold : float
        t above.

    Returns
    -------
    promising : csr_array of shape (n_asked, n_asked_parts), float32
        1 for these items.
    costs : ndarray of shape (n_asked + 1,), int64
        Cumulative number of paths with a counterpart, with repetitions.
    """
    frequencies = np.diff(searched.holders.indptr).astype(np.float64)
    costs = np.asarray(counterparts @ frequencies)[asked.numbers]
    lengths = asked.lengths
    of = np.repeat(np.arange(len(asked)), lengths)
    order = np.lexsort((costs, of))
    place = np.arange(len(of)) - np.repeat(asked.starts[:-1], lengths)
    # Similarities are compared in float32, so allow for rounding at the threshold.
    needed = np.maximum(np.ceil(threshold * lengths - 1e-6 * lengths), 1.0)
    taken = order[place < np.repeat(lengths - needed + 1.0, lengths)]
    promising = csr_array(
        (np.ones(len(taken), np.float32), (of[taken], asked.numbers[taken])),
        shape=(len(asked), len(asked.parts)),
    )
    per_path = np.bincount(of[taken], weights=costs[taken], minlength=len(asked))
    running = running_sum(per_path)
    return promising, running


def pairs_of_parts(
    left: Paths, right: Paths, places: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of items of the left and right paths numbered `places`."""
    n_right = max(1, len(right.parts))
    found = [np.empty(0, np.int64)]
    for place in places.tolist():
        a = left.numbers[left.starts[place] : left.starts[place + 1]].astype(np.int64)
        b = right.numbers[right.starts[place] : right.starts[place + 1]]
        found.append((a[:, np.newaxis] * n_right + b).ravel())
    i, j = np.divmod(np.unique(np.concatenate(found)), n_right)
    return i, j


_BELOW_ONE = np.nextafter(np.float32(1.0), np.float32(0.0))
_BLOCK_PAIRS = 1 << 22  # pairs of paths compared at once
_BLOCK_TABLE = 1 << 24  # similarities of items held at once
_CHUNK_PAIRS = 1 << 14

# The number of the first query path, the query paths, the searched paths, the similarities of their
# items (empty if only equal items are similar), and the candidate pairs of the two.
_Candidates = tuple[int, Paths, Paths, NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]


class SyntacticSimilarity:
    r"""Similarity of paths in dependency trees by the edit distance of their items.

    .. math:: s(p, q) = \min(1, \alpha \, c^\beta) \text{ where }
        c = 1 - \frac{d(p, q)}{\max(|p|, |q|)} \ge t, \text{ else } 0

    with d the edit distance of p and q: an insertion or deletion costs 1; a replacement costs 1, or
    1 minus the similarity of the items if there is a source of it. Different paths always have a
    similarity below 1.

    The source covers all terms of two or more items that `SyntacticNgrams` makes; other strings are
    similar only to themselves.

    Parameters
    ----------
    parts : TermSimilaritySource, optional
        Source of the similarity of items. By default only equal items are similar.
    threshold : float, default 0.5
        t above, in (0, 1]. Higher values are faster.
    alpha, beta : float, default 1.0
        Above 0. Those of theory T14, for single words, are 1.8 and 5.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.

    Examples
    --------
    >>> source = SyntacticSimilarity()
    >>> source.similarities(["chase>cats", "chase>cats"], ["chase>dogs", "see>dogs"]).tolist()
    [0.5, 0.0]
    >>> found = source.neighbors(["a>b>c"], ("b>c", "c>d", "a>b>x", "a"), max_neighbors=3)
    >>> found.indices.tolist(), found.similarities.round(3).tolist()
    ([2, 0], [0.6669999957084656, 0.6669999957084656])
    """

    __slots__ = ("_alpha", "_beta", "_order", "_parts", "_searched", "_threshold")
    label = "syntax"

    def __init__(
        self,
        parts: TermSimilaritySource | None = None,
        *,
        threshold: float = 0.5,
        alpha: float = 1.0,
        beta: float = 1.0,
    ) -> None:
        check_number("threshold", threshold, above=0, most=1)
        for name, value in (("alpha", alpha), ("beta", beta)):
            check_number(name, value, above=0)
        self._parts = None if parts is None else checked_source(parts)
        self._threshold = float(threshold)
        self._alpha = float(alpha)
        self._beta = float(beta)
        self._searched = LastTuple[Searched]()
        self._order = StringOrder()

    @property
    def parts(self) -> TermSimilaritySource | None:
        """Source of the similarity of items."""
        return self._parts

    def __repr__(self) -> str:
        return (
            f"SyntacticSimilarity({self._parts!r}, threshold={self._threshold:g}, "
            f"alpha={self._alpha:g}, beta={self._beta:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is a path of two or more items, shape (n_terms,)."""
        return np.fromiter((len(split_path(term)) > 1 for term in terms), np.bool_, len(terms))

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        n_pairs = check_pairs(left, right)
        answer = np.zeros(n_pairs, np.float32)
        # The table of the items' similarities grows with the square of a block.
        step = n_pairs if self._parts is None else 512
        for start in range(0, n_pairs, max(step, 1)):
            part = slice(start, start + step)
            answer[part] = self._of_pairs(Paths.of(left[part]), Paths.of(right[part]))
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _of_pairs(self, left: Paths, right: Paths) -> NDArray[np.float32]:
        """Similarity of each left path with the right path at its index."""
        places = np.flatnonzero((left.lengths > 0) & (right.lengths > 0)).astype(np.int32)
        similar = np.empty((0, 0), np.float32)
        if self._parts is None:
            right = right.renumbered(left)
        else:
            i, j = pairs_of_parts(left, right, places)
            similar = np.zeros((len(left.parts), len(right.parts)), np.float32)
            similar[i, j] = self._parts.similarities(
                [left.parts[a] for a in i.tolist()], [right.parts[b] for b in j.tolist()]
            )
        answer = np.zeros(len(left), np.float32)
        answer[places] = self._compared(left, right, similar, places, places)
        return answer

    def _compared(
        self,
        left: Paths,
        right: Paths,
        similar: NDArray[np.float32],
        i: NDArray[np.int32],
        j: NDArray[np.int32],
    ) -> NDArray[np.float32]:
        """Similarity of the paths ``i`` of the left with the paths ``j`` of the right."""
        distances = np.empty(len(i), np.float64)
        starts, numbers = right.starts, right.numbers

        def work(first: int, last: int) -> None:
            path_distances(
                left.starts, left.numbers, starts, numbers, similar, i, j, first, last, distances
            )

        for_each_chunk(work, len(i), chunk=_CHUNK_PAIRS)
        share = np.maximum(1.0 - distances / np.maximum(left.lengths[i], right.lengths[j]), 0.0)
        values = (self._alpha * share**self._beta).astype(np.float32)
        values[share.astype(np.float32) < np.float32(self._threshold)] = 0.0
        return np.minimum(values, _BELOW_ONE)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly.

        Only paths with a common or similar item are compared: of a path of n items, at least
        ``threshold * n`` have a counterpart in each of its neighbours, so at least one of its
        ``n - ceil(threshold * n) + 1`` rarest items has one.
        """
        check_limit(max_neighbors)
        asked = Paths.of(terms)
        if not len(asked.parts) or max_neighbors == 0:
            return Neighbors.none(len(terms))
        searched = self._searched.get(among, lambda: Searched.of(among))
        if not len(searched.paths.parts):
            return Neighbors.none(len(terms))
        ids = np.fromiter((searched.ids.get(term, -1) for term in terms), np.int32, len(terms))
        found = []
        for first, left, right, similar, i, j in self._candidates(asked, searched):
            similarities = self._compared(left, right, similar, i, j)
            stay = (similarities > 0.0) & (ids[first + i] != searched.numbers[j])
            part = Neighbors.from_pairs(
                i[stay],
                j[stay],
                similarities[stay],
                n_terms=len(left),
                among=among,
                max_neighbors=max_neighbors,
                order=self._order,
            )
            found.append(part)
        return Neighbors.concatenated(found)

    def _candidates(self, asked: Paths, searched: Searched) -> Iterator[_Candidates]:
        """Yield candidate pairs of paths, by blocks of the query paths."""
        n_parts = len(searched.paths.parts)
        step = len(asked)
        if self._parts is not None:
            step = max(1, _BLOCK_TABLE // (n_parts * int(asked.lengths.max())))
        for start in range(0, len(asked), step):
            block = asked.some(start, min(start + step, len(asked)))
            if self._parts is None:
                right, similar = searched.paths.renumbered(block), np.empty((0, 0), np.float32)
                counterparts = equal_parts(block, searched.paths)
            else:
                right = searched.paths
                similar = self._similar_parts(block, searched.paths)
                counterparts = csr_array(similar > 0.0, dtype=np.float32)
            promising, costs = promising_parts(block, counterparts, searched, self._threshold)
            for first, last in row_blocks(costs, _BLOCK_PAIRS):
                found = csr_array(promising[first:last] @ counterparts @ searched.holders)
                i = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(found.indptr))
                left = block.some(first, last, parts=block.parts)
                yield start + first, left, right, similar, i, found.indices.astype(np.int32)

    def _similar_parts(self, left: Paths, right: Paths) -> NDArray[np.float32]:
        """Similarity of every item of the left with every item of the right."""
        assert self._parts is not None
        found = self._parts.neighbors(left.parts, right.parts, max_neighbors=len(right.parts))
        similar = np.zeros((len(left.parts), len(right.parts)), np.float32)
        similar[found.rows(), found.indices] = found.similarities
        same = equal_parts(left, right).tocoo()
        similar[same.coords] = 1.0
        return similar

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        settings = {"threshold": self._threshold, "alpha": self._alpha, "beta": self._beta}
        parts = () if self._parts is None else (state_of(self._parts),)
        return SourceState("syntactic", settings, parts=parts)

    @classmethod
    def from_state(cls, state: SourceState) -> SyntacticSimilarity:
        """Source with the given state."""
        parts = source_from_state(state.parts[0]) if state.parts else None
        return cls(parts, **state.settings)
