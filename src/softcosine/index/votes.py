"""How nearest neighbours vote for a class: hubs held back, near ones heard more.

In many dimensions a few documents stand among the neighbours of very many others, whatever those
are about (Radovanović, Nanopoulos & Ivanović 2010). What a document resembles its own neighbours by
says how much of a hub it is; a share of that is taken off its similarity with whoever asks, as
cross-domain similarity local scaling does (Conneau et al. 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AROUND",
    "CANDIDATES",
    "Neighborhood",
    "Voting",
    "VotingGrid",
    "best_voting",
    "class_votes",
    "hub_levels",
    "leave_one_out",
    "lowered",
    "voted",
]

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.int64]

# The nearest neighbour decides between classes of equal votes.
_NEAREST = 1e-6

# What votes are multiplied by at most: their sums stay finite.
_MOST = 1e300

# How many of a document's nearest say how much of a hub it is.
AROUND = 10

# How many nearest are found before hubs are held back.
CANDIDATES = 150


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """Training documents near each of some documents, best first.

    Attributes
    ----------
    ids : ndarray of shape (n_docs, n_candidates), int64
        Numbers of training documents; -1, behind all others, where there is none.
    scores : ndarray of shape (n_docs, n_candidates), float64
        0 where there is none.
    """

    ids: _Numbers
    scores: _Floats

    @classmethod
    def of(cls, ids: _Numbers, scores: _Floats) -> Self:
        """Return what a search gave; a document of score 0 has nothing in common, and no vote."""
        near = (ids >= 0) & (scores != 0.0)
        return cls(*_sorted(np.where(near, ids, -1), np.where(near, scores, 0.0)))


@dataclass(frozen=True, slots=True)
class Voting:
    r"""How neighbours vote.

    Attributes
    ----------
    n_neighbors : int
        How many vote.
    temperature : float
        A neighbour that is so much less similar than the nearest has a vote of 1/e; infinite where
        all votes count alike.
    hubness : float
        The share of a training document's mean similarity with its own neighbours that is taken
        off its similarity with others.
    balance : float
        The votes for a class are divided by its frequency in training to this power.
    """

    n_neighbors: int
    temperature: float
    hubness: float
    balance: float


@dataclass(frozen=True, slots=True)
class VotingGrid:
    """What a `Voting` is chosen from; every tuple is ascending, or the first is the plainest."""

    sizes: tuple[int, ...] = (1, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 100)
    temperatures: tuple[float, ...] = (np.inf, 0.2, 0.1, 0.05)
    hubnesses: tuple[float, ...] = (0.0, 0.25, 0.5)
    balances: tuple[float, ...] = (0.0, 0.25, 0.5)

    @property
    def votings(self) -> list[Voting]:
        """All combinations."""
        grids = (self.sizes, self.temperatures, self.hubnesses, self.balances)
        return [Voting(*values) for values in product(*grids)]


def best_voting(
    found: Neighborhood, labels: _Numbers, n_classes: int, grid: VotingGrid
) -> tuple[Voting, float]:
    """Choose by leaving out one training document at a time.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents among each other, none its own neighbour.
    labels : ndarray of shape (n_train,), int64
    n_classes : int
    grid : VotingGrid

    Returns
    -------
    voting : Voting
        Of equal ones the first in the order of `VotingGrid.votings`.
    error : float
        The share of training documents that the others label wrongly; NaN where nothing was to be
        chosen.
    """
    votings = grid.votings
    if len(votings) == 1 or found.ids.shape[1] == 0:
        return votings[0], float("nan")
    # Where training is small, a greater number of neighbours is all there are.
    sizes = {min(size, found.ids.shape[1]): size for size in reversed(grid.sizes)}
    errors: dict[Voting, float] = {}
    usual = np.bincount(labels, minlength=n_classes).argmax()
    for hubness in grid.hubnesses:
        near = leave_one_out(found, hubness)
        for temperature in grid.temperatures:
            for size, votes in _counted(near, labels, n_classes, temperature):
                if size not in sizes:
                    continue
                heard = votes.any(axis=1)
                for balance in grid.balances:
                    best = (votes * _factors(labels, n_classes, balance)).argmax(axis=1)
                    wrong = np.where(heard, best, usual) != labels
                    voting = Voting(sizes[size], temperature, hubness, balance)
                    errors[voting] = float(np.mean(wrong))
    chosen = min((voting for voting in votings if voting in errors), key=lambda own: errors[own])
    return chosen, errors[chosen]


def voted(
    around: Neighborhood, found: Neighborhood, labels: _Numbers, n_classes: int, grid: VotingGrid
) -> tuple[_Floats, Voting, float]:
    """Let the neighbours of some documents vote, by the voting that is best in training.

    Parameters
    ----------
    around : Neighborhood
        Of the training documents among each other, none its own neighbour.
    found : Neighborhood
        Of the documents to label.
    labels : ndarray of shape (n_train,), int64
    n_classes : int
    grid : VotingGrid

    Returns
    -------
    votes : ndarray of shape (n_docs, n_classes), float64
        As of `class_votes`.
    voting : Voting
    error : float
        Both as of `best_voting`.
    """
    voting, error = best_voting(around, labels, n_classes, grid)
    near = lowered(found, hub_levels(around), voting.hubness)
    return class_votes(near, labels, n_classes, voting), voting, error


def hub_levels(found: Neighborhood, n_around: int = AROUND) -> _Floats:
    """Return the mean similarity of every training document with its nearest ones.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents among each other, none its own neighbour.
    n_around : int
        So many of the nearest count.
    """
    if found.scores.shape[1] == 0:
        return np.zeros(len(found.scores))
    return np.asarray(found.scores[:, :n_around].mean(axis=1))


def lowered(found: Neighborhood, levels: _Floats, hubness: float) -> Neighborhood:
    """Take a share of every neighbour's level off its score; equal scores stand by number."""
    if hubness == 0.0:
        return found
    return _less(found, hubness * levels[found.ids])


