"""Classification by the votes of nearest neighbours in the soft vector space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole, is_number
from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import SoftEstimator, Vectors
from softcosine.sklearn.scikit import ClassifierMixin
from softcosine.sklearn.soft_neighbors import SoftNeighbors
from softcosine.sklearn.votes import (
    CANDIDATES,
    Neighborhood,
    Voting,
    VotingGrid,
    best_voting,
    class_votes,
    hub_levels,
    lowered,
)
from softcosine.text.weighting import Weighting

AUTO = "auto"
_USUAL = VotingGrid()
_MOST = 1e300  # finite after multiplication by a similarity


class SoftNeighborsClassifier(ClassifierMixin, SoftEstimator):  # type: ignore[misc]
    r"""Classify documents by the votes of their nearest neighbours by soft cosine.

    A neighbour y of a document x votes with

    .. math:: \exp\left(\frac{s(x, y) - s_1}{\text{temperature}}\right), \quad
       s(x, y) = \cos_S(x, y) - \text{hubness} \cdot r(y),

    where :math:`r(y)` is the mean soft cosine of y with its own ten nearest training documents, and
    :math:`s_1` the largest s. A document with a soft cosine of 0 is not a neighbour; a document
    without neighbours gets the most frequent class. `fit` chooses ``"auto"`` parameters by leaving
    out one training document at a time, at the cost of one search per training document.

    Parameters
    ----------
    S : TermSimilarityMatrix, optional
        Symmetric. By default it is learned from the documents, as by `SoftCosineTransformer`;
        ``TermSimilarityMatrix.identity(vocabulary)`` makes the soft cosine the ordinary one.
    n_neighbors : int or "auto"
        Number of voting neighbours; "auto" chooses from 1 to 100.
    temperature : float or "auto"
        See above; with infinity all neighbours count alike.
    hubness : float or "auto"
        At least 0. Reduces the votes of documents that are near to everything.
    balance : float or "auto"
        Votes for a class are divided by its frequency to this power, at least 0, so that small
        classes are not outvoted.
    weighting : Weighting, optional
        How counts become coordinates. By default values are coordinates already, such as tf-idf.
    n_candidates : int
        Number of nearest documents to find before the hubness correction; at least `n_neighbors`.
    n_jobs : int, optional
        Number of threads; all CPUs by default. It does not change results.
    random_state : int, RandomState or None
        Seed, used only if S is learned.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    S_ : TermSimilarityMatrix
    voting_ : Voting
        The given or chosen parameters.
    leave_one_out_error_ : float
        Share of training documents with a wrong class when left out; slightly optimistic, as
        the best of many parameters. NaN if nothing was chosen.
    hub_levels_ : ndarray of shape (n_train,), float64
        r of every training document.
    neighbors_ : SoftNeighbors

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> classifier = SoftNeighborsClassifier(S, n_neighbors=1)
    >>> classifier.fit([[1, 0, 0], [0, 0, 1]], ["kill", "cook"]).predict([[0, 2, 0]])
    array(['kill'], dtype='<U4')
    """

    classes_: NDArray[Any]
    neighbors_: SoftNeighbors
    voting_: Voting
    leave_one_out_error_: float
    hub_levels_: NDArray[np.float64]
    _fitted, _call, _non_negative = "voting_", "fit(X, y)", True

    def __init__(
        self,
        S: TermSimilarityMatrix | None = None,
        *,
        n_neighbors: int | str = AUTO,
        temperature: float | str = AUTO,
        hubness: float | str = AUTO,
        balance: float | str = AUTO,
        weighting: Weighting | None = None,
        n_candidates: int = CANDIDATES,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.S = S
        self.n_neighbors = n_neighbors
        self.temperature = temperature
        self.hubness = hubness
        self.balance = balance
        self.weighting = weighting
        self.n_candidates = n_candidates
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Vectors, y: ArrayLike) -> Self:
        """Index labelled documents, and choose the voting parameters.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
            Non-negative.
        y : array of shape (n_docs,)
            Class of each document.

        Raises
        ------
        InvalidInputError
            If a weight is negative or a setting out of range.
        VocabularyMismatchError
            If X and S have different numbers of terms.
        """
        documents, labels = self._labelled(X, y)
        grid = self._grid()
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        self._labels = numbers.astype(np.int64)
        self.S_ = self._built(documents)
        self.neighbors_ = SoftNeighbors(self.S_, weighting=self.weighting, n_jobs=self.n_jobs).fit(
            documents
        )
        around = self._around_each_other(documents)
        self.hub_levels_ = hub_levels(around)
        self.voting_, self.leave_one_out_error_ = best_voting(
            around, self._labels, len(self.classes_), grid
        )
        return self

    def predict(self, X: Vectors) -> NDArray[Any]:
        """Return the class of every document, shape (n_docs,); ties go to the nearest's class."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Vectors) -> NDArray[np.float64]:
        """Return the share of votes of every class, shape (n_docs, n_classes).

        Raises
        ------
        NotFittedError, InvalidInputError
        """
        return class_votes(self.nearest(X), self._labels, len(self.classes_), self.voting_)

    def nearest(self, X: Vectors) -> Neighborhood:
        """Return the voting training documents of every document, after the hubness correction.

        If fewer than `n_neighbors` have a common or similar term, the rest are -1.

        Raises
        ------
        NotFittedError, InvalidInputError
        """
        documents = self._documents(X)
        found = self.neighbors_.search(documents, k=self.n_candidates)
        near = lowered(
            Neighborhood.of(found.ids, found.scores), self.hub_levels_, self.voting_.hubness
        )
        n = self.voting_.n_neighbors
        return Neighborhood(near.ids[:, :n], near.scores[:, :n])

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on points that differ in distance, not in angle
        return tags

    def _grid(self) -> VotingGrid:
        """Return the checked choices of the parameters."""
        check_whole("n_candidates", self.n_candidates)
        sizes = tuple(size for size in _USUAL.sizes if size <= self.n_candidates)
        if not _is_auto(self.n_neighbors):
            check_whole("n_neighbors", self.n_neighbors)
            sizes = (int(self.n_neighbors),)
            if sizes[0] > self.n_candidates:
                raise InvalidInputError(
                    f"n_neighbors is {self.n_neighbors} and n_candidates {self.n_candidates}; no "
                    "more can vote than are found."
                )
        return VotingGrid(
            sizes,
            _chosen_from("temperature", self.temperature, _USUAL.temperatures),
            _chosen_from("hubness", self.hubness, _USUAL.hubnesses),
            _chosen_from("balance", self.balance, _USUAL.balances),
        )

    def _around_each_other(self, documents: csr_array) -> Neighborhood:
        """Return the nearest of every training document, without itself."""
        n = documents.shape[0]
        width = min(self.n_candidates, n - 1)
        if not width:
            return Neighborhood.of(np.empty((n, 0), np.int64), np.empty((n, 0)))
        found = self.neighbors_.search(k=width)
        return Neighborhood.of(found.ids, found.scores)


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == AUTO


def _chosen_from(name: str, value: Any, usual: tuple[float, ...]) -> tuple[float, ...]:
    if _is_auto(value):
        return usual
    infinite = name == "temperature"  # all neighbours count alike
    lowest, highest = (np.nextafter(0.0, 1.0), np.inf) if infinite else (0.0, _MOST)
    if not is_number(value) or not lowest <= value <= highest:
        needed = "above 0, infinite for equal votes" if infinite else f"from 0 to {_MOST:g}"
        raise InvalidInputError(f"{name} is {value!r}; needed is a number {needed}, or {AUTO!r}.")
    return (float(value),)
