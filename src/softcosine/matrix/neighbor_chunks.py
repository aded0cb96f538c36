"""Neighbours of all terms, requested from a source in chunks and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from softcosine._progress import Progress, reporting
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import check_neighbors
from softcosine.similarity.source import Neighbors, TermSimilaritySource

__all__ = ["CHUNK_TERMS", "NeighborStore", "ask", "checked_answer", "checked_source", "joined"]

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


def ask(
    source: TermSimilaritySource,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    progress: Progress | None = None,
    kept: NeighborStore | None = None,
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
    step = max(n, 1) if unwatched and kept is None else CHUNK_TERMS
    answers = []
    for number, start in enumerate(range(0, n, step)):
        chunk = terms if n <= step else terms[start : start + step]
        answer = None if kept is None else kept.get(number)
        if answer is None:
            answer = checked_answer(
                source.neighbors(chunk, among, max_neighbors=max_neighbors),
                n_asked=len(chunk),
                n_among=len(among),
                first=start if terms is among else None,
            )
            if kept is not None:
                kept.put(number, answer)
        answers.append(answer)
        if progress is not None:
            progress(start + len(chunk), n)
    return joined(answers)


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


def joined(answers: Sequence[Neighbors]) -> Neighbors:
    """Concatenate the neighbours of consecutive terms."""
    if len(answers) == 1:
        return answers[0]
    if not answers:
        return Neighbors.none(0)
    lengths = np.concatenate([np.diff(answer.indptr) for answer in answers])
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return Neighbors(
        indptr,
        np.concatenate([answer.indices for answer in answers]),
        np.concatenate([answer.similarities for answer in answers]),
    )


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


def checked_source(source: object) -> TermSimilaritySource:
    """Return the source; raise InvalidInputError if it lacks a method."""
    if isinstance(source, type) or not isinstance(source, TermSimilaritySource):
        raise InvalidInputError(
            f"the source is of type {type(source).__name__}; it must have the methods knows, "
            "neighbors and similarities of a TermSimilaritySource."
        )
    return source
