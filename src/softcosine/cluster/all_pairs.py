"""Similar pairs of the documents of all shards, found in tasks that can run on many machines.

All shards are compared as one collection. A task compares some panels of documents with all later
ones (`softcosine.index.near_duplicates.panels`), so each pair is compared once. For the nearest
documents of each, it compares them with all documents: twice the work, but a task then has the
whole result of its documents. The order of the shards is not the order of insertion, and the
similarity of a pair is that with its earlier document as the query: pairs that a task meets the
other way round are scored again. So similarities have the same bits as in one index.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._progress import Progress
from softcosine._tasks import finished_tasks
from softcosine._threads import in_threads, n_threads
from softcosine._validation import check_choice, check_whole
from softcosine.cluster.manifest import ShardsManifest
from softcosine.errors import InvalidInputError
from softcosine.index.blocks import BlockFolder
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import (
    pairs_of_panels,
    positive,
)
from softcosine.index.near_duplicates.groups import METHODS, DuplicateGroups, groups_of_pairs
from softcosine.index.near_duplicates.panels import Comparison, kth_best
from softcosine.index.near_duplicates.results import PairBlock
from softcosine.index.near_duplicates.similar import (
    DocumentIds,
    SimilarGroup,
    SimilarPair,
    SimilarPairs,
    compared,
    named_groups,
)
from softcosine.index.requests import By
from softcosine.index.search.top_docs import check_k, check_min_score
from softcosine.storage import checked_path, naming_a_full_disk, sync, written_beside

__all__ = ["groups_of_shards", "pairs_of_shards", "together"]

_TASKS = 64
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
    return Snapshot.of(
        first.settings, [own for one in shards for own in one.segments if own.n_docs], first.S,
        first.source, first.statistics, generation=0, meaning=first.meaning,
        stored_pieces=first.stored_pieces,
    )  # fmt: skip


class _InsertionOrder:
    """The documents of all shards; their place is their rank in the order of insertion.

    As a `Comparison` it only scores given pairs.
    """

    def __init__(self, path: Path, checksum: str, by: str) -> None:
        manifest = ShardsManifest.read(path)
        if manifest.checksum != checksum:
            raise InvalidInputError(
                f"{path} has changed since its pairs were asked for; ask again."
            )
        self.snapshot = together(path, manifest)
        self._ids = DocumentIds(self.snapshot)
        self.comparison: Comparison = compared(self.snapshot, by)
        inserted = self.snapshot.documents.insertion_numbers(self.comparison.numbers)
        self._order = np.argsort(inserted)  # from ranks to places of the comparison
        self._ranks = np.argsort(self._order)
        self.numbers = inserted[self._order]

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return exact similarities of a document with later ones, by rank."""
        places = self._order[others]
        ascending = np.argsort(places)
        scores = np.empty(len(places))
        scores[ascending] = self.comparison.pair_scores(int(self._order[first]), places[ascending])
        return scores

    def pairs(self, panels: range, minimum: float, threads: int | None) -> PairBlock:
        """Return the similar pairs of some panels, as insertion numbers, the earlier one first."""
        least = minimum - _ROUNDING * max(1.0, minimum)
        found = []
        for block in pairs_of_panels(self.comparison, panels, max(least, 0.0), threads):
            places = (
                np.searchsorted(self.comparison.numbers, own) for own in (block.first, block.second)
            )
            first, second = (self._ranks[own] for own in places)
            scores = block.similarities.copy()
            self._turn(first, second, scores)
            kept = scores >= minimum
            first, second = np.minimum(first, second)[kept], np.maximum(first, second)[kept]
            found.append(PairBlock(self.numbers[first], self.numbers[second], scores[kept]))
        return _joined(found)

    def nearest(self, panels: range, k: int, minimum: float, threads: int | None) -> PairBlock:
        """Return the k nearest documents of those of some panels, best first; ties by number."""
        found = in_threads(partial(self._nearest, k=k, minimum=minimum), panels, threads)
        return _joined(found)

    def _nearest(self, panel: int, *, k: int, minimum: float) -> PairBlock:
        check_deadline()
        begin, end = self.comparison.panels[panel]
        least = max(minimum - _ROUNDING * max(1.0, minimum), 0.0)
        columns = others = np.empty(0, np.int64)
        scores = np.empty(0)
        for pairs in self.comparison.nearest(panel, k, least):
            different = pairs.documents != pairs.columns + begin
            columns = np.concatenate([columns, pairs.columns[different]])
            others = np.concatenate([others, pairs.documents[different].astype(np.int64)])
            scores = np.concatenate([scores, pairs.scores[different]])
            best = kth_best(columns, scores, end - begin, k)
            kept = scores >= (best - _ROUNDING * np.maximum(1.0, best))[columns]
            columns, others, scores = columns[kept], others[kept], scores[kept]
        first, second = self._ranks[columns + begin], self._ranks[others]
        self._turn(first, second, scores)
        kept = (scores >= minimum) & (scores > 0)
        columns, first, second, scores = columns[kept], first[kept], second[kept], scores[kept]
        order = np.lexsort((second, -scores, columns))
        counts = np.bincount(columns, minlength=end - begin)
        places = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[places < k]
        return PairBlock(self.numbers[first[order]], self.numbers[second[order]], scores[order])

    def _turn(
        self, first: NDArray[np.int64], second: NDArray[np.int64], scores: NDArray[np.float64]
    ) -> None:
        """Score the pairs again whose first document is the later one."""
        turned = np.flatnonzero(first > second)
        for rank in np.unique(second[turned]).tolist():
            own = turned[second[turned] == rank]
            scores[own] = self.pair_scores(rank, first[own])

    @cached_property
    def _documents(self) -> dict[int, int]:
        """Document numbers of the snapshot by insertion number."""
        numbers = self.comparison.numbers[self._order]
        return dict(zip(self.numbers.tolist(), numbers.tolist(), strict=True))

    def id(self, number: int) -> str:
        """Return the id of a document, given its insertion number."""
        return self._ids[self._documents[number]]


