"""Projection on the leading eigenvectors of S (theory T11)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.few_dimensions import FewDimensions
from softcosine.space.latent import Blocks
from softcosine.space.latent_eigenvectors import leading_eigenvectors
from softcosine.text.vocabulary import Vocabulary

__all__ = ["SoftSpectralTransformer"]


class SoftSpectralTransformer(FewDimensions):
    r"""The truncated eigenfactor of S: its dimensions are groups of similar terms (theory T11).

    With :math:`S \approx U_k \Lambda_k U_k^\top`, `transform` returns :math:`\Lambda_k^{1/2}
    U_k^\top y'` for :math:`y' = y / \lvert y \rvert_S`. Queries are transformed like documents, and
    the dimensions do not depend on documents. A dot product of two documents differs from their
    soft cosine by at most :math:`\lvert x' \rvert \lvert y' \rvert` times the largest absolute
    value of an omitted eigenvalue. The error is small if S has few large eigenvalues; a sparse S of
    many terms has not.

    Parameters
    ----------
    S : TermSimilarityMatrix or SimilarityRecipe, optional
        A symmetric matrix, or a recipe to build one in `fit`; see
        `softcosine.sklearn.coordinates.SoftCosineTransformer`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column, for a recipe. By default a DataFrame's column names.
    n_components : int
        Number of dimensions k.
    random_state : int, RandomState or None
        Seed, used only if S is learned.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    components_ : ndarray of shape (n_terms, n_components)
        The eigenfactor. If S has fewer positive eigenvalues, the last columns are zeros.
    eigenvalues_ : ndarray of shape (n_components,)

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> spectral = SoftSpectralTransformer(S, n_components=1).fit([[1, 1, 0]])
    >>> spectral.eigenvalues_.round(3)
    array([1.5])
    >>> Z = spectral.transform([[0, 1, 0], [0, 0, 1]])
    >>> (Z @ Z.T).round(3)
    array([[0.75, 0.75],
           [0.75, 0.75]])
    """

    components_: NDArray[np.float64]
    eigenvalues_: NDArray[np.float64]

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None = None,
        *,
        vocabulary: Vocabulary | ArrayLike | None = None,
        n_components: int = 100,
        random_state: Any = 0,
    ) -> None:
        super().__init__(S, vocabulary, random_state)
        self.n_components = n_components

    def _expanded(self, queries: csr_array) -> csr_array:
        return self._unit(queries)

    def _fit_blocks(self, blocks: Blocks) -> None:
        check_whole("n_components", self.n_components)
        vectors, self.eigenvalues_ = leading_eigenvectors(self.S_, k=self.n_components)
        self.components_ = vectors * np.sqrt(self.eigenvalues_)
        self._n_features_out = self.n_components
