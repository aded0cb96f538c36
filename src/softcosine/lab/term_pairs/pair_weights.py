"""Similarities of pairs of terms, learned from relevance judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from softcosine._validation import check_choice, check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.lab.term_pairs.preferences import Preferences
from softcosine.matrix.term_similarity_matrix import MatrixDifference, TermSimilarityMatrix
from softcosine.space.norms import checked_matrix
from softcosine.space.pair_pattern import PairPattern, own_products
from softcosine.text.weighting import Weighting

_Floats = NDArray[np.float64]

MEASURES = ("inner_product", "soft_cosine")


PARTS = ("pairs", "terms")


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    """A linear function of the parameters: ``fixed + products @ values``."""

    fixed: _Floats
    products: csr_array

    def __call__(self, values: _Floats) -> _Floats:
        return np.asarray(self.fixed + self.products @ values)

    def chosen(self, given: _Floats, columns: NDArray[np.int64]) -> _Linear:
        """Restrict to some columns; the others are fixed at their given values."""
        kept = csr_array(self.products[:, columns])
        fixed = self.fixed + self.products @ given - kept @ given[columns]
        return _Linear(np.asarray(fixed), kept)


@dataclass(frozen=True, slots=True, eq=False)
class PreferenceLoss:
    r"""Pairwise logistic loss of the scores f of a query's documents.

    .. math:: \sum_{(q, b, w)} \omega \, \ln\bigl(1 + e^{-(f(q, b) - f(q, w)) / \tau}\bigr)

    The parameters are entries of a symmetric matrix M: diagonal entries, one per term, and
    entries of pairs.

    Attributes
    ----------
    terms : ndarray, int64
        Terms with a learned entry.
    pairs : ndarray, int64
        Pairs of the pattern with a learned entry: those that affect a score.
    given : ndarray of shape (n_terms + n_pairs learned,), float64
        Initial values, terms first.
    scale : float
        tau, the unit of score differences.
    """

    terms: NDArray[np.int64]
    pairs: NDArray[np.int64]
    given: _Floats
    scale: float
    _products: _Linear
    _better: NDArray[np.int64]
    _worse: NDArray[np.int64]
    _weights: _Floats
    _norms: tuple[tuple[_Linear, NDArray[np.int64]], ...]

    @classmethod
    def of(
        cls,
        pattern: PairPattern,
        Q: csr_array,
        D: csr_array,
        preferences: Preferences,
        *,
        measure: str = "inner_product",
        learn: Sequence[str] = ("pairs",),
        scale: float | None = None,
    ) -> PreferenceLoss:
        """Return the loss; computes all that does not depend on the parameters.

        Parameters
        ----------
        pattern : PairPattern
        Q, D : csr_array of shape (any, n_terms), float64
            Non-negative.
        preferences : Preferences
        measure : {"inner_product", "soft_cosine"}
        learn : sequence of {"pairs", "terms"}
        scale : float, optional
            By default the mean absolute difference of scores with the initial values.
        """
        if measure not in MEASURES:
            raise InvalidInputError(
                f"measure is {measure!r}; choose one of {', '.join(MEASURES)}. For soft BM25 take "
                "the inner product of bm25_vectors."
            )
        preferences.check(Q.shape[0], D.shape[0])
        # One number per query and document sorts faster than a row of two.
        n_docs = max(D.shape[0], 1)
        compared = np.concatenate([preferences.better, preferences.worse])
        compared += n_docs * np.tile(preferences.queries, 2)
        distinct, numbers = np.unique(compared, return_inverse=True)
        x_rows, y_rows = distinct // n_docs, distinct % n_docs
        exact = csr_array(Q[x_rows]) * csr_array(D[y_rows])
        linear = [_entries(exact, pattern.products(Q, D, x_rows, y_rows))]
        places = []
        if measure == "soft_cosine":
            for X, rows in ((Q, x_rows), (D, y_rows)):
                own, place = np.unique(rows, return_inverse=True)
                part = csr_array(X[own])
                linear.append(_entries(csr_array(part * part), own_products(pattern, part)))
                places.append(place)
        n = len(pattern.S)
        given = np.concatenate([np.ones(n), pattern.given])
        free = np.repeat(["terms" in learn, "pairs" in learn], [n, len(pattern)])
        reached = np.unique(np.concatenate([part.products.indices for part in linear]))
        reached = reached[free[reached]].astype(np.int64)
        linear = [part.chosen(given, reached) for part in linear]
        loss = cls(
            terms=reached[reached < n],
            pairs=reached[reached >= n] - n,
            given=given[reached],
            scale=1.0,
            _products=linear[0],
            _better=numbers[: len(preferences)],
            _worse=numbers[len(preferences) :],
            _weights=preferences.weights,
            _norms=tuple(zip(linear[1:], places, strict=True)),
        )
        if scale is None:
            scale = float(np.abs(loss.margins(loss.given)) @ loss._weights) or 1.0
        object.__setattr__(loss, "scale", scale)
        return loss

    def scores(self, values: _Floats) -> _Floats:
        """Return f of every pair of query and document in the triples."""
        scores = self._products(values)
        for squares, places in self._norms:
            scores = scores * _reciprocal_roots(squares(values))[places]
        return np.asarray(scores)

    def margins(self, values: _Floats) -> _Floats:
        """Return f(q, better) - f(q, worse) of every triple."""
        scores = self.scores(values)
        return np.asarray(scores[self._better] - scores[self._worse])

    def accuracy(self, values: _Floats) -> float:
        """Return the share of the preferences that the scores agree with; ties count a half."""
        margins = self.margins(values)
        return float(((margins > 0) + 0.5 * (margins == 0)) @ self._weights)

    def __call__(self, values: _Floats) -> tuple[float, _Floats]:
        """Return the loss and its gradient, of the shape of `given`."""
        margins = self.margins(values) / self.scale
        loss = float(np.logaddexp(0.0, -margins) @ self._weights)
        slope = -expit(-margins) * self._weights / self.scale
        n = len(self._products.fixed)
        of_scores = np.zeros(n)
        of_scores += np.bincount(self._better, slope, n)
        of_scores -= np.bincount(self._worse, slope, n)
        return loss, self._gradient(values, of_scores)

    def _gradient(self, values: _Floats, of_scores: _Floats) -> _Floats:
        """Return the gradient with respect to the parameters, given that of the scores."""
        factors = [_reciprocal_roots(squares(values)) for squares, _ in self._norms]
        scores, per_product = self.scores(values), of_scores.copy()
        for factor, (_, places) in zip(factors, self._norms, strict=True):
            per_product *= factor[places]
        gradient = self._products.products.T @ per_product
        for factor, (squares, places) in zip(factors, self._norms, strict=True):
            # The derivative of f by the logarithm of a squared norm is -f / 2.
            falls = np.bincount(places, of_scores * scores, len(factor))
            gradient -= squares.products.T @ (0.5 * falls * factor**2)
        return np.asarray(gradient)


def _entries(exact: csr_array, products: csr_array) -> _Linear:
    """Join the coefficients of the diagonal and of the pairs."""
    return _Linear(np.zeros(exact.shape[0]), csr_array(hstack([exact, products], format="csr")))


def _reciprocal_roots(squares: _Floats) -> _Floats:
    positive = squares > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0)


# What to learn, by name; see `softcosine.lab.term_pairs.pair_weights.PreferenceLoss`.
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


def _coordinates(X: Any, n_terms: int, name: str) -> csr_array:
    """Return a document-term matrix as `checked_matrix` does; negative weights raise."""
    matrix = checked_matrix(X, n_terms, name)
    if matrix.nnz and matrix.data.min() < 0:
        raise InvalidInputError(
            f"Negative values in data: {name} has {matrix.data.min():g}; weights must be 0 or more."
        )
    return matrix


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
    queries, documents = (_coordinates(X, len(S), name) for X, name in ((Q, "Q"), (D, "D")))
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
        asked, documents = (_coordinates(X, len(S), name) for X, name in ((Q, "Q"), (D, "D")))
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
