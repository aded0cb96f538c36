"""Antonyms: similar in most word vectors, but unwanted as neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError


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
        none: frozenset[str] = frozenset()
        opposites = map(self._opposites.get, map(str.casefold, left), repeat(none))
        pairs = zip(map(str.casefold, right), opposites, strict=True)
        return np.fromiter((b in found for b, found in pairs), np.bool_, len(left))


@cache
def _english() -> Antonyms:
    text = (files("softcosine.similarity") / "data" / "antonyms_en.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return Antonyms((left, right) for left, right in (line.split("\t") for line in lines))
