"""What `SoftIndex.from_texts` uses where nothing is given.

The choices and the measurements behind them stand in docs/defaults.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softcosine.sources.combine import first
from softcosine.sources.cooccurrence import CooccurrenceSimilarity
from softcosine.sources.embedding import EmbeddingSimilarity
from softcosine.sources.english import english_table
from softcosine.sources.guard import Guarded
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.vocabulary import Vocabulary

__all__ = ["MIN_ENGLISH", "RANKING", "DefaultSource", "default_source", "english_share"]

RANKING = "soft_bm25"
_THRESHOLD = 0.3
_EXPONENT = 4.0

# Share of the words of so many letters or more that the English table must know.
MIN_ENGLISH = 0.6
TELLING_LENGTH = 5  # shorter words are shared by too many languages


@dataclass(frozen=True, slots=True)
class DefaultSource:
    """The source chosen for a corpus, and why in a sentence."""

    source: TermSimilaritySource
    note: str


def english_share(vocabulary: Vocabulary) -> float:
    """Share of the documents' longer words that the bundled English table knows.

    A word counts once for each document that has it, so that the many names and misspellings that
    stand in a single document do not outvote the language. Words of `TELLING_LENGTH` letters or
    more tell; where there are none, all do. 0 for an empty vocabulary.
    """
    forms = vocabulary.forms or tuple((term,) for term in vocabulary.terms)
    frequencies = vocabulary.document_frequencies
    weights = np.ones(len(vocabulary)) if frequencies is None else frequencies.astype(np.float64)
    # Under stemming the most frequent form is what people wrote.
    words = [own[0] if own else term for own, term in zip(forms, vocabulary.terms, strict=True)]
    telling = np.array(
        [word.isalpha() and len(word) >= TELLING_LENGTH for word in words], dtype=np.bool_
    )
    if not telling.any():
        telling = np.array([word.isalpha() for word in words], dtype=np.bool_)
    total = float(weights[telling].sum())
    if total == 0.0:
        return 0.0
    known = english_table().find(words) >= 0
    return float(weights[telling & known].sum()) / total


def default_source(
    analyzed: AnalyzedTexts, *, progress: Callable[[int, int], None] | None = None
) -> DefaultSource:
    """Choose the English table, if the text is English, joined with what the texts teach.

    The table speaks of the pairs that it knows, the texts of all others.
    """
    learned = CooccurrenceSimilarity.fit(
        analyzed, threshold=_THRESHOLD, exponent=_EXPONENT, progress=progress
    )
    share = english_share(analyzed.vocabulary)
    if share < MIN_ENGLISH:
        return DefaultSource(
            Guarded(learned),
            f"The bundled English vectors know {share:.0%} of the longer words, less than "
            f"{MIN_ENGLISH:.0%}: they were left out, and similarities come from the texts alone.",
        )
    english = EmbeddingSimilarity.english(threshold=_THRESHOLD, exponent=_EXPONENT)
    return DefaultSource(
        Guarded(first(english, learned)),
        f"Similarities come from the bundled English vectors, which know {share:.0%} of the longer "
        "words, and for the others from what the texts teach.",
    )
