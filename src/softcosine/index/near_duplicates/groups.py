"""Groups of near duplicates.

Two methods, both streaming over the pairs by (first, second), with a few numbers per document in
memory:

``components``
    Two documents are in one group if a chain of similar pairs connects them (single linkage). No
    near duplicates are separated, but chains can be long, and their ends need not be similar.
``leaders``
    Documents are processed in order of number. Each joins the most similar leader that is similar
    enough (ties: the earliest), or becomes a leader. So every member is similar to the first
    document of its group, but members of different groups may be near duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._validation import check_choice
from softcosine.index.near_duplicates.all_pairs import PairBlock, similar_pairs
from softcosine.index.near_duplicates.panels import Comparison, ScoredDocuments
from softcosine.kernels.groups import follow, roots_of, unite


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """A document and its near duplicates.

    Attributes
    ----------
    first : int
        Number of the earliest document.
    others : ndarray of shape (n,), int64
        The other members, ascending.
    similarities : ndarray of shape (n,), float64
        Their similarities to the first document.
    """

    first: int
    others: NDArray[np.int64]
    similarities: NDArray[np.float64]


def find_groups(
    documents: Comparison,
    *,
    min_similarity: float,
    method: str = "components",
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[DuplicateGroup]:
    """Return groups of documents of a minimum similarity, ordered by their first documents.

    Parameters
    ----------
    documents, min_similarity, threads, progress
        See `softcosine.index.near_duplicates.all_pairs.similar_pairs`.
    method : {"components", "leaders"}
        See `softcosine.index.near_duplicates.groups`.

    Raises
    ------
    InvalidInputError
        If the method is unknown; also as in `similar_pairs`.
    IndexFormatError, IndexLockedError
        As in `similar_pairs`.
    """
    check_choice("method", method, METHODS)
    pairs = similar_pairs(
        documents, min_similarity=min_similarity, threads=threads,
        progress=progress,
    )  # fmt: skip
    return METHODS[method](documents, pairs)


def _components(documents: ScoredDocuments, pairs: Iterator[PairBlock]) -> list[DuplicateGroup]:
    n = len(documents.numbers)
    parents = np.arange(n)
    for block in pairs:
        unite(parents, *_places(documents, block))
    roots_of(parents)
    groups = []
    for group in _groups(documents, parents, np.zeros(n)):
        first, *others = np.searchsorted(documents.numbers, [group.first, *group.others]).tolist()
        similarities = documents.pair_scores(first, np.array(others))
        groups.append(replace(group, similarities=similarities))
    return groups


def _leaders(documents: ScoredDocuments, pairs: Iterator[PairBlock]) -> list[DuplicateGroup]:
    n = len(documents.numbers)
    leaders, best = np.arange(n), np.zeros(n)
    for block in pairs:
        follow(*_places(documents, block), block.similarities, leaders, best)
    return _groups(documents, leaders, best)


METHODS: dict[str, Callable[[ScoredDocuments, Iterator[PairBlock]], list[DuplicateGroup]]] = {
    "components": _components,
    "leaders": _leaders,
}


def _places(
    documents: ScoredDocuments, block: PairBlock
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = (np.searchsorted(documents.numbers, n) for n in (block.first, block.second))
    return first, second


def _groups(
    documents: ScoredDocuments, firsts: NDArray[np.int64], similarities: NDArray[np.float64]
) -> list[DuplicateGroup]:
    """Return the groups, given the first document of each document and its similarity to it."""
    members = np.flatnonzero(firsts != np.arange(len(firsts)))
    members = members[np.argsort(firsts[members], kind="stable")]
    distinct, starts = np.unique(firsts[members], return_index=True)
    numbers = documents.numbers
    return [
        DuplicateGroup(int(numbers[first]), numbers[own], similarities[own])
        for first, own in zip(distinct, np.split(members, starts[1:]), strict=False)
    ]
