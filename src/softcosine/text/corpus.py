"""Analysis of whole corpora: the same terms as `Analyzer.terms`, faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.counting import count_terms
from softcosine.text.analyzer import Analyzer, checked_analyzer
from softcosine.text.counted_terms import (
    AnalysisCache,
    check_df_limit,
    document_frequencies,
    with_ngrams,
    within_df_limits,
)
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["AnalysisCache", "AnalyzedTexts", "analyze", "in_vocabulary"]


@dataclass(frozen=True, slots=True)
class AnalyzedTexts:
    """An analyzed corpus: texts as streams of term numbers.

    Attributes
    ----------
    vocabulary : Vocabulary
        Sorted in code point order, with document frequencies.
    tokens : ndarray of shape (n_tokens,), int32
        The terms of all documents in text order; -1 for a term removed by `min_df` or `max_df`.
    offsets : ndarray of shape (n_docs + 1,), int64
        The tokens of document ``d`` are ``tokens[offsets[d]:offsets[d + 1]]``.
    segmented : bool
        Whether a segmenter split text without spaces into words (else: character pairs).
    words : dict of str to int
        Under stemming, the occurrences of each surface form of a stem; empty otherwise.
    """

    vocabulary: Vocabulary
    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    segmented: bool = False
    words: dict[str, int] = field(default_factory=dict)

    @property
    def n_docs(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def joined(self, n_fields: int) -> AnalyzedTexts:
        """Return documents in place of their fields, of which each has `n_fields` in a row."""
        return replace(self, offsets=np.ascontiguousarray(self.offsets[::n_fields]))

    def over(self, vocabulary: Vocabulary) -> AnalyzedTexts:
        """Return the texts in the term numbers of another vocabulary, -1 for other terms."""
        numbers = np.append(vocabulary.indices(self.vocabulary), np.int32(-1))
        return replace(self, vocabulary=vocabulary, tokens=numbers[self.tokens])

    def counts(self) -> csr_array:
        """Return the term frequencies of each document.

        Returns
        -------
        csr_array of shape (n_docs, n_terms), int32
            Column indices sorted, no duplicates or stored zeros.
        """
        from scipy.sparse import csr_array

        frequencies, distinct = document_frequencies(
            self.tokens, self.offsets, n_terms=len(self.vocabulary)
        )
        starts = running_sum(frequencies)
        indptr = running_sum(distinct)
        indices, data = (np.empty(indptr[-1], dtype=np.int32) for _ in range(2))
        scratch = (np.empty(indptr[-1], dtype=np.int32) for _ in range(2))
        ends = starts[:-1].copy(), starts[:-1]
        written = indptr[:-1].copy(), indices, data
        count_terms(self.tokens, self.offsets, *ends, *scratch, *written)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        counts = csr_array((data, indices, indptr), shape=(self.n_docs, len(self.vocabulary)))
        counts.has_canonical_format = True
        return counts


def analyze(
    texts: Iterable[str] | Iterable[Sequence[str]],
    analyzer: Analyzer | None = None,
    *,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    n_fields: int = 1,
    progress: Callable[[int], object] | None = None,
    cache: AnalysisCache | None = None,
    with_forms: bool = True,
) -> AnalyzedTexts:
    """Analyze a corpus: return its vocabulary and its texts as streams of term numbers.

    Parameters
    ----------
    texts : iterable of str, or iterable of sequences of str
        Either texts, or documents as lists of tokens; read once. Tokens are neither split nor
        normalised; stop words, stemming and n-grams apply to them.
    analyzer : Analyzer, optional
        By default ``Analyzer()``.
    min_df, max_df : int or float, optional
        Remove terms that occur in fewer, or more, documents: a number of documents if an int, a
        share of them (0 to 1) if a float.
    n_fields : int, optional
        Number of consecutive texts that are the fields of one document. By default 1.
    progress : callable, optional
        Called at times, and at the end, with the number of documents read so far.
    cache : AnalysisCache, optional
        Speeds up later calls; the result is the same.
    with_forms : bool, optional
        Whether the vocabulary has surface forms under stemming. `words` has what they are made of.

    Returns
    -------
    AnalyzedTexts
        For each text the terms of ``analyzer.terms``, without the removed terms. With several
        fields the vocabulary counts documents, and `offsets` delimits texts.

    Raises
    ------
    InvalidInputError
        If `texts` is a single string, a document is neither a string nor a list of tokens (the
        message names its position), both kinds are mixed, a limit is out of range, or fields are
        missing.

    Examples
    --------
    >>> analyzed = analyze(["green tea", "black tea, green tea"])
    >>> analyzed.vocabulary.terms
    ('black', 'green', 'tea')
    >>> analyzed.counts().toarray().tolist()
    [[0, 1, 1], [1, 1, 2]]
    """
    rules = Analyzer() if analyzer is None else checked_analyzer(analyzer)
    for name, limit in (("min_df", min_df), ("max_df", max_df)):
        check_df_limit(name, limit)
    check_whole("n_fields", n_fields)
    reader = AnalysisCache(0) if cache is None else cache
    running = reader.read(texts, rules, progress, with_forms=with_forms)
    stream = with_ngrams(running, rules)
    if (n_texts := len(stream.offsets) - 1) % n_fields:
        raise InvalidInputError(
            f"there are {n_texts} texts, which are no documents of {n_fields} fields each; give an "
            "empty text for a field that is missing."
        )
    strings, forms = stream.strings, stream.forms
    of_documents = np.ascontiguousarray(stream.offsets[::n_fields])
    frequencies, _ = document_frequencies(stream.tokens, of_documents, n_terms=len(strings))
    n_docs = len(of_documents) - 1
    kept = np.flatnonzero(within_df_limits(frequencies, n_docs, min_df=min_df, max_df=max_df))
    order = np.array(sorted(kept.tolist(), key=strings.__getitem__), dtype=np.int64)
    numbers = np.full(len(strings), -1, dtype=np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    vocabulary = Vocabulary(
        [strings[i] for i in order],
        document_frequencies=frequencies[order],
        n_docs=n_docs,
        forms=None if forms is None else forms.taken(order),
    )
    return AnalyzedTexts(
        vocabulary, numbers[stream.tokens], stream.offsets, rules.segmenter is not None,
        running.words,
    )  # fmt: skip


def in_vocabulary(counts: csr_array, own: Vocabulary, given: Vocabulary) -> csr_array:
    """Return counts in the columns of another vocabulary; terms that it lacks are dropped."""
    from scipy.sparse import csr_array

    columns = given.indices(own.terms)
    coo = counts.tocoo()
    rows, places = coo.coords[0], columns[coo.coords[1]]
    kept = places >= 0
    moved = csr_array(
        (coo.data[kept], (rows[kept], places[kept])), shape=(counts.shape[0], len(given))
    )
    moved.sum_duplicates()
    return moved
