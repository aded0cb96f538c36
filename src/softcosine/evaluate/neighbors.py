"""Classification by the vote of nearest neighbours.

For every test document the most similar training documents vote; `softcosine.sklearn.votes` defines
the weights, which favour near documents over hubs. The number of neighbours and the weights are
chosen for every system by leave-one-out on the training documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.system import FittedSystem, Ranked, System
from softcosine.sklearn.votes import CANDIDATES, Neighborhood, Voting, VotingGrid, voted

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen voting of neighbours.

    Attributes
    ----------
    voting : Voting
        The temperature is in units of the system's scores.
    error : float
        Leave-one-out error of the choice; NaN if there was no choice.
    """

    voting: Voting
    error: float

    def to_dict(self) -> dict[str, float | None]:
        """Return the settings for JSON; equal votes have temperature None."""
        own = self.voting
        return {
            "k": own.n_neighbors,
            "temperature": None if np.isinf(own.temperature) else own.temperature,
            "hubness": own.hubness,
            "balance": own.balance,
        }


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predicted labels of the test documents of every split.

    Attributes
    ----------
    labels : tuple of ndarray of shape (n_test,), int64
        For every split, positions in ``classes`` of the data set.
    choices : tuple of Choice
        The voting chosen on the training documents of every split.
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
    """Predict the labels of the test documents of every split.

    Parameters
    ----------
    dataset : ClassificationSet
    system : System
        Fitted on the training documents of every split.
    grid : VotingGrid, optional
        Votings to choose from.
    fitted : callable, optional
        Called with the position and the fitted system of every split.
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
    """Return the `k` best other documents for every training document.

    Parameters
    ----------
    fitted : FittedSystem
        Fitted on the texts of `documents`, without labels.
    documents : Documents
    k : int
    """
    n = len(documents)
    k = min(k, n - 1)
    if k < 1:
        return Ranked(np.zeros((n, 0), np.int64), np.zeros((n, 0)))
    found = fitted.ranked(documents, k=k + 1)
    # The document itself moves to the end; the others keep their order.
    order = np.argsort(found.numbers == np.arange(n)[:, None], axis=1, kind="stable")[:, :k]
    numbers = np.take_along_axis(found.numbers, order, axis=1)
    return Ranked(numbers, np.take_along_axis(found.scores, order, axis=1))


def _depth(grid: VotingGrid) -> int:
    return max(CANDIDATES, *grid.sizes) if _needs_training(grid) else max(grid.sizes)


def _needs_training(grid: VotingGrid) -> bool:
    """Whether the choice needs rankings of the training documents."""
    equal = grid.temperatures == (np.inf,) and grid.hubnesses == (0.0,)
    return len(grid.votings) > 1 or not equal


def _unit(around: Ranked) -> float:
    """Return the divisor of scores that makes one grid fit cosines and BM25.

    It is the median score of the nearest neighbour of a training document, at least 1.
    """
    best = np.abs(around.scores[:, 0]) if around.scores.size else np.ones(1)
    return max(1.0, float(np.median(best)))


def _in_units(found: Ranked, unit: float) -> Neighborhood:
    return Neighborhood.of(found.numbers, found.scores / unit)
