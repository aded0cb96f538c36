"""Which documents a query may return: a filter, and words that they must, or must not, contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.query.filters import Where
from softcosine.index.query.joints import TermNumbers, units_of, variants_of
from softcosine.index.query.parser import Clause
from softcosine.index.query.phrases import (
    phrase_mask_of_texts,
    phrase_words,
    token_numbers,
)
from softcosine.index.requests import SearchOptions
from softcosine.index.segment.positions import LEFT_OUT
from softcosine.index.segment.segment import holding_all
from softcosine.text.analyzer import Analyzer

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
class _Constraint:
    """Words that documents must, or must not, contain together: anywhere or as a phrase.

    Attributes
    ----------
    variants : tuple of pairs
        The words with other joints, too, each as what `phrase_words` returns and as term numbers:
        `LEFT_OUT`, or `UNKNOWN` for words that are not indexed, which match no document.
    in_a_row, excluded : bool
    """

    variants: tuple[tuple[tuple[str | None, ...], tuple[int, ...]], ...]
    in_a_row: bool
    excluded: bool

    def holding(self, segment: IndexedSegment, analyzer: Analyzer, within: Mask | None) -> Mask:
        """Return a mask of the documents with the words; phrases are searched `within` a mask."""
        found = np.zeros(segment.fields[0].n_docs, np.bool_)
        for words, numbers in self.variants:
            mask = holding_all(segment.fields, sorted(set(numbers) - {LEFT_OUT}))
            if not self.in_a_row or len(words) == 1:
                found |= mask
                continue
            candidates = all_of([mask, within, segment.live])
            assert candidates is not None
            if segment.positions is None:
                text_of = segment.documents.text
                found |= phrase_mask_of_texts(text_of, analyzer, candidates, words)
            for positions in segment.positions or ():  # within one field
                found |= positions.mask(candidates, numbers)
        return found


def sharing(segment: IndexedSegment, terms: Iterable[NDArray[np.int32]]) -> Mask:
    """Return the documents of a segment that have one of the terms of their field."""
    mask = np.zeros(segment.n_docs, np.bool_)
    for own, some in zip(segment.fields, terms, strict=True):
        mask[own.documents_of(some)] = True
    return mask


@dataclass(frozen=True, slots=True)
class Constraints:
    """Terms and phrases that documents must, or must not, contain.

    Attributes
    ----------
    clauses : tuple
        Phrases last, because one may have to read the texts of all remaining documents.
    required, excluded : tuple of str
        The clauses, without signs and weights.
    """

    clauses: tuple[_Constraint, ...]
    required: tuple[str, ...]
    excluded: tuple[str, ...]

    def mask(
        self, segment: IndexedSegment, analyzer: Analyzer, allowed: Mask | None
    ) -> Mask | None:
        """Return the allowed documents of a segment that meet the constraints; None for all."""
        check_deadline()
        mask = allowed
        for one in self.clauses:
            holding = one.holding(segment, analyzer, mask)
            mask = all_of([mask], [holding]) if one.excluded else all_of([mask, holding])
        return mask


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Which documents the queries of a request may return.

    Attributes
    ----------
    snapshot : Snapshot
    filtered : list of ndarray of shape (n_docs,), bool, or None
        For each segment, the documents that pass the filter; None for all.
    """

    snapshot: Snapshot
    filtered: list[Mask | None]
    _last: dict[Constraints, list[Mask | None]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, snapshot: Snapshot, request: SearchOptions) -> Self:
        """Return the restrictions of a request."""
        return cls(snapshot, passing(snapshot, request.where))

    def masks(self, constraints: Constraints | None) -> list[Mask | None]:
        """Return the documents of each segment that a query may return; None for all."""
        if constraints is None:
            return self.filtered
        masks = self._last.get(constraints)
        if masks is None:
            masks = [
                constraints.mask(segment, self.snapshot.analyzer, mask)
                for segment, mask in zip(self.snapshot.segments, self.filtered, strict=True)
            ]
            self._last.clear()  # of one query: those of a batch would take too much memory
            self._last[constraints] = masks
        return masks

    def of_query(self, clauses: Iterable[Clause]) -> Constraints | None:
        """Return the constraints of the clauses of a query; None if it has none.

        A quoted phrase is required, with or without ``+``. A clause of several words requires them
        all (``+e-mail`` requires *e* and *mail*), or excludes documents with all of them
        (``-e-mail``).

        Raises
        ------
        InvalidInputError
            If the query has a phrase, and the index stores neither positions nor suitable texts.
        """
        snapshot = self.snapshot
        constraints: list[_Constraint] = []
        shown: dict[bool, dict[str, None]] = {False: {}, True: {}}
        for clause in clauses:
            if clause.kind == "should" and not clause.phrase:
                continue
            vocabulary = snapshot.S.vocabulary
            numbers = TermNumbers(vocabulary)
            units = units_of(clause.text, snapshot.analyzer, numbers, phrase=clause.phrase)
            variants = [
                (tuple(words), tuple(token_numbers(words, vocabulary).tolist()))
                for one in variants_of(units)
                if (words := phrase_words(one, snapshot.analyzer))
            ]
            if not variants:
                continue
            excluded = clause.kind == "must_not"
            shown[excluded][f'"{clause.text}"' if clause.phrase else str(clause.text)] = None
            in_a_row = clause.phrase and any(len(words) > 1 for words, _ in variants)
            constraints.append(_Constraint(tuple(variants), in_a_row, excluded))
        if any(one.in_a_row for one in constraints):
            _check_phrases(snapshot)
        if not constraints:
            return None
        constraints.sort(key=lambda one: (one.in_a_row, one.excluded))
        return Constraints(tuple(constraints), tuple(shown[False]), tuple(shown[True]))


def passing(snapshot: Snapshot, where: Mapping[str, Any] | None) -> list[Mask | None]:
    """Return the documents of each segment that pass a filter, deleted included; None for all."""
    if where is None:
        return [None for _ in snapshot.segments]
    parsed = Where.parse(where)
    return [segment.columns.mask(parsed) for segment in snapshot.segments]


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
