"""The largest wins and losses of one system against another, with explanations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcosine._validation import check_choice, check_whole
from softcosine.errors import InvalidInputError
from softcosine.evaluate.difference_views import Shown, excerpt, view_of
from softcosine.evaluate.measured import Measured

__all__ = ["Difference", "Differences", "Shown", "differences"]

_SHOWN_PARTS = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """The values of two systems for one query, document or pair.

    Attributes
    ----------
    id, text : str
    values : tuple of float
        Values of the measure; the first is that of `Differences.system`. For pairs, the distance
        of the rank of the score to the right rank, as a share of all pairs.
    change : float
        Improvement of `Differences.system`; negative if it is worse.
    shown : tuple of Shown
    """

    id: str
    text: str
    values: tuple[float, float]
    change: float
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """The largest wins and losses of one system against another.

    Attributes
    ----------
    system, other, measure : str
    wins, losses : tuple of Difference
        In descending order of size.
    n_better, n_worse, n_equal : int
        Numbers of queries, documents or pairs.
    """

    system: str
    other: str
    measure: str
    wins: tuple[Difference, ...]
    losses: tuple[Difference, ...]
    n_better: int
    n_worse: int
    n_equal: int

    def to_dict(self) -> dict[str, Any]:
        """Return all differences for JSON."""
        return {
            "system": self.system,
            "other": self.other,
            "measure": self.measure,
            "n_better": self.n_better,
            "n_worse": self.n_worse,
            "n_equal": self.n_equal,
            "wins": [_record(self, one) for one in self.wins],
            "losses": [_record(self, one) for one in self.losses],
        }

    def to_markdown(self) -> str:
        """Return the differences as nested lists in Markdown."""
        lines = [f"### {self.title}", ""]
        for name, kept in (("Largest wins", self.wins), ("Largest losses", self.losses)):
            if kept:
                lines += [f"{name}:", ""]
            for one in kept:
                lines.append(f"- {headline(self, one)}")
                for shown in one.shown:
                    lines.append(f"  - {shown_line(self, shown)}")
                    lines += [f"    - {line}" for line in reasons(self, shown)]
            lines += [""] if kept else []
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """The two systems, the measure, and the numbers of wins and losses."""
        return (
            f"{self.system} against {self.other} by {self.measure}: better {self.n_better:,} "
            f"times, worse {self.n_worse:,}, equal {self.n_equal:,}"
        )

    def __str__(self) -> str:
        return self.to_markdown()


def differences(
    evaluation: Measured,
    system: str,
    *,
    against: str | None = None,
    measure: str | None = None,
    n: int = 5,
) -> Differences:
    """Return the largest wins and losses of a system.

    Parameters
    ----------
    evaluation : Evaluation
        Explanations need fitted systems; see ``keep`` of `evaluate`.
    system : str
    against : str, optional
        The other system; default: the baseline.
    measure : str, optional
        Default: the first measure. For labels always the error of the first split, and for pairs
        always the distance of ranks.
    n : int
        Maximum number of wins and of losses.

    Raises
    ------
    InvalidInputError
        If a system or measure is unknown, both systems are the same, or `n` is less than 1.
    """
    other = evaluation.baseline if against is None else against
    for name in (system, other):
        if name not in evaluation.figures:
            raise InvalidInputError(
                f"there is no system {name!r}; there are {', '.join(evaluation.figures)}."
            )
    if system == other:
        raise InvalidInputError(f"{system!r} cannot be compared with itself; name another system.")
    check_whole("n", n)
    chosen = evaluation.measures[0] if measure is None else measure
    check_choice("measure", chosen, evaluation.measures)
    view = view_of(evaluation.dataset, evaluation, (system, other), chosen)
    change = view.values[0] - view.values[1]
    change = -change if view.lower_is_better else change
    order = np.argsort(-change, kind="stable")
    wins = [int(unit) for unit in order[:n] if change[unit] > 0.0]
    losses = [int(unit) for unit in np.argsort(change, kind="stable")[:n] if change[unit] < 0.0]
    made = [
        tuple(
            Difference(
                view.ids[unit],
                view.text(unit),
                (float(view.values[0][unit]), float(view.values[1][unit])),
                float(change[unit]),
                tuple(view.shown(unit, bool(change[unit] > 0.0))),
            )
            for unit in units
        )
        for units in (wins, losses)
    ]
    return Differences(
        system, other, view.measure, made[0], made[1],
        int(np.sum(change > 0.0)), int(np.sum(change < 0.0)), int(np.sum(change == 0.0)),
    )  # fmt: skip


def headline(found: Differences, one: Difference) -> str:
    """Return one line with the size of a difference and its query, document or pair."""
    ours, theirs = one.values
    return (
        f"{one.change:+.3f} ({found.system} {ours:.3f}, {found.other} {theirs:.3f})  "
        f"{one.id}: {excerpt(one.text)}"
    )


def shown_line(found: Differences, shown: Shown) -> str:
    """Return one line with a document and its rank or label for each system."""
    ours, theirs = shown.places
    told = f"{found.system}: {ours}; {found.other}: {theirs}"
    return f"{shown.about} {shown.id} ({told}): {shown.text}"


def reasons(found: Differences, shown: Shown) -> Iterator[str]:
    """Yield one line per system with an explanation: the pairs of words behind its score."""
    for name, explanation in zip((found.system, found.other), shown.explanations, strict=True):
        if explanation is None:
            continue
        parts = [
            f"{part.query_word} {part.sign} {part.document_word} {part.contribution:.3f}"
            for part in explanation.parts[:_SHOWN_PARTS]
        ]
        rest = explanation.parts[_SHOWN_PARTS:]
        if rest:
            parts.append(f"{len(rest)} more {sum(part.contribution for part in rest):.3f}")
        told = ", ".join(parts) or "no word of it is like a word of the query"
        yield f"{name} {explanation.score:.3f}: {told}"


def _record(found: Differences, one: Difference) -> dict[str, Any]:
    return {
        "id": one.id,
        "text": one.text,
        found.system: one.values[0],
        found.other: one.values[1],
        "change": one.change,
        "documents": [
            {
                "id": shown.id,
                "text": shown.text,
                "about": shown.about.rstrip(":"),
                found.system: shown.places[0],
                found.other: shown.places[1],
                "parts": {
                    name: [
                        [part.query_word, part.document_word, part.similarity, part.contribution]
                        for part in own.parts[:_SHOWN_PARTS]
                    ]
                    for name, own in zip(
                        (found.system, found.other), shown.explanations, strict=True
                    )
                    if own is not None
                },
            }
            for shown in one.shown
        ],
    }
