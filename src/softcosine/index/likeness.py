"""Similar documents among those of an index, by their ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from softcosine.errors import InvalidInputError
from softcosine.index.all_pairs import Progress, nearest_neighbors, similar_pairs
from softcosine.index.groups import find_groups
from softcosine.index.parts import Part
from softcosine.index.snapshot import Snapshot

__all__ = ["SimilarGroup", "SimilarPair", "groups_of", "pairs_of"]


class SimilarPair(NamedTuple):
    """Two documents and how similar they are."""

    id: str
    other: str
    score: float


class SimilarGroup(NamedTuple):
    """A document and its near duplicates.

    Attributes
    ----------
    id : str
        Of the earliest document.
    others : tuple of SimilarPair
        The other members, in their order, each with its similarity to the first.
    """

    id: str
    others: tuple[SimilarPair, ...]


def pairs_of(
    snapshot: Snapshot,
    *,
    min_similarity: float,
    k: int | None,
    ranking: str,
    threads: int | None,
    checkpoint: str | Path | None,
    progress: Progress | None,
) -> Iterator[SimilarPair]:
    """Give similar pairs; see `SoftIndex.pairs`. Arguments are checked at once."""
    parts, ids = _parts(snapshot, ranking), _Ids(snapshot)
    if k is None:
        blocks = similar_pairs(
            parts, snapshot.S, min_similarity=min_similarity, threads=threads,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
        return (
            SimilarPair(ids[first], ids[second], similarity)
            for block in blocks
            for first, second, similarity in zip(
                block.first.tolist(), block.second.tolist(), block.similarities.tolist(),
                strict=True,
            )
        )  # fmt: skip
    graph = nearest_neighbors(
        parts, snapshot.S, k=k, min_similarity=min_similarity, threads=threads,
        checkpoint=checkpoint, progress=progress,
    )  # fmt: skip
    return (
        SimilarPair(ids[document], ids[other], similarity)
        for document in graph.documents.tolist()
        for other, similarity in zip(*(own.tolist() for own in graph.of(document)), strict=True)
    )


def groups_of(
    snapshot: Snapshot,
    *,
    min_similarity: float,
    method: str,
    threads: int | None,
    checkpoint: str | Path | None,
    progress: Progress | None,
) -> list[SimilarGroup]:
    """Group near duplicates; see `SoftIndex.dedupe`."""
    groups = find_groups(
        _parts(snapshot, "soft_cosine"), snapshot.S, min_similarity=min_similarity, method=method,
        threads=threads, checkpoint=checkpoint, progress=progress,
    )  # fmt: skip
    ids = _Ids(snapshot)
    found = []
    for group in groups:
        first = ids[group.first]
        members = zip(group.others.tolist(), group.similarities.tolist(), strict=True)
        others = tuple(SimilarPair(first, ids[other], score) for other, score in members)
        found.append(SimilarGroup(first, others))
    return found


def _parts(snapshot: Snapshot, ranking: str) -> tuple[Part, ...]:
    if len(snapshot.fields) > 1:
        names = ", ".join(field.name for field in snapshot.fields)
        raise InvalidInputError(
            f"this index has the fields {names}, and pairs are found in one; index the text that "
            "counts as a single field."
        )
    (searcher,) = snapshot.searcher(ranking).searchers
    return searcher.parts


class _Ids(dict[int, str]):
    """Ids by number, each looked up once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._documents = snapshot.documents

    def __missing__(self, number: int) -> str:
        id = self[number] = self._documents.id(number)
        return id
