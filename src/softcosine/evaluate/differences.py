"""Where one system beats another, and where it loses: the largest differences, and why.

Of rankings, a query's documents are shown that moved most: relevant ones, and the first wrong one
of the system that did worse. Of labels, the training document that is nearest for each system. Of
pairs, the two texts. Each with the pairs of words that made its score, for both systems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.evaluation import Evaluation
from softcosine.evaluate.measures import lower_is_better
from softcosine.evaluate.neighbors import Predictions
from softcosine.evaluate.runs import Run
from softcosine.evaluate.statistics import midranks
from softcosine.evaluate.systems.system import FittedSystem
from softcosine.index.explanation import Explanation

__all__ = ["Difference", "Differences", "Shown", "differences"]

_EXCERPT = 160
_RELEVANT, _WRONG = 2, 1  # documents shown of a query
_SHOWN_PARTS = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """A document that shows why two systems differ.

    Attributes
    ----------
    id, text : str
        The text is cut short.
    about : str
        What it is for the query: relevant or not, its label, or its score.
    places : tuple of str
        What each system makes of it, such as its rank; ours first.
    explanations : tuple of Explanation or None
        Why each system scores it so; None where it cannot say, or does not show it.
    """

    id: str
    text: str
    about: str
    places: tuple[str, str]
    explanations: tuple[Explanation | None, Explanation | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """What two systems make of one query, document or pair.

    Attributes
    ----------
    id, text : str
    values : tuple of float
        Of the measure; ours first. Of pairs, how far the rank of the score is from that of the
        right one, as a share of all pairs.
    change : float
        How much better ours is; negative where it is worse.
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
        The largest first.
    n_better, n_worse, n_equal : int
        Of all queries, documents or pairs.
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
        """Return all of it as JSON takes it."""
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
        """Return them as nested lists."""
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
        """Who is compared with whom, and how often each is better."""
        return (
            f"{self.system} against {self.other} by {self.measure}: better {self.n_better:,} "
            f"times, worse {self.n_worse:,}, equal {self.n_equal:,}"
        )

    def __str__(self) -> str:
        return self.to_markdown()


