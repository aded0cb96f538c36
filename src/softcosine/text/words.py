r"""The tokenizer: normalisation of text in any script, and its split into words.

**Normalising.** NFKC and case folding, so that ``ﬁ`` is ``fi``, ``Straße`` is ``strasse`` and
full-width letters are the usual ones. All apostrophes become ``'``. Invisible characters inside
words (soft hyphen, joiners, direction marks, the Arabic tatweel) are removed. The dot that case
folding leaves on ``İ`` is removed, so ``İstanbul`` is ``istanbul``. Underscores become hyphens.

**Splitting.** A word is a run of letters and digits with their combining marks. All other
characters separate words, also hyphens and underscores (``e-mail`` is ``e``, ``mail``), except:

- a dot between digits: ``3.11`` and ``192.168.1.1`` are one word each (``1,000`` is two);
- an apostrophe before a letter: ``don't``, ``o'reilly``, ``l'homme``; a final ``'s`` is dropped, so
  ``dog's`` is ``dog``. A middle dot and the Hebrew geresh and gershayim join letters too;
- a single letter followed by ``++`` or ``#``: ``c++``, ``c#``;
- an emoji is a word: a pictogram or a sequence of them that joiners make one, a flag, a keycap.
  Variation selectors and skin tones are removed. Other symbols (``→``, ``©``, ``€``) separate;
  ``™``, ``½`` and ``№`` are letters and digits by NFKC.

**Joints.** Up to five words, or more initials, with one of ``-_./&`` (or a dash) between each two
are a joined word, too, if it has a letter and at most 24 characters: ``anti-slip`` is *anti*,
*slip* and *antislip*, ``KX-9916``, ``S.W.A.T.``, ``6204-2RS`` have *kx9916*, *swat*, *62042rs*.
Numbers alone, and the numbers of a fraction (``1/2in``), are not joined. A joined word begins with
a word joiner (U+2060), which is invisible and in no other word, so that queries can tell whether
the parts are there, too. It has no neighbors, and the length of a document does not count it
(Lucene: ``discountOverlaps``). See `joined_runs`.

``E1042`` is ``e1042``. A word longer than 64 characters is truncated to its first 64, in documents
and queries alike, so it still matches.

**Scripts without spaces** (Han, Hiragana, Katakana, Bopomofo, Thai, Lao, Khmer, Myanmar). A run of
such characters is split into overlapping pairs: ``東京都`` into ``東京``, ``京都``. A run of a
single character is that character. Combining marks belong to their character. A segmenter
(`softcosine.text.segmenters`) splits runs into words instead.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import add
from typing import NamedTuple

# Splits a run of characters of scripts without spaces into words; joined, they are the run.
Segmenter = Callable[[str], list[str]]
Located = tuple[int, int, str]  # start, end and string of a word

# Long enough for the words of all languages and a hexadecimal SHA-256 digest, short enough that
# encoded attachments do not fill the vocabulary.
MAX_WORD_LENGTH = 64

_JOINTS = "-_./&\u2010\u2011\u2012\u2013\u2212\uff0d\uff3f\uff0f\uff0e\uff06"
_JOINT = re.compile(rf"[{_JOINTS}](?<=[^{_JOINTS}\s].)(?=[^{_JOINTS}\s])")
_OF_FRACTIONS = "./&\uff0f\uff0e\uff06"  # joints that keep short numbers apart
JOINED = "\u2060"  # begins a joined word
MOST_PARTS, LONGEST_JOINED = 5, 24  # more are addresses and paths
LETTER = re.compile(r"[^\W\d_]")
_JOINERS = "'\u00b7\u05f3\u05f4"
_POSSESSIVE = re.compile("(?:'s)+$")
_POSSESSIVES = re.compile("'s")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u201b": "'"})
_SOME_APOSTROPHE = re.compile("[\u2018\u2019\u201b\u02bc]")
_PICTOGRAMS = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_INVISIBLE = re.compile(  # among them skin tones, and joiners except between pictograms
    f"(?:\u200d(?![{_PICTOGRAMS}])|"
    "[\u00ad\u034f\u061c\u0640\u180e\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff])+"
)
_BEYOND_ASCII = r"(?![\x00-\x7f])"  # before a large class, which takes long to fail
_EMOJI = (
    rf"{_BEYOND_ASCII}(?:[{_PICTOGRAMS}](?:\u200d[{_PICTOGRAMS}])*[\U000e0020-\U000e007f]*"
    r"|[\U0001f1e6-\U0001f1ff]{1,2})|[#*]\u20e3|"
)
_DOTTED_I = re.compile("i\u0307+")
# Scripts written without spaces, with their combining marks, without their digits.
_UNSPACED_BLOCKS = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17dd\ua9e0-\ua9ef\uaa60-\uaa7f"
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)


class Span(NamedTuple):
    """A word and its offsets in a text.

    Attributes
    ----------
    start, end : int
        ``text[start:end]`` is the word in the original text.
    word : str
        The normalised word.
    """

    start: int
    end: int
    word: str


def normalize(text: str) -> str:
    """Return a text normalised by the rules of this module (NFKC, case folding and some clean-up).

    Parameters
    ----------
    text : str
        Any string, lone surrogates and NUL characters included.

    Returns
    -------
    str
        The length may differ from that of `text`.
    """
    if text.isascii():
        return text.lower().replace("_", "-")
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _DOTTED_I.sub("i", _INVISIBLE.sub("", folded))
    if _SOME_APOSTROPHE.search(folded):
        folded = folded.translate(_APOSTROPHES)
    return unicodedata.normalize("NFKC", folded).replace("_", "-")


# Letters that Unicode does not decompose, and their usual plain spelling.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ー": None}
)
# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel marks of Arabic. The marks of other
# scripts are letters of their own.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")


def folded(word: str) -> str:
    """Return a normalised word without accents, vowel marks and Japanese long vowel marks.

    Search engines call this folding: ``tiskárna`` is ``tiskarna``, ``ユーザー`` is ``ユザ``. A word
    of such marks alone stays as it is.

    Examples
    --------
    >>> [folded(word) for word in ("tiskárna", "møte", "ёлка", "ユーザー")]
    ['tiskarna', 'mote', 'елка', 'ユザ']
    """
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_PLAIN)
    return unicodedata.normalize("NFC", bare) or word


def korean_stem(word: str) -> str:
    """Return a normalised Korean word without its particles and the endings of 하다, 되다 and 이다.

    Two characters or more are left, one before a particle of subject, object or topic. What is left
    has no further ending, so stems are their own stems.

    Examples
    --------
    >>> [korean_stem(word) for word in ("환불이", "취소하려면", "학교에서는", "usb를", "책을")]
    ['환불', '취소', '학교', 'usb', '책']
    """
    return word if word.isascii() else _korean_endings().sub("", word)


@cache
def _korean_endings() -> re.Pattern[str]:
    """Return the pattern of the endings of a Korean word.

    Some particles have a form after a vowel and one after a consonant: 사과 and 국가, apple and
    state, end in none. After digits, 도 is degrees and 만 ten thousands.
    """
    vowel = "".join(map(chr, range(0xAC00, 0xD7A4, 28)))  # the syllables without a final consonant
    anywhere = (
        "의|에|로|들|에서|에게|까지|부터|마다|처럼|보다|만큼|조차|마저|한테|께서|하고|이[나며고란]|이라[는고도]"
        r"|입니다|이다|인[지데]|인가요|이?에요|예요|(?<!\d)[도만]"
    )
    verb = (
        "(?:하|되|시키)(?:는|는데|는지|고|면|면서|며|기|지|지만|거나|도록|여|여야|려면|려고|게|던|세요|나요|십시오"
        "|[였었겠]습니다)|(?:한|할|합니다|해|했|된|될|됨|됩니다|되어|돼|됐|시킨|시킬|시켜|시킵니다)"
        "(?:다|다면|서|야|요|지만|습니다)?"
    )
    topic = rf"(?<![{vowel}])[은이을]|(?<=[{vowel}a-z])[는를]"
    other = rf"(?<![{vowel}])으?[과로]|(?<=[{vowel}a-z])[가와]"
    return re.compile(rf"(?:(?<=\w\w)(?:{anywhere}|{verb}|{other})|(?<=\w)(?:{topic}))+$")


def find_words(
    normalized: str, segmenter: Segmenter | None = None, *, joints: bool = False
) -> list[str]:
    """Return the words of a normalised text, in text order.

    Parameters
    ----------
    normalized : str
        A text from `normalize`.
    segmenter : callable, optional
        Splits text without spaces into words; by default it is split into character pairs.
    joints : bool
        Whether each joined word follows its parts.
    """
    if normalized.isascii() and "'s" not in normalized and len(normalized) <= MAX_WORD_LENGTH:
        # Fast path with the same result for short plain text, the most frequent case.
        words = [normalized] if normalized.isalnum() else _ASCII_WORD.findall(normalized)
        if not joints or len(words) < 2:
            return words
    located = located_words(normalized, segmenter)
    words = [word for _, _, word in located]
    for _, stop, word in reversed(joined_runs(normalized, located) if joints else ()):
        words.insert(stop, word)
    return words


def has_unspaced(normalized: str) -> bool:
    """Whether a normalised text contains a character of a script written without spaces."""
    return not normalized.isascii() and _patterns()["unspaced_run"].search(normalized) is not None


def cuttable(text: str, segmenter: Segmenter | None) -> str:
    """Return a text normalised, with spaces between the words of text without spaces."""
    if text.isascii():
        return text
    normalized = normalize(text)
    # Without spaces, chunks would be whole sentences, nearly all of them distinct.
    if has_unspaced(normalized):
        pairs = list(pairwise([(0, 0, " "), *located_words(normalized, segmenter)]))
        kept = [normalized[a[1]] if is_joint(normalized, a, b) else " " for a, b in pairs]
        return "".join([joint + word for joint, (_, (*_, word)) in zip(kept, pairs, strict=True)])
    return normalized


def pair_in_run(word: str) -> str:
    """Return the two characters of a character pair of a run without spaces; empty for other words.

    Combining marks are omitted.
    """
    if len(word) < 2 or not has_unspaced(word):
        return ""
    characters = _patterns()["mark"].sub("", word)
    return (
        characters if len(characters) == 2 and _patterns()["unspaced"].fullmatch(characters) else ""
    )


def word_spans(text: str, segmenter: Segmenter | None = None) -> list[Span]:
    """Return the words of an original text with their offsets.

    Parameters
    ----------
    text : str
        The original text, not normalised.
    segmenter : callable, optional
        See `find_words`.

    Returns
    -------
    list of Span
        The words are those of ``find_words(normalize(text), segmenter)``. If one character makes
        several words (``½`` is ``1``, ``2``), they have the same offsets.
    """
    return list(map(Span._make, words_in(text, segmenter)))


def words_in(text: str, segmenter: Segmenter | None = None) -> list[Located]:
    """Return the same as plain tuples, faster."""
    special = "" if text.isascii() else "".join(sorted(c for c in {*text} if not _stays_one(c)))
    if not special:
        return located_words(normalize(text), segmenter)
    found = []
    # White space is never inside a word and does not combine in normalisation, so the text is
    # processed between white space where characters are not normalised one by one.
    for piece in re.finditer(rf"[^{re.escape(special)}]+(?!\S)|\S+", text):
        normalized, starts, ends = _aligned(piece.group(), piece.start())
        for start, end, word in located_words(normalized, segmenter):
            found.append((starts[start], ends[end - 1], word))
    return found


def joined_runs(text: str, located: Sequence[Located]) -> list[Located]:
    r"""Return the runs of words that joints make one word: first, stop, and the joined word.

    Parameters
    ----------
    text : str
        Normalised or not.
    located : sequence of (start, end, word)
        Its words with their offsets, in text order.

    Examples
    --------
    >>> text = "anti-slip 6204-2rs 1/2in"
    >>> joined_runs(text, located_words(text))
    [(0, 2, '\u2060antislip'), (2, 4, '\u206062042rs')]
    """
    starts, runs, found = [start for start, _, _ in located], list[tuple[int, int]](), []
    for joint in _JOINT.finditer(text):
        place = bisect_left(starts, joint.end())
        pair = located[place - 1 : place + 1] if place else ()
        if len(pair) == 2 and pair[1][0] == joint.end() and is_joint(text, *pair):
            first = runs.pop()[0] if runs and runs[-1][1] == place else place - 1
            runs.append((first, place + 1))
    for first, stop in runs:
        word = "".join([part for _, _, part in located[first:stop]])
        several = stop - first <= (LONGEST_JOINED if len(word) == stop - first else MOST_PARTS)
        if several and len(word) <= LONGEST_JOINED and LETTER.search(word):
            found.append((first, stop, JOINED + word))
    return found


def is_joint(text: str, left: Located, right: Located) -> bool:
    """Whether one joint stands between two words, neither of a script without spaces."""
    joint = text[left[1] : right[0]]
    if len(joint) != 1 or joint not in _JOINTS or has_unspaced(left[2] + right[2]):
        return False
    fraction = len(left[2]) < 3 and left[2][-1].isdigit() and right[2][0].isdigit()
    return not fraction or joint not in _OF_FRACTIONS


def located_words(normalized: str, segmenter: Segmenter | None = None) -> list[Located]:
    """Return start, end and string of each word; offsets refer to the normalised text."""
    parts = (_ASCII_WORD if normalized.isascii() else _patterns()["word"]).split(normalized)
    words, bounds = parts[1::2], [*accumulate(map(len, parts))]  # between them is what separates
    found = list(zip(bounds[:-1:2], bounds[1::2], words, strict=True))
    if has_unspaced(normalized):
        found = [own for one in found for own in _cut_at_unspaced(one, segmenter)]
    whole = [bisect_right(found, (one.start(),)) - 1 for one in _POSSESSIVES.finditer(normalized)]
    if len(max(words, key=len, default="")) > MAX_WORD_LENGTH:
        whole += range(len(found))
    for place in whole:
        found[place] = _whole(*found[place])
    return found


def _whole(start: int, end: int, word: str) -> Located:
    """Drop a final 's and truncate an overlong word; idempotent."""
    cut = _POSSESSIVE.sub("", word)
    end -= len(word) - len(cut)
    if len(cut) > MAX_WORD_LENGTH:
        cut = _POSSESSIVE.sub("", cut[:MAX_WORD_LENGTH].rstrip(f".{_JOINERS}"))
    return start, end, cut


