"""Highlighter: the passage of a text that matches a query best, with marked words."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from softcosine.text.analyzer import Analyzer
from softcosine.text.words import JOINED, joined_runs, words_in

_Kind = Literal["exact", "near"]
# Maximum length of the searched start of a text, in characters.
MAX_TEXT = 200_000
# After these no space is needed: of Chinese and Japanese, Arabic, Hindi, Khmer, Burmese and others.
_STOP = "\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u17d5\u104b"
_QUOTE = "\u300d\u300f\uff09\u201d"  # and closing brackets
# In Thai and Lao a space is between sentences.
_THAI = "\u0e01-\u0e45\u0e47-\u0e4e\u0e81-\u0ec5\u0ec8-\u0ece"
_ASCII_END = re.compile(r"\s(?:(?<=\n)\n*|(?<=[.!?]\s)\s*)")  # faster
_SENTENCE_END = re.compile(
    rf"{_ASCII_END.pattern}|(?:(?<=[{_STOP}])|(?<=[{_STOP}][{_QUOTE}]))(?![{_STOP}{_QUOTE}])\s*"
    rf"|(?<=[{_THAI}])\s+(?=[{_THAI}])"
)
_MOST_SENTENCES, _MOST_READ = 200, 1 << 15  # of a text, whose meaning is compared
_BOILERPLATE = re.compile(
    r"copyright (\(c\)|©|\d{4})|©|all rights reserved|permission is (hereby )?granted|"
    r"(can|may) (re)?distribute|redistribution|(un)?modified versions|without (any )?warranty|"
    r"merchantability|provided .as is|same terms as|"
    r"(general public|documentation|apache|artistic|creative commons|bsd|mit) licen[cs]e",
    re.IGNORECASE,
)

# Of a term: its weight in a passage, the kind of its marks, and the query word that it is like.
Worth = tuple[float, _Kind, str]
# One of them is in every match of the pattern.
_HINTS = (
    "copyright", "©", "rights reserved", "permission is", "redistribut", "can distribute",
    "may distribute", "modified versions", "warranty", "merchantability", "as is", "same terms",
    "licen",
)  # fmt: skip
_LONGEST = 40  # characters, more than any match has
_SHORT = 20  # characters of a sentence that is not told apart
_MOST_STEMS = 1 << 15  # words whose stems are remembered
_NEARLY = 0.9  # of the greatest weight


@dataclass(frozen=True, slots=True)
class Mark:
    """A matching word, at ``text[start:end]`` of a snippet's text."""

    start: int
    end: int
    kind: _Kind


@dataclass(frozen=True, slots=True)
class Snippet:
    """A passage of a document.

    Attributes
    ----------
    text : str
        White space is folded; an ellipsis marks an omitted start or end.
    marks : tuple of Mark
        Ascending, without overlaps; ``"exact"`` for query words, ``"near"`` for similar words.
    """

    text: str
    marks: tuple[Mark, ...]

    def __str__(self) -> str:
        return self.text

    def pieces(self) -> Iterator[tuple[str, str]]:
        """Yield the text in pieces, each with the kind of its mark, empty for none."""
        end = 0
        for mark in self.marks:
            yield self.text[end : mark.start], ""
            yield self.text[mark.start : mark.end], mark.kind
            end = mark.end
        yield self.text[end:], ""

    def marked(self, style: Callable[[str, str], str], plain: Callable[[str], str] = str) -> str:
        """Return the text with each marked word replaced by ``style(word, kind)``."""
        return "".join(style(text, kind) if kind else plain(text) for text, kind in self.pieces())

    def to_html(self) -> str:
        """Return escaped HTML: ``<b>`` around exact words, ``<i>`` around near ones."""
        tags = {"exact": "b", "near": "i"}
        return self.marked(
            lambda word, kind: f"<{tags[kind]}>{html.escape(word)}</{tags[kind]}>", html.escape
        )


