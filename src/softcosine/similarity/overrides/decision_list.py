"""Your decisions about words and pairs of words, as a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from softcosine._validation import check_choice, check_type, is_number, is_pair
from softcosine.errors import InvalidInputError
from softcosine.similarity.in_terms import TermKeys

Sign = Literal["=", "!", "*", "only"]
_PLAIN = re.compile(r'[^\s"#][^\s"]*')


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about a pair of words, or about all pairs of a word.

    Attributes
    ----------
    word : str
        Letter case is ignored.
    sign : {"=", "!", "*", "only"}
        ``=`` pins a pair to a value. ``!`` forbids a pair, or all pairs of a word. ``*`` multiplies
        the similarity of a pair, or all similarities of a word. ``only`` restricts the neighbours
        of a word to those pinned to it.
    other : str, optional
        The other word of the pair; None means all pairs of `word`.
    value : float, default 1
        Value of ``=`` or ``*``, in [0, 1].

    Raises
    ------
    InvalidInputError
        If a word is empty or paired with itself, or the value is not in [0, 1].

    Examples
    --------
    >>> print(Decision("tyre", "=", "winter tire", 0.9))
    tyre = "winter tire" 0.9
    """

    word: str
    sign: Sign
    other: str | None = None
    value: float = 1.0

    def __post_init__(self) -> None:
        check_choice("the sign", self.sign, ("=", "!", "*", "only"))
        for word in (self.word, self.other):
            if word is not None and not (isinstance(word, str) and word):
                raise InvalidInputError(f"a decision is about {word!r}; needed is a word.")
        if self.other is None and self.sign == "=":
            raise InvalidInputError(f"{self.word!r} is pinned to no other word; give two.")
        if self.other is not None and self.sign == "only":
            raise InvalidInputError(
                f"'only' takes one word, here {self.word!r}; pin pairs with '='."
            )
        if self.other is not None and self.word.casefold() == self.other.casefold():
            raise InvalidInputError(
                f"{self.word!r} and {self.other!r} are one word; a pair is of two different ones."
            )
        value = self.value if self.sign in ("=", "*") else 1.0
        if not (is_number(value) and 0.0 <= value <= 1.0):
            what = "a similarity" if self.sign == "=" else "a weight"
            raise InvalidInputError(
                f"{self._subject} {'is' if self.other is None else 'are'} given {value!r}; needed "
                f"is {what} in [0, 1]."
            )
        object.__setattr__(self, "value", float(value))

    def __str__(self) -> str:
        """Return the decision as a line of a file."""
        parts = [_quoted(self.word), self.sign]
        if self.other is not None:
            parts.append(_quoted(self.other))
        if self.sign in ("=", "*"):
            parts.append(f"{self.value!r}")
        return " ".join(parts)

    @property
    def key(self) -> frozenset[str]:
        """The casefolded word or pair of words."""
        words = (self.word,) if self.other is None else (self.word, self.other)
        return frozenset(word.casefold() for word in words)

    @property
    def verdict(self) -> tuple[str, float]:
        """The effect; equal for two spellings of the same decision."""
        if self.other is not None:
            forbidden = self.sign == "!" or self.value == 0.0
            return ("pinned", 0.0) if forbidden else (_VERDICTS[self.sign], self.value)
        if self.sign == "*" and self.value == 0.0:
            return ("only", 1.0)
        return (_VERDICTS[self.sign], self.value)

    @property
    def told(self) -> str:
        """The decision in words, such as ``'hot' and 'cold' are forbidden``."""
        verb = "is" if self.other is None else "are"
        what = {
            "=": f"pinned to {self.value:g}",
            "!": "isolated" if self.other is None else "forbidden",
            "*": f"weighed by {self.value:g}",
            "only": "restricted to its pinned neighbours",
        }[self.sign]
        return f"{self._subject} {verb} {what}"

    @property
    def _subject(self) -> str:
        return repr(self.word) if self.other is None else f"{self.word!r} and {self.other!r}"


_VERDICTS = {"=": "pinned", "!": "isolated", "*": "weighed", "only": "only"}


class Contradiction(NamedTuple):
    """Two contradictory decisions: their positions, and a message."""

    earlier: int
    later: int
    problem: str


