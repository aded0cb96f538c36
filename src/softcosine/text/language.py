"""Language detection: by script, then by stop words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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

# First and last code point of the letters of each script in normalised text, ascending.
_LETTERS: tuple[tuple[int, int, str], ...] = (
    (0x61, 0x7A, "latin"), (0xAA, 0xAA, "latin"), (0xB5, 0xB5, "greek"), (0xBA, 0xBA, "latin"),
    (0xDF, 0xF6, "latin"), (0xF8, 0x2AF, "latin"), (0x370, 0x3FF, "greek"),
    (0x400, 0x52F, "cyrillic"), (0x531, 0x587, "armenian"), (0x5D0, 0x5F4, "hebrew"),
    (0x620, 0x64A, "arabic"), (0x66E, 0x6D3, "arabic"), (0x6D5, 0x6FF, "arabic"),
    (0x750, 0x77F, "arabic"), (0x8A0, 0x8C9, "arabic"), (0x904, 0x963, "devanagari"),
    (0x971, 0x97F, "devanagari"), (0x980, 0x9E3, "bengali"), (0xA05, 0xA5E, "gurmukhi"),
    (0xA85, 0xAE3, "gujarati"), (0xB05, 0xB63, "odia"), (0xB82, 0xBD7, "tamil"),
    (0xC00, 0xC63, "telugu"), (0xC80, 0xCE3, "kannada"), (0xD00, 0xD63, "malayalam"),
    (0xD80, 0xDDF, "sinhala"), (0xE01, 0xE4E, "thai"), (0xE81, 0xEDF, "lao"),
    (0xF00, 0xFBC, "tibetan"), (0x1000, 0x109F, "myanmar"), (0x10A0, 0x10FF, "georgian"),
    (0x1100, 0x11FF, "hangul"), (0x1200, 0x139F, "ethiopic"), (0x1780, 0x17D3, "khmer"),
    (0x1E00, 0x1EFF, "latin"), (0x1F00, 0x1FFF, "greek"), (0x3005, 0x3007, "han"),
    (0x3041, 0x30FF, "kana"), (0x3105, 0x312F, "han"), (0x3130, 0x318F, "hangul"),
    (0x31A0, 0x31BF, "han"), (0x31F0, 0x31FF, "kana"), (0x3400, 0x4DBF, "han"),
    (0x4E00, 0x9FFF, "han"), (0xAC00, 0xD7A3, "hangul"), (0xF900, 0xFAFF, "han"),
    (0x20000, 0x3FFFF, "han"),
)  # fmt: skip
_STARTS = [first for first, _, _ in _LETTERS]
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
        letters.update(_letters_by_script(own))
        words.update(find_words(own))
    total = letters.total()
    if not total:
        return DetectedLanguage(None)
    script = _script(letters)
    if script in _EAST_ASIAN:
        return DetectedLanguage(_east_asian(letters))
    if script in _LANGUAGE_OF:
        return DetectedLanguage(_LANGUAGE_OF[script])
    counted = _stop_words_in(words, script)
    name = _leading(counted)
    if name is not None or script != "latin" or letters["latin"] < _PURE_LATIN * total:
        return DetectedLanguage(name)
    most = max((own.total for own in counted if own.telling), default=0)
    english = next(own.total for own in counted if own.language == "english")
    return DetectedLanguage(None, maybe_english=english >= most)


def _normalized(text: object) -> str:
    if isinstance(text, str):
        return normalize(text[:_CHARACTERS])
    if isinstance(text, list | tuple | np.ndarray):
        return normalize(" ".join(token for token in text[:_TOKENS] if isinstance(token, str)))
    return ""


def _letters_by_script(text: str) -> dict[str, int]:
    """Count the letters of a normalised text."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    distinct, counts = np.unique(codes, return_counts=True)
    found: Counter[str] = Counter()
    for code, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        script = _script_of(code)
        if script is not None:
            found[script] += count
    return found


def _script_of(code: int) -> str | None:
    """Return the script of a letter."""
    number = bisect_right(_STARTS, code) - 1
    if number < 0 or code > _LETTERS[number][1]:
        return None
    return _LETTERS[number][2]


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


def _east_asian(letters: Counter[str]) -> str:
    together = sum(letters[script] for script in _EAST_ASIAN)
    if letters["hangul"] * 2 > together:
        return "korean"
    return "japanese" if letters["kana"] >= _KANA_SHARE * together else "chinese"


@dataclass(frozen=True, slots=True)
class _StopWords:
    """Stop words of a language in the texts.

    Attributes
    ----------
    language : str
    counts : dict of str to int
        Occurrences of each.
    total : int
    telling : bool
        Whether they suffice to identify the language.
    """

    language: str
    counts: dict[str, int]
    total: int
    telling: bool


def _stop_words_in(words: Counter[str], script: str) -> list[_StopWords]:
    """Count the stop words of each language of a script; the most frequent first."""
    running = {word: n for word, n in words.items() if _script_of(ord(word[0])) == script}
    least = _STOP_WORD_SHARE * sum(running.values())
    found = []
    for language, stop_words in stop_word_lists().items():
        counts = {word: running[word] for word in running.keys() & stop_words}
        total = sum(counts.values())
        telling = len(counts) >= _MIN_STOP_WORDS and total >= least
        found.append(_StopWords(language, counts, total, telling))
    return sorted(found, key=lambda own: (-own.total, own.language))


def _leading(counted: Sequence[_StopWords]) -> str | None:
    """Return the language that wins against every other by the stop words that the other lacks."""
    for own in counted:
        if own.telling and all(_leads(own, other) for other in counted if other is not own):
            return own.language
    return None


def _leads(own: _StopWords, other: _StopWords) -> bool:
    shared = own.counts.keys() & other.counts.keys()
    of_both = sum(own.counts[word] for word in shared)
    alone = own.total - of_both
    return alone >= _MIN_ALONE and alone >= _MARGIN * (other.total - of_both)
