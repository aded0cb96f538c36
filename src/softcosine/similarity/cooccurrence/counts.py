"""Co-occurrence counts of the terms of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.cooccurrence import context_sizes, fill_contexts, lay_out, sort_positions
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.cooccurrence.pair_counts import CountedRows, PairCounts, row_blocks
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.stream import TextStream

if TYPE_CHECKING:
    from softcosine.text.vocabulary import Vocabulary

_CHUNK_TERMS = 256
_MEMORY = 1 << 30  # bytes for the counts of texts in memory
_TOKEN_SHARE = 64  # tokens per chunk are memory / this, so that a chunk takes half the memory


@dataclass(frozen=True, slots=True)
class Nearness:
    """Definition of a co-occurrence: the terms, and their distance.

    Attributes
    ----------
    window : int or None
        Greatest distance of two positions in a document; at distance d a co-occurrence counts
        ``window + 1 - d``. None: two terms in the same document co-occur, once per document.
    min_count : int
        Terms with fewer occurrences (without a window: documents) are dropped.
    max_terms : int
        Limit; the most frequent terms are used, ties ordered by string.

    Raises
    ------
    InvalidInputError
        If a number is out of range.
    """

    window: int | None
    min_count: int
    max_terms: int

    def __post_init__(self) -> None:
        for name, least in (("window", 1), ("min_count", 1), ("max_terms", 0)):
            value = getattr(self, name)
            if value is None and name == "window":
                continue
            check_whole(name, value, least=least)
            object.__setattr__(self, name, int(value))

    def frequent(self, frequencies: NDArray[np.int64], vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Numbers of the terms that are frequent enough, ascending."""
        enough = np.flatnonzero(frequencies >= self.min_count)
        order = np.lexsort((vocabulary.ranks()[enough], -frequencies[enough]))
        return np.sort(enough[order[: self.max_terms]])


@dataclass(slots=True)
class CooccurrenceCounts:
    """Counts of the frequent terms of a corpus.

    Attributes
    ----------
    names : list of str
        The terms, and under stemming all their surface forms.
    rows : ndarray of shape (n_names,), int32
        The term of each name.
    frequencies : ndarray of shape (n_terms,), int64
        Occurrences of each term (without a window: documents).
    pairs : PairCounts
        Co-occurrence counts.
    """

    names: list[str]
    rows: NDArray[np.int32]
    frequencies: NDArray[np.int64]
    pairs: PairCounts


