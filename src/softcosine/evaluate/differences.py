"""The largest wins and losses of one system against another, with explanations.

A view of a data set has values per unit, and documents that show the reason. For rankings these are
the documents whose rank changed most: relevant ones, and the first wrong one of the worse system.
For labels it is the nearest training document for each system. For pairs it is the second text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_whole
from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measured import Measured
from softcosine.evaluate.measures import lower_is_better
from softcosine.evaluate.neighbors import Predictions
from softcosine.evaluate.runs import Run
from softcosine.evaluate.statistics import midranks
from softcosine.evaluate.systems.system import FittedSystem
from softcosine.index.search.explanation import Explanation

_EXCERPT = 160
_RELEVANT, _WRONG = 2, 1  # documents shown of a query


@dataclass(frozen=True, slots=True)
class Shown:
    """A document that shows why two systems differ.

    Attributes
    ----------
    id, text : str
        The text is an excerpt.
    about : str
        Its judgement for the query: relevant or not, its label, or its score.
    places : tuple of str
        Its rank, label or score for each of the two systems.
    explanations : tuple of Explanation or None
        Explanation of each system's score; None if the system has none.
    """

    id: str
    text: str
    about: str
    places: tuple[str, str]
    explanations: tuple[Explanation | None, Explanation | None]


@dataclass(frozen=True, slots=True)
class View:
    """The units of a data set (queries, documents or pairs) with the values of two systems.

    Attributes
    ----------
    ids : tuple of str
    text : callable
        Returns the text of a unit by its number.
    values : tuple of ndarray of shape (n_units,)
        Values of the two systems.
    measure : str
        Name of the values.
    lower_is_better : bool
    shown : callable
        Yields the documents that explain a unit, by its number and whether the first system is
        better.
    """

    ids: tuple[str, ...]
    text: Callable[[int], str]
    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    measure: str
    lower_is_better: bool
    shown: Callable[[int, bool], Iterator[Shown]]


def excerpt(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1].rstrip() + "…"


@singledispatch
def view_of(dataset: Any, evaluation: Measured, names: tuple[str, str], measure: str) -> View:
    """Return the view of a data set for two systems."""
    raise AssertionError(type(dataset))


@view_of.register
def _(dataset: RankingSet, evaluation: Measured, names: tuple[str, str], measure: str) -> View:
    queries, numbers = dataset.judged, dataset.documents.numbers()
    texts, documents = queries.texts, dataset.documents.texts
    runs = [_run(evaluation, name) for name in names]

    def shown(unit: int, won: bool) -> Iterator[Shown]:
        id = queries.ids[unit]
        gains = dataset.qrels[id]
        query = queries.taken([unit])
        for document in _moved(runs, id, gains, numbers, won):
            ranks = [run.rank(id, document) for run in runs]
            yield Shown(
                document,
                excerpt(documents[numbers[document]]),
                "relevant" if gains.get(document, 0) > 0 else "not relevant",
                (_rank_shown(ranks[0]), _rank_shown(ranks[1])),
                _explained(evaluation, names, query, numbers[document]),
            )

    values = [evaluation.figures[name].per_unit[measure] for name in names]
    return View(
        queries.ids, texts.__getitem__, (values[0], values[1]), measure,
        lower_is_better(measure), shown,
    )  # fmt: skip


@view_of.register
def _(
    dataset: ClassificationSet, evaluation: Measured, names: tuple[str, str], measure: str
) -> View:
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
    return View(tested.ids, tested.texts.__getitem__, (wrong[0], wrong[1]), what, True, shown)


@view_of.register
def _(dataset: PairSet, evaluation: Measured, names: tuple[str, str], measure: str) -> View:
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
    return View(ids, dataset.left.__getitem__, (far[0], far[1]), "distance of ranks", True, shown)


def _moved(runs: list[Run], query: str, gains: Any, there: Container[str], won: bool) -> list[str]:
    """Return the documents that best distinguish two rankings.

    A run from elsewhere can have documents that are not in `there`; they have no text and are
    left out.
    """
    closeness = [
        {id: 1.0 / place for place, id in enumerate(run.rankings.get(query, ()), 1) if id in there}
        for run in runs
    ]
    better, worse = closeness if won else closeness[::-1]
    rise = {id: better.get(id, 0.0) - worse.get(id, 0.0) for id in {**better, **worse}}
    relevant = sorted((-up, id) for id, up in rise.items() if up > 0 and gains.get(id, 0) > 0)
    wrong = sorted((up, id) for id, up in rise.items() if up < 0 and gains.get(id, 0) <= 0)
    return [id for _, id in (*relevant[:_RELEVANT], *wrong[:_WRONG])]


def _run(evaluation: Measured, name: str) -> Run:
    run = evaluation.answers[name]
    assert isinstance(run, Run)
    return run


def _rank_shown(rank: int | None) -> str:
    return "not found" if rank is None else f"rank {rank:,}"


def _explained(
    evaluation: Measured, names: tuple[str, str], query: Documents, number: int
) -> tuple[Explanation | None, Explanation | None]:
    fitted: list[FittedSystem | None] = [evaluation.fitted.get(name) for name in names]
    ours, theirs = (None if own is None else own.explained(query, number) for own in fitted)
    return ours, theirs


def _only(
    place: int, both: tuple[Explanation | None, Explanation | None]
) -> tuple[Explanation | None, Explanation | None]:
    return (both[0], None) if place == 0 else (None, both[1])


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