def leave_one_out(found: Neighborhood, hubness: float, n_around: int = AROUND) -> Neighborhood:
    """Lower the scores of training documents among each other, as if who asks were not there.

    A document that is among the nearest of one that it asks about has no part in its level.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents, none its own neighbour.
    hubness : float
    n_around : int
    """
    n, width = found.ids.shape
    if hubness == 0.0 or width == 0:
        return found
    around = min(n_around, width)
    levels = hub_levels(found, around)[found.ids]
    # (who asks, about whom) for all that have part in the level of whom they ask about.
    about = np.repeat(np.arange(n), around)
    pairs = found.ids[:, :around].ravel() * n + about
    order = np.argsort(pairs)
    asked = np.arange(n)[:, None] * n + found.ids
    place = np.minimum(np.searchsorted(pairs[order], asked), len(pairs) - 1)
    part = pairs[order][place] == asked
    # Its part is what it scores when they ask; BM25 scores otherwise when it does.
    own = found.scores[:, :around].ravel()[order][place]
    rest = found.scores[:, : n_around + 1].sum(axis=1)[found.ids] - own
    n_rest = max(min(n_around, width - 1), 1)
    levels = np.where(part, rest / n_rest, levels)
    return _less(found, hubness * levels)


def class_votes(found: Neighborhood, labels: _Numbers, n_classes: int, voting: Voting) -> _Floats:
    """Return the share of the votes that every class gets, shape (n_docs, n_classes).

    Where no neighbour is, it is the class's share of training.

    Parameters
    ----------
    found : Neighborhood
        Scores lowered already.
    labels : ndarray of shape (n_train,), int64
    n_classes : int
    voting : Voting
    """
    factors = _factors(labels, n_classes, voting.balance)
    votes = np.zeros((len(found.ids), n_classes))
    for size, votes in _counted(found, labels, n_classes, voting.temperature):  # noqa: B007
        if size >= voting.n_neighbors:
            break
    votes = votes * factors
    total = votes.sum(axis=1, keepdims=True)
    shares = np.bincount(labels, minlength=n_classes) / max(len(labels), 1)
    return np.where(total > 0.0, votes / np.where(total > 0.0, total, 1.0), shares)


def _factors(labels: _Numbers, n_classes: int, balance: float) -> _Floats:
    """Return what the votes for every class are multiplied by."""
    shares = np.bincount(labels, minlength=n_classes) / max(len(labels), 1)
    with np.errstate(over="ignore"):
        factors = np.where(shares > 0.0, shares, 1.0) ** -balance
    return np.asarray(np.minimum(factors, _MOST))


def _counted(
    found: Neighborhood, labels: _Numbers, n_classes: int, temperature: float
) -> Iterator[tuple[int, _Floats]]:
    """Give the votes of the first one, two, three ... neighbours; the array is used again."""
    n, width = found.ids.shape
    votes, rows, of = np.zeros((n, n_classes)), np.arange(n), labels[found.ids]
    near = found.ids >= 0
    behind = np.where(near, found.scores - found.scores[:, :1], 0.0)
    with np.errstate(over="ignore"):  # whatever is far behind has a vote of 0
        weights = near * (1.0 if np.isinf(temperature) else np.exp(behind / temperature))
    for place in range(width):
        votes[rows, of[:, place]] += weights[:, place] * (1.0 + _NEAREST * (place == 0))
        yield place + 1, votes


def _less(found: Neighborhood, levels: _Floats) -> Neighborhood:
    scores = np.where(found.ids >= 0, found.scores - levels, 0.0)
    return Neighborhood(*_sorted(found.ids, scores))


def _sorted(ids: _Numbers, scores: _Floats) -> tuple[_Numbers, _Floats]:
    """Order by decreasing score, of equal ones by number; what is none stands behind."""
    order = np.lexsort((ids, -scores, ids < 0), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)