def without_title(text: str, title: str | None) -> str:
    """Return a text without the title that it begins with; a text that is only a title stays."""
    if not title or not text.startswith(title):
        return text
    rest = text[len(title) :]
    return rest.lstrip() if rest[:1].isspace() and rest.strip() else text


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the starts and ends of the first sentences and lines, without licences.

    If they are all of a licence, they are returned.
    """
    text = text[:_MOST_READ]
    found = _sentences(text)[:_MOST_SENTENCES]
    return [one for one in found if not _is_licence(text, *one)] or found


def _sentences(text: str) -> list[tuple[int, int]]:
    pattern = _ASCII_END if text.isascii() else _SENTENCE_END
    bounds = [0, *chain.from_iterable(end.span() for end in pattern.finditer(text)), len(text)]
    if bounds[-2] == len(text) and len(text):
        del bounds[-2:]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def _mentions_licences(text: str) -> bool:
    """Return whether a sentence of a text could be of a licence."""
    folded = text.lower()
    return any(hint in folded for hint in _HINTS)  # much faster than the pattern


def _is_licence(text: str, start: int, stop: int) -> bool:
    """Return whether words of a licence begin in a sentence."""
    end = stop + _LONGEST
    found = _mentions_licences(text[start:end]) and _BOILERPLATE.search(text, start, end)
    return bool(found and found.start() < stop)


def _stems(words: Sequence[str], analyzer: Analyzer, known: dict[str, str]) -> list[str]:
    """Return the stems of words, empty for words that are no terms; `known` remembers them."""
    stems = [*map(known.get, words)]
    new = {word for word, stem in zip(words, stems, strict=True) if stem is None}
    kept = [*filter(analyzer.keeps, new)]
    own = dict.fromkeys(new, "") | dict(zip(kept, analyzer.stem(kept), strict=True))
    if len(known) < _MOST_STEMS:
        known |= own
    return [own[w] if stem is None else stem for w, stem in zip(words, stems, strict=True)]


class Worths:
    """What the words of texts are worth in a passage.

    Parameters
    ----------
    analyzer : Analyzer
        Of the index.
    weights : mapping of term to (weight, kind, query word)
        The terms of the expanded query. A query word counts once in a passage, by the term of the
        largest weight.
    stems : dict of str to str
        Stems of words of other texts, which gets those of further words.
    """

    def __init__(
        self, analyzer: Analyzer, weights: Mapping[str, Worth], stems: dict[str, str]
    ) -> None:
        self._analyzer, self._stems = analyzer, stems
        self._of_terms = {term: worth for term, worth in weights.items() if worth[0] > 0.0}
        self._joined = any(term.startswith(JOINED) for term in self._of_terms)

    def located(self, text: str) -> tuple[list[int], list[int], dict[int, Worth]]:
        """Return where the words of a text begin and end, and the worths of those that count.

        These are by the place of a word, ascending. All words of a phrase term get its weight.
        """
        located, terms = words_in(text, self._analyzer.cut), self._of_terms
        stems = _stems([word for _, _, word in located], self._analyzer, self._stems)
        if self._analyzer.longest == 1:
            found = {place: terms[stem] for place, stem in enumerate(stems) if stem in terms}
        else:
            places, found = [place for place, stem in enumerate(stems) if stem], {}
            kept = [stems[place] for place in places]
            for start, end in self._analyzer.ranges(kept):
                self._add(found, places[start:end], " ".join(kept[start:end]))
        if self._joined:
            runs = joined_runs(text, located)
            joined = self._analyzer.stem([word for _, _, word in runs])
            for (start, end, _), stem in zip(runs, joined, strict=True):
                self._add(found, range(start, end), stem)
            found = dict(sorted(found.items()))
        return [start for start, _, _ in located], [end for _, end, _ in located], found

    def _add(self, found: dict[int, Worth], places: Iterable[int], term: str) -> None:
        """Note what a term is worth at places, unless another is worth more there."""
        if worth := self._of_terms.get(term):
            found |= {one: max(found.get(one, worth), worth, key=by_worth) for one in places}


def snippet(
    text: str,
    worths: Worths,
    *,
    nearest: Callable[[Sequence[str]], int | None] = lambda _: None,
    width: int = 240,
    most: int = MAX_TEXT,
) -> Snippet:
    """Return the passage with the query words of largest weight, else the nearest sentence.

    A word of a licence counts only if the words of the query stand nowhere else.

    Parameters
    ----------
    text : str
    worths : Worths
    nearest : callable, optional
        Returns which of some sentences is nearest to the query in meaning, if that is known.
    width : int
        Maximum length in characters.
    most : int
        Length of the start of the text that is searched, in characters.
    """
    whole, text = text, text[:most]
    starts, ends, found = worths.located(text)
    start, stop, licences = 0, len(text), False
    if len(text) > width:
        licences = _mentions_licences(text)
        if starts:
            first = _first(text, starts, ends, found, nearest, width, licences=licences)
            start = _begin(starts[first])
        stop = start + width
        if stop < len(text):
            space = text.rfind(" ", start + width // 2, stop)
            before = reversed(ends[: bisect_left(starts, stop)])
            end = space if space > 0 else next((end for end in before if end <= stop), 0)
            stop = end if end > start + width // 2 or space > 0 else stop
        stop = min(stop, len(text))
    marks = _merged(
        Mark(starts[place], ends[place], kind)
        for place, (_, kind, _) in found.items()
        if starts[place] >= start and ends[place] <= stop
    )
    later = _sentences(text[start:stop])[1:] if licences else ()
    licensed = (start + own for own, end in later if _is_licence(text, start + own, start + end))
    end = next(licensed, stop)
    if not any(mark.kind == "exact" and mark.start >= end for mark in marks):
        stop, marks = end, [mark for mark in marks if mark.end <= end]
    return _folded(whole, start, stop, marks)


def _first(
    text: str,
    starts: list[int],
    ends: list[int],
    found: Mapping[int, Worth],
    nearest: Callable[[Sequence[str]], int | None],
    width: int,
    *,
    licences: bool,
) -> int:
    """Return the first word of the passage of a long text.

    Of the passages that have nearly the greatest weight, the nearest in meaning; of all, if no word
    of the query is there.
    """
    every = _pieces(text, starts, width, licences=licences)
    exact = any(kind == "exact" for _, kind, _ in found.values())
    if licences:
        plain = [piece for piece in every if not piece[2]]
        dropped = {place for first, last, own in every if own for place in range(first, last)}
        counted = {place: worth for place, worth in found.items() if place not in dropped}
        if plain and (not exact or any(kind == "exact" for _, kind, _ in counted.values())):
            every, found = plain, counted
    firsts, worths, weights = [first for first, *_ in every], [*found.items()], [0.0] * len(every)
    for piece in {bisect_right(firsts, place) - 1 for place in found}:
        weights[piece] = _weight(starts, ends, worths, firsts[piece], width)
    best = max(weights)
    least = _NEARLY * best if exact else 0.0
    near = [first for first, weight in zip(firsts, weights, strict=True) if weight >= least]
    if len(near) == 1:
        return near[0]
    chosen = nearest([text[starts[one] : starts[one] + width] for one in near[:_MOST_SENTENCES]])
    return firsts[weights.index(best)] if chosen is None else near[chosen]


def _pieces(
    text: str, starts: list[int], width: int, *, licences: bool
) -> list[tuple[int, int, bool]]:
    """Return ranges of words that a passage may begin with, and whether they are of a licence.

    They are sentences and pieces of long ones.
    """
    pieces, last = list[tuple[int, int, bool]](), 0
    for start, stop in _sentences(text):
        first, last = last, bisect_left(starts, stop, last)
        own = licences and _is_licence(text, start, stop)
        if pieces and first < last and own == pieces[-1][2]:
            before = pieces[-1][0]
            if starts[first] - starts[before] < _SHORT:
                pieces[-1] = before, last, own  # short lines make one piece
                continue
        while first < last:
            if not own and len(text) - starts[first] <= width:
                return [*pieces, (first, len(starts), own)]
            end = bisect_left(starts, starts[first] + width // 2, first + 1, last)
            pieces.append((first, end, own))
            first = end
    return pieces


def _weight(
    starts: list[int], ends: list[int], worths: list[tuple[int, Worth]], first: int, width: int
) -> float:
    """Return the weight of a passage that begins with a word; a query word counts once."""
    stop = _begin(starts[first]) + width
    held: dict[str, float] = {}
    for number in range(bisect_left(worths, (first,)), len(worths)):
        place, (weight, _, query_word) = worths[number]
        if ends[place] >= stop:
            break
        held[query_word] = max(weight, held.get(query_word, 0.0))
    return sum(held.values())


def by_worth(found: Worth) -> tuple[bool, float]:
    """Return whether a word is one of the query, and its weight."""
    weight, kind, _ = found
    return weight > 0.0 and kind == "exact", weight


def _merged(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks with overlapping ones joined, which scripts without spaces produce."""
    merged: list[Mark] = []
    for mark in marks:
        if merged and mark.start < merged[-1].end:
            before = merged.pop()
            kind: _Kind = "exact" if "exact" in (mark.kind, before.kind) else "near"
            mark = Mark(before.start, max(mark.end, before.end), kind)
        merged.append(mark)
    return merged


def _begin(start: int) -> int:
    """Return where a passage begins: at the start of the text if that is near."""
    return 0 if start <= _SHORT else start


def _folded(text: str, start: int, stop: int, marks: list[Mark]) -> Snippet:
    """Return the snippet with white space and control characters folded, and marks shifted."""
    before, after, passage = "…" * (start > 0), "…" * (stop < len(text)), text[start:stop]
    folded = " ".join(passage.split())
    if not folded.isprintable():
        passage = "".join(c if c.isprintable() else " " for c in passage)
        folded = " ".join(passage.split())

    def moved(place: int) -> int:
        place -= start
        left = place if passage == folded else len(" ".join(f"{passage[:place]}x".split())) - 1
        return len(before) + left

    placed = [
        Mark(moved(one.start), moved(one.end - 1) + 1, one.kind)
        for one in marks
        if one.end > one.start
    ]
    return Snippet(f"{before}{folded}{after}", tuple(placed))
