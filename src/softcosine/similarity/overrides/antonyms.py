"""Antonyms: similar in most word vectors, but unwanted as neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from softcosine._textio import numbered_lines
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.storage import checked_path


class Antonyms:
    """A fixed set of unordered pairs of opposite words, compared ignoring letter case.

    Raises
    ------
    InvalidInputError
        If an item is not a pair of strings, or a word is paired with itself.

    Examples
    --------
    >>> antonyms = Antonyms([("hot", "cold")])
    >>> antonyms.opposed(["Cold", "hot"], ["hot", "warm"]).tolist()
    [True, False]
    """

    __slots__ = ("_opposites", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        opposites: dict[str, set[str]] = {}
        for pair in pairs:
            try:
                left, right = () if isinstance(pair, str) else pair
                a, b = left.casefold(), right.casefold()
            except (TypeError, ValueError, AttributeError):
                raise InvalidInputError(
                    f"{pair!r} is no pair of words; give ('hot', 'cold')."
                ) from None
            if a == b:
                raise InvalidInputError(
                    f"{left!r} is given as its own antonym; a pair is of two different words."
                )
            opposites.setdefault(a, set()).add(b)
            opposites.setdefault(b, set()).add(a)
        self._opposites = {word: frozenset(others) for word, others in opposites.items()}
        # Every pair once, casefolded, sorted within the pair.
        self.pairs = frozenset(
            (a, b) for a, others in self._opposites.items() for b in others if a < b
        )

    @classmethod
    def english(cls) -> Antonyms:
        """Return the bundled pairs of English antonyms; read once per process."""
        return _english()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Antonyms:
        """Read a file with one tab-separated pair per line; ``#`` starts a comment line.

        Raises
        ------
        MalformedFileError
            If a line does not have two different words. The message names the line.
        """
        path = checked_path(path)
        return cls(_read_pairs(numbered_lines(path), str(path)))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Antonyms) and self.pairs == other.pairs

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __repr__(self) -> str:
        return f"Antonyms({len(self)} pairs)"

    def of(self, word: str) -> frozenset[str]:
        """Return the opposites of a word, casefolded."""
        return self._opposites.get(word.casefold(), frozenset())

    def opposed(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether ``left[i]`` and ``right[i]`` are opposites, shape (n_pairs,)."""
        opposites = self._opposites
        none: frozenset[str] = frozenset()
        return np.fromiter(
            (
                b.casefold() in opposites.get(a.casefold(), none)
                for a, b in zip(left, right, strict=True)
            ),
            np.bool_,
            len(left),
        )


def _read_pairs(lines: Iterable[tuple[int, str]], path: str) -> Iterable[tuple[str, str]]:
    """Yield the pairs of a tab-separated text, line by line."""
    for number, line in lines:
        if line.startswith("#"):
            continue
        words = [word.strip() for word in line.split("\t")]
        if len(words) != 2 or not all(words):
            raise MalformedFileError(
                path, f"{line!r} is not two words separated by a tab.", line=number
            )
        if words[0].casefold() == words[1].casefold():
            raise MalformedFileError(path, f"{line!r} is one word twice.", line=number)
        yield words[0], words[1]


@cache
def _english() -> Antonyms:
    name = "antonyms_en.txt"
    text = (files("softcosine.similarity") / "data" / name).read_text(encoding="utf-8")
    return Antonyms(_read_pairs(enumerate(text.splitlines(), start=1), name))