def _cut_at_unspaced(located: Located, segmenter: Segmenter | None) -> list[Located]:
    """Split a word at its runs of characters of scripts without spaces."""
    offset, _, word = located
    if not has_unspaced(word):
        return [located]
    found: list[Located] = []
    done = 0
    for run in _patterns()["unspaced_run"].finditer(word):
        found.extend(_located_rest(offset + done, word[done : run.start()]))
        done = run.end()
        if segmenter is None:
            found.extend(_pairs(offset + run.start(), run.group()))
        else:
            found.extend(_segments(offset + run.start(), run.group(), segmenter))
    found.extend(_located_rest(offset + done, word[done:]))
    return found


def _pairs(offset: int, run: str) -> list[Located]:
    """Split a run into overlapping character pairs; a single character stays one."""
    characters: Sequence[str] = run
    bounds: Sequence[int] = range(offset, offset + len(run) + 1)
    if _patterns()["mark"].search(run):
        characters = _patterns()["marked_character"].findall(run)
        bounds = list(accumulate(map(len, characters), initial=offset))
    if len(characters) == 1:
        return [(bounds[0], bounds[1], characters[0])]
    pairs = map(add, characters, characters[1:])
    return list(zip(bounds, bounds[2:], pairs, strict=False))


def _segments(offset: int, run: str, segmenter: Segmenter) -> list[Located]:
    """Split a run into words by a segmenter; overlong words are truncated."""
    words: list[str] = []
    for word in segmenter(run):
        if words and _patterns()["mark"].match(word):  # a mark belongs to the preceding character
            words[-1] += word
        else:
            words.append(word)
    assert "".join(words) == run  # else offsets would be wrong
    ends = accumulate(map(len, words), initial=offset)
    return [
        (start, end, word[:MAX_WORD_LENGTH])
        for (start, end), word in zip(pairwise(ends), words, strict=True)
    ]


