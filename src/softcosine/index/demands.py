"""What a query demands of documents beside a score: words and phrases that must or must not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.index.masks import Mask, all_of, mask_of
from softcosine.index.phrases import LEFT_OUT, UNKNOWN, phrase_mask_of_texts, phrase_words
from softcosine.index.snapshot import IndexedSegment, Snapshot
from softcosine.index.syntax import QuerySyntax
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

__all__ = ["Demands", "demands_of", "holding_all"]


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words one after the other, and their numbers."""

    words: tuple[str | None, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Demands:
    """Terms and phrases that documents must hold, and that they must not.

    Attributes
    ----------
    must, must_not : tuple of int
        Numbers of terms; `UNKNOWN` for those that no document has.
    phrases, no_phrases : tuple
    """

    must: tuple[int, ...]
    must_not: tuple[int, ...]
    phrases: tuple[_Phrase, ...]
    no_phrases: tuple[_Phrase, ...]

    def mask(self, segment: IndexedSegment, analyzer: Analyzer) -> Mask | None:
        """Return which documents of a segment meet the demands; None for all."""
        inside: list[Mask | None] = [_holding(segment, term) for term in self.must]
        outside = [_holding(segment, term) for term in self.must_not]
        inside += [_holding_phrase(segment, phrase, analyzer) for phrase in self.phrases]
        outside += [_holding_phrase(segment, phrase, analyzer) for phrase in self.no_phrases]
        return all_of(inside, outside)


def demands_of(syntax: QuerySyntax, snapshot: Snapshot) -> Demands | None:
    """Find the terms and phrases of a query that demand something; None if none does.

    A quoted phrase must be there, with ``+`` or without. Every word of a clause counts: ``+e-mail``
    demands *e* and *mail*, and ``-e-mail`` keeps out what holds both.

    Raises
    ------
    InvalidInputError
        If a phrase is asked for, and the index keeps neither positions nor texts.
    """
    vocabulary, analyzer = snapshot.S.vocabulary, snapshot.analyzer
    must: list[int] = []
    must_not: list[int] = []
    phrases: list[_Phrase] = []
    no_phrases: list[_Phrase] = []
    for clause in syntax.clauses:
        unwanted = clause.kind == "must_not"
        if clause.kind == "should" and not clause.phrase:
            continue
        phrase = _phrase(clause.text, analyzer, vocabulary)
        distinct = set(phrase.numbers) - {LEFT_OUT}
        if len(distinct) == 0:
            continue
        if not unwanted:
            must += distinct
        if len(phrase.numbers) > 1 and (clause.phrase or unwanted):
            # Several words are unwanted together, side by side or, without quotes, anywhere.
            (no_phrases if unwanted else phrases).append(phrase)
        elif unwanted:
            must_not += distinct
    if phrases or no_phrases:
        _check_phrases(snapshot)
    if not (must or must_not or phrases or no_phrases):
        return None
    return Demands(tuple(must), tuple(must_not), tuple(phrases), tuple(no_phrases))


def holding_all(segment: IndexedSegment, terms: Sequence[int]) -> Mask:
    """Return which documents hold every one of some terms, in any field."""
    mask = all_of([_holding(segment, term) for term in terms])
    return np.ones(segment.n_docs, np.bool_) if mask is None else mask


def _phrase(text: str, analyzer: Analyzer, vocabulary: Vocabulary) -> _Phrase:
    words = phrase_words(text, analyzer)
    numbers = [
        LEFT_OUT if word is None else (UNKNOWN if (n := vocabulary.get(word)) < 0 else n)
        for word in words
    ]
    return _Phrase(tuple(words), tuple(numbers))


def _holding(segment: IndexedSegment, term: int) -> Mask:
    """Return which documents hold a term, in any field."""
    mask = np.zeros(segment.n_docs, np.bool_)
    if term != UNKNOWN:
        for own in segment.fields:
            mask |= mask_of(own.documents_of(np.array([term], np.int32)), segment.n_docs)
    return mask


def _holding_phrase(segment: IndexedSegment, phrase: _Phrase, analyzer: Analyzer) -> Mask:
    """Return which documents hold a phrase, within one field where positions are kept."""
    if UNKNOWN in phrase.numbers:
        return np.zeros(segment.n_docs, np.bool_)
    candidates = holding_all(segment, sorted(set(phrase.numbers) - {LEFT_OUT}))
    if segment.positions is None:
        if segment.live is not None:
            candidates &= segment.live
        return phrase_mask_of_texts(segment.documents.text, analyzer, candidates, phrase.words)
    found = np.zeros_like(candidates)
    for positions in segment.positions:
        found |= positions.mask(candidates, phrase.numbers)
    return found


def _check_phrases(snapshot: Snapshot) -> None:
    if not snapshot.documents.keeps_texts and any(
        segment.positions is None for segment in snapshot.segments
    ):
        raise InvalidInputError(
            "the query holds a phrase, and this index keeps neither the places of words nor the "
            "texts; leave out the quotes, or index again with positions=True."
        )
