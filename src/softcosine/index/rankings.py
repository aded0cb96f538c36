"""What a score is: how documents and queries are weighed for each ranking.

==================  ==================================================================
``soft_cosine``     soft cosine (theory T3)
``inner_product``   soft inner product (theory T1)
``expanded_cosine``  ordinary cosine of the expanded query and the document (theory T12)
``soft_bm25``       soft BM25 (theory T15); ordinary BM25 where S = I
==================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.segment import Segment
from softcosine.index.threads import n_threads
from softcosine.kernels.documents import COUNTS, REALS, SATURATED, soft_norms_squared
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import reciprocal, roots
from softcosine.text.weighting import Weighting

__all__ = ["TITLES", "PreparedRanking", "Ranking", "check_ranking", "prepare"]

Ranking = Literal["soft_cosine", "inner_product", "expanded_cosine", "soft_bm25"]

TITLES: dict[str, str] = {
    "soft_cosine": "soft cosine",
    "inner_product": "inner product",
    "expanded_cosine": "expanded cosine",
    "soft_bm25": "soft BM25",
}


@dataclass(frozen=True, slots=True)
class PreparedRanking:
    """All numbers of one ranking that do not depend on the query.

    A score is ``query_factor * factors[d] * sum_t expansion[t] * value(d, t)``.

    Attributes
    ----------
    name : Ranking
    kind : int
        How a value is computed; see `softcosine.kernels.documents`.
    term_weights : ndarray of shape (n_terms,), float64
        The diagonal of W.
    query_weighting : Weighting
        Gives the frequencies' part of the query's coordinates.
    absent_weight : float
        Weight of a term that no document has.
    table : ndarray of shape (n_levels,), float64
        f(tf) of each level, or tf itself for the BM25 form.
    saturation : ndarray of shape (n_docs,) or (0,), float64
        K_d of the BM25 form.
    k1, average_length : float
    factors : ndarray of shape (n_docs,), float64
    group_weights, saturation32, factors32 : ndarray, float32
        The same for the approximate scores; `factors32` holds (k1 + 1) / (1 + K_d) too.
    normalization : {"soft", "ordinary", "none"}
        Which norm the query is divided by.
    least, most : float
        Bounds of value times factor, and of the value alone: what float32 will have to hold.
        `most` may be infinite.
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
    group_weights: NDArray[np.float32]
    saturation32: NDArray[np.float32]
    factors32: NDArray[np.float32]
    normalization: Literal["soft", "ordinary", "none"]
    least: float
    most: float


def prepare(
    name: str,
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
    *,
    threads: int | None = None,
) -> PreparedRanking:
    """Compute the norms and tables of a ranking.

    Parameters
    ----------
    name : Ranking
    segment : Segment
    S : TermSimilarityMatrix of order n_terms
    weighting : Weighting or None
        None takes values as they are (real weights or raw counts, W = I).
    document_frequencies : ndarray of shape (n_terms,)
    threads : int, optional
        For the norms; does not change a bit of them.

    Raises
    ------
    InvalidInputError
        If there is no such ranking, or it cannot rank real weights.
    IndefiniteMatrixError
        If some document has x'Sx < 0.
    """
    build = _RANKINGS[check_ranking(name)]
    if segment.real and name == "soft_bm25":
        raise InvalidInputError(
            "soft_bm25 needs counts, and this index holds real weights; rank by soft_cosine or "
            "inner_product."
        )
    return build(segment, S, weighting, document_frequencies, n_threads(threads))


def check_ranking(name: str) -> str:
    """Return the name if there is such a ranking; InvalidInputError otherwise."""
    if not isinstance(name, str) or name not in _RANKINGS:
        raise InvalidInputError(
            f"there is no ranking {name!r}; choose one of {', '.join(get_args(Ranking))}."
        )
    return name


def _base(
    name: str,
    segment: Segment,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
) -> PreparedRanking:
    """Values and term weights, with no norm yet."""
    raw = Weighting(tf="raw", idf="none") if weighting is None else weighting
    # Real weights have no length: they are not counted in words.
    lengths = np.empty(0) if segment.real else segment.lengths()
    average = float(lengths.mean()) if lengths.size else 0.0
    term_weights = raw.term_weights(document_frequencies, segment.n_docs)
    absent = float(raw.term_weights(np.zeros(1, np.int64), segment.n_docs)[0])
    saturation = np.empty(0)
    if segment.real:
        kind, table, group_weights = REALS, np.empty(0), np.empty(0)
    elif raw.tf == "bm25":
        ratio = lengths / average if average > 0 else np.ones_like(lengths)
        saturation = raw.k1 * (1.0 - raw.b + raw.b * ratio)
        kind, table = SATURATED, segment.frequencies
        group_weights = table[segment.group_levels]
    else:
        kind = COUNTS
        table = raw.frequencies(segment.frequencies, np.ones_like(segment.frequencies))
        group_weights = table[segment.group_levels]
    return PreparedRanking(
        name=name,
        kind=kind,
        term_weights=np.ascontiguousarray(term_weights, np.float64),
        query_weighting=raw,
        absent_weight=absent,
        table=np.ascontiguousarray(table, np.float64),
        saturation=np.ascontiguousarray(saturation, np.float64),
        k1=raw.k1,
        average_length=average,
        factors=segment.scales,
        group_weights=group_weights.astype(np.float32),
        saturation32=np.empty(0, np.float32),
        factors32=np.empty(0, np.float32),
        normalization="none",
        least=0.0,
        most=np.inf,
    )


