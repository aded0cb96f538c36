"""Classification by votes of nearest neighbors, with a correction for hubs.

In many dimensions a few documents (hubs) are among the nearest neighbors of very many others,
regardless of their content (Radovanović, Nanopoulos & Ivanović 2010). The mean similarity of a
document with its own nearest neighbors measures how much of a hub it is. A share of this mean is
subtracted from its similarity with other documents, as in cross-domain similarity local scaling
(Conneau et al. 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Numbers = NDArray[np.int64]

# Weight of the tie-break between classes of equal votes: the class of the nearest neighbor wins.
_NEAREST = 1e-6

# Upper limit of class factors, so that sums of votes stay finite.
_MOST = 1e300

# Number of nearest neighbors in the hub measure of a document.
AROUND = 10

# Number of nearest neighbors found before the hub correction.
CANDIDATES = 150


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """The nearest training documents of each document, best first.

    Attributes
    ----------
    ids : ndarray of shape (n_docs, n_candidates), int64
        Numbers of training documents; -1, after all others, if there are fewer.
    scores : ndarray of shape (n_docs, n_candidates), float64
        0 for -1.
    """

    ids: _Numbers
    scores: _Floats

    @classmethod
    def of(cls, ids: _Numbers, scores: _Floats) -> Self:
        """Return a neighborhood from search results; documents of score 0 have no vote."""
        near = (ids >= 0) & (scores != 0.0)
        return cls(*_sorted(np.where(near, ids, -1), np.where(near, scores, 0.0)))


@dataclass(frozen=True, slots=True)
class Voting:
    r"""Parameters of the vote.

    Attributes
    ----------
    n_neighbors : int
        Number of neighbors that vote.
    temperature : float
        A neighbor whose score is lower than the nearest one's by this much has a vote of 1/e;
        infinite for equal votes.
    hubness : float
        Share of the mean similarity of a training document with its own neighbors that is
        subtracted from its similarity with others.
    balance : float
        Votes for a class are divided by its training frequency to this power.
    """

    n_neighbors: int
    temperature: float
    hubness: float
    balance: float


@dataclass(frozen=True, slots=True)
class VotingGrid:
    """The choices of a `Voting`; each tuple is ascending, or has the simplest choice first."""

    sizes: tuple[int, ...] = (1, 3, 5, 7, 10, 15, 20, 30, 40, 60, 80, 100)
    temperatures: tuple[float, ...] = (np.inf, 0.2, 0.1, 0.05)
    hubnesses: tuple[float, ...] = (0.0, 0.25, 0.5)
    balances: tuple[float, ...] = (0.0, 0.25, 0.5)

    @property
    def votings(self) -> list[Voting]:
        """All combinations of the choices."""
        grids = (self.sizes, self.temperatures, self.hubnesses, self.balances)
        return [Voting(*values) for values in product(*grids)]


def best_voting(
    found: Neighborhood, labels: _Numbers, n_classes: int, grid: VotingGrid
) -> tuple[Voting, float]:
    """Return the voting with the lowest leave-one-out error on the training documents.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents among themselves; none is its own neighbor.
    labels : ndarray of shape (n_train,), int64
    n_classes : int
    grid : VotingGrid

    Returns
    -------
    voting : Voting
        The first of equal ones in the order of `VotingGrid.votings`.
    error : float
        Share of training documents that the others label wrongly; NaN if there is no choice to
        make.
    """
    votings = grid.votings
    if len(votings) == 1 or found.ids.shape[1] == 0:
        return votings[0], float("nan")
    # In a small training set several sizes reduce to the number of all neighbors.
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
    """Return the votes for documents, by the voting that is best on the training documents.

    Parameters
    ----------
    around : Neighborhood
        Of the training documents among themselves; none is its own neighbor.
    found : Neighborhood
        Of the documents to classify.
    labels : ndarray of shape (n_train,), int64
    n_classes : int
    grid : VotingGrid

    Returns
    -------
    votes : ndarray of shape (n_docs, n_classes), float64
        See `class_votes`.
    voting : Voting
    error : float
        See `best_voting`.
    """
    voting, error = best_voting(around, labels, n_classes, grid)
    near = lowered(found, hub_levels(around), voting.hubness)
    return class_votes(near, labels, n_classes, voting), voting, error


def hub_levels(found: Neighborhood, n_around: int = AROUND) -> _Floats:
    """Return the mean similarity of each training document with its nearest neighbors.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents among themselves; none is its own neighbor.
    n_around : int
        Number of nearest neighbors in the mean.
    """
    if found.scores.shape[1] == 0:
        return np.zeros(len(found.scores))
    return np.asarray(found.scores[:, :n_around].mean(axis=1))


def lowered(found: Neighborhood, levels: _Floats, hubness: float) -> Neighborhood:
    """Return scores minus a share of each neighbor's hub level; ties by number."""
    if hubness == 0.0:
        return found
    return _less(found, hubness * levels[found.ids])


