"""Rows of a table by word, in any letter case, without reading all words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.text.packing import PackedStrings
from softcosine.text.terms import Terms

__all__ = ["NamedRows"]


class NamedRows:
    """Distinct words, and the row of each.

    Parameters
    ----------
    names : Terms
    rows : ndarray of shape (n_words,), int32
    cased : ndarray of shape (n_cased,), int32, optional
        Numbers of the words that casefolding changes, ascending; computed from all words if not
        given.
    """

    __slots__ = ("_cased", "_folded", "_names", "rows")

    def __init__(
        self, names: Terms, rows: NDArray[np.int32], cased: NDArray[np.int32] | None = None
    ) -> None:
        self._names = names
        self.rows = rows
        self._cased = cased
        self._folded: dict[str, int] | None = None

    @classmethod
    def of(cls, found: Mapping[str, int]) -> NamedRows:
        """Return the rows of some words."""
        return cls(Terms(tuple(found)), np.fromiter(found.values(), np.int32, len(found)))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NamedRows:
        """Return the rows from the result of `arrays`; almost nothing is read from mapped arrays.

        Raises
        ------
        CorruptIndexError
            If there is not one row per word.
        """
        # Earlier versions stored neither the order of the words nor `cased`.
        names = Terms(
            PackedStrings(arrays["words"], arrays["word_offsets"]), arrays.get("word_order")
        )
        rows = np.asarray(arrays["rows"])
        if rows.shape != (len(names),) or rows.dtype != np.int32:
            raise _changed(f"there are {len(names)} words but rows of shape {rows.shape}")
        return cls(names, rows, arrays.get("cased_words"))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        packed = self._names.packed()
        return {
            "words": packed.blob,
            "word_offsets": packed.offsets,
            "word_order": self._names.order(),
            "cased_words": self._cased_words(),
            "rows": self.rows,
        }

    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return self._names.strings()

    def __len__(self) -> int:
        return len(self._names)

    def find(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each term, or -1, shape (n_terms,).

        A term is looked up as written, then casefolded, then ignoring letter case (the first such
        word).
        """
        places = self._names.indices(terms)
        if len(places) and places.min() < 0:
            get, folded = self._names.get, self._by_folded()
            for i in np.flatnonzero(places < 0).tolist():
                term = terms[i]
                key = term.casefold()
                place = get(key) if key != term else -1
                places[i] = place if place >= 0 else folded.get(key, -1)
        there = places >= 0
        rows = np.full(len(places), -1, np.int32)
        rows[there] = self.rows[places[there]]
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
        if self._cased is None:
            numbers = [i for i, word in enumerate(self.words()) if word.casefold() != word]
            self._cased = np.array(numbers, np.int32)
        elif (
            self._cased.ndim != 1
            or self._cased.dtype != np.int32
            or (
                len(self._cased)
                and not 0 <= int(self._cased.min()) <= int(self._cased.max()) < len(self)
            )
        ):
            raise _changed("words are called cased that are not there")
        return self._cased


def _changed(what: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"{what}: a file has changed since it was written. `softcosine check` tells which."
    )
