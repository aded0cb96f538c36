"""Rankings: the weights of documents and queries, and the norms, of each kind of score.

==================  ==================================================================
``soft_cosine``     soft cosine (theory T3)
``inner_product``   soft inner product (theory T1)
``expanded_cosine``  ordinary cosine of the expanded query and the document (theory T12)
``soft_bm25``       soft BM25 (theory T15); ordinary BM25 where S = I
``soft_tf_bm25``    BM25 of soft frequencies (theory T20); ordinary BM25 where S = I
==================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads, n_threads
from softcosine._validation import check_choice, check_number
from softcosine.errors import InvalidInputError
from softcosine.index.requests import TITLES
from softcosine.index.segment.segment import POSTINGS, STARTS, Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.kernels.documents import COUNTS, REALS, SATURATED, soft_norms_squared
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import ROUNDED_ONE, reciprocal, roots
from softcosine.text.weighting import Weighting

MOST_MEANING = 1e6  # so that sums of scores stay far from the limits of float64


@dataclass(frozen=True, slots=True)
class RankedSegment:
    """A segment prepared for one ranking.

    Attributes
    ----------
    segment : Segment
    ranking : PreparedRanking
    first : int
        Number of its first document in the index.
    live : ndarray of shape (n_docs,), bool, or None
        Mask of live documents; None if none is deleted.
    """

    segment: Segment
    ranking: PreparedRanking
    first: int = 0
    live: NDArray[np.bool_] | None = None

    def coordinates(self, begin: int, end: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """Return the terms of all documents, concatenated, and W times their values.

        Without saturation if the ranking is not `linear`: its saturation depends on the query.
        """
        segment, ranking = self.segment, self.ranking
        pointers = segment.pointers[begin : end + 1]
        own = slice(int(pointers[0]), int(pointers[-1]))
        terms = segment.terms_of(own)
        values = segment.reals[own] if segment.real else ranking.table[segment.levels_of(own)]
        if not ranking.linear:
            values = values * (ranking.k1 + 1.0)
        elif ranking.kind == SATURATED:
            saturation = np.repeat(ranking.saturation[begin:end], np.diff(pointers))
            values = values * (ranking.k1 + 1.0) / (values + saturation)
        return terms, values * ranking.term_weights[terms]


Ranking = Literal[
    "soft_cosine", "inner_product", "expanded_cosine", "soft_bm25", "soft_tf_bm25"
]  # fmt: skip

_BM25 = ("soft_bm25", "soft_tf_bm25")


@dataclass(frozen=True, slots=True)
class PreparedRanking:
    """A ranking prepared for one segment: everything that does not depend on the query.

    A score is ``query_factor * factors[d] * sum_t expansion[t] * value(d, t)``; a cosine that
    exceeds 1 by rounding is set to 1. Scores of a ranking that is not `linear` are computed by
    `softcosine.index.spaces.frequencies`.

    Attributes
    ----------
    name : Ranking
    kind : int
        How values are computed; see `softcosine.kernels.documents`.
    term_weights : ndarray of shape (n_terms,), float64
        The diagonal of W.
    query_weighting : Weighting
        Weighting of the frequencies in the query's coordinates.
    absent_weight : float
        Weight of a term that is in no document.
    table : ndarray of shape (n_levels,), float64
        f(tf) of each level; the frequency itself for BM25.
    saturation : ndarray of shape (n_docs,) or (0,), float64
        K_d of BM25.
    k1, average_length : float
    factors : ndarray of shape (n_docs,), float64
    table32, saturation32, factors32 : ndarray, float32
        The same for approximate scores; `factors32` includes (k1 + 1) / (1 + K_d).
    normalization : {"soft", "ordinary", "none"}
        The norm by which the query is divided.
    least, most : float
        Bounds of a value, and of a value times its factor, for the range of float32. `most` may be
        infinite.
    """

    name: str
    kind: int
    term_weights: NDArray[np.float64]
    query_weighting: Weighting
    absent_weight: float
    table: NDArray[np.float64]
    saturation: NDArray[np.float64]
    k1: float
    average_length: float
    factors: NDArray[np.float64]
    table32: NDArray[np.float32]
    saturation32: NDArray[np.float32]
    factors32: NDArray[np.float32]
    normalization: Literal["soft", "ordinary", "none"]
    least: float
    most: float

    @property
    def linear(self) -> bool:
        """Whether a score is a sum over the terms of the expanded query; see `name`."""
        return self.name != "soft_tf_bm25"

    @property
    def rounded_one(self) -> float:
        """The largest score that differs from 1 only by rounding; 1 if scores are not cosines."""
        return 1.0 if self.normalization == "none" else ROUNDED_ONE


def prepare(
    name: str,
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    statistics: FieldStatistics,
    *,
    norms: NDArray[np.float64] | None = None,
    like: PreparedRanking | None = None,
    live: NDArray[np.bool_] | None = None,
    first: int = 0,
    threads: int | None = None,
) -> PreparedRanking:
    """Return a ranking prepared for a segment, with its norms and tables.

    Parameters
    ----------
    name : Ranking
    segment : Segment
    S : TermSimilarityMatrix of order n_terms
    weighting : Weighting or None
        If None, values are used as they are (real weights or raw counts, W = I).
    statistics : FieldStatistics
        Of all segments.
    norms : ndarray of shape (n_docs,), float64, optional
        Soft norms, if already computed.
    like : PreparedRanking, optional
        The same ranking of another segment, whose common arrays are shared.
    live : ndarray of shape (n_docs,), bool, optional
        Mask of live documents; None if none is deleted. Deleted documents get norm 0, even if
        their x'Sx is negative.
    first : int
        Number of the segment's first document, for error messages.
    threads : int, optional
        For the norms; results do not depend on it.

    Raises
    ------
    InvalidInputError
        If the ranking is unknown, or cannot rank real weights.
    IndefiniteMatrixError
        If a live document has x'Sx < 0.
    """
    check_ranking(name)
    if segment.real and name in _BM25:
        raise InvalidInputError(
            f"{name} needs counts, and this index holds real weights; rank by soft_cosine or "
            "inner_product."
        )
    if name in _BM25:
        given = Weighting() if weighting is None else weighting
        weighting = Weighting(tf="bm25", idf="bm25", k1=given.k1, b=given.b)
    segment.require(POSTINGS)
    base = _base(name, segment, weighting, statistics, like)
    if name == "soft_cosine":
        if norms is None:
            norms = _norms(base, segment, S, live, first, n_threads(threads))
        base = replace(base, factors=reciprocal(norms), normalization="soft")
    elif name == "expanded_cosine":
        identity = TermSimilarityMatrix.identity(S.vocabulary)
        ordinary = np.sqrt(_squares(base, segment, identity.arrays, n_threads(threads)))
        base = replace(base, factors=reciprocal(ordinary), normalization="ordinary")
    return _finished(base, segment)


def check_ranking(name: str) -> str:
    """Return the name of a ranking if it is valid; InvalidInputError otherwise."""
    check_choice("ranking", name, TITLES)
    return name


def _base(
    name: str,
    segment: Segment,
    weighting: Weighting | None,
    statistics: FieldStatistics,
    like: PreparedRanking | None,
) -> PreparedRanking:
    """Return the ranking with values and term weights, but without norms."""
    segment.require(STARTS)
    raw = Weighting(tf="raw", idf="none") if weighting is None else weighting
    average = statistics.average_length
    if like is not None:
        term_weights, absent = like.term_weights, like.absent_weight
    else:
        n_docs = statistics.n_docs
        term_weights = raw.term_weights(statistics.document_frequencies, n_docs)
        absent = float(raw.term_weights(np.zeros(1, np.int64), n_docs)[0])
        if name == "soft_bm25":  # T15: sqrt(idf) on both sides of S
            term_weights, absent = np.sqrt(term_weights), float(np.sqrt(absent))
    saturation = np.empty(0)
    if segment.real:
        kind, table = REALS, np.empty(0)
    elif raw.tf == "bm25":
        lengths = segment.lengths
        ratio = lengths / average if average > 0 else np.ones_like(lengths)
        saturation = raw.k1 * (1.0 - raw.b + raw.b * ratio)
        kind, table = SATURATED, segment.frequencies
    else:
        kind = COUNTS
        table = raw.frequencies(segment.frequencies, np.ones_like(segment.frequencies))
    return PreparedRanking(
        name=name,
        kind=kind,
        term_weights=np.ascontiguousarray(term_weights, np.float64),
        # T15 and T20 use the raw frequencies of the query.
        query_weighting=Weighting(tf="raw", idf="none") if name in _BM25 else raw,
        absent_weight=absent,
        table=np.ascontiguousarray(table, np.float64),
        saturation=np.ascontiguousarray(saturation, np.float64),
        k1=raw.k1,
        average_length=average,
        factors=segment.scales,
        table32=table.astype(np.float32),
        saturation32=np.empty(0, np.float32),
        factors32=np.empty(0, np.float32),
        normalization="none",
        least=0.0,
        most=np.inf,
    )


def _finished(base: PreparedRanking, segment: Segment) -> PreparedRanking:
    """Return the ranking with float32 factors and the bounds for the range of float32."""
    factors = base.factors
    with np.errstate(over="ignore", under="ignore"):
        if base.kind == SATURATED:
            factors = factors * (base.k1 + 1.0) / (1.0 + base.saturation)
        factors32 = factors.astype(np.float32)
        saturation32 = base.saturation.astype(np.float32)
    positive = factors[factors > 0]
    values = segment.reals if base.kind == REALS else base.table32
    least, most = 1.0, 1.0
    if positive.size and values.size:
        least = float(values.min()) * min(1.0, float(positive.min()))
        most = float(values.max()) * max(1.0, float(positive.max()))
    if base.saturation.size:
        most *= 1.0 + float(base.saturation.max())
    return replace(base, factors32=factors32, saturation32=saturation32, least=least, most=most)


def soft_norms(
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    statistics: FieldStatistics,
    *,
    live: NDArray[np.bool_] | None = None,
    first: int = 0,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return the soft norm of each document (theory T2), shape (n_docs,), for `prepare`.

    Deleted documents (False in `live`) have norm 0.

    Raises
    ------
    IndefiniteMatrixError
        If a live document has x'Sx < 0; the message has its number, counted from `first`.
    """
    base = _base("soft_cosine", segment, weighting, statistics, None)
    return _norms(base, segment, S, live, first, n_threads(threads))


