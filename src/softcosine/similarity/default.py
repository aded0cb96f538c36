"""The default source of a corpus.

docs/defaults.md has the choices and the measurements behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from softcosine.similarity.registry import SourceSettings, source_named
from softcosine.text.segmenters import has_segmenter
from softcosine.text.words import pair_in_run

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource

_UNSPACED = ("chinese", "japanese", "thai")
# Words of two characters are many, and similar if they share one of them.
_SHORT_WORDS = ("chinese", "japanese", "korean")
# Languages that write compounds as one word, whose last part says what it is.
_GERMANIC = ("afrikaans", "danish", "dutch", "german", "icelandic", "norwegian", "swedish")
_COMPOUNDING = (*_GERMANIC, "estonian", "finnish")
# Where stop words do not identify the language: the share of the longer words that the English
# table must know.
MIN_ENGLISH = 0.6


def antonyms_of(language: str | None) -> Literal["english"] | None:
    """Return the antonyms for the guard of texts of a language; None if there are none."""
    return "english" if language in (None, "english") else None


def default_source(
    settings: SourceSettings, language: str | None = None
) -> tuple[TermSimilaritySource, str]:
    """Return the English table for English texts, else the spelling of words; and why.

    Parameters
    ----------
    settings : SourceSettings
        With texts or their vocabulary.
    language : str, optional
        Of the texts, or ``"none"``. If None, the texts count as English if the table knows a share
        of `MIN_ENGLISH` of their longer words.
    """
    # Imported here: opening and searching an index does not need them.
    from softcosine.similarity.embeddings.english import english_share
    from softcosine.similarity.overrides.guard import Guarded
    from softcosine.similarity.spelling.character_ngrams import CharacterNgramSimilarity

    vocabulary = settings.vocabulary
    if vocabulary is None:
        assert settings.texts is not None
        vocabulary = settings.texts.vocabulary
    assert vocabulary is not None
    share = english_share(vocabulary) if language in (None, "english") else 0.0
    if language == "english" or share >= MIN_ENGLISH:
        return (
            Guarded(source_named("english", settings)),
            "Similarities come from the bundled English vectors, which know "
            f"{share:.0%} of the longer words.",
        )
    segmented = settings.texts.segmented if settings.texts else has_segmenter(language or "")
    pairs = not segmented and any(map(pair_in_run, vocabulary.terms))
    note = "Words are similar by spelling."
    if pairs and language in _UNSPACED:
        note = "Pairs of characters match only themselves, as in BM25."
    if not len(vocabulary):
        note = "There are no words to find similarities for."
    elif language is None:
        note = (
            f"The bundled English vectors know {share:.0%} of the longer words, less than "
            f"{MIN_ENGLISH:.0%}, and were left out. {note}"
        )
    lengths = {"min_n": 2, "max_n": 3} if language in _SHORT_WORDS else {}
    compounds = language if language in _COMPOUNDING else None
    ngrams = CharacterNgramSimilarity(compounds=compounds, **lengths)
    source = Guarded(ngrams, antonyms=antonyms_of(language), separate_pieces=pairs)
    return source, note
