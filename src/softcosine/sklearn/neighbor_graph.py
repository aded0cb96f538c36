"""The graph of nearest neighbours by soft cosine, for estimators with precomputed distances."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from softcosine._validation import check_choice, check_whole
from softcosine.errors import InvalidInputError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import SoftTransformer, Vectors
from softcosine.sklearn.soft_neighbors import GRAPH_MODES, SoftNeighbors
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting


class SoftNeighborsTransformer(SoftTransformer):
    """Transform documents to the graph of their nearest neighbours among the fitted documents.

    For estimators that take ``metric="precomputed"``, such as KNeighborsClassifier and DBSCAN, and
    for graph algorithms. Neighbours are exact, from an inverted index, and S may be large. It works
    like scikit-learn's KNeighborsTransformer; the distance is 1 - soft cosine, never below 0.

    Parameters
    ----------
    S : TermSimilarityMatrix or SimilarityRecipe, optional
        A symmetric matrix, or a recipe to build one in `fit`; see
        `softcosine.sklearn.coordinates.SoftCosineTransformer`.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column, for a recipe. By default a DataFrame's column names.
    n_neighbors : int
        Number of neighbours of each document. With distances there is one more, because each
        fitted document is its own neighbour, which an estimator can then leave out.
    mode : {"distance", "connectivity"}
        Whether entries are distances or ones.
    weighting : Weighting, optional
        How counts become coordinates. By default values are coordinates already, such as tf-idf.
    n_jobs : int, optional
        Number of threads; all CPUs by default. It does not change results.
    random_state : int, RandomState or None
        Seed, used only if S is learned.

    Attributes
    ----------
    S_ : TermSimilarityMatrix
    neighbors_ : SoftNeighbors
    n_samples_fit_ : int

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> graph = SoftNeighborsTransformer(S, n_neighbors=1).fit_transform(
    ...     [[1, 0, 0], [0, 1, 0], [0, 0, 2], [1, 0, 1]]
    ... )
    >>> graph.toarray()[1]
    array([0. , 0. , 0.5, 0. ])
    """

    neighbors_: SoftNeighbors
    n_samples_fit_: int
    _non_negative = True
    _advice = " For others, put SoftCosineTransformer before KNeighborsTransformer."

    def __init__(
        self,
        S: TermSimilarityMatrix | SimilarityRecipe | None = None,
        *,
        vocabulary: Vocabulary | ArrayLike | None = None,
        n_neighbors: int = 5,
        mode: str = "distance",
        weighting: Weighting | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(S, vocabulary, random_state)
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.weighting = weighting
        self.n_jobs = n_jobs

    def transform(self, X: Vectors) -> csr_array:
        """Return the graph from the rows of X to their neighbours.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
            Non-negative.

        Returns
        -------
        csr_array of shape (n_docs, n_fitted), float64
            Each row is sorted by distance, then by the neighbour's number; distances of 0 are
            stored.

        Raises
        ------
        InvalidInputError
            If a weight is negative.
        """
        documents = self._documents(X)
        return self.neighbors_.kneighbors_graph(documents, self._n_found, self.mode)

    @property
    def _n_found(self) -> int:
        return int(self.n_neighbors) + (self.mode == "distance")

    def _fit(self, X: csr_array) -> None:
        check_whole("n_neighbors", self.n_neighbors)
        check_choice("mode", self.mode, GRAPH_MODES)
        if self._n_found > X.shape[0]:
            raise InvalidInputError(
                f"{self._n_found} neighbours are needed, and n_samples = {X.shape[0]}."
            )
        self.neighbors_ = SoftNeighbors(
            self.S_, weighting=self.weighting, n_neighbors=self._n_found, n_jobs=self.n_jobs
        ).fit(X)
        self.n_samples_fit_ = X.shape[0]
        self._n_features_out = X.shape[0]
