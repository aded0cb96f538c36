"""What `SoftIndex.from_texts` uses where nothing is given.

The choices and the measurements behind them stand in docs/defaults.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softcosine.errors import InvalidInputError
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.sources.source import TermSimilaritySource
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream
    from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "MIN_ENGLISH",
    "RANKING",
    "WEIGHTING",
    "DefaultSource",
    "check_one_similarity",
    "default_source",
]

RANKING = "soft_bm25"
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)

# Share of the documents' longer words that the English table must know.
MIN_ENGLISH = 0.6


def check_one_similarity(**given: bool) -> None:
    """Raise InvalidInputError if more than one of source, S and plain was given."""
    if sum(given.values()) > 1:
        raise InvalidInputError("source, S and plain exclude each other; give at most one of them.")


@dataclass(frozen=True, slots=True)
class DefaultSource:
    """The source chosen for a corpus, and why in a sentence."""

    source: TermSimilaritySource
    note: str


def default_source(
    texts: AnalyzedTexts | TextStream,
    *,
    vocabulary: Vocabulary | None = None,
    progress: Callable[[int, int], None] | None = None,
    threshold: float = 0.3,
    exponent: float = 4.0,
) -> DefaultSource:
    """Choose the English table, if the text is English, joined with what the texts teach.

    The table speaks of the pairs that it knows, the texts of all others.

    Parameters
    ----------
    texts : AnalyzedTexts or TextStream
    vocabulary : Vocabulary, optional
        Of the texts, with document frequencies; needed for a stream.
    progress : callable, optional
        Called with (how far, out of how many).
    threshold, exponent : float
        Of the cosines of both; see `EmbeddingSimilarity`.
    """
    # An index that is opened and searched needs none of these.
    from softcosine.sources.constraints.guard import Guarded
    from softcosine.sources.corpus.cooccurrence import CooccurrenceSimilarity
    from softcosine.sources.joins.combine import first
    from softcosine.sources.vectors.embedding import EmbeddingSimilarity
    from softcosine.sources.vectors.english import english_share

    if vocabulary is None:
        assert texts.vocabulary is not None
        vocabulary = texts.vocabulary
    learned = CooccurrenceSimilarity.fit(
        texts, threshold=threshold, exponent=exponent, progress=progress
    )
    if not len(vocabulary):
        return DefaultSource(Guarded(learned), "There are no words to find similarities for.")
    share = english_share(vocabulary)
    if share < MIN_ENGLISH:
        return DefaultSource(
            Guarded(learned),
            f"The bundled English vectors know {share:.0%} of the longer words, less than "
            f"{MIN_ENGLISH:.0%}: they were left out, and similarities come from the texts alone.",
        )
    english = EmbeddingSimilarity.english(threshold=threshold, exponent=exponent)
    return DefaultSource(
        Guarded(first(english, learned)),
        f"Similarities come from the bundled English vectors, which know {share:.0%} of the longer "
        "words, and for the others from what the texts teach.",
    )
