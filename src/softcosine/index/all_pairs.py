"""All pairs of similar documents, and every document's nearest neighbours, exactly.

The similarity of a pair of documents is what a search gives for the earlier one as the query and
the later one as the document, to the bit; a ranking is symmetric, so the other way round would
differ by rounding alone. Documents of norm 0, without terms for instance, have no pairs, deleted
ones take no part, and a pair needs a similarity above 0.

Each pair is met once: a panel of documents is expanded by S and multiplied with all later ones in
small whole numbers, which bounds their similarities (`softcosine.index.pair_panels`); few reach a
bar, and one float64 routine scores these. So the number of threads changes no bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.pair_panels import Bars, Found, PairDocuments, PanelSpace
from softcosine.index.parts import Part
from softcosine.index.threads import n_threads
from softcosine.index.values import check_k
from softcosine.kernels.pair_scores import push_pairs
from softcosine.matrix.reading import is_number
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NeighborGraph", "PairBlock", "nearest_neighbors", "similar_pairs"]

_T = TypeVar("_T")
Progress = Callable[[int, int], None]

_SYMMETRIC = ("soft_cosine", "inner_product")


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Pairs of documents, by (first, second).

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
        """How many pairs there are."""
        return int(self.first.shape[0])

    def to_pandas(self) -> pd.DataFrame:
        """One row a pair: first, second, similarity."""
        from softcosine.index.frames import data_frame

        return data_frame(
            {"first": self.first, "second": self.second, "similarity": self.similarities}
        )


@dataclass(frozen=True, slots=True)
class NeighborGraph:
    """The nearest neighbours of every document that has any, best first; ties by number.

    Attributes
    ----------
    documents : ndarray of shape (n,), int64
        Ascending numbers.
    starts : ndarray of shape (n + 1,), int64
        Where each document's neighbours begin.
    neighbors : ndarray, int64
    similarities : ndarray, float64
    """

    documents: NDArray[np.int64]
    starts: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    similarities: NDArray[np.float64]

    def of(self, document: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return one document's neighbours and similarities; none if it has none."""
        place = int(np.searchsorted(self.documents, document))
        if place == self.documents.shape[0] or self.documents[place] != document:
            return np.empty(0, np.int64), np.empty(0)
        part = slice(self.starts[place], self.starts[place + 1])
        return self.neighbors[part], self.similarities[part]

    def blocks(self, size: int = 4096) -> Iterator[PairBlock]:
        """Yield (document, neighbour, similarity), some documents at a time."""
        for begin in range(0, self.documents.shape[0], size):
            end = min(begin + size, self.documents.shape[0])
            part = slice(self.starts[begin], self.starts[end])
            lengths = np.diff(self.starts[begin : end + 1])
            first = np.repeat(self.documents[begin:end], lengths)
            yield PairBlock(first, self.neighbors[part], self.similarities[part])

    def to_pandas(self) -> pd.DataFrame:
        """One row a neighbour: document, rank (from 1), neighbor, similarity."""
        from softcosine.index.frames import data_frame

        lengths = np.diff(self.starts)
        return data_frame(
            {
                "document": np.repeat(self.documents, lengths),
                "rank": np.arange(len(self.neighbors)) - np.repeat(self.starts[:-1], lengths) + 1,
                "neighbor": self.neighbors,
                "similarity": self.similarities,
            }
        )


def similar_pairs(
    parts: Sequence[Part],
    S: TermSimilarityMatrix,
    *,
    min_similarity: float,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Iterator[PairBlock]:
    """Yield every pair of documents at least so similar, by (first, second).

    Parameters
    ----------
    parts : sequence of Part
        Prepared for soft_cosine or inner_product.
    S : TermSimilarityMatrix
        Symmetric.
    min_similarity : float
        Above 0.
    threads : int, optional
        All processors by default; does not change a bit.
    progress : callable, optional
        Called with the number of pairs compared, and of all.

    Yields
    ------
    PairBlock
        The pairs of up to 64 neighbouring documents with all later ones; never empty. Memory is
        bounded by a few such blocks.

    Raises
    ------
    InvalidInputError
        If `min_similarity` is not above 0, or the ranking or S is not symmetric.
    """
    minimum = check_min_similarity(min_similarity)
    if minimum <= 0:
        raise InvalidInputError(
            f"min_similarity is {min_similarity!r}, which would list nearly every pair; pass a "
            "number above 0, or k for each document's nearest neighbours."
        )
    documents = _documents(parts, S)
    return _similar_pairs(documents, minimum, n_threads(threads), progress)


def _similar_pairs(
    documents: PairDocuments, minimum: float, threads: int, progress: Progress | None
) -> Iterator[PairBlock]:
    bars = Bars.at(minimum, documents.n, 0, documents.slack)
    spaces = _Spaces(documents)

    def meet(panel: int) -> PairBlock:
        found: list[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]] = []

        def scored(begin: int, pairs: Found) -> None:
            enough = pairs.scores >= minimum
            first = np.repeat(np.arange(len(pairs.starts) - 1), np.diff(pairs.starts)) + begin
            found.append((first[enough], pairs.documents[enough], pairs.scores[enough]))

        spaces.use(lambda space: documents.meet(space, panel, bars, scored))
        return _block(documents, found)

    for block in _in_order(meet, documents, threads, progress):
        if len(block):
            yield block


