"""Similarities given pair by pair, stored as a sparse symmetric matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from softcosine._ragged import running_sum, slices
from softcosine.errors import InvalidInputError
from softcosine.similarity.deferred import Deferred
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import PersonsList
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import (
    SourceState,
    check_limit,
    check_pairs,
    equal_strings,
    rows_of,
)
from softcosine.text.analyzer import shortened
from softcosine.text.packing import pack_strings, unpack_strings

_BLOCK_PAIRS = 1 << 22  # pairs of neighbours sorted per chunk


@dataclass(frozen=True, slots=True)
class _Searched:
    """Known strings of a searched sequence, grouped by row."""

    strings: Sequence[str]
    starts: NDArray[np.int64]  # positions[starts[r]:starts[r + 1]] are the strings of row r
    positions: NDArray[np.int32]
    n_similar: NDArray[np.int64]  # number of strings similar to each row


@dataclass(frozen=True, slots=True)
class _Table:
    """Row of each word, and the symmetric similarities of the rows."""

    found: dict[str, int]
    S: csr_array
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.found))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        blob, offsets = pack_strings(self.words)
        return {
            "words": blob,
            "word_offsets": offsets,
            "rows": np.fromiter(self.found.values(), np.int32, len(self.found)),
            "indptr": self.S.indptr,
            "indices": self.S.indices,
            "similarities": self.S.data,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> _Table:
        """Build the table from the arrays that `arrays` returned."""
        words = unpack_strings(arrays["words"], arrays["word_offsets"])
        n_rows = len(arrays["indptr"]) - 1
        S = csr_array(
            (arrays["similarities"], arrays["indices"], arrays["indptr"]), shape=(n_rows, n_rows)
        )
        # Kernels do not check bounds, and SciPy accepts decreasing row starts, so check here.
        S.check_format(full_check=True)
        if (np.diff(S.indptr) < 0).any() or S.indptr[-1] != len(S.indices):
            raise InvalidInputError(f"the starts of {n_rows} rows of pairs do not rise.")
        rows = arrays["rows"]
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise InvalidInputError(f"rows have the shape {rows.shape} and type {rows.dtype}.")
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < n_rows:
            raise InvalidInputError(
                f"rows run from {rows.min()} to {rows.max()}, but the pairs' matrix has {n_rows}."
            )
        return cls(dict(zip(words, rows.tolist(), strict=True)), S)


class PairSimilarity(PersonsList):
    """Similarities given pair by pair.

    A term is looked up as written, then casefolded. Two different strings in one row (forms of one
    stem, or letter cases of one word) are one term: their similarity is 1, and each is a neighbour
    of the other. An index compares the terms of the words, so the forms in the table and in the
    texts may differ; see `softcosine.similarity.in_terms`.

    Parameters
    ----------
    pairs : iterable of (str, str, float), or mapping of (str, str) to float
        Two terms and their similarity in (0, 1], stored as float32. If a pair is given several
        times, in either order, the greatest similarity counts. A pair of a term with itself is
        ignored.
    known : iterable of str, optional
        Further terms that the source knows, without neighbours.
    pinned : bool, default True
        Whether balancing S leaves these similarities unchanged. Use False for a large table that
        was not written by hand.

    Raises
    ------
    InvalidInputError
        If a similarity is not in (0, 1] or a term is not a string. The message names the pair.

    Examples
    --------
    >>> source = PairSimilarity([("tyre", "tire", 0.9), ("tire", "wheel", 0.5)])
    >>> source.similarities(["tire", "tyre"], ["tyre", "wheel"]).round(4).tolist()
    [0.8999999761581421, 0.0]
    """

    __slots__ = ("_kept", "_order", "_searched")

    def __init__(
        self,
        pairs: Iterable[tuple[str, str, float]] | Mapping[tuple[str, str], float],
        *,
        known: Iterable[str] = (),
        pinned: bool = True,
    ) -> None:
        numbers: dict[str, int] = {}
        left: list[int] = []
        right: list[int] = []
        weights: list[float] = []
        for a, b, weight in _triples(pairs):
            _check_pair(a, b, weight)
            left.append(numbers.setdefault(a, len(numbers)))
            right.append(numbers.setdefault(b, len(numbers)))
            weights.append(weight)
        for word in known:
            if not isinstance(word, str):
                raise InvalidInputError(f"the known term {word!r} is no string.")
            numbers.setdefault(word, len(numbers))
        S = _symmetric(
            np.array(left, np.int64),
            np.array(right, np.int64),
            np.array(weights, np.float32),
            len(numbers),
        )
        self._set(_Table(numbers, S), pinned=pinned)

    def _set(self, kept: _Table | Deferred[_Table], *, pinned: bool = True) -> None:
        self._kept = kept
        self.listed, self.pinned = True, bool(pinned)
        self._order = StringOrder()
        self._searched = LastTuple[_Searched]()

    @classmethod
    def of_matrix(
        cls, words: Sequence[str], S: csr_array, *, rows: NDArray[np.int32] | None = None
    ) -> PairSimilarity:
        """Return a source over an existing matrix; it is shared if it is in canonical form.

        Parameters
        ----------
        words : sequence of str
            If a word is given twice, the first counts.
        S : csr_array of shape (n_rows, n_rows), float32
            Symmetric to the bit, values in (0, 1], empty diagonal.
        rows : ndarray of shape (n_words,), int32, optional
            Row of each word. Words that share a row are one term. By default word ``i`` has row
            ``i``.

        Raises
        ------
        InvalidInputError
            If the matrix is not as above, or the rows do not fit it. The message names a wrong
            pair.
        """
        matrix = _canonical(S)
        numbers = np.arange(len(words), dtype=np.int32)
        if rows is not None:
            numbers = np.asarray(rows, dtype=np.int32)
        n_rows = matrix.shape[0]
        if numbers.shape != (len(words),) or (rows is None and len(words) != n_rows):
            raise InvalidInputError(
                f"there are {len(words)} words for {n_rows if rows is None else numbers.size} "
                "rows; give one row for each word."
            )
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < n_rows:
            raise InvalidInputError(
                f"rows run from {numbers.min()} to {numbers.max()}, but S has {n_rows}."
            )
        _check_matrix(words, matrix, numbers)
        found: dict[str, int] = {}
        for word, row in zip(words, numbers.tolist(), strict=True):
            found.setdefault(word, row)
        source = cls.__new__(cls)
        source._set(_Table(found, matrix))
        return source

    @property
    def _table(self) -> _Table:
        return self._kept.get() if isinstance(self._kept, Deferred) else self._kept

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the source knows."""
        return self._table.words

    @property
    def matrix(self) -> csr_array:
        """The similarities, shape (n_rows, n_rows), float32, without the diagonal."""
        return self._table.S

    def __len__(self) -> int:
        """Return the number of pairs of different terms."""
        return int(self._table.S.nnz) // 2

    def __repr__(self) -> str:
        return f"PairSimilarity({len(self)} pairs of {len(self.words)} words)"

    def renamed(self, names: Callable[[str], Sequence[str]]) -> PairSimilarity:
        """Return the same pairs under other names of their words; a word may get several names.

        Where several pairs become one, the greatest similarity counts. Names of one row are one
        term.
        """
        table = self._table
        numbers: dict[str, int] = {}
        of_row: list[list[int]] = [[] for _ in range(table.S.shape[0])]
        for word, row in table.found.items():
            for name in names(word):
                number = numbers.setdefault(name, len(numbers))
                if number not in of_row[row]:
                    of_row[row].append(number)
        starts = running_sum(map(len, of_row))
        own = np.array([number for row in of_row for number in row], np.int64)
        rows = np.repeat(np.arange(len(of_row)), np.diff(table.S.indptr))
        # One entry for every two names; two names of one row get similarity 1.
        of = np.concatenate((rows, np.arange(len(of_row))))
        to = np.concatenate((table.S.indices, np.arange(len(of_row))))
        weights = np.concatenate((table.S.data, np.ones(len(of_row), np.float32)))
        entry, left = slices(starts, of)
        again, right = slices(starts, to[entry])
        made = type(self).__new__(type(self))
        S = _symmetric(own[left[again]], own[right], weights[entry[again]], len(numbers))
        made._set(_Table(numbers, S), pinned=self.pinned)
        return made

    def written_pairs(self, limit: int) -> Iterator[tuple[str, str]] | None:
        """Return the pairs of words in the table; None if there are more than `limit`."""
        if len(self) > limit:
            return None
        table = self._table
        shown: dict[int, str] = {}
        for word, row in table.found.items():
            shown.setdefault(row, word)
        rows = np.repeat(np.arange(table.S.shape[0]), np.diff(table.S.indptr)).tolist()
        pairs = zip(rows, table.S.indices.tolist(), strict=True)
        return ((shown[i], shown[j]) for i, j in pairs if i < j)

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is in the table, shape (n_terms,)."""
        return rows_of(self._table.found, terms) >= 0

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        check_pairs(left, right)
        i, j = rows_of(self._table.found, left), rows_of(self._table.found, right)
        answer = np.zeros(len(i), np.float32)
        both = np.flatnonzero((i >= 0) & (j >= 0))
        answer[both] = _entries(self._table.S, i[both], j[both])
        answer[both[i[both] == j[both]]] = 1.0
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term.

        The rows of `among` are cached if it is a tuple.
        """
        check_limit(max_neighbors)
        rows = rows_of(self._table.found, terms)
        known = np.flatnonzero(rows >= 0)
        if len(known) == 0 or len(among) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        searched = self._searched.get(among, lambda: self._search(among))
        before = np.cumsum(searched.n_similar[rows[known]])
        cuts = np.searchsorted(before, np.arange(_BLOCK_PAIRS, before[-1], _BLOCK_PAIRS))
        found = [
            self._of_block(terms, block, rows[block], searched, max_neighbors)
            for block in np.split(known, np.unique(cuts))
        ]
        return Neighbors.concatenated(found).of_some(known, len(terms))

    def _of_block(
        self,
        terms: Sequence[str],
        asked: NDArray[np.int64],
        rows: NDArray[np.int32],
        searched: _Searched,
        max_neighbors: int,
    ) -> Neighbors:
        """Neighbours of some of the known terms."""
        S, starts = self._table.S, searched.starts
        # The row's entries, plus the row itself for its other names.
        of, places = slices(S.indptr, rows)
        of = np.concatenate((np.arange(len(rows)), of))
        columns = np.concatenate((rows, S.indices[places]))
        values = np.concatenate((np.ones(len(rows), np.float32), S.data[places]))
        entry, names = slices(starts, columns)
        of, values, positions = of[entry], values[entry], searched.positions[names]
        same = np.flatnonzero(entry < len(rows))
        strings, among = (terms[i] for i in asked[of[same]].tolist()), searched.strings
        itself = [a == among[j] for a, j in zip(strings, positions[same].tolist(), strict=True)]
        values[same[np.array(itself, np.bool_)]] = 0.0
        pairs = of, positions, values
        return self._order.best(among, pairs, n_terms=len(rows), max_neighbors=max_neighbors)

    def _search(self, among: Sequence[str]) -> _Searched:
        rows = rows_of(self._table.found, among)
        n_names = np.bincount(rows[rows >= 0], minlength=self._table.S.shape[0])
        starts = running_sum(n_names)
        positions = np.argsort(rows, kind="stable")[np.count_nonzero(rows < 0) :]
        before = running_sum(n_names[self._table.S.indices])
        n_similar = n_names + np.diff(before[self._table.S.indptr])
        return _Searched(among, starts, positions.astype(np.int32), n_similar)

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        kept = self._kept
        arrays = kept.arrays if isinstance(kept, Deferred) else kept.arrays()
        return SourceState("pairs", {} if self.pinned else {"pinned": False}, arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> PairSimilarity:
        """Build the source from its state; the table is built on first use."""
        source = cls.__new__(cls)
        source._set(Deferred(state.arrays, _Table.from_arrays), **state.settings)
        return source


def _triples(
    pairs: Iterable[tuple[str, str, float]] | Mapping[tuple[str, str], float],
) -> Iterator[tuple[str, str, float]]:
    given: Iterable[Any] = pairs
    if isinstance(pairs, Mapping):
        given = ((*_no_string(pair), weight) for pair, weight in pairs.items())
    for pair in given:
        try:
            a, b, weight = _no_string(pair)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"{pair!r:.80} is no pair with its similarity; give (term, term, similarity)."
            ) from None
        yield a, b, weight