def _located_rest(offset: int, part: str) -> list[Located]:
    """Yield the words of the text between runs; a joiner at its edge joins nothing."""
    return [(offset + start, offset + end, word) for start, end, word in located_words(part)]


def _aligned(piece: str, offset: int) -> tuple[str, Sequence[int], Sequence[int]]:
    """Normalise a text without white space; map each resulting character to the original.

    The text is split before each character that cannot combine with the previous one, unless all
    are normalised one by one; then it may have white space. If the
    normalised segments do not concatenate to the normalised text, every character maps to the whole
    text.
    """
    whole = normalize(piece)
    if all(map(_stays_one, set(piece))):
        places = range(offset, offset + len(piece) + 1)
        return whole, places[:-1], places[1:]
    bounds = [i for i, c in enumerate(piece) if i == 0 or not _may_join(piece[i - 1], c)]
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


@lru_cache(1 << 12)
def _stays_one(character: str) -> bool:
    """Whether a character is normalised to one, whatever stands beside it."""
    return len(normalize(2 * character)) == 2 and not _may_join("", character)


def _may_join(before: str, character: str) -> bool:
    """Whether normalising may merge a character into the one before it."""
    if character.isascii() or "\u200d" in (before, character):
        return not character.isascii()
    first = unicodedata.normalize("NFKC", character)[:1]
    hangul_vowel_or_final = "\u1160" <= first <= "\u11ff"
    return hangul_vowel_or_final or unicodedata.category(first)[0] == "M"


