"""The space of meaning: coordinates of documents and queries from a sentence encoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_type, check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.meaning import project_rows
from softcosine.similarity.source import SourceState
from softcosine.space.query_table import QueryTable, identity_of
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import JOINED

STATIC = "static"  # in place of the encoder's name, if documents are sums over the query table
_KIND = "meaning"
_LARGEST = 127  # of an int8 coordinate
_CHUNK_ROWS = 4096
_ROUNDED_ROWS = 256  # stay in the cache


@dataclass(frozen=True, slots=True)
class PieceFrequencies:
    """Document frequencies of word pieces.

    Attributes
    ----------
    numbers : ndarray of shape (n,), int32
        Pieces, ascending. Other pieces occur in no document.
    frequencies : ndarray of shape (n,), float64
        Expected number of documents of each.
    n_docs : int
    """

    numbers: NDArray[np.int32]
    frequencies: NDArray[np.float64]
    n_docs: int

    def idf(self, pieces: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return ln(1 + N / df) of some pieces, with 1/2 for a df of 0, float64."""
        df = np.zeros(len(pieces))
        if len(self.numbers):
            places = np.minimum(self.numbers.searchsorted(pieces), len(self.numbers) - 1)
            df = np.where(self.numbers[places] == pieces, self.frequencies[places], 0.0)
        idf: NDArray[np.float64] = np.log1p(self.n_docs / np.maximum(df, 0.5))
        return idf