def _no_string(pair: Any) -> Any:
    """Return a pair; reject a string of two characters."""
    if isinstance(pair, str):
        raise InvalidInputError(
            f"{shortened(pair)} is a string where a pair of terms is needed; give (term, term, "
            "similarity), or a dictionary of (term, term)."
        )
    return pair


def _check_pair(left: object, right: object, weight: Any) -> None:
    if not (isinstance(left, str) and isinstance(right, str)):
        raise InvalidInputError(f"the pair ({left!r}, {right!r}) is not of two strings.")
    number: Any = weight if isinstance(weight, Real) else 0.0
    if not (0 < number <= 1 and np.float32(float(number)) > 0.0):
        raise InvalidInputError(
            f"the similarity of {left!r} and {right!r} is {weight!r}; needed is a number in (0, 1]."
        )


def _symmetric(
    left: NDArray[np.int64], right: NDArray[np.int64], weights: NDArray[np.float32], n_rows: int
) -> csr_array:
    """Symmetric matrix of the pairs; of duplicates the greatest similarity counts."""
    different = left != right
    i, j = np.minimum(left, right)[different], np.maximum(left, right)[different]
    weights = weights[different]
    keys = i * n_rows + j
    order = np.lexsort((-weights, keys))
    order = order[np.diff(keys[order], prepend=-1) > 0]
    i, j, weights = i[order], j[order], weights[order]
    both = (np.concatenate((i, j)), np.concatenate((j, i)))
    return _canonical(
        coo_array((np.concatenate((weights, weights)), both), shape=(n_rows, n_rows)).tocsr()
    )


