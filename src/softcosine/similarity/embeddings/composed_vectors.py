"""A table in which the vector of a word is the mean of the vectors of its pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.kernels.selection import unit_rows
from softcosine.similarity.embeddings.subwords import Subwords
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.similarity.embeddings.word_vectors import WordVectors, as_matrix, in_float32

_NUMBERS = 4 << 20  # components gathered per chunk


# Splits words into pieces (word pieces or n-grams).
Composer = Subwords | WordPieces
_COMPOSERS: dict[str, Any] = {composer.kind: composer for composer in (Subwords, WordPieces)}


class ComposedVectors:
    """Vectors of pieces, and of words composed of them.

    Words are composed on look-up and not cached. A word is known if one of its pieces has a vector
    other than zero.

    Parameters
    ----------
    composer : Composer
    vectors : array-like of shape (n_vectors, dimensions)
        Not copied; may be memory-mapped.
    weights : array-like of shape (n_pieces,), optional
        Weight of the vector of each piece.
    rows : array-like of shape (n_pieces,), optional
        Number of the vector of each piece, if pieces share vectors.

    Raises
    ------
    InvalidInputError
        If the shapes do not match. NaN and infinity are detected when a vector is used.
    """

    __slots__ = ("_composer", "_rows", "_tested", "_vectors", "_weights")

    def __init__(
        self,
        composer: Composer,
        vectors: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        rows: ArrayLike | None = None,
    ) -> None:
        matrix = as_matrix(vectors)
        n_pieces = composer.n_pieces
        self._rows = None if rows is None else np.asarray(rows).astype(np.int64)
        self._weights = None if weights is None else np.asarray(weights).astype(np.float32)
        for name, given in (("rows", self._rows), ("weights", self._weights)):
            if given is not None and given.shape != (n_pieces,):
                raise InvalidInputError(
                    f"{name} have the shape {given.shape}; there are {n_pieces} pieces."
                )
        if self._rows is None and len(matrix) != n_pieces:
            raise InvalidInputError(
                f"there are {n_pieces} pieces but {len(matrix)} vectors; give one for each."
            )
        if self._rows is not None and not ((self._rows >= 0) & (self._rows < len(matrix))).all():
            raise InvalidInputError(f"rows name vectors that are not among the {len(matrix)}.")
        if self._weights is not None and not np.isfinite(self._weights).all():
            raise InvalidInputError("weights must be finite; the given ones are not.")
        self._composer = composer
        self._vectors = matrix
        self._tested = np.zeros(n_pieces, np.int8)  # 1 usable, -1 zero, 0 not yet checked

    @property
    def words(self) -> tuple[str, ...]:
        """Words that have their own vector."""
        return self._composer.words

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return int(self._vectors.shape[1])

    def __len__(self) -> int:
        """Return the number of words that have their own vector."""
        return len(self._composer.words)

    def look_up(self, terms: Sequence[str]) -> tuple[_Compositions, NDArray[np.int32]]:
        """Return the compositions of terms, and the number of each term's composition, or -1.

        Raises
        ------
        InvalidInputError
            If the vector of a piece contains NaN or infinity.
        """
        number = {term: i for i, term in enumerate(dict.fromkeys(terms))}
        indptr, pieces = self._composer.pieces(list(number))
        usable = self._usable(pieces)
        before = running_sum(usable)
        indptr, pieces = before[indptr], pieces[usable]
        numbers = np.fromiter((number[term] for term in terms), np.int32, len(terms))
        numbers[(np.diff(indptr) == 0)[numbers]] = -1
        return _Compositions(self, indptr, pieces), numbers

    def _usable(self, pieces: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each of some pieces has a vector other than zero."""
        unseen = np.unique(pieces[self._tested[pieces] == 0])
        step = max(1, _NUMBERS // max(1, self.dimensions))
        for start in range(0, len(unseen), step):
            part = unseen[start : start + step]
            vectors = self._gather(part)
            finite = np.isfinite(vectors).all(axis=1)
            if not finite.all():
                piece = int(part[np.argmin(finite)])
                row = piece if self._rows is None else int(self._rows[piece])
                raise InvalidInputError(
                    f"the vector of a piece of a word (row {row}) holds NaN or infinity; the "
                    "table is damaged."
                )
            self._tested[part] = np.where(vectors.any(axis=1), 1, -1)
        return self._tested[pieces] > 0

    def _gather(self, pieces: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the weighted vectors of pieces, (n_pieces, dimensions)."""
        rows = pieces if self._rows is None else self._rows[pieces]
        vectors = np.asarray(self._vectors[rows]).astype(np.float32)
        if self._weights is not None:
            vectors *= self._weights[pieces, np.newaxis]
        return vectors

    def of(self, words: Iterable[str]) -> WordVectors:
        """Return a table of the known words among these, with float32 vectors."""
        terms = list(dict.fromkeys(words))
        compositions, numbers = self.look_up(terms)
        known = np.flatnonzero(numbers >= 0)
        vectors = np.empty((len(known), self.dimensions), np.float32)
        for part, sums in compositions.sums(numbers[known]):
            vectors[part] = sums
        return WordVectors([terms[i] for i in known.tolist()], vectors)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the settings of the composition as JSON types, and the arrays of the table."""
        arrays = {**self._composer.arrays(), "vectors": self._vectors}
        if self._weights is not None:
            arrays["weights"] = self._weights
        if self._rows is not None:
            arrays["rows"] = self._rows
        return {"composed": {"kind": self._composer.kind, **self._composer.settings()}}, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> ComposedVectors:
        """Return the table from the settings under ``composed`` and the arrays of `state`."""
        kind = settings["kind"]
        if kind not in _COMPOSERS:
            raise InvalidInputError(f"words composed by {kind!r} were saved; no such way is known.")
        rest = {name: value for name, value in settings.items() if name != "kind"}
        composer = _COMPOSERS[kind].from_state(rest, arrays)
        weights, rows = arrays.get("weights"), arrays.get("rows")
        return cls(composer, arrays["vectors"], weights=weights, rows=rows)


class _Compositions:
    """The pieces of the terms of one look-up."""

    __slots__ = ("_indptr", "_pieces", "_table")

    def __init__(
        self, table: ComposedVectors, indptr: NDArray[np.int64], pieces: NDArray[np.int32]
    ) -> None:
        self._table = table
        self._indptr = indptr
        self._pieces = pieces

    def sums(self, rows: NDArray[np.integer[Any]]) -> Iterable[tuple[slice, NDArray[np.float32]]]:
        """Yield the sums of the vectors of the pieces of some terms, in chunks."""
        counts = np.diff(self._indptr)[rows]
        ends = counts.cumsum()
        most = max(1, _NUMBERS // max(1, self._table.dimensions))
        start = 0
        while start < len(rows):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + most, side="right")))
            part = slice(start, stop)
            first = ends[part] - counts[part] - done
            places = np.repeat(self._indptr[rows[part]] - first, counts[part])
            places += np.arange(len(places))
            vectors = self._table._gather(self._pieces[places])
            sums = np.zeros((stop - start, vectors.shape[1]), np.float32)
            there = np.flatnonzero(counts[part])  # reduceat has no empty sums
            if len(there):
                wide = np.add.reduceat(vectors, first[there], axis=0, dtype=np.float64)
                sums[there] = in_float32(wide)
            yield part, sums
            start = stop

    def units(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return vectors of unit length, and scales that correct their rounding."""
        units = np.empty((len(rows), self._table.dimensions), np.float32)
        scales = np.empty(len(rows), np.float64)
        for part, sums in self.sums(rows):
            unit_rows(sums, np.ones(len(sums)), units[part], scales[part])
        return units, scales