def _word_pattern(first: str, others: str, letters: str, emoji: str = "") -> re.Pattern[str]:
    """Return the pattern of a word, by its first character and the others of a run of letters.

    `letters` is the class of all of them. Each alternative begins with what seldom is there.
    """
    run = rf"{first}{others}"
    return re.compile(
        rf"({emoji}{first}(?:\+\+(?<=[a-z]..)|\#(?<=[a-z].)(?!{letters})"
        rf"|{others}(?:(?=[.{_JOINERS}])(?:(?<=\d)\.(?=\d){run}|[{_JOINERS}](?=[^\W\d_]){run})*|)))"
    )


_ASCII_WORD = _word_pattern("[a-z0-9]", "[a-z0-9]*", "[a-z0-9]")


@cache
def _marks() -> str:
    r"""Return all combining marks as a character class without brackets.

    Python's ``\w`` omits them, which would split words of Devanagari, Arabic or Thai. The searched
    ranges contain every mark; the rest of Unicode is ideographs and Hangul.
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
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns of text beyond ASCII."""
    marks, unspaced = _marks(), _UNSPACED_BLOCKS
    return {
        # \w includes the underscore, but normalised text has none.
        "word": _word_pattern(
            r"\w", rf"\w*(?:{_BEYOND_ASCII}[{marks}][\w{marks}]*|)", rf"[\w{marks}]", _EMOJI
        ),
        "unspaced_run": re.compile(rf"[{unspaced}](?<![{marks}])[{unspaced}{marks}]*"),
        "unspaced": re.compile(f"[{unspaced}]+"),
        "mark": re.compile(f"[{marks}]"),
        "marked_character": re.compile(rf"[^{marks}][{marks}]*"),
    }
