"""What segments cost: the ten best of 20 Newsgroups in 1, 4, 16 and 64 segments, and their heads.

Run ``python benchmarks/segments.py``. Heads are what a segment stores beside its postings so that
they are found: its directory of terms and where groups begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from measure import Timing, interleave, parser_of, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, ranked, vectors
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.segment.segment import Segment
from softcosine.index.spaces.words import Searcher

K = 10
N_SEGMENTS = (1, 4, 16, 64)
TERMS = (5, 20, 100)
HEADS = ("present_terms", "term_groups", "group_starts", "group_levels")


def searcher_of(workload: Workload, n_segments: int) -> Searcher:
    """Search the same documents in segments of one size."""
    cuts = np.linspace(0, workload.counts.shape[0], n_segments + 1).astype(int).tolist()
    parts = [workload.counts[begin:end] for begin, end in pairwise(cuts)]
    return Searcher(ranked([Segment.from_counts(X) for X in parts], workload.S)[1], workload.S)


def mebibytes(searcher: Searcher, names: Sequence[str]) -> float:
    """Return what some arrays of all segments take."""
    arrays = [getattr(part.segment, name) for part in searcher.parts for name in names]
    return float(round(sum(array.nbytes for array in arrays) / 2**20, 2))


def check(searchers: dict[int, Searcher], queries: Sequence[QueryVector]) -> None:
    """Exit unless all answer the same, to the bit."""
    for query in queries:
        tops = [searcher.search(query, k=K) for searcher in searchers.values()]
        if len({(top.documents.tobytes(), top.scores.tobytes()) for top in tops}) > 1:
            raise SystemExit("segments change an answer; compare no times.")


def measured(
    workload: Workload,
    *,
    n_segments: Sequence[int] = N_SEGMENTS,
    lengths: Sequence[int] = TERMS,
    n_queries: int,
    runs: int,
) -> list[dict[str, object]]:
    """Check and time queries of each length in each number of segments; a table line each."""
    searchers = {n: searcher_of(workload, n) for n in n_segments}
    rows: list[dict[str, object]] = []
    for length in lengths:
        queries = vectors(workload.queries(length, n_queries))
        check(searchers, queries)

        def search(searcher: Searcher, queries: list[QueryVector] = queries) -> None:
            for query in queries:
                searcher.search(query, k=K)

        times = interleave(
            {str(n): partial(search, searcher) for n, searcher in searchers.items()}, runs=runs
        )
        timings = [
            Timing(
                name,
                tuple(s / n_queries for s in timing.seconds),
                tuple(s / n_queries for s in timing.cpu_seconds),
            )
            for name, timing in times.items()
        ]
        for timing, searcher in zip(timings, searchers.values(), strict=True):
            rows.append(
                {
                    "query terms": length,
                    **timing.row(relative_to=timings[0], unit="ms"),
                    "heads MiB": mebibytes(searcher, HEADS),
                    "postings MiB": mebibytes(searcher, ["documents"]),
                }
            )
    return rows


NOTES = (
    "A contestant is the number of segments. Times are milliseconds a query, one by one on one "
    "thread, from the query's vector to the ten best; expansion by S is included.",
    "Checked first: all numbers of segments give the same answers, to the bit.",
)


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=9, queries=64).parse_args()
    workload = load_workload(newsgroups(), cache=options.cache)
    rows = measured(workload, n_queries=options.queries, runs=options.runs)
    n_docs, n_terms = workload.counts.shape
    parameters = {
        "documents": n_docs,
        "terms": n_terms,
        "postings": workload.counts.nnz,
        "queries of each length": options.queries,
        "k": K,
        "runs": options.runs,
    }
    title = "20 Newsgroups in 1, 4, 16 and 64 segments"
    print(write_report("segments", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    main()
