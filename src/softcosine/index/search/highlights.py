"""Highlighter: the passage of a text that matches a query best, with marked words."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from softcosine.text.analyzer import Analyzer
from softcosine.text.words import JOINED, Span, joined_runs

_Kind = Literal["exact", "near"]
# Maximum length of the searched start of a text, in characters.
MAX_TEXT = 200_000
# After these no space is needed: of Chinese and Japanese, Arabic, Hindi, Khmer, Burmese and others.
_STOP = "\u3002\uff01\uff1f\uff61\u061f\u06d4\u0964\u0965\u0589\u1362\u17d4\u17d5\u104b"
_QUOTE = "\u300d\u300f\uff09\u201d"  # and closing brackets
# In Thai and Lao a space is between sentences.
_THAI = "\u0e01-\u0e45\u0e47-\u0e4e\u0e81-\u0ec5\u0ec8-\u0ece"
_ASCII_END = re.compile(r"\n+|(?<=[.!?])\s+")  # faster
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
_SHORT = 20  # characters of a sentence that is not told apart
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
    found, licences = [*islice(_sentences(text), _MOST_SENTENCES)], _licences(text)
    return [one for one in found if not _between(licences, *one)] or found


def _sentences(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    pattern = _ASCII_END if text.isascii() else _SENTENCE_END
    for end in pattern.finditer(text, start):
        yield start, end.start()
        start = end.end()
    if start < len(text) or not text:
        yield start, len(text)


def _licences(text: str) -> list[int]:
    """Return where words of licences begin; none of them reaches from a sentence to the next."""
    folded = text.lower()
    if not any(hint in folded for hint in _HINTS):  # much faster than the pattern
        return []
    return [one.start() for one in _BOILERPLATE.finditer(text)]


def _between(places: list[int], start: int, stop: int) -> bool:
    """Return whether one of some ascending places is in a range."""
    return bisect_left(places, start) < bisect_left(places, stop)


def snippet(
    text: str,
    analyzer: Analyzer,
    weights: Mapping[str, Worth],
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
    analyzer : Analyzer
        Of the index.
    weights : mapping of term to (weight, kind, query word)
        The terms of the expanded query. A query word counts once in a passage, by the term of the
        largest weight.
    nearest : callable, optional
        Returns which of some sentences is nearest to the query in meaning, if that is known.
    width : int
        Maximum length in characters.
    most : int
        Length of the start of the text that is searched, in characters.
    """
    whole, text = text, text[:most]
    spans = analyzer.spans(text)
    weights = {term: worth for term, worth in weights.items() if worth[0] > 0.0}
    found = _found(spans, analyzer, weights)
    if any(term.startswith(JOINED) for term in weights):
        for begin, end, word in joined_runs(text, spans):
            if worth := weights.get(analyzer.stem([word])[0]):
                found |= {
                    i: max(found.get(i, worth), worth, key=by_worth) for i in range(begin, end)
                }
    start, stop, licences = 0, len(text), list[int]()
    if len(text) > width:
        licences = _licences(text)
        if spans:
            start = _begin(spans[_first(text, spans, found, licences, nearest, width)].start)
        stop = start + width
        if stop < len(text):
            space = text.rfind(" ", start + width // 2, stop)
            before = reversed(spans[: bisect_left(spans, (stop,))])
            end = next((span.end for span in before if span.end <= stop), 0)
            stop = space if space > 0 else end if end > start + width // 2 else stop
        stop = min(stop, len(text))
    marks = _merged(
        Mark(spans[place].start, spans[place].end, kind)
        for place, (_, kind, _) in found.items()
        if spans[place].start >= start and spans[place].end <= stop
    )
    later = _sentences(text[:stop], start) if licences else ()
    end = next((one[0] for one in later if one[0] > start and _between(licences, *one)), stop)
    if not any(mark.kind == "exact" and mark.start >= end for mark in marks):
        stop, marks = end, [mark for mark in marks if mark.end <= end]
    return _folded(whole, start, stop, marks)


def _first(
    text: str,
    spans: Sequence[Span],
    found: Mapping[int, Worth],
    licences: list[int],
    nearest: Callable[[Sequence[str]], int | None],
    width: int,
) -> int:
    """Return the first word of the passage of a long text.

    Of the passages that have nearly the greatest weight, the nearest in meaning; of all, if no word
    of the query is there.
    """
    every = _pieces(text, spans, licences, width)
    plain = [piece for piece in every if not piece[2]]
    dropped = {place for first, last, own in every if own for place in range(first, last)}
    counted = {place: worth for place, worth in found.items() if place not in dropped}
    exact = any(kind == "exact" for _, kind, _ in found.values())
    if plain and (not exact or any(kind == "exact" for _, kind, _ in counted.values())):
        every, found = plain, counted
    worths = [*found.items()]
    weights = [_weight(spans, worths, *piece[:2], width) for piece in every]
    least = _NEARLY * max(weights) if exact else 0.0
    near = [piece[0] for piece, weight in zip(every, weights, strict=True) if weight >= least]
    starts = [spans[one].start for one in near[:_MOST_SENTENCES]]
    best = nearest([text[one : one + width] for one in starts]) if len(near) > 1 else 0
    return every[weights.index(max(weights))][0] if best is None else near[best]


def _pieces(
    text: str, spans: Sequence[Span], licences: list[int], width: int
) -> list[tuple[int, int, bool]]:
    """Return ranges of words that a passage may begin with, and whether they are of a licence.

    They are sentences and pieces of long ones.
    """
    pieces = list[tuple[int, int, bool]]()
    for start, stop in _sentences(text):
        first, last = bisect_left(spans, (start,)), bisect_left(spans, (stop,))
        own = _between(licences, start, stop)
        if pieces and first < last and own == pieces[-1][2]:
            before = pieces[-1][0]
            if spans[first].start - spans[before].start < _SHORT:
                pieces[-1] = before, last, own  # short lines make one piece
                continue
        while first < last:
            if not own and len(text) - spans[first].start <= width:
                return [*pieces, (first, len(spans), own)]
            end = max(first + 1, bisect_left(spans, (spans[first].start + width // 2,), hi=last))
            pieces.append((first, end, own))
            first = end
    return pieces


def _weight(
    spans: Sequence[Span], worths: list[tuple[int, Worth]], first: int, last: int, width: int
) -> float:
    """Return the weight of a passage that begins with a piece, 0 if no word of the piece counts.

    A query word counts once.
    """
    begin, stop = bisect_left(worths, (first,)), _begin(spans[first].start) + width
    if begin == len(worths) or worths[begin][0] >= last:
        return 0.0
    held: dict[str, float] = {}
    for number in range(begin, len(worths)):
        place, (weight, _, query_word) = worths[number]
        if spans[place].end >= stop:
            break
        held[query_word] = max(weight, held.get(query_word, 0.0))
    return sum(held.values())


def _found(
    spans: Sequence[Span], analyzer: Analyzer, weights: Mapping[str, Worth]
) -> dict[int, Worth]:
    """Return the places of words that count, ascending, and what each is worth.

    All words of a phrase term get its weight.
    """
    distinct = [*filter(analyzer.keeps, {span.word: None for span in spans})]
    stem_of = dict(zip(distinct, analyzer.stem(distinct), strict=True))
    worths = {word: weights[stem] for word, stem in stem_of.items() if stem in weights}
    if analyzer.longest == 1:
        return {place: worths[span.word] for place, span in enumerate(spans) if span.word in worths}
    places = [place for place, span in enumerate(spans) if span.word in stem_of]
    stems = [stem_of[spans[place].word] for place in places]
    found: dict[int, Worth] = {}
    for start, end in analyzer.ranges(stems):
        if worth := weights.get(" ".join(stems[start:end])):
            for place in places[start:end]:
                found[place] = max(found.get(place, worth), worth, key=by_worth)
    return found


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
    before, after = "…" * (start > 0), "…" * (stop < len(text))
    passage = "".join(c if c.isprintable() else " " for c in text[start:stop])
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
