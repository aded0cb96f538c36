"""Joins of several sources (theory T14): strongest, noisy-or, first; and scaling of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import known_by, neighbors_by, similarities_by
from softcosine.similarity.composite import (
    Settled,
    SourceOfOne,
    SourceOfSources,
    neighbors_in_rounds,
)
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import are_pinned
from softcosine.similarity.neighbors import NO_PAIRS, Neighbors, Pairs
from softcosine.similarity.source import (
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
)


@dataclass(frozen=True, slots=True)
class _KnownStrings:
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
        self._searched = LastTuple[_KnownStrings]()

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
        searched = self._searched.get(among, lambda: _KnownStrings(among, self._knowing(among)))
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
        return self._order.best(among, *pairs, n_terms=len(terms), max_neighbors=max_neighbors)

    def _knowing(self, terms: Sequence[str]) -> NDArray[np.int64]:
        """Return a bit set of the sources that know each term."""
        bits = np.zeros(len(terms), np.int64)
        for number, source in enumerate(self.sources):
            bits |= known_by(source, terms).astype(np.int64) << number
        return bits


_BLOCK_PAIRS = 1 << 21  # neighbours per source and chunk


def _union(
    parts: Sequence[Neighbors], n_among: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """All pairs of several lists of neighbours, and their similarities in each, 0 where absent.

    Returns
    -------
    rows, columns : ndarray of shape (n_pairs,), int64
        Every pair once, sorted.
    values : ndarray of shape (n_parts, n_pairs), float32
    """
    keys = [part.rows() * n_among + part.indices for part in parts]
    pairs = np.sort(np.concatenate(keys))  # np.unique is many times slower
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    values = np.zeros((len(parts), len(pairs)), np.float32)
    for value, key, part in zip(values, keys, parts, strict=True):
        value[np.searchsorted(pairs, key)] = part.similarities
    return pairs // max(n_among, 1), pairs % max(n_among, 1), values


def _fill_in(
    source: TermSimilaritySource,
    value: NDArray[np.float32],
    terms: Sequence[str],
    among: Sequence[str],
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    missing: NDArray[np.bool_],
) -> None:
    """Compute the similarities of the `missing` pairs by a source, and write them."""
    doubtful = missing & known_by(source, terms)[rows] & known_by(source, among)[columns]
    asked = np.flatnonzero(doubtful)
    if len(asked):
        left = [terms[i] for i in rows[asked].tolist()]
        right = [among[j] for j in columns[asked].tolist()]
        value[asked] = similarities_by(source, left, right)


_MOST = np.nextafter(np.float32(1.0), np.float32(0.0))  # maximum for different strings


def strongest(*sources: TermSimilaritySource) -> StrongestSimilarity:
    """Return a source with the greatest similarity of several sources."""
    return StrongestSimilarity(sources)


def noisy_or(*sources: TermSimilaritySource) -> NoisyOrSimilarity:
    """Return a source that joins several sources as independent evidence."""
    return NoisyOrSimilarity(sources)


def first(*sources: TermSimilaritySource) -> FirstSimilarity:
    """Return a source that uses, for each pair, the first source that knows both terms."""
    return FirstSimilarity(sources)


def scaled(source: TermSimilaritySource, factor: float) -> ScaledSimilarity:
    """Return a source whose similarities are those of another times a factor."""
    return ScaledSimilarity(source, factor)


class JoinedSimilarity(SourceOfSources):
    """Base of joins that compute the similarity of a pair from those by each source.

    Neighbours are exact if those of the joined sources are. The joint similarity of a pair that is
    in no source's list of neighbours is at most the join of the last similarities of these lists.
    So the lists, at first twice as long as requested, are extended term by term until the last
    neighbour is above that bound (threshold algorithm of Fagin, Lotem & Naor 2003). In the worst
    case, where all similarities are nearly equal, they contain all strings.
    """

    __slots__ = ()

    def _join(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the joint similarities from those by each source, each of shape (n_pairs,).

        They are 0 where all are 0, and never decrease in any of them, rounding included.
        """
        raise NotImplementedError

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Joint similarity of the pairs ``(left[i], right[i])``."""
        check_pairs(left, right)
        answer = self._join([similarities_by(source, left, right) for source in self.sources])
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(terms) == 0:
            return Neighbors.none(len(terms))

        def best(words: Sequence[str], asked: NDArray[np.int64], limit: int) -> Settled:
            limit = min(limit, max(len(among), 1))
            step = max(1, _BLOCK_PAIRS // limit)
            parts, settled = [], []
            for start in range(0, len(words), step):
                block = words[start : start + step]
                listed, bound = self._from_lists(block, among, limit)
                found = self._order.best(
                    among, listed, n_terms=len(block), max_neighbors=max_neighbors
                )
                last = np.zeros(len(block), np.float32)
                full = np.diff(found.indptr) == max_neighbors
                last[full] = found.similarities[found.indptr[1:][full] - 1]
                parts.append(found)
                settled.append((bound == 0.0) | (last > bound))
            return Neighbors.concatenated(parts), np.concatenate(settled)

        return neighbors_in_rounds(best, terms, [(np.arange(len(terms)), 2 * max_neighbors)])

    def _from_lists(
        self, terms: Sequence[str], among: Sequence[str], limit: int
    ) -> tuple[Pairs, NDArray[np.float32]]:
        """All pairs in the lists, joined; and for each term an upper bound of all other pairs."""
        lists = [neighbors_by(source, terms, among, max_neighbors=limit) for source in self.sources]
        rows, columns, values = _union(lists, len(among))
        lasts = []
        for source, part, value in zip(self.sources, lists, values, strict=True):
            last = np.zeros(len(terms), np.float32)
            # A list that is not full, or has room for all strings, omits no pair.
            full = (np.diff(part.indptr) == limit) & (limit < len(among))
            if full.any():
                last[full] = part.similarities[part.indptr[1:][full] - 1]
                _fill_in(source, value, terms, among, rows, columns, (value == 0.0) & full[rows])
            lasts.append(last)
        return (rows, columns, self._join(list(values))), self._join(lasts)


class StrongestSimilarity(JoinedSimilarity):
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

    def _join(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.asarray(np.maximum.reduce(values))

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
        pairs = [part.pairs() for part in parts]
        return self._order.best(among, *pairs, n_terms=len(terms), max_neighbors=max_neighbors)


class NoisyOrSimilarity(JoinedSimilarity):
    r"""Join of several sources as independent evidence (Pearl 1988).

    .. math:: s_{ij} = 1 - \prod_k \left(1 - s^{(k)}_{ij}\right)

    The result is at least the greatest similarity, and greater where several sources agree. A
    source that does not know a term has no effect. Different strings stay below 1 by at least the
    spacing of float32, even if a source gives them similarity 1. The sources should share one scale
    on which 0 means "not similar" (`scaled`). The join does not preserve positive
    semidefiniteness.

    Neighbours are exact if those of the joined sources are.

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

    def _join(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        rest = np.ones(len(values[0]))
        for value in values:
            rest *= 1.0 - value.astype(np.float64)
        return np.minimum((1.0 - rest).astype(np.float32), _MOST)


class ScaledSimilarity(SourceOfOne, JoinedSimilarity):
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

    __slots__ = ("factor",)
    kind = "scaled"

    def __init__(self, source: TermSimilaritySource, factor: float) -> None:
        super().__init__(source)
        check_number("factor", factor, above=0, most=1)
        self.factor = float(factor)

    def __repr__(self) -> str:
        return f"scaled({self.source!r}, {self.factor:g})"

    def _settings(self) -> dict[str, Any]:
        return {"factor": self.factor}

    def _join(self, values: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return (values[0].astype(np.float64) * self.factor).astype(np.float32)
