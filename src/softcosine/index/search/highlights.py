"""Highlighter: the passage of a text that matches a query best, with marked words."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import Literal

from softcosine.text.analyzer import Analyzer

_Kind = Literal["exact", "near"]
# Maximum length of the searched start of a text, in characters.
_MAX_TEXT = 200_000
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")
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
_SHORT = 20  # characters of a sentence that is not told apart
_NEARLY = 0.9  # of the greatest weight
_NOTHING: Worth = (0.0, "near", "")


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

    def marked(self, style: Callable[[str, str], str], plain: Callable[[str], str] = str) -> str:
        """Return the text with each marked word replaced by ``style(word, kind)``."""
        parts, position = [], 0
        for mark in self.marks:
            parts.append(plain(self.text[position : mark.start]))
            parts.append(style(self.text[mark.start : mark.end], mark.kind))
            position = mark.end
        parts.append(plain(self.text[position:]))
        return "".join(parts)

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
    found = [*islice(_sentences(text[:_MOST_READ]), _MOST_SENTENCES)]
    return [one for one in found if not _BOILERPLATE.search(text, *one)] or found


def _sentences(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    for end in _SENTENCE_END.finditer(text, start):
        yield start, end.start()
        start = end.end()
    yield start, len(text)


def snippet(
    text: str,
    analyzer: Analyzer,
    weights: Mapping[str, Worth],
    *,
    nearest: Callable[[Sequence[str]], int | None] = lambda _: None,
    width: int = 240,
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
    """
    spans = analyzer.spans(text[:_MAX_TEXT])
    stems = analyzer.stem([span.word for span in spans])
    found = _found(stems, [analyzer.keeps(span.word) for span in spans], analyzer, weights)
    first, last = 0, max(len(spans) - 1, 0)
    if len(text) > width and spans:
        places = [(span.start, span.end) for span in spans]
        first = _first(text, places, found, nearest, width)
        last = first
        while last + 1 < len(places) and places[last + 1][1] - places[first][0] <= width:
            last += 1
    start, stop = _passage(text, spans[first].start if spans else 0, width)
    marks = _merged(
        Mark(span.start, span.end, kind)
        for span, (weight, kind, _) in zip(
            spans[first : last + 1], found[first : last + 1], strict=True
        )
        if weight > 0.0 and span.start >= start and span.end <= stop
    )
    if len(text) > width:
        later = (one for one in _sentences(text[:stop], start) if one[0] > start)
        licence = (first for first, last in later if _BOILERPLATE.search(text, first, last))
        end = next(licence, stop)
        if not any(mark.kind == "exact" and mark.start >= end for mark in marks):
            stop, marks = end, [mark for mark in marks if mark.end <= end]
    return _folded(text, start, stop, marks)


def _first(
    text: str,
    places: list[tuple[int, int]],
    found: list[Worth],
    nearest: Callable[[Sequence[str]], int | None],
    width: int,
) -> int:
    """Return the first word of the passage of a long text.

    Of the passages that have nearly the greatest weight, the nearest in meaning; of all, if no word
    of the query is there.
    """
    plain = _pieces(text, places, found, width, licences=False)
    every = _pieces(text, places, found, width, licences=True) if plain[1] != found else plain
    exact = next((one for one in (plain, every) if any(by_worth(own)[0] for own in one[1])), None)
    pieces, counted = exact or (plain if plain[0] else every)
    weights = [_weight(places, counted, *piece, width) for piece in pieces]
    least = _NEARLY * max(weights) if exact else 0.0
    near = [one for (one, _), weight in zip(pieces, weights, strict=True) if weight >= least]
    texts = [text[places[one][0] : places[one][0] + width] for one in near[:_MOST_SENTENCES]]
    best = nearest(texts) if len(texts) > 1 else 0
    return pieces[weights.index(max(weights))][0] if best is None else near[best]


def _pieces(
    text: str,
    places: list[tuple[int, int]],
    found: list[Worth],
    width: int,
    *,
    licences: bool,
) -> tuple[list[tuple[int, int]], list[Worth]]:
    """Return ranges of words that a passage may begin with, and what each word is worth.

    They are sentences and pieces of long ones; those of a licence only if `licences`.
    """
    pieces, counted = list[tuple[int, int]](), [*found]
    some = not licences and _BOILERPLATE.search(text) is not None
    for start, stop in _sentences(text):
        first, last = bisect_left(places, (start,)), bisect_left(places, (stop,))
        if some and _BOILERPLATE.search(text, start, stop):
            counted[first:last] = [_NOTHING] * (last - first)
            continue
        if pieces and first < last and places[first][0] - places[pieces[-1][0]][0] < _SHORT:
            pieces[-1] = pieces[-1][0], last  # short lines make one piece
            continue
        while first < last:
            if len(text) - places[first][0] <= width:
                return [*pieces, (first, len(places))], counted
            end = max(first + 1, bisect_left(places, (places[first][0] + width // 2,), hi=last))
            pieces.append((first, end))
            first = end
    return pieces, counted


def _weight(
    places: list[tuple[int, int]], found: list[Worth], first: int, last: int, width: int
) -> float:
    """Return the weight of a passage that begins with a piece, 0 if no word of the piece counts.

    A query word counts once.
    """
    if not any(weight > 0.0 for weight, _, _ in found[first:last]):
        return 0.0
    held: dict[str, float] = {}
    stop = bisect_left(places, _begin(places[first][0]) + width, key=lambda place: place[1])
    for weight, _, query_word in found[first:stop]:
        held[query_word] = max(weight, held.get(query_word, 0.0))
    return sum(held.values())


def _found(
    stems: list[str],
    kept: list[bool],
    analyzer: Analyzer,
    weights: Mapping[str, Worth],
) -> list[Worth]:
    """Return what each word is worth; all words of a phrase term get its weight."""
    found = [_NOTHING] * len(stems)
    places = list(compress(range(len(stems)), kept))
    own = [stems[place] for place in places]
    for start, end in analyzer.ranges(own):
        worth = weights.get(" ".join(own[start:end]))
        if worth is not None:
            for place in places[start:end]:
                found[place] = max(found[place], worth, key=by_worth)
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


def _passage(text: str, start: int, width: int) -> tuple[int, int]:
    """Return the start and end of the passage; a short text is returned completely."""
    if len(text) <= width:
        return 0, len(text)
    start = _begin(start)
    stop = min(len(text), start + width)
    if stop < len(text):
        space = text.rfind(" ", start + width // 2, stop)
        stop = space if space > 0 else stop
    return start, stop


def _folded(text: str, start: int, stop: int, marks: list[Mark]) -> Snippet:
    """Return the snippet with white space and control characters folded, and marks shifted."""
    before, after = "…" * (start > 0), "…" * (stop < len(text))
    marks = [mark for mark in marks if mark.end > mark.start]
    passage = text[start:stop]
    if passage.isprintable() and passage == " ".join(passage.split()):  # as most are
        shift = len(before) - start
        placed = [Mark(one.start + shift, one.end + shift, one.kind) for one in marks]
        return Snippet(f"{before}{passage}{after}", tuple(placed))
    out = [*before]
    moved: dict[int, int] = {}
    blank = True
    for position in range(start, stop):
        moved[position] = len(out)
        character = text[position]
        if character.isspace() or not character.isprintable():
            if not blank:
                out.append(" ")
            blank = True
        else:
            out.append(character)
            blank = False
    if out and out[-1] == " ":
        out.pop()
    placed = [Mark(moved[one.start], moved[one.end - 1] + 1, one.kind) for one in marks]
    return Snippet("".join(out) + after, tuple(placed))
