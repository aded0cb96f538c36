"""What a posting costs at least, and what it costs a search.

Run ``python benchmarks/scatter.py``. A term-at-a-time search adds a weight to the score of every
document in a list. The yardstick is this loop alone, over sorted lists of random documents, for
arrays of scores that fit in ever slower caches; beside it stands the first stage of our search.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure import interleave, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors
from softcosine.index.searcher import Searcher
from softcosine.kernels.jit import kernel

N_DOCS = {"32 KB": 8_192, "256 KB": 65_536, "800 KB": 204_800, "4 MB": 1_048_576}
LIST = 1_000  # postings
N_POSTINGS = 2_000_000
TERMS = (5, 20, 100)


@kernel("void(uint32[::1], int64[::1], float32[::1], float32[::1])")
def scatter(documents, starts, weights, scores):  # type: ignore[no-untyped-def]
    """Add the weight of each list to the scores of its documents."""
    for i in range(weights.shape[0]):
        weight = weights[i]
        for p in range(starts[i], starts[i + 1]):
            scores[documents[p]] += weight


def lists(n_docs: int, n_postings: int, *, length: int) -> tuple[NDArray[np.uint32], int]:
    """Return sorted lists of random documents, one after the other, and how many they are."""
    generator = np.random.default_rng(n_docs)
    length = min(length, n_docs)
    n_lists = max(1, n_postings // length)
    drawn = [np.sort(generator.choice(n_docs, length, replace=False)) for _ in range(n_lists)]
    return np.concatenate(drawn).astype(np.uint32), n_lists


def yardsticks(
    sizes: dict[str, int], n_postings: int, *, length: int
) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """Return the loop for each number of documents, checked, and the postings that it adds."""
    calls: dict[str, Callable[[], object]] = {}
    postings: dict[str, int] = {}
    for name, n_docs in sizes.items():
        documents, n_lists = lists(n_docs, n_postings, length=length)
        starts = np.arange(n_lists + 1) * (documents.shape[0] // n_lists)
        weights = np.ones(n_lists, np.float32)
        scores = np.zeros(n_docs, np.float32)
        scatter(documents, starts, weights, scores)
        if not np.array_equal(scores, np.bincount(documents, minlength=n_docs)):
            raise SystemExit("the loop adds up wrongly; its time means nothing.")
        label = f"scatter, {name} of scores"
        calls[label] = lambda d=documents, s=starts, w=weights, a=scores: scatter(d, s, w, a)  # type: ignore[misc]
        postings[label] = documents.shape[0]
    return calls, postings


def searches(workload: Workload, n_terms: int, n_queries: int) -> tuple[Callable[[], object], int]:
    """Return the search of queries of one length, and the postings of their terms."""
    Q = workload.queries(n_terms, n_queries)
    queries = vectors(Q)
    searcher: Searcher = workload.searcher
    touched = workload.touched(Q @ workload.S.to_scipy()) * workload.counts.nnz * n_queries
    return lambda: [searcher.search(query, k=10) for query in queries], round(touched)


def measured(
    workload: Workload,
    *,
    sizes: dict[str, int],
    n_postings: int,
    lengths: Sequence[int],
    n_queries: int,
    runs: int,
) -> list[dict[str, object]]:
    """Time the yardsticks and the searches; a line of the table each."""
    calls, postings = yardsticks(sizes, n_postings, length=LIST)
    for n_terms in lengths:
        label = f"search, {n_terms} terms, {4 * workload.segment.n_docs / 1024:.0f} KB of scores"
        calls[label], postings[label] = searches(workload, n_terms, n_queries)
    rows: list[dict[str, object]] = []
    for name, timing in interleave(calls, runs=runs).items():
        seconds = (timing.median, timing.minimum, timing.maximum)
        each = [round(s / postings[name] * 1e9, 3) for s in seconds]
        rows.append(
            {
                "what": name,
                "postings": postings[name],
                **dict(zip(("median ns", "min ns", "max ns"), each, strict=True)),
            }
        )
    return rows


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder that S is kept in")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--queries", type=int, default=64)
    options = parser.parse_args(arguments)
    rows = measured(
        load_workload(newsgroups(), cache=options.cache),
        sizes=N_DOCS,
        n_postings=N_POSTINGS,
        lengths=TERMS,
        n_queries=options.queries,
        runs=options.runs,
    )
    notes = (
        "Times are nanoseconds a posting, of one thread. The yardstick adds a constant weight to "
        f"float32 scores, {LIST} postings a list; its sums are checked first.",
        "The search does all its work (expansion, lists, scan, exact scores); its time is divided "
        "by the number of postings that the expanded terms have. It can be below the yardstick, "
        "since terms of every fourth document are added as dense columns.",
    )
    parameters = {"queries of each length": options.queries, "timed rounds": options.runs}
    title = "What a posting costs, at least and in a search"
    print(write_report("scatter", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