def nearest_neighbors(
    parts: Sequence[Part],
    S: TermSimilarityMatrix,
    *,
    k: int,
    min_similarity: float = 0.0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NeighborGraph:
    """Find the k best others of every document, by (similarity descending, number ascending).

    Parameters
    ----------
    parts, S, threads, progress
        See `similar_pairs`.
    k : int
        1 or more; fewer are found where fewer qualify.
    min_similarity : float, optional
        Least similarity; whatever it is, a neighbour needs one above 0.

    Raises
    ------
    InvalidInputError
        If k or `min_similarity` is no number that it can be, or the ranking or S is not symmetric.
    """
    k, minimum = check_k(k), check_min_similarity(min_similarity)
    documents = _documents(parts, S)
    k = min(k, max(documents.n - 1, 0))
    if k == 0:
        return NeighborGraph(*(np.empty(0, np.int64), np.zeros(1, np.int64)),
                             np.empty(0, np.int64), np.empty(0))  # fmt: skip
    bars = Bars.at(minimum, documents.n, k, documents.slack)
    others = np.zeros((documents.n, k), np.uint32)
    held = np.zeros(documents.n, np.int64)
    spaces = _Spaces(documents)

    def scored(begin: int, found: Found) -> None:
        with bars.lock:
            push_pairs(
                begin, found.starts, found.documents, found.scores, minimum,
                bars.best, others, held, bars.documents, documents.slack,
            )  # fmt: skip

    def meet(panel: int) -> None:
        spaces.use(lambda space: documents.meet(space, panel, bars, scored))

    for _ in _in_order(meet, documents, n_threads(threads), progress):
        pass
    return _graph(documents, bars.best, others, held)


def check_min_similarity(min_similarity: float) -> float:
    """Return min_similarity if it is a number; InvalidInputError otherwise."""
    if is_number(min_similarity):
        return float(min_similarity)
    raise InvalidInputError(f"min_similarity is {min_similarity!r}; it must be a number.")


def _documents(parts: Sequence[Part], S: TermSimilarityMatrix) -> PairDocuments:
    S.require_symmetric("comparing all pairs")
    for part in parts:
        if part.ranking.name not in _SYMMETRIC:
            raise InvalidInputError(
                f"the ranking {part.ranking.name} tells queries from documents, so pairs of "
                f"documents have no similarity by it; choose {' or '.join(_SYMMETRIC)}."
            )
    return PairDocuments(parts, S)


class _Spaces:
    """Scratch arrays that threads take and give back."""

    def __init__(self, documents: PairDocuments) -> None:
        self._n_terms = len(documents.S)
        self._idle: list[PanelSpace] = []

    def use(self, task: Callable[[PanelSpace], None]) -> None:
        try:
            space = self._idle.pop()  # atomic
        except IndexError:
            space = PanelSpace(self._n_terms)
        task(space)
        self._idle.append(space)


def _in_order(
    meet: Callable[[int], _T],
    documents: PairDocuments,
    threads: int,
    progress: Progress | None,
    *,
    start: int = 0,
) -> Iterator[_T]:
    """Yield what each panel gives, in order, a few panels ahead at a time."""
    panels = range(start, len(documents.panels))
    n = documents.n
    total = n * (n - 1) // 2

    def counted(panel: int, result: _T) -> _T:
        if progress is not None:
            left = n - documents.panels[panel][1]
            progress(total - left * (left - 1) // 2, total)
        return result

    if threads == 1:
        for panel in panels:
            yield counted(panel, meet(panel))
        return
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


def _block(
    documents: PairDocuments,
    found: list[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]],
) -> PairBlock:
    if not found:
        return PairBlock(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    first, second, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    if len(found) > 1:
        order = np.lexsort((second, first))
        first, second, scores = first[order], second[order], scores[order]
    return PairBlock(documents.numbers[first], documents.numbers[second], scores)


def _graph(
    documents: PairDocuments,
    best: NDArray[np.float64],
    others: NDArray[np.uint32],
    held: NDArray[np.int64],
) -> NeighborGraph:
    """Bring the heaps into order."""
    filled = np.arange(best.shape[1]) < held[:, None]
    order = np.lexsort((others, np.where(filled, -best, np.inf)), axis=1)
    neighbors = documents.numbers[np.take_along_axis(others, order, axis=1)[filled]]
    similarities = np.take_along_axis(best, order, axis=1)[filled]
    some = held > 0
    starts = np.concatenate([[0], np.cumsum(held[some])]).astype(np.int64)
    return NeighborGraph(documents.numbers[some], starts, neighbors, similarities)