def _norms(
    base: PreparedRanking,
    segment: Segment,
    S: TermSimilarityMatrix,
    live: NDArray[np.bool_] | None,
    first: int,
    threads: int,
) -> NDArray[np.float64]:
    squares = _squares(base, segment, S.arrays, threads)
    sizes = np.abs(squares)
    if not S.non_negative:
        indptr, indices, data = S.arrays
        sizes = _squares(base, segment, (indptr, indices, np.abs(data)), threads)
    if live is not None:
        squares[~live] = sizes[~live] = 0.0
    return roots(squares, sizes, first_row=first)


def _squares(
    base: PreparedRanking,
    segment: Segment,
    matrix: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
    threads: int,
) -> NDArray[np.float64]:
    """Return (W d)' S (W d) of every document (theory T5); each has one writer."""
    out = np.zeros(segment.n_docs)

    def work(start: int, stop: int) -> None:
        soft_norms_squared(
            base.kind, *segment.forward, base.table,
            base.saturation, base.k1, segment.reals, base.term_weights, *matrix,
            start, stop, np.zeros(base.term_weights.shape[0]), out,
        )  # fmt: skip

    # Equal shares of the postings, because documents differ in length.
    shares = np.linspace(0, segment.n_postings, threads + 1)
    bounds = np.searchsorted(segment.pointers, shares)
    bounds[0], bounds[-1] = 0, segment.n_docs
    in_threads(lambda share: work(*share), list(pairwise(bounds.tolist())), threads)
    return out


def checked_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of meaning by ranking; InvalidInputError if they are invalid."""
    for ranking, weight in weights.items():
        check_ranking(ranking)
        check_number(f"the weight of meaning in {ranking}", weight, least=0, most=MOST_MEANING)
    return {ranking: float(weight) for ranking, weight in weights.items()}
