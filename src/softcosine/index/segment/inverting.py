"""Inverts analysed documents, with the term numbers of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.index.segment.positions import LEFT_OUT, UNKNOWN, Positions
from softcosine.index.segment.segment import Segment, cut
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.vocabulary import Vocabulary

# The fields of at most `MAX_DOCS` documents, with the positions of each field, or None.
_Inverted = tuple[tuple[Segment, ...], tuple[Positions, ...] | None]


def invert(
    texts: Sequence[Any],
    analyzed: AnalyzedTexts,
    analyzer: Analyzer,
    vocabulary: Vocabulary,
    *,
    n_fields: int,
    positions: bool,
    frozen: bool = False,
) -> tuple[list[_Inverted], Vocabulary]:
    """Return a batch of documents, inverted.

    Parameters
    ----------
    texts : sequence of str, or of token lists
        All fields of the first document, then those of the second, and so on.
    analyzed : AnalyzedTexts
        The same texts.
    analyzer : Analyzer
    vocabulary : Vocabulary
        Of the index so far.
    n_fields : int
    positions : bool
        Whether to store token positions.
    frozen : bool
        Whether to keep the vocabulary: new words are ignored.

    Returns
    -------
    segments : list of pairs
        The fields of at most `MAX_DOCS` documents, and the positions of each field, or None.
    vocabulary : Vocabulary
        That of the index, followed by the new terms in code point order.
    """
    counts = analyzed.counts()
    if frozen:
        numbers, longer = vocabulary.indices(analyzed.vocabulary.terms), vocabulary
        counts, numbers = counts[:, numbers >= 0], numbers[numbers >= 0]
    else:
        numbers, longer = numbered(analyzed.vocabulary, vocabulary)
    moved = csr_array(
        (counts.data, numbers[counts.indices], counts.indptr),
        shape=(counts.shape[0], len(longer)),
    )
    if bool((np.diff(numbers) < 0).any()):  # new numbers have another order than the old ones
        moved.sort_indices()
    moved.has_canonical_format = True
    of_fields = [moved] if n_fields == 1 else [moved[f::n_fields] for f in range(n_fields)]
    cut_fields = [[Segment.from_counts(part, longer) for part in cut(own)] for own in of_fields]
    together = list(zip(*cut_fields, strict=True))
    running = [
        positions_of(texts[f::n_fields], analyzer, longer) for f in range(n_fields * positions)
    ]
    segments: list[_Inverted] = []
    first = 0
    for fields in together:
        last = first + fields[0].n_docs
        own = tuple(one.part(first, last) for one in running)
        segments.append((fields, own if positions else None))
        first = last
    return segments, longer


def renumbered(segment: Segment, numbers: NDArray[np.int32], vocabulary: Vocabulary) -> Segment:
    """Return a segment of counts with the term numbers of a vocabulary, -1 for removed terms."""
    terms = numbers[segment.terms]
    kept = terms >= 0
    pointers = running_sum(kept)[segment.pointers]
    counts = csr_array(
        (segment.counts[segment.levels[kept]], terms[kept], pointers),
        shape=(segment.n_docs, len(vocabulary)),
    )
    counts.sort_indices()
    counts.has_canonical_format = True
    return Segment.from_counts(counts, vocabulary)


def document_frequencies(
    segments: Iterable[tuple[Sequence[Segment], NDArray[np.bool_] | None]], n_terms: int
) -> NDArray[np.int64]:
    """Return the number of documents that contain each term in any field, shape (n_terms,).

    Parameters
    ----------
    segments : iterable of pairs
        The fields of each segment, and the mask of the documents to count; None for all.
    n_terms : int
        Size of the vocabulary.
    """
    counted = np.zeros(n_terms, np.int64)
    for fields, mask in segments:
        first, *others = (own.matrix(n_terms).astype(np.bool_) for own in fields)
        in_any = sum(others, start=first)
        kept = in_any if mask is None else in_any[mask]
        counted += np.bincount(kept.indices, minlength=n_terms)
    return counted


def numbered(own: Vocabulary, vocabulary: Vocabulary) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return the term numbers of a batch, new terms after all others, and the vocabulary.

    Parameters
    ----------
    own : Vocabulary
        Of the batch.
    vocabulary : Vocabulary
        Of the index so far.
    """
    if not len(vocabulary):
        return np.arange(len(own), dtype=np.int32), own
    numbers = vocabulary.indices(own.terms)
    new = np.flatnonzero(numbers < 0)
    if not new.shape[0]:
        return numbers, vocabulary
    numbers[new] = len(vocabulary) + np.arange(new.shape[0], dtype=np.int32)
    # For all terms or for none.
    forms = [own.forms_of(i) for i in new.tolist()] if vocabulary.has_forms else None
    return numbers, vocabulary.extended([own.terms[i] for i in new.tolist()], forms=forms)


def positions_of(texts: Sequence[Any], analyzer: Analyzer, vocabulary: Vocabulary) -> Positions:
    """Return the positions of texts; `running_words` is the reference for one text.

    Parameters
    ----------
    texts : sequence of str, or of token lists
    analyzer, vocabulary
        Of the index.
    """
    whole = replace(
        analyzer, stemmer=None, stop_words=None, max_ngram=1, min_length=1, phrases=(), joints=False
    )
    words = analyze(texts, whole)
    stems = vocabulary.indices(analyzer.stem(list(words.vocabulary.terms)))
    kept = np.fromiter(map(analyzer.keeps, words.vocabulary.terms), np.bool_, len(stems))
    stems[stems < 0] = UNKNOWN
    numbers = np.where(kept, stems, np.int32(LEFT_OUT)).astype(np.int32)
    return Positions(numbers[words.tokens], words.offsets.astype(np.int64))
