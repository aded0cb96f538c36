"""Phrase matching, by stored positions or in the texts.

The running words of a document are its words in order. Words that the analyzer removes, such as
stop words, keep their place: *king of Spain* runs king, (removed), spain. If *of* and *in* are
removed, it matches ``"king of Spain"`` and ``"king in Spain"``, but neither ``"king Spain"`` nor
``"king of all Spain"``. Removed words at the ends of a phrase are ignored. N-grams do not count.

Without `softcosine.index.segment.positions` the texts are analysed again; the results are the same
for documents that contain all words of the phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.index.segment.positions import LEFT_OUT, UNKNOWN
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

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
    """Whether a document contains the words of a phrase, one after the other.

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
