"""Documents and queries as vectors whose dot products are the scores (theory T8, T9).

Any system that multiplies vectors can rank with them: a vector database, a change of basis, a
projection to few dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.index.search.parts import Part
from softcosine.index.search.searcher import Searcher
from softcosine.index.search.top_docs import QueryVector
from softcosine.kernels.documents import SATURATED
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["QueryRows", "RankedVectors", "of_terms"]


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Unexpanded queries, divided by the norms of their ranking.

    Attributes
    ----------
    weighted : csr_array of shape (n_queries, n_terms), float64
        W x.
    outside : csr_array of shape (n_queries, n_terms), float64
        The contribution of words outside the vocabulary to Sᵀ W x.
    """

    weighted: csr_array
    outside: csr_array

    def expanded(self, S: TermSimilarityMatrix) -> csr_array:
        """Return Sᵀ W x, (n_queries, n_terms); its dot products with documents are the scores."""
        terms, weighted = of_terms(self.weighted)
        expanded = csr_array(weighted @ S.to_scipy()[terms].astype(np.float64))
        return csr_array(expanded + self.outside) if self.outside.nnz else expanded


def of_terms(rows: csr_array) -> tuple[NDArray[np.int64], csr_array]:
    """Return the terms that occur in rows, ascending, and the rows restricted to these columns.

    The cost of multiplying a few queries then does not depend on the vocabulary.
    """
    terms, places = np.unique(rows.indices, return_inverse=True)
    arrays = (rows.data, places.ravel(), rows.indptr)
    return terms, csr_array(arrays, shape=(rows.shape[0], len(terms)))


class RankedVectors:
    """The weighted and normalised documents of one field, for one ranking, and queries for them.

    A score is ``documents() @ queries().expanded(S).T``, in float64 up to rounding.

    Parameters
    ----------
    searcher : Searcher
        Of the field, for the ranking.

    Raises
    ------
    InvalidInputError
        If scores by the ranking are no products of vectors.
    """

    def __init__(self, searcher: Searcher) -> None:
        if not searcher.ranking.linear:
            raise InvalidInputError(
                f"scores by {searcher.ranking.name} are not products of vectors; rank by soft_bm25."
            )
        self._searcher = searcher

    @property
    def S(self) -> TermSimilarityMatrix:  # noqa: N802  # the papers' letter
        """The term similarity matrix."""
        return self._searcher.S

    def __len__(self) -> int:
        """Return the number of live documents."""
        return sum(
            part.segment.n_docs if part.live is None else int(np.count_nonzero(part.live))
            for part in self._searcher.parts
        )

    def numbers(self) -> NDArray[np.int64]:
        """Numbers of all live documents, ascending."""
        live = [
            part.first
            + (np.arange(part.segment.n_docs) if part.live is None else np.flatnonzero(part.live))
            for part in self._searcher.parts
        ]
        return np.concatenate(live).astype(np.int64)

    def documents(self, *, rows: int = 8192) -> Iterator[tuple[NDArray[np.int64], csr_array]]:
        """Yield the numbers and vectors W y of all live documents, in order.

        Parameters
        ----------
        rows : int
            Maximum number of documents per block.

        Yields
        ------
        numbers : ndarray of shape (n,), int64, ascending
        vectors : csr_array of shape (n, n_terms), float64
            Divided by the norms of the ranking; zero for documents of norm 0.
        """
        for part in self._searcher.parts:
            n_docs = part.segment.n_docs
            for begin in range(0, n_docs, rows):
                chosen = np.arange(begin, min(begin + rows, n_docs))
                vectors = self._vectors(part, begin, int(chosen[-1]) + 1)
                if part.live is not None:
                    live = np.flatnonzero(part.live[chosen])
                    chosen, vectors = chosen[live], vectors[live]
                if chosen.shape[0]:
                    yield chosen + part.first, vectors

    def queries(self, vectors: Sequence[QueryVector]) -> QueryRows:
        """Return queries as rows, not yet expanded.

        Raises
        ------
        IndefiniteMatrixError
            If the ranking needs the soft norm of a query and x'Sx is negative.
        """
        factors = [self._searcher.expanded(vector).factor for vector in vectors]
        return QueryRows(
            weighted=self._rows([(one.terms, one.weights) for one in vectors], factors),
            outside=self._rows([(one.extra_terms, one.extra_values) for one in vectors], factors),
        )

    def _vectors(self, part: Part, begin: int, end: int) -> csr_array:
        segment, ranking = part.segment, part.ranking
        pointers = segment.pointers[begin : end + 1]
        own = slice(int(pointers[0]), int(pointers[-1]))
        terms, counts = segment.terms_of(own), np.diff(pointers)
        if segment.real:
            values = segment.reals[own]
        else:
            values = ranking.table[segment.levels_of(own)]
        if ranking.kind == SATURATED:
            saturation = np.repeat(ranking.saturation[begin:end], counts)
            values = values * (ranking.k1 + 1.0) / (values + saturation)
        values = (
            values * ranking.term_weights[terms] * np.repeat(ranking.factors[begin:end], counts)
        )
        return csr_array(
            (values, terms.astype(np.int64), pointers - pointers[0]),
            shape=(end - begin, len(self.S)),
        )

    def _rows(
        self,
        lists: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]],
        factors: Sequence[float],
    ) -> csr_array:
        pointers = np.cumsum([0, *(len(terms) for terms, _ in lists)])
        none = [np.empty(0)]
        terms = np.concatenate([*(terms for terms, _ in lists), *none]).astype(np.int64)
        pairs = zip(lists, factors, strict=True)
        values = np.concatenate([*(values * factor for (_, values), factor in pairs), *none])
        rows = csr_array((values, terms, pointers), shape=(len(lists), len(self.S)))
        rows.sum_duplicates()  # several words can be similar to one term
        return rows
