"""The state of a SoftIndex or SoftNeighbors that an engine serves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_list, check_type
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.search.execution import SearchRequest, execute_with, vectors_of
from softcosine.index.search.ranked_vectors import RankedVectors
from softcosine.index.search.results import Hits
from softcosine.index.search.top_docs import QueryVector, Top
from softcosine.index.soft_index import SoftIndex
from softcosine.index.soft_neighbors import SoftNeighbors
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

__all__ = ["Owner", "Subject", "digests_of", "folder_of", "subject_of"]

Owner = SoftIndex | SoftNeighbors


@dataclass(frozen=True, slots=True)
class Subject:
    """A state of an index with one ranking.

    Attributes
    ----------
    owner : SoftIndex or SoftNeighbors
    ranking : str
    ranked : RankedVectors
        Vectors of the only field.
    weight : float
        Weight of the field, a factor of its dot products.
    snapshot : Snapshot or None
        None for SoftNeighbors.
    """

    owner: Owner
    ranking: str
    ranked: RankedVectors
    weight: float
    snapshot: Snapshot | None
    _searcher: Any

    @property
    def S(self) -> TermSimilarityMatrix:  # noqa: N802  # the papers' letter
        """The term similarity matrix."""
        return self.ranked.S

    @property
    def term_weights(self) -> NDArray[np.float64]:
        """The diagonal of W."""
        return np.asarray(self._searcher.ranking.term_weights)

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

    def vectors(self, queries: Any) -> list[QueryVector]:
        """Return weighted queries: of texts for a SoftIndex, of a matrix for SoftNeighbors."""
        if isinstance(self.owner, SoftNeighbors):
            return self.owner.query_vectors(queries)
        assert self.snapshot is not None
        check_list("queries", queries, "queries")
        return [own for (own,) in vectors_of(self.snapshot, list(queries), self.ranking)]

    def hits(
        self,
        find: Callable[[list[QueryVector]], list[Top]],
        queries: Sequence[str | Sequence[str]],
        asked: SearchRequest,
    ) -> list[Hits]:
        """Return the hits of texts; `find` searches their vectors."""
        if self.snapshot is None:
            raise InvalidInputError(
                "there are no texts in SoftNeighbors; use search, which takes a matrix."
            )
        check_list("queries", queries, "queries")
        return execute_with(
            lambda vectors: find([own for (own,) in vectors]), self.snapshot, list(queries), asked
        )

    def scores(self, vector: QueryVector, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return exact scores, bit for bit those of a search of the index."""
        if isinstance(self.owner, SoftIndex):
            return np.asarray(self._searcher.scores([vector], documents))
        return np.asarray(self._searcher.scores(vector, documents))

    def best(self, vectors: Sequence[QueryVector], k: int, threads: int | None) -> list[Top]:
        """Return the exact results."""
        if isinstance(self.owner, SoftIndex):
            return list(
                self._searcher.search_batch([(one,) for one in vectors], k=k, threads=threads)
            )
        least = {"min_score": -np.inf, "positive": False}
        return list(self._searcher.search_batch(list(vectors), k=k, threads=threads, **least))

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
        seen = hashlib.sha256(f"{self.ranking} {self.weight!r} {self.similarity()}".encode())
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
        return self if self.current else subject_of(self.owner, self.ranking)


def subject_of(owner: Owner, ranking: str | None = None) -> Subject:
    """Return the current state of an index.

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
    # Scores of soft frequencies are no products of vectors; those of soft BM25 are the nearest.
    own = "soft_bm25" if snapshot.ranking == "soft_tf_bm25" else snapshot.ranking
    name = own if ranking is None else ranking
    fields = snapshot.searcher(name)
    if len(fields.searchers) > 1:
        names = ", ".join(field.name for field in snapshot.fields)
        raise InvalidInputError(
            f"this index has the fields {names}, each a space of its own, and an engine holds one "
            "vector a document; index the texts as one field, or search the index itself."
        )
    (searcher,) = fields.searchers
    return Subject(owner, name, RankedVectors(searcher), fields.weights[0], snapshot, fields)


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
