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
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._ragged import running_sum, slices
from softcosine._validation import check_choice
from softcosine.index.near_duplicates.all_pairs import PairBlock, similar_pairs
from softcosine.index.near_duplicates.panels import Comparison, ScoredDocuments
from softcosine.kernels.groups import follow, roots_of, unite

# The first and the second document of pairs, by place, and their similarities.
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


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
    fewer: Callable[[NDArray[np.int64]], Comparison],
    *,
    min_similarity: float,
    method: str = "components",
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[DuplicateGroup]:
    """Return groups of documents of a minimum similarity, ordered by their first documents.

    Of documents that are equal, only the first and the last one are compared.

    Parameters
    ----------
    documents, min_similarity, threads, progress
        See `softcosine.index.near_duplicates.all_pairs.similar_pairs`.
    fewer : callable
        Returns a comparison of the documents of some numbers only.
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
    n, seen = len(documents.numbers), dict[bytes, int]()
    keys = (blake2b(key, digest_size=16).digest() for key in documents.keys())  # noqa: SIM118
    firsts = np.fromiter(
        (seen.setdefault(key, place) for place, key in enumerate(keys)), np.int64, n
    )
    ends = np.arange(n)
    ends[firsts] = np.arange(n)  # of the first equal document: the last one
    chosen = (firsts == np.arange(n)) | (ends[firsts] == np.arange(n))
    pairs = similar_pairs(
        documents if chosen.all() else fewer(documents.numbers[chosen]),
        min_similarity=min_similarity, threads=threads, progress=progress,
    )  # fmt: skip
    return METHODS[method](documents, _of_equals(documents.numbers, pairs, firsts))


def _of_equals(
    numbers: NDArray[np.int64], pairs: Iterator[PairBlock], firsts: NDArray[np.int64]
) -> Iterator[_Pairs]:
    """Yield those pairs of all documents that decide the groups, by place.

    Similarities can depend, by rounding, on which document is earlier. So those of the first of
    equal documents with the last of others are those of all of both. A pair yields its first
    document with the later equals of its second, and the earlier equals of its first with its
    second: these connect what all pairs connect, also equals that are not similar enough to
    themselves. Leaders are the same, because no equal of a document leads before it, and the
    first of equal similarities counts.

    Parameters
    ----------
    numbers : ndarray of shape (n,), int64
        Of all documents.
    pairs : iterator of PairBlock
        Of the first and last ones of equal documents.
    firsts : ndarray of shape (n,), int64
        Place of the first equal document.
    """
    members = np.argsort(firsts, kind="stable")
    starts = running_sum(np.bincount(firsts, minlength=len(firsts)))
    for block in pairs:
        a, b = (np.searchsorted(numbers, n) for n in (block.first, block.second))
        of_b, at = slices(starts, firsts[b])
        of_a, before = slices(starts, firsts[a])
        first = np.concatenate([a[of_b], members[before]])
        second = np.concatenate([members[at], b[of_a]])
        scores = np.concatenate([block.similarities[of_b], block.similarities[of_a]])
        order = np.lexsort((second, first))
        order = order[(first < second)[order]]
        yield first[order], second[order], scores[order]


def _components(documents: ScoredDocuments, pairs: Iterator[_Pairs]) -> list[DuplicateGroup]:
    parents = np.arange(len(documents.numbers))
    for first, second, _ in pairs:
        unite(parents, first, second)
    roots_of(parents)
    return _groups(documents, parents, documents.pair_scores)


def _leaders(documents: ScoredDocuments, pairs: Iterator[_Pairs]) -> list[DuplicateGroup]:
    n = len(documents.numbers)
    leaders, best = np.arange(n), np.zeros(n)
    for block in pairs:
        follow(*block, leaders, best)
    return _groups(documents, leaders, lambda _, members: best[members])


METHODS: dict[str, Callable[[ScoredDocuments, Iterator[_Pairs]], list[DuplicateGroup]]] = {
    "components": _components,
    "leaders": _leaders,
}


def _groups(
    documents: ScoredDocuments,
    firsts: NDArray[np.int64],
    scores: Callable[[int, NDArray[np.int64]], NDArray[np.float64]],
) -> list[DuplicateGroup]:
    """Return the groups, given the first document of each one, and the scores of the others."""
    members = np.flatnonzero(firsts != np.arange(len(firsts)))
    members = members[np.argsort(firsts[members], kind="stable")]
    distinct, starts = np.unique(firsts[members], return_index=True)
    numbers = documents.numbers
    return [
        DuplicateGroup(int(numbers[first]), numbers[own], scores(int(first), own))
        for first, own in zip(distinct, np.split(members, starts[1:]), strict=False)
    ]
