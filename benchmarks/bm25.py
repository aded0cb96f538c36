"""What expansion costs: soft BM25 of 20 Newsgroups against the plain BM25 of bm25s.

Run ``python benchmarks/bm25.py``. Ours expands a query of 5 terms to hundreds; bm25s looks up the
5 alone. Ours without expansion (S = I) stands beside, and must score as bm25s does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import bm25s
import numpy as np
from scipy.sparse import csr_array

from measure import interleave, parser_of, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, workload_of
from softcosine import TermSimilarityMatrix
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.spaces.space import (
    Top,
)

K = 10
TERMS = (5, 20, 100)
BACKENDS = ("numpy", "numba")
Call = Callable[[], Any]


class Theirs:
    """bm25s over the same counts.

    Parameters
    ----------
    workload : Workload
    backend : {"numpy", "numba"}
        How bm25s scores.
    """

    def __init__(self, workload: Workload, backend: str) -> None:
        counts, terms = workload.counts, workload.S.vocabulary.terms
        tokens = np.repeat(counts.indices, counts.data)
        ends = np.cumsum(np.asarray(counts.sum(axis=1)).ravel())[:-1]
        documents = [part.tolist() for part in np.split(tokens, ends)]
        self.vocabulary = terms
        self.retriever = bm25s.BM25(k1=1.2, b=0.75, backend=backend)
        numbers = {term: number for number, term in enumerate(terms)}
        self.retriever.index((documents, numbers), show_progress=False)

    def words(self, query: QueryVector) -> list[str]:
        """Return a query as bm25s takes it."""
        return [self.vocabulary[term] for term in query.terms.tolist()]

    def search(self, queries: Sequence[list[str]], threads: int = 0) -> Any:
        """Return documents and scores, (n_queries, K) each."""
        return self.retriever.retrieve(
            list(queries), k=K, show_progress=False, n_threads=threads, return_as="tuple"
        )


def queries_of(Q: csr_array, workload: Workload) -> list[QueryVector]:
    """Return the terms of the rows of Q as queries of soft BM25 (theory T15)."""
    rows = [Q.indices[slice(*Q.indptr[i : i + 2])] for i in range(Q.shape[0])]
    weights = workload.ranking.term_weights
    return [QueryVector(terms.astype(np.int32), weights[terms]) for terms in rows]


def check(found: Sequence[Top], scores: Any) -> float:
    """Exit unless plain scores agree; the largest relative difference."""
    # Lucene's BM25, as theirs, leaves the constant factor k1 + 1 out.
    right = np.array([np.pad(top.scores, (0, K - len(top.scores))) for top in found]) / 2.2
    largest = float(np.abs(np.asarray(scores) / np.maximum(right, 1e-30) - 1).max())
    if largest > 1e-5:
        raise SystemExit(f"the scores differ by {largest:.3g}; the times would compare nothing.")
    return largest


def race(
    soft: Workload,
    plain: Workload,
    n_terms: int,
    *,
    n_queries: int,
    runs: int,
    backends: Sequence[str] = BACKENDS,
) -> list[dict[str, object]]:
    """Check and time queries of one length; a line of the table each."""
    Q = soft.queries(n_terms, n_queries)
    queries = queries_of(Q, soft)
    theirs = {backend: Theirs(soft, backend) for backend in backends}
    words = [theirs[backends[0]].words(query) for query in queries]
    found = plain.searcher.search_batch(queries, k=K, threads=1)
    differences = {
        backend: check(found, peer.search(words).scores) for backend, peer in theirs.items()
    }
    single: dict[str, Call] = {
        f"bm25s, {backend}": lambda p=peer: [p.search([query]) for query in words]  # type: ignore[misc]
        for backend, peer in theirs.items()
    }
    batch: dict[str, Call] = {
        f"bm25s, {backend}, {threads} thread{'s' * (threads > 1)}": partial(
            peer.search, words, threads
        )
        for backend, peer in theirs.items()
        for threads in (1, 2)
    }
    for name, workload in (("expanded", soft), ("not expanded (S = I)", plain)):
        searcher = workload.searcher
        single[f"softcosine, {name}"] = lambda s=searcher: [  # type: ignore[misc]
            s.search(query, k=K) for query in queries
        ]
        for threads in (1, 2):
            batch[f"softcosine, {name}, {threads} thread{'s' * (threads > 1)}"] = partial(
                searcher.search_batch, queries, k=K, threads=threads
            )
    rows: list[dict[str, object]] = []
    for mode, racing in (("one by one", single), ("batch", batch)):
        timings = [t.scaled(1 / n_queries) for t in interleave(racing, runs=runs).values()]
        best = min((t for t in timings if t.name.startswith("bm25s")), key=lambda t: t.median)
        for timing in timings:
            row = timing.row(relative_to=best, unit="ms")
            row["times the best of bm25s"] = row.pop("times the first")
            backend = timing.name.removeprefix("bm25s, ").partition(",")[0]
            if backend in differences:
                row["largest difference"] = f"{differences[backend]:.1e}"
            rows.append({"query terms": n_terms, "asked": mode, **row})
    return rows


def workloads(base: Workload) -> tuple[Workload, Workload]:
    """Return soft BM25 over the workload's S, and plain BM25."""
    identity = TermSimilarityMatrix.identity(base.S.vocabulary)
    soft = workload_of(base.counts, base.S, name="soft_bm25")
    return soft, workload_of(base.counts, identity, name="soft_bm25")


NOTES = (
    "Times are milliseconds a query, the ten best included. bm25s looks up the query's terms; ours "
    "expands them by S and looks up all that are similar.",
    "Checked first: without expansion the ten best scores agree with those of bm25s, which "
    "computes in float32, within 1e-5.",
    "A ratio compares with the fastest of bm25s in the same block.",
)


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=7, queries=128).parse_args()
    soft, plain = workloads(load_workload(newsgroups(), cache=options.cache))
    rows = [
        row
        for n_terms in TERMS
        for row in race(soft, plain, n_terms, n_queries=options.queries, runs=options.runs)
    ]
    parameters: dict[str, object] = {
        "documents": soft.counts.shape[0],
        "terms": soft.counts.shape[1],
        "k": K,
        "queries of each length": options.queries,
        "timed rounds": options.runs,
    }
    for n_terms in TERMS:
        Q = soft.queries(n_terms, options.queries)
        raw, expanded = soft.touched(Q), soft.touched(Q @ soft.S.to_scipy())
        parameters[f"postings touched by {n_terms} terms"] = f"{raw:.1%}, expanded {expanded:.0%}"
    title = "What expansion costs: soft BM25 against bm25s"
    print(write_report("bm25", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    main()
