"""Run of one system on one data set, with its time."""

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
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.system import FittedSystem, System


@dataclass(frozen=True, slots=True)
class Seconds:
    """Wall-clock seconds of a system; the first run of a kernel includes its compilation.

    Encoding of texts by sentence encoders does not count, because systems share the vectors; the
    notes have its time.

    Attributes
    ----------
    fit : float
        Learning from the documents of all splits.
    answer : float
        Ranking, scoring or labelling; for labels, including the choice of k.
    """

    fit: float
    answer: float


@dataclass(frozen=True, slots=True)
class Answered:
    """Output of a system with its time.

    Attributes
    ----------
    answers : Run, Predictions or ndarray of shape (n_pairs,)
    seconds : Seconds
    fitted : FittedSystem
        For labels, the system fitted on the first split.
    """

    answers: Answers
    seconds: Seconds
    fitted: FittedSystem

    @property
    def note(self) -> str:
        """Note of the fitted system, such as its encoding speed; empty if it has none."""
        return str(getattr(self.fitted, "note", ""))


def answered(dataset: DataSet, system: System, *, depth: int = DEPTH) -> Answered:
    """Fit a system on the documents of a data set and run it; it sees no judgements.

    Parameters
    ----------
    dataset : RankingSet, ClassificationSet or PairSet
        For a classification set, the system is fitted on the training documents of every split.
    system : System
    depth : int
        Number of documents ranked per query.

    Raises
    ------
    InvalidInputError
        If `dataset` is of another type, or the system returns scores that are not finite.
    """
    watch = _Watch(system)
    answers = _given(dataset, watch, depth)
    assert watch.first is not None  # every data set fits the system
    return Answered(answers, watch.seconds, watch.first)


def _clock() -> float:
    """Return the seconds of a clock that stands still while a sentence encoder works."""
    return time.perf_counter() - SentenceModel.spent


class _Watch:
    """Wrapper of a system that measures the time of fitting and keeps the first fitted system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._started = _clock()
        self._fit = 0.0
        self.first: FittedSystem | None = None

    @property
    def name(self) -> str:
        return self._system.name

    @property
    def seconds(self) -> Seconds:
        whole = _clock() - self._started
        return Seconds(self._fit, whole - self._fit)

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSystem:
        started = _clock()
        fitted = self._system.fit(documents, background=background)
        self._fit += _clock() - started
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
