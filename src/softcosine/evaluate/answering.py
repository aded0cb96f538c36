"""One system on one data set: what it answers, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.datasets.loading import DataSet
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measures import Answers
from softcosine.evaluate.neighbors import classified
from softcosine.evaluate.runs import DEPTH, run_of
from softcosine.evaluate.systems.system import FittedSystem, System

__all__ = ["Answered", "Seconds", "answered"]


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long a system took, as a person would wait; the first run of a kernel compiles it.

    Attributes
    ----------
    fit : float
        To learn from the documents, of all splits together.
    answer : float
        To rank, score or label all that was asked; of labels, with the choice of k.
    """

    fit: float
    answer: float


@dataclass(frozen=True, slots=True)
class Answered:
    """What a system gave.

    Attributes
    ----------
    answers : Run, Predictions or ndarray of shape (n_pairs,)
    seconds : Seconds
    fitted : FittedSystem
        Of labels, that of the first split.
    """

    answers: Answers
    seconds: Seconds
    fitted: FittedSystem

    @property
    def note(self) -> str:
        """What the fitted system tells of itself, such as how quickly it encoded; or nothing."""
        return str(getattr(self.fitted, "note", ""))


def answered(dataset: DataSet, system: System, *, depth: int = DEPTH) -> Answered:
    """Fit a system on a set's documents and have it answer; it sees no judgement.

    Parameters
    ----------
    dataset : RankingSet, ClassificationSet or PairSet
        Of documents with labels, every split fits it on its training part.
    system : System
    depth : int
        How many documents are ranked for a query.

    Raises
    ------
    InvalidInputError
        If the set is none, or the system gives scores that are no numbers.
    """
    watch = _Watch(system)
    answers = _given(dataset, watch, depth)
    assert watch.first is not None  # nothing is answered by a system that was not fitted
    return Answered(answers, watch.seconds, watch.first)


class _Watch:
    """A system that measures how long its fitting takes, and keeps the first that it gave."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._started = time.perf_counter()
        self._fit = 0.0
        self.first: FittedSystem | None = None

    @property
    def name(self) -> str:
        return self._system.name

    @property
    def seconds(self) -> Seconds:
        whole = time.perf_counter() - self._started
        return Seconds(self._fit, whole - self._fit)

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSystem:
        started = time.perf_counter()
        fitted = self._system.fit(documents, background=background)
        self._fit += time.perf_counter() - started
        if self.first is None:
            self.first = fitted
        return fitted


@singledispatch
def _given(dataset: Any, system: System, depth: int) -> Answers:
    raise InvalidInputError(
        f"the data set is of type {type(dataset).__name__}; pass what "
        "softcosine.evaluate.datasets.load gives."
    )


@_given.register
def _(dataset: RankingSet, system: System, depth: int) -> Answers:
    fitted = system.fit(dataset.documents, background=dataset.background)
    return run_of(dataset, fitted, depth=depth)


@_given.register
def _(dataset: ClassificationSet, system: System, depth: int) -> Answers:
    return classified(dataset, system)


@_given.register
def _(dataset: PairSet, system: System, depth: int) -> Answers:
    fitted = system.fit(dataset.documents, background=dataset.background)
    return fitted.paired(dataset.left, dataset.right)
