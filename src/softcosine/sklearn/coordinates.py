"""Coordinates in which ordinary dot products and cosines are the soft ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_whole, must_be
from softcosine.errors import InvalidInputError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import SoftTransformer, Vectors, row_blocks
from softcosine.sklearn.scikit import get_config
from softcosine.space.basis import OrthonormalBasis, orthonormal_basis
from softcosine.space.latent import soft_singular_vectors
from softcosine.text.vocabulary import Vocabulary


class SoftCosineTransformer(SoftTransformer):
    r"""Transform documents to coordinates in an orthonormal basis of the soft space (theory T7).

    Any estimator that uses dot products, cosines or Euclidean distances then uses the soft ones:
    linear models, k-means, nearest neighbours. The coordinates are :math:`E^\top x` with :math:`S =
    E E^\top`. With `n_components` they are the best that many dimensions for the fitted documents,
    which need no factor of S and suit any number of terms.

    Parameters
    ----------
    S : TermSimilarityMatrix or SimilarityRecipe, optional
        A symmetric, positive definite matrix, or a recipe to build one in `fit`. By default it is
        learned from the documents: terms are similar if their vectors, from the truncated SVD of
        the documents, have similar directions (the recipe ``sources=["documents"]``, or
        ``["documents:50"]`` for 50 dimensions, with a threshold of 0.3 and an exponent of 2). With
        ``scaling="auto"`` a built matrix is positive definite.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column, which a recipe with other sources needs. By default a
        DataFrame's column names.
    n_components : int, optional
        Number of dimensions; by default all, exactly.
    sparse_output : bool
        Whether exact coordinates are a csr_array instead of an ndarray; with `n_components` they
        are always an ndarray.
    random_state : int, RandomState or None
        Seed of approximations.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    basis_ : OrthonormalBasis
        Only without `n_components`.
    components_ : ndarray of shape (n_terms, n_components)
        Only with `n_components`: coordinates are ``X @ components_``. If the documents have a
        lower rank, the last columns are zeros.
    singular_values_ : ndarray of shape (n_components,)
        Only with `n_components`; see `softcosine.space.latent.soft_singular_vectors`.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> Z = SoftCosineTransformer(S, sparse_output=False).fit_transform([[1, 1, 0], [1, 0, 1]])
    >>> (Z @ Z.T).round(3)
    array([[2. , 1.5],
           [1.5, 2. ]])
    """

    basis_: OrthonormalBasis
    components_: NDArray[np.float64]
    singular_values_: NDArray[np.float64]

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None = None,
        *,
        vocabulary: Vocabulary | ArrayLike | None = None,
        n_components: int | None = None,
        sparse_output: bool = True,
        random_state: Any = 0,
    ) -> None:
        super().__init__(S, vocabulary, random_state)
        self.n_components = n_components
        self.sparse_output = sparse_output

    def transform(self, X: Vectors) -> csr_array | NDArray[np.float64]:
        """Return coordinates.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)

        Returns
        -------
        csr_array or ndarray of shape (n_docs, n_terms or n_components), float64
            Dense if `set_output` requests a DataFrame.

        Raises
        ------
        InvalidInputError
            If a coordinate overflows float64.
        """
        coordinates = self._coordinates(self._documents(X))
        if isinstance(coordinates, csr_array) and self._gives_frames:
            return np.asarray(coordinates.toarray())  # a DataFrame needs dense data
        return coordinates

    @property
    def _gives_frames(self) -> bool:
        """Whether `set_output`, or the scikit-learn configuration, requests a DataFrame."""
        own = getattr(self, "_sklearn_output_config", {})
        return bool(own.get("transform", get_config()["transform_output"]) != "default")

    def _coordinates(self, documents: csr_array) -> csr_array | NDArray[np.float64]:
        if hasattr(self, "components_"):
            reduced = np.asarray(documents @ self.components_)
            if not np.all(np.isfinite(reduced)):
                raise InvalidInputError("a coordinate leaves the range of float64; scale X down.")
            return reduced
        coordinates = self.basis_.coordinates(documents)
        return _narrow(coordinates) if self.sparse_output else coordinates.toarray()

    def _fit(self, X: csr_array) -> None:
        for name in ("basis_", "components_", "singular_values_"):
            self.__dict__.pop(name, None)
        if not isinstance(self.sparse_output, bool | np.bool_):
            raise must_be("sparse_output", self.sparse_output, "True or False")
        if self.n_components is None:
            self.S_.require_symmetric("SoftCosineTransformer")
            try:
                self.basis_ = orthonormal_basis(self.S_)
            except InvalidInputError as error:  # the factor exceeds the memory
                raise InvalidInputError(
                    f"{error} A SoftCosineTransformer with n_components needs no factor either."
                ) from error
            self._n_features_out = len(self.S_)
            return
        check_whole("n_components", self.n_components)
        self.components_, self.singular_values_ = soft_singular_vectors(
            lambda: row_blocks(X), self.S_, k=self.n_components, random_state=self._seed
        )
        self._n_features_out = self.n_components


def _narrow(X: csr_array) -> csr_array:
    """Return a matrix with 32-bit indices if possible: many estimators need them."""
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return csr_array((X.data, indices, indptr), shape=X.shape)