def leave_one_out(found: Neighborhood, hubness: float, n_around: int = AROUND) -> Neighborhood:
    """Return corrected scores among training documents, as if each query document were new.

    The query document is left out of the hub level of its neighbors.

    Parameters
    ----------
    found : Neighborhood
        Of the training documents; none is its own neighbor.
    hubness : float
    n_around : int
    """
    n, width = found.ids.shape
    if hubness == 0.0 or width == 0:
        return found
    around = min(n_around, width)
    levels = hub_levels(found, around)[found.ids]
    # (query document, neighbor) for all query documents that are in the neighbor's level.
    about = np.repeat(np.arange(n), around)
    pairs = found.ids[:, :around].ravel() * n + about
    order = np.argsort(pairs)
    asked = np.arange(n)[:, None] * n + found.ids
    place = np.minimum(np.searchsorted(pairs[order], asked), len(pairs) - 1)
    part = pairs[order][place] == asked
    # Its contribution is the score with the neighbor as query; BM25 is not symmetric.
    own = found.scores[:, :around].ravel()[order][place]
    rest = found.scores[:, : n_around + 1].sum(axis=1)[found.ids] - own
    n_rest = max(min(n_around, width - 1), 1)
    levels = np.where(part, rest / n_rest, levels)
    return _less(found, hubness * levels)


def class_votes(found: Neighborhood, labels: _Numbers, n_classes: int, voting: Voting) -> _Floats:
    """Return each class's share of the votes, shape (n_docs, n_classes).

    Without neighbors, a class has its share of the training documents.

    Parameters
    ----------
    found : Neighborhood
        With corrected scores.
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
    """Return the factor of the votes for each class."""
    shares = np.bincount(labels, minlength=n_classes) / max(len(labels), 1)
    with np.errstate(over="ignore"):
        factors = np.where(shares > 0.0, shares, 1.0) ** -balance
    return np.asarray(np.minimum(factors, _MOST))


def _counted(
    found: Neighborhood, labels: _Numbers, n_classes: int, temperature: float
) -> Iterator[tuple[int, _Floats]]:
    """Yield the votes of the first 1, 2, 3, ... neighbors; the yielded array is reused."""
    n, width = found.ids.shape
    votes, rows, of = np.zeros((n, n_classes)), np.arange(n), labels[found.ids]
    near = found.ids >= 0
    behind = np.where(near, found.scores - found.scores[:, :1], 0.0)
    with np.errstate(over="ignore"):  # votes of very distant neighbors are 0
        weights = near * (1.0 if np.isinf(temperature) else np.exp(behind / temperature))
    for place in range(width):
        votes[rows, of[:, place]] += weights[:, place] * (1.0 + _NEAREST * (place == 0))
        yield place + 1, votes


def _less(found: Neighborhood, levels: _Floats) -> Neighborhood:
    scores = np.where(found.ids >= 0, found.scores - levels, 0.0)
    return Neighborhood(*_sorted(found.ids, scores))


def _sorted(ids: _Numbers, scores: _Floats) -> tuple[_Numbers, _Floats]:
    """Return neighbors by decreasing score, ties by number; -1 comes last."""
    order = np.lexsort((ids, -scores, ids < 0), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1)
