"""The inverted index and the forward index of one field of a segment.

Raw counts are stored, so S and W can change without rewriting postings. Postings are ordered by
term, then by frequency (1 first, the most common), then by document. A posting takes 2 bytes and
has no weight, because all postings of a group share their frequency. Distinct frequencies are
numbered as *levels*; large frequencies are not clipped. In the forward index a term and its level
take 4 bytes together; levels from 255 on are stored separately. A matrix of real weights has a
float64 per value instead; each document is divided by a power of two that brings its largest weight
into [1, 2), so that no digit is lost and squares neither overflow nor underflow.

A segment holds at most 65,536 documents: document numbers take 16 bits, and the scores of a search
stay in the second-level cache (docs/decisions.md). The term directory lists only the terms that
occur in the segment, so the size of a segment does not depend on the vocabulary. Offsets of terms
and groups take 32 bits.

Kernels do not check their arrays, and stored arrays may be damaged. So the arrays of a large
segment are checked once, before their first use, in the groups `STARTS`, `POSTINGS` and `ENTRIES`.
Code that reads only a few documents uses `rows`, whose kernels check each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.kernels.postings import invert_counts, invert_reals
from softcosine.matrix.ranges import (
    check_array,
    check_ascending,
    check_numbers,
    check_starts,
    check_values,
)
from softcosine.space.norms import balanced
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import JOINED

MAX_DOCS = 2**16
_MAX_TERMS = 2**24  # with counts: a term takes 24 bits of an entry
_SPILLED = 255
_MAX_LEVELS = 2**16
_MAX_POSTINGS = 2**32 - 1  # of a segment: offsets take 32 bits
# Larger segments are checked at first use, so that the cost of opening does not grow with size.
_CHECKED_AT_ONCE = 2**20
_BLOCK = 2**16  # entries checked at a time, in the second-level cache

# Arrays that are checked together: offsets of documents, terms and groups, with other short arrays;
# the postings; the forward index.
STARTS, POSTINGS, ENTRIES = "starts", "postings", "entries"
_DTYPES = {
    "pointers": ("int64",),
    "entries": ("uint32",),
    "spilled": ("int64",),
    "spilled_levels": ("uint16",),
    "frequencies": ("float64",),
    "present_terms": ("int32",),
    "term_groups": ("uint32",),
    "group_starts": ("uint32",),
    "lengths": ("float64",),
    "group_levels": ("uint16",),
    "documents": ("uint16",),
}


@dataclass(frozen=True, slots=True)
class Segment:
    """The inverted and forward index of at most `MAX_DOCS` documents.

    Attributes
    ----------
    n_terms : int
        Size of the vocabulary when the segment was made; later terms do not occur in it.
    pointers : ndarray of shape (n_docs + 1,), int64
        Offset of each document in `entries` and `reals`.
    entries : ndarray of shape (n_postings,), uint32
        Terms, ascending within a document. For counts, the upper 8 bits are the level of the
        frequency, or 255 if it does not fit.
    spilled : ndarray of shape (n_spilled,), int64
        Positions of the entries whose level is 255 or more, ascending.
    spilled_levels : ndarray of shape (n_spilled,), uint16
        The levels of these entries.
    reals : ndarray, float64
        Real weights in [0, 2); empty for counts.
    frequencies : ndarray of shape (n_levels,), float64
        The distinct frequencies, ascending; empty for real weights.
    scales : ndarray of shape (n_docs,), float64
        Power of two by which the values of each document were divided; ones for counts.
    lengths : ndarray of shape (n_docs,), float64
        Sum of the frequencies of each document; 0 for real weights.
    present_terms : ndarray of shape (n_present,), int32
        Terms that occur in the segment, ascending.
    term_groups : ndarray of shape (n_present + 1,), uint32
        Offset of each of these terms in `group_starts`; for real weights, in `documents`.
    group_starts : ndarray of shape (n_groups + 1,), uint32
    group_levels : ndarray of shape (n_groups,), uint16
    documents : ndarray of shape (n_postings,), uint16
        The postings.
    posting_weights : ndarray, float32
        Parallel to `documents`; empty for counts.
    """

    n_terms: int
    pointers: NDArray[np.int64]
    entries: NDArray[np.uint32]
    spilled: NDArray[np.int64]
    spilled_levels: NDArray[np.uint16]
    reals: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    scales: NDArray[np.float64]
    lengths: NDArray[np.float64]
    present_terms: NDArray[np.int32]
    term_groups: NDArray[np.uint32]
    group_starts: NDArray[np.uint32]
    group_levels: NDArray[np.uint16]
    documents: NDArray[np.uint16]
    posting_weights: NDArray[np.float32]
    _unchecked: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @classmethod
    def from_counts(cls, X: scipy.sparse.csr_array, vocabulary: Vocabulary | None = None) -> Self:
        """Return the segment of a canonical matrix of positive counts (n_docs, n_terms).

        Lengths do not count the joined words of a vocabulary.
        """
        n_docs, n_terms = X.shape
        assert n_docs <= MAX_DOCS
        if n_terms > _MAX_TERMS:
            raise InvalidInputError(
                f"there are {n_terms} distinct terms, and {_MAX_TERMS} is the most; leave rare "
                "ones out (min_df), or weigh the counts first and index real weights."
            )
        pointers = X.indptr.astype(np.int64)
        terms = X.indices.astype(np.uint32)
        frequencies, levels, level_starts = _levels(X.data)
        term_starts = _starts(terms, n_terms)
        n_postings = int(terms.shape[0])
        assert n_postings <= _MAX_POSTINGS
        documents = np.empty(n_postings, np.uint16)
        term_groups = np.empty(n_terms + 1, np.int64)
        group_starts = np.empty(n_postings + 1, np.int64)
        group_levels = np.empty(n_postings, np.uint16)
        n_groups = invert_counts(
            pointers, terms, levels, level_starts, term_starts,
            documents, term_groups, group_starts, group_levels,
        )  # fmt: skip
        counted = X.data
        if vocabulary is not None:
            joined, present = np.zeros(n_terms, np.bool_), np.flatnonzero(np.diff(term_groups))
            blob, offsets = vocabulary.packed.arrays  # quicker than decoding the terms
            begins = blob.take(offsets[present, np.newaxis] + np.arange(3), mode="clip")
            joined[present] = (begins == [*JOINED.encode()]).all(axis=1)
            counted = counted * ~joined[terms]
        return cls(
            n_terms=n_terms,
            pointers=pointers,
            **packed(terms, levels),
            reals=np.empty(0),
            frequencies=frequencies.astype(np.float64),
            scales=np.ones(n_docs),
            lengths=_sums(counted, pointers),
            **_directory(term_groups),
            group_starts=group_starts[: n_groups + 1].astype(np.uint32),
            group_levels=group_levels[:n_groups].copy(),
            documents=documents,
            posting_weights=np.empty(0, np.float32),
        )

    @classmethod
    def from_weights(cls, X: scipy.sparse.csr_array) -> Self:
        """Return the segment of a canonical matrix of positive real weights (n_docs, n_terms)."""
        n_terms = X.shape[1]
        assert X.shape[0] <= MAX_DOCS
        pointers = X.indptr.astype(np.int64)
        terms = X.indices.astype(np.uint32)
        scaled, powers = balanced(X)
        scales, reals = np.ldexp(1.0, powers), scaled.data
        n_postings = int(terms.shape[0])
        assert n_postings <= _MAX_POSTINGS
        documents = np.empty(n_postings, np.uint16)
        posting_weights = np.empty(n_postings, np.float32)
        term_starts = _starts(terms, n_terms)
        directory = _directory(np.append(term_starts, n_postings))
        invert_reals(pointers, terms, reals, term_starts, documents, posting_weights)
        return cls(
            n_terms=n_terms,
            pointers=pointers,
            entries=terms,
            spilled=np.empty(0, np.int64),
            spilled_levels=np.empty(0, np.uint16),
            reals=reals,
            frequencies=np.empty(0),
            scales=scales,
            lengths=np.zeros(X.shape[0]),
            **directory,
            # A matrix without values has the arrays of a matrix of counts.
            group_starts=np.zeros(int(n_postings == 0), np.uint32),
            group_levels=np.empty(0, np.uint16),
            documents=documents,
            posting_weights=posting_weights,
        )

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.pointers.shape[0]) - 1

    @property
    def n_postings(self) -> int:
        """Number of postings."""
        return int(self.entries.shape[0])

    @property
    def real(self) -> bool:
        """Whether values are real weights, not counts."""
        return self.frequencies.shape[0] == 0 and self.n_postings > 0

    @property
    def forward(self) -> tuple[NDArray[Any], ...]:
        """The arrays of the forward index, as kernel arguments."""
        self.require(STARTS, ENTRIES)
        return self.rows

    @property
    def rows(self) -> tuple[NDArray[Any], ...]:
        """The same for kernels that check each entry before use."""
        self.require(STARTS)
        return self.pointers, self.entries, self.spilled, self.spilled_levels

    @property
    def terms(self) -> NDArray[np.uint32]:
        """Term of each value, shape (n_postings,), ascending within a document; a new array."""
        return self.terms_of(slice(None))

    @property
    def levels(self) -> NDArray[np.uint16]:
        """Level of each value, shape (n_postings,); a new array, only for counts."""
        return self.levels_of(slice(None))

    @property
    def counts(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """Frequency of each level as a whole number, of 32 bits if all fit."""
        counts = self.frequencies.astype(np.int64)
        fits = counts.max(initial=0) <= np.iinfo(np.int32).max
        return counts.astype(np.int32) if fits else counts

    def terms_of(self, part: slice) -> NDArray[np.uint32]:
        """Terms of a range of values."""
        self.require(ENTRIES)
        return self.entries[part] if self.real else self.entries[part] & np.uint32(0xFFFFFF)

    def levels_of(self, part: slice) -> NDArray[np.uint16]:
        """Levels of a range of values."""
        self.require(ENTRIES)
        levels = (self.entries[part] >> np.uint32(24)).astype(np.uint16)
        start, stop, _ = part.indices(self.n_postings)
        first, last = np.searchsorted(self.spilled, [start, stop])
        levels[self.spilled[first:last] - start] = self.spilled_levels[first:last]
        return levels

    def values(self) -> NDArray[np.float64]:
        """Return the original values, in the order of `terms`."""
        if not self.real:
            return self.frequencies[self.levels]
        return self.reals * np.repeat(self.scales, np.diff(self.pointers))

    def matrix(self, n_terms: int | None = None) -> scipy.sparse.csr_array:
        """Return the original matrix; with more columns if there are later terms."""
        values = self.values() if self.real else self.counts[self.levels]
        X = scipy.sparse.csr_array(
            (values, self.terms.astype(np.int32), self.pointers),
            shape=(self.n_docs, self.n_terms if n_terms is None else n_terms),
        )
        X.has_canonical_format = True
        return X

    @classmethod
    def empty(cls, n_terms: int) -> Self:
        """Return a segment without documents."""
        return cls.from_counts(scipy.sparse.csr_array((0, n_terms)))

    @property
    def term_starts(self) -> NDArray[np.uint32]:
        """Offset of each of `present_terms` in `documents`, shape (n_present + 1,)."""
        self.require(STARTS)
        return self.term_groups if self.real else self.group_starts[self.term_groups]

    def row(self, document: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the ascending terms of a document, and their values."""
        self.require(STARTS)
        part = slice(self.pointers[document], self.pointers[document + 1])
        if self.real:
            return self.terms_of(part), self.reals[part] * self.scales[document]
        return self.terms_of(part), self.frequencies[self.levels_of(part)]

    def postings(self, term: int) -> NDArray[np.uint16]:
        """Return the documents that contain a term, in the order of its postings."""
        self.require(STARTS, POSTINGS)
        slot = int(np.searchsorted(self.present_terms, term))
        if slot == self.present_terms.shape[0] or self.present_terms[slot] != term:
            return self.documents[:0]
        first, last = self.term_groups[slot], self.term_groups[slot + 1]
        if not self.real:
            first, last = self.group_starts[first], self.group_starts[last]
        return self.documents[first:last]

    def documents_of(self, terms: NDArray[np.int32]) -> NDArray[np.uint32]:
        """Return the documents that contain any of the terms, ascending."""
        parts = [self.documents[:0], *map(self.postings, terms.tolist())]
        return np.unique(np.concatenate(parts)).astype(np.uint32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for storage."""
        return {
            array.name: getattr(self, array.name) for array in fields(self) if array.name in _DTYPES
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_terms: int) -> Self:
        """Return a segment of stored arrays; CorruptIndexError if they are inconsistent."""
        if missing := _DTYPES.keys() - arrays.keys():
            raise CorruptIndexError(f"a segment lacks its arrays {', '.join(sorted(missing))}.")
        for name, dtypes in _DTYPES.items():
            check_array(name, arrays[name], dtypes)
        segment = cls(
            n_terms=n_terms,
            **{name: arrays[name] for name in _DTYPES},
            reals=np.empty(0),
            scales=np.ones(max(arrays["pointers"].shape[0] - 1, 0)),
            posting_weights=np.empty(0, np.float32),
        )
        segment._unchecked.update(_CHECKS)
        n = segment.n_postings
        if (
            segment.real  # only counts are stored
            or segment.documents.shape[0] != n
            or segment.spilled_levels.shape != segment.spilled.shape
            or segment.lengths.shape[0] != segment.n_docs
            or segment.n_docs > MAX_DOCS
            or segment.pointers.shape[0] == 0
            or segment.term_groups.shape[0] != segment.present_terms.shape[0] + 1
            or int(segment.pointers[-1]) != n
            or segment.group_starts.shape[0] != segment.group_levels.shape[0] + 1
        ):
            raise CorruptIndexError(
                "the arrays of a segment do not fit together; rebuild the index."
            )
        if n <= _CHECKED_AT_ONCE:
            segment.require(*_CHECKS)
        return segment

    def require(self, *groups: str) -> None:
        """Check groups of arrays once; see `check`.

        Thread-safe; concurrent calls may repeat a check.
        """
        for group in groups:
            if group in self._unchecked:
                _CHECKS[group](self)
                self._unchecked.discard(group)

    def check(self) -> None:
        """Check all arrays; CorruptIndexError if one could make a kernel read out of bounds."""
        for check in _CHECKS.values():
            check(self)


def _check_starts(segment: Segment) -> None:
    n, n_levels = segment.n_postings, segment.frequencies.shape[0]
    check_starts("pointers", segment.pointers, n)
    for name in ("frequencies", "lengths"):
        check_values(name, getattr(segment, name), least=0.0)
    check_numbers("present_terms", segment.present_terms, segment.n_terms)
    check_ascending("present_terms", segment.present_terms)
    check_starts("term_groups", segment.term_groups, segment.group_levels.shape[0])
    check_starts("group_starts", segment.group_starts, n)
    check_numbers("group_levels", segment.group_levels, n_levels)


def _check_entries(segment: Segment) -> None:
    n_levels, n_spilled = segment.frequencies.shape[0], 0
    for start in range(0, segment.n_postings, _BLOCK):
        block = segment.entries[start : start + _BLOCK]
        check_numbers("terms", block & np.uint32(0xFFFFFF), segment.n_terms)
        levels = (block >> np.uint32(24)).astype(np.uint8)
        if int(levels.max()) >= min(n_levels, _SPILLED):
            n_spilled += int(np.count_nonzero(levels == _SPILLED))
            check_numbers("levels", levels[levels != _SPILLED], n_levels)
    check_numbers("spilled", segment.spilled, segment.n_postings)
    check_numbers("spilled_levels", segment.spilled_levels, n_levels)
    # Ascending and of the right number, so all are present.
    if (
        n_spilled != segment.spilled.shape[0]
        or bool((segment.spilled[1:] <= segment.spilled[:-1]).any())
        or bool((segment.entries[segment.spilled] >> np.uint32(24) != _SPILLED).any())
    ):
        raise CorruptIndexError(
            "the entries of a segment and what is spilled of them do not fit together; "
            "`softcosine admin check` tells whether a file has changed since."
        )


_CHECKS: dict[str, Callable[[Segment], None]] = {
    STARTS: _check_starts,
    POSTINGS: lambda segment: check_numbers("documents", segment.documents, segment.n_docs),
    ENTRIES: _check_entries,
}


def packed(terms: NDArray[np.uint32], levels: NDArray[np.uint16]) -> dict[str, Any]:
    """Return `entries`, `spilled` and `spilled_levels` of a segment of counts."""
    spilled = np.flatnonzero(levels >= _SPILLED)
    upper = np.minimum(levels, _SPILLED).astype(np.uint32) << np.uint32(24)
    return {"entries": terms | upper, "spilled": spilled, "spilled_levels": levels[spilled]}


def cut(X: scipy.sparse.csr_array) -> list[scipy.sparse.csr_array]:
    """Split a matrix into blocks of at most `MAX_DOCS` rows; at least one."""
    starts = range(0, max(X.shape[0], 1), MAX_DOCS)
    return [X[start : start + MAX_DOCS] for start in starts] if len(starts) > 1 else [X]


def _sums(values: NDArray[Any], pointers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of the values of each document."""
    sums = np.zeros(pointers.shape[0] - 1)
    filled = np.diff(pointers) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values.astype(np.float64), pointers[:-1][filled])
    return sums


