"""Language detection: by script, then by stop words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from softcosine.text.stop_words import stop_word_lists
from softcosine.text.words import find_words, normalize

# Number of texts in the sample, evenly spaced, and the length read of each.
_TEXTS = 1_000
_CHARACTERS = 500
_TOKENS = 100
# Texts count as non-Latin from this share of non-Latin letters on: technical texts in any script
# contain Latin names and commands, but Latin texts contain few letters of other scripts.
_SCRIPT_SHARE = 0.2
_PURE_LATIN = 0.95
_KANA_SHARE = 0.02  # of the East Asian letters; Chinese has no kana
# Stop words identify a language from this share of words and this number of distinct ones on, ...
_STOP_WORD_SHARE = 0.1
_MIN_STOP_WORDS = 3
# ... if the stop words that another language lacks occur this often, and this many times as often
# as those that only the other one has.
_MIN_ALONE = 2
_MARGIN = 1.5

# Scripts, by the first word of the names of their letters and marks in Unicode.
_SCRIPTS = {
    name: name.lower()
    for name in (
        "LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "HEBREW", "ARABIC", "DEVANAGARI", "BENGALI",
        "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA",
        "THAI", "LAO", "TIBETAN", "MYANMAR", "GEORGIAN", "HANGUL", "ETHIOPIC", "KHMER",
    )
} | {
    "CJK": "han", "IDEOGRAPHIC": "han", "BOPOMOFO": "han",
    "HIRAGANA": "kana", "KATAKANA": "kana", "KATAKANA-HIRAGANA": "kana",
}  # fmt: skip
_EAST_ASIAN = {"han", "kana", "hangul"}
# Scripts that identify a language: only one language with many texts uses each.
_LANGUAGE_OF = {"greek": "greek", "armenian": "armenian", "tamil": "tamil", "thai": "thai"}


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """The detected language of texts.

    Attributes
    ----------
    name : str or None
        A language of `softcosine.text.analyzer.languages`; None if it was not identified.
    maybe_english : bool
        Whether `name` is None and the texts may be English: nearly all letters are Latin, and no
        other language has more stop words in the texts.
    """

    name: str | None
    maybe_english: bool = False


def names_of(language: str) -> str:
    """Return the name of a language, or of several with ``+`` between, for messages."""
    return " and ".join(language.title().replace("+", ", ").rsplit(", ", 1))


def detect_language(texts: Sequence[Any]) -> DetectedLanguage:
    """Return the language of texts, assuming that all have the same.

    The most frequent script decides first; it alone identifies Chinese, Japanese and Korean. Among
    the languages of a script, the stop words of the detected one are at least a tenth of all words,
    and at least three distinct ones. Compared with every other language, its stop words that the
    other one lacks occur at least twice, and at least 1.5 times as often as those that only the
    other one has.

    Parameters
    ----------
    texts : sequence of str or of token lists
        A sample of 1,000 evenly spaced texts is read, 500 characters or 100 tokens of each. Other
        objects are skipped.

    Examples
    --------
    >>> detect_language(["Der Hund und die Katze", "Das ist nicht die Katze"]).name
    'german'
    >>> detect_language(["設定を開いて passwd を実行する"]).name
    'japanese'
    >>> detect_language(["usb cable", "laptop stand"])
    DetectedLanguage(name=None, maybe_english=True)
    """
    letters: Counter[str] = Counter()
    words: Counter[str] = Counter()
    step = max(1, len(texts) / _TEXTS)
    for place in range(min(len(texts), _TEXTS)):
        own = _normalized(texts[int(place * step)])
        for character, count in Counter(own).items():
            if (script := _script_of(character)) is not None:
                letters[script] += count
        words.update(find_words(own))
    total = letters.total()
    if not total:
        return DetectedLanguage(None)
    script = _script(letters)
    if script in _EAST_ASIAN:
        together = sum(letters[script] for script in _EAST_ASIAN)
        if letters["hangul"] * 2 > together:
            return DetectedLanguage("korean")
        japanese = letters["kana"] >= _KANA_SHARE * together
        return DetectedLanguage("japanese" if japanese else "chinese")
    if script in _LANGUAGE_OF:
        return DetectedLanguage(_LANGUAGE_OF[script])
    running = {word: n for word, n in words.items() if _script_of(word[0]) == script}
    counts = {
        language: Counter({word: running[word] for word in running.keys() & stop_words})
        for language, stop_words in stop_word_lists().items()
    }
    totals = {language: own.total() for language, own in counts.items()}
    least = _STOP_WORD_SHARE * sum(running.values())
    telling = [
        language
        for language in sorted(totals, key=lambda language: (-totals[language], language))
        if len(counts[language]) >= _MIN_STOP_WORDS and totals[language] >= least
    ]
    for language in telling:
        others = [own for name, own in counts.items() if name != language]
        if all(_leads(counts[language], other) for other in others):
            return DetectedLanguage(language)
    if script != "latin" or letters["latin"] < _PURE_LATIN * total:
        return DetectedLanguage(None)
    most = totals[telling[0]] if telling else 0
    return DetectedLanguage(None, maybe_english=totals["english"] >= most)


def _normalized(text: object) -> str:
    if isinstance(text, str):
        return normalize(text[:_CHARACTERS])
    if isinstance(text, list | tuple | np.ndarray):
        return normalize(" ".join(token for token in text[:_TOKENS] if isinstance(token, str)))
    return ""


@cache
def _script_of(character: str) -> str | None:
    """Return the script of a letter or mark."""
    if unicodedata.category(character)[0] not in "LM":
        return None
    return _SCRIPTS.get(unicodedata.name(character, "").partition(" ")[0])


def _script(letters: Counter[str]) -> str:
    """Return the script of texts with these letter counts; one for Chinese, Japanese and Korean."""
    shares = Counter(letters)
    east = sum(shares.pop(script, 0) for script in _EAST_ASIAN)
    if east:
        shares["han"] = east
    latin = shares.pop("latin", 0)
    if not shares:
        return "latin"
    script, most = min(shares.items(), key=lambda one: (-one[1], one[0]))
    return script if most >= _SCRIPT_SHARE * letters.total() or most > latin else "latin"


def _leads(own: Counter[str], other: Counter[str]) -> bool:
    """Whether the stop words that the other language lacks decide for this one."""
    of_both = sum(own[word] for word in own.keys() & other.keys())
    alone = own.total() - of_both
    return alone >= _MIN_ALONE and alone >= _MARGIN * (other.total() - of_both)
