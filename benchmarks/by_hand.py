"""Words and meaning glued together by hand, as a user would: bm25s and faiss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bm25s
import faiss
import numpy as np
import Stemmer
from numpy.typing import NDArray

__all__ = ["FIRST", "ByHand"]

FIRST = 1000  # best by words and by vectors whose scores are added up
WEIGHT = 40.0  # of a cosine, as in softcosine


class ByHand:
    """Ranks by BM25 plus a weighted cosine, of the best of each.

    Parameters
    ----------
    texts : list of str
    vectors : ndarray of shape (n_docs, dimensions), float32
        Of the encoder.
    graph : bool
        Whether the nearest vectors are searched approximately, in an HNSW graph.
    """

    def __init__(
        self, texts: Sequence[str], vectors: NDArray[np.float32], *, graph: bool = False
    ) -> None:
        self.stemmer = Stemmer.Stemmer("english")
        self.words = bm25s.BM25(k1=1.2, b=0.75)
        self.words.index(self.tokens(texts), show_progress=False)
        self.vectors: Any = faiss.IndexFlatIP(vectors.shape[1])
        if graph:
            self.vectors = faiss.IndexHNSWFlat(vectors.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
            self.vectors.hnsw.efSearch = FIRST
        units = np.array(vectors, np.float32)
        faiss.normalize_L2(units)
        self.vectors.add(units)

    def tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the stems of each text, without stop words."""
        options = {"stopwords": "en", "stemmer": self.stemmer, "show_progress": False}
        found: list[list[str]] = bm25s.tokenize(list(texts), return_ids=False, **options)
        return found

    def search(
        self, tokens: list[str], vector: NDArray[np.float32], k: int = 10
    ) -> list[tuple[int, float]]:
        """Return the numbers and scores of the k best documents."""
        by_words = self.words.get_scores(tokens) * 2.2  # k1 + 1, which bm25s leaves out
        n = min(FIRST, len(by_words))
        best = np.argpartition(-by_words, n - 1)[:n]
        cosines, near = self.vectors.search(vector[None] / np.linalg.norm(vector), n)
        total = {int(d): float(by_words[d]) for d in best}
        for d, cosine in zip(near[0].tolist(), cosines[0].tolist(), strict=True):
            if d >= 0:
                total[d] = float(by_words[d]) + WEIGHT * cosine
        return sorted(total.items(), key=lambda item: (-item[1], item[0]))[:k]

    @property
    def n_bytes(self) -> int:
        """Bytes of both indexes."""
        arrays = [self.words.scores[name] for name in ("data", "indices", "indptr")]
        arrays.append(faiss.serialize_index(self.vectors))
        return sum(int(array.nbytes) for array in arrays)
