"""A source asked for all neighbours: chunk by chunk, and its answers checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from softcosine._progress import Progress, reporting
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import check_neighbors
from softcosine.similarity.source import Neighbors, TermSimilaritySource

__all__ = ["CHUNK_TERMS", "NeighborStore", "ask", "checked_answer", "checked_source", "joined"]

CHUNK_TERMS = 2048  # asked for at a time

# From here on a question is cut into chunks even if nobody watches: it bounds what sources made of
# several hold at a time.
_LARGE = 1 << 15

# By the names of the classes, so that none is imported for it.
_BY_VECTORS = ("EmbeddingSimilarity", "EncoderSimilarity", "CooccurrenceSimilarity")


class NeighborStore(Protocol):
    """Where the answers to earlier chunks are found again."""

    def get(self, number: int) -> Neighbors | None:
        """Return the answer to a chunk, or None."""
        ...

    def put(self, number: int, answer: Neighbors) -> None:
        """Keep the answer to a chunk."""
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
    """Ask for the neighbours of all terms; the answer does not depend on the chunks.

    Parameters
    ----------
    source, terms, among, max_neighbors
        See `TermSimilaritySource.neighbors`.
    progress : callable, optional
        Called with (terms done, terms in all).
    kept : NeighborStore, optional
        Answers that need not be asked for again.

    Raises
    ------
    InvalidInputError
        If an answer breaks the promises of `Neighbors`.
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
    """Whether a source, or a part of it, finds neighbours by vectors.

    Asked for all neighbours at once, it looks at each pair once, not twice, and tells how far it
    has come.
    """
    if type(source).__name__ in _BY_VECTORS:
        return True
    inner = [getattr(source, name, None) for name in ("source", "raw")]
    parts = [*inner, *getattr(source, "sources", ())]
    return any(_compares_vectors(part) for part in parts if isinstance(part, TermSimilaritySource))


def joined(answers: Sequence[Neighbors]) -> Neighbors:
    """Join answers of successive terms into one."""
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
    """Return the answer; InvalidInputError says which promise of `Neighbors` it breaks.

    Parameters
    ----------
    answer : object
    n_asked, n_among : int
        How many terms were asked for, and how many searched.
    first : int, optional
        Where the terms that were asked for begin among those searched, if they stand there.
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
    """Return the source; InvalidInputError says what one must have."""
    if isinstance(source, type) or not isinstance(source, TermSimilaritySource):
        raise InvalidInputError(
            f"the source is of type {type(source).__name__}; it must have the methods knows, "
            "neighbors and similarities of a TermSimilaritySource."
        )
    return source
