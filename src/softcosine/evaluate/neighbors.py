"""Labels by the vote of nearest neighbours, their number and their votes chosen in training alone.

For every document to label, the most similar training documents vote, by one of `VOTES`; how many
of them and by which vote is chosen by cross-validation within the training part: all training
documents are ranked for each other once, and a fold's documents are labelled by those of the other
folds. A tie goes to the label whose first voter is the nearest; a document like no other gets the
label that is most frequent in training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.system import FittedSystem, Ranked, System

__all__ = [
    "K_GRID",
    "VOTES",
    "Choice",
    "Predictions",
    "choose_neighbors",
    "classified",
    "nearest_labels",
]

Values = NDArray[np.float64]
Numbers = NDArray[np.int64]

K_GRID = (1, 3, 5, 7, 9, 13, 19, 25, 35, 49)
N_FOLDS = 5


def _count(scores: Values) -> Values:
    return np.ones_like(scores)


def _similarity(scores: Values) -> Values:
    return np.maximum(scores, 0.0)


def _square(scores: Values) -> Values:
    return np.maximum(scores, 0.0) ** 2


# What a neighbour's vote weighs by its similarity.
VOTES: dict[str, Callable[[Values], Values]] = {
    "count": _count,
    "similarity": _similarity,
    "square": _square,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """How many neighbours vote, and how.

    Attributes
    ----------
    k : int
    vote : str
        One of `VOTES`.
    error : float
        Of the cross-validation that chose it.
    """

    k: int
    vote: str
    error: float


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
    k: Sequence[int] = K_GRID,
    votes: Sequence[str] = tuple(VOTES),
    n_folds: int = N_FOLDS,
    random_state: int = 0,
    fitted: Callable[[int, FittedSystem], None] | None = None,
) -> Predictions:
    """Label the test documents of every split.

    Parameters
    ----------
    dataset : ClassificationSet
    system : System
        Fitted on every split's training documents alone.
    k : sequence of int
        To choose from; where it is one, and `votes` too, nothing is chosen.
    votes : sequence of str
        Of `VOTES`, to choose from.
    n_folds : int
    random_state : int
        Of the folds.
    fitted : callable, optional
        Told every split's position and fitted system.

    Raises
    ------
    InvalidInputError
        If there is no such vote, or `k` or `n_folds` is out of range.
    """
    _check(k, votes, n_folds)
    labels, n_classes = dataset.label_numbers, len(dataset.classes)
    predicted, choices = [], []
    for position, split in enumerate(dataset.splits):
        known = dataset.documents.taken(split.train)
        own = system.fit(known, background=dataset.background)
        if fitted is not None:
            fitted(position, own)
        found = own.ranked(dataset.documents.taken(split.test), k=min(max(k), len(known)))
        if len(k) * len(votes) == 1:
            choice = Choice(k[0], votes[0], float("nan"))
        else:
            choice = choose_neighbors(
                own, known, labels[split.train], n_classes, k=k, votes=votes, n_folds=n_folds,
                random_state=random_state,
            )  # fmt: skip
        choices.append(choice)
        predicted.append(nearest_labels(found, labels[split.train], n_classes, choice))
    return Predictions(tuple(predicted), tuple(choices))


def nearest_labels(found: Ranked, labels: Numbers, n_classes: int, choice: Choice) -> Numbers:
    """Return the label of every query, shape (n_queries,).

    Parameters
    ----------
    found : Ranked
        Training documents for every query.
    labels : ndarray of shape (n_train,), int64
        Of the training documents.
    n_classes : int
    choice : Choice
    """
    *_, (_, predicted) = _votes(found, labels, n_classes, (choice.k,), choice.vote)
    return predicted


def choose_neighbors(
    fitted: FittedSystem,
    documents: Documents,
    labels: Numbers,
    n_classes: int,
    *,
    k: Sequence[int] = K_GRID,
    votes: Sequence[str] = tuple(VOTES),
    n_folds: int = N_FOLDS,
    random_state: int = 0,
) -> Choice:
    """Choose by cross-validation how many neighbours vote, and how.

    Parameters
    ----------
    fitted : FittedSystem
        Fitted on `documents`. It has seen their texts, never a label.
    documents : Documents
    labels : ndarray of shape (n_documents,), int64
    n_classes : int
    k, votes
        To choose from; of equal errors, the smaller k and the earlier vote.
    n_folds : int
        As many as documents leaves out one at a time.
    random_state : int

    Raises
    ------
    InvalidInputError
        If there is no such vote, or `k` or `n_folds` is out of range.
    """
    _check(k, votes, n_folds)
    n = len(documents)
    folds = np.empty(n, np.int64)
    folds[np.random.default_rng(random_state).permutation(n)] = np.arange(n) % min(n_folds, n)
    found = _of_other_folds(fitted, documents, folds, min(max(k), n))
    errors = {
        (of, votes.index(vote)): float(np.mean(predicted != labels))
        for vote in votes
        for of, predicted in _votes(found, labels, n_classes, k, vote)
    }
    of, position = min(errors, key=lambda key: (errors[key], key))
    return Choice(of, votes[position], errors[of, position])


def _of_other_folds(fitted: FittedSystem, documents: Documents, folds: Numbers, k: int) -> Ranked:
    """Rank for every document the `k` best of other folds than its own."""
    n = len(documents)
    numbers, scores = np.full((n, k), -1, np.int64), np.zeros((n, k))
    rows, depth = np.arange(n), min(n, 2 * k + 10)
    while rows.size:
        found = fitted.ranked(documents.taken(rows), k=depth)
        other = (found.numbers >= 0) & (folds[found.numbers] != folds[rows, None])
        enough = (other.sum(axis=1) >= k) | (found.numbers < 0).any(axis=1)
        enough |= depth == n
        # What is of another fold moves to the front, in its order.
        front = np.argsort(~other, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(other, front, axis=1)
        width = front.shape[1]
        own = np.ix_(rows, np.arange(width))
        numbers[own] = np.where(kept, np.take_along_axis(found.numbers, front, axis=1), -1)
        scores[own] = np.where(kept, np.take_along_axis(found.scores, front, axis=1), 0.0)
        rows, depth = rows[~enough], min(n, 2 * depth)
    return Ranked(numbers, scores)


def _votes(
    found: Ranked, labels: Numbers, n_classes: int, k: Sequence[int], vote: str
) -> Iterator[tuple[int, Numbers]]:
    """Give for every `k`, ascending, the label of every query."""
    n, depth = found.numbers.shape
    weights = np.where(found.numbers >= 0, VOTES[vote](found.scores), 0.0)
    total, first = np.zeros((n, n_classes)), np.full((n, n_classes), depth)
    rows, asked = np.arange(n), sorted(set(k))
    usual = int(np.bincount(labels, minlength=n_classes).argmax())
    for place in range(max(asked)):
        if place < depth:
            of = labels[found.numbers[:, place]]
            total[rows, of] += weights[:, place]
            voted = weights[:, place] > 0.0
            first[rows[voted], of[voted]] = np.minimum(first[rows[voted], of[voted]], place)
        if place + 1 in asked:
            best = total.max(axis=1, keepdims=True)
            chosen = np.where(total == best, first, depth + 1).argmin(axis=1)
            yield place + 1, np.where(best[:, 0] > 0.0, chosen, usual)


def _check(k: Sequence[int], votes: Sequence[str], n_folds: int) -> None:
    if not k or min(k) < 1:
        raise InvalidInputError(f"k is {list(k)}; at least one number from 1 was needed.")
    for vote in votes:
        if vote not in VOTES:
            raise InvalidInputError(f"there is no vote {vote!r}; choose of {', '.join(VOTES)}.")
    if not votes:
        raise InvalidInputError(f"no vote was given; choose of {', '.join(VOTES)}.")
    if n_folds < 2:
        raise InvalidInputError(f"n_folds is {n_folds}; at least 2 were needed.")
