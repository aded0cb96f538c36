"""The language of texts, which selects stemmer, segmenter, vectors and antonyms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softcosine._validation import check_choice
from softcosine.similarity.default import MIN_ENGLISH
from softcosine.similarity.embeddings.english import english_share
from softcosine.text.analyzer import Analyzer, checked_analyzer, languages
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.language import detect_language, names_of
from softcosine.text.segmenters import SEGMENTERS
from softcosine.text.stop_words import stop_words_of

_TEXTS = 100  # looked at for other languages, each alone


@dataclass(frozen=True, slots=True)
class AnalyzedInLanguage:
    """Texts analysed by the rules of their language.

    Attributes
    ----------
    texts : AnalyzedTexts
    analyzer : Analyzer
    language : str
        ``"none"`` if no language was detected or language rules are disabled; several have ``+``
        between.
    note : str
        The detected language; empty if nothing was detected.
    """

    texts: AnalyzedTexts
    analyzer: Analyzer
    language: str
    note: str


def check_language(language: object, analyzer: Analyzer | None = None) -> str:
    """Return the language if it is valid.

    Raises
    ------
    InvalidInputError
        If the language is unknown, or `analyzer` is not an Analyzer.
    """
    names = language.split("+") if isinstance(language, str) else [language]
    alone = ("auto", "none") if len(names) == 1 else ()
    for name in names:
        check_choice("language", name, (*alone, *languages()))
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
    n_deciding: int | None = None,
    **settings: Any,
) -> AnalyzedInLanguage:
    """Return texts analysed by the rules of their language.

    Parameters
    ----------
    texts : sequence of str, or of token lists
    language : str
        ``"auto"`` to detect it; ``"none"``; or one of `languages`, or several with ``+`` between.
    analyzer : Analyzer, optional
        Replaces the rules of the language.
    phrases : iterable of str
        Phrases that become terms; see `Analyzer`.
    rules : mapping, optional
        Analyzer parameters that override or extend those of the language.
    n_deciding : int, optional
        Number of texts that decide the language; all by default.
    **settings
        Other parameters of `analyze`.

    Raises
    ------
    InvalidInputError
        See `check_language` and `analyze`.
    """
    check_language(language, analyzer)
    own = {} if rules is None else rules
    sample, analyzed = texts[:n_deciding], None
    found = _told(sample) if language == "auto" and analyzer is None else Counter[str]()
    name = _several(found) or language
    if name != "auto":
        chosen = (analyzer or Analyzer.for_language(name, **own)).with_phrases(phrases)
        note = language_note(name, chosen) if found else _hint(name, chosen)
    else:
        detected = detect_language(sample)
        name = detected.name or "none"
        first = "english" if detected.maybe_english else name
        chosen = (analyzer or Analyzer.for_language(first, **own)).with_phrases(phrases)
        if detected.maybe_english:
            analyzed = analyze(sample, chosen, **settings)
            if english_share(analyzed.vocabulary) >= MIN_ENGLISH:
                name = "english"
            elif analyzer is None:
                chosen, analyzed = Analyzer(**own).with_phrases(phrases), None
        note = language_note(name, chosen) + _others(found, name) if analyzer is None else ""
    if analyzed is None or analyzed.n_docs < len(texts):
        analyzed = analyze(texts, chosen, **settings)
    if language == "auto" and not len(analyzed.vocabulary):
        note = ""
    return AnalyzedInLanguage(analyzed, chosen, name, note)


def language_note(language: str, rules: Analyzer) -> str:
    """Return a note: the detected language, and its analysis."""
    if language == "none":
        return "The language of the texts was not recognised: words are not stemmed."
    done = [] if not rules.stems else ["stemmed"]
    if rules.segmenter is not None:
        done.append(f"cut into words by {SEGMENTERS[rules.segmenter][0]}")
    hint = _hint(language, rules)
    told = " and ".join(done) or "not stemmed"
    if rules.stop_words:
        told += ", stop words left out"
    elif stop_words_of(language):
        told += ", stop words ignored in questions"
    return f"This looks like {names_of(language)}: {told}." + (f" {hint}" if hint else "")


def _told(texts: Sequence[Any]) -> Counter[str]:
    """Count the texts that look like each language; ``""`` for texts without a language."""
    some = texts[:: len(texts) // _TEXTS or 1][:_TEXTS]
    return Counter(detect_language([text]).name or "" for text in some)


def _several(found: Counter[str]) -> str:
    """Return the languages in Latin script that a fifth of texts are in, if there are several.

    Only their stemmers are at odds; docs/decisions.md.
    """
    least = max(2, (found.total() - found[""]) / 5, found.total() / 20)
    names = sorted(name for name, n in found.items() if n >= least)
    latin = [name for name in names if any(map(str.isascii, stop_words_of(name)))]
    return "+".join(latin) if len(latin) > 1 else ""


def _others(found: Counter[str], language: str) -> str:
    """Return a note on other languages that a tenth of the texts or more look like."""
    if language == "none":
        return ""
    least = max(2, found.total() / 10)
    others = [
        name.title() for name, n in found.items() if name not in ("", language) and n >= least
    ]
    if not others:
        return ""
    return (
        f" Some texts look like {' and '.join(sorted(others))}, and one index has the rules of one "
        "language: make an index for each, or name all (english+german)."
    )


def _hint(language: str, rules: Analyzer) -> str:
    """Return a note on the extra that the language needs, if it is not installed."""
    if language not in SEGMENTERS or rules.segmenter is not None:
        return ""
    return (
        "Text without spaces is cut into pairs of characters; with pip install "
        f"'softcosine[{language}]' it is cut into words."
    )