def _levels(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint16], NDArray[np.int64]]:
    """Return the distinct counts, ascending, the index of each count, and where each would begin.

    The last is of the counts in ascending order.
    """
    counts = counts.astype(np.int64)
    largest = int(counts.max(initial=0))
    if largest < 2**20:  # the common case: cheaper than sorting
        sizes = np.bincount(counts, minlength=1)
        present = np.flatnonzero(sizes)
        number = np.zeros(largest + 1, np.uint16)
        number[present] = np.arange(present.shape[0])
        inverse, sizes = number[counts], sizes[present]
    else:
        present, inverse, sizes = np.unique(counts, return_inverse=True, return_counts=True)
    if present.shape[0] > _MAX_LEVELS:
        raise InvalidInputError(
            f"the counts take {present.shape[0]} distinct values, and {_MAX_LEVELS} is the most; "
            "weigh them first and index real weights."
        )
    return present, inverse.astype(np.uint16, copy=False), running_sum(sizes)[:-1]


def _directory(term_groups: NDArray[np.int64]) -> dict[str, Any]:
    """Return `present_terms` and `term_groups`, given the offset of every vocabulary term."""
    present = np.flatnonzero(term_groups[1:] > term_groups[:-1])
    starts = np.append(term_groups[present], term_groups[-1]).astype(np.uint32)
    return {"present_terms": present.astype(np.int32), "term_groups": starts}


