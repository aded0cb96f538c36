"""Neighbours of all terms, requested from a source in chunks and checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softcosine._progress import Progress, reporting
from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import check_neighbors
from softcosine.similarity.source import Neighbors, TermSimilaritySource

__all__ = ["CHUNK_TERMS", "ask", "checked_answer"]

CHUNK_TERMS = 2048  # terms per chunk

# From this number of terms on, requests are chunked even without progress, to limit the memory of
# joined sources.
_LARGE = 1 << 15

# Class names, so that no module is imported.
_BY_VECTORS = ("EmbeddingSimilarity", "EncoderSimilarity", "CooccurrenceSimilarity")


def ask(
    source: TermSimilaritySource,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    progress: Progress | None = None,
) -> Neighbors:
    """Return the neighbours of all terms; the result does not depend on the chunks.

    Parameters
    ----------
    source, terms, among, max_neighbors
        See `TermSimilaritySource.neighbors`.
    progress : callable, optional
        Called with (terms done, terms in all).

    Raises
    ------
    InvalidInputError
        If a result violates the contract of `Neighbors`.
    """
    n = len(terms)
    unwatched = progress is None and n <= _LARGE
    if terms is among and (unwatched or _compares_vectors(source)):
        with reporting(progress):
            whole = source.neighbors(terms, among, max_neighbors=max_neighbors)
        if progress is not None:
            progress(n, n)
        return checked_answer(whole, n_asked=n, n_among=n, first=0)
    step = max(n, 1) if unwatched else CHUNK_TERMS
    answers = []
    for start in range(0, n, step):
        chunk = terms if n <= step else terms[start : start + step]
        answers.append(
            checked_answer(
                source.neighbors(chunk, among, max_neighbors=max_neighbors),
                n_asked=len(chunk), n_among=len(among), first=start if terms is among else None,
            )
        )  # fmt: skip
        if progress is not None:
            progress(start + len(chunk), n)
    return Neighbors.concatenated(answers)


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
