r"""What counts as a word: the rules by which text of any script is normalised and cut.

**Normalising.** NFKC and case folding, so that ``ﬁ`` is ``fi``, ``Straße`` is ``strasse`` and
full-width letters are the usual ones. All apostrophes become ``'``; invisible characters that may
stand inside a word (soft hyphen, joiners, direction marks, the Arabic tatweel) vanish; the dot that
case folding leaves on ``İ`` goes, so ``İstanbul`` is ``istanbul``. Underscores become spaces.

**Cutting.** A word is a run of letters and digits with their combining marks. Everything else
separates, hyphens and underscores included (``e-mail`` is ``e``, ``mail``), except:

- a dot between digits: ``3.11`` and ``192.168.1.1`` are one word each (``1,000`` is two);
- an apostrophe before a letter: ``don't``, ``o'reilly``, ``l'homme``; a final ``'s`` is dropped, so
  ``dog's`` is ``dog``. A middle dot and the Hebrew geresh and gershayim join letters too;
- a single letter followed by ``++`` or ``#``: ``c++``, ``c#``.

``E1042`` is ``e1042``. A word longer than 64 characters is cut to its first 64, in documents and
queries alike, so it still finds itself.

**Scripts without spaces** (Han, Hiragana, Katakana, Bopomofo, Thai, Lao, Khmer, Myanmar). A run of
such characters is cut into overlapping pairs, ``東京都`` into ``東京``, ``京都``; a run of a single
character is that character. A character is counted together with its combining marks. A segmenter
(`softcosine.text.segmenters`) cuts runs into words instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from operator import add

__all__ = [
    "MAX_WORD_LENGTH",
    "Segmenter",
    "Span",
    "find_words",
    "has_unspaced",
    "normalize",
    "pair_in_run",
    "word_spans",
]

# Cuts a run of characters of scripts without spaces into words, which joined are the run.
Segmenter = Callable[[str], list[str]]

# Longer than any word of a language and than a SHA-256 digest in hexadecimal, short enough that
# encoded attachments do not fill the vocabulary.
MAX_WORD_LENGTH = 64

_JOINERS = "'\u00b7\u05f3\u05f4"
_POSSESSIVE = re.compile("(?:'s)+$")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201b": "'"})
_SOME_APOSTROPHE = re.compile("[\u2018\u2019\u201b\u02bc]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u0640\u180e\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+"
)
_DOTTED_I = re.compile("i\u0307+")
# Scripts written without spaces, their digits left out. Their combining marks are inside.
_UNSPACED_BLOCKS = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17dd\ua9e0-\ua9ef\uaa60-\uaa7f"
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a word stands in a text.

    Attributes
    ----------
    start, end : int
        ``text[start:end]`` is what was read, in characters of the original text.
    word : str
        The normalised word.
    """

    start: int
    end: int
    word: str


def normalize(text: str) -> str:
    """Text under the normalisation of this module (NFKC, case folding and some clean-up).

    Parameters
    ----------
    text : str
        Any string, lone surrogates and NUL characters included.

    Returns
    -------
    str
        Often of another length than `text`.
    """
    if text.isascii():
        return text.lower().replace("_", " ")
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _DOTTED_I.sub("i", _INVISIBLE.sub("", folded))
    if _SOME_APOSTROPHE.search(folded):
        folded = folded.translate(_APOSTROPHES)
    return unicodedata.normalize("NFKC", folded).replace("_", " ")


def find_words(normalized: str, segmenter: Segmenter | None = None) -> list[str]:
    """Words of a normalised text, in running order.

    Parameters
    ----------
    normalized : str
        What `normalize` gave.
    segmenter : callable, optional
        Cuts text without spaces into words; by default it is cut into pairs of characters.

    Returns
    -------
    list of str
    """
    if normalized.isascii() and "'s" not in normalized and len(normalized) <= MAX_WORD_LENGTH:
        # The same, sooner, for short plain text: most of what is asked for is a piece of a corpus.
        return [normalized] if normalized.isalnum() else _ASCII_WORD.findall(normalized)
    return [word for _, _, word in _located_words(normalized, segmenter)]


