"""Similarities of pairs of terms, learned from relevance judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array

from softcosine._validation import check_choice, check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.lab.term_pairs.preference_loss import PreferenceLoss
from softcosine.lab.term_pairs.preferences import Preferences
from softcosine.matrix.term_similarity_matrix import MatrixDifference, TermSimilarityMatrix
from softcosine.space.norms import checked_matrix
from softcosine.space.pair_pattern import PairPattern, coordinates
from softcosine.text.weighting import Weighting

# What to learn, by name; see `softcosine.lab.term_pairs.preference_loss.PreferenceLoss`.
_LEARN = {"pairs": ("pairs",), "terms": ("terms",), "both": ("pairs", "terms")}

# Lower bound of the weight of an equal term, by which its similarities are divided later.
_LEAST_TERM = 1e-2

__all__ = [
    "LearnedPairWeights",
    "Preferences",
    "bm25_vectors",
    "held_out_losses",
    "learn_pair_weights",
]


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPairWeights:
    """A matrix learned from preferences, and the course of learning.

    Attributes
    ----------
    S : TermSimilarityMatrix
        The learned matrix.
    term_weights : ndarray of shape (n_terms,), float64
        Factors of the coordinates of queries and documents; ones if terms were not learned.
    given : TermSimilarityMatrix
        The initial matrix.
    n_learned : int
        Number of pairs and terms that affect a judged score; the others are unchanged.
    loss_before, loss_after : float
        Mean logistic loss of the preferences, without the penalty.
    accuracy_before, accuracy_after : float
        Share of the training preferences that scores agree with. It is optimistic: measure on
        other queries.
    scale : float
        tau, the unit of score differences.
    n_iterations : int
    converged : bool
    """

    S: TermSimilarityMatrix
    term_weights: NDArray[np.float64]
    given: TermSimilarityMatrix
    n_learned: int
    loss_before: float
    loss_after: float
    accuracy_before: float
    accuracy_after: float
    scale: float
    n_iterations: int
    converged: bool

    def changes(self, *, tolerance: float = 1e-3) -> MatrixDifference:
        """Return the pairs that changed by more than `tolerance`, the largest changes first."""
        return self.given.difference(self.S, tolerance=tolerance)

    def weighted(self, X: ArrayLike | csr_array) -> csr_array:
        """Return queries or documents, (any, n_terms), with the learned term weights."""
        return csr_array(checked_matrix(X, len(self.S), "X") * self.term_weights)

    def __str__(self) -> str:
        return (
            f"{self.n_learned:,} numbers learned in {self.n_iterations} iterations"
            f"{'' if self.converged else ' (not converged)'}: loss {self.loss_before:.4f} -> "
            f"{self.loss_after:.4f}, preferences met {self.accuracy_before:.1%} -> "
            f"{self.accuracy_after:.1%}"
        )


def learn_pair_weights(
    S: TermSimilarityMatrix,
    Q: ArrayLike | csr_array,
    D: ArrayLike | csr_array,
    preferences: Preferences,
    *,
    measure: str = "inner_product",
    learn: str = "pairs",
    strength: float = 1.0,
    scale: float | None = None,
    max_similarity: float = 1.0,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> LearnedPairWeights:
    r"""Learn similarities of the pairs in S so that better documents get higher scores.

    .. math:: \min_{0 \le m \le 1} \ \frac{1}{n} \sum_q \frac{1}{n_q} \sum_{(q, b, w)}
        \ln\bigl(1 + e^{-(f(q, b) - f(q, w)) / \tau}\bigr) + \frac{\lambda}{2 n} \lVert m - m_0
        \rVert^2

    Here m are the similarities of the pairs in S; no pair is added. The weight of an equal term,
    1 in S, can be learned too. The problem is convex for the inner product.

    Parameters
    ----------
    S : TermSimilarityMatrix of order n_terms
        Symmetric and non-negative.
    Q : array or sparse array of shape (n_queries, n_terms)
        Coordinates of the queries, non-negative.
    D : array or sparse array of shape (n_docs, n_terms)
        Coordinates of the documents, weighted as for the search; for soft BM25 see
        `bm25_vectors`.
    preferences : Preferences
    measure : {"inner_product", "soft_cosine"}
    learn : {"pairs", "terms", "both"}
        Similarities of pairs, weights of equal terms, or both. The latter two give
        `term_weights`.
    strength : float
        Strength λ of the penalty on changes of similarities; positive. Choose it by
        `held_out_losses`.
    scale : float, optional
        tau, the unit of score differences. By default the mean absolute difference with the
        given S.
    max_similarity : float
        Upper bound of learned similarities, or the given one if that is higher; applied before
        division by `term_weights`.
    max_iterations : int
    tolerance : float
        Limit of the largest entry of the projected gradient.

    Raises
    ------
    InvalidInputError
        If S is asymmetric or negative, a coordinate is negative, a row number of a triple does
        not exist, or a setting is out of range.
    VocabularyMismatchError
        If S, Q and D have different numbers of terms.

    Examples
    --------
    A user who searches *jaguar* prefers the car to the animal:

    >>> import softcosine as sc
    >>> terms = sc.Vocabulary(["car", "cat", "jaguar"])
    >>> S = sc.TermSimilarityMatrix.from_matrix(
    ...     [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]], terms
    ... )
    >>> wanted = Preferences.of([{0: 1.0}], [[0, 1]])
    >>> learned = learn_pair_weights(S, [[0, 0, 1]], [[1, 0, 0], [0, 1, 0]], wanted)
    >>> [(term, round(s, 2)) for term, s in learned.S.neighbors("jaguar")]
    [('car', 0.84), ('cat', 0.16)]
    >>> print(learned.changes())
    pairs: 0 added, 0 removed, 2 changed, 0 equal; terms: 0 added, 0 removed
      car ~ jaguar  0.500 -> 0.837
      cat ~ jaguar  0.500 -> 0.163
    """
    pattern = PairPattern.of(S)
    queries, documents = (coordinates(X, len(S), name) for X, name in ((Q, "Q"), (D, "D")))
    check_number("strength", strength, above=0)
    check_number("tolerance", tolerance, above=0)
    if scale is not None:
        check_number("scale", scale, above=0)
    check_number("max_similarity", max_similarity, least=0, most=1)
    check_whole("max_iterations", max_iterations)
    check_choice("learn", learn, _LEARN)
    loss = PreferenceLoss.of(
        pattern, queries, documents, preferences, measure=measure, learn=_LEARN[learn], scale=scale
    )
    given, n_terms = loss.given, len(loss.terms)
    pull = float(strength) / preferences.n_queries

    def penalized(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(values)
        moved = values - given
        return value + 0.5 * pull * float(moved @ moved), gradient + pull * moved

    values, n_iterations, converged = given, 0, True
    if len(given):
        lowest, highest = np.zeros_like(given), np.maximum(given, max_similarity)
        lowest[:n_terms], highest[:n_terms] = _LEAST_TERM, np.inf
        found = minimize(
            penalized, given, jac=True, method="L-BFGS-B",
            bounds=Bounds(lowest, highest),
            options={"maxiter": max_iterations, "gtol": tolerance, "ftol": 0.0},
        )  # fmt: skip
        # A line search that ends for lack of precision has reached the optimum.
        values = np.clip(found.x, lowest, highest)
        n_iterations, converged = int(found.nit), found.status != 1
    diagonal, similarities = np.ones(len(S)), pattern.given.copy()
    diagonal[loss.terms], similarities[loss.pairs] = values[:n_terms], values[n_terms:]
    learned, term_weights = pattern.normalized(
        similarities, diagonal, learned=learn, strength=float(strength)
    )
    return LearnedPairWeights(
        S=learned,
        term_weights=term_weights,
        given=S,
        n_learned=len(given),
        loss_before=loss(given)[0],
        loss_after=loss(values)[0],
        accuracy_before=loss.accuracy(given),
        accuracy_after=loss.accuracy(values),
        scale=loss.scale,
        n_iterations=n_iterations,
        converged=converged,
    )


def held_out_losses(
    S: TermSimilarityMatrix,
    Q: ArrayLike | csr_array,
    D: ArrayLike | csr_array,
    preferences: Preferences,
    *,
    strengths: Sequence[float] = (0.3, 1.0, 3.0, 10.0, 30.0),
    folds: int = 5,
    random_state: int = 0,
    **settings: Any,
) -> dict[float, float]:
    """Return the loss of each strength on held-out queries.

    Take the strength of the smallest loss: ``min(losses, key=losses.get)``.

    Parameters
    ----------
    S, Q, D, preferences
        As for `learn_pair_weights`.
    strengths : sequence of float
    folds : int
        Number of folds of the queries.
    random_state : int
        Seed of the folds.
    **settings
        Other settings of `learn_pair_weights`.
    """
    check_whole("folds", folds, least=2)
    queries = np.unique(preferences.queries)
    if len(queries) < 2:
        raise InvalidInputError("there is one query only; cross-validation needs two or more.")
    folds = min(folds, len(queries))
    fold_of = np.random.default_rng(random_state).permutation(len(queries)) % folds
    # One scale for all, so that losses are comparable.
    measure, scale = settings.get("measure", "inner_product"), settings.pop("scale", None)
    if scale is None:
        asked, documents = (coordinates(X, len(S), name) for X, name in ((Q, "Q"), (D, "D")))
        scale = PreferenceLoss.of(
            PairPattern.of(S), asked, documents, preferences, measure=measure
        ).scale
    losses = dict.fromkeys(strengths, 0.0)
    for fold in range(folds):
        learned_from, held = (
            preferences.of_queries(queries[part]) for part in (fold_of != fold, fold_of == fold)
        )
        for strength in strengths:
            learned = learn_pair_weights(
                S, Q, D, learned_from, strength=strength, scale=scale, **settings
            )
            loss = PreferenceLoss.of(
                PairPattern.of(learned.S), learned.weighted(Q), learned.weighted(D), held,
                measure=measure, scale=scale,
            )  # fmt: skip
            losses[strength] += loss(loss.given)[0] * held.n_queries / len(queries)
    return losses


def bm25_vectors(
    Q: ArrayLike | csr_array,
    D: ArrayLike | csr_array,
    *,
    k1: float = 1.2,
    b: float = 0.75,
) -> tuple[csr_array, csr_array]:
    """Return queries and documents whose soft inner product is soft BM25 (theory T15).

    Parameters
    ----------
    Q : array or sparse array of shape (n_queries, n_terms)
        Term frequencies.
    D : array or sparse array of shape (n_docs, n_terms)
        Term frequencies, from which document frequencies and the average length are computed.
    k1, b : float
        See `softcosine.Weighting`.

    Returns
    -------
    queries : csr_array of shape (n_queries, n_terms), float64
        Frequencies times the root of idf.
    documents : csr_array of shape (n_docs, n_terms), float64
        Saturated frequencies times the root of idf.
    """
    impacts = Weighting(tf="bm25", idf="none", k1=k1, b=b).transform(D)
    n_docs, n_terms = impacts.shape
    counts = checked_matrix(Q, n_terms, "Q")
    frequencies = np.bincount(impacts.indices, minlength=n_terms)
    roots = np.sqrt(Weighting(idf="bm25").term_weights(frequencies, n_docs))
    return csr_array(counts * roots), csr_array(impacts * roots)
