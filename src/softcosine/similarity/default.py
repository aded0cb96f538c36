"""The default source of a corpus.

docs/defaults.md has the choices and the measurements behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from softcosine.similarity.registry import SourceSettings, source_named
from softcosine.text.words import has_unspaced

if TYPE_CHECKING:
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.vocabulary import Vocabulary

# Languages without spaces: their words share characters by accident, so spelling says nothing.
_UNSPACED = ("chinese", "japanese", "thai")
# Where stop words do not identify the language: the share of the longer words that the English
# table must know.
MIN_ENGLISH = 0.6
OTHER_WORDS = (
    "Word vectors or synonyms (--source; source= in Python) or a multilingual encoder (--encoder) "
    "find documents in other words."
)


def antonyms_of(language: str | None) -> Literal["english"] | None:
    """Return the antonyms for the guard of texts of a language; None if there are none."""
    return "english" if language in (None, "english") else None


def default_source(
    settings: SourceSettings, language: str | None = None
) -> tuple[TermSimilaritySource, str]:
    """Return the English table for English texts, else the spelling of words; and why.

    English texts also get a guard against antonyms; texts without spaces get a guard against
    overlapping character pairs.

    Parameters
    ----------
    settings : SourceSettings
        Texts are needed where they have no spaces between words. A stream needs a vocabulary.
    language : str, optional
        Of the texts, or ``"none"``. If None, the texts count as English if the table knows a share
        of `MIN_ENGLISH` of their longer words.
    """
    # Imported here: opening and searching an index does not need them.
    from softcosine.similarity.embeddings.english import english_share
    from softcosine.similarity.overrides.guard import Guarded

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
    learned = learns_from_texts(language, vocabulary)
    if not len(vocabulary):
        note = "There are no words to find similarities for."
    elif learned:
        note = "Similarities come from the texts alone."
    else:
        note = f"Words are similar by spelling, not by meaning. {OTHER_WORDS}"
    if language is None and len(vocabulary):
        note = (
            f"The bundled English vectors know {share:.0%} of the longer words, less than "
            f"{MIN_ENGLISH:.0%}, and were left out. {note}"
        )
    source = source_named("texts" if learned else "character-ngrams", settings)
    return Guarded(source, antonyms=antonyms_of(language)), note


def learns_from_texts(language: str | None, vocabulary: Vocabulary | None = None) -> bool:
    """Whether the default source may learn from texts: if they have no spaces between words."""
    if vocabulary is None or language in _UNSPACED:
        return language in (None, "none", *_UNSPACED)
    return 2 * sum(map(has_unspaced, vocabulary.terms)) > len(vocabulary)
