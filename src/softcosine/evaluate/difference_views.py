"""Views of a data set for `differences`: values per unit, and documents that show the reason.

For rankings these are the documents whose rank changed most: relevant ones, and the first wrong
one of the worse system. For labels it is the nearest training document for each system. For pairs
it is the second text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
