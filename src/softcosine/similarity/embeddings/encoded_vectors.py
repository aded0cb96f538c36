"""A growing table of vectors: missing ones come from a cache on disk or an encoder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine.encoders.encoder import Encode
from softcosine.encoders.encoding import encoded_batches
from softcosine.encoders.vector_cache import VectorCache
from softcosine.kernels.selection import unit_rows
from softcosine.similarity.embeddings.word_vectors import WordVectors


class EncodedVectors:
    """Vectors of all terms looked up so far, each encoded once.

    Without an encoder, a term is looked up as written, then casefolded, then ignoring letter case;
    terms absent here and in the cache are unknown. Terms of white space only, and terms with a zero
    vector, are always unknown.

    Parameters
    ----------
    encode : callable or None
        Returns the vectors of a list of terms, (n_terms, dimensions).
    cache : VectorCache, optional
    batch_size : int
        Number of terms encoded and written to the cache at once.
    progress : callable, optional
        Called as ``progress(done, total)`` after every batch, in terms to encode.
    """

    def __init__(
        self,
        encode: Encode | None,
        cache: VectorCache | None = None,
        *,
        batch_size: int = 256,
        progress: Progress | None = None,
    ) -> None:
        self._encode = encode
        self._cache = cache
        self._batch_size = batch_size
        self._progress = progress
        self._rows: dict[str, int] = {}
        self._folded: dict[str, int] = {}  # the first of terms that differ by letter case only
        self._zero: set[str] = set()  # terms with a zero vector
        self._vectors = np.zeros((0, 0), np.float32)  # allocated with spare rows
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @property
    def words(self) -> tuple[str, ...]:
        """Terms looked up so far that have a vector."""
        return tuple(self._rows)

    @property
    def dimensions(self) -> int:
        """Number of components of each vector; 0 before the first."""
        return int(self._vectors.shape[1])

    def __len__(self) -> int:
        """Return the number of terms with a vector."""
        return len(self._rows)

    def look_up(self, terms: Sequence[str]) -> tuple[_Encoded, NDArray[np.int32]]:
        """Return the vectors so far, and the number of each term's vector, or -1.

        Raises
        ------
        InvalidInputError
            If the model does not return finite vectors of one length.
        """
        with self._lock:
            lacking = [term for term in dict.fromkeys(terms) if self._lacks(term)]
            lacking = self._fetch(lacking)
            if lacking and self._encode is not None:
                self._encode_all(self._encode, lacking)
            find = self._rows.get
            numbers = np.array([find(term, -1) for term in terms], np.int32)
            if self._encode is None:
                self._find_otherwise(terms, numbers)
            return _Encoded(self._vectors), numbers

    def _lacks(self, term: str) -> bool:
        return term not in self._rows and term not in self._zero and bool(term.strip())

    def _find_otherwise(self, terms: Sequence[str], numbers: NDArray[np.int32]) -> None:
        """Look up terms without an exact match casefolded, then ignoring letter case."""
        unknown = np.flatnonzero(numbers < 0).tolist()
        keys = {terms[i].casefold() for i in unknown}
        self._fetch([key for key in sorted(keys) if self._lacks(key)])
        for i in unknown:
            key = terms[i].casefold()
            numbers[i] = self._rows.get(key, self._folded.get(key, -1))

    def _fetch(self, terms: list[str]) -> list[str]:
        """Read terms from the cache; return those that it does not have."""
        if self._cache is None or not terms:
            return terms
        found = self._cache.get(terms)
        there = [term for term in terms if term in found]
        if there:
            self._add(there, np.stack([found[term] for term in there]))
        return [term for term in terms if term not in found]

    def _encode_all(self, encode: Encode, terms: list[str]) -> None:
        for batch, vectors in encoded_batches(
            encode,
            terms,
            cache=self._cache,
            progress=self._progress,
            batch_size=self._batch_size,
            dimensions=self.dimensions,
            zeros=True,
        ):
            self._add(batch, vectors)

    def _add(self, terms: list[str], vectors: NDArray[np.float32]) -> None:
        usable = vectors.any(axis=1)
        size = len(self._rows)
        needed = size + int(usable.sum())
        if needed > len(self._vectors) or not self.dimensions:
            # A new array, because other objects may still use the old one.
            grown = np.zeros((max(needed, 3 * size // 2), vectors.shape[1]), np.float32)
            if size:
                grown[:size] = self._vectors[:size]
            self._vectors = grown
        self._vectors[size:needed] = vectors[usable]
        kept = [terms[i] for i in np.flatnonzero(usable).tolist()]
        for row, term in enumerate(kept, size):
            self._rows[term] = row
            self._folded.setdefault(term.casefold(), row)
        self._zero.update(terms[i] for i in np.flatnonzero(~usable).tolist())

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return terms and vectors in the form of `WordVectors`."""
        return WordVectors(self.words, self._vectors[: len(self)]).state()


class _Encoded:
    """The vectors at the time of a look-up."""

    __slots__ = ("_vectors",)

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors

    def units(
        self, rows: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return vectors of unit length, and scales that correct their rounding."""
        vectors = self._vectors[rows]
        units = np.empty_like(vectors)
        scales = np.empty(len(rows), np.float64)
        unit_rows(vectors, np.ones(len(rows)), units, scales)
        return units, scales
