"""Documents analysed together and inverted, their terms numbered as the index's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.index.phrases import LEFT_OUT, Positions
from softcosine.index.segment import Segment
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.vocabulary import Vocabulary

__all__ = ["Inverted", "invert", "positions_of"]


@dataclass(frozen=True, slots=True)
class Inverted:
    """A segment's worth of documents.

    Attributes
    ----------
    fields : tuple of Segment
    positions : tuple of Positions, or None
    vocabulary : Vocabulary
        The index's, with what terms are new behind it, in code point order.
    """

    fields: tuple[Segment, ...]
    positions: tuple[Positions, ...] | None
    vocabulary: Vocabulary


def invert(
    texts: Sequence[Any],
    analyzed: AnalyzedTexts,
    analyzer: Analyzer,
    vocabulary: Vocabulary,
    *,
    n_fields: int,
    positions: bool,
) -> Inverted:
    """Invert documents.

    Parameters
    ----------
    texts : sequence of str, or of token lists
        All of the first field, then all of the second, and so on.
    analyzed : AnalyzedTexts
        The same texts.
    analyzer : Analyzer
    vocabulary : Vocabulary
        Of the index so far.
    n_fields : int
    positions : bool
        Whether to keep the running words.
    """
    numbers, longer = _numbered(analyzed.vocabulary, vocabulary)
    counts = analyzed.counts()
    indptr = counts.indptr.astype(np.int64)
    renumbered = csr_array(
        (counts.data, numbers[counts.indices], indptr), shape=(counts.shape[0], len(longer))
    )
    renumbered.sort_indices()  # new numbers are not in the order of the old ones
    renumbered.has_canonical_format = True
    bounds = np.linspace(0, len(texts), n_fields + 1).astype(int).tolist()
    ranges = list(pairwise(bounds))
    return Inverted(
        tuple(Segment.from_counts(renumbered[first:last]) for first, last in ranges),
        tuple(positions_of(texts[first:last], analyzer, longer) for first, last in ranges)
        if positions
        else None,
        longer,
    )


def _numbered(own: Vocabulary, vocabulary: Vocabulary) -> tuple[NDArray[np.int32], Vocabulary]:
    """Return the numbers of a batch's terms, new ones behind all others, and the vocabulary."""
    numbers = vocabulary.indices(own.terms)
    new = np.flatnonzero(numbers < 0)
    if not new.shape[0]:
        return numbers, vocabulary
    numbers[new] = len(vocabulary) + np.arange(new.shape[0], dtype=np.int32)
    forms: list[tuple[str, ...]] | None = None
    if not len(vocabulary) or vocabulary.has_forms:
        # A vocabulary has forms for all terms or for none.
        if own.forms is not None:
            forms = [own.forms[i] for i in new.tolist()]
        elif len(vocabulary):
            forms = [()] * new.shape[0]
    return numbers, vocabulary.extended([own.terms[i] for i in new.tolist()], forms=forms)


def positions_of(texts: Sequence[Any], analyzer: Analyzer, vocabulary: Vocabulary) -> Positions:
    """Return the running words by number; `running_words` says the same of one text.

    Parameters
    ----------
    texts : sequence of str, or of token lists
    analyzer, vocabulary
        Of the index.
    """
    whole = replace(analyzer, stemmer=None, stop_words=None, max_ngram=1, min_length=1, phrases=())
    words = analyze(texts, whole)
    stems = vocabulary.indices(analyzer.stem(list(words.vocabulary.terms)))
    kept = np.fromiter(map(analyzer.keeps, words.vocabulary.terms), np.bool_, len(stems))
    numbers = np.where(kept, stems, np.int32(LEFT_OUT)).astype(np.int32)
    return Positions(numbers[words.tokens], words.offsets.astype(np.int64))
