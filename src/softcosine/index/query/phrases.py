"""Phrases: words that stand one after the other, in kept positions or in the texts themselves.

A document runs as its words, in order. Words that the analyzer leaves out, such as stop words, keep
their place: *king of Spain* runs king, (left out), spain, and is found by ``"king of Spain"`` and
``"king in Spain"`` where *of* and *in* are left out, but by neither ``"king Spain"`` nor ``"king of
all Spain"``. At the ends of a phrase, what is left out asks for nothing. N-grams have no part here.

`Positions` keep the running words of a segment as term numbers. Without them, the texts are
analyzed again; the answers are the same for documents that hold all words of the phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.kernels.phrases import find_phrase
from softcosine.matrix.ranges import check_array, check_numbers, check_starts
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "LEFT_OUT",
    "UNKNOWN",
    "Positions",
    "holds_phrase",
    "phrase_mask_of_texts",
    "phrase_words",
    "running_words",
    "token_numbers",
]

LEFT_OUT = -1  # in place of a term number: a word that the analyzer leaves out
UNKNOWN = -2  # a word without a number: too rare to be indexed, or in no document

Running = Sequence[str | None]


def running_words(text: str | Sequence[str], analyzer: Analyzer) -> list[str | None]:
    """Return a text's words in running order, stemmed; None for those left out.

    Parameters
    ----------
    text : str or sequence of str
        A text, or its tokens, which are neither cut nor normalised.
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
    """Return the term number of each running word, or `LEFT_OUT` or `UNKNOWN`."""
    kept = [word is not None for word in words]
    numbers = np.full(len(words), LEFT_OUT, np.int32)
    found = vocabulary.indices(word for word in words if word is not None)
    numbers[kept] = np.where(found < 0, UNKNOWN, found)
    return numbers


def phrase_words(phrase: str | Sequence[str], analyzer: Analyzer) -> list[str | None]:
    """Return the words that a phrase asks for; empty, as of stop words alone: it asks nothing."""
    words = running_words(phrase, analyzer)
    kept = [place for place, word in enumerate(words) if word is not None]
    return words[kept[0] : kept[-1] + 1] if kept else []


def holds_phrase(words: Running, phrase: Running) -> bool:
    """Whether a document's running words hold those of a phrase, one after the other.

    The plain statement; `Positions.mask` gives the same.
    """
    wanted, m = list(phrase), len(phrase)
    return any(list(words[i : i + m]) == wanted for i in range(len(words) - m + 1))


def phrase_mask_of_texts(
    text_of: Callable[[int], str],
    analyzer: Analyzer,
    candidates: NDArray[np.bool_],
    phrase: Running,
) -> NDArray[np.bool_]:
    """Say which candidates hold a phrase, by their texts.

    Parameters
    ----------
    text_of : callable
        The text of a document by its number, as `Documents.text`; asked for candidates alone.
    analyzer : Analyzer
        Of the index.
    candidates : ndarray of shape (n_docs,), bool
        Those that hold every word of the phrase: each costs the analysis of its text.
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
        As `token_numbers` gives them.
    token_offsets : ndarray of shape (n_docs + 1,), int64
        Where each document begins in `tokens`.
    """

    tokens: NDArray[np.int32]
    token_offsets: NDArray[np.int64]

    @classmethod
    def from_documents(cls, documents: Iterable[Sequence[int] | NDArray[np.int32]]) -> Self:
        """Keep the running term numbers of documents, read once."""
        rows = [np.asarray(row, np.int32) for row in documents]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([row.shape[0] for row in rows], out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.int32), *rows]), offsets)

    @property
    def n_docs(self) -> int:
        """How many documents there are."""
        return int(self.token_offsets.shape[0]) - 1

    def part(self, first: int, last: int) -> Self:
        """Return the running words of the documents from `first` to before `last`."""
        offsets = self.token_offsets[first : last + 1]
        return type(self)(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])

    def mask(
        self, candidates: NDArray[np.bool_], phrase: Sequence[int] | NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Say which candidates hold the terms of a phrase, one after the other.

        Parameters
        ----------
        candidates : ndarray of shape (n_docs,), bool
        phrase : sequence of int
            The numbers of `phrase_words`. Without any it holds for every candidate, with an
            `UNKNOWN` one for none.

        Returns
        -------
        ndarray of shape (n_docs,), bool
            Linear in the candidates' tokens.
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
        """Return the running words by other numbers, -1 for terms that are none any more."""
        known = self.tokens >= 0
        tokens = self.tokens.copy()
        moved = numbers[tokens[known]]
        tokens[known] = np.where(moved < 0, np.int32(UNKNOWN), moved)
        return type(self)(tokens, self.token_offsets)

    @classmethod
    def merge(cls, parts: Sequence[Self], live: Sequence[NDArray[np.bool_] | None]) -> Self:
        """Join segments: the documents of each that are live (None: all), in their order."""
        tokens, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for part, kept in zip(parts, live, strict=True):
            sizes = np.diff(part.token_offsets)
            if kept is None:
                tokens.append(part.tokens)
                lengths.append(sizes)
            else:
                tokens.append(part.tokens[np.repeat(kept, sizes)])
                lengths.append(sizes[kept])
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        return cls(np.concatenate(tokens), offsets)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for storage."""
        return {"tokens": self.tokens, "token_offsets": self.token_offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_docs: int) -> Self:
        """Take stored arrays, at the same cost whatever their size.

        What they hold is checked by `check` alone: altered numbers lead no search astray, they
        only hold other phrases.

        Raises
        ------
        CorruptIndexError
            If an array is missing, or of another type or length than was written.
        """
        if missing := {"tokens", "token_offsets"} - arrays.keys():
            raise CorruptIndexError(f"positions lack their arrays {', '.join(sorted(missing))}.")
        tokens, offsets = arrays["tokens"], arrays["token_offsets"]
        check_array("token_offsets", offsets, ("int64",), n_docs + 1)
        check_array("tokens", tokens, ("int32",), int(offsets[-1]))
        return cls(tokens, offsets)

    def check(self, n_terms: int) -> None:
        """Read all; CorruptIndexError if it cannot be what was written."""
        check_starts("token_offsets", self.token_offsets, self.tokens.shape[0])
        # From 0: `UNKNOWN` and `LEFT_OUT` are possible ones.
        shifted = self.tokens.astype(np.int64) - UNKNOWN
        check_numbers("tokens", shifted, n_terms - UNKNOWN)
