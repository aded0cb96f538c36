"""The running words of a segment's documents as term numbers, for phrases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import CorruptIndexError
from softcosine.kernels.phrases import find_phrase
from softcosine.matrix.ranges import check_array, check_numbers, check_starts

LEFT_OUT = -1  # instead of a term number: a word that the analyzer removes
UNKNOWN = -2  # a word without a term number: too rare to be indexed, or in no document


@dataclass(frozen=True, slots=True)
class Positions:
    """The running words of a segment's documents.

    Attributes
    ----------
    tokens : ndarray of shape (n_tokens,), int32
        See `softcosine.index.query.phrases.token_numbers`.
    token_offsets : ndarray of shape (n_docs + 1,), int64
        Offset of each document in `tokens`.
    """

    tokens: NDArray[np.int32]
    token_offsets: NDArray[np.int64]

    @classmethod
    def from_documents(cls, documents: Iterable[Sequence[int] | NDArray[np.int32]]) -> Self:
        """Return the positions of documents, given their running term numbers; read once."""
        rows = [np.asarray(row, np.int32) for row in documents]
        offsets = running_sum(row.shape[0] for row in rows)
        return cls(np.concatenate([np.empty(0, np.int32), *rows]), offsets)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.token_offsets.shape[0]) - 1

    def part(self, first: int, last: int) -> Self:
        """Return the positions of the documents in ``range(first, last)``."""
        offsets = self.token_offsets[first : last + 1]
        return type(self)(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])

    def mask(
        self, candidates: NDArray[np.bool_], phrase: Sequence[int] | NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return the candidates that contain the terms of a phrase in a row.

        Parameters
        ----------
        candidates : ndarray of shape (n_docs,), bool
        phrase : sequence of int
            The term numbers of a phrase. An empty phrase matches every candidate, one with an
            `UNKNOWN` word matches none.

        Returns
        -------
        ndarray of shape (n_docs,), bool
            Computed in time linear in the candidates' tokens.
        """
        terms = np.array(phrase, np.int32)
        if not terms.shape[0]:
            return candidates.copy()
        if UNKNOWN in terms:
            return np.zeros_like(candidates)
        holds = np.empty(self.n_docs, np.bool_)
        find_phrase(
            np.ascontiguousarray(self.tokens),
            np.ascontiguousarray(self.token_offsets),
            np.ascontiguousarray(candidates),
            terms,
            holds,
        )
        return holds

    def renumbered(self, numbers: NDArray[np.int32]) -> Self:
        """Return the positions with other term numbers, -1 for removed terms."""
        known = self.tokens >= 0
        tokens = self.tokens.copy()
        moved = numbers[tokens[known]]
        tokens[known] = np.where(moved < 0, np.int32(UNKNOWN), moved)
        return type(self)(tokens, self.token_offsets)

    @classmethod
    def merge(cls, parts: Sequence[Self], live: Sequence[NDArray[np.bool_] | None]) -> Self:
        """Return the positions of the live documents (None: all) of several segments, in order."""
        tokens, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for part, kept in zip(parts, live, strict=True):
            sizes = np.diff(part.token_offsets)
            if kept is None:
                tokens.append(part.tokens)
                lengths.append(sizes)
            else:
                tokens.append(part.tokens[np.repeat(kept, sizes)])
                lengths.append(sizes[kept])
        return cls(np.concatenate(tokens), running_sum(np.concatenate(lengths)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for storage."""
        return {"tokens": self.tokens, "token_offsets": self.token_offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_docs: int) -> Self:
        """Return positions over stored arrays, at a cost that does not depend on their size.

        Only `check` reads the contents: altered numbers are safe to search, but can match other
        phrases.

        Raises
        ------
        CorruptIndexError
            If an array is missing, or has another type or length than was written.
        """
        if missing := {"tokens", "token_offsets"} - arrays.keys():
            raise CorruptIndexError(f"positions lack their arrays {', '.join(sorted(missing))}.")
        tokens, offsets = arrays["tokens"], arrays["token_offsets"]
        check_array("token_offsets", offsets, ("int64",), n_docs + 1)
        check_array("tokens", tokens, ("int32",), int(offsets[-1]))
        return cls(tokens, offsets)

    def check(self, n_terms: int) -> None:
        """Read all numbers; CorruptIndexError if one is invalid."""
        check_starts("token_offsets", self.token_offsets, self.tokens.shape[0])
        # Shifted to start at 0, because `UNKNOWN` and `LEFT_OUT` are valid.
        shifted = self.tokens.astype(np.int64) - UNKNOWN
        check_numbers("tokens", shifted, n_terms - UNKNOWN)
