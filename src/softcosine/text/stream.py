"""Corpora larger than memory: texts that are analysed a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.analyzer import Analyzer, checked_analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.tally import TermTally
from softcosine.text.vocabulary import Vocabulary, checked_vocabulary

__all__ = ["TextStream"]

_CHUNK_SHARE = 64  # a chunk of so many characters as this part of the memory takes about half of it
_CHUNK_DOCUMENTS = 100_000


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some successive documents, and the number of the first."""

    first: int
    texts: list[Any]


class TextStream:
    """Texts that are read in chunks, of which one at a time is in memory.

    Sources that learn from a corpus (`CooccurrenceSimilarity.fit` and the like) take it in place
    of `AnalyzedTexts`, and learn the same from it, to the bit.

    Parameters
    ----------
    texts : iterable of str, or iterable of sequences of str
        As for `analyze`. Read twice, first for the terms, then for their company: a list, or an
        object whose ``__iter__`` begins anew. With `vocabulary` once, and a generator will do.
    analyzer : Analyzer, optional
        By default ``Analyzer()``.
    vocabulary : Vocabulary, optional
        The terms that count; others are left out as by `min_df`.
    memory : int, default 2**30
        About how many bytes the text in work and its counts may take. What is more goes to
        temporary files, which vanish with the process that made them, however it ends.
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

    __slots__ = ("_analyzer", "_memory", "_progress", "_texts", "_vocabulary")

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
        self._analyzer = Analyzer() if analyzer is None else checked_analyzer(analyzer)
        self._vocabulary = None if vocabulary is None else checked_vocabulary(vocabulary)
        self._memory = int(memory)
        self._progress = progress

    @property
    def analyzer(self) -> Analyzer:
        """The rules by which the texts become terms."""
        return self._analyzer

    @property
    def segmented(self) -> bool:
        """Whether text without spaces is cut into words, and not into pairs of characters."""
        return self._analyzer.segmenter is not None

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The terms that count, if given."""
        return self._vocabulary

    @property
    def memory(self) -> int:
        """About how many bytes may be taken."""
        return self._memory

    def chunks(self) -> Iterator[AnalyzedTexts]:
        """Read all texts, each chunk analysed by itself with a vocabulary of its own.

        Raises
        ------
        InvalidInputError
            If a document is neither a string nor a token list; names its position.
        """
        for texts in self._read():
            yield self._analyze(texts)

    def _read(self) -> Iterator[_Chunk]:
        """Give lists of documents of some length, and the number of the first."""
        most = max(1, self._memory // _CHUNK_SHARE)
        n_docs, size = 0, 0
        chunk: list[Any] = []
        for text in self._texts:
            chunk.append(text)
            # A token counts like a word of text with the space behind it.
            size += len(text) if isinstance(text, str) else 6 * _length(text)
            if size >= most or len(chunk) == _CHUNK_DOCUMENTS:
                yield _Chunk(n_docs, chunk)
                n_docs += len(chunk)
                chunk, size = [], 0
                self._report(n_docs)
        if chunk:
            yield _Chunk(n_docs, chunk)
            self._report(n_docs + len(chunk))

    def _report(self, n_docs: int) -> None:
        if self._progress is not None:
            self._progress(n_docs)

    def _analyze(self, chunk: _Chunk, analyzer: Analyzer | None = None) -> AnalyzedTexts:
        try:
            return analyze(chunk.texts, self._analyzer if analyzer is None else analyzer)
        except InvalidInputError as error:
            if chunk.first == 0:
                raise
            raise InvalidInputError(f"counted from document {chunk.first}: {error}") from error

    def numbered(self, vocabulary: Vocabulary) -> Iterator[AnalyzedTexts]:
        """Read all texts as numbers of the terms of one vocabulary, -1 for all others."""
        for chunk in self.chunks():
            numbers = vocabulary.indices(chunk.vocabulary)
            tokens = np.append(numbers, np.int32(-1))[chunk.tokens]
            yield AnalyzedTexts(vocabulary, tokens, chunk.offsets)

    def frequent_terms(
        self, *, min_count: int, max_terms: int, by_documents: bool
    ) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Read all texts, and find the most frequent terms.

        Parameters
        ----------
        min_count : int
            Terms with less are left out.
        max_terms : int
            Of the rest, the most frequent are taken, ties by their strings.
        by_documents : bool
            Whether documents with the term are counted, or all its occurrences.

        Returns
        -------
        vocabulary : Vocabulary
            The terms in code point order, with document frequencies and forms, as `analyze` gives.
        occurrences : ndarray of shape (n_terms,), int64
        """
        stemming = self._analyzer.stemmer is not None
        plain = replace(self._analyzer, stemmer=None, max_ngram=1, phrases=())
        with TermTally(self._memory // 4) as terms, TermTally(self._memory // 4) as words:
            n_docs = 0
            for texts in self._read():
                analyzed = self._analyze(texts)
                terms.add(analyzed)
                n_docs += analyzed.n_docs
                if stemming:
                    words.add(self._analyze(texts, plain))
            found = terms.most_frequent(min_count, max_terms, by_documents=by_documents)
            strings = [term for term, _, _ in found]
            vocabulary = Vocabulary(
                strings,
                document_frequencies=np.array([df for _, _, df in found], np.int64),
                n_docs=n_docs,
                forms=self._forms(strings, words) if stemming else None,
            )
        return vocabulary, np.array([n for _, n, _ in found], np.int64)

    def _forms(self, terms: Sequence[str], words: TermTally) -> list[list[str]]:
        """Forms of each term by frequency; of an n-gram the n-gram of the most frequent forms."""
        needed = set(terms) if self._analyzer.longest == 1 else set(_parts(terms))
        forms: dict[str, list[tuple[int, str]]] = {}
        for batch in words.batches():
            stems = self._analyzer.stem([word for word, _, _ in batch])
            for stem, (word, count, _) in zip(stems, batch, strict=True):
                if stem in needed:
                    forms.setdefault(stem, []).append((-count, word))
        ordered = {stem: [word for _, word in sorted(found)] for stem, found in forms.items()}
        return [
            ordered.get(term) or [" ".join(ordered[stem][0] for stem in _stems(term, ordered))]
            for term in terms
        ]


def _parts(terms: Sequence[str]) -> Iterator[str]:
    """Give every run of words in each term: tokens that were given may hold spaces."""
    for term in terms:
        words = term.split(" ")
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                yield " ".join(words[start:end])


def _stems(ngram: str, known: Collection[str]) -> list[str]:
    """Cut an n-gram into the stems that it consists of, the longest first where it is unclear."""
    words = ngram.split(" ")
    cuts: list[list[str] | None] = [None] * len(words) + [[]]  # of the words from each place on
    for start in reversed(range(len(words))):
        for end in range(len(words), start, -1):
            stem, rest = " ".join(words[start:end]), cuts[end]
            if rest is not None and stem in known:
                cuts[start] = [stem, *rest]
                break
    assert cuts[0] is not None  # it was made of stems
    return cuts[0]


def _length(document: object) -> int:
    return len(document) if hasattr(document, "__len__") else 0
