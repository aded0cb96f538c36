r"""The query language: what a query demands, excludes, quotes and weighs.

=================  ===============================================================
``tyre repair``    words, searched by meaning
``+tyre``          documents must hold the word itself
``-car``           documents must not hold it
``"flat tyre"``    documents must hold the phrase: the words one after the other
``-"flat tyre"``   documents must not hold it; ``+"flat tyre"``: the same as without ``+``
``tyre^2``         twice the weight; ``"flat tyre"^0.5`` half of it
=================  ===============================================================

A sign or a quote counts only where it is plainly meant, so that ordinary text needs no escapes:

- ``+`` and ``-`` at the start of the text or after white space, and directly before a letter, a
  digit or a phrase. *well-known*, *C++*, *- item*, *5 - 3*, *--force* are plain text.
- A phrase begins at the start, after white space or after a sign, holds more than white space and
  no quote, and ends at a quote that is followed by white space, by the end of the text, or by
  punctuation before them. An unpaired quote, *5" pipe* and *"a"b* are plain text.
- A weight is a decimal number behind ``^`` at the end of a word or phrase; *x^y* is plain text. It
  is at least 0.000001 and at most 1000000. On what must not be there it changes nothing.

Everything between such clauses is plain text. A clause may hold several words: ``+e-mail`` demands
*e* and *mail*. A clause that holds none, as ``+the`` where *the* is a stop word, is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from softcosine.errors import InvalidInputError

__all__ = ["Clause", "QuerySyntax", "parse_syntax"]

_Kind = Literal["should", "must", "must_not"]

_KINDS: dict[str | None, _Kind] = {None: "should", "+": "must", "-": "must_not"}
_SIGNS = {kind: sign or "" for sign, kind in _KINDS.items()}
_LEAST, _MOST = 1e-6, 1e6

_MARK = re.compile(r'["+^-]')
# Quantifiers that give nothing back (`++`, `*+`) keep the time linear in the text.
_CLAUSE = re.compile(
    r"""
    (?<!\S)                                          # at the start, or after white space
    (?: (?P<sign>[+-])? "(?=\s*+[^\s"]) (?P<phrase>[^"]*+) "
            (?:\^(?P<phrase_weight>\d+(?:\.\d*)?|\.\d+))? (?=[^\w\s"^+-]*+(?!\S))
      | (?P<word_sign>[+-](?=[^\W_]))? (?P<weighed>(?=[^\s"^]*?[^\W_])[^\s"^]++)
            \^(?P<weight>\d+(?:\.\d*)?|\.\d+) (?=[^\w\s"^+-]*+(?!\S))
      | (?P<only_sign>[+-]) (?P<word>[^\W_]\S*+)
    )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a query.

    Attributes
    ----------
    text : str
        As it was typed, without signs, quotes and weight.
    kind : {"should", "must", "must_not"}
    phrase : bool
        Whether its words are to stand one after the other. A phrase without a sign is of the kind
        ``"should"``, and must be there all the same.
    weight : float
        What the clause counts beside the others, positive.
    """

    text: str
    kind: _Kind = "should"
    phrase: bool = False
    weight: float = 1.0

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.phrase else self.text
        weight = "" if self.weight == 1.0 else f"^{Decimal(repr(self.weight)):f}"
        return f"{_SIGNS[self.kind]}{text}{weight}"

    @property
    def plain(self) -> bool:
        """Whether it is text without any operator."""
        return self.kind == "should" and not self.phrase and self.weight == 1.0


@dataclass(frozen=True, slots=True)
class QuerySyntax:
    """A query as its clauses, in running order.

    ``str`` gives the query back, white space between clauses folded; it parses to an equal object.

    Attributes
    ----------
    clauses : tuple of Clause
        A text without operators is one plain clause, the text itself.
    """

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))

    @property
    def plain(self) -> bool:
        """Whether the query has no operator."""
        return len(self.clauses) == 1 and self.clauses[0].plain

    @property
    def text(self) -> str:
        """What is searched by meaning: everything but what must not be there."""
        return " ".join(clause.text for clause in self.clauses if clause.kind != "must_not")


def parse_syntax(query: str) -> QuerySyntax:
    """Cut a query into its clauses; every text is a query.

    Parameters
    ----------
    query : str

    Raises
    ------
    InvalidInputError
        If a weight is 0, or too small or too large to be meant, or `query` is no string.

    Examples
    --------
    >>> for clause in parse_syntax('tyre +repair -car "flat tyre"^2').clauses:
    ...     print(clause.kind, clause.phrase, clause.weight, clause.text)
    should False 1.0 tyre
    must False 1.0 repair
    must_not False 1.0 car
    should True 2.0 flat tyre
    """
    if not isinstance(query, str):
        raise InvalidInputError(
            f"the query is of type {type(query).__name__}; only a string has operators."
        )
    if _MARK.search(query) is None:
        return QuerySyntax((Clause(query),))
    clauses: list[Clause] = []
    position = 0
    for match in _CLAUSE.finditer(query):
        _append(clauses, Clause(query[position : match.start()].strip()))
        _append(clauses, _clause(match))
        position = match.end()
    if not clauses:
        return QuerySyntax((Clause(query),))
    _append(clauses, Clause(query[position:].strip()))
    return QuerySyntax(tuple(clauses))


def _clause(match: re.Match[str]) -> Clause:
    found = match.groupdict()
    sign = found["sign"] or found["word_sign"] or found["only_sign"]
    weight = _weight(found["phrase_weight"] or found["weight"], match[0])
    if found["phrase"] is not None:
        return Clause(found["phrase"].strip(), _KINDS[sign], True, weight)
    return Clause(found["weighed"] or found["word"], _KINDS[sign], False, weight)


def _append(clauses: list[Clause], clause: Clause) -> None:
    """Append a clause; plain text joins plain text, since ``tyre^1`` is no operator."""
    if clause.plain and not clause.text:
        return
    if clause.plain and clauses and clauses[-1].plain:
        clause = Clause(f"{clauses.pop().text} {clause.text}")
    clauses.append(clause)


def _weight(number: str | None, clause: str) -> float:
    if number is None:
        return 1.0
    weight = float(number)
    if not _LEAST <= weight <= _MOST:
        shown = clause if len(clause) <= 80 else f"{clause[:39]}…{clause[-39:]}"
        raise InvalidInputError(
            f"the weight in {shown!r} is {number[:20]}; weights are positive numbers from 0.000001 "
            "to 1000000. Leave the clause out, or exclude it by a minus sign."
        )
    return weight
