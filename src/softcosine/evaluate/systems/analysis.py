"""Texts made comparable: one analysis for all systems, so that none has better words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.settings import (
    Settings,
    choice,
    document_limit,
    optional,
    setting,
    text,
    whole,
)
from softcosine.index.build import in_vocabulary
from softcosine.index.defaults import MIN_ENGLISH
from softcosine.sources.vectors.english import english_share
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

__all__ = ["Corpus", "TextSettings", "WordSettings", "analyzed_by", "words_shown"]


@dataclass(frozen=True, kw_only=True)
class WordSettings(Settings):
    """Settings of every system that sees words: how texts become terms.

    Parameters
    ----------
    stop_words : {"english"} or None
    max_ngram, min_length : int
        See `softcosine.Analyzer`.
    min_df, max_df : int or float
        Terms of fewer, or of more, documents are left out; see `softcosine.analyze`.
    label : str, optional
    """

    stop_words: str | None = setting(None, optional(choice("english")), "words that are left out")
    max_ngram: int = setting(1, whole(1), "terms of up to so many successive words")
    min_length: int = setting(1, whole(1), "words of fewer characters are left out")
    min_df: int | float = setting(1, document_limit, "terms of fewer documents are left out")
    max_df: int | float = setting(1.0, document_limit, "terms of more documents are left out")

    @property
    def depends_on_language(self) -> bool:
        """Whether the language of the texts decides on the analysis."""
        return False

    @property
    def leaves_terms_out(self) -> bool:
        """Whether terms are left out by the number of documents that have them."""
        fewest, most = self.min_df, self.max_df
        none_for_few = isinstance(fewest, int) and fewest <= 1
        return not (none_for_few and isinstance(most, float) and most == 1.0)

    def analyzer(self, *, english: bool) -> Analyzer:
        """Return the rules for texts that are English, or not."""
        return self._analyzer(None)

    def _analyzer(self, stemmer: str | None) -> Analyzer:
        return Analyzer(
            stemmer,
            stop_words=self.stop_words,
            max_ngram=self.max_ngram,
            min_length=self.min_length,
        )


@dataclass(frozen=True, kw_only=True)
class TextSettings(WordSettings):
    """Settings of every system that takes terms as strings, so that stemming helps.

    Parameters
    ----------
    stemmer : str or None
        ``"auto"`` stems English where the texts are English; a Snowball algorithm; None.
    **settings
        See `WordSettings`.
    """

    stemmer: str | None = setting(
        "auto",
        optional(text("auto or a language, such as english")),
        "stems words; auto does where the texts are English",
    )

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        self.analyzer(english=True)  # which knows what stemmers there are

    @property
    def depends_on_language(self) -> bool:
        """Whether the language of the texts decides on the analysis."""
        return self.stemmer == "auto"

    def analyzer(self, *, english: bool) -> Analyzer:
        """Return the rules for texts that are English, or not."""
        chosen = "english" if english else None
        return self._analyzer(chosen if self.depends_on_language else self.stemmer)


def analyzed_by(
    settings: WordSettings, texts: Sequence[str], *, n_fields: int = 1
) -> tuple[Analyzer, AnalyzedTexts]:
    """Analyse texts; where nobody says, they are stemmed if they turn out to be English.

    With several fields, the texts of a document follow one another.
    """

    def by(analyzer: Analyzer) -> AnalyzedTexts:
        return analyze(
            texts, analyzer, min_df=settings.min_df, max_df=settings.max_df, n_fields=n_fields
        )

    analyzer = settings.analyzer(english=True)
    analyzed = by(analyzer)
    if settings.depends_on_language and english_share(analyzed.vocabulary) < MIN_ENGLISH:
        analyzer = settings.analyzer(english=False)
        analyzed = by(analyzer)
    return analyzer, analyzed


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
    """

    analyzer: Analyzer
    analyzed: AnalyzedTexts
    n_docs: int
    closed: bool

    @classmethod
    def of(cls, documents: Documents, background: Sequence[str], settings: WordSettings) -> Corpus:
        """Analyse documents and background."""
        analyzer, analyzed = analyzed_by(settings, [*documents.texts, *background])
        return cls(analyzer, analyzed, len(documents), settings.leaves_terms_out)

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