@dataclass(frozen=True, eq=False)
class StaticQuery:
    """Coordinates of a query by a query table, and the summand of each word.

    Attributes
    ----------
    vector : ndarray of shape (dimensions,), float64
        Of length 1; it does not depend on the order of the words, to the bit.
    counted : tuple of (str, tuple of int, float)
        Each word, as the tokenizer normalises it, with its pieces and its weight.
    pieces : ndarray of shape (n_pieces,), int32
        The distinct pieces, ascending.
    roots : ndarray of shape (n_pieces,), float64
        The square roots of their idf.
    rows : ndarray of shape (n_pieces, dimensions), float64
        Their coordinates.
    length : float
        Of the sum.
    """

    vector: NDArray[np.float64]
    counted: tuple[tuple[str, tuple[int, ...], float], ...]
    pieces: NDArray[np.int32]
    roots: NDArray[np.float64]
    rows: NDArray[np.float64]
    length: float

    @property
    def words(self) -> tuple[str, ...]:
        """The words, as the tokenizer normalises them."""
        return tuple(word for word, _, _ in self.counted)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Summand of each word, (n_words, dimensions); they sum to `vector`."""
        lengths = [len(pieces) for _, pieces, _ in self.counted]
        numbers = list(chain.from_iterable(pieces for _, pieces, _ in self.counted))
        places = self.pieces.searchsorted(np.array(numbers, np.int32))
        given = np.repeat([weight for *_, weight in self.counted], lengths)
        rows = (given * self.roots[places])[:, np.newaxis] * (self.rows / self.length)[places]
        shares = np.zeros((len(lengths), self.rows.shape[1]))
        np.add.at(shares, np.repeat(np.arange(len(lengths)), lengths), rows)
        return shares


class MeaningSpace:
    r"""A sentence encoder's space, in which documents and queries have coordinates (theory T19).

    The coordinates of a document are its encoder's vector, projected and rounded to int8; those of
    a query are the encoder's vector, projected, or a sum over the query's word pieces.

    Parameters
    ----------
    encoder : str
        Name of the encoder.
    projection : array-like of shape (encoder_dimensions, dimensions), optional
        Kept as float32. Without it, the coordinates are those of the encoder.
    table : QueryTable, optional
        Coordinates of word pieces. Without it, every query needs the encoder.
    encoder_dimensions : int, optional
        Number of components of the encoder's vectors; needed if neither of the above is given.

    Raises
    ------
    InvalidInputError
        If the dimensions differ, or the projection is not finite.
    """

    def __init__(
        self,
        encoder: str,
        *,
        projection: ArrayLike | None = None,
        table: QueryTable | None = None,
        encoder_dimensions: int | None = None,
    ) -> None:
        check_type("the encoder", encoder, str, "pass its name")
        check_type("the table", table, QueryTable | None, "pass a QueryTable or None")
        check_whole("encoder_dimensions", encoder_dimensions, optional=True)
        self.encoder = encoder
        self.table = table
        self.projection = None if projection is None else _checked_projection(projection)
        if self.projection is not None:
            found: int | None = self.projection.shape[0]
        else:
            found = encoder_dimensions if table is None else table.dimensions
        if found is None:
            raise InvalidInputError(
                "encoder_dimensions is needed for a space without projection and table."
            )
        if encoder_dimensions not in (None, found):
            raise InvalidInputError(
                f"encoder_dimensions is {encoder_dimensions}, but the projection or table is for "
                f"an encoder of {found} dimensions."
            )
        self.encoder_dimensions = found
        if table is not None and table.dimensions != self.dimensions:
            raise InvalidInputError(
                f"the table has {table.dimensions} dimensions but the projection "
                f"{self.dimensions}; both must come from one fit."
            )

    @property
    def dimensions(self) -> int:
        """Number of coordinates."""
        return self.encoder_dimensions if self.projection is None else self.projection.shape[1]

    @property
    def static(self) -> bool:
        """Whether coordinates of documents are sums over the query table, without an encoder."""
        return self.encoder == STATIC

    def coordinates(self, vectors: ArrayLike) -> NDArray[np.int8]:
        """Return the coordinates of documents, given their encoder's vectors.

        Every row is scaled so that its largest absolute value is 127 and rounded half to even. The
        bits of a row do not depend on the other rows. A row that is zero stays zero.

        Parameters
        ----------
        vectors : array-like of shape (n, encoder_dimensions)
            Read as float32.

        Returns
        -------
        ndarray of shape (n, dimensions), int8

        Raises
        ------
        InvalidInputError
            If the vectors have another dimension, or hold NaN or infinity.
        """
        rows = self._checked_vectors(vectors)
        coordinates = np.empty((len(rows), self.dimensions), np.int8)
        for start in range(0, len(rows), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            coordinates[part] = _rounded(self._projected(rows[part]))
        return coordinates

    def static_coordinates(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """Return coordinates of documents without the encoder: sums over the query table.

        Each word piece of a text counts as often as it occurs, since the table is fitted so that
        such sums predict the encoder. Rounded as by `coordinates`; zeros for a text without pieces.

        Parameters
        ----------
        texts : sequence of str

        Raises
        ------
        InvalidInputError
            If the space has no query table.
        """
        return _rounded(self._own_table().sums(texts))

    def unit(self, vector: ArrayLike) -> NDArray[np.float64]:
        """Return the coordinates of one encoder's vector, of length 1, float64.

        Shape (dimensions,); zeros if the projected vector is zero. Errors as for `coordinates`.
        """
        wide = self._projected(self._checked_vectors(np.asarray(vector)[np.newaxis]))[0]
        length = _length(wide)
        unit: NDArray[np.float64] = wide / (length or 1.0)
        return unit

    def static_query(
        self, texts: Sequence[tuple[str, float]], frequencies: PieceFrequencies | None = None
    ) -> StaticQuery | None:
        r"""Return the coordinates of a query by the query table.

        .. math:: u = \sum_p tf_p \sqrt{idf_p} \, c_p

        over the distinct pieces of all words, divided by its length; tf_p is the sum of the weights
        of the words that contain p, each as often as p occurs in it.

        Parameters
        ----------
        texts : sequence of (str, float)
            Words, or other parts of the query, with their weights.
        frequencies : PieceFrequencies, optional
            Without them every idf is 1, as in `static_coordinates`.

        Returns
        -------
        StaticQuery or None
            None if the texts have no pieces, or their sum is zero.

        Raises
        ------
        InvalidInputError
            If the space has no query table.
        """
        words_of = self._own_table().words_of
        counted = [(*word, weight) for text, weight in texts for word in words_of(text)]
        held: dict[int, list[float]] = {}  # the weights of each piece
        for _, numbers, weight in counted:
            for number in numbers:
                held.setdefault(number, []).append(weight)
        if not held:
            return None
        pieces = np.array(sorted(held), np.int32)
        idf = np.ones(len(pieces)) if frequencies is None else frequencies.idf(pieces)
        roots = np.sqrt(idf)
        # fsum rounds once, so that the order of the words changes no bit.
        weights = np.array([math.fsum(held[piece]) for piece in pieces.tolist()]) * roots
        rows = self._own_table().coordinates(pieces)
        # One after the other, by ascending piece: NumPy adds in pairs along the last axis only.
        whole = (weights[:, np.newaxis] * rows).sum(axis=0, initial=-0.0)
        length = _length(whole)
        if not length:
            return None
        return StaticQuery(whole / length, tuple(counted), pieces, roots, rows, length)

    def piece_frequencies(
        self, vocabulary: Vocabulary, document_frequencies: ArrayLike, n_docs: int
    ) -> PieceFrequencies:
        r"""Return document frequencies of pieces, derived from those of terms.

        .. math:: df_p = N \Bigl(1 - \prod_{w \ni p} (1 - df_w / N)\Bigr)

        over the terms w whose surface forms contain p, as if terms occurred independently. N-grams
        are left out. Punctuation and symbols occur in all documents.

        Parameters
        ----------
        vocabulary : Vocabulary
        document_frequencies : array-like of shape (n_terms,)
        n_docs : int

        Raises
        ------
        InvalidInputError
            If the space has no query table, or a document frequency is not from 0 to `n_docs`.
        """
        table = self._own_table()
        check_whole("n_docs", n_docs, least=0)
        df = np.asarray(document_frequencies, np.float64)
        if df.shape != (len(vocabulary),) or not ((df >= 0) & (df <= n_docs)).all():
            raise InvalidInputError(
                f"the document frequencies have the shape {df.shape}; needed is one from 0 to "
                f"{n_docs} for each of the {len(vocabulary)} terms."
            )
        forms = vocabulary.forms or ((),) * len(df)
        words = [i for i, term in enumerate(vocabulary.terms) if not {" ", JOINED} & {*term}]
        indptr, numbers = table.pieces.pieces(
            [" ".join(forms[i] or (vocabulary.terms[i],)) for i in words]
        )
        owners = np.repeat(np.array(words, np.int64), np.diff(indptr))
        pairs = np.sort(owners * len(table) + numbers)
        owners, own = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], len(table))
        pieces = np.concatenate((own, table.marks)).astype(np.int32)
        each = np.concatenate((df[owners], np.full(len(table.marks), float(n_docs))))
        # Sorted, so that the order of the terms changes no bit.
        order = np.lexsort((each, pieces))
        found, places = np.unique(pieces[order], return_inverse=True)
        if not n_docs:
            return PieceFrequencies(found[:0], np.empty(0), 0)
        with np.errstate(divide="ignore"):  # log 0: in all documents
            logs = np.log1p(-each[order] / n_docs)
        sums = np.bincount(places, weights=logs, minlength=len(found))
        occurring = sums < 0.0  # terms of frequency 0 bring no pieces
        frequencies = -n_docs * np.expm1(sums[occurring])
        return PieceFrequencies(found[occurring], frequencies, int(n_docs))

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the encoder's name, the projection and the table."""
        return identity_of(self._own_state())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeaningSpace):
            return NotImplemented
        return self is other or self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        table = "" if self.table is None else f", {len(self.table)} pieces"
        return f"<MeaningSpace: {self.encoder!r}, {self.dimensions} dimensions{table}>"

    def state(self) -> SourceState:
        """State from which an equal space can be built; its part is the table's, if any."""
        own = self._own_state()
        settings = {name: value for name, value in own.settings.items() if name != "table"}
        parts = () if self.table is None else (self.table.state(),)
        return SourceState(_KIND, settings, own.arrays, parts)

    @classmethod
    def from_state(cls, state: SourceState) -> MeaningSpace:
        """Return the space of a state.

        Raises
        ------
        InvalidInputError
            If the state is damaged.
        """
        settings = state.settings
        if missing := sorted({"encoder", "encoder_dimensions"} - set(settings)):
            raise InvalidInputError(f"a space of meaning lacks {', '.join(missing)}.")
        return cls(
            settings["encoder"],
            projection=state.arrays.get("projection"),
            table=QueryTable.from_state(state.parts[0]) if state.parts else None,
            encoder_dimensions=settings["encoder_dimensions"],
        )

    def _own_state(self) -> SourceState:
        """Return the state with the table's checksum in place of the table."""
        return SourceState(
            _KIND,
            {
                "encoder": self.encoder,
                "encoder_dimensions": self.encoder_dimensions,
                "table": None if self.table is None else self.table.identity,
            },
            {} if self.projection is None else {"projection": _narrowest(self.projection)},
        )

    def _own_table(self) -> QueryTable:
        if self.table is None:
            raise InvalidInputError(
                f"there is no query table for the encoder {self.encoder!r}, so that queries need "
                "the encoder itself; make a table, or ask the encoder."
            )
        return self.table

    def _checked_vectors(self, vectors: ArrayLike) -> NDArray[np.float32]:
        given = np.asarray(vectors)
        if given.ndim != 2 or given.shape[1] != self.encoder_dimensions or given.dtype.kind != "f":
            raise InvalidInputError(
                f"the vectors are {given.dtype} of the shape {given.shape}; the encoder "
                f"{self.encoder!r} of this space has vectors of {self.encoder_dimensions} "
                "dimensions, as floating-point numbers."
            )
        with np.errstate(over="ignore"):  # becomes infinity, which is reported
            rows = np.ascontiguousarray(given, np.float32)
        if not (finite := np.isfinite(rows).all(axis=1)).all():
            raise InvalidInputError(
                f"vector {int(np.argmin(finite))} of {len(rows)} holds NaN or infinity, or a "
                "number beyond float32; all must be finite."
            )
        return rows

    def _projected(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        if self.projection is None:
            return rows.astype(np.float64)
        wide = np.empty((len(rows), self.dimensions))
        project_rows(rows, self.projection, wide)
        return wide


GivenSpace = MeaningSpace | str | Path | int  # or its file, or the components of vectors to keep


def _checked_projection(projection: ArrayLike) -> NDArray[np.float32]:
    matrix = np.ascontiguousarray(projection, np.float32)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise InvalidInputError(
            f"the projection has the shape {matrix.shape}; needed is a finite matrix of shape "
            "(encoder_dimensions, dimensions)."
        )
    return matrix


def _rounded(rows: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return rows on a scale of their own, on which their largest absolute value is 127."""
    rounded = np.empty(rows.shape, np.int8)
    for start in range(0, len(rows), _ROUNDED_ROWS):
        some = rows[start : start + _ROUNDED_ROWS]
        largest = np.abs(some).max(axis=1, keepdims=True)
        shares = np.divide(some, largest, out=np.zeros_like(some), where=largest > 0.0)
        rounded[start : start + _ROUNDED_ROWS] = np.rint(shares * _LARGEST)
    return rounded


def _narrowest(matrix: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
    """Return a matrix as float16 if all its values are exact in it."""
    with np.errstate(over="ignore"):
        half = matrix.astype(np.float16)
    return half if np.array_equal(half, matrix) else matrix


def _length(vector: NDArray[np.float64]) -> float:
    """Euclidean length, rounded the same on every machine."""
    return math.sqrt(math.fsum((vector * vector).tolist()))
