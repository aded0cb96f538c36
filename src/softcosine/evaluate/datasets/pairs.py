"""Pairs of sentences or words with human similarity scores."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softcosine._textio import numbered_lines
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.evaluate.datasets.lines import first_line, stem
from softcosine.evaluate.documents import Documents


@dataclass(frozen=True, slots=True, repr=False)
class PairSet:
    """Pairs of texts with a score, or with a label: 1 for the same meaning, 0 for different ones.

    Parameters
    ----------
    name : str
    left, right : tuple of str
    scores : ndarray of shape (n_pairs,), float64
        Higher is more similar.
    background : tuple of str
        More texts to learn statistics from.
    notes : tuple of str
        Notes of the reader.

    Raises
    ------
    InvalidInputError
        If there are fewer than two pairs, the numbers of texts and scores differ, or all scores
        are equal.
    """

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    scores: NDArray[np.float64]
    background: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.left) == len(self.right) == self.scores.shape[0]:
            raise InvalidInputError(
                f"{self.name} has {len(self.left)} and {len(self.right)} texts and "
                f"{self.scores.shape[0]} scores; one for each pair was needed."
            )
        if len(self.left) < 2 or np.unique(self.scores).shape[0] < 2:
            raise InvalidInputError(
                f"{self.name} has {len(self.left)} pairs with "
                f"{np.unique(self.scores).shape[0]} different scores; at least two were needed."
            )
        if not np.isfinite(self.scores).all():
            raise InvalidInputError(f"a score of {self.name} is no finite number.")

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self):,} pairs>"

    @property
    def binary(self) -> bool:
        """Whether the scores are labels, 0 and 1."""
        return bool(np.isin(self.scores, (0.0, 1.0)).all())

    @property
    def documents(self) -> Documents:
        """What systems are fitted on: all left texts, then all right ones.

        The right text of pair i is number ``len(self) + i``. They carry no judgement.
        """
        ids = [f"{side}{i + 1}" for side in ("left ", "right ") for i in range(len(self))]
        return Documents.of((*self.left, *self.right), ids)


@dataclass(frozen=True, slots=True, repr=False)
class WordPairSet(PairSet):
    """Pairs of words; each text is one word."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Columns of texts and score in a file of pairs, and whether it has a header."""

    left: int
    right: int
    score: int
    header: bool
    words: bool
    separator: str


_LEFT = ("sentence1", "#1 string", "word1", "word 1", "left")
_RIGHT = ("sentence2", "#2 string", "word2", "word 2", "right")
_SCORE = ("score", "quality", "simlex999", "human (mean)", "label", "similarity")


def pair_layout(line: str) -> _Layout | None:
    """Return the layout of a file of pairs by its first line; None if it is not such a file.

    Layouts are: a header that names both texts and the score; a score and two sentences (a common
    form of STS Benchmark); genre, file, year, id, score and two sentences (its published form);
    two words and a score.
    """
    for separator in ("\t", ","):
        row = _row(line, separator)
        for recognized in (_by_header, _by_values):
            layout = recognized(row, separator)
            if layout is not None:
                return layout
    row = line.split()
    return _by_values(row, " ") if len(row) == 3 else None


def read_pairs(path: Path, *, encoding: str = "utf-8") -> PairSet:
    """Return the pairs of a file; a `WordPairSet` if they are pairs of words.

    Raises
    ------
    MalformedFileError
        If `pair_layout` returns None, or a row is malformed; the message has its line.
    """
    layout = pair_layout(first_line(path, encoding=encoding))
    if layout is None:
        raise MalformedFileError(
            path,
            "this is no row of pairs; needed is a score and two sentences, or two words and a "
            "score, with tabs between, or a header that names them (sentence1, sentence2, score).",
            line=1,
        )
    left, right, scores = [], [], []
    needed = max(layout.left, layout.right, layout.score) + 1
    for number, line in _after_header(numbered_lines(path, encoding=encoding), layout.header):
        row = line.split() if layout.separator == " " else _row(line, layout.separator)
        if len(row) < needed:
            raise MalformedFileError(
                path, f"this row has {len(row)} columns; {needed} were needed.", line=number
            )
        score = _number(row[layout.score])
        if score is None:
            raise MalformedFileError(
                path, f"the score is {row[layout.score][:40]!r}, which is no number.", line=number
            )
        left.append(row[layout.left])
        right.append(row[layout.right])
        scores.append(score)
    kind: Callable[..., PairSet] = WordPairSet if layout.words else PairSet
    return kind(stem(path), tuple(left), tuple(right), np.array(scores))


def _row(line: str, separator: str) -> list[str]:
    if separator == "\t":  # no quoting: a quotation mark is an ordinary character
        return line.split("\t")
    return next(csv.reader([line]), [])


def _after_header(lines: Iterable[tuple[int, str]], header: bool) -> Iterator[tuple[int, str]]:
    for position, (number, line) in enumerate(lines):
        if position or not header:
            yield number, line


def _by_header(row: Sequence[str], separator: str) -> _Layout | None:
    names = [name.strip().lower() for name in row]
    places = [
        next((names.index(name) for name in known if name in names), None)
        for known in (_LEFT, _RIGHT, _SCORE)
    ]
    left, right, score = places
    if left is None or right is None or score is None:
        return None
    return _Layout(left, right, score, True, names[left].startswith("word"), separator)


def _by_values(row: Sequence[str], separator: str) -> _Layout | None:
    numeric = [_number(value) is not None for value in row]
    if len(row) == 3 and numeric[2] and not (numeric[0] or numeric[1]):
        words = not any(" " in word.strip() for word in row[:2])
        return _Layout(0, 1, 2, False, words, separator) if words or separator == "\t" else None
    if len(row) >= 7 and numeric[4] and separator == "\t":
        return _Layout(5, 6, 4, False, False, separator)
    if (
        len(row) >= 3 and numeric[0] and separator == "\t"
    ):  # tabs only, because sentences have commas
        return _Layout(1, 2, 0, False, False, separator)
    return None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
