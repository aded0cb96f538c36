"""Explanation of a score in three levels: three sums, a row for each query word, and all pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.index.requests import TITLES
from softcosine.index.search.notebook import bars, escaped, html_table
from softcosine.index.spaces.part import OTHERS, QUESTION, SUMS, TEXT, Part
from softcosine.space.chance import above_chance

if TYPE_CHECKING:
    import pandas as pd

    from softcosine.space.meaning import StaticQuery

ROUNDING = "(rounding)"  # what word pieces leave of a text
COLORS = ("#1f5fa8", "#e08a1e", "#3f9c6d")  # of these, in every picture and on the page
_MOST_WORDS, _MOST_PARTNERS = 5, 3
_SHOWN_PAIRS = 16  # strongest pairs of the meaning; the others are merged
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class WordShare:
    """All that a word of the query adds to a score.

    Attributes
    ----------
    word : str
        `QUESTION` for what no single word explains, `OTHERS` for words of less weight.
    contribution : float
        The sum of `same`, `similar` and `meaning`.
    same, similar, meaning : float
        By the same word, by similar words, and by meaning.
    partners : tuple of str
        The words of the document that add most.
    fields : tuple of str
        The fields with such words; empty in an index of one field.
    """

    word: str
    contribution: float
    same: float
    similar: float
    meaning: float
    partners: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, word: str, parts: Iterable[Part]) -> Self:
        """Return the share of a word, of which these are the parts."""
        parts = sorted(parts, key=lambda part: -part.contribution)
        same, similar, meaning = _sums(parts)
        partners = (part.document_word for part in parts if part.contribution > 0.0)
        named = [one for one in dict.fromkeys(partners) if one[0].isalnum()]
        total = same + similar + meaning
        places = tuple(dict.fromkeys(part.field for part in parts if part.field))
        return cls(word, total, same, similar, meaning, tuple(named[:_MOST_PARTNERS]), places)

    @property
    def place(self) -> str:
        """The partners, and their fields."""
        place = f" in {', '.join(self.fields)}" if self.fields else ""
        return f"{', '.join(self.partners)}{place}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The contributions to a score, largest first; they sum to the score, up to rounding.

    `parts` are all pairs of words, `words` has a row for each query word, and `sums` are three
    numbers. `passage` is the sentence of the document whose meaning is nearest, empty if unknown.
    Prints as a table of `words`.
    """

    query: str
    id: str
    score: float
    parts: tuple[Part, ...]
    ranking: str
    passage: str = ""

    _lazy: ClassVar = {"sums": dict[str, float], "words": tuple[WordShare, ...]}

    @classmethod
    def _read(cls, sums: object = None, words: object = None, **values: Any) -> Explanation:
        """Return the explanation that a server sent."""
        return cls(**values)

    @property
    def sums(self) -> dict[str, float]:
        """What the same words, similar words and meaning add; kinds without parts are left out."""
        kinds = {part.kind for part in self.parts}
        sums = zip(SUMS, _sums(self.parts), strict=True)
        return {name: own for kind, (name, own) in enumerate(sums) if kind in kinds}

    @property
    def words(self) -> tuple[WordShare, ...]:
        """At most five rows, largest first, one for each word of the query; the last for others."""
        by_word: dict[str, list[Part]] = {}
        for part in self.parts:
            by_word.setdefault(part.query_word.casefold(), []).append(part)
        shares = [WordShare.of(own[0].query_word, own) for own in by_word.values()]
        shares.sort(key=lambda share: (share.word == OTHERS, -abs(share.contribution)))
        if len(shares) <= _MOST_WORDS:
            return tuple(shares)
        kept = shares[: _MOST_WORDS - 1]
        taken = {share.word.casefold() for share in kept}
        rest = [one for word, own in by_word.items() if word not in taken for one in own]
        return *kept, WordShare.of(OTHERS, rest)

    def __str__(self) -> str:
        line = f"score {self.score:.4f} ({self.title}) of document {self.id}"
        if not self.parts:
            return f"{line}: no word of it is like a word of the query"
        sums = ", ".join(f"{name} {own:.4f}" for name, own in self.sums.items())
        rows = [(one.word, f"{one.contribution:.4f}", one.place) for one in self.words]
        left, right = (max(len(row[column]) for row in rows) for column in (0, 1))
        return "\n".join([
            f"{line}: {sums}",
            *(
                f"  {word:<{left}}  adds {added:>{right}}  {place}".rstrip()
                for word, added, place in rows
            ),
            *([f"  nearest sentence: {self.passage}"] if self.passage else []),
        ])  # fmt: skip

    @property
    def title(self) -> str:
        """The ranking and its score."""
        title = TITLES.get(self.ranking, self.ranking)
        return f"{title} + meaning" if self.by_meaning else title

    @property
    def by_meaning(self) -> bool:
        """Whether some parts are of meaning."""
        return any(part.space == "meaning" for part in self.parts)

    @property
    def several_fields(self) -> bool:
        """Whether the index has several fields."""
        return any(part.field for part in self.parts)

    def _repr_html_(self) -> str:
        greatest = max((abs(one.contribution) for one in self.words), default=0.0)
        rows = [
            (
                escaped(one.word),
                f"{one.contribution:.4f}",
                bars((one.same, one.similar, one.meaning), COLORS, greatest),
                escaped(one.place),
            )
            for one in self.words
        ]
        legend = ", ".join(
            f"<span style='color:{color}'>{name} {self.sums[name]:.4f}</span>"
            for name, color in zip(SUMS, COLORS, strict=True)
            if name in self.sums
        )
        note = self.passage if rows else "no word of the document is like a word of the query"
        return html_table(
            f"{self.query}: {self.id}", ("query", "adds", legend, "in the document"), rows,
            left=(2, 3), foot=(escaped(self.title), f"{self.score:.4f}", "", ""),
            notes=[note] if note else (),
        )  # fmt: skip

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per pair, largest first.

        With the field if there are several, and the space if there is meaning.
        """
        from softcosine.index.frames import data_frame

        names = ["query_word", "document_word", "similarity", "contribution", "exact"]
        if self.several_fields:
            names.append("field")
        if self.by_meaning:
            names.append("space")
        return data_frame({name: [getattr(part, name) for part in self.parts] for name in names})


def _sums(parts: Iterable[Part]) -> list[float]:
    """Return what the same words, similar words and meaning add."""
    sums = [0.0] * len(SUMS)
    for part in parts:
        sums[part.kind] += part.contribution
    return sums


def meaning_parts(
    unit: NDArray[np.float64] | None,
    query: NDArray[np.float64],
    weight: float,
    static: tuple[StaticQuery | None, StaticQuery | None],
    rest: str = TEXT,
    slope: float = 1.0,
) -> list[Part]:
    """Return the contributions of pairs of words to a weighted cosine, and the rest (theory T19).

    What chance corrects is with the rest.

    The weaker pairs of a query and a document whose words are known are merged.

    Parameters
    ----------
    unit : ndarray of shape (dimensions,), float64, or None
        Coordinates of the document, of length 1.
    query : ndarray of shape (dimensions,), float64
        Coordinates of the query, of length 1.
    weight : float
        Of the cosine.
    static : tuple of StaticQuery or None
        The words of the query and of the document, where they are known.
    rest : str
        What the words of the document leave.
    slope : float
        Of `softcosine.space.chance`.
    """
    if unit is None:
        return []
    queries, left = _decomposed(query, static[0], QUESTION, QUESTION)
    words, right = _decomposed(unit, static[1], TEXT, rest)
    cosines = left @ right.T
    merged = np.zeros(cosines.shape, np.bool_)
    if words != [TEXT]:
        order = np.argsort(-np.abs(cosines), axis=None, kind="stable")
        merged.flat[order[_SHOWN_PAIRS:]] = True
    cells = {(queries[i], words[j]): cosines[i, j] for i, j in np.argwhere(~merged).tolist()}
    left_over = np.array([word == QUESTION for word in queries])
    right_over = np.array([word == rest for word in words])
    for first, rows in ((OTHERS, ~left_over), (QUESTION, left_over)):
        for second, columns in ((OTHERS, ~right_over), (rest, right_over)):
            cell = merged & rows[:, np.newaxis] & columns
            if cell.any():
                cells[first, second] = cosines[cell].sum()
    if slope != 1.0:
        cells[QUESTION, rest] = cells.get((QUESTION, rest), 0.0) + (1.0 - slope) / slope
    summands = [(pair, slope * float(cosine)) for pair, cosine in cells.items()]
    return [
        Part(first, second, own, weight * own, exact=False, space="meaning")
        for (first, second), own in summands
    ]


def parts_by_omission(
    unit: NDArray[np.float64],
    query: NDArray[np.float64],
    weight: float,
    without: Sequence[tuple[str, NDArray[np.float64]]],
    slope: float,
) -> list[Part]:
    """Return what a weighted cosine loses without each word of the query, and the rest.

    Parameters are those of `meaning_parts`, with `ReadyQuery.without`. Where the losses sum to
    more than the cosine, they are scaled to it.
    """
    cosines = np.array([query, *(one for _, one in without)]) @ unit
    cosine, *others = above_chance(cosines, slope, np.ones(len(cosines), np.bool_)).tolist()
    losses = [max(0.0, cosine - other) for other in others]
    total = math.fsum(losses)
    share = min(1.0, max(0.0, cosine) / total) if total else 0.0
    words = [(word, share * loss) for (word, _), loss in zip(without, losses, strict=True)]
    return [
        Part(word, TEXT, own, weight * own, exact=False, space="meaning")
        for word, own in (*words, (QUESTION, cosine - share * total))
        if abs(own) > _ROUNDING
    ]


def _decomposed(
    unit: NDArray[np.float64], static: StaticQuery | None, whole: str, rest: str
) -> tuple[list[str], NDArray[np.float64]]:
    """Return distinct words and their summands of some coordinates, the rest last.

    Without words, the only summand is the `whole`.
    """
    if static is None:
        return [whole], unit[np.newaxis]
    rows: dict[str, int] = {}
    places = [rows.setdefault(word, len(rows)) for word in static.words]
    summands = np.zeros((len(rows) + 1, len(unit)))
    np.add.at(summands, places, float(unit @ static.vector) * static.shares)
    summands[-1] = unit - summands.sum(axis=0)
    if np.abs(summands[-1]).max() <= _ROUNDING:
        return [*rows], summands[:-1]
    return [*rows, rest], summands