def has_unspaced(normalized: str) -> bool:
    """Whether some character of a normalised text is of a script written without spaces."""
    return not normalized.isascii() and _unspaced_run().search(normalized) is not None


def pair_in_run(word: str) -> str:
    """Two characters that a run without spaces was cut into; empty for any other word.

    Their combining marks are left out.
    """
    if len(word) < 2 or not has_unspaced(word):
        return ""
    characters = _some_mark().sub("", word)
    return characters if len(characters) == 2 and _all_unspaced().fullmatch(characters) else ""


def word_spans(text: str, segmenter: Segmenter | None = None) -> list[Span]:
    """Words of a text as it was given, and where in it they stand.

    Parameters
    ----------
    text : str
        The original text, not normalised.
    segmenter : callable, optional
        See `find_words`.

    Returns
    -------
    list of Span
        Its words are those of ``find_words(normalize(text), segmenter)``. Where one character of
        the text makes several words (``½`` is ``1``, ``2``), their spans are the same.
    """
    if text.isascii():
        return [Span(*located) for located in _located_words(normalize(text), None)]
    spans = []
    # White space is never part of a word and normalises on its own, so pieces stand alone.
    for piece in re.finditer(r"\S+", text):
        normalized, starts, ends = _aligned(piece.group(), piece.start())
        for start, end, word in _located_words(normalized, segmenter):
            spans.append(Span(starts[start], ends[end - 1], word))
    return spans


def _located_words(normalized: str, segmenter: Segmenter | None) -> list[tuple[int, int, str]]:
    """Start, end and word of each word; the offsets are those of the normalised text."""
    found: list[tuple[int, int, str]] = []
    pattern = _ASCII_WORD if normalized.isascii() else _unicode_word()
    for match in pattern.finditer(normalized):
        word = match.group()
        if has_unspaced(word):
            found.extend(_cut_at_unspaced(match.start(), word, segmenter))
        else:
            found.append(_whole(match.start(), word))
    return found


def _whole(start: int, word: str) -> tuple[int, int, str]:
    """Drop a final 's and cut an overlong word; the outcome read again is itself."""
    word = _POSSESSIVE.sub("", word)
    end = start + len(word)
    if len(word) > MAX_WORD_LENGTH:
        word = _POSSESSIVE.sub("", word[:MAX_WORD_LENGTH].rstrip(f".{_JOINERS}"))
    return start, end, word


def _cut_at_unspaced(
    offset: int, word: str, segmenter: Segmenter | None
) -> list[tuple[int, int, str]]:
    """Cut a word that has characters of scripts without spaces at runs of these."""
    found: list[tuple[int, int, str]] = []
    done = 0
    for run in _unspaced_run().finditer(word):
        found.extend(_located_rest(offset + done, word[done : run.start()]))
        done = run.end()
        if segmenter is None:
            found.extend(_pairs(offset + run.start(), run.group()))
        else:
            found.extend(_segments(offset + run.start(), run.group(), segmenter))
    found.extend(_located_rest(offset + done, word[done:]))
    return found


def _pairs(offset: int, run: str) -> list[tuple[int, int, str]]:
    """Cut a run into overlapping pairs of characters; a single one is itself."""
    characters: Sequence[str] = run
    bounds: Sequence[int] = range(offset, offset + len(run) + 1)
    if _some_mark().search(run):
        characters = _marked_character().findall(run)
        bounds = list(accumulate(map(len, characters), initial=offset))
    if len(characters) == 1:
        return [(bounds[0], bounds[1], characters[0])]
    pairs = map(add, characters, characters[1:])
    return list(zip(bounds, bounds[2:], pairs, strict=False))


