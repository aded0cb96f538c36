"""Recall of an engine against the exact results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softcosine.engines.state import State
from softcosine.engines.subject import Subject
from softcosine.errors import IndefiniteMatrixError
from softcosine.index.search.top_docs import QueryVector

__all__ = ["recall_of", "sampled_queries"]

_WORDS = 8  # of a sampled query


def recall_of(
    state: State,
    vectors: Sequence[QueryVector],
    k: int,
    *,
    rerank: int | None,
    width: int | None,
    threads: int | None,
) -> float:
    """Return the mean share of the exact k best documents that the engine finds.

    Equally good documents are interchangeable: a result counts if its exact score reaches the
    score of the last exact result. Queries without results do not count; 1 if all are without
    results.
    """
    found = state.find(vectors, k, rerank=rerank, width=width, threads=threads)
    exact = state.subject.best(vectors, k, threads)
    shares = []
    for vector, ours, theirs in zip(vectors, found, exact, strict=True):
        if len(theirs.scores):
            scores = state.subject.scores(vector, ours.documents)
            n_good = int(np.count_nonzero(scores >= theirs.scores[-1]))
            shares.append(n_good / len(theirs.scores))
    return float(np.mean(shares)) if shares else 1.0


def sampled_queries(subject: Subject, n: int) -> list[QueryVector]:
    """Return sample queries: the terms of largest weight of n evenly spaced documents."""
    step = max(1, -(-len(subject.ranked) // n))
    term_weights = subject.term_weights
    queries, first = [], 0
    for _, rows in subject.ranked.documents():
        for row in range(-first % step, rows.shape[0], step):
            part = slice(*rows.indptr[row : row + 2])
            terms, values = rows.indices[part], rows.data[part]
            heaviest = np.sort(terms[np.argsort(-values, kind="stable")[:_WORDS]])
            if not len(heaviest):
                continue
            query = QueryVector(heaviest.astype(np.int32), term_weights[heaviest])
            try:
                subject.ranked.queries([query])
            except IndefiniteMatrixError:  # skip a query that the user did not choose
                continue
            queries.append(query)
        first += rows.shape[0]
    return queries