def differences(
    evaluation: Evaluation,
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
        Explanations are given of the systems that it kept fitted, see ``keep`` of `evaluate`.
    system : str
    against : str, optional
        Another of its systems; the baseline by default.
    measure : str, optional
        The first by default. Of labels it is the error of the first split, and of pairs how far
        ranks are from the right ones, whatever is named.
    n : int
        How many of each.

    Raises
    ------
    InvalidInputError
        If a system or measure is not there, both are the same, or `n` is less than 1.
    """
    other = evaluation.baseline if against is None else against
    for name in (system, other):
        if name not in evaluation.figures:
            raise InvalidInputError(
                f"there is no system {name!r}; there are {', '.join(evaluation.figures)}."
            )
    if system == other:
        raise InvalidInputError(f"{system!r} cannot be compared with itself; name another system.")
    if n < 1:
        raise InvalidInputError(f"n is {n}; at least 1 was needed.")
    chosen = evaluation.measures[0] if measure is None else measure
    if chosen not in evaluation.measures:
        raise InvalidInputError(
            f"{chosen!r} was not measured; there is {', '.join(evaluation.measures)}."
        )
    view = _view(evaluation.dataset, evaluation, (system, other), chosen)
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
    """Return what a difference is of, and how large it is, in a line."""
    ours, theirs = one.values
    return (
        f"{one.change:+.3f} ({found.system} {ours:.3f}, {found.other} {theirs:.3f})  "
        f"{one.id}: {excerpt(one.text)}"
    )


def shown_line(found: Differences, shown: Shown) -> str:
    """Return what a document is, and what each system makes of it, in a line."""
    ours, theirs = shown.places
    told = f"{found.system}: {ours}; {found.other}: {theirs}"
    return f"{shown.about} {shown.id} ({told}): {shown.text}"


def reasons(found: Differences, shown: Shown) -> Iterator[str]:
    """Give for each system that can say it the pairs of words that made a score, in a line."""
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


def excerpt(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class _View:
    """What differences are between: units with ids and texts, and a value of each system."""

    ids: tuple[str, ...]
    text: Callable[[int], str]
    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    measure: str
    lower_is_better: bool
    shown: Callable[[int, bool], Iterator[Shown]]


@singledispatch
def _view(dataset: Any, evaluation: Evaluation, names: tuple[str, str], measure: str) -> _View:
    raise AssertionError(type(dataset))


@_view.register
def _(dataset: RankingSet, evaluation: Evaluation, names: tuple[str, str], measure: str) -> _View:
    queries, numbers = dataset.judged, dataset.documents.numbers()
    texts, documents = queries.texts, dataset.documents.texts
    runs = [_run(evaluation, name) for name in names]

    def shown(unit: int, won: bool) -> Iterator[Shown]:
        id = queries.ids[unit]
        gains = dataset.qrels[id]
        query = queries.taken([unit])
        for document in _moved(runs, id, gains, won):
            ranks = [run.rank(id, document) for run in runs]
            yield Shown(
                document,
                excerpt(documents[numbers[document]]),
                "relevant" if gains.get(document, 0) > 0 else "not relevant",
                (_rank_shown(ranks[0]), _rank_shown(ranks[1])),
                _explained(evaluation, names, query, numbers[document]),
            )

    values = [evaluation.figures[name].per_unit[measure] for name in names]
    return _View(
        queries.ids, texts.__getitem__, (values[0], values[1]), measure,
        lower_is_better(measure), shown,
    )  # fmt: skip


@_view.register
def _(
    dataset: ClassificationSet, evaluation: Evaluation, names: tuple[str, str], measure: str
) -> _View:
    split = dataset.splits[0]
    tested, known = dataset.documents.taken(split.test), dataset.documents.taken(split.train)
    labels = [dataset.labels[number] for number in split.test]
    said = []
    for name in names:
        answers = evaluation.answers[name]
        assert isinstance(answers, Predictions)
        said.append([dataset.classes[label] for label in answers.labels[0]])
    wrong = [
        np.array([float(one != right) for one, right in zip(own, labels, strict=True)])
        for own in said
    ]

    def shown(unit: int, won: bool) -> Iterator[Shown]:
        query = tested.taken([unit])
        for place, name in enumerate(names):
            fitted = evaluation.fitted.get(name)
            if fitted is None:
                continue
            number = int(fitted.ranked(query, k=1).numbers[0, 0])
            if number < 0:
                continue
            nearest = known.taken([number])
            yield Shown(
                nearest.ids[0],
                excerpt(nearest.texts[0]),
                f"right is {labels[unit]}; nearest for {name}, "
                f"{dataset.labels[split.train[number]]}:",
                (said[0][unit], said[1][unit]),
                _only(place, _explained(evaluation, names, query, number)),
            )

    what = "error" if len(dataset.splits) == 1 else "error of the first split"
    return _View(tested.ids, tested.texts.__getitem__, (wrong[0], wrong[1]), what, True, shown)


@_view.register
def _(dataset: PairSet, evaluation: Evaluation, names: tuple[str, str], measure: str) -> _View:
    n = len(dataset)
    right = midranks(dataset.scores) / n
    scores = [np.asarray(evaluation.answers[name], np.float64) for name in names]
    ranks = [midranks(own) / n for own in scores]

    def shown(unit: int, won: bool) -> Iterator[Shown]:
        query = Documents.of([dataset.left[unit]])
        places = [
            f"{own[unit]:.3f}, rank {100 * rank[unit]:.0f} %"
            for own, rank in zip(scores, ranks, strict=True)
        ]
        yield Shown(
            str(unit + 1),
            excerpt(dataset.right[unit]),
            f"right is {dataset.scores[unit]:g}, rank {100 * right[unit]:.0f} %; pair",
            (places[0], places[1]),
            _explained(evaluation, names, query, n + unit),
        )

    far = [np.abs(own - right) for own in ranks]
    ids = tuple(str(unit + 1) for unit in range(n))
    return _View(ids, dataset.left.__getitem__, (far[0], far[1]), "distance of ranks", True, shown)


def _moved(runs: list[Run], query: str, gains: Any, won: bool) -> list[str]:
    """Return the documents that best tell two rankings apart."""
    closeness = [
        {id: 1.0 / place for place, id in enumerate(run.rankings.get(query, ()), 1)} for run in runs
    ]
    better, worse = closeness if won else closeness[::-1]
    rise = {id: better.get(id, 0.0) - worse.get(id, 0.0) for id in {**better, **worse}}
    relevant = sorted((-up, id) for id, up in rise.items() if up > 0 and gains.get(id, 0) > 0)
    wrong = sorted((up, id) for id, up in rise.items() if up < 0 and gains.get(id, 0) <= 0)
    return [id for _, id in (*relevant[:_RELEVANT], *wrong[:_WRONG])]


def _run(evaluation: Evaluation, name: str) -> Run:
    run = evaluation.answers[name]
    assert isinstance(run, Run)
    return run


def _rank_shown(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank:,}"


def _explained(
    evaluation: Evaluation, names: tuple[str, str], query: Documents, number: int
) -> tuple[Explanation | None, Explanation | None]:
    fitted: list[FittedSystem | None] = [evaluation.fitted.get(name) for name in names]
    ours, theirs = (None if own is None else own.explained(query, number) for own in fitted)
    return ours, theirs


def _only(
    place: int, both: tuple[Explanation | None, Explanation | None]
) -> tuple[Explanation | None, Explanation | None]:
    return (both[0], None) if place == 0 else (None, both[1])


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
