"""Latent Dirichlet allocation, by scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus, TextSettings
from softcosine.evaluate.systems.fitted import FittedVectors
from softcosine.evaluate.systems.rows import DenseRows
from softcosine.evaluate.systems.settings import choice, flag, setting, whole


@dataclass(frozen=True, kw_only=True)
class LDA(TextSettings):
    """Similarity of topic distributions, learned by variational Bayes.

    Parameters
    ----------
    n_components : int
        Number of topics.
    max_iter : int
        Number of passes over the texts.
    online : bool
        Learns from batches of texts, which is faster for many texts.
    by : {"hellinger", "cosine"}
        Similarity of distributions: the scalar product of their square roots, which is 1 minus the
        squared Hellinger distance, or their cosine.
    seed : int
    **settings
        See `TextSettings`.
    """

    called = "lda"
    n_components: int = setting(100, whole(1), "number of topics")
    max_iter: int = setting(10, whole(1), "passes over the texts")
    online: bool = setting(False, flag, "learns from batches of texts")
    by: str = setting("hellinger", choice("hellinger", "cosine"), "how topics are compared")
    seed: int = setting(0, whole(0), "seed of the initial topics")

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedVectors:
        """Learn topics from documents and background; a text without known words has none."""
        corpus = Corpus.of(documents, background, self)
        counts = csr_array(corpus.analyzed.counts(), dtype=np.float64)
        topics_of = self._topics(counts)

        def points(of: csr_array) -> NDArray[np.float64]:
            topics = topics_of(of)
            points: NDArray[np.float64] = np.sqrt(topics) if self.by == "hellinger" else topics
            lengths = np.sqrt((points * points).sum(axis=1))
            known = np.diff(of.indptr) > 0
            points *= np.divide(1.0, lengths, out=np.zeros(len(points)), where=known)[:, None]
            return points

        def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
            return points(csr_array(corpus.counts(texts), dtype=np.float64))

        return FittedVectors(
            DenseRows(points(counts[: corpus.n_docs])),
            vectors,
            told=lambda: f"{self.n_components} topics of {len(corpus.vocabulary):,} terms.",
        )

    def _topics(self, counts: csr_array) -> Callable[[csr_array], NDArray[np.float64]]:
        """Return the function from counts to topic distributions, (n_texts, n_components)."""
        try:
            from sklearn.decomposition import LatentDirichletAllocation
        except ImportError as error:
            raise MissingDependencyError("scikit-learn", "evaluate", "LDA") from error
        nothing = not counts.nnz
        model = LatentDirichletAllocation(
            self.n_components,
            max_iter=self.max_iter,
            learning_method="online" if self.online else "batch",
            random_state=self.seed,
        )
        if not nothing:
            model.fit(counts)

        def topics_of(of: csr_array) -> NDArray[np.float64]:
            if nothing or not of.shape[0]:
                return np.zeros((of.shape[0], self.n_components))
            topics: NDArray[np.float64] = model.transform(of)
            return topics

        return topics_of