def _finished(base: PreparedRanking, segment: Segment) -> PreparedRanking:
    """Add the float32 factors and the bounds of what float32 will hold."""
    factors = base.factors
    with np.errstate(over="ignore", under="ignore"):
        if base.kind == SATURATED:
            factors = factors * (base.k1 + 1.0) / (1.0 + base.saturation)
        factors32 = factors.astype(np.float32)
        saturation32 = base.saturation.astype(np.float32)
    positive = factors[factors > 0]
    values = segment.reals if base.kind == REALS else base.group_weights
    least, most = 1.0, 1.0
    if positive.size and values.size:
        least = float(values.min()) * min(1.0, float(positive.min()))
        most = float(values.max()) * max(1.0, float(positive.max()))
    if base.saturation.size:
        most *= 1.0 + float(base.saturation.max())
    return replace(base, factors32=factors32, saturation32=saturation32, least=least, most=most)


def _soft_cosine(
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
    threads: int,
) -> PreparedRanking:
    base = _base("soft_cosine", segment, weighting, document_frequencies)
    squares = _squares(base, segment, S.arrays, threads)
    sizes = np.abs(squares)
    if not S.non_negative:
        indptr, indices, data = S.arrays
        sizes = _squares(base, segment, (indptr, indices, np.abs(data)), threads)
    norms = roots(squares, sizes)
    return _finished(replace(base, factors=reciprocal(norms), normalization="soft"), segment)


def _inner_product(
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
    threads: int,
) -> PreparedRanking:
    return _finished(_base("inner_product", segment, weighting, document_frequencies), segment)


def _expanded_cosine(
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
    threads: int,
) -> PreparedRanking:
    base = _base("expanded_cosine", segment, weighting, document_frequencies)
    identity = TermSimilarityMatrix.identity(S.vocabulary)
    norms = np.sqrt(_squares(base, segment, identity.arrays, threads))
    return _finished(replace(base, factors=reciprocal(norms), normalization="ordinary"), segment)


def _soft_bm25(
    segment: Segment,
    S: TermSimilarityMatrix,
    weighting: Weighting | None,
    document_frequencies: NDArray[np.int64],
    threads: int,
) -> PreparedRanking:
    given = Weighting() if weighting is None else weighting
    bm25 = Weighting(tf="bm25", idf="bm25", k1=given.k1, b=given.b)
    base = _base("soft_bm25", segment, bm25, document_frequencies)
    # T15: sqrt(idf) on either side of S, and the query's frequencies as they are.
    base = replace(
        base,
        term_weights=np.sqrt(base.term_weights),
        absent_weight=float(np.sqrt(base.absent_weight)),
        query_weighting=Weighting(tf="raw", idf="none"),
    )
    return _finished(base, segment)


_Build = Callable[
    [Segment, TermSimilarityMatrix, "Weighting | None", NDArray[np.int64], int], PreparedRanking
]
_RANKINGS: dict[str, _Build] = {
    "soft_cosine": _soft_cosine,
    "inner_product": _inner_product,
    "expanded_cosine": _expanded_cosine,
    "soft_bm25": _soft_bm25,
}


def _squares(
    base: PreparedRanking,
    segment: Segment,
    matrix: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
    threads: int,
) -> NDArray[np.float64]:
    """(W d)' S (W d) of every document (theory T5); each has one writer."""
    out = np.zeros(segment.n_docs)

    def work(start: int, stop: int) -> None:
        soft_norms_squared(
            base.kind, segment.pointers, segment.terms, segment.levels, base.table,
            base.saturation, base.k1, segment.reals, base.term_weights, *matrix,
            start, stop, np.zeros(segment.n_terms), out,
        )  # fmt: skip

    # Equal shares of the postings, since documents differ in length.
    shares = np.linspace(0, segment.n_postings, threads + 1)
    bounds = np.searchsorted(segment.pointers, shares)
    bounds[0], bounds[-1] = 0, segment.n_docs
    if threads == 1:
        work(0, segment.n_docs)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, bounds[:-1].tolist(), bounds[1:].tolist()))
    return out
