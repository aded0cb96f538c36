"""Whether the time of a query grows with the vocabulary, which it should not (theory T12).

Run ``python benchmarks/vocabulary_growth.py``. The same documents and queries meet an S of more
and more terms: the new ones stand scattered among the old, no document has them, and each has as
many neighbours among its own kind as a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import block_diag, csr_array

from measure import interleave, parser_of, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors, workload_of
from softcosine import TermSimilarityMatrix

BASE = 20_000
TIMES = (1, 2, 5, 10, 20)
N_TERMS = 20  # of a query


def frequent_part(workload: Workload, n_terms: int) -> Workload:
    """Return the workload with the n most frequent terms only."""
    frequencies = workload.statistics.document_frequencies
    kept = np.sort(np.argsort(-frequencies, kind="stable")[:n_terms])
    S = csr_array(workload.S.to_scipy()[kept][:, kept])
    return workload_of(
        csr_array(workload.counts[:, kept]), TermSimilarityMatrix.from_matrix(S, warn=False)
    )


def grown(workload: Workload, times: int) -> tuple[Workload, csr_array]:
    """Return the workload with so many times the terms, and where each old term stands.

    The second is a matrix (old terms, all terms) that moves queries. The old terms keep their
    order, so every score keeps its bits.
    """
    n = len(workload.S)
    generator = np.random.default_rng(times)
    places = generator.permutation(n * times)
    old = np.sort(places[:n])
    places = np.concatenate([old, places[n:]])
    blocks = block_diag([workload.S.to_scipy()] * times, format="coo")
    rows, columns = places[blocks.row], places[blocks.col]
    S = csr_array((blocks.data, (rows, columns)), shape=blocks.shape)
    S.sort_indices()
    move = csr_array((np.ones(n), (np.arange(n), old)), shape=(n, n * times))
    counts = csr_array(workload.counts @ move.astype(workload.counts.dtype))
    counts.sort_indices()
    return workload_of(counts, TermSimilarityMatrix.from_matrix(S, warn=False)), move


def measured(
    base: Workload, *, times: Sequence[int], n_terms: int, n_queries: int, runs: int
) -> list[dict[str, object]]:
    """Check that all answer alike, and time them; a line of the table each."""
    Q = base.queries(n_terms, n_queries)
    right = base.searcher.search_batch(vectors(Q), k=10, threads=1)
    calls: dict[str, Callable[[], object]] = {}
    for factor in times:
        workload, move = grown(base, factor)
        moved = csr_array(Q @ move)
        moved.sort_indices()
        queries = vectors(moved)
        searcher = workload.searcher
        found = searcher.search_batch(queries, k=10, threads=1)
        if any(
            a.scores.tobytes() != b.scores.tobytes()
            or a.documents.tobytes() != b.documents.tobytes()
            for a, b in zip(found, right, strict=True)
        ):
            raise SystemExit("more terms change the answers; their times compare nothing.")
        calls[f"{len(workload.S)} terms"] = lambda s=searcher, q=queries: [  # type: ignore[misc]
            s.search(query, k=10) for query in q
        ]
        calls[f"{len(workload.S)} terms, batch"] = lambda s=searcher, q=queries: s.search_batch(  # type: ignore[misc]
            q, k=10, threads=1
        )
    rows: list[dict[str, object]] = []
    timings = interleave(calls, runs=runs)
    for name, timing in timings.items():
        first = timings[next(n for n in timings if n.endswith("batch") == name.endswith("batch"))]
        rows.append(
            {
                "S of": name,
                "median ms": round(timing.median / n_queries * 1e3, 4),
                "min ms": round(timing.minimum / n_queries * 1e3, 4),
                "max ms": round(timing.maximum / n_queries * 1e3, 4),
                "times the smallest": round(timing.median / first.median, 2),
            }
        )
    return rows


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=9, queries=128).parse_args()
    base = frequent_part(load_workload(newsgroups(), cache=options.cache), BASE)
    rows = measured(
        base, times=TIMES, n_terms=N_TERMS, n_queries=options.queries, runs=options.runs
    )
    parameters = {
        "documents": base.segment.n_docs,
        "postings": base.segment.n_postings,
        "terms that documents have": len(base.S),
        "non-zeros of S a column": round(base.S.to_scipy().nnz / len(base.S), 1),
        "terms of a query": N_TERMS,
        "queries": options.queries,
        "timed rounds": options.runs,
        "threads": 1,
    }
    notes = (
        "Times are milliseconds a query. Added terms stand at random places among the others, "
        "have neighbours among themselves, and no document has them.",
        "Checked first: documents and scores are the same, to the bit, whatever was added.",
        "A term's data lie farther apart in a larger vocabulary, so more of them miss the caches.",
    )
    title = "The time of a query as the vocabulary grows"
    print(write_report("vocabulary_growth", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
