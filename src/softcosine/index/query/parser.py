r"""The query parser: required, excluded, quoted and weighted words.

A question is text, and text of the kind *what does ls -l do* and *tar -extract* has signs before
words. So `parse_syntax` takes three kinds of queries, by its `syntax`:

=========  =========================================================================
``None``   only quotes are operators: ``"flat tyre"``, ``-"car"``, ``"flat tyre"^2``
``True``   all operators of the table below
``False``  none: the query is text
=========  =========================================================================

=================  ===============================================================
``tyre repair``    words that match by meaning
``+tyre``          documents must contain the word itself
``-car``           documents must not contain it
``"flat tyre"``    documents must contain the phrase (the words in a row)
``-"flat tyre"``   documents must not contain it; ``+"flat tyre"`` is the same as without ``+``
``tyre^2``         twice the weight; ``"flat tyre"^0.5`` half of it
=================  ===============================================================

A sign or a quote is an operator only where it is unambiguous, so ordinary text needs no escapes:

- ``+`` and ``-`` at the start of the text or after white space, and directly before a letter, a
  digit or a phrase. *well-known*, *C++*, *- item*, *5 - 3*, *--force* are plain text.
- A phrase begins at the start, after white space or after a sign. It contains more than white space
  and no quote. It ends at a quote that is followed by white space, by the end of the text, or by
  punctuation before them. An unpaired quote, *5" pipe* and *"a"b* are plain text.
- A weight is a decimal number after ``^`` at the end of a word or phrase; *x^y* is plain text. It
  is at least 0.000001 and at most 1000000. It has no effect on excluded words.

Typographic quotation marks (“ ” „ « » 「 」 『 』 ＂) are quotes, also in mixed pairs. What » and «
set off within other words, as German texts do with names, is plain text.

Everything else is plain text. A clause may contain several words: ``+e-mail`` requires *e* and
*mail*. A clause without words is ignored, such as ``+the`` if *the* is a removed stop word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from softcosine.errors import InvalidInputError

_Kind = Literal["should", "must", "must_not"]

_KINDS: dict[str | None, _Kind] = {None: "should", "+": "must", "-": "must_not"}
_SIGNS = {kind: sign or "" for sign, kind in _KINDS.items()}
_LEAST, _MOST = 1e-6, 1e6

# Text around corner brackets has no spaces.
_BRACKET = re.compile(r"(?<![+-])(?=[「『])|(?<=[」』])(?!\^)")
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』〝〞〟＂", '"'))
_SET_OFF = re.compile(r"(?<=\w )»([^»«]*)«|^»([^»«]*)«(?= \w)")
_QUOTE = re.compile(r'(?<!\d)"')  # not of inches
_MARK = re.compile(r'["+^-]')
# Possessive quantifiers (`++`, `*+`) keep the time linear in the text.
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
    """A clause of a query.

    Attributes
    ----------
    text : str, or sequence of str
        As typed, without signs, quotes and weight; or tokens.
    kind : {"should", "must", "must_not"}
    phrase : bool
        Whether the words must be in a row. A phrase without a sign has the kind ``"should"``, but
        is required all the same.
    weight : float
        Weight of the clause, positive.
    """

    text: str | Sequence[str]
    kind: _Kind = "should"
    phrase: bool = False
    weight: float = 1.0

    def __str__(self) -> str:
        text = f'"{self.text}"' if self.phrase else self.text
        weight = "" if self.weight == 1.0 else f"^{Decimal(repr(self.weight)):f}"
        return f"{_SIGNS[self.kind]}{text}{weight}"

    def corrected(self, corrections: Mapping[str, str]) -> Clause:
        """Return the clause with misspelt words replaced; only plain text is corrected."""
        if not self.plain or not isinstance(self.text, str):
            return self
        text = self.text
        for word, correction in corrections.items():  # both of letters only
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", correction, text, flags=re.IGNORECASE)
        return replace(self, text=text)

    @property
    def plain(self) -> bool:
        """Whether it is text without operators."""
        return self.kind == "should" and not self.phrase and self.weight == 1.0


def parse_syntax(query: str | Sequence[str], syntax: bool | None = None) -> tuple[Clause, ...]:
    """Return the clauses of a query; every text is a valid query.

    A text without operators is one plain clause. Clauses, written with a space between them, are
    parsed to equal ones.

    Parameters
    ----------
    query : str, or sequence of str
        Tokens have no operators.
    syntax : bool, optional
        Whether signs, quotes and weights are operators; None for quotes alone.

    Raises
    ------
    InvalidInputError
        If a weight is 0, too small or too large.

    Examples
    --------
    >>> for clause in parse_syntax('tyre +repair -car "flat tyre"^2', syntax=True):
    ...     print(clause.kind, clause.phrase, clause.weight, clause.text)
    should False 1.0 tyre
    must False 1.0 repair
    must_not False 1.0 car
    should True 2.0 flat tyre
    >>> [str(clause) for clause in parse_syntax('what does ls -l do -"flat tyre"')]
    ['what does ls -l do', '-"flat tyre"']
    """
    if syntax is False or not isinstance(query, str):
        return (Clause(query),)
    text = _SET_OFF.sub(r"\1\2", _BRACKET.sub(" ", query)).translate(_QUOTES)
    if _MARK.search(text) is None:
        return (Clause(query),)
    clauses: list[Clause] = []
    position = 0
    for match in _CLAUSE.finditer(text):
        if syntax is None and match["phrase"] is None:  # the next quote comes after white space
            continue
        _append(clauses, Clause(text[position : match.start()].strip()))
        _append(clauses, _clause(match))
        position = match.end()
    if not clauses:
        return (Clause(query),)
    _append(clauses, Clause(text[position:].strip()))
    return tuple(clauses)


def has_unmatched_quote(clauses: Iterable[Clause]) -> bool:
    """Whether the plain text of a query has a quotation mark without a partner."""
    texts = [one.text for one in clauses if isinstance(one.text, str) and one.plain]
    return len(_QUOTE.findall(" ".join(texts).translate(_QUOTES))) % 2 == 1


def _clause(match: re.Match[str]) -> Clause:
    found = match.groupdict()
    sign = found["sign"] or found["word_sign"] or found["only_sign"]
    weight = _weight(found["phrase_weight"] or found["weight"], match[0])
    if found["phrase"] is not None:
        return Clause(found["phrase"].strip(), _KINDS[sign], True, weight)
    return Clause(found["weighed"] or found["word"], _KINDS[sign], False, weight)


def _append(clauses: list[Clause], clause: Clause) -> None:
    """Append a clause; adjacent plain texts are joined, because ``tyre^1`` is plain."""
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
