"""Text streams: corpora larger than memory, analyzed in chunks."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.analyzer import Analyzer, checked_analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.vocabulary import Vocabulary, checked_vocabulary

_CHUNK_SHARE = 64  # a chunk of memory / 64 characters takes about half of the memory
_CHUNK_DOCUMENTS = 100_000
_WORDS = 100_000  # stemmed at a time


class TextStream:
    """Texts that are read in chunks; one chunk at a time is in memory.

    Sources that learn from a corpus, such as `CooccurrenceSimilarity.fit`, accept it instead of
    `AnalyzedTexts`, with the same result to the bit.

    Parameters
    ----------
    texts : iterable of str, or iterable of sequences of str
        As for `analyze`. Read twice, first for the terms, then for their co-occurrences, so it must
        be a list or another object that can be iterated again. With `vocabulary` it is read once
        and may be a generator.
    analyzer : Analyzer, optional
        By default ``Analyzer()``.
    vocabulary : Vocabulary, optional
        The terms to use; all others are removed as by `min_df`.
    memory : int, default 2**30
        Approximate limit in bytes for the current chunk and the counts of pairs. Further counts
        go to temporary files, which are removed when the process ends, even if it crashes. The
        distinct terms stay in memory.
    progress : callable, optional
        Called after each chunk with the number of documents read so far.

    Raises
    ------
    InvalidInputError
        If `texts` can be read only once and there is no vocabulary, or a setting is out of range.

    Examples
    --------
    >>> stream = TextStream(["green tea", "black tea"], memory=1 << 20)
    >>> [chunk.n_docs for chunk in stream.chunks()]
    [2]
    """

    __slots__ = ("_report", "_texts", "analyzer", "memory", "vocabulary")

    def __init__(
        self,
        texts: Iterable[str] | Iterable[Sequence[str]],
        analyzer: Analyzer | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        memory: int = 1 << 30,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        check_list("texts", texts, "strings or of token lists")
        if vocabulary is None and isinstance(texts, Iterator):
            raise InvalidInputError(
                f"texts is a {type(texts).__name__}, which can be read only once, but it is read "
                "twice; pass a list or an object whose __iter__ begins anew, or a vocabulary."
            )
        check_whole("memory", memory, least=1 << 16)
        self._texts = texts
        self.analyzer = Analyzer() if analyzer is None else checked_analyzer(analyzer)
        self.vocabulary = None if vocabulary is None else checked_vocabulary(vocabulary)
        self.memory = int(memory)
        self._report = progress or (lambda _: None)

    @property
    def segmented(self) -> bool:
        """Whether a segmenter splits text without spaces into words (else: character pairs)."""
        return self.analyzer.segmenter is not None

    def chunks(self) -> Iterator[AnalyzedTexts]:
        """Read all texts in chunks; each chunk is analyzed with its own vocabulary.

        Raises
        ------
        InvalidInputError
            If a document is neither a string nor a token list. The message names its position.
        """
        for first, texts in self._read():
            yield self._analyze(first, texts)

    def _read(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield consecutive documents, and the number of the first."""
        most = max(1, self.memory // _CHUNK_SHARE)
        n_docs, size = 0, 0
        chunk: list[Any] = []
        for text in self._texts:
            chunk.append(text)
            # A token counts as a word plus a space.
            size += len(text) if isinstance(text, str) else 6 * getattr(text, "__len__", int)()
            if size >= most or len(chunk) == _CHUNK_DOCUMENTS:
                yield n_docs, chunk
                n_docs += len(chunk)
                chunk, size = [], 0
                self._report(n_docs)
        if chunk:
            yield n_docs, chunk
            self._report(n_docs + len(chunk))

    def _analyze(self, first: int, texts: list[Any]) -> AnalyzedTexts:
        try:
            return analyze(texts, self.analyzer)
        except InvalidInputError as error:
            if first == 0:
                raise
            raise InvalidInputError(f"counted from document {first}: {error}") from error

    def numbered(self, vocabulary: Vocabulary) -> Iterator[AnalyzedTexts]:
        """Read all texts as term numbers of one vocabulary, -1 for other terms."""
        for chunk in self.chunks():
            numbers = vocabulary.indices(chunk.vocabulary)
            tokens = np.append(numbers, np.int32(-1))[chunk.tokens]
            yield AnalyzedTexts(vocabulary, tokens, chunk.offsets)

    def frequent_terms(
        self, *, min_count: int, max_terms: int, by_documents: bool
    ) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Read all texts, and return the most frequent terms.

        Parameters
        ----------
        min_count : int
            Less frequent terms are removed.
        max_terms : int
            Limit; the most frequent terms are used, ties ordered by string.
        by_documents : bool
            Whether to count documents with the term, or all its occurrences.

        Returns
        -------
        vocabulary : Vocabulary
            The terms in code point order, with document frequencies and forms, as from `analyze`.
        occurrences : ndarray of shape (n_terms,), int64
        """
        occurrences, documents, words = Counter[str](), Counter[str](), Counter[str]()
        n_docs = 0
        for first, texts in self._read():
            analyzed = self._analyze(first, texts)
            n_docs += analyzed.n_docs
            terms, frequencies = analyzed.vocabulary.terms, analyzed.vocabulary.document_frequencies
            assert frequencies is not None
            counts = np.bincount(analyzed.tokens, minlength=len(terms))
            occurrences.update(dict(zip(terms, counts.tolist(), strict=True)))
            documents.update(dict(zip(terms, frequencies.tolist(), strict=True)))
            words.update(analyzed.words)
        frequency = documents if by_documents else occurrences
        enough = (term for term, n in frequency.items() if n >= min_count)
        found = sorted(heapq.nsmallest(max_terms, enough, lambda term: (-frequency[term], term)))
        vocabulary = Vocabulary(
            found,
            document_frequencies=np.array([documents[term] for term in found], np.int64),
            n_docs=n_docs,
            forms=counted_forms(found, words.items(), self.analyzer)
            if self.analyzer.stems
            else None,
        )
        return vocabulary, np.array([occurrences[term] for term in found], np.int64)


def counted_forms(
    terms: Sequence[str], words: Iterable[tuple[str, int]], analyzer: Analyzer
) -> list[Sequence[str]]:
    """Return the forms of terms by frequency, given the occurrences of all words."""
    needed = set(terms) if analyzer.longest == 1 else stems_in(terms)
    forms: dict[str, list[tuple[int, str]]] = {}
    rest = iter(words)
    while batch := list(islice(rest, _WORDS)):
        stems = analyzer.stem([word for word, _ in batch])
        for stem, (word, count) in zip(stems, batch, strict=True):
            if count and stem in needed:
                forms.setdefault(stem, []).append((-count, word))
    return forms_of(
        terms, {stem: [word for _, word in sorted(found)] for stem, found in forms.items()}
    )


def forms_of(terms: Iterable[str], known: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """Return the forms of terms; for an n-gram, the n-gram of the most frequent forms.

    Parameters
    ----------
    terms : iterable of str
    known : mapping
        Forms of stems by frequency, of at least those in `stems_in(terms)` that are stems.
    """
    return [
        known.get(term) or [" ".join(known[stem][0] for stem in _stems(term, known))]
        for term in terms
    ]


def stems_in(terms: Iterable[str]) -> set[str]:
    """Return every run of words in each term, because given tokens may contain spaces."""
    found = set()
    for term in terms:
        words = term.split(" ")
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                found.add(" ".join(words[start:end]))
    return found


def _stems(ngram: str, known: Collection[str]) -> list[str]:
    """Split an n-gram into its stems; where this is ambiguous, the longest stem first."""
    words = ngram.split(" ")
    cuts: list[list[str] | None] = [None] * len(words) + [[]]  # of the words from each position on
    for start in reversed(range(len(words))):
        for end in range(len(words), start, -1):
            stem, rest = " ".join(words[start:end]), cuts[end]
            if rest is not None and stem in known:
                cuts[start] = [stem, *rest]
                break
    assert cuts[0] is not None  # it consists of stems
    return cuts[0]
