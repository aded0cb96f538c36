"""How fast every document of 20 Newsgroups gets its ten nearest, against sparse_dot_topn.

Run ``python benchmarks/pairs.py``. sparse_dot_topn multiplies the expanded documents (X W S) with
the documents and keeps the ten best of each row, some rows at a time, since all expanded documents
take gigabytes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sparse_dot_topn import sp_matmul_topn

from measure import interleave, peak_memory, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, workload_of
from softcosine.index.all_pairs import nearest_neighbors

K = 10
CHUNK = 1_024  # rows that sparse_dot_topn multiplies at a time
Scores = NDArray[np.float64]


class SparseDotTopn:
    """sparse_dot_topn's product of all documents with all, each left out of its own row."""

    def __init__(self, workload: Workload) -> None:
        self.S = workload.S.to_scipy()
        self.documents = csr_array(workload.documents().astype(np.float32))
        self.postings = csr_matrix(self.documents.T)

    def neighbors(self, threads: int) -> Scores:
        """Return the similarities of the K nearest, best first, shape (n_docs, K)."""
        n_docs = self.documents.shape[0]
        scores = np.zeros((n_docs, K))
        for start in range(0, n_docs, CHUNK):
            expanded = csr_matrix(self.documents[start : start + CHUNK] @ self.S)
            found = sp_matmul_topn(
                expanded, self.postings, top_n=K + 1, sort=True, n_threads=threads
            )
            for row in range(found.shape[0]):
                own = slice(*found.indptr[row : row + 2])
                others = found.data[own][found.indices[own] != start + row][:K]
                scores[start + row, : len(others)] = others
        return scores


def ours(workload: Workload, threads: int) -> Scores:
    """Return the same by ours."""
    graph = nearest_neighbors(workload.parts, workload.S, k=K, threads=threads)
    scores = np.zeros((workload.counts.shape[0], K))
    lengths = np.diff(graph.starts)
    rows = np.repeat(graph.documents, lengths)
    ranks = np.arange(len(graph.neighbors)) - np.repeat(graph.starts[:-1], lengths)
    scores[rows, ranks] = graph.similarities
    return scores


def measured(
    workload: Workload, *, runs: int, slow_runs: int
) -> tuple[list[dict[str, object]], float]:
    """Check and time all; a line of the table each, and the largest difference."""
    peer = SparseDotTopn(workload)
    calls: dict[str, Callable[[], Scores]] = {}
    for threads in (1, 2):
        label = f"{threads} thread{'s' * (threads > 1)}"
        calls[f"softcosine, {label}"] = partial(ours, workload, threads)
        calls[f"sparse_dot_topn, {label}"] = partial(peer.neighbors, threads)
    found: dict[str, Scores] = {}

    def keep(name: str) -> None:
        found[name] = calls[name]()

    memory = {name: peak_memory(partial(keep, name)) for name in calls}
    right = next(iter(found.values()))
    difference = max(float(np.abs(scores - right).max()) for scores in found.values())
    if difference > 1e-5:
        raise SystemExit(f"the similarities differ by {difference:.3g}; compare no times.")
    fast = {name: call for name, call in calls.items() if name.startswith("softcosine")}
    slow = {name: call for name, call in calls.items() if name not in fast}
    # The check warmed up.
    timings = interleave(fast, runs=runs, warmups=0) | interleave(slow, runs=slow_runs, warmups=0)
    rows: list[dict[str, object]] = []
    for name, timing in timings.items():
        same = timings[f"softcosine, {name.partition(', ')[2]}"]
        row = timing.row(relative_to=same)
        row["times ours on as many threads"] = row.pop("times the first")
        rows.append({**row, "peak memory MiB": memory[name]})
    return rows, difference


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder that S is kept in")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slow-runs", type=int, default=2, help="of sparse_dot_topn")
    parser.add_argument("--documents", type=int, help="the first so many; all by default")
    options = parser.parse_args(arguments)
    texts = newsgroups()
    workload = load_workload(texts, cache=options.cache)
    if options.documents is not None:
        workload = workload_of(csr_array(workload.counts[: options.documents]), workload.S)
    rows, difference = measured(workload, runs=options.runs, slow_runs=options.slow_runs)
    parameters = {
        "documents": workload.counts.shape[0],
        "terms": workload.counts.shape[1],
        "postings": workload.counts.nnz,
        "non-zeros of S a column": round(workload.S.to_scipy().nnz / len(workload.S), 1),
        "neighbours": K,
        "timed rounds": options.runs,
        "timed rounds of sparse_dot_topn": options.slow_runs,
    }
    notes = (
        "From an index, or the weights of the documents, in memory to the ten nearest others of "
        "every document. Ours gives exact float64 and meets each pair once; sparse_dot_topn "
        "computes in float32, the expansion by S included.",
        f"Checked first: the similarities agree, rank by rank, within {difference:.1e}.",
        "Memory is the rise of the peak during one call.",
    )
    title = "All pairs: the ten nearest of every document of 20 Newsgroups"
    print(write_report("pairs", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