@contextmanager
def cooccurrence_counts(
    corpus: AnalyzedTexts | TextStream, nearness: Nearness
) -> Iterator[CooccurrenceCounts]:
    """Return the co-occurrence counts of the frequent terms of a corpus.

    The counts are exact integers, the same for texts in memory and for a stream. For a stream with
    a vocabulary, the pairs of all its terms are counted, because the frequent ones are not yet
    known.
    """
    by_documents = nearness.window is None
    if isinstance(corpus, AnalyzedTexts):
        vocabulary, memory, chunks = corpus.vocabulary, _MEMORY, _slices(corpus)
        kept = nearness.frequent(_frequencies(corpus, by_documents=by_documents), vocabulary)
    elif isinstance(corpus, TextStream):
        memory = corpus.memory
        given = corpus.vocabulary
        if given is None:
            vocabulary, _ = corpus.frequent_terms(
                min_count=nearness.min_count,
                max_terms=nearness.max_terms,
                by_documents=by_documents,
            )
        else:
            vocabulary = given
        kept = np.arange(len(vocabulary))
        chunks = corpus.numbered(vocabulary)
    else:
        raise InvalidInputError(
            f"the corpus is of type {type(corpus).__name__}; call fit(softcosine.analyze(texts)), "
            "or fit(softcosine.TextStream(texts)) for texts that are too many for memory."
        )
    numbers = np.full(len(vocabulary), -1, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    frequencies = np.zeros(len(kept), np.int64)
    with PairCounts(len(kept), memory=memory) as pairs:
        for chunk in chunks:
            frequencies += _count(chunk, numbers, nearness, pairs)
        if isinstance(corpus, TextStream) and corpus.vocabulary is not None:
            kept = nearness.frequent(frequencies, vocabulary)
            frequencies = frequencies[kept]
            pairs.restrict(kept)
        yield CooccurrenceCounts(*names_of(vocabulary, kept), frequencies, pairs)


def _slices(analyzed: AnalyzedTexts) -> Iterator[AnalyzedTexts]:
    """Divide texts into chunks of whole documents."""
    offsets = np.asarray(analyzed.offsets)
    for first, last in row_blocks(offsets, _MEMORY // _TOKEN_SHARE):
        bounds = offsets[first : last + 1]
        tokens = analyzed.tokens[bounds[0] : bounds[-1]]
        yield AnalyzedTexts(analyzed.vocabulary, tokens, bounds - bounds[0])


def _frequencies(analyzed: AnalyzedTexts, *, by_documents: bool) -> NDArray[np.int64]:
    """Return the number of occurrences, or of documents, of each term."""
    n_terms = len(analyzed.vocabulary)
    if not by_documents:
        return np.bincount(analyzed.tokens[analyzed.tokens >= 0], minlength=n_terms)
    total = np.zeros(n_terms, np.int64)
    for chunk in _slices(analyzed):
        total += np.bincount(_distinct(chunk.tokens, chunk.offsets, n_terms)[0], minlength=n_terms)
    return total


def _distinct(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], n_terms: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Distinct terms of each document, without -1."""
    there = tokens >= 0
    before = running_sum(there)
    indptr = before[offsets]
    rows = csr_array(
        (np.ones(indptr[-1], np.int8), tokens[there], indptr), shape=(len(offsets) - 1, n_terms)
    )
    rows.sum_duplicates()
    return rows.indices.astype(np.int32), rows.indptr.astype(np.int64)


def _count(
    chunk: AnalyzedTexts, numbers: NDArray[np.int32], nearness: Nearness, pairs: PairCounts
) -> NDArray[np.int64]:
    """Add the pairs of some documents; return the frequencies of their terms."""
    n_terms = len(pairs)
    tokens, offsets = np.array(chunk.tokens), np.array(chunk.offsets)
    if nearness.window is None:
        renumbered = np.append(numbers, np.int32(-1))[tokens]
        tokens, offsets = _distinct(renumbered, offsets, n_terms)
        numbers = np.arange(n_terms, dtype=np.int32)
        decay = np.ones(max(1, int(np.diff(offsets).max(initial=0))), np.int64)
    else:
        decay = np.arange(nearness.window, 0, -1, dtype=np.int64)
    stream = np.empty(len(tokens) + len(offsets), np.int32)
    lay_out(tokens, offsets, numbers, stream)
    frequencies = np.bincount(stream[stream >= 0], minlength=n_terms)
    starts = running_sum(frequencies)
    positions = np.empty(starts[-1], np.int64)
    sort_positions(stream, starts[:-1].copy(), positions)
    sizes, totals = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)

    def measure(first: int, last: int) -> None:
        context_sizes(stream, positions, starts, decay, first, last, sizes, totals)

    for_each_chunk(measure, n_terms, chunk=_CHUNK_TERMS)
    row_starts = running_sum(sizes)

    def counted(first: int, last: int) -> CountedRows:
        origin = int(row_starts[first])
        size = int(row_starts[last]) - origin
        columns, counts = np.empty(size, np.int32), np.empty(size, np.int64)

        def fill(start: int, stop: int) -> None:
            rows = (first + start, first + stop)
            fill_contexts(
                stream, positions, starts, decay, *rows, row_starts, origin, columns, counts
            )

        for_each_chunk(fill, last - first, chunk=_CHUNK_TERMS)
        indptr = (row_starts[first : last + 1] - origin).astype(np.int32)
        return first, last, csr_array((counts, columns, indptr), shape=(last - first, n_terms))

    blocks = (counted(*rows) for rows in row_blocks(row_starts, pairs.block_entries))
    pairs.add(blocks, totals, int(row_starts[-1]))
    return frequencies
