"""The language of texts: one choice of stemmer, segmenter, vectors and antonyms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softcosine._validation import check_choice
from softcosine.similarity.default import MIN_ENGLISH
from softcosine.similarity.embeddings.english import english_share
from softcosine.text.analyzer import Analyzer, checked_analyzer, languages
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.language import detect_language
from softcosine.text.segmenters import SEGMENTERS

__all__ = [
    "AnalyzedInLanguage",
    "analyze_in_language",
    "check_language",
    "language_note",
]


@dataclass(frozen=True, slots=True)
class AnalyzedInLanguage:
    """Texts analysed as their language asks for.

    Attributes
    ----------
    texts : AnalyzedTexts
    analyzer : Analyzer
    language : str
        ``"none"`` where none was recognised, or none was to be.
    note : str
        What was decided, and how to decide otherwise; empty where nothing was.
    """

    texts: AnalyzedTexts
    analyzer: Analyzer
    language: str
    note: str


def check_language(language: object, analyzer: Analyzer | None = None) -> str:
    """Return a language as it was given.

    Raises
    ------
    InvalidInputError
        If it is none, or the analyzer is none.
    """
    check_choice("language", language, ("auto", "none", *languages()))
    if analyzer is not None:
        checked_analyzer(analyzer)
    return str(language)


def analyze_in_language(
    texts: Sequence[Any],
    language: str = "auto",
    analyzer: Analyzer | None = None,
    *,
    phrases: Iterable[str] = (),
    rules: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AnalyzedInLanguage:
    """Analyse texts by the rules for their language.

    Parameters
    ----------
    texts : sequence of str, or of token lists
    language : str
        ``"auto"`` for that of the texts; ``"none"``; or one of `languages`.
    analyzer : Analyzer, optional
        In place of the rules for the language.
    phrases : iterable of str
        Those that become terms; see `Analyzer`.
    rules : mapping, optional
        Settings of the analyzer in place of those for the language, or beside them.
    **settings
        Of `analyze`.

    Raises
    ------
    InvalidInputError
        See `check_language` and `analyze`.
    """
    check_language(language, analyzer)
    own = {} if rules is None else rules
    if language != "auto":
        chosen = (analyzer or Analyzer.for_language(language, **own)).with_phrases(phrases)
        analyzed = analyze(texts, chosen, **settings)
        return AnalyzedInLanguage(analyzed, chosen, language, _hint(language, chosen))
    detected = detect_language(texts)
    name = detected.name or "none"
    first = "english" if detected.maybe_english else name
    chosen = (analyzer or Analyzer.for_language(first, **own)).with_phrases(phrases)
    analyzed = analyze(texts, chosen, **settings)
    if detected.maybe_english:
        if english_share(analyzed.vocabulary) >= MIN_ENGLISH:
            name = "english"
        elif analyzer is None:
            chosen = Analyzer(**own).with_phrases(phrases)
            analyzed = analyze(texts, chosen, **settings)
    note = language_note(name, chosen) if analyzer is None and len(analyzed.vocabulary) else ""
    return AnalyzedInLanguage(analyzed, chosen, name, note)


def language_note(language: str, rules: Analyzer) -> str:
    """Say what language was recognised, how its texts were analysed, and what to type instead."""
    if language == "none":
        return (
            "The language of the texts was not recognised: words are not stemmed; --language NAME "
            "(language= in Python) names it."
        )
    done = [] if rules.stemmer is None else ["stemmed"]
    if rules.segmenter is not None:
        done.append(f"cut into words by {SEGMENTERS[rules.segmenter][0]}")
    hint = _hint(language, rules)
    kept = "left out" if rules.stop_words else "kept"
    return (
        f"This looks like {language.title()}: {' and '.join(done) or 'not stemmed'}, stop words "
        f"{kept}; --language NAME or none (language= in Python) to override."
        + (f" {hint}" if hint else "")
    )


def _hint(language: str, rules: Analyzer) -> str:
    """Say what a language would have with an extra that is not installed."""
    if language not in SEGMENTERS or rules.segmenter is not None:
        return ""
    return (
        "Text without spaces is cut into pairs of characters; with pip install "
        f"'softcosine[{language}]' it is cut into words."
    )
