"""Nearest neighbors by soft similarity among the rows of a matrix."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError, NotFittedError
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import Segment, cut
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.frequencies import words_space
from softcosine.index.spaces.plan import Plan
from softcosine.index.spaces.space import Limits, check_k
from softcosine.index.spaces.sum import Sum
from softcosine.index.spaces.words import Words
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.norms import checked_matrix, column_terms, distances
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    import pandas as pd

GRAPH_MODES = ("distance", "connectivity")


@dataclass(frozen=True, slots=True)
class Matches:
    """The nearest rows of each query, best first; ties go to the lower row number.

    Attributes
    ----------
    ids : ndarray of shape (n_queries, k), int64
        Row numbers of the fitted matrix.
    scores : ndarray of shape (n_queries, k), float64
    plans : tuple of Plan, one per query
        How each query was executed, and why.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]
    plans: tuple[Plan, ...] = field(default=(), repr=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return a table, one row per match: query, rank (from 1), id, score."""
        from softcosine.index.frames import data_frame

        n_queries, k = self.ids.shape
        return data_frame(
            {
                "query": np.repeat(np.arange(n_queries), k),
                "rank": np.tile(np.arange(1, k + 1), n_queries),
                "id": self.ids.ravel(),
                "score": self.scores.ravel(),
            }
        )


class SoftNeighbors:
    """Exact nearest neighbors in the soft vector space.

    Parameters
    ----------
    S : TermSimilarityMatrix of order n_terms
        Symmetric.
    ranking : {"soft_cosine", "inner_product", "expanded_cosine", "soft_bm25", "soft_tf_bm25"}
        See `softcosine.index.rankings`.
    weighting : Weighting, optional
        Converts counts to coordinates. By default the values are coordinates already, such as
        tf-idf of scikit-learn.
    n_neighbors : int
        Default number of neighbors.
    n_jobs : int, optional
        Number of threads for `fit` and for batches, as in scikit-learn; all processors by default.
        Results do not depend on it.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    >>> neighbors = sc.SoftNeighbors(S).fit([[1, 0, 0], [0, 1, 0], [0, 0, 2]])
    >>> matches = neighbors.search([[0, 1, 0]], k=3)
    >>> matches.ids, matches.scores
    (array([[1, 2, 0]]), array([[1. , 0.5, 0. ]]))
    """

    def __init__(
        self,
        S: TermSimilarityMatrix,
        *,
        ranking: str = "soft_cosine",
        weighting: Weighting | None = None,
        n_neighbors: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.S = S
        self.ranking = ranking
        self.weighting = weighting
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        fitted = f", {self.n_samples_fit_} rows" if hasattr(self, "words_") else ""
        return f"SoftNeighbors({self.S!r}, ranking={self.ranking!r}{fitted})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters, as scikit-learn requires."""
        return {
            name: getattr(self, name)
            for name in ("S", "ranking", "weighting", "n_neighbors", "n_jobs")
        }

    def set_params(self, **parameters: Any) -> Self:
        """Set the constructor's parameters by name."""
        for name, value in parameters.items():
            if name not in self.get_params():
                raise InvalidInputError(f"SoftNeighbors has no parameter {name!r}.")
            setattr(self, name, value)
        return self

    def fit(self, X: ArrayLike | csr_array, y: object = None) -> Self:
        """Index the rows of X.

        Parameters
        ----------
        X : array or sparse array of shape (n_docs, n_terms)
            Finite and non-negative. Named columns of a data frame are taken by the terms of S, here
            and in queries. With a `weighting`, or if all values are integers, values are
            stored as counts.

        Raises
        ------
        InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        """
        checked_similarity(self.S).require_symmetric("SoftNeighbors")
        if self.weighting is not None:
            checked_weighting(self.weighting)
        self._terms = column_terms(self.S, X)
        X = _non_negative(checked_matrix(X, len(self.S), "X", self._terms), "X")
        whole = X.nnz == 0 or bool(np.all(X.data == np.rint(X.data)) and X.data.max() < 2**53)
        if self.weighting is not None and not whole:
            raise InvalidInputError(
                "X holds values that are no counts, and a weighting needs counts; pass counts, or "
                "weigh X yourself and leave weighting out."
            )
        counts = self.weighting is not None or (whole and np.unique(X.data).shape[0] <= 2**16)
        invert = Segment.from_counts if counts else Segment.from_weights
        segments = [invert(piece) for piece in cut(X)]
        statistics = FieldStatistics.of(segments, len(self.S))
        parts: list[RankedSegment] = []
        first = 0
        for segment in segments:
            prepared = prepare(
                self.ranking, segment, self.S, self.weighting, statistics,
                like=parts[0].ranking if parts else None, first=first, threads=self.n_jobs,
            )  # fmt: skip
            parts.append(RankedSegment(segment, prepared, first))
            first += segment.n_docs
        self.words_ = words_space(parts, self.S)
        self.n_features_in_ = len(self.S)
        self.n_samples_fit_ = X.shape[0]
        return self

    def search(self, Q: ArrayLike | csr_array | None = None, *, k: int | None = None) -> Matches:
        """Return the k best rows of each query, including scores of 0; ties by row number.

        Parameters
        ----------
        Q : array or sparse array of shape (n_queries, n_terms), optional
            Finite and non-negative, of the same kind as X. By default the fitted rows; a row is
            then not its own match.
        k : int, optional
            `n_neighbors` by default; at most the number of rows is returned.

        Raises
        ------
        NotFittedError, InvalidInputError, VocabularyMismatchError, IndefiniteMatrixError
        """
        words = self.words
        k = check_k(self.n_neighbors if k is None else k)
        if Q is None:
            return _without_self(
                self.search(
                    vstack([part.segment.matrix() for part in words.parts], format="csr"),
                    k=k + 1,
                )
            )
        k = min(k, self.n_samples_fit_)
        queries = self.query_vectors(Q)
        if k == 0:
            return Matches(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0)))
        limits = Limits(k=k, min_score=-np.inf, positive=False, threads=self.n_jobs)
        ready = [ReadyQuery((query,)) for query in queries]
        tops = Sum(words.parts, ((1.0, words),)).best(ready, limits)
        return Matches(
            np.array([top.documents for top in tops], np.int64).reshape(len(tops), k),
            np.array([top.scores for top in tops]).reshape(len(tops), k),
            tuple(top.plan for top in tops),
        )

    def kneighbors(
        self,
        X: ArrayLike | csr_array | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]] | NDArray[np.int64]:
        """Return distances and row numbers, like the scikit-learn method of this name.

        A distance is 1 - cosine, and never negative: it is 0 where the cosine exceeds 1 by rounding
        or because S is indefinite.

        Parameters
        ----------
        X : array of shape (n_queries, n_terms), optional
            By default the fitted rows; a row is then not its own neighbor.
        n_neighbors : int, optional
        return_distance : bool

        Raises
        ------
        InvalidInputError
            If there are fewer than `n_neighbors` rows, or distances are requested from a ranking
            whose scores are not cosines; also as in `search`.
        """
        if return_distance and self.words.ranking.normalization == "none":
            raise InvalidInputError(
                f"{self.ranking} gives scores without a bound, of which no distance can be made; "
                "rank by soft_cosine, take the scores of search(), or pass return_distance=False."
            )
        k = check_k(self.n_neighbors if n_neighbors is None else n_neighbors)
        if k + (X is None) > self.n_samples_fit_:
            raise InvalidInputError(
                f"{k} neighbours were asked for, and {self.n_samples_fit_} rows were fitted; ask "
                f"for at most {self.n_samples_fit_ - (X is None)}."
            )
        matches = self.search(X, k=k)
        return (distances(matches.scores), matches.ids) if return_distance else matches.ids

    def kneighbors_graph(
        self,
        X: ArrayLike | csr_array | None = None,
        n_neighbors: int | None = None,
        mode: str = "connectivity",
    ) -> csr_array:
        """Return the graph from rows to their neighbors, like the scikit-learn method of this name.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.

        Returns
        -------
        csr_array of shape (n_queries, n_fitted), float64
            Each row ordered by distance, as estimators with ``metric="precomputed"`` require;
            distances of 0 are stored explicitly.

        Raises
        ------
        InvalidInputError
            If `mode` is unknown; also as in `kneighbors`.
        """
        check_choice("mode", mode, GRAPH_MODES)
        if mode == "distance":
            entries, ids = self.kneighbors(X, n_neighbors)
        else:
            ids = np.asarray(self.kneighbors(X, n_neighbors, return_distance=False))
            entries = np.ones(ids.shape)
        n_docs, width = ids.shape
        # Many estimators require 32-bit indices, if these suffice.
        fits = max(n_docs * width, self.n_samples_fit_) <= np.iinfo(np.int32).max
        dtype = np.int32 if fits else np.int64
        pointers = (np.arange(n_docs + 1, dtype=np.int64) * width).astype(dtype)
        shape = (n_docs, self.n_samples_fit_)
        return csr_array((entries.ravel(), ids.ravel().astype(dtype), pointers), shape=shape)

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn (1.6 or later)."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, positive_only=True),
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "words_" in state:
            # As bytes: joblib maps arrays read-only in other processes, but the compiled kernels
            # require writable arrays.
            state["words_"] = pickle.dumps(self.words_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "words_" in state:
            self.words_ = pickle.loads(state["words_"])

    @property
    def words(self) -> Words:
        """The space of the fitted rows; NotFittedError before `fit`."""
        words: Words | None = getattr(self, "words_", None)
        if words is None:
            raise NotFittedError("this SoftNeighbors is not fitted yet; call fit(X) first.")
        return words

    def query_vectors(self, Q: ArrayLike | csr_array) -> list[QueryVector]:
        """Return the weighted rows of Q as queries; errors are those of `search`."""
        terms = self._terms or column_terms(self.S, Q)
        Q = _non_negative(checked_matrix(Q, len(self.S), "Q", terms), "Q")
        ranking = self.words.ranking
        weighting, average = ranking.query_weighting, ranking.average_length
        queries = []
        for row in range(Q.shape[0]):
            part = slice(Q.indptr[row], Q.indptr[row + 1])
            terms, values = Q.indices[part].astype(np.int32), Q.data[part]
            if not (self.weighting is None and weighting.tf == "raw"):
                ratio = values.sum() / average if average > 0 else 1.0
                values = weighting.frequencies(values, np.full_like(values, ratio))
            weights = values * ranking.term_weights[terms]
            if ranking.normalization != "none":
                # Cosines do not change by scaling, and norms cannot overflow or underflow.
                weights = np.ldexp(weights, 1 - np.frexp(weights.max(initial=0.0))[1])
            queries.append(QueryVector(terms, weights))
        return queries


def _non_negative(X: csr_array, name: str) -> csr_array:
    if X.nnz and X.data.min() < 0:
        row = int(np.searchsorted(X.indptr, np.flatnonzero(X.data < 0)[0], "right")) - 1
        raise InvalidInputError(
            f"{name} holds a negative weight in row {row}; SoftNeighbors needs weights of 0 or "
            "more. soft_cosine_similarity takes any."
        )
    if np.any(X.data == 0):
        X = X.copy()
        X.eliminate_zeros()
    return X


def _without_self(matches: Matches) -> Matches:
    """Remove each row's own number, or its last match if equal rows displaced it."""
    n, width = matches.ids.shape
    own = matches.ids == np.arange(n)[:, None]
    if width:
        own[~own.any(axis=1), width - 1] = True
    shape = (n, max(width - 1, 0))
    ids, scores = matches.ids[~own].reshape(shape), matches.scores[~own].reshape(shape)
    return Matches(ids, scores, matches.plans)
