"""Documents and queries in few dimensions, where dot products are near soft cosines (T11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.learn.estimator import BlockwiseTransformer, Vectors
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
        """Return documents, divided by their soft norms first (theory T9).

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
        return self._reduced(unit_documents(self._documents(X), self.S_))

    def transform_queries(self, Q: Vectors) -> NDArray[np.float64]:
        """Return queries: their dot products with transformed documents estimate soft cosines.

        Parameters
        ----------
        Q : array or sparse array of shape (n_queries, n_terms)

        Returns
        -------
        ndarray of shape (n_queries, n_components), float64
            Of the expanded query, divided by the query's soft norm; zeros where it is 0.

        Raises
        ------
        IndefiniteMatrixError
            If some query has x'Sx < 0.
        """
        return self._reduced(self._expanded(self._documents(Q)))

    def _expanded(self, queries: csr_array) -> csr_array:
        return expand_queries(unit_documents(queries, self.S_), self.S_)

    def _reduced(self, rows: csr_array) -> NDArray[np.float64]:
        product = rows @ self.components_
        return np.asarray(product.toarray() if isinstance(product, csr_array) else product)

    def _estimates(self, queries: csr_array, documents: csr_array) -> NDArray[np.float64]:
        return np.asarray(self.transform_queries(queries) @ self.transform(documents).T)