def _segments(offset: int, run: str, segmenter: Segmenter) -> list[tuple[int, int, str]]:
    """Cut a run into words; overlong ones are cut as others are."""
    words: list[str] = []
    for word in segmenter(run):
        if words and _some_mark().match(word):  # a mark belongs to the character before it
            words[-1] += word
        else:
            words.append(word)
    assert "".join(words) == run  # or spans would be wrong
    ends = accumulate(map(len, words), initial=offset)
    return [
        (start, end, word[:MAX_WORD_LENGTH])
        for (start, end), word in zip(pairwise(ends), words, strict=True)
    ]


def _located_rest(offset: int, part: str) -> list[tuple[int, int, str]]:
    """Words of what stands beside runs; a joiner at its edge joins nothing now."""
    if not part:
        return []
    return [(offset + start, offset + end, word) for start, end, word in _located_words(part, None)]


def _aligned(piece: str, offset: int) -> tuple[str, list[int], list[int]]:
    """Normalise a piece and map each character of the outcome to a range of the original.

    The piece is cut where a character begins that cannot join the one before. Should the parts'
    normalised forms not make up the whole's, every character maps to the whole piece.
    """
    whole = normalize(piece)
    bounds = [i for i, c in enumerate(piece) if i == 0 or not _may_join_previous(c)]
    bounds.append(len(piece))
    parts = [normalize(piece[a:b]) for a, b in pairwise(bounds)]
    if "".join(parts) != whole:
        return whole, [offset] * len(whole), [offset + len(piece)] * len(whole)
    starts: list[int] = []
    ends: list[int] = []
    for part, (a, b) in zip(parts, pairwise(bounds), strict=True):
        starts.extend([offset + a] * len(part))
        ends.extend([offset + b] * len(part))
    return whole, starts, ends


def _may_join_previous(character: str) -> bool:
    """Whether normalising may merge a character into the one before it."""
    if character.isascii():
        return False
    first = unicodedata.normalize("NFKC", character)[:1]
    hangul_vowel_or_final = "\u1160" <= first <= "\u11ff"
    return hangul_vowel_or_final or unicodedata.category(first)[0] == "M"


def _word_pattern(letters: str) -> re.Pattern[str]:
    """Pattern of a word, given the inside of a character class of letters, digits and marks."""
    word = rf"[{letters}]"
    return re.compile(
        rf"[a-z](?:\+\+|\#(?!{word}))"
        rf"|\w{word}*(?:(?<=\d)\.(?=\d){word}+|[{_JOINERS}](?=[^\W\d_]){word}+)*"
    )


_ASCII_WORD = _word_pattern("a-z0-9")


@cache
def _marks() -> str:
    r"""All combining marks, as the inside of a character class.

    Python's ``\w`` leaves them out, which would cut words of Devanagari, Arabic or Thai apart.
    The ranges searched hold every mark; the rest of Unicode is ideographs and Hangul.
    """
    searched = (
        range(0x300, 0x3400),
        range(0xA000, 0xAC00),
        range(0xF900, 0x20000),
        range(0xE0100, 0xE01F0),
    )
    ranges: list[list[int]] = []
    for block in searched:
        for code in block:
            if unicodedata.category(chr(code))[0] == "M":
                if ranges and ranges[-1][1] == code - 1:
                    ranges[-1][1] = code
                else:
                    ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@cache
def _unicode_word() -> re.Pattern[str]:
    # \w has the underscore too, but no normalised text has one.
    return _word_pattern(rf"\w{_marks()}")


@cache
def _unspaced_run() -> re.Pattern[str]:
    marks = _marks()
    return re.compile(rf"[{_UNSPACED_BLOCKS}](?<![{marks}])[{_UNSPACED_BLOCKS}{marks}]*")


@cache
def _all_unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED_BLOCKS}]+")


@cache
def _some_mark() -> re.Pattern[str]:
    return re.compile(f"[{_marks()}]")


@cache
def _marked_character() -> re.Pattern[str]:
    return re.compile(rf"[^{_marks()}][{_marks()}]*")
