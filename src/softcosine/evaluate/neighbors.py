"""Labels by the vote of nearest neighbours; how they vote is chosen in training alone.

For every document to label, the most similar training documents vote, as
`softcosine.index.votes` has it: near ones are heard more, hubs are held back. How many vote, and
how, is chosen by leaving one training document out at a time, for every system by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.system import FittedSystem, Ranked, System
from softcosine.index.votes import CANDIDATES, Neighborhood, Voting, VotingGrid, voted

__all__ = ["Choice", "Predictions", "around_each_other", "classified"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Choice:
    """How neighbours vote.

    Attributes
    ----------
    voting : Voting
        The temperature is in the system's own scores.
    error : float
        Of leaving one training document out, the one that chose; NaN where nothing was chosen.
    """

    voting: Voting
    error: float

    def to_dict(self) -> dict[str, float | None]:
        """Return the settings as JSON takes them; equal votes have no temperature."""
        own = self.voting
        return {
            "k": own.n_neighbors,
            "temperature": None if np.isinf(own.temperature) else own.temperature,
            "hubness": own.hubness,
            "balance": own.balance,
        }


@dataclass(frozen=True, slots=True)
class Predictions:
    """What was predicted for the test documents of every split.

    Attributes
    ----------
    labels : tuple of ndarray of shape (n_test,), int64
        For every split, positions among the set's ``classes``.
    choices : tuple of Choice
        What was chosen in the training part of every split.
    """

    labels: tuple[Numbers, ...]
    choices: tuple[Choice, ...]


def classified(
    dataset: ClassificationSet,
    system: System,
    *,
    grid: VotingGrid | None = None,
    fitted: Callable[[int, FittedSystem], None] | None = None,
) -> Predictions:
    """Label the test documents of every split.

    Parameters
    ----------
    dataset : ClassificationSet
    system : System
        Fitted on every split's training documents alone.
    grid : VotingGrid, optional
        What the vote is chosen from; of a single one nothing is chosen.
    fitted : callable, optional
        Told every split's position and fitted system.
    """
    grid = VotingGrid() if grid is None else grid
    labels, n_classes = dataset.label_numbers, len(dataset.classes)
    predicted, choices = [], []
    for position, split in enumerate(dataset.splits):
        known = dataset.documents.taken(split.train)
        own = system.fit(known, background=dataset.background)
        if fitted is not None:
            fitted(position, own)
        found = own.ranked(dataset.documents.taken(split.test), k=min(_depth(grid), len(known)))
        around = around_each_other(own, known, k=_depth(grid) if _needs_training(grid) else 0)
        unit = _unit(around)
        votes, voting, error = voted(
            _in_units(around, unit), _in_units(found, unit), labels[split.train], n_classes, grid
        )
        choices.append(Choice(replace(voting, temperature=voting.temperature * unit), error))
        predicted.append(votes.argmax(axis=1))
    return Predictions(tuple(predicted), tuple(choices))


def around_each_other(fitted: FittedSystem, documents: Documents, *, k: int) -> Ranked:
    """Rank for every training document the `k` best others.

    Parameters
    ----------
    fitted : FittedSystem
        Fitted on `documents`. It has seen their texts, never a label.
    documents : Documents
    k : int
    """
    n = len(documents)
    k = min(k, n - 1)
    if k < 1:
        return Ranked(np.zeros((n, 0), np.int64), np.zeros((n, 0)))
    found = fitted.ranked(documents, k=k + 1)
    # Itself moves behind the others, which keep their order.
    order = np.argsort(found.numbers == np.arange(n)[:, None], axis=1, kind="stable")[:, :k]
    numbers = np.take_along_axis(found.numbers, order, axis=1)
    return Ranked(numbers, np.take_along_axis(found.scores, order, axis=1))


def _depth(grid: VotingGrid) -> int:
    return max(CANDIDATES, *grid.sizes) if _needs_training(grid) else max(grid.sizes)


def _needs_training(grid: VotingGrid) -> bool:
    """Whether training documents have to be ranked for each other."""
    equal = grid.temperatures == (np.inf,) and grid.hubnesses == (0.0,)
    return len(grid.votings) > 1 or not equal


def _unit(around: Ranked) -> float:
    """Return what scores are divided by, for one grid to do for cosines and for BM25.

    It is the median score of a training document's nearest, at least 1.
    """
    best = np.abs(around.scores[:, 0]) if around.scores.size else np.ones(1)
    return max(1.0, float(np.median(best)))


def _in_units(found: Ranked, unit: float) -> Neighborhood:
    return Neighborhood.of(found.numbers, found.scores / unit)