@dataclass(frozen=True, slots=True)
class _Task:
    """A task: the pairs of some panels of documents, in a file."""

    path: Path
    checksum: str
    by: str
    minimum: float
    k: int | None
    panels: range
    threads: int | None
    file: Path

    def run(self) -> None:
        """Write the file, unless it is there already."""
        if self.file.exists():
            return
        documents = _documents_of(self.path, self.checksum, self.by)
        if self.k is None:
            found = documents.pairs(self.panels, self.minimum, self.threads)
        else:
            found = documents.nearest(self.panels, self.k, self.minimum, self.threads)
        with naming_a_full_disk(self.file), written_beside(self.file) as new:
            with new.open("wb") as stream:
                np.savez(stream, first=found.first, second=found.second, score=found.similarities)
            sync(new)

    def result(self) -> PairBlock:
        """Read the file."""
        with np.load(self.file) as found:
            return PairBlock(found["first"], found["second"], found["score"])


@lru_cache(maxsize=1)
def _documents_of(path: Path, checksum: str, by: str) -> _InsertionOrder:
    """Return the documents to compare, which the tasks of a process share."""
    return _InsertionOrder(path, checksum, by)


def pairs_of_shards(
    path: Path,
    *,
    min_similarity: float = 0.0,
    k: int | None = None,
    by: By = "words",
    threads: int | None = None,
    jobs: int | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> SimilarPairs:
    """Return similar pairs of documents of a sharded index; see `SoftIndex.pairs`.

    Parameters
    ----------
    path : Path
        Of the sharded index.
    min_similarity, k, by, threads, checkpoint, progress
        See `SoftIndex.pairs`.
    jobs : int, optional
        Number of tasks at once by joblib, whose ``parallel_config`` chooses the machines; they
        need a `checkpoint` that all of them can write. By default in this process.
    """
    if k is None:
        minimum = positive(min_similarity)
    else:
        k, minimum = check_k(k), check_min_score(min_similarity, "min_similarity")
    _check_tasks(threads, jobs, checkpoint)

    def found() -> Generator[SimilarPair]:
        with ExitStack() as closing:
            documents, block = _found(
                path, minimum, k, by, threads, jobs, checkpoint, progress, closing
            )
            for first, second, score in zip(
                block.first.tolist(),
                block.second.tolist(),
                block.similarities.tolist(),
                strict=True,
            ):
                yield SimilarPair(documents.id(first), documents.id(second), score)

    return SimilarPairs(found(), f"min_similarity={minimum:g}, k={k}, by={by!r}, of shards")


def groups_of_shards(
    path: Path,
    *,
    min_similarity: float,
    method: str = "components",
    by: By = "words",
    threads: int | None = None,
    jobs: int | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> list[SimilarGroup]:
    """Return the groups of near duplicates of a sharded index; see `SoftIndex.dedupe`."""
    check_choice("method", method, METHODS)
    minimum = positive(min_similarity)
    _check_tasks(threads, jobs, checkpoint)
    with ExitStack() as closing:
        documents, block = _found(
            path, minimum, None, by, threads, jobs, checkpoint, progress, closing
        )
        groups: DuplicateGroups = groups_of_pairs(documents, iter([block]), method)
        return named_groups(groups, documents.id)


def _check_tasks(threads: int | None, jobs: int | None, checkpoint: str | Path | None) -> None:
    """Raise InvalidInputError if tasks cannot run so, before any is started."""
    n_threads(threads)
    check_whole("jobs", jobs, optional=True)
    if checkpoint is not None:
        checked_path(checkpoint)
    elif jobs is not None:
        raise InvalidInputError(
            "jobs compare in other processes, which leave their pairs in a folder: pass "
            "checkpoint=FOLDER, on a disk that all of them share."
        )


def _found(
    path: Path,
    minimum: float,
    k: int | None,
    by: str,
    threads: int | None,
    jobs: int | None,
    checkpoint: str | Path | None,
    progress: Progress | None,
    closing: ExitStack,
) -> tuple[_InsertionOrder, PairBlock]:
    """Return the documents, and their pairs by (first, second), for the k best by rank."""
    checksum = ShardsManifest.read(path).checksum
    documents = _documents_of(path, checksum, by)
    closing.callback(_documents_of.cache_clear)
    question = {"index": checksum, "by": by, "min_similarity": minimum, "k": k}
    folder = closing.enter_context(
        BlockFolder(
            closing.enter_context(TemporaryDirectory(prefix="softcosine-pairs-"))
            if checkpoint is None
            else checkpoint,
            question,
            "pairs",
        )
    )
    n = len(documents.numbers)
    most = None if k is None else min(k, max(n - 1, 1))
    tasks = [
        _Task(path, checksum, by, minimum, most, panels, threads,
              folder.path / f"panels-{panels.start:07}-{panels.stop:07}.npz")
        for panels in _ranges(documents.comparison, later=k is None)
    ]  # fmt: skip
    done, total = 0, sum(_n_pairs(documents.comparison, task.panels, k is None) for task in tasks)
    for number in _run(tasks, jobs):
        if progress is not None:
            done += _n_pairs(documents.comparison, tasks[number].panels, k is None)
            progress(done, total)
    found = _joined([task.result() for task in tasks])
    first, second = found.first, found.second
    order = np.lexsort((second, first)) if k is None else np.argsort(first, kind="stable")
    return documents, PairBlock(first[order], second[order], found.similarities[order])


def _joined(blocks: Sequence[PairBlock]) -> PairBlock:
    none = np.empty(0, np.int64)
    return PairBlock(
        np.concatenate([none, *(one.first for one in blocks)]),
        np.concatenate([none, *(one.second for one in blocks)]),
        np.concatenate([np.empty(0), *(one.similarities for one in blocks)]),
    )


def _run(tasks: list[_Task], jobs: int | None) -> Iterator[int]:
    if jobs is not None:
        yield from finished_tasks(_Task.run, [(task,) for task in tasks], jobs=jobs)
        return
    for number, task in enumerate(tasks):
        task.run()
        yield number


def _ranges(documents: Comparison, *, later: bool) -> list[range]:
    """Split the panels into tasks that compare about the same number of pairs."""
    n = len(documents.numbers)
    if not documents.panels:
        return [range(0)]
    ends = np.array([stop for _, stop in documents.panels], float)
    compared = n * ends - ends**2 / 2 if later else ends
    shares = np.linspace(0, compared[-1], min(_TASKS, len(ends)) + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(compared, shares).tolist(), len(ends)])
    return [range(start, stop) for start, stop in pairwise(cuts.tolist())]


def _n_pairs(documents: Comparison, panels: range, later: bool) -> int:
    """Return the number of pairs of a task, with later documents or with all."""
    if not panels:
        return 0
    n = len(documents.numbers)
    first, last = n - documents.panels[panels.start][0], n - documents.panels[panels[-1]][1]
    return (first * (first - 1) - last * (last - 1)) // 2 if later else (first - last) * (n - 1)
