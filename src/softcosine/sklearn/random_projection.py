"""Random projection for the soft cosine (theory T11)."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.few_dimensions import FewDimensions
from softcosine.space.latent import Blocks
from softcosine.space.latent_projection import sparse_projection
from softcosine.text.vocabulary import Vocabulary

__all__ = ["SoftRandomProjection"]


class SoftRandomProjection(FewDimensions):
    r"""A sparse random projection that preserves soft cosines in expectation (theory T11).

    With a sparse random R, E[R Rᵀ] = I, `transform` returns :math:`R^\top y'` for :math:`y' =
    y / \lvert y \rvert_S` and `transform_queries` :math:`R^\top S^\top x / \lvert x \rvert_S`.
    Nothing is learned from the documents, except S if it is not given. The error of a dot product
    is proportional to ``1 / sqrt(n_components)``; see
    `softcosine.space.latent_projection.sparse_projection`.

    Parameters
    ----------
    S : TermSimilarityMatrix or SimilarityRecipe, optional
        A symmetric matrix, or a recipe to build one in `fit`; see
        `softcosine.sklearn.coordinates.SoftCosineTransformer`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column, for a recipe. By default a DataFrame's column names.
    n_components : int
        Number of dimensions.
    density : float, optional
        Share of non-zero entries of R; ``1 / sqrt(n_terms)`` by default.
    random_state : int, RandomState or None
        Seed.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    components_ : csr_array of shape (n_terms, n_components)
        R.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]])
    >>> projection = SoftRandomProjection(S, n_components=5000).fit([[1, 0]])
    >>> products = projection.transform_queries([[1, 0]]) @ projection.transform([[0, 2]]).T
    >>> products.round(1)
    array([[0.5]])
    """

    components_: csr_array

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None = None,
        *,
        vocabulary: Vocabulary | ArrayLike | None = None,
        n_components: int = 256,
        density: float | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(S, vocabulary, random_state)
        self.n_components = n_components
        self.density = density

    def _fit_blocks(self, blocks: Blocks) -> None:
        check_whole("n_components", self.n_components)
        self.components_ = sparse_projection(
            len(self.S_), k=self.n_components, density=self.density, random_state=self._seed
        )
        self._n_features_out = self.n_components
