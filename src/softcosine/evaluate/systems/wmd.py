"""Word mover's distance, by the exact solver of POT, and its relaxations.

A text is a set of points, one per word, each with its share of the text; the distance is the
minimum cost of moving the shares of one text to the points of the other (Kusner et al. 2015). The
relaxation moves each share to the nearest point, in either direction: a lower bound.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import MissingDependencyError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import Corpus
from softcosine.evaluate.systems.fitted import check_partners
from softcosine.evaluate.systems.rows import best, ranked_lists
from softcosine.evaluate.systems.settings import choice, optional, setting, whole
from softcosine.evaluate.systems.system import Ranked
from softcosine.evaluate.systems.word_vectors import VectorSettings, VectorTexts, word_weights
from softcosine.index.search.explanation import Explanation
from softcosine.similarity.source import TermSimilaritySource

Solver = Callable[..., Any]

_SAME = 1e-14  # squared distance of points that differ only by rounding
_TOGETHER = 512  # documents per block of word costs
_ROUNDING = 1e-9  # tolerance by which bounds can exceed distances


@dataclass(frozen=True, slots=True)
class Query:
    """A text to compare with the documents.

    Attributes
    ----------
    shares : ndarray of shape (n_own,), float64
        Shares of its distinct words; their sum is 1.
    costs : ndarray of shape (n_words, n_own), float64
        Distances from every word of the documents to each of its words.
    """

    shares: NDArray[np.float64]
    costs: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Movable:
    """Documents as shares of their words, with the points of the words.

    Attributes
    ----------
    shares : csr_array of shape (n_docs, n_words), float64
        Each row sums to 1, or is empty.
    points : ndarray of shape (n_words, dimensions), float64
        Vectors of unit length.
    """

    shares: csr_array
    points: NDArray[np.float64]

    @classmethod
    def of(cls, weighted: csr_array, points: NDArray[np.float64]) -> Movable:
        """Return weighted documents with normalised rows and points."""
        sums = np.asarray(weighted.sum(axis=1), np.float64).ravel()
        shares = csr_array(weighted, dtype=np.float64, copy=True)
        shares.data = shares.data / np.repeat(sums, np.diff(shares.indptr))
        lengths = np.sqrt((points * points).sum(axis=1))
        return cls(shares, points / np.where(lengths > 0, lengths, 1.0)[:, None])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each document has a word with a point, shape (n_docs,)."""
        known: NDArray[np.bool_] = np.diff(self.shares.indptr) > 0
        return known

    def only(self, document: int) -> Movable:
        """Return one document with only its own words."""
        words, shares = self.words_of(document)
        return Movable(csr_array(shares[None, :]), self.points[words])

    def query(self, other: Movable, row: int) -> Query | None:
        """Return a row of other texts as a query; None if no word has a point."""
        own = slice(other.shares.indptr[row], other.shares.indptr[row + 1])
        if own.start == own.stop:
            return None
        points = other.points[other.shares.indices[own]]
        squares = 2.0 - 2.0 * (self.points @ points.T)
        squares[squares < _SAME] = 0.0
        return Query(other.shares.data[own].copy(), np.sqrt(squares))

    def words_of(self, document: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return a document's words and their shares."""
        own = slice(self.shares.indptr[document], self.shares.indptr[document + 1])
        return self.shares.indices[own], self.shares.data[own]

    def to_query(self, query: Query) -> NDArray[np.float64]:
        """Return the cost of moving each document to the nearest words of the query.

        Linear in the sum of the documents' lengths; 0 for documents without points.
        """
        costs: NDArray[np.float64] = self.shares @ query.costs.min(axis=1)
        return costs

    def from_query(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cost of moving the query to the nearest words of each document.

        All documents must have points. Linear in their lengths times that of the query.
        """
        costs = np.empty(len(documents))
        for start in range(0, len(documents), _TOGETHER):
            chosen = csr_array(self.shares[documents[start : start + _TOGETHER]])
            nearest = np.minimum.reduceat(query.costs[chosen.indices], chosen.indptr[:-1], axis=0)
            costs[start : start + _TOGETHER] = (nearest * query.shares).sum(axis=1)
        return costs

    def relaxed(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the larger of both relaxed costs for each document that has points."""
        return np.maximum(self.to_query(query)[documents], self.from_query(query, documents))

    def relaxed_nearest(
        self, query: Query, *, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the documents that can be among the k nearest by the larger relaxed cost.

        One direction is cheap for all documents, and is a lower bound of the larger cost.

        Returns
        -------
        documents : ndarray of shape (n,), int64
            The k nearest, and others.
        costs : ndarray of shape (n,), float64
        """
        known = np.flatnonzero(self.known)
        bounds = self.to_query(query)[known]
        order = np.argsort(bounds, kind="stable")
        costs = np.empty(0)
        for start in range(0, len(order), _TOGETHER):
            group = order[start : start + _TOGETHER]
            if len(costs) >= k and bounds[group[0]] > kth(costs, k) + _ROUNDING:
                break
            moved = self.from_query(query, known[group])
            costs = np.concatenate([costs, np.maximum(bounds[group], moved)])
        return known[order[: len(costs)]], costs


def kth(costs: NDArray[np.float64], k: int) -> float:
    """Return the k-th smallest of at least k costs."""
    return float(np.partition(costs, k - 1)[k - 1])


def emd(
    solve: Solver, query: Query, words: NDArray[np.int32], shares: NDArray[np.float64]
) -> float:
    """Return the minimum cost of moving a query to the words of a document."""
    costs = np.ascontiguousarray(query.costs[words].T)
    return max(0.0, float(solve(query.shares, shares, costs, check_marginals=False)))


def solver() -> Solver:
    """Return the exact solver of POT.

    Raises
    ------
    MissingDependencyError
    """
    try:
        from ot import emd2
    except ImportError as error:
        raise MissingDependencyError("POT", "evaluate", "Word mover's distance") from error
    solve: Solver = emd2
    return solve


@dataclass(frozen=True, kw_only=True)
class TransportSettings(VectorSettings):
    """Settings of word mover's distances.

    Parameters
    ----------
    weights : {"none", "idf"}
        Weight of a word in its text: its count, or its count times idf.
    **settings
        See `VectorSettings`.
    """

    weights: str = setting("none", choice("none", "idf"), "weights of words")


@dataclass(frozen=True, slots=True)
class TransportTexts:
    """Converter of texts to `Movable`.

    Attributes
    ----------
    corpus : Corpus
    source : TermSimilaritySource
        Source of the word vectors.
    weights : str
    """

    corpus: Corpus
    source: TermSimilaritySource
    weights: str

    @classmethod
    def of(
        cls, settings: TransportSettings, documents: Documents, background: Sequence[str]
    ) -> TransportTexts:
        """Analyse the documents; idf includes the background."""
        corpus = Corpus.of(documents, background, settings)
        return cls(corpus, settings.source(), settings.weights)

    def documents(self) -> Movable:
        """Return the documents of the corpus."""
        counts = self.corpus.analyzed.counts()[: self.corpus.n_docs]
        return self._movable(VectorTexts.of(counts, self.corpus.vocabulary, self.source))

    def movable(self, texts: Sequence[str]) -> Movable:
        """Return texts outside the collection."""
        return self._movable(VectorTexts.analyzed(texts, self.corpus, self.source))

    def _movable(self, texts: VectorTexts) -> Movable:
        weights = word_weights(self.weights, self.corpus)(texts)
        weighted = texts.counts.copy()
        weighted.data = weighted.data * weights[weighted.indices]
        return Movable.of(weighted, texts.points)


@dataclass(frozen=True, kw_only=True)
class FittedTransport(ABC):
    """Ranks by a distance; the similarity is 1 / (1 + distance), or 0 if a text has no points.

    Attributes
    ----------
    texts : TransportTexts
    movable : Movable
        The documents.
    """

    texts: TransportTexts
    movable: Movable

    @abstractmethod
    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""

    @abstractmethod
    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` nearest documents for each query."""

        def lists() -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
            for query in self._queries(queries.texts):
                if query is None:
                    yield np.empty(0, np.int64), np.empty(0)
                else:
                    numbers, distances = self.nearest(query, k)
                    yield best(numbers, _closeness(distances), k=k)

        return ranked_lists(lists(), n_queries=len(queries), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents."""
        return [
            self._scores(query, numbers)
            for query, numbers in zip(self._queries(queries.texts), candidates, strict=True)
        ]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the similarity of each text and its partner."""
        check_partners(left, right)
        asked, partners = self.texts.movable(left), self.texts.movable(right)
        scores = np.zeros(len(left))
        for number in range(len(left)):
            own = replace(self, movable=partners.only(number))
            scores[number] = own._scores(own.movable.query(asked, number), np.zeros(1, np.int64))[0]
        return scores

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Return None: a distance is not a sum over pairs of words."""
        return None

    def _queries(self, texts: Sequence[str]) -> Iterator[Query | None]:
        asked = self.texts.movable(texts)
        for row in range(len(texts)):
            yield self.movable.query(asked, row)

    def _scores(self, query: Query | None, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.zeros(len(numbers))
        known = self.movable.known[numbers]
        if query is not None and known.any():
            scores[known] = _closeness(self.distances(query, numbers[known]))
        return scores


def _closeness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return similarities in (0, 1]; smaller distances are more similar."""
    return 1.0 / (1.0 + distances)


@dataclass(frozen=True, kw_only=True)
class RWMD(TransportSettings):
    """Relaxed word mover's distance between unit vectors; a similarity is 1 / (1 + distance).

    Parameters
    ----------
    sides : {"both", "documents", "queries"}
        The larger of both directions; or only the cost of moving documents to queries, which is
        linear in the sum of all lengths (Atasu et al. 2017); or only the other direction.
    **settings
        See `TransportSettings`.
    """

    called = "rwmd"
    sides: str = setting(
        "both", choice("both", "documents", "queries"), "which texts are moved to the others"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedRWMD:
        """Look up the words of the documents; idf includes the background."""
        texts = TransportTexts.of(self, documents, background)
        return FittedRWMD(texts=texts, movable=texts.documents(), sides=self.sides)


@dataclass(frozen=True, kw_only=True)
class FittedRWMD(FittedTransport):
    """Ranks by the relaxed distance, exactly.

    Attributes
    ----------
    sides : str
        See `RWMD`.
    """

    sides: str

    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""
        if self.sides == "documents":
            return self.movable.to_query(query)[documents]
        if self.sides == "queries":
            return self.movable.from_query(query, documents)
        return self.movable.relaxed(query, documents)

    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""
        if self.sides == "both":
            return self.movable.relaxed_nearest(query, k=k)
        known = np.flatnonzero(self.movable.known)
        return known, self.distances(query, known)


_GROUP = 16  # documents between two updates of the k-th distance


@dataclass(frozen=True, kw_only=True)
class WMD(TransportSettings):
    """Word mover's distance between unit vectors; a similarity is 1 / (1 + distance).

    Each pair of texts needs the solution of a transport problem, some milliseconds; `note` of the
    fitted system has their number and time.

    Parameters
    ----------
    depth : int or None
        Number of documents to rank, the nearest by the relaxed distance. None ranks all documents,
        and solves only problems whose relaxed distance is small enough. Candidates of a data set
        are always all compared.
    **settings
        See `TransportSettings`.
    """

    called = "wmd"
    depth: int | None = setting(
        100, optional(whole(1)), "documents that are ranked, the nearest by the relaxed distance"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedWMD:
        """Look up the words of the documents; idf includes the background."""
        solve = solver()
        texts = TransportTexts.of(self, documents, background)
        return FittedWMD(texts=texts, movable=texts.documents(), depth=self.depth, solve=solve)


@dataclass(slots=True)
class _Cost:
    """Number of solved problems and their seconds."""

    n_problems: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class FittedWMD(FittedTransport):
    """Ranks by word mover's distance, with pruning by the relaxed distance.

    Attributes
    ----------
    depth : int or None
        See `WMD`.
    solve : callable
        POT's exact solver.
    """

    depth: int | None
    solve: Solver
    _cost: _Cost = field(default_factory=_Cost, repr=False, compare=False)

    @property
    def note(self) -> str:
        """Note on the number of solved transport problems and their time."""
        n, seconds = self._cost.n_problems, self._cost.seconds
        each = seconds / n * 1000 if n else 0.0
        return f"{n:,} transport problems in {seconds:.1f} s, {each:.2f} ms each."

    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""
        started = time.perf_counter()
        costs = [
            emd(self.solve, query, *self.movable.words_of(number)) for number in documents.tolist()
        ]
        self._cost.n_problems += len(costs)
        self._cost.seconds += time.perf_counter() - started
        return np.array(costs, np.float64)

    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""
        n_docs = max(1, self.movable.shares.shape[0])
        ranked = n_docs if self.depth is None else self.depth
        numbers, bounds = self.movable.relaxed_nearest(query, k=ranked)
        order = np.lexsort((numbers, bounds))[:ranked]
        numbers, bounds = numbers[order], bounds[order]
        costs = np.empty(0)
        for start in range(0, len(numbers), _GROUP):
            if len(costs) >= k and bounds[start] > kth(costs, k) + _ROUNDING:
                break
            group = numbers[start : start + _GROUP]
            costs = np.concatenate([costs, self.distances(query, group)])
        return numbers[: len(costs)], costs
