"""Similar pairs and groups of documents of an index, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._validation import check_choice, is_number
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import (
    PairBlock,
    nearest_neighbors,
    pair_documents,
    similar_pairs,
)
from softcosine.index.near_duplicates.groups import find_groups
from softcosine.index.near_duplicates.meaning import DocumentsByBoth, DocumentsByMeaning
from softcosine.index.near_duplicates.panels import Comparison
from softcosine.index.rankings import RankedSegment
from softcosine.index.spaces.meaning import no_coordinates
from softcosine.index.spaces.space import check_min_score
from softcosine.index.spaces.sum import words_of
from softcosine.space.chance import slope_of

if TYPE_CHECKING:
    import pandas as pd

_SIMILARITIES = {
    "words": "soft cosines",
    "meaning": "cosines",
    "both": "means of soft cosine and cosine",
}


class SimilarPair(NamedTuple):
    """Two documents and their similarity."""

    id: str
    other: str
    score: float


class SimilarPairs(Iterable[SimilarPair]):
    """Similar pairs, computed while they are read.

    They need no memory, so every reading compares the documents anew (with ``k=``, it does not);
    ``list(pairs)`` keeps them.

    Parameters
    ----------
    pairs : callable
        Returns the pairs from the first on.
    what : str
        Shown by ``repr``.
    """

    def __init__(self, pairs: Callable[[], Generator[SimilarPair]], what: str) -> None:
        self._pairs = pairs
        self._what = what

    def __iter__(self) -> Generator[SimilarPair]:
        return self._pairs()

    def __repr__(self) -> str:
        return f"SimilarPairs({self._what}): iterate over them, or call to_pandas()"

    def to_pandas(self) -> pd.DataFrame:
        """Return a table of the pairs: id, other, score."""
        from softcosine.index.frames import data_frame

        rows = list(self)
        return data_frame(
            {name: [row[column] for row in rows] for column, name in enumerate(SimilarPair._fields)}
        )


class SimilarGroup(NamedTuple):
    """A document and its near duplicates.

    Attributes
    ----------
    id : str
        Id of the earliest document.
    others : tuple of SimilarPair
        The other members in order, each with its similarity to the first.
    """

    id: str
    others: tuple[SimilarPair, ...]


def pairs_of(
    snapshot: Snapshot,
    *,
    min_similarity: float,
    k: int | None,
    by: str,
    ranking: str,
    threads: int | None,
    progress: Progress | None,
) -> SimilarPairs:
    """Return similar pairs; see `SoftIndex.pairs`. Parameters are checked at once."""
    documents, id = compared(snapshot, by, ranking), cache(snapshot.documents.id)
    check_min_score(min_similarity, "min_similarity")
    if ranking == "soft_cosine":
        _check_reachable(snapshot, min_similarity, by)
    what = f"min_similarity={min_similarity:g}, k={k}, by={by!r}, ranking={ranking!r}"
    settings: Any = {"min_similarity": min_similarity, "threads": threads, "progress": progress}
    if k is None:
        blocks: Callable[[], Iterable[PairBlock]] = partial(similar_pairs, documents, **settings)
        blocks()  # checks its parameters
    else:
        blocks = partial(iter, [nearest_neighbors(documents, k=k, **settings)])
    return SimilarPairs(lambda: (
        SimilarPair(id(first), id(second), similarity)
        for block in blocks()
        for first, second, similarity in zip(
            block.first.tolist(), block.second.tolist(), block.similarities.tolist(),
            strict=True,
        )
    ), what)  # fmt: skip


def groups_of(
    snapshot: Snapshot,
    *,
    min_similarity: float,
    method: str,
    by: str,
    threads: int | None,
    progress: Progress | None,
) -> list[SimilarGroup]:
    """Return groups of near duplicates; see `SoftIndex.dedupe`."""
    documents = compared(snapshot, by)
    _check_reachable(snapshot, min_similarity, by)

    def fewer(numbers: NDArray[np.int64]) -> Comparison:
        live = np.zeros(sum(segment.n_docs for segment in snapshot.segments), bool)
        live[numbers] = True
        return compared(snapshot, by, allowed=np.split(live, snapshot.documents.firsts[1:]))

    groups = find_groups(
        documents, fewer, min_similarity=min_similarity, method=method, threads=threads,
        progress=progress,
    )  # fmt: skip
    found, id = list[SimilarGroup](), snapshot.documents.id
    for group in groups:
        first = id(group.first)
        members = zip(group.others.tolist(), group.similarities.tolist(), strict=True)
        others = tuple(SimilarPair(first, id(other), score) for other, score in members)
        found.append(SimilarGroup(first, others))
    return found


def _check_reachable(snapshot: Snapshot, min_similarity: float, by: str) -> None:
    """Raise InvalidInputError if `min_similarity` exceeds 1, and no similarity does."""
    S = snapshot.S
    definite = S.dominant or (S.scales is not None and not S.settings.get("extended"))
    if is_number(min_similarity) and min_similarity > 1 and (definite or by == "meaning"):
        raise InvalidInputError(
            f"the least similarity is {min_similarity:g}, and the {_SIMILARITIES[by]} of this "
            "index are at most 1; choose one from 0 to 1, such as 0.8."
        )


def compared(
    snapshot: Snapshot,
    by: str,
    ranking: str = "soft_cosine",
    *,
    allowed: Sequence[NDArray[np.bool_]] | None = None,
) -> Comparison:
    """Return the documents to compare, by words, meaning or both.

    Parameters
    ----------
    snapshot : Snapshot
    by : {"words", "meaning", "both"}
    ranking : str
        Of words alone.
    allowed : sequence of ndarray of shape (n_docs,), bool, optional
        For each segment, the live documents to compare; all by default.

    Raises
    ------
    InvalidInputError
        If they cannot be compared in this way.
    """
    check_choice("by", by, tuple(_SIMILARITIES))
    if by != "words" and ranking != "soft_cosine":
        raise InvalidInputError(
            f"the ranking {ranking} is one of words, and pairs are compared by {by}; leave it out, "
            "or choose by='words'."
        )
    if by != "words" and snapshot.meaning is None:
        raise no_coordinates()
    if by != "meaning" and len(snapshot.fields) > 1:
        names = ", ".join(field.name for field in snapshot.fields)
        raise InvalidInputError(
            f"this index has the fields {names}, and pairs are found in one; index the text that "
            "counts as a single field."
        )
    masks = [segment.mask for segment in snapshot.segments] if allowed is None else allowed
    own = [segment.coordinates for segment in snapshot.segments]
    known = [
        np.zeros_like(mask) if one is None else one.known & mask
        for one, mask in zip(own, masks, strict=True)
    ]
    dimensions = 0 if snapshot.meaning is None else snapshot.meaning.dimensions
    firsts = snapshot.documents.firsts
    by_meaning = partial(DocumentsByMeaning, slope=slope_of(snapshot.settings.mean_cosine))
    if by == "meaning":
        chosen = [np.flatnonzero(mask) for mask in known]
        return by_meaning(own, chosen, firsts, dimensions)
    parts = [
        replace(part, live=mask)
        for part, mask in zip(_parts(snapshot, ranking), masks, strict=True)
    ]
    if by == "words":
        return pair_documents(parts, snapshot.S)
    words = pair_documents(parts, snapshot.S, others=known)
    return DocumentsByBoth(words, by_meaning(own, words.chosen, firsts, dimensions))


def _parts(snapshot: Snapshot, ranking: str) -> tuple[RankedSegment, ...]:
    ((_, words),) = words_of(snapshot, ranking).summands
    if not words.ranking.linear:
        raise InvalidInputError(f"pairs are not found by {ranking}; leave out ranking=.")
    return words.parts
