"""SNOS as a scikit-learn estimator: rows are objects, columns their features (theory T13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from softcosine._validation import check_choice, check_whole, refuse_texts
from softcosine.errors import InvalidInputError
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.result import SnosResult
from softcosine.lab.snos.scaling import Lambdas
from softcosine.sklearn.estimator import NotFittedError, Vectors
from softcosine.space.norms import distances

Dense = NDArray[np.float64]


def _learned_cosines(result: SnosResult) -> Any:
    return result.soft_cosines


def _learned_similarities(result: SnosResult) -> Any:
    return result.S_o


def _products(result: SnosResult, X: csr_array) -> Dense:
    return result.products(X)[0]


# Functions of a measure: between fitted rows, and of other rows with them.
MEASURES: Mapping[
    str, tuple[Callable[[SnosResult], Any], Callable[[SnosResult, csr_array], Dense]]
] = {
    "soft_cosine": (_learned_cosines, SnosResult.cosines),
    "similarity": (_learned_similarities, _products),
}


class SNOS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Similarities of rows and of columns, each learned from the other (theory T13).

    Rows with similar columns are similar, and columns of similar rows. Two queries are similar by
    their clicked pages, even if they have no page in common. New rows are compared with the fitted
    ones in the space that the columns span.

    Parameters
    ----------
    lam, normalize, method, max_neighbors, initial, max_iterations, tolerance
        See `softcosine.lab.snos.learning.snos`; its features are the columns.
    measure : {"soft_cosine", "similarity"}
        Measure of neighbours and of `transform`: soft cosines in the space of S_f, or entries of
        S_o, which favour rows with many features.
    n_neighbors : int
        Number of neighbours that `kneighbors` returns.

    Attributes
    ----------
    similarities_ : ndarray or csr_array of shape (n_rows, n_rows)
        S_o; for soft cosines see ``result_.soft_cosines``.
    result_ : SnosResult
        Includes the similarities of columns, λ and the trace.

    Examples
    --------
    >>> clicks = [[3, 0, 0, 0], [1, 1, 0, 0], [0, 2, 1, 0], [0, 0, 0, 4]]
    >>> similar = SNOS(n_neighbors=1).fit(clicks)
    >>> similar.transform([[0, 0, 1, 0]]).round(2)
    array([[0.31, 0.43, 0.83, 0.  ]])
    >>> similar.kneighbors(return_distance=False).ravel()
    array([1, 0, 1, 0])
    """

    result_: SnosResult
    n_features_in_: int

    def __init__(
        self,
        *,
        lam: str | float | Lambdas = "spectral",
        normalize: str = "both",
        method: str = "auto",
        max_neighbors: int | None = None,
        initial: str | ArrayLike | csr_array | None = None,
        max_iterations: int = 200,
        tolerance: float = 1e-6,
        measure: str = "soft_cosine",
        n_neighbors: int = 5,
    ) -> None:
        self.lam = lam
        self.normalize = normalize
        self.method = method
        self.max_neighbors = max_neighbors
        self.initial = initial
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.measure = measure
        self.n_neighbors = n_neighbors

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Learn similarities from the weights of columns in rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_rows, n_columns)
            Non-negative.
        y : ignored

        Raises
        ------
        InvalidInputError
            If a weight is negative, a setting is unknown, or the iteration diverges.
        """
        self._check_settings()
        rows = self._rows(X, reset=True)
        self.result_ = snos(
            csr_array(rows.T), lam=self.lam, normalize=self.normalize, method=self.method,
            max_neighbors=self.max_neighbors, initial=self.initial,
            max_iterations=self.max_iterations, tolerance=self.tolerance,
        )  # fmt: skip
        self._n_features_out = rows.shape[0]
        return self

    @property
    def similarities_(self) -> Dense | csr_array:
        """S_o, shape (n_rows, n_rows)."""
        return self._fitted().S_o

    def transform(self, X: Vectors) -> Dense:
        """Similarity of each row with the fitted ones, shape (n, n_rows).

        Parameters
        ----------
        X : array or sparse array of shape (n, n_columns)
            Non-negative.
        """
        result = self._fitted()
        return MEASURES[self.measure][1](result, self._rows(X))

    def kneighbors(
        self,
        X: Vectors | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> tuple[Dense, NDArray[np.int64]] | NDArray[np.int64]:
        """Return distances ``1 - similarity`` and row numbers, like scikit-learn's method.

        Distances are 0 if a similarity is 1 up to rounding, or above 1. Ties are ordered by row
        number. Rows of similarity 0 fill the end.

        Parameters
        ----------
        X : array of shape (n, n_columns), optional
            By default the fitted rows; a row is then not its own neighbour.
        n_neighbors : int, optional
        return_distance : bool

        Raises
        ------
        InvalidInputError
            If there are fewer rows than `n_neighbors`.
        """
        result = self._fitted()
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_whole("n_neighbors", k)
        n_rows = result.B.shape[1]
        if k > n_rows - (X is None):
            raise InvalidInputError(
                f"{k} neighbours were asked for, and {n_rows} rows were fitted; ask for at most "
                f"{n_rows - (X is None)}."
            )
        if X is None:
            ids, similarities = _best_others(MEASURES[self.measure][0](result), k)
        else:
            ids, similarities = _best(self.transform(X), k)
        return (distances(similarities), ids) if return_distance else ids

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "_n_features_out")

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check_settings(self) -> None:
        self.__dict__.pop("_n_features_out", None)  # unfitted if `fit` fails
        check_whole("n_neighbors", self.n_neighbors)
        check_choice("measure", self.measure, MEASURES)

    def _fitted(self) -> SnosResult:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this SNOS is not fitted yet; call fit(X) first.")
        return self.result_

    def _rows(self, X: Vectors, *, reset: bool = False) -> csr_array:
        refuse_texts(X, "X")
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        rows = csr_array(rows)
        if rows.nnz and rows.data.min() < 0:
            raise InvalidInputError(
                "Negative values in data passed to SNOS; weights must be 0 or more."
            )
        return rows


def _best(similarities: Dense, k: int) -> tuple[NDArray[np.int64], Dense]:
    ids = np.argsort(-similarities, axis=1, kind="stable")[:, :k]
    return ids.astype(np.int64), np.take_along_axis(similarities, ids, axis=1)


def _best_others(S: Any, k: int) -> tuple[NDArray[np.int64], Dense]:
    """Find the k best others of every row, in blocks of rows."""
    n, step = S.shape[0], 1024
    ids, similarities = np.empty((n, k), np.int64), np.empty((n, k))
    for start in range(0, n, step):
        rows = S[start : start + step]
        block = rows.toarray() if issparse(rows) else rows.copy()
        block[np.arange(len(block)), np.arange(start, start + len(block))] = -1.0
        part = slice(start, start + len(block))
        ids[part], similarities[part] = _best(block, k)
    return ids, similarities
