r"""Files of decisions about words.

Each line is one decision. Letter case and the order of the words of a pair do not matter::

    # synonyms of our customers
    tyre = tire 0.9             # similarity 0.9, independent of the sources
    colour = color              # similarity 1, as "= color 1"
    "new york" = nyc 0.95       # quotes if it has spaces, or starts with # or a quote
    hot ! cold                  # never similar
    java * coffee 0.2           # the sources' similarity times 0.2
    python * 0.5                # times 0.5, for all pairs of the word
    E1042 !                     # no neighbours
    ACME only                   # no neighbours except those pinned with =

A comment starts with ``#`` at the start of a line or after a space. Within quotes, ``\"`` is a
quote, ``\\`` a backslash, and ``\n`` and ``\r`` are line breaks. Duplicate decisions are allowed;
contradictory decisions are an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike

from softcosine._textio import opened
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.overrides.decision_list import (
    Decision,
    Decisions,
    Sign,
    find_contradiction,
)
from softcosine.storage import checked_path
from softcosine.text.analyzer import shortened

_NEEDED = (
    "A file of decisions holds one a line: tyre = tire 0.9, hot ! cold, java * coffee 0.2 or "
    "E1042 !."
)
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))(?=\s|$)')
_SIGNS: dict[str, Sign] = {"=": "=", "!": "!", "*": "*", "only": "only"}
_ESCAPED = {"n": "\n", "r": "\r"}


def read_decisions(path: str | PathLike[str]) -> Decisions:
    """Read a file of decisions about words; the module docstring describes the format.

    Raises
    ------
    MalformedFileError
        If a line has none of the forms, a value is not in [0, 1], or two lines contradict each
        other. The message names the line or both lines.
    """
    lines: list[Decision] = []
    numbers: list[int] = []
    path = checked_path(path)
    with opened(path) as text:
        for number, line in text.lines():
            try:
                decision = _decision(_tokens(line.rstrip("\n")))
            except InvalidInputError as error:
                raise MalformedFileError(path, str(error), line=number) from error
            if decision is not None:
                lines.append(decision)
                numbers.append(number)
    contradiction = find_contradiction(lines)
    if contradiction is not None:
        earlier, later, problem = contradiction
        raise MalformedFileError(
            path,
            f"{problem}, but {lines[earlier].told} in line {numbers[earlier]}; take one of the two "
            "lines out.",
            line=numbers[later],
        )
    return Decisions(tuple(lines))


def decisions_of_lines(lines: Sequence[str]) -> Decisions:
    """Return the decisions of the lines of a file.

    Raises
    ------
    InvalidInputError
        If a line has none of the forms, or two lines contradict each other.
    """
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise InvalidInputError(f"the overrides are {lines!r:.80}; needed is a list of lines.")
    decisions = [_decision(_tokens(line)) for line in lines]
    return Decisions(tuple(decision for decision in decisions if decision is not None))


def _tokens(line: str) -> list[tuple[str, bool]]:
    """Split a line without its comment into words, each with whether it was quoted."""
    tokens: list[tuple[str, bool]] = []
    position = 0
    while position < len(line) and not line[position:].isspace():
        if line[position:].lstrip().startswith("#"):
            break
        token = _TOKEN.match(line, position)
        if token is None:
            raise InvalidInputError(
                f"{shortened(line.strip())} has a quote that is not closed, or not at the edge of "
                f'a word; write \\" for a quote within quotes. {_NEEDED}'
            )
        quoted, plain = token.groups()
        if plain is not None:
            tokens.append((plain, False))
        else:
            unescaped = re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), quoted)
            tokens.append((unescaped, True))
        position = token.end()
    return tokens


def _decision(tokens: list[tuple[str, bool]]) -> Decision | None:
    """Parse the words of a line."""
    if not tokens:
        return None
    words = [word for word, _ in tokens]
    shown = shortened(" ".join(f'"{word}"' if quoted else word for word, quoted in tokens))
    sign = _SIGNS.get(words[1]) if len(tokens) > 1 and not tokens[1][1] else None
    if sign is None:
        raise InvalidInputError(
            f"{shown} has none of =, !, * and only after its first word; put what has spaces "
            f'in quotes: "new york" = nyc 0.9. {_NEEDED}'
        )
    rest = words[2:]
    n_words = {"=": (1,), "!": (0, 1), "*": (0, 1), "only": (0,)}[sign]
    value = 1.0
    if sign == "*" or (sign == "=" and len(rest) > 1):
        if not rest:
            raise InvalidInputError(f"{shown} has no weight; needed is a number in [0, 1].")
        value = _number(rest.pop(), shown, quoted=tokens[-1][1])
    if len(rest) not in n_words:
        raise InvalidInputError(
            f"{shown} has {len(rest)} words after {sign}, where "
            f"{' or '.join(map(str, n_words))} can stand; put what has spaces in quotes: "
            '"new york" = nyc 0.9.'
        )
    return Decision(words[0], sign, rest[0] if rest else None, value)


def _number(word: str, shown: str, *, quoted: bool) -> float:
    try:
        if quoted:
            raise ValueError
        return float(word)
    except ValueError:
        raise InvalidInputError(
            f"{shown} ends with {shortened(word)}; needed is a number in [0, 1]."
        ) from None
