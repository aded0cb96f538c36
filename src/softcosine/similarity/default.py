"""The default source of a corpus.

docs/defaults.md has the choices and the measurements behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from softcosine._progress import Progress

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream
    from softcosine.text.vocabulary import Vocabulary

# Where stop words do not identify the language: the share of the longer words that the English
# table must know.
MIN_ENGLISH = 0.6


def antonyms_of(language: str | None) -> Literal["english"] | None:
    """Return the antonyms for the guard of texts of a language; None if there are none."""
    return "english" if language in (None, "english") else None


@dataclass(frozen=True, slots=True)
class DefaultSource:
    """The source chosen for a corpus, and the reason in a sentence."""

    source: TermSimilaritySource
    note: str


def default_source(
    texts: AnalyzedTexts | TextStream | None,
    *,
    vocabulary: Vocabulary | None = None,
    language: str | None = None,
    progress: Progress | None = None,
    threshold: float = 0.3,
    exponent: float = 4.0,
) -> DefaultSource:
    """Return the English table for English texts, else a source learned from the texts.

    English texts also get a guard against antonyms; texts without spaces get a guard against
    overlapping character pairs.

    Parameters
    ----------
    texts : AnalyzedTexts or TextStream, optional
        Not needed for English.
    vocabulary : Vocabulary, optional
        Of the texts, with document frequencies; needed for a stream.
    language : str, optional
        Of the texts, or ``"none"``. If None, the texts count as English if the table knows a share
        of `MIN_ENGLISH` of their longer words.
    progress : callable, optional
        Called with (done, total).
    threshold, exponent : float
        Of both sources; see `EmbeddingSimilarity`.
    """
    # Imported here: opening and searching an index does not need them.
    from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    from softcosine.similarity.embeddings.english import english_share
    from softcosine.similarity.overrides.guard import Guarded, pieces_apart

    if vocabulary is None:
        assert texts is not None
        vocabulary = texts.vocabulary
    assert vocabulary is not None
    share = english_share(vocabulary) if language in (None, "english") else 0.0
    if language != "english" and share < MIN_ENGLISH:
        assert texts is not None
        learned = pieces_apart(
            CooccurrenceSimilarity.fit(
                texts, threshold=threshold, exponent=exponent, progress=progress
            ),
            vocabulary,
            segmented=texts.segmented,
        )
        if not len(vocabulary):
            return DefaultSource(Guarded(learned), "There are no words to find similarities for.")
        why = (
            ""
            if language is not None
            else (
                f"The bundled English vectors know {share:.0%} of the longer words, less than "
                f"{MIN_ENGLISH:.0%}, and were left out. "
            )
        )
        return DefaultSource(
            Guarded(learned, antonyms=antonyms_of(language)),
            f"{why}Similarities come from the texts alone.",
        )
    english = EmbeddingSimilarity.english(threshold=threshold, exponent=exponent)
    return DefaultSource(
        Guarded(english),
        f"Similarities come from the bundled English vectors, which know {share:.0%} of the longer "
        "words.",
    )
