"""Neighbours of all terms, requested from a source in chunks and checked."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from softcosine._progress import Progress, reporting
from softcosine._tasks import finished_tasks
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import check_neighbors
from softcosine.similarity.source import Neighbors, TermSimilaritySource

__all__ = ["CHUNK_TERMS", "NeighborStore", "ask", "checked_answer"]

CHUNK_TERMS = 2048  # terms per chunk

# From this number of terms on, requests are chunked even without progress, to limit the memory of
# joined sources.
_LARGE = 1 << 15

# Class names, so that no module is imported.
_BY_VECTORS = ("EmbeddingSimilarity", "EncoderSimilarity", "CooccurrenceSimilarity")


class NeighborStore(Protocol):
    """Protocol of a store for the results of chunks."""

    def get(self, number: int) -> Neighbors | None:
        """Return the result of a chunk, or None."""
        ...

    def put(self, number: int, answer: Neighbors) -> None:
        """Store the result of a chunk."""
        ...

    def missing(self, n_chunks: int) -> list[int]:
        """Return the numbers of chunks without a result."""
        ...

    def share(self, content: bytes) -> Path:
        """Store what tasks in other processes need; return the file."""
        ...


def ask(
    source: TermSimilaritySource,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    progress: Progress | None = None,
    kept: NeighborStore | None = None,
    jobs: int | None = None,
) -> Neighbors:
    """Return the neighbours of all terms; the result does not depend on the chunks.

    Parameters
    ----------
    source, terms, among, max_neighbors
        See `TermSimilaritySource.neighbors`.
    progress : callable, optional
        Called with (terms done, terms in all).
    kept : NeighborStore, optional
        Results of earlier runs, which are not computed again.
    jobs : int, optional
        Number of chunks at once in other processes, by joblib; needs `kept`.

    Raises
    ------
    InvalidInputError
        If a result violates the contract of `Neighbors`.
    """
    n = len(terms)
    unwatched = progress is None and n <= _LARGE
    if kept is None and terms is among and (unwatched or _compares_vectors(source)):
        with reporting(progress):
            whole = source.neighbors(terms, among, max_neighbors=max_neighbors)
        if progress is not None:
            progress(n, n)
        return checked_answer(whole, n_asked=n, n_among=n, first=0)
    search = _Search(source, terms, among, max_neighbors)
    step = max(n, 1) if unwatched and kept is None else CHUNK_TERMS
    if kept is not None and jobs is not None:
        _in_jobs(search, kept, jobs, progress)
        progress = None  # all chunks are reported; they are only read below
    answers = []
    for number, start in enumerate(range(0, n, step)):
        chunk = terms if n <= step else terms[start : start + step]
        answer = None if kept is None else kept.get(number)
        if answer is None:
            answer = search.answer(start, chunk)
            if kept is not None:
                kept.put(number, answer)
        answers.append(answer)
        if progress is not None:
            progress(start + len(chunk), n)
    return Neighbors.concatenated(answers)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the neighbours of terms; see `ask`."""

    source: TermSimilaritySource
    terms: Sequence[str]
    among: Sequence[str]
    max_neighbors: int

    def answer(self, start: int, chunk: Sequence[str]) -> Neighbors:
        """Return the checked neighbours of terms that follow each other, from `start` on."""
        return checked_answer(
            self.source.neighbors(chunk, self.among, max_neighbors=self.max_neighbors),
            n_asked=len(chunk),
            n_among=len(self.among),
            first=start if self.terms is self.among else None,
        )


def _in_jobs(search: _Search, kept: NeighborStore, jobs: int, progress: Progress | None) -> None:
    """Store the results of all chunks, computed in other processes."""
    n = len(search.terms)
    numbers = kept.missing(-(-n // CHUNK_TERMS))
    if progress is not None:
        progress(max(0, n - len(numbers) * CHUNK_TERMS), n)
    if not numbers:
        return
    file = kept.share(pickle.dumps(search))
    parts = (slice(number * CHUNK_TERMS, (number + 1) * CHUNK_TERMS) for number in numbers)
    calls = [(kept, file, *one) for one in zip(numbers, parts, strict=True)]
    try:
        for done, _ in enumerate(finished_tasks(_answer_chunk, calls, jobs=jobs), 1):
            if progress is not None:
                progress(max(0, n - (len(calls) - done) * CHUNK_TERMS), n)
    finally:
        _shared.cache_clear()  # jobs may be threads of this process


def _answer_chunk(kept: NeighborStore, file: Path, number: int, part: slice) -> None:
    search = _shared(file, file.stat().st_mtime_ns)
    kept.put(number, search.answer(part.start, search.terms[part]))


@lru_cache(maxsize=1)
def _shared(file: Path, changed: int) -> _Search:
    """Return the search of a file, which the tasks of a process share."""
    search: _Search = pickle.loads(file.read_bytes())
    return search


def _compares_vectors(source: object) -> bool:
    """Whether a source, or a source inside it, finds neighbours by vectors.

    In one request for all neighbours, such a source computes each pair once instead of twice, and
    reports its progress.
    """
    if type(source).__name__ in _BY_VECTORS:
        return True
    inner = [getattr(source, name, None) for name in ("source", "raw")]
    parts = [*inner, *getattr(source, "sources", ())]
    return any(_compares_vectors(part) for part in parts if isinstance(part, TermSimilaritySource))


def checked_answer(
    answer: object, *, n_asked: int, n_among: int, first: int | None = None
) -> Neighbors:
    """Return the result; raise InvalidInputError if it violates the contract of `Neighbors`.

    Parameters
    ----------
    answer : object
    n_asked, n_among : int
        Number of query terms, and of searched terms.
    first : int, optional
        Position of the first query term among the searched terms, if they contain the query terms.
    """
    given = check_neighbors(answer, n_asked=n_asked, n_among=n_among)
    indptr, indices, similarities = given.indptr, given.indices, given.similarities
    rising = np.flatnonzero(similarities[1:] > similarities[:-1])
    if not np.isin(rising + 1, indptr).all():
        raise InvalidInputError("the source does not give neighbours by decreasing similarity.")
    if first is not None and np.any(given.rows() + first == indices):
        raise InvalidInputError("the source gives a term as its own neighbour.")
    return given