def _starts(keys: NDArray[Any], n: int) -> NDArray[np.int64]:
    return running_sum(np.bincount(keys, minlength=n))[:n]


# The ways to write each word of a query: the terms that a document must hold, and a value.
Ways = tuple[tuple[tuple[int, ...], float], ...]
AllWords = tuple[Ways, ...]


def holding_all(of_fields: Sequence[Segment], terms: Iterable[int]) -> NDArray[np.bool_]:
    """Return which documents of a segment have all terms, each in any field, deleted ones too.

    A negative number is a word without a term, which no document has.
    """
    return holding_each(of_fields, [(((term,), 1.0),) for term in terms]) > 0.0


def holding_each(
    of_fields: Sequence[Segment], words: Iterable[Iterable[tuple[tuple[int, ...], float]]]
) -> NDArray[np.float32]:
    """Return the least value of the words in each document: the greatest of a way that it has.

    As for `holding_all`; see `AllWords`.
    """
    least = np.ones(of_fields[0].n_docs, np.float32)
    for ways in words:
        holding = np.zeros_like(least)
        for terms, value in ways:
            if len(terms) > 1:
                having = np.flatnonzero(holding_all(of_fields, terms))
                holding[having] = np.maximum(holding[having], np.float32(value))
                continue
            for own in of_fields if terms[0] >= 0 else ():
                documents = own.postings(terms[0])
                holding[documents] = np.maximum(holding[documents], np.float32(value))
        np.minimum(least, holding, out=least)
    return least
