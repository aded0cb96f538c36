"""Recall of an engine against the exact results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._threads import in_threads
from softcosine.engines.state import State
from softcosine.engines.subject import EngineQuery, Subject
from softcosine.errors import IndefiniteMatrixError
from softcosine.index.search.execution import document_words

__all__ = ["recall_of", "sampled_queries"]

_WORDS = 8  # of a sampled query


def recall_of(
    state: State,
    queries: Sequence[EngineQuery],
    k: int,
    *,
    rerank: int = 0,
    width: int | None = None,
    threads: int | None = None,
) -> float:
    """Return the mean share of the exact k best documents that the engine finds.

    Equally good documents are interchangeable: a result counts if its exact score reaches the
    score of the last exact result. Queries without results do not count; 1 if all are without
    results. The queries return k documents, by the ranking of the index.
    """
    found = state.find(queries, k, rerank=rerank, width=width, threads=threads)
    exact = in_threads(lambda query: query.best(), queries, threads)
    shares = []
    for query, ours, theirs in zip(queries, found, exact, strict=True):
        if len(theirs.scores):
            scores = query.rank(ours.documents).scores
            n_good = int(np.count_nonzero(scores >= theirs.scores[-1]))
            shares.append(n_good / len(theirs.scores))
    return float(np.mean(shares)) if shares else 1.0


def sampled_queries(subject: Subject, n: int, k: int) -> list[EngineQuery]:
    """Return sample queries: the terms of largest weight of n evenly spaced documents.

    For a SoftIndex they are the words of these terms in the document.
    """
    step = max(1, -(-len(subject.ranked) // n))
    heaviest: dict[int, NDArray[np.int64]] = {}
    first = 0
    for numbers, rows in subject.ranked.documents():
        for row in range(-first % step, rows.shape[0], step):
            part = slice(*rows.indptr[row : row + 2])
            order = np.argsort(-rows.data[part], kind="stable")[:_WORDS]
            if len(order):
                heaviest[int(numbers[row])] = np.sort(rows.indices[part][order])
        first += rows.shape[0]
    queries = subject.queries(_as_given(subject, heaviest), k=k, exactly=True)
    return [query for query in queries if _has_norm(subject, query)]


def _as_given(subject: Subject, queries: Mapping[int, NDArray[np.int64]]) -> Any:
    """Return the terms of some documents as queries: lists of words, or rows of a matrix."""
    if subject.snapshot is None:
        pointers = np.cumsum([0, *map(len, queries.values())])
        terms = np.concatenate([np.empty(0, np.int64), *queries.values()])
        return csr_array((np.ones(len(terms)), terms, pointers), (len(queries), len(subject.S)))
    term, lists = subject.S.vocabulary.term, []
    for number, terms in queries.items():
        words = document_words(subject.snapshot, number)
        shown = [words.get(name, name) for name in map(term, terms.tolist())]
        lists.append(" ".join(shown).split())  # phrases as in a text
    return lists


def _has_norm(subject: Subject, query: EngineQuery) -> bool:
    """Whether the ranking has a norm for a query that the user did not choose."""
    try:
        subject.ranked.queries(query.vectors)
    except IndefiniteMatrixError:
        return False
    return True
