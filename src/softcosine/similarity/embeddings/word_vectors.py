"""A table of stored word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_list
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.kernels.selection import unit_rows
from softcosine.text.packing import PackedStrings
from softcosine.text.terms import Terms
from softcosine.text.words import folded as unaccented


def _inside(numbers: NDArray[np.integer[Any]], limit: int) -> bool:
    """Whether all numbers are at least 0 and below a limit."""
    return not len(numbers) or bool(0 <= numbers.min() <= numbers.max() < limit)


def _changed(what: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"{what}: a file has changed since it was written. `softcosine admin check` tells which."
    )


# Types that are stored unchanged; every other number type becomes float32.
_COMPACT = (np.int8, np.float16, np.float32)
_CHUNK = 65_536
_LARGEST = 1e30


class WordVectors:
    """Words and their vectors.

    If a word is given twice, the first counts (files of word vectors are ordered by decreasing
    frequency). A word with a zero vector has no direction and is unknown.

    Parameters
    ----------
    words : sequence of str
        One for every vector, unless `rows` is given.
    vectors : array-like of shape (n_vectors, dimensions)
        int8, float16 and float32 are stored unchanged; other types become float32.
    scales : array-like of shape (dimensions,), optional
        Factor of each component, for vectors stored as small integers.
    weights : array-like of shape (n_vectors,), optional
        In (0, 1]; the cosine of two vectors is multiplied by both weights. Default: 1.
    rows : array-like of shape (n_words,), optional
        Number of the vector of each word, if words share vectors.

    Raises
    ------
    InvalidInputError
        If the shapes do not match, or a vector contains NaN or infinity; the message names the
        word.
    """

    __slots__ = (
        "_cased", "_folded", "_names", "_rows", "_scales", "_unread", "_vectors", "_weights",
    )  # fmt: skip

    def __init__(
        self,
        words: Sequence[str],
        vectors: ArrayLike,
        *,
        scales: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        rows: ArrayLike | None = None,
    ) -> None:
        given = as_matrix(vectors)
        numbers = np.arange(len(given), dtype=np.int32)
        if rows is not None:
            numbers = np.asarray(rows, dtype=np.int32)
        words = checked_words(words)
        if len(words) != len(numbers):
            raise InvalidInputError(
                f"there are {len(words)} words but {len(numbers)} vectors; give one for each."
            )
        if not _inside(numbers, len(given)):
            raise InvalidInputError(
                f"rows run from {numbers.min()} to {numbers.max()}, "
                f"but there are {len(given)} vectors."
            )
        usable = _usable_vectors(words, given, numbers)
        self._vectors = given if given.dtype in _COMPACT else in_float32(given)
        self._scales = None if scales is None else checked_scales(scales, given.shape[1])
        self._weights = None if weights is None else _checked_weights(weights, len(given))
        found: dict[str, int] = {}
        for word, row in zip(words, numbers.tolist(), strict=True):
            if usable[row]:
                found.setdefault(word, row)
        self._names = Terms(PackedStrings.of(found))
        self._rows = np.fromiter(found.values(), np.int32, len(found))
        self._cased: NDArray[np.int32] | None = None
        self._folded: dict[str, int] | None = None
        self._unread = False

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words with a vector other than zero."""
        return self._names.strings()

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._names)

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return int(self._vectors.shape[1])

    def find(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the number of the vector of each term, or -1.

        A term is looked up as written, then casefolded, then ignoring letter case (the first such
        word), then without accents: *café* has the vector of *cafe* in a table without *café*.
        """
        places = self._names.indices(terms)
        for bare in (str, unaccented):
            missing = np.flatnonzero(places < 0).tolist()
            if bare is unaccented:
                missing = [i for i in missing if not terms[i].isascii()]
            if not missing:
                continue
            keys = [bare(terms[i].casefold()) for i in missing]
            found, folded = self._names.indices(keys), self._by_folded()
            others = np.fromiter(map(folded.get, keys, repeat(-1)), np.int32, len(keys))
            places[missing] = np.where(found < 0, others, found)
        there = places >= 0
        rows = np.full(len(places), -1, np.int32)
        rows[there] = self._rows[places[there]]
        return rows

    def _by_folded(self) -> dict[str, int]:
        """Return the number of the first word per casefolded form that is not itself a word."""
        if self._folded is None:
            folded: dict[str, int] = {}
            for i in self._cased_words().tolist():
                key = self._names[i].casefold()
                if self._names.get(key) < 0:
                    folded.setdefault(key, i)
            self._folded = folded
        return self._folded

    def _cased_words(self) -> NDArray[np.int32]:
        """Return the numbers of the words that casefolding changes, ascending."""
        if self._cased is None:
            numbers = [i for i, word in enumerate(self.words) if word.casefold() != word]
            self._cased = np.array(numbers, np.int32)
        elif (
            self._cased.ndim != 1
            or self._cased.dtype != np.int32
            or not _inside(self._cased, len(self))
        ):
            raise _changed("words are called cased that are not there")
        return self._cased

    def look_up(self, terms: Sequence[str]) -> tuple[WordVectors, NDArray[np.int32]]:
        """Return this table and the result of `find`."""
        return self, self.find(terms)

    def units(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return vectors of weighted unit length, and scales that correct their rounding.

        Parameters
        ----------
        rows : ndarray of shape (n,), integers
            Numbers of vectors, as from `find`.

        Returns
        -------
        units : ndarray of shape (n, dimensions), float32
        scales : ndarray of shape (n,), float64
            See `softcosine.kernels.selection.unit_rows`.
        """
        units = np.empty((len(rows), self.dimensions), np.float32)
        scales = np.empty(len(rows), np.float64)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            vectors = self._rows_of(rows[part])
            if self._scales is None:
                vectors = vectors.astype(np.float32)
            else:  # products of two float32 numbers are exact in float64
                vectors = in_float32(vectors.astype(np.float64) * self._scales)
            weights = np.ones(len(vectors)) if self._weights is None else self._weights[rows[part]]
            unit_rows(np.ascontiguousarray(vectors), weights, units[part], scales[part])
        return units, scales

    def of(self, words: Iterable[str]) -> WordVectors:
        """Return a table of the given words only, in any letter case."""
        keep = frozenset(word.casefold() for word in words)
        kept = [i for i, word in enumerate(self.words) if word.casefold() in keep]
        used, rows = np.unique(self._rows[kept], return_inverse=True)
        return WordVectors(
            [self.words[i] for i in kept],
            np.array(self._rows_of(used)),
            scales=self._scales,
            weights=None if self._weights is None else self._weights[used],
            rows=rows,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return no settings, and the arrays that `from_arrays` reads."""
        packed = self._names.packed
        arrays: dict[str, NDArray[Any]] = {
            "words": packed.blob,
            "word_offsets": packed.offsets,
            "word_order": self._names.order(),
            "cased_words": self._cased_words(),
            "rows": self._rows,
            "vectors": self._vectors,
        }
        if self._scales is not None:
            arrays["scales"] = self._scales
        if self._weights is not None:
            arrays["weights"] = self._weights
        return {}, arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> WordVectors:
        """Return the table from the arrays of `state`; vectors are read and checked on use.

        Raises
        ------
        InvalidInputError, CorruptIndexError
            If the arrays do not fit each other.
        """
        table = cls.__new__(cls)
        vectors = as_matrix(arrays["vectors"])
        table._vectors = vectors if vectors.dtype in _COMPACT else in_float32(vectors)
        scales, weights = arrays.get("scales"), arrays.get("weights")
        table._scales = None if scales is None else checked_scales(scales, vectors.shape[1])
        table._weights = None if weights is None else _checked_weights(weights, len(vectors))
        # Earlier versions stored neither the order of the words nor which are cased.
        words = PackedStrings(arrays["words"], arrays["word_offsets"])
        table._names = names = Terms(words, arrays.get("word_order"))
        table._rows = rows = np.asarray(arrays["rows"])
        if rows.shape != (len(names),) or rows.dtype != np.int32:
            raise _changed(f"there are {len(names)} words but rows of shape {rows.shape}")
        table._cased, table._folded = arrays.get("cased_words"), None
        table._unread = True
        return table

    def _rows_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return vectors; those of a stored table are checked now."""
        n = len(self._vectors)
        if self._unread and not _inside(rows, n):
            raise _changed(f"rows run from {rows.min()} to {rows.max()}, but there are {n} vectors")
        vectors: NDArray[Any] = self._vectors[rows]
        if self._unread and not np.isfinite(vectors).all():
            raise _changed("a vector holds NaN or infinity")
        return vectors


def checked_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words; raise InvalidInputError if one is not a string."""
    check_list("words", words)
    checked = words if isinstance(words, list | tuple) else list(words)
    for number, word in enumerate(checked):
        if not isinstance(word, str):
            raise InvalidInputError(
                f"word {number} is {word!r}, of type {type(word).__name__}; words are strings."
            )
    return checked


def as_matrix(vectors: ArrayLike) -> NDArray[Any]:
    """Return vectors as a numeric matrix."""
    try:
        matrix = np.asarray(vectors)
    except ValueError:
        raise InvalidInputError(
            "the vectors have different numbers of components; give them all the same number."
        ) from None
    if matrix.size == 0 and matrix.ndim < 2:
        matrix = np.zeros((0, 0), np.float32)
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"vectors have the shape {matrix.shape}; needed is (n_vectors, dimensions)."
        )
    if matrix.dtype.kind not in "biuf":
        raise InvalidInputError(f"vectors are of type {matrix.dtype}; needed are real numbers.")
    return matrix


def in_float32(matrix: NDArray[Any]) -> NDArray[np.float32]:
    """Return finite vectors as float32; those beyond its range are scaled to unit size first."""
    if matrix.dtype.kind == "f":
        largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
        beyond = (largest > _LARGEST) | ((largest > 0.0) & (largest < 1.0 / _LARGEST))
        if beyond.any():
            matrix = matrix / np.where(beyond, largest, 1.0)
    return matrix.astype(np.float32)


def _usable_vectors(
    words: Sequence[str], matrix: NDArray[Any], rows: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Which vectors have a direction, shape (n_vectors,)."""
    usable = np.empty(len(matrix), np.bool_)
    for start in range(0, len(matrix), _CHUNK):
        part = matrix[start : start + _CHUNK]
        usable[start : start + _CHUNK] = part.any(axis=1)
        if part.dtype.kind != "f":
            continue
        finite = np.isfinite(part).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            named = np.flatnonzero(rows == row)
            word = repr(words[int(named[0])]) if len(named) else "no word"
            raise InvalidInputError(
                f"the vector of {word} (row {row}) holds NaN or infinity; leave the word out."
            )
    return usable


def checked_scales(scales: ArrayLike, dimensions: int) -> NDArray[np.float32]:
    """Return the checked factors of the components."""
    return _factors("scales", scales, dimensions, "component", np.float32)


def _checked_weights(weights: ArrayLike, n_vectors: int) -> NDArray[np.float64]:
    """Return the checked weights of the vectors."""
    checked = _factors("weights", weights, n_vectors, "vector", np.float64)
    if (checked > 1.0).any():
        raise InvalidInputError(f"weights are at most 1; the greatest given is {checked.max()}.")
    return checked


def _factors(
    name: str, values: ArrayLike, size: int, one_for: str, dtype: type[np.floating[Any]]
) -> NDArray[Any]:
    """Finite factors above 0."""
    factors = np.asarray(values)
    if factors.shape != (size,) or factors.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"{name} have the shape {factors.shape} and type {factors.dtype}; "
            f"needed is one number for each {one_for}, {size} in all."
        )
    factors = factors.astype(dtype)
    if not (np.isfinite(factors) & (factors > 0.0)).all():
        raise InvalidInputError(f"{name} must be finite and above 0; the given ones are not.")
    return factors


def folded_words(found: Mapping[str, int]) -> dict[str, int]:
    """Return the number of the first word per casefolded form that is not itself a word."""
    folded: dict[str, int] = {}
    for word, row in found.items():
        key = word.casefold()
        if key != word and key not in found:
            folded.setdefault(key, row)
    return folded
