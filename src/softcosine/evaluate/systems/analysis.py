"""Text analysis shared by all systems, so that they compare the same terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.settings import (
    Settings,
    document_limit,
    optional,
    setting,
    text,
    whole,
)
from softcosine.index.language import AnalyzedInLanguage, analyze_in_language, check_language
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze, in_vocabulary
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class WordSettings(Settings):
    """Settings of the analysis of texts into words.

    Parameters
    ----------
    stop_words : str or None
        A language.
    max_ngram, min_length : int
        See `softcosine.Analyzer`.
    min_df, max_df : int or float
        Terms in fewer, or in more, documents are dropped; see `softcosine.analyze`.
    label : str, optional
    """

    stop_words: str | None = setting(
        None, optional(text("a language, such as english")), "language of the stop words to drop"
    )
    max_ngram: int = setting(1, whole(1), "maximum number of words per term")
    min_length: int = setting(1, whole(1), "minimum number of characters of a word")
    min_df: int | float = setting(1, document_limit, "minimum document frequency of a term")
    max_df: int | float = setting(1.0, document_limit, "maximum document frequency of a term")

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        Analyzer(**self._rules())  # raises for an unknown list of stop words

    @property
    def leaves_terms_out(self) -> bool:
        """Whether `min_df` or `max_df` drops terms."""
        fewest, most = self.min_df, self.max_df
        none_for_few = isinstance(fewest, int) and fewest <= 1
        return not (none_for_few and isinstance(most, float) and most == 1.0)

    def analyzed(self, texts: Sequence[str], *, n_fields: int = 1) -> AnalyzedInLanguage:
        """Return the analysed texts; the fields of a document follow one another."""
        return self._analyzed(texts, "none", n_fields)

    def _rules(self) -> dict[str, Any]:
        """Return settings of the analyzer that override those of the language."""
        return {
            "stop_words": self.stop_words,
            "max_ngram": self.max_ngram,
            "min_length": self.min_length,
            "joints": False,  # vectors of counts have no queries that ask for them
        }

    def _phrases(self) -> tuple[str, ...]:
        """Return the phrases of several words that become terms."""
        return ()

    def _analyzed(self, texts: Sequence[str], language: str, n_fields: int) -> AnalyzedInLanguage:
        return analyze_in_language(
            texts, language, phrases=self._phrases(), rules=self._rules(), min_df=self.min_df,
            max_df=self.max_df, n_fields=n_fields,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TextSettings(WordSettings):
    """Settings of every system with stemmed terms.

    Parameters
    ----------
    language : str
        ``"auto"`` to detect it, ``"none"``, or a language; see `SoftIndex.from_texts`.
    stemmer : str or None
        ``"auto"`` for that of the language, a Snowball algorithm, or None.
    **settings
        See `WordSettings`.
    """

    language: str = setting(
        "auto",
        text("auto, none, or a language, such as english"),
        "language of the texts; auto detects it",
    )
    stemmer: str | None = setting(
        "auto",
        optional(text("auto or a language, such as english")),
        "stemmer; auto for that of the language",
    )

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        check_language(self.language)

    def analyzed(self, texts: Sequence[str], *, n_fields: int = 1) -> AnalyzedInLanguage:
        """Return the texts analysed by the rules of their language."""
        return self._analyzed(texts, self.language, n_fields)

    def _rules(self) -> dict[str, Any]:
        own = {} if self.stemmer == "auto" else {"stemmer": self.stemmer}
        return {**WordSettings._rules(self), **own}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents followed by background texts, analysed together.

    Attributes
    ----------
    analyzer : Analyzer
    analyzed : AnalyzedTexts
    n_docs : int
        Number of documents; the other texts are background.
    closed : bool
        Whether only terms of the vocabulary count, because others may have been dropped.
    language : str
    """

    analyzer: Analyzer
    analyzed: AnalyzedTexts
    n_docs: int
    closed: bool
    language: str

    @classmethod
    def of(cls, documents: Documents, background: Sequence[str], settings: WordSettings) -> Corpus:
        """Analyse documents and background."""
        found = settings.analyzed([*documents.texts, *background])
        return cls(
            found.analyzer, found.texts, len(documents), settings.leaves_terms_out, found.language
        )

    @property
    def vocabulary(self) -> Vocabulary:
        """Terms of documents and background."""
        return self.analyzed.vocabulary

    @property
    def n_texts(self) -> int:
        """Number of documents and background texts."""
        return self.analyzed.n_docs

    @property
    def document_frequencies(self) -> NDArray[np.int64]:
        """Number of documents and background texts with each term, shape (n_terms,)."""
        frequencies = self.vocabulary.document_frequencies
        assert frequencies is not None
        return frequencies

    def counts(self, texts: Sequence[str]) -> csr_array:
        """Return the counts of the vocabulary's terms in some texts."""
        analyzed = analyze(list(texts), self.analyzer)
        counts = in_vocabulary(analyzed.counts(), analyzed.vocabulary, self.vocabulary)
        counts.sort_indices()
        return counts

    def counted(self, texts: Sequence[str]) -> tuple[csr_array, Vocabulary]:
        """Return the counts of all terms of some texts; if `closed`, only terms of the corpus."""
        if self.closed:
            return self.counts(texts), self.vocabulary
        analyzed = analyze(list(texts), self.analyzer)
        return analyzed.counts(), analyzed.vocabulary

    def weighted(self, counts: csr_array, weighting: Weighting) -> csr_array:
        """Return counts weighted by the statistics of all texts: W x, (n, n_terms), float64."""
        return weighting.transform(
            counts,
            document_frequencies=self.document_frequencies,
            n_docs=self.n_texts,
            average_length=self.average_length,
        )

    @property
    def average_length(self) -> float:
        """Mean number of terms per text; 1 if no text has terms."""
        n_terms = int(np.count_nonzero(self.analyzed.tokens >= 0))
        return n_terms / self.n_texts if n_terms else 1.0

    def weighted_pairs(
        self, left: Sequence[str], right: Sequence[str], weighting: Weighting
    ) -> tuple[csr_array, csr_array]:
        """Return the weighted texts of both sides over all their terms.

        Terms outside the corpus have document frequency 0.
        """
        counts, vocabulary = self.counted([*left, *right])
        own = weighting.transform(
            counts,
            document_frequencies=self.frequencies_of(vocabulary),
            n_docs=self.n_texts,
            average_length=self.average_length,
        )
        return own[: len(left)], own[len(left) :]

    def frequencies_of(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the number of texts of the corpus with each term of a vocabulary."""
        places = self.vocabulary.indices(vocabulary.terms)
        known = places >= 0
        frequencies = np.zeros(len(vocabulary), np.int64)
        frequencies[known] = self.document_frequencies[places[known]]
        return frequencies


def words_shown(analyzer: Analyzer, text: str) -> dict[str, str]:
    """Return the first word of a text for each of its stems."""
    shown: dict[str, str] = {}
    words = analyzer.words(text)
    for stem, word in zip(analyzer.stem(words), words, strict=True):
        shown.setdefault(stem, word)
    return shown
