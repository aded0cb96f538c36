"""Documents and queries in few dimensions with dot products near soft cosines (T11)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.sklearn.estimator import BlockwiseTransformer, Vectors, row_blocks
from softcosine.space.transforms import expand_queries, unit_documents

__all__ = ["FewDimensions"]


class FewDimensions(BlockwiseTransformer):
    """Base of the transformers that multiply documents of soft norm 1 by a matrix.

    Attributes
    ----------
    components_ : ndarray or csr_array of shape (n_terms, n_components)
    """

    components_: NDArray[np.float64] | csr_array

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
            product = prepared(rows) @ self.components_
            begin, end = end, end + rows.shape[0]
            reduced[begin:end] = product.toarray() if isinstance(product, csr_array) else product
        return reduced

    def _estimates(self, queries: csr_array, documents: csr_array) -> NDArray[np.float64]:
        left = self._reduced(queries, self._expanded)
        return np.asarray(left @ self._reduced(documents, self._unit).T)
