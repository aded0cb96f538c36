"""The state of a SoftIndex or SoftNeighbors that an engine serves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list, check_type
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.search.candidate_queries import CandidateQuery, candidate_queries
from softcosine.index.search.execution import SearchRequest
from softcosine.index.search.plan import Plan
from softcosine.index.search.query_encoding import Ask, meaning_weight
from softcosine.index.search.ranked_vectors import RankedVectors
from softcosine.index.search.top_docs import QueryVector, Top
from softcosine.index.soft_index import SoftIndex
from softcosine.index.soft_neighbors import SoftNeighbors
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["EngineQuery", "Owner", "Subject", "digests_of", "folder_of", "subject_of"]

Owner = SoftIndex | SoftNeighbors


class EngineQuery(Protocol):
    """A query of an engine: a `CandidateQuery`, or a row of a matrix for SoftNeighbors."""

    @property
    def vectors(self) -> tuple[QueryVector, ...]:
        """The vector of the query, by the ranking of the documents' vectors."""

    def rank(self, documents: NDArray[np.int64]) -> Top:
        """Return the best of some documents, with the scores and the order of the index."""

    def best(self) -> Top:
        """Return the best documents of the whole index."""

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of a search whose candidates the index ranks."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A state of an index with one ranking.

    Attributes
    ----------
    owner : SoftIndex or SoftNeighbors
    given : str or None
        A ranking by words alone; None for that of the index, with meaning if the index has it.
    ranked : RankedVectors
        Vectors of the only field, by `ranking` or, if that has no vectors, by soft BM25.
    weight : float
        Weight of the field, a factor of its dot products.
    snapshot : Snapshot or None
        None for SoftNeighbors.
    """

    owner: Owner
    given: str | None
    ranked: RankedVectors
    weight: float
    snapshot: Snapshot | None
    _searcher: Any

    @property
    def ranking(self) -> str:
        """The ranking of the index's exact scores."""
        if self.given is not None:
            return self.given
        assert self.snapshot is not None
        return self.snapshot.ranking

    @property
    def vector_ranking(self) -> str:
        """The ranking whose scores are the dot products of vectors."""
        return str(self._searcher.ranking.name)

    @property
    def linear(self) -> bool:
        """Whether dot products are the scores of the index: sums over terms, without meaning."""
        own = self.snapshot if self.given is None else None
        of_meaning = own is not None and meaning_weight(own, None, None) > 0
        return self.ranking == self.vector_ranking and not of_meaning

    @property
    def S(self) -> TermSimilarityMatrix:  # noqa: N802  # the papers' letter
        """The term similarity matrix."""
        return self.ranked.S

    @property
    def positive(self) -> bool:
        """Whether only documents with a score above 0 are results, as in a SoftIndex."""
        return self.snapshot is not None

    @property
    def current(self) -> bool:
        """Whether the owner still serves this state."""
        if isinstance(self.owner, SoftIndex):
            return self.owner.snapshot is self.snapshot
        return getattr(self.owner, "searcher_", None) is self._searcher

    def ranked_by(self, *, exactly: bool) -> tuple[str, Ask | None]:
        """Return the ranking of results, and "words" if it is by words alone.

        Parameters
        ----------
        exactly : bool
            Whether the index scores the candidates of the engine.
        """
        if not exactly:
            return self.vector_ranking, "words"
        return self.ranking, None if self.given is None else "words"

    def queries(self, queries: Any, *, k: int, exactly: bool) -> Sequence[EngineQuery]:
        """Return queries: texts for a SoftIndex, rows of a matrix for SoftNeighbors.

        Parameters
        ----------
        queries : list of texts or token lists, or array of shape (n_queries, n_terms)
        k : int
            Number of best documents.
        exactly : bool
            See `ranked_by`.
        """
        if isinstance(self.owner, SoftNeighbors):
            return [
                _MatrixQuery((vector,), self._searcher, k)
                for vector in self.owner.query_vectors(queries)
            ]
        return self.texts(queries, k=k, exactly=exactly)

    def texts(self, queries: Any, *, exactly: bool, **options: Any) -> list[CandidateQuery]:
        """Return queries of a SoftIndex; `options` are fields of a `SearchRequest`."""
        if not isinstance(self.owner, SoftIndex):
            raise InvalidInputError(
                "there are no texts in SoftNeighbors; use search, which takes a matrix."
            )
        assert self.snapshot is not None
        check_list("queries", queries, "queries")
        ranking, ask = self.ranked_by(exactly=exactly)
        return candidate_queries(
            self.snapshot, list(queries), SearchRequest(ranking=ranking, ask=ask, **options),
            self.owner.encoder, vectors_by=self.vector_ranking, plain=True,
        )  # fmt: skip

    def scores(self, vector: QueryVector, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores that dot products approximate, bit for bit those of the index."""
        one = [vector] if isinstance(self.owner, SoftIndex) else vector
        return np.asarray(self._searcher.scores(one, documents))

    def ids(self, numbers: NDArray[np.int64]) -> list[str | int | None]:
        """Return document ids, for SoftNeighbors rows; None for numbers below 0."""
        if self.snapshot is None:
            return [None if number < 0 else number for number in numbers.tolist()]
        live = self.ranked.numbers().tolist()
        ids = dict(zip(live, self.snapshot.documents.all_ids(), strict=True))
        return [None if number < 0 else ids[number] for number in numbers.tolist()]

    def generation(self) -> str:
        """Return the checksum of the commit's data that scores depend on; empty in memory."""
        return "" if self.snapshot is None else self.snapshot.scores_checksum

    def content(self, digests: NDArray[np.uint64], numbers: NDArray[np.int64]) -> str:
        """Return a checksum of ids and all that scores depend on, given the documents' digests."""
        seen = hashlib.sha256(f"{self.vector_ranking} {self.weight!r} {self.similarity()}".encode())
        seen.update(np.ascontiguousarray(numbers).data)
        seen.update(np.ascontiguousarray(digests).data)
        seen.update(json.dumps(self.ids(numbers)).encode())
        return seen.hexdigest()

    def similarity(self) -> str:
        """Return a checksum of S."""
        seen = hashlib.sha256()
        for array in self.S.arrays:
            seen.update(np.ascontiguousarray(array).data)
        return seen.hexdigest()

    def terms(self, n: int) -> str:
        """Return a checksum of the first n terms."""
        terms = self.S.vocabulary.terms[:n]
        return hashlib.sha256("\0".join(terms).encode("utf-8", "surrogatepass")).hexdigest()

    def newest(self) -> Subject:
        """Return the state that the owner serves now, or self if it is the same."""
        if isinstance(self.owner, SoftIndex):
            self.owner.refresh()
        return self if self.current else subject_of(self.owner, self.given)


@dataclass(frozen=True, slots=True)
class _MatrixQuery:
    """A query of SoftNeighbors."""

    vectors: tuple[QueryVector]
    _searcher: Any
    _k: int

    def rank(self, documents: NDArray[np.int64]) -> Top:
        scores = self._searcher.scores(self.vectors[0], documents)
        return Top.of(documents, scores, np.ones(len(documents), np.bool_), self._k)

    def best(self) -> Top:
        least = {"min_score": -np.inf, "positive": False}
        (top,) = self._searcher.search_batch(list(self.vectors), k=self._k, threads=1, **least)
        return cast("Top", top)

    def plan(self, plan: Plan) -> Plan:
        return plan


def subject_of(owner: Owner, ranking: str | None = None) -> Subject:
    """Return the current state of an index.

    Parameters
    ----------
    owner : SoftIndex or SoftNeighbors
    ranking : str, optional
        A ranking by words alone, in place of that of the index.

    Raises
    ------
    InvalidInputError
        If it is not an index, has several fields, or is a SoftNeighbors of another ranking.
    NotFittedError
        If SoftNeighbors is not fitted.
    """
    if isinstance(owner, SoftNeighbors):
        if ranking not in (None, owner.ranking):
            raise InvalidInputError(
                f"ranking is {ranking!r}, and this SoftNeighbors ranks by {owner.ranking}; leave "
                "it out, or fit another one."
            )
        searcher = owner.searcher
        return Subject(owner, owner.ranking, RankedVectors(searcher), 1.0, None, searcher)
    check_type("the index", owner, SoftIndex, "pass a SoftIndex or SoftNeighbors")
    snapshot = owner.snapshot
    fields = snapshot.searcher(ranking)
    if not fields.ranking.linear:  # no products of vectors; those of soft BM25 are the nearest
        fields = snapshot.searcher("soft_bm25")
    if len(fields.searchers) > 1:
        names = ", ".join(field.name for field in snapshot.fields)
        raise InvalidInputError(
            f"this index has the fields {names}, each a space of its own, and an engine holds one "
            "vector a document; index the texts as one field, or search the index itself."
        )
    (searcher,) = fields.searchers
    return Subject(owner, ranking, RankedVectors(searcher), fields.weights[0], snapshot, fields)


def digests_of(rows: Any) -> NDArray[np.uint64]:
    """Return a checksum of each row, shape (n, 2); equal rows have equal checksums."""
    terms = np.ascontiguousarray(rows.indices, np.int64)
    values = np.ascontiguousarray(rows.data, np.float64)
    bounds = rows.indptr.tolist()
    found = bytearray()
    for begin, end in pairwise(bounds):
        one = hashlib.blake2b(terms[begin:end].data, digest_size=16)
        one.update(values[begin:end].data)
        found += one.digest()
    return np.frombuffer(bytes(found), np.uint64).reshape(-1, 2)


def folder_of(owner: Owner) -> Path | None:
    """Return the folder of an index; None in memory."""
    return owner.path if isinstance(owner, SoftIndex) else None
