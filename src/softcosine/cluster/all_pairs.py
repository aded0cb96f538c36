"""Similar pairs of the documents of all shards, which are compared as one collection.

The order of the shards is not the order of insertion, and the similarity of a pair is that with its
earlier document as the query: pairs that are met the other way round are scored again. So
similarities have the same bits as in one index.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._threads import n_threads
from softcosine._validation import check_choice
from softcosine.cluster.manifest import ShardsManifest
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import PairBlock, positive, similar_pairs
from softcosine.index.near_duplicates.groups import METHODS
from softcosine.index.near_duplicates.similar import (
    SimilarGroup,
    SimilarPair,
    SimilarPairs,
    compared,
    named_groups,
)
from softcosine.index.requests import By

# The two directions of a pair differ by rounding, far less than this.
_ROUNDING = 1e-9


def together(path: Path, manifest: ShardsManifest) -> Snapshot:
    """Return the documents of all shards as one snapshot, shard by shard.

    Documents are scored as in their shards, but equal scores are not in the order of insertion.
    """
    shards = [
        FolderDirectory.open(path / one.folder, checksum=one.checksum)[0] for one in manifest.shards
    ]
    first = shards[0]
    segments = tuple(own for one in shards for own in one.segments if own.n_docs)
    return Snapshot(
        first.settings, segments, first.S, first.source, first.statistics, generation=0,
        meaning=first.meaning, stored_pieces=first.stored_pieces,
    )  # fmt: skip


class _InsertionOrder:
    """The documents of all shards; their place is their rank in the order of insertion."""

    def __init__(self, path: Path, by: str) -> None:
        snapshot = together(path, ShardsManifest.read(path))
        self._id = cache(snapshot.documents.id)
        self._comparison = compared(snapshot, by)
        inserted = snapshot.documents.insertion_numbers(self._comparison.numbers)
        self._order = np.argsort(inserted)  # from ranks to places of the comparison
        self._ranks = np.argsort(self._order)
        self.numbers = np.arange(len(inserted))

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return exact similarities of a document with later ones."""
        places = self._order[others]
        ascending = np.argsort(places)
        scores = np.empty(len(places))
        scores[ascending] = self._comparison.pair_scores(int(self._order[first]), places[ascending])
        return scores

    def pairs(self, minimum: float, threads: int | None, progress: Progress | None) -> PairBlock:
        """Return the similar pairs, ordered by (first, second)."""
        least = minimum - _ROUNDING * max(1.0, minimum)
        firsts, seconds, similarities = [np.empty(0, int)], [np.empty(0, int)], [np.empty(0)]
        for block in similar_pairs(
            self._comparison,
            min_similarity=least if least > 0 else minimum,
            threads=threads,
            progress=progress,
        ):
            left, right = (
                self._ranks[np.searchsorted(self._comparison.numbers, own)]
                for own in (block.first, block.second)
            )
            scores = block.similarities.copy()
            turned = np.flatnonzero(left > right)
            for rank in np.unique(right[turned]).tolist():
                own = turned[right[turned] == rank]
                scores[own] = self.pair_scores(rank, left[own])
            kept = scores >= minimum
            firsts.append(np.minimum(left, right)[kept])
            seconds.append(np.maximum(left, right)[kept])
            similarities.append(scores[kept])
        first, second = np.concatenate(firsts), np.concatenate(seconds)
        order = np.lexsort((second, first))
        return PairBlock(first[order], second[order], np.concatenate(similarities)[order])

    def id(self, rank: int) -> str:
        """Return the id of a document."""
        return self._id(int(self._comparison.numbers[self._order[rank]]))


def pairs_of_shards(
    path: Path,
    *,
    min_similarity: float,
    by: By = "words",
    threads: int | None = None,
    progress: Progress | None = None,
) -> SimilarPairs:
    """Return similar pairs of documents of a sharded index; see `SoftIndex.pairs`."""
    minimum, threads = positive(min_similarity), n_threads(threads)

    def found() -> Generator[SimilarPair]:
        documents = _InsertionOrder(path, by)
        block = documents.pairs(minimum, threads, progress)
        for first, second, score in zip(
            block.first.tolist(), block.second.tolist(), block.similarities.tolist(), strict=True
        ):
            yield SimilarPair(documents.id(first), documents.id(second), score)

    return SimilarPairs(found, f"min_similarity={minimum:g}, by={by!r}, of shards")


def groups_of_shards(
    path: Path,
    *,
    min_similarity: float,
    method: str = "components",
    by: By = "words",
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[SimilarGroup]:
    """Return the groups of near duplicates of a sharded index; see `SoftIndex.dedupe`."""
    check_choice("method", method, METHODS)
    minimum, threads = positive(min_similarity), n_threads(threads)
    documents = _InsertionOrder(path, by)
    pairs = documents.pairs(minimum, threads, progress)
    return named_groups(METHODS[method](documents, iter([pairs])), documents.id)