def _canonical(S: csr_array) -> csr_array:
    """Matrix in float32 with sorted column indices; the same object if it has this form already."""
    S = csr_array(S, dtype=np.float32)
    if not S.has_canonical_format:
        S = S.copy()
        S.sum_duplicates()
    return S


def _check_matrix(words: Sequence[str], S: csr_array, rows: NDArray[np.int32]) -> None:
    """Raise InvalidInputError if S is not a table of pairs; the message names a wrong pair."""
    if S.shape[0] != S.shape[1]:
        raise InvalidInputError(f"S has the shape {S.shape}; needed is a square matrix.")
    of = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))

    valid = (S.data > 0.0) & (S.data <= 1.0) & (of != S.indices)
    valid &= _entries(S, S.indices, of) == S.data
    if not valid.all():
        entry = int(np.argmin(valid))
        names = []
        for row in (of[entry], S.indices[entry]):
            named = np.flatnonzero(rows == row)
            names.append(repr(words[int(named[0])]) if len(named) else f"row {row}")
        raise InvalidInputError(
            f"the similarity of {names[0]} and {names[1]} is {S.data[entry]}; needed is a "
            "symmetric matrix of numbers in (0, 1], without diagonal."
        )


def _entries(
    S: csr_array, rows: NDArray[np.integer[Any]], columns: NDArray[np.integer[Any]]
) -> NDArray[np.float32]:
    """Entries of S at some places, by a bisection of all rows at once."""
    low = S.indptr[rows].astype(np.int64)
    ends = S.indptr[rows + 1].astype(np.int64)
    high = ends.copy()
    while (searching := low < high).any():
        middle = (low + high) // 2
        below = searching & (S.indices[np.minimum(middle, len(S.indices) - 1)] < columns)
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, np.where(searching, middle, high))
    entries = np.zeros(len(low), np.float32)
    inside = np.flatnonzero(low < ends)
    inside = inside[S.indices[low[inside]] == columns[inside]]
    entries[inside] = S.data[low[inside]]
    return entries
