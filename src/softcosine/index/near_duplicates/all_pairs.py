"""All pairs of similar documents, and the nearest neighbors of every document, exactly.

The similarity of a pair is bit-identical to a search with the earlier document as the query. The
rankings are symmetric, so the other direction differs only by rounding. Deleted documents and
documents of norm 0 (such as those without terms) have no pairs, and a pair needs a similarity
above 0.

Each pair is compared once. A panel of documents is compared with all later ones by bounds of the
similarities: of words (`softcosine.index.near_duplicates.panels`), of meaning or of both
(`softcosine.index.near_duplicates.meaning`). The few pairs that can reach the minimum are
scored in float64. So results do not depend on the number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._progress import Progress
from softcosine._threads import n_threads
from softcosine.errors import InvalidInputError
from softcosine.index.near_duplicates.panels import Bars, Comparison, PairDocuments, ScoredPairs
from softcosine.index.rankings import RankedSegment
from softcosine.index.spaces.space import check_k, check_min_score
from softcosine.kernels.documents import push_pairs
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

_T = TypeVar("_T")
_R = TypeVar("_R")

_SYMMETRIC = ("soft_cosine", "inner_product")


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Pairs of documents, ordered by the first.

    Attributes
    ----------
    first, second : ndarray of shape (n,), int64
        Numbers of the documents.
    similarities : ndarray of shape (n,), float64
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    similarities: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.shape[0])


def similar_pairs(
    documents: Comparison,
    *,
    min_similarity: float,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[PairBlock]:
    """Yield all pairs of documents of a minimum similarity, ordered by (first, second).

    Parameters
    ----------
    documents : Comparison
        Such as `pair_documents`.
    min_similarity : float
        Above 0. Rounding can put equal documents about 1e-15 below 1; to include them, choose a
        slightly lower value.
    threads : int, optional
        All processors by default; results do not depend on it.
    progress : callable, optional
        Called with (compared pairs, all pairs).

    Yields
    ------
    PairBlock
        The pairs of some consecutive documents with all later ones; never empty. Memory is
        bounded by a few blocks.

    Raises
    ------
    InvalidInputError
        If `min_similarity` is not above 0.
    """
    minimum, threads = positive(min_similarity), n_threads(threads)
    bars = Bars.at(minimum, len(documents.numbers), 0, documents.slack)

    def meet(panel: int) -> PairBlock:
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]

        def scored(begin: int, pairs: ScoredPairs) -> None:
            enough = pairs.scores >= minimum
            second = pairs.documents[enough].astype(np.int64)
            found.append(((pairs.columns + begin)[enough], second, pairs.scores[enough]))

        documents.meet(panel, bars, scored)
        first, second, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((second, first))
        numbers = documents.numbers
        return PairBlock(numbers[first[order]], numbers[second[order]], scores[order])

    return (block for block in _in_order(meet, documents, threads, progress) if len(block))


def positive(min_similarity: float) -> float:
    """Return min_similarity if it is a number above 0; InvalidInputError otherwise."""
    minimum = check_min_score(min_similarity, "min_similarity")
    if minimum <= 0:
        raise InvalidInputError(
            f"min_similarity is {min_similarity!r}, which would list nearly every pair; pass a "
            "number above 0, or k for each document's nearest neighbours."
        )
    return minimum


def nearest_neighbors(
    documents: Comparison,
    *,
    k: int,
    min_similarity: float = 0.0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PairBlock:
    """Return every document with its k most similar ones, best first; ties by number.

    Parameters
    ----------
    documents, threads, progress
        See `similar_pairs`.
    k : int
        At least 1; fewer neighbors are returned if fewer qualify.
    min_similarity : float, optional
        Minimum similarity; a neighbor always needs one above 0.

    Raises
    ------
    InvalidInputError
        If k or `min_similarity` is invalid.
    """
    k, threads = check_k(k), n_threads(threads)
    minimum = check_min_score(min_similarity, "min_similarity")
    n = len(documents.numbers)
    k = min(k, max(n - 1, 1))
    # One heap per document, with its worst neighbor at the root.
    bars = Bars.at(minimum, n, k, documents.slack)
    others, held = np.zeros((n, k), np.uint32), np.zeros(n, np.int64)

    def scored(begin: int, found: ScoredPairs) -> None:
        with bars.lock:
            push_pairs(
                begin, found.starts, found.documents, found.scores, minimum,
                bars.best, others, held, bars.documents, documents.slack,
            )  # fmt: skip

    for _ in _in_order(
        lambda panel: documents.meet(panel, bars, scored), documents, threads, progress
    ):
        pass
    filled = np.arange(k) < held[:, None]
    order = np.lexsort((others, np.where(filled, -bars.best, np.inf)), axis=1)
    neighbors = documents.numbers[np.take_along_axis(others, order, axis=1)[filled]]
    similarities = np.take_along_axis(bars.best, order, axis=1)[filled]
    return PairBlock(np.repeat(documents.numbers, held), neighbors, similarities)


def pair_documents(
    parts: Sequence[RankedSegment],
    S: TermSimilarityMatrix,
    others: Sequence[NDArray[np.bool_]] | None = None,
) -> PairDocuments:
    """Prepare documents for comparison by words; see `PairDocuments` for parameters.

    InvalidInputError if S or the ranking is not symmetric.
    """
    S.require_symmetric("comparing all pairs")
    for part in parts:
        if part.ranking.name not in _SYMMETRIC:
            raise InvalidInputError(
                f"the ranking {part.ranking.name} tells queries from documents, so pairs of "
                f"documents have no similarity by it; choose {' or '.join(_SYMMETRIC)}."
            )
    return PairDocuments(parts, S, others)


def _in_order(
    meet: Callable[[int], _T],
    documents: Comparison,
    threads: int,
    progress: Progress | None,
) -> Generator[_T]:
    """Yield the result of each panel, in order, computed a few panels ahead."""
    panels = range(len(documents.panels))
    n = len(documents.numbers)
    total = n * (n - 1) // 2

    def counted(panel: int, result: _R) -> _R:
        check_deadline()
        if progress is not None:
            left = n - documents.panels[panel][1]
            progress(total - left * (left - 1) // 2, total)
        return result

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[_T]] = deque()
        try:
            for panel in panels:
                pending.append(pool.submit(meet, panel))
                if len(pending) > 2 * threads:
                    yield counted(panel - len(pending) + 1, pending.popleft().result())
            while pending:
                yield counted(panels.stop - len(pending), pending.popleft().result())
        finally:
            for future in pending:
                future.cancel()
