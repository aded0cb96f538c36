"""Latent semantic analysis for the soft cosine (theory T11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import SoftTransformer, Vectors, row_blocks
from softcosine.space.latent import right_singular_vectors
from softcosine.space.norms import row_sums
from softcosine.space.transforms import expand_queries, unit_documents
from softcosine.text.vocabulary import Vocabulary

_ROUNDING = 16 * float(np.finfo(np.float64).eps)


class SoftLSA(SoftTransformer):
    r"""Latent semantic analysis for the soft cosine (theory T11).

    With the truncated singular value decomposition of the documents :math:`y' = y / \lvert y
    \rvert_S`, `transform` returns :math:`V_k^\top y'` and `transform_queries` :math:`V_k^\top
    S^\top x / \lvert x \rvert_S`; their dot products approximate the soft cosines. For dot products
    between documents, as in clustering, use `SoftCosineTransformer` with `n_components`.

    Parameters
    ----------
    S : TermSimilarityMatrix or SimilarityRecipe, optional
        A symmetric matrix, or a recipe to build one in `fit`; see
        `softcosine.sklearn.coordinates.SoftCosineTransformer`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column, for a recipe. By default a DataFrame's column names.
    n_components : int
        Number of dimensions k.
    n_iterations : int
        Passes over the documents; more passes are more precise.
    random_state : int, RandomState or None
        Seed of the randomised decomposition.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    components_ : ndarray of shape (n_terms, n_components)
        V_k. If the documents have a lower rank, the last columns are zeros.
    singular_values_ : ndarray of shape (n_components,)
    residual_ : float
        The largest :math:`\lvert y' - V_k V_k^\top y' \rvert` of the fitted documents: at most
        the next singular value if the decomposition is exact.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> lsa = SoftLSA(S, n_components=2).fit([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> lsa.transform_queries([[0, 0, 1]]) @ lsa.transform([[1, 1, 0], [0, 1, 1]]).T
    array([[...]])
    """

    components_: NDArray[np.float64]
    singular_values_: NDArray[np.float64]
    residual_: float

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None = None,
        *,
        vocabulary: Vocabulary | ArrayLike | None = None,
        n_components: int = 100,
        n_iterations: int = 6,
        random_state: Any = 0,
    ) -> None:
        super().__init__(S, vocabulary, random_state)
        self.n_components = n_components
        self.n_iterations = n_iterations

    def transform(self, X: Vectors) -> NDArray[np.float64]:
        """Return documents in few dimensions, divided by their soft norms first (theory T9).

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)

        Returns
        -------
        ndarray of shape (n_docs, n_components), float64
            Zeros for documents of norm 0.

        Raises
        ------
        IndefiniteMatrixError
            If some document has x'Sx < 0.
        """
        return self._reduced(self._documents(X), self._unit)

    def transform_queries(self, Q: Vectors) -> NDArray[np.float64]:
        """Return queries whose dot products with transformed documents estimate soft cosines.

        Parameters
        ----------
        Q : array or sparse array of shape (n_queries, n_terms)

        Returns
        -------
        ndarray of shape (n_queries, n_components), float64
            The expanded query divided by the query's soft norm, reduced; zeros if the norm is 0.

        Raises
        ------
        IndefiniteMatrixError
            If some query has x'Sx < 0.
        """
        return self._reduced(self._documents(Q), self._expanded)

    def _unit(self, documents: csr_array) -> csr_array:
        return unit_documents(documents, self.S_)

    def _expanded(self, queries: csr_array) -> csr_array:
        return expand_queries(self._unit(queries), self.S_)

    def _reduced(
        self, X: csr_array, prepared: Callable[[csr_array], csr_array]
    ) -> NDArray[np.float64]:
        reduced = np.empty((X.shape[0], self.components_.shape[1]))
        end = 0
        for rows in row_blocks(X):
            begin, end = end, end + rows.shape[0]
            reduced[begin:end] = prepared(rows) @ self.components_
        return reduced

    def error_bounds(self, Q: Vectors) -> NDArray[np.float64]:
        r"""Return upper bounds of the error of a query's dot product with a fitted document.

        .. math:: \frac{\lvert S^\top x \rvert}{\lvert x \rvert_S} \max_y \lvert y' - V_k V_k^\top
            y' \rvert

        Parameters
        ----------
        Q : array or sparse array of shape (n_queries, n_terms)

        Returns
        -------
        ndarray of shape (n_queries,), float64
        """
        lengths = [np.empty(0)]
        for rows in row_blocks(self._documents(Q)):
            expanded = self._expanded(rows)
            lengths.append(np.sqrt(row_sums(expanded * expanded)))
        return np.concatenate(lengths) * self.residual_

    def _fit(self, X: csr_array) -> None:
        check_whole("n_components", self.n_components)
        unit = self._unit(X)
        self.components_, self.singular_values_ = right_singular_vectors(
            lambda: row_blocks(unit), len(self.S_), k=self.n_components,
            n_iterations=self.n_iterations, random_state=self._seed,
        )  # fmt: skip
        self.residual_ = max(map(self._residual, row_blocks(unit)), default=0.0)
        self._n_features_out = self.n_components

    def _residual(self, block: csr_array) -> float:
        kept = block @ self.components_
        squares = row_sums(block * block)
        # The difference of nearly equal numbers is known up to their rounding.
        rest = np.maximum(squares - np.sum(kept * kept, axis=1), 0.0) + _ROUNDING * squares
        return float(np.sqrt(rest.max(initial=0.0)))
