"""Texts made comparable: one analysis for all systems, so that none has better words."""

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

__all__ = ["Corpus", "TextSettings", "WordSettings", "words_shown"]


@dataclass(frozen=True, kw_only=True)
class WordSettings(Settings):
    """Settings of every system that sees words: how texts become terms.

    Parameters
    ----------
    stop_words : str or None
        A language.
    max_ngram, min_length : int
        See `softcosine.Analyzer`.
    min_df, max_df : int or float
        Terms of fewer, or of more, documents are left out; see `softcosine.analyze`.
    label : str, optional
    """

    stop_words: str | None = setting(
        None, optional(text("a language, such as english")), "words that are left out"
    )
    max_ngram: int = setting(1, whole(1), "terms of up to so many successive words")
    min_length: int = setting(1, whole(1), "words of fewer characters are left out")
    min_df: int | float = setting(1, document_limit, "terms of fewer documents are left out")
    max_df: int | float = setting(1.0, document_limit, "terms of more documents are left out")

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        Analyzer(**self._rules())  # which knows what lists of stop words there are

    @property
    def leaves_terms_out(self) -> bool:
        """Whether terms are left out by the number of documents that have them."""
        fewest, most = self.min_df, self.max_df
        none_for_few = isinstance(fewest, int) and fewest <= 1
        return not (none_for_few and isinstance(most, float) and most == 1.0)

    def analyzed(self, texts: Sequence[str], *, n_fields: int = 1) -> AnalyzedInLanguage:
        """Analyse texts; with several fields, those of a document follow one another."""
        return self._analyzed(texts, "none", n_fields)

    def _rules(self) -> dict[str, Any]:
        """Return settings of the analyzer in place of those for the language, or beside them."""
        return {
            "stop_words": self.stop_words,
            "max_ngram": self.max_ngram,
            "min_length": self.min_length,
        }

    def _phrases(self) -> tuple[str, ...]:
        """Return what becomes a term though it is several words."""
        return ()

    def _analyzed(self, texts: Sequence[str], language: str, n_fields: int) -> AnalyzedInLanguage:
        return analyze_in_language(
            texts, language, phrases=self._phrases(), rules=self._rules(), min_df=self.min_df,
            max_df=self.max_df, n_fields=n_fields,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TextSettings(WordSettings):
    """Settings of every system that takes terms as strings, so that stemming helps.

    Parameters
    ----------
    language : str
        ``"auto"`` for that of the texts, ``"none"``, or a language; see `SoftIndex.from_texts`.
    stemmer : str or None
        ``"auto"`` for that of the language; a Snowball algorithm; None.
    **settings
        See `WordSettings`.
    """

    language: str = setting(
        "auto",
        text("auto, none, or a language, such as english"),
        "what texts are in; auto recognises it",
    )
    stemmer: str | None = setting(
        "auto",
        optional(text("auto or a language, such as english")),
        "stems words; auto as the language asks for",
    )

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        check_language(self.language)

    def analyzed(self, texts: Sequence[str], *, n_fields: int = 1) -> AnalyzedInLanguage:
        """Analyse texts as their language asks for."""
        return self._analyzed(texts, self.language, n_fields)

    def _rules(self) -> dict[str, Any]:
        own = {} if self.stemmer == "auto" else {"stemmer": self.stemmer}
        return {**WordSettings._rules(self), **own}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and background texts, analysed together; numbers of documents come first.

    Attributes
    ----------
    analyzer : Analyzer
    analyzed : AnalyzedTexts
    n_docs : int
        How many of the texts are documents; the others are background.
    closed : bool
        Whether only terms of the vocabulary ever count: the others may have been left out.
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
        """The terms of documents and background."""
        return self.analyzed.vocabulary

    @property
    def n_texts(self) -> int:
        """How many texts there are, background too."""
        return self.analyzed.n_docs

    @property
    def document_frequencies(self) -> NDArray[np.int64]:
        """In how many texts each term stands, background too; shape (n_terms,)."""
        frequencies = self.vocabulary.document_frequencies
        assert frequencies is not None
        return frequencies

    def counts(self, texts: Sequence[str]) -> csr_array:
        """Return how often each term of the vocabulary stands in each of some texts."""
        analyzed = analyze(list(texts), self.analyzer)
        counts = in_vocabulary(analyzed.counts(), analyzed.vocabulary, self.vocabulary)
        counts.sort_indices()
        return counts

    def counted(self, texts: Sequence[str]) -> tuple[csr_array, Vocabulary]:
        """Count the terms of some texts, those that the corpus lacks too, if it is not closed."""
        if self.closed:
            return self.counts(texts), self.vocabulary
        analyzed = analyze(list(texts), self.analyzer)
        return analyzed.counts(), analyzed.vocabulary

    def weighted(self, counts: csr_array, weighting: Weighting) -> csr_array:
        """Weigh counts by the statistics of all texts: W x, shape (n, n_terms), float64."""
        return weighting.transform(
            counts,
            document_frequencies=self.document_frequencies,
            n_docs=self.n_texts,
            average_length=self.average_length,
        )

    @property
    def average_length(self) -> float:
        """Terms of a text, on average; 1 where no text has any."""
        n_terms = int(np.count_nonzero(self.analyzed.tokens >= 0))
        return n_terms / self.n_texts if n_terms else 1.0

    def weighted_pairs(
        self, left: Sequence[str], right: Sequence[str], weighting: Weighting
    ) -> tuple[csr_array, csr_array]:
        """Weigh texts that are compared with each other, over all terms that they have.

        Terms that no text of the corpus has count as in 0 of its documents.
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
        """In how many texts of the corpus each term of a vocabulary stands."""
        places = self.vocabulary.indices(vocabulary.terms)
        known = places >= 0
        frequencies = np.zeros(len(vocabulary), np.int64)
        frequencies[known] = self.document_frequencies[places[known]]
        return frequencies


def words_shown(analyzer: Analyzer, text: str) -> dict[str, str]:
    """For each stem of a text, the first word that shows it."""
    shown: dict[str, str] = {}
    words = analyzer.words(text)
    for stem, word in zip(analyzer.stem(words), words, strict=True):
        shown.setdefault(stem, word)
    return shown
