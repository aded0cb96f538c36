"""Similar pairs of the documents of all shards, found in tasks that can run on many machines.

All shards are compared as one collection. A task compares some panels of documents with all later
ones (`softcosine.index.near_duplicates.panels`), so each pair is compared once. The order of the
shards is not the order of insertion, and the similarity of a pair is that with its earlier
document as the query: pairs that a task meets the other way round are scored again. So similarities
have the same bits as in one index.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._validation import check_whole
from softcosine.cluster.manifest import ShardsManifest
from softcosine.errors import InvalidInputError
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import pairs_of_panels, positive
from softcosine.index.near_duplicates.groups import DuplicateGroups, groups_of_pairs
from softcosine.index.near_duplicates.panels import Comparison
from softcosine.index.near_duplicates.results import PairBlock
from softcosine.index.near_duplicates.similar import (
    By,
    SimilarGroup,
    SimilarPair,
    SimilarPairs,
    compared,
    named_groups,
)
from softcosine.storage import sync, written_beside

__all__ = ["groups_of_shards", "pairs_of_shards", "together"]

_TASKS = 64
_QUESTION = "question.json"
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
        firsts, seconds, scores = [], [], []
        for block in pairs_of_panels(self.comparison, panels, max(least, 0.0), threads):
            places = (
                np.searchsorted(self.comparison.numbers, own) for own in (block.first, block.second)
            )
            first, second = (self._ranks[own] for own in places)
            similarities = block.similarities.copy()
            turned = np.flatnonzero(first > second)
            for rank in np.unique(second[turned]).tolist():
                own = turned[second[turned] == rank]
                similarities[own] = self.pair_scores(rank, first[own])
            kept = similarities >= minimum
            firsts.append(np.minimum(first, second)[kept])
            seconds.append(np.maximum(first, second)[kept])
            scores.append(similarities[kept])
        none = np.empty(0, np.int64)
        first, second = (np.concatenate([none, *own]) for own in (firsts, seconds))
        return PairBlock(
            self.numbers[first], self.numbers[second], np.concatenate([np.empty(0), *scores])
        )

    @cached_property
    def _documents(self) -> dict[int, int]:
        """Document numbers of the snapshot by insertion number."""
        numbers = self.comparison.numbers[self._order]
        return dict(zip(self.numbers.tolist(), numbers.tolist(), strict=True))

    def id(self, number: int) -> str:
        """Return the id of a document, given its insertion number."""
        return self.snapshot.documents.id(self._documents[number])


@dataclass(frozen=True, slots=True)
class _Task:
    """A task: the pairs of some panels of documents with all later ones, in a file."""

    path: Path
    checksum: str
    by: str
    minimum: float
    panels: range
    threads: int | None
    file: Path

    def run(self) -> _Task:
        """Write the file, unless it is there already."""
        if not self.file.exists():
            documents = _documents_of(self.path, self.checksum, self.by)
            found = documents.pairs(self.panels, self.minimum, self.threads)
            with written_beside(self.file) as new:
                with new.open("wb") as stream:
                    np.savez(
                        stream, first=found.first, second=found.second, score=found.similarities
                    )
                sync(new)
        return self

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
    min_similarity: float,
    by: By = "words",
    threads: int | None = None,
    jobs: int | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> SimilarPairs:
    """Return all similar pairs of documents of a sharded index; see `SoftIndex.pairs`.

    Parameters
    ----------
    path : Path
        Of the sharded index.
    min_similarity, by, threads, checkpoint, progress
        See `SoftIndex.pairs`.
    jobs : int, optional
        Number of tasks at once by joblib, whose ``parallel_config`` chooses the machines; they
        need a `checkpoint` that all of them can write. By default in this process.
    """
    minimum = positive(min_similarity)

    def found() -> Generator[SimilarPair]:
        with ExitStack() as closing:
            documents, block = _found(
                path, minimum, by, threads, jobs, checkpoint, progress, closing
            )
            for first, second, score in zip(
                block.first.tolist(),
                block.second.tolist(),
                block.similarities.tolist(),
                strict=True,
            ):
                yield SimilarPair(documents.id(first), documents.id(second), score)

    return SimilarPairs(found(), f"min_similarity={minimum:g}, by={by!r}, of shards")


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
    minimum = positive(min_similarity)
    with ExitStack() as closing:
        documents, block = _found(path, minimum, by, threads, jobs, checkpoint, progress, closing)
        groups: DuplicateGroups = groups_of_pairs(documents, iter([block]), method)
        return named_groups(groups, documents.id)


def _found(
    path: Path,
    minimum: float,
    by: str,
    threads: int | None,
    jobs: int | None,
    checkpoint: str | Path | None,
    progress: Progress | None,
    closing: ExitStack,
) -> tuple[_InsertionOrder, PairBlock]:
    """Return the documents, and all pairs by (first, second)."""
    check_whole("jobs", jobs, optional=True)
    if jobs is not None and checkpoint is None:
        raise InvalidInputError(
            "jobs compare in other processes, which leave their pairs in a folder: pass "
            "checkpoint=FOLDER, on a disk that all of them share."
        )
    checksum = ShardsManifest.read(path).checksum
    documents = _documents_of(path, checksum, by)
    closing.callback(_documents_of.cache_clear)
    folder = Path(
        closing.enter_context(TemporaryDirectory(prefix="softcosine-pairs-"))
        if checkpoint is None
        else checkpoint
    )
    _check_question(folder, {"index": checksum, "by": by, "min_similarity": minimum})
    tasks = [
        _Task(path, checksum, by, minimum, panels, threads,
              folder / f"panels-{panels.start:07}-{panels.stop:07}.npz")
        for panels in _ranges(documents.comparison)
    ]  # fmt: skip
    n, done = len(documents.numbers), 0
    for task in _run(tasks, jobs):
        if progress is not None:
            done += _n_pairs(documents.comparison, task.panels)
            progress(done, n * (n - 1) // 2)
    blocks = [task.result() for task in tasks]
    first, second, scores = (
        np.concatenate([getattr(one, name) for one in blocks])
        for name in ("first", "second", "similarities")
    )
    order = np.lexsort((second, first))
    return documents, PairBlock(first[order], second[order], scores[order])


def _run(tasks: list[_Task], jobs: int | None) -> Iterator[_Task]:
    if jobs is None:
        return (task.run() for task in tasks)
    from joblib import Parallel, delayed

    run: Callable[..., Any] = delayed(_Task.run)
    found: Iterator[_Task] = Parallel(n_jobs=jobs, return_as="generator_unordered")(map(run, tasks))
    return found


def _ranges(documents: Comparison) -> list[range]:
    """Split the panels into tasks that compare about the same number of pairs."""
    n = len(documents.numbers)
    if not documents.panels:
        return [range(0)]
    ends = np.array([stop for _, stop in documents.panels], float)
    compared = n * ends - ends**2 / 2
    shares = np.linspace(0, compared[-1], min(_TASKS, len(ends)) + 1)[1:-1]
    cuts = np.unique([0, *np.searchsorted(compared, shares).tolist(), len(ends)])
    return [range(start, stop) for start, stop in pairwise(cuts.tolist())]


def _n_pairs(documents: Comparison, panels: range) -> int:
    if not panels:
        return 0
    n = len(documents.numbers)
    first, last = n - documents.panels[panels.start][0], n - documents.panels[panels[-1]][1]
    return (first * (first - 1) - last * (last - 1)) // 2


def _check_question(folder: Path, question: dict[str, Any]) -> None:
    """Make the folder of a checkpoint; InvalidInputError if it is that of another question."""
    folder.mkdir(exist_ok=True)
    file, known = folder / _QUESTION, None
    with suppress(FileNotFoundError, ValueError):
        known = json.loads(file.read_text("utf-8"))
    if known == question:
        return
    if known is not None:
        raise InvalidInputError(
            f"{folder} holds pairs of another index, or by other parameters; choose another folder."
        )
    if any(not one.name.startswith(".") for one in folder.iterdir()):
        raise InvalidInputError(f"{folder} is no checkpoint of pairs; choose an empty folder.")
    with written_beside(file) as new:
        new.write_text(json.dumps(question), "utf-8")
        sync(new)