def find_contradiction(lines: Sequence[Decision]) -> Contradiction | None:
    """Return the first decision that contradicts an earlier one, or None."""
    decided: dict[frozenset[str], int] = {}
    pinned: dict[str, int] = {}
    for number, line in enumerate(lines):
        same = decided.setdefault(line.key, number)
        if lines[same].verdict != line.verdict:
            return Contradiction(same, number, line.told)
        kind, value = line.verdict
        if kind == "pinned" and value > 0.0:
            for word in line.key:
                alone = decided.get(frozenset((word,)))
                if alone is not None and lines[alone].verdict[0] == "isolated":
                    return Contradiction(alone, number, line.told)
                pinned.setdefault(word, number)
        elif kind == "isolated":
            (word,) = line.key
            if word in pinned:
                return Contradiction(pinned[word], number, line.told)
    return None


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions about words, without contradictions.

    Attributes
    ----------
    lines : tuple of Decision

    Raises
    ------
    InvalidInputError
        If two decisions contradict each other: a pair is pinned to two values, or pinned and
        forbidden, in either order of its words; or an isolated word is pinned to another.

    Examples
    --------
    >>> decisions = Decisions.of(pinned={("tyre", "tire"): 0.9}, forbidden=[("hot", "cold")])
    >>> print(decisions.text(), end="")
    tyre = tire 0.9
    hot ! cold
    """

    lines: tuple[Decision, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        contradiction = find_contradiction(self.lines)
        if contradiction is not None:
            earlier = self.lines[contradiction.earlier]
            raise InvalidInputError(f"{contradiction.problem}, but {earlier.told}; decide for one.")

    @classmethod
    def of(
        cls,
        *,
        pinned: Mapping[tuple[str, str], float] | None = None,
        forbidden: Iterable[tuple[str, str]] = (),
        weighed: Mapping[tuple[str, str] | str, float] | None = None,
        isolated: Iterable[str] = (),
        only: Iterable[str] = (),
    ) -> Decisions:
        """Return the decisions given as arguments.

        Parameters
        ----------
        pinned : mapping of (str, str) to float
            Similarities of pairs.
        forbidden : iterable of (str, str)
            Pairs that get similarity 0.
        weighed : mapping of (str, str) or str to float
            Factors of the similarity of a pair, or of all similarities of a word.
        isolated : iterable of str
            Words without neighbours.
        only : iterable of str
            Words whose only neighbours are those pinned to them.

        Raises
        ------
        InvalidInputError
            If an item is not a pair, a value is not in [0, 1], or two decisions contradict each
            other.
        """
        for name, given in (("pinned", pinned), ("weighed", weighed)):
            check_type(
                name,
                given,
                Mapping | None,
                "pass pairs and numbers, as {('tyre', 'tire'): 0.9}",
            )
        lines = []
        for pair, value in (pinned or {}).items():
            word, other = _pair(pair)
            lines.append(Decision(word, "=", other, value))
        for pair in forbidden:
            word, other = _pair(pair)
            lines.append(Decision(word, "!", other))
        for what, value in (weighed or {}).items():
            words = (what, None) if isinstance(what, str) else _pair(what)
            lines.append(Decision(words[0], "*", words[1], value))
        lines += [Decision(word, "!") for word in isolated]
        lines += [Decision(word, "only") for word in only]
        return cls(tuple(lines))

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.lines)

    def __iter__(self) -> Iterator[Decision]:
        """Iterate over the decisions in order."""
        return iter(self.lines)

    def __repr__(self) -> str:
        return f"Decisions({len(self)})"

    def text(self) -> str:
        """Return a text that `read_decisions` reads as equal decisions."""
        return "".join(f"{line}\n" for line in self.lines)

    def pins(self) -> dict[tuple[str, str], float]:
        """Return the casefolded pairs that are pinned to a similarity above 0."""
        return {
            (line.word.casefold(), line.other.casefold()): line.verdict[1]
            for line in self.lines
            if line.other is not None and line.verdict[0] == "pinned" and line.verdict[1] > 0.0
        }

    def in_terms(self, keys: TermKeys) -> Decisions:
        """Return the decisions extended to the terms of their words, under stemming.

        A decision about *tyre* must hold for the term of *tyres*. So a decision about a word is
        also a decision about its term (under the name from `keys`) and about other words of that
        term that have decisions. A decision about the form itself takes precedence, then the
        earlier decision.
        """
        words = [word.casefold() for line in self.lines for word in (line.word, line.other) if word]
        terms = {word: keys.names(word) for word in dict.fromkeys(words)}
        of_term: dict[str, set[str]] = {}
        for word, names in terms.items():
            for name in names:
                of_term.setdefault(name, {name}).add(word)

        def forms(word: str) -> list[str]:
            return sorted(set().union(*(of_term[name] for name in terms[word.casefold()])))

        lines = list(self.lines)
        taken = {line.key for line in lines}
        pinned = {word for line in lines if line.verdict[0] == "pinned" for word in line.key}
        isolated = {line.word.casefold() for line in lines if line.verdict[0] == "isolated"}
        for line in self.lines:
            others = [None] if line.other is None else forms(line.other)
            for word in forms(line.word):
                for other in others:
                    if word == other:
                        continue
                    derived = Decision(word, line.sign, other, line.value)
                    kind = derived.verdict[0]
                    clash = (kind == "isolated" and word in pinned) or (
                        kind == "pinned" and bool(derived.key & isolated)
                    )
                    if derived.key in taken or clash:
                        continue
                    lines.append(derived)
                    taken.add(derived.key)
                    if kind == "pinned":
                        pinned |= derived.key
                    elif kind == "isolated":
                        isolated.add(word)
        return Decisions(tuple(lines))


def _pair(given: tuple[str, str]) -> tuple[str, str]:
    if not is_pair(given):
        raise InvalidInputError(f"{given!r} is no pair of words; give two: ('hot', 'cold').")
    return given


def _quoted(word: str) -> str:
    """Return a word as it is written to a file, quoted if necessary."""
    if _PLAIN.fullmatch(word):
        return word
    for plain, escaped in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n"), ("\r", r"\r")):
        word = word.replace(plain, escaped)
    return f'"{word}"'
