"""Latent semantic indexing, by the randomized SVD of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus, TextSettings
from softcosine.evaluate.systems.fitted import FittedVectors
from softcosine.evaluate.systems.rows import DenseRows, unit_rows
from softcosine.evaluate.systems.settings import choice, setting, whole
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class LSI(TextSettings):
    """Cosine in the space of the first singular vectors of the tf-idf matrix.

    Parameters
    ----------
    n_components : int
        Number of dimensions; limited by the numbers of texts and terms.
    tf, idf : str
        See `softcosine.Weighting`.
    seed : int
        Seed of the randomized SVD.
    **settings
        See `TextSettings`.
    """

    called = "lsi"
    n_components: int = setting(200, whole(1), "dimensions of the latent space")
    tf: str = setting("log", choice("raw", "log", "binary"), "weight of the term frequency")
    idf: str = setting(
        "smooth", choice("none", "smooth", "probabilistic", "bm25"), "inverse document frequency"
    )
    seed: int = setting(0, whole(0), "seed of the randomized SVD")

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Compute the SVD of the matrix of documents and background."""
        corpus = Corpus.of(documents, background, self)
        weighting = Weighting(self.tf, self.idf)
        X = unit_rows(corpus.weighted(corpus.analyzed.counts(), weighting))
        axes = self._axes(X)

        def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
            return projected(corpus.weighted(corpus.counts(texts), weighting))

        def projected(weighted: csr_array) -> NDArray[np.float64]:
            # Unit length first, so that rounding errors of zero are recognised by their size.
            found: NDArray[np.float64] = unit_rows(unit_rows(weighted) @ axes)
            return found

        return FittedVectors(
            DenseRows(unit_rows(X[: corpus.n_docs] @ axes)),
            vectors,
            told=lambda: f"{axes.shape[1]} dimensions of {len(corpus.vocabulary):,} terms.",
        )

    def _axes(self, X: csr_array) -> NDArray[np.float64]:
        """Return the first right singular vectors, shape (n_terms, dimensions)."""
        try:
            from sklearn.utils.extmath import randomized_svd
        except ImportError as error:
            raise MissingDependencyError("scikit-learn", "evaluate", "LSI") from error
        n_components = min(self.n_components, *X.shape)
        if not (n_components and X.nnz):
            return np.zeros((X.shape[1], 1))
        _, singular, Vt = randomized_svd(X, n_components, random_state=self.seed)
        used = singular > 1e-9 * singular[0]  # smaller ones are rounding errors beyond the rank
        return np.ascontiguousarray(Vt[used].T)
