"""Constraints of a query: words and phrases that documents must, or must not, contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.query.parser import Clause
from softcosine.index.query.phrases import LEFT_OUT, UNKNOWN, phrase_mask_of_texts, phrase_words
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary

Mask = NDArray[np.bool_]


def mask_of(documents: NDArray[np.integer], n_docs: int) -> Mask:
    """Return a set of documents as a mask."""
    mask = np.zeros(n_docs, np.bool_)
    mask[documents] = True
    return mask


def all_of(inside: Iterable[Mask | None], outside: Iterable[Mask] = ()) -> Mask | None:
    """Return the documents that are in every set `inside`, and in no set `outside`.

    Parameters
    ----------
    inside : iterable of (ndarray of shape (n_docs,), bool) or None
            None is the set of all documents, such as a missing filter, or the live documents of a
            segment without deletes.
    outside : iterable of ndarray of shape (n_docs,), bool

    Returns
    -------
    ndarray of shape (n_docs,), bool, or None
        A new array; None for all documents.
    """
    result: Mask | None = None
    for mask in inside:
        if mask is not None:
            result = mask.copy() if result is None else np.logical_and(result, mask, out=result)
    for mask in outside:
        if result is None:
            result = np.logical_not(mask)
        else:
            np.greater(result, mask, out=result)  # in the first set and not in the second
    return result


@dataclass(frozen=True, slots=True)
class _Phrase:
    """The term numbers of a phrase and its words."""

    words: tuple[str | None, ...]
    numbers: tuple[int, ...]

    @property
    def terms(self) -> tuple[int, ...]:
        """The distinct terms of the phrase."""
        return tuple(sorted(set(self.numbers) - {LEFT_OUT}))


@dataclass(frozen=True, slots=True)
class Constraints:
    """Terms and phrases that documents must, or must not, contain.

    Attributes
    ----------
    must : tuple of int
        Term numbers; `UNKNOWN` for words that are not indexed, which match no document.
    must_not : tuple of tuple of int
        Each tuple excludes documents that contain all of its terms.
    phrases, no_phrases : tuple
    required, excluded : tuple of str
        The clauses, without signs and weights.
    """

    must: tuple[int, ...]
    must_not: tuple[tuple[int, ...], ...]
    phrases: tuple[_Phrase, ...]
    no_phrases: tuple[_Phrase, ...]
    required: tuple[str, ...]
    excluded: tuple[str, ...]

    def mask(
        self, segment: IndexedSegment, analyzer: Analyzer, allowed: Mask | None
    ) -> Mask | None:
        """Return the allowed documents of a segment that meet the constraints; None for all."""
        inside = [_holding(segment, term) for term in self.must]
        outside = [_holding_all(segment, terms) for terms in self.must_not]
        mask = all_of([allowed, *inside], outside)
        # Last, because a phrase may have to read the texts of all remaining documents.
        for phrase in self.phrases:
            mask = all_of([mask, _holding_phrase(segment, phrase, analyzer, mask)])
        for phrase in self.no_phrases:
            mask = all_of([mask], [_holding_phrase(segment, phrase, analyzer, mask)])
        return mask


def constraints_of(clauses: Iterable[Clause], snapshot: Snapshot) -> Constraints | None:
    """Return the constraints of the clauses of a query; None if it has none.

    A quoted phrase is required, with or without ``+``. A clause of several words requires them all
    (``+e-mail`` requires *e* and *mail*), or excludes documents with all of them (``-e-mail``).

    Raises
    ------
    InvalidInputError
        If the query has a phrase, and the index stores neither positions nor suitable texts.
    """
    must: set[int] = set()
    must_not: list[tuple[int, ...]] = []
    phrases: list[_Phrase] = []
    no_phrases: list[_Phrase] = []
    required: dict[str, None] = {}
    excluded: dict[str, None] = {}
    for clause in clauses:
        if clause.kind == "should" and not clause.phrase:
            continue
        phrase = _phrase(clause.text, snapshot.analyzer, snapshot.S.vocabulary)
        if not phrase.terms:
            continue
        own = excluded if clause.kind == "must_not" else required
        own[f'"{clause.text}"' if clause.phrase else str(clause.text)] = None
        one_after_the_other = clause.phrase and len(phrase.numbers) > 1
        if clause.kind != "must_not":
            must.update(phrase.terms)
            if one_after_the_other:
                phrases.append(phrase)
        elif one_after_the_other:
            no_phrases.append(phrase)
        else:
            must_not.append(phrase.terms)
    if phrases or no_phrases:
        _check_phrases(snapshot)
    if not (must or must_not or no_phrases):
        return None
    return Constraints(
        tuple(sorted(must)), tuple(must_not), tuple(phrases), tuple(no_phrases), tuple(required),
        tuple(excluded),
    )  # fmt: skip


def holding_every(snapshot: Snapshot, terms: Sequence[int]) -> list[Mask]:
    """Return, for each segment, the documents that contain all terms, in any fields.

    The masks can include deleted documents.
    """
    masks = [np.ones(segment.n_docs, np.bool_) for segment in snapshot.segments]
    for term in terms:
        for mask, segment in zip(masks, snapshot.segments, strict=True):
            mask &= _holding(segment, term)
    return masks


def _phrase(text: str | Sequence[str], analyzer: Analyzer, vocabulary: Vocabulary) -> _Phrase:
    words = phrase_words(text, analyzer)
    numbers = [
        LEFT_OUT if word is None else (UNKNOWN if (n := vocabulary.get(word)) < 0 else n)
        for word in words
    ]
    return _Phrase(tuple(words), tuple(numbers))


def _holding(segment: IndexedSegment, term: int) -> Mask:
    """Return the documents that contain a term in any field."""
    mask = np.zeros(segment.n_docs, np.bool_)
    if term != UNKNOWN:
        for own in segment.fields:
            mask[own.postings(term)] = True
    return mask


def _holding_all(segment: IndexedSegment, terms: Sequence[int]) -> Mask:
    """Return the documents that contain all terms (at least one), each in any field."""
    mask = all_of(_holding(segment, term) for term in terms)
    assert mask is not None
    return mask


def _holding_phrase(
    segment: IndexedSegment, phrase: _Phrase, analyzer: Analyzer, within: Mask | None
) -> Mask:
    """Return the documents among `within` that contain a phrase within one field."""
    candidates = all_of([within, segment.live, _holding_all(segment, phrase.terms)])
    assert candidates is not None
    if segment.positions is None:
        return phrase_mask_of_texts(segment.documents.text, analyzer, candidates, phrase.words)
    found = np.zeros_like(candidates)
    for positions in segment.positions:
        found |= positions.mask(candidates, phrase.numbers)
    return found


def _check_phrases(snapshot: Snapshot) -> None:
    if snapshot.keeps_positions:
        return
    if not snapshot.documents.keeps_texts:
        raise InvalidInputError(
            "the query holds a phrase, and this index keeps neither the places of words nor the "
            "texts; leave out the quotes, or index again with positions=True."
        )
    if len(snapshot.fields) > 1:
        # The stored text joins all fields and does not mark where one ends.
        raise InvalidInputError(
            "the query holds a phrase, and this index of several fields does not keep the places "
            "of words; leave out the quotes, or index again with positions=True."
        )
