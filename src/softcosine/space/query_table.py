"""Query tables: word pieces with coordinates whose sums approximate an encoder's vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._threads import for_each_chunk
from softcosine._validation import check_type
from softcosine.errors import InvalidInputError
from softcosine.kernels.meaning import sum_pieces
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.similarity.source import SourceState

_KIND = "query_table"
_ZERO = 8  # code of the value 0
# The two values of a byte, side by side.
_PAIRS = np.array([complex(byte % 16 - _ZERO, byte // 16 - _ZERO) for byte in range(256)])
_MOST_CACHED = 1 << 18  # words
_CHUNK_ROWS = 2048
# Scales tried for each row, as shares of the one at which the largest value is -8 scales.
_CANDIDATES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)


class QueryTable:
    """Word pieces and their coordinates, of four bits each.

    The coordinates of piece p are ``(code - 8) * scales[p]``, where codes are numbers from 0 to 15.
    Sums of them approximate the vectors of a sentence encoder (theory T19).

    Parameters
    ----------
    pieces : WordPieces
        The encoder's tokenizer.
    codes : ndarray of shape (n_pieces, dimensions / 2), uint8
        Two codes a byte; the low four bits are the first.
    scales : ndarray of shape (n_pieces,), float32

    Raises
    ------
    InvalidInputError
        If the types or shapes do not fit, or a scale is not finite.

    Examples
    --------
    >>> pieces = WordPieces(["tea", "pot", "##pot"])
    >>> table = QueryTable.quantized([[-8.0, 1.0], [0.0, 3.5], [4.0, 2.0]], pieces)
    >>> table.words_of("Teapot")
    [('teapot', (0, 2))]
    >>> table.coordinates(table.piece_numbers("Teapot")).tolist()
    [[-8.0, 1.0], [4.0, 2.0]]
    """

    def __init__(
        self,
        pieces: WordPieces,
        codes: NDArray[np.uint8],
        scales: NDArray[np.float32],
    ) -> None:
        check_type("pieces", pieces, WordPieces, "pass the WordPieces of the encoder's tokenizer")
        self.pieces = pieces
        self.codes = _checked("codes", codes, np.uint8, (pieces.n_pieces, None))
        self.scales = _checked("scales", scales, np.float32, (pieces.n_pieces,))
        self._cache: dict[str, tuple[int, ...]] = {}

    @classmethod
    def quantized(cls, coordinates: ArrayLike, pieces: WordPieces) -> QueryTable:
        """Return the table of some coordinates, rounded to four bits.

        The scale of each row is, of several, the one with the least squared error.

        Parameters
        ----------
        coordinates : array-like of shape (n_pieces, dimensions)
            Finite, of an even number of dimensions.
        pieces : WordPieces

        Raises
        ------
        InvalidInputError
            If the shapes do not fit, or a value is not finite.
        """
        rows = np.asarray(coordinates, np.float32)
        if rows.ndim != 2 or not rows.shape[1] or rows.shape[1] % 2:
            raise InvalidInputError(
                f"the coordinates have the shape {rows.shape}; needed is a row for each piece, of "
                "an even number of dimensions."
            )
        if not np.isfinite(rows).all():
            raise InvalidInputError("the coordinates hold NaN or infinity; all must be finite.")
        codes = np.empty((len(rows), rows.shape[1] // 2), np.uint8)
        scales = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            codes[part], scales[part] = _rounded(rows[part].astype(np.float64))
        return cls(pieces, codes, scales)

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a piece."""
        return 2 * int(self.codes.shape[1])

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.codes)

    def words_of(self, text: str) -> list[tuple[str, tuple[int, ...]]]:
        """Return the words of a text, as the tokenizer normalises them, and their pieces.

        A punctuation mark is a word. Words that cannot be split into pieces have none.
        """
        return [(word, self._cache.get(word) or self._of(word)) for word in self.pieces.split(text)]

    def piece_numbers(self, text: str) -> list[int]:
        """Return the pieces of a text, in order; words that cannot be split have none."""
        return [number for _, own in self.words_of(text) for number in own]

    def _of(self, word: str) -> tuple[int, ...]:
        """Return the pieces of a word, and cache them."""
        if len(self._cache) >= _MOST_CACHED:
            self._cache.clear()
        own = self._cache[word] = tuple(self.pieces.numbers(word))
        return own

    @cached_property
    def marks(self) -> NDArray[np.int32]:
        """Pieces that consist of punctuation and symbols only, ascending."""
        return self.pieces.marks()

    def coordinates(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return the coordinates of some pieces, shape (n_numbers, dimensions), float64."""
        rows = np.asarray(numbers, np.intp)
        values: NDArray[np.float64] = _PAIRS.take(self.codes[rows]).view(np.float64)
        values *= self.scales[rows, np.newaxis]
        return values

    def sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the sum of the coordinates of each text's pieces, shape (n_texts, dimensions).

        Every piece counts as often as it occurs. The bits of a row do not depend on the other rows.
        """
        sums = np.empty((len(texts), self.dimensions))

        def add(start: int, stop: int) -> None:
            indptr, numbers = self.pieces.pieces(texts[start:stop])
            counts = np.zeros(len(self), np.int64)
            sum_pieces(indptr, numbers, self.codes, self.scales, counts, sums[start:stop])

        for_each_chunk(add, len(texts), chunk=_CHUNK_ROWS)
        return sums

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the contents; equal tables have equal ones."""
        return identity_of(self.state())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QueryTable):
            return NotImplemented
        return self is other or self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return f"<QueryTable: {len(self)} pieces, {self.dimensions} dimensions>"

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryTable, (self.pieces, self.codes, self.scales)  # without the cache

    def state(self) -> SourceState:
        """State from which an equal table can be built."""
        arrays = {**self.pieces.arrays(), "codes": self.codes, "scales": self.scales}
        return SourceState(_KIND, self.pieces.settings(), arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> QueryTable:
        """Return the table of a state.

        Raises
        ------
        InvalidInputError
            If the state is damaged; the message names the first fault.
        """
        names = {"words", "word_offsets", "codes", "scales"}
        if missing := sorted(names - set(state.arrays)):
            raise InvalidInputError(f"a query table lacks {', '.join(missing)}; make it anew.")
        try:
            pieces = WordPieces.from_state(state.settings, state.arrays)
        except (TypeError, AttributeError, KeyError, RecursionError) as error:
            raise InvalidInputError(
                f"the tokenizer of a query table is damaged: {error!r:.80}"
            ) from None
        arrays = state.arrays
        return cls(pieces, arrays["codes"], arrays["scales"])


def identity_of(state: SourceState) -> str:
    """Return the SHA-256 of a state without parts."""
    digest = hashlib.sha256(json.dumps([state.kind, state.settings], sort_keys=True).encode())
    for name, array in sorted(state.arrays.items()):
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{name} {little.dtype.str} {little.shape};".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()


def _rounded(rows: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return the packed codes and scales of rows."""
    # The codes reach from -8 to 7: the sign of the scale puts the largest value at -8.
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, np.newaxis], axis=1)
    codes = np.full(rows.shape, _ZERO, np.uint8)
    scales = np.zeros(len(rows), np.float32)
    least = np.full(len(rows), np.inf)
    for share in _CANDIDATES:
        tried = (share * largest[:, 0] / -_ZERO).astype(np.float32)
        wide = tried.astype(np.float64)[:, np.newaxis]
        values = np.divide(rows, wide, out=np.zeros_like(rows), where=wide != 0.0)
        values = np.rint(values).clip(-_ZERO, _ZERO - 1)
        errors = np.square(values * wide - rows).sum(axis=1)
        better = errors < least
        codes[better] = (values[better] + _ZERO).astype(np.uint8)
        scales[better], least[better] = tried[better], errors[better]
    packed: NDArray[np.uint8] = codes[:, 0::2] | codes[:, 1::2] << np.uint8(4)
    return packed, scales


def _checked(
    name: str, array: Any, dtype: type[np.generic], shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Return an array of the type and shape; None is any positive number."""
    found = np.asarray(array)
    fits = len(found.shape) == len(shape) and all(
        seen == needed if needed is not None else seen > 0
        for seen, needed in zip(found.shape, shape, strict=True)
    )
    if not fits or found.dtype != dtype:
        needed = ", ".join("any" if n is None else str(n) for n in shape)
        raise InvalidInputError(
            f"{name} are {found.dtype} of the shape {found.shape}; a query table needs "
            f"{np.dtype(dtype)} of the shape ({needed})."
        )
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InvalidInputError(f"{name} hold NaN or infinity; all must be finite.")
    return np.ascontiguousarray(found)
