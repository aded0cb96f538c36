"""Highlighter: the passage of a text that matches a query best, with marked words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Literal

from softcosine.text.analyzer import Analyzer

_Kind = Literal["exact", "near"]
# Maximum length of the searched start of a text, in characters.
_MAX_TEXT = 200_000
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")


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


def sentences(text: str, most: int = 200) -> list[str]:
    """Return the first sentences and lines of a text, with white space folded."""
    found = (" ".join(one.split()) for one in _SENTENCE_END.split(text, most))
    return [one for one in found if one]


def snippet(
    text: str,
    analyzer: Analyzer,
    weights: Mapping[str, tuple[float, _Kind]],
    *,
    width: int = 240,
) -> Snippet:
    """Return the passage of largest weight.

    Parameters
    ----------
    text : str
    analyzer : Analyzer
        Of the index.
    weights : mapping of term to (weight, kind)
        The terms of the expanded query.
    width : int
        Maximum length in characters.
    """
    spans = analyzer.spans(text[:_MAX_TEXT])
    stems = analyzer.stem([span.word for span in spans])
    found = _found(stems, [analyzer.keeps(span.word) for span in spans], analyzer, weights)
    first, last = 0, max(len(spans) - 1, 0)
    if len(text) > width and spans:
        first, last = _heaviest(
            [(span.start, span.end) for span in spans],
            [weight for weight, _ in found],
            stems,
            width,
        )
    start, stop = _passage(text, spans[first].start if spans else 0, width)
    marks = _merged(
        Mark(span.start, span.end, kind)
        for span, (weight, kind) in zip(
            spans[first : last + 1], found[first : last + 1], strict=True
        )
        if weight > 0.0 and span.start >= start and span.end <= stop
    )
    return _folded(text, start, stop, marks)


def _found(
    stems: list[str],
    kept: list[bool],
    analyzer: Analyzer,
    weights: Mapping[str, tuple[float, _Kind]],
) -> list[tuple[float, _Kind]]:
    """Return the weight and kind of each word; all words of a phrase term get its weight."""
    found: list[tuple[float, _Kind]] = [(0.0, "near")] * len(stems)
    places = list(compress(range(len(stems)), kept))
    own = [stems[place] for place in places]
    for start, end in analyzer.ranges(own):
        worth = weights.get(" ".join(own[start:end]))
        if worth is not None:
            for place in places[start:end]:
                found[place] = max(found[place], worth, key=_worth)
    return found


def _worth(found: tuple[float, _Kind]) -> tuple[bool, float]:
    weight, kind = found
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


def _heaviest(
    places: list[tuple[int, int]], weights: list[float], stems: list[str], width: int
) -> tuple[int, int]:
    """Return the first and last word of the window of largest weight.

    Repeated words count once. The window starts a little before its first match, if there is room.
    """
    held: dict[str, int] = {}
    total, best, begin, best_window = 0.0, -1.0, 0, (0, 0)
    for end, (_, stop) in enumerate(places):
        if weights[end] > 0.0:
            held[stems[end]] = held.get(stems[end], 0) + 1
            total += weights[end] if held[stems[end]] == 1 else 0.0
        while begin < end and stop - places[begin][0] > width - 40:
            if weights[begin] > 0.0:
                held[stems[begin]] -= 1
                total -= weights[begin] if held[stems[begin]] == 0 else 0.0
            begin += 1
        if total > best * (1.0 + 1e-9) + 1e-12:
            best, best_window = total, (begin, end)
    first, _ = best_window
    last = first
    while last + 1 < len(places) and places[last + 1][1] - places[first][0] <= width:
        last += 1
    return first, last


def _passage(text: str, start: int, width: int) -> tuple[int, int]:
    """Return the start and end of the passage; a short text is returned completely."""
    if len(text) <= width:
        return 0, len(text)
    start = 0 if start <= 20 else start
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
