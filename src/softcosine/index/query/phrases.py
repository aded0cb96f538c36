"""Phrase matching, by stored positions or in the texts.

The running words of a document are its words in order. Words that the analyzer removes, such as
stop words, keep their place: *king of Spain* runs king, (removed), spain. If *of* and *in* are
removed, it matches ``"king of Spain"`` and ``"king in Spain"``, but neither ``"king Spain"`` nor
``"king of all Spain"``. Removed words at the ends of a phrase are ignored. N-grams do not count.

`Positions` store the running words of a segment as term numbers. Without them the texts are
analysed again; the results are the same for documents that contain all words of the phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import CorruptIndexError
from softcosine.kernels.phrases import find_phrase
from softcosine.matrix.ranges import check_array, check_numbers, check_starts
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

LEFT_OUT = -1  # instead of a term number: a word that the analyzer removes
UNKNOWN = -2  # a word without a term number: too rare to be indexed, or in no document

Running = Sequence[str | None]


def running_words(text: str | Sequence[str], analyzer: Analyzer) -> list[str | None]:
    """Return the stemmed words of a text in order; None for removed words.

    Parameters
    ----------
    text : str or sequence of str
        A text, or its tokens, used as they are.
    analyzer : Analyzer

    Examples
    --------
    >>> running_words("The kings of Spain", Analyzer("english", stop_words="english"))
    [None, 'king', None, 'spain']
    """
    words = analyzer.words(text) if isinstance(text, str) else [str(token) for token in text]
    return [
        stem if analyzer.keeps(word) else None
        for word, stem in zip(words, analyzer.stem(words), strict=True)
    ]


def token_numbers(words: Running, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the term number of each running word, `LEFT_OUT` or `UNKNOWN`."""
    kept = [word is not None for word in words]
    numbers = np.full(len(words), LEFT_OUT, np.int32)
    found = vocabulary.indices(word for word in words if word is not None)
    numbers[kept] = np.where(found < 0, UNKNOWN, found)
    return numbers


def phrase_words(phrase: str | Sequence[str], analyzer: Analyzer) -> list[str | None]:
    """Return the running words of a phrase; empty if it has only removed words."""
    words = running_words(phrase, analyzer)
    kept = [place for place, word in enumerate(words) if word is not None]
    return words[kept[0] : kept[-1] + 1] if kept else []


def holds_phrase(words: Running, phrase: Running) -> bool:
    """Whether a document's running words contain those of a phrase in a row.

    The reference implementation of `Positions.mask`.
    """
    wanted, m = list(phrase), len(phrase)
    return any(list(words[i : i + m]) == wanted for i in range(len(words) - m + 1))


def phrase_mask_of_texts(
    text_of: Callable[[int], str],
    analyzer: Analyzer,
    candidates: NDArray[np.bool_],
    phrase: Running,
) -> NDArray[np.bool_]:
    """Return the candidates whose texts contain a phrase.

    Parameters
    ----------
    text_of : callable
        Returns the text of a document by its number, such as `Documents.text`; called only for
        candidates.
    analyzer : Analyzer
        Of the index.
    candidates : ndarray of shape (n_docs,), bool
        Documents that contain every word of the phrase. The text of each is analysed.
    phrase : sequence of str or None
        See `phrase_words`.

    Returns
    -------
    ndarray of shape (n_docs,), bool
    """
    holds = np.zeros_like(candidates)
    for number in np.flatnonzero(candidates).tolist():
        holds[number] = holds_phrase(running_words(text_of(number), analyzer), phrase)
    return holds


@dataclass(frozen=True, slots=True)
class Positions:
    """The running words of a segment's documents.

    Attributes
    ----------
    tokens : ndarray of shape (n_tokens,), int32
        See `token_numbers`.
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
            The term numbers of `phrase_words`. An empty phrase matches every candidate, one with an
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
